//! Memory of a device that is used again from bond to bond: an allocation takes longer than many a bond's kernels.
//! What a sweep will not need before it comes back may leave for host memory, and for the disk beyond that.
//!
//! Everything on a device happens in one order, so memory that is given back may be given out again at once. Copies to and
//! from the host go beside it ([`Copies`]), and a piece of memory is given back only when its copy is done.

use super::Limits;
use super::lent::{Lender, Lent};
use crate::dmrg::DmrgError;
use crate::dmrg::memory::{MemoryPlan, Usage};
use crate::dmrg::storage::{Ledger, Store, Stored, rounded};
use eigenforge_runtime::{Copies, Device, DeviceError, Transfer, Vector};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Vectors that nobody holds, and where numbers go that have no room.
pub struct Pool {
    device: Device,
    /// Bytes that the pool may have in all.
    limit: u64,
    /// Above so many bytes nothing is kept for use again.
    ceiling: AtomicU64,
    leave_above: AtomicU64,
    /// Bytes of the vectors that are held.
    held: Ledger,
    spare: Mutex<Spare>,
    copies: Copies,
    lender: Arc<Lender>,
    store: Arc<Store<Lent>>,
}

#[derive(Default)]
struct Spare {
    vectors: Vec<Vector<f64>>,
    /// Elements of all vectors, spare and held.
    elements: usize,
}

/// Numbers on a device, given back to the pool when dropped.
pub struct Held {
    place: Place,
    len: usize,
    pool: Arc<Pool>,
}

/// Where held numbers are.
enum Place {
    Device(Vector<f64>),
    /// On their way to host memory.
    Leaving(Transfer),
    /// In host memory or on disk.
    Away(Stored<Lent>),
    /// On their way back.
    Arriving(Transfer),
    Nowhere,
}

/// Part of the memory that blocks, states and vectors may hold before what is left behind goes to host memory, without a plan.
const BUSY: f64 = 0.5;
/// Part of what is planned that may be kept for use again beside it.
const KEPT: u64 = 4;

impl Pool {
    /// Of a device; empty.
    ///
    /// # Errors
    /// A device that fails.
    pub fn new(device: &Device, limits: Limits) -> Result<Arc<Pool>, DeviceError> {
        let lender = Lender::new(device, limits.host);
        let lent = lender.clone();
        let make = move |len| Ok(lent.lend(len)?);
        Ok(Arc::new(Pool {
            device: device.clone(),
            limit: limits.memory,
            ceiling: AtomicU64::new(limits.memory),
            leave_above: AtomicU64::new((BUSY * limits.memory as f64) as u64),
            held: Ledger::default(),
            spare: Mutex::default(),
            copies: Copies::new(device)?,
            lender,
            store: Store::new(Arc::default(), limits.host, limits.scratch, make),
        }))
    }

    /// Keeps to a plan from now on.
    pub fn hold_to(&self, plan: &MemoryPlan) {
        let ceiling = (plan.most.memory + plan.most.memory / KEPT).min(self.limit);
        self.ceiling.store(ceiling, Ordering::Relaxed);
        self.leave_above.store(plan.leave_above, Ordering::Relaxed);
    }

