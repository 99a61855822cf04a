//! The division of a matrix into parts and blocks: chosen in [`super::choose`] and carried out in [`super::hybrid`].

use super::Csr;
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::{Card, Machine};
use eigenforge_templates::Warp;
use eigenforge_templates::sparse::ColumnWord;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// A format with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The first BOUNDARY non-zeros of each row in ELLPACK, the others in CSR (Mahmoud, Hoffmann, Reza 2018, Algorithm
    /// 6).
    Hybrid {
        /// Most non-zeros of a row in the ELLPACK part.
        boundary: u32,
    },
    /// Compressed sparse rows.
    Csr,
    /// Sliced ELLPACK, rows sorted by length within each block (SELL-C-σ with σ the rows of a block).
    SlicedEll,
    /// The leading columns in windows that fit shared memory, one part each; the columns after them in one more part.
    Panels {
        /// Columns of a window.
        width: u32,
        /// Windows.
        windows: u32,
    },
    /// The upper triangle of a symmetric matrix in compressed sparse rows, instead of the whole.
    Symmetric,
}

impl Format {
    /// Its name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Format::Hybrid { .. } => "hybrid",
            Format::Csr => "csr",
            Format::SlicedEll => "sliced-ell",
            Format::Panels { .. } => "panels",
            Format::Symmetric => "symmetric",
        }
    }
}

/// Reports name a format as they print it.
impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
        let text = String::deserialize(deserializer)?;
        Format::printed_as(&text).ok_or_else(|| de::Error::custom(format!("{text:?} is no format of a matrix")))
    }
}

impl Format {
    /// The format that prints this.
    fn printed_as(text: &str) -> Option<Format> {
        Some(match text {
            "CSR" => Format::Csr,
            "sliced ELLPACK" => Format::SlicedEll,
            "symmetric half" => Format::Symmetric,
            _ => match text.strip_prefix("hybrid ELLPACK + CSR, BOUNDARY ") {
                Some(boundary) => Format::Hybrid { boundary: boundary.parse().ok()? },
                None => {
                    let (windows, width) = text.strip_suffix(" columns")?.split_once(" panels of ")?;
                    Format::Panels { width: width.parse().ok()?, windows: windows.parse().ok()? }
                }
            },
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Format::Hybrid { boundary } => write!(f, "hybrid ELLPACK + CSR, BOUNDARY {boundary}"),
            Format::Csr => write!(f, "CSR"),
            Format::SlicedEll => write!(f, "sliced ELLPACK"),
            Format::Panels { width, windows } => write!(f, "{windows} panels of {width} columns"),
            Format::Symmetric => write!(f, "symmetric half"),
        }
    }
}

/// Where a part of a row ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowCut {
    /// After this many non-zeros.
    Entries(u32),
    /// Before this column.
    Column(u32),
    /// At the end of the row.
    End,
}

/// How the rows of a part are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// As wide as the longest row.
    Ell,
    /// As wide as the longest row of each slice.
    SlicedEll,
    /// Row after row.
    Csr,
    /// Row after row from the diagonal on, for a symmetric matrix; then the only part.
    UpperCsr,
}

/// One part of every row, starting where the previous part ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLayout {
    /// Where it ends.
    pub cut: RowCut,
    /// How it is stored.
    pub storage: StorageKind,
    /// How its columns are written; [`ColumnWord::Coded32`] if they have codes in place of values.
    pub columns: ColumnWord,
    /// Lanes per row.
    pub lanes: u32,
    /// Elements that a lane loads at once.
    pub pack: u32,
    /// Reference of absolute columns.
    pub first_column: u32,
    /// Elements of x in shared memory, from the first column on.
    pub staged: u32,
    /// With several vectors, whether neighbouring lanes share each non-zero, a pair of vectors per lane.
    pub shared_by_pairs: bool,
    /// Remainders of columns that adjacent lanes take in turn, so that their pieces of x are in different banks of shared
    /// memory; 1: non-zeros stay in column order, which steps between columns require.
    pub residues: u32,
}

impl PartLayout {
    /// A part that gathers x from memory.
    pub fn new(cut: RowCut, storage: StorageKind, columns: ColumnWord, lanes: u32, pack: u32) -> PartLayout {
        PartLayout {
            cut,
            storage,
            columns,
            lanes,
            pack,
            first_column: 0,
            staged: 0,
            shared_by_pairs: false,
            residues: 1,
        }
    }
}

/// Parts and blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The width of a warp.
    pub warp: Warp,
    /// The parts, by column.
    pub parts: Vec<PartLayout>,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that share the non-zeros evenly; more if `most_rows` requires it.
    pub blocks: u32,
    /// Most rows of a block.
    pub most_rows: u32,
}

impl Layout {
    /// Whether the upper triangle represents a whole symmetric matrix.
    pub fn is_half(&self) -> bool {
        self.parts.iter().any(|part| part.storage == StorageKind::UpperCsr)
    }

