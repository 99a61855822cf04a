//! Transforms all channels of a file on a device, as many at once as its memory holds.
//!
//! In: elements or strengths by channel. Out: the other kind. Data come from and go to host memory;
//! [`super::DeviceTransform`] is for callers who keep theirs on the device.

use super::super::channel::ByChannel;
use super::super::plan::{Group, Plan};
use super::super::tables::Tables;
use super::coefficients::{CoefficientsLayout, largest};
use super::layout::Layout;
use super::numbers::OnCard;
use super::{DeviceCoefficients, DevicePaper, DeviceTransform, DeviceTransformError};
use eigenforge_runtime::{Device, Vector, trace};
use eigenforge_templates::su3::Ways;
use std::ops::Range;

/// The direction and algorithm of a transformation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransformKind {
    /// Elements into strengths.
    Forward,
    /// Strengths into elements.
    Inverse,
    /// Elements into strengths by the published sum.
    Paper,
}

/// A transformation of some channels on a device: kernels, tables and W⁰; everything except the numbers.
pub struct Channels {
    chain: Chain,
    direction: TransformKind,
    /// Number of channels at once.
    at_once: usize,
    /// Numbers of one channel.
    length: usize,
    device: Device,
    defects: Vec<f64>,
    /// First number and length of each group.
    places: Vec<[usize; 2]>,
    /// Groups of each portion.
    portions: Vec<Range<usize>>,
}

/// The inputs of a plan's kernels, and their tables: everything that needs no device.
pub struct Layouts {
    coefficients: CoefficientsLayout,
    layout: Layout,
    ways: Ways,
    portions: Vec<Range<usize>>,
}

impl Layouts {
    /// For a plan, `at_once` channels at once, in portions of consecutive groups that cover all. The inverse has one
    /// portion.
    pub fn new(
        plan: &Plan,
        tables: &Tables,
        at_once: usize,
        direction: TransformKind,
        portions: &[Range<usize>],
    ) -> Layouts {
        let whole = 0..plan.groups.len();
        let portions = if direction == TransformKind::Forward { portions } else { std::slice::from_ref(&whole) };
        let (coefficients, layout) = rayon::join(
            || CoefficientsLayout::new(plan, tables.coupler()),
            || Layout::in_portions(plan, tables, at_once as u32, None, portions),
        );
        let ways = if direction == TransformKind::Inverse { Ways::Back } else { Ways::Forward };
        Layouts { coefficients, layout, ways, portions: portions.to_vec() }
    }

    fn is_for(&self, at_once: usize, portions: &[Range<usize>]) -> bool {
        self.layout.plan.channels as usize == at_once && self.portions == portions
    }
}

/// Two device vectors that portions use, one after the other.
pub struct DeviceVectors {
    numbers: Vector<f64>,
    work: Vector<f64>,
}

enum Chain {
    Products(Box<DeviceTransform>),
    Paper(Box<DevicePaper>),
}

impl Channels {
    /// Compiles the kernels, all files in parallel, and computes W⁰ on the device. The published sum reads the CPU's W⁰,
    /// for which all groups must be loaded.
    ///
    /// # Errors
    /// Not enough device memory even for one channel, with the numbers; a device that compiles or runs no kernels.
    pub fn new(
        plan: &Plan,
        tables: &Tables,
        channels: usize,
        direction: TransformKind,
        device: &Device,
    ) -> Result<Channels, DeviceTransformError> {
        let all = 0..plan.groups.len();
        Channels::in_portions(plan, tables, channels, direction, std::slice::from_ref(&all), None, device)
    }

    /// In portions of consecutive groups that cover all; only the forward chain of products has more than one. Earlier
    /// `layouts` of the same plan and tables are used if they have the same number of channels at once and these
    /// portions.
    ///
    /// # Errors
    /// See [`Channels::new`].
    pub fn in_portions(
        plan: &Plan,
        tables: &Tables,
        channels: usize,
        direction: TransformKind,
        portions: &[Range<usize>],
        layouts: Option<Layouts>,
        device: &Device,
    ) -> Result<Channels, DeviceTransformError> {
        let _preparing = trace::span("set up", "kernels, tables and W0");
        let (length, device) = (plan.length, device.clone());
        let places = plan.groups.iter().map(|group| [group.start, group.length]).collect();
        let whole = 0..plan.groups.len();
        let portions = if direction == TransformKind::Forward { portions } else { std::slice::from_ref(&whole) };
        if direction == TransformKind::Paper {
            let chain = Chain::Paper(Box::new(DevicePaper::new(plan, tables, channels, &device)?));
            let defects = plan.groups.iter().map(|group| tables.defect_of(group)).collect();
            let portions = portions.to_vec();
            return Ok(Channels { chain, direction, at_once: channels, length, device, defects, places, portions });
        }
        let at_once = memory_plan(plan, channels, &device).channels;
        let layouts = layouts.filter(|layouts| layouts.is_for(at_once, portions));
        let layouts = layouts.unwrap_or_else(|| Layouts::new(plan, tables, at_once, direction, portions));
        let Layouts { coefficients, layout, ways, portions } = layouts;
        layout.check(&device)?;
        device.compile_all(&[coefficients.plan.text()?, layout.plan.text_of(ways)?])?;
        let made = DeviceCoefficients::of_layout(&coefficients, &device)?;
        let mut w0 = made.room()?;
        made.compute(&mut w0)?;
        let of_blocks = made.defects(&w0)?;
        let mut of_blocks = of_blocks.chunks(3);
        let of_group = |group: &Group| {
            largest(&of_blocks.by_ref().take(group.products.len()).flatten().copied().collect::<Vec<_>>())
        };
        let defects = plan.groups.iter().map(of_group).collect();
        let chain = Chain::Products(Box::new(DeviceTransform::of_layout(layout, ways, OnCard::Made(w0), &device)?));
        Ok(Channels { chain, direction, at_once, length, device, defects, places, portions })
    }

