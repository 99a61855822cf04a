//! Small dense symmetric problems on the host (faer): symmetric matrices, and the pencils of a Rayleigh–Ritz step.
//!
//! The pencil S_A v = θ S_B v of a Rayleigh–Ritz step is solved by whitening: S_B is scaled to unit diagonal and
//! diagonalised, directions whose eigenvalue is below [`NEARLY_DEPENDENT`] are dropped, and S_A is diagonalised in the
//! rest. Dependent or indefinite bases therefore cost directions, never the run (Wu and Simon 2000; Duersch et al. 2018).

use crate::error::SolveError;
use crate::trace;
use faer::{Mat, Side};

/// Directions with eigenvalues of the scaled Gram matrix below this are rounding errors: for unit vectors, 1e-10 means an
/// angle of 1e-5, where the Gram matrix's own error (1e-16) changes a Ritz value by at most 1e-6 of the norm.
pub(super) const NEARLY_DEPENDENT: f64 = 1e-10;

/// The largest power of two up to a number, so that dividing by it rounds nothing; 1 for zero and what is not finite.
pub(super) fn power_of_two(number: f64) -> f64 {
    if number > 0.0 && number.is_finite() { number.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
}

/// Eigenvalues ascending and eigenvectors (v[i][j]: component i of vector j) of a symmetric matrix.
///
/// The matrix is first scaled to a largest element of about 1: faer loses digits for a matrix of 1e-30.
pub(super) fn symmetric_eigen(matrix: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), SolveError> {
    let n = matrix.nrows();
    let largest = (0..n).flat_map(|j| (j..n).map(move |i| matrix[(i, j)].abs())).fold(0.0, f64::max);
    let unit = power_of_two(largest);
    let scaled = Mat::from_fn(n, n, |i, j| matrix[(i, j)] / unit);
    let eigen = scaled.self_adjoint_eigen(Side::Lower).map_err(|_| SolveError::Dense(n))?;
    let values = (0..n).map(|i| eigen.S()[i] * unit).collect();
    Ok((values, eigen.U().to_owned()))
}

/// Lowest solutions of a pencil.
pub(super) struct Ritz {
    /// Ascending.
    pub values: Vec<f64>,
    /// coefficients[i][j]: component of basis vector i in Ritz vector j; the Ritz vectors are orthonormal.
    pub coefficients: Vec<Vec<f64>>,
}

/// The `count` lowest solutions (fewer if fewer directions of the basis are independent) of S_A v = θ S_B v.
pub(super) fn rayleigh_ritz(a: &[Vec<f64>], b: &[Vec<f64>], count: usize) -> Result<Ritz, SolveError> {
    let n = a.len();
    let scale: Vec<f64> = (0..n).map(|i| if b[i][i] > 0.0 { b[i][i].sqrt().recip() } else { 0.0 }).collect();
    let scaled = |m: &[Vec<f64>]| Mat::from_fn(n, n, |i, j| 0.5 * (m[i][j] + m[j][i]) * scale[i] * scale[j]);
    let _small = trace::span("solver", "small problem");
    let (lengths, directions) = symmetric_eigen(&scaled(b))?;
    let kept: Vec<usize> = (0..n).filter(|&j| lengths[j] > NEARLY_DEPENDENT).collect();
    let white = Mat::from_fn(n, kept.len(), |i, j| directions[(i, kept[j])] / lengths[kept[j]].sqrt());
    let projected = white.transpose() * scaled(a) * &white;
    let (values, vectors) = symmetric_eigen(&projected)?;
    let solution = &white * vectors;
    let count = count.min(kept.len());
    let coefficients = (0..n).map(|i| (0..count).map(|j| solution[(i, j)] * scale[i]).collect()).collect();
    Ok(Ritz { values: values[..count].to_vec(), coefficients })
}
