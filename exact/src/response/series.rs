//! Series of Chebyshev moments of what an operator makes of a level, and the curve that a kernel makes of them.

use super::chains::ChainOptions;
use eigenforge_runtime::solvers::{ChebyshevMoments, Damping, chebyshev_moments};
use eigenforge_runtime::{LinearOperator, SolveError};
use serde::{Deserialize, Serialize};

/// The spectrum is taken to be this many times as wide as a pole at least, so that no pole is cut off at its ends.
const WIDEST_POLE: f64 = 4.0;

/// The moments of one vector.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResponseSeries {
    /// The moments.
    pub moments: ChebyshevMoments,
    pub(super) damping: Damping,
    /// Whether there are as many as the width of a pole needs.
    pub(super) settled: bool,
    /// What its weight counts: 1 / g.
    pub(super) share: f64,
    /// What its energies are counted from.
    pub(super) zero: f64,
}

impl ResponseSeries {
    /// Of a vector: as many moments as make a pole as narrow as the options say, two for each step that they allow.
    pub(super) fn new(
        hamiltonian: &dyn LinearOperator<f64>,
        start: &[f64],
        (share, zero): (f64, f64),
        damping: Damping,
        options: &ChainOptions,
    ) -> Result<ResponseSeries, SolveError> {
        let most = options.steps.saturating_mul(2);
        let wanted = |half_width: f64| damping.moments(half_width, options.eta).min(most.max(4));
        let moments = chebyshev_moments(hamiltonian, start, WIDEST_POLE * options.eta, wanted)?;
        let settled = moments.moments.len() >= damping.moments(moments.half_width, options.eta);
        Ok(ResponseSeries { moments, damping, settled, share, zero })
    }

    /// Its part of S(ω).
    pub(super) fn density(&self, omega: f64) -> f64 {
        self.share * self.moments.density(omega + self.zero, self.damping)
    }

    /// Its parts of ∫ ωⁿ S dω.
    pub(super) fn powers(&self) -> [f64; 3] {
        self.moments.powers(self.zero).map(|power| self.share * power)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// The width of a pole at the centre of the spectrum.
    pub(super) fn resolution(&self) -> f64 {
        self.moments.resolution(self.damping)
    }
}
