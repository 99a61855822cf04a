//! Exact diagonalisation: a model's path from operator to certified eigenpairs.
//!
//! ```text
//! Operator + Sector → Model → Structure → plan (templates) → text → Hamiltonian on a device → solver → Solution
//!                     model.rs  structure.rs    multiply.rs                                   solve.rs
//! ```
//!
//! States of more than 64 bits, 128 at most, and those of symmetry sectors (`symmetric/`) are listed, and H is a stored sparse matrix
//! (`stored.rs`); in a large symmetry sector a card lists the states and makes the rows of H as it multiplies (`symmetric/rows.rs`), and
//! every device multiplies electrons by strings (`symmetric/strings/`).

mod across;
mod averages;
mod complex;
mod constant;
mod cpu;
mod error;
mod gauged;
mod inspect;
mod level_spins;
mod lists;
mod mean_field;
mod model;
mod multiply;
mod norm;
mod observables;
mod prepared;
mod ranks;
mod received;
mod renumber;
mod several;
mod shared;
mod slices;
mod solve;
mod species;
mod stored;
mod structure;
mod symmetric;
mod tables;
mod tune;
mod working;

pub use eigenforge_runtime::tune::{ShapeSource, Tuning};
pub use error::PrepareError;
pub use level_spins::LevelSpin;
pub use model::{LARGEST_DENSE, Model};
pub use multiply::Hamiltonian;
pub use observables::{averages_of, averages_on_host};
pub use prepared::Prepared;
pub use ranks::RankPlan;
pub use received::Received;
pub use shared::{ShareError, SharedKernels, share_kernels};
pub use solve::{Davidson, Dense, Lanczos, Lobpcg, Olsen, RunError, Solution, Solve};
pub use species::SpeciesMatrix;
pub use stored::StoredHamiltonian;
pub use structure::{Moves, Structure};
pub use symmetric::{PairRows, SectorRows, StringRows};
pub use tune::tune;

#[cfg(test)]
mod tests;
