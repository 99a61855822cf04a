//! Certification: true residuals, and a search of the orthogonal complement of the states found.
//!
//! Degenerate or missed states are the oldest complaint about iterative eigensolvers. After any of them the complement is searched from
//! random starts:
//! - a state below or at the k-th value was missed, or belongs to its level. It is converged and kept, and the search continues, so
//!   levels are completed also beyond k;
//! - a search ends once a state there would have less of its random start than one in a million has. This bounds every
//!   state of the level, in whatever symmetry sector; it is no guess from the search vector, which a method that prefers some
//!   directions may keep clear of a hidden state.
//!
//! | file | question it answers |
//! |---|---|
//! | `complement` | in which order are hidden states searched, finished and added? |
//! | `hidden` | is there one more? |
//! | `chain` | what is a step of that search? |
//! | `metric` | in which scalar product? |
//! | `quadrature` | what do the steps prove? |
//! | `deflated` | what is the operator without the states found? |
//! | `refine` | are the energies exact enough beside the levels? |

mod chain;
mod complement;
mod deflated;
mod hidden;
mod metric;
mod quadrature;
mod refine;

use super::advice::advice;
use super::algebra::parse;
use super::levels::{BoundedEnergy, error_bounds, group_levels};
use super::ritz::symmetric_eigen;
use super::run::{Main, Run};
use super::{Eigenpairs, Level, Solver, StopReason};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;
use complement::Search;
use eigenforge_templates::vector_program::VectorProgram;
use faer::Mat;

/// The programs of this folder.
pub(super) fn programs() -> Vec<VectorProgram> {
    [chain::STEP, chain::STEP_BY_DIAGONAL, metric::DIVIDE, metric::MEASURE, metric::MOMENTS].map(parse).to_vec()
}

/// Completes the levels found by the main search and makes the report.
pub(super) fn complete<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    mut main: Main<T>,
) -> Result<Eigenpairs<T>, SolveError> {
    let _certify = trace::span("solver", "certify");
    let mut notes = std::mem::take(&mut main.notes);
    let outcome = match main.stop {
        _ if !run.options.certify => Search::Incomplete("certification was switched off".into()),
        StopReason::Converged | StopReason::Dense => complement::search(run, operator, solver, &mut main)?,
        _ => Search::Incomplete("the main search did not converge".into()),
    };
    notes.append(&mut main.notes);
    let (is_complete, next) = match outcome {
        Search::Complete(next) => (true, next),
        Search::Incomplete(why) => {
            notes.push(format!("multiplicities are lower bounds: {why}"));
            (false, None)
        }
    };
    let vectors = std::mem::take(&mut main.vectors);
    let found = true_states(run, operator, vectors)?;
    let mut pairs = assemble(run, found, is_complete, next);
    // Mixing members of a level may raise the largest of their residuals.
    let is_above = main.stop == StopReason::Converged && pairs.residuals.iter().any(|r| *r > run.tolerance);
    let wanted = refine::wanted_residual(run, &pairs).or(is_above.then_some(0.5 * run.tolerance));
    if let Some(residual) = wanted {
        pairs = improved(run, operator, pairs, (residual, is_complete))?;
    }
    if main.stop == StopReason::Converged && pairs.residuals.iter().any(|r| *r > 1.01 * run.tolerance) {
        main.stop = StopReason::Stagnated;
    }
    pairs.notes.splice(0..0, notes);
    let worst = pairs.residuals.iter().copied().fold(0.0, f64::max);
    Ok(Eigenpairs {
        advice: advice(run, solver, &main, worst),
        start: run.started_from.get(),
        iterations: main.iterations,
        multiplies: run.multiplies(),
        stop: main.stop,
        history: main.history,
        seconds: run.elapsed(),
        ..pairs
    })
}

/// The same states with lower residuals; as they were if that does not succeed.
fn improved<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    pairs: Eigenpairs<T>,
    (residual, is_complete): (f64, bool),
) -> Result<Eigenpairs<T>, SolveError> {
    let states: Vec<&Vector<T>> = pairs.vectors.iter().chain(&pairs.extra_vectors).collect();
    let Some(better) = refine::improve(run, operator, &states, residual)? else { return Ok(pairs) };
    let found = true_states(run, operator, better)?;
    let largest = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
    let better = assemble(run, found, is_complete, pairs.next);
    Ok(if largest(&better.residuals) < largest(&pairs.residuals) { better } else { pairs })
}

/// A unit vector with its value and the norm of its residual.
pub(super) struct State<T: Scalar> {
    pub(super) value: f64,
    pub(super) residual: f64,
    pub(super) vector: Vector<T>,
}

