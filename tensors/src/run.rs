//! A transformation from a request to a file: piece by piece, resumed if it was killed, alone or shared by a team.
//!
//! In: a [`Su3Spec`], the name of a device, perhaps a checkpoint folder. Out: the result under its name, and a
//! record that says what was done. While it runs the result grows as OUT.partial, or in the checkpoint folder. The
//! next piece is read and the last is written while one is worked on. Several cards share the groups. Under `mpirun` rank 0
//! deals the groups out and writes, the others work.

use super::binary::TensorKind;
use super::cards::{Card, CardRecord, by_cards};
use super::error::TransformError;
use super::flow::Flow;
use super::output::TensorFormat;
use super::partial::{Partial, Run};
use super::pieces::{Destination, LARGEST_PIECE, PieceTimes, UNDER_WAY, by_cores, portions_of};
use super::processes::Processes;
use super::shares::{self, shares};
use super::source::TensorSource;
use super::stages::{Progress, StageSeconds, Stages, Tell};
use super::table_cache::CacheCounts;
use super::team::{self, Master, Report, Worker, by_work, deal, portions};
use super::work::{Job, PreparedLayouts, bytes_of, on_device, pieces};
use super::{OscillatorSpace, Plan, Su3Spec, Summary, TableCache, Tables};
use eigenforge_core::files::{ReportError, check_file, publish, regular_place};
use eigenforge_core::words::{grouped, size};
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::lock::Lock;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::tune::ShapeUsed;
use eigenforge_runtime::{Device, DeviceError};
use rayon::prelude::*;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Makes an opened device ready.
type PrepareDevice<'r> = dyn Fn(&Device, Option<&str>) -> Result<(), DeviceError> + Sync + 'r;

/// A transformation, and how it is to be run.
pub struct TransformRun<'r> {
    /// What is transformed.
    pub spec: &'r Su3Spec,
    /// "auto", "cpu", "cuda", "cuda:1", "cuda:0-1", "sim".
    pub device: &'r str,
    /// Makes an opened device ready, for example hands it edited kernels; the text says why it is the CPU, where that
    /// needs saying.
    pub prepare: &'r PrepareDevice<'r>,
    /// Where finished groups are saved, if not beside the result, and whether to go on from there.
    pub checkpoint: Option<(&'r Path, bool)>,
    /// Whether a shape that `eigenforge tune` chose on the card is used.
    pub tuned: bool,
    /// Is told of stages.
    pub tell: Tell<'r>,
}

/// What a transformation did.
pub struct Transformed {
    /// Norms, the largest tensors.
    pub summary: Summary,
    /// Where it ran: the CPU, or one card or several.
    pub devices: Vec<Device>,
    /// What each card did, of a process that works alone.
    pub cards: Vec<CardRecord>,
    /// Why it ran on the CPU, if that needs saying.
    pub on_cpu: Option<String>,
    /// Seconds of stages that follow each other.
    pub stages: StageSeconds,
    /// Seconds of the work within the pieces, which runs side by side.
    pub overlapping: StageSeconds,
    /// Tables of coefficients that were read and made.
    pub tables: CacheCounts,
    /// The shape of the kernels, where one set of them did everything.
    pub shape: Option<ShapeUsed>,
    /// Groups that an earlier run had done.
    pub resumed_groups: usize,
    /// Seconds from the start to a transformation that is ready on its device.
    pub setup: f64,
    /// Seconds of the pieces by the clock: reading, transforming, writing; on a team all of its work.
    pub solve: f64,
    /// What was planned to be held, by item in bytes.
    pub memory: Vec<(String, u64)>,
    /// Bytes that were allowed.
    pub allowed: u64,
    /// Bytes of the numbers in and out and of W⁰ of the groups that this run did, each once.
    pub bytes: f64,
    /// Why the result is not under its name, if it is not: what was computed is shown first.
    pub written: Result<(), TransformError>,
}

/// Opened cards for a transformation.
struct CardSet<'c> {
    names: &'c [String],
    /// Those that are not needed are let go.
    devices: &'c mut Vec<Device>,
    /// Bytes of host memory for all.
    room: u64,
    /// What the first kernels of each are written from, where that is prepared.
    layouts: Vec<PreparedLayouts>,
}

