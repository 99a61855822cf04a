//! The plan of Cholesky's method with pivots for many positive matrices at once: text and launch.
//!
//! In: the rows of each matrix and the most columns of its factor. Out: a table (matrices, then blocks) and the launch that reads it.
//! Blocks are shared out by the rows of the matrices, so that a column takes all about as long.

use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Words of a matrix and of a block, as declared in the text.
const MATRIX_WORDS: usize = 6;
const TASK_WORDS: usize = 4;
/// Rows of a factor begin this many elements apart, or a multiple of them.
const ALIGNED: usize = 16;

/// Bytes of shared memory that the kernel declares itself, and that the driver reserves per block.
const FIXED_BYTES: usize = 2048;

/// Every number in the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PivotedCholeskyPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the matrices.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that a multiprocessor holds at least.
    pub blocks: u32,
    /// Rows of a matrix that a warp has at a time.
    pub rows: u32,
    /// What is left counts as rounding below this fraction of the largest diagonal element.
    pub rounding: f64,
}

/// A positive matrix of `rows` × `rows`, column-major, and the place of its factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositiveMatrix {
    /// Its first element.
    pub first: usize,
    /// Rows.
    pub rows: usize,
    /// First element of the factor, which is stored by rows.
    pub factor: usize,
    /// Most columns of the factor, and elements from one row of it to the next.
    pub stride: usize,
}

/// The launch with its table.
#[derive(Clone, Debug, PartialEq)]
pub struct PivotedCholeskyLaunch {
    /// Matrices, then blocks.
    pub table: Vec<u64>,
    /// Elements of the workspace.
    pub work: usize,
    /// The launch.
    pub launch: Launch,
    /// Word of the table where the blocks begin.
    pub first: i64,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a PivotedCholeskyPlan,
    prelude: String,
    words: usize,
    task_words: usize,
    kernels: Declarations,
}

/// Numbers of elements that the launch may access.
#[derive(Clone, Copy)]
struct Sizes {
    matrices: usize,
    factors: usize,
    table: usize,
    work: usize,
    list: usize,
}

impl PivotedCholeskyPlan {
    /// The name of the kernel.
    pub const ENTRY: &str = "pivoted_cholesky";

    /// The plan for DMRG's density matrices.
    pub fn new(name: impl Into<String>) -> PivotedCholeskyPlan {
        PivotedCholeskyPlan {
            name: name.into(),
            scalar: ScalarType::F64,
            warp: Warp::default(),
            threads: 256,
            blocks: 2,
            rows: 4,
            rounding: 1e-15,
        }
    }

    /// Columns of a factor that may have `most`, with the padding of its rows.
    pub fn stride(most: usize) -> usize {
        most.next_multiple_of(ALIGNED)
    }

    /// Bytes of shared memory of a block with this many rows of a matrix whose factor may have this many columns: what is left of each
    /// row, and a row of the factor.
    fn shared_bytes(rows: usize, stride: usize) -> usize {
        8 * (rows + stride)
    }

    /// Whether a block has room for a matrix alone, in this much shared memory.
    pub fn takes(&self, rows: usize, most: usize, shared_bytes: usize) -> bool {
        PivotedCholeskyPlan::shared_bytes(rows, PivotedCholeskyPlan::stride(most)) + FIXED_BYTES <= shared_bytes
    }

    /// The launch for these matrices inside `matrices` elements, their factors inside `factors`, on a card of so many multiprocessors; 0
    /// if blocks cannot wait for each other.
    ///
    /// # Errors
    /// A grid that exceeds CUDA's limits.
    pub fn launch(
        &self,
        list: &[PositiveMatrix],
        multiprocessors: usize,
        matrices: usize,
        factors: usize,
    ) -> Result<PivotedCholeskyLaunch, LaunchError> {
        let parts = self.parts(list, multiprocessors);
        let (mut table, mut work) = (Vec::new(), 0);
        for (PositiveMatrix { first, rows, factor, stride }, parts) in list.iter().zip(&parts) {
            table.extend([*first, *rows, *factor, *stride, work, *parts].map(|number| number as u64));
            work += 4 * parts;
        }
        let (first, mut longest) = (table.len(), 0);
        for (index, (matrix, parts)) in list.iter().zip(&parts).enumerate() {
            for part in 0..*parts {
                let begin = |part: usize| part * matrix.rows / parts;
                let rows = begin(part + 1) - begin(part);
                table.extend([index, part, begin(part), rows].map(|number| number as u64));
                longest = longest.max(PivotedCholeskyPlan::shared_bytes(rows, matrix.stride));
            }
        }
        let blocks: usize = parts.iter().sum();
        let sizes = Sizes { matrices, factors, table: table.len(), work, list: list.len() };
        let mut launch = self.kernel(sizes).launch(blocks as u64, self.threads, longest as u64)?;
        launch.together = parts.iter().any(|parts| *parts > 1);
        Ok(PivotedCholeskyLaunch { table, work, launch, first: first as i64 })
    }

