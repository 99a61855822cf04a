//! One search: growth, a random state or a prepared one, then planned sweeps until the energy settles.
//!
//! In: the chain, the options in its [units](crate::chain::units), the states below. Out: the sweeper with ψ at the first bond,
//! and the records of the sweeps. Energies are in the units of the chain.

use super::check::Check;
use super::checkpoint::{Checkpoint, Saver, SearchProgress};
use super::settings::{Leg, Origin, Settings};
use crate::block::blocks::Side;
use crate::block::prepared::Prepared;
use crate::chain::Chain;
use crate::chain::mobility::Mobility;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::memory::memory_plan::MemoryPlan;
use crate::memory::refine::Planner;
use crate::options::{Mode, Options, START_STATES, StartVectors};
use crate::sweep::BondRecord;
use crate::sweep::anneal;
use crate::sweep::growth::{Grown, GrowthRecord, grow};
use crate::sweep::polish::PolishRecord;
use crate::sweep::reference::ReferenceState;
use crate::sweep::sweep_record::{SweepRecord, SweepStop};
use crate::sweep::sweeper::Sweeper;
use crate::sweep_plan::SweepPlan;
use eigenforge_runtime::{interrupt, trace};
use std::time::Instant;

/// What is called with each bond of each sweep.
pub(super) type Tell<'a> = &'a mut dyn FnMut(&SweepProgress<'_>);

/// The progress of a run, reported after every bond.
#[derive(Clone, Copy, Debug)]
pub struct SweepProgress<'a> {
    /// The sweep, from 0.
    pub sweep: usize,
    /// Largest number of sweeps.
    pub sweeps: usize,
    /// The fraction of the sweep that is done.
    pub part: f64,
    /// The target state, from 0.
    pub target: usize,
    /// Sites of the chain during growth; `None` afterwards.
    pub grown: Option<usize>,
    /// The bond just solved.
    pub bond: &'a BondRecord,
    /// The sweep so far; complete if `part` is 1.
    pub record: &'a SweepRecord,
    /// The memory plan, if a new one was just made.
    pub memory: Option<&'a MemoryPlan>,
    /// Seconds since the run began.
    pub elapsed: f64,
}

/// A sweep number whose solves have the tightest limits.
const LAST: usize = 9;

/// Changes of the energy below this many roundings end the sweeps as soon as they no longer shrink
const STALLED: f64 = 20.0;
/// by at least this factor.
const SHRINKS: f64 = 0.3;

/// The search for one state, or for several that share their kept states.
pub(crate) struct Search<'a, 'c, B> {
    pub chain: &'c Chain,
    pub options: &'a Options,
    /// The keys that its saved states depend on.
    pub(crate) settings: &'a Settings,
    pub target: usize,
    pub start: Instant,
    /// The states below it.
    pub below: Vec<ReferenceState<B>>,
    /// Checksum of each of their last checkpoints.
    pub sums: &'a [Option<String>],
    /// The exact start state, and the energy of the search that had ended above it; takes precedence over a checkpoint.
    pub exact: Option<(Prepared, f64)>,
}

/// The result of a search.
pub(crate) struct SearchResult {
    pub progress: SearchProgress,
    pub energy: f64,
    pub polish: Option<PolishRecord>,
    pub stop: SweepStop,
    pub resumed: usize,
    /// Checksum of its last checkpoint.
    pub saved: Option<String>,
    pub planner: Planner,
}

impl SearchResult {
    /// Operations of all products with H.
    pub(crate) fn flops(&self) -> f64 {
        let SearchProgress { sweeps, growth, .. } = &self.progress;
        sweeps.iter().map(|sweep| sweep.flops).chain(growth.iter().map(|step| step.flops)).sum()
    }

    /// The last sweep, or what is known of growth if there was no sweep.
    pub(crate) fn last_sweep(&self) -> SweepRecord {
        last_sweep(&self.progress.sweeps, &self.progress.growth)
    }
}

/// The last sweep, or the largest weight that growth discarded and the most states it kept if there was no sweep.
pub(crate) fn last_sweep(sweeps: &[SweepRecord], growth: &[GrowthRecord]) -> SweepRecord {
    let grown = || SweepRecord {
        discarded: growth.iter().map(|step| step.discarded).fold(0.0, f64::max),
        kept: growth.iter().map(|step| step.kept).max().unwrap_or(0),
        ..SweepRecord::default()
    };
    sweeps.last().copied().unwrap_or_else(grown)
}

