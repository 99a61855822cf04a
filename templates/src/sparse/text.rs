//! Plan → CUDA text of a sparse multiply.

use super::loads::{self, Load};
use super::{ColumnWord, NumberKind, PartPlan, RowStorage, SparsePlan, SparsePlanError};
use crate::ScalarType;
use crate::files;
use crate::prototype::{Declarations, entries};
use crate::text::{Cost, KernelText, TextError, render};
use serde::Serialize;

/// Bytes of values that a lane has in flight before it uses the first: with 1,024 threads per multiprocessor, 64 kB, some
/// three times what memory latency requires, because not all of them wait at once.
const BATCH_BYTES: u32 = 64;
/// The same with several vectors, whose sums or pieces of x occupy registers.
const BATCH_BYTES_OF_SEVERAL: u32 = 32;

/// Bytes of a gather in one load.
const BYTES_OF_GATHER: u64 = 16;

#[derive(Serialize)]
struct PartView {
    number: usize,
    title: String,
    kind: &'static str,
    lanes: u32,
    slice_rows: u32,
    steps: u32,
    staged: u32,
    first_column: u32,
    window: String,
    delta: bool,
    /// Whether lanes share non-zeros.
    shared: bool,
    /// Whether each lane has sums of all pairs, in its own order, which are reduced to one pair per lane.
    transposed: bool,
    /// Indices of a lane's sums, and of those that remain after pairs have moved to their lanes.
    sums: Vec<u32>,
    reduced: Vec<u32>,
    /// Lanes of a row that hold sums at the end.
    lanes_left: u32,
    start: &'static str,
    first: bool,
    batch: Vec<PackView>,
    batch_size: u32,
    /// Whether an ELLPACK part has steps left after its whole batches.
    rest: bool,
    base: String,
}

/// One pack of a batch.
#[derive(Serialize)]
pub(super) struct PackView {
    /// Packs after the batch's first, in strides.
    number: u32,
    loads: Vec<LoadView>,
    terms: Vec<Term>,
}

#[derive(Serialize)]
struct LoadView {
    declaration: String,
    name: String,
    from: String,
}

/// One element of a pack.
#[derive(Serialize)]
struct Term {
    value: String,
    column: String,
}

/// The numbers of a matrix as the text writes them.
#[derive(Serialize)]
struct NumberView {
    /// `complex`.
    kind: String,
    /// Names of the parts in the text.
    parts: &'static [&'static str],
    /// How one is written.
    form: &'static str,
}

impl NumberView {
    fn new(numbers: NumberKind) -> NumberView {
        let (parts, form): (&[&str], &str) = match numbers {
            NumberKind::Real => (&["re"], "re"),
            NumberKind::Complex => (&["re", "im"], "re + im i"),
            NumberKind::Quaternion => (&["a", "b", "c", "d"], "a + b i + c j + d k, i j = k"),
        };
        NumberView { kind: numbers.to_string(), parts, form }
    }
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a SparsePlan,
    number: NumberView,
    /// Whether numbers have several parts.
    by_parts: bool,
    /// Bits of the column in a word that has a code too, or 0; distinct values.
    column_bits: u32,
    distinct: u32,
    /// The type in which a row is summed.
    sum_type: &'static str,
    /// Types of a value of the dictionary and of two.
    dictionary_type: &'static str,
    dictionary_pair: &'static str,
    prelude: String,
    value_type: &'a str,
    /// Two vectors at once.
    pair: &'a str,
    /// Numbers of the vectors: 0, 1, …
    each: Vec<u32>,
    /// Numbers of the pairs of vectors.
    pairs: Vec<u32>,
    /// Numbers of interleaved x per row.
    width: u32,
    /// Whether each of several cards collects what its rows use of x, by a list or all of it, and its room for that.
    halo: bool,
    listed: bool,
    room: u64,
    any_shared: bool,
    kernels: Declarations,
    window_bytes: u64,
    has_window: bool,
    resident: u32,
    parts: Vec<PartView>,
    cost: Cost,
    non_zeros: u64,
}

/// The CUDA type of two.
fn pair_of(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::F64 => "double2",
        ScalarType::F32 => "float2",
    }
}

impl SparsePlan {
    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered. A plan refused by [`SparsePlan::check`] gives a text that does not compile.
    pub fn text(&self) -> Result<KernelText, TextError> {
        if self.is_half() {
            return self.symmetric_text();
        }
        let (vectors, kernels) = (self.vectors, self.kernels());
        let view = View {
            plan: self,
            number: NumberView::new(self.numbers),
            by_parts: !self.numbers.is_real(),
            column_bits: self.dictionary.map_or(0, |dictionary| dictionary.column_bits),
            distinct: self.dictionary.map_or(0, |dictionary| dictionary.numbers),
            sum_type: if self.numbers.is_real() { "sum_t" } else { "number" },
            dictionary_type: self.values.cuda(),
            dictionary_pair: pair_of(self.values),
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            pair: pair_of(self.scalar),
            each: (0..vectors).collect(),
            pairs: (0..self.pairs()).collect(),
            width: self.width(),
            halo: self.halo.is_some(),
            listed: self.halo.is_some_and(|halo| halo.listed > 0),
            room: self.halo.map_or(0, |halo| halo.room),
            any_shared: self.parts.iter().any(|part| self.shares(part)),
            kernels: kernels.iter().collect(),
            window_bytes: self.window_bytes(),
            has_window: self.window_bytes() > 0,
            resident: (1024 / self.threads.max(1)).max(1),
            parts: self.parts.iter().enumerate().map(|(number, part)| self.part_view(number, part)).collect(),
            cost: self.cost(),
            non_zeros: self.non_zeros(),
        };
        let text = render(files::SPARSE, &view)?;
        // A run uses texts for several numbers of vectors; each has its own name, so that each can be edited.
        let name = match vectors {
            1 => format!("{}_spmv", self.name),
            _ => format!("{}_spmv_of_{vectors}", self.name),
        };
        Ok(KernelText { name, text, plan: crate::text::ron_of_depth(self, 3), entries: entries(&kernels) })
    }

