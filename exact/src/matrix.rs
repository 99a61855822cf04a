//! The matrix of H on listed states: its rows, made one by one, and about how large it is.

use super::structure::ListedTerms;
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::{OperatorError, Word};
use eigenforge_product::sparse::MadeRows;
use rayon::prelude::*;

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

/// The rows of H with a multiple of 1 added, not made yet.
///
/// # Errors
/// No room for them.
pub(super) fn rows(basis: &Basis, terms: &ListedTerms, shift: f64) -> Result<MadeRows, OperatorError> {
    if let Some(sector) = &terms.symmetric {
        sector.check_matrix()?;
        sector.orbits().prepare();
    }
    let (basis, terms) = (basis.clone(), terms.clone());
    let (dimension, elements) = (basis.dimension() as usize, about(&basis, &terms));
    MadeRows::new(dimension, elements, move |row, elements| {
        Rows { basis: &basis, terms: &terms, shift }.row(row as u64, elements);
    })
}
