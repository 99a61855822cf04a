//! Tables of SU(3) coefficients and of Wigner symbols: labels in, a column `computed` added.
//!
//! In: a file with the columns of [`COEFFICIENT_COLUMNS`], or `type,twoj1,…` for SU(2) symbols (6j: twoj1 to twoj6 row by
//! row, 9j: twoj1 to twoj9; 3j: twoj1 to twoj3 and the doubled projections in twoj4 to twoj6). Out: every line unchanged
//! plus the value; the largest difference from a column `value`, if there is one. A promise `# rows = N` is kept and
//! written again.

use super::csv::{Reader, Row, TableError};
use eigenforge_su3::{Branching, Coupler, Irrep, LabelError, SignedRoot, wigner_3j, wigner_6j, wigner_9j};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::Path;

/// Labels of ⟨(λ1μ1)κ1L1; (λ2μ2)κ2L2 ‖ (λ3μ3)κ3L3⟩_ρ.
pub(super) const COEFFICIENT_COLUMNS: [&str; 13] =
    ["lambda1", "mu1", "kappa1", "L1", "lambda2", "mu2", "kappa2", "L2", "lambda3", "mu3", "kappa3", "L3", "rho"];

/// Labels of a symbol.
pub(super) const SYMBOL_COLUMNS: [&str; 10] =
    ["type", "twoj1", "twoj2", "twoj3", "twoj4", "twoj5", "twoj6", "twoj7", "twoj8", "twoj9"];

/// The name of the new column.
const COMPUTED: &str = "computed";

/// A table with its new column.
#[derive(Debug)]
pub struct LabelTable {
    /// The text of the file to write.
    pub text: String,
    /// Number of rows.
    pub rows: usize,
    /// max |computed − value|, if the file has a column `value`.
    pub difference: Option<f64>,
    /// The largest measured deviation from orthonormality of any block used; 0 for symbols.
    pub defect: f64,
}

/// A line, its stated value and the requested one.
struct Line {
    text: String,
    stated: Option<f64>,
    computed: f64,
}

impl LabelTable {
    /// Adds coefficients to a table of labels; the branching tables of one row's irreps may take `memory` bytes.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, labels that name no coefficient, irreps whose tables do not fit; all rows are checked.
    pub fn of_coefficients(path: &Path, memory: u64) -> Result<LabelTable, TableError> {
        let mut reader = open(path, &COEFFICIENT_COLUMNS)?;
        let value = reader.also("value");
        let header = reader.header().to_string();
        let mut lines = Vec::new();
        // Rows by irreps and L3: one block serves them all.
        let mut blocks: HashMap<([Irrep; 3], u32), Vec<Request>> = HashMap::new();
        while let Some(row) = reader.next_row()? {
            let (key, request) = request(&row, lines.len())?;
            check_memory(&row, key.0, memory)?;
            blocks.entry(key).or_default().push(request);
            lines.push(Line::new(&row, value)?);
        }
        let coupler = Coupler::new();
        let computed: Vec<(Vec<(usize, f64)>, f64)> = blocks
            .into_par_iter()
            .map(|(([first, second, third], l3), requests)| {
                let block =
                    coupler.block(first, second, third, l3..=l3).map_err(|error| (requests[0].number, error))?;
                let of = |request: &Request| {
                    let [a, b, c] = request.states;
                    let found = block.value(a, b, c, request.rho);
                    found.map(|value| (request.index, value)).map_err(|error| (request.number, error))
                };
                Ok((requests.iter().map(of).collect::<Result<Vec<_>, _>>()?, block.defect))
            })
            .collect::<Result<_, (usize, LabelError)>>()
            .map_err(|(line, error)| TableError::Labels {
                path: path.to_path_buf(),
                line,
                reason: error.to_string(),
            })?;
        let mut defect = 0.0f64;
        for (values, of_block) in computed {
            defect = defect.max(of_block);
            for (index, value) in values {
                lines[index].computed = value;
            }
        }
        Ok(LabelTable::new(reader.promised(), &header, &lines, defect))
    }
}

