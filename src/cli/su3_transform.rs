//! `eigenforge su3 transform`: an interaction into strengths or back, piece by piece, gone on with if it was killed.
//!
//! In: the command line. Out: the result, OUT.json and OUT.svg beside it; progress by piece on standard error. While it runs
//! the result grows as OUT.partial; the same command after a kill takes up what stands there.

use super::Outcome;
use super::arguments::{Su3Algorithm, Su3TransformArguments};
use super::error::CommandError;
use super::output::{bytes, print, span};
use super::su3::refuse_to_overwrite;
use crate::input::grouped;
use crate::report::{ReportError, publish};
use crate::su3::interaction;
use crate::su3::output::Text;
use crate::su3::partial::{Partial, Run};
use crate::su3::table_cache::Served;
use crate::su3::work::{Algorithm, Direction, Job, Spent, bytes_of, pieces};
use crate::su3::{Plan, Space, Summary, TableCache, Tables};
use eigenforge_runtime::Device;
use eigenforge_runtime::jit::Settings;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A piece that fits into memory many times is still no larger: what is lost by a kill, and held at once.
const LARGEST_PIECE: u64 = 512 << 20;

/// Runs the verb.
pub(super) fn run(arguments: &Su3TransformArguments) -> Result<Outcome, CommandError> {
    if arguments.inverse && arguments.algorithm == Su3Algorithm::Paper {
        return Err(CommandError::Su3PaperInverse);
    }
    let files = Files::new(arguments)?;
    let started = Instant::now();
    let mut stages = Stages::new(started);
    let plan = Plan::new(Space { n_max: arguments.n_max });
    stages.done("plan", format!("{} elements a channel, {} groups", grouped(plan.length as u128), plan.groups.len()));

    let settings = Settings::from_env()?;
    let direction = if arguments.inverse { Direction::Inverse } else { Direction::Forward };
    let memory = Memory::new(arguments, &plan)?;
    let source = interaction::open(&arguments.interaction, &plan, direction, &TableCache::open(&settings))?;
    let channels = source.channels();
    let words: Vec<&str> = channels.iter().map(|channel| channel.word()).collect();
    stages.done("read", format!("channels {}, {}", words.join(", "), source.manner()));
    let tables = Tables::of_pairs(&plan, TableCache::open(&settings)).map_err(interaction_error)?;
    stages.done("tables", format!("of {} pairs of shells", tables.pairs()));
    let piece = memory.piece(&plan, channels.len(), source.resident() + tables.resident())?;

    let algorithm = match arguments.algorithm {
        Su3Algorithm::Factorised => Algorithm::Factorised,
        Su3Algorithm::Paper => Algorithm::Paper,
    };
    let name = run_name(arguments, direction)?;
    let run = Run { plan: &plan, kind: direction.output(), channels: &channels, name };
    let failed = |source| ReportError::Write { file: arguments.output.clone(), source };
    let mut partial = Partial::open(&arguments.output, &run).map_err(failed)?;
    let mut job = Job { plan: &plan, source: &*source, tables, direction, algorithm, spent: Spent::default() };
    let writing = work(&mut job, &mut partial, piece, &arguments.output)?;
    stages.of_pieces(&job.spent, writing);

    let shares = partial.shares().values().map(Vec::as_slice);
    let mut summary = Summary::new(&plan, &channels, shares);
    (summary.w0, summary.defect, summary.left_out) = (job.tables.w0, job.tables.defect, source.left_out());
    finish(arguments, &plan, partial, &channels, direction)?;
    stages.done("write", arguments.output.display().to_string());
    let served = job.tables.cache().served();
    job.tables.cache().evict();
    let record =
        Record { summary: &summary, seconds: &stages.seconds, tables: served, version: env!("CARGO_PKG_VERSION") };
    let json = serde_json::to_string_pretty(&record).map_err(ReportError::from)? + "\n";
    files.write(&json, &summary.norm_svg()?)?;
    if arguments.json {
        print(&json)?;
        return Ok(Outcome::Done);
    }
    let mut out = summary.to_string();
    if summary.left_out > 0 {
        let _ = writeln!(out, "\n{} rows beyond N_max = {} left out", summary.left_out, plan.n_max);
    }
    if job.spent.terms > 0 {
        let _ = writeln!(out, "\n{} innermost terms", grouped(job.spent.terms.into()));
    }
    let _ = writeln!(
        out,
        "\n{}, {} and {}, {:.2} s",
        arguments.output.display(),
        files.json.display(),
        files.svg.display(),
        started.elapsed().as_secs_f64()
    );
    print(&out)?;
    Ok(Outcome::Done)
}

