//! A transformation from a request to a file: piece by piece, resumed if it was killed, alone or shared by a team.
//!
//! In: a [`Su3Spec`], the name of a device, perhaps a checkpoint folder. Out: the result under its name, and a
//! record that says what was done. While it runs the result grows as OUT.partial, or in the checkpoint folder. The groups are
//! done by a [team](super::team): all cores, cards that share them, or under `mpirun` the processes but rank 0, which writes.

use super::cards::{Card, CardRecord};
use super::choice::{DeviceChoice, PrepareDevice};
use super::device::Layouts;
use super::error::TransformError;
use super::files::{companion_files, finish, format_of, make_folder, refuse_to_overwrite};
use super::flow::Flow;
use super::local::{Cores, on_device};
use super::memory::Memory;
use super::output::TensorFormat;
use super::partial::{Partial, Run};
use super::processes::{Connection, Message, Processes};
use super::shares::{self, card_portions, device_portions, pieces, shares, single_portions};
use super::source::TensorSource;
use super::stages::{Progress, StageSeconds, Stages, Tell};
use super::table_cache::CacheCounts;
use super::team::{Member, Team, follow, serve};
use super::work::{FinishedGroup, Job};
use super::{OscillatorSpace, Plan, Su3Spec, Summary, TableCache, Tables};
use eigenforge_core::files::{ReportError, check_file, regular_place};
use eigenforge_core::words::grouped;
use eigenforge_runtime::interrupt;
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::lock::Lock;
use eigenforge_runtime::tune::ShapeUsed;
use eigenforge_runtime::{Device, DeviceError};
use rayon::prelude::*;
use std::path::Path;
use std::time::Instant;

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

/// What everybody needs to begin.
struct Prepared {
    plan: Plan,
    source: Box<dyn TensorSource>,
    tables: Tables,
    memory: Memory,
}

/// Opened cards for a transformation.
struct CardSet<'c> {
    names: &'c [String],
    /// Those that are not needed are let go.
    devices: &'c mut Vec<Device>,
    /// What the first kernels of each are written from, where that is prepared.
    layouts: Vec<Layouts>,
    /// Bytes of host memory for all.
    room: u64,
}

/// Where finished groups go: to the disk, and into the progress that is shown.
struct Destination<'d> {
    plan: &'d Plan,
    output: &'d Path,
    partial: &'d mut Partial,
    progress: Progress<'d>,
}

impl Destination<'_> {
    fn keep(&mut self, finished: Vec<FinishedGroup>, by: Option<&str>) -> Result<(), TransformError> {
        let groups: Vec<usize> = finished.iter().map(|finished| finished.group).collect();
        let failed = |source| ReportError::Write { file: self.output.to_path_buf(), source };
        self.partial.put(self.plan, finished).map_err(failed)?;
        self.progress.done(&groups, by);
        Ok(())
    }

    /// Has workers of this process do their portions.
    fn work(
        &mut self,
        source: &dyn TensorSource,
        members: Vec<Member<'_, '_>>,
        stages: &mut Stages<'_>,
        kernels: bool,
    ) -> Result<Vec<Flow>, TransformError> {
        self.progress.start(members.iter().map(|member| member.portions.len()).sum(), None);
        let (plan, place) = (self.plan, self.partial.path().to_path_buf());
        let mut keep = |finished: Vec<FinishedGroup>, by: Option<&str>| self.keep(finished, by);
        let flows = Team::new(plan, source, Some(&place), &mut keep).work(members)?;
        self.check_signals()?;
        stages.of_pieces(&Flow::of_all(flows.iter()), kernels);
        Ok(flows)
    }

    /// The error of a signal, if there was one.
    fn check_signals(&self) -> Result<(), TransformError> {
        let Some(signal) = interrupt::pending() else { return Ok(()) };
        let (standing, all, path) = (self.partial.standing(), self.plan.groups.len(), self.partial.path().display());
        let how = self.partial.how_to_resume();
        Err(interrupt::obey(signal, format!("{standing} of {all} groups are saved in {path}; {how}")).into())
    }
}

