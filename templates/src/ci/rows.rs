//! Configuration interaction without a matrix in any space of products of strings: full, or up to a level of excitation,
//! of all irreps or of one. Every row of H is recomputed in each product.
//!
//! σ(I, K) = Σ H(I K, J L) C(J, L), with H between determinants that differ by one or two moves (Slater 1929; Condon
//! 1930; strings as in Knowles and Handy 1984). A warp computes one row (I, K):
//!
//! | part | lanes |
//! |---|---|
//! | moves of α strings, in the field of K; pairs of moves | lanes over the list of I |
//! | moves of β strings, in the field of I; pairs of moves | lanes over the list of K |
//! | one move of each | `warp / lanes` moves of I at once, each with `lanes` lanes over the moves of K |
//!
//! Moves of K are grouped in *runs*: one product of irreps, one *slot* (level and irrep) of target. Rows of one α string
//! with the β strings of one slot are contiguous, so a run gathers within a piece of C whose start is in a small table,
//! or which is not in the space. An element takes one gather of C and one of (pq|rs), usually both from the cache, so the
//! number of elements matters, not of bytes. Every sum has a fixed order and nothing is atomic.
//!
//! Over complex orbitals pairs of orbitals are ordered, values and vectors have two parts, real and imaginary side by side, and an element takes
//! four multiplications with addition (8 flops) and two gathers of 16 bytes.
//!
//! With a `table`, the same text writes the elements of the first rows once, with their columns (12 bytes an element, 20 of complex ones,
//! no zeros), and a product reads them: a quarter of the time of making them. Rows for which there is no room are made anew in the same launch.

use super::FullCiPlanError;
use crate::exact::AT_ONCE;
use crate::files;
use crate::launch::{Access, Element, FINISH_THREADS, Launch, LaunchError, Number, Parameter, multiply_finish};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{Cost, KernelText, TextError, prelude_of_numbers, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Minimum number of moves in a run for lanes to share it.
const LONG_RUN: f64 = 64.0;

/// The table of (pq|rr) with pq of a β electron where each spin has its own orbitals.
const BETA_REPULSION: &str = "beta_repulsion";

/// Table lengths that depend on the strings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsCounts {
    /// One-electron moves of all α and of all β strings.
    pub singles: [u64; 2],
    /// Two-electron moves.
    pub doubles: [u64; 2],
    /// Runs of the moves of β strings.
    pub runs: u64,
}

/// Every number of a product row by row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsPlan {
    /// Name of the problem, for display.
    pub name: String,
    /// Number type of the vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Orbitals.
    pub orbitals: u32,
    /// α electrons.
    pub up: u32,
    /// β electrons.
    pub down: u32,
    /// α strings.
    pub alpha_strings: u32,
    /// β strings.
    pub beta_strings: u32,
    /// Slots of β strings: distinct levels and irreps.
    pub slots: u32,
    /// Number of irreps of products of two orbitals: 1, 2, 4 or 8.
    pub irreps: u32,
    /// Determinants.
    pub rows: u64,
    /// Upper bound on the elements of H.
    pub elements: u64,
    /// Lanes over the moves of a β string: a power of two, at most a warp.
    pub lanes: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks.
    pub blocks: u32,
    /// Lengths of tables.
    pub counts: RowsCounts,
    /// Whether elements stand in a table, as far as memory goes.
    pub table: bool,
    /// Whether each spin has its own orbitals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unrestricted: bool,
    /// Whether orbitals, and with them vectors, are complex.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complex: bool,
}

/// The rows whose elements stand in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptElements {
    /// From the first on.
    pub rows: u64,
    /// Their elements, with those between that no row has.
    pub elements: u64,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a RowsPlan,
    /// What a plan over real orbitals does not write.
    complex: bool,
    prelude: String,
    pairs: u64,
    /// The table of (pq|rr) with pq of a β electron.
    beta_repulsion: &'static str,
    /// The type of integrals and elements.
    number: &'static str,
    kernels: Declarations,
    cost: Cost,
}

