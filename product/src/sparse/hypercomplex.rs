//! A square sparse matrix of real, complex or quaternion numbers: one real matrix for each part of a number.
//!
//! In: a [`Csr`] for the part of 1, and for those of i, j and k where there are any. Out: whether the matrix is Hermitian, and its real
//! image, the symmetric matrix that the solvers work on.
//!
//! A quaternion is a + b i + c j + d k with i j = k; a matrix element stands on the left of a vector's, so that A (v q) = (A v) q for every
//! number q. The image acts on all real parts of a vector, after them all parts of i, of j and of k. A Hermitian matrix of real eigenvalues
//! has each of them once; its image has each twice if numbers are complex, for v and v i, and four times if they are quaternions, for v, v i,
//! v j and v k.

use super::{Csr, CsrError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The kind of numbers of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberKind {
    /// Real numbers.
    Real,
    /// Complex numbers: parts of 1 and i.
    Complex,
    /// Quaternions: parts of 1, i, j and k.
    Quaternion,
}

impl NumberKind {
    /// Real parts of a number.
    pub fn parts(self) -> usize {
        match self {
            NumberKind::Real => 1,
            NumberKind::Complex => 2,
            NumberKind::Quaternion => 4,
        }
    }
}

impl fmt::Display for NumberKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberKind::Real => "real",
            NumberKind::Complex => "complex",
            NumberKind::Quaternion => "quaternion",
        })
    }
}

/// The sign of part p of a x from part q of x; the part of a is p xor q, because i j = k.
const SIGNS: [[f64; 4]; 4] =
    [[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 1.0, -1.0], [1.0, -1.0, 1.0, 1.0]];

/// A square matrix of real, complex or quaternion numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct HypercomplexMatrix {
    /// As many as numbers have parts, of the same size.
    parts: Vec<Csr>,
}

impl From<Csr> for HypercomplexMatrix {
    fn from(matrix: Csr) -> HypercomplexMatrix {
        HypercomplexMatrix { parts: vec![matrix] }
    }
}

impl HypercomplexMatrix {
    /// A matrix by its parts; those at the end that hold nothing but zeros are left out, so that a complex matrix without imaginary parts
    /// is a real one.
    ///
    /// # Panics
    /// Parts of different sizes, or another number of them than 1, 2 or 4: a fault of the reader.
    pub fn new(mut parts: Vec<Csr>) -> HypercomplexMatrix {
        assert!([1, 2, 4].contains(&parts.len()) && parts.iter().all(|part| part.rows() == parts[0].rows()));
        let is_zero = |part: &Csr| part.values().iter().all(|value| *value == 0.0);
        while parts.len() > 1 && parts[parts.len() / 2..].iter().all(is_zero) {
            parts.truncate(parts.len() / 2);
        }
        HypercomplexMatrix { parts }
    }

    /// i times a real matrix.
    pub fn imaginary(matrix: Csr) -> HypercomplexMatrix {
        let rows = matrix.rows();
        let zero = Csr::new(vec![0; rows + 1], Vec::new(), Vec::new());
        HypercomplexMatrix::new(vec![zero.unwrap_or_else(|error| unreachable!("{error}")), matrix])
    }

    /// The kind of its numbers.
    pub fn kind(&self) -> NumberKind {
        match self.parts.len() {
            1 => NumberKind::Real,
            2 => NumberKind::Complex,
            _ => NumberKind::Quaternion,
        }
    }

    /// Number of rows and of columns.
    pub fn rows(&self) -> usize {
        self.parts[0].rows()
    }

    /// Stored elements, of the part that has the most.
    pub fn non_zeros(&self) -> u64 {
        self.parts.iter().map(Csr::non_zeros).max().unwrap_or(0)
    }

    /// The real matrix that it is; `None` if numbers have other parts.
    pub fn into_real(mut self) -> Option<Csr> {
        if self.parts.len() == 1 { self.parts.pop() } else { None }
    }

    /// A(row, column) by its parts.
    fn element(&self, row: usize, column: u32) -> [f64; 4] {
        let mut number = [0.0; 4];
        self.parts.iter().zip(&mut number).for_each(|(part, number)| *number = part.element(row, column));
        number
    }

    /// Checks A(i, j) = A(j, i)* to `tolerance`, as [`Csr::check_symmetric`] does; the error names the first pair that differs.
    ///
    /// # Errors
    /// [`CsrError::Asymmetric`] of a real matrix, else [`CsrError::NotHermitian`].
    pub fn check_hermitian(&self, tolerance: f64) -> Result<(), CsrError> {
        if let [matrix] = &self.parts[..] {
            return matrix.check_symmetric(tolerance);
        }
        let length = |number: &[f64; 4]| number.iter().map(|part| part * part).sum::<f64>().sqrt();
        let largest = self.parts.iter().flat_map(Csr::values).fold(0.0f64, |most, value| most.max(value.abs()));
        let rounding = 4.0 * f64::EPSILON * largest;
        for row in 0..self.rows() {
            for column in self.parts.iter().flat_map(|part| part.row(row).0) {
                let (value, other) = (self.element(row, *column), self.element(*column as usize, row as u32));
                let mut difference = value;
                for (part, difference) in difference.iter_mut().enumerate() {
                    *difference += if part == 0 { -other[0] } else { other[part] };
                }
                if length(&difference) > tolerance * length(&value).max(length(&other)) + rounding {
                    let [value, other] = [value, other].map(|number| self.text(number));
                    return Err(CsrError::NotHermitian { row, column: *column, value, other });
                }
            }
        }
        Ok(())
    }

