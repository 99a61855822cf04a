//! Tables on a device, in memory that earlier tables used.
//!
//! In: words. Out: a buffer that begins with them, of at least that length, returned for reuse when dropped. Everything
//! on a device happens in one order, so a table may be written over one that queued kernels still read.

use crate::device::{Buffer, Device};
use crate::error::DeviceError;
use crate::residency::Spare;
use std::ops::Deref;
use std::sync::Arc;

/// Minimum words of a new allocation, so that later tables can reuse it.
const LEAST_WORDS: usize = 1 << 13;

/// Memory for tables. Clones share it.
#[derive(Clone)]
pub(crate) struct Tables {
    device: Device,
    spare: Arc<Spare<Buffer<u64>>>,
}

/// A table.
pub(crate) struct Uploaded {
    /// Present until dropped.
    words: Option<Buffer<u64>>,
    spare: Arc<Spare<Buffer<u64>>>,
}

impl Tables {
    /// For a device.
    pub(crate) fn new(device: &Device) -> Tables {
        Tables { device: device.clone(), spare: Arc::default() }
    }

    /// The words on the device.
    ///
    /// # Errors
    /// Not enough memory.
    pub(crate) fn upload(&self, words: &[u64]) -> Result<Uploaded, DeviceError> {
        let mut table = match self.spare.take(words.len(), |table| table.len()) {
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
            self.spare.give_back([words]);
        }
    }
}
