//! States as functions of time: `eigenforge evolve MODEL.toml`.
//!
//! ```text
//! [evolve] → start: local states, a state of another model, a file → steps in time → energy, echo, averages, entropies → report, files
//!            start.rs                                              run.rs, hamiltonian.rs, exact::evolve_model   record.rs, files.rs
//! ```
//!
//! Of a file with `[dmrg]` ψ is a matrix-product state (`chain.rs`).
//!
//! ψ(t) = exp(−iHt) ψ(0) with ħ = 1, or with `imaginary` exp(−Ht) ψ(0) of length 1. The echo is |⟨ψ(0)|ψ(t)⟩|². Entropies are −tr ρ ln ρ.

mod chain;
mod checkpoint;
mod device;
mod files;
mod hamiltonian;
mod measures;
mod plan;
mod record;
mod run;
mod start;

use crate::Error;
use crate::input::InputFile;
use crate::problem::run::RunContext;

use chain::chain_evolution;
pub(crate) use plan::step_files;
pub use record::{ChainEvolutionRecord, EvolutionRecord, RecordedAverages, RecordedEntropy};
pub use run::evolution;

/// The evolution of a file's state: of a lattice model, or with `[dmrg]` of a matrix-product state.
///
/// # Errors
/// Another family, a sweep, keys that its evolution does not take; those of the device.
pub fn file_evolution(file: InputFile, context: &RunContext) -> Result<EvolutionRecord, Error> {
    match file {
        InputFile::Lattice(file) => evolution(*file, context),
        InputFile::Dmrg(file) => chain_evolution(&file, context),
        other => Err(Error::without_curves::<EvolutionRecord>(&other)),
    }
}
