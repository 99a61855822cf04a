//! Host memory with a limit: every buffer is counted, and evictable ones go to disk when memory is short.

use super::eviction_queue::EvictionQueue;
use super::slot::Slot;
use super::spill::{SpillStore, SpilledBuffer};
use super::{Evict, Ledger, Usage, bytes, locked};
use crate::error::BackendError;
use std::borrow::Cow;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The memory that buffers share.
pub(crate) struct HostMemory {
    limit: u64,
    /// Evictable bytes above which buffers begin to be written to disk.
    evictable_limit: AtomicU64,
    ledger: Arc<Ledger>,
    evictable: EvictionQueue<Residency>,
    store: Arc<SpillStore<Vec<f64>>>,
    /// Large vectors that were dropped, counted until they are given back: fresh pages cost as much as what is computed in them.
    spare: Mutex<Vec<Vec<f64>>>,
}

/// Most vectors that are kept for reuse.
const SPARE: usize = 3;
/// Least elements of one, 16 MiB.
const LEAST_SPARE: usize = 1 << 21;

/// A buffer in host memory or on disk.
pub struct HostBuffer {
    slot: Slot<Vec<f64>, Residency>,
    memory: Arc<HostMemory>,
}

/// Where an evictable buffer is.
enum Residency {
    InMemory(Vec<f64>),
    OnDisk(SpilledBuffer<Vec<f64>>),
    Lost,
}

impl HostMemory {
    /// At most `limit` bytes, and a scratch folder for evicted buffers.
    pub(crate) fn new(limit: u64, scratch: PathBuf) -> Arc<HostMemory> {
        let ledger = Arc::<Ledger>::default();
        let store = SpillStore::new(ledger.clone(), 0, scratch, |len| Ok(vec![0.0; len]));
        let (evictable_limit, evictable) = (AtomicU64::new(limit), EvictionQueue::default());
        Arc::new(HostMemory { limit, evictable_limit, ledger, evictable, store, spare: Mutex::default() })
    }

    /// The limit in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes in memory.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Peak bytes in memory and on disk.
    pub(crate) fn usage(&self) -> Usage {
        Usage { memory: self.ledger.peak(), disk: self.store.ledgers().1.peak(), ..Usage::default() }
    }

    /// Leaves `step` bytes for one step of the run: what is evictable beyond the rest goes to disk in advance.
    pub(crate) fn apply_plan(&self, step: u64) {
        self.evictable_limit.store(self.limit.saturating_sub(step), Ordering::Relaxed);
    }

    /// A vector of `len` elements with any values, from the pages of one that was dropped where one is long.
    pub(crate) fn vector(&self, len: usize) -> Vec<f64> {
        let mut spare = locked(&self.spare);
        let nearest = (0..spare.len()).min_by_key(|at| spare[*at].len().abs_diff(len));
        let Some(at) = nearest.filter(|_| len >= LEAST_SPARE) else { return vec![0.0; len] };
        let mut vector = spare.swap_remove(at);
        self.ledger.give_back(bytes(vector.len()));
        // The allocator moves pages of vectors as long as these, and copies nothing.
        vector.resize(len, 0.0);
        vector.shrink_to_fit();
        vector
    }

    /// Keeps a large vector that is no longer needed for reuse; gives back the bytes of one that is not kept.
    fn drop_vector(&self, vector: Vec<f64>) {
        let mut spare = locked(&self.spare);
        if vector.len() >= LEAST_SPARE {
            spare.push(vector);
            if spare.len() > SPARE {
                spare.sort_by_key(|vector| std::cmp::Reverse(vector.len()));
                spare.pop().into_iter().for_each(|shortest| self.ledger.give_back(bytes(shortest.len())));
            }
        } else {
            self.ledger.give_back(bytes(vector.len()));
        }
    }

    /// Wraps numbers as a counted buffer; evicts others to make room.
    pub(crate) fn buffer(self: &Arc<HostMemory>, values: Vec<f64>) -> Result<HostBuffer, BackendError> {
        self.make_room(bytes(values.len()))?;
        self.ledger.take(bytes(values.len()));
        Ok(HostBuffer { slot: Slot::InUse(values), memory: self.clone() })
    }

    /// Evicts buffers until `bytes` more bytes fit, or nothing evictable is left.
    pub(crate) fn make_room(&self, bytes: u64) -> Result<(), BackendError> {
        while self.ledger.used().saturating_add(bytes) > self.limit {
            let spare = locked(&self.spare).pop();
            if let Some(vector) = spare {
                self.ledger.give_back(super::bytes(vector.len()));
                continue;
            }
            match self.evictable.first(|place| self.evict(place)) {
                Some(written) => written.and_then(|_| self.store.settle())?,
                None => return self.store.settle(),
            }
        }
        Ok(())
    }

