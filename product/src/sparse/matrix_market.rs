//! Matrix Market files, coordinate or array: `real`, `integer`, SciPy's `unsigned-integer`, `complex` or `pattern`; `general`, `symmetric`,
//! `hermitian` or `skew-symmetric` (Boisvert, Pozo, Remington 1996).
//!
//! In: the text. Out: a [`Csr`] of real or complex numbers; of a file that holds one triangle, the whole matrix. Repeated
//! elements are added. What is no such file is refused with the number of the line.

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
        "line 1: expected '%%MatrixMarket matrix coordinate|array real|integer|unsigned-integer|complex|pattern \
         general|symmetric|hermitian|skew-symmetric', found '{found}'; patterns are of coordinates, general or symmetric, and hermitian \
         matrices complex"
    )]
    Header {
        /// The line.
        found: String,
    },
    /// The line of sizes.
    #[error("line {line}: expected {expected}, found '{found}'")]
    Sizes {
        /// Line, from 1.
        line: usize,
        /// What it should hold.
        expected: &'static str,
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
    /// A number with a fraction in a file of integers.
    #[error(
        "line {line}: expected a whole number in a file of the field `integer`, found '{found}'; numbers with fractions are `real`"
    )]
    Fraction {
        /// Line, from 1.
        line: usize,
        /// The value.
        found: String,
    },
    /// A matrix of numbers that are not real where real ones are needed.
    #[error("the numbers are complex where real ones are needed")]
    Complex,
    /// A diagonal element that a Hermitian matrix, or a skew-symmetric one, does not have.
    #[error("line {line}: {expected}, found '{found}'")]
    Diagonal {
        /// Line, from 1.
        line: usize,
        /// What it should be.
        expected: &'static str,
        /// The line.
        found: String,
    },
    /// An element above the diagonal of a file that holds one triangle.
    #[error(
        "line {line}: a symmetric, hermitian or skew-symmetric file holds the lower triangle, but element ({row}, {column}) is above the \
         diagonal"
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

/// Reads a matrix of real numbers.
///
/// # Errors
/// See [`Csr::read_matrix_market`]; numbers that are not real.
pub fn read_matrix_market(text: impl BufRead) -> Result<Csr, MatrixMarketError> {
    Csr::read_matrix_market(text)?.into_real().ok_or(MatrixMarketError::Complex)
}

impl Csr {
    /// Reads a matrix of real or complex numbers; complex ones without imaginary parts are taken as real ones.
    ///
    /// # Errors
    /// With the line: a text in another format, a matrix that is not square, an index out of range, a value that is not
    /// finite, too few or too many elements.
    pub fn read_matrix_market(text: impl BufRead) -> Result<Csr, MatrixMarketError> {
        let mut lines = Lines::new(text);
        let header = lines.next()?.ok_or(MatrixMarketError::NoLines)?.text()?;
        let kind = Kind::parse(header).ok_or_else(|| MatrixMarketError::Header { found: shown(header) })?;
        let (rows, expected) = kind.sizes(&mut lines)?;
        let bytes = expected.saturating_mul(BYTES_A_NON_ZERO * kind.parts() as u64).saturating_add(8 * rows);
        Device::cpu().check_memory(&format!("a matrix of {rows} rows and {expected} non-zeros"), bytes)?;
        let matrix = match kind.parts() {
            1 => kind.elements::<1>(&mut lines, rows, expected)?,
            _ => kind.elements::<2>(&mut lines, rows, expected)?,
        };
        Ok(matrix.with_fewest_parts())
    }
}

/// The next line that is neither blank nor a comment.
fn next<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<(usize, &str)>, MatrixMarketError> {
    let meaningful = |line: &[u8]| !line.trim_ascii().is_empty() && !line.trim_ascii_start().starts_with(b"%");
    let Some(line) = lines.next_where(meaningful)? else { return Ok(None) };
    Ok(Some((line.number as usize, line.text()?)))
}

/// A line for a message, shortened if long.
fn shown(line: &str) -> String {
    line.trim().chars().take(80).collect()
}

/// Which elements a file leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Hermitian,
    Skew,
}

