//! How many states join a bond, and which.

/// New states of a full bond as a part of those that may stay.
const NEW: f64 = 0.15;
/// New states of a bond at least.
pub(super) const LEAST_NEW: usize = 8;

/// Which states a bond gets.
#[derive(Clone, Copy)]
pub(crate) struct ExpansionLimits {
    /// States that may stay at the bond, pairs of them where they are in pairs.
    pub(crate) most: usize,
    /// Part of ‖Hψ‖² that may be left out although there is room.
    pub(crate) discarded: f64,
    /// Whether they come with i times each, as left states of complex ψ do.
    pub(crate) in_pairs: bool,
    /// Whether ψ moves in time: a bond at most doubles at once, and what is left out is estimated.
    pub(crate) in_time: bool,
    /// Of the random rows.
    pub(crate) seed: u64,
}

impl ExpansionLimits {
    /// Those of a solve: single states, as many as there is room for.
    pub(super) fn of_solve(most: usize, seed: u64) -> ExpansionLimits {
        ExpansionLimits { most, discarded: 0.0, in_pairs: false, in_time: false, seed }
    }

    /// New states of a bond of `count`.
    pub(super) fn room(&self, count: usize) -> usize {
        let part = ((NEW * self.most as f64).ceil() as usize).max(LEAST_NEW);
        let left = self.most.saturating_sub(count);
        // In time twice as many at once: the weakest directions are left out by their weights.
        part.max(if self.in_time { left.min(count) } else { left })
    }
}
