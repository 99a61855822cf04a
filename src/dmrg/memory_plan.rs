//! What a run may hold, and what it was held to: numbers, and how they are said.

use crate::words::size;
use serde::Serialize;

/// Who computes, and by whose rules memory is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// This machine's cores: what has left goes to the disk.
    Host,
    /// A card: what has left goes to host memory, and to the disk when that is full.
    Card,
}

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Who computes.
    pub processor: Processor,
    /// Bytes of the memory where it computes.
    pub memory: u64,
    /// Bytes of host memory for what has left a card.
    pub host: u64,
}

/// Bytes that were held at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// In the memory where it computes.
    pub memory: u64,
    /// In host memory beside a card.
    pub host: u64,
    /// On the disk.
    pub disk: u64,
}

/// What a run is held to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// With so many states.
    pub states: usize,
    /// Whether the shares of the sectors were measured, by sweeps with fewer states.
    pub measured: bool,
    /// Operators of blocks at the fullest bond.
    pub blocks: u64,
    /// Kept states.
    pub kept: u64,
    /// V and W of Davidson's method.
    pub vectors: u64,
    /// Everything, if nothing leaves.
    pub whole: u64,
    /// What one bond must have.
    pub bond: u64,
    /// What is taken of the memory where it computes: on a card from the first, on the CPU as it is needed.
    pub reserved: u64,
    /// Vectors of Davidson's basis.
    pub width: usize,
}

impl MemoryPlan {
    /// (what it is, bytes), adding up to everything.
    pub fn items(&self) -> Vec<(String, u64)> {
        let rest = self.whole.saturating_sub(self.blocks + self.kept + self.vectors);
        vec![
            ("operators of all blocks".into(), self.blocks),
            ("kept states".into(), self.kept),
            (format!("V and W, {} vectors each", self.width), self.vectors),
            ("products and decompositions of a bond".into(), rest),
        ]
    }

    /// What will leave the memory where it computes.
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
