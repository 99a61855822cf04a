//! `eigenforge solve MODEL.toml`: model file → model → device → solver → report.

use super::Outcome;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::print;
use super::output_folder::{self, OutputFolder};
use super::progress::Display;
use super::record::record;
use super::{ci, dmrg, overrides, profile, su3_file, su3_transform};
use eigenforge::exact::{Model, Solution, Solve};
use eigenforge::input::{InputFile, ModelFile, OutputSpec};
use eigenforge::report::{BasisStates, MemoryItem, MemoryRecord, RunReport, Seconds, VectorFile, write_trace};
use eigenforge_runtime::say;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::trace::{self, Recording};
use eigenforge_runtime::{Device, DeviceError, interrupt};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the verb; with `--trace`, recorded, and written also when it failed.
pub(super) fn run(arguments: &SolveArguments) -> Result<Outcome, CommandError> {
    let start = Instant::now();
    let recording = arguments.trace.as_ref().map(|_| Recording::start()).transpose()?;
    let whole = trace::span("solve", "eigenforge solve");
    let mut model = None;
    let outcome = run_file(arguments, start, &mut model);
    drop(whole);
    if let (Some(path), Some(recording)) = (&arguments.trace, recording) {
        let trace = recording.finish();
        trace.notes.iter().for_each(|note| say!("warning: {note}"));
        match write_trace(path, &trace) {
            Ok(path) => say!("wrote {}: open it in https://ui.perfetto.dev or chrome://tracing", path.display()),
            // What stopped the solve matters more.
            Err(fault) if outcome.is_err() => say!("warning: {fault}"),
            Err(fault) => return Err(fault.into()),
        }
        if let Some(files) = model.and_then(|model: Model| model.generated().ok()) {
            let lines = profile::lines(&files, &profile::own_command());
            say!("the same phases under NVIDIA's profilers:\n{}", lines.trim_end());
        }
    }
    outcome
}

/// Solves what the file asks for; `solved` is left the model, where that is one on a lattice.
fn run_file(arguments: &SolveArguments, start: Instant, solved: &mut Option<Model>) -> Result<Outcome, CommandError> {
    match read(arguments)? {
        InputFile::Lattice(file) => {
            let _output = begin(&file.output)?;
            let reading = trace::span("generate", "read model");
            let model = file.to_model()?;
            drop(reading);
            solve(arguments, &file, solved.insert(model), start)
        }
        InputFile::Ci(file) => {
            let _output = begin(&file.output)?;
            ci::solve(arguments, &file, start)
        }
        InputFile::Dmrg(file) => {
            let _output = begin(&file.model.output)?;
            dmrg::solve(arguments, &file, start)
        }
        InputFile::Su3(file) => su3_transform::run(&su3_file::arguments(arguments, &file)?),
    }
}

/// Signals are heeded from now on, and the output folder is this run's.
fn begin(output: &OutputSpec) -> Result<OutputFolder, CommandError> {
    heed_signals("with --checkpoint DIR a run can be gone on with");
    Ok(output_folder::lock(output.folder.as_deref())?)
}

/// From now on SIGINT and SIGTERM let a run save its state first; where that cannot be had they end it at once, as ever.
pub(super) fn heed_signals(hint: &'static str) {
    if let Err(error) = interrupt::watch(hint) {
        say!("warning: signals cannot be watched ({error}): they end the run without saving its state");
    }
}

/// Solves and reports; `start` is when the verb began.
fn solve(arguments: &SolveArguments, file: &ModelFile, model: &Model, start: Instant) -> Result<Outcome, CommandError> {
    if arguments.no_tune && ["cpu", "sim"].iter().any(|name| arguments.device.starts_with(name)) {
        let (place, why) = (format!("with --device {}", arguments.device), "`eigenforge tune` times a card".into());
        return Err(CommandError::NoEffect { option: "--no-tune", place, why });
    }
    if !arguments.json {
        print(&format!("{file}\n\n"))?;
    }
    let (device, on_cpu) = open_device(arguments)?;
    let display = Arc::new(Display::new());
    let shown = Arc::clone(&display);
    let named = file.solve.solver;
    let mut solve = Solve::new(model, named.unwrap_or(Solver::Lobpcg))
        .states(file.solve.states)
        .tolerance(file.solve.tolerance)
        .max_iterations(file.solve.max_iterations)
        .seed(file.solve.seed)
        .start(file.solve.start)
        .preconditioner(file.solve.preconditioner)
        .certify(file.solve.certify)
        .tuned(!arguments.no_tune)
        .progress(move |progress| shown.show(progress));
    if let Some(guard) = file.solve.guard {
        solve = solve.guard(guard);
    }
    if let Some(folder) = &arguments.checkpoint {
        solve = solve.checkpoint(folder, arguments.seconds_between_saves(), arguments.resume);
    }
    let mut why = None;
    if named.is_none() {
        let (chosen, reason) = solve.choose(&device);
        (solve, why) = (chosen, Some(reason));
    }
    let memory = memory_record(&device, solve.memory_plan(&device));
    if !arguments.json {
        print(&memory_lines(&memory))?;
    }
    let model_seconds = start.elapsed().as_secs_f64();
    let solution = solve.run(&device);
    display.finish();
    let solution = solution?;

    let observing = Instant::now();
    let averages = solution.observables()?;
    let observing = observing.elapsed().as_secs_f64();
    let _reporting = trace::span("report", "report");
    let mut report = record(file, &solution, solve.solver(), averages, memory);
    report.solver_reason = why;
    let solve_seconds = solution.eigenpairs().seconds;
    let certify = display.seconds_of("certify", solve_seconds);
    report.seconds = Seconds {
        setup: model_seconds + solution.setup_seconds(),
        solve: solve_seconds - certify,
        certify,
        observables: observing,
        compile: solution.device().kernels_used().iter().fold(0.0, |sum, kernel| sum + kernel.seconds),
        total: start.elapsed().as_secs_f64(),
    };
    let told = usize::from(on_cpu.is_some());
    report.warnings.splice(0..0, model.warnings());
    report.warnings.splice(0..0, on_cpu);
    report.cost.multiply_seconds = solution.multiply_seconds();
    let report = report.with_warnings();
    // What was computed is shown before anything can go wrong on a disk.
    print(&if arguments.json { report.to_json()? + "\n" } else { report.summary() })?;
    if arguments.json {
        report.warnings.iter().skip(told).for_each(|warning| say!("warning: {warning}"));
    }
    if let Some(folder) = &file.output.folder {
        write(folder, file, model, &solution, &report)?;
    }
    Ok(if report.converged() { Outcome::Done } else { Outcome::NotConverged })
}

