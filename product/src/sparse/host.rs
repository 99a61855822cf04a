//! y = A x on the CPU: compressed rows, divided by non-zeros into tasks of a fixed size.

use super::Csr;
use super::operator::MOST_VECTORS;
use eigenforge_runtime::{DeviceError, Scalar, Vector};
use rayon::prelude::*;

/// Non-zeros and rows of a task; fixed, so that sums do not depend on the number of threads.
const TASK: u64 = 1 << 15;

/// The first row of each task, and the number of rows.
pub(super) fn tasks(matrix: &Csr) -> Vec<usize> {
    let weight = |row: usize| matrix.row_start()[row] + row as u64;
    let mut tasks = vec![0];
    (1..=matrix.rows()).for_each(|row| {
        if weight(row) - weight(tasks[tasks.len() - 1]) >= TASK || row == matrix.rows() {
            tasks.push(row);
        }
    });
    tasks
}

/// y_j = A x_j; the x_j·y_j.
pub(super) fn multiply<T: Scalar>(
    matrix: &Csr,
    tasks: &[usize],
    x: &[&Vector<T>],
    y: &mut [Vector<T>],
) -> Result<Vec<f64>, DeviceError> {
    let elsewhere = || DeviceError::WrongDevice {
        what: "multiply by a sparse matrix".into(),
        expected: "vectors on the CPU".into(),
        found: "device memory".into(),
    };
    let x: Vec<&[T]> = x.iter().map(|x| x.as_host().ok_or_else(elsewhere)).collect::<Result<_, _>>()?;
    // Each task's share of every y.
    let mut shares: Vec<(usize, Vec<&mut [T]>)> =
        tasks[..tasks.len() - 1].iter().map(|first| (*first, vec![])).collect();
    for y in y {
        let mut rest = y.as_host_mut().ok_or_else(elsewhere)?;
        for (share, pair) in shares.iter_mut().zip(tasks.windows(2)) {
            let (own, after) = rest.split_at_mut(pair[1] - pair[0]);
            share.1.push(own);
            rest = after;
        }
    }
    let task = |(first, mut y): (usize, Vec<&mut [T]>)| -> [f64; MOST_VECTORS] {
        let mut dots = [0.0; MOST_VECTORS];
        let count = y.first().map_or(0, |y| y.len());
        for at in 0..count {
            let (columns, values) = matrix.row(first + at);
            let mut sums = [0.0; MOST_VECTORS];
            match x[..] {
                [x] => sums[0] = row_times(columns, values, x),
                _ => {
                    for (column, value) in columns.iter().zip(values) {
                        x.iter().zip(&mut sums).for_each(|(x, sum)| *sum += value * x[*column as usize].to_f64());
                    }
                }
            }
            for (v, y) in y.iter_mut().enumerate() {
                y[at] = T::from_f64(sums[v]);
                dots[v] += x[v][first + at].to_f64() * sums[v];
            }
        }
        dots
    };
    let of_tasks: Vec<[f64; MOST_VECTORS]> = shares.into_par_iter().map(task).collect();
    Ok((0..x.len()).map(|v| of_tasks.iter().map(|dots| dots[v]).sum()).collect())
}

/// A row times a vector, in four sums so that gathers overlap.
fn row_times<T: Scalar>(columns: &[u32], values: &[f64], x: &[T]) -> f64 {
    let mut sums = [0.0; 4];
    let (column_fours, column_rest) = columns.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<4>();
    for (columns, values) in column_fours.iter().zip(value_fours) {
        for k in 0..4 {
            sums[k] += values[k] * x[columns[k] as usize].to_f64();
        }
    }
    let rest = column_rest.iter().zip(value_rest).map(|(column, value)| value * x[*column as usize].to_f64());
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest.sum::<f64>()
}
