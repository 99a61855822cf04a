//! The verbs that make curves of a lattice model: `eigenforge spectrum`, `thermal` and `evolve`. [`eigenforge::spectrum`],
//! [`eigenforge::thermal`] and [`eigenforge::evolve`] do the work.

use super::VerbEnd;
use super::arguments::{CurveArguments, EvolveArguments};
use super::error::CommandError;
use super::output::{self, print};
use super::output_folder;
use super::progress::Display;
use super::solve::{HINT, heed_signals, recorded};
use eigenforge::Error;
use eigenforge::evolve::file_evolution;
use eigenforge::input::{InputError, InputFile, ParameterSweep};
use eigenforge::problem::Family;
use eigenforge::problem::run::{MakeCurves, RunContext, sweep_curves};
use eigenforge::processes::World;
use eigenforge::report::{CurveReport, CurveSweepRecord, MATRIX_PRODUCTS};
use eigenforge::spectrum::file_spectrum;
use eigenforge::thermal::file_thermal;
use eigenforge_runtime::say;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Files that a sweep writes into its folder, beside those of its points.
const SWEEP_FILES: [&str; 4] = ["sweep.json", "sweep.csv", "curves.csv", "sweep.svg"];

/// A verb: what it makes, how its file is read, and the library's function.
struct CurveVerb<R> {
    command: &'static str,
    result: &'static str,
    read: fn(&Path) -> Result<InputFile, InputError>,
    make: MakeCurves<R>,
    /// Whether the command line asks for the state at the end.
    vectors: bool,
}

/// Runs `eigenforge spectrum`.
pub(super) fn run_spectrum(arguments: &CurveArguments) -> Result<VerbEnd, CommandError> {
    run(
        arguments,
        CurveVerb {
            command: "eigenforge spectrum",
            result: "a spectrum",
            read: InputFile::read,
            make: file_spectrum,
            vectors: false,
        },
    )
}

/// Runs `eigenforge thermal`.
pub(super) fn run_thermal(arguments: &CurveArguments) -> Result<VerbEnd, CommandError> {
    run(
        arguments,
        CurveVerb {
            command: "eigenforge thermal",
            result: "a thermal average",
            read: InputFile::read,
            make: file_thermal,
            vectors: false,
        },
    )
}

/// Runs `eigenforge evolve`.
pub(super) fn run_evolve(arguments: &EvolveArguments) -> Result<VerbEnd, CommandError> {
    let (read, vectors) = (InputFile::read_evolving, arguments.vectors);
    let verb = CurveVerb { command: "eigenforge evolve", result: "an evolution", read, make: file_evolution, vectors };
    run(&arguments.curve, verb)
}

fn run<R: CurveReport + Send>(arguments: &CurveArguments, verb: CurveVerb<R>) -> Result<VerbEnd, CommandError> {
    let (end, _) = recorded(arguments.trace.as_deref(), verb.command, |start| {
        let end = run_from(start, arguments, verb);
        let refused = end.as_ref().is_err_and(|error| error.exit_code() == 2);
        (end, !refused)
    })?;
    end
}