/// The device that was asked for, and why it is the CPU if that needs saying.
pub(super) fn open_device(arguments: &SolveArguments) -> Result<(Device, Option<String>), CommandError> {
    let opening = trace::span("set up", "open the device");
    let (device, reason) = match arguments.device.as_str() {
        "auto" => Device::best_with_reason(),
        name => (Device::parse(name)?, None),
    };
    drop(opening);
    let on_cpu = reason.map(|reason| format!("using the CPU: {reason}"));
    on_cpu.iter().for_each(|line| say!("{line}"));
    overrides::give(&device, arguments.overrides.as_deref())?;
    Ok((device, on_cpu))
}

/// The model file with what the command line changes.
fn read(arguments: &SolveArguments) -> Result<InputFile, CommandError> {
    let mut file = InputFile::read(&arguments.model)?;
    if let InputFile::Dmrg(file) = &mut file {
        file.dmrg.tolerance = arguments.tolerance.unwrap_or(file.dmrg.tolerance);
        file.dmrg.seed = arguments.seed.unwrap_or(file.dmrg.seed);
    }
    let (solve, output) = match &mut file {
        InputFile::Su3(_) => return Ok(file),
        InputFile::Lattice(file) => (&mut file.solve, &mut file.output),
        InputFile::Ci(file) => (&mut file.solve, &mut file.output),
        InputFile::Dmrg(file) => (&mut file.model.solve, &mut file.model.output),
    };
    solve.solver = arguments.solver.unwrap_or(solve.solver);
    solve.states = arguments.states.unwrap_or(solve.states);
    solve.tolerance = arguments.tolerance.unwrap_or(solve.tolerance);
    solve.max_iterations = arguments.max_iterations.unwrap_or(solve.max_iterations);
    solve.seed = arguments.seed.unwrap_or(solve.seed);
    output.folder = arguments.output.clone().or(output.folder.take());
    output.vectors |= arguments.vectors;
    // DMRG has no vectors, and says so itself.
    if output.vectors && output.folder.is_none() && !matches!(file, InputFile::Dmrg(_)) {
        return Err(CommandError::VectorsWithoutFolder);
    }
    if let InputFile::Lattice(file) = &file {
        file.check_states()?;
    }
    Ok(file)
}

/// What will be resident, against what is free.
pub(super) fn memory_record(device: &Device, plan: Vec<(String, u64)>) -> MemoryRecord {
    let items: Vec<MemoryItem> = plan.into_iter().map(|(name, bytes)| MemoryItem { name, bytes }).collect();
    let planned_bytes = items.iter().fold(0u64, |sum, item| sum.saturating_add(item.bytes));
    MemoryRecord { items, planned_bytes, available_bytes: device.memory().free }
}

pub(super) fn memory_lines(memory: &MemoryRecord) -> String {
    let gib = |bytes: u64| format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64);
    let items: Vec<String> = memory.items.iter().map(|item| format!("{} ({})", item.name, gib(item.bytes))).collect();
    format!("memory   {}; {} free\n\n", items.join(", "), gib(memory.available_bytes))
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
                list = (0..model.dimension()).map(|index| model.basis().state(index) as u64).collect();
                BasisStates::List(&list)
            }
        };
        files.push(VectorFile { energies: &report.energies, vectors: &vectors, states }.write(folder)?);
    }
    for file in files {
        say!("wrote {}", file.display());
    }
    Ok(())
}
