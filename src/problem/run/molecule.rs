//! Configuration interaction: integrals → determinants → solver → spins, densities, observables.

use super::context::PhaseClock;
use super::device::{ChosenDevice, choose_device};
use super::molecule_levels::{MoleculeLevels, Wanted};
use super::records::{cards_line, memory_lines, memory_record, ranks_line, shape_record, spectrum, with_eigenpairs};
use super::{RunContext, Solved, WriteFile};
use crate::Error;
use crate::ci::{
    CiSolution, CiSolve, NaturalOrbitals, OneBody, OneElectron, Space, TwoBody, natural_orbitals, write_densities,
};
use crate::problem::{MoleculeProblem, Problem};
use crate::report::{
    BasisStates, CostRecord, CountedWork, FamilyRecord, LevelAverages, MemoryRecord, Method, ModelRecord,
    MoleculeRecord, Outcome, VectorFile, VectorList,
};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::StopReason;
use eigenforge_runtime::{Device, DeviceError, trace};
use eigenforge_templates::ScalarType;
use ndarray::Array2;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub(super) fn solve<'p>(problem: &'p MoleculeProblem, context: &RunContext) -> Result<Solved<'p>, Error> {
    let (file, molecule) = (&problem.file, &problem.molecule);
    let observed = file.observed(molecule.integrals.orbitals)?;
    context.observer.plan(&problem.describe())?;
    let clock = Arc::new(PhaseClock::default());
    let solve = options(problem, context, &clock);
    let forecast = |machine: &Machine, device: Option<&Device>| solve.forecast(machine, device);
    let ChosenDevice { device, on_cpu, line } = choose_device(context, forecast)?;
    let (solve, reason) = if file.solve.solver.is_none() { solve.fitting(&device) } else { (solve, None) };
    let memory = memory_record(&device, solve.memory_plan(&device));
    let of_ranks = ranks_line(solve.rank_plan(&device), &device, ScalarType::F64);
    context.observer.plan(&(line + &cards_line(&device, None) + &of_ranks + &memory_lines(&memory)))?;
    if file.ci.averages || file.output.vectors {
        check_gathering(&solve, file.solve.states, &device, &memory)?;
    }
    let read_seconds = context.start.elapsed().as_secs_f64();
    let (solver, solution) = (solve.method(), solve.run(&device));
    context.observer.finished();
    let solution = solution?;

    let observing = Instant::now();
    // Of several ranks the first has whole vectors, and reports.
    let reports = solution.device().ranks().is_none_or(|ranks| ranks.is_first());
    let wanted = Wanted { averages: file.ci.averages, states: file.output.vectors, observed: &observed, reports };
    let (levels, fault) = MoleculeLevels::new(&molecule.space, &solution, &wanted)?;
    let asked = reports && (!observed.is_empty() || file.ci.dipole.is_some());
    // What was solved is not lost for want of memory.
    let fault = match fault {
        Some(error) => Some(format!("the observables were left out: {error}")),
        None if asked && !file.ci.averages => {
            Some("the observables were left out: the file has averages = false".into())
        }
        None => None,
    };
    let (level, state_observables) =
        if observed.is_empty() || fault.is_some() { Default::default() } else { levels.averages() };
    let has_properties = file.ci.averages && reports;
    let properties = has_properties.then(|| Properties::new(problem, &levels.lowest)).transpose()?;
    let observables = observing.elapsed().as_secs_f64();
    let (pairs, how) = (solution.eigenpairs(), solution.storage_used());
    let solver = match pairs.stop {
        StopReason::Dense => Method::Dense,
        _ => solver.into(),
    };
    let notes = on_cpu
        .into_iter()
        .chain(file.solve.without_effect())
        .chain(molecule.symmetry.note().filter(|_| file.ci.irrep.is_some()).map(String::from))
        .chain(pairs.notes.iter().cloned())
        .chain(levels.warnings.iter().cloned())
        .chain(fault);
    let (up, down) = molecule.integrals.spins();
    let family = FamilyRecord::Molecule(Box::new(MoleculeRecord {
        ci: file.ci.clone(),
        space: molecule.words.clone(),
        orbitals: molecule.integrals.orbitals,
        electrons: [up, down],
        dimension: molecule.space.len(),
        core_energy: molecule.integrals.core,
        spectrum: spectrum(pairs, solution.constant(), &levels.spins),
        s_squared: levels.s_squared.clone(),
        natural_occupations: properties.iter().flat_map(|found| &found.natural.occupations).copied().collect(),
        dipole: properties.as_ref().and_then(|found| found.dipole.clone()),
        multiply: Some(how.choice.clone()),
        storage: how.storage,
        format: how.format,
        format_reason: how.reason.clone(),
        non_zeros: how.non_zeros,
        shape: how.shape.as_ref().map(|used| shape_record(&used.name, &used.source)),
    }));
    let model = ModelRecord { name: "ci".into(), file: file.name.clone(), text: file.text.clone() };
    let (least, took) = (solution.cost(), solution.multiply_seconds());
    let outcome = Outcome {
        solver_reason: reason,
        cost: CostRecord::new(&Machine::new(&device), CountedWork::Multiply, (least.flops, least.bytes), took),
        observables: LevelAverages { averaged_over: levels.lowest.nrows(), averages: level },
        state_observables,
        ..context.outcome(
            std::slice::from_ref(&device),
            model,
            memory,
            notes.collect(),
            (solver, pairs.stop.into()),
            family,
        )
    };
    let phases = (&*clock, read_seconds + solution.setup_seconds(), observables);
    let outcome = with_eigenpairs(outcome, &file.solve, pairs, solution.energies(), phases).with_warnings();
    let (states, lowest) = (levels.states, levels.lowest);
    let mut files: Vec<WriteFile<'p>> = Vec::new();
    if file.output.vectors && reports {
        files.push(Box::new(move |folder| write_vectors(folder, &molecule.space, &solution, &states)));
    }
    if let Some(properties) = properties.filter(|_| file.ci.density) {
        files.push(Box::new(move |folder| properties.write(folder, problem, &lowest)));
    }
    Ok(Solved::new(outcome, files))
}

