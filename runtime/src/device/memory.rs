//! Tables in device memory, what is free, and the one trait by which kernels see memory.

use super::{Device, cuda::DeviceMemory};
use crate::error::{DeviceError, Result};
use crate::scalar::Pod;
use std::marker::PhantomData;

/// Bytes free and in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes that can be had now.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
}

/// Something with an address on a CUDA device: a [`super::Vector`] or a [`Buffer`].
pub trait OnDevice {
    /// Address and device; `None` for host memory.
    fn address(&self) -> Option<(u64, &Device)>;
    /// Size of one element in bytes.
    fn element_bytes(&self) -> usize;
}

/// A table for kernels. On the CPU it is a plain copy.
pub struct Buffer<U: Pod> {
    storage: Storage<U>,
    len: usize,
}

enum Storage<U> {
    Host(Vec<U>),
    Cuda(DeviceMemory, PhantomData<U>),
}

impl<U: Pod> Buffer<U> {
    pub(crate) fn new(device: &Device, values: &[U]) -> Result<Buffer<U>> {
        let storage = match device {
            Device::Cpu(_) => Storage::Host(values.to_vec()),
            Device::Cuda(cuda) => {
                let mut memory = DeviceMemory::allocate(cuda, std::mem::size_of_val(values))?;
                memory.write(values)?;
                Storage::Cuda(memory, PhantomData)
            }
        };
        Ok(Buffer { storage, len: values.len() })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, when the buffer is on the CPU.
    pub fn as_host(&self) -> Option<&[U]> {
        match &self.storage {
            Storage::Host(values) => Some(values),
            Storage::Cuda(..) => None,
        }
    }

    /// Overwrites all elements.
    pub fn write(&mut self, values: &[U]) -> Result<()> {
        if values.len() != self.len {
            return Err(DeviceError::Arguments {
                what: "writing a buffer".into(),
                expected: format!("{} elements", self.len),
                found: values.len().to_string(),
            });
        }
        match &mut self.storage {
            Storage::Host(own) => own.copy_from_slice(values),
            Storage::Cuda(memory, _) => memory.write(values)?,
        }
        Ok(())
    }

    /// A copy on the host.
    pub fn download(&self) -> Result<Vec<U>> {
        match &self.storage {
            Storage::Host(values) => Ok(values.clone()),
            Storage::Cuda(memory, _) => memory.read(self.len),
        }
    }
}

impl<U: Pod> OnDevice for Buffer<U> {
    fn address(&self) -> Option<(u64, &Device)> {
        match &self.storage {
            Storage::Host(_) => None,
            Storage::Cuda(memory, _) => Some((memory.address(), memory.device())),
        }
    }
    fn element_bytes(&self) -> usize {
        size_of::<U>()
    }
}

/// What the kernel says is available, or the control group's limit if that is lower.
pub(super) fn host_memory() -> Memory {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let field = |text: &str, name: &str| -> Option<u64> {
        let line = text.lines().find(|l| l.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    };
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let mut total = field(&meminfo, "MemTotal:").unwrap_or(u64::MAX);
    let mut free = field(&meminfo, "MemAvailable:").unwrap_or(total);
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    if let (Some(limit), Some(used)) = (number("/sys/fs/cgroup/memory.max"), number("/sys/fs/cgroup/memory.current")) {
        let cached = read("/sys/fs/cgroup/memory.stat")
            .and_then(|t| t.lines().find_map(|l| l.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok()))
            .unwrap_or(0);
        total = total.min(limit);
        free = free.min(limit.saturating_sub(used.saturating_sub(cached)));
    }
    Memory { free, total }
}
