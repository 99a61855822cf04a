//! The plan of one sweep.

use crate::dmrg::block::truncate;
use eigenforge_runtime::solvers::lean::DavidsonLimits;

/// The plan of one sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPlan {
    /// Limits of truncation.
    pub limits: truncate::TruncationLimits,
    /// Relative size of the perturbation of density matrices; 0 for none.
    pub noise: f64,
    /// Limits of each bond's solve.
    pub davidson: DavidsonLimits,
    /// Seed of random start vectors for each solve; `None` for the transformed ψ.
    pub random: Option<u64>,
}
