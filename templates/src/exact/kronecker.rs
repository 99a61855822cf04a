//! H = D + I ⊗ A↑ + A↓ ⊗ I (Yamada, Machida, Imamura 2020, eq. 2–3): the plan of a multiply for one sector.
//!
//! Two launches. The up kernel loads a column of V (all up states of one down state) into shared memory, or where it is too long reads some
//! columns at once from L2, applies D and A↑, and writes y. The down kernel adds A↓ in one of two ways ([`DownShape`]). By runs, a warp processes as many rows as it has lanes of all
//! columns that share the high part of their down state: words ascend, so these are contiguous, and hops among the low
//! sites are unrolled on registers (`runs.rs`). By tiles, a block loads some rows of a run of columns into shared memory
//! and reads packed neighbours from there. Both read the rest from L2, where the rows of all columns stay while the
//! blocks of one tile of rows run. The minimum is five passes over a vector: x twice, y three times.

use super::coefficients::{CoefficientArguments, CoefficientWriter};
use super::diagonal::Words;
use super::elements::{Amplitudes, ElementView, IndexWord, UP_ZEROS};
use super::exchange::Exchange;
use super::runs::{RunTables, Runs};
use super::{DiagonalPlan, DownShape, KroneckerShape, NeighbourWords, Staging};
use crate::files;
use crate::prototype::{Declarations, entries};
use crate::text::{Cost, ElementFunctionText, KernelText, TextError, fragment, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Slices of rows that a warp takes in turn where the up kernel gathers from memory. With two of four columns the warps at work on an H200
/// have 17 MB of x in all, whatever a column's length.
const SLICES_OF_WARP: u64 = 2;

/// One term of a species: amplitude · (−1)^popcount(s & sign) to s ⊕ flip, where (s & care) == pattern. Bit i is site i.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// Bits that flip.
    pub flip: u64,
    /// Bits to compare.
    pub care: u64,
    /// Their required values.
    pub pattern: u64,
    /// Bits of the fermion sign.
    pub sign: u64,
    /// The amplitude.
    pub amplitude: f64,
}

/// One species' hopping matrix, as far as the text depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeciesPlan {
    /// Electrons of this species.
    pub particles: u32,
    /// Its states: rows of the matrix.
    pub states: u64,
    /// Off-diagonal elements.
    pub elements: u64,
    /// Longest row.
    pub widest_row: u32,
    /// Bits of the packed index.
    pub index_bits: u32,
    /// The packed word.
    pub word: IndexWord,
    /// Matrix elements.
    pub amplitudes: Amplitudes,
    /// The terms it is made of.
    pub hops: Vec<Hop>,
}

impl SpeciesPlan {
    /// Its elements as a text reads them.
    fn view(&self, label: &'static str, coefficients: &CoefficientWriter<'_>) -> ElementView {
        ElementView::new(self.word, self.index_bits, &self.amplitudes, label, coefficients)
    }

    /// Position of the amplitude's number in a packed word: a sign at the top, where it costs one operation, any other
    /// number above the index.
    pub fn number_shift(&self) -> u32 {
        self.amplitudes.number_shift(self.index_bits, self.word)
    }
}

/// Every number of the Kronecker multiply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KroneckerPlan {
    /// Name of the model and sector, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Lattice sites.
    pub sites: u32,
    /// Up electrons.
    pub up: SpeciesPlan,
    /// Down electrons.
    pub down: SpeciesPlan,
    /// The diagonal.
    pub diagonal: DiagonalPlan,
    /// Origin of the model: one line per `sum!`.
    pub sources: Vec<String>,
    /// Tiles, threads, strategies.
    pub shape: KroneckerShape,
    /// Cards that share the vectors.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) cards: u32,
    /// Which coefficients are arguments, if the text is shared by several problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) coefficients: Option<CoefficientArguments>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_one(cards: &u32) -> bool {
    *cards == 1
}

impl KroneckerPlan {
    /// The plan of a problem in the shape that the rule chooses. `scalar` is the vectors' number type.
    pub fn new(
        name: String,
        scalar: ScalarType,
        sites: u32,
        up: SpeciesPlan,
        down: SpeciesPlan,
        diagonal: DiagonalPlan,
        sources: Vec<String>,
    ) -> KroneckerPlan {
        let shape = KroneckerShape::choose(scalar, sites, &up, &down);
        KroneckerPlan {
            name,
            scalar,
            warp: Warp::default(),
            sites,
            up,
            down,
            diagonal,
            sources,
            shape,
            cards: 1,
            coefficients: None,
        }
    }

