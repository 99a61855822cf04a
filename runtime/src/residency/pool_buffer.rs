//! A buffer in a [pool](super::pool), and where it is between two uses.

use super::pinned_pool::PinnedBuffer;
use super::pool::Pool;
use super::slot::Slot;
use super::spill::SpilledBuffer;
use super::{Evict, locked};
use crate::device::{PeerCopy, Transfer, Vector};
use crate::error::{BackendError, DeviceError};
use std::sync::Arc;

/// A buffer on a device, returned to the pool when dropped.
pub struct PoolBuffer {
    slot: Slot<Vector<f64>, Residency>,
    len: usize,
    pool: Arc<Pool>,
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
    /// On the device, with a copy to another card started or done.
    MovingOut(PeerCopy),
    /// On another card.
    OnNeighbour(Vector<f64>),
    /// Being copied back from another card.
    MovingIn(PeerCopy),
    Lost,
}

impl PoolBuffer {
    /// Wraps a vector of the pool.
    pub(super) fn new(vector: Vector<f64>, pool: &Arc<Pool>) -> PoolBuffer {
        PoolBuffer { len: vector.len(), slot: Slot::InUse(vector), pool: pool.clone() }
    }

    /// The bare vector; it must be on the device.
    pub(super) fn into_vector(mut self) -> Vector<f64> {
        match self.slot.take() {
            Slot::InUse(vector) => vector,
            _ => unreachable!("a buffer is brought back before it is given up"),
        }
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The vector on the device.
    pub fn vector(&self) -> &Vector<f64> {
        self.slot.value()
    }

    /// The vector on the device, mutable.
    pub(crate) fn vector_mut(&mut self) -> &mut Vector<f64> {
        self.slot.value_mut()
    }

    /// A copy on the device.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn duplicate(&self) -> Result<PoolBuffer, DeviceError> {
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
    pub(crate) fn copy(&self) -> Result<Vec<f64>, BackendError> {
        let Slot::Evictable(place) = &self.slot else { return Ok(self.download()?) };
        match &*locked(place) {
            Residency::OnDevice(vector) => Ok(vector.download_first(self.len)?),
            Residency::CopyingOut(transfer) | Residency::CopyingIn(transfer) => Ok(transfer.values(self.len)?),
            Residency::OffDevice(stored) => stored.copy(),
            Residency::MovingOut(copy) | Residency::MovingIn(copy) => {
                Ok(self.pool.neighbours.read(copy.source(), self.len)?)
            }
            Residency::OnNeighbour(vector) => Ok(self.pool.neighbours.read(vector, self.len)?),
            Residency::Lost => unreachable!("only a device that fails loses numbers"),
        }
    }
}

impl Evict for PoolBuffer {
    fn mark_evictable(&mut self) -> Result<(), BackendError> {
        if self.is_empty() || !matches!(self.slot, Slot::InUse(_)) {
            return Ok(());
        }
        self.slot.make_evictable(|vector| self.pool.make_evictable(vector));
        self.pool.start_evictions()
    }

    /// From host memory or another card if it is needed in the next step, from disk if later.
    fn prefetch(&mut self, steps: usize) -> Result<(), BackendError> {
        let Slot::Evictable(place) = &self.slot else { return Ok(()) };
        let mut place = locked(place);
        match &*place {
            Residency::OffDevice(stored) if steps > 1 => stored.fetch(),
            Residency::OnNeighbour(_) if steps > 1 => Ok(()),
            Residency::OffDevice(_) | Residency::OnNeighbour(_) => match self.pool.begin_restore(&mut place) {
                // `ensure_resident` will try again.
                Err(BackendError::Device(DeviceError::Memory { .. })) => Ok(()),
                outcome => outcome,
            },
            _ => Ok(()),
        }
    }

    fn ensure_resident(&mut self) -> Result<(), BackendError> {
        let Slot::Evictable(shared) = &self.slot else { return Ok(()) };
        let mut place = locked(shared);
        self.pool.begin_restore(&mut place)?;
        let vector = match std::mem::replace(&mut *place, Residency::Lost) {
            Residency::OnDevice(vector) => vector,
            Residency::CopyingOut(transfer) | Residency::CopyingIn(transfer) => self.pool.finish_transfer(transfer)?,
            Residency::MovingOut(copy) | Residency::MovingIn(copy) => {
                let [vector, _] = copy.finish()?;
                vector
            }
            Residency::OffDevice(_) | Residency::OnNeighbour(_) | Residency::Lost => {
                unreachable!("it has begun to arrive")
            }
        };
        drop(place);
        self.slot = Slot::InUse(vector);
        Ok(())
    }
}

impl Drop for PoolBuffer {
    fn drop(&mut self) {
        if let Slot::Evictable(place) = self.slot.take()
            && let Residency::CopyingOut(transfer) | Residency::CopyingIn(transfer) =
                std::mem::replace(&mut *locked(&place), Residency::Lost)
        {
            // A failed device has released its memory.
            let _ = self.pool.finish_transfer(transfer);
        }
    }
}
