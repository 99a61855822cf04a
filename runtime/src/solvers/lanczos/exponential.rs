//! Exponentials of the tridiagonal matrix of a chain, and how far the vector that they make may be from the true one.
//!
//! With V the m vectors of the chain of x and T its matrix, exp(−iHt) x ≈ ‖x‖ V exp(−iTt) e₁. The difference e obeys
//! e′ = −iH e − i ‖x‖ β_m [exp(−iTt)]_{m1} v_{m+1}, so
//!
//! ‖e(t)‖ ≤ ‖x‖ β_m ∫₀ᵗ |[exp(−iTs)]_{m1}| ds   (Y. Saad, SIAM J. Numer. Anal. 29, 209 (1992); M. Hochbruck, C. Lubich and H. Selhofer,
//! SIAM J. Sci. Comput. 19, 1552 (1998)).
//!
//! In imaginary time exp(−(t − s)(H − E)) stands in the integral, of norm 1 where E is the lowest level: the lowest value of T is taken for it.
//! T has few rows, so the integral costs nothing beside a multiply.

use super::super::ritz::symmetric_eigen;
use crate::error::SolveError;
use faer::Mat;

/// Parts of 1 / (half the width of T's spectrum) between two points of the integral.
const CELL: f64 = 0.25;
/// Cells of a step at most.
const MOST_CELLS: usize = 4096;
/// Halvings of the first cell where it is too long.
const HALVINGS: i32 = 24;

/// Which exponential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeAxis {
    /// exp(−iHt).
    Real,
    /// exp(−Ht).
    Imaginary,
}

/// The eigenvalues and vectors of T, with the length of x and the β that leads out.
pub struct SmallExponential {
    /// Ascending.
    values: Vec<f64>,
    vectors: Mat<f64>,
    /// ‖x‖.
    length: f64,
    beta: f64,
}

impl SmallExponential {
    /// Of the chain of a vector of this length: the diagonal of T and, of the same length, the β behind each row, of which the last leads out.
    ///
    /// # Errors
    /// The eigensolver's.
    pub fn new(alpha: &[f64], beta: &[f64], length: f64) -> Result<SmallExponential, SolveError> {
        let n = alpha.len();
        let mut matrix = Mat::<f64>::zeros(n, n);
        for (i, value) in alpha.iter().enumerate() {
            matrix[(i, i)] = *value;
            if i + 1 < n {
                (matrix[(i + 1, i)], matrix[(i, i + 1)]) = (beta[i], beta[i]);
            }
        }
        let (values, vectors) = symmetric_eigen(&matrix)?;
        Ok(SmallExponential { values, vectors, length, beta: beta[n - 1] })
    }

    /// The lowest value of T.
    pub fn lowest(&self) -> f64 {
        self.values[0]
    }

    /// The length of the part of x along the vector of the lowest value.
    pub(super) fn lowest_weight(&self) -> f64 {
        self.length * self.vectors[(0, 0)].abs()
    }

    /// The largest |value|.
    pub(super) fn largest(&self) -> f64 {
        self.values.iter().fold(0.0, |largest, value| value.abs().max(largest))
    }

    /// Half the width of the spectrum of T.
    pub(super) fn half_width(&self) -> f64 {
        0.5 * (self.values[self.values.len() - 1] - self.values[0])
    }

    /// ‖x‖ Q f(values) Qᵀ e₁.
    fn applied(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let n = self.values.len();
        let weights: Vec<f64> = (0..n).map(|k| self.length * self.vectors[(0, k)] * f(self.values[k])).collect();
        (0..n).map(|j| (0..n).map(|k| self.vectors[(j, k)] * weights[k]).sum()).collect()
    }

    /// The coefficients of cos(Ht) x and of sin(Ht) x in the basis.
    pub fn cosine_and_sine(&self, time: f64) -> [Vec<f64>; 2] {
        [self.applied(|value| (value * time).cos()), self.applied(|value| (value * time).sin())]
    }

    /// The coefficients of exp(−(H − shift) t) x in the basis.
    pub fn decay(&self, time: f64, shift: f64) -> Vec<f64> {
        self.applied(|value| (-(value - shift) * time).exp())
    }

