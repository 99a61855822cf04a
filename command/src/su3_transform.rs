//! `eigenforge su3 transform`: an interaction into strengths or back, piece by piece, gone on with if it was killed.
//!
//! In: the command line. Out: the result, OUT.json and OUT.svg beside it; progress by piece on standard error. While it runs
//! the result grows as OUT.partial; the same command after a kill takes up what stands there. The next piece is read and the last is
//! written while one is worked on. Under `mpirun` rank 0 deals the groups out and writes, the others work.

use super::VerbEnd;
use super::arguments::Su3TransformArguments;
use super::error::CommandError;
use super::output::{bytes, print};
use super::solve::heed_signals;
use super::su3::refuse_to_overwrite;
use super::su3_pieces::{Card, Cores, LARGEST_PIECE, UNDER_WAY, by_pieces, portions_of};
use super::su3_progress::{Progress, Stages};
use super::su3_team::{self, Processes};
use eigenforge::problem::run::{kernel_records, versions, warnings_of};
use eigenforge::report::{KernelRecord, ReportError, publish};
use eigenforge::su3::binary::Kind;
use eigenforge::su3::device::Layouts;
use eigenforge::su3::interaction;
use eigenforge::su3::output::Format;
use eigenforge::su3::partial::{Partial, Run};
use eigenforge::su3::source::Source;
use eigenforge::su3::table_cache::CacheCounts;
use eigenforge::su3::team::{self, Master, Report, Worker, by_work, deal, portions};
use eigenforge::su3::work::{Algorithm, Direction, Job, WorkTimes, bytes_of, layouts, on_device, pieces, w0_of};
use eigenforge::su3::{Plan, Space, Summary, TableCache, Tables};
use eigenforge::words::grouped;
use eigenforge_runtime::Device;
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::lock::Lock;
use eigenforge_runtime::say;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs the verb: alone, as the master of a team, or as one of its workers.
pub(super) fn run(arguments: &Su3TransformArguments) -> Result<VerbEnd, CommandError> {
    if arguments.inverse && arguments.algorithm == Algorithm::Paper {
        return Err(CommandError::Su3PaperInverse);
    }
    let mut team = su3_team::join()?;
    if team.is_none() {
        heed_signals("a transform is saved from its first piece on");
    }
    if let Some(processes) = team.as_mut().filter(|processes| processes.rank() > 0) {
        return follow(arguments, processes);
    }
    let outcome = lead(arguments, &mut team);
    if let Some(mut processes) = team {
        // It failed before anything was dealt; the workers wait for a word.
        deal(&mut processes, Vec::new(), |_| Ok(()))?;
    }
    outcome
}

/// What everybody needs to begin.
struct Prepared {
    plan: Plan,
    direction: Direction,
    algorithm: Algorithm,
    source: Box<dyn Source>,
    tables: Tables,
    /// Bytes that pieces may take in host memory.
    room: u64,
    /// Bytes that one of them takes at most on the CPU.
    piece: u64,
}

impl Prepared {
    fn new(arguments: &Su3TransformArguments, stages: &mut Stages) -> Result<Prepared, CommandError> {
        let direction = direction(arguments);
        let plan = Plan::new(Space { n_max: arguments.n_max });
        let what = format!("{} elements a channel, {} groups", grouped(plan.length as u128), plan.groups.len());
        stages.done("plan", what);
        let memory = Memory::new(arguments, &plan)?;
        let cache = || Settings::from_env().map(|settings| TableCache::open(&settings));
        let source = interaction::open(&arguments.interaction, &plan, direction, &cache()?)?;
        let words: Vec<&str> = source.channels().iter().map(|channel| channel.word()).collect();
        stages.done("read", format!("channels {}, {}", words.join(", "), source.describe()));
        let tables = Tables::of_pairs(&plan, cache()?).map_err(|error| CommandError::Su3Labels(Box::new(error)))?;
        stages.done("tables", format!("of {} pairs of shells", tables.pairs()));
        let resident = source.resident() + tables.resident();
        let piece = memory.piece(&plan, words.len(), resident, stages)?;
        let room = memory.limit - resident;
        Ok(Prepared { plan, direction, algorithm: arguments.algorithm, source, tables, room, piece })
    }

