//! Matrix Market coordinate files: `real`, `integer`, SciPy's `unsigned-integer` or `pattern`, `general` or `symmetric` (Boisvert, Pozo,
//! Remington 1996).
//!
//! In: the text. Out: a [`Csr`]; for a symmetric file, which holds one triangle, the whole matrix. Repeated elements are
//! added. Variants of the format that are not supported (complex, skew-symmetric, dense arrays) are refused by name, with
//! the number of the line.

use super::npz::{BYTES_A_NON_ZERO, of_triplets};
use super::{Csr, CsrError};
use eigenforge_runtime::input_file::{Lines, real_number};
use eigenforge_runtime::{Device, DeviceError};
use std::io::{self, BufRead};

/// Rows that any file may have; beyond that, at least every eighth must have an element.
const ROWS: u64 = 1 << 20;

/// Why a text is not a matrix.
#[derive(Debug, thiserror::Error)]
pub enum MatrixMarketError {
    /// A line that cannot be read, is too long or has no line feed.
    #[error(transparent)]
    Text(#[from] io::Error),
    /// Many rows but few elements.
    #[error(
        "line {line}: {rows} rows and {non_zeros} elements; a matrix of more than {ROWS} rows must have an element in every \
         eighth at least: remove empty rows"
    )]
    Empty {
        /// Line, from 1.
        line: usize,
        /// Rows.
        rows: u64,
        /// Elements.
        non_zeros: u64,
    },
    /// The matrix does not fit into memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// No line at all.
    #[error("the file is empty; a matrix begins with '%%MatrixMarket matrix coordinate real general'")]
    NoLines,
    /// An unknown first line.
    #[error(
        "line 1: expected '%%MatrixMarket matrix coordinate real|integer|unsigned-integer|pattern general|symmetric', found '{found}'"
    )]
    Header {
        /// The line.
        found: String,
    },
    /// The line of sizes.
    #[error("line {line}: expected three whole numbers, rows columns non-zeros, found '{found}'")]
    Sizes {
        /// Line, from 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// Different numbers of rows and columns.
    #[error("line {line}: the matrix has {rows} rows and {columns} columns; it must be square")]
    NotSquare {
        /// Line, from 1.
        line: usize,
        /// Rows.
        rows: u64,
        /// Columns.
        columns: u64,
    },
    /// A line that is not an element.
    #[error("line {line}: expected {expected}, found '{found}'")]
    Element {
        /// Line, from 1.
        line: usize,
        /// The form of an element in this file.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// An index that is 0 or past the last.
    #[error("line {line}: index {index} is outside 1..={rows}; Matrix Market indices begin at 1")]
    Index {
        /// Line, from 1.
        line: usize,
        /// The index.
        index: u64,
        /// Rows.
        rows: u64,
    },
    /// A value that is not finite.
    #[error("line {line}: the value {found} is not a finite number")]
    Value {
        /// Line, from 1.
        line: usize,
        /// The value.
        found: String,
    },
    /// An integer that no double represents exactly.
    #[error("line {line}: {found} cannot be held exactly by a double; under the header `real` it is rounded")]
    Rounded {
        /// Line, from 1.
        line: usize,
        /// The value.
        found: String,
    },
    /// An element above the diagonal of a symmetric file.
    #[error(
        "line {line}: a symmetric file holds the lower triangle, but element ({row}, {column}) is above the diagonal"
    )]
    AboveDiagonal {
        /// Line, from 1.
        line: usize,
        /// Row, from 1.
        row: u64,
        /// Column, from 1.
        column: u64,
    },
    /// The number of elements differs from the line of sizes.
    #[error(
        "line {line}: {found} elements instead of the {expected} that the line of sizes promises{}",
        if found < expected { "; the file is cut off" } else { "" }
    )]
    Count {
        /// Line, from 1.
        line: usize,
        /// Elements found.
        found: u64,
        /// Elements promised.
        expected: u64,
    },
    /// The elements do not form a valid matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
}

