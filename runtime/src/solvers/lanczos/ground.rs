//! One state: steps until the lowest Ritz pair is good enough, then x and its true residual, and again if that is too
//! large. Checkpoints are resumed here.

use super::super::checkpoint::{Saved, Saver};
use super::super::run::Main;
use super::super::run::Run;
use super::super::start;
use super::super::{SolvePhase, StopReason};
use super::projected::Projected;
use super::recurrence::{Recurrence, sum};
use super::second_pass::{self, Weights};
use super::{VECTORS, kept};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;

/// Steps between two solutions of the projected matrix; during the first this many it is small, and solved in every step.
const LOOK: usize = 10;
/// Steps before a search may end early: a random start has about n^-1/2 of a hidden state, which needs time to grow.
const LEAST: usize = 20;
/// How often the search restarts from its own x before it gives up.
const ROUNDS: usize = 6;

/// The stage of a search.
enum Stage {
    /// At the start; the first slot is the start vector.
    Begin,
    /// In run 1; the first slot is the start vector.
    Steps,
    /// In run 2; the first slot is the partial x.
    Again(Weights),
}

/// Parameters of one search.
pub(in super::super) struct Search<'a> {
    pub phase: SolvePhase,
    /// Ends before convergence, without a vector, once this holds for (value, residual norm).
    pub enough: Option<&'a dyn Fn(f64, f64) -> bool>,
    /// Basis vectors to keep, including the start: at least 1.
    pub capacity: usize,
}

/// The lowest state, with the available memory.
pub(super) fn lowest<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    run.plan_memory(operator, "Lanczos", VECTORS, "")?;
    let capacity = 1 + kept(run.options, run.spare(operator, VECTORS));
    let start = start::first(run, operator)?;
    search(run, operator, start, &Search { phase: SolvePhase::Lanczos, enough: None, capacity }, saver)
}

/// The lowest state from a start vector of any length but 0.
pub(in super::super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    start: Vector<T>,
    search: &Search<'_>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let (options, capacity) = (run.options, search.capacity);
    let mut recurrence = Recurrence::new(run, operator, start, capacity)?;
    let (mut stage, mut done) = match saver.take_resumed() {
        Some(saved) => (restore(&mut recurrence, &saved)?, saved.iteration),
        None => (Stage::Begin, 0),
    };
    let (mut history, mut best) = (Vec::new(), f64::INFINITY);
    for round in 1.. {
        let steps = match stage {
            Stage::Again(weights) => {
                let steps = weights.s.len();
                second_pass::run(&mut recurrence, weights, done, saver)?;
                steps
            }
            Stage::Begin | Stage::Steps => {
                if let Stage::Begin = stage {
                    recurrence.begin()?;
                }
                let before = done - recurrence.projected.size().min(done);
                let (s, steps) = basis(&mut recurrence, before, search, &mut history, saver)?;
                done = before + steps;
                let Some(s) = s else {
                    let values = history.last().map(|(_, value, _)| *value).into_iter().collect();
                    let stop = StopReason::Converged;
                    return Ok(Main { values, vectors: vec![], iterations: done, stop, history, notes: vec![] });
                };
                add_up(&mut recurrence, s, done, saver)?;
                steps
            }
        };
        let (x, y) = (&mut recurrence.slots[0], &mut recurrence.y);
        let length = run.algebra.dot(x, x)?.sqrt();
        run.algebra.scale(x, 1.0 / length)?;
        let value = run.apply(operator, x, y)?;
        let residual = run.algebra.residual(y, x, value)?.sqrt();
        history.push((done, value, residual));
        let stop = if residual <= run.tolerance {
            Some(StopReason::Converged)
        } else if residual > 0.5 * best || round == ROUNDS {
            Some(StopReason::Stagnated)
        } else if steps >= options.max_iterations {
            Some(StopReason::MaxIterations)
        } else {
            None
        };
        best = best.min(residual);
        run.progress(search.phase, done, &[value], residual, true);
        saver.save("between runs", done, &recurrence.lengths(0.0), &[&recurrence.slots[0]])?;
        if let Some(stop) = stop {
            let vectors = vec![recurrence.slots.swap_remove(0)];
            return Ok(Main { values: vec![value], vectors, iterations: done, stop, history, notes: vec![] });
        }
        recurrence.capacity = capacity;
        stage = Stage::Begin;
    }
    unreachable!("the loop ends after {ROUNDS} rounds at the latest")
}