impl RowsPlan {
    /// Lanes for runs of this mean length. One lane per move of α is fastest for short runs, because none idles. Water in
    /// 6-31G up to level 6, runs of 3 to 4, took 0.84 ms with 1 lane, 0.96 with 4, 1.59 with 16 (H200).
    pub fn lanes_of(mean_run: f64) -> u32 {
        if mean_run < LONG_RUN { 1 } else { 8 }
    }

    /// Pairs of orbitals, which over complex ones are ordered.
    pub fn pairs(&self) -> u64 {
        let orbitals = u64::from(self.orbitals);
        if self.complex { orbitals * orbitals } else { orbitals * (orbitals + 1) / 2 }
    }

    /// Real parts of a number.
    pub fn parts(&self) -> u64 {
        if self.complex { 2 } else { 1 }
    }

    /// Real parts of a vector.
    pub fn vector(&self) -> u64 {
        self.parts() * self.rows
    }

    /// A table of integrals or elements.
    fn numbers(&self, name: &str, access: Access, len: u64) -> Parameter {
        Parameter::memory(name, Element::F64, access, self.parts() * len)
    }

    /// Returns an error that names the first invalid number.
    pub fn check(&self) -> Result<(), FullCiPlanError> {
        let refuse =
            |what, found: u64, expected| Err(FullCiPlanError { name: self.name.clone(), what, found, expected });
        if self.threads == 0 || !self.threads.is_multiple_of(self.warp.lanes()) || self.threads > 1024 {
            return refuse("threads", u64::from(self.threads), "whole warps, at most 1024");
        }
        if !self.lanes.is_power_of_two() || self.lanes > self.warp.lanes() {
            return refuse("lanes", u64::from(self.lanes), "a power of two, at most a warp");
        }
        if ![1, 2, 4, 8].contains(&self.irreps) {
            return refuse("irreps", u64::from(self.irreps), "1, 2, 4 or 8");
        }
        if self.blocks == 0 {
            return refuse("blocks", 0, "at least 1");
        }
        if self.complex && self.scalar != ScalarType::F64 {
            return refuse(
                "bytes of a real part",
                self.scalar.bytes() as u64,
                "8, for tables of complex numbers are in double precision",
            );
        }
        if self.orbitals > 180 {
            return refuse("orbitals", u64::from(self.orbitals), "at most 180, for pairs are 15-bit numbers");
        }
        Ok(())
    }

    /// The tables of every kernel, in order.
    pub fn tables(&self) -> Vec<Parameter> {
        let (alpha, beta, counts) = (u64::from(self.alpha_strings), u64::from(self.beta_strings), &self.counts);
        let table = Parameter::table;
        let repulsion = self.pairs() * u64::from(self.orbitals);
        let numbers = |name, len| self.numbers(name, Access::In, len);
        let of_beta = self.unrestricted.then(|| numbers(BETA_REPULSION, repulsion));
        let all = vec![
            table("row_alpha", Element::U32, self.rows),
            table("row_beta", Element::U32, self.rows),
            table("first_row", Element::U64, alpha * u64::from(self.slots)),
            table("beta_slot", Element::U16, beta),
            table("beta_place", Element::U32, beta),
            table("alpha_energy", Element::F64, alpha),
            table("beta_energy", Element::F64, beta),
            table("alpha_orbital", Element::U16, alpha * u64::from(self.up)),
            table("beta_orbital", Element::U16, beta * u64::from(self.down)),
            table("alpha_single_start", Element::U64, alpha + 1),
            table("alpha_single", Element::U32, counts.singles[0]),
            table("alpha_pair", Element::U16, counts.singles[0]),
            numbers("alpha_own", counts.singles[0]),
            table("alpha_double_start", Element::U64, alpha + 1),
            table("alpha_double", Element::U32, counts.doubles[0]),
            numbers("alpha_value", counts.doubles[0]),
            table("run_start", Element::U64, beta * u64::from(self.irreps) + 1),
            table("run_slot", Element::U16, counts.runs),
            table("run_first", Element::U64, counts.runs + 1),
            table("single_place", Element::U32, counts.singles[1]),
            table("beta_pair", Element::U16, counts.singles[1]),
            numbers("beta_own", counts.singles[1]),
            table("beta_double_start", Element::U64, beta + 1),
            table("beta_double", Element::U32, counts.doubles[1]),
            numbers("beta_value", counts.doubles[1]),
            table("pair_irrep", Element::U16, self.pairs()),
            numbers("coulomb", self.pairs() * self.pairs()),
            numbers("repulsion", repulsion),
        ];
        all.into_iter().chain(of_beta).collect()
    }