/// Reads a matrix.
///
/// # Errors
/// With the line: a text in another format, a matrix that is not square, an index out of range, a value that is not
/// finite, too few or too many elements.
pub fn read_matrix_market(text: impl BufRead) -> Result<Csr, MatrixMarketError> {
    let mut lines = Lines::new(text);
    let header = lines.next()?.ok_or(MatrixMarketError::NoLines)?.text()?;
    let kind = Kind::parse(header).ok_or_else(|| MatrixMarketError::Header { found: shown(header) })?;
    let (rows, expected) = sizes(&mut lines)?;
    let bytes = expected.saturating_mul(BYTES_A_NON_ZERO).saturating_add(8 * rows);
    Device::cpu().check_memory(&format!("a matrix of {rows} rows and {expected} non-zeros"), bytes)?;
    let (mut triplets, mut found) = (Vec::new(), 0u64);
    while let Some((line, text)) = next(&mut lines)? {
        found += 1;
        if found > expected {
            return Err(MatrixMarketError::Count { line, found, expected });
        }
        let (row, column, value) = kind.element(line, text, rows)?;
        triplets.push((row, column, value));
        if kind.symmetric && row != column {
            triplets.push((column, row, value));
        }
    }
    if found != expected {
        return Err(MatrixMarketError::Count { line: lines.number() as usize, found, expected });
    }
    Ok(of_triplets(rows as usize, triplets)?)
}

/// The next line that is neither blank nor a comment.
fn next<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(usize, &str)>, MatrixMarketError> {
    let meaningful = |line: &[u8]| !line.trim_ascii().is_empty() && !line.trim_ascii_start().starts_with(b"%");
    let Some(line) = lines.next_where(meaningful)? else { return Ok(None) };
    Ok(Some((line.number as usize, line.text()?)))
}

/// Rows and non-zeros.
fn sizes(lines: &mut Lines<impl BufRead>) -> Result<(u64, u64), MatrixMarketError> {
    let Some((line, sizes)) = next(lines)? else {
        let line = lines.number() as usize + 1;
        return Err(MatrixMarketError::Sizes { line, found: "the end of the file".into() });
    };
    let numbers: Vec<Option<u64>> = sizes.split_whitespace().map(|word| word.parse().ok()).collect();
    let [Some(rows), Some(columns), Some(expected)] = numbers[..] else {
        return Err(MatrixMarketError::Sizes { line, found: shown(sizes) });
    };
    if rows != columns {
        return Err(MatrixMarketError::NotSquare { line, rows, columns });
    }
    if rows > u64::from(u32::MAX) {
        return Err(MatrixMarketError::Sizes {
            line,
            found: format!("{}, more rows than 32 bits count", shown(sizes)),
        });
    }
    if rows > ROWS.saturating_add(expected.saturating_mul(8)) {
        return Err(MatrixMarketError::Empty { line, rows, non_zeros: expected });
    }
    Ok((rows, expected))
}

/// A line for a message, shortened if long.
fn shown(line: &str) -> String {
    line.trim().chars().take(80).collect()
}

/// The contents of the header.
struct Kind {
    pattern: bool,
    integer: bool,
    symmetric: bool,
}

impl Kind {
    fn parse(header: &str) -> Option<Kind> {
        let words: Vec<String> = header.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["%%matrixmarket", "matrix", "coordinate", field, symmetry] = words[..] else { return None };
        let pattern = match field {
            "real" | "integer" | "unsigned-integer" => false,
            "pattern" => true,
            _ => return None,
        };
        let symmetric = match symmetry {
            "general" => false,
            "symmetric" => true,
            _ => return None,
        };
        Some(Kind { pattern, integer: field.ends_with("integer"), symmetric })
    }

    /// Row and column from 0, and the value; 1 in a pattern.
    fn element(&self, line: usize, text: &str, rows: u64) -> Result<(u32, u32, f64), MatrixMarketError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = if self.pattern { "a row and a column" } else { "a row, a column and a value" };
        let refused = || MatrixMarketError::Element { line, expected, found: shown(text) };
        let (row, column, value) = match (&words[..], self.pattern) {
            ([row, column], true) => (row, column, None),
            ([row, column, value], false) => (row, column, Some(value)),
            _ => return Err(refused()),
        };
        let index = |word: &str| -> Result<u64, MatrixMarketError> {
            let index = word.parse().map_err(|_| refused())?;
            if (1..=rows).contains(&index) { Ok(index) } else { Err(MatrixMarketError::Index { line, index, rows }) }
        };
        let (row, column) = (index(row)?, index(column)?);
        if self.symmetric && column > row {
            return Err(MatrixMarketError::AboveDiagonal { line, row, column });
        }
        let value = match value {
            None => 1.0,
            Some(word) => real_number(word).ok_or_else(refused)?,
        };
        let rounded = |word: &&str| word.parse::<i128>().is_ok_and(|whole| value as i128 != whole);
        if self.integer && words.get(2).is_some_and(rounded) {
            return Err(MatrixMarketError::Rounded { line, found: shown(words[2]) });
        }
        if !value.is_finite() {
            return Err(MatrixMarketError::Value { line, found: shown(words[2]) });
        }
        Ok((row as u32 - 1, column as u32 - 1, value))
    }
}