    /// Room for `len` numbers; what they are is not said.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn take(self: &Arc<Pool>, len: usize) -> Result<Held, DeviceError> {
        Ok(Held { place: Place::Device(self.vector(len)?), len, pool: self.clone() })
    }

    /// The same for what is kept from bond to bond: not an element more than asked for.
    ///
    /// # Errors
    /// Those of [`Pool::take`].
    pub fn take_exactly(self: &Arc<Pool>, len: usize) -> Result<Held, DeviceError> {
        Ok(Held { place: Place::Device(self.vector_of(len)?), len, pool: self.clone() })
    }

    fn vector(&self, len: usize) -> Result<Vector<f64>, DeviceError> {
        self.vector_of(rounded(len))
    }

    fn vector_of(&self, wanted: usize) -> Result<Vector<f64>, DeviceError> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        // Of this very length, so that what is held is what was planned.
        let found = spare.vectors.iter().rposition(|vector| vector.len() == wanted);
        if let Some(k) = found {
            self.held.take(8 * wanted as u64);
            return Ok(spare.vectors.remove(k));
        }
        // What has been spare for longest makes room.
        let ceiling = self.ceiling.load(Ordering::Relaxed);
        let mut first = 0;
        while 8 * (spare.elements + wanted) as u64 > ceiling && first < spare.vectors.len() {
            spare.elements -= spare.vectors[first].len();
            first += 1;
        }
        spare.vectors.drain(..first);
        let needed = 8 * (spare.elements + wanted) as u64;
        if needed > self.limit {
            return Err(DeviceError::Memory {
                what: format!("a buffer of {wanted} numbers beside what DMRG holds"),
                device: self.device.name(),
                needed,
                free: self.limit.saturating_sub(8 * spare.elements as u64),
                total: self.limit,
                fits: "keep fewer states, or raise `memory`".into(),
            });
        }
        let vector = self.device.zeros(wanted)?;
        spare.elements += wanted;
        self.held.take(8 * wanted as u64);
        Ok(vector)
    }

    fn give_back(&self, vector: Vector<f64>) {
        self.held.give_back(8 * vector.len() as u64);
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).vectors.push(vector);
    }

    /// A copy of host numbers.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn upload(self: &Arc<Pool>, data: &[f64]) -> Result<Held, DeviceError> {
        let mut held = self.take(data.len())?;
        held.vector_mut().write_first(data)?;
        Ok(held)
    }

    /// Bytes of all vectors, held and spare.
    pub fn bytes(&self) -> u64 {
        8 * self.spare.lock().unwrap_or_else(PoisonError::into_inner).elements as u64
    }

    /// Bytes of the vectors that are held.
    pub fn held(&self) -> u64 {
        self.held.held()
    }

    /// Whether what is left behind should leave, with so many bytes to come.
    pub fn is_busy(&self, to_come: u64) -> bool {
        self.held().saturating_add(to_come) > self.leave_above.load(Ordering::Relaxed)
    }

    /// Bytes that are in host memory or on disk now.
    pub fn away(&self) -> u64 {
        let (host, disk) = self.store.ledgers();
        host.held() + disk.held()
    }

    /// The most that was held on the device, in host memory and on disk.
    pub fn usage(&self) -> Usage {
        let (host, disk) = self.store.ledgers();
        Usage { memory: self.held.peak(), host: host.peak(), disk: disk.peak() }
    }

    /// Bytes that it may have.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes of host memory that what has left may fill.
    pub fn host_limit(&self) -> u64 {
        self.store.limit()
    }
}

impl Held {
    /// Number of elements that mean something.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The memory: at least as many elements.
    pub fn vector(&self) -> &Vector<f64> {
        match &self.place {
            Place::Device(vector) => vector,
            _ => unreachable!("a sweep fetches what it reads"),
        }
    }

    /// The same, to be written.
    pub fn vector_mut(&mut self) -> &mut Vector<f64> {
        match &mut self.place {
            Place::Device(vector) => vector,
            _ => unreachable!("a sweep fetches what it writes"),
        }
    }

    /// A copy on the host of numbers that are on the device.
    ///
    /// # Errors
    /// A device that fails.
    pub fn download(&self) -> Result<Vec<f64>, DeviceError> {
        self.vector().download_first(self.len)
    }

    /// A copy on the host, wherever the numbers are.
    ///
    /// # Errors
    /// A device that fails, a file that cannot be read back.
    pub fn copy(&self) -> Result<Vec<f64>, DmrgError> {
        match &self.place {
            Place::Device(vector) => Ok(vector.download_first(self.len)?),
            Place::Leaving(transfer) | Place::Arriving(transfer) => Ok(transfer.values(self.len)?),
            Place::Away(stored) => stored.copy(),
            Place::Nowhere => Ok(Vec::new()),
        }
    }

    fn moved(&mut self) -> Place {
        std::mem::replace(&mut self.place, Place::Nowhere)
    }

    /// Bytes in host memory while a copy is under way.
    fn bytes(&self) -> u64 {
        8 * self.len as u64
    }

    /// Begins to go to host memory; nothing happens if the numbers are not on the device.
    ///
    /// # Errors
    /// A device that fails, host memory that is not there.
    pub fn leave(&mut self) -> Result<(), DmrgError> {
        match self.moved() {
            Place::Device(vector) => {
                let pinned = self.pool.lender.pinned(self.len)?;
                self.pool.store.ledgers().0.take(self.bytes());
                self.place = Place::Leaving(self.pool.copies.to_host(vector, pinned, self.len)?);
            }
            other => self.place = other,
        }
        Ok(())
    }

