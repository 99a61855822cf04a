//! The parameters of a sparse multiply: every number in its text.
//!
//! A block of threads owns up to `block_rows` rows and keeps their sums in shared memory. It processes the parts one
//! after the other; a part whose columns are in a window of x first loads that window into shared memory, so that its
//! gathers read no sectors of L2. At the end y is written row after row, with the block's share of x·y. A row's terms are
//! always added in the same order.
//!
//! A lane processes `pack` non-zeros at a time and a row has `lanes` lanes, so a warp works on `warp` / `lanes` rows: its
//! *slice*. ELLPACK parts are stored slice by slice and step by step, all lanes of a warp with `pack` elements per step, so that a
//! warp's load is contiguous for any number of lanes; CSR parts are stored row by row, each row padded to whole packs.

use super::NumberKind;
use crate::exact::IndexWord;
use crate::text::Cost;
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the columns of a part are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColumnWord {
    /// 16 bits, relative to the part's first column.
    Absolute16,
    /// 32 bits, relative to the part's first column.
    Absolute32,
    /// 16 bits relative to the previous column in the same lane; each lane of each row begins with a 32-bit column.
    Delta16,
    /// 32 bits: in the lowest the column, relative to the part's first column, and above it the code of the value in the dictionary
    /// of the matrix. Such a part stores no values.
    Coded32,
}

impl ColumnWord {
    /// Bytes of one word.
    pub fn bytes(self) -> u64 {
        match self {
            ColumnWord::Absolute16 | ColumnWord::Delta16 => 2,
            ColumnWord::Absolute32 | ColumnWord::Coded32 => 4,
        }
    }
}

/// How the rows of a part are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RowStorage {
    /// ELLPACK: the same number of steps in every row.
    Ell {
        /// Steps of `lanes` · `pack` elements.
        steps: u32,
    },
    /// Sliced ELLPACK: rows sorted by length within each block; a slice has as many steps as its longest row needs.
    SlicedEll,
    /// Compressed sparse rows with one start per row.
    Csr,
    /// The same for the upper triangle of a symmetric matrix, each element multiplied for its row and for its column
    /// ([`SparsePlan::is_half`]).
    UpperCsr,
}

/// One part of every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartPlan {
    /// How its rows are stored.
    pub storage: RowStorage,
    /// Its columns.
    pub columns: ColumnWord,
    /// Lanes per row: a power of two, at most a warp.
    pub lanes: u32,
    /// Elements that a lane loads at once: 1, 2 or 4.
    pub pack: u32,
    /// Reference of absolute columns.
    pub first_column: u32,
    /// Elements of x, from the first column on, that are loaded to shared memory; 0: x is gathered from memory.
    pub staged: u32,
    /// With several vectors: neighbouring lanes share each non-zero, a pair of the vectors per lane, so that 16 bytes per
    /// lane form one piece of x. Otherwise a lane processes all pairs of its own non-zeros.
    pub shared_by_pairs: bool,
    /// Stored packs, including padding.
    pub packs: u64,
    /// Non-zeros of the matrix in this part.
    pub non_zeros: u64,
}

impl PartPlan {
    /// Rows of a slice.
    pub fn slice_rows(&self, warp: Warp) -> u32 {
        warp.lanes() / self.lanes
    }

    /// Stored elements, including padding.
    pub fn stored(&self) -> u64 {
        self.packs * u64::from(self.pack)
    }

    /// Entries of the table of lane bases, for this many slots of rows; 0 if columns are absolute.
    pub fn bases(&self, rows: u64) -> u64 {
        match self.columns {
            ColumnWord::Delta16 => rows * u64::from(self.lanes),
            ColumnWord::Absolute16 | ColumnWord::Absolute32 | ColumnWord::Coded32 => 0,
        }
    }
}

/// How the cards that work as one device get the elements of x that their rows use: each collects them into memory of its own, and the
/// columns of its rows are counted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaloPlan {
    /// Cards.
    pub cards: u32,
    /// Elements of x that each has room for.
    pub room: u64,
    /// Most elements that one collects.
    pub most: u64,
    /// Entries of the lists of all; 0: each collects all of x, without a list.
    pub listed: u64,
}