impl TransformRun<'_> {
    /// Transforms, alone or as the master of a team, which it ends.
    ///
    /// # Errors
    /// What cannot be read, held, compiled or written, with what to do; a signal.
    pub fn run(&self, mut team: Option<Processes>) -> Result<Transformed, TransformError> {
        let outcome = self.lead(&mut team);
        if let Some(mut processes) = team {
            // It failed before anything was given out; the workers wait for a word.
            serve(&mut processes, Vec::new(), &mut |_, _| Ok(()))?;
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
            Ok((prepared, self.choice(worker).open(self.prepare)?.0))
        });
        let (Prepared { plan, source, tables, memory }, devices) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                processes.send(0, Message::Failed(error.to_string()))?;
                processes.receive()?;
                return Ok(false);
            }
        };
        let mut job = Job::new(&plan, &*source, tables, self.spec.direction);
        follow(processes, |portion| {
            let mut finished = Vec::with_capacity(portion.len());
            on_device(&mut job, &portion, &devices[0], memory.room(), &mut |groups, _| {
                finished.extend(groups);
                Ok(())
            })?;
            Ok(finished)
        })?;
        Ok(true)
    }

    fn choice(&self, worker: Option<usize>) -> DeviceChoice<'_> {
        DeviceChoice { device: self.device, n_max: self.spec.n_max, worker }
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
        let limit = Memory::limit(self.spec);
        // Refuses what cannot be, before anything is read.
        Memory::new(limit, &plan, 1, 0)?;
        let cache = || Settings::from_env().map(|settings| TableCache::open(&settings)).map_err(DeviceError::from);
        let source = self.spec.open(&plan, &cache()?)?;
        let words: Vec<&str> = source.channels().iter().map(|channel| channel.word()).collect();
        stages.done("read", &format!("channels {}, {}", words.join(", "), source.describe()));
        let tables = Tables::of_pairs(&plan, cache()?)?;
        stages.done("tables", &format!("{} pairs of shells", tables.pairs()));
        let memory = Memory::new(limit, &plan, words.len(), source.resident() + tables.resident())?;
        stages.say("memory", &memory.to_string());
        Ok(Prepared { plan, source, tables, memory })
    }

    /// What the kernels of each card are written from, for a run that begins and all of whose channels fit the cards.
    fn layouts(&self, prepared: &Prepared, cards: usize) -> Vec<Layouts> {
        let Prepared { plan, source, tables, memory } = prepared;
        let (direction, channels) = (self.spec.direction, source.channels().len());
        let shares = shares(plan, &(0..plan.groups.len()).collect::<Vec<_>>(), channels, cards);
        let room = memory.room() / shares.len() as u64;
        let of = |share: Vec<usize>| {
            let portions = card_portions(plan, &share, channels, room, direction);
            Layouts::new(plan, tables, channels, direction.ways(), &portions)
        };
        shares.into_par_iter().map(of).collect()
    }

    /// Everything else; `team` is `None` once its processes have ended.
    fn lead(&self, team: &mut Option<Processes>) -> Result<Transformed, TransformError> {
        let (started, spec) = (Instant::now(), self.spec);
        let format = self.check()?;
        make_folder(&spec.output)?;
        let _lock = Lock::of_output(&spec.output)?;
        let mut stages = Stages::new(self.tell);
        let choice = self.choice(team.as_ref().map(|_| 0));
        let names = choice.names()?;
        // A driver takes most of a second to start; what needs no device is done meanwhile.
        let (prepared, devices, input, ready) = std::thread::scope(|scope| {
            let devices = scope.spawn(|| choice.open(self.prepare));
            let input = scope.spawn(|| spec.fingerprint());
            let prepared = self.prepared(&mut stages);
            let ready = prepared.as_ref().ok().filter(|_| choice.worker.is_none() && choice.may_be_a_card());
            let ready = ready.map_or(Vec::new(), |prepared| {
                let ready = self.layouts(prepared, names.len());
                stages.done("layouts", "inputs of the kernels");
                ready
            });
            (prepared, joined(devices), joined(input), ready)
        });
        let Prepared { plan, source, tables, memory } = prepared?;
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
        let resumed_groups = partial.known().len();
        if resumed_groups > 0 {
            let (all, path) = (plan.groups.len(), partial.path().display());
            stages.say("resume", &format!("{resumed_groups} of {all} groups are saved in {path}"));
        }
        let wanted = partial.missing(plan);
        let bytes = bytes_at_least(plan, &wanted, channels.len());
        let (setup, solving) = (started.elapsed().as_secs_f64(), Instant::now());
        let progress = Progress::new(plan, &wanted, self.tell);
        let mut to = Destination { plan, output, partial: &mut partial, progress };
        let (mut cards, mut shape) = (Vec::new(), None);
        match team {
            Some(processes) => {
                let workers = processes.workers();
                let portions = match kernels {
                    true => {
                        // Workers that share a card share its memory.
                        let sharing = workers.div_ceil(choice.cards_of_workers()?) as u64;
                        let free = devices[0].memory().free / 3 * 2 / sharing;
                        device_portions(plan, &wanted, channels.len(), workers, memory.room().min(free))
                    }
                    false => single_portions(plan, &wanted),
                };
                to.progress.start(portions.len(), Some(workers));
                let served = serve(processes, portions, &mut |finished, by| to.keep(finished, by));
                *team = None;
                served?;
                to.progress.show_workers();
            }
            None if kernels => {
                let set = CardSet { names: &names, devices: &mut devices, layouts: ready, room: memory.room() };
                (cards, shape) = on_cards(&job, set, &wanted, &mut to, &mut stages)?;
            }
            None => {
                let pieces = pieces(plan, &wanted, channels.len(), memory.piece);
                let mut cores = Cores::new(&mut job);
                to.work(&*source, vec![cores.member(pieces, memory.under_way())], &mut stages, false)?;
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
            memory: memory.items(),
            allowed: memory.limit,
            bytes,
            written,
        })
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

/// Shares groups out among cards, of which more than groups are let go; what each did, and the shape of the kernels of a single one.
fn on_cards(
    job: &Job<'_>,
    set: CardSet<'_>,
    wanted: &[usize],
    to: &mut Destination<'_>,
    stages: &mut Stages<'_>,
) -> Result<(Vec<CardRecord>, Option<ShapeUsed>), TransformError> {
    let CardSet { names, devices, layouts, room } = set;
    let shares = shares(job.plan, wanted, job.source.channels().len(), devices.len());
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
    let members = cards.iter_mut().map(Card::member).collect();
    let flows = to.work(job.source, members, stages, true)?;
    let shape = if let [alone] = &cards[..] { alone.shape.clone() } else { None };
    let records: Vec<CardRecord> = cards.into_iter().zip(&flows).map(|(card, flow)| card.record(flow)).collect();
    records.iter().for_each(|card| stages.say("card", &card.to_string()));
    Ok((records, shape))
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
