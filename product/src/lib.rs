//! y = H x, for every family: what a way to multiply is, and where it runs.
//!
//! ```text
//! a family's list of ways  →  Multiply      plan, text, tables, host rows
//! Multiply × Device        →  Hamiltonian   cores, one card or several, one of several ranks
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `multiply` | what does a way to multiply say of itself? |
//! | `fit` | is a way for this model, and why not? |
//! | `plan`, `choice` | what does a user see of it, and of the ways that were not taken? |
//! | `engine`, `hamiltonian` | how is it put on a device? |
//! | `host` | rows of y on the cores, for all rows and for a share |
//! | `kernels` | the launches of one multiply, and of several vectors at once |
//! | `several` | which multiplies of several vectors are there? |
//! | `traffic`, `received` | what does a card need of the others, and how much is it? |
//! | `forecast` | will a solve be sooner done on the cores or on a card? |
//! | `solve` | what are the lowest states of H? |
//! | `hermitian` | what are those of a matrix that is given? |
//! | `rank` | what does one of several ranks make? |
//! | `stored`, `cores` | the ways of a stored matrix and of the cores alone, for every family |

#![warn(missing_docs, unreachable_pub)]

mod choice;
mod cores;
mod engine;
mod error;
mod fit;
mod forecast;
mod hamiltonian;
mod hermitian;
mod host;
mod kernels;
mod multiply;
mod plan;
mod rank;
pub mod ranks;
mod received;
mod several;
mod solve;
pub mod sparse;
mod stored;
mod traffic;

pub use choice::{PlannedChoice, PlannedWay};
pub use cores::CoresMultiply;
pub use engine::ProductEngine;
pub use error::PrepareError;
pub use fit::Fit;
pub use forecast::{SolveCourse, SolveForecast, product_seconds};
pub use hamiltonian::Hamiltonian;
pub use hermitian::{
    HermitianError, HermitianMatrix, HermitianProblem, HermitianSolution, MatrixFault, StoredMatrixUsed,
};
pub use host::{HostProduct, HostRows};
pub use kernels::ProductKernels;
pub use multiply::{CompileText, GeneratedKernels, Multiply, NormBounds, ShownText, StoredFormat};
pub use plan::MultiplyPlan;
pub use rank::{RankRows, RankRowsOf};
pub use received::Received;
pub use several::SeveralPlans;
pub use solve::{Diagonalisable, Diagonalisation, Eigenproblem, Eigenstates, LevelPartners, RealImage, SetUp};
pub use stored::{STORED, StoredHamiltonian, TABLE};
pub use traffic::Traffic;
