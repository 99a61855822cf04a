//! `eigenforge overlap`: the overlaps of the states of two runs.

use super::VerbEnd;
use super::arguments::OverlapArguments;
use super::error::CommandError;
use super::output::{print, print_json};
use eigenforge::Error;
use eigenforge::overlap::overlap;

/// Runs the verb.
pub(super) fn run(arguments: &OverlapArguments) -> Result<VerbEnd, CommandError> {
    let record = overlap(&arguments.first, &arguments.second).map_err(Error::other)?;
    match arguments.json {
        true => print_json(&record)?,
        false => print(&record.summary()),
    }
    Ok(VerbEnd::Done)
}
