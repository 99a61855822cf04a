//! The general matrix-free multiply: any real Hermitian operator on any sector.
//!
//! y_r = D_r x_r + Σ over flip masks f: a_f(s_r) · x[rank(s_r ⊕ f)], with a_f the sum of the amplitudes of the terms that
//! match s_r. Rows are converted to words and back by Lin's two tables or, if a table of all half words would be larger
//! than the sector, by bisection in the lists of its half words.
//!
//! Three walks ([`GeneralStrategy`]): with columns in shared memory (`staged`), where columns are long enough; else state by state, a
//! short operator written out, a long one over a table (one function of 1,024 unrolled terms takes NVRTC 1.3 to 2.5 s, of 4,096 some 20 s).

use super::coefficients::{CoefficientArguments, CoefficientWriter};
use super::diagonal::Words;
use super::{ColumnLists, DiagonalPlan, GeneralShape, GeneralStrategy};
use crate::files;
use crate::launch::{Element, Parameter};
use crate::prototype::{Declarations, declared, entries};
use crate::text::{Cost, ElementFunctionText, KernelText, TextError, part, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One elementary term: amplitude · (−1)^popcount(s & sign) where (s & care) == pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaskedTerm {
    /// Bits to compare.
    pub care: u64,
    /// Their required values.
    pub pattern: u64,
    /// Bits of the fermion sign.
    pub sign: u64,
    /// The amplitude.
    pub amplitude: f64,
}

/// Terms that flip the same bits: they share one rank and one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlipGroup {
    /// Bits that flip.
    pub flip: u64,
    /// The terms.
    pub terms: Vec<MaskedTerm>,
}

impl FlipGroup {
    /// The largest Σ |amplitude| of terms that may act on one state: those that require different patterns of the same
    /// bits exclude each other.
    pub fn norm_bound(&self) -> f64 {
        let mut by_care: BTreeMap<u64, BTreeMap<u64, f64>> = BTreeMap::new();
        for term in &self.terms {
            *by_care.entry(term.care).or_default().entry(term.pattern).or_insert(0.0) += term.amplitude.abs();
        }
        by_care.values().map(|patterns| patterns.values().copied().fold(0.0, f64::max)).sum()
    }
}

/// Flip masks with their terms as tables: the terms of mask g are those from `start[g]` to `start[g + 1]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlipTables {
    /// The masks.
    pub flip: Vec<u64>,
    /// The first term of each, and the end.
    pub start: Vec<u32>,
    /// Bits to compare.
    pub care: Vec<u64>,
    /// Their required values.
    pub pattern: Vec<u64>,
    /// Bits of the fermion sign.
    pub sign: Vec<u64>,
    /// The amplitudes.
    pub amplitude: Vec<f64>,
}

impl FlipTables {
    /// The tables of these masks.
    pub fn new<'a>(groups: impl IntoIterator<Item = &'a FlipGroup>) -> FlipTables {
        let mut tables = FlipTables { start: vec![0], ..FlipTables::default() };
        for group in groups {
            tables.flip.push(group.flip);
            for term in &group.terms {
                tables.care.push(term.care);
                tables.pattern.push(term.pattern);
                tables.sign.push(term.sign);
                tables.amplitude.push(term.amplitude);
            }
            tables.start.push(tables.care.len() as u32);
        }
        tables
    }
}

/// Sizes of Lin's tables for one sector; the plan has them as fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSizes {
    /// Bits of the low part of a state word.
    pub low_bits: u32,
    /// High parts with states.
    pub parts: u64,
    /// Low parts listed, by charge.
    pub low_states: u64,
    /// Possible high parts; 0 if the lists are searched.
    pub high_parts: u64,
}

impl TableSizes {
    /// The parameters of the functions that compute the state of a row.
    pub(super) fn state_tables(self) -> [Parameter; 4] {
        let table = |name, len| Parameter::table(name, Element::U64, len);
        [
            table("part_start", self.parts),
            table("part_high", self.parts),
            table("part_first_low", self.parts),
            table("low_states", self.low_states),
        ]
    }

    /// The parameters of tables that half words index, where there are such.
    pub(super) fn direct_tables(self) -> Option<[Parameter; 2]> {
        (self.high_parts > 0).then(|| {
            [
                Parameter::table("high_offset", Element::U64, self.high_parts),
                Parameter::table("low_index", Element::U32, 1 << self.low_bits),
            ]
        })
    }
}

