//! Rows of H, from its terms and the basis.
//!
//! In: a model. Out: the elements of any row, columns ascending, zeros left out. An element is the sum of its contributions in
//! ascending order, so that H_ij and H_ji have the same bits. Of a complex H, whose basis holds real parts and then imaginary ones, the
//! rows are those of the complex matrix.

use crate::basis::Basis;
use crate::exact::Model;
use crate::operator::{DiagonalTerm, Operator, Transition, Word, diagonal_terms, moves, species_moves};
use rayon::prelude::*;
use std::ops::Range;

/// An element of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Element {
    /// Its column.
    pub column: u64,
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

/// What makes the rows of a model's H.
pub(super) struct Rows<'a> {
    basis: &'a Basis,
    number: u64,
    complex: bool,
    diagonal: Vec<DiagonalTerm<u128>>,
    moves: Vec<Transition<u128>>,
}

/// Rows that are looked at to know how many elements there are at least.
const SAMPLE: u64 = 1024;

/// Rows that one core makes at a time, and how many of such pieces wait to be written.
const PIECE: u64 = 2048;
const WAITING: usize = 64;

impl<'a> Rows<'a> {
    /// The rows of a model.
    pub(super) fn new(model: &'a Model) -> Rows<'a> {
        let (operator, word) = (model.operator(), model.basis().word());
        Rows {
            basis: model.basis(),
            number: model.states(),
            complex: model.is_complex(),
            diagonal: whole_diagonal(operator, word),
            moves: whole_moves(operator, word),
        }
    }

    /// How many there are.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether elements are complex.
    pub(super) fn is_complex(&self) -> bool {
        self.complex
    }

    /// The basis states of the rows, ascending by row.
    pub(super) fn states(&self) -> impl Iterator<Item = u128> {
        (0..self.number).map(|row| self.basis.state(row))
    }

    /// The elements of a row, in place of what is in the list.
    pub(super) fn row(&self, row: u64, elements: &mut Vec<Element>) {
        elements.clear();
        let state = self.basis.state(row);
        let word = self.basis.word();
        let on_diagonal = self.diagonal.iter().map(|term| term.value(state, word));
        elements.extend(on_diagonal.map(|re| Element { column: row, re, im: 0.0 }));
        for term in &self.moves {
            let Some(amplitude) = term.amplitude_in(state) else { continue };
            let Some(reached) = self.basis.index(state ^ term.flip) else { continue };
            elements.push(match reached < self.number {
                true => Element { column: reached, re: amplitude, im: 0.0 },
                // From state s to t the amplitude is H_ts, and H_st its conjugate.
                false => Element { column: reached - self.number, re: 0.0, im: -amplitude },
            });
        }
        let order = |a: &Element, b: &Element| {
            a.column.cmp(&b.column).then(a.re.total_cmp(&b.re)).then(a.im.abs().total_cmp(&b.im.abs()))
        };
        elements.sort_unstable_by(order);
        elements.dedup_by(|next, sum| {
            let same = next.column == sum.column;
            if same {
                sum.re += next.re;
                sum.im += next.im;
            }
            same
        });
        elements.retain(|element| element.re != 0.0 || element.im != 0.0);
    }

    /// Elements of the lower triangle, at least: half of what a sample of rows has on average. Before they are counted, which takes
    /// long for a file that no disk holds.
    pub(super) fn least_elements(&self) -> u64 {
        let step = self.number.div_ceil(SAMPLE).max(1);
        let (mut row, mut seen, mut found) = (Vec::new(), 0u64, 0u64);
        for number in (0..self.number).step_by(step as usize) {
            self.row(number, &mut row);
            (seen, found) = (seen + 1, found + row.len() as u64);
        }
        // One triangle has half of all.
        (self.number as f64 * found as f64 / seen.max(1) as f64 / 4.0) as u64
    }

    /// Hands what `make` makes of each piece of rows to `take`, in the order of the rows; all cores make pieces.
    pub(super) fn stream<T: Send, E>(
        &self,
        make: impl Fn(&Rows<'_>, Range<u64>) -> T + Sync,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let starts: Vec<u64> = (0..self.number).step_by(PIECE as usize).collect();
        for waiting in starts.chunks(WAITING) {
            let piece = |start: &u64| make(self, *start..(start + PIECE).min(self.number));
            let made: Vec<T> = waiting.par_iter().map(piece).collect();
            made.into_iter().try_for_each(&mut take)?;
        }
        Ok(())
    }
}

/// All terms that move something.
fn whole_moves(operator: &Operator, word: &Word) -> Vec<Transition<u128>> {
    match word {
        Word::Sites(layout) => return layout.moves(operator),
        word if word.bits() <= u64::BITS => {
            return moves(operator, word).into_iter().map(|transition| transition.wide(0)).collect();
        }
        _ => {}
    }
    // Electrons on more than 32 sites: no term of such a model touches both species.
    let [up, down] = species_moves(operator).unwrap_or_default();
    let Word::Fermions { sites } = word else { unreachable!("only the two words of electrons are longer together") };
    let down = down.into_iter().map(|transition| transition.wide(*sites as u32));
    up.into_iter().map(|transition| transition.wide(0)).chain(down).collect()
}

/// All terms that move nothing.
fn whole_diagonal(operator: &Operator, word: &Word) -> Vec<DiagonalTerm<u128>> {
    match word {
        Word::Sites(layout) => layout.diagonal_terms(operator),
        word => diagonal_terms(operator, word).into_iter().map(DiagonalTerm::wide).collect(),
    }
}
