//! How an output block is cut into tiles.
//!
//! In: the records of a group, as parts of one matrix. Out: tiles of at most 128 × 128, each as large a part as one block
//! of threads computes, and their predicted times. A block is cut at the edges of its products' parts where that saves
//! more than it costs (site states of the l-1-1-r form), and then into tiles of the best of a few sizes.

use eigenforge_templates::dmrg::{Fragments, GroupedProductsPlan};

/// Cycles of a multiprocessor for 16 terms of one fragment pair of every warp: 16 × 8 × 16 multiply-adds, eight warps,
/// 128 per cycle.
const FRAGMENT: f64 = 128.0;
/// Cycles for 16 terms of one row or column to arrive from the second-level cache: 128 bytes at 24.5 per cycle, an H200's
/// 5.5 TB/s over 132 multiprocessors at 1.7 GHz. Not a rate of the machine: streams exist only on cards of compute
/// capability 9.0.
const ARRIVAL: f64 = 5.2;
/// The same with 8-byte loads through registers, which hardly overlap with the products (measured: 24.5 TFLOP/s).
const CARRIED: f64 = 10.0;
/// Cycles of a tile in addition to its slabs.
const TILE: f64 = 1500.0;

/// How operands come to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loads {
    /// Through registers: any matrix.
    Carried,
    /// By the tensor memory accelerator: even first elements and strides.
    Streamed,
}

impl Loads {
    /// How warps share a tile.
    pub(super) fn fragments(self, size: [u32; 2]) -> Fragments {
        match self {
            Loads::Carried => Fragments::covering(size[0], size[1]),
            Loads::Streamed => Fragments::of_panels(size[0], size[1]),
        }
    }

    /// Cycles before a stage can begin, when matrices are first copied to even strides.
    pub(super) fn preparation(self) -> f64 {
        match self {
            Loads::Carried => 0.0,
            Loads::Streamed => 12_000.0,
        }
    }

    /// Predicted cycles of one slab of 16 terms of a tile.
    fn slab_cycles(self, size: [u32; 2]) -> f64 {
        let fragments = self.fragments(size);
        let products = FRAGMENT * f64::from(fragments.down * fragments.across);
        let lines = f64::from(size[0] + size[1]);
        match self {
            // Barrier, addresses.
            Loads::Carried => products + CARRIED * lines + 250.0,
            Loads::Streamed => products.max(ARRIVAL * lines) + 175.0,
        }
    }
}

/// A rectangle of an output block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rectangle {
    /// First row and column.
    pub first: [u32; 2],
    /// Rows and columns.
    pub size: [u32; 2],
}

impl Rectangle {
    /// Whether the rectangles overlap.
    pub(super) fn meets(&self, other: &Rectangle) -> bool {
        (0..2).all(|side| {
            let (a, b) = (self.first[side], other.first[side]);
            a < b + other.size[side] && b < a + self.size[side]
        })
    }
}

/// The part of a product, and the length of its sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub place: Rectangle,
    pub inner: u32,
}

/// Slabs of 16 terms of all products that touch a rectangle.
fn slabs(rectangle: &Rectangle, parts: &[Part]) -> f64 {
    let touching = parts.iter().filter(|part| part.place.meets(rectangle));
    touching.map(|part| f64::from(part.inner.div_ceil(16))).sum()
}

/// Lengths of pieces that add up to `length`: at most `most`, even, and multiples of `quantum` except the last.
fn pieces(length: u32, most: u32, quantum: u32) -> impl Iterator<Item = u32> {
    let (count, quanta, mut left) = (length.div_ceil(most), length.div_ceil(quantum), length);
    let share = move |k: u32| (quanta * (k + 1) / count - quanta * k / count) * quantum;
    let piece = move |k: u32| {
        let piece = share(k).min(left);
        left -= piece;
        piece
    };
    (0..count).rev().map(piece).filter(|piece| *piece > 0)
}

