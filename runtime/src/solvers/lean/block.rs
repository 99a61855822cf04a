//! Davidson's method for several states at once (Davidson 1975; several states: Liu 1978), in host memory.
//!
//! In: y = H x, its diagonal, a start vector for each state, vectors to stay orthogonal to, a tolerance on each ‖Hx − λx‖. Out: the lowest
//! eigenvalues, ascending, each with its unit eigenvector and residual norm.
//!
//! One basis V serves all states. In every iteration each state whose residual is too long adds its correction r / (λ − D), so that what is
//! learnt for one state is there for the others, and states that cross change places without a new search. A basis that is full is replaced by the
//! lowest Ritz vectors, twice as many as there are states. Directions are made orthonormal one by one, by two passes of Gram and Schmidt; one
//! of which next to nothing is left is dropped. No Gram matrix is factorised, so that start vectors or corrections may depend on each other.

use super::host::{HostDavidson, normalise, orthonormalised, remove};
use super::{DavidsonLimits, DavidsonResult};
use crate::dense::long_vectors::{add_columns, dot, project};
use crate::dense::{View, eigen};
use crate::error::BackendError;
use crate::seeded;
use crate::trace;

/// A direction with less than this fraction outside the basis is dropped.
const OUTSIDE: f64 = 1e-10;
/// Differences between the diagonal and a Ritz value are bounded below by this.
const HELD: f64 = 0.1;
/// Basis vectors per state at least: the state, its former one, and a correction.
const LEAST_OF_STATE: usize = 3;

/// V, W = H V and the small problem.
struct Block<'a, F> {
    multiply: F,
    against: &'a [Vec<f64>],
    v: Vec<Vec<f64>>,
    w: Vec<Vec<f64>>,
    /// The lower rows of Vᵀ H V.
    projected: Vec<Vec<f64>>,
    products: usize,
    /// Memory of vectors that are not in use.
    spare: Vec<Vec<f64>>,
}

impl<F: FnMut(&[f64], &mut [f64])> Block<'_, F> {
    /// Appends what is left of a direction outside the basis, with its product; `false` if that is next to nothing.
    fn append(&mut self, mut x: Vec<f64>) -> bool {
        let whole = dot(&x, &x).sqrt();
        if !(whole > 0.0 && whole.is_finite()) {
            return false;
        }
        let mut before = whole;
        loop {
            remove(self.against, &mut x);
            remove(&self.v, &mut x);
            let left = dot(&x, &x).sqrt();
            // Also where a number is not finite.
            if left.partial_cmp(&(OUTSIDE * whole)) != Some(std::cmp::Ordering::Greater) {
                return false;
            }
            // Once more if much was taken away (Daniel, Gragg, Kaufman, Stewart 1976).
            if left > 0.7 * before {
                break;
            }
            before = left;
        }
        normalise(&mut x);
        let mut y = self.spare.pop().unwrap_or_default();
        y.resize(x.len(), 0.0);
        {
            let _product = trace::span("dmrg", "product with H");
            (self.multiply)(&x, &mut y);
        }
        remove(self.against, &mut y);
        self.products += 1;
        self.v.push(x);
        self.projected.push(project(&self.v, &y));
        self.w.push(y);
        true
    }

    /// V Y and W Y of the lowest `count` Ritz vectors as the basis.
    fn collapse(&mut self, values: &[f64], y: &[Vec<f64>], count: usize) {
        for image in [false, true] {
            let made: Vec<Vec<f64>> = (0..count).map(|_| self.zeros()).collect();
            let from = if image { &mut self.w } else { &mut self.v };
            let old = std::mem::replace(from, made);
            from.iter_mut().zip(y).for_each(|(made, y)| add_columns(made, &old, y));
            self.spare.extend(old);
        }
        self.projected = (0..count).map(|k| (0..=k).map(|i| if i == k { values[k] } else { 0.0 }).collect()).collect();
    }

    fn zeros(&mut self) -> Vec<f64> {
        let mut x = self.spare.pop().unwrap_or_default();
        x.clear();
        x.resize(self.v[0].len(), 0.0);
        x
    }

    /// Ritz values, ascending, and their coefficients.
    fn ritz(&self) -> Result<(Vec<f64>, Vec<Vec<f64>>), BackendError> {
        let n = self.projected.len();
        let mut matrix = vec![0.0; n * n];
        for (i, row) in self.projected.iter().enumerate() {
            row.iter().enumerate().for_each(|(j, value)| matrix[i + j * n] = *value);
        }
        let (values, vectors) = eigen(View::whole(&matrix, n, n))?;
        Ok((values, (0..n).map(|j| (0..n).map(|i| vectors[(i, j)]).collect()).collect()))
    }

    /// r = (H − λ) x of a Ritz vector.
    fn residual(&mut self, value: f64, y: &[f64]) -> Vec<f64> {
        let mut r = self.zeros();
        let shifted: Vec<f64> = y.iter().map(|y| -value * y).collect();
        add_columns(&mut r, &self.w, y);
        add_columns(&mut r, &self.v, &shifted);
        r
    }
}

