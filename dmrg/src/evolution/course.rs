//! The steps of an evolution, and what is read off between them.
//!
//! Steps of a bond and a site, one after the other, make exp(−iHτ) ψ exactly where bonds have all the states that it needs (C. Lubich and
//! I. V. Oseledets, BIT Numer. Math. 54, 171 (2014), theorem 4.1). While they lack some a step loses
//! ψ by an amount of third order in τ: the first ones do, from a product of local states or from a lowest state of another H. So the first step is made in parts, of which each
//! is as long as all before it.

use super::ChainStart;
use super::checkpoint::EvolutionSaver;
use super::driven::DrivenChain;
use super::end_state::end_state;
use super::limits::{ChainEvolution, DOUBLINGS, EXPONENTIALS};
use super::progress::{ChainPoint, ChainSteps, Growth, SavedCourse};
use super::step::MovingState;
use super::time_engine::TimeEngine;
use crate::chain::Chain;
use crate::error::DmrgError;
use crate::matrix_product::MatrixProductState;
use crate::measure;
use crate::measure::observed::ObservedPlan;
use crate::options::Options;
use crate::run::saved_numbers::identity;
use crate::sweep::reference::ReferenceState;
use crate::sweep::sweeper::Sweeper;
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::{Backend, DeviceBackend, HostBackend};
use eigenforge_runtime::interrupt;
use eigenforge_runtime::solvers::TimeAxis;

/// The end of an evolution.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainEvolved {
    /// What the steps took, and what they may have cost.
    pub steps: ChainSteps,
    /// ψ at the end, if it was asked for.
    pub state: Option<MatrixProductState>,
}

/// Steps that are tried at other lengths.
const TRIALS: usize = 10;
/// Steps longer than the last that was tried are tried.
const LONGER: f64 = 1.001;
/// States and sweeps of a search for the lowest energy that imaginary time may lead to.
const LOWEST_STATES: usize = 64;
const LOWEST_SWEEPS: usize = 8;

/// Evolves a state; the visitor sees it at each of the times, until the weight that is dropped passes the tolerance.
///
/// # Errors
/// Options out of their range; a start that is not in the sector or of another chain; numbers that are not finite; a checkpoint of another
/// run; a signal; the device's.
pub fn evolve_chain(
    chain: &Chain,
    start: &ChainStart,
    options: &ChainEvolution,
    device: &Device,
    mut visit: impl FnMut(ChainPoint),
) -> Result<ChainEvolved, DmrgError> {
    evolve_on((chain, None), start, options, device, &mut visit)
}

/// The same under H(t), in real time.
///
/// # Errors
/// As of [`evolve_chain`]; imaginary time; coefficients that are not finite.
pub fn evolve_driven_chain(
    driven: &DrivenChain<'_>,
    start: &ChainStart,
    options: &ChainEvolution,
    device: &Device,
    mut visit: impl FnMut(ChainPoint),
) -> Result<ChainEvolved, DmrgError> {
    if options.axis == TimeAxis::Imaginary {
        let (option, expected) = ("imaginary", "false, or a H that does not depend on time");
        return Err(DmrgError::Option { option, expected, found: "true, for H(t)".into() });
    }
    evolve_on((&driven.at_time(0.0)?, Some(driven)), start, options, device, &mut visit)
}

/// A chain at time 0, and H(t) unless it is constant.
type Hamiltonian<'a> = (&'a Chain, Option<&'a DrivenChain<'a>>);

fn evolve_on(
    hamiltonian: Hamiltonian<'_>,
    start: &ChainStart,
    options: &ChainEvolution,
    device: &Device,
    visit: &mut dyn FnMut(ChainPoint),
) -> Result<ChainEvolved, DmrgError> {
    if device.runs_kernels() {
        return evolve(DeviceBackend::new(device)?, hamiltonian, start, options, visit);
    }
    evolve(HostBackend::default(), hamiltonian, start, options, visit)
}

