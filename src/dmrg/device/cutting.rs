//! How an output block is cut into tiles.
//!
//! In: the records of a group, as parts of one matrix. Out: tiles of at most 128 × 128, each as large a part as one block
//! of threads computes, and their predicted times. A block is cut at the edges of its products' parts where that saves
//! more than it costs (site states of the l-1-1-r form), and then into tiles of the best of a few sizes.

use eigenforge_templates::dmrg::{Fragments, GroupedProductsPlan};

/// Cycles of a multiprocessor for 16 terms of one fragment pair of every warp: 16 × 8 × 16 multiply-adds, eight warps, 128
/// a cycle.
const FRAGMENT: f64 = 128.0;
/// Cycles for 16 terms of one row or column to arrive from the second-level cache: 128 bytes of 24.5 a cycle, an H200's
/// 5.5 TB/s over 132 multiprocessors at 1.7 GHz.
const ARRIVAL: f64 = 5.2;
/// The same with 8-byte loads through registers, which hardly overlap with the products (measured: 24.5 TFLOP/s).
const CARRIED: f64 = 10.0;
/// Cycles of a tile beside its slabs.
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
            Loads::Carried => Fragments::of(size[0], size[1]),
            Loads::Streamed => Fragments::of_panels(size[0], size[1]),
        }
    }

    /// Cycles before a stage can begin: matrices that are copied to even strides first.
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
    /// Whether they have an element in common.
    pub fn meets(&self, other: &Rectangle) -> bool {
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

/// Lengths of pieces of at most `most` that make up `length`: even, in multiples of `quantum` but for the last.
fn pieces(length: u32, most: u32, quantum: u32) -> Vec<u32> {
    let (count, quanta) = (length.div_ceil(most), length.div_ceil(quantum));
    let share = |k: u32| (quanta * (k + 1) / count - quanta * k / count) * quantum;
    let mut left = length;
    let mut list = Vec::with_capacity(count as usize);
    for k in (0..count).rev() {
        let piece = share(k).min(left);
        list.push(piece);
        left -= piece;
    }
    list.retain(|piece| *piece > 0);
    list
}

/// Rows are dealt out in whole tiles, the rest in the last one; columns evenly.
fn grid(size: [u32; 2], most: [u32; 2]) -> [Vec<u32>; 2] {
    let [rows, columns] = size;
    let whole = (0..rows / most[0]).map(|_| most[0]);
    let rest = rows % most[0];
    let rows = whole.chain((rest > 0).then_some(rest)).collect();
    let quantum = (8 * (8 / Fragments::of(most[0], 1).warps)).min(most[1]);
    [rows, pieces(columns, most[1], quantum)]
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

/// Cuts a block of `size` into tiles of at most `most` rows and columns; with each its predicted cycles.
pub(super) fn cut(loads: Loads, size: [u32; 2], parts: &[Part], most: u32) -> Vec<(Rectangle, f64)> {
    let whole = vec![Rectangle { first: [0, 0], size }];
    let apart = cells(size, parts);
    let mut best: Option<(f64, Vec<(Rectangle, f64)>)> = None;
    let mut candidates = vec![whole];
    if apart.len() > 1 && apart.len() <= MOST_CELLS {
        candidates.push(apart);
    }
    for cells in &candidates {
        for limits in [[most, most], [most, most / 2], [most / 2, most], [most / 2, most / 2]] {
            let tiles = cut_cells(loads, cells, parts, limits.map(|limit| limit.clamp(16, GroupedProductsPlan::SIDE)));
            let sum = tiles.iter().map(|(_, cycles)| cycles).sum();
            if best.as_ref().is_none_or(|(least, _)| sum < *least) {
                best = Some((sum, tiles));
            }
        }
    }
    best.map(|(_, tiles)| tiles).unwrap_or_default()
}

/// More cells than this are not worth looking at: each would be a few elements.
const MOST_CELLS: usize = 256;

fn cut_cells(loads: Loads, cells: &[Rectangle], parts: &[Part], most: [u32; 2]) -> Vec<(Rectangle, f64)> {
    let mut tiles = Vec::new();
    for cell in cells {
        let slabs = slabs(cell, parts);
        let [rows, columns] = grid(cell.size, most);
        let mut column = cell.first[1];
        for width in columns {
            let mut row = cell.first[0];
            for height in &rows {
                let tile = Rectangle { first: [row, column], size: [*height, width] };
                tiles.push((tile, slabs * loads.slab_cycles(tile.size) + TILE));
                row += height;
            }
            column += width;
        }
    }
    tiles
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
                for (tile, cycles) in cut(Loads::Streamed, size, &parts, most) {
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
        assert_eq!(pieces(300, 128, 16), [112, 96, 92]);
        assert_eq!(pieces(128, 128, 16), [128]);
        assert_eq!(pieces(5, 128, 16), [5]);
        assert_eq!(pieces(129, 128, 16), [80, 49]);
    }
}
