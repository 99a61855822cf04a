//! The second pass, among columns: y += x A, A a matrix of the columns.
//!
//! A tile of `N` rows of x is packed, all columns side by side; a column of the result is then a sum of contiguous runs of that
//! tile.

use super::runs::{Rows, Run};
use eigenforge_runtime::Scalar;
use multiversion::multiversion;

/// Rows of x that are worked on together, a register block for AVX-512. On two cores with 1 MiB of L2 each and
/// 4,368 columns 32, 64 and 128 rows took 14.0, 12.7 and 13.4 ms, although only the first tile nearly fits L2; with 8,008
/// columns 48, 47 and 77 ms.
pub(super) const ROWS: usize = 64;

/// Rows `first` to `first + N` of the columns that start at `starts` and have `rows` rows, as far as they go → a tile.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn pack<T: Scalar, const N: usize>(
    x: &[T],
    (starts, rows): (&[usize], usize),
    first: usize,
    tile: &mut [Run<N>],
) {
    for (run, start) in tile.iter_mut().zip(starts) {
        let column = &x[*start..][..rows];
        match column[first..].first_chunk::<N>() {
            Some(column) => (0..N).for_each(|row| run.0[row] = column[row].to_f64()),
            None => run.0.iter_mut().zip(&column[first..]).for_each(|(to, from)| *to = from.to_f64()),
        }
    }
}

/// y += x A for the rows of a tile in one column, dot += x · x A row by row; rows of the tile past the end of `out` are
/// not used.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn add_column<T: Scalar, const N: usize>(
    matrix: &Rows,
    tile: &[Run<N>],
    column: usize,
    out: &mut [T],
    dot: &mut [f64; N],
) {
    // Stays in registers over all neighbours.
    let mut sum = [0.0; N];
    let (neighbours, amplitudes) = matrix.row(column);
    for (neighbour, amplitude) in neighbours.iter().zip(amplitudes) {
        let run = &tile[*neighbour as usize].0;
        for row in 0..N {
            sum[row] += amplitude * run[row];
        }
    }
    let own = &tile[column].0;
    for row in 0..N {
        dot[row] += own[row] * sum[row];
    }
    match <&mut [T; N]>::try_from(&mut *out) {
        Ok(out) => (0..N).for_each(|row| out[row] = T::from_f64(out[row].to_f64() + sum[row])),
        Err(_) => out.iter_mut().zip(&sum).for_each(|(out, sum)| *out = T::from_f64(out.to_f64() + sum)),
    }
}
