//! The cards of one process, each with a thread, kernels of its own and its share of the groups.
//!
//! In: the shares of the groups ([`super::shares`]), an opened device for each. Out: every group kept, and what each card did. A card
//! takes as many groups as its memory holds as one plan, with one set of kernels and their W⁰, and does the plan in pieces: while
//! kernels work on one, the numbers of the next are sent and those of the last are fetched, and the host reads, sums up and writes
//! others. No card waits for another, and the bits of a group do not depend on its card.

use super::device::{DeviceMemory, Slots};
use super::error::TransformError;
use super::flow::Flow;
use super::pieces::{Destination, LARGEST_PIECE, PieceList, UNDER_WAY, portions_of};
use super::shares::{fraction, memory, numbers};
use super::work::{BegunPortion, DeviceWork, Job, PreparedLayouts, has_portions, pieces};
use eigenforge_core::words::size;
use eigenforge_runtime::tune::ShapeUsed;
use eigenforge_runtime::{Device, Lanes};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// A card and its share.
pub(crate) struct Card<'d> {
    /// What it is called beside others.
    pub label: String,
    device: &'d Device,
    groups: Vec<usize>,
    /// Part of the work of all cards.
    fraction: f64,
    /// Bytes of its numbers, in or out.
    numbers: u64,
    /// Groups that it takes at once, in the portions that go through host memory.
    plans: Vec<Vec<Vec<usize>>>,
    /// What the plan that takes most takes of its memory.
    memory: DeviceMemory,
    /// What its first kernels are written from.
    layouts: Option<PreparedLayouts>,
    /// Bytes of host memory for its portions under way.
    room: u64,
}

/// What a card did in a transformation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CardRecord {
    /// The card.
    pub card: String,
    /// Groups of quadruples that it did.
    pub groups: usize,
    /// Their part of the work that was divided among the cards.
    pub share: f64,
    /// How many sets of kernels it took for them, one after the other; 1 where its memory holds all of its groups.
    pub plans: usize,
    /// Bytes of its numbers, both ways.
    pub bytes: u64,
    /// Seconds of the link to the card.
    pub seconds_in: f64,
    /// Seconds of its kernels.
    pub seconds_kernels: f64,
    /// Seconds of the link from the card.
    pub seconds_out: f64,
    /// Seconds by the clock from the beginning of the pieces to its last one.
    pub elapsed: f64,
}

/// A card that has done its share.
pub(crate) struct CardDone {
    pub record: CardRecord,
    pub flow: Flow,
    /// Seconds of kernels and W⁰ of all plans but the first.
    pub tables: f64,
    /// The shape of its first kernels, if it was looked up.
    pub shape: Option<ShapeUsed>,
}

