//! The cards of one process, each a worker with a thread, kernels of its own and its share of the groups.
//!
//! In: the shares of the groups ([`super::shares`]), an opened device for each. Out: every group of them, and what each card did. A card
//! takes as many groups as its memory holds as one plan, with one set of kernels and their W⁰, and does the plan in pieces: while
//! kernels work on one, the numbers of the next are sent and those of the last are fetched, and the host reads, sums up and writes
//! others. No card waits for another, and the bits of a group do not depend on its card.

use super::device::{DeviceGroups, DeviceMemory, Layouts, Slots};
use super::error::TransformError;
use super::flow::Flow;
use super::shares::{LARGEST_PIECE, UNDER_WAY, card_portions, fraction, memory, numbers, pieces};
use super::team::{Member, Pending, Worker, in_several};
use super::work::Job;
use eigenforge_core::words::size;
use eigenforge_runtime::tune::ShapeUsed;
use eigenforge_runtime::{Device, Lanes, trace};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A card and its share.
pub(crate) struct Card<'w> {
    /// What it is called beside others.
    label: String,
    job: &'w Job<'w>,
    device: &'w Device,
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
    layouts: Option<Layouts>,
    /// Bytes of host memory for its portions under way.
    room: u64,
    lanes: Option<Arc<Lanes>>,
    /// Which plan it is at.
    at: usize,
    ready: Option<DeviceGroups>,
    /// Through which numbers come back.
    fetched: Arc<Mutex<Slots>>,
    /// Held by the pieces of this plan that are under way.
    tokens: (Sender<()>, Receiver<()>),
    /// Seconds of kernels and W⁰ of all plans but the first.
    tables: f64,
    /// The shape of its first kernels, if it was looked up.
    pub shape: Option<ShapeUsed>,
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

impl<'w> Card<'w> {
    /// One of several `shares`, in `room` bytes of host memory.
    ///
    /// # Errors
    /// A group that does not fit in the card's memory, with the numbers.
    pub(crate) fn new(
        job: &'w Job<'w>,
        (share, shares): (&[usize], &[Vec<usize>]),
        room: u64,
        layouts: Option<Layouts>,
        device: &'w Device,
        label: String,
    ) -> Result<Card<'w>, TransformError> {
        let (plan, channels, free) = (job.plan, job.source.channels().len(), device.memory().free);
        let in_portions = job.direction.has_portions();
        // A simulated device is host memory too; what is not done in portions is on the host as a whole.
        let (most, room) = match device.is_cuda() {
            true if in_portions => (free / 3 * 2, room),
            true => (room.min(free / 3 * 2), room),
            false => (free.min(room) / 2, room / 2),
        };
        let portions = |groups: &Vec<usize>| card_portions(plan, groups, channels, room, job.direction);
        let plans = pieces(plan, share, channels, most);
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
            job,
            device,
            groups: share.to_vec(),
            fraction: fraction(plan, share, shares, channels),
            numbers: numbers(plan, share, channels),
            plans: plans.iter().map(portions).collect(),
            memory,
            layouts,
            room: room.min(UNDER_WAY * LARGEST_PIECE),
            lanes: None,
            at: 0,
            ready: None,
            fetched: Arc::new(Mutex::new(Slots::new(device))),
            tokens: channel(),
            tables: 0.0,
            shape: None,
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

    /// As a worker of a team.
    pub(crate) fn member(&mut self) -> Member<'_, 'w> {
        Member { label: self.label.clone(), portions: self.plans.concat(), room: self.room, worker: self }
    }

    /// What it did.
    pub(crate) fn record(self, flow: &Flow) -> CardRecord {
        let times = self.lanes.map(|lanes| lanes.times()).unwrap_or_default();
        CardRecord {
            card: self.label,
            groups: self.groups.len(),
            share: self.fraction,
            plans: self.plans.len(),
            bytes: times.bytes_to_device + times.bytes_to_host,
            seconds_in: times.to_device,
            seconds_kernels: times.kernels,
            seconds_out: times.to_host,
            elapsed: flow.elapsed,
        }
    }

    /// Compiles the kernels of a plan and makes its W⁰. `layouts` are used if they are of this plan; only these are tuned.
    fn compile(&mut self, plan: usize, layouts: Option<Layouts>) -> Result<(), TransformError> {
        let _preparing = trace::span("set up", "kernels, tables and W0");
        let (job, device, portions) = (self.job, self.device, &self.plans[plan]);
        let free = device.memory().free;
        let at_once = memory(job.plan, &portions.concat(), job.source.channels().len(), free).channels;
        let layouts = match layouts.filter(|layouts| layouts.is_for(at_once, portions)) {
            Some(ready) if job.tuned => {
                let (tuned, shape) = ready.tuned(&job.tables, device)?;
                self.shape = Some(shape);
                tuned
            }
            Some(ready) => ready,
            None => Layouts::new(job.plan, &job.tables, at_once, job.direction.ways(), portions),
        };
        let name = if device.is_cuda() { device.name() } else { self.label.clone() };
        let lanes = self.lanes.take().map_or_else(|| Lanes::new(device, &name).map(Arc::new), Ok)?;
        self.ready = Some(DeviceGroups::new(layouts, device, self.lanes.insert(lanes).clone())?);
        Ok(())
    }

