//! `eigenforge solve MODEL.toml`: model file → model → device → solver → report.

use super::Outcome;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::print;
use super::progress::Display;
use crate::exact::{Model, Observables as Averages, Solution, Solve};
use crate::input::{ModelFile, PreconditionerChoice, SolverChoice};
use crate::report::{
    BasisStates, CostRecord, HistoryPoint, KernelRecord, LevelRecord, MemoryItem, MemoryRecord, ModelRecord,
    Observables, RunReport, Seconds, VectorFile,
};
use eigenforge_runtime::solvers::{Preconditioner, Solver, StopReason};
use eigenforge_runtime::{Device, DeviceError};
use ndarray::Array2;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The largest sector that `solver = "auto"` diagonalises as a whole: a second or so.
const AUTO_DENSE: u64 = 1000;

/// Runs the verb.
pub(super) fn run(arguments: &SolveArguments) -> Result<Outcome, CommandError> {
    let start = Instant::now();
    let file = read(arguments)?;
    let model = file.to_model()?;
    if !arguments.json {
        print(&format!("{file}\n\n"))?;
    }
    let device = Device::parse(&arguments.device)?;
    let (solver, chosen) = solver_for(&file, model.dimension());
    let memory = memory(&device, model.dimension());

    let display = Arc::new(Display::new(file.solve.tolerance));
    let shown = Arc::clone(&display);
    let mut solve = Solve::new(&model, solver)
        .states(file.solve.states)
        .tolerance(file.solve.tolerance)
        .max_iterations(file.solve.max_iterations)
        .seed(file.solve.seed)
        .preconditioner(match file.solve.preconditioner {
            PreconditionerChoice::None => Preconditioner::None,
            PreconditionerChoice::Jacobi => Preconditioner::Jacobi,
        })
        .certify(file.solve.certify)
        .progress(move |progress| shown.show(progress));
    if let Some(guard) = file.solve.guard {
        solve = solve.guard(guard);
    }
    if let Some(folder) = &arguments.checkpoint {
        solve = solve.checkpoint(folder, arguments.checkpoint_every, arguments.resume);
    }
    let model_seconds = start.elapsed().as_secs_f64();
    let solution = solve.run(&device);
    display.finish();
    let solution = solution?;

    let observing = Instant::now();
    let averages = solution.observables()?;
    let observing = observing.elapsed().as_secs_f64();
    let mut report = record(&file, &solution, solver, averages, memory);
    report.warnings.extend(chosen);
    let solve_seconds = solution.eigenpairs().seconds;
    let certify = display.seconds_of("certify", solve_seconds);
    report.seconds = Seconds {
        setup: model_seconds + solution.setup_seconds(),
        solve: solve_seconds - certify,
        certify,
        observables: observing,
        total: start.elapsed().as_secs_f64(),
        ..report.seconds
    };
    let report = report.with_warnings();
    // What was computed is shown before anything can go wrong on a disk.
    print(&if arguments.json { report.to_json()? + "\n" } else { report.summary() })?;
    if arguments.json {
        report.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    }
    if let Some(folder) = &file.output.folder {
        write(folder, &file, &model, &solution, &report)?;
    }
    Ok(if report.converged() { Outcome::Done } else { Outcome::NotConverged })
}

/// The model file with what the command line changes.
fn read(arguments: &SolveArguments) -> Result<ModelFile, CommandError> {
    let mut file = ModelFile::read(&arguments.model)?;
    let solve = &mut file.solve;
    solve.solver = arguments.solver.unwrap_or(solve.solver);
    solve.states = arguments.states.unwrap_or(solve.states);
    solve.tolerance = arguments.tolerance.unwrap_or(solve.tolerance);
    solve.max_iterations = arguments.max_iterations.unwrap_or(solve.max_iterations);
    solve.seed = arguments.seed.unwrap_or(solve.seed);
    file.output.folder = arguments.output.clone().or(file.output.folder);
    file.output.vectors |= arguments.vectors;
    file.check_states()?;
    if file.output.vectors && file.output.folder.is_none() {
        return Err(CommandError::VectorsWithoutFolder);
    }
    Ok(file)
}

