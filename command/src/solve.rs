//! `eigenforge solve MODEL.toml`: model file → problem → one driver → report, for every family.

use super::VerbEnd;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::print;
use super::output_folder;
use super::progress::Display;
use super::{profile, refuse, su3_file, su3_transform};
use eigenforge::input::InputFile;
use eigenforge::problem::run::{CheckpointRequest, RunContext, Solvable};
use eigenforge::problem::{ChainProblem, Family, LatticeProblem, MoleculeProblem, Problem};
use eigenforge::report::write_trace;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::say;
use eigenforge_runtime::trace::{self, Recording};
use std::sync::Arc;
use std::time::Instant;

/// Runs the verb; with `--trace`, recorded, and written also when it failed.
pub(super) fn run(arguments: &SolveArguments) -> Result<VerbEnd, CommandError> {
    let start = Instant::now();
    let recording = arguments.trace.as_ref().map(|_| Recording::start()).transpose()?;
    let whole = trace::span("solve", "eigenforge solve");
    let mut solved = None;
    let end = run_file(arguments, start, &mut solved);
    drop(whole);
    if let (Some(path), Some(recording)) = (&arguments.trace, recording) {
        let trace = recording.finish();
        trace.notes.iter().for_each(|note| say!("warning: {note}"));
        match write_trace(path, &trace) {
            Ok(path) => say!("wrote {}: open it in https://ui.perfetto.dev or chrome://tracing", path.display()),
            // What stopped the solve matters more.
            Err(fault) if end.is_err() => say!("warning: {fault}"),
            Err(fault) => return Err(fault.into()),
        }
        if let Some(files) = solved.and_then(|problem: LatticeProblem| problem.generated().ok()) {
            let lines = profile::lines(&files, &profile::own_command());
            say!("the same phases under NVIDIA's profilers:\n{}", lines.trim_end());
        }
    }
    end
}

/// Solves what the file asks for; a problem on a lattice is left in `solved`.
fn run_file(
    arguments: &SolveArguments,
    start: Instant,
    solved: &mut Option<LatticeProblem>,
) -> Result<VerbEnd, CommandError> {
    let file = read(arguments)?;
    refuse::options(Family::of(&file), &without_meaning(arguments, &file))?;
    let reading = trace::span("generate", "read model");
    match file {
        InputFile::Lattice(file) => {
            check_tuning(arguments)?;
            let problem = solved.insert(LatticeProblem::new(*file)?);
            drop(reading);
            solve(arguments, problem, start)
        }
        InputFile::Ci(file) => {
            let problem = MoleculeProblem::read(*file)?;
            drop(reading);
            solve(arguments, &problem, start)
        }
        InputFile::Dmrg(file) => {
            let problem = ChainProblem::new(*file)?;
            drop(reading);
            solve(arguments, &problem, start)
        }
        InputFile::Su3(file) => {
            drop(reading);
            su3_transform::run(&su3_file::arguments(arguments, &file)?)
        }
    }
}

/// The driver: output folder, signals, solve, report, files.
fn solve(arguments: &SolveArguments, problem: &impl Solvable, start: Instant) -> Result<VerbEnd, CommandError> {
    heed_signals("with --checkpoint DIR a run can be gone on with");
    let folder = problem.output().folder.clone();
    let _output = output_folder::lock(folder.as_deref())?;
    let display = Arc::new(Display::new(arguments.json));
    let seconds = arguments.seconds_between_saves();
    let checkpoint = arguments.checkpoint.clone();
    let context = RunContext {
        start,
        device: arguments.device.clone(),
        overrides: arguments.overrides.clone(),
        tuned: !arguments.no_tune,
        checkpoint: checkpoint.map(|folder| CheckpointRequest { folder, seconds, resume: arguments.resume }),
        observer: Arc::clone(&display) as Arc<_>,
    };
    let solved = problem.solve(&context);
    display.take_away();
    let solved = solved?;
    let _reporting = trace::span("report", "report");
    let report = &solved.outcome;
    // What was computed is shown before anything can go wrong on a disk.
    print(&if arguments.json { report.to_json()? + "\n" } else { report.summary() })?;
    if arguments.json {
        let said = display.remarks();
        report.warnings.iter().filter(|warning| !said.contains(*warning)).for_each(|text| say!("warning: {text}"));
    }
    let end = if report.converged() { VerbEnd::Done } else { VerbEnd::NotConverged };
    if let Some(folder) = &folder {
        solved.write(folder)?.iter().for_each(|file| say!("wrote {}", file.display()));
    }
    Ok(end)
}

/// From now on SIGINT and SIGTERM let a run save its state first; where that cannot be had they end it at once, as ever.
pub(super) fn heed_signals(hint: &'static str) {
    if let Err(error) = interrupt::watch(hint) {
        say!("warning: signals cannot be watched ({error}): they end the run without saving its state");
    }
}

/// `--no-tune` for a device that runs no generated kernels.
fn check_tuning(arguments: &SolveArguments) -> Result<(), CommandError> {
    if arguments.no_tune && ["cpu", "sim"].iter().any(|name| arguments.device.starts_with(name)) {
        let (place, why) = (format!("with --device {}", arguments.device), "`eigenforge tune` times a card".into());
        return Err(CommandError::NoEffect { option: "--no-tune", place, why });
    }
    Ok(())
}

/// Options of the command line that have no meaning for the family: name, whether given, why.
fn without_meaning(arguments: &SolveArguments, file: &InputFile) -> Vec<(&'static str, bool, &'static str)> {
    let tune = ("--no-tune", arguments.no_tune, "`eigenforge tune` times lattice models only");
    match file {
        InputFile::Ci(_) => vec![tune],
        InputFile::Dmrg(_) => vec![
            ("--solver", arguments.solver.is_some(), "DMRG is the solver of a file with [dmrg]"),
            ("--states", arguments.states.is_some(), "write `states`, the states kept, in [dmrg]"),
            ("--max-iterations", arguments.max_iterations.is_some(), "write `sweeps` in [dmrg]"),
            ("--checkpoint-every", arguments.checkpoint_every.is_some(), "DMRG saves after every half sweep"),
            ("--vectors", arguments.vectors, "a DMRG state cannot be written as a vector over a basis"),
            tune,
        ],
        InputFile::Lattice(_) | InputFile::Su3(_) => Vec::new(),
    }
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
        if let Some(tolerance) = arguments.tolerance.filter(|tolerance| *tolerance < file.solve.least_tolerance()) {
            return Err(CommandError::TooFine { tolerance, least: file.solve.least_tolerance() });
        }
    }
    Ok(file)
}