    /// Whether the words of one species take 64 bits.
    pub fn wide_states(&self) -> bool {
        self.sites > u32::BITS
    }

    /// Blocks of the up kernel: one for some columns, or where these are not in shared memory for some slices of them.
    pub fn up_blocks(&self) -> u64 {
        let slices = self.up.states.div_ceil(self.warp.lanes().into());
        let parts = match self.shape.staging {
            Staging::Shared => 1,
            Staging::Global => slices.div_ceil(self.block_slices()),
        };
        parts * self.down.states.div_ceil(u64::from(self.shape.up_columns))
    }

    /// Slices of rows of a block of the up kernel that gathers from memory.
    fn block_slices(&self) -> u64 {
        SLICES_OF_WARP * u64::from(self.shape.up_threads / self.warp.lanes())
    }

    /// Dynamic shared memory of the up kernel, bytes.
    pub fn up_shared(&self) -> u64 {
        match self.shape.staging {
            Staging::Shared => {
                (self.up.states + UP_ZEROS) * u64::from(self.shape.up_columns) * self.scalar.bytes() as u64
            }
            Staging::Global => 0,
        }
    }

    /// Whether there is a down kernel at all.
    pub fn has_down(&self) -> bool {
        self.down.elements > 0
    }

    /// The down kernel's structure, if it works by runs.
    pub(super) fn runs(&self) -> Option<Runs> {
        Runs::new(self.sites, &self.down, self.shape.down)
    }

    /// The tables of a down kernel that works by runs.
    pub fn run_tables(&self) -> Option<RunTables> {
        self.runs().map(|runs| runs.tables())
    }

    /// Threads of a block of the down kernel.
    pub fn down_threads(&self) -> u32 {
        match self.shape.down {
            DownShape::Tile { rows, lanes, .. } => rows * lanes,
            DownShape::Runs { warps, .. } => self.warp.lanes() * warps,
        }
    }

    /// Dynamic shared memory of the down kernel, bytes.
    pub fn down_shared(&self) -> u64 {
        match self.shape.down {
            DownShape::Tile { rows, columns, .. } => {
                u64::from(rows) * (u64::from(columns) + 1) * self.scalar.bytes() as u64
            }
            DownShape::Runs { .. } => 0,
        }
    }

    /// Blocks of the down kernel.
    pub fn down_blocks(&self) -> u64 {
        match self.shape.down {
            DownShape::Tile { rows, columns, .. } => {
                self.up.states.div_ceil(u64::from(rows)) * self.down.states.div_ceil(u64::from(columns))
            }
            DownShape::Runs { warps, .. } => match self.exchange() {
                Some(exchange) => exchange.fetching + self.run_warps(exchange.chunk_tiles).div_ceil(u64::from(warps)),
                None => self.down_partials().div_ceil(u64::from(warps)),
            },
        }
    }

    /// Warps that work on so many tiles of rows by runs.
    fn run_warps(&self, tiles: u64) -> u64 {
        tiles * self.runs().map_or(0, |runs| runs.task_count())
    }

    /// Partial sums of the down kernel: one per block of tiles, one per warp of runs.
    fn down_partials(&self) -> u64 {
        match self.shape.down {
            DownShape::Tile { .. } => self.down_blocks(),
            DownShape::Runs { .. } => self.run_warps(self.up.states.div_ceil(self.warp.lanes().into())),
        }
    }

    /// The exchange of rows, if several cards share the vectors and the down kernel works by runs.
    pub fn exchange(&self) -> Option<Exchange> {
        let DownShape::Runs { warps, .. } = self.shape.down else { return None };
        let size = [self.up.states, self.down.states];
        let exchange = || Exchange::new(self.cards, size, self.scalar.bytes() as u64, [self.warp.lanes(), warps]);
        (self.cards > 1 && self.has_down()).then(exchange)
    }

    /// Vectors are shared by so many cards.
    pub fn share_among(&mut self, cards: u32) {
        self.cards = cards;
    }

    /// Partial sums of xᵀy from the last kernel.
    pub fn partials(&self) -> u64 {
        if self.has_down() && self.exchange().is_none() { self.down_partials() } else { self.up_blocks() }
    }

    /// States.
    pub fn dimension(&self) -> u64 {
        self.up.states * self.down.states
    }

