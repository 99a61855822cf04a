//! The Kronecker multiply on the CPU: both halves as sums of contiguous runs, so that they run at vector speed.
//!
//! * D and A↑ write y: eight columns at a time are transposed, so that one neighbour index serves eight contiguous
//!   numbers, and blocks of eight rows are turned back in registers.
//! * A↓ adds to y: a tile of `ROWS` rows of V is packed (all down states side by side); a column of the result is then a
//!   sum of contiguous runs of that tile.
//!
//! Five passes over a vector are the floor: x twice, y three times. What was tried: docs/performance.md.
//!
//! Work is cut by tiles, never by thread, and partial sums of xᵀy are added in tile order: the bits do not depend on
//! the number of threads.

use super::species::SpeciesMatrix;
use eigenforge_runtime::Scalar;
use eigenforge_templates::exact::DiagonalPlan;
use multiversion::multiversion;
use rayon::prelude::*;

/// Columns of V that the up half works on together, and rows of each that it writes at a time: lines of 64 bytes.
const LANES: usize = 8;

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
        let up = self.apply_up(x, y);
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
    fn apply_up<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        let (n_up, n_down) = (self.up.rows(), self.down.rows());
        let tasks = (TASK / (LANES * n_up)).max(1);
        let columns = y.par_chunks_mut(LANES * n_up).enumerate().with_min_len(tasks);
        let group = |x_rows: &mut Vec<Run<LANES>>, (k, out): (usize, &mut [T])| -> f64 {
            let first = k * LANES;
            let width = LANES.min(n_down - first);
            let (mut words, mut diagonal) = ([0; LANES], [0.0; LANES]);
            words[..width].copy_from_slice(&self.down_states[first..][..width]);
            diagonal[..width].copy_from_slice(&self.diagonal_down[first..][..width]);
            x_rows.resize(n_up, Run([0.0; LANES]));
            transpose(&x[first * n_up..][..width * n_up], x_rows);
            self.up_group(x_rows, out, &DownColumns { words, diagonal })[..width].iter().sum()
        };
        let dots: Vec<f64> = columns.map_init(Vec::new, group).collect();
        dots.iter().sum()
    }

    fn up_group<T: Scalar>(&self, x: &[Run<LANES>], y: &mut [T], down: &DownColumns) -> [f64; LANES] {
        let tables = UpTables { hops: &self.up, words: &self.up_states, diagonal: &self.diagonal_up };
        // The repulsion of a uniform Hubbard model is one count of up & down: worth a loop of its own.
        match &self.cross.counts[..] {
            [group] if self.cross.products.is_empty() && group.right.is_some_and(|(_, shift)| shift == 0) => {
                let (u, mask) = (group.coefficient, group.mask);
                let count = |up: u64, down: u64| u * f64::from((up & down & mask).count_ones());
                up_group(&tables, x, y, down, count)
            }
            _ => up_group(&tables, x, y, down, |up, down| self.cross.of_pair(up, down)),
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
    pub fn diagonal(&self, index: usize) -> f64 {
        let (i, j) = (index % self.up.rows(), index / self.up.rows());
        self.diagonal_up[i] + self.diagonal_down[j] + self.cross.of_pair(self.up_states[i], self.down_states[j])
    }
}

/// What the up half reads of the up states.
struct UpTables<'a> {
    hops: &'a Half,
    words: &'a [u64],
    diagonal: &'a [f64],
}

/// The down states of a group of columns, with their part of D.
struct DownColumns {
    words: [u64; LANES],
    diagonal: [f64; LANES],
}

/// y = (A↑ + D) x for up to eight columns; returns xᵀy of each, of which those past the last column mean nothing. `cross`
/// is the part of D that needs both words.
#[multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+avx512vpopcntdq+avx2+fma+bmi2+popcnt",
    "x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2+popcnt",
    "x86_64+avx2+fma+bmi2+popcnt"
))]
fn up_group<'a, T: Scalar, C: Fn(u64, u64) -> f64>(
    tables: &UpTables<'a>,
    x: &[Run<LANES>],
    y: &mut [T],
    down: &DownColumns,
    cross: C,
) -> [f64; LANES] {
    let rows = x.len();
    let mut dot = [0.0; LANES];
    let mut columns = y.chunks_exact_mut(rows);
    let mut columns: [&mut [T]; LANES] = std::array::from_fn(|_| columns.next().unwrap_or_default());
    for first in (0..rows).step_by(LANES) {
        let height = LANES.min(rows - first);
        // A block of eight rows is turned in registers: the columns of y see whole lines, written once.
        let mut block = [[0.0; LANES]; LANES];
        for (row, block) in (first..first + height).zip(&mut block) {
            let mut sum = [0.0; LANES];
            let (neighbours, amplitudes) = tables.hops.row(row);
            for (column, amplitude) in neighbours.iter().zip(amplitudes) {
                let from = &x[*column as usize].0;
                for lane in 0..LANES {
                    sum[lane] += amplitude * from[lane];
                }
            }
            // One expression a step: each is one operation on a register of eight numbers.
            let own = &x[row].0;
            let both: [f64; LANES] = std::array::from_fn(|lane| cross(tables.words[row], down.words[lane]));
            let diagonal: [f64; LANES] =
                std::array::from_fn(|lane| both[lane] + (tables.diagonal[row] + down.diagonal[lane]));
            for lane in 0..LANES {
                sum[lane] += diagonal[lane] * own[lane];
            }
            *block = sum;
        }
        write_block(&block, &x[first..first + height], first, &mut columns, &mut dot);
    }
    dot
}

/// Eight rows of eight numbers → rows `first` to `first + 8` of up to eight columns, as far as there are any; dot += x · y
/// of each. On its own for the compiler: inlined, it cuts the registers of `up_group` to the pieces that this wants.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn write_block<T: Scalar>(
    block: &[[f64; LANES]; LANES],
    x: &[Run<LANES>],
    first: usize,
    columns: &mut [&mut [T]; LANES],
    dot: &mut [f64; LANES],
) {
    for (x, y) in x.iter().zip(block) {
        for lane in 0..LANES {
            dot[lane] += x.0[lane] * y[lane];
        }
    }
    for (lane, column) in columns.iter_mut().enumerate() {
        let turned: [T; LANES] = std::array::from_fn(|row| T::from_f64(block[row][lane]));
        match column.get_mut(first..first + LANES) {
            Some(out) => out.copy_from_slice(&turned),
            // The last rows, or a column that is not there.
            None => column.iter_mut().skip(first).zip(turned).for_each(|(out, sum)| *out = sum),
        }
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

/// Up to eight columns side by side → one row of eight numbers each; a missing column repeats the first.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx2+fma+bmi2", "x86_64+avx2+fma+bmi2"))]
fn transpose<T: Scalar>(columns: &[T], out: &mut [Run<LANES>]) {
    let rows = out.len();
    let columns: [&[T]; LANES] =
        std::array::from_fn(|lane| columns.get(lane * rows..(lane + 1) * rows).unwrap_or(&columns[..rows]));
    let (blocks, rest) = out.as_chunks_mut::<LANES>();
    for (block, to) in blocks.iter_mut().enumerate() {
        let from: [&[T]; LANES] = std::array::from_fn(|lane| &columns[lane][block * LANES..][..LANES]);
        for (row, to) in to.iter_mut().enumerate() {
            to.0 = std::array::from_fn(|lane| from[lane][row].to_f64());
        }
    }
    let whole = rows - rest.len();
    for (row, to) in rest.iter_mut().enumerate() {
        to.0 = std::array::from_fn(|lane| columns[lane][whole + row].to_f64());
    }
}
