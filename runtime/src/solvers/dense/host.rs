//! By faer on the host, refined to rounding.

use super::super::ritz::{power_of_two, rayleigh_ritz, symmetric_eigen};
use super::super::run::Run;
use super::values::Traces;
use super::{Choice, Wanted, columns};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::solvers::SpectrumPart;
use crate::trace;
use faer::{Mat, Side};

/// The states that are wanted.
pub(super) fn diagonalise<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
) -> Result<Wanted<T>, SolveError> {
    let (n, device, k) = (operator.dimension(), operator.device(), run.options.states);
    let matrix = dense_matrix(run, operator, 1.0, |_, _| ())?;
    let _diagonalising = trace::span("solver", "diagonalise");
    let (values, vectors) = symmetric_eigen(&matrix)?;
    values.iter().try_for_each(|value| run.finite(*value, n).map(drop))?;
    // All that the eigensolver's residuals do not tell from the k-th are refined together.
    let Choice { numbers, next: left_out } = Choice::new(run.options.part, &values, k, NEAR * run.norm);
    let (refined, columns) = refined(&matrix, &values, &vectors, &numbers, run.norm)?;
    let Choice { numbers: mut found, next } = Choice::new(run.options.part, &refined, k, run.rounding());
    let next = next.map(|i| refined[i]).or(left_out.map(|i| values[i]));
    let next = next.filter(|_| run.options.part == SpectrumPart::Lowest);
    found.sort_unstable();
    let upload = |j: &usize| Ok(device.upload(&(0..n).map(|i| T::from_f64(columns[(i, *j)])).collect::<Vec<T>>())?);
    let vectors = found.iter().map(upload).collect::<Result<Vec<_>, SolveError>>()?;
    Ok(Wanted { values: found.iter().map(|j| refined[*j]).collect(), vectors, next, refined: true })
}

/// All eigenvalues without vectors.
pub(super) fn values<T: Scalar>(run: &Run<'_, T>, operator: &dyn LinearOperator<T>) -> Result<Wanted<T>, SolveError> {
    let (n, scale, mut traces) = (operator.dimension(), power_of_two(run.norm), Traces::default());
    let matrix = dense_matrix(run, operator, scale, |column, elements| traces.add(column, elements))?;
    let _diagonalising = trace::span("solver", "diagonalise");
    let found = matrix.self_adjoint_eigenvalues(Side::Lower).map_err(|_| SolveError::Dense(n))?;
    Ok(Wanted { values: traces.checked(run, found, scale)?, vectors: Vec::new(), next: None, refined: true })
}

/// All of A over `scale`, column by column, symmetrised; `look` sees each column as it was made.
fn dense_matrix<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    scale: f64,
    mut look: impl FnMut(usize, &[f64]),
) -> Result<Mat<f64>, SolveError> {
    let n = operator.dimension();
    let mut matrix = Mat::<f64>::zeros(n, n);
    columns(run, operator, scale, |column, elements| {
        look(column, &elements);
        elements.into_iter().enumerate().for_each(|(row, value)| matrix[(row, column)] = value);
        Ok(())
    })?;
    for j in 0..n {
        for i in 0..j {
            let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
            (matrix[(i, j)], matrix[(j, i)]) = (mean, mean);
        }
    }
    Ok(matrix)
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
