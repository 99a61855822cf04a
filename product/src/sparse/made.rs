//! Rows of a matrix that are made one by one, by all cores: compressed for formats of cards, or coded for the cores.

use super::{CodedRows, Csr};
use eigenforge_core::operator::OperatorError;
use eigenforge_runtime::{Device, trace};
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows that one core makes at a time, and how many of such pieces wait to be joined, for each core.
const PIECE: usize = 2048;
const WAITING: usize = 16;

/// Puts the elements of a row in place of what is in a list, columns ascending.
type MakeRow = dyn Fn(usize, &mut Vec<(u32, f64)>) + Send + Sync;

/// Rows of a square matrix before they are made.
#[derive(Clone)]
pub struct MadeRows {
    dimension: usize,
    elements: u64,
    make: Arc<MakeRow>,
}

/// The number of elements of each of some rows, and the elements.
type Piece = (Vec<usize>, Vec<(u32, f64)>);

impl MadeRows {
    /// So many rows with about so many elements; `make` puts those of a row in place of what is in a list, columns ascending.
    ///
    /// # Errors
    /// No room for them.
    pub fn new(
        dimension: usize,
        elements: u64,
        make: impl Fn(usize, &mut Vec<(u32, f64)>) + Send + Sync + 'static,
    ) -> Result<MadeRows, OperatorError> {
        let (needed, free) = (MadeRows::compressed_bytes(dimension as u64, elements), Device::cpu().memory().free);
        if needed > free {
            return Err(OperatorError::NoRoomForMatrix { states: dimension as u64, elements, needed, free });
        }
        Ok(MadeRows { dimension, elements, make: Arc::new(make) })
    }

    /// Bytes of so many compressed rows of so many elements.
    pub fn compressed_bytes(rows: u64, elements: u64) -> u64 {
        elements.saturating_mul((size_of::<u32>() + size_of::<f64>()) as u64).saturating_add(8 * (rows + 1))
    }

    /// Rows of the matrix.
    pub(crate) fn dimension(&self) -> usize {
        self.dimension
    }

    /// Those for cores where they pay; `None` of a small matrix, and where values are many, or rows uneven.
    pub(crate) fn coded_where_it_pays(&self) -> Option<CodedRows> {
        let pays = CodedRows::pays(MadeRows::compressed_bytes(self.dimension as u64, self.elements));
        pays.then(|| self.coded(false)).flatten()
    }

    /// Those for cores, however small the matrix is and uneven its rows are.
    ///
    /// # Errors
    /// More values than codes.
    pub(crate) fn coded_always(&self) -> Result<CodedRows, OperatorError> {
        let (rows, most) = (self.dimension, CodedRows::most_values(self.dimension));
        self.coded(true).ok_or(OperatorError::TooManyValues { rows, most })
    }

    fn coded(&self, may_be_uneven: bool) -> Option<CodedRows> {
        let _making = trace::span("set up", "matrix elements");
        let (rows, length) = (0..self.dimension, self.elements as f64 / self.dimension.max(1) as f64);
        match may_be_uneven {
            true => CodedRows::uneven(self.dimension, rows, length, &*self.make),
            false => CodedRows::new(self.dimension, rows, length, &*self.make),
        }
    }

    /// All of them, compressed.
    pub(crate) fn compressed(&self) -> Csr {
        let _making = trace::span("set up", "matrix elements");
        // A part more than there are about: to move them all would need room for both.
        let room = (self.elements + self.elements / 32) as usize;
        let (mut columns, mut values) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let (mut row_start, mut end) = (Vec::with_capacity(self.dimension + 1), 0);
        row_start.push(0);
        let starts: Vec<usize> = (0..self.dimension).step_by(PIECE).collect();
        for waiting in starts.chunks(WAITING * rayon::current_num_threads()) {
            let piece = |start: &usize| self.piece(*start..(start + PIECE).min(self.dimension));
            let made: Vec<Piece> = waiting.par_iter().map(piece).collect();
            row_start.extend(made.iter().flat_map(|(lengths, _)| lengths).map(|length| {
                end += *length as u64;
                end
            }));
            append(&made, &mut columns, &mut values);
        }
        Csr::new(row_start, columns, values).unwrap_or_else(|error| unreachable!("rows are made in order: {error}"))
    }

    fn piece(&self, rows: Range<usize>) -> Piece {
        let (mut lengths, mut all, mut elements) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
        for row in rows {
            (self.make)(row, &mut elements);
            lengths.push(elements.len());
            all.extend_from_slice(&elements);
        }
        (lengths, all)
    }
}

/// Appends the elements of pieces, all cores at once: most of the time goes into memory that is touched for the first time.
fn append(made: &[Piece], columns: &mut Vec<u32>, values: &mut Vec<f64>) {
    let added: usize = made.iter().map(|(_, elements)| elements.len()).sum();
    columns.reserve(added);
    values.reserve(added);
    let mut to_columns = &mut columns.spare_capacity_mut()[..added];
    let mut to_values = &mut values.spare_capacity_mut()[..added];
    let mut parts = Vec::with_capacity(made.len());
    for (_, elements) in made {
        let (of_columns, later_columns) = std::mem::take(&mut to_columns).split_at_mut(elements.len());
        let (of_values, later_values) = std::mem::take(&mut to_values).split_at_mut(elements.len());
        (to_columns, to_values) = (later_columns, later_values);
        parts.push((elements, of_columns, of_values));
    }
    parts.into_par_iter().for_each(|(elements, columns, values)| {
        for (((column, value), to_column), to_value) in elements.iter().zip(columns).zip(values) {
            to_column.write(*column);
            to_value.write(*value);
        }
    });
    // SAFETY: there is room for as many more, and each was written just now.
    unsafe {
        columns.set_len(columns.len() + added);
        values.set_len(values.len() + added);
    }
}
