//! A stored Hermitian matrix whose lowest states are wanted: real, complex or of quaternions.
//!
//! ```text
//! Csr → HermitianMatrix → Diagonalisation<HermitianProblem> → HermitianSolution, each level once
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `matrix` | is it Hermitian, and how is it multiplied? |
//! | `problem` | what does a solve ask of it? |
//! | `solution` | what was found, as vectors of its own numbers? |

mod matrix;
mod problem;
mod solution;

pub use matrix::{HermitianMatrix, MatrixFault};
pub use problem::{HermitianError, HermitianProblem};
pub use solution::{HermitianSolution, StoredMatrixUsed};
