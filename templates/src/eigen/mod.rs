//! Dense eigenproblems and Davidson's vectors on a card: plans and their texts.

mod davidson;
mod davidson_chain;
mod eigenpairs;
mod pivoted_cholesky;

pub use davidson::{DavidsonNumbers, DavidsonPlan, Extent};
pub use davidson_chain::DavidsonChainPlan;
pub use eigenpairs::{CardLimits, EigenpairsLaunches, EigenpairsPlan, Step, SymmetricRows, resident_rows};
pub use pivoted_cholesky::{PivotedCholeskyLaunch, PivotedCholeskyPlan, PositiveMatrix};
