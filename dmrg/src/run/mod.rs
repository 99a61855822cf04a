//! A whole run: the searches for the states that were asked for, and what is read off them.
//!
//! In: a chain, the options. Out: what was [found](result), the lowest state first. States that share their kept states
//! come from one search; otherwise each has its own, orthogonal to those before. A sector that is small enough is
//! [diagonalised whole](check) beside the sweeps, and a search that ended above its state is done again from there. Where
//! that cannot be, a search that ends below one before it shows that states were missed: more are sought until none does.

mod certificate;
pub(super) mod check;
pub(super) mod checkpoint;
pub(super) mod extrapolate;
pub mod inspect;
pub(super) mod result;
pub(crate) mod saved_numbers;
pub(crate) mod search;
pub(super) mod settings;
pub(crate) mod several_cards;
mod uncertainty;
pub(crate) mod warnings;

use crate::chain::Chain;
use crate::engine::Engine;
use crate::error::DmrgError;
use crate::matrix_product::MatrixProductState;
use crate::measure::observed::ObservedPlan;
use crate::measure::residual::Variance;
use crate::measure::{self, ChainMeasurements};
use crate::memory::refine::MemoryUse;
use crate::options::{Mode, Options, UpdateChoice};
use crate::sweep::reference::ReferenceState;
use crate::sweep::sweep_record::SweepStop;
use crate::sweep::sweeper::Sweeper;
use check::{Check, Restart};
use checkpoint::Checkpoint;
use eigenforge_core::observable::{self, Averages, Observable};
use eigenforge_runtime::backend::{BoundedHostBackend, DeviceBackend};
use eigenforge_runtime::trace;
use result::{DmrgResult, ExcitedState};
use search::{Search, SearchResult, Tell};
use settings::Settings;
use std::time::Instant;

pub use search::SweepProgress;

/// Sites of a chain whose bonds grow; one site at a time does not always bring three to the lowest state.
const LEAST_EXPANDING: usize = 4;

/// Searches beyond the states that were asked for at most, while each shows that another was missed.
const MORE_SEARCHES: usize = 8;