eigenforge_core::errors_of_the_input!(MatrixMarketError);

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Csr, MatrixMarketError> {
        read_matrix_market(text.as_bytes())
    }

    #[test]
    fn the_kinds_that_are_taken() {
        let general =
            read("%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 2 3\n2 1 -1.5D0\n1 2 3e-1\n1 2 1\n");
        let general = general.unwrap();
        assert_eq!((general.rows(), general.non_zeros()), (2, 2));
        assert_eq!([general.element(0, 1), general.element(1, 0), general.element(0, 0)], [1.3, -1.5, 0.0]);
        let symmetric = read("%%matrixmarket MATRIX coordinate integer symmetric\n3 3 2\n3 1 4\n2 2 -7\n").unwrap();
        assert_eq!([symmetric.element(0, 2), symmetric.element(2, 0), symmetric.element(1, 1)], [4.0, 4.0, -7.0]);
        // As SciPy writes uint64, and Fortran small numbers.
        let unsigned = read("%%MatrixMarket matrix coordinate unsigned-integer general\n%\n2 2 1\n1 2 88\n").unwrap();
        assert_eq!(unsigned.element(0, 1), 88.0);
        let small = read("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0D+00\n2 2 1.0-103\n").unwrap();
        assert_eq!([small.element(0, 0), small.element(1, 1)], [1.0, 1e-103]);
        let pattern = read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n").unwrap();
        assert_eq!([pattern.element(0, 1), pattern.element(1, 0)], [1.0, 1.0]);
    }

    #[test]
    fn what_is_refused_is_named_with_its_line() {
        let header = "%%MatrixMarket matrix coordinate real general\n";
        for (text, said) in [
            (String::new(), "the file is empty"),
            ("\n".into(), "line 1: expected '%%MatrixMarket"),
            ("%%MatrixMarket matrix array real general\n2 2\n".into(), "line 1"),
            ("%%MatrixMarket matrix coordinate complex general\n".into(), "complex"),
            ("%%MatrixMarket matrix coordinate real skew-symmetric\n".into(), "skew-symmetric"),
            (format!("{header}% only this\n"), "line 3: expected three whole numbers"),
            (format!("{header}2 2\n"), "line 2: expected three whole numbers"),
            (format!("{header}2 3 1\n1 1 1\n"), "line 2: the matrix has 2 rows and 3 columns"),
            (format!("{header}2 2 1\n1 1\n"), "line 3: expected a row, a column and a value"),
            (format!("{header}2 2 1\n1 one 1\n"), "line 3: expected a row, a column and a value"),
            (format!("{header}2 2 1\n% c\n0 1 1\n"), "line 4: index 0 is outside 1..=2"),
            (format!("{header}2 2 1\n1 3 1\n"), "index 3 is outside"),
            (format!("{header}2 2 1\n1 1 nan\n"), "line 3: the value nan is not a finite number"),
            (format!("{header}2 2 1\n1 1 inf\n"), "not a finite number"),
            (
                format!("{header}2 2 2\n1 1 1\n"),
                "line 3: 1 elements instead of the 2 that the line of sizes promises; the",
            ),
            (format!("{header}2 2 1\n1 1 1\n2 2 1\n"), "line 4: 2 elements instead of the 1"),
            (format!("{header}2 2 1\n1 1 3.14159"), "line 3, the last, does not end with a line feed"),
            (format!("{header}4000000000 4000000000 0\n"), "line 2: 4000000000 rows and 0 elements"),
            (format!("{header}400000000 400000000 1\n1 1 1\n"), "line 2: 400000000 rows and 1 elements"),
            (
                format!("{header}9 9 18446744073709551615\n"),
                "a matrix of 9 rows and 18446744073709551615 non-zeros needs",
            ),
            (format!("{}2 2 1\n1 1 9007199254740993\n", header.replace("real", "integer")), "line 3: 9007199254740993"),
            (
                format!("{}2 2 1\n1 1 18446744073709551615\n", header.replace("real", "unsigned-integer")),
                "line 3: 18446744073709551615",
            ),
            (format!("{}2 2 1\n1 2 1\n", header.replace("general", "symmetric")), "line 3: a symmetric file"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