impl<'d> Card<'d> {
    /// One of several `shares`, in `room` bytes of host memory.
    ///
    /// # Errors
    /// A group that does not fit in the card's memory, with the numbers.
    pub(crate) fn new(
        job: &Job,
        (share, shares): (&[usize], &[Vec<usize>]),
        room: u64,
        layouts: Option<PreparedLayouts>,
        device: &'d Device,
        label: String,
    ) -> Result<Card<'d>, TransformError> {
        let (plan, channels, free) = (job.plan, job.source.channels().len(), device.memory().free);
        let in_portions = has_portions(job.direction);
        // A simulated device is host memory too; what is not done in portions is on the host as a whole.
        let (most, room) = match device.is_cuda() {
            true if in_portions => (free / 3 * 2, room),
            true => (room.min(free / 3 * 2), room),
            false => (free.min(room) / 2, room / 2),
        };
        let portions = |groups: Vec<usize>| portions_of(plan, groups.into_iter(), channels, room, job.direction);
        let plans = pieces(plan, share.iter().copied(), channels, most);
        let memory = plans.iter().map(|groups| memory(plan, groups, channels, free)).max_by_key(DeviceMemory::bytes);
        let memory = memory.unwrap_or(DeviceMemory { channels, vectors: 0, coefficients: 0, free });
        let what = format!(
            "N_max = {}: {} of numbers and {} of W0",
            plan.n_max,
            size(memory.vectors),
            size(memory.coefficients)
        );
        device.check_memory(&what, memory.bytes()).map_err(|error| in_several(error, shares.len(), &label))?;
        Ok(Card {
            label,
            device,
            groups: share.to_vec(),
            fraction: fraction(plan, share, shares, channels),
            numbers: numbers(plan, share, channels),
            plans: plans.into_iter().map(portions).collect(),
            memory,
            layouts,
            room: room.min(UNDER_WAY * LARGEST_PIECE),
        })
    }

    /// What it will do, and what that takes.
    pub(crate) fn describe(&self) -> String {
        let plans = match self.plans.len() {
            0 | 1 => String::new(),
            plans => format!(" in {plans} parts, one after the other"),
        };
        let at_once = if self.memory.channels == 1 { ", one channel after the other" } else { "" };
        format!(
            "{}: {:.1} % of the work, {} groups{plans}, {} in and as many out{at_once}; {} of its memory, {} free",
            self.label,
            100.0 * self.fraction,
            self.groups.len(),
            size(self.numbers),
            size(self.memory.bytes()),
            size(self.memory.free)
        )
    }

    /// How many pieces it does.
    pub(crate) fn pieces(&self) -> usize {
        self.plans.iter().map(Vec::len).sum()
    }

    fn run(
        mut self,
        job: &Job,
        to: &Destination<'_>,
        several: bool,
        stopped: &AtomicBool,
    ) -> Result<CardDone, TransformError> {
        let name = if self.device.is_cuda() { self.device.name() } else { self.label.clone() };
        let lanes = Arc::new(Lanes::new(self.device, &name)?);
        let portions = self.plans.concat();
        let list = PieceList { pieces: &portions, under_way: self.room, worker: several.then_some(&*self.label) };
        let mut at_work = AtWork::new(job, self.device, &self.plans, &lanes);
        let (working, layouts) = (&mut at_work, self.layouts.take());
        let begin = move || working.begin(layouts).map(|()| working);
        let work = |working: &mut &mut AtWork, at: usize, inputs: Vec<Vec<Vec<f64>>>| working.start(at, inputs);
        let mut slots = Slots::new(self.device);
        let finish = |_, underway: UnderWay| Ok(underway.begun.finish(job, &underway.inputs, &mut slots)?);
        let flow = to.keep(&list, begin, work, finish, || stopped.load(Ordering::Relaxed))?;
        let (tables, shape) = at_work.end()?;
        let times = lanes.times();
        let record = CardRecord {
            card: self.label,
            groups: self.groups.len(),
            share: self.fraction,
            plans: self.plans.len(),
            bytes: times.bytes_to_device + times.bytes_to_host,
            seconds_in: times.to_device,
            seconds_kernels: times.kernels,
            seconds_out: times.to_host,
            elapsed: to.elapsed(),
        };
        Ok(CardDone { record, flow, tables, shape })
    }
}

impl CardRecord {
    /// Seconds of its kernels and of both ways of its link.
    pub fn seconds(&self) -> f64 {
        self.seconds_in + self.seconds_kernels + self.seconds_out
    }
}

impl std::fmt::Display for CardRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: {:.1} % of the work, {} groups: kernels {:.3} s, link {:.3} s in and {:.3} s out, {} both ways; {:.2} s elapsed",
            self.card,
            100.0 * self.share,
            self.groups,
            self.seconds_kernels,
            self.seconds_in,
            self.seconds_out,
            size(self.bytes),
            self.elapsed
        )
    }
}

/// A piece that a card has begun.
struct UnderWay {
    begun: BegunPortion,
    inputs: Vec<Vec<Vec<f64>>>,
    /// Dropped when it is finished.
    _token: Sender<()>,
}

/// A card on its plans.
struct AtWork<'w> {
    job: &'w Job<'w>,
    device: &'w Device,
    plans: &'w [Vec<Vec<usize>>],
    lanes: &'w Arc<Lanes>,
    /// Which plan it is at.
    at: usize,
    ready: Option<DeviceWork>,
    /// Held by the pieces of this plan that are under way.
    tokens: (Sender<()>, Receiver<()>),
    tables: f64,
    shape: Option<ShapeUsed>,
}

