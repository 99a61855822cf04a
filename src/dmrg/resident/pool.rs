//! Memory of a device that is used again from bond to bond: an allocation takes longer than many a bond's kernels.
//! What a sweep will not need before it comes back may leave for host memory.
//!
//! Everything on a device happens in one order, so memory that is given back may be given out again at once.

use eigenforge_runtime::{Device, DeviceError, Vector};
use std::sync::{Arc, Mutex, PoisonError};

/// Elements of the smallest piece.
const LEAST: usize = 64;

/// Vectors that nobody holds.
pub struct Pool {
    device: Device,
    /// Bytes that the pool may have in all.
    limit: u64,
    spare: Mutex<Spare>,
}

#[derive(Default)]
struct Spare {
    vectors: Vec<Vector<f64>>,
    /// Elements of all vectors, spare and held.
    elements: usize,
    /// Elements that have left.
    away: usize,
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
    Host(Vec<f64>),
}

/// Lengths that memory is asked for: eight in each octave, so that a piece fits others than its own.
fn rounded(len: usize) -> usize {
    let step = (len.max(LEAST).next_power_of_two() / 16).max(LEAST);
    len.max(1).div_ceil(step) * step
}

impl Pool {
    /// Of a device; empty.
    pub fn new(device: &Device, limit: u64) -> Arc<Pool> {
        Arc::new(Pool { device: device.clone(), limit, spare: Mutex::default() })
    }

    /// Room for `len` numbers; what they are is not said.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn take(self: &Arc<Pool>, len: usize) -> Result<Held, DeviceError> {
        Ok(Held { place: Place::Device(self.vector(len)?), len, pool: self.clone() })
    }

    fn vector(&self, len: usize) -> Result<Vector<f64>, DeviceError> {
        let wanted = rounded(len);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |k: &usize| (wanted..=wanted + wanted / 4).contains(&spare.vectors[*k].len());
        let found = (0..spare.vectors.len()).filter(fits).min_by_key(|k| spare.vectors[*k].len());
        if let Some(k) = found {
            return Ok(spare.vectors.swap_remove(k));
        }
        // What is spare in other lengths makes room, the longest first.
        spare.vectors.sort_by_key(Vector::len);
        while 8 * (spare.elements + wanted) as u64 > self.limit
            && let Some(vector) = spare.vectors.pop()
        {
            spare.elements -= vector.len();
        }
        let needed = 8 * (spare.elements + wanted) as u64;
        if needed > self.limit {
            return Err(DeviceError::Memory {
                what: format!("a buffer of {wanted} numbers beside what DMRG holds"),
                device: self.device.name(),
                needed,
                free: self.limit.saturating_sub(8 * spare.elements as u64),
                total: self.limit,
                fits: "keep fewer states".into(),
            });
        }
        let vector = self.device.zeros(wanted)?;
        spare.elements += wanted;
        Ok(vector)
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
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        8 * (spare.elements - spare.vectors.iter().map(Vector::len).sum::<usize>()) as u64
    }

    /// Bytes that have left for host memory, now.
    pub fn away(&self) -> u64 {
        8 * self.spare.lock().unwrap_or_else(PoisonError::into_inner).away as u64
    }

    /// Bytes that it may have.
    pub fn limit(&self) -> u64 {
        self.limit
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
            Place::Host(_) => unreachable!("a sweep fetches what it reads"),
        }
    }

    /// The same, to be written.
    pub fn vector_mut(&mut self) -> &mut Vector<f64> {
        match &mut self.place {
            Place::Device(vector) => vector,
            Place::Host(_) => unreachable!("a sweep fetches what it writes"),
        }
    }

    /// A copy beside it.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn duplicate(&self) -> Result<Held, DeviceError> {
        let mut copy = self.pool.take(self.len)?;
        copy.vector_mut().copy_first(self.vector(), self.len)?;
        Ok(copy)
    }

    /// A copy on the host.
    ///
    /// # Errors
    /// A device that fails.
    pub fn download(&self) -> Result<Vec<f64>, DeviceError> {
        match &self.place {
            Place::Device(vector) => vector.download_first(self.len),
            Place::Host(values) => Ok(values.clone()),
        }
    }

    /// Moves the numbers to host memory; nothing happens if they are there.
    ///
    /// # Errors
    /// A device that fails.
    pub fn leave(&mut self) -> Result<(), DeviceError> {
        if let Place::Device(vector) = &self.place {
            let values = Place::Host(vector.download_first(self.len)?);
            self.give_back(values);
            self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner).away += self.len;
        }
        Ok(())
    }

    /// Moves the numbers back to the device; nothing happens if they are there.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn arrive(&mut self) -> Result<(), DeviceError> {
        if let Place::Host(values) = &self.place {
            let mut vector = self.pool.vector(self.len)?;
            vector.write_first(values)?;
            self.place = Place::Device(vector);
            self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner).away -= self.len;
        }
        Ok(())
    }

    /// Puts the numbers elsewhere; memory of the device is spare.
    fn give_back(&mut self, place: Place) {
        if let Place::Device(vector) = std::mem::replace(&mut self.place, place) {
            self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner).vectors.push(vector);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if matches!(self.place, Place::Host(_)) {
            self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner).away -= self.len;
        }
        self.give_back(Place::Host(Vec::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_counted_once() {
        let pool = Pool::new(&Device::cpu(), 1 << 20);
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
        let pool = Pool::new(&Device::cpu(), 8 * 3000);
        let numbers: Vec<f64> = (0..2000).map(f64::from).collect();
        let mut first = pool.upload(&numbers).unwrap();
        let refused = pool.take(2000).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("keep fewer states"), "{refused}");
        first.leave().unwrap();
        assert_eq!((pool.held(), pool.away(), first.download().unwrap()), (0, 16_000, numbers.clone()));
        // Of another length, so the memory of the first is given back to the device.
        let second = pool.take(1000).unwrap();
        assert!(first.arrive().is_err(), "both do not fit: {} of {}", pool.held(), pool.limit());
        drop(second);
        first.arrive().unwrap();
        assert_eq!(first.download().unwrap(), numbers);
        assert!(pool.bytes() <= pool.limit() && pool.away() == 0);
    }

    #[test]
    fn lengths_are_rounded_by_an_eighth_at_most() {
        for len in [0, 1, 64, 65, 1000, 4097, 123_456, 10_000_001] {
            let rounded = rounded(len);
            assert!(rounded >= len && rounded <= len + (len / 8).max(LEAST), "{len}: {rounded}");
        }
    }
}
