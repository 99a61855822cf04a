//! Dense diagonalisation: the lowest states, those nearest to a value, or all; on the host by faer, of large matrices on one card by cuSOLVER.
//!
//! ```text
//! H ─ unit vectors → matrix ─ host.rs: eigenpairs, refined ─┐
//!                           ─ card.rs: eigenpairs           ├→ the states that are wanted, with residuals
//!                           ─ values alone: checked by Tr H and Tr H² → values, with a bound of their errors
//! ```

mod card;
mod host;
mod values;

#[cfg(test)]
mod tests;

use super::checkpoint::{Saved, Saver};
use super::run::Run;
use super::{Eigenpairs, SolveOptions, SolvePhase, SpectrumPart, StartUsed, StopReason, certify, nearest};
use crate::device::{Device, Vector};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;

/// Rows from which on a card is worth the start of its library: some tenths of a second, which a host takes for as many.
const CARD_ROWS: usize = 2048;

/// Whether a solve makes vectors.
pub(super) fn makes_vectors(n: usize, options: &SolveOptions) -> bool {
    options.values_above.is_none_or(|rows| n <= rows) || matches!(options.part, SpectrumPart::Nearest(_))
}

/// Memory of a dense solve, in words and bytes: with vectors the matrix, its symmetric part and its scaled copy, the eigenvectors and the
/// solver's workspace; without, the matrix and a copy that is made tridiagonal.
pub(super) fn memory(n: usize, vectors: bool) -> (String, u64) {
    let (copies, what) = if vectors { (5, "its eigenvectors") } else { (2, "its eigenvalues alone") };
    let bytes = (n as u64).saturating_pow(2).saturating_mul(copies * 8);
    (format!("the dense {n} x {n} matrix with {what}"), bytes)
}

/// The k states that are wanted and those that may be of the same level, ascending.
struct Wanted<T: Scalar> {
    values: Vec<f64>,
    /// One for each value, or none at all.
    vectors: Vec<Vector<T>>,
    /// Of the lowest, the first value that was left out, if any.
    next: Option<f64>,
    /// Whether values are right to rounding; otherwise those of products with the vectors are taken.
    refined: bool,
}

/// Diagonalises the dense matrix, built by applying the operator to unit vectors. Multiplicities are exact. A checkpoint
/// holds the result: there is nothing to save before.
pub(super) fn solve<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Eigenpairs<T>, SolveError> {
    let (n, k) = (operator.dimension(), run.options.states);
    let vectors = makes_vectors(n, run.options);
    let resumed = saver.take_resumed().map(|saved| restore(operator, saved, vectors)).transpose()?;
    // Until there is a result there is nothing to save, so signals need not wait.
    saver.search_has_ended()?;
    let wanted = match resumed.flatten().filter(|wanted| wanted.values.len() >= k) {
        Some(wanted) => wanted,
        None => diagonalise(run, operator, vectors)?,
    };
    let Wanted { values, vectors: found, next, refined } = wanted;
    let measured = measured(run, operator, &values, &found, refined)?;
    // What is saved is what is reported: a resumed run has the same bytes.
    let reported = |(k, value): (usize, &f64)| measured.get(k).map_or(*value, |measured| measured.0);
    let scalars: Vec<f64> = values.iter().enumerate().map(reported).chain(next).collect();
    saver.save("dense", 0, &scalars, &found.iter().collect::<Vec<_>>())?;
    let pairs = if vectors {
        let states = measured.into_iter().zip(found);
        let mut found: Vec<certify::State<T>> =
            states.map(|((value, residual), vector)| certify::State { value, residual, vector }).collect();
        found.sort_by(|a, b| a.value.total_cmp(&b.value));
        match run.options.part {
            SpectrumPart::Nearest(value) => nearest::assemble(run, found, true, value).0,
            _ => certify::assemble(run, found, true, next.map(|next| next - run.rounding())),
        }
    } else {
        let bound = values::error_bound(run, n);
        let residuals = vec![bound; values.len()];
        let mut pairs = certify::assemble_values(run, (&values, &residuals), true, None);
        pairs.notes.push(values::note(n, bound));
        pairs
    };
    Ok(Eigenpairs { stop: StopReason::Dense, start: StartUsed::None, ..pairs })
}

