//! A vector of a solver, in host or device memory. Host memory is first touched by the program that first writes it.

use super::{Device, OnDevice, cuda::DeviceMemory};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use rayon::prelude::*;
use std::marker::PhantomData;

/// Elements a thread copies at a time.
const COPY: usize = 1 << 16;

/// `len` numbers on a device. CUDA memory is aligned to 256 bytes.
pub struct Vector<T: Scalar> {
    storage: Storage<T>,
    device: Device,
    len: usize,
}

enum Storage<T> {
    Host(Vec<T>),
    Cuda(DeviceMemory, PhantomData<T>),
}

impl<T: Scalar> Vector<T> {
    pub(crate) fn zeros(device: &Device, len: usize) -> Result<Vector<T>> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let storage = match device {
            Device::Cpu(_) => {
                if bytes > 1 << 24 {
                    device.check_memory(&format!("a vector of {len} elements"), bytes)?;
                }
                // Zeroed by the system page by page at first touch, not here by one thread.
                Storage::Host(vec![T::default(); len])
            }
            Device::Cuda(cuda) => {
                let mut memory = DeviceMemory::allocate(cuda, bytes as usize)?;
                memory.clear()?;
                Storage::Cuda(memory, PhantomData)
            }
        };
        Ok(Vector { storage, device: device.clone(), len })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where it lives.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The elements, when it lives on the CPU.
    pub fn as_host(&self) -> Option<&[T]> {
        match &self.storage {
            Storage::Host(values) => Some(values),
            Storage::Cuda(..) => None,
        }
    }

    /// The elements, when it lives on the CPU.
    pub fn as_host_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.storage {
            Storage::Host(values) => Some(values),
            Storage::Cuda(..) => None,
        }
    }

    /// A copy on the host.
    pub fn download(&self) -> Result<Vec<T>> {
        match &self.storage {
            Storage::Host(values) => Ok(values.clone()),
            Storage::Cuda(memory, _) => memory.read(self.len),
        }
    }

    /// Overwrites all elements from the host.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        match &mut self.storage {
            Storage::Host(own) => own.copy_from_slice(values),
            Storage::Cuda(memory, _) => memory.write(values)?,
        }
        Ok(())
    }

    /// Overwrites all elements from a vector of the same device.
    pub fn copy_from(&mut self, other: &Vector<T>) -> Result<()> {
        self.check_len(other.len)?;
        match (&mut self.storage, &other.storage) {
            (Storage::Host(own), Storage::Host(values)) => {
                let pairs = own.par_chunks_mut(COPY).zip(values.par_chunks(COPY));
                pairs.for_each(|(own, values)| own.copy_from_slice(values));
            }
            (Storage::Cuda(own, _), Storage::Cuda(values, _)) if self.device.same(&other.device) => {
                own.copy_from(values)?
            }
            _ => {
                return Err(DeviceError::WrongDevice {
                    what: "the source of a copy".into(),
                    expected: self.device.name(),
                    found: other.device.name(),
                });
            }
        }
        Ok(())
    }

    /// A new vector with the same elements.
    pub fn duplicate(&self) -> Result<Vector<T>> {
        let mut copy = Vector::zeros(&self.device, self.len)?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    fn check_len(&self, found: usize) -> Result<()> {
        if found == self.len {
            return Ok(());
        }
        Err(DeviceError::Arguments {
            what: "writing a vector".into(),
            expected: format!("{} elements", self.len),
            found: found.to_string(),
        })
    }
}

impl<T: Scalar> OnDevice for Vector<T> {
    fn address(&self) -> Option<(u64, &Device)> {
        match &self.storage {
            Storage::Host(_) => None,
            Storage::Cuda(memory, _) => Some((memory.address(), &self.device)),
        }
    }
    fn element_bytes(&self) -> usize {
        size_of::<T>()
    }
}

impl<T: Scalar> std::fmt::Debug for Vector<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({} {} on {})", self.len, T::TYPE.cuda(), self.device.name())
    }
}