    /// What a card's kernels are written from, for a run that begins and all of whose channels fit the card.
    fn layouts(&self) -> Option<Layouts> {
        let (plan, channels) = (&self.plan, self.source.channels().len());
        let portions = portions_of(plan, 0..plan.groups.len(), channels, self.room, self.direction, self.algorithm);
        layouts(plan, &self.tables, channels, self.direction, self.algorithm, &portions)
    }
}

fn direction(arguments: &Su3TransformArguments) -> Direction {
    if arguments.inverse { Direction::Inverse } else { Direction::Forward }
}

/// A worker's part: what goes wrong is told to the master, who tells the user.
fn follow(arguments: &Su3TransformArguments, processes: &mut Processes) -> Result<VerbEnd, CommandError> {
    match Prepared::new(arguments, &mut Stages::quiet()) {
        Ok(prepared) => {
            let Prepared { plan, direction, algorithm, source, tables, .. } = prepared;
            let spent = WorkTimes::default();
            let mut job = Job { plan: &plan, source: &*source, tables, direction, algorithm, spent };
            let device = match device_for(arguments, Some(processes.rank() - 1)) {
                Ok(device) => device,
                Err(error) => return refuse(processes, &error),
            };
            team::work(processes, |portion: &[usize]| match device.runs_kernels() {
                true => on_device(&mut job, portion, &device),
                false => Ok(job.work(portion)?),
            })?;
            Ok(VerbEnd::Done)
        }
        Err(error) => refuse(processes, &error),
    }
}

fn refuse(processes: &mut Processes, error: &CommandError) -> Result<VerbEnd, CommandError> {
    processes.report(Report::Failed(error.to_string()))?;
    processes.next()?;
    Ok(VerbEnd::Fault)
}

