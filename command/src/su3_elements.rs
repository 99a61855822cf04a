//! `eigenforge su3 elements`: an interaction of any format as two-body matrix elements in another.

use super::VerbEnd;
use super::arguments::Su3ElementsArguments;
use super::error::CommandError;
use super::output::{SCHEMA, print, print_json, results_in};
use eigenforge::report::{ReportError, check_file, publish};
use eigenforge::su3::{
    Direction, OscillatorSpace, Plan, TableCache, TensorKind, format_of, open_interaction, refuse_to_overwrite,
};
use eigenforge::words::grouped;
use eigenforge_runtime::jit::Settings;
use std::io::{BufWriter, Write};
use std::time::Instant;

/// Runs the verb.
pub(super) fn run(arguments: &Su3ElementsArguments) -> Result<VerbEnd, CommandError> {
    refuse_to_overwrite(&arguments.interaction, &arguments.output)?;
    check_file(&arguments.output)?;
    let format = format_of(&arguments.output, TensorKind::Elements, arguments.format)?;
    let started = Instant::now();
    let plan = Plan::new(OscillatorSpace { n_max: arguments.n_max });
    let cache = TableCache::open(&Settings::from_env()?);
    let source = open_interaction(&arguments.interaction, &plan, Direction::Forward, &cache)?;
    publish(&arguments.output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let written = format.write(&mut out, &arguments.output, &plan, TensorKind::Elements, &*source);
        let failed = |source| ReportError::Write { file: arguments.output.clone(), source };
        written.and_then(|()| out.flush()).map_err(failed)
    })?;
    results_in(&arguments.output);
    let words: Vec<&str> = source.channels().iter().map(|channel| channel.word()).collect();
    let seconds = started.elapsed().as_secs_f64();
    if arguments.json {
        print_json(&serde_json::json!({
            "schema": SCHEMA, "elements": plan.length, "channels": words, "left_out": source.left_out(),
            "format": format.word(), "output": arguments.output, "seconds": seconds,
        }))?;
        return Ok(VerbEnd::Done);
    }
    print(&format!(
        "{} elements of each of {}, {} left out, as {} in {}, {seconds:.2} s\n",
        grouped(plan.length as u128),
        words.join(", "),
        source.left_out(),
        format.word(),
        arguments.output.display()
    ));
    Ok(VerbEnd::Done)
}
