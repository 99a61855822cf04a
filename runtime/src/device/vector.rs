//! A vector of a solver, in host or device memory. Host memory is first touched by the program that first writes it.
//!
//! On a device that is one of several [ranks](crate::ranks) it holds this rank's share of the elements; its length and all places
//! are those of the whole vector, and what copies elements to the host is a step of all ranks.

use super::arena::Piece;
use super::card_memory::DeviceMemory;
use super::memory::{Contents, OnDevice, Storage};
use super::place::MemoryPlace;
use super::shared::common;
use super::{Cuda, Device};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use eigenforge_templates::launch::Element;
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;

/// Elements that a thread copies at a time.
const COPY: usize = 1 << 16;

/// `len` numbers on a device. CUDA memory is aligned to 256 bytes.
pub struct Vector<T: Scalar> {
    storage: Storage<T>,
    device: Device,
    len: usize,
    /// The elements that are here: all, or a rank's share.
    here: Range<usize>,
    /// The part of an arena that it occupies.
    _piece: Option<Piece>,
}

impl Vector<f64> {
    /// A part of an arena: at an address in it, or with memory of its own.
    pub(super) fn of_arena(device: &Device, len: usize, address: Option<u64>, piece: Piece) -> Result<Vector<f64>> {
        if device.ranks().is_some() {
            let instead = "its vectors are not cut into shares".into();
            return Err(DeviceError::NotOverRanks { what: "an arena".into(), instead });
        }
        let storage = match (device, address) {
            (Device::Cuda(cuda), Some(address)) => {
                Storage::Cuda(DeviceMemory::lent(cuda.context(), address, 8 * len), PhantomData)
            }
            (Device::Cuda(cuda), None) => Storage::Cuda(DeviceMemory::allocate(cuda.context(), 8 * len)?, PhantomData),
            (Device::Cpu(_), _) => Storage::Host(vec![f64::NAN; len]),
            (Device::Sim(_), _) => Storage::Sim(vec![f64::NAN; len]),
        };
        Ok(Vector { storage, device: device.clone(), len, here: 0..len, _piece: Some(piece) })
    }
}

impl<T: Scalar> Vector<T> {
    /// Memory of a card that its owner keeps alive and frees.
    pub(super) fn lent(device: &Device, cuda: &Cuda, address: u64, len: usize) -> Vector<T> {
        let memory = DeviceMemory::lent(cuda.context(), address, len * size_of::<T>());
        Vector { storage: Storage::Cuda(memory, PhantomData), device: device.clone(), len, here: 0..len, _piece: None }
    }

    pub(crate) fn zeros(device: &Device, len: usize) -> Result<Vector<T>> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let here = device.part().map_or(0..len, |part| part.local_range(len));
        let storage = match device {
            Device::Cpu(_) | Device::Sim(_) => {
                if bytes > 1 << 24 {
                    device.check_memory(&format!("a vector of {len} elements"), bytes)?;
                }
                // The system zeroes pages at first touch; zeroing here would use one thread.
                let zeros = vec![T::default(); here.len()];
                if device.runs_kernels() { Storage::Sim(zeros) } else { Storage::Host(zeros) }
            }
            Device::Cuda(cuda) => {
                let mut memory = DeviceMemory::spread(cuda.context(), here.len() * size_of::<T>())?;
                memory.clear()?;
                Storage::Cuda(memory, PhantomData)
            }
        };
        Ok(Vector { storage, device: device.clone(), len, here, _piece: None })
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

    /// Its address in the memory of a CUDA device; identifies the vector.
    pub fn address(&self) -> Option<u64> {
        self.storage.address()
    }

    /// The runs of its bytes that lie on one card each; one where it is not spread over several.
    pub(super) fn runs(&self) -> Vec<std::ops::Range<usize>> {
        match &self.storage {
            Storage::Cuda(memory, _) => memory.runs(0..self.here.len() * size_of::<T>()),
            Storage::Host(_) | Storage::Sim(_) => Vec::new(),
        }
    }

    /// All elements, when it lives on the CPU; not if it is a rank's share.
    pub fn as_host(&self) -> Option<&[T]> {
        self.local().filter(|_| self.device.ranks().is_none())
    }

    /// All elements, when it lives on the CPU; not if it is a rank's share.
    pub fn as_host_mut(&mut self) -> Option<&mut [T]> {
        if self.device.ranks().is_some() { None } else { self.local_mut() }
    }

    /// The places of the elements that are here: all, but for a rank's share.
    pub fn here(&self) -> Range<usize> {
        self.here.clone()
    }

