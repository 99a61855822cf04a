//! The matrix of H on listed states: its rows, made one by one, and about how large it is.

use super::structure::ListedTerms;
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::{OperatorError, Word};
use eigenforge_product::sparse::Csr;
use eigenforge_runtime::{Device, trace};
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one core makes at a time, and how many of such pieces wait to be joined, for each core.
const PIECE: usize = 2048;
const WAITING: usize = 16;
/// Rows whose elements are counted to know about how many there are.
const SAMPLE: u64 = 2048;

/// What makes the rows of a matrix.
struct Rows<'a> {
    basis: &'a Basis,
    terms: &'a ListedTerms,
    /// Added to the diagonal.
    shift: f64,
}

impl Rows<'_> {
    /// The elements of a row, columns ascending, in place of what is in the list.
    fn row(&self, row: u64, elements: &mut Vec<(u32, f64)>) {
        if let Some(sector) = &self.terms.symmetric {
            return sector.row(self.basis, &self.terms.diagonal, self.shift, row, elements);
        }
        elements.clear();
        let (state, word): (u128, &Word) = (self.basis.state(row), self.basis.word());
        let on_diagonal = self.terms.diagonal.iter().map(|term| (row as u32, term.value(state, word)));
        elements.extend(on_diagonal.chain([(row as u32, self.shift)]));
        for term in &self.terms.moves {
            let Some(amplitude) = term.amplitude_in(state) else { continue };
            if let Some(reached) = self.basis.index(state ^ term.flip) {
                elements.push((reached as u32, amplitude));
            }
        }
        elements.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        elements.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 += next.1;
            }
            same
        });
        // The diagonal stays, because formats and preconditioners look for it.
        elements.retain(|(column, value)| *value != 0.0 || u64::from(*column) == row);
    }
}

/// The number of elements of each of some rows, and the elements.
type Piece = (Vec<usize>, Vec<(u32, f64)>);

/// Makes some rows.
fn piece(row_of: impl Fn(u64, &mut Vec<(u32, f64)>), rows: Range<usize>) -> Piece {
    let (mut lengths, mut all, mut elements) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
    for row in rows {
        row_of(row as u64, &mut elements);
        lengths.push(elements.len());
        all.extend_from_slice(&elements);
    }
    (lengths, all)
}

/// One row of the matrix of H with a multiple of 1 added, columns ascending.
pub(super) fn row(basis: &Basis, terms: &ListedTerms, shift: f64, row: u64) -> Vec<(u32, f64)> {
    let mut elements = Vec::new();
    Rows { basis, terms, shift }.row(row, &mut elements);
    elements
}

/// About how many elements the matrix has, by some of its rows; of a small sector at most so many. In a symmetry sector by some of the
/// states without symmetry.
pub(super) fn about(basis: &Basis, terms: &ListedTerms) -> u64 {
    if let Some(sector) = &terms.symmetric {
        return sector.about_elements();
    }
    let (rows, sample) = (basis.dimension(), basis.dimension().min(SAMPLE));
    let of_row = |number: u64| {
        let row = (u128::from(number) * u128::from(rows) / u128::from(sample)) as u64;
        let state = basis.state(row);
        let reaches = |term: &&eigenforge_core::operator::Transition<u128>| {
            term.amplitude_in(state).is_some() && basis.index(state ^ term.flip).is_some()
        };
        1 + terms.moves.iter().filter(reaches).count() as u64
    };
    let counted: u64 = (0..sample).into_par_iter().map(of_row).sum();
    (u128::from(counted) * u128::from(rows) / u128::from(sample.max(1))) as u64
}

/// Bytes of compressed rows.
pub(super) fn bytes(rows: u64, elements: u64) -> u64 {
    elements.saturating_mul((size_of::<u32>() + size_of::<f64>()) as u64).saturating_add(8 * (rows + 1))
}

/// The matrix of H with a multiple of 1 added.
pub(super) fn matrix(basis: &Basis, terms: &ListedTerms, shift: f64) -> Result<Csr, OperatorError> {
    if let Some(sector) = &terms.symmetric {
        sector.check_matrix()?;
        sector.orbits().prepare();
    }
    let makes = Rows { basis, terms, shift };
    matrix_by_rows(basis.dimension(), about(basis, terms), |row, elements| makes.row(row, elements))
}

/// The matrix of rows that are made one by one, with about so many elements.
pub(super) fn matrix_by_rows(
    rows: u64,
    elements: u64,
    row_of: impl Fn(u64, &mut Vec<(u32, f64)>) + Sync,
) -> Result<Csr, OperatorError> {
    let _making = trace::span("set up", "matrix elements");
    let (needed, free) = (bytes(rows, elements), Device::cpu().memory().free);
    if needed > free {
        return Err(OperatorError::NoRoomForMatrix { states: rows, elements, needed, free });
    }
    // A part more than there are about: to move them all would need room for both.
    let room = (elements + elements / 32) as usize;
    let (mut columns, mut values) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let (mut row_start, mut end) = (Vec::with_capacity(rows as usize + 1), 0);
    row_start.push(0);
    let starts: Vec<usize> = (0..rows as usize).step_by(PIECE).collect();
    for waiting in starts.chunks(WAITING * rayon::current_num_threads()) {
        let piece = |start: &usize| piece(&row_of, *start..(start + PIECE).min(rows as usize));
        let made: Vec<Piece> = waiting.par_iter().map(piece).collect();
        row_start.extend(made.iter().flat_map(|(lengths, _)| lengths).map(|length| {
            end += *length as u64;
            end
        }));
        append(&made, &mut columns, &mut values);
    }
    Ok(Csr::new(row_start, columns, values).unwrap_or_else(|error| unreachable!("rows are made in order: {error}")))
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
