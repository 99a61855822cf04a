//! Buffers of numbers, and where they are between two uses: on a card, on another card, in host memory, on disk.
//!
//! A run that has more numbers than memory says which buffers it will not read for a while ([`Evict`]). They leave, the
//! oldest first, when memory is short, and come back before they are read, to the last bit as they were.
//!
//! | file | question it answers |
//! |---|---|
//! | `host_memory.rs` | host memory with a limit; evicted buffers go to disk |
//! | `pool.rs`, `pool_buffer.rs` | a card's memory with a limit; evicted buffers go to other cards, host memory, then to disk |
//! | `neighbours.rs` | which other card has room for an evicted buffer, and how it gets there and back |
//! | `slot.rs`, `eviction_queue.rs` | what a buffer's owner has while it is in use or evictable; which one leaves first |
//! | `spill.rs`, `scratch.rs` | host memory up to a limit and a file for the rest, written and read by a thread |
//! | `pinned_pool.rs`, `spare.rs` | memory that is kept for reuse |
//! | `ledger.rs` | bytes in use, and their peak |

mod eviction_queue;
mod host_memory;
mod ledger;
mod neighbours;
mod pinned_pool;
mod pool;
mod pool_buffer;
mod scratch;
mod slot;
mod spare;
mod spill;

pub use host_memory::HostBuffer;
pub(crate) use host_memory::HostMemory;
pub use ledger::Ledger;
pub use pool::{MemoryLimits, Pool};
pub use pool_buffer::PoolBuffer;
pub(crate) use spare::Spare;

use crate::error::BackendError;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A buffer that may leave the memory where it is computed with. By default it stays.
pub trait Evict {
    /// Marks the buffer as evictable: it is not read before [`Evict::ensure_resident`].
    ///
    /// # Errors
    /// The device fails, not enough host memory, or the disk is full.
    fn mark_evictable(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    /// Starts to bring the buffer back, because it is needed in `_steps` steps of the run.
    ///
    /// # Errors
    /// See [`Evict::ensure_resident`].
    fn prefetch(&mut self, _steps: usize) -> Result<(), BackendError> {
        Ok(())
    }

    /// Brings the buffer back, if it left, and waits for it: it is about to be read.
    ///
    /// # Errors
    /// Not enough memory; a file cannot be read back.
    fn ensure_resident(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}

/// Numbers in host memory without a limit stay where they are.
impl Evict for Vec<f64> {}

/// Which processor computes; this sets the rules of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorKind {
    /// This machine's cores: evicted buffers go to disk.
    Host,
    /// A card: evicted buffers go to other cards of the device, to host memory, and to disk when all are full.
    Card,
}

/// The memory that a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Which processor computes.
    pub processor: ProcessorKind,
    /// Cards that share out large solves, the one with the buffers included; 1 where there is one or none.
    pub cards: usize,
    /// Bytes of the memory where it computes.
    pub memory: u64,
    /// Bytes of other cards of the device, all together, for buffers evicted from the one that leads.
    pub other_cards: u64,
    /// Bytes of host memory for buffers evicted from a card.
    pub host: u64,
}

/// Peak bytes in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// In the memory where it computes.
    pub memory: u64,
    /// On other cards, all together, of what was evicted from the one that leads.
    #[serde(default)]
    pub other_cards: u64,
    /// In host memory, for a card.
    pub host: u64,
    /// On the disk.
    pub disk: u64,
}

/// What a memory plan asks of the memory where a run computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannedMemory {
    /// Bytes to take: on a card from the start, on the CPU as needed.
    pub reserved: u64,
    /// Bytes that one step of the run needs; evictable buffers may fill the rest.
    pub step: u64,
    /// Bytes of V and W of Davidson's method together at the largest step.
    pub vectors: u64,
    /// Vectors of Davidson's basis.
    pub width: usize,
}

/// Elements of a part of a vector on each of so many cards at most: the largest part is seldom more than a quarter above the mean.
pub fn elements_on_each_of(elements: usize, cards: usize) -> usize {
    if cards > 1 { elements.div_ceil(cards) * 5 / 4 } else { elements }
}

impl PlannedMemory {
    /// Bytes of V and W on each of so many cards.
    pub(crate) fn vectors_on_each_of(&self, cards: usize) -> u64 {
        let elements = (self.vectors / 16) as usize / self.width.max(1);
        match cards {
            1 => self.vectors,
            _ => 16 * (self.width * elements_on_each_of(elements, cards).next_multiple_of(32)) as u64,
        }
    }
}

/// A poisoned lock is used anyway: the data are consistent.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of `len` numbers.
fn bytes(len: usize) -> u64 {
    8 * len as u64
}