/// The distinct values of a matrix with few of them, to which the codes of its elements point; the first is zero, for padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DictionaryPlan {
    /// Distinct numbers, the zero counted.
    pub numbers: u32,
    /// Bits of a word that hold the column; the code is above them.
    pub column_bits: u32,
}

/// Every number of a sparse multiply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparsePlan {
    /// Name of the matrix, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Number type of the stored values.
    pub values: ScalarType,
    /// The kind of numbers of the matrix; x and y hold the parts of each number side by side.
    #[serde(default, skip_serializing_if = "NumberKind::is_real")]
    pub numbers: NumberKind,
    /// The distinct values, where parts have codes in place of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dictionary: Option<DictionaryPlan>,
    /// Number of rows and of columns.
    pub rows: u64,
    /// Vectors multiplied at once, 1 to 8; several are interleaved first, so that the matrix is read once and a gather
    /// finds all of them side by side.
    pub vectors: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks; block b owns rows `block_start[b]..block_start[b + 1]`, which begin at whole warps of rows.
    pub blocks: u32,
    /// Most rows of a block.
    pub block_rows: u32,
    /// Width of row and slice starts.
    pub starts: IndexWord,
    /// The parts of a row, in the order of its columns.
    pub parts: Vec<PartPlan>,
    /// How several cards get x; `None` where the rows read it where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halo: Option<HaloPlan>,
}

impl SparsePlan {
    /// Whether the upper triangle represents a whole symmetric matrix; the text differs then.
    pub fn is_half(&self) -> bool {
        self.parts.iter().any(|part| part.storage == RowStorage::UpperCsr)
    }

    /// Non-zeros of the matrix that are stored.
    pub fn non_zeros(&self) -> u64 {
        self.parts.iter().map(|part| part.non_zeros).sum()
    }

    /// Slots of rows: the rows, padded to whole warps.
    pub fn slots(&self) -> u64 {
        self.rows.next_multiple_of(self.warp.lanes().into())
    }

    /// Entries of a part's table of starts: one per row of CSR, one per slice of sliced ELLPACK, plus one.
    pub fn start_count(&self, part: &PartPlan) -> u64 {
        match part.storage {
            RowStorage::Ell { .. } => 0,
            RowStorage::SlicedEll => self.slots() / u64::from(part.slice_rows(self.warp)) + 1,
            RowStorage::Csr | RowStorage::UpperCsr => self.rows + 1,
        }
    }

    /// Bytes of a stored part, including its tables.
    pub fn part_bytes(&self, part: &PartPlan) -> u64 {
        let value = if part.columns == ColumnWord::Coded32 { 0 } else { self.number_bytes() };
        let element = value + part.columns.bytes();
        let order = if part.storage == RowStorage::SlicedEll { 2 * self.slots() } else { 0 };
        part.stored() * element
            + self.start_count(part) * self.starts.bytes() as u64
            + 4 * part.bases(self.slots())
            + order
    }

    /// Real parts of a number.
    pub fn number_parts(&self) -> u64 {
        self.numbers.parts() as u64
    }

    /// Bytes of a stored value.
    pub fn number_bytes(&self) -> u64 {
        self.number_parts() * self.values.bytes() as u64
    }

    /// Elements of a vector: the real parts of its numbers.
    pub fn vector_length(&self) -> u64 {
        self.rows * self.number_parts()
    }

    /// Bytes of the distinct values, where elements have codes.
    pub fn dictionary_bytes(&self) -> u64 {
        self.dictionary.map_or(0, |dictionary| u64::from(dictionary.numbers) * self.number_bytes())
    }

    /// Bytes of the whole stored matrix; for half of a matrix, including the integer sums.
    pub fn matrix_bytes(&self) -> u64 {
        let sums = if self.is_half() { 8 * self.rows } else { 0 };
        self.parts.iter().map(|part| self.part_bytes(part)).sum::<u64>() + self.dictionary_bytes() + sums
    }

