//! Compressed sparse rows on the host: the output of every reader and builder, and the input of every format.

use super::number::{Number, Quaternion, magnitude};
use eigenforge_runtime::Pod;
use eigenforge_templates::sparse::NumberKind;
use num_complex::Complex64;
use rayon::prelude::*;
use std::ops::Range;

/// A square matrix in compressed sparse rows: row r holds the non-zeros `row_start[r]..row_start[r + 1]`, columns
/// ascending and each once. Its numbers are real, complex or quaternions ([`Csr::kind`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    kind: NumberKind,
    row_start: Vec<u64>,
    columns: Vec<u32>,
    /// The real parts of each number side by side.
    values: Vec<f64>,
}

/// Why three arrays are not a valid matrix.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CsrError {
    /// The row starts do not begin at 0, descend, or end elsewhere than at the number of non-zeros.
    #[error("row starts must ascend from 0 to the number of non-zeros, {non_zeros}; entry {at} is {found}")]
    RowStart {
        /// Which entry.
        at: usize,
        /// Its value.
        found: u64,
        /// What the last one should be.
        non_zeros: u64,
    },
    /// A column past the last, or not above the one before it in its row.
    #[error("row {row}: column {column} should be below {rows} and above the column before it")]
    Column {
        /// Row.
        row: usize,
        /// Column as found.
        column: u32,
        /// Rows of the matrix.
        rows: usize,
    },
    /// A value that is not finite.
    #[error("row {row}, column {column}: {value} is not a finite number")]
    Value {
        /// Row.
        row: usize,
        /// Column.
        column: u32,
        /// What was found.
        value: f64,
    },
    /// A(i, j) ≠ A(j, i).
    #[error("the matrix is not symmetric: A({row}, {column}) = {value:e}, but A({column}, {row}) = {other:e}")]
    Asymmetric {
        /// Row.
        row: usize,
        /// Column.
        column: u32,
        /// A(row, column).
        value: f64,
        /// A(column, row); 0 where nothing is stored.
        other: f64,
    },
    /// A(i, j) is not the conjugate of A(j, i).
    #[error(
        "the matrix is not Hermitian: A({row}, {column}) = {value}, but A({column}, {row}) = {other}; expected conjugate numbers{}",
        if *row == *column as usize { ", so a real diagonal" } else { "" }
    )]
    NotHermitian {
        /// Row.
        row: usize,
        /// Column.
        column: u32,
        /// A(row, column).
        value: String,
        /// A(column, row); 0 where nothing is stored.
        other: String,
    },
}

