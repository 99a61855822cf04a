//! The sums on the CPU: in tasks of a fixed size, added in order, so that the number of threads changes no bit.

use super::Weights;
use super::halves::Halves;
use super::moves::MoveTables;
use eigenforge_runtime::Scalar;
use ndarray::Array2;
use rayon::prelude::*;

/// Rows and columns of a task: a square of v² and its sums for each high site stay in the second cache.
const ROWS: usize = 512;
const COLUMNS: usize = 2048;
/// Pairs of columns of a task.
const COLUMN_PAIRS: usize = 256;
/// Pairs of columns that share one walk over the pairs of rows.
const AT_ONCE: usize = 4;

/// A rectangle of one class.
struct Rectangle {
    class: usize,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
}

fn rectangles(halves: &Halves) -> Vec<Rectangle> {
    let cut = |range: std::ops::Range<usize>, step: usize| {
        let end = range.end;
        range.step_by(step).map(move |first| first..end.min(first + step))
    };
    let of_class = |(class, whole): (usize, &super::halves::Class)| {
        let columns = whole.columns.clone();
        let of_rows = move |rows: std::ops::Range<usize>| {
            cut(columns.clone(), COLUMNS).map(move |columns| Rectangle { class, rows: rows.clone(), columns })
        };
        cut(0..whole.lows.len(), ROWS).flat_map(of_rows)
    };
    halves.classes.iter().enumerate().flat_map(of_class).collect()
}

/// All sums of v² that moments need.
pub(super) fn weights<T: Scalar>(halves: &Halves, vector: &[T]) -> Weights {
    let rectangles = rectangles(halves);
    let found: Vec<(Array2<f64>, Vec<f64>, Vec<f64>)> =
        rectangles.par_iter().map(|rectangle| of_rectangle(halves, rectangle, vector)).collect();
    let mut all = Weights::new(halves);
    for (Rectangle { class, rows, columns }, (moments, of_rows, of_columns)) in rectangles.iter().zip(found) {
        all.moments += &moments;
        let first = halves.classes[*class].lows.start;
        add(&mut all.rows[first + rows.start..first + rows.end], &of_rows);
        add(&mut all.columns[columns.clone()], &of_columns);
    }
    all
}

fn add(sums: &mut [f64], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Moments, weights of the rows, weights of the columns.
fn of_rectangle<T: Scalar>(halves: &Halves, part: &Rectangle, vector: &[T]) -> (Array2<f64>, Vec<f64>, Vec<f64>) {
    let ([low_sites, high_sites], rows) = (halves.sites, part.rows.len());
    // Of each row: the sum of v², and of v² times the level of each high site.
    let mut sums = vec![0.0; (high_sites + 1) * rows];
    let (mut squares, mut of_columns) = (vec![0.0; rows], Vec::with_capacity(part.columns.len()));
    for column in &halves.columns[part.columns.clone()] {
        let values = &vector[halves.elements(column)][part.rows.clone()];
        squares.iter_mut().zip(values).for_each(|(square, v)| *square = v.to_f64() * v.to_f64());
        of_columns.push(squares.iter().sum());
        add(&mut sums[..rows], &squares);
        for (site, sums) in sums[rows..].chunks_exact_mut(rows).enumerate() {
            match halves.level(column.word, site) {
                0 => {}
                1 => add(sums, &squares),
                level => sums.iter_mut().zip(&squares).for_each(|(sum, w)| *sum += f64::from(level) * w),
            }
        }
    }
    let words = &halves.rows(part.class)[part.rows.clone()];
    let mut moments = Array2::zeros((low_sites + 1, high_sites + 1));
    for (j, sums) in sums.chunks_exact(rows).enumerate() {
        moments[[0, j]] = sums.iter().sum();
        for i in 0..low_sites {
            let terms = words.iter().zip(sums).map(|(word, sum)| f64::from(halves.level(*word, i)) * sum);
            moments[[i + 1, j]] = terms.sum();
        }
    }
    sums.truncate(rows);
    (moments, sums, of_columns)
}

/// Σ v(h, l) v(h', l') of each product.
pub(super) fn transitions<T: Scalar>(halves: &Halves, tables: &MoveTables, vector: &[T]) -> Vec<f64> {
    let tasks = |term: usize| {
        let list = tables.term_columns[term] as usize;
        let (first, end) = (tables.column_lists[list] as usize, tables.column_lists[list + 1] as usize);
        (first..end).step_by(COLUMN_PAIRS).map(move |k| (term, k..end.min(k + COLUMN_PAIRS)))
    };
    let tasks: Vec<_> = (0..tables.term_columns.len()).flat_map(tasks).collect();
    let task = |(term, entries): &(usize, std::ops::Range<usize>)| -> f64 {
        let cells = tables.term_low[*term] as usize * halves.classes.len();
        let class = |pair: &u64| halves.columns[*pair as u32 as usize].class;
        let pairs = &tables.column_pairs[entries.clone()];
        let groups = pairs.chunk_by(|a, b| class(a) == class(b)).flat_map(|group| group.chunks(AT_ONCE));
        groups.map(|group| of_group(halves, tables, cells + class(&group[0]), group, vector)).sum()
    };
    let found: Vec<f64> = tasks.par_iter().map(task).collect();
    let mut sums = vec![0.0; tables.term_columns.len()];
    tasks.iter().zip(found).for_each(|((term, _), sum)| sums[*term] += sum);
    tables.of_products(sums.into_iter())
}

/// Pairs of columns of one class, [`AT_ONCE`] at most; `cell` has their lists of pairs of rows.
fn of_group<T: Scalar>(halves: &Halves, tables: &MoveTables, cell: usize, group: &[u64], vector: &[T]) -> f64 {
    let from = |pair: u64| &vector[halves.elements(&halves.columns[pair as u32 as usize])];
    let to = |pair: u64| &vector[halves.elements(&halves.columns[(pair >> 32) as usize])];
    let mut sum = 0.0;
    for list in tables.low_lists[cell] as usize..tables.low_lists[cell + 1] as usize {
        let pairs = &tables.row_pairs[tables.row_lists[list] as usize..tables.row_lists[list + 1] as usize];
        let of_list: f64 = match *group {
            [a, b, c, d] => products(pairs, [a, b, c, d].map(from), [a, b, c, d].map(to)).iter().sum(),
            _ => group.iter().map(|pair| products(pairs, [from(*pair)], [to(*pair)])[0]).sum(),
        };
        sum += tables.row_amplitude[list] * of_list;
    }
    sum
}

fn products<T: Scalar, const N: usize>(pairs: &[u64], from: [&[T]; N], to: [&[T]; N]) -> [f64; N] {
    let mut sums = [0.0; N];
    for pair in pairs {
        let (row, reached) = (*pair as u32 as usize, (*pair >> 32) as usize);
        for ((sum, from), to) in sums.iter_mut().zip(from).zip(to) {
            *sum += from[row].to_f64() * to[reached].to_f64();
        }
    }
    sums
}
