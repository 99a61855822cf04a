//! The `eigenforge` command: arguments in, one verb run, an exit code out.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done, everything converged |
//! | 1 | a fault while running: device, compiler, disk |
//! | 2 | a command line or model file that cannot be run |
//! | 3 | the solve ended without converging; what was found is printed, flagged |
//!
//! Results go to standard output; progress, warnings and errors to standard error. With `--json` standard output is one
//! JSON object and nothing else.

mod arguments;
mod bench;
mod build;
mod cache;
mod ci;
mod count;
mod dmrg;
mod doctor;
mod dump;
mod error;
mod family;
mod generated;
mod inspect;
mod inspect_ci;
mod inspect_dmrg;
mod output;
mod overrides;
mod profile;
mod progress;
mod record;
mod solve;
mod spmv;
mod su3;
mod su3_elements;
mod su3_team;
mod su3_transform;
mod tune;

use arguments::{Command, CommandLine};
use clap::{CommandFactory, Parser};
use error::CommandError;
use std::process::ExitCode;

/// How a verb ended when nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// What was looked for turned up, such as a damaged cache entry.
    Fault,
    NotConverged,
}

/// The command's definition: its verbs, options and help texts.
pub fn definition() -> clap::Command {
    CommandLine::command()
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = CommandLine::parse(); // prints help or a usage error by itself, exit code 2
    let outcome = match &arguments.command {
        Command::Solve(arguments) => solve::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Build(arguments) => build::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Tune(arguments) => tune::run(arguments),
        Command::Count(arguments) => count::run(arguments),
        Command::Cache(arguments) => cache::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Spmv(arguments) => spmv::run(arguments),
        Command::Su3(arguments) => su3::run(&arguments.verb),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Fault) => ExitCode::from(1),
        Ok(Outcome::NotConverged) => ExitCode::from(3),
        Err(CommandError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.exit_code();
            match error.compile_failure() {
                // As it is: a frame would break lines of code and the command to copy.
                Some(failure) => eprintln!("error: {failure}"),
                None => eprintln!("{:?}", miette::Report::new(error)),
            }
            ExitCode::from(code)
        }
    }
}
