//! The CUDA text of the down kernel by runs: the structure of `runs.rs` as the template takes it.

use super::coefficients::CoefficientWriter;
use super::exchange::Exchange;
use super::runs::{Kind, Part, Runs};
use super::{DownShape, KroneckerPlan};
use crate::files;
use crate::prototype::{Declarations, declared};
use crate::text::{TextError, fragment};
use crate::{ScalarType, Warp};
use serde::Serialize;

/// Registers of a multiprocessor, on every supported architecture.
const REGISTERS: u32 = 64 * 1024;
/// Registers of a thread in addition to its accumulators: loads in flight and addresses.
const OTHER_REGISTERS: u32 = 56;
/// The same where other blocks beside them wait for memory, for which there is room then: 3 blocks on a multiprocessor of an H200 in place
/// of 2 (docs/notes/kronecker-kernels.md, "Pairs of strings").
const OTHER_REGISTERS_OF_PANELS: u32 = 32;

#[derive(Serialize)]
struct View<'a> {
    /// The declaration of the kernel, or for panels that of the tables, which a function takes.
    kernel: &'a str,
    table_parameters: String,
    /// `multiply_finish`, where it belongs here.
    finish: String,
    /// The vectors' number type in PTX, and the letter of its registers.
    ptx: &'static str,
    register: &'static str,
    low_sites: u32,
    warps: u32,
    /// Blocks that a multiprocessor holds at once.
    blocks: u32,
    row_tiles: u64,
    /// Columns of a row.
    columns_of_all: u64,
    /// Whether rows are those of panels, of pairs of strings.
    panel: bool,
    /// Whether cards exchange rows, and how they are dealt.
    exchange: bool,
    dealt: Exchange,
    tasks: u64,
    parts: Vec<PartView>,
    /// The array of coefficients as a further parameter and argument, if there is one.
    declared: String,
    passed: String,
}

/// One function of the text: some columns of a run.
#[derive(Serialize)]
struct PartView {
    name: String,
    particles: u32,
    first: usize,
    last: usize,
    count: usize,
    /// Columns of the whole run.
    columns: usize,
    own: Vec<ReadView>,
    cases: Vec<CaseView>,
}

/// A column of the run that is read, and what it adds to.
#[derive(Serialize)]
struct ReadView {
    column: usize,
    /// The low state as its bits, the highest site first.
    word: String,
    adds: Vec<AddView>,
}

#[derive(Serialize)]
struct AddView {
    /// Accumulator.
    to: usize,
    minus: bool,
    /// Magnitude of the coefficient, if it is not 1.
    factor: Option<String>,
}

#[derive(Serialize)]
struct CaseView {
    number: usize,
    /// What changes in the low state.
    about: String,
    adds: Vec<MoveView>,
}

/// A column of another run, added to an accumulator.
#[derive(Serialize)]
struct MoveView {
    to: usize,
    minus: bool,
    column: usize,
}

/// What the hops by runs are a part of.
pub(super) enum RunsOf {
    /// Whole vectors with so many rows.
    Vectors(u64),
    /// Rows that cards exchange.
    Exchanged(Exchange),
    /// Panels of rows.
    Panels,
}

/// Hops by runs, as far as their text depends on them.
pub(super) struct RunsText<'a> {
    pub runs: &'a Runs,
    pub shape: DownShape,
    pub scalar: ScalarType,
    pub warp: Warp,
    /// Columns of a row.
    pub columns: u64,
    pub of: RunsOf,
}

/// Blocks of hops by runs that a multiprocessor holds at once; none for hops that go otherwise.
pub(super) fn resident(scalar: ScalarType, warp: Warp, shape: DownShape, of_panels: bool) -> u32 {
    let other = if of_panels { OTHER_REGISTERS_OF_PANELS } else { OTHER_REGISTERS };
    match (shape, scalar) {
        (DownShape::Runs { outputs, warps, .. }, ScalarType::F64) => {
            (REGISTERS / (warp.lanes() * warps * (2 * outputs + other))).max(1)
        }
        // If held to few registers, the compiler keeps more loads in flight than fit.
        (DownShape::Runs { .. }, ScalarType::F32) => 1,
        _ => 0,
    }
}

