//! Lines of a text, one after another through one buffer: number, and bytes without the line end.

use super::FcidumpError;
use std::io::{BufRead, Read};
use std::path::PathBuf;

/// Longest line that is read; a file without line feeds would otherwise fill the memory.
const LIMIT: u64 = 1 << 16;

/// One line.
pub(super) struct Line<'a> {
    /// From 1.
    pub number: u64,
    /// Without the line end.
    pub text: &'a [u8],
}

/// Reads line by line.
pub(super) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(source: R) -> Lines<R> {
        Lines { source, buffer: Vec::new(), number: 0 }
    }

    /// Number of the last line read.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` after the last.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, FcidumpError> {
        self.buffer.clear();
        let read = self.source.by_ref().take(LIMIT).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|source| FcidumpError::Io { path: PathBuf::new(), source })? as u64;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let ended = self.buffer.last() == Some(&b'\n');
        if !ended && read == LIMIT {
            return Err(FcidumpError::LongLine { line: self.number, limit: LIMIT });
        }
        let text = if ended { &self.buffer[..self.buffer.len() - 1] } else { &self.buffer[..] };
        Ok(Some(Line { number: self.number, text }))
    }
}
