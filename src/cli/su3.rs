//! `eigenforge su3 transform|coefficients|wigner|count`. The work is [`crate::su3`]'s.

use super::Outcome;
use super::arguments::{Su3Algorithm, Su3CountArguments, Su3TableArguments, Su3TransformArguments, Su3Verb};
use super::error::CommandError;
use super::output::{bytes, print};
use crate::input::grouped;
use crate::report::{ReportError, publish};
use crate::su3::binary::{self, Kind};
use crate::su3::device::{self, Direction};
use crate::su3::{
    ByChannel, Plan, Space, Summary, TableError, Tables, elements, forward, h2, inverse, label_table, paper, relative,
    strengths,
};
use eigenforge_runtime::Device;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the verb.
pub(super) fn run(verb: &Su3Verb) -> Result<Outcome, CommandError> {
    match verb {
        Su3Verb::Transform(arguments) => transform(arguments),
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
    compute: impl Fn(&Path) -> Result<label_table::Computed, TableError>,
) -> Result<Outcome, CommandError> {
    let started = Instant::now();
    let computed = compute(&arguments.table)?;
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => beside(&arguments.table, "_computed.csv"),
    };
    refuse_to_overwrite(&arguments.table, &output)?;
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
    Ok(Outcome::Done)
}

fn count(arguments: &Su3CountArguments) -> Result<Outcome, CommandError> {
    let counts = Space { n_max: arguments.n_max }.counts();
    if arguments.json {
        let text = serde_json::to_string_pretty(&counts).map_err(ReportError::from)? + "\n";
        print(&text)?;
        return Ok(Outcome::Done);
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
    Ok(Outcome::Done)
}

fn transform(arguments: &Su3TransformArguments) -> Result<Outcome, CommandError> {
    refuse_to_overwrite(&arguments.interaction, &arguments.output)?;
    if arguments.inverse && arguments.algorithm == Su3Algorithm::Paper {
        return Err(CommandError::Su3PaperInverse);
    }
    let summary_file = summary_file(&arguments.output);
    refuse_to_overwrite(&arguments.interaction, &summary_file)?;
    let started = Instant::now();
    let mut stages = Stages { seconds: Vec::new(), last: started };
    let plan = Plan::new(Space { n_max: arguments.n_max });
    check_memory(&plan)?;
    stages.done("plan", format!("{} elements a channel, {} groups", grouped(plan.length as u128), plan.groups.len()));

    let input = read(arguments, &plan)?;
    let words: Vec<&str> = input.vectors.iter().map(|(channel, _)| channel.word()).collect();
    stages.done("read", format!("channels {}", words.join(", ")));
    let tables = Tables::new(&plan).map_err(|error| CommandError::Su3Labels(Box::new(error)))?;
    stages.done("tables", format!("{} W0, defect {:.1e}", grouped(tables.w0 as u128), tables.defect));

    let device = device_for(&arguments.device, arguments.n_max)?;
    let mut terms = 0;
    let mut apply = |vector: &[f64]| match (arguments.inverse, arguments.algorithm) {
        (true, _) => inverse(&plan, &tables, vector),
        (false, Su3Algorithm::Factorised) => forward(&plan, &tables, vector),
        (false, Su3Algorithm::Paper) => {
            let (strengths, added) = paper::forward(&plan, &tables, vector);
            terms += added;
            strengths
        }
    };
    let output = if device.runs_kernels() {
        let memory = device::memory_plan(&plan, input.vectors.len(), &device);
        let [vectors, coefficients, free] = [memory.vectors, memory.coefficients, memory.free].map(bytes);
        let what = format!("{} channels at once: vectors {vectors}, W0 {coefficients}; {free} free", memory.channels);
        stages.done("device", what);
        device::transform(&plan, &tables, &input, direction(arguments), &device)?
    } else {
        let vectors = input.vectors.iter().map(|(channel, vector)| (*channel, apply(vector)));
        ByChannel { vectors: vectors.collect(), left_out: 0 }
    };
    let innermost = if terms > 0 { format!(", {} innermost terms", grouped(terms.into())) } else { String::new() };
    stages.done("transform", format!("{} channels{innermost}, {}", output.vectors.len(), device.name()));

    let (u, c) = if arguments.inverse { (&output, &input) } else { (&input, &output) };
    let mut summary = Summary::new(&plan, u, c, input.left_out);
    (summary.w0, summary.defect) = (tables.w0, tables.defect);
    publish(&arguments.output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let written = write(arguments, &mut out, &plan, &output).and_then(|()| out.flush());
        written.map_err(|source| ReportError::Write { file: arguments.output.clone(), source })
    })?;
    stages.done("write", arguments.output.display().to_string());
    let record = Record { summary: &summary, seconds: &stages.seconds, version: env!("CARGO_PKG_VERSION") };
    let json = serde_json::to_string_pretty(&record).map_err(ReportError::from)? + "\n";
    publish(&summary_file, |file| {
        file.write_all(json.as_bytes()).map_err(|source| ReportError::Write { file: summary_file.clone(), source })
    })?;
    if arguments.json {
        print(&json)?;
        return Ok(Outcome::Done);
    }
    let mut out = summary.to_string();
    if summary.left_out > 0 {
        let _ = writeln!(out, "\n{} rows beyond N_max = {} left out", summary.left_out, plan.n_max);
    }
    let _ = writeln!(
        out,
        "\n{} and {}, {:.2} s",
        arguments.output.display(),
        summary_file.display(),
        started.elapsed().as_secs_f64()
    );
    print(&out)?;
    Ok(Outcome::Done)
}

