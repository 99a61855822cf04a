//! The Kronecker multiply on the CPU: both halves as sums of contiguous runs, so that they run at vector speed.
//!
//! * A↓: a tile of `ROWS` rows of V is packed (all down states side by side), small enough for a core's cache; a column
//!   of the result is then a sum of contiguous runs of that tile.
//! * A↑ and D: eight columns at a time are transposed, so that one neighbour index serves eight contiguous numbers.
//!
//! Work is cut by tiles, never by thread, and partial sums of xᵀy are added in tile order: the bits do not depend on
//! the number of threads.

use super::species::SpeciesMatrix;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::DiagonalPlan;
use multiversion::multiversion;
use rayon::prelude::*;

/// Columns of V that the up half works on together.
const COLUMNS: usize = 8;

/// Rows of V that stay in registers in the down half.
const BLOCK: usize = 32;

/// A host Kronecker operator: y = (D + I ⊗ A↑ + A↓ ⊗ I) x.
pub struct KroneckerCpu {
    up: Half,
    down: Half,
    /// D(up, dn) = diagonal_up + diagonal_down + cross.
    diagonal_up: Vec<f64>,
    diagonal_down: Vec<f64>,
    cross: DiagonalPlan,
    up_states: Vec<u64>,
    down_states: Vec<u64>,
}

/// A hopping matrix with its rows' elements as (column, amplitude), 32-bit columns.
struct Half {
    row_start: Vec<u64>,
    columns: Vec<u32>,
    amplitudes: Vec<f64>,
}

impl Half {
    fn new(matrix: &SpeciesMatrix) -> Half {
        let values = matrix.amplitudes.values();
        Half {
            row_start: matrix.row_start.clone(),
            columns: matrix.columns.clone(),
            amplitudes: matrix.numbers.iter().map(|number| values[*number as usize]).collect(),
        }
    }

    fn rows(&self) -> usize {
        self.row_start.len() - 1
    }

    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.row_start[row] as usize..self.row_start[row + 1] as usize;
        (&self.columns[range.clone()], &self.amplitudes[range])
    }
}

/// Shares a vector of results among tasks that write disjoint parts of it.
struct Shared<T>(*mut T);
// SAFETY: every task writes elements that no other task touches; see the two uses.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The run of `len` elements that starts at `at`.
    ///
    /// # Safety
    /// In bounds, and no other reference to these elements lives.
    #[expect(clippy::mut_from_ref, reason = "disjoint runs of one buffer, handed to different tasks")]
    unsafe fn run(&self, at: usize, len: usize) -> &mut [T] {
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(at), len) }
    }
}

impl KroneckerCpu {
    /// Prepares the tables of both halves.
    pub fn new(up: &SpeciesMatrix, down: &SpeciesMatrix, diagonal: &DiagonalPlan) -> KroneckerCpu {
        let constant = diagonal.of_pair(0, 0);
        KroneckerCpu {
            up: Half::new(up),
            down: Half::new(down),
            diagonal_up: up.states.iter().map(|word| diagonal.of_pair(*word, 0)).collect(),
            diagonal_down: down.states.iter().map(|word| diagonal.of_pair(0, *word) - constant).collect(),
            cross: diagonal.cross(),
            up_states: up.states.clone(),
            down_states: down.states.clone(),
        }
    }

    /// y = H x for vectors of n↑ · n↓ elements; returns xᵀy.
    pub fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        self.apply_down(x, y);
        self.apply_up(x, y)
    }

    /// y = A↓ x.
    fn apply_down<T: Scalar>(&self, x: &[T], y: &mut [T]) {
        let (n_up, n_down) = (self.up.rows(), self.down.rows());
        if self.down.columns.is_empty() {
            y.par_chunks_mut(n_up.max(1)).for_each(|column| column.fill(T::default()));
            return;
        }
        // A packed tile of about 1 MiB, what a core's second-level cache holds, in whole blocks of the inner loop.
        let rows = ((1 << 17) / n_down.max(1)).next_multiple_of(BLOCK).min(256).min(n_up);
        let result = Shared(y.as_mut_ptr());
        (0..n_up.div_ceil(rows)).into_par_iter().for_each_init(Vec::new, |tile: &mut Vec<T>, k| {
            let first = k * rows;
            let height = rows.min(n_up - first);
            tile.clear();
            for column in 0..n_down {
                tile.extend_from_slice(&x[column * n_up + first..][..height]);
            }
            let mut sum = vec![0.0; height];
            for column in 0..n_down {
                let (columns, amplitudes) = self.down.row(column);
                sum_of_runs(tile, height, columns, amplitudes, &mut sum);
                // SAFETY: rows `first..first + height` of a column belong to this tile alone.
                let out = unsafe { result.run(column * n_up + first, height) };
                out.iter_mut().zip(&sum).for_each(|(out, sum)| *out = T::from_f64(*sum));
            }
        });
    }

    /// y += (D + A↑) x; returns xᵀy of the finished y.
    fn apply_up<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let (n_up, n_down) = (self.up.rows(), self.down.rows());
        let result = Shared(y.as_mut_ptr());
        let group = |buffers: &mut (Vec<[f64; COLUMNS]>, Vec<[f64; COLUMNS]>), k: usize| -> f64 {
            let (x_rows, y_rows) = buffers;
            let first = k * COLUMNS;
            let width = COLUMNS.min(n_down - first);
            // SAFETY: columns `first..first + width` belong to this group alone.
            let out = unsafe { result.run(first * n_up, width * n_up) };
            let mut down_words = [0; COLUMNS];
            let mut down_part = [0.0; COLUMNS];
            down_words[..width].copy_from_slice(&self.down_states[first..][..width]);
            down_part[..width].copy_from_slice(&self.diagonal_down[first..][..width]);
            transpose_in(&x[first * n_up..][..width * n_up], n_up, x_rows);
            transpose_in(out, n_up, y_rows);
            let dot = self.up_rows(x_rows, y_rows, &down_words, &down_part);
            transpose_out(y_rows, n_up, out);
            dot[..width].iter().sum()
        };
        let dots: Vec<f64> = (0..n_down.div_ceil(COLUMNS)).into_par_iter().map_init(Default::default, group).collect();
        dots.iter().sum()
    }

    fn up_rows(
        &self,
        x: &[[f64; COLUMNS]],
        y: &mut [[f64; COLUMNS]],
        down_words: &[u64; COLUMNS],
        down_part: &[f64; COLUMNS],
    ) -> [f64; COLUMNS] {
        let tables = UpTables {
            row_start: &self.up.row_start,
            columns: &self.up.columns,
            amplitudes: &self.up.amplitudes,
            words: &self.up_states,
            diagonal: &self.diagonal_up,
        };
        // The repulsion of a uniform Hubbard model is one count of up & down: worth a loop of its own.
        match &self.cross.counts[..] {
            [group] if self.cross.products.is_empty() && group.right.is_some_and(|(_, shift)| shift == 0) => {
                let (u, mask) = (group.coefficient, group.mask);
                let count = |up: u64, down: u64| u * f64::from((up & down & mask).count_ones());
                up_rows(&tables, x, y, down_words, down_part, count)
            }
            _ => up_rows(&tables, x, y, down_words, down_part, |up, down| self.cross.of_pair(up, down)),
        }
    }

    /// The diagonal element of an index.
    pub fn diagonal(&self, index: usize) -> f64 {
        let (i, j) = (index % self.up.rows(), index / self.up.rows());
        self.diagonal_up[i] + self.diagonal_down[j] + self.cross.of_pair(self.up_states[i], self.down_states[j])
    }
}

