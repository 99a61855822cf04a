//! The steps of an evolution, and what is read off between them.

use super::ChainStart;
use super::step::MovingState;
use crate::block::truncate::TruncationLimits;
use crate::chain::Chain;
use crate::error::DmrgError;
use crate::measure::observed::ObservedPlan;
use crate::measure::{self, CutRecord};
use crate::options::Options;
use crate::sweep::reference::ReferenceState;
use crate::sweep::sweeper::Sweeper;
use eigenforge_core::observable::{Averages, Observable};
use eigenforge_runtime::backend::Backend;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::solvers::TimeAxis;

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
}

/// A chain at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainPoint {
    /// The time.
    pub time: f64,
    /// ⟨H⟩.
    pub energy: f64,
    /// ⟨ψ(0)|ψ(t)⟩, real and imaginary part.
    pub overlap: [f64; 2],
    /// ln ‖exp(−Ht) ψ(0)‖ in imaginary time, else 0.
    pub log_norm: f64,
    /// Averages of the observables.
    pub averages: Averages,
    /// The cuts from left to right: entropies and the largest weights.
    pub cuts: Vec<CutRecord>,
    /// What the steps so far may have cost.
    pub steps: ChainSteps,
}

/// What steps took, and what they may have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChainSteps {
    /// Steps.
    pub steps: usize,
    /// Products with H of a bond or a site.
    pub products: usize,
    /// The most complex states at a bond.
    pub states: usize,
    /// Weight that truncations dropped, all together.
    pub discarded: f64,
    /// Bounds of the exponentials of bonds, all together.
    pub bound: f64,
    /// Estimate of ‖ψ − exact‖ by the length of the steps, from some of them.
    pub splitting: f64,
    /// Weight that states would get within a step which blocks lack, for terms on sites that are no neighbours, all together.
    pub missing: f64,
    /// In imaginary time ‖ψ − exact‖ by all of these, each as it has grown since.
    pub grown: Option<f64>,
    /// The time at which the weight passed the tolerance, if it did.
    pub stop_time: Option<f64>,
}

impl ChainSteps {
    /// Estimate of ‖ψ − exact‖.
    pub fn error(&self) -> f64 {
        self.grown.unwrap_or((self.discarded + self.missing).sqrt() + self.bound + self.splitting)
    }
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

    /// All steps.
    fn steps(&self) -> f64 {
        let times = || std::iter::once(0.0).chain(self.times.iter().copied());
        times().zip(times().skip(1)).filter(|(from, to)| to > from).map(|(from, to)| self.steps_between(from, to)).sum()
    }
}

/// Steps of a run at most.
const MOST_STEPS: f64 = 1e7;

/// What the length of steps costs.
#[derive(Default)]
struct Splitting {
    /// Of all steps before the last trial.
    before: f64,
    /// Of the step that was tried last.
    last: f64,
    /// Steps since.
    since: f64,
}

impl Splitting {
    fn tried(&mut self, error: f64) {
        // The larger of both ends for the steps between.
        self.before += self.since * self.last.max(error);
        (self.last, self.since) = (error, 0.0);
    }

    fn error(&self) -> f64 {
        self.before + self.since * self.last
    }
}