/// States ascending, with values and residuals from recomputed products; `vectors` are orthonormal. States whose residuals overlap are made eigenvectors of A in their
/// span first, so that each value is one of A there.
pub(super) fn true_states<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    mut vectors: Vec<Vector<T>>,
) -> Result<Vec<State<T>>, SolveError> {
    let _residuals = trace::span("solver", "residuals");
    let mut scratch = operator.device().zeros::<T>(operator.dimension())?;
    if vectors.len() > 1 {
        let basis: Vec<&Vector<T>> = vectors.iter().collect();
        let mut projected = Mat::zeros(basis.len(), basis.len());
        for (j, vector) in basis.iter().enumerate() {
            run.multiply(operator, vector, &mut scratch)?;
            let column = run.algebra.gram(&basis, &[&scratch])?;
            (0..basis.len()).for_each(|i| projected[(i, j)] = column[i][0]);
        }
        let size = basis.len();
        let projected = Mat::from_fn(size, size, |i, j| 0.5 * (projected[(i, j)] + projected[(j, i)]));
        let mixing =
            (0..size).flat_map(|j| (0..j).map(move |i| (i, j))).any(|(i, j)| projected[(i, j)].abs() > run.floor());
        if mixing && run.room(operator, 0) > size {
            let (_, s) = symmetric_eigen(&projected)?;
            let weights: Vec<Vec<f64>> = (0..size).map(|i| (0..size).map(|j| s[(i, j)]).collect()).collect();
            let zeros = || operator.device().zeros::<T>(operator.dimension());
            let mut rotated = (0..size).map(|_| zeros()).collect::<Result<Vec<_>, _>>()?;
            run.algebra.combine(&mut rotated, &basis, &weights, false)?;
            vectors = rotated;
        }
    }
    let mut found = Vec::with_capacity(vectors.len());
    for vector in vectors {
        let value = run.apply(operator, &vector, &mut scratch)? / run.algebra.dot(&vector, &vector)?;
        let residual = run.algebra.residual(&mut scratch, &vector, value)?.sqrt();
        found.push(State { value, residual, vector });
    }
    found.sort_by(|a, b| a.value.total_cmp(&b.value));
    Ok(found)
}

/// The k lowest states and the rest of the level that k cuts, in levels; states above that level are left out. `next` is a lower bound of
/// all values beyond `found`, if it is known.
pub(super) fn assemble<T: Scalar>(
    run: &Run<'_, T>,
    mut found: Vec<State<T>>,
    is_complete: bool,
    next: Option<f64>,
) -> Eigenpairs<T> {
    let all = |of: fn(&State<T>) -> f64| found.iter().map(of).collect::<Vec<f64>>();
    let pairs = assemble_values(run, (&all(|state| state.value), &all(|state| state.residual)), is_complete, next);
    found.truncate(pairs.values.len() + pairs.extra_values.len());
    let mut vectors: Vec<Vector<T>> = found.into_iter().map(|state| state.vector).collect();
    let extra_vectors = vectors.split_off(pairs.values.len());
    Eigenpairs { vectors, extra_vectors, ..pairs }
}

/// The same of ascending values and their residual norms, without vectors.
pub(super) fn assemble_values<T: Scalar>(
    run: &Run<'_, T>,
    (values, residuals): (&[f64], &[f64]),
    is_complete: bool,
    next: Option<f64>,
) -> Eigenpairs<T> {
    let (k, rounding) = (run.options.states, run.rounding());
    let errors = error_bounds(values, residuals, next, run.floor());
    // States that did not converge are not joined for that.
    let unconverged = 0.5 * run.joining_distance();
    let bounded: Vec<BoundedEnergy> = values
        .iter()
        .zip(residuals)
        .map(|(energy, residual)| BoundedEnergy { energy: *energy, error: residual.min(unconverged), rounding })
        .collect();
    let mut levels = Vec::new();
    let mut first = 0;
    for size in group_levels(&bounded).sizes {
        if first >= k {
            break;
        }
        let members = &values[first..first + size];
        let value = members.iter().sum::<f64>() / size as f64;
        levels.push(Level { value, multiplicity: size, complete: is_complete, returned: size.min(k - first) });
        first += size;
    }
    let undecided = group_levels(&bounded[..first]).undecided.filter(|_| run.options.certify);
    let beyond = values.get(first).map(|value| value - errors[first]);
    let next = match (beyond, next) {
        (Some(beyond), Some(next)) => Some(beyond.min(next)),
        (beyond, next) => beyond.filter(|_| is_complete).or(next),
    };
    Eigenpairs {
        levels,
        values: values[..k].to_vec(),
        residuals: residuals[..k].to_vec(),
        errors: errors[..k].to_vec(),
        vectors: Vec::new(),
        extra_values: values[k..first].to_vec(),
        extra_vectors: Vec::new(),
        norm: run.norm,
        tolerance: run.tolerance,
        advice: None,
        next,
        start: run.started_from.get(),
        iterations: 0,
        multiplies: run.multiplies(),
        stop: StopReason::Converged,
        history: Vec::new(),
        seconds: run.elapsed(),
        notes: undecided.map(|gap| gap.warning()).into_iter().collect(),
    }
}
