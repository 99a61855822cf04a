//! Averages over a state for all pairs of sites: densities, ⟨n n⟩ or ⟨SᶻSᶻ⟩, and ⟨S⁺ᵢS⁻ⱼ⟩.
//!
//! A vector of a sector is a matrix: columns are the high words of the basis, rows the low words that complete each one's
//! charge ("class"). Weights v² are read twice, along rows and along columns; every off-diagonal operator is one move of
//! the low word and one of the high word, so the moves are short lists and no state is ranked on the device.

use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{Cost, KernelText, TextError, render, ron};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Every number of the kernels for averages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AveragesPlan {
    /// Number type of the vector.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Sites of the low word.
    pub low_sites: u32,
    /// Sites of the high word.
    pub high_sites: u32,
    /// Bits per site.
    pub width: u32,
    /// States of the sector.
    pub dimension: u64,
    /// Products v(h, l) v(h', l') of all operators together.
    pub products: f64,
    /// Threads per block of the sums of v².
    pub threads: u32,
    /// Threads per block of `transition_sums`.
    pub sum_threads: u32,
    /// Whether two columns fit the shared memory of a block, to which they are then copied.
    pub staged: bool,
}

/// Lengths of the tables, which depend on the sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AveragesSizes {
    /// Low words, by class.
    pub low_words: u64,
    /// Columns.
    pub columns: u64,
    /// Blocks of `row_moments`.
    pub tasks: u64,
    /// Row weights of all blocks together.
    pub row_weights: u64,
    /// Lists of pairs of columns, each with a move of the low word, whose products are summed.
    pub terms: u64,
    /// Blocks of `transition_sums`.
    pub sum_tasks: u64,
    /// Sums that they write, all blocks together.
    pub sums: u64,
    /// Rows of the longest column.
    pub most_rows: u64,
    /// Pairs of columns, all lists together.
    pub column_pairs: u64,
    /// Different moves of the low word, times the classes.
    pub low_cells: u64,
    /// Lists of pairs of rows of one amplitude.
    pub row_lists: u64,
    /// Pairs of rows, all lists together.
    pub row_pairs: u64,
}

/// Threads of a block: at least one per low site, and four blocks of 128 registers per thread fit.
const THREADS: u32 = 128;

/// Threads of a block of `transition_sums`: four blocks with two columns of a ring of 28 spins fit a multiprocessor.
const SUM_THREADS: u32 = 512;

/// The most terms of a block of `transition_sums`: a number of shared memory for each.
pub const MOST_TERMS: usize = 128;

/// Shared memory for two columns, in bytes: what a block may have on every card since 2020, less the partial sums.
const COLUMN_BYTES: u64 = 96 << 10;

/// Most high sites whose sums, two numbers each, fit in 128 registers with the rest.
const MOST_LEAN: u32 = 20;

impl AveragesPlan {
    /// Fixes the shape for a sector of so many states, with so many rows in its longest column.
    pub fn new(
        scalar: ScalarType,
        [low_sites, high_sites]: [u32; 2],
        width: u32,
        [dimension, most_rows]: [u64; 2],
        products: f64,
    ) -> AveragesPlan {
        AveragesPlan {
            sum_threads: SUM_THREADS,
            staged: 2 * most_rows * scalar.bytes() as u64 <= COLUMN_BYTES,
            scalar,
            warp: Warp::default(),
            low_sites,
            high_sites,
            width,
            dimension,
            products,
            threads: THREADS,
        }
    }