    /// The non-zeros of a row in part `number`, as a range within the row.
    pub fn range(&self, columns: &[u32], number: usize) -> std::ops::Range<usize> {
        let mut start = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let end = match part.cut {
                RowCut::Entries(count) => columns.len().min(start + count as usize),
                RowCut::Column(column) => start + columns[start..].partition_point(|found| *found < column),
                RowCut::End => columns.len(),
            };
            if at == number {
                return start..end;
            }
            start = end;
        }
        columns.len()..columns.len()
    }

    /// The same parts with half and twice the lanes, and with other threads a block.
    pub fn variants(&self) -> Vec<Layout> {
        let lanes = |scale: &dyn Fn(u32) -> u32| {
            let mut layout = self.clone();
            layout.parts.iter_mut().for_each(|part| part.lanes = scale(part.lanes).clamp(1, self.warp.lanes()));
            layout
        };
        let threads = |threads: u32| Layout { threads, ..self.clone() };
        let fewer = self.threads / 2 / self.warp.lanes() * self.warp.lanes();
        let all = [
            lanes(&|lanes| lanes * 2),
            lanes(&|lanes| lanes / 2),
            threads(fewer.max(64)),
            threads((2 * self.threads).min(1024)),
        ];
        all.into_iter().filter(|other| other != self).collect()
    }

    /// Blocks begin at multiples of this many rows: those of the widest slice.
    pub fn granule(&self) -> usize {
        let warp = self.warp.lanes();
        self.parts.iter().map(|part| warp / part.lanes.clamp(1, warp)).max().unwrap_or(warp) as usize
    }

    /// First row of each block, in multiples of [`Layout::granule`], followed by the number of rows. Blocks share the
    /// non-zeros as evenly as that allows.
    pub fn block_start(&self, matrix: &Csr) -> Vec<u32> {
        // A row has a cost of its own: its start, its sum, its y.
        const ROW_WEIGHT: u64 = 4;
        let rows = matrix.rows();
        let weight = |row: usize| matrix.row_start()[row] + ROW_WEIGHT * row as u64;
        let (total, blocks) = (u128::from(weight(rows)), u128::from(self.blocks.max(1)));
        let (mut starts, mut end, granule) = (vec![0u32], 0usize, self.granule());
        while end < rows {
            let first = starts[starts.len() - 1] as usize;
            end = (end + granule).min(rows);
            let done = end == rows;
            let full = end - first + granule > self.most_rows as usize;
            let share = u128::from(weight(end)) * blocks >= total * starts.len() as u128;
            if done || full || share {
                starts.push(end as u32);
            }
        }
        starts
    }
}

/// What a layout depends on: the card, and the memory available for the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The width of its warps.
    pub warp: Warp,
    /// The card's shape and rates.
    pub card: Card,
    /// Bytes that the matrix may take.
    pub free_bytes: u64,
}

impl Target {
    /// One H200, all of whose memory is free.
    pub const H200: Target = Target::all_of(Card::H200);

    /// A card, which need not be present, all of whose memory is free.
    pub const fn all_of(card: Card) -> Target {
        Target { warp: Warp::NVIDIA, card, free_bytes: card.memory_bytes }
    }

    /// A device, all of whose free memory the matrix may take; without a card, the card is an H200.
    pub fn new(device: &Device) -> Target {
        let card = Machine::new(device).card.map_or(Card::H200, |card| card.values);
        Target { warp: device.warp(), card, free_bytes: device.memory().free }
    }

    /// This target with `bytes` of its memory reserved for others.
    pub fn reserve(self, bytes: u64) -> Target {
        Target { free_bytes: self.free_bytes.saturating_sub(bytes), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(cut: RowCut) -> PartLayout {
        PartLayout::new(cut, StorageKind::Csr, ColumnWord::Absolute32, 1, 1)
    }

    #[test]
    fn the_parts_of_a_row_are_the_row() {
        let parts = vec![part(RowCut::Entries(2)), part(RowCut::Column(9)), part(RowCut::End)];
        let layout = Layout { warp: Warp::default(), parts, threads: 32, blocks: 1, most_rows: 32 };
        let ranges = |columns: &[u32]| [0, 1, 2].map(|number| layout.range(columns, number));
        assert_eq!(ranges(&[1, 3, 5, 8, 9, 20]), [0..2, 2..4, 4..6]);
        assert_eq!(ranges(&[1]), [0..1, 1..1, 1..1]);
        assert_eq!(ranges(&[]), [0..0, 0..0, 0..0]);
        assert_eq!(ranges(&[10, 11, 12]), [0..2, 2..2, 2..3]);
    }

    #[test]
    fn blocks_share_the_non_zeros() {
        // 320 rows; the first 32 have 10 non-zeros each, the others none.
        let row_start: Vec<u64> = (0..=320u64).map(|row| 10 * row.min(32)).collect();
        let columns: Vec<u32> = (0..320u32).map(|k| k % 10).collect();
        let matrix = Csr::new(row_start, columns, vec![1.0; 320]).unwrap();
        let layout = |blocks, most_rows| Layout {
            warp: Warp::default(),
            parts: vec![part(RowCut::End)],
            threads: 32,
            blocks,
            most_rows,
        };
        assert_eq!(layout(4, 320).block_start(&matrix), [0, 32, 128, 224, 320]);
        assert_eq!(layout(1, 320).block_start(&matrix), [0, 320]);
        assert_eq!(layout(1, 128).block_start(&matrix), [0, 128, 256, 320]);
        let none = Csr::new(vec![0], vec![], vec![]).unwrap();
        assert_eq!(layout(4, 320).block_start(&none), [0]);
    }
}
