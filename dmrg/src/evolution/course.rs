//! The steps of an evolution, and what is read off between them.

use super::ChainStart;
use super::checkpoint::EvolutionSaver;
use super::end_state::end_state;
use super::progress::{ChainPoint, ChainSteps, Growth, SavedCourse};
use super::start::FirstBond;
use super::step::MovingState;
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::error::DmrgError;
use crate::matrix_product::MatrixProductState;
use crate::measure;
use crate::measure::observed::ObservedPlan;
use crate::options::Options;
use crate::sweep::reference::ReferenceState;
use crate::sweep::sweeper::Sweeper;
use eigenforge_core::observable::Observable;
use eigenforge_runtime::backend::Backend;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::solvers::{CheckpointOptions, TimeAxis};

/// What is wanted of an evolution.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainEvolution {
    /// Times at which the state is wanted, ascending from 0 on, in ħ over the unit of the model.
    pub times: Vec<f64>,
    /// The longest step.
    pub step: f64,
    /// Complex states kept at a bond at most.
    pub states: usize,
    /// Weight that a truncation may drop although more states are allowed; `None` for a small part of the tolerance.
    pub discarded: Option<f64>,
    /// The weight 1 − |⟨ψ|exact⟩|² that may be lost.
    pub tolerance: f64,
    /// Whether time is real.
    pub axis: TimeAxis,
    /// What is averaged.
    pub observables: Vec<Observable>,
    /// Whether the state at the end is wanted.
    pub state: bool,
    /// Where the run is saved between two steps. Its `identity` is not read: the chain says which it is.
    pub checkpoint: Option<CheckpointOptions>,
}

/// The end of an evolution.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainEvolved {
    /// What the steps took, and what they may have cost.
    pub steps: ChainSteps,
    /// ψ at the end, if it was asked for.
    pub state: Option<MatrixProductState>,
}

/// Part of the tolerance that truncations to less than the allowed states drop altogether.
const SMALL_PART: f64 = 0.1;
/// The same of its root for the exponentials.
const EXPONENTIALS: f64 = 1e-3;
/// Steps that are tried at other lengths.
const TRIALS: usize = 10;
/// Weight that a truncation may drop in imaginary time: rounding alone, since what is dropped would grow.
const ROUNDING: f64 = 1e-28;
/// States and sweeps of a search for the lowest energy that imaginary time may lead to.
const LOWEST_STATES: usize = 64;
const LOWEST_SWEEPS: usize = 8;

impl ChainEvolution {
    fn check(&self) -> Result<(), DmrgError> {
        let wrong = |option, expected, found: String| Err(DmrgError::Option { option, expected, found });
        let ascend = self.times.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range =
            self.times.first().is_some_and(|first| *first >= 0.0) && self.times.iter().all(|t| t.is_finite());
        if !(ascend && in_range) {
            return wrong("times", "finite times from 0 on, each above the one before", format!("{:?}", self.times));
        }
        if !(self.step > 0.0 && self.step.is_finite()) {
            return wrong("step", "a time above 0", self.step.to_string());
        }
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return wrong("tolerance", "a weight between 0 and 1, such as 1e-8", self.tolerance.to_string());
        }
        if self.states == 0 {
            return wrong("states", "at least 1", "0".into());
        }
        let steps = self.steps();
        if steps > MOST_STEPS {
            return wrong(
                "step",
                "a time that makes at most 10,000,000 steps until the last time",
                format!("{:e}", self.step),
            );
        }
        Ok(())
    }

    /// Steps from a time to the next.
    fn steps_between(&self, from: f64, to: f64) -> f64 {
        ((to - from) / self.step * (1.0 - 1e-12)).ceil().max(1.0)
    }

    /// ψ at time 0, with the limits of its truncations and exponentials.
    fn moving_state<'c>(&self, chain: &'c Chain, first: FirstBond) -> Result<MovingState<'c>, DmrgError> {
        // Each step truncates every bond there and back.
        let truncations = 2.0 * self.steps().max(1.0) * chain.sites as f64;
        let usual = match self.axis {
            TimeAxis::Real => SMALL_PART * self.tolerance / truncations,
            TimeAxis::Imaginary => ROUNDING,
        };
        let discarded = self.discarded.unwrap_or(usual);
        let limits = TruncationLimits { most: self.states, least: 1, discarded, factored: None };
        let precision = (EXPONENTIALS * self.tolerance.sqrt() / (2.0 * truncations)).clamp(1e-14, 1e-8);
        MovingState::new(chain, first, self.axis, limits, precision)
    }

    /// All steps.
    fn steps(&self) -> f64 {
        let times = || std::iter::once(0.0).chain(self.times.iter().copied());
        times().zip(times().skip(1)).filter(|(from, to)| to > from).map(|(from, to)| self.steps_between(from, to)).sum()
    }
}

