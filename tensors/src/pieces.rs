//! Pieces of a transformation, and how they flow from the input to the disk.
//!
//! In: groups, piece by piece. Out: each piece read, worked on by all cores or by a card ([`super::cards`]), and kept.

use super::error::TransformError;
use super::flow::{self, Flow, Steps};
use super::partial::Partial;
use super::plan::Plan;
use super::source::TensorSource;
use super::stages::Progress;
use super::work::{Direction, FinishedGroup, Job, bytes_of, has_portions, pieces, read};
use eigenforge_core::files::ReportError;
use eigenforge_runtime::interrupt::{self, Saving};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A piece that fits into memory many times is still no larger: what is lost by a kill. With smaller ones reading and writing
/// overlap more; each ends with the disk's word that it has them.
pub(super) const LARGEST_PIECE: u64 = 256 << 20;
/// Pieces under way where memory allows: read, waiting, worked on, written.
pub(crate) const UNDER_WAY: u64 = 4;

/// Groups that a card does as one plan, in the portions that go through host memory.
pub(crate) fn portions_of(
    plan: &Plan,
    groups: impl Iterator<Item = usize>,
    channels: usize,
    room: u64,
    direction: Direction,
) -> Vec<Vec<usize>> {
    match has_portions(direction) {
        true => pieces(plan, groups, channels, LARGEST_PIECE.min(room / UNDER_WAY)),
        false => vec![groups.collect()],
    }
}

/// Where finished pieces go: one place for all that work on them.
pub(crate) struct Destination<'d> {
    plan: &'d Plan,
    source: &'d dyn TensorSource,
    channels: usize,
    output: &'d Path,
    place: PathBuf,
    state: Mutex<Kept<'d>>,
    started: Instant,
}

struct Kept<'d> {
    partial: &'d mut Partial,
    progress: Progress<'d>,
    done: usize,
    all: usize,
}

/// Pieces of groups, and the bytes of them that may be in memory at a time.
pub(crate) struct PieceList<'p> {
    pub pieces: &'p [Vec<usize>],
    pub under_way: u64,
    /// Who works on them, where there are several.
    pub worker: Option<&'p str>,
}

impl<'d> Destination<'d> {
    /// For so many pieces; their time is counted from here.
    pub(crate) fn new(
        job: &Job<'d>,
        partial: &'d mut Partial,
        output: &'d Path,
        mut progress: Progress<'d>,
        all: usize,
    ) -> Destination<'d> {
        let (plan, source, place) = (job.plan, job.source, partial.path().to_path_buf());
        progress.start();
        let state = Mutex::new(Kept { partial, progress, done: 0, all });
        Destination { plan, source, channels: source.channels().len(), output, place, state, started: Instant::now() }
    }

    /// Seconds since the beginning.
    pub(crate) fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Has a signal end the run once the pieces under way are kept.
    pub(crate) fn saving(&self) -> Saving {
        Saving::to(&self.place)
    }

    /// The error of a signal, if there was one.
    pub(crate) fn check_signals(&self) -> Result<(), TransformError> {
        let Some(signal) = interrupt::pending() else { return Ok(()) };
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (standing, all, path) = (state.partial.standing(), self.plan.groups.len(), self.place.display());
        let how = state.partial.how_to_resume();
        Err(interrupt::obey(signal, format!("{standing} of {all} groups are saved in {path}; {how}")).into())
    }

    /// Has the pieces of a list read, worked on and kept: the next is read and the last is written while one is worked on.
    pub(crate) fn keep<P: Send, W>(
        &self,
        list: &PieceList<'_>,
        begin: impl FnOnce() -> Result<W, TransformError>,
        work: impl FnMut(&mut W, usize, Vec<Vec<Vec<f64>>>) -> Result<P, TransformError>,
        finish: impl FnMut(usize, P) -> Result<Vec<FinishedGroup>, TransformError> + Send,
        stop: impl Fn() -> bool,
    ) -> Result<Flow, TransformError> {
        let (plan, source) = (self.plan, self.source);
        let needed = |piece: &Vec<usize>| piece.iter().map(|at| bytes_of(&plan.groups[*at], self.channels)).sum();
        let bytes: Vec<u64> = list.pieces.iter().map(needed).collect();
        let read = |at: usize| -> Result<_, TransformError> { Ok(read(plan, source, &list.pieces[at])?) };
        let write = |at: usize, finished| self.put(&list.pieces[at], finished, list.worker);
        flow::through(&bytes, list.under_way, Steps { read, finish, write }, begin, work, || {
            stop() || interrupt::pending().is_some()
        })
    }

    fn put(&self, piece: &[usize], finished: Vec<FinishedGroup>, worker: Option<&str>) -> Result<(), TransformError> {
        let failed = |source| ReportError::Write { file: self.output.to_path_buf(), source };
        let Kept { partial, progress, done, all } = &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        partial.put(self.plan, finished).map_err(failed)?;
        *done += 1;
        progress.done(self.plan, piece);
        let by = worker.map_or(String::new(), |worker| format!(" by {worker}"));
        progress.show("piece", &format!("{done} of {all}{by}"));
        Ok(())
    }
}

/// Does the pieces that are not done yet on all cores.
pub(crate) fn by_cores(
    job: &mut Job<'_>,
    pieces: &[Vec<usize>],
    under_way: u64,
    to: &Destination<'_>,
) -> Result<PieceTimes, TransformError> {
    let _saving = to.saving();
    let list = PieceList { pieces, under_way, worker: None };
    let work = |job: &mut &mut Job<'_>, at: usize, inputs: Vec<Vec<Vec<f64>>>| Ok(job.work_on(&pieces[at], &inputs));
    let flow = to.keep(&list, || Ok(&mut *job), work, |_, finished| Ok(finished), || false)?;
    to.check_signals()?;
    job.spent.input += flow.reading;
    Ok(PieceTimes { flow, elapsed: to.elapsed() })
}

/// How long the pieces took.
pub(crate) struct PieceTimes {
    pub flow: Flow,
    /// Seconds from the beginning to the last.
    pub elapsed: f64,
}
