//! Copies between the columns of an array, at strides, and vectors: text and launches.
//!
//! Number (i, c) of an array has `parts` parts, side by side; complex numbers have two. Vector v has `held` of them: all those of column v, or
//! part v mod `split` of column ⌊v / split⌋ where a column is split among `split` vectors.
//!
//! array[i · row_stride + ⌊v / split⌋ · column_stride + v mod split + q]  ↔  vector_v[i · vector_step + q · vector_shift],   q < held

use crate::files;
use crate::launch::{Access, Launch, LaunchError, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Blocks of a launch at most; threads go on to further rows.
const MOST_BLOCKS: u64 = 1 << 16;

/// Every number in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnCopiesPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of array and vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
}

/// Which way numbers go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// From the array to the vectors.
    Gather,
    /// From the vectors to the array.
    Scatter,
}

/// The numbers of one copy; strides, steps and shifts count elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedColumns {
    /// Rows of the array.
    pub rows: u64,
    /// From row to row of the array.
    pub row_stride: u64,
    /// From column to column of the array.
    pub column_stride: u64,
    /// Vectors among which a column is split: 1, or the parts of a number.
    pub split: u32,
    /// Parts of a number that each vector has: 1 where columns are split.
    pub held: u32,
    /// From row to row of a vector.
    pub vector_step: u64,
    /// From part to part of a vector.
    pub vector_shift: u64,
    /// Vectors, from 1 to [`ColumnCopiesPlan::MOST_VECTORS`].
    pub vectors: u32,
}

impl CopiedColumns {
    /// Elements of the array from the first that is copied to beyond the last.
    pub fn span(&self) -> u64 {
        let last = self.vectors.saturating_sub(1);
        let column = u64::from(last / self.split.max(1)) * self.column_stride;
        let part = u64::from(self.split.max(1) - 1) + u64::from(self.held.max(1) - 1);
        self.rows.saturating_sub(1) * self.row_stride + column + part + 1
    }
}

/// The names of vectors of a launch.
fn names(vectors: u32) -> Vec<String> {
    (0..vectors).map(|number| format!("vector_{number}")).collect()
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a ColumnCopiesPlan,
    prelude: String,
    threads: u32,
    groups: Vec<Group>,
    kernels: Declarations,
}

/// The kernels of a number of vectors, and the names of these.
#[derive(Serialize)]
struct Group {
    gather: String,
    scatter: String,
    vectors: Vec<String>,
}

impl ColumnCopiesPlan {
    /// Most vectors of a launch.
    pub const MOST_VECTORS: u32 = 4;
    /// Threads of a block: a multiple of every number of lanes, 1 to 4 vectors of one or two parts each, and of a warp.
    pub const THREADS: u32 = 192;

    fn entry(direction: CopyDirection, vectors: u32) -> String {
        let name = match direction {
            CopyDirection::Gather => "gather",
            CopyDirection::Scatter => "scatter",
        };
        format!("{name}_{vectors}")
    }

    fn kernel(&self, direction: CopyDirection, columns: &CopiedColumns) -> Prototype {
        let (array, vector) = match direction {
            CopyDirection::Gather => (Access::In, Access::Out),
            // What stands between the numbers stays.
            CopyDirection::Scatter => (Access::InOut, Access::In),
        };
        let held = columns.rows * u64::from(columns.held);
        let mut parameters = vec![Parameter::values("array", self.scalar, array, columns.span())];
        let vectors = names(columns.vectors).into_iter();
        parameters.extend(vectors.map(|name| Parameter::values(name, self.scalar, vector, held)));
        parameters.extend(["rows", "row_stride", "column_stride"].map(|name| Parameter::number(name, Number::I64)));
        parameters.extend(["split", "held"].map(|name| Parameter::number(name, Number::U32)));
        parameters.extend(["vector_step", "vector_shift"].map(|name| Parameter::number(name, Number::I64)));
        Prototype::new(Self::entry(direction, columns.vectors), parameters)
    }

    /// The launch of a copy.
    ///
    /// # Errors
    /// A grid that exceeds CUDA's limits.
    pub fn launch(&self, direction: CopyDirection, columns: &CopiedColumns) -> Result<Launch, LaunchError> {
        let rows_of_a_block = u64::from(Self::THREADS / (columns.vectors * columns.held).max(1)).max(1);
        let blocks = columns.rows.div_ceil(rows_of_a_block).min(MOST_BLOCKS);
        self.kernel(direction, columns).launch(blocks, Self::THREADS, 0)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let counts = 1..=Self::MOST_VECTORS;
        // Lengths do not show in a text.
        let columns = |vectors: u32| CopiedColumns {
            rows: 1,
            row_stride: 1,
            column_stride: 1,
            split: 1,
            held: 1,
            vector_step: 1,
            vector_shift: 1,
            vectors,
        };
        let both = [CopyDirection::Gather, CopyDirection::Scatter];
        let kernels: Vec<Prototype> =
            counts.clone().flat_map(|count| both.map(|direction| self.kernel(direction, &columns(count)))).collect();
        let group = |count: u32| {
            let [gather, scatter] = both.map(|direction| Self::entry(direction, count));
            Group { gather, scatter, vectors: names(count) }
        };
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            threads: Self::THREADS,
            groups: counts.map(group).collect(),
            kernels: kernels.iter().collect(),
        };
        let text = render(files::COLUMN_COPIES, &view)?;
        Ok(KernelText { name: self.name.clone(), text, plan: crate::text::ron(self), entries: entries(&kernels) })
    }
}
