//! What the owner of a buffer has: its value while it is in use, or a share of its place while it may be evicted.

use std::sync::{Arc, Mutex};

/// A value of type `V` in use, or evictable at a place of type `P`.
pub(super) enum Slot<V, P> {
    /// In memory; it stays there.
    InUse(V),
    /// In memory, elsewhere, or on its way.
    Evictable(Arc<Mutex<P>>),
    /// Taken by its owner.
    Taken,
}

impl<V, P> Slot<V, P> {
    /// The value, which must be in use.
    pub(super) fn value(&self) -> &V {
        match self {
            Slot::InUse(value) => value,
            _ => unreachable!("a buffer is brought back before it is read"),
        }
    }

    /// The same, mutable.
    pub(super) fn value_mut(&mut self) -> &mut V {
        match self {
            Slot::InUse(value) => value,
            _ => unreachable!("a buffer is brought back before it is written"),
        }
    }

    /// Takes what is there.
    pub(super) fn take(&mut self) -> Slot<V, P> {
        std::mem::replace(self, Slot::Taken)
    }

    /// Gives a value in use to `queue`, which returns its place.
    pub(super) fn make_evictable(&mut self, queue: impl FnOnce(V) -> Arc<Mutex<P>>) {
        *self = match self.take() {
            Slot::InUse(value) => Slot::Evictable(queue(value)),
            other => other,
        };
    }
}
