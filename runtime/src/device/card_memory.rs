//! Memory of a card, and the host memory that it copies fastest; both are freed when they are dropped.

use super::capacity::host_memory;
use super::context::{Context, driver};
use super::staging::PART;
use super::striped::Striped;
use crate::error::Result;
use crate::scalar::Pod;
use cudarc::driver::{result, sys};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Owned device memory. Reads and writes are ordered with the kernels of the stream.
pub(super) struct DeviceMemory {
    address: u64,
    bytes: usize,
    kept: Kept,
    context: Arc<Context>,
}

/// Who keeps it, and where it is.
enum Kept {
    /// Its owner, elsewhere.
    Elsewhere,
    /// This value, on one card; of several that work as one device, on the first.
    Here(Box<Mutex<Copies>>),
    /// This value, spread over all cards of the device.
    Spread(Box<Striped>),
}

/// Memory on the first of several cards, as the others see it.
enum Copies {
    /// Kernels read it only: each other card has a copy, made when it is first asked for.
    Own(Vec<Option<DeviceMemory>>),
    /// Kernels write it: there is one memory for all.
    One,
}

impl DeviceMemory {
    /// Allocates; refused with the numbers if it does not fit. An empty request still gets an address.
    pub(super) fn allocate(context: &Arc<Context>, bytes: usize) -> Result<DeviceMemory> {
        if bytes > 1 << 20 {
            context.own_memory().check("an allocation", context.name(), bytes as u64)?;
        }
        context.enter()?;
        // SAFETY: the context is current; the memory is freed in `drop`.
        let address = unsafe { result::malloc_sync(bytes.max(16)) }.map_err(driver("cuMemAlloc"))?;
        let kept = Kept::Here(Box::new(Mutex::new(Copies::Own(Vec::new()))));
        Ok(DeviceMemory { address, bytes, kept, context: context.clone() })
    }

    /// The same for a vector, which several cards that work as one device share; a short one is the first card's.
    pub(super) fn spread(context: &Arc<Context>, bytes: usize) -> Result<DeviceMemory> {
        if context.cards() > 1 {
            context.memory().check("an allocation", context.name(), bytes as u64)?;
        }
        match Striped::new(context, bytes)? {
            None => DeviceMemory::allocate(context, bytes),
            Some(striped) => {
                let (address, context) = (striped.base(), context.clone());
                Ok(DeviceMemory { address, bytes, kept: Kept::Spread(Box::new(striped)), context })
            }
        }
    }

    /// A part of memory that its owner keeps alive and frees.
    pub(super) fn lent(context: &Arc<Context>, address: u64, bytes: usize) -> DeviceMemory {
        DeviceMemory { address, bytes, kept: Kept::Elsewhere, context: context.clone() }
    }

    /// Whether every card of the device has a part of it.
    pub(super) fn is_spread(&self) -> bool {
        matches!(self.kept, Kept::Spread(_))
    }

    /// Its address for kernels of card `card` of the device, which read it only: a copy there, unless it is spread or kernels
    /// write it.
    pub(super) fn address_on(&self, card: usize) -> Result<u64> {
        let (Kept::Here(copies), Some(team), 1..) = (&self.kept, self.context.team(), card) else {
            return Ok(self.address);
        };
        let mut copies = copies.lock().unwrap_or_else(PoisonError::into_inner);
        let Copies::Own(own) = &mut *copies else { return Ok(self.address) };
        own.resize_with(own.len().max(card), || None);
        if let Some(copy) = &own[card - 1] {
            return Ok(copy.address);
        }
        let copy = DeviceMemory::allocate(team.other(card), self.bytes)?;
        self.context.enter()?;
        // SAFETY: both ranges have as many bytes; the leader's stream, on which launches wait, has it done before the next one.
        unsafe { result::memcpy_dtod_async(copy.address, self.address, self.bytes, self.context.stream()) }
            .map_err(driver("cuMemcpyDtoDAsync"))?;
        Ok(own[card - 1].insert(copy).address)
    }

    /// Its one address, for kernels that write it: from here on no card reads a copy.
    pub(super) fn address_to_write(&self) -> u64 {
        if let Kept::Here(copies) = &self.kept
            && self.context.team().is_some()
        {
            *copies.lock().unwrap_or_else(PoisonError::into_inner) = Copies::One;
        }
        self.address
    }

    /// The host is about to write it: copies are no longer the same.
    fn forget_copies(&mut self) {
        if let Kept::Here(copies) = &mut self.kept
            && let Copies::Own(own) = copies.get_mut().unwrap_or_else(PoisonError::into_inner)
        {
            own.clear();
        }
    }