/// What everybody needs to begin.
struct Prepared {
    plan: Plan,
    source: Box<dyn TensorSource>,
    tables: Tables,
    /// Bytes that pieces may take in host memory.
    room: u64,
    /// Bytes that one of them takes at most on the CPU.
    piece: u64,
    memory: Memory,
}

impl TransformRun<'_> {
    /// Transforms, alone or as the master of a team, which it ends.
    ///
    /// # Errors
    /// What cannot be read, held, compiled or written, with what to do; a signal.
    pub fn run(&self, mut team: Option<Processes>) -> Result<Transformed, TransformError> {
        let outcome = self.lead(&mut team);
        if let Some(mut processes) = team {
            // It failed before anything was dealt; the workers wait for a word.
            deal(&mut processes, Vec::new(), |_| Ok(()))?;
        }
        outcome
    }

    /// A worker's part; false if it failed. What goes wrong is told to the master, who tells the user.
    ///
    /// # Errors
    /// The connection.
    pub fn follow(&self, processes: &mut Processes) -> Result<bool, TransformError> {
        let worker = Some(processes.rank() - 1);
        let ready = self.check().and_then(|_| {
            let prepared = self.prepared(&mut Stages::new(&|_, _| {}))?;
            Ok((prepared, self.open_devices(worker)?.0))
        });
        let (Prepared { plan, source, tables, .. }, devices) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                processes.report(Report::Failed(error.to_string()))?;
                processes.next()?;
                return Ok(false);
            }
        };
        let mut job = Job::new(&plan, &*source, tables, self.spec.direction);
        let device = &devices[0];
        team::work(processes, |portion: &[usize]| match device.runs_kernels() {
            true => on_device(&mut job, portion, device),
            false => Ok(job.work(portion)?),
        })?;
        Ok(true)
    }

    /// Refuses what contradicts itself; the format of the result.
    fn check(&self) -> Result<TensorFormat, TransformError> {
        let Su3Spec { interaction, output, format, direction, .. } = self.spec;
        let files = companion_files(output);
        if let Some(input) = interaction.file() {
            [output, &files.json, &files.svg].into_iter().try_for_each(|file| refuse_to_overwrite(input, file))?;
        }
        // With a checkpoint finished groups wait there until the result can be written.
        if self.checkpoint.is_none() {
            regular_place(output)?;
        }
        [&files.json, &files.svg].into_iter().try_for_each(|file| check_file(file))?;
        format_of(output, direction.output(), *format)
    }

    fn prepared(&self, stages: &mut Stages<'_>) -> Result<Prepared, TransformError> {
        let plan = Plan::new(OscillatorSpace { n_max: self.spec.n_max });
        let what = format!("{} elements per channel, {} groups", grouped(plan.length as u128), plan.groups.len());
        stages.done("plan", &what);
        let mut memory = Memory::new(self.spec, &plan)?;
        let cache = || Settings::from_env().map(|settings| TableCache::open(&settings)).map_err(DeviceError::from);
        let source = self.spec.interaction.open(&plan, self.spec.direction, &cache()?)?;
        let words: Vec<&str> = source.channels().iter().map(|channel| channel.word()).collect();
        stages.done("read", &format!("channels {}, {}", words.join(", "), source.describe()));
        let tables = Tables::of_pairs(&plan, cache()?)?;
        stages.done("tables", &format!("{} pairs of shells", tables.pairs()));
        memory.resident = source.resident() + tables.resident();
        let piece = memory.piece(&plan, words.len())?;
        stages.say("memory", &memory.describe(&plan, words.len(), piece));
        let room = memory.limit - memory.resident;
        Ok(Prepared { plan, source, tables, room, piece, memory })
    }

    /// What the kernels of each card are written from, for a run that begins and all of whose channels fit the cards.
    fn layouts(&self, prepared: &Prepared, cards: usize) -> Vec<PreparedLayouts> {
        let Prepared { plan, source, tables, room, .. } = prepared;
        let (direction, channels) = (self.spec.direction, source.channels().len());
        let shares = shares(plan, &(0..plan.groups.len()).collect::<Vec<_>>(), channels, cards);
        let room = room / shares.len() as u64;
        let of = |share: Vec<usize>| {
            let portions = portions_of(plan, share.into_iter(), channels, room, direction);
            PreparedLayouts::new(plan, tables, channels, direction, &portions)
        };
        shares.into_par_iter().map(of).collect()
    }

    /// Everything else; the team is taken when groups are dealt out.
    fn lead(&self, team: &mut Option<Processes>) -> Result<Transformed, TransformError> {
        let (started, spec) = (Instant::now(), self.spec);
        let format = self.check()?;
        make_folder(&spec.output)?;
        let _lock = Lock::of_output(&spec.output)?;
        let mut stages = Stages::new(self.tell);
        let worker = team.as_ref().map(|_| 0);
        let names = self.names(worker)?;
        // A driver takes most of a second to start; what needs no device is done meanwhile.
        let (prepared, devices, input, ready) = std::thread::scope(|scope| {
            let devices = scope.spawn(|| self.open_devices(worker));
            let input = scope.spawn(|| spec.interaction.fingerprint());
            let prepared = self.prepared(&mut stages);
            let ready = prepared.as_ref().ok().filter(|_| worker.is_none() && self.may_be_a_card());
            let ready = ready.map_or(Vec::new(), |prepared| {
                let ready = self.layouts(prepared, names.len());
                stages.done("layouts", "inputs of the kernels");
                ready
            });
            (prepared, joined(devices), joined(input), ready)
        });
        let Prepared { plan, source, tables, room, piece, memory } = prepared?;
        let ((mut devices, on_cpu), input) = (devices?, input?);
        let kernels = devices[0].runs_kernels();
        if kernels {
            stages.done("start", "the device, during the steps above");
        }
        let (plan, channels) = (&plan, source.channels());
        let Su3Spec { direction, output, .. } = spec;
        let mut job = Job { tuned: self.tuned, ..Job::new(plan, &*source, tables, *direction) };
        let run = Run { plan, kind: direction.output(), channels: &channels, name: self.name(kernels, &input) };
        let failed = |source| ReportError::Write { file: output.clone(), source };
        let mut partial = match self.checkpoint {
            Some((folder, resume)) => Partial::in_folder(folder, &run, resume)?,
            None => Partial::open(output, &run).map_err(failed)?,
        };
        let progress = Progress::new(plan, &partial, self.tell);
        let resumed_groups = partial.known().len();
        let bytes = bytes_at_least(plan, &progress.wanted, channels.len());
        let (setup, solving) = (started.elapsed().as_secs_f64(), Instant::now());
        let (mut cards, mut shape) = (Vec::new(), None);
        match team.take() {
            Some(mut processes) => {
                let wanted = progress.wanted.iter().copied();
                let portions = match kernels {
                    true => {
                        // Workers that share a card share its memory.
                        let workers = processes.workers();
                        let sharing = workers.div_ceil(self.cards_of_workers()?) as u64;
                        let free = devices[0].memory().free / 3 * 2 / sharing;
                        portions(plan, wanted, channels.len(), workers, room.min(free))
                    }
                    false => by_work(plan, wanted),
                };
                by_team(plan, portions, &mut partial, &mut processes, progress)?;
            }
            None if kernels => {
                let set = CardSet { names: &names, devices: &mut devices, room, layouts: ready };
                (cards, shape) = self.on_cards(&mut job, set, &mut partial, progress, &mut stages)?;
            }
            None => {
                let pieces = pieces(plan, progress.wanted.iter().copied(), channels.len(), piece);
                let to = Destination::new(&job, &mut partial, output, progress, pieces.len());
                let times = by_cores(&mut job, &pieces, room.min(UNDER_WAY * piece), &to)?;
                stages.of_pieces(&job.spent, &times, false);
            }
        }
        let solve = solving.elapsed().as_secs_f64();

        let known = partial.known();
        let mut summary = Summary::new(plan, &channels, known.values().map(|known| known.shares.as_slice()));
        if let Err(overflow) = summary.check_finite() {
            partial.discard().map_err(failed)?;
            return Err(overflow.into());
        }
        summary.defect = known.values().map(|known| known.defect).fold(job.tables.defect, f64::max);
        summary.left_out = job.source.left_out();
        let written = finish(output, plan, partial, direction.output(), format);
        if written.is_ok() {
            stages.done("write", &output.display().to_string());
        }
        let tables = job.tables.cache().served();
        job.tables.cache().evict();
        Ok(Transformed {
            summary,
            devices,
            cards,
            on_cpu,
            stages: stages.seconds,
            overlapping: stages.busy,
            tables,
            shape,
            resumed_groups,
            setup,
            solve,
            memory: memory.items(plan, channels.len(), piece),
            allowed: memory.limit,
            bytes,
            written,
        })
    }

    /// Shares the groups that are wanted out among cards, of which more than groups are let go; what each did, and the shape of the
    /// kernels of a single one.
    fn on_cards<'j>(
        &'j self,
        job: &mut Job<'j>,
        set: CardSet<'_>,
        partial: &mut Partial,
        progress: Progress<'_>,
        stages: &mut Stages<'_>,
    ) -> Result<(Vec<CardRecord>, Option<ShapeUsed>), TransformError> {
        let CardSet { names, devices, room, layouts } = set;
        let (plan, channels, wanted) = (job.plan, job.source.channels().len(), &progress.wanted);
        let shares = shares(plan, wanted, channels, devices.len());
        let labels = match devices.len() {
            1 => vec![devices[0].name()],
            several => {
                stages.say("cards", &shares::count(&shares, several));
                Device::card_labels(names)
            }
        };
        devices.truncate(shares.len());
        let (mut layouts, room) = (layouts.into_iter(), room / shares.len() as u64);
        let mut cards = Vec::with_capacity(shares.len());
        for ((share, device), label) in shares.iter().zip(&*devices).zip(labels) {
            let card = Card::new(job, (share, &shares), room, layouts.next(), device, label)?;
            stages.say("card", &card.describe());
            cards.push(card);
        }
        let pieces = cards.iter().map(Card::pieces).sum();
        let to = Destination::new(job, partial, &self.spec.output, progress, pieces);
        let done = by_cards(job, cards, &to)?;
        let times = PieceTimes { flow: Flow::of_all(done.iter().map(|done| &done.flow)), elapsed: to.elapsed() };
        job.spent.input += times.flow.reading;
        job.spent.tables = done.iter().map(|done| done.tables).sum();
        job.spent.transform += done.iter().map(|done| done.record.seconds()).sum::<f64>();
        stages.of_pieces(&job.spent, &times, true);
        let shape = if let [alone] = &done[..] { alone.shape.clone() } else { None };
        let records: Vec<CardRecord> = done.into_iter().map(|done| done.record).collect();
        records.iter().for_each(|card| stages.say("card", &card.to_string()));
        Ok((records, shape))
    }

    /// Whether a card can be faster than the cores of this machine, by their rates.
    fn pays_on_a_card(&self) -> bool {
        seconds_on_cores(OscillatorSpace { n_max: self.spec.n_max }, &Machine::new(&Device::cpu())) > CARD_START
    }

    /// Whether kernels may run, before there is a device.
    fn may_be_a_card(&self) -> bool {
        match self.device {
            "cpu" => false,
            "auto" => self.pays_on_a_card() && Device::cards() > 0,
            _ => true,
        }
    }

    /// The cards of this process by name. Workers of a team take those of a set in turn.
    fn names(&self, worker: Option<usize>) -> Result<Vec<String>, DeviceError> {
        let names = Device::cards_of(self.device)?;
        Ok(match worker {
            Some(worker) => vec![names[worker % names.len()].clone()],
            None => names,
        })
    }

    /// How many cards the workers of a team take in turn.
    fn cards_of_workers(&self) -> Result<usize, DeviceError> {
        Ok(match self.device {
            "auto" | "cuda" => Device::cards().max(1),
            name => Device::cards_of(name)?.len(),
        })
    }

    /// Where it runs, and why on the CPU if that needs saying. Workers of a team take the cards of their machine, or of the set that is
    /// named, in turn: with fewer cards than workers each has its share of one.
    fn open_devices(&self, worker: Option<usize>) -> Result<(Vec<Device>, Option<String>), TransformError> {
        let (devices, on_cpu) = match (self.device, worker) {
            ("auto", _) if !self.pays_on_a_card() => (vec![Device::cpu()], None),
            ("auto", Some(_)) if Device::cards() == 0 => (vec![Device::cpu()], None),
            ("auto" | "cuda", Some(worker)) => (vec![Device::cuda(worker % Device::cards().max(1))?], None),
            ("auto", None) => {
                let (device, reason) = Device::best_with_reason();
                (vec![device], reason.map(|reason| format!("using the CPU: {reason}")))
            }
            _ => {
                let opened = self.names(worker)?.into_par_iter().map(|name| Device::parse(&name));
                (opened.collect::<Result<Vec<Device>, DeviceError>>()?, None)
            }
        };
        devices.iter().try_for_each(|device| (self.prepare)(device, on_cpu.as_deref()))?;
        Ok((devices, on_cpu))
    }

    /// A name of everything that determines the numbers; `input` is the fingerprint of the interaction.
    fn name(&self, kernels: bool, input: &str) -> String {
        // Kernels sum in another order than the CPU: other bits.
        let how = if kernels { "kernels" } else { "CPU" };
        let Su3Spec { n_max, direction, .. } = self.spec;
        format!(
            "eigenforge {} su3 {} N_max {n_max} by {how} of {input}",
            env!("CARGO_PKG_VERSION"),
            direction.output().word(),
        )
    }
}