    /// Waits until it has left: its memory on the device is spare.
    ///
    /// # Errors
    /// A device that fails, a disk that is full.
    pub fn settle(&mut self) -> Result<(), DmrgError> {
        match self.moved() {
            Place::Leaving(transfer) => {
                let (vector, pinned) = transfer.finish()?;
                self.pool.give_back(vector);
                self.pool.store.ledgers().0.give_back(self.bytes());
                let lent = self.pool.lender.lent(pinned, self.len);
                self.place = Place::Away(self.pool.store.put(lent)?);
            }
            other => self.place = other,
        }
        Ok(())
    }

    /// Begins to come back: from host memory if it is needed next, from the disk if later.
    ///
    /// # Errors
    /// Memory that is not there, a file that cannot be read back.
    pub fn expect(&mut self, bonds: usize) -> Result<(), DmrgError> {
        match &self.place {
            Place::Away(stored) if bonds > 1 => stored.fetch(),
            Place::Away(_) => self.come(),
            _ => Ok(()),
        }
    }

    /// Begins to come back from host memory.
    fn come(&mut self) -> Result<(), DmrgError> {
        if matches!(self.place, Place::Away(_)) {
            // First of all the room, so that nothing is lost where there is none.
            let vector = self.pool.vector(self.len)?;
            if let Place::Away(stored) = self.moved() {
                let lent = stored.take()?;
                self.pool.store.ledgers().0.take(self.bytes());
                self.place = Place::Arriving(self.pool.copies.to_device(lent.into_pinned(), vector, self.len)?);
            }
        }
        Ok(())
    }

    /// On the device, when this returns.
    ///
    /// # Errors
    /// Those of [`Held::expect`].
    pub fn arrive(&mut self) -> Result<(), DmrgError> {
        self.come()?;
        match self.moved() {
            Place::Leaving(transfer) | Place::Arriving(transfer) => {
                let (vector, pinned) = transfer.finish()?;
                self.pool.store.ledgers().0.give_back(self.bytes());
                drop(self.pool.lender.lent(pinned, self.len));
                self.place = Place::Device(vector);
            }
            other => self.place = other,
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        match self.moved() {
            Place::Device(vector) => self.pool.give_back(vector),
            Place::Leaving(transfer) | Place::Arriving(transfer) => {
                self.pool.store.ledgers().0.give_back(self.bytes());
                if let Ok((vector, pinned)) = transfer.finish() {
                    self.pool.give_back(vector);
                    drop(self.pool.lender.lent(pinned, self.len));
                }
            }
            Place::Away(_) | Place::Nowhere => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_counted_once() {
        let pool = Pool::new(&Device::cpu(), Limits::tiny(1 << 20)).unwrap();
        let first = pool.upload(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((first.len(), first.download().unwrap()), (3, vec![1.0, 2.0, 3.0]));
        let bytes = pool.bytes();
        drop(first);
        let second = pool.take(7).unwrap();
        assert_eq!((second.len(), pool.bytes()), (7, bytes));
        let third = pool.take(1000).unwrap();
        assert!(third.vector().len() >= 1000 && pool.bytes() > bytes);
        assert_eq!(pool.held(), pool.bytes());
    }

    #[test]
    fn what_leaves_makes_room_and_comes_back_as_it_was() {
        let pool = Pool::new(&Device::cpu(), Limits::tiny(8 * 3000)).unwrap();
        let numbers: Vec<f64> = (0..2000).map(f64::from).collect();
        let mut first = pool.upload(&numbers).unwrap();
        let refused = pool.take(2000).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("keep fewer states"), "{refused}");
        first.leave().unwrap();
        assert_eq!((pool.held() > 0, first.copy().unwrap()), (true, numbers.clone()));
        first.settle().unwrap();
        assert_eq!((pool.held(), pool.away(), first.copy().unwrap()), (0, 16_000, numbers.clone()));
        // Of another length, so the memory of the first is given back to the device.
        let second = pool.take(1000).unwrap();
        assert!(first.arrive().is_err(), "both do not fit: {} of {}", pool.held(), pool.limit());
        drop(second);
        first.arrive().unwrap();
        assert_eq!(first.download().unwrap(), numbers);
        assert!(pool.bytes() <= pool.limit() && pool.away() == 0);
    }
}
