//! Inner products of one vector with a few others in one sweep: the "belts" of Nemes et al. (2014), Algorithm 4.
//!
//! In: V, 1 to [`BELT`] vectors, and w. Out: Vᵀw, in the order of V. The kernel is a vector program generated for its
//! width, so its sums are finished in the same launch and have the same bits in each run.

use super::algebra::{Algebra, PRODUCTS};
use crate::device::{Device, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use crate::vector_program::Program;
use std::sync::{Arc, Mutex, PoisonError};

/// Most vectors of a belt.
pub const BELT: usize = PRODUCTS;

/// Belts of any width on one device; each kernel is compiled at its first use.
pub struct Belts {
    algebra: Algebra,
    last: Mutex<Option<Arc<Program>>>,
}

impl Belts {
    /// For vectors of this device.
    pub fn new(device: &Device) -> Belts {
        Belts { algebra: Algebra::new(device), last: Mutex::default() }
    }

    /// Queues Vᵀw without waiting for it.
    ///
    /// # Errors
    /// No vectors or more than [`BELT`], vectors of other lengths or devices, a kernel that cannot be run.
    pub fn queue<T: Scalar>(&self, v: &[&Vector<T>], w: &Vector<T>) -> Result<()> {
        if v.is_empty() || v.len() > BELT {
            let (expected, found) = (format!("1 to {BELT} vectors"), v.len().to_string());
            return Err(DeviceError::Arguments { what: "a belt".into(), expected, found });
        }
        let (program, mut binds) = self.algebra.tile(v, &[w])?;
        program.queue(&mut binds, &[])?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(program);
        Ok(())
    }

    /// The first `width` inner products of the last request; waits for them.
    pub fn sums(&self, width: usize) -> Result<Vec<f64>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = last.as_ref().map_or(Ok(Vec::new()), |program| program.sums())?;
        sums.truncate(width);
        Ok(sums)
    }
}