/// Below this N_max the CPU is done before a card's driver has started.
const LEAST_OF_A_CARD: u32 = 10;

fn device_for(name: &str, n_max: u32) -> Result<Device, CommandError> {
    if name == "auto" && n_max < LEAST_OF_A_CARD {
        return Ok(Device::cpu());
    }
    Ok(Device::parse(name)?)
}

fn direction(arguments: &Su3TransformArguments) -> Direction {
    match (arguments.inverse, arguments.algorithm) {
        (true, _) => Direction::Inverse,
        (false, Su3Algorithm::Factorised) => Direction::Forward,
        (false, Su3Algorithm::Paper) => Direction::Paper,
    }
}

/// The input, in whichever format its beginning shows.
fn read(arguments: &Su3TransformArguments, plan: &Plan) -> Result<ByChannel, CommandError> {
    let path = &arguments.interaction;
    if binary::recognised(path) {
        let kind = if arguments.inverse { Kind::Strengths } else { Kind::Elements };
        return Ok(binary::read(path, plan, kind)?);
    }
    if arguments.inverse {
        return Ok(strengths::read(path, plan)?);
    }
    if h2::recognised(path) {
        return Ok(h2::read(path, plan)?);
    }
    if !relative::recognised(path) {
        return Ok(elements::read(path, plan)?);
    }
    let interaction = relative::read(path)?;
    if !interaction.reaches(plan) {
        let (path, n_max, found) = (path.clone(), plan.n_max, interaction.quanta_max);
        return Err(TableError::Truncation { path, n_max, found }.into());
    }
    interaction.elements(plan).map_err(|error| CommandError::Su3Labels(Box::new(error)))
}

/// The output, binary if its name ends in .bin.
fn write(
    arguments: &Su3TransformArguments,
    out: &mut dyn Write,
    plan: &Plan,
    output: &ByChannel,
) -> std::io::Result<()> {
    let kind = if arguments.inverse { Kind::Elements } else { Kind::Strengths };
    match (arguments.output.extension().is_some_and(|extension| extension == "bin"), kind) {
        (true, kind) => binary::write(out, plan, kind, output),
        (false, Kind::Elements) => elements::write(out, plan, output),
        (false, Kind::Strengths) => strengths::write(out, plan, output),
    }
}

/// The JSON beside the output.
#[derive(serde::Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    seconds: &'a [(&'static str, f64)],
    version: &'static str,
}

/// Progress by stage on standard error, and the seconds of each.
struct Stages {
    seconds: Vec<(&'static str, f64)>,
    last: Instant,
}

impl Stages {
    fn done(&mut self, name: &'static str, what: String) {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        self.seconds.push((name, seconds));
        eprintln!("{name:>10}  {what}, {seconds:.2} s");
    }
}

/// Elements and strengths of three channels, what one group has between, and W⁰: refused before it is allocated.
fn check_memory(plan: &Plan) -> Result<(), CommandError> {
    let tensors = || plan.groups.iter().flat_map(|group| &group.products).flat_map(|product| &product.tensors);
    let w0: u64 = tensors().map(|block| (block.rows * block.rows) as u64).sum();
    let largest = plan.groups.iter().map(|group| group.length as u64).max().unwrap_or(0);
    let needed = 8 * (6 * plan.length as u64 + 2 * largest * rayon::current_num_threads() as u64 + w0);
    let free = Device::cpu().memory().free;
    if needed > free {
        let (needed, free) = (bytes(needed), bytes(free));
        return Err(CommandError::Su3Memory { n_max: plan.n_max, needed, free });
    }
    Ok(())
}

/// OUT with the ending .json, or .summary.json where OUT has that itself.
fn summary_file(output: &Path) -> PathBuf {
    let json = output.with_extension("json");
    if json == output { output.with_extension("summary.json") } else { json }
}

/// FILE_suffix beside FILE.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    path.with_file_name(stem + suffix)
}

fn refuse_to_overwrite(input: &Path, output: &Path) -> Result<(), CommandError> {
    let same = input == output || matches!((input.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same { Err(CommandError::Su3SameFile { path: input.to_path_buf() }) } else { Ok(()) }
}