/// Columns are divided evenly.
fn widths(columns: u32, most: [u32; 2]) -> impl Iterator<Item = u32> {
    let quantum = (8 * (8 / Fragments::covering(most[0], 1).warps)).min(most[1]);
    pieces(columns, most[1], quantum)
}

/// Rows are divided into full tiles, with the rest in the last: heights and their counts.
fn heights(rows: u32, most: u32) -> impl Iterator<Item = (u32, u32)> {
    [(most, rows / most), (rows % most, 1)].into_iter().filter(|(height, times)| height * times > 0)
}

/// Boundaries of an output block along one side: its ends, and the edges of parts.
fn edges(side: usize, length: u32, parts: &[Part]) -> Vec<u32> {
    let ends = |part: &Part| [part.place.first[side], part.place.first[side] + part.place.size[side]];
    let mut edges: Vec<u32> = parts.iter().flat_map(ends).chain([0, length]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Rectangles between boundaries.
fn cells(size: [u32; 2], parts: &[Part]) -> Vec<Rectangle> {
    let (rows, columns) = (edges(0, size[0], parts), edges(1, size[1], parts));
    let mut cells = Vec::with_capacity((rows.len() - 1) * (columns.len() - 1));
    for c in columns.windows(2) {
        cells.extend(rows.windows(2).map(|r| Rectangle { first: [r[0], c[0]], size: [r[1] - r[0], c[1] - c[0]] }));
    }
    cells
}

/// More cells than this are not considered: each would have a few elements.
const MOST_CELLS: usize = 256;

/// An output block before it is cut: the edges it can be cut along, and the slabs of 16 terms that touch each cell.
pub(super) struct Uncut {
    ways: [Vec<(Rectangle, f64)>; 2],
}

/// A way to cut a block, and the predicted cost of its tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    loads: Loads,
    way: usize,
    most: [u32; 2],
    cost: Cost,
}

/// Cycles of tiles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Sum over tiles.
    pub sum: f64,
    /// The longest tile.
    pub longest: f64,
    /// Number of tiles.
    pub tiles: u32,
}

impl Cost {
    /// The cost of both together.
    pub(super) fn combined(self, other: Cost) -> Cost {
        let (sum, tiles) = (self.sum + other.sum, self.tiles + other.tiles);
        Cost { sum, longest: self.longest.max(other.longest), tiles }
    }

    /// The cost of a cell in tiles of at most `most` rows and columns. Allocates nothing: a stage calls this some ten
    /// thousand times.
    fn new(loads: Loads, size: [u32; 2], slabs: f64, most: [u32; 2]) -> Cost {
        let mut cost = Cost::default();
        for width in widths(size[1], most) {
            for (height, times) in heights(size[0], most[0]) {
                let cycles = slabs * loads.slab_cycles([height, width]) + TILE;
                cost = cost.combined(Cost { sum: cycles * f64::from(times), longest: cycles, tiles: times });
            }
        }
        cost
    }
}

impl Uncut {
    /// A block of `size` with the parts of its products.
    pub(super) fn new(size: [u32; 2], parts: &[Part]) -> Uncut {
        let counted = |cell: Rectangle| (cell, slabs(&cell, parts));
        let apart = cells(size, parts);
        let apart = if apart.len() > 1 && apart.len() <= MOST_CELLS { apart } else { Vec::new() };
        let whole = vec![counted(Rectangle { first: [0, 0], size })];
        Uncut { ways: [whole, apart.into_iter().map(counted).collect()] }
    }

