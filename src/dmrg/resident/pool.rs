//! Memory of a device that is used again from bond to bond: an allocation takes longer than many a bond's kernels.
//!
//! Everything on a device happens in one order, so memory that is given back may be given out again at once.

use eigenforge_runtime::{Device, DeviceError, Vector};
use std::sync::{Arc, Mutex, PoisonError};

/// Elements of the smallest piece.
const LEAST: usize = 64;

/// Vectors that nobody holds.
pub struct Pool {
    device: Device,
    spare: Mutex<Spare>,
}

#[derive(Default)]
struct Spare {
    vectors: Vec<Vector<f64>>,
    /// Elements of all vectors, spare and held.
    elements: usize,
}

/// Numbers on a device, given back to the pool when dropped.
pub struct Held {
    /// There until it is dropped.
    vector: Option<Vector<f64>>,
    len: usize,
    pool: Arc<Pool>,
}

/// Lengths that memory is asked for: eight in each octave, so that a piece fits others than its own.
fn rounded(len: usize) -> usize {
    let step = (len.max(LEAST).next_power_of_two() / 16).max(LEAST);
    len.max(1).div_ceil(step) * step
}

impl Pool {
    /// Of a device; empty.
    pub fn new(device: &Device) -> Arc<Pool> {
        Arc::new(Pool { device: device.clone(), spare: Mutex::default() })
    }

    /// Room for `len` numbers; what they are is not said.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn take(self: &Arc<Pool>, len: usize) -> Result<Held, DeviceError> {
        let wanted = rounded(len);
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |k: &usize| (wanted..=wanted + wanted / 4).contains(&spare.vectors[*k].len());
        let found = (0..spare.vectors.len()).filter(fits).min_by_key(|k| spare.vectors[*k].len());
        let vector = match found {
            Some(k) => spare.vectors.swap_remove(k),
            None => {
                let vector = self.device.zeros(wanted).or_else(|error| {
                    if !matches!(error, DeviceError::Memory { .. } | DeviceError::Driver { .. }) {
                        return Err(error);
                    }
                    // What is spare in other lengths makes room.
                    let given_back: usize = spare.vectors.drain(..).map(|vector| vector.len()).sum();
                    spare.elements -= given_back;
                    self.device.zeros(wanted)
                })?;
                spare.elements += wanted;
                vector
            }
        };
        Ok(Held { vector: Some(vector), len, pool: self.clone() })
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
        self.vector.as_ref().expect("held until it is dropped")
    }

    /// The same, to be written.
    pub fn vector_mut(&mut self) -> &mut Vector<f64> {
        self.vector.as_mut().expect("held until it is dropped")
    }

    /// A copy on the host.
    ///
    /// # Errors
    /// A device that fails.
    pub fn download(&self) -> Result<Vec<f64>, DeviceError> {
        self.vector().download_first(self.len)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(vector) = self.vector.take() {
            self.pool.spare.lock().unwrap_or_else(PoisonError::into_inner).vectors.push(vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_counted_once() {
        let pool = Pool::new(&Device::cpu());
        let first = pool.upload(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((first.len(), first.download().unwrap()), (3, vec![1.0, 2.0, 3.0]));
        let bytes = pool.bytes();
        drop(first);
        let second = pool.take(7).unwrap();
        assert_eq!((second.len(), pool.bytes()), (7, bytes));
        let third = pool.take(1000).unwrap();
        assert!(third.vector().len() >= 1000 && pool.bytes() > bytes);
    }

    #[test]
    fn lengths_are_rounded_by_an_eighth_at_most() {
        for len in [0, 1, 64, 65, 1000, 4097, 123_456, 10_000_001] {
            let rounded = rounded(len);
            assert!(rounded >= len && rounded <= len + (len / 8).max(LEAST), "{len}: {rounded}");
        }
    }
}