    /// ‖x‖ β_m |[exp]_{m1}|; in imaginary time with the shift.
    fn defect(&self, axis: TimeAxis, time: f64, shift: f64) -> f64 {
        let last = self.values.len() - 1;
        let (mut re, mut im) = (0.0, 0.0);
        for (k, value) in self.values.iter().enumerate() {
            let weight = self.vectors[(0, k)] * self.vectors[(last, k)];
            match axis {
                TimeAxis::Real => {
                    let (sin, cos) = (value * time).sin_cos();
                    (re, im) = (re + weight * cos, im - weight * sin);
                }
                TimeAxis::Imaginary => re += weight * (-(value - shift) * time).exp(),
            }
        }
        self.length * self.beta * f64::hypot(re, im)
    }
}

/// A step and the bound of its error.
#[derive(Clone, Copy, Debug)]
pub struct BoundedStep {
    /// Its length.
    pub step: f64,
    /// In parts of the norm behind the step.
    pub bound: f64,
}

/// The lowest value of all chains.
pub(super) fn lowest_value(parts: &[&SmallExponential]) -> f64 {
    parts.iter().map(|part| part.lowest()).fold(f64::INFINITY, f64::min)
}

/// ‖exp(−(H − shift) t) ψ‖ of the parts of ψ; 1 in real time, where ψ has length 1.
fn norm(parts: &[&SmallExponential], axis: TimeAxis, time: f64, shift: f64) -> f64 {
    match axis {
        TimeAxis::Real => 1.0,
        TimeAxis::Imaginary => {
            let squares = parts.iter().map(|part| part.decay(time, shift).iter().map(|c| c * c).sum::<f64>());
            squares.sum::<f64>().sqrt()
        }
    }
}

/// The longest step up to `longest` whose bound is at most what is `allowed` for a step of its length; where none is, that with the least error
/// for its length.
pub fn longest_step(
    parts: &[&SmallExponential],
    axis: TimeAxis,
    longest: f64,
    allowed: impl Fn(f64) -> f64,
) -> BoundedStep {
    let shift = lowest_value(parts);
    let defect = |time: f64| parts.iter().map(|part| part.defect(axis, time, shift)).sum::<f64>();
    // |[exp]_{m1}| ≤ 1: chains that are closed go as far as is wanted.
    let rate: f64 = parts.iter().map(|part| part.length * part.beta).sum();
    let whole = rate * longest / norm(parts, axis, longest, shift);
    if whole <= allowed(longest) {
        return BoundedStep { step: longest, bound: whole };
    }
    let width = parts.iter().map(|part| part.half_width()).fold(0.0, f64::max);
    let cell = if width > 0.0 { (CELL / width).min(longest) } else { longest };
    // Simpson.
    let integral =
        |from: f64, to: f64| (to - from) / 6.0 * (defect(from) + 4.0 * defect(0.5 * (from + to)) + defect(to));
    let mut best: Option<BoundedStep> = None;
    let mut sum = 0.0;
    for number in 0..MOST_CELLS {
        let (from, to) = (number as f64 * cell, ((number + 1) as f64 * cell).min(longest));
        sum += integral(from, to);
        let bound = sum / norm(parts, axis, to, shift);
        if bound.is_nan() || bound > allowed(to) {
            break;
        }
        best = Some(BoundedStep { step: to, bound });
        if to >= longest {
            break;
        }
    }
    if let Some(best) = best {
        return best;
    }
    let short = (0..=HALVINGS).map(|halvings| {
        let step = cell * 0.5f64.powi(halvings);
        BoundedStep { step, bound: integral(0.0, step) / norm(parts, axis, step, shift) }
    });
    let tried: Vec<BoundedStep> = short.collect();
    let per_length = |step: &BoundedStep| step.bound / step.step;
    let found = tried.iter().find(|step| step.bound <= allowed(step.step));
    let least = tried.iter().map(per_length).fold(f64::INFINITY, f64::min);
    // Rounding ends what shorter steps gain.
    *found.or_else(|| tried.iter().find(|step| per_length(step) <= 2.0 * least)).unwrap_or(&tried[0])
}
