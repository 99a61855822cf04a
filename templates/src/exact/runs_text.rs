//! The CUDA text of the down kernel by runs: the structure of `runs.rs` as statements.

use super::runs::{Kind, Part, Runs};
use super::{DownShape, KroneckerPlan};
use crate::ScalarType;
use crate::files;
use crate::text::{TextError, fragment};
use serde::Serialize;

/// Characters of a line of statements.
const LINE: usize = 108;
/// Registers of a multiprocessor, on every supported architecture.
const REGISTERS: u32 = 64 * 1024;
/// Registers of a thread in addition to its accumulators: loads in flight and addresses.
const OTHER_REGISTERS: u32 = 56;

#[derive(Serialize)]
struct View<'a> {
    plan: &'a KroneckerPlan,
    /// The vectors' number type in PTX, and the letter of its registers.
    ptx: &'static str,
    register: &'static str,
    low_sites: u32,
    warps: u32,
    /// Blocks that a multiprocessor holds at once.
    blocks: u32,
    row_tiles: u64,
    tasks: u64,
    parts: Vec<PartView>,
}

/// One function of the text.
#[derive(Serialize)]
struct PartView {
    name: String,
    particles: u32,
    first: usize,
    last: usize,
    count: usize,
    /// Columns of the whole run.
    columns: usize,
    own: Vec<String>,
    cases: Vec<CaseView>,
}

#[derive(Serialize)]
struct CaseView {
    number: usize,
    /// What changes in the low state.
    about: String,
    lines: Vec<String>,
}

impl KroneckerPlan {
    /// The down kernel by runs.
    pub(super) fn runs_kernel(&self) -> Result<String, TextError> {
        let (Some(runs), DownShape::Runs { low_sites, outputs, warps }) = (self.runs(), self.shape.down) else {
            return Ok(String::new());
        };
        // In single precision, if held to few registers, the compiler keeps more loads in flight than fit.
        let blocks = match self.scalar {
            ScalarType::F64 => (REGISTERS / (32 * warps * (2 * outputs + OTHER_REGISTERS))).max(1),
            ScalarType::F32 => 1,
        };
        let (ptx, register) = if self.scalar == ScalarType::F64 { ("f64", "d") } else { ("f32", "f") };
        let view = View {
            plan: self,
            ptx,
            register,
            low_sites,
            warps,
            blocks,
            row_tiles: self.up.states.div_ceil(32),
            tasks: runs.task_count(),
            parts: runs.parts.iter().map(|part| part_view(&runs, *part, low_sites)).collect(),
        };
        fragment(files::KRONECKER_RUNS, &view)
    }
}

fn part_view(runs: &Runs, part: Part, low_sites: u32) -> PartView {
    let Part { kind, first, count } = part;
    let kind: &Kind = &runs.kinds[kind];
    let inside = |column: &usize| (first..first + count).contains(column);
    let own = kind.own.iter().enumerate().filter_map(|(read, to)| {
        let adds: Vec<String> = to
            .iter()
            .filter(|(column, _)| inside(column))
            .map(|(column, c)| add(column - first, *c, "value"))
            .collect();
        if adds.is_empty() {
            return None;
        }
        let word = bits(kind.words[read], low_sites);
        Some(format!("value = (double)own[{read} * N_UP]; {}  // {word}", adds.join(" ")))
    });
    let case = |(number, moves): (usize, &Vec<(usize, usize, f64)>)| {
        let inside = moves.iter().filter(|(column, ..)| inside(column));
        let adds = inside.map(|(column, read, sign)| {
            let operation = if *sign < 0.0 { "-=" } else { "+=" };
            format!("sum[{}] {operation} c * (double)from[{read} * N_UP];", column - first)
        });
        let lines = filled(adds);
        (!lines.is_empty()).then(|| CaseView { number, about: runs.about(number), lines })
    };
    PartView {
        name: format!("run_{}_{}", kind.particles, first),
        particles: kind.particles,
        first,
        last: first + count - 1,
        count,
        columns: kind.words.len(),
        own: own.collect(),
        cases: kind.cases.iter().enumerate().filter_map(case).collect(),
    }
}

/// `sum[3] -= value;`
fn add(column: usize, coefficient: f64, value: &str) -> String {
    match coefficient {
        1.0 => format!("sum[{column}] += {value};"),
        -1.0 => format!("sum[{column}] -= {value};"),
        c if c < 0.0 => format!("sum[{column}] -= {:?} * {value};", -c),
        c => format!("sum[{column}] += {c:?} * {value};"),
    }
}

/// Statements side by side, as many as fit in a line.
fn filled(statements: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for statement in statements {
        match lines.last_mut().filter(|line| line.len() + 1 + statement.len() <= LINE) {
            Some(line) => {
                line.push(' ');
                line.push_str(&statement);
            }
            None => lines.push(statement),
        }
    }
    lines
}

/// A low state as its bits, the highest site first.
fn bits(word: u64, sites: u32) -> String {
    format!("{word:0width$b}", width = sites as usize)
}