impl Csr {
    /// Checks arrays of a real matrix from a file or a builder; the columns of a row must ascend.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(row_start: Vec<u64>, columns: Vec<u32>, values: Vec<f64>) -> Result<Csr, CsrError> {
        Csr::of_numbers(NumberKind::Real, row_start, columns, values)
    }

    /// The same of numbers of any kind, whose real parts stand side by side in `values`.
    ///
    /// # Errors
    /// As of [`Csr::new`].
    pub fn of_numbers(
        kind: NumberKind,
        row_start: Vec<u64>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Csr, CsrError> {
        let non_zeros = columns.len().min(values.len() / kind.parts()) as u64;
        let wrong = |at: usize, found| Err(CsrError::RowStart { at, found, non_zeros });
        let (Some(0), Some(last)) = (row_start.first().copied(), row_start.last().copied()) else {
            return wrong(0, row_start.first().copied().unwrap_or(u64::MAX));
        };
        if let Some(at) = row_start.windows(2).position(|pair| pair[0] > pair[1]) {
            return wrong(at + 1, row_start[at + 1]);
        }
        if last != non_zeros || columns.len() * kind.parts() != values.len() {
            return wrong(row_start.len() - 1, last);
        }
        let matrix = Csr { kind, row_start, columns, values };
        let fault = |row: usize| {
            let (columns, values) = matrix.row(row);
            let numbers = values.chunks_exact(kind.parts());
            columns.iter().zip(numbers).enumerate().find_map(|(k, (column, number))| {
                if *column as usize >= matrix.rows() || (k > 0 && columns[k - 1] >= *column) {
                    return Some(CsrError::Column { row, column: *column, rows: matrix.rows() });
                }
                let value = number.iter().find(|part| !part.is_finite())?;
                Some(CsrError::Value { row, column: *column, value: *value })
            })
        };
        match (0..matrix.rows()).into_par_iter().find_map_first(fault) {
            None => Ok(matrix),
            Some(fault) => Err(fault),
        }
    }

    /// For tests: rows of 11 non-zeros in the first 40 columns and of 0 to 9 elsewhere, as uneven as those of a
    /// configuration-interaction matrix; at least 200 of them.
    #[doc(hidden)]
    pub fn sample(rows: u32) -> Csr {
        let (mut row_start, mut columns) = (vec![0], Vec::new());
        for row in 0..rows {
            let mut own: Vec<u32> = (0..11).map(|k| (7 * row + 3 * k) % 40).collect();
            own.extend((0..row % 10).map(|k| 40 + (131 * row + 37 * k) % (rows - 40)));
            own.sort_unstable();
            columns.extend(own);
            row_start.push(columns.len() as u64);
        }
        let values = eigenforge_runtime::seeded::vector(columns.len(), 2);
        Csr::new(row_start, columns, values).unwrap()
    }

    /// i times a real matrix.
    pub(crate) fn imaginary(self) -> Csr {
        let values = self.values.iter().flat_map(|value| [0.0, *value]).collect();
        Csr { kind: NumberKind::Complex, values, ..self }
    }

    /// The same of numbers with fewer parts, where all others are zero: a complex matrix without imaginary parts is a real one, and one of
    /// quaternions without parts of j and k a complex one.
    pub(crate) fn with_fewest_parts(mut self) -> Csr {
        loop {
            let fewer = match self.kind {
                NumberKind::Real => return self,
                NumberKind::Complex => NumberKind::Real,
                NumberKind::Quaternion => NumberKind::Complex,
            };
            let (parts, kept) = (self.kind.parts(), fewer.parts());
            if self.values.chunks_exact(parts).any(|number| number[kept..].iter().any(|part| *part != 0.0)) {
                return self;
            }
            let values = self.values.chunks_exact(parts).flat_map(|number| &number[..kept]).copied().collect();
            self = Csr { kind: fewer, values, ..self };
        }
    }

    /// The same as one of numbers with at least the parts of this kind.
    #[must_use]
    pub fn with_parts_of(self, kind: NumberKind) -> Csr {
        let (own, parts) = (self.parts(), kind.parts());
        if own >= parts {
            return self;
        }
        let widened =
            |number: &[f64]| -> Quaternion { std::array::from_fn(|part| number.get(part).copied().unwrap_or(0.0)) };
        let numbers = self.values.chunks_exact(own).map(widened);
        let values = numbers.flat_map(|number| number.into_iter().take(parts)).collect();
        Csr { kind, values, ..self }
    }

    /// The matrix if it is a real one.
    pub fn into_real(self) -> Option<Csr> {
        self.kind.is_real().then_some(self)
    }

    /// The kind of its numbers.
    pub fn kind(&self) -> NumberKind {
        self.kind
    }

    /// Real parts of a number.
    pub fn parts(&self) -> usize {
        self.kind.parts()
    }

    /// Elements of a vector that it multiplies: the real parts of as many numbers as it has rows.
    pub fn vector_length(&self) -> usize {
        self.rows() * self.parts()
    }

    /// Bytes of these compressed rows: a double for each part of a number, four bytes for its column, eight for a start.
    pub fn bytes(&self) -> u64 {
        let element = (size_of::<u32>() + self.parts() * size_of::<f64>()) as u64;
        element.saturating_mul(self.non_zeros()).saturating_add(8 * (self.rows() as u64 + 1))
    }

    /// Number of rows and of columns.
    pub fn rows(&self) -> usize {
        self.row_start.len() - 1
    }

    /// Stored elements.
    pub fn non_zeros(&self) -> u64 {
        self.columns.len() as u64
    }

    /// Start of each row, followed by the number of non-zeros: rows + 1 numbers.
    pub fn row_start(&self) -> &[u64] {
        &self.row_start
    }

    /// Columns of all non-zeros, row by row.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Values of all non-zeros, row by row; of complex numbers and quaternions the real parts of each side by side.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Columns and values of a row, as of [`Csr::values`].
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let (range, parts) = (self.row_start[row] as usize..self.row_start[row + 1] as usize, self.parts());
        (&self.columns[range.clone()], &self.values[range.start * parts..range.end * parts])
    }

    /// A(row, column), of complex numbers and quaternions its part of 1; 0 where nothing is stored.
    pub fn element(&self, row: usize, column: u32) -> f64 {
        let (columns, values) = self.row(row);
        columns.binary_search(&column).map_or(0.0, |k| values[k * self.parts()])
    }

    /// A(row, column) by its parts of 1, i, j and k.
    pub fn number(&self, row: usize, column: u32) -> Quaternion {
        let (columns, values) = self.row(row);
        let mut number = [0.0; 4];
        if let Ok(k) = columns.binary_search(&column) {
            let parts = self.parts();
            number[..parts].copy_from_slice(&values[k * parts..(k + 1) * parts]);
        }
        number
    }

    /// Adds all numbers to a hash.
    pub fn identify(&self, hash: &mut blake3::Hasher) {
        fn add<U: Pod>(hash: &mut blake3::Hasher, numbers: &[U]) {
            let mut bytes = Vec::new();
            for part in numbers.chunks(1 << 16) {
                bytes.clear();
                U::append_bytes(part, &mut bytes);
                hash.update(&bytes);
            }
        }
        if !self.kind.is_real() {
            hash.update(self.kind.to_string().as_bytes());
        }
        add(hash, &self.row_start);
        add(hash, &self.columns);
        add(hash, &self.values);
    }

    /// The largest sum of magnitudes of one of some rows; 0 without rows.
    pub fn largest_row_sum(&self, rows: Range<usize>) -> f64 {
        let sum = |row: usize| self.row(row).1.chunks_exact(self.parts()).map(magnitude).sum::<f64>();
        rows.into_par_iter().map(sum).reduce(|| 0.0, f64::max)
    }

    /// Checks A(i, j) = A(j, i) to `tolerance` relative to the larger of both, and to the rounding of the largest
    /// element, since cancelling elements are not known better. The error names the first pair that differs.
    ///
    /// # Errors
    /// Returns [`CsrError::Asymmetric`].
    pub fn check_symmetric(&self, tolerance: f64) -> Result<(), CsrError> {
        let rounding = 4.0 * f64::EPSILON * self.values.par_iter().fold(|| 0.0, larger).reduce(|| 0.0, f64::max);
        let differs = |row: usize| {
            let (columns, values) = self.row(row);
            columns.iter().zip(values).find_map(|(column, value)| {
                let other = self.element(*column as usize, row as u32);
                let allowed = tolerance * value.abs().max(other.abs()) + rounding;
                let (column, value) = (*column, *value);
                ((value - other).abs() > allowed).then_some(CsrError::Asymmetric { row, column, value, other })
            })
        };
        (0..self.rows()).into_par_iter().find_map_first(differs).map_or(Ok(()), Err)
    }

    /// Checks A(i, j) = A(j, i)* to `tolerance`, as [`Csr::check_symmetric`] does; the error names the first pair that differs.
    ///
    /// # Errors
    /// [`CsrError::Asymmetric`] of a real matrix, else [`CsrError::NotHermitian`].
    pub fn check_hermitian(&self, tolerance: f64) -> Result<(), CsrError> {
        match self.kind {
            NumberKind::Real => self.check_symmetric(tolerance),
            NumberKind::Complex => self.check_conjugates::<Complex64>(tolerance),
            NumberKind::Quaternion => self.check_conjugates::<Quaternion>(tolerance),
        }
    }

    fn check_conjugates<N: Number>(&self, tolerance: f64) -> Result<(), CsrError> {
        let rounding = 4.0 * f64::EPSILON * self.values.par_iter().fold(|| 0.0, larger).reduce(|| 0.0, f64::max);
        let parts = self.parts();
        let differs = |row: usize| {
            let (columns, values) = self.row(row);
            columns.iter().zip(values.chunks_exact(parts)).find_map(|(column, value)| {
                let (value, other) = (N::entry(value, 0), N::new(self.number(*column as usize, row as u32)));
                let size = |number: N| magnitude(&number.parts());
                let allowed = tolerance * size(value).max(size(other)) + rounding;
                let is_far = size(value.plus(other.conjugate().scaled(-1.0))) > allowed;
                let [value, other] = [value, other].map(|number| text(&number.parts()[..parts]));
                is_far.then_some(CsrError::NotHermitian { row, column: *column, value, other })
            })
        };
        (0..self.rows()).into_par_iter().find_map_first(differs).map_or(Ok(()), Err)
    }

    /// The same rows with other columns, which ascend in each row and are below the number of rows.
    pub(super) fn with_columns(&self, columns: Vec<u32>) -> Csr {
        debug_assert_eq!(columns.len(), self.columns.len());
        Csr { kind: self.kind, row_start: self.row_start.clone(), columns, values: self.values.clone() }
    }

    /// Index in a row of the first element on or after the diagonal.
    pub(super) fn diagonal_on(&self, row: usize) -> usize {
        self.row(row).0.partition_point(|column| (*column as usize) < row)
    }

    /// Its upper triangle, the diagonal included.
    pub fn upper_triangle(&self) -> Csr {
        let lengths = (0..self.rows()).map(|row| (self.row(row).0.len() - self.diagonal_on(row)) as u64);
        let mut row_start = Vec::with_capacity(self.rows() + 1);
        row_start.push(0);
        row_start.extend(lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        }));
        let stored = row_start[self.rows()] as usize;
        let (mut columns, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored * self.parts()));
        for row in 0..self.rows() {
            let (own_columns, own_values) = self.row(row);
            let from = self.diagonal_on(row);
            columns.extend_from_slice(&own_columns[from..]);
            values.extend_from_slice(&own_values[from * self.parts()..]);
        }
        Csr { kind: self.kind, row_start, columns, values }
    }
}

