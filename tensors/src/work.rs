//! The work on some groups of quadruples: input numbers, coefficients, output numbers, and their summary.
//!
//! In: a [`TensorSource`], and the groups. Out: their strengths (or elements) with their shares of the [`Summary`]. Groups are
//! independent, so they may be processed in pieces that fit into memory, in any order, by any process: the bits are the
//! same.
//!
//! [`Summary`]: super::Summary

use super::csv::TableError;
use super::device::{self, DeviceTransformError};
use super::plan::{Group, Plan};
use super::source::TensorSource;
use super::summary::Share;
use super::tables::Tables;
use super::{binary, exchange};
use eigenforge_runtime::tune::ShapeUsed;
use eigenforge_runtime::{Device, Lanes, trace};
use eigenforge_templates::su3::Ways;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Elements into strengths, or back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// u → C.
    Forward,
    /// C → u.
    Inverse,
}

impl Direction {
    /// The kind of the input.
    pub fn input(self) -> binary::TensorKind {
        if self == Direction::Forward { binary::TensorKind::Elements } else { binary::TensorKind::Strengths }
    }

    /// The kind of the output.
    pub fn output(self) -> binary::TensorKind {
        if self == Direction::Forward { binary::TensorKind::Strengths } else { binary::TensorKind::Elements }
    }
}

impl Direction {
    fn group_share(self, group: &Group, input: &[f64], output: &[f64]) -> Share {
        match self {
            Direction::Forward => Share::new(group, input, output),
            Direction::Inverse => Share::new(group, output, input),
        }
    }
}

/// A transformation.
pub(super) struct Job<'a> {
    /// The space.
    pub plan: &'a Plan,
    /// The input.
    pub source: &'a dyn TensorSource,
    /// Coefficients of the pairs of shells; W⁰ is loaded as needed.
    pub tables: Tables,
    /// The direction.
    pub direction: Direction,
    /// Whether a shape of the kernels that was tuned on the card is used.
    pub tuned: bool,
    /// Time per stage.
    pub spent: WorkTimes,
}

/// Wall-clock seconds by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct WorkTimes {
    /// Reading or computing the input.
    pub input: f64,
    /// W⁰.
    pub tables: f64,
    /// The transformation.
    pub transform: f64,
}

/// A finished group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FinishedGroup {
    /// Its number.
    pub group: usize,
    /// Its numbers, a vector per channel.
    pub vectors: Vec<Vec<f64>>,
    /// The largest deviation from orthogonality of its W⁰.
    pub defect: f64,
    /// Share of each channel.
    pub shares: Vec<Share>,
}

impl<'a> Job<'a> {
    /// Nothing is done yet.
    pub(crate) fn new(plan: &'a Plan, source: &'a dyn TensorSource, tables: Tables, direction: Direction) -> Job<'a> {
        let spent = WorkTimes::default();
        Job { plan, source, tables, direction, tuned: true, spent }
    }

    /// Transforms some groups of the plan, on all cores.
    ///
    /// # Errors
    ///
    /// Errors of the source.
    pub(super) fn work(&mut self, groups: &[usize]) -> Result<Vec<FinishedGroup>, TableError> {
        let started = Instant::now();
        let inputs = read(self.plan, self.source, groups)?;
        self.spent.input += started.elapsed().as_secs_f64();
        Ok(self.work_on(groups, &inputs))
    }

    /// The same from given numbers.
    pub(super) fn work_on(&mut self, groups: &[usize], inputs: &[Vec<Vec<f64>>]) -> Vec<FinishedGroup> {
        let of: Vec<&Group> = groups.iter().map(|at| &self.plan.groups[*at]).collect();
        let mut clock = Instant::now();
        let mut lap = || std::mem::replace(&mut clock, Instant::now()).elapsed().as_secs_f64();
        self.tables.load_groups(&of);
        self.spent.tables += lap();
        let done = groups
            .par_iter()
            .zip(inputs)
            .map(|(at, input)| {
                let group = &self.plan.groups[*at];
                self.finished(*at, input, self.transform(group, input), self.tables.defect_of(group))
            })
            .collect();
        self.spent.transform += lap();
        done
    }

    fn finished(&self, at: usize, input: &[Vec<f64>], vectors: Vec<Vec<f64>>, defect: f64) -> FinishedGroup {
        let (group, pairs) = (&self.plan.groups[at], input.par_iter().zip(&vectors));
        let shares = pairs.map(|(input, output)| self.direction.group_share(group, input, output)).collect();
        FinishedGroup { group: at, vectors, defect, shares }
    }

    /// Transforms every channel; one that equals an earlier one, as nn equals pp without the Coulomb force, is copied.
    fn transform(&self, group: &Group, input: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let first_like: Vec<usize> =
            (0..input.len()).map(|at| (0..at).find(|other| input[*other] == input[at]).unwrap_or(at)).collect();
        let done: Vec<Vec<f64>> = input
            .par_iter()
            .enumerate()
            .map(|(at, numbers)| if first_like[at] == at { self.one(group, numbers) } else { Vec::new() })
            .collect();
        first_like.iter().map(|at| done[*at].clone()).collect()
    }

    fn one(&self, group: &Group, numbers: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; group.length];
        match self.direction {
            Direction::Forward => exchange::forward(group, &self.tables, numbers, &mut out),
            Direction::Inverse => exchange::inverse(group, &self.tables, numbers, &mut out),
        }
        out
    }
}