    /// Waits for all pieces under way.
    fn settle(&mut self) -> Result<(), TransformError> {
        let (_, ended) = std::mem::replace(&mut self.tokens, channel());
        // Nobody sends: it ends when the last token is dropped.
        while ended.recv().is_ok() {}
        Ok(self.ready.as_mut().map_or(Ok(()), DeviceGroups::settle)?)
    }
}

impl<'w> Worker<'w> for Card<'w> {
    fn begin(&mut self) -> Result<(), TransformError> {
        let layouts = self.layouts.take();
        if self.plans.is_empty() { Ok(()) } else { self.compile(0, layouts) }
    }

    fn start(
        &mut self,
        at: usize,
        groups: &[usize],
        inputs: Vec<Vec<Vec<f64>>>,
    ) -> Result<Pending<'w>, TransformError> {
        let (mut portion, mut plan) = (at, 0);
        while portion >= self.plans[plan].len() {
            (portion, plan) = (portion - self.plans[plan].len(), plan + 1);
        }
        if plan != self.at {
            // The memory of the last is given back first, which takes that no piece of it is under way.
            self.settle()?;
            (self.ready, self.at) = (None, plan);
            let started = Instant::now();
            self.compile(plan, None)?;
            self.tables += started.elapsed().as_secs_f64();
        }
        let ready = self.ready.as_mut().unwrap_or_else(|| unreachable!("a plan that was compiled"));
        let begun = ready.start(portion, &inputs)?;
        let (job, groups, defects) = (self.job, groups.to_vec(), ready.defects(portion).to_vec());
        let (slots, token) = (self.fetched.clone(), self.tokens.0.clone());
        Ok(Box::new(move || {
            let _under_way = token;
            let outputs = begun.finish(&mut slots.lock().unwrap_or_else(PoisonError::into_inner))?;
            let all = groups.par_iter().zip(&inputs).zip(outputs).zip(defects);
            Ok(all.map(|(((at, input), output), defect)| job.finished(*at, input, output, defect)).collect())
        }))
    }

    fn end(&mut self) -> Result<[f64; 2], TransformError> {
        self.settle()?;
        let times = self.lanes.as_ref().map(|lanes| lanes.times()).unwrap_or_default();
        Ok([self.tables, times.to_device + times.kernels + times.to_host])
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

#[cfg(test)]
mod tests {
    use super::super::channel::{ByChannel, Channel};
    use super::super::partial::{Partial, Run};
    use super::super::shares::shares;
    use super::super::team::Team;
    use super::super::work::FinishedGroup;
    use super::super::{Direction, OscillatorSpace, Plan, TableCache, Tables, TensorKind};
    use super::*;
    use eigenforge_core::path::FamilyError;
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
        let shares = shares(&plan, &partial.missing(&plan), 1, 2);
        let card = |at: usize| {
            let label = ["first", "second"][at];
            Card::new(&job, (&shares[at], &shares), 1 << 30, None, &devices[at], label.into()).unwrap()
        };
        let mut cards = [card(0), card(1)];
        assert!(cards[1].describe().starts_with("second: ") && cards[1].describe().contains(" of its memory, "));
        let (mut named, place) = (Vec::new(), partial.path().to_path_buf());
        let mut keep = |finished: Vec<FinishedGroup>, by: Option<&str>| -> Result<(), TransformError> {
            named.push(by.map(str::to_string));
            partial.put(&plan, finished).unwrap();
            Ok(())
        };
        let team = Team::new(&plan, &source, Some(&place), &mut keep);
        let error = team.work(cards.iter_mut().map(Card::member).collect()).unwrap_err();
        drop(team);
        assert!(!named.is_empty() && named.iter().all(|by| by.as_deref() == Some("first")), "{named:?}");
        let said = error.to_string();
        assert!(said.starts_with("second: ") && said.contains("CUDA device") && error.device().is_some(), "{said}");
        assert_eq!(partial.known().keys().copied().collect::<Vec<_>>(), shares[0]);
        let free = devices[0].memory().free;
        let error = in_several(devices[0].check_memory("too much", free + (1 << 40)).unwrap_err(), 2, "first");
        assert!(error.to_string().starts_with("first: ") && error.to_string().contains("too much"), "{error}");
    }
}
