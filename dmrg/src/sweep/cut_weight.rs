//! What a truncation shows of the weights of its bond, for the next visit.

use crate::block::truncate::TruncationLimits;

/// Weights of density matrices are precise to the rounding of the largest; those that matter must be above.
const PRECISE: f64 = 1e-15;

/// The smallest weight that stays of a truncation whose states their number limited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CutWeight {
    /// The most states.
    pub(crate) most: usize,
    /// The weight.
    pub(crate) smallest: f64,
    /// The same as a part of the largest.
    pub(crate) relative: f64,
}

impl CutWeight {
    /// That of these descending weights.
    pub(crate) fn new(weights: &[f64], limits: TruncationLimits) -> Option<CutWeight> {
        let smallest = *weights.last()?;
        let relative = smallest / weights[0];
        let limited = limits.are_reached_by(weights.len()) && relative > PRECISE;
        limited.then_some(CutWeight { most: limits.most, smallest, relative })
    }
}
