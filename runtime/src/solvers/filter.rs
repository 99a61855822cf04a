//! A polynomial of A whose lowest eigenvalues are those of A nearest to a value σ.
//!
//! In: A, σ, how far around σ is wanted, how far the spectrum reaches. Out: F = T_m(t(A)), t(E) = (2 (E − σ)² − cut² − reach²)/(reach² − cut²),
//! with T_m the Chebyshev polynomial of an odd degree m. t is −1 at |E − σ| = cut and 1 at reach, so F is between −1 and 1 outside of the
//! cut, and inside it falls monotonically towards σ, to −cosh(m arcosh |t(σ)|): the order by F is that by |E − σ|, and degenerate levels
//! of A are degenerate levels of F. A multiply by F is 2m multiplies by A (Chebyshev filters of a folded spectrum: L.-W. Wang and A. Zunger,
//! J. Chem. Phys. 100, 2394 (1994); polynomial filters with Lanczos: P. Sierant, M. Lewenstein and J. Zakrzewski, Phys. Rev. Lett. 125, 156601
//! (2020)).

use super::algebra::Algebra;
use crate::device::{Device, Vector};
use crate::error::Result;
use crate::operator::{LinearOperator, PartOrder};
use crate::scalar::Scalar;
use eigenforge_templates::Cost;
use std::sync::{Mutex, PoisonError};

/// Vectors that a multiply needs beside x and y.
pub(super) const VECTORS: usize = 4;
/// m arcosh |t(σ)|: F is −27 at σ, so that states inside the cut stand apart from all others, which are between −1 and 1. Of the
/// multiplies by A that a search takes, half and twice as much changed few in rings of spins.
const SHARPNESS: f64 = 4.0;

/// What a filter selects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// σ.
    pub centre: f64,
    /// States this close are told apart; with 0 the filter is (E − σ)² alone, whose order is that of all distances.
    pub cut: f64,
    /// No state is further from σ.
    pub reach: f64,
}

impl Window {
    /// (2/(reach² − cut²), (reach² + cut²)/(reach² − cut²)): t = the first times (E − σ)², less the second.
    fn scale(&self) -> [f64; 2] {
        let (cut, reach) = (self.cut * self.cut, self.reach * self.reach);
        [2.0 / (reach - cut), (reach + cut) / (reach - cut)]
    }

    /// m, odd.
    pub(super) fn degree(&self) -> usize {
        let [_, deepest] = self.scale();
        if self.cut == 0.0 { 1 } else { (SHARPNESS / deepest.acosh()).ceil().max(1.0) as usize | 1 }
    }
}

/// F.
pub(super) struct Filter<'a, T: Scalar> {
    inner: &'a dyn LinearOperator<T>,
    algebra: Algebra,
    window: Window,
    /// A x less σ x, and three polynomials in a row.
    scratch: Mutex<[Vector<T>; VECTORS]>,
}

impl<'a, T: Scalar> Filter<'a, T> {
    /// The filter of a window, with 0 ≤ cut < reach.
    ///
    /// # Errors
    /// No room for its vectors.
    pub(super) fn new(inner: &'a dyn LinearOperator<T>, window: Window) -> Result<Filter<'a, T>> {
        let zeros = || inner.device().zeros::<T>(inner.dimension());
        let scratch = Mutex::new([zeros()?, zeros()?, zeros()?, zeros()?]);
        Ok(Filter { inner, algebra: Algebra::new(inner.device()), window, scratch })
    }

    /// Multiplies by A of one by F.
    pub(super) fn multiplies(&self) -> usize {
        2 * self.window.degree()
    }

    /// next = factor · t(A) current − before; `image` and `product` are overwritten.
    fn advance(
        &self,
        factor: f64,
        [current, before]: [&Vector<T>; 2],
        [image, product, next]: [&mut Vector<T>; 3],
    ) -> Result<()> {
        let ([scale, constant], centre) = (self.window.scale(), self.window.centre);
        self.inner.multiply(current, image)?;
        self.algebra.combine(std::slice::from_mut(image), &[current], &[vec![-centre]], true)?;
        self.inner.multiply(image, product)?;
        let inputs = [&*product, &*image, current, before];
        let c = [factor * scale, -factor * scale * centre, -factor * constant, if factor == 1.0 { 0.0 } else { -1.0 }];
        self.algebra.combine(std::slice::from_mut(next), &inputs, &c.map(|c| vec![c]), false)
    }
}

impl<T: Scalar> LinearOperator<T> for Filter<'_, T> {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn device(&self) -> &Device {
        self.inner.device()
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        self.multiply(x, y)?;
        self.algebra.dot(x, y)
    }
    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let [image, a, b, c] = &mut *scratch;
        let (mut before, mut current, mut next) = (a, b, c);
        self.algebra.combine(std::slice::from_mut(before), &[x], &[vec![1.0]], false)?;
        self.advance(1.0, [x, x], [image, y, current])?;
        for _ in 1..self.window.degree() {
            self.advance(2.0, [&*current, &*before], [image, y, next])?;
            (before, current, next) = (current, next, before);
        }
        self.algebra.combine(std::slice::from_mut(y), &[&*current], &[vec![1.0]], false)
    }
    fn is_complex(&self) -> bool {
        self.inner.is_complex()
    }

    fn part_order(&self) -> PartOrder {
        self.inner.part_order()
    }
    fn norm_bound(&self) -> f64 {
        let [_, deepest] = self.window.scale();
        (self.window.degree() as f64 * deepest.acosh()).cosh()
    }
    fn cost(&self) -> Cost {
        let (times, pass) = (self.multiplies() as f64, (self.dimension() * size_of::<T>()) as f64);
        let one = self.inner.cost();
        Cost { flops: times * (one.flops + 5.0 * self.dimension() as f64), bytes: times * (one.bytes + 4.0 * pass) }
    }
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn a_narrow_window_takes_a_high_odd_degree() {
        let degree = |cut| Window { centre: 0.3, cut, reach: 10.0 }.degree();
        assert!([7.0, 1.0, 0.1].map(degree).is_sorted() && [7.0, 1.0, 0.1].iter().all(|cut| degree(*cut) % 2 == 1));
        // arcosh(1 + x) is the root of 2x, and x = 2 (cut/reach)².
        assert!((degree(0.01) as f64 - 2000.0).abs() < 4.0, "{}", degree(0.01));
        assert_eq!(degree(0.0), 1);
    }
}
