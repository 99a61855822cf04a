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

pub use chain::chain_evolution;
pub(crate) use plan::step_files;
pub use record::{ChainEvolutionRecord, EvolutionRecord, RecordedAverages, RecordedEntropy};
pub use run::evolution;