/// Every number of the general multiply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GeneralPlan {
    /// Name of the model and sector, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Bits of the low part of a state word.
    pub low_bits: u32,
    /// High parts with states.
    pub parts: u64,
    /// Low parts listed, by charge: entries of `low_states`.
    pub low_states: u64,
    /// Possible high parts: entries of `high_offset`; 0 if the lists are searched and there is no such table.
    pub high_parts: u64,
    /// States.
    pub dimension: u64,
    /// The diagonal.
    pub diagonal: DiagonalPlan,
    /// Off-diagonal terms by flip mask.
    pub groups: Vec<FlipGroup>,
    /// Origin of the model: one line per `sum!`.
    pub sources: Vec<String>,
    /// Lists of elements by columns, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<ColumnLists>,
    /// Threads, blocks, strategy.
    pub shape: GeneralShape,
    /// Vectors multiplied at once; several only with columns in shared memory.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub vectors: u32,
    /// Of several vectors: the times that are predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PredictedTimes>,
    /// Which coefficients are arguments, if the text is shared by several problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) coefficients: Option<CoefficientArguments>,
}

/// Predicted milliseconds of a multiply of several vectors on one H200.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedTimes {
    /// At once.
    pub together: f64,
    /// By a launch for each.
    pub apart: f64,
}

fn one() -> u32 {
    1
}

fn is_one(vectors: &u32) -> bool {
    *vectors == 1
}

/// The heads of the functions that take Lin's tables, up to their parameters.
const STATE_OF: &str = "__device__ __forceinline__ u64 state_of(";
const RANK_OF: &str = "__device__ i64 rank_of(";

pub(super) fn hex(bits: u64) -> String {
    format!("{bits:#x}ull")
}

impl GeneralPlan {
    /// Chooses the shape; diagonal and groups are the model's.
    pub fn new(
        name: String,
        scalar: ScalarType,
        tables: TableSizes,
        dimension: u64,
        diagonal: DiagonalPlan,
        groups: Vec<FlipGroup>,
        sources: Vec<String>,
    ) -> GeneralPlan {
        let shape = GeneralShape::by_states(dimension, &groups);
        let TableSizes { low_bits, parts, low_states, high_parts } = tables;
        let (lists, coefficients) = (None, None);
        GeneralPlan {
            name,
            scalar,
            warp: Warp::default(),
            low_bits,
            parts,
            low_states,
            high_parts,
            dimension,
            diagonal,
            groups,
            sources,
            lists,
            shape,
            vectors: 1,
            predicted: None,
            coefficients,
        }
    }

    /// The same by columns in shared memory, if the model has lists for them.
    #[must_use]
    pub fn with_lists(self, lists: Option<ColumnLists>) -> GeneralPlan {
        let shape = lists.as_ref().map_or(self.shape, |lists| GeneralShape::staged(self.scalar, self.dimension, lists));
        GeneralPlan { lists, shape, ..self }
    }

    /// Sizes of its tables.
    pub fn sizes(&self) -> TableSizes {
        let GeneralPlan { low_bits, parts, low_states, high_parts, .. } = *self;
        TableSizes { low_bits, parts, low_states, high_parts }
    }

    /// Whether tables indexed by a half word give its part of the rank.
    pub fn is_direct(&self) -> bool {
        self.high_parts > 0
    }

