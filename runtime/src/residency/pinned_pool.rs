//! A pool of pinned host memory: pinning pages takes some tenths of a second per gigabyte.

use super::locked;
use super::spill::NumberBuffer;
use crate::device::{Device, Pinned};
use crate::error::DeviceError;
use std::sync::{Arc, Mutex};

/// Elements of the smallest allocation.
const LEAST: usize = 64;

/// Rounds a length up: eight sizes per octave, so that memory can be reused for other lengths.
fn rounded(len: usize) -> usize {
    let step = (len.max(LEAST).next_power_of_two() / 16).max(LEAST);
    len.max(1).div_ceil(step) * step
}

/// Pinned memory that is free for reuse.
pub(super) struct PinnedPool {
    device: Device,
    /// Bytes above which free memory is released.
    limit: u64,
    spare: Mutex<Spare>,
}

#[derive(Default)]
struct Spare {
    pieces: Vec<Pinned>,
    /// Elements of all allocations, free and in use.
    elements: usize,
}

/// A pinned host buffer, returned to the pool when dropped.
pub(super) struct PinnedBuffer {
    pinned: Option<Pinned>,
    len: usize,
    pinned_pool: Arc<PinnedPool>,
}

impl PinnedPool {
    /// For copies to and from a device.
    pub(super) fn new(device: &Device, limit: u64) -> Arc<PinnedPool> {
        Arc::new(PinnedPool { device: device.clone(), limit, spare: Mutex::default() })
    }

    /// A buffer of `len` numbers.
    ///
    /// # Errors
    /// Not enough memory.
    pub(super) fn take(self: &Arc<PinnedPool>, len: usize) -> Result<PinnedBuffer, DeviceError> {
        let pinned = self.take_pinned(len)?;
        Ok(self.wrap(pinned, len))
    }

    /// The bare memory, as the target of a copy; [`PinnedPool::wrap`] turns it into a buffer.
    ///
    /// # Errors
    /// See [`PinnedPool::take`].
    pub(super) fn take_pinned(&self, len: usize) -> Result<Pinned, DeviceError> {
        let wanted = rounded(len);
        let mut spare = locked(&self.spare);
        if let Some(k) = spare.pieces.iter().rposition(|piece| piece.len() == wanted) {
            return Ok(spare.pieces.remove(k));
        }
        let mut first = 0;
        while 8 * (spare.elements + wanted) as u64 > self.limit && first < spare.pieces.len() {
            spare.elements -= spare.pieces[first].len();
            first += 1;
        }
        spare.pieces.drain(..first);
        let pinned = self.device.pinned(wanted)?;
        spare.elements += wanted;
        Ok(pinned)
    }

    /// Turns memory from [`PinnedPool::take_pinned`], with `len` numbers in it, into a buffer.
    pub(super) fn wrap(self: &Arc<PinnedPool>, pinned: Pinned, len: usize) -> PinnedBuffer {
        PinnedBuffer { pinned: Some(pinned), len, pinned_pool: self.clone() }
    }
}

impl PinnedBuffer {
    /// The bare memory, as the source of a copy.
    pub(super) fn into_pinned(mut self) -> Pinned {
        self.pinned.take().unwrap_or_else(|| unreachable!("it is taken once"))
    }
}

impl NumberBuffer for PinnedBuffer {
    fn values(&self) -> &[f64] {
        self.pinned.as_ref().map_or(&[], |pinned| &pinned[..self.len])
    }
    fn values_mut(&mut self) -> &mut [f64] {
        let len = self.len;
        self.pinned.as_mut().map_or(&mut [], |pinned| &mut pinned[..len])
    }
    fn len(&self) -> usize {
        self.len
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if let Some(pinned) = self.pinned.take() {
            locked(&self.pinned_pool.spare).pieces.push(pinned);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_rounded_by_an_eighth_at_most() {
        for len in [0, 1, 64, 65, 1000, 4097, 123_456, 10_000_001] {
            let rounded = rounded(len);
            assert!(rounded >= len && rounded <= len + (len / 8).max(LEAST), "{len}: {rounded}");
        }
    }
}
