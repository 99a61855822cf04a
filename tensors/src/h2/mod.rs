//! H2 files of MFDn, versions 0, 15099 and 15200, as text and binary, in and out.
//!
//! A file has its orbitals (or their truncation), truncation weights, the number of elements of pp, nn and pn, and half
//! of a symmetric matrix ⟨a b; J|V|c d; J⟩ between normalised antisymmetric states, a ≤ b for like nucleons, ordered by J
//! and parity; radial functions are positive at the origin (specifications: `doc/h2` of the shell project, MIT). In the
//! layout of a plan, u has both orders of every pair, √((1+δab)(1+δcd)) for like nucleons, and radial functions positive
//! at infinity ([`super::element`]).
//!
//! | file | question it answers |
//! |---|---|
//! | `header` | which orbitals and states does a file have? |
//! | `order` | in which order are its elements? |
//! | `text`, `records`, `write_records` | how are they written as lines, and as binary records or streams? |

mod header;
mod order;
mod records;
mod text;
mod write_records;

pub use header::H2Version;

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::element::{Collected, check_channels};
use super::elements::StateIndex;
use super::plan::Plan;
use eigenforge_runtime::input_file::{FileKind, OpenedFile, TextFile};
use header::Header;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// The encoding of a file's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Lines with labels.
    Text,
    /// Fortran records of 4-byte integers and reals, or a stream of them.
    Records,
}

/// Whether a file begins like these: with only a version number in its first line, or as a Fortran record of one integer.
pub(super) fn recognised(path: &Path) -> bool {
    let Ok(start) = beginning(path) else { return false };
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    records::recognised(&start) || (!line.is_empty() && line.iter().all(u8::is_ascii_digit))
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    TextFile::open(path, FileKind::INTERACTION)?.take(64).read_to_end(&mut start)?;
    Ok(start)
}

/// Reads the elements of a plan's space; those beyond it are ignored.
///
/// # Errors
///
/// An unknown version, a line or record with wrong fields, counts that disagree with the orbitals, an element missing or
/// with two values, a number that is not finite, a file that ends below N_max.
pub(super) fn read(path: &Path, plan: &Plan) -> Result<ByChannel, TableError> {
    let failed = |source| TableError::Read { path: path.to_path_buf(), source };
    let mut collected = Collected::new(plan);
    if records::recognised(&beginning(path).map_err(failed)?) {
        records::read(path, &mut collected)?;
    } else {
        text::read(path, &mut collected)?;
    }
    collected.finish(path)
}

/// The file, buffered, and its length in bytes.
fn open(path: &Path) -> Result<(BufReader<OpenedFile>, u64), TableError> {
    let failed = |source| TableError::Read { path: path.to_path_buf(), source };
    let file = OpenedFile::open(path, FileKind::INTERACTION).map_err(failed)?;
    let bytes = file.size();
    Ok((BufReader::with_capacity(1 << 20, file), bytes))
}

/// Writes the elements of a plan, which must have pn, pp and nn and be symmetric, in single precision as the format
/// requires.
///
/// # Errors
///
/// I/O errors; missing channels; elements that are not those of a Hermitian force between nucleons.
pub(super) fn write(
    out: &mut dyn Write,
    plan: &Plan,
    version: H2Version,
    encoding: Encoding,
    elements: &ByChannel,
) -> io::Result<()> {
    check_channels(elements, "an H2 file")?;
    let states = StateIndex::new(plan);
    let header = Header::of_plan(plan, version);
    let value = |channel: Channel, four: [usize; 4], j: u32| {
        let element = header.element(channel, four, j, 0.0);
        let of = &elements.vectors[channel as usize].1;
        let largest = || of.iter().fold(0.0, |largest: f64, u| largest.max(u.abs()));
        element.get(plan, &states, of).map_err(|found| found.explain(largest()))
    };
    match encoding {
        Encoding::Text => text::write(out, &header, value),
        Encoding::Records => write_records::write(out, &header, value),
    }
}
