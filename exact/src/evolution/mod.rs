//! States of a model as functions of time: exp(−iHt) ψ, exp(−Ht) ψ, and the states of i ψ′ = H(t) ψ.
//!
//! ```text
//! product state, or state of another model → amplitudes → H, or Σ f_k(t) H_k, on a device → steps → averages, energy, overlap, entropies
//!                start.rs                              driven.rs    run.rs      runtime::evolve        measures.rs
//! ```
//!
//! In: a model, a start ψ, times. Out: an [`EvolutionPoint`] for each of them, and how large the error may be ([`EvolutionSteps`]). Vectors are
//! those of the user's model, not of the one that solvers work on: a state that evolves is complex, so a gauge in which H is real saves nothing.
//!
//! [`EvolutionSteps`]: eigenforge_runtime::solvers::EvolutionSteps

mod driven;
mod measures;
mod run;
mod start;

pub use driven::DrivenModel;
pub use measures::{EvolutionMeasures, EvolutionPoint};
pub use run::{evolve_driven_model, evolve_model};
pub use start::StartError;

#[cfg(test)]
mod tests;
