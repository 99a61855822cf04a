//! Chooses how a full-CI product is done, and the sizes of its tiles, groups and blocks.
//!
//! In: strings and orbital pairs of each irrep, shared memory of a block, multiprocessors. Out: a [`FullCiShape`] and the groups.

use super::{GroupPlan, SlabShape};
use crate::Warp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// α moves staged at once.
const CHUNK: u32 = 64;
/// Shared memory declared in the text, plus what the driver reserves for each block.
const RESERVED: u64 = 2048;
/// Overhead of a tile, in sums of one pair: loading a row of C and its coefficients.
const TILE_LOADS: u64 = 4;

/// The inputs of the choice.
#[derive(Clone, Debug)]
pub struct StringCounts {
    /// α strings.
    pub alpha: u32,
    /// β strings of each class.
    pub classes: Vec<u32>,
    /// Electrons, α and β.
    pub electrons: [u32; 2],
    /// Orbital pairs of each irrep.
    pub pairs: Vec<u32>,
    /// Shared memory available to a block.
    pub shared_bytes: u64,
    /// Multiprocessors of the card.
    pub multiprocessors: u32,
    /// The width of its warps.
    pub warp: Warp,
}

impl StringCounts {
    /// β strings of the largest class.
    pub fn widest(&self) -> u32 {
        self.classes.iter().copied().max().unwrap_or(0)
    }
}

/// How a product is done, with the numbers of its plan that affect its speed but not the terms of its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FullCiShape {
    /// The fields of a whole class of β strings in shared memory.
    Fields(FieldShape),
    /// Slabs of β strings.
    Slabs(SlabShape),
}

impl FullCiShape {
    /// The model's choice: whole fields where those of a tile of pairs fit in shared memory.
    pub fn choose(strings: &StringCounts) -> FullCiShape {
        let slabs = || FullCiShape::Slabs(SlabShape::choose(strings));
        FieldShape::choose(strings).map_or_else(slabs, FullCiShape::Fields)
    }

    /// Shapes worth timing on a card, this one first: other threads, other tiles, another number of blocks per multiprocessor, as far as
    /// a tile fits; and slabs.
    pub fn candidates(&self, strings: &StringCounts) -> Vec<FullCiShape> {
        let mut all = vec![*self];
        if let Some(fields) = FieldShape::choose(strings) {
            all.extend(fields.candidates(strings).into_iter().map(FullCiShape::Fields));
        }
        all.extend(SlabShape::choose(strings).candidates().into_iter().map(FullCiShape::Slabs));
        let mut kept: Vec<FullCiShape> = Vec::new();
        all.into_iter().for_each(|shape| {
            if !kept.contains(&shape) {
                kept.push(shape)
            }
        });
        kept
    }
}

impl fmt::Display for FullCiShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FullCiShape::Fields(shape) => shape.fmt(f),
            FullCiShape::Slabs(shape) => shape.fmt(f),
        }
    }
}

/// The numbers of a product with whole fields in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldShape {
    /// Pairs whose fields a thread sums at once.
    pub pair_tile: u32,
    /// β strings whose fields a thread sums at once.
    pub columns: u32,
    /// α moves staged at once.
    pub chunk: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Target number of blocks per multiprocessor.
    pub resident: u32,
}

impl FieldShape {
    /// The model's choice: tiles that need little padding, two columns per thread, two blocks per multiprocessor if the
    /// field of a tile then fits, else one; `None` where it does not fit.
    fn choose(strings: &StringCounts) -> Option<FieldShape> {
        let tiles = |tile: u32| strings.pairs.iter().map(|pairs| u64::from(pairs.div_ceil(tile))).sum::<u64>();
        let cost = |tile: &u32| tiles(*tile) * (u64::from(*tile) + TILE_LOADS);
        let pair_tile = [12, 10, 8, 6, 4].into_iter().min_by_key(cost).unwrap_or(8);
        let widest = strings.widest();
        let columns = if widest > strings.warp.lanes() { 2 } else { 1 };
        // If one round of blocks covers all strings, a block has twice the threads: full CI of N2 with 252 strings took
        // 0.027 ms with 256 threads and 0.034 with 128, water with 495 in classes of 128 took 0.047 with 64 and 0.055
        // with 128 (H200).
        let doubled = if strings.alpha <= 2 * strings.multiprocessors { 2 } else { 1 };
        let threads = (widest.div_ceil(columns).saturating_mul(doubled)).min(512);
        let threads = threads.next_multiple_of(strings.warp.lanes()).clamp(64, 512);
        let shape = FieldShape { pair_tile, columns, chunk: CHUNK, threads, resident: 2 };
        let one = FieldShape { resident: 1, ..shape };
        [shape, one].into_iter().find(|shape| shape.room(strings) >= pair_tile)
    }

