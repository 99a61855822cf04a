//! `eigenforge su3 transform` of an operator of rank J0: on all cores, in memory.

use super::VerbEnd;
use super::arguments::Su3TransformArguments;
use super::error::CommandError;
use super::output::{print, results_in};
use eigenforge::processes::World;
use eigenforge::report::{ReportError, publish};
use eigenforge::su3::{Su3Spec, companion_files};
use eigenforge_runtime::say;
use std::io::Write;

/// Runs the verb.
pub(super) fn run(arguments: &Su3TransformArguments, spec: &Su3Spec) -> Result<VerbEnd, CommandError> {
    refuse_options(arguments)?;
    let summary = spec.transform_ranked()?;
    let report = companion_files(&spec.output).json;
    let json = serde_json::to_string_pretty(&summary).map_err(ReportError::from)? + "\n";
    let failed = |source| ReportError::Write { file: report.clone(), source };
    publish(&report, |file| file.write_all(json.as_bytes()).map_err(failed))?;
    results_in(&spec.output);
    print(&if arguments.json { json } else { summary.to_string() });
    [&spec.output, &report].into_iter().for_each(|file| say!("wrote {}", file.display()));
    Ok(VerbEnd::Done)
}

/// What serves scalars only.
fn refuse_options(arguments: &Su3TransformArguments) -> Result<(), CommandError> {
    let Su3TransformArguments { device, no_tune, checkpoint, overrides, trace, .. } = arguments;
    let no_kernels = "it is transformed on the cores, without kernels; leave the option out or use --device cpu";
    let no_pieces = "it is transformed at once, in memory; leave the option out";
    let options = [
        ("--device", !["auto", "cpu"].contains(&&device[..]), no_kernels),
        ("--no-tune", *no_tune, no_kernels),
        ("--override", overrides.is_some(), no_kernels),
        ("--checkpoint", checkpoint.is_some(), no_pieces),
        ("--trace", trace.is_some(), "its steps are not recorded; leave the option out"),
        ("mpirun", World::join()?.is_some(), "one process transforms it; start it without mpirun"),
    ];
    match options.into_iter().find(|(_, given, _)| *given) {
        None => Ok(()),
        Some((option, _, why)) => {
            let place = "with an operator of rank J0".into();
            Err(CommandError::NoEffect { option, place, why: why.into() })
        }
    }
}
