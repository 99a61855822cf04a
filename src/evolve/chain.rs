//! An evolution of a chain: start, steps of a matrix-product state, record.
//!
//! In: a file with `[dmrg]` and `[evolve]`. Out: an [`EvolutionRecord`] with a [`ChainEvolutionRecord`]. The states are complex, with an
//! auxiliary site ([`Chain::with_phases`]), but for imaginary time of a real H.

use super::checkpoint::checkpoint_settings;
use super::hamiltonian::driven_chain;
use super::measures::{known_measures, refused_key};
use super::record::{ChainEvolutionRecord, EvolutionRecord, RecordedAverages, RecordedEntropy, time_text};
use super::start::occupied;
use crate::Error;
use crate::dmrg::{
    self, Chain, ChainEvolution, ChainPoint, ChainStart, ChainSteps, DmrgError, MemoryRequest, Options, UpdateChoice,
    evolve_chain, evolve_driven_chain, narrow_order,
};
use crate::input::{
    DmrgFile, EvolveSpec, Family, InputFile, InputProblem, StartSpec, WrittenStart, Wrong, sector_text,
};
use crate::observable;
use crate::operator::SiteKind;
use crate::problem::run::{CheckpointRequest, RunContext, open_device, setting};
use crate::problem::written_state;
use crate::report::{ClusterRecord, KernelRecord, ModelRecord, SCHEMA};
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::{BoundedHostBackend, DeviceBackend};
use eigenforge_runtime::solvers::{CheckpointOptions, TimeAxis};
use std::time::Instant;

/// Lines that say how far a run is, at most.
const MOST_LINES: usize = 20;
/// The step where none is given, in ħ over the largest term.
const STEP: f64 = 0.05;