    /// For each group, the largest deviation of W⁰ from orthogonality.
    pub fn defects(&self) -> &[f64] {
        &self.defects
    }

    /// How many portions there are.
    pub fn portions(&self) -> usize {
        self.portions.len()
    }

    /// Memory of the device for the numbers.
    ///
    /// # Errors
    /// The device fails.
    pub fn vectors(&self) -> Result<DeviceVectors, DeviceTransformError> {
        let zeros = || self.device.zeros(self.at_once * self.length);
        Ok(DeviceVectors { numbers: zeros()?, work: zeros()? })
    }

    /// Transforms the groups of a portion: one vector per group and channel, in and out.
    ///
    /// # Errors
    /// The device fails.
    pub fn portion(
        &self,
        portion: usize,
        vectors: &mut DeviceVectors,
        input: &[Vec<Vec<f64>>],
    ) -> Result<Vec<Vec<Vec<f64>>>, DeviceTransformError> {
        let _transforming = trace::span("solve", "transform");
        let places = &self.places[self.portions[portion].clone()];
        let channels = input.first().map_or(0, Vec::len);
        let mut output: Vec<Vec<Vec<f64>>> = places.iter().map(|_| Vec::with_capacity(channels)).collect();
        let DeviceVectors { numbers, work } = vectors;
        for first in (0..channels).step_by(self.at_once) {
            let together = first..(first + self.at_once).min(channels);
            for (of, [start, _]) in input.iter().zip(places) {
                for channel in together.clone() {
                    numbers.write_part((channel - first) * self.length + start, &of[channel])?;
                }
            }
            match (&self.chain, self.direction) {
                (Chain::Products(chain), TransformKind::Inverse) => chain.inverse(numbers, work)?,
                (Chain::Products(chain), _) => chain.forward_portion(portion, numbers, work)?,
                (Chain::Paper(paper), _) => {
                    paper.forward(numbers, work)?;
                    std::mem::swap(numbers, work);
                }
            }
            for (of, [start, length]) in output.iter_mut().zip(places) {
                for channel in together.clone() {
                    let mut vector = vec![0.0; *length];
                    numbers.read_part((channel - first) * self.length + start, &mut vector)?;
                    of.push(vector);
                }
            }
        }
        Ok(output)
    }

    /// Transforms every channel.
    ///
    /// # Errors
    /// The device fails.
    pub fn transform(&self, input: &ByChannel) -> Result<ByChannel, DeviceTransformError> {
        let _transforming = trace::span("solve", "transform");
        let (length, device) = (self.length, &self.device);
        let mut output = ByChannel { vectors: Vec::with_capacity(input.vectors.len()), left_out: 0 };
        let (mut numbers, mut work) = (device.zeros(self.at_once * length)?, device.zeros(self.at_once * length)?);
        for part in input.vectors.chunks(self.at_once) {
            for (at, (_, vector)) in part.iter().enumerate() {
                numbers.write_part(at * length, vector)?;
            }
            match (&self.chain, self.direction) {
                (Chain::Products(chain), TransformKind::Inverse) => chain.inverse(&mut numbers, &mut work)?,
                (Chain::Products(chain), _) => chain.forward(&mut numbers, &mut work)?,
                (Chain::Paper(paper), _) => {
                    paper.forward(&numbers, &mut work)?;
                    std::mem::swap(&mut numbers, &mut work);
                }
            }
            for (at, (channel, _)) in part.iter().enumerate() {
                let mut vector = vec![0.0; length];
                numbers.read_part(at * length, &mut vector)?;
                output.vectors.push((*channel, vector));
            }
        }
        Ok(output)
    }
}

/// Transforms every channel with newly made kernels.
///
/// # Errors
/// See [`Channels::new`].
pub fn transform(
    plan: &Plan,
    tables: &Tables,
    input: &ByChannel,
    direction: TransformKind,
    device: &Device,
) -> Result<ByChannel, DeviceTransformError> {
    Channels::new(plan, tables, input.vectors.len(), direction, device)?.transform(input)
}

/// The memory plan of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Channels at once: all if they fit, otherwise one.
    pub channels: usize,
    /// Bytes of their two vectors each.
    pub vectors: u64,
    /// Bytes of W⁰; other tables are small.
    pub coefficients: u64,
    /// Free bytes on the device.
    pub free: u64,
}

/// The plan of a device's memory, before anything is allocated.
pub fn memory_plan(plan: &Plan, channels: usize, device: &Device) -> DeviceMemory {
    let free = device.memory().free;
    let tensors = plan.groups.iter().flat_map(|group| &group.products).flat_map(|product| &product.tensors);
    let coefficients = tensors.map(|block| 8 * (block.rows * block.rows) as u64).sum();
    let vectors = |channels: usize| 16 * (channels * plan.length) as u64;
    // half as much again as W⁰ for all other tables
    let channels = if vectors(channels) + coefficients * 3 / 2 <= free { channels.max(1) } else { 1 };
    DeviceMemory { channels, vectors: vectors(channels), coefficients, free }
}

/// A plan for some groups of a plan: their numbers one group after another.
pub fn part_of(plan: &Plan, groups: &[usize]) -> Plan {
    let mut part = Plan { n_max: plan.n_max, groups: Vec::with_capacity(groups.len()), length: 0 };
    for at in groups {
        let mut group = plan.groups[*at].clone();
        group.start = part.length;
        part.length += group.length;
        part.groups.push(group);
    }
    part
}
