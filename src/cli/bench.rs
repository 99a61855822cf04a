//! `eigenforge bench SUBJECT`: hands over to [`crate::bench`].

use super::Outcome;
use super::arguments::{BenchArguments, BenchSubject};
use super::error::CommandError;

/// Runs the verb.
pub(super) fn run(arguments: &BenchArguments) -> Result<Outcome, CommandError> {
    match &arguments.subject {
        BenchSubject::Hubbard(arguments) => crate::bench::hubbard::command(arguments, &mut std::io::stdout().lock())?,
    }
    Ok(Outcome::Done)
}