fn run_from<R: CurveReport + Send>(
    start: Instant,
    arguments: &CurveArguments,
    verb: CurveVerb<R>,
) -> Result<VerbEnd, CommandError> {
    if World::join()?.is_some() {
        let (what, why) = (format!("{} over ranks", verb.result), "one process makes it: leave mpirun out");
        return Err(Error::not_of_family(Family::Lattice, &what, why).into());
    }
    let mut file = (verb.read)(&arguments.model)?;
    let points = match &file {
        InputFile::Sweep(sweep) => sweep.points.iter().map(|point| &point.file).collect(),
        file => vec![file],
    };
    for file in &points {
        let ((families, why), family) = (R::FAMILIES, Family::from_file(file));
        if !families.contains(&family) {
            return Err(Error::not_of_family(family, R::VERB, why).into());
        }
    }
    let named = match &file {
        InputFile::Sweep(sweep) => sweep.folder(),
        file => file.output().and_then(|output| output.folder.clone()),
    };
    let folder = arguments.output.clone().or(named);
    let mut names = if matches!(file, InputFile::Sweep(_)) { SWEEP_FILES.to_vec() } else { R::FILES.to_vec() };
    if let InputFile::Dmrg(chain) = &mut file {
        chain.model.output.vectors |= verb.vectors;
        if chain.model.output.vectors {
            names.push(MATRIX_PRODUCTS);
            folder.as_ref().ok_or(CommandError::VectorsWithoutFolder)?;
        }
    } else if verb.vectors {
        let why = "only matrix-product states of one run are written at the end: leave --vectors out, or add [dmrg]";
        return Err(Error::not_of_family(Family::Lattice, "--vectors of evolve", why).into());
    }
    let _output = output_folder::lock(folder.as_deref(), &names)?;
    heed_signals(HINT);
    let display = Arc::new(Display::new(arguments.json));
    let context = RunContext {
        checkpoint: arguments.saved.request(),
        ..RunContext::new(start, &arguments.device, Arc::clone(&display) as Arc<_>)
    };
    match file {
        InputFile::Sweep(sweep) => run_sweep(arguments, &verb, &sweep, (folder.as_deref(), &context, &display)),
        file => run_one(arguments, &verb, file, (folder.as_deref(), &context, &display)),
    }
}

/// Folder, run and display.
type Surroundings<'a> = (Option<&'a Path>, &'a RunContext, &'a Display);

fn run_one<R: CurveReport>(
    arguments: &CurveArguments,
    verb: &CurveVerb<R>,
    file: InputFile,
    (folder, context, display): Surroundings<'_>,
) -> Result<VerbEnd, CommandError> {
    let found = (verb.make)(file, context);
    display.take_away();
    let found = found?;
    // Files first: standard output may be closed or full.
    let written = folder.map(|folder| found.write(folder)).transpose();
    if let (Ok(Some(_)), Some(folder)) = (&written, folder) {
        output::results_in(folder);
    }
    print(&if arguments.json { found.to_json()? + "\n" } else { found.summary() });
    if arguments.json {
        found.warnings().iter().for_each(|warning| say!("warning: {warning}"));
    }
    written?.into_iter().flatten().for_each(|file| say!("wrote {}", file.display()));
    Ok(if found.converged() { VerbEnd::Done } else { VerbEnd::NotConverged })
}

/// Every point; one that fails ends the sweep, and what was found before is shown and written all the same.
fn run_sweep<R: CurveReport + Send>(
    arguments: &CurveArguments,
    verb: &CurveVerb<R>,
    sweep: &ParameterSweep,
    (folder, context, display): Surroundings<'_>,
) -> Result<VerbEnd, CommandError> {
    let mut each = |record: &CurveSweepRecord<R>| {
        let (done, all) = (record.points.len(), sweep.points.len());
        let point = &record.points[done - 1];
        display.line(&format!("{done:>4} of {all}  {}  {}", point.label, point.headline_text()));
        if let Some(Err(fault)) = folder.map(|folder| record.write_tables(folder)) {
            display.line(&format!("warning: {fault}"));
        }
    };
    let (record, done) = sweep_curves(sweep, verb.make, context, folder, &mut each);
    display.take_away();
    // Files first: standard output may be closed or full.
    let written = folder.filter(|_| !record.points.is_empty()).map(|folder| record.write(folder)).transpose();
    if let (Ok(Some(_)), Some(folder)) = (&written, folder) {
        output::results_in(folder);
    }
    match (&done, arguments.json) {
        // Standard output is for one object, which says what went wrong.
        (Err(_), true) => {}
        (Ok(()), true) => print(&(record.to_json()? + "\n")),
        (_, false) if record.points.is_empty() => {}
        (_, false) => print(&record.summary()),
    }
    if arguments.json {
        record.warnings().iter().for_each(|warning| say!("warning: {warning}"));
    }
    done?;
    written?.into_iter().flatten().for_each(|file| say!("wrote {}", file.display()));
    Ok(if record.converged() { VerbEnd::Done } else { VerbEnd::NotConverged })
}
