//! Transforms all channels of a file on a device, as many at once as its memory holds.
//!
//! In: elements or strengths by channel. Out: the other kind. Data come from and go to host memory, beside the kernels of other
//! portions where all channels are done at once: [`Channels::start`] queues a portion, [`Resident::collect`], which another thread may
//! call, has its numbers. [`super::DeviceTransform`] is for callers who keep theirs on the device.

use super::super::plan::{Group, Plan};
use super::super::tables::Tables;
use super::coefficients::{CoefficientsLayout, largest};
use super::layout::Layout;
use super::slots::Slots;
use super::{DeviceCoefficients, DeviceTransform, DeviceTransformError};
use eigenforge_runtime::tune::{Choice, ShapeUsed};
use eigenforge_runtime::{Device, Lanes, Launched, Vector, trace};
use eigenforge_templates::su3::Ways;
use eigenforge_templates::{Cost, KernelText};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A transformation of some channels on a device: kernels, tables and W⁰; everything except the numbers.
pub(crate) struct Channels {
    transform: DeviceTransform,
    ways: Ways,
    device: Device,
    defects: Vec<f64>,
    numbers: Arrangement,
}

/// Where the numbers of a plan are in its vectors.
#[derive(Clone)]
struct Arrangement {
    /// Number of channels at once.
    at_once: usize,
    /// Numbers of one channel.
    length: usize,
    /// First number and length of each group.
    places: Vec<[usize; 2]>,
    /// Groups of each portion.
    portions: Vec<Range<usize>>,
}

/// The inputs of a plan's kernels, and their tables: everything that needs no device.
pub(crate) struct Layouts {
    coefficients: CoefficientsLayout,
    layout: Layout,
    ways: Ways,
    portions: Vec<Range<usize>>,
}

impl Layouts {
    /// For a plan, `at_once` channels at once, in portions of consecutive groups that cover all. The inverse has one
    /// portion.
    pub(crate) fn new(plan: &Plan, tables: &Tables, at_once: usize, ways: Ways, portions: &[Range<usize>]) -> Layouts {
        let whole = 0..plan.groups.len();
        let portions = if ways == Ways::Forward { portions } else { std::slice::from_ref(&whole) };
        let (coefficients, layout) = rayon::join(
            || CoefficientsLayout::new(plan, tables.coupler()),
            || Layout::in_portions(plan, tables, at_once as u32, None, portions),
        );
        Layouts { coefficients, layout, ways, portions: portions.to_vec() }
    }

    /// Where the ranges of labels are: the shape's name.
    pub(crate) fn shape(&self) -> &'static str {
        if self.layout.plan.layout.is_empty() { "labels in tables" } else { "labels in the text" }
    }

    /// The same plan in the other shape; its coefficients stay as they are.
    pub(crate) fn in_the_other_shape(self, plan: &Plan, tables: &Tables) -> Layouts {
        let most_in_text = if self.layout.plan.layout.is_empty() { usize::MAX } else { 0 };
        let channels = self.layout.plan.channels;
        Layouts { layout: Layout::in_portions(plan, tables, channels, Some(most_in_text), &self.portions), ..self }
    }

    /// The same plan in the shape that was tuned on this device, and the shape.
    ///
    /// # Errors
    /// A text that cannot be made; settings of the cache that cannot be read.
    pub(crate) fn tuned(
        self,
        plan: &Plan,
        tables: &Tables,
        device: &Device,
    ) -> Result<(Layouts, ShapeUsed), DeviceTransformError> {
        let choice = Choice::earlier(device, || Ok::<_, DeviceTransformError>(self.text()?.text))?;
        let other = choice.as_ref().is_some_and(|choice| choice.shape != self.shape());
        let layouts = if other { self.in_the_other_shape(plan, tables) } else { self };
        let shape = ShapeUsed::new(layouts.shape().into(), choice);
        Ok((layouts, shape))
    }

    /// The text of the transformation.
    ///
    /// # Errors
    /// A plan that cannot be written.
    pub(crate) fn text(&self) -> Result<KernelText, DeviceTransformError> {
        Ok(self.layout.plan.text_of(self.ways)?)
    }

    /// The minimal work of a transformation.
    pub(crate) fn cost(&self) -> Cost {
        self.layout.plan.cost()
    }

    /// Bytes of its tables on a device.
    pub(crate) fn table_bytes(&self) -> u64 {
        self.layout.plan.table_bytes()
    }

    /// Compiles the kernels, both files in parallel, and computes W⁰ on the device; for each block, its largest deviation
    /// from orthogonality.
    ///
    /// # Errors
    /// Not enough device memory, with the numbers; a device that compiles or runs no kernels.
    pub(crate) fn upload(self, device: &Device) -> Result<(DeviceTransform, Vec<f64>), DeviceTransformError> {
        let Layouts { coefficients, layout, ways, .. } = self;
        layout.check(device)?;
        device.compile_all(&[coefficients.plan.text()?, layout.plan.text_of(ways)?])?;
        let made = DeviceCoefficients::of_layout(&coefficients, device)?;
        let mut w0 = made.room()?;
        made.compute(&mut w0)?;
        let defects = made.defects(&w0)?;
        Ok((DeviceTransform::of_layout(layout, ways, Arc::new(w0), device)?, defects))
    }

    fn is_for(&self, at_once: usize, portions: &[Range<usize>]) -> bool {
        self.layout.plan.channels as usize == at_once && self.portions == portions
    }
}

