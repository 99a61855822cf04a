//! `eigenforge solve` of a file with sweeps: every point, a row as soon as it and those before it are found, the table at the end.

use super::VerbEnd;
use super::arguments::SolveArguments;
use super::error::CommandError;
use super::output::print;
use super::{output_folder, solve};
use eigenforge::input::ParameterSweep;
use eigenforge::problem::run::{RunContext, Silent, solve_sweep};
use eigenforge::report::{ParameterSweepRecord, energy_text};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::say;
use std::sync::Arc;
use std::time::Instant;

/// Files that a sweep writes into its folder, beside those of its points.
const RESULTS: [&str; 2] = ["sweep.json", "sweep.csv"];

/// Runs the sweep, or of several ranks this one's points. A point that cannot be solved ends it; what was found before is shown and written
/// all the same.
pub(super) fn run(
    arguments: &SolveArguments,
    sweep: &ParameterSweep,
    ranks: Option<Arc<Ranks>>,
    start: Instant,
) -> Result<VerbEnd, CommandError> {
    let folder = sweep.folder();
    if let Some(ranks) = ranks.as_ref().filter(|ranks| !ranks.is_first()) {
        solve::heed_signals(solve::HINT);
        let context = RunContext { ranks: Some(ranks.clone()), ..solve::context(arguments, start, Arc::new(Silent)) };
        // Rank 0 has the rows, and says what went wrong.
        solve_sweep(sweep, &context, folder.as_deref(), &mut |_| {}).1?;
        return Ok(VerbEnd::Done);
    }
    let _output = output_folder::lock(folder.as_deref(), &RESULTS)?;
    let display = solve::display(arguments);
    let context = RunContext { ranks, ..solve::context(arguments, start, Arc::clone(&display) as Arc<_>) };
    let mut each = |record: &ParameterSweepRecord| {
        let (done, all) = (record.points.len(), sweep.points.len());
        let point = &record.points[done - 1];
        let found = match point.energies.first() {
            Some(energy) => format!("energy {}", energy_text(*energy, 0.0)),
            None => point.norms.iter().map(|(channel, norm)| format!("norm {channel} {norm:.6e}  ")).collect(),
        };
        display.line(&format!("{done:>4} of {all}  {}  {}", record.label(done - 1), found.trim_end()));
        if let Some(Err(fault)) = folder.as_ref().map(|folder| record.write_table(folder)) {
            display.line(&format!("warning: {fault}"));
        }
    };
    let (record, done) = solve_sweep(sweep, &context, folder.as_deref(), &mut each);
    display.take_away();
    // Files first: standard output may be closed or full.
    let written = folder.as_ref().filter(|_| !record.points.is_empty()).map(|folder| record.write(folder));
    if let Some(Ok(files)) = &written {
        solve::results(folder.as_deref(), files);
    }
    match (&done, arguments.json) {
        // Standard output is for one object, which says what went wrong.
        (Err(_), true) => {}
        (Ok(()), true) => print(&(record.to_json()? + "\n")),
        (_, false) if record.points.is_empty() => {}
        (_, false) => print(&record.summary()),
    }
    done?;
    written.transpose()?.iter().flatten().for_each(|file| say!("wrote {}", file.display()));
    Ok(if record.converged() { VerbEnd::Done } else { VerbEnd::NotConverged })
}