impl<'c, B> Search<'_, 'c, B> {
    pub(crate) fn run<E: Engine<Buffer = B>>(
        mut self,
        engine: E,
        checkpoint: Option<&Checkpoint>,
        tell: Tell<'_>,
    ) -> Result<(Sweeper<'c, E>, SearchResult), DmrgError> {
        let (chain, options) = (self.chain, self.options);
        let (mut saver, saved) = match checkpoint {
            Some(checkpoint) => {
                let own = checkpoint.of_state(self.target);
                let own = Checkpoint { resume: own.resume && self.exact.is_none(), ..own };
                let (saver, saved) = Saver::open(&own, chain, self.settings, self.sums)?;
                (Some(saver), saved)
            }
            None => (None, None),
        };
        let mut engine = engine;
        let (kept, waves, bond, mut progress) = match (saved, self.exact.take()) {
            (Some(saved), _) => (Some(saved.kept), saved.waves, saved.bond, saved.progress),
            (None, Some((prepared, energy_before))) => {
                let leg = Leg { first: 0, from: Origin::Exact { energy_before } };
                (Some(prepared.kept), prepared.waves, 0, SearchProgress { leg, ..SearchProgress::default() })
            }
            (None, None) => match options.written.as_ref().filter(|_| self.target == 0) {
                Some(state) => {
                    let (kept, wave) = chain.written_state(state)?;
                    let leg = Leg { first: 0, from: Origin::Written };
                    (Some(kept), vec![wave], 0, SearchProgress { leg, starts: 1, ..SearchProgress::default() })
                }
                None => (None, Vec::new(), 0, SearchProgress::default()),
            },
        };
        let leg = progress.leg.clone();
        let options = &*leg.options(options);
        let mut planner = Planner::begin(&mut engine, chain, options)?;
        let mut waves = waves.into_iter();
        let mut sweeper = match kept {
            Some(kept) => Sweeper::restored(engine, chain, kept, waves.next().unwrap_or_default(), bond)?,
            None => {
                let (sweeper, begun) = self.first_state(engine, tell)?;
                progress = begun;
                sweeper
            }
        };
        if let (Some(weights), None) = (&options.weights, &sweeper.averaged) {
            sweeper.share_among(weights, (options.seed, options.basis), waves)?;
        }
        let below = std::mem::take(&mut self.below);
        sweeper.stay_orthogonal_to(below, progress.bond(chain.sites))?;
        planner.watch(&mut sweeper);
        saver.iter_mut().for_each(Saver::hold_signals);
        let resumed = progress.sweeps.len();
        let mut stop = settled(options, chain.units.rounding(), progress.counted());
        while stop.is_none() {
            // A sweep that other settings began ends with the plan of the first that counts.
            let sweep = progress.sweeps.len().saturating_sub(leg.first);
            let mut plan = options.plan(sweep);
            if leg.begins_well() {
                // Coarse solves would spoil a good start state.
                plan.davidson = options.davidson(sweep.max(LAST));
            }
            self.sweep((options, sweep, &plan), &mut sweeper, &mut progress, &mut planner, saver.as_mut(), tell)?;
            stop = settled(options, chain.units.rounding(), progress.counted());
        }
        saver.as_mut().map_or(Ok(()), Saver::let_signals_end)?;
        let limits = options.davidson(options.sweeps.max(progress.sweeps.len()));
        let (energy, polish) = if options.polish {
            let states = options.states.last().copied().unwrap_or(1);
            let polished = sweeper.polish(states, limits, options.tolerance)?;
            (polished.energy, Some(polished))
        } else if options.only_reads() {
            (sweeper.energy_of_first_bond()?, None)
        } else {
            (sweeper.finish(limits)?.energy, None)
        };
        let saved = saver.and_then(|saver| saver.last().map(String::from));
        let stop = stop.unwrap_or(SweepStop::Sweeps);
        Ok((sweeper, SearchResult { progress, energy, polish, stop, resumed, saved, planner }))
    }

    /// Runs one sweep, there and back, or the rest of it; `number` is its place in the plan of the options.
    fn sweep<E: Engine<Buffer = B>>(
        &self,
        (options, number, plan): (&Options, usize, &SweepPlan),
        sweeper: &mut Sweeper<'c, E>,
        progress: &mut SearchProgress,
        planner: &mut Planner,
        mut saver: Option<&mut Saver>,
        tell: Tell<'_>,
    ) -> Result<(), DmrgError> {
        let (chain, sweep) = (self.chain, progress.sweeps.len());
        let mut sweeping = trace::span("dmrg", "sweep");
        [("sweep", sweep), ("states allowed", plan.limits.most), ("state", self.target)]
            .into_iter()
            .for_each(|(name, count)| sweeping.note(name, count));
        let begun = Instant::now();
        let (begun_before, done_before) = (progress.part.take(), std::mem::take(&mut progress.done));
        let before = begun_before.map_or(0.0, |record| record.seconds);
        let mut record = begun_before.unwrap_or_else(|| SweepRecord::begin(options, number));
        let bonds = 2 * (chain.sites - 2);
        for (done, (p, grows)) in Sweeper::<E>::path(chain.sites).enumerate().skip(done_before) {
            interrupt::check()?;
            let bond = sweeper.update(p, grows, plan)?;
            record.add(&bond);
            record.seconds = before + begun.elapsed().as_secs_f64();
            let part = (done + 1) as f64 / bonds as f64;
            let (elapsed, target) = (self.start.elapsed().as_secs_f64(), self.target);
            let sweeps = progress.leg.first + options.sweeps;
            let planned = if done + 1 == bonds { planner.after(sweeper, options, number)? } else { None };
            let (grown, memory) = (None, planned.as_ref());
            tell(&SweepProgress { sweep, sweeps, part, target, grown, bond: &bond, record: &record, memory, elapsed });
            if let Some(saver) = &mut saver
                && done + 1 < bonds
                && (2 * (done + 1) == bonds || saver.is_interrupted())
            {
                sweeper.unfold()?;
                saver.save(sweeper, &SearchProgress { part: Some(record), done: done + 1, ..progress.clone() })?;
            }
        }
        progress.sweeps.push(record);
        saver.map_or(Ok(()), |saver| saver.save(sweeper, progress))
    }

    /// A random state, the best of several where charge is hindered from moving, or one grown and carried to the first bond.
    fn first_state<E: Engine<Buffer = B>>(
        &mut self,
        mut engine: E,
        tell: Tell<'_>,
    ) -> Result<(Sweeper<'c, E>, SearchProgress), DmrgError> {
        let (chain, options) = (self.chain, self.options);
        // Growth does not find excited states.
        if options.mode == Mode::Finite || self.target > 0 {
            let _warming = trace::span("dmrg", "random start");
            let seed = options.seed.wrapping_add(self.target as u64);
            // Random vectors at every bond forget their start.
            let is_carried = options.start == StartVectors::Carried;
            if is_carried && Mobility::new(chain).is_hindered() && !Check::is_possible(chain, options) {
                let below = std::mem::take(&mut self.below);
                let (mut sweeper, starts) = anneal::start(engine, chain, options, seed, below)?;
                self.below = sweeper.take_references();
                return Ok((sweeper, SearchProgress { starts, ..SearchProgress::default() }));
            }
            let sweeper = Sweeper::random(engine, chain, START_STATES, seed)?;
            return Ok((sweeper, SearchProgress { starts: 1, ..SearchProgress::default() }));
        }
        let _growing = trace::span("dmrg", "growth");
        let Grown { records: growth, kept, wave, bond } = grow(&mut engine, chain, options, |step| {
            let (elapsed, sweeps, target) = (self.start.elapsed().as_secs_f64(), options.sweeps, self.target);
            let part = step.sites as f64 / chain.sites as f64;
            let grown = Some(step.sites);
            let (bond, record) = (&step.bond(), &step.sweep());
            tell(&SweepProgress { sweep: 0, sweeps, part, target, grown, bond, record, memory: None, elapsed });
        })?;
        let mut sweeper = Sweeper::restored(engine, chain, kept, wave, bond)?;
        let mut plan = options.plan(options.sweeps);
        (plan.davidson.products, plan.noise, plan.expands, plan.random) = (1, 0.0, false, None);
        for p in (1..=bond).rev() {
            sweeper.step(p, Side::Right, &plan)?;
        }
        Ok((sweeper, SearchProgress { growth, starts: 1, ..SearchProgress::default() }))
    }
}

