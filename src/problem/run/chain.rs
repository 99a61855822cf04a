//! DMRG: device, its cards, engine → memory plan → sweeps → variance, averages.

use super::device::override_kernels;
use super::orbitals::OrbitalFindings;
use super::{RunContext, Solved, WriteFile};
use crate::Error;
use crate::dmrg::{
    self, CardsPlan, Chain, Checkpoint, DmrgError, DmrgResult, ExcitedState, Forecast, MemoryPlan, MemoryRequest,
    Options, SweepProgress,
};
use crate::input::{DmrgFile, OrbitalChain};
use crate::problem::{ChainProblem, Problem};
use crate::report::{
    ChainRecord, ClusterRecord, CostRecord, CountedWork, FamilyRecord, LevelAverages, MemoryItem, MemoryRecord, Method,
    ModelRecord, Outcome, Seconds, StructureFactor, write_matrix_products,
};
use crate::words::size;
use eigenforge_runtime::Device;
use eigenforge_runtime::backend::{BoundedHostBackend, DeviceBackend};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::residency::{Budget, MemoryLimits};
use std::path::{Path, PathBuf};

pub(super) fn solve<'p>(problem: &'p ChainProblem, context: &RunContext) -> Result<Solved<'p>, Error> {
    let ChainProblem { file, chain, options, .. } = problem;
    dmrg::check_complex(chain, options)?;
    let (device, why) = choose_device(chain, options, context)?;
    let (device, sharing) = worthwhile(device, chain, options)?;
    override_kernels(&device, context)?;
    let cards = device.members()?;
    let engine = ChosenEngine::new(&device, &cards, file, sharing.as_ref(), context.runs)?;
    let (most, budget) = (options.states.iter().copied().max().unwrap_or(1), engine.budget());
    let request = MemoryRequest::first(options, most, options.first_whole(), options.sweeps);
    let sharing = sharing.map_or(String::new(), |plan| plan.to_string());
    context.observer.plan(&(problem.describe() + &why + &sharing))?;
    let plan = dmrg::plan_memory(chain, request, budget)?;
    context.observer.plan(&format!("memory   {}\n\n", planned(&plan, budget)))?;
    let setup = context.start.elapsed().as_secs_f64();
    let checkpoint = context.checkpoint.as_ref();
    let checkpoint = checkpoint.map(|request| Checkpoint { folder: request.folder.clone(), resume: request.resume });
    let tell = |progress: &SweepProgress<'_>| context.observer.bond(progress);
    let found = match engine {
        ChosenEngine::Host(engine) => dmrg::run_on(engine, chain, options, checkpoint.as_ref(), tell),
        ChosenEngine::Card(engine) => dmrg::run_on(*engine, chain, options, checkpoint.as_ref(), tell),
    };
    context.observer.finished();
    let mut found = found?;
    let states = std::mem::take(&mut found.states);
    let orbitals = file.orbitals.as_ref();
    let orbitals = orbitals.map(|orbitals| OrbitalFindings::new(file, orbitals, chain, &mut found)).transpose()?;
    let mut outcome = outcome(problem, found, memory_of(&plan, budget), &cards, (context, setup));
    let mut files: Vec<WriteFile<'p>> = Vec::new();
    if let (Some(orbitals), FamilyRecord::Chain(record)) = (orbitals, &mut outcome.family) {
        record.molecule = Some(orbitals.record);
        files = orbitals.files;
    }
    if !states.is_empty() {
        let energies = outcome.energies.clone();
        files.push(Box::new(move |folder| Ok(write_matrix_products(folder, &energies, &states)?)));
    }
    Ok(Solved { files, ..Solved::new(outcome.with_warnings()) })
}

/// The device of a name, and a line that says why where the choice was ours: the one that is predicted to be quicker.
fn choose_device(chain: &Chain, options: &Options, context: &RunContext) -> Result<(Device, String), Error> {
    if context.device != "auto" {
        return Ok((Device::parse(&context.device)?, String::new()));
    }
    let (best, reason) = Device::best_with_reason();
    if let Some(reason) = reason {
        context.observer.remark(&format!("no CUDA device is used: {reason}"));
    }
    if !best.is_cuda() || chain.copies() * (options.targets - 1) >= dmrg::most_targets() {
        return Ok((Device::cpu(), String::new()));
    }
    let most = options.states.iter().copied().max().unwrap_or(1);
    let forecast = Forecast::new(chain, most, &Machine::new(&best))?;
    let (device, word) = if forecast.prefers_the_card() { (best, "card") } else { (Device::cpu(), "CPU") };
    Ok((device, format!("device   the {word}: {}\n", forecast.describe())))
}

/// Of several cards those that are worth it, and what each does: where a product with H is too small, the first alone. Simulated cards share
/// out everything, to show how it is done.
fn worthwhile(device: Device, chain: &Chain, options: &Options) -> Result<(Device, Option<CardsPlan>), Error> {
    if device.cards_at_work() == 1 {
        return Ok((device, None));
    }
    let most = options.states.iter().copied().max().unwrap_or(1);
    let plan = CardsPlan::new(chain, most, device.cards_at_work() as usize)?;
    if plan.is_worth_it() || !device.is_cuda() {
        plan.check(&device.members()?)?;
        return Ok((device, Some(plan)));
    }
    let first = device.members()?.remove(0);
    Ok((first, Some(plan)))
}

/// The engine of the device, within the limits of the file.
enum ChosenEngine {
    Host(BoundedHostBackend),
    Card(Box<DeviceBackend>),
}

