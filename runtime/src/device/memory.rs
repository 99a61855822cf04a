//! Tables in device memory, and the trait through which kernels see memory.

use super::card_memory::DeviceMemory;
use super::place::MemoryPlace;
use crate::error::{DeviceError, Result};
use crate::scalar::Pod;
use eigenforge_templates::launch::Element;
use std::marker::PhantomData;

/// A [`super::Vector`] or a [`Buffer`]: memory whose address a kernel may get.
pub trait OnDevice: Contents {
    /// Type of its elements; `None` for one that no kernel takes.
    fn element(&self) -> Option<Element>;
    /// Number of elements.
    fn elements(&self) -> usize;
}

/// The memory behind an [`OnDevice`]. Only types of this crate implement it: a launch trusts their addresses.
pub trait Contents {
    /// Where it lives.
    fn place(&self) -> MemoryPlace;
    /// Address on the CUDA device; `None` for host memory.
    fn address(&self) -> Option<u64>;
    /// Whether every card of the device has a part of it.
    fn is_spread(&self) -> bool;
    /// Its address for a kernel of that card which reads it; 0 for host memory.
    fn address_on(&self, card: usize) -> Result<u64>;
    /// Its address for kernels that write it; 0 for host memory.
    fn address_to_write(&self) -> u64;
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

impl<U: Pod> Storage<U> {
    /// Address on the CUDA device; `None` for host memory.
    pub(super) fn address(&self) -> Option<u64> {
        match self {
            Storage::Host(_) | Storage::Sim(_) => None,
            Storage::Cuda(memory, _) => Some(memory.address()),
        }
    }

    pub(super) fn is_spread(&self) -> bool {
        matches!(self, Storage::Cuda(memory, _) if memory.is_spread())
    }

    pub(super) fn address_on(&self, card: usize) -> Result<u64> {
        match self {
            Storage::Host(_) | Storage::Sim(_) => Ok(0),
            Storage::Cuda(memory, _) => memory.address_on(card),
        }
    }

    pub(super) fn address_to_write(&self) -> u64 {
        match self {
            Storage::Host(_) | Storage::Sim(_) => 0,
            Storage::Cuda(memory, _) => memory.address_to_write(),
        }
    }

    pub(super) fn append_to(&self, elements: usize, bytes: &mut Vec<u8>) {
        if let Storage::Sim(values) = self {
            U::append_bytes(&values[..elements.min(values.len())], bytes);
        }
    }

    pub(super) fn copy_from_bytes(&mut self, bytes: &[u8]) {
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
    place: MemoryPlace,
    len: usize,
    /// Whether simulated cards have a part of it each: their memory is one.
    parts: bool,
}

impl<U: Pod> Buffer<U> {
    pub(super) fn new(place: MemoryPlace, values: &[U]) -> Result<Buffer<U>> {
        let storage = match &place {
            MemoryPlace::Host => Storage::Host(values.to_vec()),
            MemoryPlace::Simulated(_) => Storage::Sim(values.to_vec()),
            MemoryPlace::Card(context) => {
                let mut memory = DeviceMemory::allocate(context, std::mem::size_of_val(values))?;
                memory.write(values)?;
                Storage::Cuda(memory, PhantomData)
            }
        };
        Ok(Buffer { storage, place, len: values.len(), parts: false })
    }

    /// Memory that a kernel writes before anything reads it; host memory holds zeros.
    pub(super) fn empty(place: MemoryPlace, len: usize) -> Result<Buffer<U>>
    where
        U: Default,
    {
        let storage = match &place {
            MemoryPlace::Host => Storage::Host(vec![U::default(); len]),
            MemoryPlace::Simulated(_) => Storage::Sim(vec![U::default(); len]),
            MemoryPlace::Card(context) => {
                Storage::Cuda(DeviceMemory::allocate(context, len * size_of::<U>())?, PhantomData)
            }
        };
        Ok(Buffer { storage, place, len, parts: false })
    }

    /// Zeros, a part of them on each of the cards that work as one device, where that is a page each.
    pub(super) fn spread(place: MemoryPlace, cards: u32, len: usize) -> Result<Buffer<U>>
    where
        U: Default,
    {
        let MemoryPlace::Card(context) = &place else {
            let parts = matches!(place, MemoryPlace::Simulated(_)) && cards > 1 && len >= cards as usize;
            return Ok(Buffer { parts, ..Buffer::empty(place, len)? });
        };
        let mut memory = DeviceMemory::spread(context, len * size_of::<U>())?;
        memory.clear()?;
        Ok(Buffer { storage: Storage::Cuda(memory, PhantomData), place, len, parts: false })
    }

    /// The same elements for kernels that read them only: each of the cards that work as one device has all of them, by a copy that is made
    /// when a kernel of it first runs.
    ///
    /// # Errors
    /// No memory on the first card for a copy of what was spread.
    pub fn on_every_card(self) -> Result<Buffer<U>> {
        let Buffer { storage, place, len, .. } = self;
        let storage = match (storage, &place) {
            (Storage::Cuda(memory, _), MemoryPlace::Card(context)) if context.cards() > 1 => {
                let mut whole = DeviceMemory::allocate(context, memory.bytes())?;
                whole.copy_from(&memory)?;
                Storage::Cuda(whole, PhantomData)
            }
            (storage, _) => storage,
        };
        Ok(Buffer { storage, place, len, parts: false })
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
    fn place(&self) -> MemoryPlace {
        self.place.clone()
    }
    fn address(&self) -> Option<u64> {
        self.storage.address()
    }
    fn is_spread(&self) -> bool {
        self.parts || self.storage.is_spread()
    }
    fn address_on(&self, card: usize) -> Result<u64> {
        self.storage.address_on(card)
    }
    fn address_to_write(&self) -> u64 {
        self.storage.address_to_write()
    }
    fn append_to(&self, elements: usize, bytes: &mut Vec<u8>) {
        self.storage.append_to(elements, bytes);
    }
    fn copy_from_bytes(&mut self, bytes: &[u8]) {
        self.storage.copy_from_bytes(bytes);
    }
}

impl<U: Pod> OnDevice for Buffer<U> {
    fn element(&self) -> Option<Element> {
        U::ELEMENT
    }
    fn elements(&self) -> usize {
        self.len
    }
}
