//! Terms sorted by what they do to the two parts of a word, and the elements that each kind gives.

use super::columns::Columns;
use super::packed::merged;
use eigenforge_templates::exact::{FlipGroup, MaskedTerm};
use num_complex::Complex64;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// What a term does to one part of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Factor {
    care: u64,
    pattern: u64,
    sign: u64,
    flip: u64,
}

/// A term beyond the low part.
struct Term {
    /// What it does to the high part.
    high: Factor,
    /// The number of its factor; `None` if it leaves the low part alone.
    factor: Option<u32>,
    amplitude: Complex64,
}

/// The terms of an operator.
#[derive(Default)]
pub(super) struct Terms {
    /// Those within the low part.
    low: Vec<(Factor, Complex64)>,
    /// The others.
    beyond: Vec<Term>,
    /// What those across the cut do to the low part.
    pub(super) factors: Vec<Factor>,
}

/// Elements of each row: row in the column, and amplitude.
pub(super) type RowElements = Vec<Vec<(u32, Complex64)>>;

/// Elements of one column.
pub(super) struct ColumnElements {
    /// Where a whole column begins, and its amplitude.
    pub(super) whole: Vec<(u64, Complex64)>,
    /// Where a column begins, the factor, and the amplitude.
    pub(super) cross: Vec<(u64, u32, Complex64)>,
}

/// Where factors lead.
pub(super) struct FactorRows {
    /// For each factor and low part the row, with the sign in the top bit; all other bits set if there is none.
    pub(super) rows: Vec<u64>,
    /// For each factor and class the class; `u32::MAX` if there is none.
    to_class: Vec<Vec<u32>>,
    /// Whether there are signs.
    pub(super) signs: bool,
}

impl Factor {
    /// What a term does to the bits that `part` takes of its masks.
    fn new(term: &MaskedTerm, flip: u64, part: impl Fn(u64) -> u64) -> Factor {
        Factor { care: part(term.care), pattern: part(term.pattern), sign: part(term.sign), flip: part(flip) }
    }

    /// Where it leads from a word, and whether with a minus.
    fn apply(&self, word: u64) -> Option<(u64, bool)> {
        (word & self.care == self.pattern).then(|| (word ^ self.flip, (word & self.sign).count_ones() % 2 == 1))
    }

    fn is_one(&self) -> bool {
        self.care == 0 && self.sign == 0 && self.flip == 0
    }
}

impl Terms {
    /// Sorts the terms. Of a complex H those stand in it that a row of real parts has (Re a to real parts, −Im a to imaginary
    /// ones); those of the imaginary parts are the same elements once more.
    pub(super) fn new(groups: &[FlipGroup], columns: &Columns<'_>) -> Terms {
        let (low_bits, turn) = (columns.tables.low_bits, columns.turn);
        let mut terms = Terms::default();
        let mut numbers = BTreeMap::new();
        for (term, flip) in groups.iter().flat_map(|group| group.terms.iter().map(|term| (term, group.flip))) {
            let low = Factor::new(term, flip, |bits| bits & ((1 << low_bits) - 1));
            let high = Factor::new(term, flip, |bits| bits >> low_bits & !turn);
            if term.pattern >> low_bits & turn != 0 {
                continue;
            }
            let amplitude = match flip >> low_bits & turn {
                0 => Complex64::new(term.amplitude, 0.0),
                _ => Complex64::new(0.0, -term.amplitude),
            };
            if high.is_one() {
                terms.low.push((low, amplitude));
            } else {
                let factors = &mut terms.factors;
                let factor = (!low.is_one()).then(|| {
                    *numbers.entry(low).or_insert_with(|| {
                        factors.push(low);
                        factors.len() as u32 - 1
                    })
                });
                terms.beyond.push(Term { high, factor, amplitude });
            }
        }
        terms
    }

    /// The elements of each row by terms within the low part.
    pub(super) fn low_rows(&self, columns: &Columns<'_>) -> RowElements {
        let row = |place: usize| {
            let Some((low, class)) = columns.low(place) else { return Vec::new() };
            let to = self.low.iter().filter_map(|(factor, amplitude)| {
                let (word, minus) = factor.apply(low)?;
                let (to, row) = columns.row_of(class, word)?;
                (to == class).then_some((row, if minus { -amplitude } else { *amplitude }))
            });
            merged(to.collect())
        };
        (0..columns.tables.low_states.len()).into_par_iter().map(row).collect()
    }

    /// Where the factors lead; `None` if one leads from a class to several.
    pub(super) fn factor_rows(&self, columns: &Columns<'_>) -> Option<FactorRows> {
        let mut found = FactorRows { rows: Vec::new(), to_class: Vec::new(), signs: false };
        for factor in &self.factors {
            let mut to_class = vec![u32::MAX; columns.classes.len()];
            for place in 0..columns.tables.low_states.len() {
                let mut row = u64::MAX >> 1;
                if let Some((low, class)) = columns.low(place)
                    && let Some((word, minus)) = factor.apply(low)
                {
                    let known = &mut to_class[class as usize];
                    if let Some((to, at)) = columns.row_of(if *known == u32::MAX { 0 } else { *known }, word) {
                        if *known != u32::MAX && *known != to {
                            return None;
                        }
                        *known = to;
                        found.signs |= minus;
                        row = u64::from(at) | u64::from(minus) << 63;
                    }
                }
                found.rows.push(row);
            }
            found.to_class.push(to_class);
        }
        Some(found)
    }

    /// What each column takes from others.
    pub(super) fn columns(&self, columns: &Columns<'_>, factors: &FactorRows) -> Vec<ColumnElements> {
        let elements = |column: usize| self.of_column(column, columns, factors);
        (0..columns.class_of.len()).into_par_iter().map(elements).collect()
    }

    fn of_column(&self, column: usize, columns: &Columns<'_>, factors: &FactorRows) -> ColumnElements {
        let (own, class) = (columns.tables.parts[column].high, columns.class_of[column]);
        let (mut whole, mut cross) = (Vec::new(), Vec::new());
        for term in &self.beyond {
            let Some((high, minus)) = term.high.apply(own) else { continue };
            let Some((from, source)) = columns.column_of(high) else { continue };
            let amplitude = if minus { -term.amplitude } else { term.amplitude };
            match term.factor {
                None if source == class => whole.push((from, amplitude)),
                Some(factor) if factors.to_class[factor as usize][class as usize] == source => {
                    cross.push(((from, factor), amplitude));
                }
                // A state that is left out of the basis.
                _ => {}
            }
        }
        let cross = merged(cross).into_iter().map(|((from, factor), amplitude)| (from, factor, amplitude)).collect();
        ColumnElements { whole: merged(whole), cross }
    }
}