impl KroneckerPlan {
    /// The down kernel by runs, `multiply_finish`, and the functions that the kernel calls.
    pub(super) fn runs_kernel(
        &self,
        kernels: &Declarations,
        coefficients: &CoefficientWriter<'_>,
    ) -> Result<String, TextError> {
        let Some(runs) = self.runs() else { return Ok(String::new()) };
        let of = self.exchange().map_or(RunsOf::Vectors(self.up.states), RunsOf::Exchanged);
        let (shape, scalar, warp, columns) = (self.shape.down, self.scalar, self.warp, self.down.states);
        RunsText { runs: &runs, shape, scalar, warp, columns, of }.kernel(kernels, coefficients)
    }
}

impl RunsText<'_> {
    /// The kernel and the functions that it calls.
    pub(super) fn kernel(
        &self,
        kernels: &Declarations,
        coefficients: &CoefficientWriter<'_>,
    ) -> Result<String, TextError> {
        let RunsText { runs, shape, scalar, warp, columns, of } = self;
        let DownShape::Runs { low_sites, warps, .. } = *shape else { return Ok(String::new()) };
        let is_panel = matches!(of, RunsOf::Panels);
        let blocks = resident(*scalar, *warp, *shape, is_panel);
        let (ptx, register) = if *scalar == ScalarType::F64 { ("f64", "d") } else { ("f32", "f") };
        let (rows, dealt) = match of {
            RunsOf::Vectors(rows) => (*rows, None),
            RunsOf::Exchanged(exchange) => (0, Some(*exchange)),
            RunsOf::Panels => (0, None),
        };
        let view = View {
            kernel: kernels.get("multiply_down"),
            table_parameters: declared(&runs.parameters(), 4),
            finish: if is_panel { String::new() } else { finish(kernels)? },
            ptx,
            register,
            low_sites,
            warps,
            blocks,
            row_tiles: rows.div_ceil(warp.lanes().into()),
            columns_of_all: *columns,
            panel: is_panel,
            exchange: dealt.is_some(),
            dealt: dealt.unwrap_or_default(),
            tasks: runs.task_count(),
            parts: runs.parts.iter().map(|part| part_view(runs, *part, low_sites, coefficients)).collect(),
            declared: coefficients.declared(),
            passed: coefficients.passed(),
        };
        fragment(files::KRONECKER_RUNS, &view)
    }
}

/// The text of `multiply_finish`.
fn finish(kernels: &Declarations) -> Result<String, TextError> {
    #[derive(Serialize)]
    struct View<'a> {
        kernels: &'a Declarations,
    }
    fragment(files::MULTIPLY_FINISH, &View { kernels })
}

fn part_view(runs: &Runs, part: Part, low_sites: u32, coefficients: &CoefficientWriter<'_>) -> PartView {
    let Part { kind, first, count } = part;
    let kind: &Kind = &runs.kinds[kind];
    let inside = |column: usize| (first..first + count).contains(&column);
    let add = |&(column, coefficient): &(usize, f64)| {
        let (to, argument) = (column - first, coefficients.argument(coefficient));
        match argument {
            Some(factor) => AddView { to, minus: false, factor: Some(factor) },
            None => {
                let size = coefficient.abs();
                AddView { to, minus: coefficient < 0.0, factor: (size != 1.0).then(|| format!("{size:?}")) }
            }
        }
    };
    let read = |(column, to): (usize, &Vec<(usize, f64)>)| ReadView {
        column,
        word: format!("{:0width$b}", kind.words[column], width = low_sites as usize),
        adds: to.iter().filter(|(column, _)| inside(*column)).map(add).collect(),
    };
    let case = |(number, moves): (usize, &Vec<(usize, usize, f64)>)| {
        let moves = moves.iter().filter(|(column, ..)| inside(*column));
        let adds = moves.map(|(to, column, sign)| MoveView { to: to - first, minus: *sign < 0.0, column: *column });
        CaseView { number, about: runs.about(number), adds: adds.collect() }
    };
    PartView {
        name: format!("run_{}_{}", kind.particles, first),
        particles: kind.particles,
        first,
        last: first + count - 1,
        count,
        columns: kind.words.len(),
        own: kind.own.iter().enumerate().map(read).filter(|read| !read.adds.is_empty()).collect(),
        cases: kind.cases.iter().enumerate().map(case).filter(|case| !case.adds.is_empty()).collect(),
    }
}
