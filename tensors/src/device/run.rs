//! Some groups of a plan on a device, as a plan of their own: all channels at once where its memory holds them, otherwise one after the
//! other.
//!
//! In: elements or strengths by channel. Out: the other kind. Data come from and go to host memory, beside the kernels of other
//! portions: [`DeviceGroups::start`] queues a portion, [`BegunPortion::finish`], which another thread may call, has its numbers.
//! [`super::DeviceTransform`] is for callers who keep theirs on the device.

use super::super::plan::Plan;
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

/// The inputs of the kernels of some groups, and their tables: everything that needs no device.
pub(crate) struct Layouts {
    /// The groups, as a plan of their own.
    part: Plan,
    /// Which they are in the whole plan, portion by portion.
    portions: Vec<Vec<usize>>,
    coefficients: CoefficientsLayout,
    layout: Layout,
    ways: Ways,
}

impl Layouts {
    /// For groups of a plan, `at_once` channels at once. The inverse has one portion.
    pub(crate) fn new(plan: &Plan, tables: &Tables, at_once: usize, ways: Ways, portions: &[Vec<usize>]) -> Layouts {
        let part = part_of(plan, &portions.concat());
        let (coefficients, layout) = rayon::join(
            || CoefficientsLayout::new(&part, tables.coupler()),
            || Layout::in_portions(&part, tables, at_once as u32, None, &ranges(portions)),
        );
        Layouts { part, portions: portions.to_vec(), coefficients, layout, ways }
    }

    /// Where the ranges of labels are: the shape's name.
    pub(crate) fn shape(&self) -> &'static str {
        if self.layout.plan.layout.is_empty() { "labels in tables" } else { "labels in the text" }
    }

    /// The same groups in the other shape; their coefficients stay as they are.
    pub(crate) fn in_the_other_shape(self, tables: &Tables) -> Layouts {
        let most_in_text = if self.layout.plan.layout.is_empty() { usize::MAX } else { 0 };
        let channels = self.layout.plan.channels;
        let ranges = ranges(&self.portions);
        Layouts { layout: Layout::in_portions(&self.part, tables, channels, Some(most_in_text), &ranges), ..self }
    }

    /// The same groups in the shape that was tuned on this device, and the shape.
    ///
    /// # Errors
    /// A text that cannot be made; settings of the cache that cannot be read.
    pub(crate) fn tuned(self, tables: &Tables, device: &Device) -> Result<(Layouts, ShapeUsed), DeviceTransformError> {
        let choice = Choice::earlier(device, || Ok::<_, DeviceTransformError>(self.text()?.text))?;
        let other = choice.as_ref().is_some_and(|choice| choice.shape != self.shape());
        let layouts = if other { self.in_the_other_shape(tables) } else { self };
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

    /// Whether it is for so many channels at once and these portions.
    pub(crate) fn is_for(&self, at_once: usize, portions: &[Vec<usize>]) -> bool {
        self.layout.plan.channels as usize == at_once && self.portions == portions
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

/// Groups on a device: kernels, tables, W⁰, and memory for the numbers.
pub(crate) struct DeviceGroups {
    transform: DeviceTransform,
    ways: Ways,
    defects: Vec<f64>,
    resident: Arc<Resident>,
    /// Through which numbers are sent.
    slots: Slots,
}

/// Numbers on a device, as the threads that send, work and fetch share them.
struct Resident {
    vectors: Mutex<DeviceVectors>,
    lanes: Arc<Lanes>,
    /// Number of channels at once.
    at_once: usize,
    /// Numbers of one channel.
    length: usize,
    /// First number and length of each group.
    places: Vec<[usize; 2]>,
    /// Groups of each portion.
    portions: Vec<Range<usize>>,
}

/// Two vectors of all channels that are done at once.
struct DeviceVectors {
    numbers: Vector<f64>,
    work: Vector<f64>,
}

/// A portion that was begun on a device.
pub(crate) struct BegunPortion {
    portion: usize,
    resident: Arc<Resident>,
    /// A vector per group and channel that is done.
    done: Vec<Vec<Vec<f64>>>,
    /// Kernels of the last channels, and how many these are.
    launched: Option<(Launched, usize)>,
}

impl DeviceGroups {
    /// Compiles the kernels, both files in parallel, and computes W⁰ on the device. Numbers come and go by `lanes`.
    ///
    /// # Errors
    /// Not enough device memory, with the numbers; a device that compiles or runs no kernels.
    pub(crate) fn new(
        layouts: Layouts,
        device: &Device,
        lanes: Arc<Lanes>,
    ) -> Result<DeviceGroups, DeviceTransformError> {
        let (ways, portions, groups) = (layouts.ways, ranges(&layouts.portions), &layouts.part.groups);
        let (at_once, length) = (layouts.layout.plan.channels as usize, layouts.part.length);
        let places = groups.iter().map(|group| [group.start, group.length]).collect();
        let products: Vec<usize> = groups.iter().map(|group| group.products.len()).collect();
        let (transform, of_blocks) = layouts.upload(device)?;
        let mut of_blocks = of_blocks.chunks(3);
        let of_group = |products| largest(&of_blocks.by_ref().take(products).flatten().copied().collect::<Vec<f64>>());
        let defects = products.into_iter().map(of_group).collect();
        let zeros = || device.zeros(at_once * length);
        let vectors = Mutex::new(DeviceVectors { numbers: zeros()?, work: zeros()? });
        // Zeros are written on the stream of the kernels, for which copies do not wait.
        device.synchronize()?;
        let resident = Arc::new(Resident { vectors, lanes, at_once, length, places, portions });
        Ok(DeviceGroups { transform, ways, defects, resident, slots: Slots::new(device) })
    }

    /// For each group of a portion, the largest deviation of W⁰ from orthogonality.
    pub(crate) fn defects(&self, portion: usize) -> &[f64] {
        &self.defects[self.resident.portions[portion].clone()]
    }

    /// Sends the groups of a portion, one vector per group and channel, and queues their kernels. Where not all channels are done at
    /// once it does all but the last.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn start(
        &mut self,
        portion: usize,
        input: &[Vec<Vec<f64>>],
    ) -> Result<BegunPortion, DeviceTransformError> {
        let _transforming = trace::span("solve", "transform");
        let (channels, at_once) = (input.first().map_or(0, Vec::len), self.resident.at_once);
        let done = input.iter().map(|_| Vec::with_capacity(channels)).collect();
        let mut begun = BegunPortion { portion, resident: self.resident.clone(), done, launched: None };
        for first in (0..channels).step_by(at_once) {
            begun.collect(&mut self.slots)?;
            let together = first..(first + at_once).min(channels);
            let count = together.len();
            begun.launched = Some((self.launch(portion, input, together)?, count));
        }
        Ok(begun)
    }

    /// Sends some channels of a portion and queues their kernels.
    fn launch(
        &mut self,
        portion: usize,
        input: &[Vec<Vec<f64>>],
        channels: Range<usize>,
    ) -> Result<Launched, DeviceTransformError> {
        let DeviceGroups { transform, ways, resident, slots, .. } = self;
        let of_channels = input.iter().flat_map(|of| &of[channels.clone()]);
        let places = resident.places(portion, channels.len());
        let from: Vec<(usize, &[f64])> =
            places.into_iter().zip(of_channels).map(|([first, _], of)| (first, &of[..])).collect();
        let lanes = &resident.lanes;
        slots.send(&from, |slot, parts| lanes.send(slot, &mut resident.vectors().numbers, parts))?;
        let DeviceVectors { numbers, work } = &mut *resident.vectors();
        lanes.kernels(|| match ways {
            Ways::Back => transform.inverse(numbers, work),
            Ways::Forward | Ways::Both => transform.forward_portion(portion, numbers, work),
        })
    }

    /// Waits for what was sent, so that its time is known.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) fn settle(&mut self) -> Result<(), DeviceTransformError> {
        Ok(self.slots.settle()?)
    }
}

