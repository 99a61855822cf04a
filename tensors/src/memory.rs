//! What a transformation may hold in memory.
//!
//! In: the limit that was asked for, the plan, bytes that are held all the time. Out: bytes of a piece, and of the pieces under way.

use super::error::TransformError;
use super::shares::{LARGEST_PIECE, UNDER_WAY, bytes_of};
use super::{Plan, Su3Spec};
use eigenforge_core::words::size;
use eigenforge_runtime::Device;
use std::fmt;

/// What may be held, in bytes.
pub(crate) struct Memory {
    pub limit: u64,
    /// Held all the time.
    resident: u64,
    /// All groups in progress.
    all: u64,
    /// A piece on the CPU at most.
    pub piece: u64,
}

impl Memory {
    /// The limit of a run.
    pub(crate) fn limit(spec: &Su3Spec) -> u64 {
        spec.memory.unwrap_or(Device::cpu().memory().free / 5 * 4)
    }

    /// Within a limit, beside what is resident.
    ///
    /// # Errors
    /// The largest group does not fit.
    pub(crate) fn new(limit: u64, plan: &Plan, channels: usize, resident: u64) -> Result<Memory, TransformError> {
        let groups = || plan.groups.iter().map(|group| bytes_of(group, channels));
        let needed = groups().max().unwrap_or(0);
        if resident + needed > limit {
            return Err(TransformError::Memory { n_max: plan.n_max, resident, needed, limit });
        }
        let piece = ((limit - resident) / UNDER_WAY).min(LARGEST_PIECE).max(needed);
        Ok(Memory { limit, resident, all: groups().sum(), piece })
    }

    /// Bytes for pieces in host memory.
    pub(crate) fn room(&self) -> u64 {
        self.limit - self.resident
    }

    /// Bytes of pieces under way on the CPU at most.
    pub(crate) fn under_way(&self) -> u64 {
        self.room().min(UNDER_WAY * self.piece).min(self.all)
    }

    /// What is planned, by item.
    pub(crate) fn items(&self) -> Vec<(String, u64)> {
        vec![("input and tables".into(), self.resident), ("pieces in memory".into(), self.under_way())]
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of input and tables, {} of quadruples, W0 and results in pieces of at most {}; {} in memory at a time, limit {}",
            size(self.resident),
            size(self.all),
            size(self.piece.min(self.all)),
            size(self.under_way()),
            size(self.limit)
        )
    }
}