    /// Bytes of the column of an element in a table.
    pub const COLUMN_BYTES: u64 = 4;
    /// Bytes of a row beside them: where it begins, and how many it has.
    pub const ROW_BYTES: u64 = 12;
    /// The elements of a row begin at multiples of so many: whole sectors of memory.
    pub const ROW_STEP: u64 = 8;

    /// Bytes of the table of so many rows and elements of so many real parts.
    pub fn kept_bytes(kept: KeptElements, parts: u64) -> u64 {
        kept.rows * Self::ROW_BYTES + kept.elements * (8 * parts + Self::COLUMN_BYTES)
    }

    /// All rows, where a table has room for them; about, since zeros are not known.
    pub fn predicted_kept(&self) -> KeptElements {
        match self.table {
            true => KeptElements { rows: self.rows, elements: self.elements },
            false => KeptElements::default(),
        }
    }

    /// `multiply`, `multiply_finish`, `diagonal_of_all` and `largest_row_sums`, as in the text; `count_elements` and `fill_elements`, which
    /// only a text with a table has.
    fn kernels(&self, kept: KeptElements) -> [Prototype; 6] {
        let (rows, blocks) = (self.rows, u64::from(self.blocks));
        let out = |name: &str, len| Parameter::memory(name, Element::F64, Access::Out, len);
        let diagonal = || Parameter::table("diagonal", Element::F64, self.vector());
        // Memory has at least one element.
        let [kept_rows, elements] = [kept.rows, kept.elements].map(|len| len.max(1));
        let number = || Parameter::number("kept", Number::I64);
        let start = || Parameter::table("row_start", Element::U64, kept_rows);
        let mut vectors = vec![
            diagonal(),
            Parameter::values("x", self.scalar, Access::In, self.vector()),
            Parameter::values("y", self.scalar, Access::Out, self.vector()),
            out("partials", blocks),
        ];
        if self.table {
            vectors.extend([number(), start(), Parameter::table("row_length", Element::U32, rows)]);
            vectors.push(self.numbers("elements", Access::In, elements));
            vectors.push(Parameter::table("columns", Element::U32, elements));
        }
        let lengths = Parameter::memory("row_length", Element::U32, Access::Out, rows);
        let columns = Parameter::memory("columns", Element::U32, Access::Out, elements);
        let filled = vec![number(), start(), self.numbers("elements", Access::Out, elements), columns];
        [
            Prototype::new("multiply", self.and_tables(vectors)),
            multiply_finish(1, blocks, AT_ONCE as u64),
            Prototype::new("diagonal_of_all", self.and_tables(vec![out("diagonal_out", self.vector())])),
            Prototype::new("largest_row_sums", self.and_tables(vec![diagonal(), out("largest", blocks)])),
            Prototype::new("count_elements", self.and_tables(vec![lengths])),
            Prototype::new("fill_elements", self.and_tables(filled)),
        ]
    }

    /// The launches of one product, in order, with a table of these rows.
    ///
    /// # Errors
    /// A shape that no device runs.
    pub fn launches(&self, kept: KeptElements) -> Result<Vec<Launch>, LaunchError> {
        let [multiply, finish, ..] = self.kernels(kept);
        Ok(vec![self.over_rows(multiply)?, finish.launch(1, FINISH_THREADS, 0)?])
    }

