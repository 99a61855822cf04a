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

/// A transition of a whole state word.
#[derive(Debug, Clone, Copy)]
struct Move {
    care: u128,
    pattern: u128,
    flip: u128,
    sign: u128,
    amplitude: f64,
}

impl Move {
    /// One whose bits begin at `shift`.
    fn of(transition: &Transition, shift: usize) -> Move {
        let bits = |word: u64| u128::from(word) << shift;
        let Transition { care, pattern, flip, sign, amplitude } = *transition;
        Move { care: bits(care), pattern: bits(pattern), flip: bits(flip), sign: bits(sign), amplitude }
    }
}

/// What makes the rows of a model's H.
pub(super) struct Rows<'a> {
    basis: &'a Basis,
    number: u64,
    complex: bool,
    diagonal: Vec<DiagonalTerm>,
    moves: Vec<Move>,
}

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
            diagonal: diagonal_terms(operator, word),
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
        let on_diagonal = self.diagonal.iter().map(|term| value(term, state, word));
        elements.extend(on_diagonal.map(|re| Element { column: row, re, im: 0.0 }));
        for term in self.moves.iter().filter(|term| state & term.care == term.pattern) {
            let Some(reached) = self.basis.index(state ^ term.flip) else { continue };
            let odd = (state & term.sign).count_ones() & 1 == 1;
            let amplitude = if odd { -term.amplitude } else { term.amplitude };
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

/// All terms that move something, as transitions of whole words.
fn whole_moves(operator: &Operator, word: &Word) -> Vec<Move> {
    if word.bits() <= u64::BITS {
        return moves(operator, word).iter().map(|transition| Move::of(transition, 0)).collect();
    }
    // Electrons on more than 32 sites: no term of such a model touches both species.
    let [up, down] = species_moves(operator).unwrap_or_default();
    let Word::Fermions { sites } = word else { unreachable!("only the two words of electrons are longer together") };
    let down = down.iter().map(|transition| Move::of(transition, *sites));
    up.iter().map(|transition| Move::of(transition, 0)).chain(down).collect()
}

/// A diagonal term in a state.
fn value(term: &DiagonalTerm, state: u128, word: &Word) -> f64 {
    match term {
        DiagonalTerm::Occupied { up, down, coefficient } => {
            let Word::Fermions { sites } = word else { unreachable!("a term of electrons") };
            let mask = u128::from(*up) | u128::from(*down) << *sites;
            if state & mask == mask { *coefficient } else { 0.0 }
        }
        DiagonalTerm::Parity { mask, coefficient } => {
            let clear = (!state & u128::from(*mask)).count_ones();
            if clear % 2 == 1 { -coefficient } else { *coefficient }
        }
        DiagonalTerm::Levels { factors, coefficient } => {
            let Word::Spins { two_s, width, .. } = word else { unreachable!("a term of local moments") };
            let m = |site: usize| {
                let level = state >> (site as u32 * width) & ((1 << width) - 1);
                level as f64 - 0.5 * f64::from(*two_s)
            };
            factors.iter().fold(*coefficient, |product, (site, power)| product * m(*site).powi(*power as i32))
        }
        DiagonalTerm::Word { mask, coefficient } => {
            let mask = u128::from(*mask);
            if state & mask == mask { *coefficient } else { 0.0 }
        }
        DiagonalTerm::Digits { factors, coefficient } => {
            factors.iter().fold(*coefficient, |product, factor| product * factor.of(state as u64))
        }
    }
}
