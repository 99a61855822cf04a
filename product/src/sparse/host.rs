//! y = A x on the cores: coded rows of large real matrices with few values, else compressed rows, divided by non-zeros into tasks of a fixed
//! size. Vectors hold the real parts of each number side by side; positions are those of vector elements, and cuts do not part a number.

use super::number::{Number, Quaternion};
use super::operator::MOST_VECTORS;
use super::{CodedRows, Csr, NumberKind};
use eigenforge_runtime::ranks::equal;
use eigenforge_runtime::{PerScalar, Scalar};
use eigenforge_templates::{Cost, ScalarType};
use num_complex::Complex64;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Non-zeros and rows of a task; fixed, so that sums do not depend on the number of threads.
const TASK: u64 = 1 << 15;
/// Elements up to which one core is sooner done than the others have begun; each takes about twice as long as a slot of coded rows.
const ALONE: u64 = 1 << 17;

/// Some rows of a matrix, as cores read them.
#[derive(Clone)]
pub(crate) enum CoreRows {
    /// 12 bytes an element, 20 of complex numbers, 36 of quaternions.
    Compressed(RowTasks),
    /// 4 bytes an element.
    Coded(Arc<CodedRows>),
}

impl CoreRows {
    /// Some rows of a matrix; coded where that is asked for, the matrix is real and large, and values are few.
    pub(crate) fn new(matrix: Arc<Csr>, rows: Range<usize>, codes_values: bool) -> CoreRows {
        let length = matrix.non_zeros() as f64 / matrix.rows().max(1) as f64;
        let row = |row: usize, elements: &mut Vec<(u32, f64)>| {
            let (columns, values) = matrix.row(row);
            elements.clear();
            elements.extend(columns.iter().copied().zip(values.iter().copied()));
        };
        let coded = || CodedRows::new(matrix.rows(), rows.clone(), length, row);
        let pays = codes_values && matrix.kind().is_real() && CodedRows::pays(matrix.bytes());
        match pays.then(coded).flatten() {
            Some(coded) => CoreRows::Coded(Arc::new(coded)),
            None => CoreRows::Compressed(RowTasks::new(matrix, rows)),
        }
    }

    /// Elements of a vector.
    pub(crate) fn dimension(&self) -> usize {
        match self {
            CoreRows::Compressed(tasks) => tasks.matrix.vector_length(),
            CoreRows::Coded(rows) => rows.dimension(),
        }
    }

    /// The elements of y whose rows are here.
    pub(crate) fn elements(&self) -> Range<usize> {
        match self {
            CoreRows::Compressed(tasks) => {
                let (rows, parts) = (tasks.rows(), tasks.matrix.parts());
                rows.start * parts..rows.end * parts
            }
            CoreRows::Coded(rows) => rows.rows(),
        }
    }

    /// Where elements are cut into so many shares of whole numbers.
    pub(crate) fn cut(&self, shares: usize) -> Vec<usize> {
        match self {
            CoreRows::Compressed(tasks) => {
                let parts = tasks.matrix.parts();
                equal(tasks.matrix.rows(), shares).into_iter().map(|row| row * parts).collect()
            }
            CoreRows::Coded(rows) => equal(rows.dimension(), shares),
        }
    }

    /// The least work of one multiply of these rows in double precision.
    pub(crate) fn cost(&self) -> Cost {
        let (flops, bytes) = match self {
            CoreRows::Compressed(tasks) => {
                let (elements, kind) = (tasks.elements(), tasks.matrix.kind());
                let bytes = (4 + 8 * kind.parts() as u64) * elements + 8 * (tasks.rows().len() as u64 + 1);
                (kind.product_flops() * elements, bytes)
            }
            CoreRows::Coded(rows) => (2 * rows.elements(), rows.bytes()),
        };
        let vectors = 2 * ScalarType::F64.bytes() * self.elements().len();
        Cost { flops: flops as f64, bytes: (bytes + vectors as u64) as f64 }
    }

    /// The diagonal element of the row of one of these elements.
    pub(crate) fn diagonal(&self, element: usize) -> f64 {
        match self {
            CoreRows::Compressed(tasks) => {
                let row = element / tasks.matrix.parts();
                tasks.matrix.element(row, row as u32)
            }
            CoreRows::Coded(rows) => rows.diagonal(element),
        }
    }

    /// The rows of some of these elements alone.
    pub(crate) fn only(self, elements: Range<usize>) -> CoreRows {
        match self {
            CoreRows::Compressed(tasks) => {
                let rows = tasks.rows_of(elements);
                CoreRows::Compressed(RowTasks::new(tasks.matrix, rows))
            }
            CoreRows::Coded(all) => CoreRows::Coded(Arc::new(all.only(elements))),
        }
    }

    /// The elements of y_j = A x_j from `first` on; their parts of x_j·y_j.
    pub(crate) fn multiply<T: Scalar>(&self, x: &[&[T]], first: usize, y: &mut [&mut [T]]) -> Vec<f64> {
        T::choose::<ProductOfType>(CoreRows::multiply_f64, CoreRows::multiply_f32)(self, x, first, y)
    }

    // The loops are compiled here, once for each type, and not again in every crate that calls them and may be compiled for size.
    fn multiply_f64(&self, x: &[&[f64]], first: usize, y: &mut [&mut [f64]]) -> Vec<f64> {
        self.multiply_in(x, first, y)
    }

    fn multiply_f32(&self, x: &[&[f32]], first: usize, y: &mut [&mut [f32]]) -> Vec<f64> {
        self.multiply_in(x, first, y)
    }

