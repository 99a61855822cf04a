//! What one sweep is to do.

use super::{davidson, truncate};

/// How a sweep is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPlan {
    /// What may be kept.
    pub limits: truncate::TruncationLimits,
    /// Relative size of the perturbation of density matrices; 0 for none.
    pub noise: f64,
    /// Of each bond's solve.
    pub davidson: davidson::DavidsonLimits,
    /// Start each solve from a random vector of this seed, in place of the transformed ψ.
    pub random: Option<u64>,
}
