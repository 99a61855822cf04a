//! A whole run: growth or a random state, sweeps by plan until the energy settles, what is read off the state, and the same
//! again for each state above it; or one search for all states at once, where they share their kept states.

use super::blocks::Side;
use super::bounded::Bounded;
use super::chain::Chain;
use super::checkpoint::{Checkpoint, Progress, Saver};
use super::engine::Engine;
use super::error::DmrgError;
use super::extrapolate::extrapolate;
use super::found::{Excited, Found, Stop, SweepRecord, settled_points};
use super::growth::{Grown, grow};
use super::measure::{self, Walked};
use super::memory::MemoryPlan;
use super::options::{Mode, Options, START_STATES};
use super::polish::PolishRecord;
use super::reference::Reference;
use super::refine::{MemoryHeld, Planner};
use super::sweep::{BondRecord, Sweeper};
use eigenforge_runtime::trace;
use std::time::Instant;

/// What is told while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// The sweep, from 0.
    pub sweep: usize,
    /// Sweeps at most.
    pub sweeps: usize,
    /// The part of the sweep that is done.
    pub part: f64,
    /// The state that is sought, from 0.
    pub target: usize,
    /// Sites of the chain while it grows.
    pub grown: Option<usize>,
    /// The bond just solved.
    pub bond: &'a BondRecord,
    /// The sweep so far; whole if `part` is 1.
    pub record: &'a SweepRecord,
    /// A memory plan that was made just now.
    pub memory: Option<&'a MemoryPlan>,
    /// Seconds since the run began.
    pub elapsed: f64,
}

