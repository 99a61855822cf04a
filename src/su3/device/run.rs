//! All channels of a file through a device, as many at once as its memory holds.
//!
//! In: elements or strengths by channel. Out: the other of the two. Host memory is used as it is; [`super::DeviceTransform`] is for
//! callers who keep theirs on the device.

use super::super::channel::ByChannel;
use super::super::plan::Plan;
use super::super::tables::Tables;
use super::{DevicePaper, DeviceTransform, DeviceTransformError};
use eigenforge_runtime::Device;

/// What to do with the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Elements into strengths.
    Forward,
    /// Strengths into elements.
    Inverse,
    /// Elements into strengths by the published sum.
    Paper,
}

/// Transforms every channel.
///
/// # Errors
/// Memory that the device does not have even for one channel, with the numbers; a device that compiles or runs no kernels.
pub fn transform(
    plan: &Plan,
    tables: &Tables,
    input: &ByChannel,
    direction: Direction,
    device: &Device,
) -> Result<ByChannel, DeviceTransformError> {
    let mut output = ByChannel { vectors: Vec::with_capacity(input.vectors.len()), left_out: 0 };
    let at_once = match direction {
        Direction::Paper => input.vectors.len(),
        _ => memory_plan(plan, input.vectors.len(), device).channels,
    };
    let paper = match direction {
        Direction::Paper => Some(DevicePaper::new(plan, tables, at_once, device)?),
        _ => None,
    };
    let chain = match paper {
        Some(_) => None,
        None => Some(DeviceTransform::new(plan, tables, at_once, device)?),
    };
    let length = plan.length;
    let (mut numbers, mut work) = (device.zeros(at_once * length)?, device.zeros(at_once * length)?);
    for part in input.vectors.chunks(at_once) {
        for (at, (_, vector)) in part.iter().enumerate() {
            numbers.write_part(at * length, vector)?;
        }
        match (&chain, &paper) {
            (Some(chain), _) if direction == Direction::Inverse => chain.inverse(&mut numbers, &mut work)?,
            (Some(chain), _) => chain.forward(&mut numbers, &mut work)?,
            (None, Some(paper)) => {
                paper.forward(&numbers, &mut work)?;
                std::mem::swap(&mut numbers, &mut work);
            }
            (None, None) => {}
        }
        for (at, (channel, _)) in part.iter().enumerate() {
            let mut vector = vec![0.0; length];
            numbers.read_part(at * length, &mut vector)?;
            output.vectors.push((*channel, vector));
        }
    }
    Ok(output)
}

/// What a device is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Channels at once: all, if the memory holds them, else one.
    pub channels: usize,
    /// Bytes of their two vectors each.
    pub vectors: u64,
    /// Bytes of W⁰; other tables are little beside.
    pub coefficients: u64,
    /// Bytes that the device has.
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

/// Some groups of a plan as a plan of their own: their numbers one group after another.
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