impl<'w> AtWork<'w> {
    fn new(job: &'w Job<'w>, device: &'w Device, plans: &'w [Vec<Vec<usize>>], lanes: &'w Arc<Lanes>) -> AtWork<'w> {
        AtWork { job, device, plans, lanes, at: 0, ready: None, tokens: channel(), tables: 0.0, shape: None }
    }

    /// Compiles the kernels of the first plan and makes its W⁰.
    fn begin(&mut self, layouts: Option<PreparedLayouts>) -> Result<(), TransformError> {
        if let Some(first) = self.plans.first() {
            let ready = DeviceWork::new(self.job, first, layouts, self.device, self.lanes)?;
            self.shape = ready.shape.clone();
            self.ready = Some(ready);
        }
        Ok(())
    }

    /// Begins a piece.
    fn start(&mut self, piece: usize, inputs: Vec<Vec<Vec<f64>>>) -> Result<UnderWay, TransformError> {
        let (mut portion, mut plan) = (piece, 0);
        while portion >= self.plans[plan].len() {
            (portion, plan) = (portion - self.plans[plan].len(), plan + 1);
        }
        if plan != self.at {
            // The memory of the last is given back first, which takes that no piece of it is under way.
            self.settle()?;
            self.ready = None;
            self.at = plan;
        }
        let mut ready = match self.ready.take() {
            Some(ready) => ready,
            None => {
                let started = Instant::now();
                let ready = DeviceWork::new(self.job, &self.plans[plan], None, self.device, self.lanes)?;
                self.tables += started.elapsed().as_secs_f64();
                ready
            }
        };
        let begun = ready.start(portion, &inputs);
        self.ready = Some(ready);
        Ok(UnderWay { begun: begun?, inputs, _token: self.tokens.0.clone() })
    }

    /// Waits for all pieces under way.
    fn settle(&mut self) -> Result<(), TransformError> {
        let (_, ended) = std::mem::replace(&mut self.tokens, channel());
        // Nobody sends: it ends when the last token is dropped.
        while ended.recv().is_ok() {}
        Ok(self.ready.as_mut().map_or(Ok(()), DeviceWork::settle)?)
    }

    /// Seconds of the kernels of later plans, the shape of the first.
    fn end(mut self) -> Result<(f64, Option<ShapeUsed>), TransformError> {
        self.settle()?;
        Ok((self.tables, self.shape))
    }
}

/// Has every card do its share at the same time. If one fails, the others end after the pieces that they are at, which are kept.
///
/// # Errors
/// The first card's that failed, with its name where there are several; a signal.
pub(crate) fn by_cards(job: &Job, cards: Vec<Card>, to: &Destination<'_>) -> Result<Vec<CardDone>, TransformError> {
    let _saving = to.saving();
    let (count, stopped) = (cards.len(), AtomicBool::new(false));
    let run = |card: Card| {
        let label = card.label.clone();
        let done = card.run(job, to, count > 1, &stopped);
        done.inspect_err(|_| stopped.store(true, Ordering::Relaxed)).map_err(|error| in_several(error, count, &label))
    };
    let done: Vec<Result<CardDone, TransformError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = cards.into_iter().map(|card| scope.spawn(|| run(card))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let done = done.into_iter().collect::<Result<Vec<CardDone>, TransformError>>()?;
    to.check_signals()?;
    Ok(done)
}

/// An error with the card's name where there are several.
fn in_several(error: impl Into<TransformError>, cards: usize, label: &str) -> TransformError {
    match cards {
        1 => error.into(),
        _ => TransformError::Card { card: label.into(), source: Box::new(error.into()) },
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::{ByChannel, Channel};
    use super::super::partial::{Partial, Run};
    use super::super::shares::shares;
    use super::super::stages::Progress;
    use super::super::{Direction, OscillatorSpace, Plan, TableCache, Tables, TensorKind};
    use super::*;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::simulator;

    /// The second of two devices runs no kernels: the error has its name, and what the first has done is kept. A part that does not
    /// fit is refused by name before anything runs.
    #[test]
    fn a_card_that_fails_is_named_and_costs_nothing_that_was_done() {
        if simulator().is_none() {
            return;
        }
        let (devices, folder) =
            ([Device::simulated(Schedule::Forward).unwrap(), Device::cpu()], tempfile::tempdir().unwrap());
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let source = ByChannel { vectors: vec![(Channel::Pn, vec![1.0; plan.length])], left_out: 0 };
        let tables = Tables::of_pairs(&plan, TableCache::off()).unwrap();
        let job = Job::new(&plan, &source, tables, Direction::Forward);
        let output = folder.path().join("c.bin");
        let channels = [Channel::Pn];
        let run = Run { plan: &plan, kind: TensorKind::Strengths, channels: &channels, name: "a run".into() };
        let mut partial = Partial::open(&output, &run).unwrap();
        let progress = Progress::new(&plan, &partial, &|_, _| {});
        let shares = shares(&plan, &progress.wanted, 1, 2);
        let card = |at: usize| {
            let label = ["first", "second"][at];
            Card::new(&job, (&shares[at], &shares), 1 << 30, None, &devices[at], label.into()).unwrap()
        };
        let cards = vec![card(0), card(1)];
        assert!(cards[1].describe().starts_with("second: ") && cards[1].describe().contains(" of its memory, "));
        let to = Destination::new(&job, &mut partial, &output, progress, cards.iter().map(Card::pieces).sum());
        let error = by_cards(&job, cards, &to).map(drop).unwrap_err();
        drop(to);
        let said = error.to_string();
        assert!(said.starts_with("second: ") && said.contains("CUDA device") && error.device().is_some(), "{said}");
        assert_eq!(partial.known().keys().copied().collect::<Vec<_>>(), shares[0]);
        let free = devices[0].memory().free;
        let error = in_several(devices[0].check_memory("too much", free + (1 << 40)).unwrap_err(), 2, "first");
        assert!(error.to_string().starts_with("first: ") && error.to_string().contains("too much"), "{error}");
    }
}
