//! Lines of a text, one after another through one buffer: number, and bytes without the line end.

use super::invalid;
use std::io::{self, BufRead, Read};

/// Limit on the length of a line; a file without line feeds would otherwise fill the memory.
const LIMIT: u64 = 1 << 16;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// From 1.
    pub number: u64,
    /// Without the line end.
    pub bytes: &'a [u8],
}

impl<'a> Line<'a> {
    /// The line as text.
    ///
    /// # Errors
    /// Bytes that are not UTF-8.
    pub fn text(self) -> io::Result<&'a str> {
        std::str::from_utf8(self.bytes).map_err(|_| invalid(format!("line {} is not UTF-8 text", self.number)))
    }
}

/// Reads line by line. A last line without a line feed is refused, unless it is blank: the text was truncated there, and
/// the rest of a number is another number.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines of a text.
    pub fn new(source: R) -> Lines<R> {
        Lines { source, buffer: Vec::new(), number: 0 }
    }

    /// Number of the last line read; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` after the last.
    ///
    /// # Errors
    /// A source that cannot be read, a line of more than 64 KiB, a last line without a line feed.
    #[allow(clippy::should_implement_trait)] // a line borrows the buffer
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.next_where(|_| true)
    }

    /// The next line that is not blank.
    ///
    /// # Errors
    /// See [`Lines::next`].
    pub fn next_filled(&mut self) -> io::Result<Option<Line<'_>>> {
        self.next_where(|line| !line.trim_ascii().is_empty())
    }

    /// The next line for which `wanted` holds; others are skipped.
    ///
    /// # Errors
    /// See [`Lines::next`].
    pub fn next_where(&mut self, wanted: impl Fn(&[u8]) -> bool) -> io::Result<Option<Line<'_>>> {
        while self.advance()? {
            if wanted(&self.buffer) {
                return Ok(Some(Line { number: self.number, bytes: &self.buffer }));
            }
        }
        Ok(None)
    }

    /// Fills the buffer with the next line; false after the last.
    fn advance(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        let read = self.source.by_ref().take(LIMIT).read_until(b'\n', &mut self.buffer)? as u64;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if read == LIMIT {
            return Err(invalid(format!("line {} is longer than {LIMIT} bytes", self.number)));
        } else {
            check_last(self.number, &self.buffer)?;
        }
        Ok(true)
    }
}

/// Refuses a text whose last line is neither blank nor ended.
///
/// # Errors
/// The number of that line.
pub fn check_ending(text: &str) -> io::Result<()> {
    let last = text.rsplit('\n').next().unwrap_or_default();
    check_last(1 + text.bytes().filter(|byte| *byte == b'\n').count() as u64, last.as_bytes())
}

fn check_last(number: u64, rest: &[u8]) -> io::Result<()> {
    if rest.trim_ascii().is_empty() {
        return Ok(());
    }
    Err(invalid(format!(
        "line {number}, the last, does not end with a line feed: the file seems cut off; if it is whole, add the line feed"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> io::Result<Vec<String>> {
        let (mut lines, mut found) = (Lines::new(text.as_bytes()), Vec::new());
        while let Some(line) = lines.next()? {
            assert_eq!(line.number as usize, found.len() + 1);
            found.push(line.text()?.to_string());
        }
        Ok(found)
    }

    #[test]
    fn only_a_whole_last_line_is_taken() {
        assert_eq!(lines("a\n\nb c\r\n").unwrap(), ["a", "", "b c\r"]);
        assert_eq!(lines("a\n  ").unwrap(), ["a", "  "]);
        assert_eq!(lines("").unwrap(), [""; 0]);
        for cut in ["a", "a\nb", "a\n\n 1.5"] {
            let error = lines(cut).unwrap_err().to_string();
            let number = cut.lines().count();
            assert!(error.contains(&format!("line {number}, the last, does not end with a line feed")), "{error}");
            assert_eq!(check_ending(cut).unwrap_err().to_string(), error);
        }
        assert!(check_ending("a\n").is_ok() && check_ending("a\n \t").is_ok() && check_ending("").is_ok());
    }

    #[test]
    fn a_line_has_a_limit() {
        let long = |length: u64| "x".repeat(length as usize) + "\n";
        assert_eq!(lines(&long(LIMIT - 1)).unwrap()[0].len() as u64, LIMIT - 1);
        assert!(lines(&long(LIMIT)).unwrap_err().to_string().contains("line 1 is longer than 65536 bytes"));
        let endless = io::BufReader::new(io::repeat(b'0'));
        assert!(Lines::new(endless).next().unwrap_err().to_string().contains("line 1 is longer"));
        let mut bytes = Lines::new(&b"ok\n\xff\n"[..]);
        assert!(bytes.next().is_ok());
        assert_eq!(bytes.next().unwrap().unwrap().text().unwrap_err().to_string(), "line 2 is not UTF-8 text");
    }
}
