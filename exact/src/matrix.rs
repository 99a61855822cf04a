//! The matrix of H in the basis of a model: its rows, made one by one, and about how large it is.

use super::structure::{ListedTerms, Moves, Structure};
use super::symmetric::SymmetricSector;
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::{OperatorError, Transition, Word};
use eigenforge_product::sparse::MadeRows;
use eigenforge_templates::exact::{DiagonalPlan, MaskedTerm};
use rayon::prelude::*;

/// Rows whose elements are counted to know about how many there are: at most, and with many terms fewer, so many terms of rows in all.
const SAMPLE: u64 = 2048;
const SAMPLED_TERMS: u64 = 1 << 22;

/// The terms of H by the state words of a basis.
#[derive(Clone)]
pub(super) enum MatrixTerms {
    /// Of states that are listed.
    Listed(ListedTerms),
    /// Of states that have tables.
    Ranked {
        /// The diagonal.
        diagonal: DiagonalPlan,
        /// The other terms.
        moves: Vec<Transition<u128>>,
    },
}

impl MatrixTerms {
    /// Those of a structure on words. The constant of the sector is left out.
    pub(super) fn new(structure: &Structure, word: &Word) -> MatrixTerms {
        let moves: Vec<Transition<u128>> = match &structure.moves {
            Moves::Listed(terms) => return MatrixTerms::Listed(terms.clone()),
            Moves::Kronecker { up, down } => {
                let above = match word {
                    Word::Fermions { sites } => *sites as u32,
                    Word::Spins { .. } | Word::Sites(_) => unreachable!("of electrons"),
                };
                let up = up.iter().map(|transition| transition.wide(0));
                up.chain(down.iter().map(|transition| transition.wide(above))).collect()
            }
            Moves::General(groups) => {
                let terms = groups.iter().flat_map(|group| group.terms.iter().map(|term| (group.flip, term)));
                let transition = |(flip, term): (u64, &MaskedTerm)| {
                    let MaskedTerm { care, pattern, sign, amplitude } = *term;
                    Transition { care, pattern, flip, sign, amplitude }.wide(0)
                };
                terms.map(transition).collect()
            }
        };
        MatrixTerms::Ranked { diagonal: structure.diagonal.clone(), moves }
    }

    fn moves(&self) -> &[Transition<u128>] {
        match self {
            MatrixTerms::Listed(terms) => &terms.moves,
            MatrixTerms::Ranked { moves, .. } => moves,
        }
    }

    /// The symmetry sector whose representatives are listed.
    pub(super) fn symmetric(&self) -> Option<&SymmetricSector> {
        match self {
            MatrixTerms::Listed(terms) => terms.symmetric.as_deref(),
            MatrixTerms::Ranked { .. } => None,
        }
    }
}

/// What makes the rows of a matrix.
struct Rows<'a> {
    basis: &'a Basis,
    terms: &'a MatrixTerms,
    /// Added to the diagonal.
    shift: f64,
}

impl Rows<'_> {
    /// The elements of a row, columns ascending, in place of what is in the list.
    fn row(&self, row: u64, elements: &mut Vec<(u32, f64)>) {
        let (state, word): (u128, &Word) = (self.basis.state(row), self.basis.word());
        match self.terms {
            MatrixTerms::Listed(ListedTerms { symmetric: Some(sector), diagonal, .. }) => {
                return sector.row(self.basis, diagonal, self.shift, row, elements);
            }
            MatrixTerms::Listed(terms) => {
                elements.clear();
                elements.extend(terms.diagonal.iter().map(|term| (row as u32, term.value(state, word))));
            }
            MatrixTerms::Ranked { diagonal, .. } => {
                let value = match word {
                    Word::Fermions { sites } => {
                        diagonal.of_pair((state & ((1 << sites) - 1)) as u64, (state >> sites) as u64)
                    }
                    Word::Spins { .. } | Word::Sites(_) => diagonal.of_state(state as u64),
                };
                elements.clear();
                elements.push((row as u32, value));
            }
        }
        elements.push((row as u32, self.shift));
        for term in self.terms.moves() {
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
pub(super) fn row(basis: &Basis, terms: &MatrixTerms, shift: f64, row: u64) -> Vec<(u32, f64)> {
    let mut elements = Vec::new();
    Rows { basis, terms, shift }.row(row, &mut elements);
    elements
}

/// About how many elements the matrix has, by some of its rows; of a small sector at most so many. In a symmetry sector by some of the
/// states without symmetry.
pub(super) fn about(basis: &Basis, terms: &MatrixTerms) -> u64 {
    if let Some(sector) = terms.symmetric() {
        return sector.about_elements();
    }
    let most = (SAMPLED_TERMS / terms.moves().len().max(1) as u64).clamp(1, SAMPLE);
    let (rows, sample) = (basis.dimension(), basis.dimension().min(most));
    let of_row = |number: u64| {
        let row = (u128::from(number) * u128::from(rows) / u128::from(sample)) as u64;
        let state = basis.state(row);
        let reaches = |term: &&eigenforge_core::operator::Transition<u128>| {
            term.amplitude_in(state).is_some() && basis.index(state ^ term.flip).is_some()
        };
        1 + terms.moves().iter().filter(reaches).count() as u64
    };
    let counted: u64 = (0..sample).into_par_iter().map(of_row).sum();
    (u128::from(counted) * u128::from(rows) / u128::from(sample.max(1))) as u64
}

/// The rows of H with a multiple of 1 added, not made yet.
///
/// # Errors
/// No room for them; columns that have no numbers of 32 bits.
pub(super) fn rows(basis: &Basis, terms: MatrixTerms, shift: f64) -> Result<MadeRows, OperatorError> {
    if let Some(sector) = terms.symmetric() {
        sector.check_matrix()?;
        sector.orbits().prepare();
    }
    if basis.dimension() > u32::MAX.into() {
        return Err(OperatorError::TooLarge { dimension: basis.dimension() as f64 });
    }
    let basis = basis.clone();
    let (dimension, elements) = (basis.dimension() as usize, about(&basis, &terms));
    MadeRows::new(dimension, elements, move |row, elements| {
        Rows { basis: &basis, terms: &terms, shift }.row(row as u64, elements);
    })
}