    /// The launches that write the diagonal, and the row sums of |H| with the largest of each block.
    ///
    /// # Errors
    /// A shape that no device runs.
    pub fn set_up_launches(&self) -> Result<[Launch; 2], LaunchError> {
        let [_, _, diagonal, largest, ..] = self.kernels(self.predicted_kept());
        Ok([self.over_rows(diagonal)?, self.over_rows(largest)?])
    }

    /// The launches that count the elements of each row, and that write those of the rows of the table, of a text with one.
    ///
    /// # Errors
    /// A shape that no device runs.
    pub fn table_launches(&self, kept: KeptElements) -> Result<[Launch; 2], LaunchError> {
        let [.., count, fill] = self.kernels(kept);
        Ok([self.over_rows(count)?, self.over_rows(fill)?])
    }

    fn over_rows(&self, kernel: Prototype) -> Result<Launch, LaunchError> {
        kernel.launch(u64::from(self.blocks), self.threads, 0)
    }

    fn and_tables(&self, mut parameters: Vec<Parameter>) -> Vec<Parameter> {
        parameters.extend(self.tables());
        parameters
    }

    /// Bytes of all tables and of the diagonal.
    pub fn table_bytes(&self) -> u64 {
        let (alpha, beta, counts) = (u64::from(self.alpha_strings), u64::from(self.beta_strings), &self.counts);
        let strings = alpha * (24 + 8 * u64::from(self.slots) + 2 * u64::from(self.up))
            + beta * (22 + 8 * u64::from(self.irreps) + 2 * u64::from(self.down));
        let value = 8 * self.parts();
        let moves = counts.singles.iter().sum::<u64>() * (6 + value) + counts.doubles.iter().sum::<u64>() * (4 + value);
        let repulsions = if self.unrestricted { 2 } else { 1 };
        let integrals = self.pairs() * (value * (self.pairs() + repulsions * u64::from(self.orbitals)) + 2);
        (8 + value) * self.rows + strings + moves + 10 * counts.runs + integrals + 8 * u64::from(self.blocks)
    }

    /// A multiplication and an addition per element, of complex numbers four of each; C read once and σ written once, and a table with all
    /// elements read once.
    pub fn cost(&self) -> Cost {
        let (parts, table) = (self.parts(), Self::kept_bytes(self.predicted_kept(), self.parts()));
        Cost { flops: (2 * parts * parts * self.elements) as f64, bytes: (16 * self.vector() + table) as f64 }
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered. A plan refused by [`RowsPlan::check`] gives a text that does not compile.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let kernels = self.kernels(self.predicted_kept());
        let declarations = kernels.iter().collect();
        let view = View {
            plan: self,
            complex: self.complex,
            prelude: if self.complex { prelude_of_numbers(self.warp, true) } else { self.warp.prelude() },
            pairs: self.pairs(),
            beta_repulsion: if self.unrestricted { BETA_REPULSION } else { "repulsion" },
            number: if self.complex { "c64" } else { "double" },
            kernels: declarations,
            cost: self.cost(),
        };
        let own = if self.table { &kernels } else { &kernels[..4] };
        let (text, entries) = (render(files::CI_ROWS, &view)?, entries(own));
        Ok(KernelText { name: format!("{}_rows", self.name), text, plan: crate::text::ron_of_depth(self, 2), entries })
    }
}

impl fmt::Display for RowsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (singles, doubles) = (self.counts.singles, self.counts.doubles);
        write!(
            f,
            "{} x {} strings, {} + {} moves, {} + {} pairs of moves; one warp per row, {} lanes over a run{}",
            self.alpha_strings,
            self.beta_strings,
            singles[0],
            singles[1],
            doubles[0],
            doubles[1],
            self.lanes,
            if self.table { "; elements in a table" } else { "" }
        )
    }
}