/// Whether these sweeps suffice; energies are good to `rounding`.
fn settled(options: &Options, rounding: f64, sweeps: &[SweepRecord]) -> Option<SweepStop> {
    if options.sweeps == 0 {
        return Some(SweepStop::Grown);
    }
    if let [.., before, last] = sweeps {
        let comparable = options.is_settled(sweeps.len() - 2);
        let change = |before: f64, last: f64| (before - last).abs();
        let average = before.average.zip(last.average).map_or(0.0, |(before, last)| change(before, last));
        // What is left to gain is small beside what truncation costs.
        let least = options.tolerance.max(options.improvement * last.truncation());
        let energy = |sweep: &SweepRecord| sweep.compared_energy(options);
        let changed = change(energy(before), energy(last)).max(average);
        if comparable && (changed < least || changed < STALLED * rounding && is_stalled(options, sweeps)) {
            return Some(SweepStop::Converged);
        }
        // A schedule whose last sweep alone has the final states: more of them gained nothing either.
        let is_last = sweeps.len() >= options.sweeps && options.is_settled(sweeps.len() - 1);
        if is_last && changed < options.tolerance.max(rounding) {
            return Some(SweepStop::Converged);
        }
    }
    (sweeps.len() >= options.sweeps).then_some(SweepStop::Sweeps)
}