    /// Starts writing a buffer to disk and returns its bytes; `None` if it is there.
    fn evict(&self, place: &mut Residency) -> Option<Result<u64, BackendError>> {
        match std::mem::replace(place, Residency::Lost) {
            Residency::InMemory(values) => {
                let len = bytes(values.len());
                self.ledger.give_back(len);
                Some(self.store.put(values).map(|stored| {
                    *place = Residency::OnDisk(stored);
                    len
                }))
            }
            other => {
                *place = other;
                None
            }
        }
    }
}

impl HostBuffer {
    /// The values, mutable; they must be in memory.
    pub(crate) fn values_mut(&mut self) -> &mut Vec<f64> {
        self.slot.value_mut()
    }

    /// The numbers, wherever they are.
    ///
    /// # Errors
    /// A file cannot be read back.
    pub(crate) fn copy(&self) -> Result<Cow<'_, [f64]>, BackendError> {
        let Slot::Evictable(place) = &self.slot else { return Ok(Cow::Borrowed(self)) };
        match &*locked(place) {
            Residency::InMemory(values) => Ok(Cow::Owned(values.clone())),
            Residency::OnDisk(stored) => Ok(Cow::Owned(stored.copy()?)),
            Residency::Lost => unreachable!("only a disk that fails loses numbers"),
        }
    }
}

impl Evict for HostBuffer {
    fn mark_evictable(&mut self) -> Result<(), BackendError> {
        let memory = &self.memory;
        if !matches!(&self.slot, Slot::InUse(values) if values.is_empty()) {
            self.slot.make_evictable(|values| memory.evictable.push(Residency::InMemory(values)));
        }
        let here = |place: &Residency| if let Residency::InMemory(values) = place { bytes(values.len()) } else { 0 };
        let limit = memory.evictable_limit.load(Ordering::Relaxed);
        memory.evictable.evict_down_to(limit, here, |place| memory.evict(place))
    }

    fn prefetch(&mut self, _: usize) -> Result<(), BackendError> {
        let Slot::Evictable(place) = &self.slot else { return Ok(()) };
        if let Residency::OnDisk(stored) = &*locked(place) { stored.fetch() } else { Ok(()) }
    }

    fn ensure_resident(&mut self) -> Result<(), BackendError> {
        let Slot::Evictable(shared) = &self.slot else { return Ok(()) };
        let mut place = locked(shared);
        let values = match std::mem::replace(&mut *place, Residency::Lost) {
            Residency::InMemory(values) => values,
            Residency::OnDisk(stored) => {
                self.memory.make_room(bytes(stored.len()))?;
                let values = stored.take()?;
                self.memory.ledger.take(bytes(values.len()));
                values
            }
            Residency::Lost => unreachable!("only a disk that fails loses numbers"),
        };
        drop(place);
        self.slot = Slot::InUse(values);
        Ok(())
    }
}

impl Deref for HostBuffer {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        self.slot.value()
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let here = match self.slot.take() {
            Slot::InUse(values) => Some(values),
            Slot::Evictable(place) => match std::mem::replace(&mut *locked(&place), Residency::Lost) {
                Residency::InMemory(values) => Some(values),
                Residency::OnDisk(_) | Residency::Lost => None,
            },
            Slot::Taken => None,
        };
        here.into_iter().for_each(|values| self.memory.drop_vector(values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_vectors_are_used_again_within_the_limit() {
        let long = bytes(LEAST_SPARE);
        let memory = HostMemory::new(3 * long, std::env::temp_dir());
        drop(memory.buffer(vec![1.0; 8]).unwrap());
        assert_eq!(memory.ledger.used(), 0, "short ones go");
        drop(memory.buffer(memory.vector(LEAST_SPARE)).unwrap());
        assert_eq!(memory.ledger.used(), long, "a long one stays, and counts");
        // Longer and shorter ones come from its pages.
        for len in [LEAST_SPARE + 1000, LEAST_SPARE] {
            let vector = memory.vector(len);
            assert_eq!((vector.len(), memory.ledger.used()), (len, 0));
            drop(memory.buffer(vector).unwrap());
        }
        let kept: Vec<HostBuffer> = (0..3).map(|_| memory.buffer(vec![0.0; LEAST_SPARE]).unwrap()).collect();
        assert_eq!(memory.ledger.used(), 3 * long, "what was kept for reuse made room");
        assert_eq!(memory.ledger.peak(), 3 * long);
        drop(kept);
        memory.make_room(3 * long).unwrap();
        assert_eq!(memory.ledger.used(), 0);
    }
}