/// Seconds until a card's driver has started and its kernels are compiled and have their tables: 1.5 to 2.2 s for N_max = 8 to 14 on an
/// H200 (benches/results/su3.toml), most of it on the host and so much the same for any card. Its own work is a hundredth of that of 16 cores
/// and does not count.
const CARD_START: f64 = 2.0;
/// Operations of the cores per number, at the rate of a product of large matrices: 14 to 20 ns on 16 Xeon cores, N_max = 8 to 20 (the
/// same table).
const OPERATIONS: f64 = 1.8e4;

/// Seconds in which these cores transform three channels of a space.
fn seconds_on_cores(space: OscillatorSpace, machine: &Machine) -> f64 {
    let numbers = 3.0 * space.counts().elements as f64;
    machine.seconds_by_rates(OPERATIONS * numbers, 16.0 * numbers)
}

/// Deals the portions out.
fn by_team(
    plan: &Plan,
    portions: Vec<Vec<usize>>,
    partial: &mut Partial,
    processes: &mut Processes,
    mut progress: Progress<'_>,
) -> Result<(), TransformError> {
    let workers = processes.workers();
    let mut shown = Instant::now();
    deal(processes, portions, |finished| {
        let groups: Vec<usize> = finished.iter().map(|finished| finished.group).collect();
        partial.put(plan, finished)?;
        progress.done(plan, &groups);
        if shown.elapsed().as_secs_f64() > 2.0 {
            shown = Instant::now();
            progress.show("team", &format!("{workers} workers"));
        }
        Ok(())
    })?;
    progress.show("team", &format!("{workers} workers"));
    Ok(())
}

