//! Matrix Market coordinate files: `real`, `integer` or `pattern`, `general` or `symmetric` (Boisvert, Pozo, Remington 1996).
//!
//! In: the text. Out: a [`Csr`]; of a symmetric file, which holds one triangle, the whole matrix. Elements given twice are
//! added. What the format allows and eigenforge does not take (complex, skew-symmetric, dense arrays) is refused by name,
//! with the number of the line.

use super::npz::of_triplets;
use super::{Csr, CsrError};
use std::io::BufRead;

/// Why a text is no matrix.
#[derive(Debug, thiserror::Error)]
pub enum MatrixMarketError {
    /// The file cannot be read.
    #[error("line {line}: {source}")]
    Read {
        /// Line, from 1.
        line: usize,
        /// What the system says.
        source: std::io::Error,
    },
    /// The first line.
    #[error(
        "line 1: expected '%%MatrixMarket matrix coordinate real|integer|pattern general|symmetric', found '{found}'"
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
    /// More columns than rows, or fewer.
    #[error("line {line}: the matrix has {rows} rows and {columns} columns; it must be square")]
    NotSquare {
        /// Line, from 1.
        line: usize,
        /// Rows.
        rows: u64,
        /// Columns.
        columns: u64,
    },
    /// A line that is no element.
    #[error("line {line}: expected {expected}, found '{found}'")]
    Element {
        /// Line, from 1.
        line: usize,
        /// What an element of this file is.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// An index that is 0 or past the last.
    #[error("line {line}: index {index} is outside of 1..={rows}; indices of Matrix Market begin at 1")]
    Index {
        /// Line, from 1.
        line: usize,
        /// The index.
        index: u64,
        /// Rows.
        rows: u64,
    },
    /// A value that is no number.
    #[error("line {line}: the value {found} is not a finite number")]
    Value {
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
    /// Fewer or more elements than the line of sizes says.
    #[error("line {line}: {found} elements instead of the {expected} that the line of sizes promises{}", if found < expected { "; the file is cut off" } else { "" })]
    Count {
        /// Line, from 1.
        line: usize,
        /// Elements found.
        found: u64,
        /// Elements promised.
        expected: u64,
    },
    /// The elements make no matrix.
    #[error(transparent)]
    Matrix(#[from] CsrError),
}

/// Reads a matrix.
///
/// # Errors
/// With the line: a text that is not of the format, a matrix that is not square, an index out of range, a value that is not
/// finite, too few or too many elements.
pub fn read_matrix_market(text: impl BufRead) -> Result<Csr, MatrixMarketError> {
    let mut lines = text.lines().enumerate().map(|(k, line)| (k + 1, line));
    let mut next = || -> Result<Option<(usize, String)>, MatrixMarketError> {
        match lines.next() {
            None => Ok(None),
            Some((line, Ok(text))) => Ok(Some((line, text))),
            Some((line, Err(source))) => Err(MatrixMarketError::Read { line, source }),
        }
    };
    let header = next()?.map_or(String::new(), |(_, text)| text);
    let kind = Kind::of(&header).ok_or(MatrixMarketError::Header { found: header })?;
    let meaningful = |text: &str| !text.trim().is_empty() && !text.trim_start().starts_with('%');
    let mut last = 1;
    let (line, sizes) = loop {
        match next()? {
            Some((line, text)) if meaningful(&text) => break (line, text),
            Some((line, _)) => last = line,
            None => return Err(MatrixMarketError::Sizes { line: last + 1, found: "the end of the file".into() }),
        }
    };
    let numbers: Vec<Option<u64>> = sizes.split_whitespace().map(|word| word.parse().ok()).collect();
    let [Some(rows), Some(columns), Some(expected)] = numbers[..] else {
        return Err(MatrixMarketError::Sizes { line, found: sizes });
    };
    if rows != columns {
        return Err(MatrixMarketError::NotSquare { line, rows, columns });
    }
    if rows > u64::from(u32::MAX) {
        return Err(MatrixMarketError::Sizes { line, found: format!("{sizes}, more rows than 32 bits count") });
    }
    let (mut triplets, mut found) = (Vec::new(), 0u64);
    last = line;
    while let Some((line, text)) = next()? {
        last = line;
        if !meaningful(&text) {
            continue;
        }
        found += 1;
        let (row, column, value) = kind.element(line, &text, rows)?;
        triplets.push((row, column, value));
        if kind.symmetric && row != column {
            triplets.push((column, row, value));
        }
    }
    if found != expected {
        return Err(MatrixMarketError::Count { line: last, found, expected });
    }
    Ok(of_triplets(rows as usize, triplets)?)
}

/// What the header says.
struct Kind {
    pattern: bool,
    symmetric: bool,
}

impl Kind {
    fn of(header: &str) -> Option<Kind> {
        let words: Vec<String> = header.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["%%matrixmarket", "matrix", "coordinate", field, symmetry] = words[..] else { return None };
        let pattern = match field {
            "real" | "integer" => false,
            "pattern" => true,
            _ => return None,
        };
        let symmetric = match symmetry {
            "general" => false,
            "symmetric" => true,
            _ => return None,
        };
        Some(Kind { pattern, symmetric })
    }

    /// Row and column from 0, and the value; 1 in a pattern.
    fn element(&self, line: usize, text: &str, rows: u64) -> Result<(u32, u32, f64), MatrixMarketError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = if self.pattern { "a row and a column" } else { "a row, a column and a value" };
        let refused = || MatrixMarketError::Element { line, expected, found: text.trim().into() };
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
            // Fortran writes 1.0D+00.
            Some(word) => word.replace(['d', 'D'], "e").parse::<f64>().map_err(|_| refused())?,
        };
        if !value.is_finite() {
            return Err(MatrixMarketError::Value { line, found: words[2].into() });
        }
        Ok((row as u32 - 1, column as u32 - 1, value))
    }
}

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
        assert_eq!([general.at(0, 1), general.at(1, 0), general.at(0, 0)], [1.3, -1.5, 0.0]);
        let symmetric = read("%%matrixmarket MATRIX coordinate integer symmetric\n3 3 2\n3 1 4\n2 2 -7\n").unwrap();
        assert_eq!([symmetric.at(0, 2), symmetric.at(2, 0), symmetric.at(1, 1)], [4.0, 4.0, -7.0]);
        let pattern = read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n").unwrap();
        assert_eq!([pattern.at(0, 1), pattern.at(1, 0)], [1.0, 1.0]);
    }

    #[test]
    fn what_is_refused_is_named_with_its_line() {
        let header = "%%MatrixMarket matrix coordinate real general\n";
        for (text, said) in [
            ("".to_string(), "line 1: expected '%%MatrixMarket"),
            ("%%MatrixMarket matrix array real general\n2 2\n".into(), "line 1"),
            ("%%MatrixMarket matrix coordinate complex general\n".into(), "complex"),
            ("%%MatrixMarket matrix coordinate real skew-symmetric\n".into(), "skew-symmetric"),
            (format!("{header}% only this\n"), "line 3: expected three whole numbers"),
            (format!("{header}2 2\n"), "line 2: expected three whole numbers"),
            (format!("{header}2 3 1\n1 1 1\n"), "line 2: the matrix has 2 rows and 3 columns"),
            (format!("{header}2 2 1\n1 1\n"), "line 3: expected a row, a column and a value"),
            (format!("{header}2 2 1\n1 one 1\n"), "line 3: expected a row, a column and a value"),
            (format!("{header}2 2 1\n% c\n0 1 1\n"), "line 4: index 0 is outside of 1..=2"),
            (format!("{header}2 2 1\n1 3 1\n"), "index 3 is outside"),
            (format!("{header}2 2 1\n1 1 nan\n"), "line 3: the value nan is not a finite number"),
            (format!("{header}2 2 1\n1 1 inf\n"), "not a finite number"),
            (
                format!("{header}2 2 2\n1 1 1\n"),
                "line 3: 1 elements instead of the 2 that the line of sizes promises; the",
            ),
            (format!("{header}2 2 1\n1 1 1\n2 2 1\n"), "line 4: 2 elements instead of the 1"),
            (format!("{}2 2 1\n1 2 1\n", header.replace("general", "symmetric")), "line 3: a symmetric file"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
