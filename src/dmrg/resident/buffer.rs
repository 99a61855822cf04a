//! A buffer in a [pool](super::pool), and where it is between two uses by a sweep.

use super::pinned_pool::PinnedBuffer;
use super::pool::Pool;
use crate::dmrg::DmrgError;
use crate::dmrg::storage::SpilledBuffer;
use eigenforge_runtime::{DeviceError, Transfer, Vector};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A buffer on a device, returned to the pool when dropped.
pub struct ResidentBuffer {
    state: BufferState,
    len: usize,
    pool: Arc<Pool>,
}

enum BufferState {
    /// On the device; it stays there.
    InUse(Vector<f64>),
    /// Evictable: on the device, in host memory, on disk, or in transfer.
    Evictable(Arc<Mutex<Residency>>),
    Taken,
}

/// Where an evictable buffer is.
pub(super) enum Residency {
    /// On the device.
    OnDevice(Vector<f64>),
    /// On the device, with a copy to host memory started or done.
    CopyingOut(Transfer),
    /// In host memory or on disk.
    OffDevice(SpilledBuffer<PinnedBuffer>),
    /// Being copied back.
    CopyingIn(Transfer),
    Lost,
}

/// A poisoned lock is used anyway: the data are consistent.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ResidentBuffer {
    /// Wraps a vector of the pool.
    pub(super) fn new(vector: Vector<f64>, pool: &Arc<Pool>) -> ResidentBuffer {
        ResidentBuffer { len: vector.len(), state: BufferState::InUse(vector), pool: pool.clone() }
    }

    /// The bare vector; it must be on the device.
    pub(super) fn into_vector(mut self) -> Vector<f64> {
        match std::mem::replace(&mut self.state, BufferState::Taken) {
            BufferState::InUse(vector) => vector,
            _ => unreachable!("what is given up is here"),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The vector on the device.
    pub fn vector(&self) -> &Vector<f64> {
        match &self.state {
            BufferState::InUse(vector) => vector,
            _ => unreachable!("a sweep fetches what it reads"),
        }
    }

    /// The vector on the device, mutable.
    pub fn vector_mut(&mut self) -> &mut Vector<f64> {
        match &mut self.state {
            BufferState::InUse(vector) => vector,
            _ => unreachable!("a sweep fetches what it writes"),
        }
    }

    /// A copy on the device.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn duplicate(&self) -> Result<ResidentBuffer, DeviceError> {
        let mut copy = self.pool.take(self.len)?;
        copy.vector_mut().copy_first(self.vector(), self.len)?;
        Ok(copy)
    }

    /// A copy on the host; the buffer must be on the device.
    ///
    /// # Errors
    /// The device fails.
    pub fn download(&self) -> Result<Vec<f64>, DeviceError> {
        self.vector().download_first(self.len)
    }

    /// A copy on the host, wherever the buffer is.
    ///
    /// # Errors
    /// The device fails, or a file cannot be read back.
    pub fn copy(&self) -> Result<Vec<f64>, DmrgError> {
        let BufferState::Evictable(place) = &self.state else { return Ok(self.download()?) };
        match &*locked(place) {
            Residency::OnDevice(vector) => Ok(vector.download_first(self.len)?),
            Residency::CopyingOut(transfer) | Residency::CopyingIn(transfer) => Ok(transfer.values(self.len)?),
            Residency::OffDevice(stored) => stored.copy(),
            Residency::Lost => unreachable!("only a device that fails loses numbers"),
        }
    }

    /// Marks the buffer as evictable: it is not read for a while.
    ///
    /// # Errors
    /// The device fails, or not enough host memory.
    pub fn mark_evictable(&mut self) -> Result<(), DmrgError> {
        if self.is_empty() || !matches!(self.state, BufferState::InUse(_)) {
            return Ok(());
        }
        if let BufferState::InUse(vector) = std::mem::replace(&mut self.state, BufferState::Taken) {
            self.state = BufferState::Evictable(self.pool.make_evictable(vector));
        }
        self.pool.start_evictions()
    }

    /// Starts bringing the buffer back: from host memory if it is needed at the next bond, from disk if later.
    ///
    /// # Errors
    /// A file cannot be read back.
    pub fn prefetch(&mut self, bonds: usize) -> Result<(), DmrgError> {
        let BufferState::Evictable(place) = &self.state else { return Ok(()) };
        let mut place = locked(place);
        match &*place {
            Residency::OffDevice(stored) if bonds > 1 => stored.fetch(),
            Residency::OffDevice(_) => match self.pool.begin_restore(&mut place) {
                // `ensure_resident` will try again.
                Err(DmrgError::Device(DeviceError::Memory { .. })) => Ok(()),
                outcome => outcome,
            },
            _ => Ok(()),
        }
    }

    /// Brings the buffer back to the device and waits for it.
    ///
    /// # Errors
    /// Not enough memory, or a file cannot be read back.
    pub fn ensure_resident(&mut self) -> Result<(), DmrgError> {
        let BufferState::Evictable(shared) = &self.state else { return Ok(()) };
        let mut place = locked(shared);
        self.pool.begin_restore(&mut place)?;
        let vector = match std::mem::replace(&mut *place, Residency::Lost) {
            Residency::OnDevice(vector) => vector,
            Residency::CopyingOut(transfer) | Residency::CopyingIn(transfer) => self.pool.finish_transfer(transfer)?,
            Residency::OffDevice(_) | Residency::Lost => unreachable!("it has begun to arrive"),
        };
        drop(place);
        self.state = BufferState::InUse(vector);
        Ok(())
    }
}

impl Drop for ResidentBuffer {
    fn drop(&mut self) {
        if let BufferState::Evictable(place) = std::mem::replace(&mut self.state, BufferState::Taken)
            && let Residency::CopyingOut(transfer) | Residency::CopyingIn(transfer) =
                std::mem::replace(&mut *locked(&place), Residency::Lost)
        {
            // A failed device has released its memory.
            let _ = self.pool.finish_transfer(transfer);
        }
    }
}
