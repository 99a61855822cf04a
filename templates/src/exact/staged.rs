//! The general multiply with columns in shared memory.
//!
//! A column is the states with one high part h; columns with the same low parts l are a class, and their rows are numbered alike.
//! By what a term does to both parts it belongs to one of three lists, each made once on the host:
//!
//! ```text
//! terms ─┬─ within the low part: a sparse matrix of the class, packed as in the Kronecker sum; a block gathers from its
//! │      │  columns in shared memory, all of which use the same indices
//! │      ├─ leave the low part alone: whole columns, added to others row by row (in a kernel of their own if `split`)
//! │      └─ across: a column, and for each row of the class its partner there (the low half of the term, a "factor")
//! └─ diagonal: a number for each low part, one for each high part, and what couples both
//! ```
//!
//! Reads that are not from shared memory are contiguous along the rows of a warp, or nearly so.

use super::coefficients::CoefficientWriter;
use super::kronecker::SpeciesView;
use super::{Amplitudes, DiagonalPlan, GeneralPlan, IndexWord, UP_ZEROS};
use crate::files;
use crate::launch::{Access, Element, Parameter};
use crate::prototype::{Declarations, Prototype};
use crate::text::part;
use serde::{Deserialize, Serialize};

/// Bits of the place of an element in x; the number of its amplitude is above.
pub const PLACE_BITS: u32 = 48;
/// Rows of a tile of the kernel that adds whole columns, and its threads.
const TILE_ROWS: u64 = 128;
/// Columns that a block of that kernel serves, one after the other.
const TILE_COLUMNS: u64 = 4;
/// Most blocks of that kernel: more work in turn.
const TILE_BLOCKS: u64 = 1 << 13;

/// A list of matrix elements: where x is read, and the number of the amplitude.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ElementList {
    /// Words of the list, padding included; 0 if there is none.
    pub words: u64,
    /// Bits of the place.
    pub index_bits: u32,
    /// Their type.
    pub word: IndexWord,
    /// The distinct amplitudes.
    pub amplitudes: Amplitudes,
}

impl ElementList {
    /// Where the number of the amplitude stands: in the top bit if it is only a sign.
    pub fn number_shift(&self) -> u32 {
        match self.amplitudes {
            Amplitudes::Signed(_) => 8 * self.word.bytes() as u32 - 1,
            _ => self.index_bits,
        }
    }
}

/// The lists of a model: lengths of the tables, and what of them the text needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnLists {
    /// Columns of each class.
    pub classes: Vec<u64>,
    /// Rows of the longest column.
    pub longest: u64,
    /// Slices of 32 rows, of all classes together.
    pub slices: u64,
    /// Elements within the low part: places in the column.
    pub low: ElementList,
    /// Elements that leave the low part alone: places of columns in x.
    pub whole: ElementList,
    /// Elements across: places of columns in x, to which the factor adds a row.
    pub cross: ElementList,
    /// Distinct factors of the elements across.
    pub factors: u64,
    /// Type of a factor's rows: the top bit is a sign, all other bits set mean that the factor gives zero.
    pub factor_word: IndexWord,
    /// Whether some factor has signs.
    pub factor_signs: bool,
}

impl ColumnLists {
    /// Tasks of blocks that take this many columns of a class at a time.
    pub fn tasks(&self, columns: u32) -> u64 {
        self.classes.iter().map(|of_class| of_class.div_ceil(u64::from(columns))).sum()
    }

    /// Elements from one column to the next in shared memory: the longest and its zeros.
    fn stride(&self) -> u64 {
        self.longest + UP_ZEROS
    }

    /// Shared memory of a block.
    pub fn shared_bytes(&self, columns: u32, value_bytes: u64) -> u64 {
        u64::from(columns) * self.stride() * value_bytes
    }

    /// Tiles of the longest column, and groups of columns that share a block.
    fn tiles(&self) -> [u64; 2] {
        let columns: u64 = self.classes.iter().sum();
        [self.longest.div_ceil(TILE_ROWS), columns.div_ceil(TILE_COLUMNS)]
    }

    /// Blocks of the kernel that adds whole columns.
    pub(super) fn whole_blocks(&self) -> u64 {
        self.tiles().iter().product::<u64>().clamp(1, TILE_BLOCKS)
    }

    /// Threads of that kernel.
    pub(super) fn whole_threads(&self) -> u32 {
        TILE_ROWS as u32
    }
}

/// A list as parameters of a kernel: where the elements of each column begin, and the words.
fn list_parameters(name: &str, list: &ElementList, columns: u64) -> [Parameter; 2] {
    [
        Parameter::table(format!("{name}_start"), Element::U32, columns + 1),
        Parameter::table(format!("{name}_words"), list.word.element(), list.words),
    ]
}

impl GeneralPlan {
    /// The part of the diagonal that couples both parts of a word.
    fn cross_diagonal(&self) -> DiagonalPlan {
        let [_, _, cross] = self.diagonal.split(self.low_bits);
        cross
    }

