//! `eigenforge spectrum MODEL.toml`: the curves that the file's `[spectrum]` asks for. [`eigenforge::spectrum`] does the work.

use super::VerbEnd;
use super::arguments::SpectrumArguments;
use super::error::CommandError;
use super::output::{self, print};
use super::output_folder;
use super::progress::Display;
use super::solve::{HINT, heed_signals};
use eigenforge::Error;
use eigenforge::input::InputFile;
use eigenforge::problem::Family;
use eigenforge::problem::run::RunContext;
use eigenforge::processes::World;
use eigenforge::spectrum::{SpectrumRecord, spectrum};
use eigenforge_runtime::say;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Runs the verb.
pub(super) fn run(arguments: &SpectrumArguments) -> Result<VerbEnd, CommandError> {
    let start = Instant::now();
    if World::join()?.is_some() {
        let why = "one process makes them: leave mpirun out".to_string();
        return Err(Error::not_of_family(Family::Lattice, "a spectrum over ranks", why).into());
    }
    let file = match InputFile::read(&arguments.model)? {
        InputFile::Lattice(file) => *file,
        InputFile::Sweep(sweep) => {
            let (family, why) = (Family::from_file(&sweep.points[0].file), "give every swept key one value");
            return Err(Error::not_of_family(family, "the spectrum of a sweep", why).into());
        }
        file => {
            let why = "spectra are of lattice models that are diagonalised";
            return Err(Error::not_of_family(Family::from_file(&file), "spectrum", why).into());
        }
    };
    let folder = arguments.output.clone().or_else(|| file.output.folder.clone());
    let _output = output_folder::lock(folder.as_deref(), &SpectrumRecord::FILES)?;
    heed_signals(HINT);
    let display = Arc::new(Display::new(arguments.json));
    let context = RunContext::new(start, &arguments.device, Arc::clone(&display) as Arc<_>);
    let found = spectrum(file, &context);
    display.take_away();
    let found = found?;
    // Files first: standard output may be closed or full.
    let written = folder.as_deref().map(|folder: &Path| found.write(folder)).transpose();
    if let (Ok(Some(_)), Some(folder)) = (&written, &folder) {
        output::results_in(folder);
    }
    print(&if arguments.json { found.to_json()? + "\n" } else { found.summary() });
    if arguments.json {
        found.warnings.iter().for_each(|warning| say!("warning: {warning}"));
    }
    written?.into_iter().flatten().for_each(|file| say!("wrote {}", file.display()));
    Ok(if found.converged { VerbEnd::Done } else { VerbEnd::NotConverged })
}
