//! A whole run: growth or a random state, sweeps by plan until the energy settles, what is read off the state, and the same
//! again for each state above it.

use super::blocks::Side;
use super::bounded::Bounded;
use super::chain::Chain;
use super::checkpoint::{Checkpoint, Progress, Saver};
use super::correlations::Correlations;
use super::engine::Engine;
use super::error::DmrgError;
use super::extrapolate::{Extrapolated, extrapolate};
use super::growth::{Grown, GrowthRecord, grow};
use super::measure::{self, Cut, SiteAverages, Walked};
use super::memory::MemoryPlan;
use super::options::{Mode, Options, START_STATES};
use super::polish::PolishRecord;
use super::reference::Reference;
use super::refine::{MemoryHeld, Planner};
use super::sweep::{BondRecord, Sweeper};
use eigenforge_runtime::trace;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// A sweep, there and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// States allowed.
    pub states: usize,
    /// Most states kept anywhere.
    pub kept: usize,
    /// Relative noise.
    pub noise: f64,
    /// The lowest energy of a superblock.
    pub energy: f64,
    /// The largest weight dropped at a cut.
    pub discarded: f64,
    /// The largest residual of a superblock's solve.
    pub residual: f64,
    /// The longest ψ.
    pub dimension: usize,
    /// Products with H.
    pub products: usize,
    /// Operations of them.
    pub flops: f64,
    /// Wall-clock time.
    pub seconds: f64,
}

impl SweepRecord {
    fn begin(options: &Options, sweep: usize) -> SweepRecord {
        let (states, noise) = (options.states_of(sweep), options.noise_of(sweep));
        SweepRecord { states, noise, energy: f64::INFINITY, ..SweepRecord::default() }
    }

    fn add(&mut self, bond: &BondRecord) {
        self.energy = self.energy.min(bond.energy);
        self.kept = self.kept.max(bond.kept);
        self.discarded = self.discarded.max(bond.discarded);
        self.residual = self.residual.max(bond.residual);
        self.dimension = self.dimension.max(bond.dimension);
        self.products += bond.products;
        self.flops += bond.products as f64 * bond.flops;
    }
}

/// Why the sweeps ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A sweep without noise changed the energy by less than the tolerance.
    Converged,
    /// As many sweeps as were allowed.
    Sweeps,
    /// The chain has its length, and no sweeps were asked for.
    Grown,
}

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

/// What a run found.
#[derive(Clone, Debug)]
pub struct Found {
    /// ⟨H⟩ of the state.
    pub energy: f64,
    /// ⟨H²⟩ − ⟨H⟩²; `None` where the operator sum is too wide to be squared.
    pub variance: Option<f64>,
    /// The energy at no discarded weight, if sweeps settled at two numbers of states.
    pub extrapolated: Option<Extrapolated>,
    /// The sweeps.
    pub sweeps: Vec<SweepRecord>,
    /// Steps of the infinite-lattice algorithm before them.
    pub growth: Vec<GrowthRecord>,
    /// Why they ended.
    pub stop: Stop,
    /// One-site sweeps at the end, if they were asked for.
    pub polish: Option<PolishRecord>,
    /// The states above this one, if they were asked for, ascending as they were found.
    pub excited: Vec<Excited>,
    /// The cuts, left to right.
    pub cuts: Vec<Cut>,
    /// Averages by position.
    pub sites: Vec<SiteAverages>,
    /// Correlations by position, if they were asked for.
    pub correlations: Option<Correlations>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// The memory plan and what was held, if the engine counts.
    pub memory: Option<MemoryHeld>,
    /// Sweeps that a checkpoint had already done.
    pub resumed: usize,
    /// Seconds of the sweeps.
    pub sweeping: f64,
    /// Seconds of variance, entropies and averages.
    pub measuring: f64,
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
    check_targets(chain, options, checkpoint)?;
    let (start, mut engine, mut below) = (Instant::now(), engine, Vec::new());
    let mut lowest: Option<Found> = None;
    for target in 0..options.targets {
        let search = Search { chain, options, target, start, below };
        let (mut sweeper, searched) = search.run(engine, checkpoint, &mut tell)?;
        let sweeping = start.elapsed().as_secs_f64();
        let _measuring = trace::span("dmrg", "measure");
        let energy = searched.energy;
        let peak = sweeper.engine().usage();
        sweeper.forget_operators()?;
        let variance = measure::variance(chain, &mut sweeper, energy - chain.sum.constant)?;
        let overlap = sweeper.largest_overlap()?;
        below = sweeper.take_references();
        if target + 1 < options.targets {
            below.push(Reference::of(chain, &sweeper)?);
        }
        match &mut lowest {
            None => {
                let walked = measure::walk(chain, &mut sweeper, options.correlations)?;
                let measuring = start.elapsed().as_secs_f64() - sweeping;
                let memory = searched.planner.held(sweeper.engine(), peak);
                let mut found = searched.found(options, variance, walked);
                found.memory = memory;
                (found.sweeping, found.measuring) = (sweeping, measuring);
                found.warn(options);
                lowest = Some(found);
            }
            Some(found) => {
                let stop = searched.stop;
                let excited = Excited { energy, variance, overlap, stop, sweeps: searched.progress.sweeps };
                found.add(excited, target, options);
                found.sweeping += sweeping - found.sweeping - found.measuring;
            }
        }
        engine = sweeper.into_engine();
    }
    lowest.ok_or(DmrgError::Option { option: "targets", expected: "at least 1", found: "0".into() })
}