fn evolve<E: TimeEngine>(
    engine: E,
    (chain, driven): Hamiltonian<'_>,
    start: &ChainStart,
    options: &ChainEvolution,
    visit: &mut dyn FnMut(ChainPoint),
) -> Result<ChainEvolved, DmrgError> {
    options.check()?;
    let identity = driven.map_or(Ok(identity(chain)), DrivenChain::identity)?;
    let (mut saver, saved) = EvolutionSaver::open(options.checkpoint.as_ref(), chain, identity)?;
    let first = match start {
        ChainStart::Product(levels) => {
            let along: Vec<usize> = chain.order.iter().filter_map(|site| levels.get(*site).copied()).collect();
            chain.product_state(if along.len() == levels.len() { &along } else { levels })?
        }
        ChainStart::State(state) => chain.written_state(state)?,
    };
    let all = options.steps().max(1.0);
    let mut state = options.moving_state(engine, chain, first)?;
    let references = state.snapshot()?.references()?;
    let plan = ObservedPlan::new(chain, &options.observables)?;
    let course = match saved {
        Some((kept, wave, course)) => {
            state = state.replaced(kept, wave, course.tally)?;
            course.points.iter().cloned().for_each(&mut *visit);
            course
        }
        None => {
            if let Some(second) = options.times.iter().find(|time| **time > 0.0) {
                state.prepare(chain.units.scale * second / options.steps_between(0.0, *second))?;
            }
            let growth = match options.axis {
                TimeAxis::Real => None,
                TimeAxis::Imaginary => Some(Growth { lowest: lowest_level(chain)?, error: 0.0 }),
            };
            SavedCourse { growth, tally: state.tally, ..SavedCourse::default() }
        }
    };
    let every = (all / TRIALS as f64).ceil().max(1.0) as usize;
    let last = options.times.last().copied().unwrap_or(0.0);
    let amplitude = EXPONENTIALS * options.tolerance.sqrt();
    let mut run = Run { state, driven, references, plan, course, every, last, amplitude };
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
            let from = before + run.course.done as f64 * step;
            run.step(from, step)?;
            if run.state.tally.discarded > options.tolerance {
                let at = before + run.course.done as f64 * step;
                visit(run.point(at)?);
                saver.let_signals_end()?;
                return run.end(options, Some(at));
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
    run.end(options, None)
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
struct Run<'c, 'o, E: TimeEngine> {
    state: MovingState<'c, E>,
    driven: Option<&'c DrivenChain<'c>>,
    /// ψ(0), and of a complex chain iψ(0).
    references: References,
    plan: ObservedPlan<'o>,
    /// How far it is.
    course: SavedCourse,
    /// Each first of so many steps is tried.
    every: usize,
    /// The last time.
    last: f64,
    /// By how much what H(t) hides may move ψ.
    amplitude: f64,
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

/// Moves a state, under H or the mean of H(t).
fn advance<E: TimeEngine>(
    driven: Option<&DrivenChain<'_>>,
    state: &mut MovingState<'_, E>,
    from: f64,
    time: f64,
) -> Result<(), DmrgError> {
    let chain = state.chain();
    let Some(driven) = driven else {
        state.step(time * chain.units.scale)?;
        state.tally.phase += chain.units.energy(0.0) * time;
        return Ok(());
    };
    let mean = driven.averaged(from, from + time)?;
    let mut moving = state.on_chain(&mean)?;
    moving.step(time * mean.units.scale)?;
    moving.tally.phase += mean.units.energy(0.0) * time;
    *state = moving.on_chain(chain)?;
    Ok(())
}

/// A time in parts, each as long as all before it.
fn doubling(time: f64) -> Vec<f64> {
    let shortest = time * 0.5f64.powi(DOUBLINGS);
    std::iter::once(shortest).chain((0..DOUBLINGS).map(|k| shortest * 2f64.powi(k))).collect()
}

impl<E: TimeEngine> Run<'_, '_, E> {
    /// A step, the first one in parts.
    fn step(&mut self, from: f64, time: f64) -> Result<(), DmrgError> {
        let parts = if self.course.steps == 0 { doubling(time) } else { vec![time] };
        let mut now = from;
        for part in parts {
            self.part(now, part)?;
            now += part;
        }
        self.course.done += 1;
        Ok(())
    }

    /// A part of a step, or the spans into which H(t) divides it.
    fn part(&mut self, from: f64, time: f64) -> Result<(), DmrgError> {
        match self.driven {
            None => self.span(from, time)?,
            Some(driven) => {
                for (from, to) in driven.spans((from, from + time), self.amplitude, self.last) {
                    if let Some(now) = driven.changed(&self.course.coefficients, from, to)? {
                        self.course.coefficients = now;
                        self.course.splitting.tried = 0.0;
                        // Terms on distant sites may be new.
                        let chain = driven.averaged(from, to)?;
                        let mut state = self.state.on_chain(&chain)?;
                        state.prepare((to - from) * chain.units.scale)?;
                        self.state = state.on_chain(self.state.chain())?;
                    }
                    self.span(from, to - from)?;
                }
            }
        }
        Ok(())
    }

    /// What a step of this length costs, by one of four times the length beside two of twice it, or of so much less as the last time allows.
    fn try_length(&mut self, from: f64, time: f64) -> Result<(), DmrgError> {
        let part = if self.driven.is_some() { time.min(0.25 * (self.last - from)) } else { time };
        let [mut whole, mut halves] = [self.state.duplicate()?, self.state.duplicate()?];
        advance(self.driven, &mut whole, from, 4.0 * part)?;
        advance(self.driven, &mut halves, from, 2.0 * part)?;
        advance(self.driven, &mut halves, from + 2.0 * part, 2.0 * part)?;
        let references = halves.snapshot()?.references()?;
        let (found, _) = overlaps(&mut whole.snapshot()?, references)?;
        let (re, im) = (found[0], found.get(1).copied().unwrap_or(0.0));
        // Numbers in H turn both alike.
        let (sin, cos) = (whole.tally.phase - halves.tally.phase).sin_cos();
        // ‖whole − halves‖² = 2 − 2 Re ⟨…⟩. A step of third order is off by 4/3 of the difference, and one of a quarter of the time
        // by 1/64 of that: truncations, which are counted elsewhere, hardly matter in it. Twice that, since the order is lower where the
        // states that a bond has just got matter.
        let difference = (2.0 - 2.0 * (re * cos + im * sin)).max(0.0).sqrt();
        self.course.splitting.tried(part, difference / 24.0);
        self.course.splitting.tried = time;
        Ok(())
    }

    /// A step in which H is constant or a mean; now and then its length is tried.
    fn span(&mut self, from: f64, time: f64) -> Result<(), DmrgError> {
        if self.course.steps.is_multiple_of(self.every) || time > LONGER * self.course.splitting.tried {
            self.try_length(from, time)?;
        }
        let before = self.state.tally;
        advance(self.driven, &mut self.state, from, time)?;
        let now = self.state.tally;
        let course = &mut self.course;
        (course.steps, course.tally) = (course.steps + 1, now);
        course.splitting.record_step(time);
        if let Some(growth) = &mut course.growth {
            let scaled = time * self.state.chain().units.scale;
            let factor = (-growth.lowest * scaled - (now.log_norm - before.log_norm)).max(0.0).exp();
            let weight = (now.discarded - before.discarded) + (now.missing - before.missing);
            let steps = now.bound - before.bound + course.splitting.of_step(time);
            growth.error = factor * growth.error + weight.sqrt() + steps;
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

    /// The end of the run, at the last time or where it stopped.
    fn end(&self, options: &ChainEvolution, stop_time: Option<f64>) -> Result<ChainEvolved, DmrgError> {
        let steps = ChainSteps { stop_time, ..self.record() };
        // The part of H that is a number turns the phase.
        let phase = if self.state.axis == TimeAxis::Real { -self.state.tally.phase } else { 0.0 };
        let state = match options.state {
            true => Some(end_state(&self.state.snapshot()?, phase)?),
            false => None,
        };
        Ok(ChainEvolved { steps, state })
    }

    /// What is read off.
    fn point(&mut self, time: f64) -> Result<ChainPoint, DmrgError> {
        let chain = self.state.chain();
        let energy = match self.driven {
            None => chain.units.energy(self.state.energy()?),
            Some(driven) => {
                let now = driven.at_time(time)?;
                now.units.energy(self.state.on_chain(&now)?.energy()?)
            }
        };
        let mut read = self.state.snapshot()?;
        let (found, references) = overlaps(&mut read, std::mem::take(&mut self.references))?;
        self.references = references;
        let offset = self.state.tally.phase;
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
