//! The search of the complement: states that the main search missed, and the rest of the k-th level.
//!
//! One search after another, each outside all states found so far. A state that comes out is [finished](finish) to the tolerance and added;
//! the search that finds none ends it. Where a symmetry makes another eigenvector of one that was found
//! ([`LinearOperator::is_complex`]), that one is not searched for.

use super::super::checkpoint::Saver;
use super::super::run::{Main, Run};
use super::super::{Preconditioner, SolveOptions, SolvePhase, Solver, StopReason, davidson, lanczos};
use super::chain::{Chain, Subject};
use super::deflated::Deflated;
use super::hidden::{self, Answer, Decision};
use super::metric::{Expected, Metric};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;

/// At most this many states beyond k are searched; a larger level stays marked as incomplete.
const EXTRA: usize = 64;
/// Square of the part of a partner that is not in the states found, below which it is taken for known or left to the search.
const NEW_PART: f64 = 0.1;

/// How the search of the complement ended.
pub(super) enum Search {
    /// Everything at or below the k-th value is known; a lower bound of the values above it.
    Complete(Option<f64>),
    /// The search is incomplete, for this reason.
    Incomplete(String),
}

/// Searches until the complement contains nothing at or below the k-th value. States found are added to `main`.
pub(super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    solver: Solver,
    main: &mut Main<T>,
) -> Result<Search, SolveError> {
    let (k, n) = (run.options.states, operator.dimension());
    let uses_diagonal =
        matches!(solver, Solver::Davidson | Solver::Olsen) || run.options.preconditioner != Preconditioner::None;
    let residual = main.history.last().map_or(run.tolerance, |(_, _, residual)| *residual);
    // The phase begins here, however short it is.
    run.progress(SolvePhase::Certify, 0, &main.values, residual, true);
    for extra in 0..=EXTRA {
        add_partners(run, operator, main)?;
        if main.vectors.len() == n {
            return Ok(Search::Complete(None));
        }
        let level = level_of(&main.values, k);
        let limit = level + run.joining_distance();
        let member = main.values.iter().rposition(|value| (value - level).abs() <= limit - level).unwrap_or(0);
        let metric = Metric::new(operator, level, &main.vectors[member], uses_diagonal)?;
        if run.room(operator, main.vectors.len()) < 1 + Chain::<T>::vectors(metric.as_ref()) {
            return Ok(Search::Incomplete("the search needs more memory than is free".into()));
        }
        let expected = expected(metric.as_ref(), main, level, limit)?;
        let lowest = main.values.iter().copied().fold(level, f64::min) - level;
        let (near, is_likely) = (limit - level, extra > 0);
        let decision = Decision { expected, chance: hidden::chance(n), lowest, near, is_likely };
        let seed = run.options.seed.wrapping_add(0x9e37_79b9).wrapping_mul(2 * extra as u64 + 3);
        let metric = metric.as_ref();
        let subject = Subject { run, operator, found: &main.vectors, metric, level, seed };
        let (answer, steps) = hidden::search(&subject, &decision)?;
        main.iterations += steps;
        let x = match answer {
            Answer::Nothing { next } => return Ok(Search::Complete(Some(level + next))),
            Answer::Unfinished { steps } => {
                return Ok(Search::Incomplete(format!(
                    "the search of the complement did not end in {steps} steps; raise max_iterations"
                )));
            }
            Answer::State(_) if extra == EXTRA => break,
            Answer::State(x) => x,
        };
        let (value, vector) = match finish(run, operator, x, main, metric.map(|_| level))? {
            Ok(found) => found,
            Err(why) => return Ok(Search::Incomplete(why)),
        };
        if value < level - near {
            main.notes.push("certification found a state that the main search had missed".into());
        }
        main.values.push(value);
        main.vectors.push(vector);
    }
    Ok(Search::Incomplete(format!("{EXTRA} states beyond the first {k} were found and there may be more")))
}

