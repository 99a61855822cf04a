//! Sizes and pieces of memory that the passes share.

/// Rows of a column that are written at a time: a line of 64 bytes. Also the columns that are worked on together where there
/// are no more.
pub(super) const LANES: usize = 8;

/// Columns that are worked on together within columns: an index and an amplitude are loaded for two registers, not one. Against
/// eight columns 30 → 25 ms on one Zen 5 core with 4,368 rows (24: 27 ms), and no slower with 48,620, far beyond L2.
pub(super) const WIDE: usize = 16;

/// Elements that are worth a task of their own: waking another thread takes some 20 µs, in which one does about as many.
/// 100 states took 26 µs when every group was a task, and 0.7 µs since.
pub(super) const TASK: usize = 1 << 14;

/// Numbers that start on a line of memory, so that no register load touches two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Run<const N: usize>(pub(super) [f64; N]);

/// A matrix in compressed rows: its elements as (column, amplitude), 32-bit columns.
pub(super) struct Rows {
    pub(super) start: Vec<u64>,
    pub(super) columns: Vec<u32>,
    pub(super) amplitudes: Vec<f64>,
}

impl Rows {
    pub(super) fn new() -> Rows {
        Rows { start: vec![0], columns: Vec::new(), amplitudes: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: impl Iterator<Item = (u32, f64)>) {
        for (column, amplitude) in row {
            self.columns.push(column);
            self.amplitudes.push(amplitude);
        }
        self.start.push(self.columns.len() as u64);
    }

    pub(super) fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.start[row] as usize..self.start[row + 1] as usize;
        (&self.columns[range.clone()], &self.amplitudes[range])
    }
}

/// Shares a vector of results among tasks that write disjoint parts of it.
pub(super) struct Shared<T>(pub(super) *mut T);
// SAFETY: every task writes elements that no other task touches; see the uses of `run`.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The run of `len` elements that starts at `at`.
    ///
    /// # Safety
    /// In bounds, and no other reference to these elements lives.
    #[expect(clippy::mut_from_ref, reason = "disjoint runs of one buffer, handed to different tasks")]
    pub(super) unsafe fn run(&self, at: usize, len: usize) -> &mut [T] {
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(at), len) }
    }
}
