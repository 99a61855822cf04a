//! The numbers of an me2j file, one after another: decimals after a line of comment, or 4-byte numbers after 255 bytes of it.
//!
//! In: a path whose name tells the encoding (`.bin` or text, which may be a gzip file). Out: finite numbers; and the reverse, texts with
//! ten numbers of 7 decimals per line.

use super::super::csv::TableError;
use eigenforge_runtime::input_file::{FileKind, Lines, OpenedFile, TextFile, real_number};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Bytes of comment before the numbers of a binary file.
const HEADER: usize = 255;

/// Numbers per line of a text.
const PER_LINE: u64 = 10;

/// A number of the text that is smaller is written as 0.
const LEAST: f64 = 0.5e-7;

/// Whether a file's name is one of the format: `.me2j`, `.me2j.gz`, `.me2j.bin`.
pub(in super::super) fn is_name(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().to_lowercase());
    [".me2j", ".me2j.gz", ".me2j.bin"].iter().any(|ending| name.ends_with(ending))
}

/// Whether a file is one of the format, by its name or a comment that names it.
pub(in super::super) fn recognised(path: &Path) -> bool {
    let in_comment = || {
        let mut start = Vec::new();
        let read = TextFile::open(path, FileKind::INTERACTION).and_then(|text| text.take(256).read_to_end(&mut start));
        let comment = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        read.is_ok() && String::from_utf8_lossy(comment).to_lowercase().contains("me2j")
    };
    is_name(path) || in_comment()
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// An open file.
pub(super) struct Numbers<'a> {
    path: &'a Path,
    source: Source,
    /// Numbers read.
    read: u64,
}

enum Source {
    Text {
        lines: Lines<TextFile>,
        /// What is left of the line, and its number.
        line: String,
        at: usize,
        number: u64,
    },
    Binary(BufReader<OpenedFile>),
}

impl<'a> Numbers<'a> {
    /// Opens a file behind its comment.
    pub(super) fn open(path: &'a Path) -> Result<Numbers<'a>, TableError> {
        let failed = |source| TableError::Read { path: path.to_path_buf(), source };
        let source = if has_ending(path, "bin") {
            let file = OpenedFile::open(path, FileKind::INTERACTION).map_err(failed)?;
            let bytes = file.size();
            if bytes < HEADER as u64 || !(bytes - HEADER as u64).is_multiple_of(4) {
                let reason = format!(
                    "expected {HEADER} bytes of comment and numbers of 4 bytes, as in files .me2j.bin, found {bytes} bytes: it is cut off, \
                     or of another format"
                );
                return Err(TableError::Content { path: path.to_path_buf(), reason });
            }
            let mut file = BufReader::with_capacity(1 << 20, file);
            file.read_exact(&mut [0; HEADER]).map_err(failed)?;
            Source::Binary(file)
        } else {
            let mut lines = Lines::new(TextFile::open(path, FileKind::INTERACTION).map_err(failed)?);
            lines.next().map_err(failed)?;
            Source::Text { lines, line: String::new(), at: 0, number: 1 }
        };
        Ok(Numbers { path, source, read: 0 })
    }

    /// How many numbers a file has; of a text all are read and checked.
    pub(super) fn count(path: &Path) -> Result<u64, TableError> {
        let mut numbers = Numbers::open(path)?;
        if let Source::Binary(file) = &numbers.source {
            return Ok((file.get_ref().size() - HEADER as u64) / 4);
        }
        while numbers.next()?.is_some() {}
        Ok(numbers.read)
    }

    /// The next number; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<f64>, TableError> {
        let failed = |source| TableError::Read { path: self.path.to_path_buf(), source };
        let value = match &mut self.source {
            Source::Binary(file) => {
                let mut bytes = [0; 4];
                match file.read_exact(&mut bytes) {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                    other => other.map_err(failed)?,
                }
                let value = f32::from_le_bytes(bytes);
                (f64::from(value), value.to_string())
            }
            Source::Text { lines, line, at, number } => {
                let word = loop {
                    let rest = line[*at..].trim_start();
                    let Some(word) = rest.split_whitespace().next() else {
                        let Some(next) = lines.next_filled().map_err(failed)? else { return Ok(None) };
                        line.clear();
                        line.push_str(next.text().map_err(failed)?);
                        (*at, *number) = (0, next.number);
                        continue;
                    };
                    *at = line.len() - rest.len() + word.len();
                    break word;
                };
                (real_number(word).unwrap_or(f64::NAN), word.to_string())
            }
        };
        self.read += 1;
        match value {
            (value, _) if value.is_finite() => Ok(Some(value)),
            (_, word) => {
                Err(self
                    .fault(&format!("expected a finite number, found `{}`", word.chars().take(40).collect::<String>())))
            }
        }
    }

    /// An error at the last number.
    pub(super) fn fault(&self, reason: &str) -> TableError {
        let path = self.path.to_path_buf();
        match &self.source {
            Source::Text { number, .. } => TableError::Labels {
                path,
                line: *number as usize,
                reason: format!("number {} of the file: {reason}", self.read),
            },
            Source::Binary(_) => TableError::Content { path, reason: format!("number {}: {reason}", self.read) },
        }
    }
}

/// Writes what `numbers` puts, in the encoding of the file's name. The comment says what it holds.
///
/// # Errors
///
/// I/O errors, those of `numbers`, and numbers that 4 bytes cannot hold.
pub(super) fn write(
    out: &mut dyn Write,
    path: &Path,
    holds: &str,
    numbers: impl FnOnce(&mut dyn FnMut(f64) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let comment =
        format!("me2j by eigenforge {}: {holds}, functions positive at the origin", env!("CARGO_PKG_VERSION"));
    if has_ending(path, "bin") {
        out.write_all(format!("{comment:HEADER$}").as_bytes())?;
        return numbers(&mut |number| {
            let single = number as f32;
            if !single.is_finite() {
                return Err(io::Error::other(format!(
                    "{number:e} is too large for the 4-byte numbers of this format: write text"
                )));
            }
            out.write_all(&single.to_le_bytes())
        });
    }
    if has_ending(path, "gz") {
        let mut packed = GzEncoder::new(out, Compression::default());
        write_text(&mut packed, &comment, numbers)?;
        return packed.finish().map(|_| ());
    }
    write_text(out, &comment, numbers)
}

fn write_text(
    out: &mut dyn Write,
    comment: &str,
    numbers: impl FnOnce(&mut dyn FnMut(f64) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "{comment}")?;
    let (mut line, mut written) = (String::new(), 0u64);
    numbers(&mut |number| {
        // Without -0.0000000.
        let number = if number.abs() < LEAST { 0.0 } else { number };
        // Writing to a String cannot fail.
        let _ = write!(line, "{number:>12.7} ");
        written += 1;
        if written.is_multiple_of(PER_LINE) {
            writeln!(out, "{}", line.trim_end())?;
            line.clear();
        }
        Ok(())
    })?;
    if line.is_empty() { Ok(()) } else { writeln!(out, "{}", line.trim_end()) }
}