/// The k-th lowest value.
fn level_of(values: &[f64], k: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[k - 1]
}

/// What a hidden member of the level would have, from the members that are known: the least favourable of them.
fn expected<T: Scalar>(
    metric: Option<&Metric>,
    main: &Main<T>,
    level: f64,
    limit: f64,
) -> Result<Expected, SolveError> {
    let Some(metric) = metric else { return Ok(Expected::PLAIN) };
    let members = main.values.iter().zip(&main.vectors).filter(|(value, _)| (*value - level).abs() <= limit - level);
    let all = members.map(|(_, x)| metric.measure(x)).collect::<Result<Vec<_>, _>>()?;
    let worst = all.into_iter().max_by(|a, b| a.ratio(1.0).total_cmp(&b.ratio(1.0)));
    Ok(worst.unwrap_or(Expected::PLAIN))
}

/// Makes an eigenvector, to the tolerance, of a vector close to one; or says why it is none. With the diagonal, of a level, by Davidson.
fn finish<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    mut x: Vector<T>,
    main: &mut Main<T>,
    by_diagonal: Option<f64>,
) -> Result<Result<(f64, Vector<T>), String>, SolveError> {
    let mut scratch = operator.device().zeros::<T>(operator.dimension())?;
    let value = run.apply(operator, &x, &mut scratch)?;
    if run.algebra.residual(&mut scratch, &x, value)?.sqrt() <= run.tolerance {
        return Ok(Ok((value, x)));
    }
    drop(scratch);
    let deflated = Deflated::new(run, operator, main, by_diagonal);
    let found = match by_diagonal {
        Some(_) => {
            let options = SolveOptions { states: 1, guard: Some(0), ..run.options.clone() };
            let within = run.nested(&deflated, &options);
            let goal = davidson::Goal::From { vectors: &[&x], phase: SolvePhase::Certify };
            let found = davidson::search(&within, &deflated, goal, &mut Saver::off())?;
            run.take_in(&within);
            found
        }
        None => {
            let start = |to: &mut Vector<T>| -> Result<(), SolveError> {
                Ok(run.algebra.combine(std::slice::from_mut(to), &[&x], &[vec![1.0]], false)?)
            };
            let how = lanczos::Search { phase: SolvePhase::Certify, capacity: 0, start: &start };
            lanczos::search_lowest(run, &deflated, &how, &mut Saver::off())?
        }
    };
    let residual = found.history.last().map_or(f64::NAN, |(_, _, residual)| *residual);
    let value = found.values.first().copied().unwrap_or(f64::NAN);
    let is_converged = found.stop == StopReason::Converged;
    let vector = found.vectors.into_iter().next();
    main.iterations += found.iterations;
    match vector.filter(|_| is_converged) {
        Some(vector) => {
            x = vector;
            run.algebra.orthonormalise(&mut x, &main.vectors.iter().collect::<Vec<_>>())?;
            Ok(Ok((value, x)))
        }
        None => Ok(Err(format!("a state at {value:?} did not converge: its residual is {residual:.1e}"))),
    }
}

/// Adds the eigenvectors that a symmetry gives beside those found.
fn add_partners<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    main: &mut Main<T>,
) -> Result<(), SolveError> {
    if !operator.is_complex() {
        return Ok(());
    }
    for k in 0..main.vectors.len() {
        let mut partner = run.algebra.partner(&main.vectors[k], operator.part_order())?;
        let known: Vec<&Vector<T>> = main.vectors.iter().collect();
        let overlaps = run.algebra.gram(&known, &[&partner])?;
        let inside: f64 = overlaps.iter().map(|row| row[0] * row[0]).sum();
        if 1.0 - inside > NEW_PART {
            run.algebra.orthonormalise(&mut partner, &known)?;
            main.values.push(main.values[k]);
            main.vectors.push(partner);
        }
    }
    Ok(())
}
