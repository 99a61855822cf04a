//! The general multiply with columns in shared memory.
//!
//! A column is the states with one high part h; columns with the same low parts l are a class, and their rows are numbered alike.
//! By what a term does to both parts it belongs to one of three lists, each made once on the host:
//!
//! ```text
//! terms ─┬─ within the low part: a sparse matrix of the class, packed as in the Kronecker sum; a block gathers from its
//! │      │  columns in shared memory, all of which use the same indices. Of complex vectors the real and the imaginary parts of a
//! │      │  column share a block, and imaginary elements, in a list of their own, take from one and add to the other
//! │      ├─ leave the low part alone: whole columns, added to others row by row
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
    /// Columns of each class; of complex vectors pairs of them.
    pub classes: Vec<u64>,
    /// Whether columns come in pairs.
    pub complex: bool,
    /// Rows of the longest column.
    pub longest: u64,
    /// Slices of 32 rows, of all classes together.
    pub slices: u64,
    /// Elements within the low part: places in the column.
    pub low: ElementList,
    /// Elements between real and imaginary parts within the low part.
    pub turned: ElementList,
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
    /// Columns.
    pub(super) fn columns(&self) -> u64 {
        self.classes.iter().sum::<u64>() * u64::from(self.together())
    }

    /// Columns that are always together.
    pub fn together(&self) -> u32 {
        if self.complex { 2 } else { 1 }
    }

    /// Tasks of blocks that take this many columns of a class at a time.
    pub fn tasks(&self, columns: u32) -> u64 {
        let columns = (columns / self.together()).max(1);
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
}

impl GeneralPlan {
    /// The part of the diagonal that couples both parts of a word.
    fn cross_diagonal(&self) -> DiagonalPlan {
        let [_, _, cross] = self.diagonal.split(self.low_bits);
        cross
    }

    /// The kernel, for blocks of `columns` columns.
    pub(super) fn staged_kernel(&self, lists: &ColumnLists, columns: u32) -> Prototype {
        let table = |name: &str, element, len| Parameter::table(name, element, len);
        let mut parameters = vec![
            Parameter::values("x", self.scalar, Access::In, self.dimension),
            Parameter::values("y", self.scalar, Access::Out, self.dimension),
            Parameter::memory("partials", Element::F64, Access::Out, u64::from(self.shape.blocks)),
            table("task_column", Element::U32, lists.tasks(columns) * u64::from(columns)),
        ];
        parameters.extend(self.state_tables());
        parameters.extend([
            table("low_diagonal", Element::F64, self.low_states),
            table("high_diagonal", Element::F64, self.parts),
        ]);
        if lists.low.words + lists.turned.words > 0 {
            parameters.push(table("part_slice", Element::U32, self.parts));
        }
        for (name, list) in [("low", &lists.low), ("turned", &lists.turned)] {
            if list.words > 0 {
                parameters.push(table(&format!("{name}_slice_start"), Element::U32, lists.slices + 1));
                parameters.push(table(&format!("{name}_neighbours"), list.word.element(), list.words));
            }
        }
        for (name, list) in [("whole", &lists.whole), ("cross", &lists.cross)] {
            if list.words > 0 {
                parameters.push(table(&format!("{name}_start"), Element::U32, self.parts + 1));
                parameters.push(table(&format!("{name}_words"), list.word.element(), list.words));
            }
        }
        if lists.cross.words > 0 {
            parameters.extend([
                table("cross_factor", Element::U32, lists.cross.words),
                table("factor_row", lists.factor_word.element(), lists.factors * self.low_states),
            ]);
        }
        parameters.extend(self.coefficient_table());
        Prototype::new("multiply", parameters)
    }

    /// The kernels' text.
    pub(super) fn staged_text(
        &self,
        columns: u32,
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
            whole: SpeciesView,
            cross: SpeciesView,
            has_turned: bool,
            turned: SpeciesView,
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
            has_turned: lists.turned.words > 0,
            low: view_of(&lists.low, "LOW"),
            whole: view_of(&lists.whole, "WHOLE"),
            turned: view_of(&lists.turned, "TURNED"),
            cross: view_of(&lists.cross, "CROSS"),
            factor_word: lists.factor_word.cuda(),
            factor_signs: lists.factor_signs,
            row_mask: format!("{:#x}", (1u64 << (factor_bits - 1)) - 1),
            resident: if self.shape.threads > 512 { 2 } else { 1024 / self.shape.threads },
        };
        part(files::GENERAL_STAGED, &view)
    }
}