/// Runs DMRG along a chain on the CPU.
///
/// # Errors
/// An option out of its range, a checkpoint of another run, numbers that are not finite.
pub fn run(
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    tell: impl FnMut(&SweepProgress<'_>),
) -> Result<DmrgResult, DmrgError> {
    run_on(BoundedHostBackend::default(), chain, options, checkpoint, tell)
}

/// An engine for whole runs, which are compiled here for each, and not again in every crate that starts one.
pub trait RunEngine: Engine + Sized {
    /// Runs DMRG, as [`run_on`].
    ///
    /// # Errors
    /// The errors of [`run`] and of the engine.
    fn run(
        self,
        chain: &Chain,
        options: &Options,
        checkpoint: Option<&Checkpoint>,
        tell: &mut dyn FnMut(&SweepProgress<'_>),
    ) -> Result<DmrgResult, DmrgError>;
}

macro_rules! run_engines {
    ($($engine:ty),*) => {$(
        impl RunEngine for $engine {
            fn run(
                self,
                chain: &Chain,
                options: &Options,
                checkpoint: Option<&Checkpoint>,
                tell: &mut dyn FnMut(&SweepProgress<'_>),
            ) -> Result<DmrgResult, DmrgError> {
                whole_run(self, chain, options, checkpoint, tell)
            }
        }
    )*};
}
run_engines!(BoundedHostBackend, DeviceBackend);

/// Runs DMRG along a chain with an engine. A checkpoint of one engine is good for every other.
///
/// # Errors
/// The errors of [`run`] and of the engine.
pub fn run_on(
    engine: impl RunEngine,
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    mut tell: impl FnMut(&SweepProgress<'_>),
) -> Result<DmrgResult, DmrgError> {
    engine.run(chain, options, checkpoint, &mut tell)
}

fn whole_run<E: Engine>(
    engine: E,
    chain: &Chain,
    options: &Options,
    checkpoint: Option<&Checkpoint>,
    tell: Tell<'_>,
) -> Result<DmrgResult, DmrgError> {
    options.check()?;
    check_complex(chain, options)?;
    check_targets(chain, options, engine.max_projected())?;
    let _lock = checkpoint.map(Checkpoint::lock).transpose()?;
    let mut own = options.in_units(&chain.units);
    if own.expands() && chain.sites < LEAST_EXPANDING {
        own.update = UpdateChoice::TwoSite;
    }
    let mut tell = |told: &SweepProgress<'_>| {
        let (mut bond, record) = (told.bond.in_units(&chain.units), told.record.in_units(&chain.units));
        // Bonds are told by the sites of the lattice.
        bond.bond = bond.bond.saturating_sub(chain.sites - chain.order.len());
        tell(&SweepProgress { bond: &bond, record: &record, ..*told });
    };
    let settings = Settings::new(options);
    let run = Run { chain, options: &own, settings: &settings, checkpoint, start: Instant::now() };
    let (mut found, check) =
        if options.weights.is_some() { run.together(engine, &mut tell)? } else { run.each(engine, &mut tell)? };
    (found.check, found.restarts) = (check.sector, check.restarts);
    found.state_errors(chain);
    found.warn(&own, chain);
    found.in_units(&chain.units);
    Ok(found)
}

/// More states than the sector has, or than the device can keep apart.
fn check_targets(chain: &Chain, options: &Options, most_below: usize) -> Result<(), DmrgError> {
    let wrong = |expected, found| Err(DmrgError::Option { option: "targets", expected, found });
    let dimension = chain.dimension();
    if dimension < options.targets as f64 {
        let found = format!("{} for a sector with {dimension}", options.targets);
        return wrong("at most the number of states of the sector", found);
    }
    let most_below = most_below / chain.copies();
    if options.targets - 1 > most_below {
        return Err(DmrgError::TooManyBelow { found: options.targets, most: most_below + 1 });
    }
    Ok(())
}

/// What complex chains and chains of orbitals do not have.
///
/// # Errors
/// The option.
pub fn check_complex(chain: &Chain, options: &Options) -> Result<(), DmrgError> {
    let wrong = |option, expected, found| Err(DmrgError::Option { option, expected, found });
    if chain.irreps.is_some() && options.mode == Mode::Infinite {
        let expected = "\"finite\" for orbitals with irreps, which repeat nowhere";
        return wrong("mode", expected, "\"infinite\"".into());
    }
    if options.vectors && (chain.is_complex() || chain.gauge.is_some()) {
        let expected = "left out where H is complex: states are written as real tensors";
        return wrong("vectors", expected, "true".into());
    }
    if let Some(weights) = options.weights.as_ref().filter(|_| options.vectors) {
        let expected = "left out with `vectors`, so that each state has tensors of its own";
        return wrong("weights", expected, format!("{weights:?}"));
    }
    if !chain.is_complex() {
        return Ok(());
    }
    if options.mode == Mode::Infinite {
        let expected = "\"finite\" (no gauge makes this H real, and the auxiliary site of its phases repeats nowhere)";
        return wrong("mode", expected, "\"infinite\"".into());
    }
    if let Some(weights) = &options.weights {
        let expected = "left out where no gauge makes H real, so that each state has a search of its own";
        return wrong("weights", expected, format!("{weights:?}"));
    }
    Ok(())
}

/// What all searches of a run have in common; the options are in the units of the chain.
struct Run<'a, 'c> {
    chain: &'c Chain,
    options: &'a Options,
    settings: &'a Settings,
    checkpoint: Option<&'a Checkpoint>,
    start: Instant,
}

/// A state that was found, before it is known to be the lowest or not.
struct State {
    searched: SearchResult,
    variance: Option<Variance>,
    overlap: f64,
    /// Of the lowest so far, and of every state where there are observables for each.
    measured: Option<ChainMeasurements>,
    /// Where it is to be returned.
    tensors: Option<MatrixProductState>,
}

impl State {
    fn averages(&self) -> Averages {
        self.measured.as_ref().map_or(Averages::default(), |measured| measured.averages.clone())
    }
}

/// What every run measures of its lowest state, and the observables that it was asked for.
fn observables(chain: &Chain, options: &Options) -> Vec<Observable> {
    let kinds = chain.kinds();
    let mut list = if options.standard { observable::sites(&kinds) } else { Vec::new() };
    if options.correlations {
        list.extend(observable::pairs(&kinds));
        list.extend(observable::one_body(&kinds));
    }
    list.extend(options.observables.iter().cloned());
    list
}

/// Of all averages those of the observables that were asked for.
fn asked_for(options: &Options, averages: &Averages) -> Averages {
    let of = |observable: &Observable| Some((observable.name.clone(), averages.get(&observable.name)?.clone()));
    options.observables.iter().filter_map(of).collect()
}

impl<'c> Run<'_, 'c> {
    /// A search for each state.
    fn each<E: Engine>(&self, mut engine: E, tell: Tell<'_>) -> Result<(DmrgResult, Check<'c>), DmrgError> {
        let (chain, options) = (self.chain, self.options);
        let (mut below, mut sums, mut check, mut left_out) = (Vec::new(), Vec::new(), None, Vec::new());
        let (mut states, mut memory): (Vec<State>, _) = (Vec::new(), None);
        let (mut sweeping, mut certifying, mut measuring) = (0.0, 0.0, 0.0);
        let begun = Instant::now();
        let all = observables(chain, options);
        let plan = ObservedPlan::new(chain, &all)?;
        measuring += begun.elapsed().as_secs_f64();
        while self.wants_more(&states, engine.max_projected()) {
            let begun = Instant::now();
            let target = states.len();
            let (mut sweeper, searched) = self.search(engine, target, below, &sums, &mut check, tell)?;
            sweeping += begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            let _measuring = trace::span("dmrg", "measure");
            let held = searched.planner.memory_use(sweeper.engine());
            let variance = certificate::variances(chain, &mut sweeper, &[searched.energy], &searched, &mut left_out)?
                .map(|of| of[0]);
            certifying += begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            let is_lowest = states.iter().all(|state| searched.energy < state.searched.energy);
            let is_measured = is_lowest || !options.observables.is_empty();
            let contracted = if is_measured { measure::contractions(chain, &mut sweeper, &plan)? } else { Vec::new() };
            let overlap = sweeper.largest_overlap()?;
            below = sweeper.take_references();
            sums.push(searched.saved.clone());
            let own = if options.targets > 1 || options.vectors { sweeper.references()? } else { Vec::new() };
            let tensors = own.first().filter(|_| options.vectors);
            let tensors =
                tensors.map(|own| MatrixProductState::new(sweeper.engine(), chain, own.tensors())).transpose()?;
            if options.targets > 1 {
                below.extend(own);
            }
            let measured = contracted.first().map(|of| measure::walk(chain, &mut sweeper, &plan, of)).transpose()?;
            if target == 0 {
                memory = held.map(|held| MemoryUse { measured: sweeper.engine().usage(), ..held });
            }
            states.push(State { searched, variance, overlap, measured, tensors });
            measuring += begun.elapsed().as_secs_f64();
            engine = sweeper.into_engine();
        }
        let shown = !self.is_complete(&states);
        states.sort_by(|a, b| a.searched.energy.total_cmp(&b.searched.energy));
        states.truncate(options.targets);
        let nothing = DmrgError::Option { option: "targets", expected: "at least 1", found: "0".into() };
        let Some(check) = check else { return Err(nothing) };
        let state_averages = match options.observables.is_empty() {
            true => Vec::new(),
            false => states.iter().map(|state| asked_for(options, &state.averages())).collect(),
        };
        let tensors = states.iter_mut().filter_map(|state| state.tensors.take()).collect();
        let mut states = states.into_iter();
        let Some(State { searched, variance, measured: Some(measured), .. }) = states.next() else {
            return Err(nothing);
        };
        let mut found = searched.found(options, variance, measured);
        (found.memory, found.state_averages, found.states) = (memory, state_averages, tensors);
        (found.sweeping, found.certifying, found.measuring) = (sweeping, certifying, measuring);
        for State { searched, variance, overlap, .. } in states {
            let SearchResult { energy, stop, progress, resumed, polish, .. } = searched;
            found.resumed += resumed;
            let said = progress.leg.sentence().filter(|said| !found.warnings.contains(said));
            found.warnings.extend(said);
            let (variance, variance_error) = (variance.map(|of| of.value), variance.and_then(|of| of.error));
            let (sweeps, starts) = (progress.sweeps, progress.starts);
            found.excited.push(ExcitedState {
                energy,
                energy_error: None,
                variance,
                variance_error,
                overlap,
                stop,
                polish,
                sweeps,
                starts,
            });
        }
        found.warnings.extend(engine.warnings().into_iter().chain(left_out));
        found.cards = engine.work();
        if shown && check.sector.is_none() {
            found.warnings.push(
                "the last search ended below an earlier one, so states may be missing in between; raise `targets` or \
                 `states`, or try another seed"
                    .into(),
            );
        }
        Ok((found, check))
    }

    /// The search for one state, done again where it is known to have ended above it.
    fn search<E: Engine>(
        &self,
        engine: E,
        target: usize,
        below: Vec<ReferenceState<E::Buffer>>,
        sums: &[Option<String>],
        check: &mut Option<Check<'c>>,
        tell: Tell<'_>,
    ) -> Result<(Sweeper<'c, E>, SearchResult), DmrgError> {
        let Run { chain, options, settings, checkpoint, start } = *self;
        let search = Search { chain, options, settings, target, start, below, sums, exact: None };
        let (mut sweeper, searched) = search.run(engine, checkpoint, tell)?;
        let check = match check {
            Some(check) => check,
            None => check.insert(Check::new(chain, options)?),
        };
        // Resumed after it had been done again.
        if let Some(energy_before) = searched.progress.leg.energy_before() {
            check.restarts.push(Restart { state: target, energy_before });
            return Ok((sweeper, searched));
        }
        let is_missed = check.is_missed(target, &[searched.energy], &searched.last_sweep());
        if searched.stop != SweepStop::Converged || !is_missed {
            return Ok((sweeper, searched));
        }
        let energy_before = searched.energy;
        let exact = check.start_of(target, options)?.map(|prepared| (prepared, energy_before));
        check.restarts.push(Restart { state: target, energy_before });
        let below = sweeper.take_references();
        let search = Search { chain, options, settings, target, start, below, sums, exact };
        search.run(sweeper.into_engine(), checkpoint, tell)
    }

    /// All states in one set of kept states.
    fn together<E: Engine>(&self, engine: E, tell: Tell<'_>) -> Result<(DmrgResult, Check<'c>), DmrgError> {
        let Run { chain, options, settings, checkpoint, start } = *self;
        let search = |exact| Search { chain, options, settings, target: 0, start, below: Vec::new(), sums: &[], exact };
        let (mut sweeper, mut searched) = search(None).run(engine, checkpoint, tell)?;
        let mut check = Check::new(chain, options)?;
        if let Some(energy_before) = searched.progress.leg.energy_before() {
            // Resumed after it had been done again.
            check.restarts.push(Restart { state: 0, energy_before });
        } else if searched.stop == SweepStop::Converged && check.is_missed(0, sweeper.levels(), &searched.last_sweep())
        {
            let energy_before = searched.energy;
            check.restarts.push(Restart { state: 0, energy_before });
            let exact = check.start_of_all(options.targets, options)?.map(|prepared| (prepared, energy_before));
            (sweeper, searched) = search(exact).run(sweeper.into_engine(), checkpoint, tell)?;
        }
        let sweeping = start.elapsed().as_secs_f64();
        let _measuring = trace::span("dmrg", "measure");
        let (levels, average) = (sweeper.levels().to_vec(), sweeper.average());
        if levels.len() < options.targets {
            let found = format!("{:?}, which hold {} of {} states", options.states, levels.len(), options.targets);
            return Err(DmrgError::Option { option: "states", expected: "enough to hold all `targets`", found });
        }
        let held = searched.planner.memory_use(sweeper.engine());
        let begun = Instant::now();
        let mut left_out = Vec::new();
        let variances = certificate::variances(chain, &mut sweeper, &levels, &searched, &mut left_out)?;
        let certifying = begun.elapsed().as_secs_f64();
        let overlaps = sweeper.overlaps()?;
        sweeper.keep_lowest();
        let all = observables(chain, options);
        let plan = ObservedPlan::new(chain, &all)?;
        let contracted = measure::contractions(chain, &mut sweeper, &plan)?;
        let measured = measure::walk(chain, &mut sweeper, &plan, contracted.first().map_or(&[], Vec::as_slice))?;
        let stop = searched.stop;
        let mut found = searched.found(options, variances.as_ref().map(|of| of[0]), measured);
        let measuring = start.elapsed().as_secs_f64() - sweeping - certifying;
        (found.sweeping, found.certifying, found.measuring) = (sweeping, certifying, measuring);
        if !options.observables.is_empty() {
            found.state_averages = vec![asked_for(options, &found.averages)];
            found.warnings.push(
                "observables were measured in the lowest state only, because the targets share their kept states; remove \
                 `weights` to measure them in each state"
                    .into(),
            );
        }
        found.memory = held.map(|held| MemoryUse { measured: sweeper.engine().usage(), ..held });
        found.average = average;
        found.warnings.extend(sweeper.engine().warnings().into_iter().chain(left_out));
        found.cards = sweeper.engine().work();
        for (target, (energy, overlap)) in levels.iter().copied().zip(overlaps).enumerate().skip(1) {
            let of = variances.as_ref().map(|of| of[target]);
            let (variance, variance_error) = (of.map(|of| of.value), of.and_then(|of| of.error));
            let (polish, sweeps, starts) = (None, Vec::new(), found.starts);
            found.excited.push(ExcitedState {
                energy,
                energy_error: None,
                variance,
                variance_error,
                overlap,
                stop,
                polish,
                sweeps,
                starts,
            });
        }
        Ok((found, check))
    }

    /// Whether another state is to be sought: those asked for are not there yet, or the last search ended below one before it.
    fn wants_more(&self, states: &[State], most_below: usize) -> bool {
        let (found, wanted) = (states.len(), self.options.targets);
        let dimension = self.chain.reachable.dimension(&self.chain.local);
        let possible =
            found <= most_below / self.chain.copies() && (found as f64) < dimension && found < wanted + MORE_SEARCHES;
        found < wanted || possible && !self.is_complete(states)
    }

    /// Whether the last search ended above all before it.
    fn is_complete(&self, states: &[State]) -> bool {
        let Some((last, before)) = states.split_last() else { return true };
        let slack = 10.0 * self.options.tolerance;
        before.iter().all(|state| state.searched.energy <= last.searched.energy + slack)
    }
}
