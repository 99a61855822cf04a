//! The general multiply with columns in shared memory.
//!
//! A column is the states with one high part h; columns with the same low parts l are a class, and their rows are numbered alike.
//! By what a term does to both parts it belongs to one of three lists, each made once on the host:
//!
//! ```text
//! terms ─┬─ within the low part: a sparse matrix of the class, packed as in the Kronecker sum; a block gathers from its
//! │      │  columns in shared memory, all of which use the same indices
//! │      ├─ leave the low part alone: whole columns, added to others row by row
//! │      └─ across: a column, and for each row of the class its partner there (the low half of the term, a "factor")
//! └─ diagonal: a number for each low part, one for each high part, and what couples both
//! ```
//!
//! Complex vectors are real ones of twice the length, imaginary parts after all real ones. A block holds the real and the imaginary
//! part of a column, and an element, whose amplitude is complex, reads both and adds to both.
//!
//! Reads that are not from shared memory are contiguous along the rows of a warp, or nearly so.

use super::coefficients::CoefficientWriter;
use super::elements::{ElementList, ElementView, UP_ZEROS};
use super::lists::ColumnLists;
use super::{DiagonalPlan, GeneralPlan};
use crate::files;
use crate::launch::{Access, Element, Parameter};
use crate::prototype::{Declarations, Prototype};
use crate::text::part;
use serde::Serialize;

/// Terms of the diagonal across the cut beyond which a text counts as long: 100 of them, all coefficients different, spill registers
/// where each thread has 64.
const LONG_TEXT: usize = 32;
/// Elements beyond the low part whose loads a thread has on the way at a time.
const ON_THE_WAY: u32 = 4;
/// The same of numbers of several vectors, whose texts do not spill then (sm_90, NVRTC 13.5; with 8 some do).
const ON_THE_WAY_OF_SEVERAL: u32 = 6;

impl GeneralPlan {
    /// The part of the diagonal that couples both parts of a word.
    fn cross_diagonal(&self) -> DiagonalPlan {
        let [_, _, cross] = self.diagonal.split(self.low_bits);
        cross
    }

    /// The kernel, for blocks of `columns` columns.
    pub(super) fn staged_kernel(&self, lists: &ColumnLists, columns: u32) -> Prototype {
        let table = |name: &str, element, len| Parameter::table(name, element, len);
        let names = |vector: &str| match self.vectors {
            1 => vec![vector.to_string()],
            vectors => (0..vectors).map(|number| format!("{vector}_{number}")).collect(),
        };
        let vectors = |names: Vec<String>, access| {
            names.into_iter().map(move |name| Parameter::values(name, self.scalar, access, self.dimension))
        };
        let mut parameters: Vec<Parameter> = vectors(names("x"), Access::In).collect();
        parameters.extend(vectors(names("y"), Access::Out));
        parameters.extend([
            Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            table("task_column", Element::U32, lists.tasks(columns) * u64::from(lists.taken(columns))),
        ]);
        parameters.extend(self.state_tables());
        parameters.extend([
            table("low_diagonal", Element::F64, self.low_states),
            table("high_diagonal", Element::F64, self.parts),
        ]);
        let own = self.parts / u64::from(lists.together());
        if lists.low.words > 0 {
            parameters.extend([
                table("part_slice", Element::U32, own),
                table("low_slice_start", Element::U32, lists.slices + 1),
                table("low_neighbours", lists.low.word.element(), lists.low.words),
            ]);
        }
        for (name, list) in [("whole", &lists.whole), ("cross", &lists.cross)] {
            if list.words > 0 {
                parameters.push(table(&format!("{name}_start"), Element::U32, own + 1));
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
            complex: bool,
            /// Columns in shared memory, of all vectors together.
            columns: u32,
            /// Columns, or pairs of them.
            taken: u32,
            /// Whether there are several vectors, and how many.
            many: bool,
            vectors: u32,
            /// Elements beyond the low part whose loads are on the way at a time.
            unroll: u32,
            stride: u64,
            zeros: u64,
            /// The part of the diagonal that couples both parts of a word, if there is one.
            diagonal: Option<String>,
            has_low: bool,
            has_whole: bool,
            has_cross: bool,
            low: ElementView,
            whole: ElementView,
            cross: ElementView,
            factor_word: &'static str,
            factor_signs: bool,
            /// All bits of a factor's row but the sign.
            row_mask: String,
            /// Its blocks on a multiprocessor, for which it leaves registers.
            resident: u32,
        }
        let Some(lists) = &self.lists else { unreachable!("a staged plan has lists") };
        let view_of = |list: &ElementList, label| {
            ElementView::new(list.word, list.index_bits, &list.amplitudes, label, coefficients)
        };
        let cross = self.cross_diagonal();
        // A block of 1,024 threads leaves room for another; a long text and several vectors keep more numbers at hand.
        let resident = match (cross.terms() > LONG_TEXT, self.shape.threads > 512) {
            _ if self.vectors > 1 => self.resident_threads(columns),
            (false, true) => 2 * self.shape.threads,
            (false, false) => 1024,
            (true, _) => 512,
        };
        let factor_bits = 8 * lists.factor_word.bytes() as u32;
        let view = View {
            kernels,
            passed: coefficients.passed(),
            parts: self.parts,
            low_states: self.low_states,
            tasks: lists.tasks(columns),
            complex: lists.complex,
            columns: columns * self.vectors,
            taken: lists.taken(columns),
            many: self.vectors > 1,
            vectors: self.vectors,
            unroll: match self.vectors {
                1 => ON_THE_WAY,
                vectors => (ON_THE_WAY_OF_SEVERAL / (vectors * lists.together())).max(1),
            },
            stride: lists.stride(),
            zeros: UP_ZEROS,
            diagonal: (!cross.is_constant()).then(|| cross.function(super::diagonal::Words::Whole, coefficients)),
            has_low: lists.low.words > 0,
            has_whole: lists.whole.words > 0,
            has_cross: lists.cross.words > 0,
            low: view_of(&lists.low, "LOW"),
            whole: view_of(&lists.whole, "WHOLE"),
            cross: view_of(&lists.cross, "CROSS"),
            factor_word: lists.factor_word.cuda(),
            factor_signs: lists.factor_signs,
            row_mask: format!("{:#x}", (1u64 << (factor_bits - 1)) - 1),
            resident: resident / self.shape.threads.min(resident),
        };
        part(files::GENERAL_STAGED, &view)
    }
}