/// A state above the lowest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Excited {
    /// ⟨H⟩.
    pub energy: f64,
    /// ⟨H²⟩ − ⟨H⟩².
    pub variance: Option<f64>,
    /// The largest |⟨lower state|ψ⟩|.
    pub overlap: f64,
    /// Why its sweeps ended.
    pub stop: Stop,
    /// Its sweeps.
    pub sweeps: Vec<SweepRecord>,
}

/// More states than the sector has, or a checkpoint of more than one.
fn check_targets(chain: &Chain, options: &Options, checkpoint: Option<&Checkpoint>) -> Result<(), DmrgError> {
    let wrong = |expected, found| Err(DmrgError::Option { option: "targets", expected, found });
    let dimension = chain.reachable.dimension(&chain.site, chain.sites);
    if dimension < options.targets as f64 {
        let found = format!("{} of a sector with {dimension}", options.targets);
        return wrong("at most the number of states of the sector", found);
    }
    if options.targets > 1 && checkpoint.is_some() {
        return wrong("1 with --checkpoint, which saves one state", options.targets.to_string());
    }
    Ok(())
}

/// The search for one state.
struct Search<'a, 'c, B> {
    chain: &'c Chain,
    options: &'a Options,
    target: usize,
    start: Instant,
    /// The states below it.
    below: Vec<Reference<B>>,
}

