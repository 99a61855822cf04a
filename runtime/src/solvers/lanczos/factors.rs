//! x without the basis: the lowest Ritz vector is a polynomial of A times the start, and its roots are the other Ritz values.
//!
//! In: the Ritz values θ_0 < θ_1 < … < θ_{m−1} of m steps, the start v. Out: x ∝ (A − θ_1) … (A − θ_{m−1}) v, with m − 1 multiplies or a
//! few more, two vectors and three passes each (the exact shifts of Sorensen 1992, applied one by one).
//!
//! The order of the factors decides what rounding does. Each root is the one at which the product so far is largest (Leja points;
//! Reichel 1990). Rounding puts a little of every eigenvector back, and factors that follow may make more of it than of x: of a level
//! far from the others, as states that certification has locked, 2^k after k factors. So the product is followed at roots that were
//! taken, too, from a rounding error on, and one that grows is taken again. For rings of spins, Hubbard clusters and spectra with levels far
//! apart, locked or not, ‖A x − θ_0 x‖ is then that of x = Σ s_j v_j with recomputed v_j, from 1e-6 to 1e-15 of the norm.

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

/// Part of the largest product up to which rounding errors may grow while there are roots that were not taken.
const GROWN: f64 = 1e-3;
/// Part of the tolerance that they may have in the end.
const LEFT: f64 = 0.1;

/// The roots of a round, and how many have been applied.
pub(super) struct Factors {
    roots: Vec<f64>,
    next: usize,
}

/// How exact Ritz values and x are to be.
pub(super) struct Accuracy {
    /// The residual norm of the lowest Ritz value, and whether it has converged.
    pub(super) residual: f64,
    pub(super) converged: bool,
    /// The residual norm of x that counts as converged, and one that may be rounding errors.
    pub(super) tolerance: f64,
    pub(super) floor: f64,
    /// Rounding of a number.
    pub(super) epsilon: f64,
}

impl Factors {
    /// The factors of Ritz values, ascending. The residual norm tells copies of the lowest from its neighbours once it has converged;
    /// rounding always does.
    pub(super) fn new(values: &[f64], accuracy: &Accuracy) -> Factors {
        let Accuracy { residual, converged, floor, .. } = *accuracy;
        let near = if converged { (COPY * residual).max(floor) } else { floor };
        let others: Vec<f64> = values.iter().copied().filter(|value| value - values[0] > near).collect();
        Factors { roots: ordered(values[0], &others, accuracy), next: 0 }
    }

    /// As a checkpoint has them.
    fn scalars(&self) -> Vec<f64> {
        std::iter::once(self.next as f64).chain(self.roots.iter().copied()).collect()
    }

    /// From a checkpoint.
    pub(super) fn read(scalars: &[f64]) -> Option<Factors> {
        let (next, roots) = scalars.split_first()?;
        Some(Factors { roots: roots.to_vec(), next: *next as usize })
    }

    /// Another round.
    pub(super) fn again(self) -> Factors {
        Factors { next: 0, ..self }
    }

