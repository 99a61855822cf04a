//! `eigenforge solve MODEL.toml|MATRIX.npz|MATRIX.mtx`: file → problem → one driver → report, for every family.

use super::VerbEnd;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::{self, print};
use super::output_folder;
use super::progress::Display;
use super::{profile, ranks, refuse, sweep};
use eigenforge::input::{InputFile, Su3File};
use eigenforge::problem::run::{RunContext, RunObserver, Silent, Solvable, solvable};
use eigenforge::problem::{Family, TensorProblem};
use eigenforge::processes::World;
use eigenforge::report::{check_file, write_trace};
use eigenforge::su3::Processes;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::say;
use eigenforge_runtime::trace::{self, Recording};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Runs the verb, in one process or in several.
pub(super) fn run(arguments: &SolveArguments) -> Result<VerbEnd, CommandError> {
    match World::join()? {
        None => traced(arguments, |start, solved| run_file(arguments, None, start, solved)),
        Some(world) => ranks::run(arguments, world),
    }
}

/// Transforms what flags describe: `eigenforge su3 transform`.
pub(super) fn run_su3(arguments: &SolveArguments, file: Su3File) -> Result<VerbEnd, CommandError> {
    check_tuning(arguments)?;
    let team = World::join()?.map(Processes::new);
    traced(arguments, |start, solved| transform(arguments, file, team, start, solved))
}

/// Runs something; with `--trace`, recorded, and written also when it failed. `run` leaves its problem for the profilers' lines.
pub(super) fn traced(
    arguments: &SolveArguments,
    run: impl FnOnce(Instant, &mut Option<Box<dyn Solvable>>) -> Result<VerbEnd, CommandError>,
) -> Result<VerbEnd, CommandError> {
    let mut solved = None;
    let (end, wrote) = recorded(arguments.trace.as_deref(), "eigenforge solve", |start| {
        let end = run(start, &mut solved);
        // What was refused before anything ran leaves the trace of an earlier run alone.
        let refused = solved.is_none() && end.as_ref().is_err_and(|error| error.exit_code() == 2);
        (end, !refused)
    })?;
    let files = solved.filter(|_| wrote).and_then(|problem| problem.generated().ok()).unwrap_or_default();
    if !files.is_empty() {
        let lines = profile::lines(&files, &profile::own_command());
        say!("the same phases under NVIDIA's profilers:\n{}", lines.trim_end());
    }
    end
}

/// How something ended, and whether a trace was asked for and may be followed by more lines.
type Recorded = (Result<VerbEnd, CommandError>, bool);

/// Runs something; recorded and written where `path` names a file, unless it says that nothing ran.
pub(super) fn recorded(
    path: Option<&Path>,
    command: &'static str,
    run: impl FnOnce(Instant) -> (Result<VerbEnd, CommandError>, bool),
) -> Result<Recorded, CommandError> {
    let start = Instant::now();
    path.map_or(Ok(()), check_file)?;
    let recording = path.map(|_| Recording::start()).transpose()?;
    let whole = trace::span("solve", command);
    let (end, ran) = run(start);
    drop(whole);
    let (Some(path), Some(recording), true) = (path, recording, ran) else { return Ok((end, false)) };
    let trace = recording.finish();
    trace.notes.iter().for_each(|note| say!("warning: {note}"));
    match write_trace(path, &trace) {
        Ok(path) => {
            output::results_in(&path);
            say!("wrote {}: open it in https://ui.perfetto.dev or chrome://tracing", path.display())
        }
        // What stopped the run matters more.
        Err(fault) if end.is_err() => say!("warning: {fault}"),
        Err(fault) => return Err(fault.into()),
    }
    Ok((end, true))
}

/// Solves what the file asks for; the problem is left in `solved`.
fn run_file(
    arguments: &SolveArguments,
    ranks: Option<Arc<Ranks>>,
    start: Instant,
    solved: &mut Option<Box<dyn Solvable>>,
) -> Result<VerbEnd, CommandError> {
    let file = read(arguments)?;
    run_read(arguments, file, ranks, start, solved)
}

