//! The `eigenforge` command: arguments in, one verb run, an exit code out.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done, everything converged |
//! | 1 | a fault while running: device, compiler, disk, standard output closed or full |
//! | 2 | a command line or model file that cannot be run |
//! | 3 | the solve ended without converging; what was found is printed, flagged |
//!
//! Results go to standard output; progress, warnings and errors to standard error. With `--json` standard output is one
//! JSON object and nothing else: the result, or `{"error": …, "kind": …, "code": …}`. Files are written before results are printed, and
//! whatever becomes of standard output.

mod arguments;
mod bench;
mod build;
mod cache;
mod count;
mod curves;
mod doctor;
mod dump;
mod error;
mod export;
mod failure;
mod inspect;
mod output;
mod output_folder;
mod overlap;
mod overrides;
mod profile;
mod progress;
mod ranks;
mod refuse;
mod solve;
mod spmv;
mod su3;
mod su3_elements;
mod su3_levels;
mod su3_ranked;
mod sweep;
mod tune;

pub use failure::{Failure, FileProblem};

use arguments::{Command, CommandLine};
use clap::{CommandFactory, Parser};
use std::ffi::OsString;
use std::process::ExitCode;

/// How a verb ended when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VerbEnd {
    Done,
    /// What was looked for turned up, such as a damaged cache entry.
    Fault,
    NotConverged,
}

/// What the main thread's stack would be by default; it is set by the shell (`ulimit -s`), and may be too small.
const STACK: usize = 8 << 20;

/// The command's definition: its verbs, options and help texts.
pub fn definition() -> clap::Command {
    CommandLine::command()
}

/// Runs a command line, the program's name first, on a stack of its own.
pub fn main(words: Vec<OsString>) -> ExitCode {
    let again = words.clone();
    let thread = std::thread::Builder::new().name("main".into()).stack_size(STACK).spawn(|| run(words));
    match thread.map(|thread| thread.join()) {
        Ok(Ok(code)) => code,
        Ok(Err(_)) => ExitCode::from(101), // a panic, which has said so
        Err(_) => run(again),
    }
}

fn run(words: Vec<OsString>) -> ExitCode {
    output::set_json(words.iter().any(|word| word == "--json"));
    let arguments = match CommandLine::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => return failure::of_the_command_line(&error),
    };
    let outcome = match &arguments.command {
        Command::Solve(arguments) => solve::run(arguments),
        Command::Spectrum(arguments) => curves::run_spectrum(arguments),
        Command::Thermal(arguments) => curves::run_thermal(arguments),
        Command::Evolve(arguments) => curves::run_evolve(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Build(arguments) => build::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Tune(arguments) => tune::run(arguments),
        Command::Count(arguments) => count::run(arguments),
        Command::Cache(arguments) => cache::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Spmv(arguments) => spmv::run(arguments),
        Command::Overlap(arguments) => overlap::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Su3(arguments) => su3::run(&arguments.verb),
    };
    let outcome = match (outcome, output::fault()) {
        (Ok(_), Some(fault)) => Err(fault),
        (outcome, _) => outcome,
    };
    match outcome {
        Ok(VerbEnd::Done) => ExitCode::SUCCESS,
        Ok(VerbEnd::Fault) => ExitCode::from(1),
        Ok(VerbEnd::NotConverged) => ExitCode::from(3),
        Err(error) => failure::of_the_run(error),
    }
}
