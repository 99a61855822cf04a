//! The rows of a matrix that one of several ranks multiplies, by its cores.

use super::Csr;
use eigenforge_runtime::Scalar;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows that one core multiplies at a time.
const PIECE: usize = 2048;

/// Some rows of a matrix.
pub(crate) struct OwnRows {
    matrix: Arc<Csr>,
    rows: Range<usize>,
}

impl OwnRows {
    /// These rows; the others may be empty.
    pub(crate) fn new(matrix: Arc<Csr>, rows: Range<usize>) -> OwnRows {
        OwnRows { matrix, rows }
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let (columns, values) = self.matrix.row(self.rows.start + row);
        columns.iter().map(|column| *column as usize).zip(values.iter().copied())
    }

    /// These rows of y = H x; returns their part of xᵀy.
    pub(crate) fn multiply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let task = |(k, y): (usize, &mut [T])| -> f64 {
            let of_row = |(place, y): (usize, &mut T)| {
                let row = k * PIECE + place;
                let sum: f64 = self.row(row).map(|(column, value)| value * x[column].to_f64()).sum();
                *y = T::from_f64(sum);
                sum * x[self.rows.start + row].to_f64()
            };
            y.iter_mut().enumerate().map(of_row).sum()
        };
        y.par_chunks_mut(PIECE).enumerate().map(task).collect::<Vec<f64>>().iter().sum()
    }

    /// The diagonal element of one of these rows.
    pub(crate) fn diagonal(&self, row: usize) -> f64 {
        let on_diagonal = self.row(row).find(|(column, _)| *column == self.rows.start + row);
        on_diagonal.map_or(0.0, |(_, value)| value)
    }

    /// The largest sum of magnitudes of a row; 0 without rows.
    pub(crate) fn norm_bound(&self) -> f64 {
        let sum = |row: usize| self.row(row).map(|(_, value)| value.abs()).sum::<f64>();
        (0..self.rows.len()).into_par_iter().map(sum).reduce(|| 0.0, f64::max)
    }
}
