//! A in the basis: a tridiagonal matrix, preceded by Ritz values after a restart.
//!
//! ```text
//! θ₀          c₀
//!     θ₁      c₁               c: couplings of the Ritz vectors with the first vector of the chain
//!         …   …
//! c₀  c₁  …   α₀  β₀
//!             β₀  α₁  β₁
//!                 β₁  …
//! ```
//!
//! Elimination from the upper left causes no fill-in, so the lowest pair costs a few passes over 2m numbers.

use super::super::ritz::symmetric_eigen;
use crate::error::SolveError;
use faer::Mat;
use rayon::prelude::*;

/// The matrix so far, with β of the last step, which couples it to the next.
#[derive(Default)]
pub(in super::super) struct Projected {
    theta: Vec<f64>,
    couplings: Vec<f64>,
    alpha: Vec<f64>,
    beta: Vec<f64>,
}

impl Projected {
    /// Ritz values with their couplings to the chain that starts.
    pub(super) fn restarted(theta: Vec<f64>, couplings: Vec<f64>) -> Projected {
        Projected { theta, couplings, alpha: Vec::new(), beta: Vec::new() }
    }

    /// A chain from its coefficients.
    pub(in super::super) fn chain(alpha: Vec<f64>, beta: Vec<f64>) -> Projected {
        Projected { alpha, beta, ..Projected::default() }
    }

    pub(super) fn push(&mut self, alpha: f64, beta: f64) {
        self.alpha.push(alpha);
        self.beta.push(beta);
    }

    /// Rows.
    pub(super) fn size(&self) -> usize {
        self.theta.len() + self.alpha.len()
    }

    /// Whether the chain after a restart has no step yet.
    pub(super) fn begins_behind_ritz_vectors(&self) -> bool {
        self.alpha.is_empty() && !self.theta.is_empty()
    }

    /// Whether no restart has happened.
    pub(super) fn is_chain(&self) -> bool {
        self.theta.is_empty()
    }

    pub(super) fn couplings(&self) -> &[f64] {
        &self.couplings
    }

    pub(super) fn alpha(&self) -> &[f64] {
        &self.alpha
    }

    pub(super) fn beta(&self) -> &[f64] {
        &self.beta
    }

    /// The `count` lowest eigenvalues, and all eigenvectors as columns.
    pub(super) fn lowest_many(&self, count: usize) -> Result<(Vec<f64>, Mat<f64>), SolveError> {
        let (k, n) = (self.theta.len(), self.size());
        let mut matrix = Mat::<f64>::zeros(n, n);
        let mut couple = |i: usize, j: usize, value: f64| {
            matrix[(i, j)] = value;
            matrix[(j, i)] = value;
        };
        for (i, (theta, coupling)) in self.theta.iter().zip(&self.couplings).enumerate() {
            couple(i, i, *theta);
            couple(i, k, *coupling);
        }
        self.alpha.iter().enumerate().for_each(|(j, alpha)| couple(k + j, k + j, *alpha));
        self.beta[..self.alpha.len() - 1].iter().enumerate().for_each(|(j, beta)| couple(k + j, k + j + 1, *beta));
        let (mut values, vectors) = symmetric_eigen(&matrix)?;
        values.truncate(count);
        Ok((values, vectors))
    }

    /// All eigenvalues, ascending, by bisection on the number of negative pivots: no matrix is made, so thousands of steps are no matter.
    pub(super) fn values(&self) -> Vec<f64> {
        let (low, high) = self.bounds();
        let tiny = f64::EPSILON * low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
        let value = |index: usize| {
            let (mut low, mut high) = (low - tiny, high + tiny);
            while high - low > 2.0 * tiny {
                let middle = 0.5 * (low + high);
                if middle <= low || middle >= high {
                    break;
                }
                let below = self.pivots(middle, tiny * f64::EPSILON).filter(|pivot| *pivot < 0.0).count();
                if below > index { high = middle } else { low = middle }
            }
            0.5 * (low + high)
        };
        (0..self.size()).into_par_iter().map(value).collect()
    }