/// Everything else; the team is taken when groups are dealt out.
fn lead(arguments: &Su3TransformArguments, team: &mut Option<Processes>) -> Result<VerbEnd, CommandError> {
    let files = Files::new(arguments)?;
    let _lock = Lock::of_output(&arguments.output)?;
    let direction = direction(arguments);
    let format = format_of(&arguments.output, direction.output(), arguments.format)?;
    let started = Instant::now();
    let mut stages = Stages::new();
    let worker = team.as_ref().map(|_| 0);
    // A driver takes most of a second to start; what needs no device is done meanwhile.
    let (prepared, device, input, ready) = std::thread::scope(|scope| {
        let device = scope.spawn(|| device_for(arguments, worker));
        let input = scope.spawn(|| interaction::fingerprint(&arguments.interaction));
        let prepared = Prepared::new(arguments, &mut stages);
        let ready =
            prepared.as_ref().ok().filter(|_| worker.is_none() && may_be_a_card(arguments)).and_then(|prepared| {
                let ready = prepared.layouts();
                stages.done("layouts", "what kernels are written from".into());
                ready
            });
        (prepared, joined(device), joined(input), ready)
    });
    let Prepared { plan, algorithm, source, tables, room, piece, .. } = prepared?;
    let (device, input) = (device?, input?);
    if device.runs_kernels() {
        stages.done("start", "the device, all the above meanwhile".into());
    }
    let (plan, channels) = (&plan, source.channels());
    let mut job = Job { plan, source: &*source, tables, direction, algorithm, spent: WorkTimes::default() };

    let name = run_name(arguments, direction, &device, &input);
    let run = Run { plan, kind: direction.output(), channels: &channels, name };
    let failed = |source| ReportError::Write { file: arguments.output.clone(), source };
    let mut partial = Partial::open(&arguments.output, &run).map_err(failed)?;
    let progress = Progress::new(plan, &partial, &arguments.output);
    match team.take() {
        Some(mut processes) => {
            let wanted = progress.wanted.iter().copied();
            let portions = match device.runs_kernels() {
                true => {
                    // Workers that share a card share its memory.
                    let workers = processes.workers();
                    let sharing = workers.div_ceil(Device::cards().max(1)) as u64;
                    let free = device.memory().free / 3 * 2 / sharing;
                    portions(plan, wanted, channels.len(), workers, room.min(free))
                }
                false => by_work(plan, wanted),
            };
            by_team(plan, portions, &mut partial, &mut processes, progress)?;
        }
        None if device.runs_kernels() => {
            let card = Card::new(&job, room, &progress.wanted, ready, &device);
            stages.say("device", &format!("{}, {} free", device.name(), bytes(device.memory().free)));
            let flow = by_pieces(&mut job, &mut partial, card.room, &arguments.output, progress, card)?;
            stages.of_pieces(&job.spent, flow, true);
        }
        None => {
            let pieces = pieces(plan, progress.wanted.iter().copied(), channels.len(), piece);
            let under_way = room.min(UNDER_WAY * piece);
            let flow = by_pieces(&mut job, &mut partial, under_way, &arguments.output, progress, Cores { pieces })?;
            stages.of_pieces(&job.spent, flow, false);
        }
    }

    let known = partial.known();
    let mut summary = Summary::new(plan, &channels, known.values().map(|known| known.shares.as_slice()));
    if let Err(overflow) = summary.check_finite() {
        partial.discard(&arguments.output).map_err(failed)?;
        return Err(overflow.into());
    }
    summary.w0 = plan.groups.iter().map(|group| w0_of(group) as usize).sum();
    summary.defect = known.values().map(|known| known.defect).fold(job.tables.defect, f64::max);
    summary.left_out = job.source.left_out();
    let finished = finish(&arguments.output, plan, partial, direction.output(), format);
    if finished.is_ok() {
        stages.done("write", arguments.output.display().to_string());
    }
    let served = job.tables.cache().served();
    job.tables.cache().evict();
    let record = Record {
        summary: &summary,
        seconds: &stages.seconds,
        overlapping: &stages.busy,
        tables: served,
        device: device.name(),
        kernels: kernel_records(&device),
        warnings: warnings_of(Vec::new(), &device),
        versions: versions(&device),
    };
    let json = serde_json::to_string_pretty(&record).map_err(ReportError::from)? + "\n";
    let svg = summary.norm_svg()?;
    let written = finished.and_then(|()| files.write(&json, &svg));
    record.warnings.iter().for_each(|warning| say!("warning: {warning}"));
    // What was computed is shown even where a disk did not take it.
    if arguments.json {
        print(&json)?;
        return written.map(|()| VerbEnd::Done);
    }
    let mut out = summary.to_string();
    if summary.left_out > 0 {
        let _ = writeln!(out, "\n{} rows beyond N_max = {} left out", summary.left_out, plan.n_max);
    }
    if job.spent.terms > 0 {
        let _ = writeln!(out, "\n{} innermost terms", grouped(job.spent.terms.into()));
    }
    if written.is_ok() {
        let (output, seconds) = (arguments.output.display(), started.elapsed().as_secs_f64());
        let _ = writeln!(out, "\n{output}, {} and {}, {seconds:.2} s", files.json.display(), files.svg.display());
    }
    print(&out)?;
    written.map(|()| VerbEnd::Done)
}

/// Below this N_max some cores are done before a card's driver has started and its kernels are compiled, which takes the same time on
/// any card: N_max = 10 takes 0.2 s on 16 cores, 1.7 s on the H200 beside them.
const LEAST_OF_A_CARD: u32 = 16;

/// Whether kernels may run, before there is a device.
fn may_be_a_card(arguments: &Su3TransformArguments) -> bool {
    match arguments.device.as_str() {
        "cpu" => false,
        "auto" => arguments.n_max >= LEAST_OF_A_CARD && Device::cards() > 0,
        _ => true,
    }
}

/// Where it runs. Workers of a team take the cards of their machine in turn: with fewer cards than workers each has its share of
/// one.
fn device_for(arguments: &Su3TransformArguments, worker: Option<usize>) -> Result<Device, CommandError> {
    let name = arguments.device.as_str();
    if name == "auto" && arguments.n_max < LEAST_OF_A_CARD {
        return Ok(Device::cpu());
    }
    match worker {
        Some(worker) if name == "auto" || name == "cuda" => {
            let cards = Device::cards();
            if cards == 0 && name == "auto" {
                return Ok(Device::cpu());
            }
            Ok(Device::cuda(worker % cards.max(1))?)
        }
        _ => Ok(Device::parse(name)?),
    }
}

