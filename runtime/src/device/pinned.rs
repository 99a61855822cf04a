//! Pinned host memory, which a card copies at the full speed of the bus.
//!
//! On the CPU and in simulation it is ordinary memory. Allocating it pins its pages, which takes some tenths of a second
//! per gigabyte: allocate once.

use super::Device;
use super::card_memory::PinnedMemory;
use crate::error::Result;
use std::ops::{Deref, DerefMut};

/// `len` numbers, zero at first.
pub struct Pinned {
    memory: Storage,
}

enum Storage {
    Ordinary(Vec<f64>),
    Fixed(PinnedMemory),
}

impl Pinned {
    pub(super) fn zeros(device: &Device, len: usize) -> Result<Pinned> {
        let memory = match device {
            Device::Cpu(_) | Device::Sim(_) => Storage::Ordinary(vec![0.0; len]),
            Device::Cuda(cuda) => Storage::Fixed(PinnedMemory::zeros(cuda.context(), len)?),
        };
        Ok(Pinned { memory })
    }
}

impl Deref for Pinned {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        match &self.memory {
            Storage::Ordinary(values) => values,
            Storage::Fixed(memory) => memory.values(),
        }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [f64] {
        match &mut self.memory {
            Storage::Ordinary(values) => values,
            Storage::Fixed(memory) => memory.values_mut(),
        }
    }
}
