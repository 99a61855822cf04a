//! Dense diagonalisation of matrices of small dimension on the host (faer): the lowest states, or those nearest to a value.

use super::checkpoint::{Saved, Saver};
use super::ritz::{rayleigh_ritz, symmetric_eigen};
use super::run::Run;
use super::{Eigenpairs, SolvePhase, SpectrumPart, StartUsed, StopReason, certify, nearest};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use faer::Mat;

/// Host memory of a dense solve: the matrix, its symmetric part and its scaled copy, the eigenvectors and the solver's
/// workspace.
pub(super) fn bytes(n: usize) -> u64 {
    (n as u64).saturating_pow(2).saturating_mul(5 * 8)
}

/// The k states that are wanted and those that may be of the same level, ascending.
struct Wanted<T: Scalar> {
    values: Vec<f64>,
    vectors: Vec<Vector<T>>,
    /// Of the lowest, the first value that was left out, if any.
    next: Option<f64>,
}

/// Diagonalises the dense matrix, built by applying the operator to unit vectors. Multiplicities are exact. A checkpoint
/// holds the result: there is nothing to save before.
pub(super) fn solve<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Eigenpairs<T>, SolveError> {
    let k = run.options.states;
    let resumed = saver.take_resumed().map(|saved| restore(operator, saved)).transpose()?;
    // Until there is a result there is nothing to save, so signals need not wait.
    saver.search_has_ended()?;
    let wanted = match resumed.flatten().filter(|wanted| wanted.values.len() >= k) {
        Some(wanted) => wanted,
        None => diagonalise(run, operator)?,
    };
    let Wanted { values, vectors, next } = wanted;
    let scalars: Vec<f64> = values.iter().copied().chain(next).collect();
    saver.save("dense", 0, &scalars, &vectors.iter().collect::<Vec<_>>())?;
    let residuals = residuals(run, operator, &values, &vectors)?;
    let states = values.into_iter().zip(residuals).zip(vectors);
    let found = states.map(|((value, residual), vector)| certify::State { value, residual, vector }).collect();
    let pairs = match run.options.part {
        SpectrumPart::Nearest(value) => nearest::assemble(run, found, true, value).0,
        _ => certify::assemble(run, found, true, next.map(|next| next - run.rounding())),
    };
    Ok(Eigenpairs { stop: StopReason::Dense, start: StartUsed::None, ..pairs })
}

/// ‖A x − λ x‖ of each unit vector, from a recomputed product, summed in f64.
fn residuals<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    values: &[f64],
    vectors: &[Vector<T>],
) -> Result<Vec<f64>, SolveError> {
    let mut scratch = operator.device().zeros::<T>(operator.dimension())?;
    let mut residuals = Vec::with_capacity(values.len());
    for (value, vector) in values.iter().zip(vectors) {
        run.multiply(operator, vector, &mut scratch)?;
        residuals.push(run.algebra.residual(&mut scratch, vector, *value)?.sqrt());
    }
    Ok(residuals)
}

/// A result from a checkpoint: as many values as vectors, and perhaps one more.
fn restore<T: Scalar>(operator: &dyn LinearOperator<T>, saved: Saved) -> Result<Option<Wanted<T>>, SolveError> {
    let Some((values, next)) = saved.scalars.split_at_checked(saved.vectors.len()) else { return Ok(None) };
    let vectors = saved.vectors.iter().map(|saved| {
        let mut vector = operator.device().zeros::<T>(operator.dimension())?;
        saved.restore(&mut vector)?;
        Ok(vector)
    });
    let vectors = vectors.collect::<Result<Vec<_>, SolveError>>()?;
    Ok(Some(Wanted { values: values.to_vec(), vectors, next: next.first().copied() }))
}

