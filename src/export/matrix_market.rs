//! Matrix Market coordinate files (Boisvert, Pozo, Remington 1996): the lower triangle, by rows.
//!
//! Numbers have the fewest digits that give the same bits again. Comments hold the basis: the words of all `%states` lines, in order,
//! are the states of rows 1, 2, ….

use super::rows::{Element, Rows};
use super::{ExportError, Written, bits_of, check_disk};
use crate::exact::Model;
use crate::files::{ReportError, publish};
use crate::words::grouped;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// The longest line of a comment; the format allows 1024 bytes.
const LINE: usize = 1000;

/// Digits of a number of rows, and of a double at most (`-1.2345678901234567e-308`).
fn digits(rows: u64) -> u64 {
    rows.max(1).ilog10().into()
}
const DOUBLE: u64 = 24;

pub(super) fn write(model: &Model, file: &Path) -> Result<Written, ExportError> {
    let rows = Rows::new(model);
    let number = rows.number();
    // A word of the basis and its space, and for each element two numbers, spaces and a digit, at least.
    let least = rows.least_elements().saturating_mul(2 * digits(number) + 3);
    check_disk(file, number, None, least.saturating_add(2 * number))?;
    let mut elements = 0;
    let counted = rows.stream(count, |piece| {
        elements += piece;
        Ok::<(), Infallible>(())
    });
    counted.unwrap_or_else(|never| match never {});
    let parts = if rows.is_complex() { 2 } else { 1 };
    let line = 2 * (digits(number) + 2) + parts * (DOUBLE + 1);
    check_disk(file, number, Some(elements), elements.saturating_mul(line).saturating_add(2 * number))?;
    let kind = if rows.is_complex() { "complex hermitian" } else { "real symmetric" };
    let written = publish(file, |out| {
        let mut out = BufWriter::with_capacity(1 << 20, out);
        let failed = |source| ReportError::Write { file: file.into(), source };
        let mut write = || -> std::io::Result<()> {
            writeln!(out, "%%MatrixMarket matrix coordinate {kind}")?;
            writeln!(out, "% H of {} by eigenforge {}", model.name(), env!("CARGO_PKG_VERSION"))?;
            writeln!(out, "% sector: {}; {}", model.sector(), bits_of(model))?;
            writeln!(out, "% the words of the lines below are the states of rows 1, 2, ...")?;
            states(&rows, &mut out)?;
            writeln!(out, "{number} {number} {elements}")?;
            rows.stream(lines, |piece| out.write_all(piece.as_bytes()))?;
            out.flush()
        };
        write().map_err(failed)
    })?;
    let contents = format!(
        "Matrix Market, {kind}, {} rows, {} elements in the lower triangle",
        grouped(number.into()),
        grouped(elements.into())
    );
    Ok((written, number, elements, contents))
}

/// The words of the basis in comments.
fn states(rows: &Rows<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let mut line = String::from("%states");
    for state in rows.states() {
        let word = format!(" {state}");
        if line.len() + word.len() > LINE {
            writeln!(out, "{line}")?;
            line.truncate("%states".len());
        }
        line += &word;
    }
    writeln!(out, "{line}")
}

/// The elements of some rows on and below the diagonal.
fn lower(rows: &Rows<'_>, piece: Range<u64>, mut take: impl FnMut(u64, &Element)) {
    let mut elements = Vec::new();
    for row in piece {
        rows.row(row, &mut elements);
        elements.iter().take_while(|element| element.column <= row).for_each(|element| take(row, element));
    }
}

fn count(rows: &Rows<'_>, piece: Range<u64>) -> u64 {
    let mut count = 0;
    lower(rows, piece, |_, _| count += 1);
    count
}

fn lines(rows: &Rows<'_>, piece: Range<u64>) -> String {
    let mut text = String::new();
    lower(rows, piece, |row, Element { column, re, im }| {
        // Writing to a String cannot fail.
        let _ = match rows.is_complex() {
            true => writeln!(text, "{} {} {re:?} {im:?}", row + 1, column + 1),
            false => writeln!(text, "{} {} {re:?}", row + 1, column + 1),
        };
    });
    text
}