/// Deals the portions out.
fn by_team(
    plan: &Plan,
    portions: Vec<Vec<usize>>,
    partial: &mut Partial,
    processes: &mut Processes,
    mut progress: Progress,
) -> Result<(), CommandError> {
    let workers = processes.workers();
    let mut shown = Instant::now();
    deal(processes, portions, |finished| {
        let groups: Vec<usize> = finished.iter().map(|finished| finished.group).collect();
        partial.put(plan, finished)?;
        progress.done(plan, &groups);
        if shown.elapsed().as_secs_f64() > 2.0 {
            shown = Instant::now();
            progress.show("team", &format!("of {workers} workers"));
        }
        Ok(())
    })?;
    progress.show("team", &format!("of {workers} workers"));
    Ok(())
}

/// The format asked for, or that of the name; one that does not hold `kind` is refused.
pub(super) fn format_of(output: &Path, kind: Kind, asked: Option<Format>) -> Result<Format, CommandError> {
    let format = asked.unwrap_or_else(|| Format::of_name(output, kind));
    match format.kind() {
        Some(holds) if holds != kind => {
            Err(CommandError::Su3Format { format, holds: holds.word(), found: kind.word() })
        }
        _ => Ok(format),
    }
}

/// Makes the partial result the result.
fn finish(output: &Path, plan: &Plan, mut partial: Partial, kind: Kind, format: Format) -> Result<(), CommandError> {
    let failed = |source| ReportError::Write { file: output.to_path_buf(), source };
    partial.write_held(plan).map_err(failed)?;
    if format == Format::Binary {
        return Ok(partial.publish(output).map_err(failed)?);
    }
    let source = partial.source(plan, kind)?;
    publish(output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        format.write(&mut out, output, plan, kind, &source).and_then(|()| out.flush()).map_err(failed)
    })?;
    Ok(partial.discard(output).map_err(failed)?)
}

/// What a thread of a scope gave.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A name of everything that determines the numbers; `input` is the fingerprint of the interaction.
fn run_name(arguments: &Su3TransformArguments, direction: Direction, device: &Device, input: &str) -> String {
    // Kernels sum in another order than the CPU: other bits.
    let how = if device.runs_kernels() { "kernels" } else { "CPU" };
    format!(
        "eigenforge {} su3 {} N_max {} {:?} by {how} of {input}",
        env!("CARGO_PKG_VERSION"),
        direction.output().word(),
        arguments.n_max,
        arguments.algorithm
    )
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
        memory.piece(plan, 1, 0, &Stages::quiet())?;
        Ok(memory)
    }

    /// Bytes for a piece, beside what is held all the time.
    fn piece(&self, plan: &Plan, channels: usize, resident: u64, stages: &Stages) -> Result<u64, CommandError> {
        let largest = plan.groups.iter().map(|group| bytes_of(group, channels)).max().unwrap_or(0);
        if resident + largest > self.limit {
            return Err(CommandError::Su3Memory {
                n_max: self.n_max,
                resident: bytes(resident),
                needed: bytes(largest),
                limit: bytes(self.limit),
            });
        }
        let free = self.limit - resident;
        let piece = (free / UNDER_WAY).min(LARGEST_PIECE).max(largest);
        let all: u64 = plan.groups.iter().map(|group| bytes_of(group, channels)).sum();
        stages.say(
            "memory",
            &format!(
                "{} held, {} of quadruples, W0 and results in pieces of at most {}, {} of them under way; {} allowed",
                bytes(resident),
                bytes(all),
                bytes(piece.min(all)),
                bytes(free.min(UNDER_WAY * piece).min(all)),
                bytes(self.limit)
            ),
        );
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
    /// Of stages, one after the other.
    seconds: &'a [(&'static str, f64)],
    /// Of the work within the pieces, side by side: more in all than the pieces took.
    overlapping: &'a [(&'static str, f64)],
    tables: CacheCounts,
    /// As in the report of any other problem.
    device: String,
    kernels: Vec<KernelRecord>,
    warnings: Vec<String>,
    versions: BTreeMap<String, String>,
}
