//! SciPy's archive of compressed rows, as `scipy.sparse.save_npz` writes it without compression, and the basis beside it.
//!
//! Arrays: `format`, `shape`, `indptr`, `indices`, `data` of the whole matrix (f64, or complex128), and the basis as in vectors.npz:
//! `states` u64 (of states of more than 64 bits two columns, the low word first), or for electrons in a sector of `up` and `down` alone `up_states` and `down_states` (row a + d↑ · b; the up index
//! runs fastest). Each array is written as it is made; what is held is the number of elements of each row.

use super::rows::Rows;
use super::{ExportError, Written, check_disk};
use crate::exact::Model;
use crate::files::{ReportError, publish};
use crate::words::grouped;
use eigenforge_runtime::Device;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Bytes of headers of arrays and archive, at most.
const HEADERS: u64 = 4096;

/// An integer of `indices` and `indptr`: 32 bits where they suffice, as SciPy chooses.
#[derive(Clone, Copy)]
struct Index {
    bytes: usize,
}

impl Index {
    fn new(rows: u64, elements: u64) -> Index {
        Index { bytes: if rows.max(elements) <= i32::MAX as u64 { 4 } else { 8 } }
    }

    fn put(self, number: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&number.to_le_bytes()[..self.bytes]);
    }
}

pub(super) fn write(model: &Model, file: &Path) -> Result<Written, ExportError> {
    let rows = Rows::new(model);
    let number = rows.number();
    check_disk(file, number, None, 4 * number)?;
    let what = format!("the numbers of elements of {} rows", grouped(number.into()));
    Device::cpu().check_memory(&what, 4 * number)?;
    let mut counts: Vec<u32> = Vec::with_capacity(number as usize);
    let counted = rows.stream(count, |piece| {
        counts.extend(piece);
        Ok::<(), Infallible>(())
    });
    counted.unwrap_or_else(|never| match never {});
    let elements: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let index = Index::new(number, elements);
    let value = if rows.is_complex() { 16 } else { 8 };
    let of_state = if model.basis().word().bits() > u64::BITS { 2 } else { 1 };
    let basis = model.basis().species().map_or(of_state * number, |(up, down)| (up.len() + down.len()) as u64);
    let needed = elements.saturating_mul(value + index.bytes as u64).saturating_add((number + 1) * index.bytes as u64);
    check_disk(file, number, Some(elements), needed.saturating_add(8 * basis + HEADERS))?;
    let written = publish(file, |out| {
        let failed = |source| ReportError::Write { file: file.into(), source };
        arrays(model, &rows, &counts, index, out).map_err(failed)
    })?;
    let numbers = if rows.is_complex() { "complex128" } else { "float64" };
    let contents = format!(
        "SciPy's compressed rows, {numbers}, {} rows, {} elements",
        grouped(number.into()),
        grouped(elements.into())
    );
    Ok((written, number, elements, contents))
}

/// All arrays.
fn arrays(model: &Model, rows: &Rows<'_>, counts: &[u32], index: Index, file: &mut File) -> io::Result<()> {
    let elements: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let mut zip = ZipWriter::new(BufWriter::with_capacity(1 << 20, file));
    let integers = if index.bytes == 4 { "<i4" } else { "<i8" };
    start(&mut zip, "format", "|S3", "()")?;
    zip.write_all(b"csr")?;
    start(&mut zip, "shape", "<i8", "(2,)")?;
    zip.write_all(&[rows.number().to_le_bytes(), rows.number().to_le_bytes()].concat())?;
    start(&mut zip, "indptr", integers, &format!("({},)", rows.number() + 1))?;
    let (mut sum, mut bytes) = (0, Vec::new());
    index.put(sum, &mut bytes);
    for counts in counts.chunks(1 << 16) {
        for count in counts {
            sum += u64::from(*count);
            index.put(sum, &mut bytes);
        }
        zip.write_all(&bytes)?;
        bytes.clear();
    }
    zip.write_all(&bytes)?;
    start(&mut zip, "indices", integers, &format!("({elements},)"))?;
    rows.stream(|rows, piece| columns(rows, piece, index), |piece| zip.write_all(&piece))?;
    start(&mut zip, "data", if rows.is_complex() { "<c16" } else { "<f8" }, &format!("({elements},)"))?;
    rows.stream(values, |piece| zip.write_all(&piece))?;
    match model.basis().species() {
        Some((up, down)) => {
            words(&mut zip, "up_states", up.len() as u64, up.iter().copied())?;
            words(&mut zip, "down_states", down.len() as u64, down.iter().copied())?;
        }
        None if model.basis().word().bits() > u64::BITS => {
            start(&mut zip, "states", "<u8", &format!("({}, 2)", rows.number()))?;
            // The low word of each state comes first.
            put(&mut zip, rows.states().flat_map(|state| [state as u64, (state >> 64) as u64]))?;
        }
        None => words(&mut zip, "states", rows.number(), rows.states().map(|state| state as u64))?,
    }
    zip.finish()?.flush()
}

type Zip<'a> = ZipWriter<BufWriter<&'a mut File>>;

/// Begins an array: its member of the archive, and the header of NumPy's format 1.0 (NEP 1).
fn start(zip: &mut Zip<'_>, name: &str, descr: &str, shape: &str) -> io::Result<()> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    zip.start_file(format!("{name}.npy"), options)?;
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Magic number, version, length and text fill a multiple of 64 bytes.
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    zip.write_all(b"\x93NUMPY\x01\x00")?;
    zip.write_all(&(length as u16).to_le_bytes())?;
    zip.write_all(format!("{text:<0$}\n", length - 1).as_bytes())
}

/// An array of state words.
fn words(zip: &mut Zip<'_>, name: &str, count: u64, states: impl Iterator<Item = u64>) -> io::Result<()> {
    start(zip, name, "<u8", &format!("({count},)"))?;
    put(zip, states)
}

/// Numbers of an array that has begun.
fn put(zip: &mut Zip<'_>, mut states: impl Iterator<Item = u64>) -> io::Result<()> {
    loop {
        let bytes: Vec<u8> = states.by_ref().take(1 << 16).flat_map(u64::to_le_bytes).collect();
        if bytes.is_empty() {
            return Ok(());
        }
        zip.write_all(&bytes)?;
    }
}

fn count(rows: &Rows<'_>, piece: Range<u64>) -> Vec<u32> {
    let mut elements = Vec::new();
    let count = |row| {
        rows.row(row, &mut elements);
        elements.len() as u32
    };
    piece.map(count).collect()
}

fn columns(rows: &Rows<'_>, piece: Range<u64>, index: Index) -> Vec<u8> {
    let (mut elements, mut bytes) = (Vec::new(), Vec::new());
    for row in piece {
        rows.row(row, &mut elements);
        elements.iter().for_each(|element| index.put(element.column, &mut bytes));
    }
    bytes
}

fn values(rows: &Rows<'_>, piece: Range<u64>) -> Vec<u8> {
    let (mut elements, mut bytes) = (Vec::new(), Vec::new());
    for row in piece {
        rows.row(row, &mut elements);
        for element in &elements {
            bytes.extend_from_slice(&element.re.to_le_bytes());
            if rows.is_complex() {
                bytes.extend_from_slice(&element.im.to_le_bytes());
            }
        }
    }
    bytes
}