/// Runs DMRG along a chain on the CPU.
///
/// # Errors
/// An option out of its range, a checkpoint of another run, numbers that are not finite.
pub fn run(
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    tell: impl FnMut(&Told<'_>),
) -> Result<Found, DmrgError> {
    run_on(Bounded::default(), chain, options, checkpoint, tell)
}

/// Runs DMRG along a chain with an engine. A checkpoint of one engine is good for every other.
///
/// # Errors
/// Those of [`run`], and of the engine.
pub fn run_on<E: Engine>(
    engine: E,
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    mut tell: impl FnMut(&Told<'_>),
) -> Result<Found, DmrgError> {
    options.check()?;
    let mut engine = engine;
    engine.take_up(options.strategy, options.cpu_share)?;
    check_targets(chain, options, engine.most_against())?;
    let _lock = checkpoint.map(Checkpoint::lock).transpose()?;
    let start = Instant::now();
    if options.weights.is_some() {
        return run_averaged(engine, chain, options, checkpoint, start, &mut tell);
    }
    let (mut below, mut sums) = (Vec::new(), Vec::new());
    let mut lowest: Option<Found> = None;
    for target in 0..options.targets {
        let search = Search { chain, options, target, start, below, sums: &sums };
        let (mut sweeper, searched) = search.run(engine, checkpoint, &mut tell)?;
        let sweeping = start.elapsed().as_secs_f64();
        let _measuring = trace::span("dmrg", "measure");
        let energy = searched.energy;
        let held = searched.planner.held(sweeper.engine());
        sweeper.forget_operators()?;
        let variance = measure::variances(chain, &mut sweeper, &[energy - chain.sum.constant])?.map(|of| of[0]);
        let overlap = sweeper.largest_overlap()?;
        below = sweeper.take_references();
        sums.push(searched.saved.clone());
        if target + 1 < options.targets {
            below.push(Reference::of(chain, &sweeper)?);
        }
        match &mut lowest {
            None => {
                let walked = measure::walk(chain, &mut sweeper, options.correlations)?;
                let measuring = start.elapsed().as_secs_f64() - sweeping;
                let memory = held.map(|held| MemoryHeld { measured: sweeper.engine().usage(), ..held });
                let mut found = searched.found(options, variance, walked);
                found.memory = memory;
                (found.sweeping, found.measuring) = (sweeping, measuring);
                found.warn(options);
                lowest = Some(found);
            }
            Some(found) => {
                let Searched { stop, progress, resumed, polish, .. } = searched;
                let excited = Excited { energy, variance, overlap, stop, polish, sweeps: progress.sweeps };
                found.resumed += resumed;
                found.add(excited, target, options);
                found.sweeping += sweeping - found.sweeping - found.measuring;
            }
        }
        engine = sweeper.into_engine();
    }
    lowest.ok_or(DmrgError::Option { option: "targets", expected: "at least 1", found: "0".into() })
}

/// All states in one set of kept states.
fn run_averaged<E: Engine>(
    engine: E,
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    start: Instant,
    tell: &mut impl FnMut(&Told<'_>),
) -> Result<Found, DmrgError> {
    let search = Search { chain, options, target: 0, start, below: Vec::new(), sums: &[] };
    let (mut sweeper, searched) = search.run(engine, checkpoint, tell)?;
    let sweeping = start.elapsed().as_secs_f64();
    let _measuring = trace::span("dmrg", "measure");
    let (levels, average) = (sweeper.levels().to_vec(), sweeper.average());
    if levels.len() < options.targets {
        let found = format!("{:?}, with room for {} of {} states", options.states, levels.len(), options.targets);
        return Err(DmrgError::Option { option: "states", expected: "enough to hold all `targets`", found });
    }
    let held = searched.planner.held(sweeper.engine());
    sweeper.forget_operators()?;
    let variances = measure::variances(chain, &mut sweeper, &levels)?;
    let overlaps = sweeper.overlaps()?;
    sweeper.keep_lowest();
    let walked = measure::walk(chain, &mut sweeper, options.correlations)?;
    let stop = searched.stop;
    let mut found = searched.found(options, variances.as_ref().map(|of| of[0]), walked);
    (found.sweeping, found.measuring) = (sweeping, start.elapsed().as_secs_f64() - sweeping);
    found.memory = held.map(|held| MemoryHeld { measured: sweeper.engine().usage(), ..held });
    found.average = average.map(|average| average + chain.sum.constant);
    found.warn(options);
    for (target, (level, overlap)) in levels.iter().zip(overlaps).enumerate().skip(1) {
        let (energy, variance) = (level + chain.sum.constant, variances.as_ref().map(|of| of[target]));
        found.add(Excited { energy, variance, overlap, stop, polish: None, sweeps: Vec::new() }, target, options);
    }
    Ok(found)
}

/// More states than the sector has, or than the device can keep apart.
fn check_targets(chain: &Chain, options: &Options, most_below: usize) -> Result<(), DmrgError> {
    let wrong = |expected, found| Err(DmrgError::Option { option: "targets", expected, found });
    let dimension = chain.reachable.dimension(&chain.site, chain.sites);
    if dimension < options.targets as f64 {
        let found = format!("{} of a sector with {dimension}", options.targets);
        return wrong("at most the number of states of the sector", found);
    }
    if options.targets - 1 > most_below {
        return Err(DmrgError::TooManyBelow { found: options.targets, most: most_below + 1 });
    }
    Ok(())
}

/// The search for one state, or for several that share their kept states.
struct Search<'a, 'c, B> {
    chain: &'c Chain,
    options: &'a Options,
    target: usize,
    start: Instant,
    /// The states below it.
    below: Vec<Reference<B>>,
    /// What was saved of each of them last.
    sums: &'a [Option<String>],
}

/// What it gave.
struct Searched {
    progress: Progress,
    energy: f64,
    polish: Option<PolishRecord>,
    stop: Stop,
    resumed: usize,
    /// What was saved of it last.
    saved: Option<String>,
    planner: Planner,
}

impl<'c, B> Search<'_, 'c, B> {
    fn run<E: Engine<Buffer = B>>(
        self,
        engine: E,
        checkpoint: Option<&Checkpoint>,
        tell: &mut impl FnMut(&Told<'_>),
    ) -> Result<(Sweeper<'c, E>, Searched), DmrgError> {
        let (chain, options) = (self.chain, self.options);
        let (mut saver, saved) = match checkpoint {
            Some(checkpoint) => {
                let (saver, saved) = Saver::open(&checkpoint.of_state(self.target), chain, self.sums)?;
                (Some(saver), saved)
            }
            None => (None, None),
        };
        let mut engine = engine;
        let mut planner = Planner::begin(&mut engine, chain, options)?;
        let (mut sweeper, mut progress) = match saved {
            Some(saved) => {
                let mut waves = saved.waves.into_iter();
                let wave = waves.next().unwrap_or_default();
                let mut sweeper = Sweeper::restored(engine, chain, saved.kept, wave, saved.bond)?;
                if let Some(weights) = &options.weights {
                    sweeper.share_among(weights, options.seed, waves)?;
                }
                (sweeper, saved.progress)
            }
            None => {
                let (mut sweeper, progress) = self.first_state(engine, tell)?;
                if let Some(weights) = &options.weights {
                    sweeper.share_among(weights, options.seed, [])?;
                }
                (sweeper, progress)
            }
        };
        sweeper.stay_orthogonal_to(self.below, progress.bond(chain.sites))?;
        planner.watch(&mut sweeper);
        saver.iter_mut().for_each(Saver::hold_signals);
        let resumed = progress.sweeps.len();
        let mut stop = settled(options, &progress.sweeps);
        while stop.is_none() {
            let sweep = progress.sweeps.len();
            let _sweeping = trace::span("dmrg", "sweep");
            let begun = Instant::now();
            let (begun_before, done_before) = (progress.part.take(), std::mem::take(&mut progress.done));
            let before = begun_before.map_or(0.0, |record| record.seconds);
            let mut record = begun_before.unwrap_or_else(|| SweepRecord::begin(options, sweep));
            let plan = options.plan(sweep);
            let bonds = 2 * (chain.sites - 2);
            for (done, (p, grows)) in Sweeper::<E>::path(chain.sites).enumerate().skip(done_before) {
                let bond = sweeper.step(p, grows, &plan)?;
                record.add(&bond);
                record.seconds = before + begun.elapsed().as_secs_f64();
                let part = (done + 1) as f64 / bonds as f64;
                let (elapsed, sweeps, target) = (self.start.elapsed().as_secs_f64(), options.sweeps, self.target);
                let planned = if done + 1 == bonds { planner.after(&mut sweeper, options, sweep)? } else { None };
                let (grown, memory) = (None, planned.as_ref());
                tell(&Told { sweep, sweeps, part, target, grown, bond: &bond, record: &record, memory, elapsed });
                if let Some(saver) = &mut saver
                    && done + 1 < bonds
                    && (2 * (done + 1) == bonds || saver.is_interrupted())
                {
                    saver.save(&sweeper, &Progress { part: Some(record), done: done + 1, ..progress.clone() })?;
                }
            }
            progress.sweeps.push(record);
            if let Some(saver) = &mut saver {
                saver.save(&sweeper, &progress)?;
            }
            stop = settled(options, &progress.sweeps);
        }
        saver.as_mut().map_or(Ok(()), Saver::let_signals_end)?;
        let limits = options.davidson(options.sweeps.max(progress.sweeps.len()));
        let (energy, polish) = if options.polish {
            let states = options.states.last().copied().unwrap_or(1);
            let polished = sweeper.polish(states, limits, options.tolerance)?;
            (polished.energy, Some(polished))
        } else {
            (sweeper.finish(limits)?.energy, None)
        };
        let saved = saver.and_then(|saver| saver.last().map(String::from));
        let stop = stop.unwrap_or(Stop::Sweeps);
        Ok((sweeper, Searched { progress, energy, polish, stop, resumed, saved, planner }))
    }

    /// A random state, or one that is grown and carried to the first bond.
    fn first_state<E: Engine<Buffer = B>>(
        &self,
        mut engine: E,
        tell: &mut impl FnMut(&Told<'_>),
    ) -> Result<(Sweeper<'c, E>, Progress), DmrgError> {
        let (chain, options) = (self.chain, self.options);
        // A state above the lowest is not what growth finds.
        if options.mode == Mode::Finite || self.target > 0 {
            let _warming = trace::span("dmrg", "random start");
            let seed = options.seed.wrapping_add(self.target as u64);
            return Ok((Sweeper::random(engine, chain, START_STATES, seed)?, Progress::default()));
        }
        let _growing = trace::span("dmrg", "growth");
        let Grown { records: growth, kept, wave, bond } = grow(&mut engine, chain, options, |step| {
            let (elapsed, sweeps, target) = (self.start.elapsed().as_secs_f64(), options.sweeps, self.target);
            let part = step.sites as f64 / chain.sites as f64;
            let grown = Some(step.sites);
            let (bond, record) = (&step.bond(), &step.sweep());
            tell(&Told { sweep: 0, sweeps, part, target, grown, bond, record, memory: None, elapsed });
        })?;
        let mut sweeper = Sweeper::restored(engine, chain, kept, wave, bond)?;
        let mut plan = options.plan(options.sweeps);
        (plan.davidson.products, plan.noise, plan.random) = (1, 0.0, None);
        for p in (1..=bond).rev() {
            sweeper.step(p, Side::Right, &plan)?;
        }
        Ok((sweeper, Progress { growth, ..Progress::default() }))
    }
}

impl Searched {
    fn found(self, options: &Options, variance: Option<f64>, walked: Walked) -> Found {
        Found {
            energy: self.energy,
            polish: self.polish,
            average: None,
            variance,
            extrapolated: extrapolate(&settled_points(options, &self.progress.sweeps)),
            growth: self.progress.growth,
            sweeps: self.progress.sweeps,
            stop: self.stop,
            excited: Vec::new(),
            cuts: walked.cuts,
            sites: walked.sites,
            correlations: walked.correlations,
            warnings: Vec::new(),
            memory: None,
            resumed: self.resumed,
            sweeping: 0.0,
            measuring: 0.0,
        }
    }
}

/// Whether the sweeps done are enough.
fn settled(options: &Options, sweeps: &[SweepRecord]) -> Option<Stop> {
    if options.sweeps == 0 {
        return Some(Stop::Grown);
    }
    if let [.., before, last] = sweeps {
        let comparable = options.is_settled(sweeps.len() - 2);
        let change = |before: f64, last: f64| (before - last).abs();
        let average = before.average.zip(last.average).map_or(0.0, |(before, last)| change(before, last));
        if comparable && change(before.energy, last.energy).max(average) < options.tolerance {
            return Some(Stop::Converged);
        }
    }
    (sweeps.len() >= options.sweeps).then_some(Stop::Sweeps)
}
