//! Some rows of a matrix, multiplied by the cores of one of several ranks.

use super::Csr;
use eigenforge_runtime::Scalar;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one core multiplies at a time.
const PIECE: usize = 2048;

impl Csr {
    fn elements(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let (columns, values) = self.row(row);
        columns.iter().map(|column| *column as usize).zip(values.iter().copied())
    }

    /// The rows of y = A x from `first` on; returns their part of xᵀy.
    pub fn multiply_rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let task = |(k, y): (usize, &mut [T])| -> f64 {
            let of_row = |(place, y): (usize, &mut T)| {
                let row = first + k * PIECE + place;
                let sum: f64 = self.elements(row).map(|(column, value)| value * x[column].to_f64()).sum();
                *y = T::from_f64(sum);
                sum * x[row].to_f64()
            };
            y.iter_mut().enumerate().map(of_row).sum()
        };
        y.par_chunks_mut(PIECE).enumerate().map(task).collect::<Vec<f64>>().iter().sum()
    }

    /// The largest sum of magnitudes of one of some rows; 0 without rows.
    pub fn largest_row_sum(&self, rows: Range<usize>) -> f64 {
        let sum = |row: usize| self.row(row).1.iter().map(|value| value.abs()).sum::<f64>();
        rows.into_par_iter().map(sum).reduce(|| 0.0, f64::max)
    }
}