/// Numbers of some groups: for each, one vector per channel.
///
/// # Errors
///
/// Errors of the source.
pub(super) fn read(plan: &Plan, source: &dyn TensorSource, groups: &[usize]) -> Result<Vec<Vec<Vec<f64>>>, TableError> {
    let _reading = trace::span("set up", "read the input");
    groups.par_iter().map(|at| source.group(&plan.groups[*at])).collect()
}

/// What the kernels of some groups are written from, made before there is a device.
pub(crate) struct PreparedLayouts {
    /// Whose groups they are, portion by portion.
    portions: Vec<Vec<usize>>,
    layouts: device::Layouts,
}

impl PreparedLayouts {
    /// For all channels.
    pub(crate) fn new(
        plan: &Plan,
        tables: &Tables,
        channels: usize,
        direction: Direction,
        portions: &[Vec<usize>],
    ) -> PreparedLayouts {
        let part = device::part_of(plan, &portions.concat());
        let layouts = device::Layouts::new(&part, tables, channels, ways(direction), &ranges(portions));
        PreparedLayouts { portions: portions.to_vec(), layouts }
    }
}

/// Whether a device processes groups in several portions; otherwise all at once.
pub(crate) fn has_portions(direction: Direction) -> bool {
    direction == Direction::Forward
}

/// Whose kernels a direction needs.
pub(super) fn ways(direction: Direction) -> Ways {
    match direction {
        Direction::Forward => Ways::Forward,
        Direction::Inverse => Ways::Back,
    }
}

/// Consecutive portions, as index ranges.
fn ranges(portions: &[Vec<usize>]) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut range = |portion: &Vec<usize>| {
        end += portion.len();
        end - portion.len()..end
    };
    portions.iter().map(&mut range).collect()
}

/// Some groups of a plan on a device, as a plan of their own with one set of kernels, portion by portion.
pub(crate) struct DeviceWork {
    portions: Vec<Vec<usize>>,
    channels: device::Channels,
    resident: Arc<device::Resident>,
    /// Through which numbers are sent.
    slots: device::Slots,
    /// The shape of the kernels, if it was asked for.
    pub shape: Option<ShapeUsed>,
}

/// A portion that was begun on a device.
pub(crate) struct BegunPortion {
    portion: usize,
    begun: device::Begun,
    groups: Vec<usize>,
    defects: Vec<f64>,
    resident: Arc<device::Resident>,
}

impl DeviceWork {
    /// Compiles kernels and computes W⁰ for these groups, whose numbers come and go by `lanes`. `layouts` are used if they are of
    /// the same portions.
    ///
    /// # Errors
    ///
    /// Not enough device memory, with the numbers.
    pub(super) fn new(
        job: &Job,
        portions: &[Vec<usize>],
        layouts: Option<PreparedLayouts>,
        device: &Device,
        lanes: &Arc<Lanes>,
    ) -> Result<DeviceWork, DeviceTransformError> {
        let groups = portions.concat();
        let (part, ways) = (device::part_of(job.plan, &groups), ways(job.direction));
        let (mut shape, mut layouts) =
            (None, layouts.filter(|ready| ready.portions == portions).map(|ready| ready.layouts));
        if let Some(ready) = layouts.take_if(|_| job.tuned) {
            let (ready, used) = ready.tuned(&part, &job.tables, device)?;
            (shape, layouts) = (Some(used), Some(ready));
        }
        let count = job.source.channels().len();
        let channels = device::Channels::new(&part, &job.tables, count, ways, &ranges(portions), layouts, device)?;
        let resident = Arc::new(channels.resident(lanes.clone())?);
        let portions = if channels.portions() == portions.len() { portions.to_vec() } else { vec![groups] };
        Ok(DeviceWork { portions, channels, resident, slots: device::Slots::new(device), shape })
    }