impl Symmetry {
    /// The sign of a part of A(j, i) where the file holds A(i, j) alone.
    fn mirror(self, part: usize) -> f64 {
        match self {
            Symmetry::General | Symmetry::Symmetric => 1.0,
            Symmetry::Hermitian => {
                if part == 0 {
                    1.0
                } else {
                    -1.0
                }
            }
            Symmetry::Skew => -1.0,
        }
    }
}

/// The numbers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Real,
    Integer,
    Complex,
    Pattern,
}

/// The contents of the header.
struct Kind {
    /// Whether all elements are listed, column by column, without their places.
    is_array: bool,
    field: Field,
    symmetry: Symmetry,
}

impl Kind {
    fn parse(header: &str) -> Option<Kind> {
        let words: Vec<String> = header.split_whitespace().map(str::to_ascii_lowercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ["%%matrixmarket", "matrix", format, field, symmetry] = words[..] else { return None };
        let is_array = match format {
            "coordinate" => false,
            "array" => true,
            _ => return None,
        };
        let field = match field {
            "real" => Field::Real,
            "integer" | "unsigned-integer" => Field::Integer,
            "complex" => Field::Complex,
            "pattern" if !is_array => Field::Pattern,
            _ => return None,
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "hermitian" if field == Field::Complex => Symmetry::Hermitian,
            "skew-symmetric" if field != Field::Pattern => Symmetry::Skew,
            _ => return None,
        };
        Some(Kind { is_array, field, symmetry })
    }

    /// Real parts of a number.
    fn parts(&self) -> usize {
        if self.field == Field::Complex { 2 } else { 1 }
    }

    /// The elements of a file, of numbers of so many parts.
    fn elements<const PARTS: usize>(
        &self,
        lines: &mut Lines<impl BufRead>,
        rows: u64,
        expected: u64,
    ) -> Result<Csr, MatrixMarketError> {
        let (mut triplets, mut found, mut place) = (Vec::new(), 0u64, self.first(rows));
        while let Some((line, text)) = next(lines)? {
            found += 1;
            if found > expected {
                return Err(MatrixMarketError::Count { line, found, expected });
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let element = Element { kind: self, line, text, words: &words };
            let (row, column) = if self.is_array { place } else { element.place(rows)? };
            let value = element.value()?;
            element.check_diagonal((row, column), value)?;
            let number: [f64; PARTS] = std::array::from_fn(|part| value[part]);
            // A list of all elements says nothing by its zeros.
            if !self.is_array || number.iter().any(|part| *part != 0.0) {
                triplets.push((row as u32, column as u32, number));
                if self.symmetry != Symmetry::General && row != column {
                    let mirror = std::array::from_fn(|part| self.symmetry.mirror(part) * number[part]);
                    triplets.push((column as u32, row as u32, mirror));
                }
            }
            place = self.following(place, rows);
        }
        if found != expected {
            return Err(MatrixMarketError::Count { line: lines.number() as usize, found, expected });
        }
        Ok(of_triplets(rows as usize, triplets)?)
    }

    /// Rows and listed elements.
    fn sizes(&self, lines: &mut Lines<impl BufRead>) -> Result<(u64, u64), MatrixMarketError> {
        let expected = match self.is_array {
            true => "two whole numbers, rows columns",
            false => "three whole numbers, rows columns non-zeros",
        };
        let Some((line, sizes)) = next(lines)? else {
            let line = lines.number() as usize + 1;
            return Err(MatrixMarketError::Sizes { line, expected, found: "the end of the file".into() });
        };
        let numbers: Vec<Option<u64>> = sizes.split_whitespace().map(|word| word.parse().ok()).collect();
        let (rows, columns, listed) = match (&numbers[..], self.is_array) {
            ([Some(rows), Some(columns), Some(listed)], false) => (*rows, *columns, Some(*listed)),
            ([Some(rows), Some(columns)], true) => (*rows, *columns, None),
            _ => return Err(MatrixMarketError::Sizes { line, expected, found: shown(sizes) }),
        };
        if rows != columns {
            return Err(MatrixMarketError::NotSquare { line, rows, columns });
        }
        if rows > u64::from(u32::MAX) {
            let found = format!("{}, more rows than 32 bits count", shown(sizes));
            return Err(MatrixMarketError::Sizes { line, expected, found });
        }
        let triangle = rows * rows.saturating_sub(1) / 2;
        let listed = listed.unwrap_or(match self.symmetry {
            Symmetry::General => rows * rows,
            Symmetry::Symmetric | Symmetry::Hermitian => triangle + rows,
            Symmetry::Skew => triangle,
        });
        if rows > ROWS.saturating_add(listed.saturating_mul(8)) {
            return Err(MatrixMarketError::Empty { line, rows, non_zeros: listed });
        }
        Ok((rows, listed))
    }

    /// The place of the first element of an array.
    fn first(&self, rows: u64) -> (u64, u64) {
        if self.symmetry == Symmetry::Skew && rows > 0 { (1, 0) } else { (0, 0) }
    }

    /// The place after another in an array: columns one after the other, of a triangle from the diagonal on or below it.
    fn following(&self, (row, column): (u64, u64), rows: u64) -> (u64, u64) {
        if row + 1 < rows {
            return (row + 1, column);
        }
        let first = match self.symmetry {
            Symmetry::General => 0,
            Symmetry::Symmetric | Symmetry::Hermitian => column + 1,
            Symmetry::Skew => column + 2,
        };
        (first, column + 1)
    }
}

/// A line with an element.
struct Element<'a> {
    kind: &'a Kind,
    line: usize,
    text: &'a str,
    words: &'a [&'a str],
}

