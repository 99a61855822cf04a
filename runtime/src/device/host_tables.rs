//! Tables on the host, and their way to a device.
//!
//! In: lists of numbers. Out: memory of a device, in the type that the kernel reads, under the name of its parameter.

use super::Device;
use super::named_tables::{ElementArgument, NamedTables, SharedMemory};
use crate::error::Result;
use crate::scalar::Pod;
use eigenforge_templates::exact::IndexWord;
use eigenforge_templates::launch::Element;
use std::borrow::Cow;
use std::sync::Arc;

/// A table on the host, its own or borrowed, in the type that its kernel reads.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum HostTable<'a> {
    U8(Cow<'a, [u8]>),
    U16(Cow<'a, [u16]>),
    U32(Cow<'a, [u32]>),
    U64(Cow<'a, [u64]>),
    F32(Cow<'a, [f32]>),
    F64(Cow<'a, [f64]>),
}

impl<'a> HostTable<'a> {
    /// Numbers that fit into words of this width.
    pub fn narrowed(word: IndexWord, values: impl Into<Cow<'a, [u64]>>) -> HostTable<'a> {
        let values = values.into();
        match word {
            IndexWord::U16 => HostTable::U16(values.iter().map(|value| *value as u16).collect()),
            IndexWord::U32 => HostTable::U32(values.iter().map(|value| *value as u32).collect()),
            IndexWord::U64 => HostTable::U64(values),
        }
    }

    /// Numbers of at most 32 bits that fit into such elements.
    pub fn of_u32(element: Element, values: impl Into<Cow<'a, [u32]>>) -> HostTable<'a> {
        let values = values.into();
        match element {
            Element::U16 => HostTable::U16(values.iter().map(|value| *value as u16).collect()),
            _ => HostTable::U32(values),
        }
    }

    /// A copy in the memory of a device. Memory has at least one element, which is 0 if the table has none.
    ///
    /// # Errors
    /// No room.
    pub fn upload(&self, device: &Device) -> Result<SharedMemory> {
        fn upload<T: Pod + Default>(device: &Device, values: &[T]) -> Result<SharedMemory> {
            let one = [T::default()];
            Ok(Arc::new(device.buffer(if values.is_empty() { &one } else { values })?))
        }
        match self {
            HostTable::U8(values) => upload(device, values),
            HostTable::U16(values) => upload(device, values),
            HostTable::U32(values) => upload(device, values),
            HostTable::U64(values) => upload(device, values),
            HostTable::F32(values) => upload(device, values),
            HostTable::F64(values) => upload(device, values),
        }
    }
}

impl<'a> From<&'a HostTable<'_>> for HostTable<'a> {
    fn from(table: &'a HostTable<'_>) -> HostTable<'a> {
        match table {
            HostTable::U8(values) => HostTable::U8(Cow::Borrowed(values)),
            HostTable::U16(values) => HostTable::U16(Cow::Borrowed(values)),
            HostTable::U32(values) => HostTable::U32(Cow::Borrowed(values)),
            HostTable::U64(values) => HostTable::U64(Cow::Borrowed(values)),
            HostTable::F32(values) => HostTable::F32(Cow::Borrowed(values)),
            HostTable::F64(values) => HostTable::F64(Cow::Borrowed(values)),
        }
    }
}

/// Tables of the host by the names of their parameters.
pub type TableList<'a> = Vec<(&'static str, HostTable<'a>)>;

macro_rules! from_lists {
    ($($element:ty => $variant:ident),*) => {$(
        impl From<Vec<$element>> for HostTable<'_> {
            fn from(values: Vec<$element>) -> Self {
                HostTable::$variant(values.into())
            }
        }
        impl<'a> From<&'a Vec<$element>> for HostTable<'a> {
            fn from(values: &'a Vec<$element>) -> Self {
                HostTable::$variant(values.into())
            }
        }
    )*};
}
from_lists!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

impl NamedTables {
    /// Uploads tables of the host one after the other, each freed before the next.
    ///
    /// # Errors
    /// No room on the device.
    pub fn uploaded<'a, N: Into<String>>(
        device: &Device,
        tables: impl IntoIterator<Item = (N, HostTable<'a>)>,
    ) -> Result<NamedTables> {
        let mut named = NamedTables::new();
        for (name, table) in tables {
            named.upload(device, name, table)?;
        }
        Ok(named)
    }

    /// Adds a table of the host.
    ///
    /// # Errors
    /// No room on the device.
    pub fn upload<'a>(
        &mut self,
        device: &Device,
        name: impl Into<String>,
        table: impl Into<HostTable<'a>>,
    ) -> Result<()> {
        let memory = table.into().upload(device)?;
        self.insert(name, ElementArgument::Memory(memory));
        Ok(())
    }
}