/// The evolution that a file with `[dmrg]` asks for.
///
/// # Errors
/// A file without `[evolve]`, or of a molecule; a card; a start that is not in the sector or of another chain; sets of sites that are no end
/// of the chain; numbers that are not finite.
pub(super) fn chain_evolution(file: &DmrgFile, context: &RunContext) -> Result<EvolutionRecord, Error> {
    let model = &file.model;
    let Some(spec) = &model.evolve else {
        let example = "[evolve]\nstart = { up = [0, 2, 4] }\nuntil = 10.0";
        let what = Wrong::MissingTable { table: "evolve", example };
        return Err(model.refused(InputProblem { what, span: 0..0 }).into());
    };
    check(file, spec)?;
    // Cores, unless a card is asked for.
    let device = if context.device == "auto" { Device::cpu() } else { open_device(context)?.0 };
    device.check_alone("evolve")?;
    let operator = model.operator();
    let order = file.dmrg.order.clone().unwrap_or_else(|| narrow_order(&model.lattice));
    let is_real = spec.imaginary && !operator.is_complex();
    let driven = driven_chain(model, spec, order.clone())?;
    let until = spec.times.last().copied().unwrap_or(0.0);
    let chain = match &driven {
        Some(driven) => driven.strongest(until)?,
        None => {
            let lay_out = if is_real { Chain::new } else { Chain::with_phases };
            lay_out(&operator, model.sector.clone(), Some(order))?
        }
    };
    let kinds = operator.reduced().on_sites(model.lattice.sites().len());
    let kinds = model.model.site_kinds(kinds.sites());
    let known = observable::sites(&kinds).into_iter().chain(observable::pairs(&kinds));
    let known = known.chain(observable::one_body(&kinds)).chain(model.observed.iter().cloned()).collect();
    let observables = known_measures(model, spec, known)?;
    let cuts = spec.entropy.iter().map(|set| cut_of(file, spec, &chain, set)).collect::<Result<Vec<_>, Error>>()?;
    let most = file.dmrg.options.states.iter().copied().max().unwrap_or(1);
    let update = file.dmrg.options.update.in_time();
    let largest = chain.units.scale * chain.units.largest;
    let step = spec.step.unwrap_or(if largest > 0.0 { STEP / largest } else { 1.0 });
    context.observer.plan(&described(file, spec, &chain, (most, step, update)))?;
    let expands = update == UpdateChoice::Expanding;
    check_memory(&chain, (if is_real { most } else { most.saturating_mul(2) }, expands), file, &device)?;
    let start = start_state(file, spec, &kinds, &chain)?;
    let start_seconds = context.start.elapsed().as_secs_f64();
    let started = Instant::now();
    let options = ChainEvolution {
        times: spec.times.clone(),
        step,
        update,
        states: most,
        discarded: Some(file.dmrg.options.discarded).filter(|weight| *weight > 0.0),
        tolerance: spec.tolerance,
        axis: if spec.imaginary { TimeAxis::Imaginary } else { TimeAxis::Real },
        observables,
        state: file.model.output.vectors,
        checkpoint: None,
    };
    let options = ChainEvolution { checkpoint: checkpoint(file, spec, &options, &chain.order, context), ..options };
    let between = spec.times.len().div_ceil(MOST_LINES);
    let mut points: Vec<ChainPoint> = Vec::new();
    let visit = |point: ChainPoint| {
        if points.len().is_multiple_of(between) {
            let (time, states) = (time_text(point.time, &spec.times), point.steps.states);
            context.observer.stage("evolve", &format!("t = {time} of {until}, {states} states"));
        }
        points.push(point);
    };
    let evolved = match &driven {
        Some(driven) => evolve_driven_chain(driven, &start.state, &options, &device, visit),
        None => evolve_chain(&chain, &start.state, &options, &device, visit),
    };
    let evolved = evolved.map_err(|error| of_start(file, spec, error))?;
    let (steps, state) = (evolved.steps, evolved.state);
    context.observer.finished();
    let warnings: Vec<String> = start.warnings.into_iter().chain(faults(&steps, spec.tolerance)).collect();
    let entropies = spec.entropy.iter().zip(&cuts).map(|(sites, cut)| RecordedEntropy {
        sites: sites.clone(),
        values: points.iter().map(|point| cut.map_or(0.0, |cut| point.cut_entropies[cut - 1])).collect(),
    });
    let averages = options.observables.iter().map(|observable| RecordedAverages {
        name: observable.name.clone(),
        values: points.iter().filter_map(|point| point.averages.get(&observable.name).cloned()).collect(),
    });
    let energy: Vec<f64> = points.iter().map(|point| point.energy).collect();
    let drift = energy.iter().map(|value| (value - energy[0]).abs()).fold(0.0, f64::max);
    let amplitude = steps.grown.unwrap_or(steps.splitting + steps.bound);
    let is_within = amplitude <= spec.tolerance.sqrt() && steps.missing <= spec.tolerance;
    Ok(EvolutionRecord {
        schema: SCHEMA,
        model: ModelRecord { name: model.model.name().into(), file: model.name.clone(), text: model.text.clone() },
        lattice: ClusterRecord::new(&model.lattice),
        sector: sector_text(&model.sector),
        states: model.dimension().and_then(|dimension| u64::try_from(dimension).ok()).unwrap_or(u64::MAX),
        start: start.words,
        imaginary: spec.imaginary,
        record: spec.record.iter().map(|(name, _)| name.clone()).collect(),
        times: points.iter().map(|point| point.time).collect(),
        energy_drift: (!spec.imaginary && driven.is_none()).then_some(drift),
        energy,
        echo: points.iter().map(|point| point.overlap[0].hypot(point.overlap[1]).powi(2)).collect(),
        overlap: points.iter().map(|point| point.overlap).collect(),
        log_norm: spec.imaginary.then(|| points.iter().map(|point| point.log_norm).collect()),
        averages: averages.collect(),
        entropies: entropies.collect(),
        bounds: points.iter().map(|point| point.steps.error()).collect(),
        bound: steps.error(),
        estimated: steps.error() - steps.bound,
        tolerance: spec.tolerance,
        steps: steps.steps,
        multiplies: steps.products,
        basis: 0,
        converged: start.converged && steps.stop_time.is_none() && is_within,
        device: device.name(),
        kernels: KernelRecord::list(&device),
        seconds: [start_seconds, started.elapsed().as_secs_f64()],
        chain: Some(ChainEvolutionRecord {
            order: chain.order.clone(),
            step,
            update: update.name().into(),
            most_states: most,
            states: points.iter().map(|point| point.steps.states).collect(),
            discarded: points.iter().map(|point| point.steps.discarded).collect(),
            splitting: steps.splitting,
            exponentials: steps.bound,
            missing: steps.missing,
            stop_time: steps.stop_time,
            cut_entropies: points.iter().map(|point| point.cut_entropies.clone()).collect(),
        }),
        state,
        warnings,
    })
}

