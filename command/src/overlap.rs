//! `eigenforge overlap`: the overlaps of the states of two runs.

use super::VerbEnd;
use super::arguments::OverlapArguments;
use super::error::CommandError;
use super::output::print;
use eigenforge::Error;
use eigenforge::overlap::overlap;
use eigenforge::report::ReportError;

/// Runs the verb.
pub(super) fn run(arguments: &OverlapArguments) -> Result<VerbEnd, CommandError> {
    let record = overlap(&arguments.first, &arguments.second).map_err(Error::other)?;
    match arguments.json {
        true => print(&format!("{}\n", serde_json::to_string_pretty(&record).map_err(ReportError::from)?)),
        false => print(&record.summary()),
    }
    Ok(VerbEnd::Done)
}
