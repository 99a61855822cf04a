//! The plan of one sweep.

use crate::block::truncate;
use eigenforge_runtime::solvers::lean::DavidsonLimits;

/// The plan of one sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPlan {
    /// Limits of truncation.
    pub limits: truncate::TruncationLimits,
    /// Rows from which on sectors are decomposed by way of a factor, on devices that run kernels; 0: all are decomposed whole.
    pub factor_rows: usize,
    /// Relative size of the perturbation of density matrices; 0 for none.
    pub noise: f64,
    /// Limits of each bond's solve.
    pub davidson: DavidsonLimits,
    /// Whether one site is solved, with states added to its bond, instead of two.
    pub expands: bool,
    /// Seed of random start vectors for each solve; `None` for the transformed ψ.
    pub random: Option<u64>,
}
