//! One state: steps until the lowest Ritz pair is good enough, then x and its true residual, and another round if that is too
//! large. Checkpoints are resumed here.

use super::super::checkpoint::{Saved, Saver};
use super::super::run::Main;
use super::super::run::Run;
use super::super::start;
use super::super::{SolvePhase, StopReason};
use super::factors::{Accuracy, Factors};
use super::projected::Projected;
use super::recurrence::{Recurrence, sum};
use super::{FEWEST, VECTORS, optional_vectors};
use crate::device::Vector;
use crate::error::SolveError;
use crate::operator::LinearOperator;
use crate::scalar::Scalar;
use crate::trace;

/// Steps between two solutions of the projected matrix; during the first this many it is small, and solved in every step.
const LOOK: usize = 10;
/// Lengths of a start that was made again may differ by so much of them: sums of another number of cards.
const SAME_START: f64 = 1e-12;
/// How often the search restarts from its own x before it gives up.
const ROUNDS: usize = 6;

/// Stages of a checkpoint, as numbers: x between two rounds; steps that begin with an x; steps; factors. (3 was a second recurrence, whose
/// x is one to begin from.)
const BETWEEN: f64 = 0.0;
const STEPS_OF_X: f64 = 1.0;
const STEPS: f64 = 2.0;
pub(super) const FACTORS: f64 = 4.0;

/// The stage of a search.
enum Stage {
    /// At the start, where [`Recurrence::start`] is.
    Begin,
    /// In the steps.
    Steps,
    /// x is in the first slot, and factors of it are left.
    Factors(Factors),
}

/// Parameters of one search.
pub(in super::super) struct Search<'a, T: Scalar> {
    pub phase: SolvePhase,
    /// Basis vectors to keep, including the start.
    pub capacity: usize,
    /// Overwrites a vector with the start, of any length but 0 and the same every time.
    pub start: &'a Start<'a, T>,
}

/// What makes a start.
pub(in super::super) type Start<'a, T> = dyn Fn(&mut Vector<T>) -> Result<(), SolveError> + 'a;

/// The lowest state, with the available memory.
pub(super) fn lowest<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    run.plan_memory(operator, "Lanczos", VECTORS, "")?;
    let capacity = optional_vectors(run.options, run.spare(operator, VECTORS));
    let start = |x: &mut Vector<T>| start::overwrite(run, operator, x);
    search(run, operator, &Search { phase: SolvePhase::Lanczos, capacity, start: &start }, saver)
}

/// The lowest state.
pub(in super::super) fn search<T: Scalar>(
    run: &Run<'_, T>,
    operator: &dyn LinearOperator<T>,
    search: &Search<'_, T>,
    saver: &mut Saver,
) -> Result<Main<T>, SolveError> {
    let (options, capacity) = (run.options, search.capacity);
    let mut recurrence = Recurrence::new(run, operator, capacity)?;
    // Whether the start of the steps is an x, which is not made again.
    let mut of_x = false;
    let (mut stage, mut done) = match saver.take_resumed() {
        Some(saved) => {
            of_x = saved.scalars.first().is_some_and(|stage| *stage != STEPS && *stage != FACTORS);
            (restore(&mut recurrence, &saved, search.start)?, saved.iteration)
        }
        None => {
            (search.start)(recurrence.start())?;
            (Stage::Begin, 0)
        }
    };
    let (mut history, mut best, mut gap) = (Vec::new(), f64::INFINITY, None);
    for round in 1.. {
        let (mut factors, steps) = match stage {
            Stage::Factors(factors) => (Some(factors), 0),
            Stage::Begin | Stage::Steps => {
                if let Stage::Begin = stage {
                    recurrence.begin()?;
                }
                let before = done - recurrence.projected.size().min(done);
                let (weights, steps) = basis(&mut recurrence, (before, of_x), search, &mut history, saver)?;
                done = before + steps;
                gap = run.gap(&recurrence.projected.values(), 1);
                (add_up(&mut recurrence, &weights, search.start)?, steps)
            }
        };
        let steps = match &mut factors {
            Some(factors) => {
                factors.apply(&mut recurrence, done, saver)?;
                steps.max(1 + factors.len())
            }
            None => steps,
        };
        let (x, y) = (&mut recurrence.slots[0], &mut recurrence.y);
        let length = run.algebra.dot(x, x)?.sqrt();
        run.algebra.scale(x, 1.0 / length)?;
        let value = run.finite(run.apply(operator, x, y)?, done)?;
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
        // Without slots there is no room for x beside a chain: factors once more.
        let again = factors.filter(|_| capacity == 0).map(Factors::again);
        match &again {
            Some(factors) => factors.save(&recurrence, done, saver)?,
            None => saver.save("between rounds", done, &recurrence.lengths(BETWEEN), &[&recurrence.slots[0]])?,
        }
        if let Some(stop) = stop {
            let vectors = vec![recurrence.slots.swap_remove(0)];
            let main = Main::new(vec![value], vectors, (done, stop), history);
            return Ok(Main { gap, few_vectors: capacity == 0 && options.max_iterations >= FEWEST, ..main });
        }
        recurrence.capacity = capacity;
        of_x = true;
        stage = again.map_or(Stage::Begin, Stage::Factors);
    }
    unreachable!("the loop ends after {ROUNDS} rounds at the latest")
}

