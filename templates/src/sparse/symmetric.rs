//! The multiply of a symmetric matrix from its upper triangle: launches and CUDA text.
//!
//! In: a plan with one part in [`RowStorage::UpperCsr`](super::RowStorage::UpperCsr). Out: four kernels. An element a of row
//! i and column j gives y_i += a x_j and, for j ≠ i, y_j += a x_i, the latter by an atomic add to any row. Floating-point
//! sums would depend on the order of those; integer sums do not. So every product is rounded once to a multiple of
//! 2^-k, as a 64-bit integer, where 2^k is the largest power of two with ‖A‖_∞ max|x| 2^k < 2^62, by the bound of the two
//! exponents:
//!
//! |y_i − (A x)_i| ≤ Σ_j (2^-53 |a_ij x_j| + 2^-62 ‖A‖_∞ max|x|) + 2^-53 |y_i|.
//!
//! 1. `largest`: max |x| of each block, as the bits of a non-negative double, which order as integers with infinity and
//!    NaN above all numbers; all sums become 0.
//! 2. `multiply`: the integer sums, a row's own terms in the registers of its lanes first.
//! 3. `finish`: y_i = sum_i 2^-k and the blocks' shares of x·y; 4. `multiply_finish`: x·y.
//!
//! An infinite or undefined x, and one with ‖A‖_∞ max|x| ≥ 2^1023, makes all of y NaN.

use super::SparsePlan;
use super::text::PackView;
use crate::files;
use crate::launch::{Access, Element, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{Cost, KernelText, TextError, render};
use serde::Serialize;

/// Threads of the kernel that finds max |x|, and its most blocks: every warp of the multiply reads their maxima.
const LARGEST_THREADS: u32 = 512;
const MOST_LARGEST_BLOCKS: u64 = 128;
/// Threads of the kernel that writes y, and rows of a block.
const WRITE_THREADS: u32 = 256;
const WRITE_ROWS: u64 = 1024;
/// Bytes of values that a lane has in flight before it uses the first.
const BATCH_BYTES: u32 = 32;

#[derive(Serialize)]
struct View<'a> {
    plan: &'a SparsePlan,
    prelude: String,
    value_type: &'a str,
    kernels: Declarations,
    title: String,
    lanes: u32,
    start: &'static str,
    batch: Vec<PackView>,
    largest_threads: u32,
    largest_blocks: u64,
    write_threads: u32,
    write_rows: u64,
    resident: u32,
    cost: Cost,
}

impl SparsePlan {
    /// Blocks that find max |x|.
    pub fn largest_blocks(&self) -> u64 {
        self.rows.div_ceil(u64::from(LARGEST_THREADS)).clamp(1, MOST_LARGEST_BLOCKS)
    }

    /// Blocks that write y.
    pub(super) fn symmetric_partials(&self) -> u64 {
        self.rows.div_ceil(WRITE_ROWS)
    }

    /// `largest`, `multiply`, `finish` and `multiply_finish`.
    pub(super) fn symmetric_kernels(&self) -> [Prototype; 4] {
        let x = || Parameter::values("x", self.scalar, Access::In, self.rows);
        let most = |access| Parameter::memory("most", Element::U64, access, self.largest_blocks());
        let sums = |access| Parameter::memory("sums", Element::U64, access, self.rows);
        let norm = || Parameter::number("norm", Number::F64);
        let mut multiply = vec![x(), most(Access::In), norm(), sums(Access::InOut)];
        multiply.extend(self.tables());
        let finish = vec![
            x(),
            most(Access::In),
            norm(),
            sums(Access::In),
            Parameter::values("y_0", self.scalar, Access::Out, self.rows),
            Parameter::memory("partials", Element::F64, Access::Out, self.partials()),
            Parameter::number("with_x_dot_y", Number::I64),
        ];
        [
            Prototype::new("largest", vec![x(), most(Access::Out), sums(Access::Out)]),
            Prototype::new("multiply", multiply),
            Prototype::new("finish", finish),
            self.dot_kernel(),
        ]
    }

    /// Blocks, threads and dynamic shared memory of each kernel.
    pub(super) fn symmetric_shapes(&self) -> [(u64, u32, u64); 4] {
        [
            (self.largest_blocks(), LARGEST_THREADS, 0),
            (u64::from(self.blocks), self.threads, 0),
            (self.partials(), WRITE_THREADS, 0),
            self.dot_shape(),
        ]
    }

    pub(super) fn symmetric_text(&self) -> Result<KernelText, TextError> {
        let (part, kernels) = (&self.parts[0], self.symmetric_kernels());
        let room = BATCH_BYTES / (part.pack * self.values.bytes() as u32).max(1);
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            value_type: self.scalar.cuda(),
            kernels: kernels.iter().collect(),
            title: part.to_string(),
            lanes: part.lanes,
            start: if self.starts.bytes() == 8 { "u64" } else { "u32" },
            batch: (0..room.clamp(1, 4)).map(|pack| self.pack_view(0, part, pack)).collect(),
            largest_threads: LARGEST_THREADS,
            largest_blocks: self.largest_blocks(),
            write_threads: WRITE_THREADS,
            write_rows: WRITE_ROWS,
            resident: (1024 / self.threads.max(1)).max(1),
            cost: self.cost(),
        };
        let text = render(files::SYMMETRIC, &view)?;
        Ok(KernelText {
            name: format!("{}_symmetric", self.name),
            text,
            plan: crate::text::ron_of_depth(self, 3),
            entries: entries(&kernels),
        })
    }
}
