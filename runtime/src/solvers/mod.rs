//! Eigensolvers for the lowest states of a real symmetric operator, written once over [`crate::Device`].
mod options;
pub use options::*;

use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// The lowest `options.states` eigenpairs of `operator`.
pub fn solve<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    options: &SolveOptions,
) -> Result<Eigenpairs<T>, SolveError> {
    options.check(operator.dimension())?;
    let _ = solver;
    todo!("follows in the next commits")
}