/// Continues the recurrence until the lowest Ritz pair is good enough. Returns its weights in the basis and the total number
/// of steps.
fn basis<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    (before, of_x): (usize, bool),
    search: &Search<'_, T>,
    history: &mut Vec<(usize, f64, f64)>,
    saver: &mut Saver,
) -> Result<(Vec<f64>, usize), SolveError> {
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
            run.progress(search.phase, before + steps, &[value], estimate, false);
            let is_good = |tolerance: f64| estimate <= (0.5 * tolerance).max(floor);
            if last || is_good(run.tolerance) && is_good(run.resolving(&recurrence.projected.values(), 1)) {
                return Ok((s, steps));
            }
        }
        if saver.due()? {
            save(recurrence, (before + steps, of_x), saver)?;
        }
    }
}

/// x in the first slot: x = Σ s_i v_i where all v_i are kept; else the start, with the factors that make it x.
fn add_up<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    weights: &[f64],
    start: &Start<'_, T>,
) -> Result<Option<Factors>, SolveError> {
    if recurrence.filled >= weights.len() {
        recurrence.gather(weights)?;
        return Ok(None);
    }
    let residual = recurrence.beta * weights.last().map_or(0.0, |s| s.abs());
    let (tolerance, floor) = (recurrence.run.tolerance, recurrence.run.floor());
    let converged = residual <= tolerance.max(floor);
    let accuracy = Accuracy { residual, converged, tolerance, floor, epsilon: T::EPSILON };
    let factors = Factors::new(&recurrence.projected.values(), &accuracy);
    recurrence.slots.truncate(1);
    if recurrence.slots.is_empty() {
        let mut x = recurrence.loose.swap_remove(0);
        start(&mut x)?;
        recurrence.slots.push(x);
    }
    Ok(Some(factors))
}

/// Saves the steps. Of a chain: its coefficients, its newest two vectors and, if it is no other than x, its start. After a
/// restart: the lowest Ritz vector, from which a resumed search starts.
fn save<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    (done, of_x): (usize, bool),
    saver: &mut Saver,
) -> Result<(), SolveError> {
    if recurrence.projected.is_chain() {
        let newest = recurrence.projected.size();
        let (alpha, beta) = (recurrence.projected.alpha(), recurrence.projected.beta());
        let scalars = match of_x {
            true => [&recurrence.lengths(STEPS_OF_X)[..], alpha, beta].concat(),
            false => [&recurrence.lengths(STEPS)[..], &[recurrence.first_scale], alpha, beta].concat(),
        };
        let start = recurrence.slots.first().filter(|_| of_x);
        let newest = [recurrence.vector(newest), recurrence.vector(newest - 1)];
        return saver.save("steps", done, &scalars, &start.into_iter().chain(newest).collect::<Vec<_>>());
    }
    let (_, s) = recurrence.projected.lowest();
    // A v_j is not needed between two steps, so its memory is free.
    let Recurrence { run, slots, y, scales, .. } = recurrence;
    sum(run, y, &slots[..s.len()], &s, scales, false)?;
    saver.save("between rounds", done, &recurrence.lengths(BETWEEN), &[&recurrence.y])
}

/// Restores a saved state.
///
/// # Errors
/// It begins with an x, for which there is no room beside a chain.
fn restore<T: Scalar>(
    recurrence: &mut Recurrence<'_, T>,
    saved: &Saved,
    start: &Start<'_, T>,
) -> Result<Stage, SolveError> {
    let ([stage, scale, scale_before, beta, rest @ ..], Some(first)) = (&saved.scalars[..], saved.vectors.first())
    else {
        start(recurrence.start())?;
        return Ok(Stage::Begin);
    };
    if let Some(factors) = Factors::read(rest).filter(|_| *stage == FACTORS) {
        if recurrence.slots.is_empty() {
            let x = recurrence.loose.swap_remove(0);
            recurrence.slots.push(x);
        }
        first.restore(&mut recurrence.slots[0])?;
        return Ok(Stage::Factors(factors));
    }
    let (newest, rest) = match (&saved.vectors[..], rest) {
        (newest @ [_, _], [first_scale, rest @ ..]) if *stage == STEPS => {
            start(recurrence.start())?;
            recurrence.begin()?;
            if (recurrence.first_scale / first_scale - 1.0).abs() > SAME_START {
                tracing::warn!(
                    "the saved steps of Lanczos are of another start: seed, start or guess differ, and it begins anew"
                );
                return Ok(Stage::Begin);
            }
            (newest, rest)
        }
        ([x, newest @ ..], rest) => {
            if recurrence.slots.is_empty() {
                recurrence.run.plan_memory(recurrence.operator, "an x of Lanczos beside a recurrence", 1, "")?;
                recurrence.slots.push(recurrence.operator.device().zeros(recurrence.operator.dimension())?);
            }
            x.restore(&mut recurrence.slots[0])?;
            recurrence.begin()?;
            (if *stage == STEPS_OF_X { newest } else { &[] }, rest)
        }
        ([], _) => unreachable!("there is a first"),
    };
    let [v, before] = newest else { return Ok(Stage::Begin) };
    let (alpha, beta_of_steps) = rest.split_at(rest.len() / 2);
    // Vectors between the start and these two are missing: nothing more is kept in this round.
    recurrence.capacity = recurrence.slots.len();
    v.restore(&mut recurrence.loose[alpha.len() % 2])?;
    before.restore(&mut recurrence.loose[(alpha.len() + 1) % 2])?;
    (recurrence.scale, recurrence.scale_before, recurrence.beta) = (*scale, *scale_before, *beta);
    recurrence.projected = Projected::chain(alpha.to_vec(), beta_of_steps.to_vec());
    Ok(Stage::Steps)
}