/// The same of a file that was read.
pub(super) fn run_read(
    arguments: &SolveArguments,
    file: InputFile,
    ranks: Option<Arc<Ranks>>,
    start: Instant,
    solved: &mut Option<Box<dyn Solvable>>,
) -> Result<VerbEnd, CommandError> {
    refuse::options(Family::from_file(&file), &without_meaning(arguments, &file))?;
    refuse::edits_of_a_sweep(&file, &[("--override", arguments.overrides.is_some())])?;
    check_tuning(arguments)?;
    match file {
        InputFile::Sweep(sweep) => sweep::run(arguments, &sweep, ranks, start),
        InputFile::Su3(file) => transform(arguments, *file, None, start, solved),
        file => {
            let reading = trace::span("generate", "read model");
            let problem = solved.insert(solvable(file)?);
            drop(reading);
            solve(arguments, &**problem, ranks, start)
        }
    }
}

/// A transformation: alone, as the master of a team, or as one of its workers.
pub(super) fn transform(
    arguments: &SolveArguments,
    file: Su3File,
    mut team: Option<Processes>,
    start: Instant,
    solved: &mut Option<Box<dyn Solvable>>,
) -> Result<VerbEnd, CommandError> {
    let problem = TensorProblem::new(file);
    if let Some(worker) = team.as_mut().filter(|processes| processes.rank() > 0) {
        let worked = problem.follow(&context(arguments, start, Arc::new(Silent)), worker)?;
        return Ok(if worked { VerbEnd::Done } else { VerbEnd::Fault });
    }
    solve(arguments, &**solved.insert(Box::new(problem.shared_by(team))), None, start)
}

/// What the command line gives a run.
pub(super) fn context(arguments: &SolveArguments, start: Instant, observer: Arc<dyn RunObserver>) -> RunContext {
    RunContext {
        overrides: arguments.overrides.clone(),
        tuned: !arguments.no_tune,
        checkpoint: arguments.saved.request(),
        ..RunContext::new(start, &arguments.device, observer)
    }
}

/// The driver: output folder, signals, solve, report, files.
fn solve(
    arguments: &SolveArguments,
    problem: &dyn Solvable,
    ranks: Option<Arc<Ranks>>,
    start: Instant,
) -> Result<VerbEnd, CommandError> {
    if let Some(ranks) = ranks.as_ref().filter(|ranks| !ranks.is_first()) {
        heed_signals(HINT);
        let context = RunContext { ranks: Some(ranks.clone()), ..context(arguments, start, Arc::new(Silent)) };
        let converged = problem.solve(&context)?.outcome.converged();
        return Ok(if converged { VerbEnd::Done } else { VerbEnd::NotConverged });
    }
    let folder = problem.folder();
    let _output = output_folder::lock(folder, &RESULTS)?;
    let display = display(arguments);
    let context = RunContext { ranks, ..context(arguments, start, Arc::clone(&display) as Arc<_>) };
    let solved = problem.solve(&context);
    display.take_away();
    let solved = solved?;
    let _reporting = trace::span("report", "report");
    let report = &solved.outcome;
    let text = if arguments.json { report.to_json()? + "\n" } else { report.summary() };
    let end = if report.converged() { VerbEnd::Done } else { VerbEnd::NotConverged };
    let warnings = report.warnings.clone();
    // Files first: standard output may be closed or full. What was computed is shown even if the disk fails.
    let written = solved.write(folder);
    if let Ok(files) = &written {
        results(folder, files);
    }
    print(&text);
    if arguments.json {
        let said = display.remarks();
        warnings.iter().filter(|warning| !said.contains(*warning)).for_each(|text| say!("warning: {text}"));
    }
    written?.iter().for_each(|file| say!("wrote {}", file.display()));
    Ok(end)
}

/// Files that a solve writes into its folder.
const RESULTS: [&str; 3] = ["report.json", "convergence.svg", "vectors.npz"];

/// Notes where the results are: the folder, or each file where there is none.
pub(super) fn results(folder: Option<&Path>, files: &[PathBuf]) {
    match folder {
        Some(folder) => output::results_in(folder),
        None => files.iter().for_each(|file| output::results_in(file)),
    }
}

pub(super) const HINT: &str = "a run with --checkpoint DIR can be continued";

