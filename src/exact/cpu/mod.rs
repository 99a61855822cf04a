//! The multiply by H on the CPU.
//!
//! The sector is a matrix, a column for each high word and a row for each low word ([`crate::basis::LinTables`]). Columns that
//! leave the same charge to the low word share their rows: they are a block. Within a block H is a Kronecker sum,
//! D + I ⊗ A_low + A_high ⊗ I, whose two passes are made of contiguous runs and go at vector speed (`within` and `among`); terms
//! that change both words couple columns (`couplings`). The low word of electrons is that of the up electrons and all columns are
//! one block, so a Hubbard model is a block without couplings.
//!
//! ```text
//! split  →  blocks: within, couplings, among  →  y, x·y
//! diagonal
//! ```
//!
//! Five passes over a vector are the floor: x twice, y three times. Where the tables of the blocks would be larger than vectors,
//! the multiply goes row by row (`by_rows`). Work is cut by sizes, never by the number of threads, and partial sums of xᵀy are
//! added in a fixed order: the bits do not depend on the number of threads. What was tried: docs/tried.md.

mod among;
mod blocks;
mod by_rows;
mod couplings;
mod diagonal;
mod lines;
mod split;
#[cfg(test)]
mod tests;
mod within;

use super::model::Model;
use super::prepared::Prepared;
use super::structure::Moves;
use blocks::Blocks;
use by_rows::ByRows;
use eigenforge_runtime::Scalar;

/// Bytes of the tables of a model's blocks, if it multiplies by blocks and is no Kronecker sum.
pub(super) fn block_table_bytes(model: &Model) -> u64 {
    match &model.structure().moves {
        Moves::General(groups) => {
            let counts = model.basis().half_counts();
            blocks::table_bytes(counts, model.dimension(), &model.structure().diagonal, groups)
        }
        Moves::Kronecker { .. } => 0,
    }
}

/// H on the CPU.
pub(super) enum HostMultiply {
    /// By blocks.
    Blocks(Box<Blocks>),
    /// Row by row.
    ByRows(Box<ByRows>),
}

impl HostMultiply {
    /// The multiply of a plan.
    pub(super) fn new(prepared: &Prepared) -> HostMultiply {
        match prepared {
            Prepared::Kronecker { plan, up, down } => {
                HostMultiply::Blocks(Box::new(Blocks::of_species(up, down, &plan.diagonal)))
            }
            Prepared::General { plan, tables } => match Blocks::of_tables(tables, &plan.diagonal, &plan.groups) {
                Some(blocks) => HostMultiply::Blocks(Box::new(blocks)),
                None => {
                    let rows = ByRows::new(tables.clone(), plan.diagonal.clone(), plan.groups.clone());
                    HostMultiply::ByRows(Box::new(rows))
                }
            },
        }
    }

    /// y = H x; returns xᵀy.
    pub(super) fn apply<T: Scalar>(&self, x: &[T], y: &mut [T]) -> f64 {
        match self {
            HostMultiply::Blocks(host) => host.apply(x, y),
            HostMultiply::ByRows(host) => host.apply(x, y),
        }
    }

    /// The diagonal element of an index.
    pub(super) fn diagonal(&self, index: usize) -> f64 {
        match self {
            HostMultiply::Blocks(host) => host.diagonal(index),
            HostMultiply::ByRows(host) => host.diagonal(index),
        }
    }
}

/// Rows of a column that are written at a time: a line of 64 bytes. Also the columns that are worked on together where there
/// are no more.
const LANES: usize = 8;

/// Columns that are worked on together within columns: an index and an amplitude are loaded for two registers, not one. Against
/// eight columns 30 → 25 ms on one Zen 5 core with 4,368 rows (24: 27 ms), and no slower with 48,620, far beyond L2.
const WIDE: usize = 16;

/// Elements that are worth a task of their own: waking another thread takes some 20 µs, in which one does about as many.
/// 100 states took 26 µs when every group was a task, and 0.7 µs since.
const TASK: usize = 1 << 14;

/// Numbers that start on a line of memory, so that no register load touches two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Run<const N: usize>([f64; N]);

/// A matrix in compressed rows: its elements as (column, amplitude), 32-bit columns.
struct Rows {
    start: Vec<u64>,
    columns: Vec<u32>,
    amplitudes: Vec<f64>,
}

impl Rows {
    fn new() -> Rows {
        Rows { start: vec![0], columns: Vec::new(), amplitudes: Vec::new() }
    }

    /// Adds a row.
    fn push(&mut self, row: impl Iterator<Item = (u32, f64)>) {
        for (column, amplitude) in row {
            self.columns.push(column);
            self.amplitudes.push(amplitude);
        }
        self.start.push(self.columns.len() as u64);
    }

    fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.start[row] as usize..self.start[row + 1] as usize;
        (&self.columns[range.clone()], &self.amplitudes[range])
    }
}

/// Shares a vector of results among tasks that write disjoint parts of it.
struct Shared<T>(*mut T);
// SAFETY: every task writes elements that no other task touches; see the uses of `run`.
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
