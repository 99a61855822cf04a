//! Small dense symmetric problems on the host (faer): projected pencils, and whole matrices of small dimension.
//!
//! The pencil S_A v = θ S_B v of a Rayleigh–Ritz step is solved by whitening: S_B is scaled to unit diagonal and
//! diagonalised, directions whose eigenvalue is below [`NEARLY_DEPENDENT`] are dropped, and S_A is diagonalised in what
//! is left. So dependent or indefinite bases cost directions, never the run (Wu and Simon 2000; Duersch et al. 2018).

use super::checkpoint::{Saved, Saver};
use super::run::Run;
use super::{Eigenpairs, StopReason, certify};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use faer::{Mat, Side};

/// Eigenvalues of the scaled Gram matrix below this are directions that rounding has made: of unit vectors, 1e-10 means
/// an angle of 1e-5, where the Gram matrix's own error (1e-16) disturbs a Ritz value by 1e-6 of the norm at most.
pub(super) const NEARLY_DEPENDENT: f64 = 1e-10;

/// Eigenvalues ascending and eigenvectors (v[i][j]: component i of vector j) of a symmetric matrix.
///
/// The matrix is brought to a largest element of about 1 first: faer loses digits of a matrix of 1e-30.
pub(super) fn symmetric_eigen(matrix: &Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), SolveError> {
    let n = matrix.nrows();
    let largest = (0..n).flat_map(|j| (j..n).map(move |i| matrix[(i, j)].abs())).fold(0.0, f64::max);
    // A power of two, so that nothing is rounded.
    let unit =
        if largest > 0.0 && largest.is_finite() { largest.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 };
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

/// Host memory of a whole matrix: itself, its symmetric part and that scaled, the eigenvectors and the solver's workspace.
pub(super) fn bytes(n: usize) -> u64 {
    (n as u64).saturating_pow(2).saturating_mul(5 * 8)
}

/// The level that k cuts and all below it.
struct Lowest<T: Scalar> {
    values: Vec<f64>,
    vectors: Vec<Vector<T>>,
    /// The first value that was left out, if there is one.
    next: Option<f64>,
}

/// Diagonalises the whole matrix, made by applying the operator to unit vectors. Multiplicities come out exactly. A
/// checkpoint has the result: there is nothing to save before.
pub(super) fn solve<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Eigenpairs<T>, SolveError> {
    let (k, tolerance) = (run.options.states, run.degeneracy_tolerance());
    let resumed = saver.take_resumed::<T>().map(|saved| restore(operator, saved)).transpose()?;
    // Until there is a result there is nothing to save, so signals need not wait.
    saver.search_has_ended()?;
    let lowest = match resumed.flatten().filter(|lowest| lowest.values.len() >= k) {
        Some(lowest) => lowest,
        None => diagonalise(run, operator)?,
    };
    let Lowest { values, mut vectors, next } = lowest;
    let scalars: Vec<f64> = values.iter().copied().chain(next).collect();
    saver.save("dense", 0, &scalars, &vectors.iter().collect::<Vec<_>>())?;
    let extra_vectors = vectors.split_off(k);
    Ok(Eigenpairs {
        residuals: certify::residuals(run, operator, &values[..k], &vectors)?,
        values: values[..k].to_vec(),
        vectors,
        levels: certify::levels(&values, k, tolerance, true),
        extra_vectors,
        extra_values: values[k..].to_vec(),
        degeneracy_tolerance: tolerance,
        norm: run.norm,
        tolerance: run.tolerance,
        next,
        start: "none",
        iterations: 0,
        multiplies: run.multiplies(),
        stop: StopReason::Dense,
        history: Vec::new(),
        seconds: run.elapsed(),
        notes: Vec::new(),
    })
}

/// What a checkpoint has of a result: as many values as vectors, and perhaps one more.
fn restore<T: Scalar>(operator: &dyn LinearOperator<T>, saved: Saved<T>) -> Result<Option<Lowest<T>>, SolveError> {
    let Some((values, next)) = saved.scalars.split_at_checked(saved.vectors.len()) else { return Ok(None) };
    let vectors = saved.vectors.iter().map(|values| Ok(operator.device().upload(values)?));
    let vectors = vectors.collect::<Result<Vec<_>, SolveError>>()?;
    Ok(Some(Lowest { values: values.to_vec(), vectors, next: next.first().copied() }))
}

fn diagonalise<T: Scalar>(run: &Run<'_, T>, operator: &dyn LinearOperator<T>) -> Result<Lowest<T>, SolveError> {
    let (n, device, k) = (operator.dimension(), operator.device(), run.options.states);
    let host = crate::device::Device::cpu();
    host.check_memory(&format!("the dense {n} x {n} matrix with its eigenvectors"), bytes(n))?;
    let matrix = whole(run, operator)?;
    let _diagonalising = trace::span("solver", "diagonalise");
    let (values, vectors) = symmetric_eigen(&matrix)?;
    let last = values[k - 1] + run.degeneracy_tolerance();
    let found = values.iter().take_while(|value| **value <= last).count();
    let (lowest, columns) = refined(&matrix, &values, &vectors, found, run.norm)?;
    let upload = |j: usize| Ok(device.upload(&(0..n).map(|i| T::from_f64(columns[(i, j)])).collect::<Vec<T>>())?);
    let vectors = (0..found).map(upload).collect::<Result<Vec<_>, SolveError>>()?;
    Ok(Lowest { values: lowest, vectors, next: values.get(found).copied() })
}

/// All of A, column by column, made symmetric.
fn whole<T: Scalar>(run: &Run<'_, T>, operator: &dyn LinearOperator<T>) -> Result<Mat<f64>, SolveError> {
    let (n, device) = (operator.dimension(), operator.device());
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
    Ok(Mat::from_fn(n, n, |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)])))
}

/// Rounds of refinement: each squares what an eigenvector lacks.
const ROUNDS: usize = 2;

/// The `count` lowest eigenpairs to rounding. The eigensolver leaves residuals of 1e-12 of the norm; the part r_i of a
/// residual along another eigenvector v_i is taken out by adding r_i / (λ − λ_i) v_i (Ogita and Aishima 2018), and what is
/// too near for that by Rayleigh–Ritz among the lowest.
fn refined(
    matrix: &Mat<f64>,
    values: &[f64],
    vectors: &Mat<f64>,
    count: usize,
    norm: f64,
) -> Result<(Vec<f64>, Mat<f64>), SolveError> {
    let near = 1e-9 * norm;
    let mut lowest = vectors.subcols(0, count).to_owned();
    let mut found = values[..count].to_vec();
    for _ in 0..ROUNDS {
        let mut residuals = matrix * &lowest;
        for j in 0..count {
            (0..values.len()).for_each(|i| residuals[(i, j)] -= found[j] * lowest[(i, j)]);
        }
        let along = vectors.transpose() * &residuals;
        let share = |i: usize, j: usize| {
            let apart = found[j] - values[i];
            if apart.abs() > near { along[(i, j)] / apart } else { 0.0 }
        };
        lowest += vectors * Mat::from_fn(values.len(), count, share);
        let images = matrix * &lowest;
        let rows = |m: Mat<f64>| (0..count).map(|i| (0..count).map(|j| m[(i, j)]).collect()).collect::<Vec<Vec<f64>>>();
        let ritz = rayleigh_ritz(&rows(lowest.transpose() * images), &rows(lowest.transpose() * &lowest), count)?;
        if ritz.values.len() < count {
            break;
        }
        lowest = &lowest * Mat::from_fn(count, count, |i, j| ritz.coefficients[i][j]);
        found = ritz.values;
    }
    Ok((found, lowest))
}