/// "1e0 + 2e0 i".
fn text(number: &[f64]) -> String {
    let part = |(value, unit): (&f64, &str)| format!("{value:e}{unit}");
    number.iter().zip(["", " i", " j", " k"]).map(part).collect::<Vec<_>>().join(" + ")
}

/// The larger magnitude.
fn larger(most: f64, value: &f64) -> f64 {
    most.max(value.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of these numbers at (0, 1) and (1, 0).
    fn pair(kind: NumberKind, values: &[f64]) -> Csr {
        Csr::of_numbers(kind, vec![0, 1, 2], vec![1, 0], values.to_vec()).unwrap()
    }

    #[test]
    fn parts_that_are_zero_are_left_out() {
        use NumberKind::{Complex, Quaternion, Real};
        let found = |kind: NumberKind, parts: &[f64]| {
            let matrix = Csr::of_numbers(kind, vec![0, 1], vec![0], parts.to_vec()).unwrap();
            let fewest = matrix.with_fewest_parts();
            assert_eq!(fewest.values(), &parts[..fewest.parts()]);
            fewest.kind()
        };
        assert_eq!([found(Complex, &[1.0, 0.0]), found(Complex, &[0.0, 1.0])], [Real, Complex]);
        assert_eq!(
            [found(Quaternion, &[1.0, 0.0, 0.0, 0.0]), found(Quaternion, &[0.0, 1.0, 0.0, 0.0])],
            [Real, Complex]
        );
        assert_eq!(found(Quaternion, &[0.0, 0.0, 0.0, 1.0]), Quaternion);
        let skew = pair(Real, &[1.0, -1.0]).imaginary();
        assert_eq!(
            (skew.kind(), skew.values(), skew.number(1, 0)),
            (Complex, &[0.0, 1.0, 0.0, -1.0][..], [0.0, -1.0, 0.0, 0.0])
        );
        skew.check_hermitian(1e-12).unwrap();
    }

    #[test]
    fn a_pair_that_is_not_hermitian_is_named() {
        use NumberKind::{Complex, Quaternion};
        let one = Csr::of_numbers(Complex, vec![0, 1], vec![0], vec![1.0, 2.0]).unwrap();
        let diagonal = one.check_hermitian(1e-12).unwrap_err().to_string();
        assert!(diagonal.contains("A(0, 0) = 1e0 + 2e0 i") && diagonal.contains("real diagonal"), "{diagonal}");
        pair(Complex, &[1.0, 2.0, 1.0, -2.0]).check_hermitian(1e-12).unwrap();
        let text = pair(Complex, &[1.0, 2.0, 1.0, 2.0]).check_hermitian(1e-12).unwrap_err().to_string();
        assert!(text.contains("A(0, 1) = 1e0 + 2e0 i") && text.contains("A(1, 0) = 1e0 + 2e0 i"), "{text}");
        let quaternion = [1.0, 0.5, 2.0, 3.0, 1.0, -0.5, -2.0, -3.0];
        pair(Quaternion, &quaternion).check_hermitian(1e-12).unwrap();
        let wrong = [1.0, 0.5, 2.0, 3.0, 1.0, -0.5, -2.0, 3.0];
        assert!(pair(Quaternion, &wrong).check_hermitian(1e-12).is_err());
        let nan = Csr::of_numbers(Complex, vec![0, 1], vec![0], vec![1.0, f64::NAN]).unwrap_err();
        assert!(matches!(nan, CsrError::Value { row: 0, column: 0, .. }), "{nan}");
        assert!(Csr::of_numbers(Complex, vec![0, 1], vec![0], vec![1.0]).is_err());
    }

    #[test]
    fn arrays_that_are_no_matrix_are_refused() {
        let rejected = |row_start: &[u64], columns: &[u32], values: &[f64]| {
            Csr::new(row_start.to_vec(), columns.to_vec(), values.to_vec()).unwrap_err()
        };
        assert!(matches!(rejected(&[], &[], &[]), CsrError::RowStart { .. }));
        assert!(matches!(rejected(&[1, 1], &[0], &[1.0]), CsrError::RowStart { at: 0, .. }));
        assert!(matches!(rejected(&[0, 2, 1], &[0], &[1.0]), CsrError::RowStart { at: 2, .. }));
        assert!(matches!(rejected(&[0, 1, 1], &[0, 1], &[1.0, 2.0]), CsrError::RowStart { at: 2, .. }));
        assert!(matches!(rejected(&[0, 1], &[1], &[1.0]), CsrError::Column { row: 0, column: 1, rows: 1 }));
        assert!(matches!(rejected(&[0, 2, 2], &[1, 0], &[1.0, 2.0]), CsrError::Column { row: 0, column: 0, .. }));
        assert!(matches!(rejected(&[0, 1], &[0], &[f64::NAN]), CsrError::Value { .. }));
        let skew = Csr::new(vec![0, 1, 2], vec![1, 0], vec![1.0, 2.0]).unwrap();
        assert!(matches!(skew.check_symmetric(1e-12), Err(CsrError::Asymmetric { row: 0, column: 1, .. })));
        assert_eq!(skew.element(1, 1), 0.0);
        // The result of 100 - 100 is as good as 0 compared to 100.
        let rounded = Csr::new(vec![0, 2, 3], vec![0, 1, 1], vec![100.0, 1e-14, 1.0]).unwrap();
        rounded.check_symmetric(1e-12).unwrap();
        let upper = skew.upper_triangle();
        assert_eq!((upper.row_start(), upper.columns(), upper.values()), (&[0, 1, 1][..], &[1][..], &[1.0][..]));
        assert_eq!(rounded.upper_triangle(), rounded);
    }
}
