//! What a transformation is asked for: `[su3]` of a model file, or the flags of `eigenforge su3 transform`.

use super::csv::TableError;
use super::hamiltonian::NuclearTerms;
use super::interaction::{InteractionError, InteractionInput};
use super::output::TensorFormat;
use super::plan::Plan;
use super::source::{HamiltonianElements, TensorSource};
use super::table_cache::TableCache;
use super::work::Direction;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The largest N_max that is served.
pub const MOST_N_MAX: u32 = 30;

/// `[su3]`, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Su3Spec {
    /// `interaction`: the file of matrix elements (or strengths); or `[force]`.
    pub interaction: InteractionInput,
    /// `n_max`.
    pub n_max: u32,
    /// `output`: the file of the result.
    pub output: PathBuf,
    /// `format`; `None` takes the one that the name of `output` implies.
    pub format: Option<TensorFormat>,
    /// `inverse`.
    pub direction: Direction,
    /// `memory` in bytes; `None` allows four fifths of what is free.
    pub memory: Option<u64>,
    /// `[hamiltonian]`: terms that are added to the elements of the interaction.
    #[serde(default)]
    pub hamiltonian: Option<NuclearTerms>,
}

impl Su3Spec {
    /// Opens the input: elements of the interaction and of the terms beside it, or strengths.
    ///
    /// # Errors
    ///
    /// See [`super::open_interaction`]; terms beside strengths, numbers of `[hamiltonian]` out of their range.
    pub fn open(&self, plan: &Plan, cache: &TableCache) -> Result<Box<dyn TensorSource>, InteractionError> {
        let interaction = self.interaction.open(plan, self.direction, cache)?;
        let Some(hamiltonian) = self.hamiltonian else { return Ok(interaction) };
        if self.direction == Direction::Inverse {
            return Err(InteractionError::TermsOfStrengths);
        }
        let force = self.interaction.force()?;
        if let Some(force) = force.filter(|force| force.hw != hamiltonian.hw) {
            return Err(InteractionError::OtherOscillator { force: force.hw, terms: hamiltonian.hw });
        }
        Ok(Box::new(HamiltonianElements { interaction, terms: hamiltonian.elements(plan, cache)? }))
    }

    /// A fingerprint of the numbers of its input.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn fingerprint(&self) -> Result<String, TableError> {
        let interaction = self.interaction.fingerprint()?;
        Ok(match self.hamiltonian {
            None => interaction,
            // `{:?}` prints every number with all its digits.
            Some(terms) => blake3::hash(format!("{interaction} {terms:?}").as_bytes()).to_hex().to_string(),
        })
    }
}