    /// Sends the numbers of a portion and queues its kernels; [`BegunPortion::finish`], perhaps on another thread, waits for them.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub(super) fn start(
        &mut self,
        portion: usize,
        inputs: &[Vec<Vec<f64>>],
    ) -> Result<BegunPortion, DeviceTransformError> {
        let begun = self.channels.start(portion, &self.resident, &mut self.slots, inputs)?;
        let groups = self.portions[portion].clone();
        let before: usize = self.portions[..portion].iter().map(Vec::len).sum();
        let defects = self.channels.defects()[before..][..groups.len()].to_vec();
        Ok(BegunPortion { portion, begun, groups, defects, resident: self.resident.clone() })
    }

    /// Waits for what was sent, so that its time is known.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub(crate) fn settle(&mut self) -> Result<(), DeviceTransformError> {
        Ok(self.slots.settle()?)
    }

    /// Transforms a portion.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub(super) fn portion(
        &mut self,
        job: &Job,
        portion: usize,
        inputs: &[Vec<Vec<f64>>],
    ) -> Result<Vec<FinishedGroup>, DeviceTransformError> {
        self.start(portion, inputs)?.finish(job, inputs, &mut self.slots)
    }
}

impl BegunPortion {
    /// Its groups when they are done.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub(super) fn finish(
        self,
        job: &Job,
        inputs: &[Vec<Vec<f64>>],
        slots: &mut device::Slots,
    ) -> Result<Vec<FinishedGroup>, DeviceTransformError> {
        let channels = inputs.first().map_or(0, Vec::len);
        let outputs = self.resident.collect(self.portion, self.begun, slots, channels)?;
        let groups = self.groups.par_iter().zip(inputs).zip(outputs).zip(&self.defects);
        Ok(groups.map(|(((at, input), output), defect)| job.finished(*at, input, output, *defect)).collect())
    }
}

/// Transforms some groups of the plan on a device, all at once, as a plan of their own.
///
/// # Errors
///
/// Errors of the source; not enough device memory, with the numbers.
pub(super) fn on_device(
    job: &mut Job,
    groups: &[usize],
    device: &Device,
) -> Result<Vec<FinishedGroup>, DeviceWorkError> {
    let started = Instant::now();
    let (job_is, plan, source) = (&*job, job.plan, job.source);
    // The compiler keeps one core busy for each file; the others read.
    let (ready, input, reading) = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (started, input) = (Instant::now(), read(plan, source, groups));
            (input, started.elapsed().as_secs_f64())
        });
        let lanes = Lanes::new(device, &device.name()).map(Arc::new).map_err(DeviceTransformError::from);
        let ready = lanes.and_then(|lanes| DeviceWork::new(job_is, &[groups.to_vec()], None, device, &lanes));
        let (input, seconds) = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (ready, input, seconds)
    });
    let preparing = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let finished = ready?.portion(job, 0, &input?)?;
    job.spent.input += reading;
    job.spent.tables += preparing;
    job.spent.transform += started.elapsed().as_secs_f64();
    Ok(finished)
}

