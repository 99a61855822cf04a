//! A vector as a matrix whose lines ranks exchange: what goes to each rank side by side, and back.

use eigenforge_runtime::Scalar;
use rayon::prelude::*;

/// Rows that are turned together: a run of 128 bytes of each column.
const TURNED: usize = 16;

/// The rows from `first` on of `columns` columns of `height` numbers → one row after the other.
pub(super) fn turn<T: Scalar>(x: &[T], height: usize, first: usize, columns: usize, rows: &mut [T]) {
    if columns == 0 {
        return;
    }
    rows.par_chunks_mut(TURNED * columns).enumerate().for_each(|(group, rows)| {
        let first = first + group * TURNED;
        let count = rows.len() / columns;
        for column in 0..columns {
            let run = &x[column * height + first..][..count];
            run.iter().enumerate().for_each(|(row, value)| rows[row * columns + column] = *value);
        }
    });
}

/// Rows by rank, each rank's one after the other → whole rows.
pub(super) fn join<T: Scalar>(parts: &[T], bounds: &[usize], rows: usize, to: &mut [T]) {
    let width = bounds.last().copied().unwrap_or(0);
    to.par_chunks_mut(width.max(1)).enumerate().for_each(|(row, to)| {
        for pair in bounds.windows(2) {
            let count = pair[1] - pair[0];
            to[pair[0]..pair[1]].copy_from_slice(&parts[rows * pair[0] + row * count..][..count]);
        }
    });
}

/// y += what came back: columns by rank, of each rank its rows of one column after the other.
pub(super) fn add<T: Scalar>(parts: &[T], bounds: &[usize], columns: usize, y: &mut [T]) {
    let height = bounds.last().copied().unwrap_or(0);
    y.par_chunks_mut(height.max(1)).enumerate().for_each(|(column, y)| {
        for pair in bounds.windows(2) {
            let count = pair[1] - pair[0];
            let more = &parts[columns * pair[0] + column * count..][..count];
            y[pair[0]..pair[1]].iter_mut().zip(more).for_each(|(y, more)| *y = T::from_f64(y.to_f64() + more.to_f64()));
        }
    });
}
