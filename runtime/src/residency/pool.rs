//! A pool of device memory with a limit, and the eviction of buffers to other cards, host memory and disk.
//!
//! ```text
//! take ── a free part of what is reserved? ── yes → there
//!                       │ no: parked memory is given up, then what was marked first leaves; when nothing is left, more is
//!                       │     reserved
//! leave ── another card has room? ── yes → there                                     no → host memory, beyond its limit disk
//! mark_evictable → stays until its room is needed; begins to be copied ahead if the plan says so (streams of their own)
//! prefetch → begins to come back: from disk two steps ahead, from elsewhere one            ensure_resident → is there
//! ```
//!
//! Operations on a device run in order, so returned memory can be reused at once.

use super::eviction_queue::EvictionQueue;
use super::neighbours::Neighbours;
use super::pinned_pool::{PinnedBuffer, PinnedPool};
use super::pool_buffer::{PoolBuffer, Residency};
use super::spill::SpillStore;
use super::{PlannedMemory, Usage, bytes, locked};
use crate::device::{Arena, Copies, Device, Pinned, Transfer, Vector};
use crate::error::{BackendError, DeviceError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Fraction of the free memory that a run may take; the rest is for kernels, tables and library workspaces.
const USED: f64 = 0.9;
/// Fraction of the free host memory for evicted buffers.
const USED_BESIDE: f64 = 0.8;

/// Bytes reserved at a time without a plan.
const STEP: u64 = 64 << 20;
/// Vectors longer than this fraction of the plan are placed at the end, all others at the beginning, which keeps long
/// free stretches.
const LONG: u64 = 32;

/// Memory limits of a run on a device.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryLimits {
    /// Bytes of the device's memory.
    pub memory: u64,
    /// Bytes of host memory for evicted buffers.
    pub host: u64,
    /// Scratch folder for what exceeds host memory.
    pub scratch: PathBuf,
    /// Bytes of each other card of the device for evicted buffers; empty if there is none.
    pub other_cards: Vec<u64>,
}

impl MemoryLimits {
    /// The given values; by default nine tenths of the device's free memory and four fifths of the free host memory.
    pub fn new(device: &Device, memory: Option<u64>, host: Option<u64>, scratch: PathBuf) -> MemoryLimits {
        let free = |device: &Device, part: f64| (part * device.memory().free as f64) as u64;
        MemoryLimits {
            memory: memory.unwrap_or_else(|| free(device, USED)),
            host: host.unwrap_or_else(|| free(&Device::cpu(), USED_BESIDE)),
            scratch,
            other_cards: Vec::new(),
        }
    }

    /// The same with room for evicted buffers on the other cards of a device: this limit, at most nine tenths of what such a card has free,
    /// less what it needs for its own work. `cards` begins with the one that leads, `own` has the bytes of those after it; 0 where it ends.
    #[must_use]
    pub fn with_other_cards(self, cards: &[Device], own: &[u64]) -> MemoryLimits {
        let room = |(card, own): (&Device, u64)| {
            self.memory.min((USED * card.memory().free as f64) as u64).saturating_sub(own)
        };
        let other_cards = cards[1..].iter().zip(own.iter().copied().chain(std::iter::repeat(0))).map(room).collect();
        MemoryLimits { other_cards, ..self }
    }

    /// Bytes of a card's free memory that no buffer takes.
    pub(super) fn reserve(card: &Device) -> u64 {
        ((1.0 - USED) * card.memory().free as f64) as u64
    }

    /// The same small limit on the device and on the host.
    #[cfg(test)]
    pub(crate) fn tiny(bytes: u64) -> MemoryLimits {
        MemoryLimits { memory: bytes, host: bytes, scratch: std::env::temp_dir(), other_cards: Vec::new() }
    }
}

/// A pool of reserved memory.
pub struct Pool {
    device: Device,
    arena: Arena,
    /// Bytes reserved before anything is evicted.
    planned: AtomicU64,
    /// Minimum bytes to reserve at a time; without a plan, more than requested.
    step: AtomicU64,
    /// Evictable bytes above which copies start in advance.
    evictable_limit: AtomicU64,
    evictable: EvictionQueue<Residency>,
    /// Memory of V and W, kept between solves; its contents are not.
    parked: Mutex<Option<[Vector<f64>; 2]>>,
    pub(super) neighbours: Neighbours,
    copies: Copies,
    pinned_pool: Arc<PinnedPool>,
    store: Arc<SpillStore<PinnedBuffer>>,
}

