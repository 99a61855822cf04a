//! A model on a lattice is diagonalised.

use super::context::PhaseClock;
use super::device::{ChosenDevice, choose_device};
use super::records::{cards_line, memory_lines, memory_record, ranks_line, shape_record, spectrum, with_eigenpairs};
use super::{RunContext, Solved, WriteFile};
use crate::Error;
use crate::exact::{LevelSpin, Model, PrepareError, RunError, Solution, Solve};
use crate::input::ModelFile;
use crate::observable::Averages;
use crate::problem::{LatticeProblem, Problem};
use crate::report::{
    BasisStates, ClusterRecord, CostRecord, CountedWork, FamilyRecord, LatticeRecord, LevelAverages, LevelSpinRecord,
    MemoryRecord, ModelRecord, Outcome, SpinCount, StructureFactor, SymmetryRecord, VectorFile, VectorList,
};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Level;
use eigenforge_runtime::{Device, DeviceError, Scalar, SolveError};
use eigenforge_templates::ScalarType;
use ndarray::{Array1, Array2};
use num_complex::Complex64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The solve that the file and the run ask for.
fn options<'p>(problem: &'p LatticeProblem, context: &RunContext, clock: &Arc<PhaseClock>) -> Solve<'p> {
    let (observer, clock) = (Arc::clone(&context.observer), Arc::clone(clock));
    let solve = problem.solve().tuned(context.tuned).progress(move |progress| {
        clock.note(progress);
        observer.iteration(progress);
    });
    match &context.checkpoint {
        Some(request) => solve.checkpoint(&request.folder, request.seconds, request.resume),
        None => solve,
    }
}

pub(super) fn solve<'p>(problem: &'p LatticeProblem, context: &RunContext) -> Result<Solved<'p>, Error> {
    match problem.file.solve.precision {
        ScalarType::F64 => solve_in::<f64>(problem, context),
        ScalarType::F32 => solve_in::<f32>(problem, context),
    }
}

