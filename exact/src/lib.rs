//! Exact diagonalisation: a model's path from operator to certified eigenpairs.
//!
//! ```text
//! Operator + Sector → Model → Structure → plan (templates) → text → Hamiltonian on a device → solver → Solution
//!                     model.rs  structure.rs    ways.rs                                       solve.rs
//! ```
//!
//! States of more than 64 bits, 128 at most, and those of symmetry sectors (`symmetric/`) are listed, and H is a stored sparse matrix
//! (`stored.rs`); in a large symmetry sector a card lists the states and makes the rows of H once, into a table (`symmetric/partners/`), or
//! as it multiplies (`symmetric/orbits/`), and every device multiplies electrons by strings (`symmetric/strings/`).

#![warn(missing_docs, unreachable_pub)]

// What the macros generate names the library.
#[cfg(test)]
extern crate eigenforge_core as eigenforge;

mod averages;
mod constant;
mod cpu;
mod density_matrix;
mod entanglement;
mod evolution;
mod gauged;
mod general;
mod identity;
mod inspect;
mod kronecker;
mod level_spins;
mod matrix;
mod model;
mod norm;
mod observables;
mod rank_plan;
mod renumber;
mod response;
#[cfg(test)]
mod samples;
mod shared;
mod solve;
mod storage;
mod stored;
mod stored_ways;
mod structure;
mod symmetric;
mod thermal;
mod tune;
mod way;
mod ways;
mod working;

pub use density_matrix::DensityMatrix;
pub use eigenforge_product::ranks::RankPlan;
pub use eigenforge_product::{Hamiltonian, MultiplyPlan, PrepareError, Received, StoredHamiltonian};
pub use eigenforge_runtime::tune::{ShapeSource, Tuning};
pub use entanglement::{EntanglementError, LARGEST_BLOCK, LARGEST_MATRIX, second_renyi_entropy, von_neumann_entropy};
pub use evolution::{DrivenModel, EvolutionMeasures, EvolutionPoint, StartError, evolve_driven_model, evolve_model};
pub use general::GeneralMultiply;
pub use kronecker::{KroneckerMultiply, SpeciesMatrix};
pub use level_spins::LevelSpin;
pub use model::{InSector, LARGEST_DENSE, Model};
pub use observables::{averages_of, averages_on_host};
pub use response::{
    ChainOptions, LevelStates, ReachedSector, Response, ResponseChain, ResponseSeries, ResponseStarts, ResponseTarget,
};
pub use shared::{ShareError, SharedKernels, share_kernels};
pub use solve::{Davidson, Dense, Lanczos, Lobpcg, ModelProblem, Olsen, RunError, Solution, Solve};
pub use structure::{Moves, Structure};
pub use symmetric::{PairRows, PartnerRows, SectorRows, StringRows};
pub use thermal::{
    KnownLevels, SampleOptions, SectorTrace, TraceLine, TraceSample, TransitionSample, TransitionSamples, Transitions,
};
pub use tune::tune;

#[cfg(test)]
mod tests;