fn diagonalise<T: Scalar>(run: &Run<'_, T>, operator: &dyn LinearOperator<T>) -> Result<Wanted<T>, SolveError> {
    let (n, device, k) = (operator.dimension(), operator.device(), run.options.states);
    let host = crate::device::Device::cpu();
    host.check_memory(&format!("the dense {n} x {n} matrix with its eigenvectors"), bytes(n))?;
    let matrix = dense_matrix(run, operator)?;
    let _diagonalising = trace::span("solver", "diagonalise");
    let (values, vectors) = symmetric_eigen(&matrix)?;
    values.iter().try_for_each(|value| run.finite(*value, n).map(drop))?;
    // States in the order in which they are wanted.
    let distance = |value: f64| match run.options.part {
        SpectrumPart::Nearest(centre) => (value - centre).abs(),
        SpectrumPart::Lowest | SpectrumPart::Highest => value,
    };
    let by_distance = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| distance(values[*i]).total_cmp(&distance(values[*j])));
        order
    };
    let order = by_distance(&values);
    // All that the eigensolver's residuals do not tell from the k-th are refined together.
    let near = distance(values[order[k - 1]]) + NEAR * run.norm;
    let chosen: Vec<usize> = order.iter().copied().take_while(|i| distance(values[*i]) <= near).collect();
    let left_out = order.get(chosen.len()).map(|i| values[*i]);
    let (refined, columns) = refined(&matrix, &values, &vectors, &chosen, run.norm)?;
    let order = by_distance(&refined);
    let last = distance(refined[order[k - 1]]) + run.rounding();
    let mut found: Vec<usize> = order.iter().copied().take_while(|i| distance(refined[*i]) <= last).collect();
    let next = order.get(found.len()).map(|i| refined[*i]).or(left_out);
    let next = next.filter(|_| run.options.part == SpectrumPart::Lowest);
    found.sort_unstable();
    let upload = |j: &usize| Ok(device.upload(&(0..n).map(|i| T::from_f64(columns[(i, *j)])).collect::<Vec<T>>())?);
    let vectors = found.iter().map(upload).collect::<Result<Vec<_>, SolveError>>()?;
    Ok(Wanted { values: found.iter().map(|j| refined[*j]).collect(), vectors, next })
}

/// All of A, column by column, symmetrised.
fn dense_matrix<T: Scalar>(run: &Run<'_, T>, operator: &dyn LinearOperator<T>) -> Result<Mat<f64>, SolveError> {
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
        run.progress(SolvePhase::Dense, column, &[], f64::NAN, false);
    }
    drop(filling);
    Ok(Mat::from_fn(n, n, |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)])))
}

/// Eigenvectors closer than this, in parts of the norm, are refined by Rayleigh–Ritz.
const NEAR: f64 = 1e-9;
/// Rounds of refinement: each squares the error of an eigenvector.
const ROUNDS: usize = 2;

/// The chosen eigenpairs to rounding, ascending. The eigensolver leaves residuals of 1e-12 of the norm; the part r_i of a
/// residual along another eigenvector v_i is removed by adding r_i / (λ − λ_i) v_i (Ogita and Aishima 2018), and parts
/// too close for that by Rayleigh–Ritz among the chosen.
fn refined(
    matrix: &Mat<f64>,
    values: &[f64],
    vectors: &Mat<f64>,
    chosen: &[usize],
    norm: f64,
) -> Result<(Vec<f64>, Mat<f64>), SolveError> {
    let (near, count) = (NEAR * norm, chosen.len());
    let mut refined = Mat::from_fn(values.len(), count, |i, j| vectors[(i, chosen[j])]);
    let mut found: Vec<f64> = chosen.iter().map(|i| values[*i]).collect();
    for _ in 0..ROUNDS {
        let mut residuals = matrix * &refined;
        for j in 0..count {
            (0..values.len()).for_each(|i| residuals[(i, j)] -= found[j] * refined[(i, j)]);
        }
        let along = vectors.transpose() * &residuals;
        let share = |i: usize, j: usize| {
            let apart = found[j] - values[i];
            if apart.abs() > near { along[(i, j)] / apart } else { 0.0 }
        };
        refined += vectors * Mat::from_fn(values.len(), count, share);
        let images = matrix * &refined;
        let rows = |m: Mat<f64>| (0..count).map(|i| (0..count).map(|j| m[(i, j)]).collect()).collect::<Vec<Vec<f64>>>();
        let ritz = rayleigh_ritz(&rows(refined.transpose() * images), &rows(refined.transpose() * &refined), count)?;
        if ritz.values.len() < count {
            break;
        }
        refined = &refined * Mat::from_fn(count, count, |i, j| ritz.coefficients[i][j]);
        found = ritz.values;
    }
    Ok((found, refined))
}
