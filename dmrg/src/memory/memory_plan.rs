//! The memory that a run plans to use.

use eigenforge_core::words::size;
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
    /// The part of V and W that is on the other cards which share out solves.
    #[serde(default)]
    pub spread: u64,
    /// Total where the buffers are, if nothing is evicted.
    pub whole: u64,
    /// Minimum for one bond.
    pub bond: u64,
    /// Memory taken where the run computes: on a card from the start, on the CPU as needed.
    pub reserved: u64,
    /// What other cards of the device hold of the rest.
    #[serde(default)]
    pub other_cards: u64,
    /// Vectors of Davidson's basis.
    pub width: usize,
}

impl MemoryPlan {
    /// (item, bytes), adding up to the total.
    pub fn items(&self) -> Vec<(String, u64)> {
        let vectors = self.vectors.saturating_sub(self.spread);
        let rest = self.whole.saturating_sub(self.blocks + self.kept + vectors);
        let of = if self.spread > 0 { "the first card's part of V and W" } else { "V and W" };
        vec![
            ("operators of all blocks".into(), self.blocks),
            ("kept states".into(), self.kept),
            (format!("{of}, {} vectors each", self.width), vectors),
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

    /// The same with so many bytes reserved, and other cards that have `room` bytes for what is evicted.
    #[must_use]
    pub(crate) fn placed(self, reserved: u64, room: u64) -> MemoryPlan {
        MemoryPlan { reserved, other_cards: self.whole.saturating_sub(reserved).min(room), ..self }
    }

    /// Bytes that will be evicted.
    pub fn evicted_bytes(&self) -> u64 {
        self.whole.saturating_sub(self.reserved)
    }

    /// "1.23 GiB, 0.75 GiB on other cards and 0.50 GiB moved elsewhere for 512 states, from measured sectors".
    pub fn describe(&self) -> String {
        let kind = if self.measured { "from measured sectors" } else { "from estimated sectors" };
        let held = |bytes: u64, place: &str| (bytes > 0).then(|| format!("{} {place}", size(bytes)));
        let cards = held(self.other_cards, "on other cards");
        let elsewhere = held(self.evicted_bytes().saturating_sub(self.other_cards), "moved elsewhere");
        let mut text = size(self.reserved);
        text += &match (cards, elsewhere) {
            (None, None) => String::new(),
            (Some(one), None) | (None, Some(one)) => format!(" and {one}"),
            (Some(cards), Some(elsewhere)) => format!(", {cards} and {elsewhere}"),
        };
        format!("{text} for {} states, {kind}", self.states)
    }
}