    /// Bounds of the spectrum, from the sums of rows.
    fn bounds(&self) -> (f64, f64) {
        let off = |j: usize| if j + 1 < self.alpha.len() { self.beta[j].abs() } else { 0.0 };
        let all: f64 = self.couplings.iter().map(|c| c.abs()).sum();
        let radius = |j: usize| off(j) + if j > 0 { off(j - 1) } else { all };
        let ritz = self.theta.iter().zip(&self.couplings).map(|(theta, c)| (*theta, c.abs()));
        let chain = self.alpha.iter().enumerate().map(|(j, alpha)| (*alpha, radius(j)));
        ritz.chain(chain).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (center, radius)| {
            (low.min(center - radius), high.max(center + radius))
        })
    }

    /// The pivots of T − at by elimination from the upper left; a vanishing one becomes `tiny`.
    fn pivots(&self, at: f64, tiny: f64) -> impl Iterator<Item = f64> {
        let of = move |pivot: f64| if pivot.abs() < tiny { tiny } else { pivot };
        let ritz = self.theta.iter().map(move |theta| of(theta - at));
        let squares = self.theta.iter().zip(&self.couplings).map(|(theta, c)| c * c / of(theta - at));
        let mut taken: f64 = squares.sum();
        let chain = self.alpha.iter().zip(&self.beta).map(move |(alpha, beta)| {
            let pivot = of(alpha - at - taken);
            taken = beta * beta / pivot;
            pivot
        });
        ritz.chain(chain)
    }

    /// Lowest eigenvalue (bisection on the signs of pivots) and unit eigenvector (inverse iteration). At least one step
    /// must have been made.
    pub(in super::super) fn lowest(&self) -> (f64, Vec<f64>) {
        let (k, n) = (self.theta.len(), self.size());
        if n == 1 {
            return (self.alpha[0], vec![1.0]);
        }
        let (mut low, _) = self.bounds();
        let mut high = self.theta.iter().chain(&self.alpha).copied().fold(f64::INFINITY, f64::min);
        let scale = low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
        let tiny = f64::EPSILON * scale;
        high += tiny;
        while high - low > 2.0 * tiny {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.pivots(middle, tiny * f64::EPSILON).any(|pivot| pivot < 0.0) { high = middle } else { low = middle }
        }
        // T - low is positive definite up to rounding, so elimination needs no pivoting.
        let pivots: Vec<f64> = self.pivots(low, tiny).collect();
        let mut s = vec![1.0 / (n as f64).sqrt(); n];
        for _ in 0..4 {
            for (i, coupling) in self.couplings.iter().enumerate() {
                s[k] -= coupling / pivots[i] * s[i];
            }
            for i in k + 1..n {
                s[i] -= self.beta[i - 1 - k] / pivots[i - 1] * s[i - 1];
            }
            s[n - 1] /= pivots[n - 1];
            for i in (k..n - 1).rev() {
                s[i] = (s[i] - self.beta[i - k] * s[i + 1]) / pivots[i];
            }
            for (i, coupling) in self.couplings.iter().enumerate() {
                s[i] = (s[i] - coupling * s[k]) / pivots[i];
            }
            let largest = s.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            s.iter_mut().for_each(|v| *v /= largest);
            let length = s.iter().map(|v| v * v).sum::<f64>().sqrt();
            s.iter_mut().for_each(|v| *v /= length);
        }
        (0.5 * (low + high), s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// α, β of a chain whose lowest level is well apart, with and without Ritz vectors in front.
    fn matrices() -> Vec<Projected> {
        let list = |count: usize, seed: f64| (0..count).map(|j| (seed * (j + 1) as f64).sin()).collect::<Vec<_>>();
        let chain = |count| (list(count, 1.7), list(count, 2.3).iter().map(|b| 0.1 + b.abs()).collect::<Vec<_>>());
        let mut all = Vec::new();
        for count in [1, 2, 3, 40] {
            let (alpha, beta) = chain(count);
            all.push(Projected::chain(alpha, beta));
        }
        for (k, count) in [(1, 1), (2, 1), (5, 30), (16, 3)] {
            let (alpha, beta) = chain(count);
            let mut restarted = Projected::restarted(list(k, 0.9), list(k, 0.31));
            alpha.iter().zip(&beta).for_each(|(a, b)| restarted.push(*a, *b));
            all.push(restarted);
        }
        all
    }

    #[test]
    fn the_lowest_pair_is_that_of_the_dense_matrix() {
        for projected in matrices() {
            let (value, s) = projected.lowest();
            let (values, vectors) = projected.lowest_many(1).unwrap();
            assert!((value - values[0]).abs() < 1e-13, "{value} {values:?}");
            let (all, _) = projected.lowest_many(projected.size()).unwrap();
            let found = projected.values();
            assert_eq!(found.len(), all.len());
            assert!(found.iter().zip(&all).all(|(found, wanted)| (found - wanted).abs() < 1e-13), "{found:?} {all:?}");
            let overlap: f64 = s.iter().enumerate().map(|(i, s)| s * vectors[(i, 0)]).sum();
            assert_eq!(s.len(), projected.size());
            assert!((overlap.abs() - 1.0).abs() < 1e-10, "{overlap}");
        }
    }
}
