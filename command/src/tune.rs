//! `eigenforge tune MODEL.toml`: times the shapes of a problem's kernels on this card and keeps the fastest.

use super::VerbEnd;
use super::arguments::TuneArguments;
use super::error::CommandError;
use super::output::{print, print_json};
use eigenforge::input::InputFile;
use eigenforge::problem::run::solvable;
use eigenforge_runtime::Device;
use eigenforge_runtime::tune::Tuning;
use std::fmt::Write;

/// Runs the verb.
pub(super) fn run(arguments: &TuneArguments) -> Result<VerbEnd, CommandError> {
    let problem = solvable(InputFile::read(&arguments.model)?)?;
    problem.check_shapes()?;
    let device = Device::parse(&arguments.device)?;
    if !arguments.json {
        print(&(problem.describe() + "\n"));
    }
    let tuning = problem.tune(&device)?;
    match arguments.json {
        true => print_json(&record(&tuning))?,
        false => print(&table(&tuning, &device)),
    }
    Ok(VerbEnd::Done)
}

/// One line a candidate, the rule's first.
fn table(tuning: &Tuning, device: &Device) -> String {
    let mut out = format!("one product on {}\n\n", device.name());
    // Writing to a String cannot fail.
    let _ = writeln!(out, "  {:>9}  {:>6}  {:>6}", "ms", "rule x", "floor");
    let rule = tuning.choice.rule_milliseconds;
    for (number, timing) in tuning.timings.iter().enumerate() {
        let took = timing.milliseconds;
        let mark = match (timing.name == tuning.choice.shape, number) {
            (true, 0) => "  <- rule, chosen",
            (true, _) => "  <- chosen",
            (false, 0) => "  <- rule",
            _ => "",
        };
        let _ =
            writeln!(out, "  {took:>9.4}  {:>6.3}  {:>6.2}  {}{mark}", rule / took, took / tuning.floor, timing.name);
    }
    for (shape, why) in &tuning.left_out {
        let _ = writeln!(out, "  left out: {shape}: {why}");
    }
    let _ = match &tuning.kept {
        Ok(file) => {
            writeln!(out, "\nkept in {}; `solve` on this card takes it, `solve --no-tune` does not", file.display())
        }
        Err(why) => writeln!(out, "\nwarning: the choice was not kept: {why}"),
    };
    out
}

fn record(tuning: &Tuning) -> serde_json::Value {
    serde_json::json!({
        "name": tuning.choice.name,
        "conditions": tuning.choice.conditions,
        "shape": tuning.choice.shape,
        "milliseconds": tuning.choice.milliseconds,
        "rule_milliseconds": tuning.choice.rule_milliseconds,
        "floor_milliseconds": tuning.floor,
        "tried": tuning.choice.tried,
        "left_out": tuning.left_out,
        "kept": tuning.kept.as_ref().ok(),
        "warning": tuning.kept.as_ref().err(),
    })
}
