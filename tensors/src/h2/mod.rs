//! H2 files of MFDn, versions 0, 15099 and 15200, as text and binary, in and out.
//!
//! A file has its orbitals (or their truncation), truncation weights, the number of elements of pp, nn and pn, and half
//! of a symmetric matrix ⟨a b; J|V|c d; J⟩ between normalised antisymmetric states, a ≤ b for like nucleons, ordered by J
//! and parity; radial functions are positive at the origin (specifications: `doc/h2` of the shell project, MIT). In the
//! layout of a plan, u has both orders of every pair, √((1+δab)(1+δcd)) for like nucleons, and radial functions positive
//! at infinity.
//!
//! ```text
//! |b a; J⟩ = −(−1)^{ja+jb−J} |a b; J⟩ for like nucleons,   positive at infinity = (−1)^{radial n} · positive at the origin
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `header` | which orbitals and states does a file have? |
//! | `order` | in which order are its elements? |
//! | `text`, `records`, `write_records` | how are they written as lines, and as binary records or streams? |
//! | `place` | where is an element in a plan? |

mod header;
mod order;
mod place;
mod records;
mod text;
mod write_records;

pub use header::H2Version;

use super::channel::{ByChannel, Channel};
use super::csv::TableError;
use super::elements::{StateIndex, complete};
use super::plan::Plan;
use eigenforge_runtime::input_file::{FileKind, OpenedFile, TextFile};
use header::Header;
use place::{Element, fill_forbidden};
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

/// Elements being collected for a plan.
struct Collected<'a> {
    plan: &'a Plan,
    states: StateIndex,
    /// By channel.
    vectors: [Vec<f64>; 3],
    left_out: usize,
    largest: u32,
}

impl<'a> Collected<'a> {
    fn new(plan: &'a Plan) -> Collected<'a> {
        let vectors = [(); 3].map(|()| vec![f64::NAN; plan.length]);
        Collected { plan, states: StateIndex::new(plan), vectors, left_out: 0, largest: 0 }
    }

    /// Adds an element; the error text continues after a place.
    fn take(&mut self, channel: Channel, element: &Element) -> Result<(), String> {
        element.check()?;
        let [a, b, c, d] = element.four.map(|orbital| orbital.shell());
        self.largest = self.largest.max(a + b).max(c + d);
        match element.put(self.plan, &self.states, &mut self.vectors[channel as usize]) {
            Ok(inside) => {
                self.left_out += usize::from(!inside);
                Ok(())
            }
            Err(()) => Err("this element appears twice with different values".into()),
        }
    }

    fn finish(mut self, path: &Path) -> Result<ByChannel, TableError> {
        let plan = self.plan;
        if self.largest < plan.space().quanta_max() {
            return Err(TableError::Truncation { path: path.to_path_buf(), n_max: plan.n_max, found: self.largest });
        }
        for channel in Channel::ALL {
            let vector = &mut self.vectors[channel as usize];
            if channel != Channel::Pn {
                fill_forbidden(plan, vector);
            }
            complete(path, plan, channel, vector)?;
        }
        let vectors = Channel::ALL.into_iter().zip(self.vectors).collect();
        Ok(ByChannel { vectors, left_out: self.left_out })
    }
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
    let channels: Vec<Channel> = elements.vectors.iter().map(|(channel, _)| *channel).collect();
    if channels != Channel::ALL {
        let words: Vec<&str> = channels.iter().map(|channel| channel.word()).collect();
        let message = format!("an H2 file needs the channels pn, pp and nn, found only {}", words.join(", "));
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let states = StateIndex::new(plan);
    let header = Header::of_plan(plan, version);
    let value = |channel: Channel, four: [usize; 4], j: u32| {
        let element = Element::new(&header, channel, four, j, 0.0);
        let of = &elements.vectors[channel as usize].1;
        let largest = || of.iter().fold(0.0, |largest: f64, u| largest.max(u.abs()));
        element.get(plan, &states, of).map_err(|found| found.explain(largest()))
    };
    match encoding {
        Encoding::Text => text::write(out, &header, value),
        Encoding::Records => write_records::write(out, &header, value),
    }
}