    /// "1e0 + 2e0 i".
    fn text(&self, number: [f64; 4]) -> String {
        let units = ["", " i", " j", " k"];
        let part = |(value, unit): (&f64, &str)| format!("{value:e}{unit}");
        number.iter().zip(units).take(self.parts.len()).map(part).collect::<Vec<_>>().join(" + ")
    }

    /// Its real image, of as many times the rows as numbers have parts; a real matrix is its own. `None` where 32 bits do not count
    /// the rows.
    pub fn into_real_image(mut self) -> Option<Csr> {
        if self.parts.len() == 1 {
            return self.parts.pop();
        }
        let (rows, count) = (self.rows(), self.parts.len());
        u32::try_from(rows.checked_mul(count)?).ok()?;
        let (mut row_start, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for (p, signs) in SIGNS.iter().enumerate().take(count) {
            for row in 0..rows {
                for (q, sign) in signs.iter().enumerate().take(count) {
                    let (of_part, numbers) = self.parts[p ^ q].row(row);
                    for (column, value) in of_part.iter().zip(numbers).filter(|(_, value)| **value != 0.0) {
                        columns.push((q * rows) as u32 + column);
                        values.push(sign * value);
                    }
                }
                row_start.push(columns.len() as u64);
            }
        }
        Some(Csr::new(row_start, columns, values).unwrap_or_else(|error| unreachable!("{error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices of one row.
    fn number(parts: &[f64]) -> HypercomplexMatrix {
        let one = |value: &f64| Csr::new(vec![0, 1], vec![0], vec![*value]).unwrap();
        HypercomplexMatrix { parts: parts.iter().map(one).collect() }
    }

    fn times(a: &[f64; 4], x: &[f64; 4]) -> [f64; 4] {
        let image = number(a).into_real_image().unwrap();
        std::array::from_fn(|row| image.row(row).0.iter().zip(image.row(row).1).map(|(c, v)| v * x[*c as usize]).sum())
    }

    #[test]
    fn the_image_multiplies_from_the_left() {
        let [one, i, j, k] = std::array::from_fn(|unit| std::array::from_fn(|part| f64::from(unit == part)));
        let minus = |x: [f64; 4]| x.map(|part| -part + 0.0);
        for (a, b, product) in [(i, j, k), (j, k, i), (k, i, j)] {
            assert_eq!((times(&a, &b), times(&b, &a)), (product, minus(product)));
            assert_eq!((times(&a, &a), times(&a, &one)), (minus(one), a));
        }
        // Products of images are images of products.
        let (p, q, x) = ([0.5, -1.0, 2.0, 3.0], [1.5, 0.25, -2.0, 1.0], [1.0, 2.0, -3.0, 0.5]);
        assert_eq!(times(&p, &times(&q, &x)), times(&times(&p, &q), &x));
        let complex = number(&[2.0, 3.0]).into_real_image().unwrap();
        assert_eq!([complex.row(0).1, complex.row(1).1], [&[2.0, -3.0], &[3.0, 2.0]]);
    }

    #[test]
    fn parts_that_are_zero_are_left_out() {
        let kind = |parts: &[f64]| HypercomplexMatrix::new(number(parts).parts).kind();
        assert_eq!(kind(&[1.0]), NumberKind::Real);
        assert_eq!(kind(&[1.0, 0.0]), NumberKind::Real);
        assert_eq!(kind(&[0.0, 1.0]), NumberKind::Complex);
        assert_eq!(kind(&[1.0, 0.0, 0.0, 0.0]), NumberKind::Real);
        assert_eq!(kind(&[0.0, 1.0, 0.0, 0.0]), NumberKind::Complex);
        assert_eq!(kind(&[0.0, 0.0, 0.0, 1.0]), NumberKind::Quaternion);
        assert_eq!(HypercomplexMatrix::imaginary(Csr::sample(200)).kind(), NumberKind::Complex);
    }

    #[test]
    fn a_pair_that_is_not_hermitian_is_named() {
        number(&[1.0, 0.0]).check_hermitian(1e-12).unwrap();
        let diagonal = number(&[1.0, 2.0]).check_hermitian(1e-12).unwrap_err().to_string();
        assert!(diagonal.contains("A(0, 0) = 1e0 + 2e0 i") && diagonal.contains("real diagonal"), "{diagonal}");
        let pair = |values: [f64; 2]| Csr::new(vec![0, 1, 2], vec![1, 0], values.to_vec()).unwrap();
        let hermitian = HypercomplexMatrix::new(vec![pair([1.0, 1.0]), pair([2.0, -2.0])]);
        hermitian.check_hermitian(1e-12).unwrap();
        let symmetric = HypercomplexMatrix::new(vec![pair([1.0, 1.0]), pair([2.0, 2.0])]);
        let text = symmetric.check_hermitian(1e-12).unwrap_err().to_string();
        assert!(text.contains("A(0, 1) = 1e0 + 2e0 i") && text.contains("A(1, 0) = 1e0 + 2e0 i"), "{text}");
        let quaternion = [[1.0, 1.0], [0.5, -0.5], [2.0, -2.0], [3.0, -3.0]];
        HypercomplexMatrix::new(quaternion.map(pair).to_vec()).check_hermitian(1e-12).unwrap();
        let wrong = [[1.0, 1.0], [0.5, -0.5], [2.0, -2.0], [3.0, 3.0]];
        assert!(HypercomplexMatrix::new(wrong.map(pair).to_vec()).check_hermitian(1e-12).is_err());
    }
}
