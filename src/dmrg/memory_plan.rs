//! The memory that a run may use, plans to use and has used.

use crate::words::size;
use serde::Serialize;

/// Which processor computes; this sets the rules of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// This machine's cores: evicted buffers go to disk.
    Host,
    /// A card: evicted buffers go to host memory, and to disk when that is full.
    Card,
}

/// The memory that a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Which processor computes.
    pub processor: Processor,
    /// Bytes of the memory where it computes.
    pub memory: u64,
    /// Bytes of host memory for buffers evicted from a card.
    pub host: u64,
}

/// Peak bytes in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// In the memory where it computes.
    pub memory: u64,
    /// In host memory, for a card.
    pub host: u64,
    /// On the disk.
    pub disk: u64,
}

/// The memory plan of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// Number of states it is made for.
    pub states: usize,
    /// Whether the shares of the sectors were measured, by sweeps with fewer states.
    pub measured: bool,
    /// Operators of blocks at the fullest bond.
    pub blocks: u64,
    /// Kept states.
    pub kept: u64,
    /// V and W of Davidson's method.
    pub vectors: u64,
    /// Total, if nothing is evicted.
    pub whole: u64,
    /// Minimum for one bond.
    pub bond: u64,
    /// Memory taken where the run computes: on a card from the start, on the CPU as needed.
    pub reserved: u64,
    /// Vectors of Davidson's basis.
    pub width: usize,
}

impl MemoryPlan {
    /// (item, bytes), adding up to the total.
    pub fn items(&self) -> Vec<(String, u64)> {
        let rest = self.whole.saturating_sub(self.blocks + self.kept + self.vectors);
        vec![
            ("operators of all blocks".into(), self.blocks),
            ("kept states".into(), self.kept),
            (format!("V and W, {} vectors each", self.width), self.vectors),
            ("products and decompositions of a bond".into(), rest),
        ]
    }

    /// Bytes that will be evicted.
    pub fn evicted_bytes(&self) -> u64 {
        self.whole.saturating_sub(self.reserved)
    }

    /// "1.23 GiB, 0.50 GiB of it away, 512 states, by the sectors as measured".
    pub fn describe(&self) -> String {
        let kind = if self.measured { "by the sectors as measured" } else { "by a guess of the sectors" };
        let away = match self.evicted_bytes() {
            0 => String::new(),
            bytes => format!(" and {} elsewhere", size(bytes)),
        };
        format!("{}{away} for {} states, {kind}", size(self.reserved), self.states)
    }
}

impl Usage {
    /// "1.23 GiB, 0.50 GiB beside it in host memory, 2.00 GiB on disk".
    pub fn describe(&self) -> String {
        let mut text = size(self.memory);
        for (bytes, place) in [(self.host, "beside it in host memory"), (self.disk, "on disk")] {
            if bytes > 0 {
                text += &format!(", {} {place}", size(bytes));
            }
        }
        text
    }
}