fn solve_in<'p, T: Scalar>(problem: &'p LatticeProblem, context: &RunContext) -> Result<Solved<'p>, Error> {
    let LatticeProblem { file, model } = problem;
    if file.output.vectors {
        model.check_list()?;
    }
    context.observer.plan(&(problem.describe() + "\n"))?;
    let clock = Arc::new(PhaseClock::default());
    let wanted = options(problem, context, &clock);
    let choose = |device: &Device| match file.solve.solver {
        None => {
            let (chosen, why) = wanted.clone().choose(device);
            (chosen, Some(why))
        }
        Some(_) => (wanted.clone(), None),
    };
    let forecast = |machine: &Machine, device: Option<&Device>| {
        let on_cores = Device::cpu();
        choose(device.unwrap_or(&on_cores)).0.forecast(machine, device).map_err(RunError::from)
    };
    let ChosenDevice { device, on_cpu: remark, line } = choose_device(context, forecast)?;
    wanted.check_vectors(&device).map_err(|error| advised(RunError::Device(error), file))?;
    let (solve, reason) = choose(&device);
    let memory = memory_record(&device, solve.memory_plan(&device));
    let vector = model.working().dimension().saturating_mul(T::TYPE.bytes() as u64);
    let received = model.received(T::TYPE, device.cards_for(vector)?)?;
    let of_ranks = ranks_line(solve.rank_plan(&device), &device, file.solve.precision);
    context.observer.plan(&(line + &cards_line(&device, received) + &of_ranks + &memory_lines(&memory)))?;
    if file.output.vectors || !problem.observables().is_empty() {
        check_gathering::<T>(model, &solve, &device, &memory)?;
    }
    let model_seconds = context.start.elapsed().as_secs_f64();
    let solution = solve.run_in::<T>(&device);
    context.observer.finished();
    let solution = solution.map_err(|error| advised(error, file))?;

    let observing = Instant::now();
    let (level, states) = averages(problem, &solution)?;
    let (spins, fault) = match file.observables.standard {
        true => level_spins(&solution, &level),
        false => (Vec::new(), None),
    };
    let observables = observing.elapsed().as_secs_f64();
    let (pairs, cost) = (solution.eigenpairs(), solution.cost());
    let notes = remark.into_iter().chain(model.warnings()).chain(file.solve.without_effect());
    let notes = notes.chain(pairs.notes.iter().cloned()).chain(fault).collect();
    let of_sector = || file.dimension().and_then(|dimension| u64::try_from(dimension).ok()).unwrap_or(u64::MAX);
    let symmetry = model
        .symmetry_group()
        .zip(model.symmetry_text())
        .map(|((group, plain), text)| SymmetryRecord::new(text, group, &file.lattice, plain));
    let dimension = if symmetry.is_some() { model.states() } else { of_sector() };
    let cluster = ClusterRecord::new(&file.lattice);
    let family = FamilyRecord::Lattice(Box::new(LatticeRecord {
        structure_factor: StructureFactor::new(&level, &cluster),
        lattice: cluster,
        sector: file.sector.clone(),
        symmetry,
        dimension,
        degeneracy: model.symmetry_degeneracy(),
        spectrum: spectrum(pairs, solution.constant(), &spins),
        multiply: Some(solution.multiply_choice()),
        shape: solution.shape().map(|(shape, source)| shape_record(shape, source)),
    }));
    let model_record = ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() };
    let outcome = Outcome {
        solver_reason: reason,
        cost: CostRecord::new(
            &Machine::new(&device),
            CountedWork::Multiply,
            (cost.flops, cost.bytes),
            solution.multiply_seconds(),
        ),
        observables: LevelAverages {
            averaged_over: pairs.levels.first().map_or(0, |level| level.multiplicity),
            averages: level,
        },
        state_observables: states,
        ..context.outcome(
            std::slice::from_ref(&device),
            model_record,
            memory,
            notes,
            (solve.solver().into(), pairs.stop.into()),
            family,
        )
    };
    let phases = (&*clock, model_seconds + solution.setup_seconds(), observables);
    let outcome = with_eigenpairs(outcome, &file.solve, pairs, solution.energies(), phases).with_warnings();
    let mut files: Vec<WriteFile<'p>> = Vec::new();
    if file.output.vectors {
        match device.ranks() {
            None => files.push(Box::new(move |folder| write_vectors(folder, model, &solution))),
            Some(ranks) => {
                // Every rank has its share of them; rank 0 writes.
                let found = FoundVectors::new(model, &solution)?;
                if ranks.is_first() {
                    files.push(Box::new(move |folder| found.write(folder, model, solution.energies())));
                }
            }
        }
    }
    Ok(Solved::new(outcome, files))
}

/// What does not fit, with the symmetries that would make its vectors shorter.
fn advised(mut error: RunError, file: &ModelFile) -> RunError {
    if let RunError::Device(of_device)
    | RunError::Prepare(PrepareError::Device(of_device))
    | RunError::Solve(SolveError::Device(of_device)) = &mut error
        && let DeviceError::Memory { fits, .. } = of_device
    {
        let unused = file.unused_symmetries();
        if !unused.is_empty() {
            *fits += &format!("; `--sectors all` solves smaller ones one after the other ({})", unused.join(", "));
        }
    }
    error
}

/// Refuses, before the run, a vector that rank 0 would have no room to gather, for averages and for files.
fn check_gathering<T: Scalar>(
    model: &Model,
    solve: &Solve<'_>,
    device: &Device,
    memory: &MemoryRecord,
) -> Result<(), DeviceError> {
    let (Some(ranks), Some(_)) = (device.ranks(), solve.rank_plan(device)) else { return Ok(()) };
    let count = ranks.count() as u64;
    let needed = model.in_real_gauge().dimension().saturating_mul(size_of::<T>() as u64);
    let [planned, free] = [memory.planned_bytes, memory.available_bytes].map(|bytes| bytes / count);
    if planned.saturating_add(needed) <= free {
        return Ok(());
    }
    Err(DeviceError::Memory {
        what: "one whole vector on rank 0, for averages and files,".into(),
        device: "a rank, beside its share of the solve,".into(),
        needed,
        free: free.saturating_sub(planned),
        total: free,
        fits: "write `standard = false` in [observables] and leave out --vectors, or start fewer ranks on a machine"
            .into(),
    })
}