    /// Five passes over a vector (three if no down electron can hop), and two operations per element of H.
    pub fn cost(&self) -> Cost {
        let n = self.dimension() as f64;
        let elements =
            self.up.elements as f64 * self.down.states as f64 + self.down.elements as f64 * self.up.states as f64;
        let passes = if self.has_down() { 5.0 } else { 2.0 };
        Cost {
            flops: 2.0 * elements + n * (2.0 + self.diagonal.flops()),
            bytes: passes * n * self.scalar.bytes() as f64,
        }
    }

    /// The CUDA text.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let entries = entries(&self.kernels(NeighbourWords { up: 0, down: 0 }));
        let text = self.written(&CoefficientWriter::first(self.fitting_arguments()))?;
        let plan = crate::text::ron_of_depth(self, 3);
        Ok(KernelText { name: format!("{}_multiply", self.name), text, plan, entries })
    }

    pub(super) fn written(&self, coefficients: &CoefficientWriter<'_>) -> Result<String, TextError> {
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a KroneckerPlan,
            prelude: String,
            value_type: &'a str,
            kernels: &'a Declarations,
            /// The array of coefficients as a further argument of a call, if there is one.
            passed: String,
            shared: bool,
            zeros: u64,
            block_slices: u64,
            up: ElementView,
            down: &'a ElementView,
            has_down: bool,
            by_runs: bool,
            exchange: bool,
            dealt: Exchange,
            diagonal: String,
            down_kernel: String,
            cost: Cost,
        }
        // Lengths of tables do not show in a text.
        let kernels = self.kernels(NeighbourWords { up: 0, down: 0 });
        let declarations: Declarations = kernels.iter().collect();
        // A down kernel by runs has no packed neighbours.
        let numbers = CoefficientWriter::first(None);
        let by_runs = matches!(self.shape.down, DownShape::Runs { .. });
        let down = self.down.view("DN", if by_runs { &numbers } else { coefficients });
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            kernels: &declarations,
            passed: coefficients.passed(),
            shared: self.shape.staging == Staging::Shared,
            zeros: UP_ZEROS,
            block_slices: self.block_slices(),
            up: self.up.view("UP", coefficients),
            down: &down,
            has_down: self.has_down(),
            by_runs,
            exchange: self.exchange().is_some(),
            dealt: self.exchange().unwrap_or_default(),
            diagonal: self.diagonal_function(coefficients),
            down_kernel: self.down_kernel(&declarations, &down, coefficients)?,
            cost: self.cost(),
        };
        render(files::KRONECKER, &view)
    }

    /// The down kernel, by runs with `multiply_finish` and the functions that it calls; empty if no down electron can hop.
    fn down_kernel(
        &self,
        kernels: &Declarations,
        down: &ElementView,
        coefficients: &CoefficientWriter<'_>,
    ) -> Result<String, TextError> {
        if !self.has_down() {
            return Ok(String::new());
        }
        let DownShape::Tile { rows, columns, .. } = self.shape.down else {
            return self.runs_kernel(kernels, coefficients);
        };
        #[derive(Serialize)]
        struct View<'a> {
            plan: &'a KroneckerPlan,
            kernels: &'a Declarations,
            tile: DownShape,
            row_tiles: u64,
            groups: u64,
            down: &'a ElementView,
        }
        let view = View {
            plan: self,
            kernels,
            tile: self.shape.down,
            row_tiles: self.up.states.div_ceil(u64::from(rows)),
            groups: self.down.states.div_ceil(u64::from(columns)),
            down,
        };
        fragment(files::KRONECKER_TILES, &view)
    }

    /// `double diagonal_of(words)` and its dependencies, for the multiply and for vector programs.
    fn diagonal_function(&self, coefficients: &CoefficientWriter<'_>) -> String {
        let words = Words::Pair(if self.wide_states() { u64::BITS } else { u32::BITS });
        self.diagonal.function(words, coefficients)
    }

    /// The diagonal as an element function of vector programs: `diagonal(i, up_states, dn_states)`.
    pub fn diagonal_element(&self) -> ElementFunctionText {
        self.diagonal_written(&CoefficientWriter::second(self.fitting_arguments()))
    }

    pub(super) fn diagonal_written(&self, coefficients: &CoefficientWriter<'_>) -> ElementFunctionText {
        let n = self.up.states;
        let value = format!("diagonal_of(up_states[i % {n}], dn_states[i / {n}]{})", coefficients.passed());
        let parameters = self.state_tables().into_iter().chain(self.coefficient_table()).collect();
        ElementFunctionText::new(&self.diagonal_function(coefficients), "double", "diagonal", parameters, &value)
    }
}