/// The format asked for, or that of the name.
///
/// # Errors
/// A format that does not hold `kind`.
pub fn format_of(output: &Path, kind: TensorKind, asked: Option<TensorFormat>) -> Result<TensorFormat, TransformError> {
    let format = asked.unwrap_or_else(|| TensorFormat::of_name(output, kind));
    match format.kind() {
        Some(holds) if holds != kind => Err(TransformError::Format { format, holds: holds.word(), found: kind.word() }),
        _ => Ok(format),
    }
}

/// Refuses an input that would be written over.
///
/// # Errors
/// The two are one file.
pub fn refuse_to_overwrite(input: &Path, output: &Path) -> Result<(), TransformError> {
    let same = input == output || matches!((input.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same { Err(TransformError::SameFile { path: input.to_path_buf() }) } else { Ok(()) }
}

/// Makes the folder of an output, in which a run keeps what is finished.
fn make_folder(output: &Path) -> Result<(), ReportError> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), |folder| {
        std::fs::create_dir_all(folder).map_err(|source| ReportError::Folder { folder: folder.into(), source })
    })
}

/// The files beside a result.
pub struct FilesBeside {
    /// The report.
    pub json: PathBuf,
    /// The picture.
    pub svg: PathBuf,
}

/// OUT with the endings .json and .svg, or .summary.json where OUT has that itself.
pub fn companion_files(output: &Path) -> FilesBeside {
    let beside = |ending: &str| {
        let path = output.with_extension(ending);
        if path == *output { output.with_extension(format!("summary.{ending}")) } else { path }
    };
    FilesBeside { json: beside("json"), svg: beside("svg") }
}

