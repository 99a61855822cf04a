//! A counter of bytes in use, and of their peak.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter shared between threads.
#[derive(Debug, Default)]
pub struct Ledger {
    held: AtomicU64,
    peak: AtomicU64,
}

impl Ledger {
    /// Adds bytes.
    pub fn take(&self, bytes: u64) {
        let before = self.changed(|held| held.saturating_add(bytes));
        self.peak.fetch_max(before.saturating_add(bytes), Ordering::Relaxed);
    }

    /// Subtracts bytes.
    pub fn give_back(&self, bytes: u64) {
        self.changed(|held| held.saturating_sub(bytes));
    }

    /// Changes the count and returns the previous value. Saturates, because a plan may exceed any machine.
    fn changed(&self, change: impl Fn(u64) -> u64) -> u64 {
        let update = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(change(held)));
        update.unwrap_or_else(|held| held)
    }

    /// Adds and subtracts bytes, to record the peak.
    pub fn touch(&self, bytes: u64) {
        self.take(bytes);
        self.give_back(bytes);
    }

    /// Bytes in use now.
    pub(crate) fn used(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// The most since the beginning, or since [`Ledger::restart`].
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Restarts the peak and returns the old one.
    pub fn restart(&self) -> u64 {
        self.peak.swap(self.used(), Ordering::Relaxed)
    }
}
