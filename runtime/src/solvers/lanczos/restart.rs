//! What replaces a full basis: its lowest Ritz vectors, followed by the residual direction.
//!
//! A Ritz vector y_i = Σ_j S_ji v_j with value θ_i has A y_i = θ_i y_i + β S_{m−1,i} v_m, for all i with the same v_m. So
//! the Ritz vectors and v_m form a basis in which A is known, and the recurrence continues from v_m (Wu and Simon 2000).
//! Keeping several preserves what the steps have learnt about the low end: long runs need about as many steps as without
//! restarts.

use super::super::algebra::{MIXED, RITZ as KEPT};
use super::projected::Projected;
use super::recurrence::Recurrence;
use crate::device::Vector;
use crate::error::SolveError;
use crate::scalar::Scalar;

/// The smallest basis that is restarted. Below, factors cost less than restarts in quick succession.
pub(super) const LEAST: usize = KEPT + 3 * MIXED;

/// Number of slots to use of those that fit: for restarts, a number that one program handles.
pub(super) fn slots(room: usize) -> usize {
    if room < LEAST { room } else { room - (room - KEPT) % MIXED }
}

impl<T: Scalar> Recurrence<'_, T> {
    /// Whether every slot holds a basis vector, and there are enough for a restart.
    pub(super) fn is_full(&self) -> bool {
        self.capacity >= LEAST && self.projected.size() == self.capacity && self.filled == self.capacity
    }

    /// Puts the lowest Ritz vectors into the first slots, and v_m, which is in a loose place, after them.
    pub(super) fn restart(&mut self) -> Result<(), SolveError> {
        let _restart = self.operator.device().span("solver", "restart");
        let m = self.filled;
        let (values, s) = self.projected.lowest_many(KEPT)?;
        let couplings = (0..KEPT).map(|i| self.beta * s[(m - 1, i)]).collect();
        let weights: Vec<Vec<f64>> = (0..m).map(|j| (0..KEPT).map(|i| s[(j, i)] * self.scales[j]).collect()).collect();
        let (ritz, rest) = self.slots[..m].split_at_mut(KEPT);
        self.run.algebra.mix(ritz, &rest.iter().collect::<Vec<&Vector<T>>>(), &weights)?;
        std::mem::swap(&mut self.slots[KEPT], &mut self.loose[m % 2]);
        self.scales = vec![1.0; KEPT];
        self.scales.push(self.scale);
        self.filled = KEPT + 1;
        (self.scale_before, self.beta) = (0.0, 0.0);
        self.projected = Projected::restarted(values, couplings);
        Ok(())
    }
}
