//! Where memory lives: all that vectors, buffers and kernels know of a device.

use super::context::Context;
use std::sync::Arc;

/// The memory of one device. A kernel takes no other memory than its own device's.
#[derive(Clone)]
pub enum MemoryPlace {
    /// This machine's memory.
    Host,
    /// That of a simulated device, by its name; two devices of one name are two places.
    Simulated(Arc<str>),
    /// That of a card.
    Card(Arc<Context>),
}

impl MemoryPlace {
    /// Its device's name.
    pub(super) fn name(&self) -> &str {
        match self {
            MemoryPlace::Host => "the CPU",
            MemoryPlace::Simulated(name) => name,
            MemoryPlace::Card(context) => context.name(),
        }
    }

    /// Whether both are the memory of one device.
    pub(super) fn is_same(&self, other: &MemoryPlace) -> bool {
        match (self, other) {
            (MemoryPlace::Host, MemoryPlace::Host) => true,
            (MemoryPlace::Simulated(a), MemoryPlace::Simulated(b)) => Arc::ptr_eq(a, b),
            (MemoryPlace::Card(a), MemoryPlace::Card(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}