/// Where the evolution is saved, with what must be the same where it goes on.
fn checkpoint(
    file: &DmrgFile,
    spec: &EvolveSpec,
    options: &ChainEvolution,
    order: &[usize],
    context: &RunContext,
) -> Option<CheckpointOptions> {
    let CheckpointRequest { folder, seconds, resume } = context.checkpoint.clone()?;
    let mut settings = checkpoint_settings(&file.model, spec, &options.observables);
    settings.push(("sector".into(), sector_text(&file.model.sector)));
    settings.push(setting("order", order));
    settings.push(("update".into(), options.update.name().into()));
    settings.push(setting("step", options.step));
    settings.push(setting("states", options.states));
    settings.push(setting("discarded", options.discarded));
    Some(CheckpointOptions { folder, every_seconds: seconds, resume, settings, ..CheckpointOptions::default() })
}

/// What has no evolution of a chain.
fn check(file: &DmrgFile, spec: &EvolveSpec) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::not_of_family(Family::Dmrg, "evolve", why));
    if file.orbitals.is_some() {
        return refuse("states of molecules do not evolve: take a model on a lattice");
    }
    if matches!(spec.start, StartSpec::Orbitals) {
        return refuse(
            "its start is a product of local states, a model or a written state: `orbitals` needs exact vectors; leave [dmrg] out, or \
             begin from the model without interactions, { model = \"free.toml\" }",
        );
    }
    Ok(())
}

/// Refuses a bond that does not fit, with the states that would.
fn check_memory(
    chain: &Chain,
    (states, expands): (usize, bool),
    file: &DmrgFile,
    device: &Device,
) -> Result<(), Error> {
    let budget = if device.runs_kernels() {
        DeviceBackend::new(device).map_err(DmrgError::from)?.limits()
    } else {
        let limit = file.dmrg.memory.unwrap_or(BoundedHostBackend::default_limit());
        BoundedHostBackend::new(limit, std::env::temp_dir()).limits()
    };
    let request = MemoryRequest { states, noisy: false, targets: 1, measured: false, expands };
    dmrg::plan_memory(chain, request, budget)?;
    Ok(())
}

/// The cut whose left or right part is a set of sites; `None` for none or all of them.
fn cut_of(file: &DmrgFile, spec: &EvolveSpec, chain: &Chain, set: &[usize]) -> Result<Option<usize>, Error> {
    let (count, n) = (set.len(), chain.order.len());
    let are = |sites: &[usize]| sites.iter().all(|site| set.contains(site));
    match () {
        () if count == 0 || count == n => Ok(None),
        () if are(&chain.order[..count]) => Ok(Some(count)),
        () if are(&chain.order[n - count..]) => Ok(Some(n - count)),
        () => {
            let numbered = chain.order.iter().enumerate().all(|(position, site)| position == *site);
            let order = if numbered { String::new() } else { format!(", whose order is {:?}", chain.order) };
            let expected = format!("the first or the last sites of the chain{order}");
            Err(refused_key(&file.model, "entropy", (expected, format!("{set:?}")), &spec.entropy_span).into())
        }
    }
}

fn described(
    file: &DmrgFile,
    spec: &EvolveSpec,
    chain: &Chain,
    (states, step, update): (usize, f64, UpdateChoice),
) -> String {
    let model = &file.model;
    let until = spec.times.last().copied().unwrap_or(0.0);
    let axis = if spec.imaginary { "imaginary time" } else { "time" };
    format!(
        "model    {}: {}\n         {}\nlattice  {}\nsector   {}\nchain    {} sites, at most {} operators at a cut\n\
         evolve   {axis} from 0 to {until}, {} times, steps of {step} at most, {} update, {states} states, weight lost at most {:e}\n",
        model.model.name(),
        model.model.formula(),
        model.model.amplitudes(),
        model.lattice.describe(),
        sector_text(&model.sector),
        chain.order.len(),
        chain.sum.width(),
        spec.times.len(),
        update.name(),
        spec.tolerance,
    )
}

/// An error of the start, at its place.
fn of_start(file: &DmrgFile, spec: &EvolveSpec, error: DmrgError) -> Error {
    match error {
        DmrgError::Start { expected, found } => {
            let what = Wrong::Start(format!("it should be {expected}, found {found}"));
            file.model.refused(InputProblem { what, span: spec.start_span.clone() }).into()
        }
        error => error.into(),
    }
}