    /// Two additions per product; a square and an addition per high site and state. The vector is read once for the
    /// weights; how often the products read it depends on the caches, so its two numbers are counted once each.
    pub fn cost(&self) -> Cost {
        let n = self.dimension as f64;
        let flops = 2.0 * self.products + n * (2.0 + f64::from(self.high_sites));
        Cost { flops, bytes: n * self.scalar.bytes() as f64 }
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a AveragesPlan,
            prelude: String,
            value_type: &'a str,
            kernels: Declarations,
            sites: String,
            levels: &'a str,
            level_note: &'a str,
            level_mask: String,
            row_blocks: u32,
            most_terms: usize,
        }
        let AveragesPlan { low_sites, high_sites, width, .. } = self;
        // Lengths of tables do not show in a text.
        let kernels = self.kernels(&AveragesSizes::default());
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            kernels: kernels.iter().collect(),
            sites: format!("{low_sites} low and {high_sites} high sites of {width} bit{}", plural(*width)),
            levels: if *width == 1 { "0 or 1" } else { "Sz + S" },
            level_note: if *width == 1 { " = 1, or whether it is occupied" } else { "" },
            level_mask: format!("{:#x}", (1u64 << width) - 1),
            // 128 registers per thread, or 255 for the sums of many high sites.
            row_blocks: if *high_sites <= MOST_LEAN { 4 } else { 2 },
            most_terms: MOST_TERMS,
        };
        let text = render(files::AVERAGES, &view)?;
        Ok(KernelText {
            name: format!(
                "averages_{low_sites}_{high_sites}_sites_{width}{}",
                if self.staged { "_staged" } else { "" }
            ),
            text,
            plan: ron(self),
            entries: entries(&kernels),
        })
    }

    /// The launches, in the order of the text.
    pub fn launches(&self, sizes: &AveragesSizes) -> Result<[Launch; 3], LaunchError> {
        let [row_moments, column_weights, transition_sums] = self.kernels(sizes);
        let columns = sizes.columns.div_ceil(u64::from(self.threads / self.warp.lanes()));
        Ok([
            row_moments.launch(sizes.tasks, self.threads, 0)?,
            column_weights.launch(columns, self.threads, 0)?,
            transition_sums.launch(sizes.sum_tasks, self.sum_threads, self.column_bytes(sizes))?,
        ])
    }

    /// Shared memory for two columns of a block of `transition_sums`.
    fn column_bytes(&self, sizes: &AveragesSizes) -> u64 {
        if self.staged { 2 * sizes.most_rows * self.scalar.bytes() as u64 } else { 0 }
    }

    /// Numbers written by one block of `row_moments`.
    pub fn moments(&self) -> u64 {
        u64::from(self.low_sites + 1) * u64::from(self.high_sites + 1)
    }

    fn kernels(&self, sizes: &AveragesSizes) -> [Prototype; 3] {
        let vector = || Parameter::values("x", self.scalar, Access::In, self.dimension);
        let mut row_moments = vec![
            vector(),
            Parameter::memory("moments", Element::F64, Access::Out, sizes.tasks * self.moments()),
            Parameter::memory("row_weights", Element::F64, Access::Out, sizes.row_weights),
        ];
        let tasks = ["task_low", "task_row", "task_rows", "task_column", "task_columns", "task_weights"];
        row_moments.extend(tasks.map(|name| Parameter::table(name, Element::U64, sizes.tasks)));
        row_moments.extend([
            Parameter::table("column_start", Element::U64, sizes.columns),
            Parameter::table("column_word", Element::U64, sizes.columns),
            Parameter::table("low_words", Element::U64, sizes.low_words),
        ]);
        let column_weights = vec![
            vector(),
            Parameter::memory("weights", Element::F64, Access::Out, sizes.columns),
            Parameter::number("columns", Number::I64),
            Parameter::table("column_start", Element::U64, sizes.columns),
            Parameter::table("column_rows", Element::U64, sizes.columns),
        ];
        // Rows of columns that fit shared memory have numbers of 16 bits.
        let row_pair = if self.staged { Element::U32 } else { Element::U64 };
        let mut transition_sums = vec![
            vector(),
            Parameter::memory("sums", Element::F64, Access::Out, sizes.sums),
            Parameter::number("classes", Number::I64),
            Parameter::table("column_start", Element::U64, sizes.columns),
            Parameter::table("column_class", Element::U32, sizes.columns),
        ];
        if self.staged {
            transition_sums.extend([
                Parameter::number("most_rows", Number::I64),
                Parameter::table("column_rows", Element::U64, sizes.columns),
            ]);
        }
        let tasks = ["task_first", "task_last", "task_term", "task_terms", "task_sums"];
        transition_sums.extend(tasks.map(|name| Parameter::table(name, Element::U32, sizes.sum_tasks)));
        transition_sums.extend([
            Parameter::table("term_low", Element::U32, sizes.terms),
            Parameter::table("column_pairs", Element::U64, sizes.column_pairs),
            Parameter::table("low_lists", Element::U32, sizes.low_cells + 1),
            Parameter::table("row_lists", Element::U32, sizes.row_lists + 1),
            Parameter::table("row_amplitude", Element::F64, sizes.row_lists),
            Parameter::table("row_pairs", row_pair, sizes.row_pairs),
        ]);
        [
            Prototype::new("row_moments", row_moments),
            Prototype::new("column_weights", column_weights),
            Prototype::new("transition_sums", transition_sums),
        ]
    }
}

fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}
