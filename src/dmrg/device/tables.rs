//! Tables on a device, in memory that earlier tables used.
//!
//! In: words. Out: a buffer that begins with them, of at least that length, returned for reuse when dropped. Everything
//! on a device happens in one order, so a table may be written over one that queued kernels still read.

use eigenforge_runtime::{Buffer, Device, DeviceError};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// Minimum words of a new allocation, so that later tables can reuse it.
const LEAST_WORDS: usize = 1 << 13;

/// Memory for tables. Clones share it.
#[derive(Clone)]
pub(in crate::dmrg) struct Tables {
    device: Device,
    spare: Arc<Mutex<Vec<Buffer<u64>>>>,
}

/// A table.
pub(in crate::dmrg) struct Uploaded {
    /// Present until dropped.
    words: Option<Buffer<u64>>,
    spare: Arc<Mutex<Vec<Buffer<u64>>>>,
}

impl Tables {
    /// For a device.
    pub fn new(device: &Device) -> Tables {
        Tables { device: device.clone(), spare: Arc::default() }
    }

    /// The words on the device.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn upload(&self, words: &[u64]) -> Result<Uploaded, DeviceError> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = (0..spare.len()).filter(|k| spare[*k].len() >= words.len()).min_by_key(|k| spare[*k].len());
        let found = fits.map(|k| spare.swap_remove(k));
        drop(spare);
        let mut table = match found {
            Some(table) => table,
            None => self.device.buffer(&vec![0; words.len().next_power_of_two().max(LEAST_WORDS)])?,
        };
        table.write_first(words)?;
        Ok(Uploaded { words: Some(table), spare: self.spare.clone() })
    }
}

impl Deref for Uploaded {
    type Target = Buffer<u64>;

    fn deref(&self) -> &Buffer<u64> {
        self.words.as_ref().expect("a table is there until it is dropped")
    }
}

impl Drop for Uploaded {
    fn drop(&mut self) {
        if let Some(words) = self.words.take() {
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(words);
        }
    }
}