    /// Reads x at every flip that applies (each counted once), writes y once, for each vector.
    pub fn cost(&self) -> Cost {
        let n = self.dimension as f64 * f64::from(self.vectors);
        let terms: usize = self.groups.iter().map(|group| group.terms.len()).sum();
        let flops = n * (2.0 * terms as f64 + self.diagonal.flops() + 2.0);
        Cost { flops, bytes: 2.0 * n * self.scalar.bytes() as f64 }
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let text = self.written(&CoefficientWriter::first(self.fitting_arguments()))?;
        let name = match self.vectors {
            1 => format!("{}_multiply", self.name),
            vectors => format!("{}_multiply_of_{vectors}", self.name),
        };
        let entries = entries(&self.kernels());
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries })
    }

    pub(super) fn written(&self, coefficients: &CoefficientWriter<'_>) -> Result<String, TextError> {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a GeneralPlan,
            prelude: String,
            value_type: &'a str,
            kernels: Declarations,
            /// The array of coefficients as a further argument of a call, if there is one.
            passed: String,
            walk: String,
            multiply: String,
            functions: String,
            cost: Cost,
            complex: bool,
            vectors: u32,
        }
        let kernels = self.kernels();
        let declarations: Declarations = kernels.iter().collect();
        let multiply = match self.shape.strategy {
            GeneralStrategy::Staged { columns } => self.staged_text(columns, &declarations, coefficients),
            GeneralStrategy::States | GeneralStrategy::Table => self.states_text(&declarations, coefficients),
        };
        let group_count = self.groups.len();
        let walk = match self.shape.strategy {
            GeneralStrategy::Staged { .. } => {
                format!("lists of elements by columns ({group_count} flip masks), amplitudes, {}", self.shape)
            }
            GeneralStrategy::States => format!("every mask and amplitude ({group_count} flip masks, written out)"),
            GeneralStrategy::Table => format!("{group_count} flip masks run over tables (too many to write out)"),
        };
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            kernels: declarations,
            passed: coefficients.passed(),
            walk,
            multiply,
            functions: match self.shape.strategy {
                GeneralStrategy::Staged { .. } => String::new(),
                _ => self.state_functions(coefficients),
            },
            cost: self.cost(),
            complex: self.lists.as_ref().is_some_and(|lists| lists.complex),
            vectors: self.vectors,
        };
        render(files::GENERAL, &view)
    }

    /// The kernel where a thread takes a state at a time.
    fn states_text(&self, kernels: &Declarations, coefficients: &CoefficientWriter<'_>) -> String {
        #[derive(Serialize)]
        struct Term {
            care: String,
            pattern: String,
            sign: Option<String>,
            plus: String,
            minus: String,
        }
        #[derive(Serialize)]
        struct Group {
            flip: String,
            terms: Vec<Term>,
        }
        #[derive(Serialize)]
        struct View<'a> {
            kernels: &'a Declarations,
            passed: String,
            part_constant: String,
            part_count: &'a str,
            word_count: &'a str,
            low_mask: String,
            direct: bool,
            state_tables: String,
            rank_tables: String,
            written_out: bool,
            groups: Vec<Group>,
            group_count: usize,
        }
        let term = |term: &MaskedTerm| Term {
            care: hex(term.care),
            pattern: hex(term.pattern),
            sign: (term.sign != 0).then(|| hex(term.sign)),
            plus: coefficients.number(term.amplitude),
            minus: coefficients.number(-term.amplitude),
        };
        let group = |group: &FlipGroup| Group { flip: hex(group.flip), terms: group.terms.iter().map(term).collect() };
        let written_out = self.shape.strategy == GeneralStrategy::States;
        let view = View {
            kernels,
            passed: coefficients.passed(),
            part_constant: if self.is_direct() {
                String::new()
            } else {
                format!("constexpr int PARTS = {};\n", self.parts)
            },
            part_count: "PARTS",
            word_count: "DIMENSION",
            low_mask: hex((1 << self.low_bits) - 1),
            direct: self.is_direct(),
            state_tables: declared(&self.state_tables(), RANK_OF.len()),
            rank_tables: match self.is_direct() {
                true => "high_offset, low_index".into(),
                false => self.state_arguments(),
            },
            written_out,
            groups: if written_out { self.groups.iter().map(group).collect() } else { Vec::new() },
            group_count: self.groups.len(),
        };
        part(files::GENERAL_STATES, &view)
    }

    /// `state_of(row, tables)` and `diagonal_of(state)`, for the multiply and for vector programs.
    fn state_functions(&self, coefficients: &CoefficientWriter<'_>) -> String {
        #[derive(Serialize)]
        struct View {
            parts: u64,
            low_bits: u32,
            tables: String,
            diagonal: String,
        }
        let view = View {
            parts: self.parts,
            low_bits: self.low_bits,
            tables: declared(&self.state_tables(), STATE_OF.len()),
            diagonal: self.diagonal.function(Words::Whole, coefficients),
        };
        part(files::STATES, &view)
    }

    /// The arguments of `state_of` after the row.
    fn state_arguments(&self) -> String {
        self.state_tables().each_ref().map(|table| table.name.as_str()).join(", ")
    }

    /// The diagonal as an element function of vector programs: `diagonal(i, part_start, …)`.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        self.diagonal_written(&CoefficientWriter::second(self.fitting_arguments()))
    }

    pub(super) fn diagonal_written(&self, coefficients: &CoefficientWriter<'_>) -> ElementFunctionText {
        let value = format!("diagonal_of(state_of(i, {}){})", self.state_arguments(), coefficients.passed());
        let parameters = self.state_tables().into_iter().chain(self.coefficient_table()).collect();
        ElementFunctionText::new(&self.state_functions(coefficients), "double", "diagonal", parameters, &value)
    }
}