/// Where an evicted buffer goes.
enum Room {
    OnCard(Vector<f64>),
    OnHost(Pinned),
}

impl Pool {
    /// An empty pool of a device.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(device: &Device, limits: MemoryLimits) -> Result<Arc<Pool>, DeviceError> {
        Pool::of_cards(device, std::slice::from_ref(device), limits)
    }

    /// An empty pool of the first of a device's cards, which are its [members](Device::members); the others hold evicted buffers.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn of_cards(whole: &Device, cards: &[Device], limits: MemoryLimits) -> Result<Arc<Pool>, DeviceError> {
        let device = &cards[0];
        let pinned_pool = PinnedPool::new(device, limits.host);
        let lent = pinned_pool.clone();
        let make = move |len| Ok(lent.take(len)?);
        Ok(Arc::new(Pool {
            device: device.clone(),
            arena: Arena::new(device, limits.memory)?,
            planned: AtomicU64::new(limits.memory),
            step: AtomicU64::new(STEP),
            evictable_limit: AtomicU64::new(limits.memory),
            evictable: EvictionQueue::default(),
            parked: Mutex::default(),
            neighbours: Neighbours::new(whole, cards, &limits.other_cards)?,
            copies: Copies::new(device)?,
            pinned_pool,
            store: SpillStore::new(Arc::default(), limits.host, limits.scratch, make),
        }))
    }

    /// Reserves the planned memory and stays within it, if a step of the run can.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn apply_plan(&self, plan: &PlannedMemory) -> Result<(), DeviceError> {
        self.planned.store(plan.reserved, Ordering::Relaxed);
        self.step.store(0, Ordering::Relaxed);
        self.evictable_limit.store(plan.reserved.saturating_sub(plan.step), Ordering::Relaxed);
        self.arena.reserve(plan.reserved)
    }

    /// A buffer of `len` numbers, not initialised.
    ///
    /// # Errors
    /// Not enough memory; an eviction fails.
    pub fn take(self: &Arc<Pool>, len: usize) -> Result<PoolBuffer, DeviceError> {
        Ok(PoolBuffer::new(self.vector(len)?, self))
    }

    /// The same as a plain vector, for short-lived work.
    ///
    /// # Errors
    /// See [`Pool::take`].
    pub(crate) fn vector(&self, len: usize) -> Result<Vector<f64>, DeviceError> {
        let (planned, step) = (self.planned.load(Ordering::Relaxed), self.step.load(Ordering::Relaxed));
        let long = bytes(len) > planned / LONG;
        loop {
            if let Some(vector) = self.arena.take(len, long)? {
                return Ok(vector);
            }
            let grows = self.arena.reserve_for(len, step, planned)?;
            if grows || locked(&self.parked).take().is_some() || self.make_room()? {
                continue;
            }
            if !self.arena.reserve_for(len, 0, self.arena.limit())? {
                return Err(self.full(len));
            }
            tracing::debug!(reserved = self.arena.reserved(), "more of the device's memory than was planned");
        }
    }

    /// Parks memory for the next solve; it may be reclaimed before.
    pub(crate) fn park(&self, vectors: [PoolBuffer; 2]) {
        *locked(&self.parked) = vectors.map(PoolBuffer::into_vector).into();
    }

    /// The parked memory, if it was not reclaimed.
    pub(crate) fn unpark(self: &Arc<Pool>) -> Option<[PoolBuffer; 2]> {
        let parked = locked(&self.parked).take();
        parked.map(|vectors| vectors.map(|vector| PoolBuffer::new(vector, self)))
    }

    /// Elements of each of the two parked vectors.
    pub(crate) fn parked(&self) -> usize {
        locked(&self.parked).as_ref().map_or(0, |[vector, _]| vector.len())
    }

    fn full(&self, len: usize) -> DeviceError {
        let (held, total) = (self.arena.used(), self.arena.limit());
        DeviceError::Memory {
            what: format!("a buffer of {len} numbers beside those in use"),
            device: self.device.name(),
            needed: held + bytes(len),
            free: total.saturating_sub(held),
            total,
            fits: "keep fewer states, or raise `memory`".into(),
        }
    }

    /// Evicts the oldest evictable buffer; `false` if there is none.
    fn make_room(&self) -> Result<bool, DeviceError> {
        let mark_evictable = |place: &mut Residency| match place {
            Residency::OnDevice(_) => Some(self.begin_eviction(place).and_then(|_| self.end_eviction(place))),
            Residency::CopyingOut(_) | Residency::MovingOut(_) => Some(self.end_eviction(place)),
            Residency::OffDevice(_)
            | Residency::CopyingIn(_)
            | Residency::MovingIn(_)
            | Residency::OnNeighbour(_)
            | Residency::Lost => None,
        };
        let outcome = self.evictable.first(mark_evictable).transpose();
        Ok(outcome?.is_some())
    }

    /// Evicts everything evictable where the limit leaves no room to grow, so that what is free is in fewer pieces; what is needed comes back.
    ///
    /// # Errors
    /// See [`Pool::evict_all`].
    pub(crate) fn pack(&self) -> Result<(), BackendError> {
        let (reserved, limit) = (self.arena.reserved(), self.arena.limit());
        if limit.saturating_sub(reserved) < reserved / 2 { self.evict_all() } else { Ok(()) }
    }

    /// Evicts everything evictable, to free the device for others.
    ///
    /// # Errors
    /// The device fails, not enough host memory, or the disk is full.
    pub fn evict_all(&self) -> Result<(), BackendError> {
        while self.make_room()? {}
        Ok(())
    }

    /// Puts a vector at the end of the eviction queue.
    pub(super) fn make_evictable(&self, vector: Vector<f64>) -> Arc<Mutex<Residency>> {
        self.evictable.push(Residency::OnDevice(vector))
    }

    /// Starts copying a buffer to another card that has room, else to the host; returns its bytes.
    fn begin_eviction(&self, place: &mut Residency) -> Result<u64, BackendError> {
        let Residency::OnDevice(vector) = place else { return Ok(0) };
        let len = vector.len();
        // Allocate first, so that nothing is lost if there is no room.
        let room = match self.neighbours.take(len) {
            Some(there) => Room::OnCard(there),
            None => Room::OnHost(self.pinned_pool.take_pinned(len)?),
        };
        if let Residency::OnDevice(vector) = std::mem::replace(place, Residency::Lost) {
            *place = match room {
                Room::OnCard(there) => Residency::MovingOut(self.neighbours.copies().send(vector, there)?),
                Room::OnHost(pinned) => {
                    let transfer = self.copies.to_host(vector, pinned, len)?;
                    self.store.ledgers().0.take(bytes(len));
                    Residency::CopyingOut(transfer)
                }
            };
        }
        Ok(bytes(len))
    }

    /// Frees the device memory of a buffer whose copy has begun: after the copy to the host; on the device's stream, which waits for one to
    /// another card.
    fn end_eviction(&self, place: &mut Residency) -> Result<(), BackendError> {
        *place = match std::mem::replace(place, Residency::Lost) {
            Residency::CopyingOut(transfer) => {
                let (vector, pinned) = transfer.finish()?;
                let len = vector.len();
                drop(vector);
                self.store.ledgers().0.give_back(bytes(len));
                Residency::OffDevice(self.store.put(self.pinned_pool.wrap(pinned, len))?)
            }
            Residency::MovingOut(copy) => Residency::OnNeighbour(copy.depart()?),
            other => other,
        };
        Ok(())
    }

    /// Starts copying, in advance, what the plan says must be evicted.
    pub(super) fn start_evictions(&self) -> Result<(), BackendError> {
        let here = |place: &Residency| if let Residency::OnDevice(vector) = place { bytes(vector.len()) } else { 0 };
        let begin = |place: &mut Residency| matches!(place, Residency::OnDevice(_)).then(|| self.begin_eviction(place));
        self.evictable.evict_down_to(self.evictable_limit.load(Ordering::Relaxed), here, begin)
    }

    /// Starts copying an evicted buffer back.
    pub(super) fn begin_restore(&self, place: &mut Residency) -> Result<(), BackendError> {
        let len = match place {
            Residency::OffDevice(stored) => stored.len(),
            Residency::OnNeighbour(there) => there.len(),
            _ => return Ok(()),
        };
        // Allocate first, so that nothing is lost if there is no room.
        let vector = self.vector(len)?;
        *place = match std::mem::replace(place, Residency::Lost) {
            Residency::OffDevice(stored) => {
                let lent = stored.take()?;
                self.store.ledgers().0.take(bytes(len));
                Residency::CopyingIn(self.copies.to_device(lent.into_pinned(), vector, len)?)
            }
            Residency::OnNeighbour(there) => Residency::MovingIn(self.neighbours.copies().bring(there, vector)?),
            other => other,
        };
        Ok(())
    }

    /// Waits for a copy to or from the host; the data on the device are valid.
    pub(super) fn finish_transfer(&self, transfer: Transfer) -> Result<Vector<f64>, BackendError> {
        let (vector, pinned) = transfer.finish()?;
        self.store.ledgers().0.give_back(bytes(vector.len()));
        drop(self.pinned_pool.wrap(pinned, vector.len()));
        Ok(vector)
    }

    /// Copies host numbers into a new buffer.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn upload(self: &Arc<Pool>, data: &[f64]) -> Result<PoolBuffer, DeviceError> {
        let mut held = self.take(data.len())?;
        held.vector_mut().write(data)?;
        Ok(held)
    }

    /// Bytes that are reserved.
    pub fn reserved(&self) -> u64 {
        self.arena.reserved()
    }

    /// Bytes of buffers on the device, evictable ones included.
    pub fn used(&self) -> u64 {
        self.arena.used()
    }

    /// Bytes that may be requested: evictable buffers make room.
    pub(crate) fn available(&self) -> u64 {
        let left = |place: &Residency| match place {
            Residency::OnDevice(vector) => bytes(vector.len()),
            _ => 0,
        };
        let idle = 2 * bytes(self.parked()) + self.evictable.sum(left);
        (self.limit() + idle).saturating_sub(self.used())
    }

    /// Bytes now on other cards, in host memory or on disk.
    pub fn evicted_bytes(&self) -> u64 {
        let (host, disk) = self.store.ledgers();
        self.neighbours.used() + host.used() + disk.used()
    }

    /// Peak bytes on the device, on other cards, in host memory and on disk.
    pub(crate) fn usage(&self) -> Usage {
        let (host, disk) = self.store.ledgers();
        let other_cards = self.neighbours.peak();
        Usage { memory: self.arena.peak(), other_cards, host: host.peak(), disk: disk.peak() }
    }

    /// A sentence for each other card that could not hold what it should.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.neighbours.warnings()
    }

    /// The limit of other cards' memory for evicted buffers.
    pub(crate) fn other_cards_limit(&self) -> u64 {
        self.neighbours.limit()
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.arena.limit()
    }

    /// The limit of host memory for evicted buffers.
    pub(crate) fn host_limit(&self) -> u64 {
        self.store.limit()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Evict;
    use super::*;
    use crate::backend::test_device;

    fn numbers(len: usize, k: usize) -> Vec<f64> {
        (0..len).map(|i| (i * 7 + k) as f64).collect()
    }

    #[test]
    fn memory_is_used_again_and_counted_once() {
        let Some(device) = test_device() else { return };
        let pool = Pool::new(&device, MemoryLimits::tiny(4 << 20)).unwrap();
        let first = pool.upload(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((first.len(), first.download().unwrap()), (3, vec![1.0, 2.0, 3.0]));
        let held = pool.used();
        drop(first);
        assert_eq!(pool.used(), 0);
        let second = pool.take(7).unwrap();
        assert_eq!((second.len(), pool.used()), (7, held));
        let third = pool.take(1000).unwrap();
        assert!(third.vector().len() == 1000 && pool.used() >= held + 8000 && pool.usage().memory == pool.used());
        assert!(pool.reserved() >= pool.used());
    }

    #[test]
    fn other_cards_hold_what_their_own_work_leaves_of_the_limit() {
        let cards = [(); 4].map(|()| Device::cpu());
        let limits = MemoryLimits::tiny(1 << 20).with_other_cards(&cards, &[1 << 18, 1 << 21]);
        assert_eq!(limits.other_cards, [3 << 18, 0, 1 << 20]);
        let no_limit = MemoryLimits { memory: u64::MAX, ..limits }.with_other_cards(&cards, &[]);
        let total = Device::cpu().memory().total;
        assert!(no_limit.other_cards.iter().all(|room| *room > 0 && *room < total / 10 * 9 + 10), "{no_limit:?}");
    }

    /// Within 4 MiB: six buffers of 1 MiB, marked evictable one after the other, and brought back in reverse order.
    #[test]
    fn what_was_left_first_makes_room_and_comes_back_as_it_was() {
        let scratch = tempfile::tempdir().unwrap();
        for host in [64 << 20, 3 << 19, 0] {
            let scratch = scratch.path().into();
            let limits = MemoryLimits { memory: 4 << 20, host, scratch, other_cards: Vec::new() };
            let Some(device) = test_device() else { return };
            let pool = Pool::new(&device, limits).unwrap();
            let len = (1 << 17) - 1000;
            let mut held = Vec::new();
            for k in 0..6 {
                let mut next = pool.upload(&numbers(len, k)).unwrap();
                next.mark_evictable().unwrap();
                held.push(next);
            }
            assert!(pool.reserved() <= pool.limit() && pool.available() > 3 << 20);
            // The last ones are still on the device; every buffer can be copied wherever it is.
            assert!(held.iter().enumerate().all(|(k, held)| held.copy().unwrap() == numbers(len, k)));
            for k in (0..6).rev() {
                if k > 1 {
                    held[k - 2].prefetch(2).unwrap();
                    held[k - 1].prefetch(1).unwrap();
                }
                held[k].ensure_resident().unwrap();
                assert_eq!(held[k].download().unwrap(), numbers(len, k), "piece {k} beside {host} bytes");
                held[k].mark_evictable().unwrap();
            }
            let usage = pool.usage();
            assert!(usage.host > 0 && (usage.disk > 0) == (host < 2 << 20), "{usage:?}");
            let mut kept: Vec<PoolBuffer> = held.drain(..3).collect();
            kept.iter_mut().for_each(|held| held.ensure_resident().unwrap());
            let refused = pool.take(2 * len).map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains("raise `memory`"), "{refused}");
            // A failed request has cost nothing.
            assert!(kept.iter().enumerate().all(|(k, held)| held.download().unwrap() == numbers(len, k)));
            assert!(held.iter().enumerate().all(|(k, held)| held.copy().unwrap() == numbers(len, k + 3)));
            drop((kept, held));
            assert_eq!((pool.used(), pool.evicted_bytes()), (0, 0));
        }
    }

    #[test]
    fn copies_begin_ahead_where_a_plan_has_too_little_room() {
        let Some(device) = test_device() else { return };
        let pool = Pool::new(&device, MemoryLimits::tiny(32 << 20)).unwrap();
        let plan = PlannedMemory { reserved: 8 << 20, step: 6 << 20, ..PlannedMemory::default() };
        pool.apply_plan(&plan).unwrap();
        assert!(pool.reserved() >= 8 << 20);
        let mut held: Vec<PoolBuffer> = (0..4).map(|k| pool.upload(&numbers(1 << 17, k)).unwrap()).collect();
        held.iter_mut().for_each(|held| held.mark_evictable().unwrap());
        // Two of the four evictable MiB exceed the limit.
        assert_eq!((pool.usage().host, pool.used()), (2 << 20, 4 << 20));
        held[0].ensure_resident().unwrap();
        assert_eq!((held[0].download().unwrap(), pool.evicted_bytes()), (numbers(1 << 17, 0), 1 << 20));
    }

    #[test]
    fn memory_that_is_parked_is_given_up_before_anything_leaves() {
        let Some(device) = test_device() else { return };
        let pool = Pool::new(&device, MemoryLimits::tiny(8 << 20)).unwrap();
        let two = || [pool.take(1 << 18).unwrap(), pool.take(1 << 18).unwrap()];
        pool.park(two());
        assert_eq!(pool.parked(), 1 << 18);
        let kept = pool.unpark().unwrap();
        assert!(pool.unpark().is_none() && kept[1].len() == 1 << 18);
        pool.park(kept);
        let mut left = pool.upload(&numbers(1 << 18, 3)).unwrap();
        left.mark_evictable().unwrap();
        let others = two();
        assert!(pool.parked() == 0 && pool.usage().host == 0, "{:?}", pool.usage());
        left.ensure_resident().unwrap();
        assert_eq!(left.download().unwrap(), numbers(1 << 18, 3));
        drop(others);
    }

    #[test]
    fn a_disk_that_fails_is_said() {
        let scratch = "/no/such/folder".into();
        let limits = MemoryLimits { memory: 2 << 20, host: 0, scratch, other_cards: Vec::new() };
        let Some(device) = test_device() else { return };
        let pool = Pool::new(&device, limits).unwrap();
        let fill = |k| -> Result<PoolBuffer, BackendError> {
            let mut held = pool.upload(&numbers(1 << 16, k))?;
            held.mark_evictable()?;
            Ok(held)
        };
        let outcome: Result<Vec<PoolBuffer>, BackendError> = (0..8).map(fill).collect();
        let said = outcome.map(|_| ()).unwrap_err();
        assert!(matches!(said, BackendError::Scratch { .. }) && said.to_string().contains("/no/such/folder"), "{said}");
    }
}