impl ChosenEngine {
    /// `runs` share the host's memory where the file has no limit of its own; `sharing` says what several cards do.
    fn new(
        device: &Device,
        cards: &[Device],
        file: &DmrgFile,
        sharing: Option<&CardsPlan>,
        runs: usize,
    ) -> Result<ChosenEngine, DmrgError> {
        let spec = &file.dmrg;
        // The output folder, or what is there of the way to it.
        let beside = |folder: &PathBuf| {
            let named = folder.ancestors().filter(|path| !path.as_os_str().is_empty());
            named.chain([Path::new(".")]).find(|path| path.is_dir()).map(Path::to_path_buf)
        };
        let output = file.model.output.folder.as_ref().and_then(beside);
        let scratch = spec.scratch.clone().or(output).unwrap_or_else(std::env::temp_dir);
        if device.runs_kernels() {
            let mut limits = MemoryLimits::new(&cards[0], spec.memory, spec.host_memory, scratch);
            if spec.host_memory.is_none() {
                limits.host /= runs as u64;
            }
            if let Some(sharing) = sharing {
                limits = sharing.limits(cards, limits);
            }
            return Ok(ChosenEngine::Card(Box::new(DeviceBackend::of_cards(device, cards, limits)?)));
        }
        let limit = spec.memory.unwrap_or(BoundedHostBackend::default_limit());
        Ok(ChosenEngine::Host(BoundedHostBackend::new(limit, scratch)))
    }

    fn budget(&self) -> Budget {
        match self {
            ChosenEngine::Host(engine) => engine.limits(),
            ChosenEngine::Card(engine) => engine.limits(),
        }
    }
}

/// The plan by item, against what may be held.
fn memory_of(plan: &MemoryPlan, budget: Budget) -> MemoryRecord {
    let items = plan.items().into_iter().map(|(name, bytes)| MemoryItem { name, bytes }).collect();
    MemoryRecord { items, planned_bytes: plan.whole, available_bytes: budget.memory.saturating_add(budget.other_cards) }
}

/// One line.
fn planned(plan: &MemoryPlan, budget: Budget) -> String {
    let items: Vec<String> = plan.items().iter().map(|(name, bytes)| format!("{name} {}", size(*bytes))).collect();
    let beside = match budget.other_cards {
        0 => String::new(),
        room => format!(" and {} on other cards", size(room)),
    };
    format!("{} of {}{beside} at most: {}", plan.describe(), size(budget.memory), items.join(", "))
}

/// `setup` is in seconds.
fn outcome(
    ChainProblem { file, chain, .. }: &ChainProblem,
    found: DmrgResult,
    memory: MemoryRecord,
    devices: &[Device],
    (context, setup): (&RunContext, f64),
) -> Outcome {
    let model = &file.model;
    let sweeps = found.sweeps.iter().chain(found.excited.iter().flat_map(|state| &state.sweeps));
    let flops = sweeps.map(|sweep| sweep.flops).chain(found.growth.iter().map(|step| step.flops)).sum();
    let how = (Method::Dmrg, found.stop.into());
    // The check against the exact levels certifies.
    let checking = found.check.as_ref().map_or(0.0, |check| check.seconds);
    let found =
        DmrgResult { sweeping: (found.sweeping - checking).max(0.0), certifying: found.certifying + checking, ..found };
    // Sweeps of an earlier run took their time there.
    let sweeping = Some(found.sweeping).filter(|_| found.resumed == 0);
    let cost = CostRecord::new(&Machine::new(&devices[0]), CountedWork::Sweeps, (flops, 0.0), sweeping);
    let (solve, certify, observables) = (found.sweeping, found.certifying, found.measuring);
    let energies = std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect();
    let irrep = file.orbitals.as_ref().filter(|orbitals| orbitals.irrep.is_some());
    let irrep = irrep.and_then(|orbitals| orbitals.symmetry.note()).map(String::from);
    let evolves = model.evolve.as_ref().map(|_| "the file has [evolve]: `eigenforge evolve` makes its curves".into());
    let notes = chain.warnings.iter().cloned().chain(irrep).chain(found.warnings).chain(evolves).collect();
    let each = |lowest: Option<f64>, value: fn(&ExcitedState) -> Option<f64>| {
        std::iter::once(lowest).chain(found.search.excited.iter().map(value)).collect()
    };
    let cluster = ClusterRecord::new(&model.lattice);
    let family = FamilyRecord::Chain(Box::new(ChainRecord {
        structure_factor: StructureFactor::new(&found.averages, &cluster),
        dmrg: file.dmrg.clone(),
        lattice: cluster,
        molecule: None,
        sector: model.sector.clone(),
        order: chain.order.clone(),
        complex: chain.is_complex(),
        longest_bond: dmrg::bandwidth(&model.lattice, &chain.order),
        operator_sum_width: chain.sum.width(),
        energy_errors: each(found.energy_error, |state| state.energy_error),
        variances: each(found.variance, |state| state.variance),
        variance_errors: each(found.variance_error, |state| state.variance_error),
        discarded: match found.search.sweeps.last() {
            Some(sweep) => sweep.discarded,
            None => found.search.growth.iter().map(|step| step.discarded).fold(0.0, f64::max),
        },
        search: found.search,
    }));
    let name = file.orbitals.as_ref().map_or(model.model.name(), OrbitalChain::section);
    let record = ModelRecord { name: name.into(), file: model.name.clone(), text: model.text.clone() };
    let outcome = context.outcome(devices, record, memory, notes, how, family);
    Outcome {
        energies,
        cost,
        observables: LevelAverages { averaged_over: 1, averages: found.averages },
        state_observables: found.state_averages,
        seconds: Seconds { setup, solve, certify, observables, ..outcome.seconds },
        seed: file.dmrg.options.seed,
        tolerance: file.dmrg.options.tolerance,
        norm: chain.units.scale * chain.units.norm,
        ..outcome
    }
}