/// What it gave.
struct Searched {
    progress: Progress,
    energy: f64,
    polish: Option<PolishRecord>,
    stop: Stop,
    resumed: usize,
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
                let (saver, saved) = Saver::open(checkpoint, chain)?;
                (Some(saver), saved)
            }
            None => (None, None),
        };
        let mut engine = engine;
        let mut planner = Planner::begin(&mut engine, chain, options)?;
        let (mut sweeper, mut progress) = match saved {
            Some(saved) => (Sweeper::restored(engine, chain, saved.kept, saved.wave, saved.bond)?, saved.progress),
            None => self.first_state(engine, tell)?,
        };
        sweeper.stay_orthogonal_to(self.below)?;
        planner.watch(&mut sweeper);
        let resumed = progress.sweeps.len();
        let mut stop = settled(options, &progress.sweeps);
        while stop.is_none() {
            let sweep = progress.sweeps.len();
            let _sweeping = trace::span("dmrg", "sweep");
            let begun = Instant::now();
            let half = progress.half.take();
            let before = half.map_or(0.0, |record| record.seconds);
            let mut record = half.unwrap_or_else(|| SweepRecord::begin(options, sweep));
            let plan = options.plan(sweep);
            let bonds = 2 * (chain.sites - 2);
            for (done, (p, grows)) in Sweeper::<E>::path(chain.sites).enumerate() {
                if half.is_some() && grows == Side::Left {
                    continue;
                }
                let bond = sweeper.step(p, grows, &plan)?;
                record.add(&bond);
                record.seconds = before + begun.elapsed().as_secs_f64();
                let part = (done + 1) as f64 / bonds as f64;
                let (elapsed, sweeps, target) = (self.start.elapsed().as_secs_f64(), options.sweeps, self.target);
                let planned = if done + 1 == bonds { planner.after(&mut sweeper, options, sweep)? } else { None };
                let (grown, memory) = (None, planned.as_ref());
                tell(&Told { sweep, sweeps, part, target, grown, bond: &bond, record: &record, memory, elapsed });
                if let (Some(saver), true) = (&mut saver, 2 * (done + 1) == bonds) {
                    saver.save(&sweeper, &Progress { half: Some(record), ..progress.clone() })?;
                }
            }
            progress.sweeps.push(record);
            if let Some(saver) = &mut saver {
                saver.save(&sweeper, &progress)?;
            }
            stop = settled(options, &progress.sweeps);
        }
        let limits = options.davidson(options.sweeps.max(progress.sweeps.len()));
        let (energy, polish) = if options.polish {
            let states = options.states.last().copied().unwrap_or(1);
            let polished = sweeper.polish(states, limits, options.tolerance)?;
            (polished.energy, Some(polished))
        } else {
            (sweeper.finish(limits)?.energy, None)
        };
        let stop = stop.unwrap_or(Stop::Sweeps);
        Ok((sweeper, Searched { progress, energy, polish, stop, resumed, planner }))
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
        if comparable && (before.energy - last.energy).abs() < options.tolerance {
            return Some(Stop::Converged);
        }
    }
    (sweeps.len() >= options.sweeps).then_some(Stop::Sweeps)
}

/// (discarded weight, energy) at each number of states that two sweeps without noise agree on to a hundredth of the
/// discarded weight, or to the tolerance.
fn settled_points(options: &Options, sweeps: &[SweepRecord]) -> Vec<(f64, f64)> {
    let mut points: Vec<(usize, f64, f64)> = Vec::new();
    for pair in sweeps.windows(2) {
        let [before, last] = pair else { continue };
        let same = before.states == last.states && before.noise == 0.0 && last.noise == 0.0;
        let close = (before.energy - last.energy).abs() <= (0.01 * last.discarded).max(options.tolerance);
        if same && close && last.discarded > 0.0 {
            points.retain(|(states, ..)| *states != last.states);
            points.push((last.states, last.discarded, last.energy));
        }
    }
    points.into_iter().map(|(_, discarded, energy)| (discarded, energy)).collect()
}

/// An eigenstate that is only truncated has a variance of some hundred times the weight dropped at a cut (open Heisenberg
/// and Hubbard chains of 16 to 100 sites, m = 16 to 128: 36 to 373 times); far more means that it is none.
const VARIANCE_OF_DISCARDED: f64 = 1e4;

/// A state that has lost more than this at a cut is a sketch, whatever its energy settled to.
const MUCH_DISCARDED: f64 = 1e-4;

impl Found {
    /// Takes up a state above; says where it is none, or below what was called the lowest.
    fn add(&mut self, excited: Excited, target: usize, options: &Options) {
        let below = self.excited.last().map_or(self.energy, |last| last.energy);
        if excited.energy < below - options.tolerance.max(1e-9) {
            self.warnings.push(format!(
                "state {target} has the energy {:.10}, below state {}: the search for that one was stuck; give more noise, \
                 states or another seed",
                excited.energy,
                target - 1
            ));
        }
        if excited.stop == Stop::Sweeps {
            self.warnings.push(format!("state {target} stopped without settling; raise `sweeps`"));
        }
        let discarded = excited.sweeps.last().map_or(0.0, |sweep| sweep.discarded);
        if excited.variance.is_some_and(|variance| variance > 1e-6 + VARIANCE_OF_DISCARDED * discarded) {
            self.warnings.push(format!("state {target} is no eigenstate to what its discarded weight explains"));
        }
        self.excited.push(excited);
    }