    /// Factors of a round.
    pub(super) fn len(&self) -> usize {
        self.roots.len()
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
        while let Some(root) = self.roots.get(self.next) {
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

/// Roots in the order in which they are applied, some of them more than once: never more than twice as many as there are values.
fn ordered(lowest: f64, values: &[f64], accuracy: &Accuracy) -> Vec<f64> {
    // Logarithms of the product at each value, of rounding errors where it was taken, and at the lowest value.
    let (mut products, mut taken, mut at_lowest) = (vec![0.0f64; values.len()], vec![false; values.len()], 0.0f64);
    let largest = |of: &dyn Fn(usize) -> f64| {
        (0..values.len()).map(|i| (i, of(i))).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NEG_INFINITY))
    };
    let distance = |a: f64, b: f64| (a - b).abs().max(f64::MIN_POSITIVE).ln();
    let mut found = Vec::with_capacity(values.len());
    while found.len() < 2 * values.len() {
        let scale = products.iter().fold(at_lowest, |scale, product| scale.max(*product));
        at_lowest -= scale;
        for (product, taken) in products.iter_mut().zip(&taken) {
            *product -= scale;
            if *taken {
                *product = product.max(accuracy.epsilon.ln());
            }
        }
        let only = |which: bool| largest(&|i| if taken[i] == which { products[i] } else { f64::NEG_INFINITY });
        let next = if taken.iter().all(|taken| *taken) {
            let allowed =
                |i: usize| (LEFT * accuracy.tolerance / (values[i] - lowest)).max(4.0 * accuracy.epsilon).ln();
            let (worst, over) = largest(&|i| products[i] - at_lowest - allowed(i));
            if over <= 0.0 {
                break;
            }
            worst
        } else {
            let (worst, grown) = only(true);
            if grown > GROWN.ln() { worst } else { only(false).0 }
        };
        found.push(values[next]);
        products.iter_mut().zip(values).for_each(|(product, value)| *product += distance(*value, values[next]));
        (products[next], taken[next]) = (f64::NEG_INFINITY, true);
        at_lowest += distance(lowest, values[next]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Accuracy =
        Accuracy { residual: 0.0, converged: true, tolerance: 1e-10, floor: 1e-15, epsilon: f64::EPSILON };

    #[test]
    fn ends_come_first_then_the_middle() {
        let found = ordered(-1.2, &[-1.0, -0.5, 0.0, 0.5, 1.0, 1.0], &EXACT);
        assert_eq!(found[..3], [1.0, -1.0, 0.0], "{found:?}");
        assert!(found.len() >= 6 && [-1.0, -0.5, 0.0, 0.5, 1.0].iter().all(|value| found.contains(value)), "{found:?}");
        assert!(ordered(0.0, &[], &EXACT).is_empty());
        // Bands need no factor twice.
        let band: Vec<f64> = (0..60).map(|k| -(std::f64::consts::PI * (f64::from(k) + 0.5) / 60.0).cos()).collect();
        assert_eq!(ordered(-1.1, &band, &EXACT).len(), 60);
    }

    /// x of a diagonal matrix by the factors, each product rounded: a level far above the others does not come back.
    #[test]
    fn what_rounding_puts_back_is_taken_out_again() {
        let levels: Vec<f64> =
            (0..60).map(|k| -(std::f64::consts::PI * (f64::from(k) + 0.5) / 60.0).cos()).chain([30.0]).collect();
        let lowest = -1.5;
        let left = |roots: &[f64]| {
            let mut x = vec![1.0; levels.len() + 1];
            for root in roots {
                for (x, level) in x.iter_mut().zip(levels.iter().chain([&lowest])) {
                    *x *= level - root;
                }
                let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                x.iter_mut().for_each(|x| *x = *x / length + f64::EPSILON);
            }
            x[..levels.len()].iter().fold(0.0f64, |most, x| most.max(x.abs())) / x[levels.len()].abs()
        };
        let found = ordered(lowest, &levels, &EXACT);
        assert!(found.len() < levels.len() + 10 && left(&found) < 1e-11, "{} {:e}", found.len(), left(&found));
        let once: Vec<f64> = std::iter::once(30.0).chain(found.iter().copied().filter(|root| *root != 30.0)).collect();
        assert!(left(&once) > 1.0, "{:e}", left(&once));
    }

    #[test]
    fn copies_of_the_lowest_value_are_no_roots() {
        let values = [-2.0, -2.0 + 1e-9, -1.9, 0.0];
        let has = |residual: f64, converged: bool| {
            Factors::new(&values, &Accuracy { residual, converged, ..EXACT }).roots.contains(&values[1])
        };
        assert!(!has(1e-9, true) && has(1e-11, true));
        // Far from convergence neighbours are closer than the residual.
        assert!(has(0.5, false));
        assert_eq!(Factors::new(&[1.0], &EXACT).len(), 0);
        let factors = Factors { roots: vec![3.0, 1.0], next: 1 };
        let read = Factors::read(&factors.scalars()).unwrap();
        assert_eq!((read.len(), read.next, read.roots[0]), (2, 1, 3.0));
        assert_eq!(read.again().next, 0);
        assert!(Factors::read(&[]).is_none());
    }
}
