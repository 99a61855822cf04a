//! Consecutive elements of a long vector, as a kernel that works on the whole vector sees them: for kernels of which one rank does its part.

use super::memory::{Contents, OnDevice};
use super::place::MemoryPlace;
use super::shared::common;
use super::{Device, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use eigenforge_templates::launch::Element;
use std::ops::Range;

/// Memory for some elements of a vector. A kernel gets the address that the whole vector would have and may touch these alone; in simulation
/// the others are not numbers, and what is written there is lost.
pub struct Window<T: Scalar> {
    elements: Vector<T>,
    places: Range<usize>,
    len: usize,
}

impl<T: Scalar> Window<T> {
    /// The elements at some places of a vector of `len`.
    ///
    /// # Errors
    /// Places beyond the vector; a device whose vectors are cut into shares; too little memory.
    pub fn new(device: &Device, places: Range<usize>, len: usize) -> Result<Window<T>> {
        device.check_alone("a window of a vector")?;
        if places.start > places.end || places.end > len || device.ranks().is_some() {
            let (expected, found) = (format!("places below {len} in memory of its own"), format!("{places:?}"));
            return Err(DeviceError::Arguments { what: "a window of a vector".into(), expected, found });
        }
        Ok(Window { elements: device.zeros(places.len())?, places, len })
    }

    /// The places that it has.
    pub fn places(&self) -> Range<usize> {
        self.places.clone()
    }

    /// Copies elements from place `first` on to the host.
    ///
    /// # Errors
    /// Places that it does not have; the device fails.
    pub fn read(&self, first: usize, values: &mut [T]) -> Result<()> {
        self.elements.read_part(self.from(&(first..first + values.len()))?, values)
    }

    /// Copies elements to the same places of a vector on the same device, which may be a rank's share.
    ///
    /// # Errors
    /// Places that one of them does not have; the device fails.
    pub fn copy_to(&self, places: Range<usize>, to: &mut Vector<T>) -> Result<()> {
        let from = self.from(&places)?;
        to.copy_part(places.start, &self.elements, from, places.len())
    }

    /// The element of these places that comes first.
    fn from(&self, places: &Range<usize>) -> Result<usize> {
        if common(&self.places, places) == *places {
            return Ok(places.start - self.places.start);
        }
        let (expected, found) = (format!("places of {:?}", self.places), format!("{places:?}"));
        Err(DeviceError::Arguments { what: "elements of a window".into(), expected, found })
    }

    /// Where the whole vector would begin.
    fn base(&self, address: u64) -> u64 {
        address.wrapping_sub((self.places.start * size_of::<T>()) as u64)
    }
}

impl<T: Scalar> Contents for Window<T> {
    fn place(&self) -> MemoryPlace {
        self.elements.place()
    }
    fn address(&self) -> Option<u64> {
        self.elements.address().map(|address| self.base(address))
    }
    fn is_spread(&self) -> bool {
        false
    }
    fn address_on(&self, card: usize) -> Result<u64> {
        Ok(self.base(self.elements.address_on(card)?))
    }
    fn address_to_write(&self) -> u64 {
        self.base(self.elements.address_to_write())
    }
    fn append_to(&self, elements: usize, bytes: &mut Vec<u8>) {
        let outside = |count: usize| vec![T::from_f64(f64::NAN); count];
        let own = common(&(0..elements), &self.places);
        T::append_bytes(&outside(own.start), bytes);
        self.elements.append_to(own.len(), bytes);
        T::append_bytes(&outside(elements - own.end), bytes);
    }
    fn copy_from_bytes(&mut self, bytes: &[u8]) {
        let [start, end] = [self.places.start, self.places.end].map(|place| (place * size_of::<T>()).min(bytes.len()));
        self.elements.copy_from_bytes(&bytes[start..end]);
    }
}

impl<T: Scalar> OnDevice for Window<T> {
    fn element(&self) -> Option<Element> {
        Some(T::TYPE.element())
    }
    fn elements(&self) -> usize {
        self.len
    }
}
