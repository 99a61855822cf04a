//! `eigenforge su3 coefficients|wigner|count`; `transform` and `elements` have files of their own. The work is [`eigenforge::su3`]'s.

use super::VerbEnd;
use super::arguments::{Su3CountArguments, Su3TableArguments, Su3Verb};
use super::error::CommandError;
use super::output::print;
use super::{su3_elements, su3_transform};
use eigenforge::report::{ReportError, publish};
use eigenforge::su3::{Space, TableError, label_table};
use eigenforge::words::grouped;
use eigenforge_runtime::Device;
use eigenforge_runtime::input_file::STANDARD_INPUT;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the verb.
pub(super) fn run(verb: &Su3Verb) -> Result<VerbEnd, CommandError> {
    match verb {
        Su3Verb::Transform(arguments) => su3_transform::run(arguments),
        Su3Verb::Elements(arguments) => su3_elements::run(arguments),
        Su3Verb::Coefficients(arguments) => {
            table(arguments, |path| label_table::coefficients(path, Device::cpu().memory().free))
        }
        Su3Verb::Wigner(arguments) => table(arguments, label_table::symbols),
        Su3Verb::Count(arguments) => count(arguments),
    }
}

/// Adds a column to a table of labels.
fn table(
    arguments: &Su3TableArguments,
    compute: impl Fn(&Path) -> Result<label_table::LabelTable, TableError>,
) -> Result<VerbEnd, CommandError> {
    let started = Instant::now();
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None if arguments.table.as_os_str() == STANDARD_INPUT => return Err(CommandError::Su3NoOutput),
        None => beside(&arguments.table, "_computed.csv"),
    };
    refuse_to_overwrite(&arguments.table, &output)?;
    let computed = compute(&arguments.table)?;
    publish(&output, |file| {
        file.write_all(computed.text.as_bytes()).map_err(|source| ReportError::Write { file: output.clone(), source })
    })?;
    let mut out = format!("{} rows, column `computed` added: {}\n", computed.rows, output.display());
    if let Some(difference) = computed.difference {
        let _ = writeln!(out, "largest difference from column `value`: {difference:.1e}");
    }
    if computed.defect > 0.0 {
        let _ = writeln!(out, "largest measured defect of a block's orthonormality: {:.1e}", computed.defect);
    }
    let _ = writeln!(out, "{:.2} s", started.elapsed().as_secs_f64());
    print(&out)?;
    Ok(VerbEnd::Done)
}

fn count(arguments: &Su3CountArguments) -> Result<VerbEnd, CommandError> {
    let counts = Space { n_max: arguments.n_max }.counts();
    if arguments.json {
        let text = serde_json::to_string_pretty(&counts).map_err(ReportError::from)? + "\n";
        print(&text)?;
        return Ok(VerbEnd::Done);
    }
    let mut out = format!(
        "N_max = {}: shells n <= {}, pairs na + nb <= {}, both orders\n\n",
        counts.n_max,
        counts.n_max + 1,
        counts.n_max + 2
    );
    for (name, number) in [
        ("orbits n l j", counts.orbits),
        ("ordered pairs of shells", counts.shell_pairs),
        ("quadruples of shells", counts.quadruples),
        ("pairs of irreps (lambda_f mu_f) (lambda_i mu_i)", counts.irrep_pairs),
        ("two-nucleon states, all J", counts.states),
        ("most states with one J and parity", counts.largest_block),
        ("elements in, a channel", counts.elements),
        ("elements in, channels pn, pp, nn", 3 * counts.elements),
        ("tensor strengths out, channels pn, pp, nn", 3 * counts.elements),
    ] {
        let _ = writeln!(out, "  {name:<50} {:>16}", grouped(number.into()));
    }
    print(&out)?;
    Ok(VerbEnd::Done)
}

/// FILE_suffix beside FILE.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    path.with_file_name(stem + suffix)
}

/// An input that would be written over.
pub(super) fn refuse_to_overwrite(input: &Path, output: &Path) -> Result<(), CommandError> {
    let same = input == output || matches!((input.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same { Err(CommandError::Su3SameFile { path: input.to_path_buf() }) } else { Ok(()) }
}