    /// The places of the elements of each rank, in rank order; without ranks one range.
    pub fn shares(&self) -> Vec<Range<usize>> {
        let bounds = self.device.part().map_or_else(|| vec![0, self.len], |part| part.bounds(self.len));
        bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The elements that are here, when it lives on the CPU.
    pub fn local(&self) -> Option<&[T]> {
        self.storage.as_host()
    }

    /// The elements that are here, when it lives on the CPU.
    pub fn local_mut(&mut self) -> Option<&mut [T]> {
        match &mut self.storage {
            Storage::Host(values) => Some(values),
            Storage::Sim(_) | Storage::Cuda(..) => None,
        }
    }

    /// The elements of x and y, for a product on the CPU; `what` names it if they live elsewhere.
    ///
    /// # Errors
    /// A vector is on another device.
    pub fn both_on_host<'v>(what: &str, x: &'v Vector<T>, y: &'v mut Vector<T>) -> Result<(&'v [T], &'v mut [T])> {
        x.as_host().zip(y.as_host_mut()).ok_or_else(|| DeviceError::WrongDevice {
            what: what.into(),
            expected: "vectors on the CPU".into(),
            found: "device memory".into(),
        })
    }

    /// A copy on the host.
    pub fn download(&self) -> Result<Vec<T>> {
        self.download_first(self.len)
    }