    /// The stored matrix read once, x read once and y written once; two operations per non-zero and vector, four if it
    /// represents two; of complex numbers 8, of quaternions 32.
    pub fn cost(&self) -> Cost {
        let vectors = f64::from(self.vectors);
        let each = if self.is_half() { 4.0 } else { self.numbers.product_flops() as f64 };
        Cost {
            flops: each * vectors * self.non_zeros() as f64,
            bytes: self.matrix_bytes() as f64
                + 2.0 * vectors * self.vector_length() as f64 * self.scalar.bytes() as f64,
        }
    }

    /// Real numbers per row of interleaved vectors: a power of two, padded with zeros, so that pieces of 16 bytes are aligned.
    pub fn width(&self) -> u32 {
        self.vectors.max(1).next_power_of_two() * self.numbers.parts() as u32
    }

    /// Elements of x as the multiply reads them: interleaved, and for each of several cards.
    pub fn collected(&self) -> u64 {
        let rows = self.halo.map_or(self.rows, |halo| halo.room * u64::from(halo.cards));
        rows * u64::from(self.width())
    }

    /// Pairs of vectors, or of parts of a row's numbers.
    pub fn pairs(&self) -> u32 {
        (self.width() / 2).max(1)
    }

    /// Whether the lanes of a part share non-zeros: a row needs one lane per pair, and its lanes advance together.
    pub fn shares(&self, part: &PartPlan) -> bool {
        let several = self.vectors > 1 && self.numbers.is_real();
        part.shared_by_pairs && several && part.lanes >= self.pairs() && part.storage != RowStorage::Csr
    }

    /// Bytes of shared memory for the window of x, in multiples of 16.
    pub fn window_bytes(&self) -> u64 {
        let widest = self.parts.iter().map(|part| u64::from(part.staged)).max().unwrap_or(0);
        (widest * u64::from(self.width()) * self.scalar.bytes() as u64).next_multiple_of(16)
    }

    /// Dynamic shared memory of a block: the window of x, and the sums of its rows.
    pub fn shared_bytes(&self) -> u64 {
        if self.is_half() {
            return 0;
        }
        self.window_bytes() + 8 * u64::from(self.block_rows) * u64::from(self.width())
    }

    /// Shared memory declared in the text: the warps' shares of x·y.
    pub fn scratch_bytes(&self) -> u64 {
        8 * u64::from(self.threads / self.warp.lanes()) * u64::from(self.vectors)
    }

    /// The same matrix for another number of vectors at once. Windows and sums grow with it.
    pub fn with_vectors(&self, vectors: u32) -> SparsePlan {
        SparsePlan { vectors, ..self.clone() }
    }
}

impl fmt::Display for PartPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.storage {
            RowStorage::Ell { steps } => write!(f, "ELLPACK of {} elements a row", steps * self.lanes * self.pack)?,
            RowStorage::SlicedEll => write!(f, "sliced ELLPACK")?,
            RowStorage::Csr => write!(f, "CSR")?,
            RowStorage::UpperCsr => write!(f, "CSR of the upper triangle")?,
        }
        let columns = match self.columns {
            ColumnWord::Absolute16 => "16-bit columns",
            ColumnWord::Absolute32 => "32-bit columns",
            ColumnWord::Delta16 => "16-bit column steps",
            ColumnWord::Coded32 => "32 bits for column and code of the value",
        };
        let lanes = if self.lanes == 1 { "1 lane".into() } else { format!("{} lanes", self.lanes) };
        write!(f, ", {lanes} x {} a row, {columns}", self.pack)?;
        if self.staged > 0 {
            let end = u64::from(self.first_column) + u64::from(self.staged);
            write!(f, ", x[{}..{end}] in shared memory", self.first_column)?;
        }
        Ok(())
    }
}

impl fmt::Display for SparsePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts.iter().map(PartPlan::to_string).collect();
        write!(f, "{}; {} blocks of {} threads", parts.join("; "), self.blocks, self.threads)?;
        if !self.numbers.is_real() {
            write!(f, "; {} numbers of {} bytes", self.numbers, self.number_bytes())?;
        }
        self.dictionary.map_or(Ok(()), |dictionary| write!(f, "; {} distinct values", dictionary.numbers - 1))
    }
}
