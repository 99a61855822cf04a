//! Tables in device memory, free memory, and the trait through which kernels see memory.

use super::{Device, cuda::DeviceMemory};
use crate::error::{DeviceError, Result};
use crate::scalar::Pod;
use eigenforge_templates::launch::Element;
use std::marker::PhantomData;

/// Free and total bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes available now.
    pub free: u64,
    /// Total bytes.
    pub total: u64,
}

/// A [`super::Vector`] or a [`Buffer`]: memory whose address a kernel may get.
pub trait OnDevice: Contents {
    /// Where it lives.
    fn device(&self) -> &Device;
    /// Type of its elements; `None` for one that no kernel takes.
    fn element(&self) -> Option<Element>;
    /// Number of elements.
    fn elements(&self) -> usize;
}

/// The memory behind an [`OnDevice`]. Only types of this crate implement it: a launch trusts their addresses.
pub trait Contents {
    /// Address on the CUDA device; `None` for host memory.
    fn address(&self) -> Option<u64>;
    /// Appends the bytes of the first `elements` elements of a simulated device's memory; does nothing for other memory.
    fn append_to(&self, elements: usize, bytes: &mut Vec<u8>);
    /// Overwrites the first elements of a simulated device's memory; does nothing for other memory.
    fn copy_from_bytes(&mut self, bytes: &[u8]);
}

/// Elements in the memory of some device.
pub(super) enum Storage<U: Pod> {
    /// Host memory of the CPU device.
    Host(Vec<U>),
    /// Host memory for simulated kernels; nothing else computes on it.
    Sim(Vec<U>),
    /// Memory of a CUDA device.
    Cuda(DeviceMemory, PhantomData<U>),
}

impl<U: Pod> Contents for Storage<U> {
    fn address(&self) -> Option<u64> {
        match self {
            Storage::Host(_) | Storage::Sim(_) => None,
            Storage::Cuda(memory, _) => Some(memory.address()),
        }
    }
    fn append_to(&self, elements: usize, bytes: &mut Vec<u8>) {
        if let Storage::Sim(values) = self {
            U::append_bytes(&values[..elements.min(values.len())], bytes);
        }
    }
    fn copy_from_bytes(&mut self, bytes: &[u8]) {
        if let Storage::Sim(values) = self {
            U::copy_bytes(bytes, values);
        }
    }
}

impl<U: Pod> Storage<U> {
    pub(super) fn as_host(&self) -> Option<&[U]> {
        match self {
            Storage::Host(values) => Some(values),
            Storage::Sim(_) | Storage::Cuda(..) => None,
        }
    }

    /// A copy of the first `len` elements on the host.
    pub(super) fn download(&self, len: usize) -> Result<Vec<U>> {
        match self {
            Storage::Host(values) | Storage::Sim(values) => Ok(values[..len].to_vec()),
            Storage::Cuda(memory, _) => memory.read(len),
        }
    }

    /// Overwrites the first elements; the caller has checked the lengths.
    pub(super) fn write(&mut self, values: &[U]) -> Result<()> {
        match self {
            Storage::Host(own) | Storage::Sim(own) => own[..values.len()].copy_from_slice(values),
            Storage::Cuda(memory, _) => memory.write(values)?,
        }
        Ok(())
    }
}

impl<U: Pod> Storage<U> {
    /// Overwrites a part; the caller has checked the range.
    pub(super) fn write_part(&mut self, first: usize, values: &[U]) -> Result<()> {
        self.write_parts(&[(first, values)])
    }

    /// Overwrites parts; the caller has checked the ranges.
    pub(super) fn write_parts(&mut self, parts: &[(usize, &[U])]) -> Result<()> {
        match self {
            Storage::Host(own) | Storage::Sim(own) => {
                parts.iter().for_each(|(first, values)| own[*first..][..values.len()].copy_from_slice(values));
            }
            Storage::Cuda(memory, _) => memory.write_parts(parts)?,
        }
        Ok(())
    }

    /// Copies a part; the caller has checked the range.
    pub(super) fn read_part(&self, first: usize, values: &mut [U]) -> Result<()> {
        match self {
            Storage::Host(own) | Storage::Sim(own) => values.copy_from_slice(&own[first..][..values.len()]),
            Storage::Cuda(memory, _) => memory.read_part(first, values)?,
        }
        Ok(())
    }
}

/// A table for kernels. On the CPU it is a plain copy.
pub struct Buffer<U: Pod> {
    storage: Storage<U>,
    device: Device,
    len: usize,
}

impl<U: Pod> Buffer<U> {
    pub(crate) fn new(device: &Device, values: &[U]) -> Result<Buffer<U>> {
        let storage = match device {
            Device::Cpu(_) => Storage::Host(values.to_vec()),
            Device::Sim(_) => Storage::Sim(values.to_vec()),
            Device::Cuda(cuda) => {
                let mut memory = DeviceMemory::allocate(cuda, std::mem::size_of_val(values))?;
                memory.write(values)?;
                Storage::Cuda(memory, PhantomData)
            }
        };
        Ok(Buffer { storage, device: device.clone(), len: values.len() })
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
        self.storage.as_host()
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
        self.storage.write(values)
    }

    /// Overwrites the first elements; the others stay.
    ///
    /// # Errors
    /// More values than elements; the device fails.
    pub fn write_first(&mut self, values: &[U]) -> Result<()> {
        if values.len() > self.len {
            return Err(DeviceError::Arguments {
                what: "the first elements of a buffer".into(),
                expected: format!("at most {}", self.len),
                found: values.len().to_string(),
            });
        }
        self.storage.write(values)
    }

    /// A copy on the host.
    pub fn download(&self) -> Result<Vec<U>> {
        self.storage.download(self.len)
    }
}

impl<U: Pod> Contents for Buffer<U> {
    fn address(&self) -> Option<u64> {
        self.storage.address()
    }
    fn append_to(&self, elements: usize, bytes: &mut Vec<u8>) {
        self.storage.append_to(elements, bytes);
    }
    fn copy_from_bytes(&mut self, bytes: &[u8]) {
        self.storage.copy_from_bytes(bytes);
    }
}

impl<U: Pod> OnDevice for Buffer<U> {
    fn device(&self) -> &Device {
        &self.device
    }
    fn element(&self) -> Option<Element> {
        U::ELEMENT
    }
    fn elements(&self) -> usize {
        self.len
    }
}

/// What `ulimit -v` leaves of the address space; `None` without a limit.
fn address_space_left(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let limits = read("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let pages = read("/proc/self/statm")?.split_whitespace().next()?.parse::<u64>().ok()?;
    // 4 KiB is the page size except on a few AArch64 kernels, where this overestimates the free memory.
    Some(limit.saturating_sub(4096 * pages))
}

/// The memory that the operating system reports as available, or the control group's limit if that is lower.
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
    if let Some(left) = address_space_left(read) {
        free = free.min(left);
    }
    Memory { free, total }
}