/// Does the pieces that are not done yet; gives the seconds of writing.
fn work(job: &mut Job, partial: &mut Partial, piece: u64, output: &Path) -> Result<f64, CommandError> {
    let plan = job.plan;
    let known = partial.shares().clone();
    if !known.is_empty() {
        eprintln!(
            "{:>10}  {} of {} groups stand in {}.partial",
            "resume",
            known.len(),
            plan.groups.len(),
            output.display()
        );
    }
    let weight = |groups: &[usize]| groups.iter().map(|at| plan.groups[*at].length).sum::<usize>();
    let wanted = (0..plan.groups.len()).filter(|at| !known.contains_key(at));
    let pieces = pieces(plan, wanted, job.source.channels().len(), piece);
    let (total, mut done, mut writing) = (weight(&pieces.concat()).max(1), 0, 0.0);
    let started = Instant::now();
    for (at, groups) in pieces.iter().enumerate() {
        let finished = job.work(groups)?;
        let before = Instant::now();
        let failed = |source| ReportError::Write { file: output.to_path_buf(), source };
        partial.put(plan, finished).map_err(failed)?;
        writing += before.elapsed().as_secs_f64();
        done += weight(groups);
        let elapsed = started.elapsed().as_secs_f64();
        let left = elapsed * (total - done) as f64 / done as f64;
        let share = 100.0 * done as f64 / total as f64;
        eprintln!("{:>10}  {} of {}, {share:.0} %, {elapsed:.2} s, {} left", "piece", at + 1, pieces.len(), span(left));
    }
    Ok(writing)
}

/// Makes the partial result the result, in the format that the name of the output asks for.
fn finish(
    arguments: &Su3TransformArguments,
    plan: &Plan,
    mut partial: Partial,
    channels: &[crate::su3::Channel],
    direction: Direction,
) -> Result<(), CommandError> {
    let output = &arguments.output;
    let failed = |source| ReportError::Write { file: output.clone(), source };
    if output.extension().is_some_and(|extension| extension == "bin") {
        return Ok(partial.publish(output).map_err(failed)?);
    }
    let format = Text::Labels(direction.output());
    publish(output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        format.write_header(&mut out, plan).map_err(failed)?;
        for (at, group) in plan.groups.iter().enumerate() {
            let vectors = partial.group(plan, at).map_err(failed)?;
            format.write(&mut out, group, channels, &vectors).map_err(failed)?;
        }
        out.flush().map_err(failed)
    })?;
    Ok(partial.discard(output).map_err(failed)?)
}

/// A name of everything that determines the numbers.
fn run_name(arguments: &Su3TransformArguments, direction: Direction) -> Result<String, CommandError> {
    let path = &arguments.interaction;
    let mut hasher = blake3::Hasher::new();
    let read = std::fs::File::open(path).and_then(|file| hasher.update_reader(file).map(|_| ()));
    read.map_err(|source| crate::su3::TableError::Read { path: path.clone(), source })?;
    Ok(format!(
        "eigenforge {} su3 {} N_max {} {:?} of {}",
        env!("CARGO_PKG_VERSION"),
        direction.output().word(),
        arguments.n_max,
        arguments.algorithm,
        hasher.finalize().to_hex()
    ))
}