/// Operations of a product per element and state above the first from which a common basis is predicted to pay. It saves a tenth of the products,
/// but each works on as many times the vectors: docs/performance.md, "Several states from one basis".
const LEAST_FLOPS: f64 = 20_000.0;

/// Whether a common basis is predicted to pay for so many states of `n` elements and products of `flops` operations.
pub(crate) fn pays_together(flops: f64, n: usize, states: usize) -> bool {
    states > 1 && flops > LEAST_FLOPS * n as f64 * (states - 1) as f64
}

/// Whether a basis of `width` vectors serves so many states together.
fn has_room(width: usize, states: usize) -> bool {
    states > 1 && LEAST_OF_STATE * states <= width
}

impl HostDavidson {
    /// Replaces `vectors` by the lowest eigenvectors of P H P with P = 1 − Σ |φ⟩⟨φ| over `against`, ascending, from one basis. `None` if it has
    /// no room for so many states; then nothing is changed. `limits.products` is per state.
    ///
    /// # Errors
    /// A number is not finite.
    pub fn solve_together(
        &mut self,
        multiply: impl FnMut(&[f64], &mut [f64]),
        diagonal: &[f64],
        vectors: &mut [&mut [f64]],
        limits: DavidsonLimits,
        against: &[&[f64]],
    ) -> Result<Option<Vec<DavidsonResult>>, BackendError> {
        let (n, states) = (diagonal.len(), vectors.len());
        let against = orthonormalised(against);
        let complete = n.saturating_sub(against.len());
        if !has_room(self.width(), states) || complete < states {
            return Ok(None);
        }
        let most = self.width();
        let spare = self.take_vectors();
        let (v, w, projected) = (Vec::new(), Vec::new(), Vec::new());
        let mut block = Block { multiply, against: &against, v, w, projected, products: 0, spare };
        for x in vectors.iter() {
            block.append(x.to_vec());
        }
        // Start vectors that depend on each other leave room for others.
        for seed in 0.. {
            if block.v.len() >= states {
                break;
            }
            if seed == 64 {
                return Ok(None);
            }
            block.append(seeded::vector(n, 0x0d1e_0000 + seed));
        }
        // Residual norms, and the Ritz values at which states converged: only the others are looked at in each iteration.
        let (mut norms, mut locked) = (vec![f64::INFINITY; states], vec![None; states]);
        loop {
            let iterating = trace::span("dmrg", "vectors of Davidson");
            let (values, y) = block.ritz()?;
            // A state that appears below others moves them up.
            for (locked, value) in locked.iter_mut().zip(&values) {
                if locked.is_some_and(|locked: f64| (value - locked).abs() > limits.tolerance) {
                    *locked = None;
                }
            }
            let mut open: Vec<(usize, Vec<f64>)> = Vec::with_capacity(states);
            for again in [false, true] {
                for k in (0..states).filter(|&k| locked[k].is_none()).collect::<Vec<_>>() {
                    let residual = block.residual(values[k], &y[k]);
                    norms[k] = dot(&residual, &residual).sqrt();
                    if limits.end_at(norms[k]) {
                        locked[k] = Some(values[k]);
                        block.spare.push(residual);
                    } else {
                        open.push((k, residual));
                    }
                }
                // All have converged, some in an earlier iteration: look at all once more.
                if again || !open.is_empty() {
                    break;
                }
                locked.fill(None);
            }
            let is_last = open.is_empty()
                || block.v.len() >= complete
                || block.products + open.len() > limits.products.saturating_mul(states);
            let mut grown = false;
            if !is_last {
                if complete > most && block.v.len() + open.len() > most {
                    block.collapse(&values, &y, (2 * states).min(most - open.len()).min(block.v.len()));
                }
                drop(iterating);
                for (k, residual) in &open {
                    let mut correction = block.zeros();
                    for ((t, r), d) in correction.iter_mut().zip(residual).zip(diagonal) {
                        let gap = values[*k] - d;
                        *t = r / if gap.abs() < HELD { HELD.copysign(gap) } else { gap };
                    }
                    grown |= block.append(correction);
                }
                if !grown {
                    // If the diagonal describes a mixture of eigenvectors well, its correction is the mixture.
                    for (_, residual) in &open {
                        grown |= block.append(residual.clone());
                    }
                }
            }
            let residuals = open.into_iter().map(|(_, residual)| residual);
            if grown {
                block.spare.extend(residuals);
            } else {
                let shares = |k: usize| block.products / states + usize::from(k < block.products % states);
                let (values, y) = if is_last { (values, y) } else { block.ritz()? };
                for (x, y) in vectors.iter_mut().zip(&y) {
                    x.fill(0.0);
                    add_columns(x, &block.v, y);
                    normalise(x);
                }
                let found = |k: usize| DavidsonResult { value: values[k], residual: norms[k], products: shares(k) };
                let Block { v, w, spare, .. } = block;
                self.give_vectors(v, w.into_iter().chain(spare).chain(residuals));
                return Ok(Some((0..states).map(found).collect()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;

    /// A random symmetric matrix with a diagonal that grows; every level `copies` times.
    fn matrix(rows: usize, copies: usize, seed: u64) -> (usize, Vec<f64>) {
        let (n, random) = (rows * copies, vector(rows * rows, seed));
        let element = |k: usize| {
            let (i, j) = (k % n, k / n);
            if i / rows != j / rows {
                return 0.0;
            }
            let (i, j) = (i % rows, j % rows);
            0.5 * (random[i + j * rows] + random[j + i * rows]) + if i == j { 0.3 * i as f64 } else { 0.0 }
        };
        (n, (0..n * n).map(element).collect())
    }

    fn multiply(n: usize, a: &[f64]) -> impl FnMut(&[f64], &mut [f64]) {
        move |x: &[f64], y: &mut [f64]| {
            for (i, y) in y.iter_mut().enumerate() {
                *y = (0..n).map(|j| a[i + j * n] * x[j]).sum();
            }
        }
    }

    /// Solves from these starts; checks values, residuals and orthonormality against dense diagonalisation; returns the products.
    fn check(n: usize, a: &[f64], mut starts: Vec<Vec<f64>>, against: &[&[f64]], expected: &[f64]) -> usize {
        let diagonal: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
        let limits = DavidsonLimits { tolerance: 1e-9, products: 300 };
        let mut x: Vec<&mut [f64]> = starts.iter_mut().map(Vec::as_mut_slice).collect();
        let found = HostDavidson::default().solve_together(multiply(n, a), &diagonal, &mut x, limits, against);
        let found = found.unwrap().expect("the basis has room");
        for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found.value - expected).abs() < 1e-11, "state {k}: {found:?} is not {expected}");
            assert!(found.residual < 1e-9, "state {k}: {found:?}");
            let mut y = vec![0.0; n];
            multiply(n, a)(&starts[k], &mut y);
            let outside = |x: &mut Vec<f64>| remove(&orthonormalised(against), x);
            outside(&mut y);
            let r: f64 = y.iter().zip(&starts[k]).map(|(y, x)| (y - found.value * x).powi(2)).sum();
            assert!(r.sqrt() < 2e-9, "state {k}: {}", r.sqrt());
            for (l, other) in starts[..=k].iter().enumerate() {
                let overlap = dot(&starts[k], other) - if k == l { 1.0 } else { 0.0 };
                assert!(overlap.abs() < 1e-9, "states {k} and {l}: {overlap}");
            }
        }
        found.iter().map(|found| found.products).sum()
    }

    #[test]
    fn the_lowest_states_of_random_matrices_also_across_restarts() {
        for (rows, states, seed) in [(4, 2, 1), (40, 3, 2), (150, 4, 3), (150, 6, 4)] {
            let (n, a) = matrix(rows, 1, seed);
            let (values, _) = eigen(View::whole(&a, n, n)).unwrap();
            let starts = (0..states as u64).map(|k| vector(n, 90 + k)).collect();
            let products = check(n, &a, starts, &[], &values);
            assert!(rows < 100 || products > super::super::WIDTH, "meant to restart: {products}");
        }
    }

    /// Three copies of every level: as many members as are asked for, whichever mixtures. A start vector in one copy, the same again, and
    /// nothing at all.
    #[test]
    fn members_of_a_multiplet_from_dependent_starts() {
        let (n, a) = matrix(30, 3, 5);
        let (values, _) = eigen(View::whole(&a, n, n)).unwrap();
        assert!((values[0] - values[2]).abs() < 1e-12);
        let one: Vec<f64> = (0..n).map(|i| if i < 30 { 1.0 } else { 0.0 }).collect();
        check(n, &a, vec![one.clone(), one, vec![0.0; n]], &[], &values);
        let starts = (0..5).map(|k| vector(n, 60 + k)).collect();
        check(n, &a, starts, &[], &values);
    }

    /// Starts in the wrong order, exact for a state that is not asked for: roots cross.
    #[test]
    fn roots_that_cross() {
        let (n, a) = matrix(60, 1, 6);
        let (values, vectors) = eigen(View::whole(&a, n, n)).unwrap();
        let column = |k: usize| (0..n).map(|i| vectors[(i, k)] + 1e-4 * vector(n, 33)[i]).collect::<Vec<f64>>();
        check(n, &a, vec![column(5), column(1), column(0)], &[], &values);
        let lowest = column(0);
        let (zero, one): (Vec<f64>, Vec<f64>) =
            ((0..n).map(|i| vectors[(i, 0)]).collect(), (0..n).map(|i| 2.0 * vectors[(i, 1)]).collect());
        check(n, &a, vec![lowest, column(4)], &[&zero, &one, &zero], &values[2..]);
    }

    /// What the states learn from each other: fewer products than one search after the other, from the same starts.
    #[test]
    fn fewer_products_than_one_search_after_the_other() {
        let (n, a) = matrix(200, 1, 7);
        let (values, _) = eigen(View::whole(&a, n, n)).unwrap();
        let diagonal: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
        let limits = DavidsonLimits { tolerance: 1e-9, products: 300 };
        let starts: Vec<Vec<f64>> = (0..3).map(|k| vector(n, 40 + k)).collect();
        let together = check(n, &a, starts.clone(), &[], &values);
        let (mut done, mut apart): (Vec<Vec<f64>>, usize) = (Vec::new(), 0);
        for mut x in starts {
            let below: Vec<&[f64]> = done.iter().map(Vec::as_slice).collect();
            let solved = HostDavidson::default().solve(multiply(n, &a), &diagonal, &mut x, limits, &below).unwrap();
            apart += solved.products;
            done.push(x);
        }
        println!("{together} products together, {apart} one after the other");
        assert!(together < apart, "{together} and {apart}");
    }

    #[test]
    fn a_basis_without_room_leaves_the_states_to_a_search_each() {
        let (n, a) = matrix(5, 1, 8);
        let diagonal: Vec<f64> = (0..n).map(|i| a[i * (n + 1)]).collect();
        let limits = DavidsonLimits { tolerance: 1e-9, products: 30 };
        for states in [1, 6, 7] {
            let mut starts: Vec<Vec<f64>> = (0..states).map(|k| vector(n, k)).collect();
            let mut x: Vec<&mut [f64]> = starts.iter_mut().map(Vec::as_mut_slice).collect();
            let found = HostDavidson::default().solve_together(multiply(n, &a), &diagonal, &mut x, limits, &[]);
            assert_eq!(found.unwrap(), None, "{states} states of {n}");
        }
    }
}