/// The solver, and a line that says what "auto" chose.
fn solver_for(file: &ModelFile, dimension: u64) -> (Solver, Option<String>) {
    match file.solve.solver {
        SolverChoice::Lobpcg => (Solver::Lobpcg, None),
        SolverChoice::Lanczos => (Solver::Lanczos, None),
        SolverChoice::Dense => (Solver::Dense, None),
        SolverChoice::Auto if dimension <= AUTO_DENSE => (Solver::Dense, None),
        SolverChoice::Auto => (Solver::Lobpcg, None),
    }
}

fn memory(device: &Device, dimension: u64) -> MemoryRecord {
    let bytes = 8 * dimension;
    let items = vec![MemoryItem { name: "one vector".into(), bytes }];
    MemoryRecord { items, planned_bytes: bytes, available_bytes: device.memory().free }
}

/// The report without times and warnings.
fn record(
    file: &ModelFile,
    solution: &Solution<'_>,
    solver: Solver,
    averages: Averages,
    memory: MemoryRecord,
) -> RunReport {
    let pairs = solution.eigenpairs();
    let levels: Vec<LevelRecord> = pairs
        .levels
        .iter()
        .map(|level| LevelRecord {
            energy: level.value,
            multiplicity: level.multiplicity,
            returned: level.returned,
            complete: level.complete,
        })
        .collect();
    let kernels = solution.device().kernels_used().into_iter().map(|kernel| KernelRecord {
        name: kernel.name,
        key: kernel.key,
        cached: kernel.cached,
        overridden: false,
    });
    let history =
        pairs.history.iter().map(|&(iteration, energy, residual)| HistoryPoint { iteration, energy, residual });
    let cost = solution.cost();
    RunReport {
        model: ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() },
        lattice: file.lattice.describe(),
        sector: file.sector,
        dimension: file.dimension().and_then(|dimension| u64::try_from(dimension).ok()).unwrap_or(u64::MAX),
        energies: pairs.values.clone(),
        residuals: pairs.residuals.clone(),
        multiplicities: RunReport::multiplicities_of(&levels),
        levels,
        observables: observables(averages, pairs.ground_multiplet().len()),
        iterations: pairs.iterations,
        multiplies: pairs.multiplies,
        stop: match pairs.stop {
            StopReason::Converged => "converged",
            StopReason::MaxIterations => "max_iterations",
            StopReason::Stagnated => "stagnated",
            StopReason::Dense => "dense",
        }
        .into(),
        solver: match solver {
            Solver::Lobpcg => "lobpcg",
            Solver::Lanczos => "lanczos",
            Solver::Dense => "dense",
        }
        .into(),
        device: solution.device().name(),
        kernels: kernels.collect(),
        seconds: Seconds::default(),
        versions: [("eigenforge".to_string(), env!("CARGO_PKG_VERSION").to_string())].into(),
        seed: file.solve.seed,
        tolerance: file.solve.tolerance,
        warnings: pairs.notes.clone(),
        memory,
        cost: CostRecord { multiply_flops: cost.flops, multiply_bytes: cost.bytes, ..CostRecord::default() },
        history: history.collect(),
    }
}

fn observables(averages: Averages, averaged_over: usize) -> Observables {
    let rows = |matrix: Array2<f64>| matrix.rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    Observables {
        averaged_over,
        n_up: averages.n_up,
        n_dn: averages.n_dn,
        double_occupancy: averages.double_occupancy,
        sz: Some(averages.sz),
        szsz: Some(rows(averages.szsz)),
        nn: averages.nn.map(rows),
        sdots: Some(rows(averages.sdots)),
    }
}

/// Writes the report and what else was asked for, and says where.
fn write(
    folder: &Path,
    file: &ModelFile,
    model: &Model,
    solution: &Solution<'_>,
    report: &RunReport,
) -> Result<(), CommandError> {
    let mut files = report.write(folder)?;
    if file.output.vectors {
        let states = 0..report.energies.len();
        let vectors = states.map(|state| solution.vector(state)).collect::<Result<Vec<_>, DeviceError>>()?;
        let list: Vec<u64>;
        let states = match model.basis().species() {
            Some((up, down)) => BasisStates::Product { up, down },
            None => {
                list = (0..model.dimension()).map(|index| model.basis().state(index)).collect();
                BasisStates::List(&list)
            }
        };
        files.push(VectorFile { energies: &report.energies, vectors: &vectors, states }.write(folder)?);
    }
    for file in files {
        eprintln!("wrote {}", file.display());
    }
    Ok(())
}
