//! `eigenforge bench SUBJECT`: hands over to [`crate::bench`].

use super::Outcome;
use super::arguments::{BenchArguments, BenchSubject};
use super::error::CommandError;
use crate::bench::ci::CiBenchError;
use crate::bench::ci_direct::DirectBenchError;
use crate::bench::dmrg::DmrgBenchError;
use crate::bench::su3::Su3BenchError;

/// Runs the verb.
pub(super) fn run(arguments: &BenchArguments) -> Result<Outcome, CommandError> {
    match &arguments.subject {
        BenchSubject::Hubbard(arguments) => crate::bench::hubbard::command(arguments, &mut std::io::stdout().lock())?,
        BenchSubject::Ci(arguments) => {
            crate::bench::ci::command(arguments, &mut std::io::stdout().lock()).map_err(|error| match error {
                CiBenchError::Spmv(error) => CommandError::from(error),
                CiBenchError::Write(error) | CiBenchError::Direct(DirectBenchError::Write(error)) => {
                    CommandError::Output(error)
                }
                CiBenchError::Direct(DirectBenchError::Device(error)) => CommandError::from(error),
                CiBenchError::Direct(other) => CommandError::DirectBench(Box::new(other)),
            })?;
        }
        BenchSubject::Dmrg(arguments) => {
            crate::bench::dmrg::command(arguments, &mut std::io::stdout().lock()).map_err(|error| match error {
                DmrgBenchError::Device(error) => CommandError::from(error),
                DmrgBenchError::Write(error) => CommandError::Output(error),
                other => CommandError::DmrgBench(Box::new(other)),
            })?;
        }
        BenchSubject::Su3(arguments) => {
            crate::bench::su3::command(arguments, &mut std::io::stdout().lock()).map_err(|error| match error {
                Su3BenchError::Device(error) => CommandError::from(error),
                Su3BenchError::Write(error) => CommandError::Output(error),
                other => CommandError::Su3Bench(Box::new(other)),
            })?;
        }
    }
    Ok(Outcome::Done)
}