impl BegunPortion {
    /// The outputs: one vector per group and channel.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn finish(mut self, slots: &mut Slots) -> Result<Vec<Vec<Vec<f64>>>, DeviceTransformError> {
        self.collect(slots)?;
        Ok(self.done)
    }

    /// Fetches the channels whose kernels were queued.
    fn collect(&mut self, slots: &mut Slots) -> Result<(), DeviceTransformError> {
        let Some((launched, channels)) = self.launched.take() else { return Ok(()) };
        let places = self.resident.places(self.portion, channels);
        let fetch = |slot, parts: &[_]| {
            let resident = &self.resident;
            resident.lanes.fetch(&launched, &resident.vectors().numbers, slot, parts)
        };
        let mut found = slots.fetch(&places, fetch)?.into_iter();
        launched.finish()?;
        self.done.iter_mut().for_each(|group| group.extend(found.by_ref().take(channels)));
        Ok(())
    }
}

impl Resident {
    /// First number and length of each vector of a portion, channel by channel in each group.
    fn places(&self, portion: usize, channels: usize) -> Vec<[usize; 2]> {
        let groups = &self.places[self.portions[portion].clone()];
        let of = |[start, length]: &[usize; 2]| {
            let (start, length) = (*start, *length);
            (0..channels).map(move |channel| [channel * self.length + start, length])
        };
        groups.iter().flat_map(of).collect()
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
            let layouts = Layouts::new(&whole, &tables, 1, Ways::Forward, &[groups.to_vec()]);
            let lanes = Arc::new(Lanes::new(&device, "card").unwrap());
            let mut part = DeviceGroups::new(layouts, &device, lanes.clone()).unwrap();
            let mut slots = Slots::new(&device);
            let found = part.start(0, &of_groups(&u)).unwrap().finish(&mut slots).unwrap();
            assert_eq!(lanes.times().bytes_to_host, 8 * plan.length as u64);
            // Two channels where one is done at once.
            let twice: Vec<Vec<Vec<f64>>> = of_groups(&u).iter().map(|group| [&group[..], group].concat()).collect();
            let both = part.start(0, &twice).unwrap().finish(&mut slots).unwrap();
            assert!(both.iter().zip(&found).all(|(both, one)| both[0] == one[0] && both[1] == one[0]));
            let (found, expected) = (found.concat().concat(), of_groups(&expected).concat().concat());
            let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-13 * largest;
            assert!(found.len() == expected.len() && found.iter().zip(&expected).all(near));
            let memory = memory_plan(&plan, 1, u64::MAX);
            assert_eq!((memory.channels, memory.vectors), (1, 16 * plan.length as u64));
        }
    }
}
