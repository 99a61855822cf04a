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
        _ => channels_at_once(plan, tables, input.vectors.len(), device),
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

/// All, if the device's memory holds them, else one.
fn channels_at_once(plan: &Plan, tables: &Tables, channels: usize, device: &Device) -> usize {
    let bytes = 16 * (channels * plan.length + tables.w0) as u64; // W⁰ are half of it, other tables little beside
    if bytes <= device.memory().free { channels.max(1) } else { 1 }
}