fn interaction_error(error: eigenforge_su3::LabelError) -> CommandError {
    CommandError::Su3Labels(Box::new(error))
}

/// What may be held.
struct Memory {
    limit: u64,
    n_max: u32,
}

impl Memory {
    /// Refuses what cannot be, before anything is read.
    fn new(arguments: &Su3TransformArguments, plan: &Plan) -> Result<Memory, CommandError> {
        let limit = arguments.memory.unwrap_or(Device::cpu().memory().free / 5 * 4);
        let memory = Memory { limit, n_max: arguments.n_max };
        memory.piece(plan, 1, 0)?;
        Ok(memory)
    }

    /// Bytes for a piece, beside what is held all the time.
    fn piece(&self, plan: &Plan, channels: usize, resident: u64) -> Result<u64, CommandError> {
        let largest = plan.groups.iter().map(|group| bytes_of(group, channels)).max().unwrap_or(0);
        if resident + largest > self.limit {
            return Err(CommandError::Su3Memory {
                n_max: self.n_max,
                resident: bytes(resident),
                needed: bytes(largest),
                limit: bytes(self.limit),
            });
        }
        let piece = (self.limit - resident).min(LARGEST_PIECE.max(largest));
        let all: u64 = plan.groups.iter().map(|group| bytes_of(group, channels)).sum();
        if resident > 0 {
            eprintln!(
                "{:>10}  {} held, {} of quadruples, W0 and results in pieces of at most {}; {} allowed",
                "memory",
                bytes(resident),
                bytes(all),
                bytes(piece.min(all)),
                bytes(self.limit)
            );
        }
        Ok(piece)
    }
}

/// The files beside the output.
struct Files {
    json: PathBuf,
    svg: PathBuf,
}

impl Files {
    /// OUT with the endings .json and .svg, or .summary.json where OUT has that itself.
    fn new(arguments: &Su3TransformArguments) -> Result<Files, CommandError> {
        let output = &arguments.output;
        let beside = |ending: &str| {
            let path = output.with_extension(ending);
            if path == *output { output.with_extension(format!("summary.{ending}")) } else { path }
        };
        let files = Files { json: beside("json"), svg: beside("svg") };
        [output, &files.json, &files.svg]
            .into_iter()
            .try_for_each(|file| refuse_to_overwrite(&arguments.interaction, file))?;
        Ok(files)
    }

    fn write(&self, json: &str, svg: &str) -> Result<(), CommandError> {
        for (path, text) in [(&self.json, json), (&self.svg, svg)] {
            publish(path, |file| {
                file.write_all(text.as_bytes()).map_err(|source| ReportError::Write { file: path.clone(), source })
            })?;
        }
        Ok(())
    }
}

/// The JSON beside the output.
#[derive(serde::Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    seconds: &'a [(&'static str, f64)],
    tables: Served,
    version: &'static str,
}

/// Progress by stage on standard error, and the seconds of each.
struct Stages {
    seconds: Vec<(&'static str, f64)>,
    last: Instant,
}

impl Stages {
    fn new(started: Instant) -> Stages {
        Stages { seconds: Vec::new(), last: started }
    }

    fn done(&mut self, name: &'static str, what: String) {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        self.add(name, seconds);
        eprintln!("{name:>10}  {what}, {seconds:.2} s");
    }

    /// The stages of the pieces, which take turns.
    fn of_pieces(&mut self, spent: &Spent, writing: f64) {
        self.last = Instant::now();
        let of = [("read", spent.input), ("tables", spent.tables), ("transform", spent.transform), ("write", writing)];
        let words: Vec<String> = of.iter().map(|(name, seconds)| format!("{name} {seconds:.2}")).collect();
        eprintln!("{:>10}  {} s", "pieces", words.join(", "));
        of.into_iter().for_each(|(name, seconds)| self.add(name, seconds));
    }

    fn add(&mut self, name: &'static str, seconds: f64) {
        match self.seconds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += seconds,
            None => self.seconds.push((name, seconds)),
        }
    }
}