    /// The cheapest of a few ways to cut, with tiles of at most `most` rows and columns.
    pub(super) fn cheapest(&self, loads: Loads, most: u32) -> Choice {
        let half = most / 2;
        let limits = [[most, most], [most, half], [half, most], [half, half]];
        let limits = limits.map(|most| most.map(|limit| limit.clamp(16, GroupedProductsPlan::SIDE)));
        let mut best: Option<Choice> = None;
        for (way, cells) in self.ways.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            let mut costs = [Cost::default(); 4];
            for (Rectangle { size, .. }, slabs) in cells {
                // Small cells are not cut, whatever the limit.
                if size.iter().zip(limits[3]).all(|(length, least)| *length <= least) {
                    let cost = Cost::new(loads, *size, *slabs, limits[3]);
                    costs = costs.map(|sum| sum.combined(cost));
                    continue;
                }
                for (sum, most) in costs.iter_mut().zip(limits) {
                    *sum = sum.combined(Cost::new(loads, *size, *slabs, most));
                }
            }
            for (cost, most) in costs.into_iter().zip(limits) {
                if best.as_ref().is_none_or(|best| cost.sum < best.cost.sum) {
                    best = Some(Choice { loads, way, most, cost });
                }
            }
        }
        best.expect("a block as a whole is one way to cut it")
    }

    /// The tiles with their predicted cycles.
    pub(super) fn tiles(&self, choice: Choice) -> Vec<(Rectangle, f64)> {
        let Choice { loads, way, most, cost } = choice;
        let mut tiles = Vec::with_capacity(cost.tiles as usize);
        for (cell, slabs) in &self.ways[way] {
            let mut column = cell.first[1];
            for width in widths(cell.size[1], most) {
                let mut row = cell.first[0];
                for height in heights(cell.size[0], most[0]).flat_map(|(height, times)| (0..times).map(move |_| height))
                {
                    let tile = Rectangle { first: [row, column], size: [height, width] };
                    tiles.push((tile, slabs * loads.slab_cycles(tile.size) + TILE));
                    row += height;
                }
                column += width;
            }
        }
        tiles
    }
}

impl Choice {
    /// Predicted cycles.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_element_once() {
        let mut state = 7u64;
        let mut below = |most: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            1 + (state >> 33) as u32 % most
        };
        for _ in 0..200 {
            let size = [below(300), below(300)];
            let parts: Vec<Part> = (0..below(4))
                .map(|_| {
                    let first = size.map(|length| below(length) - 1);
                    let part = [0, 1].map(|side| below(size[side] - first[side]));
                    Part { place: Rectangle { first, size: part }, inner: below(200) }
                })
                .collect();
            for most in [128, 64, 32] {
                let mut seen = vec![0u8; (size[0] * size[1]) as usize];
                let uncut = Uncut::new(size, &parts);
                let choice = uncut.cheapest(Loads::Streamed, most);
                let (tiles, cost) = (uncut.tiles(choice), choice.cost());
                let sum: f64 = tiles.iter().map(|(_, cycles)| cycles).sum();
                let longest = tiles.iter().map(|(_, cycles)| *cycles).fold(0.0, f64::max);
                assert!((sum / cost.sum - 1.0).abs() < 1e-12 && longest == cost.longest, "{cost:?}, {sum}, {longest}");
                assert_eq!(tiles.len(), cost.tiles as usize);
                for (tile, cycles) in tiles {
                    assert!(tile.size.iter().all(|side| (1..=most).contains(side)) && cycles > 0.0, "{tile:?}");
                    for c in tile.first[1]..tile.first[1] + tile.size[1] {
                        for r in tile.first[0]..tile.first[0] + tile.size[0] {
                            seen[(r + c * size[0]) as usize] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|times| *times == 1), "{size:?} {most}");
            }
        }
    }

    #[test]
    fn pieces_are_even_and_whole() {
        assert_eq!(pieces(300, 128, 16).collect::<Vec<_>>(), [112, 96, 92]);
        assert_eq!(pieces(128, 128, 16).collect::<Vec<_>>(), [128]);
        assert_eq!(pieces(5, 128, 16).collect::<Vec<_>>(), [5]);
        assert_eq!(pieces(129, 128, 16).collect::<Vec<_>>(), [80, 49]);
    }
}