/// Whether the last sweep without noise changed the energy by as much as the one before it.
fn is_stalled(options: &Options, sweeps: &[SweepRecord]) -> bool {
    let [.., first, before, last] = sweeps else { return false };
    let energy = |sweep: &SweepRecord| sweep.compared_energy(options);
    let change = |before: &SweepRecord, last: &SweepRecord| (energy(before) - energy(last)).abs();
    options.is_settled(sweeps.len() - 3) && change(before, last) >= SHRINKS * change(first, before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::UpdateChoice;

    #[test]
    fn a_search_ends_when_the_energy_has_settled_or_truncation_costs_far_more_than_a_sweep_gains() {
        let options = Options { states: vec![64, 64], noise: Some(Vec::new()), sweeps: 5, ..Options::default() };
        let stop = |options: &Options, changes: &[f64], discarded: f64| {
            let sweep = |energy| SweepRecord { states: 64, energy, discarded, ..SweepRecord::default() };
            let energies = changes.iter().scan(-1.0, |energy, change| {
                *energy += change;
                Some(*energy)
            });
            settled(options, 1e-15, &energies.map(sweep).collect::<Vec<_>>())
        };
        assert_eq!(stop(&options, &[0.0, -1e-12], 0.0), Some(SweepStop::Converged), "below the tolerance");
        assert_eq!(stop(&options, &[0.0, -1e-8], 0.0), None, "nothing was dropped, so sweeps go on");
        assert_eq!(stop(&options, &[0.0, -1e-8], 2e-6), Some(SweepStop::Converged), "a two-hundredth of the weight");
        assert_eq!(stop(&options, &[0.0, 1e-8], 2e-6), Some(SweepStop::Converged), "energies of sweeps go up and down");
        assert_eq!(stop(&options, &[0.0, -1e-7], 2e-6), None);
        assert_eq!(stop(&Options { improvement: 0.0, ..options.clone() }, &[0.0, -1e-8], 2e-6), None, "switched off");
        let noisy = Options { noise: Some(vec![0.0, 1e-6]), ..options.clone() };
        assert_eq!(stop(&noisy, &[0.0, -1e-8], 2e-6), None, "a sweep with noise is not compared");
        assert_eq!(stop(&options, &[0.0, -0.1, -0.1, -0.1, -0.1], 2e-6), Some(SweepStop::Sweeps));
        let schedule = Options { states: vec![16, 32, 64], sweeps: 3, ..options.clone() };
        assert_eq!(stop(&schedule, &[0.0, -1e-2, -1e-13], 0.0), Some(SweepStop::Converged), "with more states");
        assert_eq!(stop(&schedule, &[0.0, -1e-2, -1e-7], 0.0), Some(SweepStop::Sweeps));
        let kept = |kept: f64| SweepRecord {
            states: 64,
            energy: -1.0 - kept,
            kept_energy: Some(-1.0),
            ..SweepRecord::default()
        };
        let expanding = Options { update: UpdateChoice::Expanding, ..options.clone() };
        let sweeps = [kept(1e-3), kept(1e-2)];
        assert_eq!(settled(&expanding, 1e-15, &sweeps), Some(SweepStop::Converged), "the kept state is the same");
        assert_eq!(settled(&options, 1e-15, &sweeps), None);
        let longer = Options { sweeps: 5, ..schedule };
        assert_eq!(stop(&longer, &[0.0, -1e-2, -1e-13], 0.0), None, "sweeps are left");
    }
}