impl Element<'_> {
    fn refused(&self) -> MatrixMarketError {
        let expected = match (self.kind.is_array, self.kind.field) {
            (true, Field::Complex) => "a real and an imaginary part",
            (true, _) => "a value",
            (false, Field::Pattern) => "a row and a column",
            (false, Field::Complex) => "a row, a column, a real and an imaginary part",
            (false, _) => "a row, a column and a value",
        };
        MatrixMarketError::Element { line: self.line, expected, found: shown(self.text) }
    }

    /// Row and column from 0.
    fn place(&self, rows: u64) -> Result<(u64, u64), MatrixMarketError> {
        let line = self.line;
        let index = |word: &&str| -> Result<u64, MatrixMarketError> {
            let index = word.parse().map_err(|_| self.refused())?;
            if (1..=rows).contains(&index) { Ok(index) } else { Err(MatrixMarketError::Index { line, index, rows }) }
        };
        let [row, column, ..] = self.words else { return Err(self.refused()) };
        let (row, column) = (index(row)?, index(column)?);
        if self.kind.symmetry != Symmetry::General && column > row {
            return Err(MatrixMarketError::AboveDiagonal { line, row, column });
        }
        Ok((row - 1, column - 1))
    }

    /// Its parts; 1 in a pattern.
    fn value(&self) -> Result<[f64; 2], MatrixMarketError> {
        let words = if self.kind.is_array { self.words } else { self.words.get(2..).unwrap_or_default() };
        let number = |word: &str| -> Result<f64, MatrixMarketError> {
            let value = real_number(word).ok_or_else(|| self.refused())?;
            let (line, found) = (self.line, shown(word));
            let rounded = |whole: i128| value as i128 != whole;
            if self.kind.field == Field::Integer && word.parse().is_ok_and(rounded) {
                return Err(MatrixMarketError::Rounded { line, found });
            }
            if self.kind.field == Field::Integer && value.is_finite() && value.fract() != 0.0 {
                return Err(MatrixMarketError::Fraction { line, found });
            }
            if value.is_finite() { Ok(value) } else { Err(MatrixMarketError::Value { line, found }) }
        };
        // Of too few words there is no place; too many are refused here.
        match (words, self.kind.field) {
            ([], Field::Pattern) if self.words.len() == 2 => Ok([1.0, 0.0]),
            ([re, im], Field::Complex) => Ok([number(re)?, number(im)?]),
            ([value], Field::Real | Field::Integer) => Ok([number(value)?, 0.0]),
            _ => Err(self.refused()),
        }
    }

    fn check_diagonal(&self, (row, column): (u64, u64), [re, im]: [f64; 2]) -> Result<(), MatrixMarketError> {
        let expected = match self.kind.symmetry {
            Symmetry::Hermitian if im != 0.0 => "the diagonal of a hermitian file is real",
            Symmetry::Skew if re != 0.0 || im != 0.0 => "the diagonal of a skew-symmetric file is zero",
            _ => return Ok(()),
        };
        let fault = MatrixMarketError::Diagonal { line: self.line, expected, found: shown(self.text) };
        if row == column { Err(fault) } else { Ok(()) }
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
    fn complex_numbers_and_arrays() {
        let read = |text: &str| Csr::read_matrix_market(text.as_bytes()).unwrap();
        let same = |first: &str, others: &[&str]| {
            let first = read(&format!("%%MatrixMarket matrix {first}"));
            for other in others {
                assert_eq!(read(&format!("%%MatrixMarket matrix {other}")), first, "{other}");
            }
            first
        };
        let hermitian = same(
            "coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 -2\n",
            &["coordinate complex general\n2 2 3\n1 1 3 0\n1 2 1 2\n2 1 1 -2\n"],
        );
        assert!(hermitian.check_hermitian(0.0).is_ok());
        for listed in ["hermitian\n2 2\n3 0\n1 -2\n5 0\n", "general\n2 2\n3 0\n1 -2\n1 2\n5 0\n"] {
            let matrix = read(&format!("%%MatrixMarket matrix array complex {listed}"));
            let complex = |row: usize, column: u32| matrix.number(row, column)[..2].to_vec();
            let found = [complex(0, 0), complex(0, 1), complex(1, 0), complex(1, 1)];
            assert_eq!(found, [[3.0, 0.0], [1.0, 2.0], [1.0, -2.0], [5.0, 0.0]]);
        }
        same(
            "coordinate real skew-symmetric\n3 3 3\n2 1 4\n3 1 5\n3 2 6\n",
            &[
                "array real skew-symmetric\n3 3\n4\n5\n6\n",
                "array integer general\n3 3\n0\n4\n5\n-4\n0\n6\n-5\n-6\n0\n",
            ],
        );
        same(
            "coordinate real symmetric\n2 2 3\n1 1 1\n2 1 2\n2 2 3\n",
            &["array real symmetric\n2 2\n1\n2\n3\n", "array complex symmetric\n2 2\n1 0\n2 0\n3 0\n"],
        );
        same("coordinate real general\n0 0 0\n", &["array real general\n0 0\n", "array real skew-symmetric\n0 0\n"]);
        same("coordinate real general\n1 1 0\n", &["array real skew-symmetric\n1 1\n"]);
        assert!(
            read("%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 0 1\n")
                .check_hermitian(1e-12)
                .is_err()
        );
    }

    #[test]
    fn what_is_refused_is_named_with_its_line() {
        let header = "%%MatrixMarket matrix coordinate real general\n";
        for (text, said) in [
            (String::new(), "the file is empty"),
            ("\n".into(), "line 1: expected '%%MatrixMarket"),
            ("%%MatrixMarket matrix array pattern general\n2 2\n".into(), "line 1"),
            ("%%MatrixMarket matrix coordinate real hermitian\n".into(), "hermitian matrices complex"),
            ("%%MatrixMarket matrix coordinate pattern skew-symmetric\n".into(), "skew-symmetric"),
            ("%%MatrixMarket vector array real general\n".into(), "line 1"),
            ("%%MatrixMarket matrix array real general\n2 2 4\n".into(), "line 2: expected two whole numbers"),
            ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n".into(), "3 elements instead of the 4"),
            ("%%MatrixMarket matrix array real general\n1 1\n1 2\n".into(), "line 3: expected a value"),
            ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2\n".into(), "and an imaginary part"),
            ("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 2 1\n".into(), "line 3: the diagonal"),
            ("%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 1\n1 1 2\n".into(), "line 3: the diagonal"),
            ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 nan\n".into(), "nan is not a finite"),
            ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 1\n".into(), "where real ones are needed"),
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
            (format!("{}2 2 1\n1 1 1.5\n", header.replace("real", "integer")), "line 3: expected a whole number"),
            (format!("{}2 2 1\n1 1 9007199254740993\n", header.replace("real", "integer")), "line 3: 9007199254740993"),
            (
                format!("{}2 2 1\n1 1 18446744073709551615\n", header.replace("real", "unsigned-integer")),
                "line 3: 18446744073709551615",
            ),
            (format!("{}2 2 1\n1 2 1\n", header.replace("general", "symmetric")), "line 3: a symmetric, hermitian"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{text:?}: {error}");
        }
    }
}