/// Makes the partial result the result.
fn finish(
    output: &Path,
    plan: &Plan,
    mut partial: Partial,
    kind: TensorKind,
    format: TensorFormat,
) -> Result<(), TransformError> {
    let failed = |source| ReportError::Write { file: output.to_path_buf(), source };
    partial.write_held(plan).map_err(failed)?;
    if format == TensorFormat::Binary {
        return Ok(partial.publish(output)?);
    }
    let source = partial.source(plan, kind)?;
    publish(output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        format.write(&mut out, output, plan, kind, &source).and_then(|()| out.flush()).map_err(failed)
    })?;
    Ok(partial.discard().map_err(failed)?)
}

/// What a thread of a scope gave.
fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Bytes of the numbers in, those out, and W⁰, each once.
fn bytes_at_least(plan: &Plan, groups: &[usize], channels: usize) -> f64 {
    let of = |group: &usize| 16 * (channels * plan.groups[*group].length) as u64 + 8 * plan.groups[*group].w0();
    groups.iter().map(of).sum::<u64>() as f64
}

/// What may be held, in bytes.
struct Memory {
    limit: u64,
    n_max: u32,
    /// Held all the time.
    resident: u64,
}

impl Memory {
    /// Refuses what cannot be, before anything is read.
    fn new(spec: &Su3Spec, plan: &Plan) -> Result<Memory, TransformError> {
        let limit = spec.memory.unwrap_or(Device::cpu().memory().free / 5 * 4);
        let memory = Memory { limit, n_max: spec.n_max, resident: 0 };
        memory.piece(plan, 1)?;
        Ok(memory)
    }

