//! Memory that a rank keeps from multiply to multiply, and its share of a vector on the host.

use eigenforge_runtime::{DeviceError, Scalar, Vector};
use std::any::Any;
use std::borrow::Cow;

/// Memory for the exchange.
#[derive(Default)]
pub struct Room {
    words: [Vec<u64>; 2],
    /// On a card: what is added to a share, with the program that adds it.
    pub added: Kept,
}

impl Room {
    /// Two lists of so many numbers.
    pub fn numbers<T: Scalar>(&mut self, lengths: [usize; 2]) -> [&mut [T]; 2] {
        let mut lengths = lengths.into_iter();
        self.words.each_mut().map(|words| {
            let length = lengths.next().unwrap_or(0);
            words.resize(words.len().max((length * size_of::<T>()).div_ceil(8)), 0);
            // SAFETY: numbers of 4 or 8 bytes without padding, for which every pattern of bits is a value; there is room for them.
            unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<T>(), length) }
        })
    }
}

/// Memory of one type of number or the other.
pub type Kept = Option<Box<dyn Any + Send>>;

/// What is kept in a place, made where there is nothing of its type.
pub fn get_or_make<V: Send + 'static>(
    place: &mut Kept,
    make: impl FnOnce() -> Result<V, DeviceError>,
) -> Result<&mut V, DeviceError> {
    if !place.as_ref().is_some_and(|found| found.is::<V>()) {
        *place = Some(Box::new(make()?));
    }
    Ok(place.as_mut().and_then(|found| found.downcast_mut()).unwrap_or_else(|| unreachable!("it is of this type")))
}

/// A rank's share on the host.
pub fn here<T: Scalar>(x: &Vector<T>) -> Result<Cow<'_, [T]>, DeviceError> {
    if let Some(share) = x.local() {
        return Ok(Cow::Borrowed(share));
    }
    let mut values = vec![T::default(); x.here().len()];
    x.read_here(&mut values)?;
    Ok(Cow::Owned(values))
}

/// Has a rank's share written on the host, wherever it is.
pub(crate) fn written<T: Scalar>(y: &mut Vector<T>, write: impl FnOnce(&mut [T]) -> f64) -> Result<f64, DeviceError> {
    if let Some(share) = y.local_mut() {
        return Ok(write(share));
    }
    let mut values = vec![T::default(); y.here().len()];
    let dot = write(&mut values);
    y.write_here(&values)?;
    Ok(dot)
}
