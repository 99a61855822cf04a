//! The first vectors of the basis: the basis states with the lowest diagonal elements, and a random vector.
//!
//! In: the operator's diagonal, if it has one. Out: unit vectors e_i for its lowest elements (the first of equal ones),
//! where the low states of a diagonally dominant matrix are, followed by one random vector. If an unknown symmetry splits
//! the matrix, the e_i and everything A makes of them may lie in a few of its sectors; the random vector has a part in
//! each, which grows once the rest has converged. Without a diagonal all are random.

use super::super::algebra::parse;
use super::super::run::Run;
use crate::device::{ElementFunction, Vector};
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::vector_program::Bind;
use eigenforge_templates::ElementFunctionText;
use std::sync::Arc;

/// The unit vector e_at; indices are exact in double precision.
const UNIT: &str =
    "program davidson_unit\nvectors x : out\nscalars at\nfunctions index\nx = select(abs(index - at) < 0.5, 1, 0)\n";
/// The diagonal as a vector.
const DIAGONAL: &str = "program davidson_diagonal\nvectors x : out\nfunctions diagonal\nx = diagonal\n";

/// Properties of an operator's diagonal.
pub(super) struct Diagonal {
    pub function: ElementFunction,
    /// Standard deviation of its elements.
    pub spread: f64,
    /// Places of its lowest elements, ascending by value.
    lowest: Vec<usize>,
}

impl Diagonal {
    /// Finds the `count` lowest elements of the diagonal; `None` if the operator has none, or if all are equal, which
    /// says nothing about A.
    pub(super) fn scan<T: Scalar>(
        operator: &dyn LinearOperator<T>,
        count: usize,
    ) -> Result<Option<Diagonal>, SolveError> {
        let Some(function) = operator.diagonal() else { return Ok(None) };
        let device = operator.device();
        let program = device.program(&parse(DIAGONAL), T::TYPE, &[function.clone().named("diagonal")])?;
        let mut vector = device.zeros::<T>(operator.dimension())?;
        program.run(&mut [Bind::Out(&mut vector)], &[])?;
        let elements = vector.download()?;
        let n = elements.len() as f64;
        let mean = elements.iter().map(|d| d.to_f64()).sum::<f64>() / n;
        let variance = elements.iter().map(|d| (d.to_f64() - mean).powi(2)).sum::<f64>() / n;
        let spread = variance.sqrt();
        let differs = spread > T::EPSILON * mean.abs();
        Ok(differs.then(|| Diagonal { function, spread, lowest: lowest(&elements, count) }))
    }
}

/// Places of the `count` lowest elements, ascending by value and then by place; one pass.
fn lowest<T: Scalar>(elements: &[T], count: usize) -> Vec<usize> {
    let mut found: Vec<(f64, usize)> = Vec::with_capacity(count + 1);
    for (place, element) in elements.iter().enumerate() {
        let value = element.to_f64();
        if found.len() < count || found.last().is_some_and(|last| value < last.0) {
            let at = found.partition_point(|other| other.0 <= value);
            found.insert(at, (value, place));
            found.truncate(count);
        }
    }
    found.into_iter().map(|(_, place)| place).collect()
}

/// Overwrites `x`: unit vectors for the lowest elements, the last vector random; all random without a diagonal.
pub(super) fn fill<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    diagonal: Option<&Diagonal>,
    x: &mut [Vector<T>],
) -> Result<(), SolveError> {
    let device = operator.device();
    let units = diagonal.map_or(&[][..], |diagonal| &diagonal.lowest[..diagonal.lowest.len().min(x.len() - 1)]);
    let (first, random) = x.split_at_mut(units.len());
    if !units.is_empty() {
        let unit = device.program(&parse(UNIT), T::TYPE, &[index()])?;
        for (x, place) in first.iter_mut().zip(units) {
            unit.run(&mut [Bind::Out(x)], &[*place as f64])?;
        }
    }
    for (j, x) in random.iter_mut().enumerate() {
        device.fill_random(x, run.options.seed.wrapping_add(j as u64 * 0x51ed_270b))?;
    }
    Ok(())
}

/// i itself.
fn index() -> ElementFunction {
    ElementFunction {
        text: ElementFunctionText::new("", "double", "index", vec![], "(double)i"),
        arguments: vec![],
        host: Arc::new(|start, out| out.iter_mut().enumerate().for_each(|(k, out)| *out = (start + k) as f64)),
    }
}