/// The total spins of all levels, where H conserves it; why there are none if their averages failed, which costs the run nothing else.
fn level_spins<T: Scalar>(solution: &Solution<'_, T>, lowest: &Averages) -> (Vec<LevelSpinRecord>, Option<String>) {
    let squared = lowest.pairs("sdots").map(|products| products.sum());
    let record = |spin: LevelSpin| LevelSpinRecord::new(spin.s_squared, spin.two_s.map(|two_s| SpinCount::all(&two_s)));
    match solution.level_spins(squared) {
        Ok(spins) => (spins.into_iter().map(record).collect(), None),
        Err(error) => (Vec::new(), Some(format!("the spins of the levels were left out: {error}"))),
    }
}

/// Averages over the lowest level, and those of the file's own observables over the level of each state.
fn averages<T: Scalar>(
    problem: &LatticeProblem,
    solution: &Solution<'_, T>,
) -> Result<(Averages, Vec<Averages>), RunError> {
    let (file, wanted) = (&problem.file, problem.observables());
    if wanted.is_empty() {
        return Ok((Averages::default(), Vec::new()));
    }
    let level = solution.level_averages(&wanted)?;
    let own = |name: &str| file.observed.iter().any(|observable| observable.name == name);
    let of_lowest =
        || level.iter().filter(|(name, _)| own(name)).map(|(name, found)| (name.to_string(), found.clone()));
    let levels = if file.observed.is_empty() { &[] } else { solution.levels() };
    let mut by_state: Vec<Averages> = Vec::new();
    for (place, Level { returned, .. }) in levels.iter().enumerate() {
        let of_level = match place {
            0 => of_lowest().collect(),
            _ => solution.state_averages(by_state.len(), &file.observed)?,
        };
        by_state.extend(std::iter::repeat_n(of_level, *returned));
    }
    Ok((level, by_state))
}

fn write_vectors<T: Scalar>(folder: &Path, model: &Model, solution: &Solution<'_, T>) -> Result<PathBuf, Error> {
    FoundVectors::new(model, solution)?.write(folder, model, solution.energies())
}

/// The vectors on the host, one per row.
enum FoundVectors {
    Real(Array2<f64>),
    Complex(Array2<Complex64>),
}

impl FoundVectors {
    fn new<T: Scalar>(model: &Model, solution: &Solution<'_, T>) -> Result<FoundVectors, DeviceError> {
        let count = solution.energies().len();
        Ok(match model.is_complex() {
            true => FoundVectors::Complex(rows(solution.complex_vectors()?.into_iter().map(Ok), count)?),
            false => FoundVectors::Real(rows((0..count).map(|state| solution.vector(state)), count)?),
        })
    }

    fn write(&self, folder: &Path, model: &Model, energies: &[f64]) -> Result<PathBuf, Error> {
        let vectors = match self {
            FoundVectors::Real(vectors) => VectorList::Real(vectors.view()),
            FoundVectors::Complex(vectors) => VectorList::Complex(vectors.view()),
        };
        let (list, long_list): (Vec<u64>, Vec<u128>);
        let words = || (0..model.states()).map(|index| model.basis().state(index));
        let states = match model.basis().species() {
            Some((up, down)) => BasisStates::Product { up, down },
            None if model.basis().word().bits() > u64::BITS => {
                long_list = words().collect();
                BasisStates::LongList(&long_list)
            }
            None => {
                list = words().map(|word| word as u64).collect();
                BasisStates::List(&list)
            }
        };
        Ok(VectorFile { energies, vectors, states }.write(folder)?)
    }
}

/// `count` vectors as the rows of a matrix.
fn rows<E: Clone + Default>(
    vectors: impl Iterator<Item = Result<Vec<E>, DeviceError>>,
    count: usize,
) -> Result<Array2<E>, DeviceError> {
    let mut matrix = Array2::default((count, 0));
    for (row, vector) in vectors.enumerate() {
        let vector = Array1::from(vector?);
        if row == 0 {
            matrix = Array2::default((count, vector.len()));
        }
        matrix.row_mut(row).assign(&vector);
    }
    Ok(matrix)
}
