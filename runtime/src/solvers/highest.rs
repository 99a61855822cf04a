//! The highest states of A: the lowest of −A, by the same solvers with the same certification.
//!
//! In: an operator. Out: its highest eigenpairs, descending, with eigenvalues of A itself. A multiply by −A is one by A and a pass that
//! turns the sign.

use super::algebra::Algebra;
use super::{Eigenpairs, Level, Progress, SolveOptions, Solver, SpectrumPart, solve_lowest};
use crate::device::{Device, ElementFunction, Vector};
use crate::error::{Result, SolveError};
use crate::operator::{LinearOperator, PartOrder};
use crate::scalar::Scalar;
use eigenforge_templates::{Cost, ElementFunctionText};
use std::sync::Arc;

/// −A.
struct Negated<'a, T: Scalar> {
    inner: &'a dyn LinearOperator<T>,
    algebra: Algebra,
}

/// −f as a text of the same name: in its own text f has another one.
pub(super) fn negated_text(function: &ElementFunctionText) -> ElementFunctionText {
    let name = &function.name;
    let passed: String = function.parameters.iter().map(|parameter| format!(", {}", parameter.name)).collect();
    let head = format!("#define {name} plain_{name}\n{}\n#undef {name}\n", function.source);
    let value = format!("-plain_{name}(i{passed})");
    ElementFunctionText::new(&head, "value_t", name, function.parameters.clone(), &value)
}

impl<T: Scalar> LinearOperator<T> for Negated<'_, T> {
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn device(&self) -> &Device {
        self.inner.device()
    }
    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<f64> {
        let value = self.inner.apply(x, y)?;
        self.algebra.scale(y, -1.0)?;
        Ok(-value)
    }
    fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        self.inner.multiply(x, y)?;
        self.algebra.scale(y, -1.0)
    }
    fn apply_block(&self, x: &[&Vector<T>], y: &mut [Vector<T>]) -> Result<Vec<f64>> {
        let values = self.inner.apply_block(x, y)?;
        y.iter_mut().try_for_each(|y| self.algebra.scale(y, -1.0))?;
        Ok(values.into_iter().map(|value| -value).collect())
    }
    fn diagonal(&self) -> Option<ElementFunction> {
        let ElementFunction { text, arguments, host } = self.inner.diagonal()?;
        let fill = move |start: usize, out: &mut [f64]| {
            host(start, out);
            out.iter_mut().for_each(|value| *value = -*value);
        };
        Some(ElementFunction { text: negated_text(&text), arguments, host: Arc::new(fill) })
    }
    fn is_complex(&self) -> bool {
        self.inner.is_complex()
    }

    fn part_order(&self) -> PartOrder {
        self.inner.part_order()
    }
    fn norm_bound(&self) -> f64 {
        self.inner.norm_bound()
    }
    fn moving_bound(&self) -> f64 {
        self.inner.moving_bound()
    }
    fn cost(&self) -> Cost {
        let pass = (self.dimension() * size_of::<T>()) as f64;
        self.inner.cost() + Cost { flops: self.dimension() as f64, bytes: 2.0 * pass }
    }
}

/// The options of a search in another operator than the user's: its checkpoints are not those of another part.
pub(super) fn part_options(options: &SolveOptions) -> SolveOptions {
    let mut own = SolveOptions { part: SpectrumPart::Lowest, ..options.clone() };
    if let Some(checkpoint) = &mut own.checkpoint {
        checkpoint.identity += &format!("\nstates: {:?}", options.part);
    }
    own
}

/// The highest `options.states` eigenpairs.
pub(super) fn solve<T: Scalar>(
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    options: &SolveOptions,
) -> std::result::Result<Eigenpairs<T>, SolveError> {
    let negated = Negated { inner: operator, algebra: Algebra::new(operator.device()) };
    let mut own = SolveOptions { taken_out: -options.taken_out, ..part_options(options) };
    if let Some(report) = options.progress.clone() {
        own.progress = Some(Arc::new(move |progress: &Progress| {
            let energies = progress.energies.iter().map(|energy| 0.0 - energy).collect();
            report(&Progress { energies, ..progress.clone() });
        }));
    }
    let pairs = solve_lowest(&negated, solver, &own)?;
    // 0 and not −0.
    let turned = |values: Vec<f64>| values.into_iter().map(|value| 0.0 - value).collect();
    Ok(Eigenpairs {
        values: turned(pairs.values),
        extra_values: turned(pairs.extra_values),
        levels: pairs.levels.into_iter().map(|level| Level { value: 0.0 - level.value, ..level }).collect(),
        next: pairs.next.map(|next| 0.0 - next),
        history: pairs
            .history
            .into_iter()
            .map(|(iteration, value, residual)| (iteration, 0.0 - value, residual))
            .collect(),
        ..pairs
    })
}
