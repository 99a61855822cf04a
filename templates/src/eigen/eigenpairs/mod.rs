//! The plan for the eigenvectors of many symmetric matrices at once: text, tasks and launches.
//!
//! In: the rows of each matrix. Out: the launches in order with the table that they share. Matrices of a few rows and of
//! a thousand go through the same launches; only those for columns before the last [`resident_rows`] are for the long
//! ones alone.

mod launches;

use crate::files::{self, Template};
use crate::launch::{Access, Element, Launch, Number, Parameter};
use crate::prototype::{Declarations, Prototype, entries};
use crate::text::{KernelText, TextError, fragment, render};
use crate::{ScalarType, Warp};
use serde::{Deserialize, Serialize};

/// Words of a matrix, as declared in the text.
const MATRIX_WORDS: usize = 4;
/// Words of a merge: matrix, first row, rows of both halves, number of the Q that is written.
const MERGE_WORDS: usize = 5;
/// Vectors in a matrix's workspace, in addition to four matrices of its own size.
const WORK_VECTORS: usize = 15;
/// Bytes of shared memory that a kernel may declare itself, and as many that the driver reserves per block.
const FIXED_BYTES: usize = 1024;
/// Most rows that a block keeps: eight lanes for two columns, in blocks of 640 threads.
const RESIDENT_MOST: usize = 160;

/// Every number in the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EigenpairsPlan {
    /// Name of the file, for display.
    pub name: String,
    /// Number type of the matrices and vectors.
    pub scalar: ScalarType,
    /// The width of a warp.
    pub warp: Warp,
    /// Most rows of a matrix: whole warps.
    pub most: usize,
    /// Most rows of a merge that multiplies by its vectors itself.
    pub direct: usize,
    /// Threads of a block.
    pub threads: u32,
    /// Minimum number of these blocks per multiprocessor.
    pub blocks: u32,
    /// Threads of a block with a long merge.
    pub merge_threads: u32,
    /// Most rows of a matrix that a block keeps: whole warps.
    pub resident_most: usize,
    /// Threads of a block with a whole matrix.
    pub wide: u32,
    /// Reflections that a block loads at a time.
    pub batch: usize,
    /// Minimum number of vector-transforming blocks per multiprocessor.
    pub vector_blocks: u32,
    /// Rows of a tile of products.
    pub tile_rows: usize,
    /// Columns of a tile: four for every `tile_rows / 2` threads.
    pub tile_columns: usize,
}

/// A matrix of `rows` × `rows`, column-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymmetricRows {
    /// Its first element.
    pub first: usize,
    /// Rows.
    pub rows: usize,
    /// Position of its first eigenvalue.
    pub values: usize,
}

/// A launch with the numbers passed by value.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The launch.
    pub launch: Launch,
    /// Numbers by name.
    pub numbers: Vec<(&'static str, i64)>,
}

/// The launches in order, with their shared table.
#[derive(Clone, Debug, PartialEq)]
pub struct EigenpairsLaunches {
    /// Matrices, then tasks.
    pub table: Vec<u64>,
    /// Elements of the workspace.
    pub work: usize,
    /// Launches.
    pub steps: Vec<Step>,
}

#[derive(Serialize)]
struct View<'a> {
    plan: &'a EigenpairsPlan,
    prelude: String,
    words: usize,
    merge_words: usize,
    tridiagonal: String,
    merged: String,
    transformed: String,
}

/// The inputs of the text's parts.
#[derive(Serialize)]
struct Part<'a> {
    plan: &'a EigenpairsPlan,
    kernels: Declarations,
}

impl Part<'_> {
    fn text(&self, template: Template) -> Result<String, TextError> {
        Ok(fragment(template, self)?.trim_end().into())
    }
}

/// Rows of a matrix that one block keeps in this much shared memory: 160 in the 227 KiB of sm_90.
pub fn resident_rows(shared_bytes: usize) -> usize {
    let fits = |rows: &usize| resident_bytes(*rows) + FIXED_BYTES <= shared_bytes;
    (1..=RESIDENT_MOST / 8).map(|k| 8 * k).rev().find(fits).unwrap_or(8)
}

