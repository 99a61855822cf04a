//! The scalar product in which certification searches: plain, or with the operator's diagonal where the level lies at its low end.
//!
//! With M = max(|D − λ|, least), D the diagonal of A and λ the level, M^(−1/2) (A − λ) M^(−1/2) has a far narrower spectrum than A where D
//! dominates, as in configuration interaction (Davidson's correction as a preconditioner, Davidson 1975). Where the off-diagonal part
//! of a state, ⟨D⟩ − λ, is larger than the spread of D, M is nearly constant and not worth its passes.

use super::super::algebra::parse;
use super::super::davidson::LEAST_DIVISOR;
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::vector_program::{Bind, Program};

/// z = M⁻¹ u.
pub(super) const DIVIDE: &str = "program certify_divide\nvectors z : out\nvectors u : in\nscalars at least\n\
    functions diagonal\nz = u / max(abs(diagonal - at), least)\n";
/// x·M x and x·M⁻² x.
pub(super) const MEASURE: &str = "program certify_measure\nvectors x : in\nscalars at least\nfunctions diagonal\n\
    let m = max(abs(diagonal - at), least)\nlet s = x / m\nsum mm = m * x * x\nsum ss = s * s\n";
/// The first two moments of D − λ, and its average in x.
pub(super) const MOMENTS: &str = "program certify_moments\nvectors x : in\nscalars at\nfunctions diagonal\nlet d = diagonal - at\n\
    sum d1 = d\nsum d2 = d * d\nsum dx = d * x * x\n";

/// Mean square of a number uniform in [−1, 1).
const UNIFORM: f64 = 1.0 / 3.0;

/// M⁻¹ on a device.
pub(super) struct Metric {
    divide: Program,
    measure: Program,
    /// λ and the least divisor.
    scalars: [f64; 2],
}

impl Metric {
    /// M for the level at `level` of which `x` is a member; `None` where it is not worth it and `is_wanted` does not ask for it.
    pub(super) fn new<T: Scalar>(
        operator: &dyn LinearOperator<T>,
        level: f64,
        x: &Vector<T>,
        is_wanted: bool,
    ) -> Result<Option<Metric>, SolveError> {
        let Some(diagonal) = operator.diagonal() else { return Ok(None) };
        let diagonal = diagonal.named("diagonal");
        let program = |text: &str| operator.device().program(&parse(text), T::TYPE, std::slice::from_ref(&diagonal));
        let sums = program(MOMENTS)?.run(&mut [Bind::In(x)], &[level])?;
        let [mean, square] = [sums[0], sums[1]].map(|sum| sum / operator.dimension() as f64);
        let spread = (square - mean * mean).max(0.0).sqrt();
        let is_uniform = spread <= T::EPSILON * mean.abs();
        if is_uniform || !(is_wanted || sums[2] < spread) {
            return Ok(None);
        }
        let (divide, measure) = (program(DIVIDE)?, program(MEASURE)?);
        Ok(Some(Metric { divide, measure, scalars: [level, LEAST_DIVISOR * spread] }))
    }

    /// z = M⁻¹ u.
    pub(super) fn divide<T: Scalar>(&self, z: &mut Vector<T>, u: &Vector<T>) -> Result<(), SolveError> {
        self.divide.run(&mut [Bind::Out(z), Bind::In(u)], &self.scalars)?;
        Ok(())
    }

    /// x·M x and the mean square of x·M⁻¹ g for random g, for a unit vector x.
    pub(super) fn measure<T: Scalar>(&self, x: &Vector<T>) -> Result<Expected, SolveError> {
        let sums = self.measure.run(&mut [Bind::In(x)], &self.scalars)?;
        Ok(Expected { weight: sums[0], overlap: UNIFORM * sums[1] })
    }
}

/// What a member of a level has on average.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    /// h·M h.
    pub(super) weight: f64,
    /// The mean square of its overlap with a random start.
    pub(super) overlap: f64,
}

impl Expected {
    /// In the plain scalar product, where all unit vectors are alike.
    pub(super) const PLAIN: Expected = Expected { weight: 1.0, overlap: UNIFORM };

    /// How much of a start with this square its members may lack before it is unlikely that there is one.
    pub(super) fn ratio(self, square: f64) -> f64 {
        square * self.weight / self.overlap
    }
}