/// The numbers of a plan on a device, as the threads that send, work and fetch share them.
pub(crate) struct Resident {
    vectors: Mutex<DeviceVectors>,
    lanes: Arc<Lanes>,
    numbers: Arrangement,
}

/// Two vectors of all channels that are done at once.
struct DeviceVectors {
    numbers: Vector<f64>,
    work: Vector<f64>,
}

/// A portion that was begun.
pub(crate) enum Begun {
    /// Its kernels are queued.
    Launched(Launched),
    /// It is done: a vector per group and channel.
    Done(Vec<Vec<Vec<f64>>>),
}

impl Channels {
    /// Compiles the kernels, all files in parallel, and computes W⁰ on the device.
    ///
    /// Portions are consecutive groups that cover all; only the forward transformation has more than one. Earlier
    /// `layouts` of the same plan and tables are used if they have the same number of channels at once and these
    /// portions.
    ///
    /// # Errors
    /// Not enough device memory even for one channel, with the numbers; a device that compiles or runs no kernels.
    pub(crate) fn new(
        plan: &Plan,
        tables: &Tables,
        channels: usize,
        ways: Ways,
        portions: &[Range<usize>],
        layouts: Option<Layouts>,
        device: &Device,
    ) -> Result<Channels, DeviceTransformError> {
        let _preparing = trace::span("set up", "kernels, tables and W0");
        let device = device.clone();
        let places = plan.groups.iter().map(|group| [group.start, group.length]).collect();
        let whole = 0..plan.groups.len();
        let portions = if ways == Ways::Forward { portions } else { std::slice::from_ref(&whole) };
        let at_once = memory_plan(plan, channels, device.memory().free).channels;
        let layouts = layouts.filter(|layouts| layouts.is_for(at_once, portions));
        let layouts = layouts.unwrap_or_else(|| Layouts::new(plan, tables, at_once, ways, portions));
        let portions = layouts.portions.clone();
        let (transform, of_blocks) = layouts.upload(&device)?;
        let mut of_blocks = of_blocks.chunks(3);
        let of_group = |group: &Group| {
            largest(&of_blocks.by_ref().take(group.products.len()).flatten().copied().collect::<Vec<_>>())
        };
        let defects = plan.groups.iter().map(of_group).collect();
        let numbers = Arrangement { at_once, length: plan.length, places, portions };
        Ok(Channels { transform, ways, device, defects, numbers })
    }

    /// For each group, the largest deviation of W⁰ from orthogonality.
    pub(crate) fn defects(&self) -> &[f64] {
        &self.defects
    }

    /// How many portions there are.
    pub(crate) fn portions(&self) -> usize {
        self.numbers.portions.len()
    }