    /// The kernels of a block of columns: `multiply`, and `multiply_whole` if it is apart.
    pub(super) fn staged_kernels(&self, lists: &ColumnLists, columns: u32, split: bool) -> Vec<Prototype> {
        let vectors = |y| {
            vec![
                Parameter::values("x", self.scalar, Access::In, self.dimension),
                Parameter::values("y", self.scalar, y, self.dimension),
                Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            ]
        };
        let apart = split && lists.whole.words > 0;
        let whole = list_parameters("whole", &lists.whole, self.parts);
        let mut first = vectors(Access::Out);
        first.push(Parameter::table("task_column", Element::U32, lists.tasks(columns) * u64::from(columns)));
        first.extend(self.state_tables());
        first.extend([
            Parameter::table("low_diagonal", Element::F64, self.low_states),
            Parameter::table("high_diagonal", Element::F64, self.parts),
        ]);
        if lists.low.words > 0 {
            first.extend([
                Parameter::table("part_slice", Element::U32, self.parts),
                Parameter::table("slice_start", Element::U32, lists.slices + 1),
                Parameter::table("neighbours", lists.low.word.element(), lists.low.words),
            ]);
        }
        if lists.whole.words > 0 && !apart {
            first.extend(whole.clone());
        }
        if lists.cross.words > 0 {
            first.extend(list_parameters("cross", &lists.cross, self.parts));
            first.extend([
                Parameter::table("cross_factor", Element::U32, lists.cross.words),
                Parameter::table("factor_row", lists.factor_word.element(), lists.factors * self.low_states),
            ]);
        }
        first.extend(self.coefficient_table());
        let mut kernels = vec![Prototype::new("multiply", first)];
        if apart {
            let mut second = vectors(Access::InOut);
            second.extend([
                Parameter::table("column_order", Element::U32, self.parts),
                Parameter::table("part_start", Element::U64, self.parts),
            ]);
            second.extend(whole);
            second.extend(self.coefficient_table());
            kernels.push(Prototype::new("multiply_whole", second));
        }
        kernels
    }

    /// The kernels' text.
    pub(super) fn staged_text(
        &self,
        (columns, split): (u32, bool),
        kernels: &Declarations,
        coefficients: &CoefficientWriter<'_>,
    ) -> String {
        #[derive(Serialize)]
        struct View<'a> {
            kernels: &'a Declarations,
            passed: String,
            parts: u64,
            low_states: u64,
            tasks: u64,
            columns: u32,
            stride: u64,
            zeros: u64,
            /// The part of the diagonal that couples both parts of a word, if there is one.
            diagonal: Option<String>,
            has_low: bool,
            has_whole: bool,
            has_cross: bool,
            low: SpeciesView,
            whole: &'a SpeciesView,
            cross: SpeciesView,
            apart: bool,
            whole_kernel: String,
            factor_word: &'static str,
            factor_signs: bool,
            /// All bits of a factor's row but the sign.
            row_mask: String,
            /// Its blocks on a multiprocessor, for which it leaves registers.
            resident: u32,
        }
        let Some(lists) = &self.lists else { unreachable!("a staged plan has lists") };
        let view_of = |list: &ElementList, label| {
            SpeciesView::of(list.word, list.index_bits, &list.amplitudes, label, coefficients)
        };
        let cross = self.cross_diagonal();
        let factor_bits = 8 * lists.factor_word.bytes() as u32;
        let (low, whole) = (view_of(&lists.low, "LOW"), view_of(&lists.whole, "WHOLE"));
        let apart = split && lists.whole.words > 0;
        let view = View {
            kernels,
            passed: coefficients.passed(),
            parts: self.parts,
            low_states: self.low_states,
            tasks: lists.tasks(columns),
            columns,
            stride: lists.stride(),
            zeros: UP_ZEROS,
            diagonal: (!cross.is_constant()).then(|| cross.function(super::diagonal::Words::Whole, coefficients)),
            has_low: lists.low.words > 0,
            has_whole: lists.whole.words > 0,
            has_cross: lists.cross.words > 0,
            whole_kernel: if apart { self.whole_text(lists, kernels, &whole) } else { String::new() },
            low,
            whole: &whole,
            cross: view_of(&lists.cross, "CROSS"),
            apart,
            factor_word: lists.factor_word.cuda(),
            factor_signs: lists.factor_signs,
            row_mask: format!("{:#x}", (1u64 << (factor_bits - 1)) - 1),
            resident: if self.shape.threads > 512 { 2 } else { 1024 / self.shape.threads },
        };
        part(files::GENERAL_STAGED, &view)
    }

    /// The kernel that adds whole columns.
    fn whole_text(&self, lists: &ColumnLists, kernels: &Declarations, whole: &SpeciesView) -> String {
        #[derive(Serialize)]
        struct View<'a> {
            kernels: &'a Declarations,
            whole: &'a SpeciesView,
            tile_rows: u64,
            tile_columns: u64,
            tiles: u64,
            groups: u64,
            /// Blocks of the first kernel.
            blocks: u32,
        }
        let [tiles, groups] = lists.tiles();
        let (tile_rows, tile_columns, blocks) = (TILE_ROWS, TILE_COLUMNS, self.shape.blocks);
        part(files::GENERAL_WHOLE, &View { kernels, whole, tile_rows, tile_columns, tiles, groups, blocks })
    }
}
