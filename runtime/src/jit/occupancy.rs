//! How many blocks of a kernel fit on a multiprocessor at a time, given registers, threads and shared memory.
//!
//! In: registers per thread, threads per block, bytes of shared memory per block, architecture. Out: [`Occupancy`].
//! Registers are allocated to warps in units of 256, from four equal parts of the register file; shared memory in units
//! of 128 bytes, plus 1 KiB per block that CUDA reserves.
//!
//! Reference: NVIDIA, "CUDA C++ Programming Guide", technical specifications per compute capability; the arithmetic
//! follows the CUDA occupancy calculator.

use super::arch::Arch;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Registers of a multiprocessor, on every architecture below.
const REGISTERS: u32 = 64 * 1024;
/// Registers are allocated to a warp in multiples of this.
const REGISTER_UNIT: u32 = 256;
/// Parts of a multiprocessor; each runs the same number of warps.
const PARTS: u32 = 4;
/// Shared memory is allocated in multiples of this.
const SHARED_UNIT: u32 = 128;
/// Shared memory of each block that CUDA reserves, since sm_80.
const RESERVED_SHARED: u32 = 1024;

/// Architecture, warps, blocks and KiB of shared memory of a multiprocessor.
const MULTIPROCESSORS: [(u32, u32, u32, u32); 10] = [
    (75, 32, 16, 64),
    (80, 64, 32, 164),
    (86, 48, 16, 100),
    (87, 48, 16, 164),
    (89, 48, 24, 100),
    (90, 64, 32, 228),
    (100, 64, 32, 228),
    (103, 64, 32, 228),
    (120, 48, 24, 100),
    (121, 48, 24, 100),
];

/// How many blocks of a kernel run on one multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Blocks at a time; 0 when not even one fits.
    pub blocks: u32,
    /// Their warps.
    pub warps: u32,
    /// Largest number of warps on a multiprocessor.
    pub most_warps: u32,
    /// The resource that limits it.
    pub limit: Limit,
}

/// The resource that runs out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Threads of a multiprocessor.
    Threads,
    /// Blocks of a multiprocessor.
    Blocks,
    /// The register file.
    Registers,
    /// Shared memory.
    Shared,
}

impl Occupancy {
    /// For a kernel with `registers` per thread, `threads` per block and `shared` bytes per block, static and dynamic
    /// together; `None` for an architecture whose multiprocessor is not in the table.
    pub fn new(arch: Arch, registers: u32, threads: u32, shared: u32) -> Option<Occupancy> {
        let &(_, most_warps, most_blocks, kib) = MULTIPROCESSORS.iter().find(|known| known.0 == arch.0)?;
        let warps = threads.div_ceil(32).max(1);
        let warp_registers = (registers * 32).next_multiple_of(REGISTER_UNIT).max(REGISTER_UNIT);
        let by_registers = REGISTERS / warp_registers / PARTS * PARTS / warps;
        let reserved = if arch.0 >= 80 { RESERVED_SHARED } else { 0 };
        let block_shared = shared.saturating_add(reserved).next_multiple_of(SHARED_UNIT);
        let by_shared = (kib * 1024).checked_div(block_shared).unwrap_or(most_blocks);
        let (blocks, limit) = [
            (most_warps / warps, Limit::Threads),
            (most_blocks, Limit::Blocks),
            (by_registers, Limit::Registers),
            (by_shared, Limit::Shared),
        ]
        .into_iter()
        .min_by_key(|(blocks, _)| *blocks)?;
        Some(Occupancy { blocks, warps: blocks * warps, most_warps, limit })
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Occupancy { blocks, warps, most_warps, limit } = self;
        let limit = match limit {
            Limit::Threads => "threads",
            Limit::Blocks => "blocks",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
        };
        write!(f, "{blocks} blocks = {warps} of {most_warps} warps a multiprocessor (limit: {limit})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The occupancy calculator's numbers for sm_90.
    #[test]
    fn blocks_are_counted_as_the_calculator_does() {
        let of = |registers, threads, shared| {
            let found = Occupancy::new(Arch(90), registers, threads, shared).unwrap();
            (found.blocks, found.warps, found.limit)
        };
        assert_eq!(of(32, 1024, 0), (2, 64, Limit::Threads));
        assert_eq!(of(33, 1024, 0), (1, 32, Limit::Registers), "40 registers after rounding");
        assert_eq!(of(64, 256, 64), (4, 32, Limit::Registers));
        assert_eq!(of(40, 768, 0), (2, 48, Limit::Threads), "48 of the 51 warps that the registers allow");
        assert_eq!(of(16, 32, 0), (32, 32, Limit::Blocks));
        assert_eq!(of(32, 1024, 113 * 1024), (2, 64, Limit::Threads));
        assert_eq!(of(32, 1024, 113 * 1024 + 1), (1, 32, Limit::Shared));
        assert_eq!(of(32, 1024, 227 * 1024), (1, 32, Limit::Shared));
        assert_eq!(of(32, 1024, 228 * 1024), (0, 0, Limit::Shared));
        assert_eq!(of(255, 1024, 0).0, 0, "255 registers of 1,024 threads are more than there are");
    }

    #[test]
    fn an_architecture_that_is_not_in_the_table_has_no_answer() {
        assert_eq!(Occupancy::new(Arch(150), 32, 256, 0), None);
        assert_eq!(Occupancy::new(Arch(86), 32, 1024, 0).unwrap().warps, 32, "48 warps hold one block of 32");
    }
}
