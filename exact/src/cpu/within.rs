//! The first pass, within columns: y = (A + D) x for a group of `W` columns, `W` = 8 or 16, A a matrix of the rows.
//!
//! The columns are turned into rows of `W` numbers, so that one neighbour index serves `W` contiguous numbers; blocks of
//! eight rows of the result are turned back and written.

use super::lines::{finish_lines, write_line};
use super::runs::{LANES, Rows, Run};
use eigenforge_runtime::Scalar;
use multiversion::multiversion;

/// y = (A + D) x for up to `W` columns; returns xᵀy of each, of which those past the last column mean nothing. D is the sum of
/// `of_rows`, `of_columns`, and `cross`, which gives the rest for a row in each column; `before_lines`: as
/// [`super::lines::rows_before_lines`] says.
#[multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+avx512vpopcntdq+avx2+fma+bmi2+popcnt",
    "x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2+popcnt",
    "x86_64+avx2+fma+bmi2+popcnt"
))]
pub(super) fn multiply_columns<T: Scalar, C: Fn(usize) -> [f64; W], const W: usize>(
    matrix: &Rows,
    (of_rows, of_columns): (&[f64], &[f64; W]),
    cross: C,
    x: &[Run<W>],
    columns: &mut [&mut [T]; W],
    before_lines: Option<usize>,
) -> [f64; W] {
    let rows = x.len();
    let mut dot = [0.0; W];
    let mut block = [Run([0.0; W]); LANES];
    let mut first = 0;
    while first < rows {
        // Blocks begin where lines of y do.
        let height = match before_lines {
            Some(before) if first < before => before,
            _ => LANES.min(rows - first),
        };
        for (row, block) in (first..first + height).zip(&mut block) {
            let mut sum = [0.0; W];
            let (neighbours, amplitudes) = matrix.row(row);
            for (column, amplitude) in neighbours.iter().zip(amplitudes) {
                let from = &x[*column as usize].0;
                for lane in 0..W {
                    sum[lane] += amplitude * from[lane];
                }
            }
            // One expression a step: each is one operation on a register of eight numbers.
            let own = &x[row].0;
            let both: [f64; W] = cross(row);
            let diagonal: [f64; W] = std::array::from_fn(|lane| both[lane] + (of_rows[row] + of_columns[lane]));
            for lane in 0..W {
                sum[lane] += diagonal[lane] * own[lane];
            }
            block.0 = sum;
        }
        add_dots(&block[..height], &x[first..first + height], &mut dot);
        match before_lines {
            _ if height < LANES => write_rows(&block[..height], first, columns),
            None => write_block::<T, false, W>(&block, first, columns),
            Some(_) => write_block::<T, true, W>(&block, first, columns),
        }
        first += height;
    }
    if before_lines.is_some() {
        finish_lines();
    }
    dot
}

/// dot += x · y, lane by lane.
#[inline(always)]
fn add_dots<const W: usize>(y: &[Run<W>], x: &[Run<W>], dot: &mut [f64; W]) {
    for (x, y) in x.iter().zip(y) {
        dot.iter_mut().zip(&x.0).zip(&y.0).for_each(|((dot, x), y)| *dot += x * y);
    }
}

/// Eight rows of `W` numbers → these rows of each column that there is. On its own for the compiler: inlined, it cuts the
/// registers of `up_group` to the pieces that this wants.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn write_block<T: Scalar, const PAST_CACHES: bool, const W: usize>(
    block: &[Run<W>; LANES],
    first: usize,
    columns: &mut [&mut [T]; W],
) {
    for (lane, column) in columns.iter_mut().enumerate() {
        let turned: [T; LANES] = std::array::from_fn(|row| T::from_f64(block[row].0[lane]));
        let Some(out) = column.get_mut(first..first + LANES) else { continue };
        if PAST_CACHES {
            write_line(&turned, out);
        } else {
            out.copy_from_slice(&turned);
        }
    }
}

/// The same of fewer than eight rows, the first or last of a column.
fn write_rows<T: Scalar, const W: usize>(block: &[Run<W>], first: usize, columns: &mut [&mut [T]; W]) {
    for (lane, column) in columns.iter_mut().enumerate() {
        column.iter_mut().skip(first).zip(block).for_each(|(out, row)| *out = T::from_f64(row.0[lane]));
    }
}

