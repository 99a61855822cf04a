//! Operands that stream to shared memory: their matrices, and where these lie with even strides.
//!
//! In: the records of a stage, and at a launch the buffers they read. Out: a tensor map for each distinct matrix. The
//! accelerator needs even first elements and strides, and does not transpose. Other matrices are copied first: blocks
//! once, vectors (whose place also changes from product to product) at each launch.

use super::copies::Copies;
use super::cutting::Loads;
use crate::device::{MappedMatrix, Vector, tensor_maps};
use crate::error::DeviceError;
use crate::records::{Action, Operand, OperandSpace, Record, SPACES};
use std::collections::HashMap;

/// A matrix that records read, with its rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Matrix {
    space: usize,
    offset: usize,
    stride: usize,
    transposed: bool,
    rows: usize,
    columns: usize,
    /// Whether a row of zeros precedes it, so that reading can start at odd rows.
    row_before: bool,
}

/// The distinct matrices of a stage, in the order of their maps.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    streamed: bool,
    matrices: Vec<Matrix>,
    numbers: HashMap<Matrix, u32>,
}

/// Where a matrix is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// In the original buffer.
    Own,
    /// In the copies of blocks or of vectors, at this first element and stride.
    Copied { vectors: bool, first: usize, stride: usize },
}

/// Where all matrices of a stage are read, for buffers with these first elements.
#[derive(Debug)]
pub(super) struct Layout {
    sources: Vec<Source>,
    /// The copy lists of blocks and of vectors.
    pub copies: [Copies; 2],
}

impl Streams {
    pub(super) fn new(loads: Loads) -> Streams {
        Streams { streamed: loads == Loads::Streamed, ..Streams::default() }
    }

    /// Whether any operand streams.
    pub(super) fn any(&self) -> bool {
        self.streamed
    }

    /// Number of maps.
    pub(super) fn count(&self) -> usize {
        self.matrices.len()
    }

    /// The map numbers of a record.
    pub(super) fn take(&mut self, record: &Record, row_before: bool) -> [u32; 2] {
        match &record.action {
            Action::Product { a, b, inner } if self.streamed && *inner > 0 => {
                [self.number(a, record.rows, *inner, row_before), self.number(b, *inner, record.columns, false)]
            }
            _ => [0; 2],
        }
    }

    fn number(&mut self, operand: &Operand, rows: usize, columns: usize, row_before: bool) -> u32 {
        let Operand { space, offset, stride, transposed } = *operand;
        let matrix = Matrix { space: space as usize, offset, stride, transposed, rows, columns, row_before };
        *self.numbers.entry(matrix).or_insert_with(|| {
            self.matrices.push(matrix);
            self.matrices.len() as u32 - 1
        })
    }

    /// Whether the space is x or an intermediate.
    fn is_vector(space: usize) -> bool {
        space == OperandSpace::Input as usize || space == OperandSpace::Between as usize
    }

    /// Where matrices are read when buffers begin at these elements.
    pub(super) fn layout(&self, firsts: [usize; SPACES]) -> Layout {
        let mut copies = [Copies::default(), Copies::default()];
        let mut source = |matrix: &Matrix| {
            let Matrix { space, offset, stride, transposed, rows, columns, row_before } = *matrix;
            let even = (firsts[space] + offset).is_multiple_of(2) && stride.is_multiple_of(2) && stride >= rows;
            // The place of x changes from product to product.
            if even && !transposed && !row_before && space != OperandSpace::Input as usize {
                return Source::Own;
            }
            let vectors = Streams::is_vector(space);
            let from = (space, offset, stride, transposed);
            let (first, stride) = copies[usize::from(vectors)].add(from, [rows, columns], usize::from(row_before));
            Source::Copied { vectors, first, stride }
        };
        let sources = self.matrices.iter().map(&mut source).collect();
        Layout { sources, copies }
    }

    /// The words of the maps of all matrices.
    ///
    /// # Errors
    /// A matrix outside its buffer.
    pub(super) fn maps(
        &self,
        layout: &Layout,
        given: &[(&Vector<f64>, usize); SPACES],
        copies: [&Vector<f64>; 2],
    ) -> Result<Vec<u64>, DeviceError> {
        let map = |(matrix, source): (&Matrix, &Source)| {
            let Matrix { space, offset, stride, rows, columns, row_before, .. } = *matrix;
            match *source {
                Source::Own => {
                    let (vector, first) = given[space];
                    MappedMatrix { vector, first: first + offset, rows, columns, stride }
                }
                Source::Copied { vectors, first, stride } => {
                    let rows = rows + usize::from(row_before);
                    MappedMatrix { vector: copies[usize::from(vectors)], first, rows, columns, stride }
                }
            }
        };
        let list: Vec<MappedMatrix<'_>> = self.matrices.iter().zip(&layout.sources).map(map).collect();
        tensor_maps(&list)
    }
}
