//! Numbers in a [pool](super::pool), and what becomes of them between the times that a sweep reads them.

use super::lent::Lent;
use super::pool::Pool;
use crate::dmrg::DmrgError;
use crate::dmrg::storage::Stored;
use eigenforge_runtime::{DeviceError, Transfer, Vector};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Numbers on a device, given back to the pool when dropped.
pub struct Held {
    home: Home,
    len: usize,
    pool: Arc<Pool>,
}

enum Home {
    /// Here, and staying.
    Own(Vector<f64>),
    /// Left behind.
    Resting(Arc<Mutex<Place>>),
    Nowhere,
}

/// Where numbers are that were left behind.
pub(super) enum Place {
    /// Still here.
    Here(Vector<f64>),
    /// Here, with a copy to host memory under way or done.
    Leaving(Transfer),
    /// In host memory or on disk.
    Away(Stored<Lent>),
    /// On its way back.
    Arriving(Transfer),
    Gone,
}

/// Whoever panicked with it has left it whole.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    /// Of a vector of the pool.
    pub(super) fn new(vector: Vector<f64>, pool: &Arc<Pool>) -> Held {
        Held { len: vector.len(), home: Home::Own(vector), pool: pool.clone() }
    }

    /// The vector alone; it must be here.
    pub(super) fn into_vector(mut self) -> Vector<f64> {
        match std::mem::replace(&mut self.home, Home::Nowhere) {
            Home::Own(vector) => vector,
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

    /// The memory.
    pub fn vector(&self) -> &Vector<f64> {
        match &self.home {
            Home::Own(vector) => vector,
            _ => unreachable!("a sweep fetches what it reads"),
        }
    }

    /// The same, to be written.
    pub fn vector_mut(&mut self) -> &mut Vector<f64> {
        match &mut self.home {
            Home::Own(vector) => vector,
            _ => unreachable!("a sweep fetches what it writes"),
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
        let Home::Resting(place) = &self.home else { return Ok(self.download()?) };
        match &*locked(place) {
            Place::Here(vector) => Ok(vector.download_first(self.len)?),
            Place::Leaving(transfer) | Place::Arriving(transfer) => Ok(transfer.values(self.len)?),
            Place::Away(stored) => stored.copy(),
            Place::Gone => unreachable!("only a device that fails loses numbers"),
        }
    }

    /// Will not be read for a while: its room is others' if they need it.
    ///
    /// # Errors
    /// A device that fails, host memory that is not there.
    pub fn leave(&mut self) -> Result<(), DmrgError> {
        if self.is_empty() || !matches!(self.home, Home::Own(_)) {
            return Ok(());
        }
        if let Home::Own(vector) = std::mem::replace(&mut self.home, Home::Nowhere) {
            self.home = Home::Resting(self.pool.rest(vector));
        }
        self.pool.thin()
    }

    /// Begins to come back: from host memory if it is needed next, from the disk if later.
    ///
    /// # Errors
    /// A file that cannot be read back.
    pub fn expect(&mut self, bonds: usize) -> Result<(), DmrgError> {
        let Home::Resting(place) = &self.home else { return Ok(()) };
        let mut place = locked(place);
        match &*place {
            Place::Away(stored) if bonds > 1 => stored.fetch(),
            Place::Away(_) => match self.pool.begin_to_arrive(&mut place) {
                // It is asked for again when it has to be here.
                Err(DmrgError::Device(DeviceError::Memory { .. })) => Ok(()),
                outcome => outcome,
            },
            _ => Ok(()),
        }
    }

    /// On the device, when this returns.
    ///
    /// # Errors
    /// Memory that is not there, a file that cannot be read back.
    pub fn arrive(&mut self) -> Result<(), DmrgError> {
        let Home::Resting(shared) = &self.home else { return Ok(()) };
        let mut place = locked(shared);
        self.pool.begin_to_arrive(&mut place)?;
        let vector = match std::mem::replace(&mut *place, Place::Gone) {
            Place::Here(vector) => vector,
            Place::Leaving(transfer) | Place::Arriving(transfer) => self.pool.ended(transfer)?,
            Place::Away(_) | Place::Gone => unreachable!("it has begun to arrive"),
        };
        drop(place);
        self.home = Home::Own(vector);
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Home::Resting(place) = std::mem::replace(&mut self.home, Home::Nowhere)
            && let Place::Leaving(transfer) | Place::Arriving(transfer) =
                std::mem::replace(&mut *locked(&place), Place::Gone)
        {
            // A device that fails has given its memory up.
            let _ = self.pool.ended(transfer);
        }
    }
}