    fn candidates(&self, strings: &StringCounts) -> Vec<FieldShape> {
        let warp = strings.warp.lanes();
        let threads = |threads: u32| FieldShape { threads: threads.next_multiple_of(warp).clamp(64, 512), ..*self };
        let mut all = vec![*self, threads(self.threads / 2), threads(2 * self.threads)];
        all.push(FieldShape { columns: if self.columns == 1 { 2 } else { 1 }, ..*self });
        all.push(FieldShape { resident: if self.resident == 1 { 2 } else { 1 }, ..*self });
        all.extend([4, 6, 8, 10, 12].map(|pair_tile| FieldShape { pair_tile, ..*self }));
        all.retain(|shape| shape == self || shape.room(strings) >= shape.pair_tile);
        all
    }

    /// Pairs whose fields and coefficients fit in a block's share of shared memory.
    fn room(&self, strings: &StringCounts) -> u32 {
        let share = strings.shared_bytes / u64::from(self.resident.max(1));
        let chunk = u64::from(self.chunk);
        let left = share.saturating_sub(RESERVED + 8 * (chunk + 1)) / 8;
        u32::try_from(left / (u64::from(strings.widest()).max(1) + chunk)).unwrap_or(u32::MAX)
    }

    /// The groups: pairs of one irrep, as many whole tiles as fit.
    pub fn groups(&self, strings: &StringCounts) -> Vec<GroupPlan> {
        // Indices in the field are 31-bit numbers.
        let named = ((1u64 << 31) / u64::from(strings.widest()).max(1)).saturating_sub(1);
        let most = self.room(strings).min(u32::try_from(named).unwrap_or(u32::MAX));
        grouped(&strings.pairs, (most / self.pair_tile * self.pair_tile).max(self.pair_tile))
    }
}

impl fmt::Display for FieldShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FieldShape { pair_tile, columns, threads, resident, .. } = self;
        write!(
            f,
            "tiles of {pair_tile} pairs x {columns} columns, fields in shared memory; {threads} threads, {resident} blocks a multiprocessor"
        )
    }
}

/// Pairs of each irrep cut into groups of at most `most`.
pub fn grouped(pairs: &[u32], most: u32) -> Vec<GroupPlan> {
    let mut groups = Vec::new();
    for (irrep, pairs) in (0..).zip(pairs) {
        let cuts = (0..*pairs).step_by(most.max(1) as usize);
        groups.extend(cuts.map(|first| GroupPlan { irrep, pairs: (pairs - first).min(most) }));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(alpha: u32, class: u32, pairs: &[u32]) -> StringCounts {
        let (shared_bytes, multiprocessors) = (227 << 10, 132);
        let warp = Warp::default();
        let (classes, pairs) = (vec![class], pairs.to_vec());
        StringCounts { alpha, classes, electrons: [7, 7], pairs, shared_bytes, multiprocessors, warp }
    }

    #[test]
    fn fields_lie_in_shared_memory_until_one_tile_does_not_fit() {
        for (class, resident) in [(1, Some(2)), (495, Some(2)), (2000, Some(1)), (75_582, None)] {
            let strings = strings(495, class, &[26, 20, 12, 20]);
            let shape = match FullCiShape::choose(&strings) {
                FullCiShape::Fields(shape) => shape,
                FullCiShape::Slabs(shape) => {
                    assert_eq!((resident, shape.both_warps), (None, 16), "{class}");
                    continue;
                }
            };
            assert_eq!(Some(shape.resident), resident, "{class}");
            let groups = shape.groups(&strings);
            for irrep in 0..4 {
                let found: u32 = groups.iter().filter(|group| group.irrep == irrep).map(|group| group.pairs).sum();
                assert_eq!(found, strings.pairs[irrep as usize], "{class}: every pair once");
            }
            let largest = groups.iter().map(|group| group.pairs.next_multiple_of(shape.pair_tile)).max().unwrap();
            let field = u64::from(largest * class) * 8;
            assert!(field * u64::from(shape.resident) < strings.shared_bytes, "{class}: {field} bytes");
        }
    }

    /// As many warps as shared memory feeds, on large cards and small ones, and the shortest panels of many strings.
    #[test]
    fn slabs_fit_in_shared_memory() {
        for (shared_bytes, pairs, warps) in
            [(227 << 10, 231, 16), (99 << 10, 231, 4), (99 << 10, 60, 8), (163 << 10, 60, 8)]
        {
            let strings = StringCounts { shared_bytes, ..strings(116_280, 116_280, &[pairs]) };
            let shape = SlabShape::choose(&strings);
            assert_eq!((shape.both_warps, shape.panel), (warps, 128), "{shared_bytes} {pairs}");
        }
    }

    #[test]
    fn groups_are_of_one_irrep_each() {
        let cut = grouped(&[5, 0, 4], 4);
        assert_eq!(cut.iter().map(|group| (group.irrep, group.pairs)).collect::<Vec<_>>(), [(0, 4), (0, 1), (2, 4)]);
    }
}
