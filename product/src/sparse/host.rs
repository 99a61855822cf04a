//! y = A x on the CPU: compressed rows, divided by non-zeros into tasks of a fixed size.

use super::Csr;
use super::operator::MOST_VECTORS;
use eigenforge_runtime::Scalar;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Non-zeros and rows of a task; fixed, so that sums do not depend on the number of threads.
const TASK: u64 = 1 << 15;

/// Rows of a matrix cut into tasks.
#[derive(Clone)]
pub struct RowTasks {
    matrix: Arc<Csr>,
    /// The first row of each task, and the end of the last.
    tasks: Vec<usize>,
}

impl RowTasks {
    /// Some rows of a matrix.
    pub fn new(matrix: Arc<Csr>, rows: Range<usize>) -> RowTasks {
        let weight = |row: usize| matrix.row_start()[row] + row as u64;
        let mut tasks = vec![rows.start];
        (rows.start + 1..=rows.end).for_each(|row| {
            if weight(row) - weight(tasks[tasks.len() - 1]) >= TASK || row == rows.end {
                tasks.push(row);
            }
        });
        RowTasks { matrix, tasks }
    }

    /// The rows.
    pub fn rows(&self) -> Range<usize> {
        self.tasks[0]..self.tasks[self.tasks.len() - 1]
    }

    /// The matrix.
    pub fn matrix(&self) -> &Arc<Csr> {
        &self.matrix
    }

    /// These rows of y_j = A x_j; their parts of x_j·y_j.
    pub fn multiply<T: Scalar>(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
        let mut dots = Vec::with_capacity(x.len());
        for (x, y) in x.chunks(MOST_VECTORS).zip(y.chunks_mut(MOST_VECTORS)) {
            dots.extend(multiply(&self.matrix, &self.tasks, x, y));
        }
        dots
    }
}

/// The same of a few vectors.
fn multiply<T: Scalar>(matrix: &Csr, tasks: &[usize], x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
    // Each task's share of every y.
    let mut shares: Vec<(usize, Vec<&mut [T]>)> =
        tasks[..tasks.len() - 1].iter().map(|first| (*first, vec![])).collect();
    for y in y {
        let mut rest = &mut **y;
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
            match *x {
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
    (0..x.len()).map(|v| of_tasks.iter().map(|dots| dots[v]).sum()).collect()
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
