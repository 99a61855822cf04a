//! x without the basis: the lowest Ritz vector is a polynomial of A times the start, and its roots are the other Ritz values.
//!
//! In: the Ritz values θ_0 < θ_1 < … < θ_{m−1} of m steps, the start v. Out: x ∝ (A − θ_1) … (A − θ_{m−1}) v, with m − 1 multiplies, two
//! vectors and three passes each (the exact shifts of Sorensen 1992, applied one by one). The order of the factors decides what
//! rounding does: each root is the one farthest from those before, by the product of the distances (Leja points; Reichel 1990). For rings
//! of spins and Hubbard clusters of 3,000 to 13,000 states the residual is then that of x = Σ s_j v_j with recomputed v_j, from 1e-6
//! to 1e-15 of the norm; with the roots in ascending order it is 1e-2.
//!
//! The first of the factors are a filter by themselves, with roots spread over all but the lowest level: where rounding has left x a
//! little short of its tolerance, another round of a quarter of them makes it good enough.

use super::super::SolvePhase;
use super::super::algebra::parse;
use super::super::checkpoint::Saver;
use super::recurrence::{Recurrence, scale_of};
use crate::error::SolveError;
use crate::scalar::Scalar;
use crate::trace;
use crate::vector_program::Bind;

/// y = A x becomes a multiple of (A − θ) x.
pub(super) const FACTOR: &str = "program lanczos_factor\nvectors y : inout\nvectors x : in\nscalars a b\n\
    y = a * y - b * x\nsum norm2 = y * y\n";

/// Roots closer to the lowest Ritz value than so many residual norms are copies of it.
const COPY: f64 = 10.0;

/// A later round takes this part of the factors, but at least so many.
const LATER: usize = 4;
const LEAST: usize = 10;

/// The factors, how many of them this round takes, and how many it has applied.
pub(super) struct Factors {
    roots: Vec<f64>,
    end: usize,
    next: usize,
}

impl Factors {
    /// The factors of Ritz values, ascending. The residual norm of the lowest tells copies of it from its neighbours where it has
    /// `converged`; rounding of `floor` always.
    pub(super) fn new(values: &[f64], residual: f64, converged: bool, floor: f64) -> Factors {
        let near = if converged { (COPY * residual).max(floor) } else { floor };
        let others: Vec<f64> = values.iter().copied().filter(|value| value - values[0] > near).collect();
        Factors { end: others.len(), roots: by_distance(others), next: 0 }
    }

    /// As a checkpoint has them.
    fn scalars(&self) -> Vec<f64> {
        [self.next as f64, self.end as f64].into_iter().chain(self.roots.iter().copied()).collect()
    }

    /// From a checkpoint.
    pub(super) fn read(scalars: &[f64]) -> Option<Factors> {
        let ([next, end], roots) = scalars.split_first_chunk()?;
        Some(Factors { roots: roots.to_vec(), end: (*end as usize).min(roots.len()), next: *next as usize })
    }

    /// Another round.
    pub(super) fn again(self) -> Factors {
        let end = self.roots.len().div_ceil(LATER).max(LEAST).min(self.roots.len());
        Factors { roots: self.roots, end, next: 0 }
    }

    /// Factors of a round.
    pub(super) fn len(&self) -> usize {
        self.end
    }

    /// Applies those that are left to x in the first slot. `done` is the number of steps for a checkpoint.
    pub(super) fn apply<T: Scalar>(
        &mut self,
        recurrence: &mut Recurrence<'_, T>,
        done: usize,
        saver: &mut Saver,
    ) -> Result<(), SolveError> {
        let (run, operator) = (recurrence.run, recurrence.operator);
        let factor = operator.device().program(&parse(FACTOR), T::TYPE, &[])?;
        let mut scale = scale_of(run.algebra.dot(&recurrence.slots[0], &recurrence.slots[0])?.sqrt());
        while let Some(root) = self.roots[..self.end].get(self.next) {
            let mut span = trace::span("solver", "step");
            span.note("step", self.next);
            let Recurrence { slots, y, .. } = recurrence;
            run.multiply(operator, &slots[0], y)?;
            let update = operator.device().span("solver", "update");
            let norm2 = factor.run(&mut [Bind::Out(y), Bind::In(&slots[0])], &[scale, root * scale])?[0];
            drop(update);
            scale = scale_of(run.finite(norm2, self.next)?.sqrt());
            std::mem::swap(&mut slots[0], y);
            self.next += 1;
            run.progress(SolvePhase::LanczosVector, self.next, &[], run.tolerance, false);
            if saver.due()? {
                self.save(recurrence, done, saver)?;
            }
        }
        Ok(())
    }

    /// Saves x and what is to be done to it.
    pub(super) fn save<T: Scalar>(
        &self,
        recurrence: &Recurrence<'_, T>,
        done: usize,
        saver: &mut Saver,
    ) -> Result<(), SolveError> {
        let scalars = [&recurrence.lengths(super::ground::FACTORS)[..], &self.scalars()].concat();
        saver.save("factors", done, &scalars, &[&recurrence.slots[0]])
    }
}

/// Numbers, each the farthest from those before it by the product of distances; the first is the largest.
fn by_distance(mut left: Vec<f64>) -> Vec<f64> {
    left.sort_by(f64::total_cmp);
    // Logarithms of the products, of the numbers that are left.
    let mut products = vec![0.0f64; left.len()];
    let mut found = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let farthest = (0..left.len()).max_by(|i, j| products[*i].total_cmp(&products[*j])).unwrap_or(0);
        let number = left.remove(farthest);
        products.remove(farthest);
        for (product, other) in products.iter_mut().zip(&left) {
            // Copies are equally bad places, and come last.
            *product += (other - number).abs().max(f64::MIN_POSITIVE).ln();
        }
        found.push(number);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_come_first_then_the_middle_and_copies_last() {
        let found = by_distance(vec![0.5, 1.0, -1.0, 1.0, 0.0, -0.5]);
        assert_eq!(found[..3], [1.0, -1.0, 0.0], "{found:?}");
        assert_eq!(found.len(), 6);
        assert_eq!(found[5], 1.0, "{found:?}");
        assert!(by_distance(Vec::new()).is_empty());
    }

    #[test]
    fn copies_of_the_lowest_value_are_no_roots() {
        let values = [-2.0, -2.0 + 1e-9, -1.9, 0.0];
        let roots = |residual, converged| Factors::new(&values, residual, converged, 1e-15).len();
        assert_eq!(roots(1e-9, true), 2);
        assert_eq!(roots(1e-11, true), 3);
        // Far from convergence neighbours are closer than the residual.
        assert_eq!(roots(0.5, false), 3);
        assert_eq!(Factors::new(&[1.0], 0.0, true, 0.0).len(), 0);
        let read = Factors::read(&Factors::new(&values, 0.0, true, 0.0).scalars()).unwrap();
        assert_eq!((read.len(), read.next, read.roots[0]), (3, 0, 0.0));
        let many: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(Factors::new(&many, 0.0, true, 0.0).again().len(), 25);
        assert_eq!(read.again().len(), 3);
        assert!(Factors::read(&[]).is_none());
    }
}