    /// Bytes for a piece, beside what is held all the time.
    fn piece(&self, plan: &Plan, channels: usize) -> Result<u64, TransformError> {
        let Memory { limit, n_max, resident } = *self;
        let needed = plan.groups.iter().map(|group| bytes_of(group, channels)).max().unwrap_or(0);
        if resident + needed > limit {
            return Err(TransformError::Memory { n_max, resident, needed, limit });
        }
        Ok(((limit - resident) / UNDER_WAY).min(LARGEST_PIECE).max(needed))
    }

    /// Bytes of pieces under way at most.
    fn under_way(&self, plan: &Plan, channels: usize, piece: u64) -> u64 {
        (self.limit - self.resident).min(UNDER_WAY * piece).min(all(plan, channels))
    }

    fn describe(&self, plan: &Plan, channels: usize, piece: u64) -> String {
        let all = all(plan, channels);
        format!(
            "{} of input and tables, {} of quadruples, W0 and results in pieces of at most {}; {} in memory at a time, limit {}",
            size(self.resident),
            size(all),
            size(piece.min(all)),
            size(self.under_way(plan, channels, piece)),
            size(self.limit)
        )
    }

    fn items(&self, plan: &Plan, channels: usize, piece: u64) -> Vec<(String, u64)> {
        let under_way = self.under_way(plan, channels, piece);
        vec![("input and tables".into(), self.resident), ("pieces in memory".into(), under_way)]
    }
}

/// Bytes of all groups in progress.
fn all(plan: &Plan, channels: usize) -> u64 {
    plan.groups.iter().map(|group| bytes_of(group, channels)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::machine::{Known, Processor, RateSource};

    /// The measured crossings: 16 cores take 1.1 s for N_max = 14 and 10.5 s for 20 (docs/performance.md).
    #[test]
    fn the_rates_of_the_cores_decide_from_which_space_a_card_pays() {
        let first = |cores: usize| {
            let values = Processor::of_cores(cores);
            let processor = Known { name: "cores".into(), source: RateSource::Table, values };
            let machine = Machine { processor, card: None };
            let seconds = |n_max| seconds_on_cores(OscillatorSpace { n_max }, &machine);
            (0..).step_by(2).find(|n_max| seconds(*n_max) > CARD_START).unwrap()
        };
        assert_eq!([2, 16, 128].map(first), [12, 16, 22]);
        let processor = Known { name: "cores".into(), source: RateSource::Table, values: Processor::XEON };
        let machine = Machine { processor, card: None };
        for (n_max, measured) in [(8, 0.046), (12, 0.38), (14, 1.125), (20, 10.478)] {
            let predicted = seconds_on_cores(OscillatorSpace { n_max }, &machine);
            assert!(
                (0.6..1.4).contains(&(predicted / measured)),
                "N_max = {n_max}: {predicted} s, {measured} measured"
            );
        }
    }
}