fn diagonalise<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    vectors: bool,
) -> Result<Wanted<T>, SolveError> {
    let (n, device) = (operator.dimension(), operator.device());
    let alone = device.cards_at_work() == 1 && device.ranks().is_none();
    let on_card = device.runs_kernels() && alone && n >= CARD_ROWS;
    let place = if on_card { device.clone() } else { Device::cpu() };
    let (what, bytes) = memory(n, vectors);
    place.check_memory(&what, bytes)?;
    match (on_card, vectors) {
        (true, _) => card::diagonalise(run, operator, vectors),
        (false, true) => host::diagonalise(run, operator),
        (false, false) => host::values(run, operator),
    }
}

/// Calls `take` with each column of A over `scale`, its number first.
fn columns<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    scale: f64,
    mut take: impl FnMut(usize, Vec<f64>) -> Result<(), SolveError>,
) -> Result<(), SolveError> {
    let (n, device) = (operator.dimension(), operator.device());
    let (mut x, mut y) = (device.zeros::<T>(n)?, device.zeros::<T>(n)?);
    let _filling = trace::span("solver", "dense matrix");
    for column in 0..n {
        x.write_part(column, &[T::from_f64(1.0)])?;
        let value = run.apply(operator, &x, &mut y)?;
        x.write_part(column, &[T::default()])?;
        run.finite(value, column)?;
        take(column, y.download()?.into_iter().map(|element| element.to_f64() / scale).collect())?;
        run.progress(SolvePhase::Dense, column, &[], f64::NAN, false);
    }
    Ok(())
}

/// Which of ascending values are wanted, by number.
struct Choice {
    /// The k that are wanted and all up to `slack` further, in the order in which they are wanted.
    numbers: Vec<usize>,
    /// The next.
    next: Option<usize>,
}

impl Choice {
    fn new(part: SpectrumPart, values: &[f64], k: usize, slack: f64) -> Choice {
        let distance = |value: f64| match part {
            SpectrumPart::Nearest(centre) => (value - centre).abs(),
            SpectrumPart::Lowest | SpectrumPart::Highest => value,
        };
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| distance(values[*i]).total_cmp(&distance(values[*j])));
        let last = distance(values[order[k - 1]]) + slack;
        let count = order.iter().take_while(|i| distance(values[**i]) <= last).count();
        let next = order.get(count).copied();
        order.truncate(count);
        Choice { numbers: order, next }
    }
}

/// λ and ‖A x − λ x‖ of each unit vector, from a recomputed product, summed in f64; λ is x·A x unless values are `refined`.
fn measured<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    values: &[f64],
    vectors: &[Vector<T>],
    refined: bool,
) -> Result<Vec<(f64, f64)>, SolveError> {
    let mut scratch = operator.device().zeros::<T>(operator.dimension())?;
    let mut measured = Vec::with_capacity(values.len());
    for (value, vector) in values.iter().zip(vectors) {
        let product = run.apply(operator, vector, &mut scratch)?;
        let value = if refined { *value } else { product / run.algebra.dot(vector, vector)? };
        measured.push((value, run.algebra.residual(&mut scratch, vector, value)?.sqrt()));
    }
    Ok(measured)
}

/// A result from a checkpoint: as many values as vectors, and perhaps one more; without vectors values alone.
fn restore<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    saved: Saved,
    with_vectors: bool,
) -> Result<Option<Wanted<T>>, SolveError> {
    if !with_vectors {
        let is_whole = saved.vectors.is_empty() && saved.scalars.len() == operator.dimension();
        return Ok(is_whole.then(|| Wanted { values: saved.scalars, vectors: Vec::new(), next: None, refined: true }));
    }
    let Some((values, next)) = saved.scalars.split_at_checked(saved.vectors.len()) else { return Ok(None) };
    let vectors = saved.vectors.iter().map(|saved| {
        let mut vector = operator.device().zeros::<T>(operator.dimension())?;
        saved.restore(&mut vector)?;
        Ok(vector)
    });
    let vectors = vectors.collect::<Result<Vec<_>, SolveError>>()?;
    Ok(Some(Wanted { values: values.to_vec(), vectors, next: next.first().copied(), refined: true }))
}
