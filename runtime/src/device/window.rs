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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Schedule;
    use crate::testing::card_or_simulated;

    #[test]
    fn a_window_has_some_places_and_refuses_others() {
        for device in [Some(Device::cpu()), card_or_simulated(Schedule::Forward)].into_iter().flatten() {
            let mut window = Window::<f64>::new(&device, 3..7, 10).unwrap();
            window.elements.write(&[3.0, 4.0, 5.0, 6.0]).unwrap();
            assert_eq!((window.places(), window.elements()), (3..7, 10));
            let mut found = [0.0; 2];
            window.read(5, &mut found).unwrap();
            assert_eq!(found, [5.0, 6.0]);
            assert!(window.read(6, &mut found).is_err() && window.read(2, &mut found).is_err());
            let mut whole = device.upload(&[-1.0; 10]).unwrap();
            window.copy_to(4..6, &mut whole).unwrap();
            assert_eq!(whole.download().unwrap(), [-1.0, -1.0, -1.0, -1.0, 4.0, 5.0, -1.0, -1.0, -1.0, -1.0]);
            assert!(window.copy_to(6..8, &mut whole).is_err());
            assert!(Window::<f64>::new(&device, 8..12, 10).is_err());
            if !device.is_cuda() && device.runs_kernels() {
                let mut bytes = Vec::new();
                window.append_to(9, &mut bytes);
                let numbers: Vec<f64> = bytes.chunks(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect();
                assert!(numbers.len() == 9 && numbers[3..7] == [3.0, 4.0, 5.0, 6.0]);
                assert!(numbers[..3].iter().chain(&numbers[7..]).all(|number| number.is_nan()));
                let other: Vec<u8> = (0..9).flat_map(|k| f64::from(10 * k).to_ne_bytes()).collect();
                window.copy_from_bytes(&other);
                assert_eq!(window.elements.download().unwrap(), [30.0, 40.0, 50.0, 60.0]);
            }
        }
    }
}