/// What a run tells; signals are heeded from here on.
pub(super) fn display(arguments: &SolveArguments) -> Arc<Display> {
    heed_signals(HINT);
    Arc::new(Display::new(arguments.json))
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
    let of_lattices = "only a lattice model that is diagonalised has symmetry sectors";
    let sectors = ("--sectors", arguments.sectors.is_some(), of_lattices);
    match file {
        InputFile::Dmrg(_) => vec![
            sectors,
            ("--solver", arguments.solver.is_some(), "DMRG is the solver of a file with [dmrg]"),
            (
                "--states",
                arguments.states.is_some(),
                "write `targets`, the eigenstates wanted, or `states`, the states kept, in [dmrg]",
            ),
            ("--max-iterations", arguments.max_iterations.is_some(), "write `sweeps` in [dmrg]"),
            ("--checkpoint-every", arguments.saved.checkpoint_every.is_some(), "DMRG saves after every half sweep"),
            ("--no-tune", arguments.no_tune, "its kernels have one shape"),
        ],
        InputFile::Sweep(sweep) => without_meaning(arguments, &sweep.points[0].file),
        InputFile::Su3(_) => {
            let finite = "a transformation is a finite sum; nothing is searched for";
            vec![
                sectors,
                ("--solver", arguments.solver.is_some(), finite),
                ("--states", arguments.states.is_some(), finite),
                ("--tolerance", arguments.tolerance.is_some(), finite),
                ("--max-iterations", arguments.max_iterations.is_some(), finite),
                ("--seed", arguments.seed.is_some(), finite),
                ("--output", arguments.output.is_some(), "write `output`, the path of the strengths, in [su3]"),
                ("--vectors", arguments.vectors, "the strengths are what it writes"),
                ("--checkpoint-every", arguments.saved.checkpoint_every.is_some(), "every finished piece is saved"),
            ]
        }
        InputFile::Ci(_) => vec![sectors],
        InputFile::Matrix(_) => vec![
            sectors,
            (
                "--no-tune",
                arguments.no_tune,
                "the format of a matrix is chosen by bytes, and its kernels have one shape",
            ),
        ],
        InputFile::Lattice(_) => Vec::new(),
    }
}

/// The model file with what the command line changes.
pub(super) fn read(arguments: &SolveArguments) -> Result<InputFile, CommandError> {
    let mut file = match &arguments.sectors {
        Some(_) => {
            let (file, notes) = InputFile::read_all_sectors(&arguments.model)?;
            notes.iter().for_each(|note| say!("{note}"));
            file
        }
        None => InputFile::read(&arguments.model)?,
    };
    match &mut file {
        InputFile::Sweep(sweep) => {
            let sectors = sweep.sectors;
            sweep.points.iter_mut().try_for_each(|point| change(arguments, &mut point.file, sectors))?;
        }
        file => change(arguments, file, false)?,
    }
    Ok(file)
}

/// What the command line changes of a file; of a sector among many at most all states are asked for.
fn change(arguments: &SolveArguments, file: &mut InputFile, of_sectors: bool) -> Result<(), CommandError> {
    if let InputFile::Dmrg(file) = file {
        let options = &mut file.dmrg.options;
        options.tolerance = arguments.tolerance.unwrap_or(options.tolerance);
        options.seed = arguments.seed.unwrap_or(options.seed);
    }
    let (solve, output) = match file {
        InputFile::Su3(_) | InputFile::Sweep(_) => return Ok(()),
        InputFile::Lattice(file) => (&mut file.solve, &mut file.output),
        InputFile::Ci(file) => (&mut file.solve, &mut file.output),
        InputFile::Matrix(file) => (&mut file.solve, &mut file.output),
        InputFile::Dmrg(file) => (&mut file.model.solve, &mut file.model.output),
    };
    solve.solver = arguments.solver.unwrap_or(solve.solver);
    if let Some(states) = arguments.states {
        (solve.all, solve.states) = (states.is_none(), states.unwrap_or(1));
    }
    solve.check_solver().map_err(CommandError::Solver)?;
    solve.tolerance = arguments.tolerance.unwrap_or(solve.tolerance);
    solve.max_iterations = arguments.max_iterations.unwrap_or(solve.max_iterations);
    solve.seed = arguments.seed.unwrap_or(solve.seed);
    output.folder = arguments.output.clone().or(output.folder.take());
    output.vectors |= arguments.vectors;
    if output.vectors && output.folder.is_none() {
        return Err(CommandError::VectorsWithoutFolder);
    }
    if let InputFile::Lattice(file) = file {
        match (file.check_states(), of_sectors) {
            (Err(fewer), true) => file.solve.states = fewer.dimension as usize,
            (checked, _) => checked?,
        }
        if let Some(tolerance) = arguments.tolerance.filter(|tolerance| *tolerance < file.solve.least_tolerance()) {
            return Err(CommandError::TooFine { tolerance, least: file.solve.least_tolerance() });
        }
    }
    Ok(())
}