/// Steps of a run at most.
const MOST_STEPS: f64 = 1e7;

/// Evolves a state; the visitor sees it at each of the times, until the weight that is dropped passes the tolerance.
///
/// # Errors
/// Options out of their range; a start that is not in the sector or of another chain; numbers that are not finite; a checkpoint of another
/// run; a signal.
pub fn evolve_chain(
    chain: &Chain,
    start: &ChainStart,
    options: &ChainEvolution,
    mut visit: impl FnMut(ChainPoint),
) -> Result<ChainEvolved, DmrgError> {
    options.check()?;
    let (mut saver, saved) = EvolutionSaver::open(options.checkpoint.as_ref(), chain)?;
    let first = match start {
        ChainStart::Product(levels) => {
            let along: Vec<usize> = chain.order.iter().filter_map(|site| levels.get(*site).copied()).collect();
            chain.product_state(if along.len() == levels.len() { &along } else { levels })?
        }
        ChainStart::State(state) => chain.written_state(state)?,
    };
    let (scale, all) = (chain.units.scale, options.steps().max(1.0));
    let mut state = options.moving_state(chain, first)?;
    let references = state.snapshot()?.references()?;
    let plan = ObservedPlan::new(chain, &options.observables)?;
    let course = match saved {
        Some((kept, wave, course)) => {
            state = state.replaced(kept, wave, course.tally)?;
            course.points.iter().cloned().for_each(&mut visit);
            course
        }
        None => {
            if let Some(second) = options.times.iter().find(|time| **time > 0.0) {
                state.prepare(scale * second / options.steps_between(0.0, *second))?;
            }
            let growth = match options.axis {
                TimeAxis::Real => None,
                TimeAxis::Imaginary => Some(Growth { lowest: lowest_level(chain)?, error: 0.0 }),
            };
            SavedCourse { growth, tally: state.tally, ..SavedCourse::default() }
        }
    };
    let mut run = Run { state, references, plan, course };
    let every = (all / TRIALS as f64).ceil().max(1.0) as usize;
    saver.hold_signals();
    while run.course.time < options.times.len() {
        let time = options.times[run.course.time];
        let before = run.course.time.checked_sub(1).map_or(0.0, |before| options.times[before]);
        let count = if time > before { options.steps_between(before, time) } else { 0.0 };
        let step = (time - before) / count.max(1.0);
        while run.course.done < count as usize {
            // A saved run ends behind its step.
            if !saver.is_open() {
                interrupt::check()?;
            }
            run.step(step * scale, every)?;
            if run.state.tally.discarded > options.tolerance {
                let at = before + run.course.done as f64 * step;
                visit(run.point(at)?);
                saver.let_signals_end()?;
                return run.end(options, at, Some(at));
            }
            saver.save_if_due(&run.state.sweeper, &run.course)?;
        }
        let point = run.point(time)?;
        (run.course.time, run.course.done) = (run.course.time + 1, 0);
        if saver.is_open() {
            run.course.points.push(point.clone());
        }
        visit(point);
    }
    saver.let_signals_end()?;
    let last = options.times.last().copied().unwrap_or(0.0);
    run.end(options, last, None)
}

/// E₀ of a chain in its units, by a short search.
fn lowest_level(chain: &Chain) -> Result<f64, DmrgError> {
    let options = Options {
        states: vec![LOWEST_STATES],
        sweeps: LOWEST_SWEEPS,
        tolerance: 1e-8,
        standard: false,
        check: false,
        ..Options::default()
    };
    let found = crate::run::run(chain, &options, None, |_| {})?;
    Ok((found.energy - chain.units.energy(0.0)) / chain.units.scale)
}

/// A state on its way.
struct Run<'c, 'o> {
    state: MovingState<'c>,
    /// ψ(0), and of a complex chain iψ(0).
    references: References,
    plan: ObservedPlan<'o>,
    /// How far it is.
    course: SavedCourse,
}

type References = Vec<ReferenceState<Vec<f64>>>;