/// Evolves a state; the visitor sees it at each of the times, until the weight that is dropped passes the tolerance.
///
/// # Errors
/// Options out of their range; a start that is not in the sector or of another chain; numbers that are not finite.
pub fn evolve_chain(
    chain: &Chain,
    start: &ChainStart,
    options: &ChainEvolution,
    mut visit: impl FnMut(ChainPoint),
) -> Result<ChainSteps, DmrgError> {
    options.check()?;
    let first = match start {
        ChainStart::Product(levels) => {
            let along: Vec<usize> = chain.order.iter().filter_map(|site| levels.get(*site).copied()).collect();
            chain.product_state(if along.len() == levels.len() { &along } else { levels })?
        }
        ChainStart::State(state) => chain.written_state(state)?,
    };
    let (scale, all) = (chain.units.scale, options.steps().max(1.0));
    // Each step truncates every bond there and back.
    let truncations = 2.0 * all * chain.sites as f64;
    let usual = match options.axis {
        TimeAxis::Real => SMALL_PART * options.tolerance / truncations,
        TimeAxis::Imaginary => ROUNDING,
    };
    let discarded = options.discarded.unwrap_or(usual);
    let limits = TruncationLimits { most: options.states, least: 1, discarded, factored: None };
    let precision = (EXPONENTIALS * options.tolerance.sqrt() / (2.0 * truncations)).clamp(1e-14, 1e-8);
    let mut state = MovingState::new(chain, first, options.axis, limits, precision)?;
    let plan = ObservedPlan::new(chain, &options.observables)?;
    let second = options.times.iter().find(|time| **time > 0.0);
    if let Some(second) = second {
        state.prepare(scale * second / options.steps_between(0.0, *second))?;
    }
    let growth = match options.axis {
        TimeAxis::Real => None,
        TimeAxis::Imaginary => Some(Growth { lowest: lowest_level(chain)?, error: 0.0 }),
    };
    let mut run = Run { state, references: Vec::new(), plan, splitting: Splitting::default(), steps: 0, growth };
    run.references = run.state.snapshot()?.references()?;
    let (mut now, every) = (0.0, (all / TRIALS as f64).ceil().max(1.0));
    let mut since = f64::INFINITY;
    for time in &options.times {
        let count = if *time > now { options.steps_between(now, *time) } else { 0.0 };
        let step = (time - now) / count.max(1.0);
        for done in 0..count as usize {
            interrupt::check()?;
            let is_tried = since >= every;
            since = if is_tried { 1.0 } else { since + 1.0 };
            run.step(step * scale, is_tried)?;
            if run.state.tally.discarded > options.tolerance {
                let at = now + (done + 1) as f64 * step;
                visit(run.point(at)?);
                return Ok(ChainSteps { stop_time: Some(at), ..run.record() });
            }
        }
        now = *time;
        visit(run.point(now)?);
    }
    Ok(run.record())
}

/// What errors become in imaginary time, which makes ψ shorter and them less so: ‖exp(−Ht) e‖ ≤ exp(−E₀t) ‖e‖.
struct Growth {
    /// E₀ in the units of the chain.
    lowest: f64,
    /// ‖ψ − exact‖ of ψ of length 1.
    error: f64,
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
    splitting: Splitting,
    steps: usize,
    /// In imaginary time.
    growth: Option<Growth>,
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
    /// A step; where it is tried, one of four times its length beside two of twice it tells how far it may be off.
    fn step(&mut self, time: f64, is_tried: bool) -> Result<(), DmrgError> {
        if is_tried {
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
            self.splitting.tried(difference / 24.0);
        }
        let before = self.state.tally;
        self.state.step(time)?;
        self.steps += 1;
        self.splitting.since += 1.0;
        if let Some(growth) = &mut self.growth {
            let now = &self.state.tally;
            let factor = (-growth.lowest * time - (now.log_norm - before.log_norm)).max(0.0).exp();
            let weight = (now.discarded - before.discarded) + (now.missing - before.missing);
            growth.error = factor * growth.error + weight.sqrt() + now.bound - before.bound + self.splitting.last;
        }
        Ok(())
    }

    fn record(&self) -> ChainSteps {
        let tally = &self.state.tally;
        ChainSteps {
            steps: self.steps,
            products: tally.products,
            states: tally.states,
            discarded: tally.discarded,
            bound: tally.bound,
            splitting: self.splitting.error(),
            missing: tally.missing,
            // Two vectors of length 1 are no further apart.
            grown: self.growth.as_ref().map(|growth| growth.error.min(2.0)),
            stop_time: None,
        }
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
        let (averages, cuts) = (measured.averages, measured.cuts);
        Ok(ChainPoint { time, energy, overlap, log_norm, averages, cuts, steps: self.record() })
    }
}
