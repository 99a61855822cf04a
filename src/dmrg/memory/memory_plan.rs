//! The memory that a run plans to use.

use crate::words::size;
use eigenforge_runtime::residency::PlannedMemory;
use serde::{Deserialize, Serialize};

/// The memory plan of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

    /// What it asks of the engine's memory.
    pub fn memory(&self) -> PlannedMemory {
        PlannedMemory { reserved: self.reserved, step: self.bond, vectors: self.vectors, width: self.width }
    }

    /// Elements of a vector of the largest solve.
    pub fn elements(&self) -> usize {
        (self.vectors / 16) as usize / self.width.max(1)
    }

    /// Bytes that will be evicted.
    pub fn evicted_bytes(&self) -> u64 {
        self.whole.saturating_sub(self.reserved)
    }

    /// "1.23 GiB and 0.50 GiB moved elsewhere for 512 states, from measured sectors".
    pub fn describe(&self) -> String {
        let kind = if self.measured { "from measured sectors" } else { "from estimated sectors" };
        let away = match self.evicted_bytes() {
            0 => String::new(),
            bytes => format!(" and {} moved elsewhere", size(bytes)),
        };
        format!("{}{away} for {} states, {kind}", size(self.reserved), self.states)
    }
}
