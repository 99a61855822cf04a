//! Fixed host memory that is used again: fixing pages takes some tenths of a second a gigabyte.

use crate::dmrg::storage::NumberBuffer;
use eigenforge_runtime::{Device, DeviceError, Pinned};
use std::sync::{Arc, Mutex, PoisonError};

/// Elements of the smallest piece.
const LEAST: usize = 64;

/// Lengths that memory is asked for: eight in each octave, so that a piece fits others than its own.
fn rounded(len: usize) -> usize {
    let step = (len.max(LEAST).next_power_of_two() / 16).max(LEAST);
    len.max(1).div_ceil(step) * step
}

/// Fixed memory that nobody holds.
pub struct PinnedPool {
    device: Device,
    /// Bytes above which nothing is kept for use again.
    limit: u64,
    spare: Mutex<Spare>,
}

#[derive(Default)]
struct Spare {
    pieces: Vec<Pinned>,
    /// Elements of all pieces, spare and lent.
    elements: usize,
}

/// Fixed host memory with numbers in it, given back when dropped.
pub struct PinnedBuffer {
    pinned: Option<Pinned>,
    len: usize,
    pinned_pool: Arc<PinnedPool>,
}

impl PinnedPool {
    /// For copies of a device.
    pub fn new(device: &Device, limit: u64) -> Arc<PinnedPool> {
        Arc::new(PinnedPool { device: device.clone(), limit, spare: Mutex::default() })
    }

    /// Memory for `len` numbers.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn take(self: &Arc<PinnedPool>, len: usize) -> Result<PinnedBuffer, DeviceError> {
        let pinned = self.take_pinned(len)?;
        Ok(self.wrap(pinned, len))
    }

    /// The same, for a copy; [`PinnedPool::wrap`] takes it back.
    ///
    /// # Errors
    /// See [`PinnedPool::take`].
    pub fn take_pinned(&self, len: usize) -> Result<Pinned, DeviceError> {
        let wanted = rounded(len);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Takes care of memory that [`PinnedPool::take_pinned`] gave out, with `len` numbers in it.
    pub fn wrap(self: &Arc<PinnedPool>, pinned: Pinned, len: usize) -> PinnedBuffer {
        PinnedBuffer { pinned: Some(pinned), len, pinned_pool: self.clone() }
    }
}

impl PinnedBuffer {
    /// The memory, for a copy.
    pub fn into_pinned(mut self) -> Pinned {
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
            self.pinned_pool.spare.lock().unwrap_or_else(PoisonError::into_inner).pieces.push(pinned);
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
