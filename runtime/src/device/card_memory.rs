//! Memory of a card, and the host memory that it copies fastest; both are freed when they are dropped.

use super::capacity::host_memory;
use super::context::{Context, driver};
use super::staging::PART;
use crate::error::Result;
use crate::scalar::Pod;
use cudarc::driver::{result, sys};
use std::sync::Arc;

/// Owned device memory. Reads and writes are ordered with the kernels of the stream.
pub(super) struct DeviceMemory {
    address: u64,
    bytes: usize,
    /// Whether this value frees it.
    owned: bool,
    context: Arc<Context>,
}

impl DeviceMemory {
    /// Allocates; refused with the numbers if it does not fit. An empty request still gets an address.
    pub(super) fn allocate(context: &Arc<Context>, bytes: usize) -> Result<DeviceMemory> {
        if bytes > 1 << 20 {
            context.memory().check("an allocation", context.name(), bytes as u64)?;
        }
        context.enter()?;
        // SAFETY: the context is current; the memory is freed in `drop`.
        let address = unsafe { result::malloc_sync(bytes.max(16)) }.map_err(driver("cuMemAlloc"))?;
        Ok(DeviceMemory { address, bytes, owned: true, context: context.clone() })
    }

    /// A part of memory that its owner keeps alive and frees.
    pub(super) fn lent(context: &Arc<Context>, address: u64, bytes: usize) -> DeviceMemory {
        DeviceMemory { address, bytes, owned: false, context: context.clone() }
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All bytes zero.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the range is ours.
        unsafe { result::memset_d8_async(self.address, 0, self.bytes, self.context.stream) }
            .map_err(driver("cuMemsetD8Async"))
    }

    /// Copies from the host to the front of the memory; see [`write_parts`](DeviceMemory::write_parts).
    pub(super) fn write<U: Pod>(&mut self, values: &[U]) -> Result<()> {
        self.write_parts(&[(0, values)])
    }

    /// Copies the first `len` elements to the host.
    pub(super) fn read<U: Pod>(&self, len: usize) -> Result<Vec<U>> {
        assert!(len * size_of::<U>() <= self.bytes, "callers ask for what they allocated");
        let mut values = Vec::<U>::with_capacity(len);
        self.context.enter()?;
        let (to, bytes, stream) = (values.as_mut_ptr(), len * size_of::<U>(), self.context.stream);
        // SAFETY: the source range is ours; the destination has room for `len` elements of a type for which every bit
        // pattern is valid, and both ways wait for the copy before the length is set.
        unsafe {
            if bytes <= PART {
                self.context.staged(|staging| staging.fetch(self.address, to.cast(), bytes, stream))?;
            } else {
                sys::cuMemcpyDtoHAsync_v2(to.cast(), self.address, bytes, stream)
                    .result()
                    .map_err(driver("cuMemcpyDtoHAsync"))?;
                self.context.synchronize()?;
            }
            values.set_len(len);
        }
        Ok(values)
    }

    /// Copies parts from the host, each to the position of its first element. Short ones are queued, long ones waited
    /// for: later kernels see them either way.
    pub(super) fn write_parts<U: Pod>(&mut self, parts: &[(usize, &[U])]) -> Result<()> {
        self.context.enter()?;
        let mut waits = false;
        let mut queue = |first: usize, values: &[U]| {
            assert!(size_of::<U>() * (first + values.len()) <= self.bytes, "callers compare lengths first");
            let address = self.address + (first * size_of::<U>()) as u64;
            let (from, bytes, stream) = (values.as_ptr().cast(), size_of_val(values), self.context.stream);
            if bytes <= PART {
                // SAFETY: both ranges have `bytes` bytes, as just compared.
                return self.context.staged(|staging| unsafe { staging.send(from, bytes, address, stream) });
            }
            waits = true;
            // SAFETY: the range is ours, as just compared; `values` outlives the copy because we wait for all below.
            unsafe { result::memcpy_htod_async(address, values, stream) }.map_err(driver("cuMemcpyHtoDAsync"))
        };
        let kept = parts.iter().filter(|(_, values)| !values.is_empty());
        let queued = kept.into_iter().try_for_each(|(first, values)| queue(*first, values));
        let waited = if waits { self.context.synchronize() } else { Ok(()) };
        queued.and(waited)
    }

    /// Copies a part to the host.
    pub(super) fn read_part<U: Pod>(&self, first: usize, values: &mut [U]) -> Result<()> {
        assert!(size_of::<U>() * (first + values.len()) <= self.bytes, "callers compare lengths first");
        if values.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        let address = self.address + (first * size_of::<U>()) as u64;
        // SAFETY: the range is ours, as just compared; `values` outlives the copy because we wait for it.
        unsafe { result::memcpy_dtoh_async(values, address, self.context.stream) }
            .map_err(driver("cuMemcpyDtoHAsync"))?;
        self.context.synchronize()
    }

    /// Copies from memory of the same device and size.
    pub(super) fn copy_from(&mut self, other: &DeviceMemory) -> Result<()> {
        assert_eq!(self.bytes, other.bytes, "callers compare lengths first");
        self.copy_first(other, self.bytes)
    }

    /// Copies the first bytes from memory of the same device.
    pub(super) fn copy_first(&mut self, other: &DeviceMemory, bytes: usize) -> Result<()> {
        assert!(bytes <= self.bytes && bytes <= other.bytes, "callers compare lengths first");
        self.context.enter()?;
        // SAFETY: both ranges are at least `bytes` long and distinct, since one of them is borrowed mutably.
        unsafe { result::memcpy_dtod_async(self.address, other.address, bytes, self.context.stream) }
            .map_err(driver("cuMemcpyDtoDAsync"))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.owned && self.context.enter().is_ok() {
            // SAFETY: allocated in `allocate`; cuMemFree waits for kernels that still use it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Pinned host memory.
pub(super) struct PinnedMemory {
    pointer: *mut f64,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: host memory that this value alone owns; any thread may free it with the context current.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    pub(super) fn zeros(context: &Arc<Context>, len: usize) -> Result<PinnedMemory> {
        let bytes = len.max(1).saturating_mul(size_of::<f64>());
        host_memory().check("host memory for copies", "this machine", bytes as u64)?;
        context.enter()?;
        // SAFETY: the context is current; the memory is freed in `drop`.
        let pointer = unsafe { result::malloc_host(bytes, 0) }.map_err(driver("cuMemHostAlloc"))?.cast::<f64>();
        // SAFETY: `bytes` bytes were allocated just now, and zeros are numbers.
        unsafe { std::ptr::write_bytes(pointer.cast::<u8>(), 0, bytes) };
        Ok(PinnedMemory { pointer, len, context: context.clone() })
    }

    pub(super) fn values(&self) -> &[f64] {
        // SAFETY: `len` numbers were allocated and set; they live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }

    pub(super) fn values_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above; the borrow is exclusive, and every copy is waited for.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: allocated in `zeros`; no copy is under way, for each is waited for.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}