    fn warn(&mut self, options: &Options) {
        let grown = self.growth.last().map(|_| self.growth.iter().map(|step| step.discarded).fold(0.0, f64::max));
        let grown = SweepRecord { discarded: grown.unwrap_or(0.0), ..SweepRecord::default() };
        let last = self.sweeps.last().copied().unwrap_or(grown);
        if self.stop == Stop::Sweeps {
            let change = match self.sweeps.as_slice() {
                [.., a, b] => format!("the last one changed the energy by {:.1e}", (a.energy - b.energy).abs()),
                _ => "there was only one".into(),
            };
            let sweeps = self.sweeps.len();
            self.warnings.push(format!(
                "stopped after {sweeps} sweeps without settling to {:.0e}: {change}; raise `sweeps`",
                options.tolerance
            ));
        }
        if last.discarded > MUCH_DISCARDED {
            self.warnings.push(format!(
                "a cut drops {:.1e} of the weight: {} states are too few for this state; raise `states`, or try another `order`",
                last.discarded, last.kept
            ));
        }
        match self.variance {
            None => self.warnings.push(
                "the variance was not computed: the operator sum of this model is too wide to be squared".into(),
            ),
            Some(variance) if variance > 1e-6 + VARIANCE_OF_DISCARDED * last.discarded => self.warnings.push(format!(
                "the variance {variance:.1e} is far above what the discarded weight {:.1e} explains: the sweeps are stuck \
                 in a state that is no eigenstate; give noise for more sweeps, such as noise = [1e-3, 1e-4, 1e-5], or \
                 another seed",
                last.discarded
            )),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a run whose last sweep discarded so much and whose state has this variance.
    fn warnings(variance: Option<f64>, discarded: f64, stop: Stop) -> Vec<String> {
        let sweep = SweepRecord { discarded, kept: 64, energy: -1.0, ..SweepRecord::default() };
        let mut found = Found { variance, sweeps: vec![sweep, sweep], stop, ..empty() };
        found.warn(&Options::default());
        found.warnings
    }

    #[test]
    fn a_variance_that_the_discarded_weight_does_not_explain_is_said_to_be_stuck() {
        let stuck = warnings(Some(1e-3), 1e-10, Stop::Converged);
        assert!(stuck.len() == 1 && stuck[0].contains("stuck"), "{stuck:?}");
        assert!(warnings(Some(1e-3), 1e-5, Stop::Converged).is_empty(), "explained by truncation");
        assert!(warnings(Some(1e-10), 0.0, Stop::Converged).is_empty(), "an eigenstate");
        let few = warnings(Some(0.5), 0.2, Stop::Converged);
        assert!(few.len() == 1 && few[0].contains("64 states are too few"), "{few:?}");
        assert!(warnings(None, 0.0, Stop::Sweeps).iter().any(|said| said.contains("raise `sweeps`")));
    }

    #[test]
    fn a_state_above_that_lies_below_betrays_a_search_that_was_stuck() {
        let mut found = empty();
        let above =
            |energy| Excited { energy, variance: Some(0.0), overlap: 0.0, stop: Stop::Converged, sweeps: Vec::new() };
        found.add(above(-0.5), 1, &Options::default());
        assert!(found.warnings.is_empty());
        found.add(above(-1.5), 2, &Options::default());
        assert!(found.warnings[0].contains("below state 1"), "{:?}", found.warnings);
    }

    fn empty() -> Found {
        Found {
            energy: -1.0,
            variance: None,
            extrapolated: None,
            sweeps: Vec::new(),
            growth: Vec::new(),
            stop: Stop::Converged,
            polish: None,
            excited: Vec::new(),
            cuts: Vec::new(),
            sites: Vec::new(),
            correlations: None,
            warnings: Vec::new(),
            memory: None,
            resumed: 0,
            sweeping: 0.0,
            measuring: 0.0,
        }
    }
}