/// Why a device could not process its groups.
#[derive(Debug, thiserror::Error)]
pub(super) enum DeviceWorkError {
    /// Error of the input.
    #[error(transparent)]
    Source(#[from] TableError),
    /// Error of the device.
    #[error(transparent)]
    Device(#[from] DeviceTransformError),
}

/// Bytes of a group in progress: input, output and intermediate numbers, and W⁰.
pub(super) fn bytes_of(group: &Group, channels: usize) -> u64 {
    8 * (4 * (channels * group.length) as u64 + 2 * group.length as u64 + group.w0())
}

/// Groups processed together: consecutive ones of `wanted` up to a limit in bytes, at least one group each.
pub(super) fn pieces(plan: &Plan, wanted: impl Iterator<Item = usize>, channels: usize, bytes: u64) -> Vec<Vec<usize>> {
    let (mut pieces, mut held): (Vec<Vec<usize>>, u64) = (Vec::new(), 0);
    for at in wanted {
        let needed = bytes_of(&plan.groups[at], channels);
        match pieces.last_mut().filter(|_| held + needed <= bytes) {
            Some(piece) => {
                piece.push(at);
                held += needed;
            }
            None => {
                pieces.push(vec![at]);
                held = needed;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::super::space::OscillatorSpace;
    use super::*;

    /// A device gives the same bits for one portion, for several and for one portion per group; close to those of the
    /// CPU.
    #[test]
    fn portions_do_not_change_the_bits() {
        use super::super::TableCache;
        use super::super::channel::{ByChannel, Channel};
        let plan = Plan::new(OscillatorSpace { n_max: 2 });
        let vector = |seed: usize| (0..plan.length).map(|i| ((i * i + seed) as f64).sin()).collect::<Vec<f64>>();
        let source = ByChannel { vectors: vec![(Channel::Pn, vector(1)), (Channel::Pp, vector(2))], left_out: 0 };
        let job = |direction| {
            let tables = Tables::of_pairs(&plan, TableCache::off()).unwrap();
            Job::new(&plan, &source, tables, direction)
        };
        // Not all of the groups, as in a resumed run.
        let groups: Vec<usize> = (0..plan.groups.len()).filter(|at| *at != 2).collect();
        for device in eigenforge_runtime::testing::kernel_devices(eigenforge_runtime::simulate::Schedule::Forward) {
            for direction in [Direction::Forward, Direction::Inverse] {
                let expected = job(direction).work(&groups).unwrap();
                let whole = on_device(&mut job(direction), &groups, &device).unwrap();
                for (found, expected) in whole.iter().zip(&expected) {
                    assert_eq!(found.group, expected.group);
                    for (a, b) in found.vectors.concat().iter().zip(&expected.vectors.concat()) {
                        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
                    }
                }
                if !has_portions(direction) {
                    continue;
                }
                for most in [1, 2] {
                    let portions: Vec<Vec<usize>> = groups.chunks(most).map(<[usize]>::to_vec).collect();
                    let job = job(direction);
                    let ready = Some(PreparedLayouts::new(&plan, &job.tables, 2, direction, &portions));
                    let lanes = Arc::new(Lanes::new(&device, "card").unwrap());
                    let mut ours = DeviceWork::new(&job, &portions, ready, &device, &lanes).unwrap();
                    // All are begun before the first is waited for.
                    let inputs: Vec<_> =
                        portions.iter().map(|portion| read(&plan, &source, portion).unwrap()).collect();
                    let begun: Vec<BegunPortion> =
                        (0..portions.len()).map(|at| ours.start(at, &inputs[at]).unwrap()).collect();
                    let mut slots = device::Slots::new(&device);
                    let finished = begun.into_iter().zip(&inputs);
                    let found: Vec<FinishedGroup> =
                        finished.flat_map(|(begun, inputs)| begun.finish(&job, inputs, &mut slots).unwrap()).collect();
                    assert_eq!(found, whole, "{most} groups a portion");
                    ours.settle().unwrap();
                    let bytes = 16 * groups.iter().map(|at| plan.groups[*at].length as u64).sum::<u64>();
                    let times = lanes.times();
                    assert_eq!([times.bytes_to_device, times.bytes_to_host], [bytes; 2]);
                }
            }
        }
    }

    #[test]
    fn pieces_keep_the_limit_and_hold_every_group_once() {
        let plan = Plan::new(OscillatorSpace { n_max: 4 });
        let of = |group: &usize| bytes_of(&plan.groups[*group], 3);
        let largest = (0..plan.groups.len()).map(|group| of(&group)).max().expect("groups");
        for limit in [0, largest, 3 * largest, u64::MAX] {
            let pieces = pieces(&plan, 0..plan.groups.len(), 3, limit);
            assert_eq!(pieces.concat(), (0..plan.groups.len()).collect::<Vec<_>>());
            assert!(pieces.iter().all(|piece| piece.len() == 1 || piece.iter().map(of).sum::<u64>() <= limit));
            assert!(limit != 0 || pieces.len() == plan.groups.len());
            assert!(limit != u64::MAX || pieces.len() == 1);
        }
    }
}
