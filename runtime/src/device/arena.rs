//! A pool of device memory reserved in one piece, and vectors that are parts of it.
//!
//! In: a limit, and how much of it is reserved now. Out: vectors whose memory can be reused when they are dropped.
//! Operations on a device run in order, so memory may be reused at once. On a card an arena is one range of addresses
//! that grows in place; on the CPU, in simulation, on a card without virtual memory and with `EIGENFORGE_ARENA=separate`
//! (with which compute-sanitizer sees the end of every vector) each vector has memory of its own, and only the accounting
//! is the same.

use super::mapping::Mapping;
use super::{Device, Vector};
use crate::error::Result;
use crate::free_list::FreeList;
use std::sync::{Arc, Mutex, PoisonError};

/// Alignment of vectors in bytes; their lengths are multiples of it.
const ALIGNED: u64 = 256;

/// Reserved memory. Clones share it.
#[derive(Clone)]
pub struct Arena {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    limit: u64,
    state: Mutex<State>,
}

struct State {
    line: FreeList,
    mapping: Option<Mapping>,
    /// Peak bytes in use.
    peak: u64,
}

/// A part in use.
pub(super) struct Piece {
    inner: Arc<Inner>,
    first: u64,
    bytes: u64,
}

impl Inner {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.inner.state().line.give_back(self.first, self.bytes);
    }
}

impl Arena {
    /// An arena of at most `limit` bytes, none reserved yet.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(device: &Device, limit: u64) -> Result<Arena> {
        let separate = std::env::var("EIGENFORGE_ARENA").is_ok_and(|how| how == "separate");
        let mapping = match device {
            Device::Cuda(cuda) if !separate => Mapping::new(cuda.context(), limit)?,
            _ => None,
        };
        let state = Mutex::new(State { line: FreeList::default(), mapping, peak: 0 });
        Ok(Arena { inner: Arc::new(Inner { device: device.clone(), limit, state }) })
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.inner.limit
    }

    /// Reserved bytes.
    pub fn reserved(&self) -> u64 {
        self.inner.state().line.end()
    }

    /// Bytes in use by vectors.
    pub fn used(&self) -> u64 {
        self.inner.state().line.taken()
    }

    /// Peak bytes in use by vectors.
    pub fn peak(&self) -> u64 {
        self.inner.state().peak
    }

    /// Reserves up to `bytes` bytes in all, or up to the limit.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn reserve(&self, bytes: u64) -> Result<()> {
        let mut state = self.inner.state();
        let more = bytes.min(self.inner.limit).saturating_sub(state.line.end());
        self.grow(&mut state, more)
    }

    /// Reserves enough more for a vector of `len` numbers, at least `step` bytes if possible; `false` if the total would
    /// exceed `most` bytes.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn reserve_for(&self, len: usize, step: u64, most: u64) -> Result<bool> {
        let mut state = self.inner.state();
        let more = state.line.missing(rounded(len));
        let room = most.min(self.inner.limit).saturating_sub(state.line.end());
        if more > room {
            return Ok(false);
        }
        self.grow(&mut state, more.max(step.min(room))).map(|()| true)
    }

    fn grow(&self, state: &mut State, more: u64) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        let more = match &mut state.mapping {
            None => more,
            Some(mapping) => {
                self.inner.device.check_memory("memory to be reserved", more)?;
                let before = mapping.mapped();
                mapping.extend(more)?;
                mapping.mapped() - before
            }
        };
        state.line.grow(more);
        Ok(())
    }

    /// A vector of `len` numbers, if a long enough part is free, at the end or the beginning of the free space. It is not
    /// initialised; on the CPU and in simulation it is filled with NaN.
    ///
    /// # Errors
    /// The device fails.
    pub fn take(&self, len: usize, at_the_end: bool) -> Result<Option<Vector<f64>>> {
        let bytes = rounded(len);
        let mut state = self.inner.state();
        let found = if at_the_end { state.line.take_last(bytes) } else { state.line.take(bytes) };
        let Some(first) = found else { return Ok(None) };
        state.peak = state.peak.max(state.line.taken());
        let address = state.mapping.as_ref().map(|mapping| mapping.base() + first);
        drop(state);
        let piece = Piece { inner: self.inner.clone(), first, bytes };
        Vector::of_arena(&self.inner.device, len, address, piece).map(Some)
    }
}

fn rounded(len: usize) -> u64 {
    (8 * len.max(1) as u64).next_multiple_of(ALIGNED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> Device {
        crate::testing::card().unwrap_or(Device::cpu())
    }

    #[test]
    fn vectors_of_an_arena_do_not_touch_and_their_memory_comes_back() {
        let arena = Arena::new(&device(), 64 << 20).unwrap();
        assert!(arena.take(10, false).unwrap().is_none(), "nothing is reserved yet");
        arena.reserve(8 << 20).unwrap();
        let numbers = |k: usize| (0..1000 * k + k).map(|i| (i * k) as f64).collect::<Vec<f64>>();
        let mut held = Vec::new();
        for k in 1..30 {
            let mut vector = arena.take(numbers(k).len(), k.is_multiple_of(5)).unwrap().unwrap();
            vector.write(&numbers(k)).unwrap();
            held.push((k, vector));
            if k % 3 == 0 {
                held.swap_remove(k / 3);
            }
        }
        for (k, vector) in &held {
            assert_eq!(vector.download().unwrap(), numbers(*k));
            assert!(vector.address().is_none_or(|address| address.is_multiple_of(256)));
        }
        let peak = arena.peak();
        assert!(arena.used() > 0 && peak >= arena.used() && arena.reserved() >= peak);
        held.clear();
        assert_eq!((arena.used(), arena.peak()), (0, peak));
        // All of it, at once, and no more.
        let all = (arena.reserved() / 8) as usize;
        let whole = arena.take(all, true).unwrap().unwrap();
        assert!(arena.take(1, true).unwrap().is_none());
        // It grows in place, up to its limit.
        assert!(arena.reserve_for(1000, 0, arena.limit()).unwrap());
        assert!(arena.take(1000, false).unwrap().is_some());
        assert!(!arena.reserve_for(1 << 30, 1 << 20, arena.limit()).unwrap());
        drop(whole);
        assert_eq!(arena.used(), 0);
    }
}
