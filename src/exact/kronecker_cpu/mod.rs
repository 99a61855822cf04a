//! The Kronecker multiply on the CPU: both halves as sums of contiguous runs, so that they run at vector speed.
//!
//! * D and A↑ write y (`up.rs`): sixteen columns at a time are transposed, so that one neighbour index serves sixteen
//!   contiguous numbers, and blocks of eight rows are turned back; whole lines of a long y go past the caches (`lines.rs`).
//! * A↓ adds to y: a tile of `ROWS` rows of V is packed (all down states side by side); a column of the result is then a
//!   sum of contiguous runs of that tile.
//!
//! Five passes over a vector are the floor: x twice, y three times. What was tried: docs/tried.md.
//!
//! Work is cut by tiles, never by thread, and partial sums of xᵀy are added in tile order: the bits do not depend on
//! the number of threads.

mod lines;
mod up;

use super::species::SpeciesMatrix;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::DiagonalPlan;
use multiversion::multiversion;
use rayon::prelude::*;
use up::{DownColumns, UpTables, turn, up_group};

/// Rows of a column that the up half writes at a time: a line of 64 bytes. Also the columns that it works on together where
/// there are no more.
const LANES: usize = 8;

/// Columns that the up half works on together: an index and an amplitude are loaded for two registers, not one. Against
/// eight columns 30 → 25 ms on one Zen 5 core with 4,368 rows (24: 27 ms), and no slower with 48,620, far beyond L2.
const WIDE: usize = 16;

/// Rows of V that the down half works on together, a register block for AVX-512. On two cores with 1 MiB of L2 each and
/// 4,368 columns 32, 64 and 128 rows took 14.0, 12.7 and 13.4 ms, although only the first tile nearly fits L2; with 8,008
/// columns 48, 47 and 77 ms.
const ROWS: usize = 64;

/// Elements that are worth a task of their own: waking another thread takes some 20 µs, in which one does about as many.
/// 100 states took 26 µs when every group was a task, and 0.7 µs since.
const TASK: usize = 1 << 14;

/// Numbers that start on a line of memory, so that no register load touches two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Run<const N: usize>([f64; N]);

/// A host Kronecker operator: y = (D + I ⊗ A↑ + A↓ ⊗ I) x.
pub(super) struct KroneckerCpu {
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
    pub(super) fn new(up: &SpeciesMatrix, down: &SpeciesMatrix, diagonal: &DiagonalPlan) -> KroneckerCpu {
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
    pub(super) fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let up =
            if self.down.rows() <= LANES { self.apply_up::<T, LANES>(x, y) } else { self.apply_up::<T, WIDE>(x, y) };
        // A tile of few rows would be mostly padding.
        let down = if self.down.columns.is_empty() {
            0.0
        } else if self.up.rows() < ROWS {
            self.apply_down::<T, LANES>(x, y)
        } else {
            self.apply_down::<T, ROWS>(x, y)
        };
        up + down
    }

    /// y = (D + A↑) x; returns xᵀ (D + A↑) x.
    fn apply_up<T: Scalar, const W: usize>(&self, x: &[T], y: &mut [T]) -> f64 {
        let (n_up, n_down) = (self.up.rows(), self.down.rows());
        let before_lines = lines::rows_before_lines(y, n_up, lines::LONG);
        let tasks = (TASK / (W * n_up)).max(1);
        let columns = y.par_chunks_mut(W * n_up).enumerate().with_min_len(tasks);
        let group = |x_rows: &mut Vec<Run<W>>, (k, out): (usize, &mut [T])| -> f64 {
            let first = k * W;
            let width = W.min(n_down - first);
            let (mut words, mut diagonal) = ([0; W], [0.0; W]);
            words[..width].copy_from_slice(&self.down_states[first..][..width]);
            diagonal[..width].copy_from_slice(&self.diagonal_down[first..][..width]);
            x_rows.resize(n_up, Run([0.0; W]));
            turn(&x[first * n_up..][..width * n_up], x_rows);
            self.up_group(x_rows, out, &DownColumns { words, diagonal }, before_lines)[..width].iter().sum()
        };
        let dots: Vec<f64> = columns.map_init(Vec::new, group).collect();
        dots.iter().sum()
    }

    fn up_group<T: Scalar, const W: usize>(
        &self,
        x: &[Run<W>],
        y: &mut [T],
        down: &DownColumns<W>,
        before_lines: Option<usize>,
    ) -> [f64; W] {
        let tables = UpTables { hops: &self.up, words: &self.up_states, diagonal: &self.diagonal_up };
        // The repulsion of a uniform Hubbard model is one count of up & down: worth a loop of its own.
        match &self.cross.counts[..] {
            [group] if self.cross.products.is_empty() && group.right.is_some_and(|(_, shift)| shift == 0) => {
                let (u, mask) = (group.coefficient, group.mask);
                let count = |up: u64, down: u64| u * f64::from((up & down & mask).count_ones());
                up_group(&tables, x, y, down, count, before_lines)
            }
            _ => up_group(&tables, x, y, down, |up, down| self.cross.of_pair(up, down), before_lines),
        }
    }

    /// y += A↓ x; returns xᵀ A↓ x.
    fn apply_down<T: Scalar, const N: usize>(&self, x: &[T], y: &mut [T]) -> f64 {
        let (n_up, n_down) = (self.up.rows(), self.down.rows());
        let result = Shared(y.as_mut_ptr());
        let rows = |tile: &mut Vec<Run<N>>, k: usize| -> f64 {
            let first = k * N;
            let height = N.min(n_up - first);
            tile.resize(n_down, Run([0.0; N]));
            pack(x, n_up, first, tile);
            let mut dot = [0.0; N];
            for column in 0..n_down {
                // SAFETY: rows `first..first + height` of a column belong to this tile alone.
                let out = unsafe { result.run(column * n_up + first, height) };
                down_run(&self.down, tile, column, out, &mut dot);
            }
            dot[..height].iter().sum()
        };
        let tasks = (TASK / (N * n_down)).max(1);
        let tiles = (0..n_up.div_ceil(N)).into_par_iter().with_min_len(tasks);
        let dots: Vec<f64> = tiles.map_init(Vec::new, rows).collect();
        dots.iter().sum()
    }

    /// The diagonal element of an index.
    pub(super) fn diagonal(&self, index: usize) -> f64 {
        let (i, j) = (index % self.up.rows(), index / self.up.rows());
        self.diagonal_up[i] + self.diagonal_down[j] + self.cross.of_pair(self.up_states[i], self.down_states[j])
    }
}

/// Rows `first` to `first + N` of all columns, as far as a column has them → a tile.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn pack<T: Scalar, const N: usize>(x: &[T], rows: usize, first: usize, tile: &mut [Run<N>]) {
    for (run, column) in tile.iter_mut().zip(x.chunks_exact(rows)) {
        match column[first..].first_chunk::<N>() {
            Some(column) => (0..N).for_each(|row| run.0[row] = column[row].to_f64()),
            None => run.0.iter_mut().zip(&column[first..]).for_each(|(to, from)| *to = from.to_f64()),
        }
    }
}

/// y += A↓ x for the rows of a tile in one column, dot += x · A↓ x row by row; rows of the tile past the end of `out` are
/// not used.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn down_run<T: Scalar, const N: usize>(hops: &Half, tile: &[Run<N>], column: usize, out: &mut [T], dot: &mut [f64; N]) {
    // Stays in registers over all neighbours.
    let mut sum = [0.0; N];
    let (neighbours, amplitudes) = hops.row(column);
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