struct UpTables<'a> {
    row_start: &'a [u64],
    columns: &'a [u32],
    amplitudes: &'a [f64],
    words: &'a [u64],
    diagonal: &'a [f64],
}

/// sum = Σ_k amplitudes[k] · tile[columns[k]], runs of `height` numbers.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn sum_of_runs<T: Scalar>(tile: &[T], height: usize, columns: &[u32], amplitudes: &[f64], sum: &mut [f64]) {
    // A block stays in registers over all neighbours.
    let mut at = 0;
    while at + BLOCK <= height {
        let mut block = [0.0; BLOCK];
        for (column, amplitude) in columns.iter().zip(amplitudes) {
            let run = &tile[*column as usize * height + at..][..BLOCK];
            for lane in 0..BLOCK {
                block[lane] += amplitude * run[lane].to_f64();
            }
        }
        sum[at..at + BLOCK].copy_from_slice(&block);
        at += BLOCK;
    }
    let rest = &mut sum[at..height];
    rest.fill(0.0);
    for (column, amplitude) in columns.iter().zip(amplitudes) {
        let run = &tile[*column as usize * height + at..][..rest.len()];
        rest.iter_mut().zip(run).for_each(|(sum, value)| *sum += amplitude * value.to_f64());
    }
}

/// y += (A↑ + D) x for eight columns; returns xᵀy of each. `cross` is the part of D that needs both words.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2+popcnt", "x86_64+avx2+fma+bmi2+popcnt"))]
fn up_rows<'a, C: Fn(u64, u64) -> f64>(
    tables: &UpTables<'a>,
    x: &[[f64; COLUMNS]],
    y: &mut [[f64; COLUMNS]],
    down_words: &[u64; COLUMNS],
    down_part: &[f64; COLUMNS],
    cross: C,
) -> [f64; COLUMNS] {
    let mut dot = [0.0; COLUMNS];
    for (row, y) in y.iter_mut().enumerate() {
        let mut sum = *y;
        let range = tables.row_start[row] as usize..tables.row_start[row + 1] as usize;
        for (column, amplitude) in tables.columns[range.clone()].iter().zip(&tables.amplitudes[range]) {
            let from = &x[*column as usize];
            for lane in 0..COLUMNS {
                sum[lane] += amplitude * from[lane];
            }
        }
        for lane in 0..COLUMNS {
            let diagonal = tables.diagonal[row] + down_part[lane] + cross(tables.words[row], down_words[lane]);
            sum[lane] += diagonal * x[row][lane];
            dot[lane] += x[row][lane] * sum[lane];
        }
        *y = sum;
    }
    dot
}

/// Columns side by side → one row of `COLUMNS` numbers each; missing columns are zero.
fn transpose_in<T: Scalar>(columns: &[T], rows: usize, out: &mut Vec<[f64; COLUMNS]>) {
    out.clear();
    out.resize(rows, [0.0; COLUMNS]);
    for (lane, column) in columns.chunks_exact(rows).enumerate() {
        out.iter_mut().zip(column).for_each(|(row, value)| row[lane] = value.to_f64());
    }
}

fn transpose_out<T: Scalar>(from: &[[f64; COLUMNS]], rows: usize, columns: &mut [T]) {
    for (lane, column) in columns.chunks_exact_mut(rows).enumerate() {
        column.iter_mut().zip(from).for_each(|(value, row)| *value = T::from_f64(row[lane]));
    }
}