/// ⟨reference|ψ⟩ of each, with ψ at the first bond.
fn overlaps(read: &mut Sweeper<'_>, references: References) -> Result<(Vec<f64>, References), DmrgError> {
    read.stay_orthogonal_to(references, 0)?;
    let frame = read.frame(0);
    let of = |companion: &crate::sweep::reference::ReferenceOverlaps<Vec<f64>>| -> Result<f64, DmrgError> {
        Ok(read.engine.dot(&companion.vector(&read.engine, read.chain, 0, &frame)?, &read.wave)?)
    };
    let found = read.below.iter().map(of).collect::<Result<Vec<f64>, _>>()?;
    Ok((found, read.take_references()))
}

impl Run<'_, '_> {
    /// A step; each first of `every` steps is tried: one of four times its length beside two of twice it tells how far it may be off.
    fn step(&mut self, time: f64, every: usize) -> Result<(), DmrgError> {
        if self.course.steps.is_multiple_of(every) {
            let [mut whole, mut halves] = [self.state.duplicate()?, self.state.duplicate()?];
            whole.step(4.0 * time)?;
            halves.step(2.0 * time)?;
            halves.step(2.0 * time)?;
            let references = halves.snapshot()?.references()?;
            let (found, _) = overlaps(&mut whole.snapshot()?, references)?;
            // ‖whole − halves‖² = 2 − 2 Re ⟨…⟩. A step of third order is off by 4/3 of the difference, and one of a quarter of the time
            // by 1/64 of that: truncations, which are counted elsewhere, hardly matter in it. Twice that, since the order is lower where the
            // states that a bond has just got matter.
            let difference = (2.0 - 2.0 * found[0]).max(0.0).sqrt();
            self.course.splitting.tried(difference / 24.0);
        }
        let before = self.state.tally;
        self.state.step(time)?;
        let now = self.state.tally;
        let course = &mut self.course;
        (course.steps, course.done, course.tally) = (course.steps + 1, course.done + 1, now);
        course.splitting.since += 1.0;
        if let Some(growth) = &mut course.growth {
            let factor = (-growth.lowest * time - (now.log_norm - before.log_norm)).max(0.0).exp();
            let weight = (now.discarded - before.discarded) + (now.missing - before.missing);
            growth.error = factor * growth.error + weight.sqrt() + now.bound - before.bound + course.splitting.last;
        }
        Ok(())
    }

    fn record(&self) -> ChainSteps {
        let (tally, course) = (&self.state.tally, &self.course);
        ChainSteps {
            steps: course.steps,
            products: tally.products,
            states: tally.states,
            discarded: tally.discarded,
            bound: tally.bound,
            splitting: course.splitting.error(),
            missing: tally.missing,
            // Two vectors of length 1 are no further apart.
            grown: course.growth.as_ref().map(|growth| growth.error.min(2.0)),
            stop_time: None,
        }
    }

    /// The end of the run, at a time.
    fn end(&self, options: &ChainEvolution, time: f64, stop_time: Option<f64>) -> Result<ChainEvolved, DmrgError> {
        let steps = ChainSteps { stop_time, ..self.record() };
        let chain = self.state.sweeper.chain;
        // The part of H that is a number turns the phase.
        let phase = if chain.is_complex() { -chain.units.energy(0.0) * time } else { 0.0 };
        let state = match options.state {
            true => Some(end_state(&self.state.snapshot()?, phase)?),
            false => None,
        };
        Ok(ChainEvolved { steps, state })
    }

    /// What is read off.
    fn point(&mut self, time: f64) -> Result<ChainPoint, DmrgError> {
        let chain = self.state.sweeper.chain;
        let units = &chain.units;
        let energy = units.energy(self.state.energy()?);
        let mut read = self.state.snapshot()?;
        let (found, references) = overlaps(&mut read, std::mem::take(&mut self.references))?;
        self.references = references;
        let offset = units.energy(0.0) * time;
        let (re, im) = (found[0], found.get(1).copied().unwrap_or(0.0));
        let (overlap, log_norm) = match self.state.axis {
            // The part of H that is a number turns the phase.
            TimeAxis::Real => {
                let (sin, cos) = offset.sin_cos();
                ([re * cos + im * sin, im * cos - re * sin], 0.0)
            }
            TimeAxis::Imaginary => ([re, im], self.state.tally.log_norm - offset),
        };
        let contracted = measure::contractions(chain, &mut read, &self.plan)?;
        let measured = measure::walk(chain, &mut read, &self.plan, contracted.first().map_or(&[], Vec::as_slice))?;
        let averages = measured.averages;
        let cut_entropies = measured.cuts.iter().map(|cut| cut.entropy).collect();
        Ok(ChainPoint { time, energy, overlap, log_norm, averages, cut_entropies, steps: self.record() })
    }
}
