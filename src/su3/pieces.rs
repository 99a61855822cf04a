//! Pieces of a transformation: who works on them, on cores or on a card, and how they flow from the input to the disk.

use super::device::Layouts;
use super::error::TransformError;
use super::flow::{self, Flow};
use super::partial::Partial;
use super::plan::Plan;
use super::stages::Progress;
use super::work::{Algorithm, DeviceWork, Direction, FinishedGroup, Job, bytes_of, has_portions, pieces, read};
use crate::files::ReportError;
use eigenforge_runtime::Device;
use eigenforge_runtime::interrupt::{self, Saving};
use std::path::Path;
use std::time::Instant;

/// A piece that fits into memory many times is still no larger: what is lost by a kill. With smaller ones reading and writing
/// overlap more; each ends with the disk's word that it has them.
pub(super) const LARGEST_PIECE: u64 = 256 << 20;
/// Pieces under way where memory allows: read, waiting, worked on, written.
pub(super) const UNDER_WAY: u64 = 4;

/// Who works on pieces.
pub(super) trait PieceWorker {
    /// Groups of each piece.
    fn pieces(&self) -> Vec<Vec<usize>>;
    /// Makes ready for the first piece, while that is read.
    fn begin(&mut self, job: &mut Job) -> Result<(), TransformError>;
    /// Does a piece.
    fn work(
        &mut self,
        job: &mut Job,
        at: usize,
        inputs: &[Vec<Vec<f64>>],
    ) -> Result<Vec<FinishedGroup>, TransformError>;
}

/// All cores.
pub(super) struct Cores {
    pub pieces: Vec<Vec<usize>>,
}

impl PieceWorker for Cores {
    fn pieces(&self) -> Vec<Vec<usize>> {
        self.pieces.clone()
    }

    fn begin(&mut self, _: &mut Job) -> Result<(), TransformError> {
        Ok(())
    }

    fn work(
        &mut self,
        job: &mut Job,
        at: usize,
        inputs: &[Vec<Vec<f64>>],
    ) -> Result<Vec<FinishedGroup>, TransformError> {
        Ok(job.work_on(&self.pieces[at], inputs))
    }
}

/// A card, which takes groups up to its memory as a plan of their own, and does that in portions.
pub(super) struct Card<'d> {
    device: &'d Device,
    plans: Vec<Vec<Vec<usize>>>,
    /// Which plan it is at.
    at: usize,
    /// What its first kernels are written from.
    layouts: Option<Layouts>,
    ready: Option<DeviceWork>,
    /// Bytes of host memory for the portions under way.
    pub room: u64,
}

impl<'d> Card<'d> {
    pub(super) fn new(
        job: &Job,
        room: u64,
        wanted: &[usize],
        layouts: Option<Layouts>,
        device: &'d Device,
    ) -> Card<'d> {
        let (channels, free) = (job.source.channels().len(), device.memory().free / 3 * 2);
        let in_portions = has_portions(job.direction, job.algorithm);
        // A simulated device is host memory too; what is not done in portions is on the host as a whole.
        let (most, room) = match device.is_cuda() {
            true if in_portions => (free, room),
            true => (free.min(room), room),
            false => (free.min(room / 2), room / 2),
        };
        let portions =
            |plan: Vec<usize>| portions_of(job.plan, plan.into_iter(), channels, room, job.direction, job.algorithm);
        let plans: Vec<_> =
            pieces(job.plan, wanted.iter().copied(), channels, most).into_iter().map(portions).collect();
        let room = room.min(UNDER_WAY * LARGEST_PIECE);
        Card { device, plans, at: 0, layouts, ready: None, room }
    }
}

impl PieceWorker for Card<'_> {
    fn pieces(&self) -> Vec<Vec<usize>> {
        self.plans.concat()
    }

    /// Compiles the kernels of the first plan and makes its W⁰.
    fn begin(&mut self, job: &mut Job) -> Result<(), TransformError> {
        if let Some(first) = self.plans.first() {
            self.ready = Some(DeviceWork::new(job, first, self.layouts.take(), self.device)?);
        }
        // That is a stage of its own, not one of the pieces.
        job.spent.tables = 0.0;
        Ok(())
    }

    fn work(
        &mut self,
        job: &mut Job,
        at: usize,
        inputs: &[Vec<Vec<f64>>],
    ) -> Result<Vec<FinishedGroup>, TransformError> {
        let (mut portion, mut plan) = (at, 0);
        while portion >= self.plans[plan].len() {
            (portion, plan) = (portion - self.plans[plan].len(), plan + 1);
        }
        if plan != self.at {
            // Its memory is given back first.
            self.ready = None;
            self.at = plan;
        }
        let ready = match self.ready.take() {
            Some(ready) => ready,
            None => DeviceWork::new(job, &self.plans[plan], None, self.device)?,
        };
        Ok(self.ready.insert(ready).portion(job, portion, inputs)?)
    }
}

/// Groups that a card does as one plan, in the portions that go through host memory.
pub(super) fn portions_of(
    plan: &Plan,
    groups: impl Iterator<Item = usize>,
    channels: usize,
    room: u64,
    direction: Direction,
    algorithm: Algorithm,
) -> Vec<Vec<usize>> {
    match has_portions(direction, algorithm) {
        true => pieces(plan, groups, channels, LARGEST_PIECE.min(room / UNDER_WAY)),
        false => vec![groups.collect()],
    }
}

/// Does the pieces that are not done yet: the next is read and the last is written while one is worked on.
pub(super) fn by_pieces<'j, W: PieceWorker>(
    job: &mut Job<'j>,
    partial: &mut Partial,
    under_way: u64,
    output: &Path,
    mut progress: Progress<'_>,
    mut worker: W,
) -> Result<PieceTimes, TransformError> {
    let (plan, source, channels) = (job.plan, job.source, job.source.channels().len());
    let pieces = worker.pieces();
    let place = partial.path().to_path_buf();
    let _saving = Saving::to(&place);
    let needed = |piece: &Vec<usize>| piece.iter().map(|at| bytes_of(&plan.groups[*at], channels)).sum();
    let bytes: Vec<u64> = pieces.iter().map(needed).collect();
    let started = Instant::now();
    progress.start();
    let read = |at: usize| -> Result<_, TransformError> { Ok(read(plan, source, &pieces[at])?) };
    let write = |at: usize, finished| -> Result<(), TransformError> {
        let failed = |source| ReportError::Write { file: output.to_path_buf(), source };
        partial.put(plan, finished).map_err(failed)?;
        progress.done(plan, &pieces[at]);
        progress.show("piece", &format!("{} of {}", at + 1, pieces.len()));
        Ok(())
    };
    let begin = || worker.begin(job).map(|()| (worker, &mut *job));
    let work =
        |ready: &mut (W, &mut Job<'j>), at: usize, inputs: Vec<Vec<Vec<f64>>>| ready.0.work(&mut *ready.1, at, &inputs);
    let flow = flow::through(&bytes, under_way, read, begin, work, write, || interrupt::pending().is_some())?;
    if let Some(signal) = interrupt::pending() {
        let (standing, all, path) = (partial.standing(), plan.groups.len(), place.display());
        let how = partial.how_to_resume();
        let state = format!("{standing} of {all} groups are saved in {path}; {how}");
        return Err(interrupt::obey(signal, state).into());
    }
    job.spent.input += flow.reading;
    Ok(PieceTimes { flow, elapsed: started.elapsed().as_secs_f64() })
}

/// How long the pieces took.
pub(super) struct PieceTimes {
    pub flow: Flow,
    /// Seconds from the beginning to the last.
    pub elapsed: f64,
}