    /// Matrices of one launch.
    pub fn together(&self, multiprocessors: usize) -> usize {
        if multiprocessors == 0 { usize::MAX } else { multiprocessors * self.blocks as usize }
    }

    /// The blocks of each matrix: one, and the others in proportion to what a column of the factor takes, n².
    fn parts(&self, list: &[PositiveMatrix], multiprocessors: usize) -> Vec<usize> {
        let spare = (multiprocessors * self.blocks as usize).saturating_sub(list.len());
        let all: f64 = list.iter().map(|matrix| (matrix.rows as f64).powi(2)).sum();
        let share = |matrix: &PositiveMatrix| {
            let share = spare as f64 * (matrix.rows as f64).powi(2) / all.max(1.0);
            // A warp has a few rows.
            (1 + share as usize).min(matrix.rows.div_ceil(self.rows as usize)).max(1)
        };
        list.iter().map(share).collect()
    }

    fn kernel(&self, sizes: Sizes) -> Prototype {
        let memory = |name, access, len: usize| Parameter::values(name, self.scalar, access, len as u64);
        let doubles = |name, len: usize| Parameter::memory(name, Element::F64, Access::InOut, len as u64);
        let parameters = vec![
            memory("matrices", Access::In, sizes.matrices),
            Parameter::table("table", Element::U64, sizes.table as u64),
            memory("factors", Access::InOut, sizes.factors),
            doubles("candidates", sizes.work),
            doubles("found", 2 * sizes.list),
            Parameter::memory("arrived", Element::U32, Access::InOut, 2 * sizes.list as u64),
            Parameter::number("first", Number::I64),
            Parameter::number("least", Number::F64),
        ];
        Prototype::new(PivotedCholeskyPlan::ENTRY, parameters)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        // Lengths do not show in a text.
        let kernels = [self.kernel(Sizes { matrices: 1, factors: 1, table: 1, work: 1, list: 1 })];
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            words: MATRIX_WORDS,
            task_words: TASK_WORDS,
            kernels: kernels.iter().collect(),
        };
        let text = render(files::PIVOTED_CHOLESKY, &view)?;
        let (name, entries) = (format!("{}_pivoted_cholesky", self.name), entries(&kernels));
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_in_shared_memory_is_not_taken() {
        let plan = PivotedCholeskyPlan::new("test");
        assert!(
            plan.takes(4000, 3200, 99 << 10) && !plan.takes(8000, 6400, 99 << 10) && plan.takes(8000, 6400, 227 << 10)
        );
    }

    #[test]
    fn every_row_has_a_block_and_all_blocks_run_together() {
        let plan = PivotedCholeskyPlan::new("test");
        let list = [2040, 1500, 3, 1].map(|rows| PositiveMatrix { first: 0, rows, factor: 0, stride: 16 });
        for multiprocessors in [0, 1, 4, 132] {
            let found = plan.launch(&list, multiprocessors, 1, 1).unwrap();
            let most = (multiprocessors * plan.blocks as usize).max(list.len());
            assert!(found.launch.grid[0] as usize <= most, "{multiprocessors}: {:?}", found.launch.grid);
            for (index, matrix) in list.iter().enumerate() {
                let mut next = 0;
                for task in
                    found.table[found.first as usize..].chunks(TASK_WORDS).filter(|task| task[0] == index as u64)
                {
                    assert_eq!(task[2], next);
                    next += task[3];
                }
                assert_eq!(next, matrix.rows as u64);
            }
        }
    }
}