    /// The runs of bytes of a range that lie on one card each.
    pub(super) fn runs(&self, range: Range<usize>) -> Vec<Range<usize>> {
        match &self.kept {
            Kept::Spread(striped) => striped
                .parts()
                .map(|part| part.start.max(range.start)..part.end.min(range.end))
                .filter(|run| !run.is_empty())
                .collect(),
            Kept::Here(_) | Kept::Elsewhere => vec![range],
        }
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All bytes zero.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.forget_copies();
        let clear = |run: Range<usize>, stream| {
            // SAFETY: the range is ours.
            unsafe { result::memset_d8_async(self.address + run.start as u64, 0, run.len(), stream) }
                .map_err(driver("cuMemsetD8Async"))
        };
        match (&self.kept, self.context.team()) {
            (Kept::Spread(_), Some(team)) => {
                let runs = self.runs(0..self.bytes);
                let of = |card: usize| runs.get(card).cloned().unwrap_or(0..0);
                team.start(
                    &self.context,
                    |card, own| if of(card).is_empty() { Ok(()) } else { clear(of(card), own.stream()) },
                )
            }
            _ => {
                self.context.enter()?;
                clear(0..self.bytes, self.context.stream())
            }
        }
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
        let (to, bytes, stream) = (values.as_mut_ptr().cast::<u8>(), len * size_of::<U>(), self.context.stream());
        let runs = self.runs(0..bytes);
        // SAFETY: the source range is ours; the destination has room for `len` elements of a type for which every bit
        // pattern is valid, and both ways wait for the copy before the length is set.
        unsafe {
            if bytes <= PART && runs.len() == 1 {
                self.context.staged(|staging| staging.fetch(self.address, to, bytes, stream))?;
            } else {
                for run in runs {
                    let from = self.address + run.start as u64;
                    sys::cuMemcpyDtoHAsync_v2(to.add(run.start).cast(), from, run.len(), stream)
                        .result()
                        .map_err(driver("cuMemcpyDtoHAsync"))?;
                }
                self.context.synchronize()?;
            }
            values.set_len(len);
        }
        Ok(values)
    }

    /// Copies parts from the host, each to the position of its first element. Short ones are queued, long ones waited
    /// for: later kernels see them either way.
    pub(super) fn write_parts<U: Pod>(&mut self, parts: &[(usize, &[U])]) -> Result<()> {
        self.forget_copies();
        self.context.enter()?;
        let mut waits = false;
        let mut queue = |first: usize, values: &[U]| {
            assert!(size_of::<U>() * (first + values.len()) <= self.bytes, "callers compare lengths first");
            let start = first * size_of::<U>();
            let (from, bytes, stream) = (values.as_ptr().cast::<u8>(), size_of_val(values), self.context.stream());
            let runs = self.runs(start..start + bytes);
            if bytes <= PART && runs.len() == 1 {
                let address = self.address + start as u64;
                // SAFETY: both ranges have `bytes` bytes, as just compared.
                return self.context.staged(|staging| unsafe { staging.send(from, bytes, address, stream) });
            }
            waits = true;
            runs.into_iter().try_for_each(|run| {
                let to = self.address + run.start as u64;
                // SAFETY: the range is ours, as just compared; `values` outlives the copy because we wait for all below.
                unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.add(run.start - start).cast(), run.len(), stream) }
                    .result()
                    .map_err(driver("cuMemcpyHtoDAsync"))
            })
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
        let (start, to) = (first * size_of::<U>(), values.as_mut_ptr().cast::<u8>());
        for run in self.runs(start..start + size_of_val(values)) {
            let from = self.address + run.start as u64;
            // SAFETY: the range is ours, as just compared; `values` outlives the copy because we wait for it.
            unsafe {
                sys::cuMemcpyDtoHAsync_v2(to.add(run.start - start).cast(), from, run.len(), self.context.stream())
            }
            .result()
            .map_err(driver("cuMemcpyDtoHAsync"))?;
        }
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
        self.forget_copies();
        let copy = |run: Range<usize>, stream| {
            let [to, from] = [self.address, other.address].map(|address| address + run.start as u64);
            // SAFETY: both ranges are at least `bytes` long and distinct, since one of them is borrowed mutably.
            unsafe { result::memcpy_dtod_async(to, from, run.len(), stream) }.map_err(driver("cuMemcpyDtoDAsync"))
        };
        // Vectors of one length are spread alike: each card copies its own part.
        match (&self.kept, &other.kept, self.context.team()) {
            (Kept::Spread(own), Kept::Spread(of), Some(team)) if own.parts().eq(of.parts()) => {
                let runs: Vec<Range<usize>> =
                    own.parts().map(|part| part.start.min(bytes)..part.end.min(bytes)).collect();
                team.start(&self.context, |card, own| match runs[card].is_empty() {
                    true => Ok(()),
                    false => copy(runs[card].clone(), own.stream()),
                })
            }
            _ => {
                self.context.enter()?;
                let pieces = self.runs(0..bytes).into_iter().flat_map(|run| other.runs(run));
                pieces.into_iter().try_for_each(|run| copy(run, self.context.stream()))
            }
        }
    }
}

impl DeviceMemory {
    /// Copies bytes from other memory of the same card; neither is spread.
    pub(super) fn copy_part(&mut self, to: usize, other: &DeviceMemory, from: usize, bytes: usize) -> Result<()> {
        assert!(to + bytes <= self.bytes && from + bytes <= other.bytes, "callers compare lengths first");
        assert!(!self.is_spread() && !other.is_spread(), "one card has both");
        self.forget_copies();
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        let [to, from] = [self.address + to as u64, other.address + from as u64];
        // SAFETY: both ranges are ours, as just compared, and distinct, since one of them is borrowed mutably.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.context.stream()) }
            .map_err(driver("cuMemcpyDtoDAsync"))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if matches!(self.kept, Kept::Here(_)) && self.context.enter().is_ok() {
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