/// Bytes of shared memory for this many rows: the matrix with a column stride of 8 modulo 16 numbers, and five vectors.
fn resident_bytes(rows: usize) -> usize {
    8 * rows * ((rows + 7) / 16 * 16 + 8 + 5)
}

/// The card parameters of the launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardLimits {
    /// Rows of a matrix that a block keeps ([`resident_rows`]).
    pub resident: usize,
    /// Bytes of shared memory available to a block.
    pub shared_bytes: usize,
    /// Multiprocessors; 0 if blocks cannot wait for each other.
    pub multiprocessors: usize,
}

/// Numbers of elements that a launch may access.
#[derive(Clone, Copy)]
struct Sizes {
    matrices: usize,
    table: usize,
    work: usize,
    values: usize,
    list: usize,
}

impl EigenpairsPlan {
    /// The names of the kernels.
    pub const ENTRIES: [&str; 5] = ["reduced", "tridiagonal", "merged", "updated", "transformed"];

    /// The plan for DMRG's density matrices.
    pub fn new(name: impl Into<String>) -> EigenpairsPlan {
        EigenpairsPlan {
            name: name.into(),
            scalar: ScalarType::F64,
            warp: Warp::default(),
            most: 1024,
            direct: 16,
            threads: 256,
            blocks: 4,
            merge_threads: 512,
            resident_most: RESIDENT_MOST,
            wide: 640,
            batch: 8,
            vector_blocks: 2,
            tile_rows: 64,
            tile_columns: 32,
        }
    }

    /// The plan for matrices longer than [`EigenpairsPlan::new`] supports: threads have more rows each, so fewer blocks
    /// fit on a multiprocessor.
    pub fn long(name: impl Into<String>) -> EigenpairsPlan {
        EigenpairsPlan {
            most: 2048,
            blocks: 2,
            vector_blocks: 1,
            ..EigenpairsPlan::new(format!("{}_long", name.into()))
        }
    }

    /// Elements of the workspace of a matrix.
    pub fn work(rows: usize) -> usize {
        4 * rows * rows + WORK_VECTORS * rows
    }

    fn kernel(&self, entry: &str, sizes: Sizes) -> Prototype {
        let memory = |name, len: usize| Parameter::values(name, self.scalar, Access::InOut, len as u64);
        let (matrices, work) = (memory("matrices", sizes.matrices), memory("work", sizes.work));
        let table = Parameter::table("table", Element::U64, sizes.table as u64);
        let number = |name| Parameter::number(name, Number::I64);
        let arrived = Parameter::memory("arrived", Element::U32, Access::InOut, sizes.list as u64);
        let parameters = match entry {
            "reduced" => {
                let numbers = ["resident", "parts"].map(number);
                [matrices, table, work, arrived].into_iter().chain(numbers).collect()
            }
            "tridiagonal" => vec![matrices, table, work, arrived, number("resident")],
            "merged" => vec![table, work, number("first")],
            "updated" => vec![table, work, number("merges"), number("first")],
            _ => vec![matrices, table, work, memory("values", sizes.values), number("first")],
        };
        Prototype::new(entry, parameters)
    }

    /// The CUDA text.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn text(&self) -> Result<KernelText, TextError> {
        // Lengths do not show in a text.
        let sizes = Sizes { matrices: 1, table: 1, work: 1, values: 1, list: 1 };
        let kernels = EigenpairsPlan::ENTRIES.map(|entry| self.kernel(entry, sizes));
        let part = Part { plan: self, kernels: kernels.iter().collect() };
        let view = View {
            plan: self,
            prelude: self.warp.prelude(),
            words: MATRIX_WORDS,
            merge_words: MERGE_WORDS,
            tridiagonal: part.text(files::EIGENPAIRS_TRIDIAGONAL)?,
            merged: part.text(files::EIGENPAIRS_MERGED)?,
            transformed: part.text(files::EIGENPAIRS_TRANSFORMED)?,
        };
        let text = render(files::EIGENPAIRS, &view)?;
        let (name, entries) = (format!("{}_eigenpairs", self.name), entries(&kernels));
        Ok(KernelText { name, text, plan: crate::text::ron(self), entries })
    }
}
