//! The kinds of problems, as named in errors.

use super::InputFile;
use std::fmt;

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// A model on a lattice, to be diagonalised.
    Lattice,
    /// A molecule.
    Ci,
    /// A chain for DMRG.
    Dmrg,
    /// A nucleon–nucleon interaction.
    Su3,
    /// A Hermitian matrix.
    Matrix,
}

impl Family {
    /// The family of a file.
    pub fn from_file(file: &InputFile) -> Family {
        match file {
            InputFile::Lattice(_) => Family::Lattice,
            InputFile::Ci(_) => Family::Ci,
            InputFile::Dmrg(_) => Family::Dmrg,
            InputFile::Su3(_) => Family::Su3,
            InputFile::Matrix(_) => Family::Matrix,
            InputFile::Sweep(sweep) => Family::from_file(&sweep.points[0].file),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Lattice => "a lattice model to be diagonalised ([model] without [dmrg])",
            Family::Ci => "a molecule (a file with [ci])",
            Family::Dmrg => "DMRG (a file with [dmrg])",
            Family::Su3 => "an interaction (a file with [su3])",
            Family::Matrix => "a matrix (a file .npz, .mtx or .mtx.gz)",
        })
    }
}