/// Continues the recurrence until the lowest Ritz pair is good enough. Returns its weights in the basis, unless the
/// search may end without them, and the total number of steps.
fn basis<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    before: usize,
    search: &Search<'_>,
    history: &mut Vec<(usize, f64, f64)>,
    saver: &mut Saver,
) -> Result<(Option<Vec<f64>>, usize), SolveError> {
    let run = recurrence.run;
    let floor = run.floor();
    let mut steps = recurrence.projected.size();
    loop {
        if recurrence.is_full() {
            recurrence.restart()?;
        }
        recurrence.advance(steps)?;
        steps += 1;
        let last = recurrence.beta <= floor || steps >= run.options.max_iterations;
        if steps.is_multiple_of(LOOK) || steps < LOOK || last {
            let small = trace::span("solver", "small problem");
            let (value, s) = recurrence.projected.lowest();
            drop(small);
            let estimate = recurrence.beta * s.last().map_or(0.0, |s| s.abs());
            history.push((before + steps, value, estimate));
            let enough = steps >= LEAST && search.enough.is_some_and(|enough| enough(value, estimate));
            run.progress(search.phase, before + steps, &[value], estimate, enough);
            if enough {
                return Ok((None, steps));
            }
            if last || estimate <= (0.5 * run.tolerance).max(floor) {
                return Ok((Some(s), steps));
            }
        }
        if saver.due()? {
            save(recurrence, before + steps, saver)?;
        }
    }
}

/// x = Σ s_i v_i in the first slot: first over kept vectors, then over recomputed ones.
fn add_up<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    s: Vec<f64>,
    done: usize,
    saver: &mut Saver,
) -> Result<(), SolveError> {
    let kept = recurrence.filled.min(s.len());
    if kept == s.len() {
        return recurrence.gather(&s);
    }
    // Run 2 begins at the last two kept vectors.
    let newest = kept - 1;
    recurrence.loose[newest % 2].copy_from(&recurrence.slots[newest])?;
    recurrence.loose[kept % 2].copy_from(&recurrence.slots[newest.saturating_sub(1)])?;
    let beta = if newest > 0 { recurrence.projected.beta()[newest - 1] } else { 0.0 };
    recurrence.scale = recurrence.scales[newest];
    recurrence.scale_before = if newest > 0 { recurrence.scales[newest - 1] } else { 0.0 };
    recurrence.beta = beta;
    recurrence.gather(&s[..kept])?;
    recurrence.slots.truncate(1);
    let (alpha, beta) = (recurrence.projected.alpha().to_vec(), recurrence.projected.beta().to_vec());
    second_pass::run(recurrence, Weights { alpha, beta, s, next: kept }, done, saver)
}

impl<T: Scalar> Recurrence<'_, T> {
    /// The stage's number and the lengths, as stored in a checkpoint.
    pub(super) fn lengths(&self, stage: f64) -> [f64; 4] {
        [stage, self.scale, self.scale_before, self.beta]
    }
}

/// Saves run 1. For a chain: its start, its coefficients and its newest two vectors; other kept vectors can be
/// recomputed. After a restart: the lowest Ritz vector, from which a resumed search starts.
fn save<T: Scalar>(recurrence: &mut Recurrence<'_, T>, done: usize, saver: &mut Saver) -> Result<(), SolveError> {
    if recurrence.projected.is_chain() {
        let newest = recurrence.projected.size();
        let (alpha, beta) = (recurrence.projected.alpha(), recurrence.projected.beta());
        let scalars = [&recurrence.lengths(1.0)[..], alpha, beta].concat();
        let vectors = [&recurrence.slots[0], recurrence.at(newest), recurrence.at(newest - 1)];
        return saver.save("run 1", done, &scalars, &vectors);
    }
    let (_, s) = recurrence.projected.lowest();
    // A v_j is not needed between two steps, so its memory is free.
    let Recurrence { run, slots, y, scales, .. } = recurrence;
    sum(run, y, &slots[..s.len()], &s, scales, false)?;
    saver.save("between runs", done, &recurrence.lengths(0.0), &[&recurrence.y])
}

/// Restores a saved state.
fn restore<T: Scalar>(recurrence: &mut Recurrence<'_, T>, saved: &Saved) -> Result<Stage, SolveError> {
    let ([stage, scale, scale_before, beta, rest @ ..], Some(first)) = (&saved.scalars[..], saved.vectors.first())
    else {
        return Ok(Stage::Begin);
    };
    first.restore(&mut recurrence.slots[0])?;
    let [_, v, before] = &saved.vectors[..] else { return Ok(Stage::Begin) };
    let put = |recurrence: &mut Recurrence<'_, T>, newest: usize| -> Result<(), SolveError> {
        v.restore(&mut recurrence.loose[newest % 2])?;
        before.restore(&mut recurrence.loose[(newest + 1) % 2])?;
        (recurrence.scale, recurrence.scale_before, recurrence.beta) = (*scale, *scale_before, *beta);
        Ok(())
    };
    if *stage == 3.0 {
        let Some(weights) = Weights::read(rest) else { return Ok(Stage::Begin) };
        put(recurrence, weights.next - 1)?;
        return Ok(Stage::Again(weights));
    }
    if *stage != 1.0 {
        return Ok(Stage::Begin);
    }
    let (alpha, beta) = rest.split_at(rest.len() / 2);
    // Vectors between the start and these two are missing: nothing more is kept in this round.
    recurrence.begin()?;
    recurrence.capacity = 1;
    put(recurrence, alpha.len())?;
    recurrence.projected = Projected::chain(alpha.to_vec(), beta.to_vec());
    Ok(Stage::Steps)
}
