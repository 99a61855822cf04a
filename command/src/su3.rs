//! `eigenforge su3 transform|coefficients|wigner|count`; `solve`, `elements` and operators of rank J0 have files of their own. The work is
//! [`eigenforge::su3`]'s.

use super::VerbEnd;
use super::arguments::{
    CheckpointArguments, SolveArguments, Su3CountArguments, Su3TableArguments, Su3TransformArguments, Su3Verb,
};
use super::error::CommandError;
use super::output::{SCHEMA, print, print_json, results_in};
use super::refuse::refusal;
use super::{solve, su3_elements, su3_levels, su3_ranked};
use eigenforge::input::{InputFile, Su3File};
use eigenforge::problem::Family;
use eigenforge::report::{ReportError, check_file, publish};
use eigenforge::su3::{
    Direction, InteractionInput, LabelTable, OscillatorSpace, Su3Spec, TableError, refuse_to_overwrite,
};
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
        Su3Verb::Transform(arguments) => transform(arguments),
        Su3Verb::Solve(arguments) => su3_levels::run(arguments),
        Su3Verb::Elements(arguments) => su3_elements::run(arguments),
        Su3Verb::Coefficients(arguments) => {
            table(arguments, |path| LabelTable::of_coefficients(path, Device::cpu().memory().free))
        }
        Su3Verb::Wigner(arguments) => table(arguments, LabelTable::of_symbols),
        Su3Verb::Count(arguments) => count(arguments),
    }
}

/// `eigenforge solve` of the model file with the flags in place of its keys, or of what the flags alone describe.
fn transform(arguments: &Su3TransformArguments) -> Result<VerbEnd, CommandError> {
    let file = with_flags(arguments)?;
    if file.su3.is_ranked() {
        return su3_ranked::run(arguments, &file.su3);
    }
    let Su3TransformArguments { device, no_tune, checkpoint, resume, overrides, trace, json, .. } = arguments;
    let arguments = SolveArguments {
        device: device.clone(),
        no_tune: *no_tune,
        saved: CheckpointArguments {
            checkpoint: checkpoint.clone(),
            resume: *resume,
            ..CheckpointArguments::default()
        },
        overrides: overrides.clone(),
        trace: trace.clone(),
        json: *json,
        ..SolveArguments::default()
    };
    solve::run_su3(&arguments, file)
}

/// The file that is meant.
fn with_flags(arguments: &Su3TransformArguments) -> Result<Su3File, CommandError> {
    let mut file = model_file(arguments.model.as_deref(), "su3 transform")?;
    let spec = &mut file.su3;
    if let Some(path) = &arguments.interaction {
        spec.interaction = InteractionInput::File(path.clone());
    }
    spec.n_max = arguments.n_max.unwrap_or(spec.n_max);
    spec.output = arguments.output.clone().unwrap_or(std::mem::take(&mut spec.output));
    spec.format = arguments.format.or(spec.format);
    if arguments.inverse {
        spec.direction = Direction::Inverse;
    }
    spec.memory = arguments.memory.or(spec.memory);
    Ok(file)
}

/// The model file of a verb, or one that the flags fill in.
pub(super) fn model_file(path: Option<&Path>, verb: &'static str) -> Result<Su3File, CommandError> {
    match path.map(InputFile::read).transpose()? {
        None => Ok(nothing()),
        Some(InputFile::Su3(file)) => Ok(*file),
        Some(other @ InputFile::Sweep(_)) => {
            let why = "it takes a file without sweeps; `eigenforge solve` transforms all points of one";
            Err(refusal(Family::from_file(&other), verb, why))
        }
        Some(other) => Err(refusal(Family::from_file(&other), verb, "it takes a file with [su3]")),
    }
}

/// What the flags fill in where there is no file; clap lets none of the three that have no default be missing.
fn nothing() -> Su3File {
    let (interaction, output) = (InteractionInput::File(PathBuf::new()), PathBuf::new());
    let (direction, format, memory, hamiltonian) = (Direction::Forward, None, None, None);
    let su3 = Su3Spec { interaction, n_max: 0, output, format, direction, memory, hamiltonian };
    Su3File { name: String::new(), text: String::new(), su3 }
}

/// A table of labels with its new column, for programs.
#[derive(serde::Serialize)]
struct TableRecord {
    schema: u32,
    rows: usize,
    /// max |computed − value|; `null` without a column `value`.
    difference: Option<f64>,
    /// Largest deviation of a block from orthonormality.
    defect: f64,
    output: PathBuf,
    seconds: f64,
}

/// Adds a column to a table of labels.
fn table(
    arguments: &Su3TableArguments,
    compute: impl Fn(&Path) -> Result<LabelTable, TableError>,
) -> Result<VerbEnd, CommandError> {
    let started = Instant::now();
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None if arguments.table.as_os_str() == STANDARD_INPUT => return Err(CommandError::Su3NoOutput),
        None => sibling_path(&arguments.table, "_computed.csv"),
    };
    refuse_to_overwrite(&arguments.table, &output)?;
    check_file(&output)?;
    let computed = compute(&arguments.table)?;
    publish(&output, |file| {
        file.write_all(computed.text.as_bytes()).map_err(|source| ReportError::Write { file: output.clone(), source })
    })?;
    results_in(&output);
    let seconds = started.elapsed().as_secs_f64();
    if arguments.json {
        let LabelTable { rows, difference, defect, .. } = computed;
        print_json(&TableRecord { schema: SCHEMA, rows, difference, defect, output, seconds })?;
        return Ok(VerbEnd::Done);
    }
    let mut out = format!("{} rows, column `computed` added: {}\n", computed.rows, output.display());
    if let Some(difference) = computed.difference {
        let _ = writeln!(out, "largest difference from column `value`: {difference:.1e}");
    }
    if computed.defect > 0.0 {
        let _ = writeln!(out, "largest measured defect of a block's orthonormality: {:.1e}", computed.defect);
    }
    let _ = writeln!(out, "{seconds:.2} s");
    print(&out);
    Ok(VerbEnd::Done)
}

fn count(arguments: &Su3CountArguments) -> Result<VerbEnd, CommandError> {
    let counts = OscillatorSpace { n_max: arguments.n_max }.counts();
    if arguments.json {
        print_json(&counts)?;
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
    print(&out);
    Ok(VerbEnd::Done)
}

/// FILE_suffix beside FILE.
fn sibling_path(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    path.with_file_name(stem + suffix)
}