    /// Memory of the device for the numbers, which come and go by `lanes`.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn resident(&self, lanes: Arc<Lanes>) -> Result<Resident, DeviceTransformError> {
        let zeros = || self.device.zeros(self.numbers.at_once * self.numbers.length);
        let vectors = Mutex::new(DeviceVectors { numbers: zeros()?, work: zeros()? });
        // Zeros are written on the stream of the kernels, for which copies do not wait.
        self.device.synchronize()?;
        Ok(Resident { vectors, lanes, numbers: self.numbers.clone() })
    }

    /// Sends the groups of a portion, one vector per group and channel, and queues their kernels. Where not all channels are done at
    /// once it does all of the portion.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn start(
        &self,
        portion: usize,
        resident: &Resident,
        slots: &mut Slots,
        input: &[Vec<Vec<f64>>],
    ) -> Result<Begun, DeviceTransformError> {
        let _transforming = trace::span("solve", "transform");
        let channels = input.first().map_or(0, Vec::len);
        if channels <= self.numbers.at_once {
            return Ok(Begun::Launched(self.launch(portion, resident, slots, input, 0..channels)?));
        }
        let mut output: Vec<Vec<Vec<f64>>> = input.iter().map(|_| Vec::with_capacity(channels)).collect();
        for first in (0..channels).step_by(self.numbers.at_once) {
            let together = first..(first + self.numbers.at_once).min(channels);
            let launched = self.launch(portion, resident, slots, input, together.clone())?;
            let found = resident.fetch(portion, launched, slots, together.len())?;
            output.iter_mut().zip(found).for_each(|(all, more)| all.extend(more));
        }
        Ok(Begun::Done(output))
    }

    /// Sends some channels of a portion and queues their kernels.
    fn launch(
        &self,
        portion: usize,
        resident: &Resident,
        slots: &mut Slots,
        input: &[Vec<Vec<f64>>],
        channels: Range<usize>,
    ) -> Result<Launched, DeviceTransformError> {
        let of_channels = input.iter().flat_map(|of| &of[channels.clone()]);
        let places = resident.numbers.places(portion, channels.len());
        let from: Vec<(usize, &[f64])> =
            places.into_iter().zip(of_channels).map(|([first, _], of)| (first, &of[..])).collect();
        let lanes = &resident.lanes;
        slots.send(&from, |slot, parts| lanes.send(slot, &mut resident.vectors().numbers, parts))?;
        let DeviceVectors { numbers, work } = &mut *resident.vectors();
        lanes.kernels(|| match self.ways {
            Ways::Back => self.transform.inverse(numbers, work),
            Ways::Forward | Ways::Both => self.transform.forward_portion(portion, numbers, work),
        })
    }
}

impl Arrangement {
    /// First number and length of each vector of a portion, channel by channel in each group.
    fn places(&self, portion: usize, channels: usize) -> Vec<[usize; 2]> {
        let groups = &self.places[self.portions[portion].clone()];
        let of = |[start, length]: &[usize; 2]| {
            let (start, length) = (*start, *length);
            (0..channels).map(move |channel| [channel * self.length + start, length])
        };
        groups.iter().flat_map(of).collect()
    }
}

impl Resident {
    /// The outputs of a portion that was begun: one vector per group and channel.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn collect(
        &self,
        portion: usize,
        begun: Begun,
        slots: &mut Slots,
        channels: usize,
    ) -> Result<Vec<Vec<Vec<f64>>>, DeviceTransformError> {
        match begun {
            Begun::Done(output) => Ok(output),
            Begun::Launched(launched) => self.fetch(portion, launched, slots, channels),
        }
    }

    fn fetch(
        &self,
        portion: usize,
        launched: Launched,
        slots: &mut Slots,
        channels: usize,
    ) -> Result<Vec<Vec<Vec<f64>>>, DeviceTransformError> {
        let places = self.numbers.places(portion, channels);
        let fetch = |slot, parts: &[_]| self.lanes.fetch(&launched, &self.vectors().numbers, slot, parts);
        let mut found = slots.fetch(&places, fetch)?.into_iter();
        launched.finish()?;
        let groups = self.numbers.portions[portion].len();
        Ok((0..groups).map(|_| found.by_ref().take(channels).collect()).collect())
    }

    fn vectors(&self) -> MutexGuard<'_, DeviceVectors> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory plan of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceMemory {
    /// Channels at once: all if they fit, otherwise one.
    pub channels: usize,
    /// Bytes of their two vectors each.
    pub vectors: u64,
    /// Bytes of W⁰; other tables are small.
    pub coefficients: u64,
    /// Free bytes on the device.
    pub free: u64,
}

