//! y = A x on the cores: coded rows of large matrices with few values, else compressed rows, divided by non-zeros into tasks of a fixed size.

use super::operator::MOST_VECTORS;
use super::{CodedRows, Csr, MadeRows};
use eigenforge_runtime::Scalar;
use eigenforge_templates::{Cost, ScalarType};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Non-zeros and rows of a task; fixed, so that sums do not depend on the number of threads.
const TASK: u64 = 1 << 15;

/// Some rows of a matrix, as cores read them.
#[derive(Clone)]
pub(crate) enum CoreRows {
    /// 12 bytes an element.
    Compressed(RowTasks),
    /// 4 bytes an element.
    Coded(Arc<CodedRows>),
}

impl CoreRows {
    /// Some rows of a matrix; coded where that is asked for, the matrix is large, and values are few.
    pub(crate) fn new(matrix: Arc<Csr>, rows: Range<usize>, codes_values: bool) -> CoreRows {
        let length = matrix.non_zeros() as f64 / matrix.rows().max(1) as f64;
        let row = |row: usize, elements: &mut Vec<(u32, f64)>| {
            let (columns, values) = matrix.row(row);
            elements.clear();
            elements.extend(columns.iter().copied().zip(values.iter().copied()));
        };
        let coded = || CodedRows::new(matrix.rows(), rows.clone(), length, row);
        let pays =
            codes_values && CodedRows::pays(MadeRows::compressed_bytes(matrix.rows() as u64, matrix.non_zeros()));
        match pays.then(coded).flatten() {
            Some(coded) => CoreRows::Coded(Arc::new(coded)),
            None => CoreRows::Compressed(RowTasks::new(matrix, rows)),
        }
    }

    /// Rows of the matrix.
    pub(crate) fn dimension(&self) -> usize {
        match self {
            CoreRows::Compressed(tasks) => tasks.matrix.rows(),
            CoreRows::Coded(rows) => rows.dimension(),
        }
    }

    /// The rows that are here.
    pub(crate) fn rows(&self) -> Range<usize> {
        match self {
            CoreRows::Compressed(tasks) => tasks.rows(),
            CoreRows::Coded(rows) => rows.rows(),
        }
    }

    /// The least work of one multiply of these rows in double precision.
    pub(crate) fn cost(&self) -> Cost {
        let (elements, bytes) = match self {
            CoreRows::Compressed(tasks) => {
                let elements = tasks.elements();
                (elements, 12 * elements + 8 * (tasks.rows().len() as u64 + 1))
            }
            CoreRows::Coded(rows) => (rows.elements(), rows.bytes()),
        };
        let vectors = 2 * ScalarType::F64.bytes() * self.rows().len();
        Cost { flops: 2.0 * elements as f64, bytes: (bytes + vectors as u64) as f64 }
    }

    /// The diagonal element of one of these rows.
    pub(crate) fn diagonal(&self, row: usize) -> f64 {
        match self {
            CoreRows::Compressed(tasks) => tasks.matrix.element(row, row as u32),
            CoreRows::Coded(rows) => rows.diagonal(row),
        }
    }

    /// Some of these rows alone.
    pub(crate) fn only(self, rows: Range<usize>) -> CoreRows {
        match self {
            CoreRows::Compressed(tasks) => CoreRows::Compressed(RowTasks::new(tasks.matrix, rows)),
            CoreRows::Coded(all) => CoreRows::Coded(Arc::new(all.only(rows))),
        }
    }

    /// The elements of y_j = A x_j from row `first` on; their parts of x_j·y_j.
    pub(crate) fn multiply<T: Scalar>(&self, x: &[&[T]], first: usize, y: &mut [&mut [T]]) -> Vec<f64> {
        match self {
            CoreRows::Coded(rows) => rows.multiply(x, first, y),
            CoreRows::Compressed(tasks) => {
                let wanted = first..first + y.first().map_or(0, |y| y.len());
                match wanted == tasks.rows() {
                    true => tasks.multiply(x, y),
                    false => RowTasks::new(tasks.matrix.clone(), wanted).multiply(x, y),
                }
            }
        }
    }
}

/// Rows of a matrix cut into tasks.
#[derive(Clone)]
pub(crate) struct RowTasks {
    matrix: Arc<Csr>,
    /// The first row of each task, and the end of the last.
    tasks: Vec<usize>,
}

impl RowTasks {
    /// Some rows of a matrix.
    fn new(matrix: Arc<Csr>, rows: Range<usize>) -> RowTasks {
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
    fn rows(&self) -> Range<usize> {
        self.tasks[0]..self.tasks[self.tasks.len() - 1]
    }

    /// Elements of these rows.
    fn elements(&self) -> u64 {
        let (starts, rows) = (self.matrix.row_start(), self.rows());
        starts[rows.end] - starts[rows.start]
    }

    /// These rows of y_j = A x_j; their parts of x_j·y_j.
    fn multiply<T: Scalar>(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
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