    /// Overwrites all elements from the host.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.check_len(values.len())?;
        self.storage.write(&values[self.here.clone()])
    }

    /// Overwrites the elements from `first` on from the host.
    pub fn write_part(&mut self, first: usize, values: &[T]) -> Result<()> {
        self.write_parts(&[(first, values)])
    }

    /// Overwrites several parts from the host, each from its first element on.
    ///
    /// # Errors
    /// A part beyond the vector; the device fails.
    pub fn write_parts(&mut self, parts: &[(usize, &[T])]) -> Result<()> {
        parts.iter().try_for_each(|(first, values)| self.check_part(*first, values.len()))?;
        if self.device.ranks().is_none() {
            return self.storage.write_parts(parts);
        }
        let of_share = |(first, values): &(usize, &[T])| {
            let common = common(&self.here, &(*first..first + values.len()));
            if common.is_empty() {
                return Ok(());
            }
            self.storage.write_part(common.start - self.here.start, &values[common.start - first..common.end - first])
        };
        parts.iter().try_for_each(of_share)
    }

    /// Copies the elements from `first` on to the host.
    pub fn read_part(&self, first: usize, values: &mut [T]) -> Result<()> {
        self.check_part(first, values.len())?;
        match self.device.part() {
            Some(part) => self.read_shares(part, first, values),
            None => self.storage.read_part(first, values),
        }
    }

    /// A copy of the first `count` elements on the host.
    ///
    /// # Errors
    /// Too many elements; the device fails.
    pub fn download_first(&self, count: usize) -> Result<Vec<T>> {
        self.check_room(count)?;
        if self.device.ranks().is_none() {
            return self.storage.download(count);
        }
        let mut values = vec![T::default(); count];
        self.read_part(0, &mut values)?;
        Ok(values)
    }

    /// Overwrites the first elements from the host; the others stay.
    ///
    /// # Errors
    /// More values than elements; the device fails.
    pub fn write_first(&mut self, values: &[T]) -> Result<()> {
        self.write_parts(&[(0, values)])
    }

    fn check_room(&self, found: usize) -> Result<()> {
        if found <= self.len {
            return Ok(());
        }
        Err(DeviceError::Arguments {
            what: "the first elements of a vector".into(),
            expected: format!("at most {}", self.len),
            found: found.to_string(),
        })
    }

    /// Copies the elements that are here to the host: all, or a rank's share. No step of the ranks.
    ///
    /// # Errors
    /// Another number of elements; the device fails.
    pub fn read_here(&self, values: &mut [T]) -> Result<()> {
        self.check_here(values.len())?;
        self.storage.read_part(0, values)
    }

    /// Overwrites elements that are here from the host, from place `first` on.
    ///
    /// # Errors
    /// Places that are not here; the device fails.
    pub fn write_here_part(&mut self, first: usize, values: &[T]) -> Result<()> {
        let wanted = first..first + values.len();
        if common(&self.here, &wanted) != wanted {
            let (expected, found) = (format!("places of {:?}", self.here), format!("{wanted:?}"));
            return Err(DeviceError::Arguments { what: "copying a part of a rank's share".into(), expected, found });
        }
        self.storage.write_part(first - self.here.start, values)
    }

    /// Overwrites the elements that are here from the host.
    ///
    /// # Errors
    /// As of [`Vector::read_here`].
    pub fn write_here(&mut self, values: &[T]) -> Result<()> {
        self.check_here(values.len())?;
        self.storage.write(values)
    }

    /// Copies some of them, counted from the first that is here; the caller has checked the range.
    pub(super) fn read_share(&self, first: usize, values: &mut [T]) -> Result<()> {
        self.storage.read_part(first, values)
    }

    fn check_here(&self, found: usize) -> Result<()> {
        if found == self.here.len() {
            return Ok(());
        }
        let (expected, found) = (format!("{} elements", self.here.len()), found.to_string());
        Err(DeviceError::Arguments { what: "copying a rank's share of a vector".into(), expected, found })
    }

    /// Overwrites all elements from a vector of the same device.
    pub fn copy_from(&mut self, other: &Vector<T>) -> Result<()> {
        self.check_len(other.len)?;
        self.check_share(other)?;
        match (&mut self.storage, &other.storage) {
            (Storage::Host(own), Storage::Host(values)) => {
                let pairs = own.par_chunks_mut(COPY).zip(values.par_chunks(COPY));
                pairs.for_each(|(own, values)| own.copy_from_slice(values));
            }
            (Storage::Sim(own), Storage::Sim(values)) if self.device.is_same(&other.device) => {
                own.copy_from_slice(values)
            }
            (Storage::Cuda(own, _), Storage::Cuda(values, _)) if self.device.is_same(&other.device) => {
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

    /// Overwrites the first `count` elements from those of a vector of the same device; the others stay.
    ///
    /// # Errors
    /// A vector that is too short, or of another device.
    pub fn copy_first(&mut self, other: &Vector<T>, count: usize) -> Result<()> {
        self.check_room(count)?;
        other.check_room(count)?;
        self.check_share(other)?;
        if !self.device.is_same(&other.device) {
            let (expected, found) = (self.device.name(), other.device.name());
            return Err(DeviceError::WrongDevice { what: "the source of a copy".into(), expected, found });
        }
        let count = common(&self.here, &(0..count)).len();
        match (&mut self.storage, &other.storage) {
            (Storage::Host(own) | Storage::Sim(own), Storage::Host(values) | Storage::Sim(values)) => {
                own[..count].copy_from_slice(&values[..count]);
            }
            (Storage::Cuda(own, _), Storage::Cuda(values, _)) => own.copy_first(values, count * size_of::<T>())?,
            _ => unreachable!("memory of one device is of one kind"),
        }
        Ok(())
    }

    /// Overwrites elements that are here, from place `to` on, from a vector of the same memory, counted from the first that is there.
    pub(crate) fn copy_part(&mut self, to: usize, other: &Vector<T>, from: usize, count: usize) -> Result<()> {
        let wanted = to..to + count;
        if common(&self.here, &wanted) != wanted
            || from + count > other.here.len()
            || !self.device.is_same(&other.device)
        {
            let (expected, found) = (format!("elements {:?} of one memory", self.here), format!("{wanted:?}"));
            return Err(DeviceError::Arguments { what: "copying a part of a vector".into(), expected, found });
        }
        let to = to - self.here.start;
        match (&mut self.storage, &other.storage) {
            (Storage::Host(own) | Storage::Sim(own), Storage::Host(values) | Storage::Sim(values)) => {
                own[to..to + count].copy_from_slice(&values[from..from + count]);
                Ok(())
            }
            (Storage::Cuda(own, _), Storage::Cuda(values, _)) => {
                let size = size_of::<T>();
                own.copy_part(to * size, values, from * size, count * size)
            }
            _ => unreachable!("memory of one device is of one kind"),
        }
    }

    /// A new vector with the same elements.
    pub fn duplicate(&self) -> Result<Vector<T>> {
        let mut copy = Vector::zeros(&self.device, self.len)?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// Refuses vectors of which ranks have other shares.
    fn check_share(&self, other: &Vector<T>) -> Result<()> {
        if self.here.start == other.here.start && (self.here == other.here || self.device.ranks().is_none()) {
            return Ok(());
        }
        let (expected, found) = (format!("elements {:?}", self.here), format!("{:?}", other.here));
        Err(DeviceError::Arguments { what: "a rank's share of a vector".into(), expected, found })
    }

    fn check_part(&self, first: usize, len: usize) -> Result<()> {
        if first.checked_add(len).is_some_and(|end| end <= self.len) {
            return Ok(());
        }
        Err(DeviceError::Arguments {
            what: "copying a part of a vector".into(),
            expected: format!("elements below {}", self.len),
            found: format!("{len} from {first} on"),
        })
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

impl<T: Scalar> Contents for Vector<T> {
    fn place(&self) -> MemoryPlace {
        self.device.place()
    }
    fn address(&self) -> Option<u64> {
        self.storage.address()
    }
    fn is_spread(&self) -> bool {
        match &self.device {
            // The parts of a simulated vector have no pages.
            Device::Sim(_) => self.len >= self.device.cards_at_work() as usize,
            Device::Cpu(_) | Device::Cuda(_) => self.storage.is_spread(),
        }
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

impl<T: Scalar> OnDevice for Vector<T> {
    fn element(&self) -> Option<Element> {
        Some(T::TYPE.element())
    }
    fn elements(&self) -> usize {
        self.here.len()
    }
}

impl<T: Scalar> std::fmt::Debug for Vector<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Vector({} {} on {})", self.len, T::TYPE.cuda(), self.device.name())
    }
}