/// Up to `W` columns → one row of `W` numbers each.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
pub(super) fn turn<T: Scalar, const W: usize>(columns: &[&[T]; W], out: &mut [Run<W>]) {
    let rows = out.len();
    let columns: [&[T]; W] = std::array::from_fn(|lane| &columns[lane][..rows]);
    let (blocks, rest) = out.as_chunks_mut::<LANES>();
    for (block, to) in blocks.iter_mut().enumerate() {
        let from: [&[T]; W] = std::array::from_fn(|lane| &columns[lane][block * LANES..][..LANES]);
        for (row, to) in to.iter_mut().enumerate() {
            to.0 = std::array::from_fn(|lane| from[lane][row].to_f64());
        }
    }
    let whole = rows - rest.len();
    for (row, to) in rest.iter_mut().enumerate() {
        to.0 = std::array::from_fn(|lane| columns[lane][whole + row].to_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::rows_before_lines;
    use super::*;

    /// A small generator: full period modulo 2^64 (Knuth, MMIX).
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *state >> 33
    }

    fn number(state: &mut u64) -> f64 {
        next(state) as f64 / f64::from(1u32 << 30) - 1.0
    }

    /// Wherever in a line y begins, past the caches or not: every number is written, the same, and right.
    #[test]
    fn lines_past_the_caches_hold_what_ordinary_stores_do() {
        const W: usize = 16;
        let state = &mut 11;
        for (rows, columns) in [(24usize, 16usize), (40, 11), (8, 3), (16, 1)] {
            let matrix: Vec<Vec<(u32, f64)>> = (0..rows)
                .map(|_| (0..next(state) % 5).map(|_| ((next(state) % rows as u64) as u32, number(state))).collect())
                .collect();
            let mut hops = Rows::new();
            matrix.iter().for_each(|row| hops.push(row.iter().copied()));
            let words: Vec<u64> = (0..rows).map(|_| next(state)).collect();
            let diagonal: Vec<f64> = (0..rows).map(|_| number(state)).collect();
            let high_words: [u64; W] = std::array::from_fn(|_| next(state));
            let high_diagonal: [f64; W] = std::array::from_fn(|_| number(state));
            let cross = |row: usize, lane: usize| 4.0 * f64::from((words[row] & high_words[lane]).count_ones());
            let of_row = |row: usize| std::array::from_fn(|lane| cross(row, lane));
            let x: Vec<f64> = (0..rows * columns).map(|_| number(state)).collect();
            let mut turned = vec![Run([0.0; W]); rows];
            turn(&std::array::from_fn(|lane| &x[lane.min(columns - 1) * rows..]), &mut turned);
            let group = |y: &mut [f64], before| {
                let mut of_y = y.chunks_exact_mut(rows);
                let mut of_y = std::array::from_fn(|_| of_y.next().unwrap_or_default());
                multiply_columns(&hops, (&diagonal, &high_diagonal), of_row, &turned, &mut of_y, before)
            };

            for offset in 0..LANES {
                let mut ordinary = vec![f64::NAN; rows * columns];
                let dots = group(&mut ordinary, None);
                let mut buffer = vec![Run([f64::NAN; LANES]); rows * columns / LANES + 1];
                // SAFETY: runs of eight numbers of 8 bytes, without padding; one reference to them.
                let buffer =
                    unsafe { std::slice::from_raw_parts_mut(buffer.as_mut_ptr().cast::<f64>(), buffer.len() * LANES) };
                let y = &mut buffer[offset..][..rows * columns];
                let before = rows_before_lines(y, rows, 0);
                assert!(before == cfg!(target_arch = "x86_64").then_some((LANES - offset) % LANES), "{before:?}");
                assert_eq!(dots, group(y, before));
                assert_eq!(y, ordinary);
                assert!(buffer[..offset].iter().chain(&buffer[offset + rows * columns..]).all(|y| y.is_nan()));

                for (column, y) in ordinary.chunks_exact(rows).enumerate() {
                    let x = &x[column * rows..][..rows];
                    let exact = |row: usize| -> f64 {
                        let hops: f64 = matrix[row].iter().map(|(from, t)| t * x[*from as usize]).sum();
                        hops + (diagonal[row] + high_diagonal[column] + cross(row, column)) * x[row]
                    };
                    assert!((0..rows).all(|row| (y[row] - exact(row)).abs() < 1e-13 * 256.0));
                    let dot: f64 = (0..rows).map(|row| x[row] * exact(row)).sum();
                    assert!((dots[column] - dot).abs() < 1e-13 * 256.0 * rows as f64);
                }
            }
        }
    }

    /// Columns that begin at different places in a line, short vectors and other sizes are not for whole lines.
    #[test]
    fn other_columns_are_stored_the_ordinary_way() {
        assert_eq!(rows_before_lines(&[0.0f64; 20], 10, 0), None);
        assert_eq!(rows_before_lines(&[0.0f64; 16], 8, 17), None);
        assert_eq!(rows_before_lines(&[0.0f32; 16], 8, 0), None);
    }
}
