//! On one card: the matrix stays there, and cuSOLVER diagonalises it ([`crate::device::dense_eigenvalues`]); simulated cards take faer.

use super::super::ritz::power_of_two;
use super::super::run::Run;
use super::values::Traces;
use super::{Choice, Wanted, columns};
use crate::device::{Vector, dense_eigenvalues};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::solvers::SpectrumPart;
use crate::trace;

/// The states that are wanted; without `vectors` all values.
pub(super) fn diagonalise<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    vectors: bool,
) -> Result<Wanted<T>, SolveError> {
    let (n, device, k) = (operator.dimension(), operator.device(), run.options.states);
    let (scale, mut traces) = (power_of_two(run.norm), Traces::default());
    let mut matrix = device.zeros::<f64>(n * n)?;
    columns(run, operator, scale, |column, elements| {
        traces.add(column, &elements);
        Ok(matrix.write_part(column * n, &elements)?)
    })?;
    let values = {
        let _diagonalising = trace::span("solver", "diagonalise");
        dense_eigenvalues(n, &mut matrix, vectors)?
    };
    let values = traces.checked(run, values, scale)?;
    if !vectors {
        return Ok(Wanted { values, vectors: Vec::new(), next: None, refined: true });
    }
    let Choice { numbers: mut found, next } = Choice::new(run.options.part, &values, k, run.rounding());
    found.sort_unstable();
    let vectors = found.iter().map(|j| column::<T>(&matrix, j * n, n)).collect::<Result<Vec<_>, SolveError>>()?;
    let next = next.map(|j| values[j]).filter(|_| run.options.part == SpectrumPart::Lowest);
    Ok(Wanted { values: found.iter().map(|j| values[*j]).collect(), vectors, next, refined: false })
}

/// A column of the matrix as a vector of its own.
fn column<T: Scalar>(matrix: &Vector<f64>, first: usize, n: usize) -> Result<Vector<T>, SolveError> {
    let mut elements = vec![0.0; n];
    matrix.read_part(first, &mut elements)?;
    Ok(matrix.device().upload(&elements.into_iter().map(T::from_f64).collect::<Vec<T>>())?)
}
