//! Tables of several types, on the host and on a device.

use eigenforge_runtime::{Buffer, Device, OnDevice, Result, Vector};
use eigenforge_templates::launch::Element;

/// On the host.
pub(super) enum Numbers {
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

/// On a device.
pub(super) enum OnCard {
    U16(Buffer<u16>),
    U32(Buffer<u32>),
    U64(Buffer<u64>),
    F64(Buffer<f64>),
    /// Computed by a kernel.
    Made(Vector<f64>),
}

impl Numbers {
    /// Integers as elements of a layout table, which have 16 or 32 bits and fit.
    pub(super) fn of(element: Element, values: &[u32]) -> Numbers {
        match element {
            Element::U16 => Numbers::U16(values.iter().map(|value| *value as u16).collect()),
            _ => Numbers::U32(values.to_vec()),
        }
    }

    /// A copy on the device.
    pub(super) fn upload(&self, device: &Device) -> Result<OnCard> {
        Ok(match self {
            Numbers::U16(values) => OnCard::U16(device.buffer(values)?),
            Numbers::U32(values) => OnCard::U32(device.buffer(values)?),
            Numbers::U64(values) => OnCard::U64(device.buffer(values)?),
            Numbers::F64(values) => OnCard::F64(device.buffer(values)?),
        })
    }
}

impl OnCard {
    /// As an argument.
    pub(super) fn memory(&self) -> &(dyn OnDevice + 'static) {
        match self {
            OnCard::U16(buffer) => buffer,
            OnCard::U32(buffer) => buffer,
            OnCard::U64(buffer) => buffer,
            OnCard::F64(buffer) => buffer,
            OnCard::Made(vector) => vector,
        }
    }
}