/// Refuses, before the run, vectors that rank 0 would have no room to gather on its host, for averages and for files.
fn check_gathering(
    solve: &CiSolve<'_>,
    states: usize,
    device: &Device,
    memory: &MemoryRecord,
) -> Result<(), DeviceError> {
    let (Some(ranks), Some(plan)) = (device.ranks(), solve.rank_plan(device)) else { return Ok(()) };
    // What has no room at all is refused by the solve, with the numbers of each way.
    let fits = solve.fitting_plan(device).is_some();
    if !fits || !ranks.is_first() {
        return Ok(());
    }
    // The states, and a level at a time once more.
    let needed = (states as u64 + 1).saturating_mul(plan.vector_bytes(ScalarType::F64));
    let host = Device::cpu().memory();
    let of_each = |bytes: u64, among: usize| bytes / among as u64;
    let (free, total) = match device.runs_kernels() {
        true => (of_each(host.free, ranks.on_this_machine()), of_each(host.total, ranks.on_this_machine())),
        false => {
            let left = memory.available_bytes.saturating_sub(memory.planned_bytes);
            (of_each(left, ranks.count()), of_each(memory.available_bytes, ranks.count()))
        }
    };
    if needed <= free {
        return Ok(());
    }
    Err(DeviceError::Memory {
        what: "whole vectors on rank 0, for averages and files,".into(),
        device: "the host of a rank, beside its share of the solve,".into(),
        needed,
        free,
        total,
        fits: "write `averages = false` in [ci] and leave out --vectors, or start fewer ranks on a machine".into(),
    })
}

/// The solve that the file and the run ask for.
fn options<'p>(problem: &'p MoleculeProblem, context: &RunContext, clock: &Arc<PhaseClock>) -> CiSolve<'p> {
    let (observer, clock) = (Arc::clone(&context.observer), Arc::clone(clock));
    let mut solve = problem.solve().tuned(context.tuned).progress(move |progress| {
        clock.note(progress);
        observer.iteration(progress);
    });
    if let Some(request) = &context.checkpoint {
        solve = solve.checkpoint(&request.folder, request.seconds, request.resume);
    }
    solve
}

/// What is computed from the lowest level.
struct Properties {
    /// Averages over the level, in the orbitals of the space.
    one: OneBody,
    natural: NaturalOrbitals,
    dipole: Option<Vec<f64>>,
}

impl Properties {
    fn new(problem: &MoleculeProblem, lowest: &Array2<f64>) -> Result<Properties, Error> {
        let _properties = trace::span("observables", "densities");
        let (molecule, frozen) = (&problem.molecule, problem.file.ci.frozen);
        let one = OneBody::new(&molecule.space, lowest)?;
        let natural = natural_orbitals(&one, &molecule.integrals.irreps)?;
        let whole = one.in_all_orbitals(frozen, molecule.all_orbitals)?;
        let moment = |components: &Vec<OneElectron>| components.iter().map(|one| one.expectation(&whole)).collect();
        let dipole = molecule.dipole.as_ref().map(moment).transpose()?;
        Ok(Properties { one, natural, dipole })
    }

    /// Writes density.npz, frozen orbitals included.
    fn write(&self, folder: &Path, problem: &MoleculeProblem, lowest: &Array2<f64>) -> Result<PathBuf, Error> {
        let (molecule, frozen) = (&problem.molecule, problem.file.ci.frozen);
        let all = molecule.all_orbitals;
        let one = self.one.in_all_orbitals(frozen, all)?;
        let two = TwoBody::new(&molecule.space, lowest)?.in_all_orbitals(&self.one, frozen, all)?;
        let natural = natural_orbitals(&one, &molecule.symmetry.irreps)?;
        Ok(write_densities(folder, &one, Some(&two), Some(&natural))?)
    }
}

fn write_vectors(
    folder: &Path,
    space: &Space,
    solution: &CiSolution<'_>,
    states: &Array2<f64>,
) -> Result<PathBuf, Error> {
    // (α word, β word) of every row.
    let words = |row: u64| {
        let (up, down) = space.determinant(row);
        Some([u64::try_from(up).ok()?, u64::try_from(down).ok()?])
    };
    let orbitals = space.orbitals();
    let determinants: Option<Vec<[u64; 2]>> = (0..space.len()).map(words).collect();
    let determinants = determinants.ok_or(Error::WideStrings { orbitals })?;
    let file = VectorFile {
        energies: solution.energies(),
        vectors: VectorList::Real(states.view()),
        states: BasisStates::Determinants(&determinants),
    };
    Ok(file.write(folder)?)
}
