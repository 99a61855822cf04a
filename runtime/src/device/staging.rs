//! Short copies between host and card through pinned host memory.
//!
//! In: values in ordinary memory. Out: a copy queued on the stream. The values are copied at once, so the host does not
//! wait for the card, as it would for a copy from ordinary memory; a bond of DMRG uploads a dozen tables. The memory is a
//! ring of parts; a part is reused once the card has passed an event after its last copy. Copies to the host are always
//! waited for, but are faster to pinned memory.

use super::context::driver;
use crate::error::Result;
use cudarc::driver::{result, sys};

/// Bytes of a part of the ring, and of the area for copies to the host.
pub(super) const PART: usize = 1 << 20;
/// Parts of the ring.
const PARTS: usize = 4;
/// Alignment of copies in bytes.
const ALIGNED: usize = 64;

/// Pinned host memory of one stream.
pub(super) struct Staging {
    memory: *mut u8,
    /// One event after the last copy from each part.
    passed: Vec<sys::CUevent>,
    /// The part being filled, and how far it is filled.
    part: usize,
    used: usize,
}

// SAFETY: memory that this value alone owns; any thread may use it with the context current.
unsafe impl Send for Staging {}

impl Staging {
    /// Allocates the ring and the area for copies to the host. The context must be current.
    pub(super) fn new() -> Result<Staging> {
        // SAFETY: the context is current; the memory is freed in `release`.
        let memory = unsafe { result::malloc_host((PARTS + 1) * PART, 0) }.map_err(driver("cuMemHostAlloc"))?;
        let mut ring = Staging { memory: memory.cast(), passed: Vec::with_capacity(PARTS), part: 0, used: 0 };
        for _ in 0..PARTS {
            let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
            ring.passed.push(event.map_err(driver("cuEventCreate"))?);
        }
        Ok(ring)
    }

    /// Queues a copy of at most [`PART`] bytes to the card. The context must be current.
    ///
    /// # Safety
    /// `from` has `bytes` bytes, and `to` is the address of as many of the stream's context.
    pub(super) unsafe fn send(&mut self, from: *const u8, bytes: usize, to: u64, stream: sys::CUstream) -> Result<()> {
        assert!(bytes <= PART, "callers compare lengths first");
        if self.used + bytes > PART {
            self.next_part(stream)?;
        }
        // SAFETY: the range lies in this part, of which the card has read what was there before; the caller vouches for
        // `from` and `to`; the range is not written again before the card has passed the copy.
        let queued = unsafe {
            let own = self.memory.add(self.part * PART + self.used);
            std::ptr::copy_nonoverlapping(from, own, bytes);
            sys::cuMemcpyHtoDAsync_v2(to, own.cast(), bytes, stream)
        };
        self.used = (self.used + bytes).next_multiple_of(ALIGNED);
        queued.result().map_err(driver("cuMemcpyHtoDAsync"))
    }

    /// Moves to the next part, once the card has read it.
    fn next_part(&mut self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: events and stream live until `release`; an event that was never recorded is not waited for.
        unsafe { result::event::record(self.passed[self.part], stream) }.map_err(driver("cuEventRecord"))?;
        (self.part, self.used) = ((self.part + 1) % PARTS, 0);
        // SAFETY: as above.
        unsafe { result::event::synchronize(self.passed[self.part]) }.map_err(driver("cuEventSynchronize"))
    }

    /// Copies at most [`PART`] bytes from the card, and waits. The context must be current.
    ///
    /// # Safety
    /// `from` is the address of `bytes` bytes of the stream's context; `to` has room for them.
    pub(super) unsafe fn fetch(&mut self, from: u64, to: *mut u8, bytes: usize, stream: sys::CUstream) -> Result<()> {
        assert!(bytes <= PART, "callers compare lengths first");
        // SAFETY: the room behind the ring has `PART` bytes; it is free, since every fetch is waited for.
        unsafe {
            let own = self.memory.add(PARTS * PART);
            sys::cuMemcpyDtoHAsync_v2(own.cast(), from, bytes, stream).result().map_err(driver("cuMemcpyDtoHAsync"))?;
            result::stream::synchronize(stream).map_err(driver("cuStreamSynchronize"))?;
            std::ptr::copy_nonoverlapping(own, to, bytes);
        }
        Ok(())
    }

    /// Frees memory and events; the context must be current and the stream idle.
    pub(super) fn release(&mut self) {
        // SAFETY: made in `new`; the caller lets go of this value.
        unsafe {
            for event in self.passed.drain(..) {
                let _ = result::event::destroy(event);
            }
            let _ = result::free_host(self.memory.cast());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a card: more than the ring holds, queued without a wait, from a source that is overwritten at once.
    #[test]
    fn copies_arrive_as_they_were_when_they_were_queued() {
        let Some(device) = crate::testing::card_or_skip() else { return };
        let lengths = [1, 7, PART / 8, 100_000, PART / 8 + 1, 3, 90_000, PART / 8 - 3];
        let numbers = |length: usize, seed: usize| (0..length).map(|i| (i * 7 + seed) as u64).collect::<Vec<u64>>();
        let (mut buffers, mut expected, mut source) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..6 * lengths.len() {
            let length = lengths[seed % lengths.len()];
            source.clear();
            source.extend(numbers(length, seed));
            let mut buffer = device.buffer(&vec![u64::MAX; length + 2]).unwrap();
            buffer.write_first(&source).unwrap();
            source.fill(0);
            buffers.push(buffer);
            expected.push([numbers(length, seed), vec![u64::MAX; 2]].concat());
        }
        for (buffer, expected) in buffers.iter().zip(&expected) {
            assert!(buffer.download().unwrap() == *expected, "{} numbers", expected.len());
        }
        let refused = buffers[0].write_first(&[0; 4]).unwrap_err().to_string();
        assert!(refused.contains("at most 3"), "{refused}");
    }
}