/// A start, in words, and whether a state that was solved for has converged.
struct ChainStartState {
    state: ChainStart,
    words: String,
    warnings: Vec<String>,
    converged: bool,
}

fn start_state(
    file: &DmrgFile,
    spec: &EvolveSpec,
    kinds: &[SiteKind],
    chain: &Chain,
) -> Result<ChainStartState, Error> {
    let refused = |message: String| {
        let what = Wrong::Start(message);
        Error::from(file.model.refused(InputProblem { what, span: spec.start_span.clone() }))
    };
    let exact =
        |state: ChainStart, words: String| ChainStartState { state, words, warnings: Vec::new(), converged: true };
    let product = |levels: Vec<u64>| {
        let levels = levels.into_iter().map(|level| level as usize).collect();
        exact(ChainStart::Product(levels), "a product of local states".into())
    };
    match &spec.start {
        StartSpec::Occupied { up, down } => Ok(product(occupied(kinds, up, down.as_deref()).map_err(refused)?)),
        StartSpec::Levels(levels) => Ok(product(levels.clone())),
        StartSpec::Vectors { path, state } => {
            let start = WrittenStart { path: path.clone(), state: *state };
            let state = written_state(&start).map_err(|error| of_start(file, spec, error))?;
            Ok(exact(ChainStart::State(state), format!("state {} of {}", start.state, path.display())))
        }
        StartSpec::Model { path, state } => {
            let name = path.display().to_string();
            let InputFile::Dmrg(other) = InputFile::read(path)? else {
                return Err(refused(format!("{name}: its state is found by DMRG; give it a section [dmrg]")));
            };
            if other.orbitals.is_some() {
                return Err(refused(format!("{name}: it is a molecule, not a chain of this lattice")));
            }
            let wanted = state.unwrap_or(0);
            let order = other.dmrg.order.clone().unwrap_or_else(|| chain.order.clone());
            let other_chain = Chain::new(&other.model.operator(), other.model.sector.clone(), Some(order))?;
            let options = other.options();
            let options =
                Options { vectors: true, observables: Vec::new(), targets: options.targets.max(wanted + 1), ..options };
            let mut found = dmrg::run(&other_chain, &options, None, |_| {})?;
            let mut warnings: Vec<String> =
                std::mem::take(&mut found.warnings).into_iter().map(|said| format!("{name}: {said}")).collect();
            let stop = match wanted.checked_sub(1) {
                None => found.stop,
                Some(excited) => found.excited[excited].stop,
            };
            let converged = stop == dmrg::SweepStop::Converged;
            if !converged {
                warnings.push(format!("the state of {name} has not converged: raise `sweeps` in its [dmrg]"));
            }
            let energy = if wanted == 0 { found.energy } else { found.excited[wanted - 1].energy };
            let words = format!("state {wanted} of {name} by DMRG, E = {energy:.10}");
            Ok(ChainStartState {
                state: ChainStart::State(found.states.swap_remove(wanted)),
                words,
                warnings,
                converged,
            })
        }
        StartSpec::Orbitals => unreachable!("refused before"),
    }
}

/// What a careful reader must know of the steps.
fn faults(steps: &ChainSteps, tolerance: f64) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(time) = steps.stop_time {
        said.push(format!(
            "stopped at t = {time}: truncations have dropped a weight of {:.1e}, more than the tolerance {tolerance:e}; raise `states` in \
             [dmrg], or `tolerance`, or end with a smaller `until`",
            steps.discarded
        ));
    }
    let amplitude = tolerance.sqrt();
    if let Some(grown) = steps.grown.filter(|grown| *grown > amplitude) {
        said.push(format!(
            "imaginary time makes what steps lost grow beside ψ, which may be off by {grown:.1e}, more than the root of the tolerance \
             {tolerance:e}: begin with a state nearer to the lowest one, raise `states` in [dmrg], or take a smaller `step` or `until`"
        ));
    } else if steps.splitting > amplitude {
        said.push(format!(
            "steps in time may move ψ by {:.1e}, a weight above the tolerance {tolerance:e}: take a smaller `step`",
            steps.splitting
        ));
    }
    if steps.missing > tolerance {
        said.push(format!(
            "bonds lack states that H makes within a step: they would get a weight of {:.1e}, above the tolerance {tolerance:e}; raise `states` in \
             [dmrg], or take a smaller `step`",
            steps.missing
        ));
    }
    said
}
