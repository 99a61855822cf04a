//! What a model file is about, as errors name it, and which options a family does not take.

use super::error::CommandError;
use eigenforge::input::InputFile;
use std::fmt;

/// What a model file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// A model on a lattice, to be diagonalised.
    Lattice,
    /// A molecule.
    Ci,
    /// A chain for DMRG.
    Dmrg,
}

impl Family {
    pub fn of(input: &InputFile) -> Family {
        match input {
            InputFile::Lattice(_) => Family::Lattice,
            InputFile::Ci(_) => Family::Ci,
            InputFile::Dmrg(_) => Family::Dmrg,
        }
    }

    /// Refuses the first option of the list that was given: its name, whether it was given, why it means nothing here.
    pub fn refuse(self, options: &[(&'static str, bool, &'static str)]) -> Result<(), CommandError> {
        match options.iter().find(|(_, given, _)| *given) {
            Some((option, _, why)) => Err(self.refusal(*option, *why)),
            None => Ok(()),
        }
    }

    /// The error that an option or verb is not for this family.
    pub fn refusal(self, what: impl Into<String>, why: impl Into<String>) -> CommandError {
        CommandError::NotOfFamily { what: what.into(), family: self, why: why.into() }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Lattice => "a lattice model to be diagonalised ([model] without [dmrg])",
            Family::Ci => "a molecule (a file with [ci])",
            Family::Dmrg => "DMRG (a file with [dmrg])",
        })
    }
}
