//! Bytes that are held, and the most that ever were at a time.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that many hands change.
#[derive(Debug, Default)]
pub struct Ledger {
    held: AtomicU64,
    peak: AtomicU64,
}

impl Ledger {
    /// So many more bytes are held.
    pub fn take(&self, bytes: u64) {
        let before = self.changed(|held| held.saturating_add(bytes));
        self.peak.fetch_max(before.saturating_add(bytes), Ordering::Relaxed);
    }

    /// So many fewer.
    pub fn give_back(&self, bytes: u64) {
        self.changed(|held| held.saturating_sub(bytes));
    }

    /// What it was before. A plan for more than any machine has counts as far as the numbers go.
    fn changed(&self, change: impl Fn(u64) -> u64) -> u64 {
        let update = self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| Some(change(held)));
        update.unwrap_or_else(|held| held)
    }

    /// So many for a moment.
    pub fn touch(&self, bytes: u64) {
        self.take(bytes);
        self.give_back(bytes);
    }

    /// Bytes held now.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// The most since the beginning, or since [`Ledger::restart`].
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Begins to look for the most anew; gives what it was.
    pub fn restart(&self) -> u64 {
        self.peak.swap(self.held(), Ordering::Relaxed)
    }
}
