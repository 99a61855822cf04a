//! What proves eigenvalues that have no vectors: Σ λ = Tr A and Σ λ² = Tr A².
//!
//! Householder's reduction and the eigenvalues of the tridiagonal matrix are those of A + E with ‖E‖ of some roundings of ‖A‖
//! (J. H. Wilkinson, The Algebraic Eigenvalue Problem (1965), chapter 5), so each value is at most ‖E‖ off. The bound is √n roundings of the
//! norm, at least a hundred.

use super::super::run::Run;
use crate::error::SolveError;
use crate::scalar::Scalar;

/// How far an eigenvalue of an n × n matrix may be off.
pub(super) fn error_bound<T: Scalar>(run: &Run<'_, T>, n: usize) -> f64 {
    run.rounding().max((n as f64).sqrt() * f64::EPSILON * run.norm)
}

/// What a reader should know.
pub(super) fn note(n: usize, bound: f64) -> String {
    format!(
        "the {n} eigenvalues were found without vectors: residuals are not measured, {bound:.1e} is the bound of rounding; the sums of the \
         eigenvalues and of their squares are those of the matrix"
    )
}

/// Tr A and Tr A² of a symmetric matrix, from its columns.
#[derive(Debug, Default)]
pub(super) struct Traces {
    first: f64,
    second: f64,
}

impl Traces {
    /// Adds a column.
    pub(super) fn add(&mut self, number: usize, elements: &[f64]) {
        self.first += elements[number];
        self.second += elements.iter().map(|value| value * value).sum::<f64>();
    }

    /// The eigenvalues of the matrix that was divided by `scale`, times that.
    ///
    /// # Errors
    /// Eigenvalues that are not finite, or of another matrix: their sums are not the traces.
    pub(super) fn checked<T: Scalar>(
        self,
        run: &Run<'_, T>,
        mut values: Vec<f64>,
        scale: f64,
    ) -> Result<Vec<f64>, SolveError> {
        let n = values.len();
        values.iter().try_for_each(|value| run.finite(*value, n).map(drop))?;
        let (norm, each) = (run.norm / scale, error_bound(run, n) / scale);
        let off = |sum: f64, trace: f64, factor: f64| (sum - trace).abs() > factor * n as f64 * each;
        let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
        if off(sum, self.first, 1.0) || off(squares, self.second, 2.0 * norm) {
            return Err(SolveError::Traces {
                sums: [sum * scale, squares * scale * scale],
                traces: [self.first * scale, self.second * scale * scale],
                rows: n,
            });
        }
        values.iter_mut().for_each(|value| *value *= scale);
        Ok(values)
    }
}
