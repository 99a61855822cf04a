//! The verbs that make curves of a lattice model: `eigenforge spectrum`, `thermal` and `evolve`. [`eigenforge::spectrum`],
//! [`eigenforge::thermal`] and [`eigenforge::evolve`] do the work.

use super::VerbEnd;
use super::arguments::{CurveArguments, EvolveArguments};
use super::error::CommandError;
use super::output::{self, print};
use super::output_folder;
use super::progress::Display;
use super::solve::{HINT, heed_signals};
use eigenforge::Error;
use eigenforge::evolve::{EvolutionRecord, chain_evolution, evolution};
use eigenforge::input::{InputError, InputFile, ModelFile};
use eigenforge::problem::Family;
use eigenforge::problem::run::RunContext;
use eigenforge::processes::World;
use eigenforge::report::{CurveReport, MATRIX_PRODUCTS};
use eigenforge::spectrum::spectrum;
use eigenforge::thermal::thermal;
use eigenforge_runtime::say;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A verb: its name, what it makes, how its file is read, and the library's function.
struct CurveVerb<R> {
    name: &'static str,
    result: &'static str,
    read: fn(&Path) -> Result<InputFile, InputError>,
    make: fn(InputFile, &RunContext) -> Result<R, Error>,
    /// Whether chains of DMRG have it.
    of_chains: bool,
    /// Whether the command line asks for the state at the end.
    vectors: bool,
}

/// The file of a lattice model, which [`run`] has made sure of.
fn lattice_file(file: InputFile) -> ModelFile {
    match file {
        InputFile::Lattice(file) => *file,
        _ => unreachable!("files of other families are refused before"),
    }
}

fn evolution_of(file: InputFile, context: &RunContext) -> Result<EvolutionRecord, Error> {
    match file {
        InputFile::Dmrg(file) => chain_evolution(&file, context),
        file => evolution(lattice_file(file), context),
    }
}

/// Runs `eigenforge spectrum`.
pub(super) fn run_spectrum(arguments: &CurveArguments) -> Result<VerbEnd, CommandError> {
    let (read, make) = (InputFile::read, |file, context: &RunContext| spectrum(lattice_file(file), context));
    run(arguments, CurveVerb { name: "spectrum", result: "a spectrum", read, make, of_chains: false, vectors: false })
}

/// Runs `eigenforge thermal`.
pub(super) fn run_thermal(arguments: &CurveArguments) -> Result<VerbEnd, CommandError> {
    let (read, make) = (InputFile::read, |file, context: &RunContext| thermal(lattice_file(file), context));
    let verb = CurveVerb { name: "thermal", result: "a thermal average", read, make, of_chains: false, vectors: false };
    run(arguments, verb)
}

/// Runs `eigenforge evolve`.
pub(super) fn run_evolve(arguments: &EvolveArguments) -> Result<VerbEnd, CommandError> {
    let (read, make, vectors) = (InputFile::read_evolving, evolution_of as fn(_, &_) -> _, arguments.vectors);
    let verb = CurveVerb { name: "evolve", result: "an evolution", read, make, of_chains: true, vectors };
    run(&arguments.curve, verb)
}

fn run<R: CurveReport>(arguments: &CurveArguments, verb: CurveVerb<R>) -> Result<VerbEnd, CommandError> {
    let start = Instant::now();
    if World::join()?.is_some() {
        let (what, why) = (format!("{} over ranks", verb.result), "one process makes it: leave mpirun out");
        return Err(Error::not_of_family(Family::Lattice, &what, why).into());
    }
    let file = match (verb.read)(&arguments.model)? {
        file @ InputFile::Lattice(_) => file,
        file @ InputFile::Dmrg(_) if verb.of_chains => file,
        InputFile::Sweep(sweep) => {
            let (what, family) = (format!("{} of a sweep", verb.result), Family::from_file(&sweep.points[0].file));
            return Err(Error::not_of_family(family, &what, "give every swept key one value").into());
        }
        file => {
            let why = "it is of lattice models that are diagonalised";
            return Err(Error::not_of_family(Family::from_file(&file), verb.name, why).into());
        }
    };
    let mut file = file;
    let mut names = R::FILES.to_vec();
    match &mut file {
        InputFile::Dmrg(file) => {
            file.model.output.vectors |= verb.vectors;
            names.extend(file.model.output.vectors.then_some(MATRIX_PRODUCTS));
        }
        _ if verb.vectors => {
            let why = "only matrix-product states are written at the end: leave --vectors out, or add [dmrg]";
            return Err(Error::not_of_family(Family::Lattice, "--vectors of evolve", why).into());
        }
        _ => {}
    }
    let folder = arguments.output.clone().or_else(|| file.output().and_then(|output| output.folder.clone()));
    if names.len() > R::FILES.len() && folder.is_none() {
        return Err(CommandError::VectorsWithoutFolder);
    }
    let _output = output_folder::lock(folder.as_deref(), &names)?;
    heed_signals(HINT);
    let display = Arc::new(Display::new(arguments.json));
    let context = RunContext {
        checkpoint: arguments.saved.request(),
        ..RunContext::new(start, &arguments.device, Arc::clone(&display) as Arc<_>)
    };
    let found = (verb.make)(file, &context);
    display.take_away();
    let found = found?;
    // Files first: standard output may be closed or full.
    let written = folder.as_deref().map(|folder: &Path| found.write(folder)).transpose();
    if let (Ok(Some(_)), Some(folder)) = (&written, &folder) {
        output::results_in(folder);
    }
    print(&if arguments.json { found.to_json()? + "\n" } else { found.summary() });
    if arguments.json {
        found.warnings().iter().for_each(|warning| say!("warning: {warning}"));
    }
    written?.into_iter().flatten().for_each(|file| say!("wrote {}", file.display()));
    Ok(if found.converged() { VerbEnd::Done } else { VerbEnd::NotConverged })
}