/// One row of a table of coefficients.
struct Request {
    /// Position among the rows.
    index: usize,
    /// Line number in the file.
    number: usize,
    /// κ and L.
    states: [[u32; 2]; 3],
    rho: u32,
}

fn request(row: &Row, index: usize) -> Result<(([Irrep; 3], u32), Request), TableError> {
    let mut irreps = [Irrep::new(0, 0); 3];
    let mut states = [[0; 2]; 3];
    for (at, (irrep, state)) in irreps.iter_mut().zip(&mut states).enumerate() {
        *irrep = Irrep::new(row.label(4 * at)?, row.label(4 * at + 1)?);
        *state = [row.label(4 * at + 2)?, row.label(4 * at + 3)?];
    }
    let request = Request { index, number: row.number(), states, rho: row.non_negative(12)? };
    Ok(((irreps, states[2][1]), request))
}

/// Refuses irreps whose tables do not fit, before they are computed.
fn check_memory(row: &Row, [first, second, _]: [Irrep; 3], memory: u64) -> Result<(), TableError> {
    let needed = Branching::bytes(first).saturating_add(Branching::bytes(second));
    if needed <= memory {
        return Ok(());
    }
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    Err(row.labels(format!(
        "the branching tables of {first} and {second} take {:.1} GiB, {:.1} are free: take smaller irreps",
        gib(needed),
        gib(memory)
    )))
}

impl LabelTable {
    /// Adds Wigner symbols, rounded to the nearest double, to a table of labels.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, an unknown type, labels that name no symbol.
    pub fn of_symbols(path: &Path) -> Result<LabelTable, TableError> {
        let mut reader = open(path, &SYMBOL_COLUMNS)?;
        let value = reader.also("value");
        let header = reader.header().to_string();
        let mut lines = Vec::new();
        while let Some(row) = reader.next_row()? {
            let symbol = symbol(&row)?.map_err(|error| row.labels(error))?;
            let mut line = Line::new(&row, value)?;
            line.computed = symbol.to_f64();
            lines.push(line);
        }
        Ok(LabelTable::new(reader.promised(), &header, &lines, 0.0))
    }
}

fn symbol(row: &Row) -> Result<Result<SignedRoot, LabelError>, TableError> {
    let count = match row.text(0) {
        "3j" | "6j" => 6,
        "9j" => 9,
        _ => return Err(row.wrong(0, "3j, 6j or 9j")),
    };
    let mut j = [0; 9];
    for (at, j) in j.iter_mut().enumerate() {
        if at < count {
            *j = row.integer(at + 1)?;
        } else if !row.text(at + 1).is_empty() {
            return Err(
                row.wrong(at + 1, &format!("an empty field, because a {} symbol has {count} labels", row.text(0)))
            );
        }
    }
    let [a, b, c, d, e, f, ..] = j;
    Ok(match row.text(0) {
        "3j" => wigner_3j([a, b, c], [d, e, f]),
        "6j" => wigner_6j([a, b, c, d, e, f]),
        _ => wigner_9j(j),
    })
}

fn open(path: &Path, columns: &[&str]) -> Result<Reader, TableError> {
    let mut reader = Reader::open(path, columns)?;
    if reader.also(COMPUTED).is_some() {
        return Err(TableError::ColumnTwice { path: path.to_path_buf(), column: COMPUTED.into() });
    }
    Ok(reader)
}

impl Line {
    fn new(row: &Row, value: Option<usize>) -> Result<Line, TableError> {
        let stated = value.map(|column| row.real(column)).transpose()?;
        Ok(Line { text: row.line().to_string(), stated, computed: 0.0 })
    }
}

impl LabelTable {
    fn new(promised: Option<u64>, header: &str, lines: &[Line], defect: f64) -> LabelTable {
        let promise = promised.map_or_else(String::new, |rows| format!("# rows = {rows}\n"));
        let mut text = format!("{promise}{header},{COMPUTED}\n");
        for line in lines {
            text += &format!("{},{:e}\n", line.text, line.computed);
        }
        let differences = lines.iter().filter_map(|line| Some((line.computed - line.stated?).abs()));
        LabelTable { text, rows: lines.len(), difference: differences.reduce(f64::max), defect }
    }
}