    fn multiply_in<T: Scalar>(&self, x: &[&[T]], first: usize, y: &mut [&mut [T]]) -> Vec<f64> {
        match self {
            CoreRows::Coded(rows) => rows.multiply(x, first, y),
            CoreRows::Compressed(tasks) => {
                let wanted = tasks.rows_of(first..first + y.first().map_or(0, |y| y.len()));
                match wanted == tasks.rows() {
                    true => tasks.multiply(x, y),
                    false => RowTasks::new(tasks.matrix.clone(), wanted).multiply(x, y),
                }
            }
        }
    }
}

/// A product with vectors of one type.
type ProductFn<T> = fn(&CoreRows, &[&[T]], usize, &mut [&mut [T]]) -> Vec<f64>;

struct ProductOfType;

impl PerScalar for ProductOfType {
    type Of<T: Scalar> = ProductFn<T>;
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

    /// The rows of some elements of a vector.
    fn rows_of(&self, elements: Range<usize>) -> Range<usize> {
        let parts = self.matrix.parts();
        let whole = [elements.start, elements.end].iter().all(|element| element.is_multiple_of(parts));
        assert!(whole, "elements {elements:?} part a number");
        elements.start / parts..elements.end / parts
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
            let (own, after) = rest.split_at_mut((pair[1] - pair[0]) * matrix.parts());
            share.1.push(own);
            rest = after;
        }
    }
    let task = |(first, mut y): (usize, Vec<&mut [T]>)| -> [f64; MOST_VECTORS] {
        let mut dots = [0.0; MOST_VECTORS];
        match matrix.kind() {
            NumberKind::Real => {}
            NumberKind::Complex => {
                multiply_numbers::<T, Complex64>(matrix, first, (x, &mut y), &mut dots);
                return dots;
            }
            NumberKind::Quaternion => {
                multiply_numbers::<T, Quaternion>(matrix, first, (x, &mut y), &mut dots);
                return dots;
            }
        }
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
    let starts = matrix.row_start();
    let elements = starts[tasks[tasks.len() - 1]] - starts[tasks[0]];
    let of_tasks: Vec<[f64; MOST_VECTORS]> = match elements * x.len() as u64 <= ALONE {
        true => shares.into_iter().map(task).collect(),
        false => shares.into_par_iter().map(task).collect(),
    };
    (0..x.len()).map(|v| of_tasks.iter().map(|dots| dots[v]).sum()).collect()
}

/// Rows from `first` on of complex numbers or quaternions times each vector.
fn multiply_numbers<T: Scalar, N: Number>(
    matrix: &Csr,
    first: usize,
    (x, y): (&[&[T]], &mut [&mut [T]]),
    dots: &mut [f64; MOST_VECTORS],
) {
    let parts = N::PARTS;
    for ((x, y), dot) in x.iter().zip(y).zip(dots) {
        for (at, y) in y.chunks_exact_mut(parts).enumerate() {
            let (columns, values) = matrix.row(first + at);
            let sum = row_times_numbers::<T, N>(columns, values, x).parts();
            let own = &x[(first + at) * parts..][..parts];
            *dot += own.iter().zip(sum).map(|(x, sum)| x.to_f64() * sum).sum::<f64>();
            y.iter_mut().zip(sum).for_each(|(y, sum)| *y = T::from_f64(sum));
        }
    }
}

/// A row of complex numbers or quaternions times a vector, in two sums so that gathers overlap.
fn row_times_numbers<T: Scalar, N: Number>(columns: &[u32], values: &[f64], x: &[T]) -> N {
    let mut sums = [N::new([0.0; 4]); 2];
    let (pairs, rest) = columns.as_chunks::<2>();
    for (pair, columns) in pairs.iter().enumerate() {
        for k in 0..2 {
            sums[k] = sums[k].plus(N::entry(values, 2 * pair + k).times(N::entry(x, columns[k] as usize)));
        }
    }
    if let [column] = rest {
        sums[0] = sums[0].plus(N::entry(values, 2 * pairs.len()).times(N::entry(x, *column as usize)));
    }
    sums[0].plus(sums[1])
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

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_runtime::seeded;

    /// Shares of rows, cut out of the whole or alone, have its bits and cut no number.
    #[test]
    fn shares_have_the_bits_of_the_whole() {
        let places = Csr::sample(300);
        for kind in [NumberKind::Real, NumberKind::Complex, NumberKind::Quaternion] {
            let parts = kind.parts();
            let values = seeded::vector(places.columns().len() * parts, 3);
            let (starts, columns) = (places.row_start().to_vec(), places.columns().to_vec());
            let matrix = Arc::new(Csr::of_numbers(kind, starts, columns, values).unwrap());
            let whole = CoreRows::new(matrix.clone(), 0..300, false);
            let x = seeded::vector(300 * parts, 4);
            let mut y = vec![f64::NAN; x.len()];
            whole.multiply(&[&x], 0, &mut [&mut y]);
            let cuts = whole.cut(7);
            assert_eq!((cuts.len(), cuts[7], whole.diagonal(5 * parts)), (8, 300 * parts, matrix.element(5, 5)));
            for cut in cuts.windows(2) {
                assert!(cut[0].is_multiple_of(parts));
                let mut own = vec![f64::NAN; cut[1] - cut[0]];
                whole.multiply(&[&x], cut[0], &mut [&mut own]);
                assert_eq!(own, y[cut[0]..cut[1]], "{kind}");
                let alone = whole.clone().only(cut[0]..cut[1]);
                let dot = alone.multiply(&[&x], cut[0], &mut [&mut own])[0];
                let expected: f64 = own.iter().zip(&x[cut[0]..]).map(|(y, x)| x * y).sum();
                assert!(own == y[cut[0]..cut[1]] && (dot - expected).abs() < 1e-12, "{kind}: {dot}");
            }
        }
    }
}