    fn part_view(&self, number: usize, part: &PartPlan) -> PartView {
        let delta = part.columns == ColumnWord::Delta16;
        let real = self.numbers.is_real();
        let (shared, several) = (self.shares(part), self.vectors > 1 && real);
        let bytes = if self.vectors > 1 { BATCH_BYTES_OF_SEVERAL } else { BATCH_BYTES };
        let element = match part.columns {
            ColumnWord::Coded32 if real => part.columns.bytes(),
            // Of numbers what a gather brings is held as well.
            ColumnWord::Coded32 => BYTES_OF_GATHER,
            _ => self.number_bytes(),
        };
        let room = (bytes / (part.pack * element as u32)).max(1);
        let batch_size = match part.storage {
            // A number of steps that divides evenly, if there is one.
            RowStorage::Ell { steps } if room >= 4 => {
                [4, 5, 6, 3].into_iter().find(|size| steps % size == 0).unwrap_or(4).min(steps.max(1))
            }
            _ => room.clamp(1, 8),
        };
        let batch = (0..batch_size).map(|pack| self.pack_view(number, part, pack)).collect();
        let window = if part.staged > 0 {
            "window".to_string()
        } else if part.first_column == 0 || delta {
            "x".into()
        } else {
            format!("(x + {}ull * {})", part.first_column, self.width())
        };
        // A lane's base is relative to the start of x, the window to the part's first column.
        let base =
            if part.staged > 0 && part.first_column > 0 { format!(" - {}u", part.first_column) } else { String::new() };
        let pairs = self.pairs();
        let sums = if real { self.width() } else { self.vectors };
        let to_pairs = several && part.lanes >= pairs;
        PartView {
            number,
            title: part.to_string(),
            kind: match part.storage {
                RowStorage::Ell { .. } => "ell",
                RowStorage::SlicedEll => "sliced",
                RowStorage::Csr | RowStorage::UpperCsr => "csr",
            },
            lanes: part.lanes,
            slice_rows: part.slice_rows(self.warp),
            steps: if let RowStorage::Ell { steps } = part.storage { steps } else { 0 },
            staged: part.staged,
            first_column: part.first_column,
            window,
            delta,
            shared,
            transposed: several && !shared && part.lanes >= pairs && pairs > 1,
            sums: (0..if shared { 2 } else { sums }).collect(),
            reduced: (0..if to_pairs { sums.min(2) } else { sums }).collect(),
            lanes_left: if to_pairs { pairs } else { 1 },
            start: if self.starts.bytes() == 8 { "u64" } else { "u32" },
            first: number == 0,
            batch,
            batch_size,
            rest: matches!(part.storage, RowStorage::Ell { steps } if steps % batch_size != 0),
            base,
        }
    }

    /// Pack `pack` of a batch of part `number`.
    pub(super) fn pack_view(&self, number: usize, part: &PartPlan, pack: u32) -> PackView {
        let at = if pack == 0 { "k".to_string() } else { format!("k + {pack} * STRIDE") };
        let columns = loads::columns(part.columns.bytes(), part.pack, &format!("columns_{number}"), &at, pack);
        let load = |Load { declaration, name, from }| LoadView { declaration, name, from };
        if part.columns == ColumnWord::Coded32 {
            let value = if self.numbers.is_real() {
                "(sum_t)dictionary[@ >> COLUMN_BITS]"
            } else {
                "number_of_code(dictionary, @ >> COLUMN_BITS)"
            };
            let term =
                |word: &String| Term { value: value.replace('@', word), column: format!("({word} & COLUMN_MASK)") };
            let terms = columns.elements.iter().map(term).collect();
            return PackView { number: pack, loads: columns.loads.into_iter().map(load).collect(), terms };
        }
        let table = format!("values_{number}");
        let values = match self.numbers {
            NumberKind::Real => loads::values(self.values, part.pack, &table, &at, pack),
            kind => loads::numbers((self.values, kind), part.pack, (&table, part.stored()), &at, pack),
        };
        let term = |(value, column)| Term { value, column };
        PackView {
            number: pack,
            loads: columns.loads.into_iter().chain(values.loads).map(load).collect(),
            terms: values.elements.into_iter().zip(columns.elements).map(term).collect(),
        }
    }

    /// Checks a plan, for [`SparsePlan::text`].
    ///
    /// # Errors
    /// Errors of the plan.
    pub fn checked(self) -> Result<SparsePlan, SparsePlanError> {
        self.check().map(|()| self)
    }
}
