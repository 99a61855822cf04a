//! Small dense symmetric problems on the host (faer): projected pencils, and whole matrices of small dimension.
//!
//! The pencil S_A v = θ S_B v of a Rayleigh–Ritz step is solved by whitening: S_B is scaled to unit diagonal and
//! diagonalised, directions whose eigenvalue is below [`NEARLY_DEPENDENT`] are dropped, and S_A is diagonalised in what
//! is left. So dependent or indefinite bases cost directions, never the run (Wu and Simon 2000; Duersch et al. 2018).

use super::run::Run;
use super::{Eigenpairs, SolveOptions, StopReason};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use faer::{Mat, Side};

/// Eigenvalues of the scaled Gram matrix below this are directions that rounding has made: of unit vectors, 1e-10 means
/// an angle of 1e-5, where the Gram matrix's own error (1e-16) disturbs a Ritz value by 1e-6 of the norm at most.
pub(super) const NEARLY_DEPENDENT: f64 = 1e-10;

/// Dimensions up to this go to the dense solver whatever was asked for: iterating in so small a space saves nothing.
pub(super) const SMALL: usize = 400;

/// Eigenvalues ascending and eigenvectors (v[i][j]: component i of vector j) of a symmetric matrix.
pub(super) fn symmetric_eigen(matrix: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), SolveError> {
    let n = matrix.nrows();
    let eigen = matrix.self_adjoint_eigen(Side::Lower).map_err(|_| SolveError::Dense(n))?;
    let values = (0..n).map(|i| eigen.S()[i]).collect();
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

/// Host memory of a whole matrix: itself, its symmetric part, the eigenvectors and the solver's workspace.
pub(super) fn bytes(n: usize) -> u64 {
    (n as u64).saturating_pow(2).saturating_mul(4 * 8)
}

/// Diagonalises the whole matrix, made by applying the operator to unit vectors. Multiplicities come out exactly.
pub(super) fn solve<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    options: &SolveOptions,
) -> Result<Eigenpairs<T>, SolveError> {
    let n = operator.dimension();
    let device = operator.device();
    let host = crate::device::Device::cpu();
    host.check_memory(&format!("the dense {n} x {n} matrix with its eigenvectors"), bytes(n))?;
    let mut matrix = Mat::<f64>::zeros(n, n);
    let mut y = device.zeros::<T>(n)?;
    let mut unit = vec![T::default(); n];
    let mut x = device.zeros::<T>(n)?;
    let filling = trace::span("solver", "dense matrix");
    for column in 0..n {
        unit[column] = T::from_f64(1.0);
        x.write(&unit)?;
        unit[column] = T::default();
        let value = run.apply(operator, &x, &mut y)?;
        run.finite(value, column)?;
        for (row, v) in y.download()?.into_iter().enumerate() {
            matrix[(row, column)] = v.to_f64();
        }
        run.progress("dense", column, &[], f64::NAN, false);
    }
    drop(filling);
    let diagonalising = trace::span("solver", "diagonalise");
    let symmetric = Mat::from_fn(n, n, |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]));
    let (values, vectors) = symmetric_eigen(&symmetric)?;
    drop(diagonalising);
    let tolerance = run.degeneracy_tolerance(values[..options.states].iter().copied());
    // All of the level that k may cut.
    let last = values[options.states - 1];
    let found = values.iter().take_while(|v| **v <= last + tolerance).count();
    let column = |j: usize| -> Vec<T> { (0..n).map(|i| T::from_f64(vectors[(i, j)])).collect() };
    let mut kept = Vec::with_capacity(found);
    for j in 0..found {
        kept.push(device.upload(&column(j))?);
    }
    let levels = super::certify::levels(&values[..found], options.states, tolerance, true);
    let extra_vectors = kept.split_off(options.states);
    Ok(Eigenpairs {
        residuals: super::certify::residuals(run, operator, &values[..options.states], &kept)?,
        values: values[..options.states].to_vec(),
        vectors: kept,
        levels,
        extra_vectors,
        extra_values: values[options.states..found].to_vec(),
        degeneracy_tolerance: tolerance,
        start: "none",
        iterations: 0,
        multiplies: run.multiplies(),
        stop: StopReason::Dense,
        history: Vec::new(),
        seconds: run.elapsed(),
        notes: Vec::new(),
    })
}
