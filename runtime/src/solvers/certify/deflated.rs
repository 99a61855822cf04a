//! A + Σ (top − λ_i) q_i q_iᵀ: the states found sit at `top`, above the level that is searched for more.

use super::super::algebra::Algebra;
use super::super::run::{Main, Run};
use crate::device::{Device, ElementFunction, Vector};
use crate::error::Result;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use eigenforge_templates::Cost;

/// Distance above the level at which Davidson's search sees the states found, in units of the norm: at the upper end of the spectrum they
/// would dominate its corrections. Full CI of water (245,025 determinants) with 1, 0.1, 0.01 took 84, 131, 51 multiplies.
const NEAR: f64 = 0.01;

/// The operator without the states found.
pub(super) struct Deflated<'a, T: Scalar> {
    top: f64,
    inner: &'a dyn LinearOperator<T>,
    algebra: &'a Algebra,
    values: &'a [f64],
    found: &'a [Vector<T>],
}

impl<'a, T: Scalar> Deflated<'a, T> {
    /// Without what `main` found; `level` is given where the diagonal corrects the search.
    pub(super) fn new(
        run: &'a Run<'_, T>,
        inner: &'a dyn LinearOperator<T>,
        main: &'a Main<T>,
        level: Option<f64>,
    ) -> Deflated<'a, T> {
        let top = level.map_or(run.norm, |level| level + NEAR * (run.norm + level.abs()));
        Deflated { top, inner, algebra: &run.algebra, values: &main.values, found: &main.vectors }
    }
}

impl<T: Scalar> LinearOperator<T> for Deflated<'_, T> {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn device(&self) -> &Device {
        self.inner.device()
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        let value = self.inner.apply(x, y)?;
        let found: Vec<&Vector<T>> = self.found.iter().collect();
        let overlaps = self.algebra.gram(&found, &[x])?;
        let shift = |i: usize| self.top - self.values[i];
        let c: Vec<Vec<f64>> = overlaps.iter().enumerate().map(|(i, row)| vec![shift(i) * row[0]]).collect();
        self.algebra.combine(std::slice::from_mut(y), &found, &c, true)?;
        Ok(value + overlaps.iter().zip(&c).map(|(o, c)| o[0] * c[0]).sum::<f64>())
    }
    fn diagonal(&self) -> Option<ElementFunction> {
        self.inner.diagonal()
    }
    fn norm_bound(&self) -> f64 {
        self.inner.norm_bound()
    }
    fn moving_bound(&self) -> f64 {
        self.inner.moving_bound()
    }
    fn cost(&self) -> Cost {
        let pass = (self.dimension() * size_of::<T>()) as f64;
        let work = Cost { flops: 4.0 * pass * self.found.len() as f64, bytes: pass * (3 + self.found.len()) as f64 };
        self.inner.cost() + work
    }
}