/// The plan of the memory of a device with so many bytes free, before anything is allocated.
pub(crate) fn memory_plan(plan: &Plan, channels: usize, free: u64) -> DeviceMemory {
    let tensors = plan.groups.iter().flat_map(|group| &group.products).flat_map(|product| &product.tensors);
    let coefficients = tensors.map(|block| 8 * (block.rows * block.rows) as u64).sum();
    let vectors = |channels: usize| 16 * (channels * plan.length) as u64;
    // half as much again as W⁰ for all other tables
    let channels = if vectors(channels) + coefficients * 3 / 2 <= free { channels.max(1) } else { 1 };
    DeviceMemory { channels, vectors: vectors(channels), coefficients, free }
}

impl DeviceMemory {
    /// Bytes of everything.
    pub(crate) fn bytes(&self) -> u64 {
        self.vectors + self.coefficients * 3 / 2
    }
}

/// A plan for some groups of a plan: their numbers one group after another.
pub(crate) fn part_of(plan: &Plan, groups: &[usize]) -> Plan {
    let mut part = Plan { n_max: plan.n_max, groups: Vec::with_capacity(groups.len()), length: 0 };
    for at in groups {
        let mut group = plan.groups[*at].clone();
        group.start = part.length;
        part.length += group.length;
        part.groups.push(group);
    }
    part
}

#[cfg(test)]
mod tests {
    use super::super::super::{OscillatorSpace, Tables, forward};
    use super::*;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::kernel_devices;

    /// Some groups of a plan are a plan: in other places, with pairs of shells that are only in kets, the same numbers.
    #[test]
    fn a_part_of_a_plan_on_the_device() {
        let whole = Plan::new(OscillatorSpace { n_max: 2 });
        let tables = Tables::new(&whole).unwrap();
        let groups = [whole.groups.len() - 1, 1, 3];
        let plan = part_of(&whole, &groups);
        let u: Vec<f64> = (0..whole.length).map(|i| ((i * i + 5) as f64).sin()).collect();
        let expected = forward(&whole, &tables, &u);
        let of_groups = |x: &[f64]| -> Vec<Vec<Vec<f64>>> {
            let groups = groups.iter().map(|at| &whole.groups[*at]);
            groups.map(|group| vec![x[group.start..][..group.length].to_vec()]).collect()
        };
        for device in kernel_devices(Schedule::Forward) {
            let all = 0..plan.groups.len();
            let parts = std::slice::from_ref(&all);
            let channels = Channels::new(&plan, &tables, 1, Ways::Forward, parts, None, &device).unwrap();
            let lanes = Arc::new(Lanes::new(&device, "card").unwrap());
            let resident = channels.resident(lanes.clone()).unwrap();
            let mut slots = Slots::new(&device);
            let begun = channels.start(0, &resident, &mut slots, &of_groups(&u)).unwrap();
            let found = resident.collect(0, begun, &mut slots, 1).unwrap();
            assert_eq!(lanes.times().bytes_to_host, 8 * plan.length as u64);
            let (found, expected) = (found.concat().concat(), of_groups(&expected).concat().concat());
            let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-13 * largest;
            assert!(found.len() == expected.len() && found.iter().zip(&expected).all(near));
            let memory = memory_plan(&plan, 1, u64::MAX);
            assert_eq!((memory.channels, memory.vectors), (1, 16 * plan.length as u64));
        }
    }
}
