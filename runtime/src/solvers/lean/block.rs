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
/// First of the seeds of random start vectors, in place of those that depend on others, and how many are tried.
pub(super) const START_SEEDS: std::ops::Range<u64> = 0x0d1e_0000..0x0d1e_0040;

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
        let (values, vectors) = eigen(View::new(&matrix, n, n))?;
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

/// Whether a basis of `width` vectors serves so many states together.
pub(super) fn has_room(width: usize, states: usize) -> bool {
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
        for seed in START_SEEDS {
            if block.v.len() >= states {
                break;
            }
            block.append(seeded::vector(n, seed));
        }
        if block.v.len() < states {
            return Ok(None);
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
                    if limits.end_at(norms[k], &[]) {
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
                let found = |k: usize| DavidsonResult {
                    value: values[k],
                    residual: norms[k],
                    products: shares(k),
                    first: f64::NAN,
                };
                let Block { v, w, spare, .. } = block;
                self.give_vectors(v, w.into_iter().chain(spare).chain(residuals));
                return Ok(Some((0..states).map(found).collect()));
            }
        }
    }
}
