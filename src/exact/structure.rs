//! Operator → plan-ready parts: the diagonal, one matrix for each spin species, or the rest.
//!
//! A fermion operator whose off-diagonal terms each act in one spin species is a Kronecker sum (Yamada et al. 2020,
//! eq. 2–3), H = D + I ⊗ A↑ + A↓ ⊗ I, however many operators its terms hold. Anything else is general.

use crate::basis::low_mask;
use crate::operator::transition::{DiagonalTerm, Transition, Word, transitions};
use crate::operator::{Operator, RecordedSum};
use eigenforge_templates::exact::{
    CountGroup, DiagonalPlan, ExpressionParameter, ExpressionPlan, FlipGroup, LevelTerm, MaskedTerm, ProductTerm,
    StateWord,
};
use std::collections::BTreeMap;

/// What an operator is made of, in state-word form.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The diagonal.
    pub diagonal: DiagonalPlan,
    /// The off-diagonal part.
    pub moves: Moves,
}

/// The off-diagonal part.
#[derive(Clone, Debug)]
pub enum Moves {
    /// Every term stays within one species; masks are of that species' own word.
    Kronecker {
        /// Terms of the up electrons.
        up: Vec<Transition>,
        /// Terms of the down electrons.
        down: Vec<Transition>,
    },
    /// Terms grouped by the bits they flip; masks are of the whole state word.
    General(Vec<FlipGroup>),
}

impl Structure {
    /// Finds the structure of a reduced, checked operator.
    pub fn of(operator: &Operator, word: Word) -> Structure {
        let (terms, moves) = transitions(operator, word);
        let moves = match word {
            Word::Fermions { sites } => kronecker(&moves, sites).unwrap_or_else(|| Moves::General(by_flip(&moves))),
            Word::Spins { .. } => Moves::General(by_flip(&moves)),
        };
        let mut diagonal = diagonal(&terms, word);
        diagonal.expressions = expressions(operator.sums());
        diagonal.choose_strategy();
        Structure { diagonal, moves }
    }
}

fn kronecker(moves: &[Transition], sites: usize) -> Option<Moves> {
    let up_bits = low_mask(sites as u32);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for transition in moves {
        let touched = transition.care | transition.flip | transition.sign;
        if touched & !up_bits == 0 {
            up.push(*transition);
        } else if (transition.care | transition.flip) & up_bits == 0 && transition.sign & up_bits == 0 {
            let shift = |bits: u64| bits >> sites;
            down.push(Transition {
                care: shift(transition.care),
                pattern: shift(transition.pattern),
                flip: shift(transition.flip),
                sign: shift(transition.sign),
                amplitude: transition.amplitude,
            });
        } else {
            return None;
        }
    }
    Some(Moves::Kronecker { up, down })
}

fn by_flip(moves: &[Transition]) -> Vec<FlipGroup> {
    let mut groups: BTreeMap<u64, Vec<MaskedTerm>> = BTreeMap::new();
    for t in moves {
        let term = MaskedTerm { care: t.care, pattern: t.pattern, sign: t.sign, amplitude: t.amplitude };
        groups.entry(t.flip).or_default().push(term);
    }
    groups.into_iter().map(|(flip, terms)| FlipGroup { flip, terms }).collect()
}

/// Key of terms that one popcount can count: words, distance of the pair, kind, and coefficient (as bits).
type CountKey = (StateWord, Option<(StateWord, i32)>, bool, u64);

fn diagonal(terms: &[DiagonalTerm], word: Word) -> DiagonalPlan {
    let mut plan = match word {
        Word::Fermions { sites } => DiagonalPlan { sites: sites as u32, ..DiagonalPlan::default() },
        Word::Spins { two_s, width, .. } => DiagonalPlan { two_s, level_width: width, ..DiagonalPlan::default() },
    };
    let place = |bit: u32| match word {
        Word::Fermions { sites } if bit < sites as u32 => (StateWord::Up, bit),
        Word::Fermions { sites } => (StateWord::Down, bit - sites as u32),
        Word::Spins { .. } => (StateWord::State, bit),
    };
    let mut counts: BTreeMap<CountKey, u64> = BTreeMap::new();
    let mut count = |mask: u64, coefficient: f64, differs: bool| {
        let (left, a) = place(mask.trailing_zeros());
        let partner = (mask.count_ones() == 2).then(|| place(63 - mask.leading_zeros()));
        let right = partner.map(|(right, b)| (right, b as i32 - a as i32));
        *counts.entry((left, right, differs, coefficient.to_bits())).or_insert(0) |= 1 << a;
    };
    for term in terms {
        match term {
            DiagonalTerm::Occupied { mask, coefficient } => match mask.count_ones() {
                0 => plan.constant += coefficient,
                1 | 2 => count(*mask, *coefficient, false),
                _ => plan.products.push(ProductTerm { coefficient: *coefficient, mask: *mask, parity: false }),
            },
            // (−1)^clear of one bit is 2n − 1; of two bits 1 − 2 [they differ].
            DiagonalTerm::Parity { mask, coefficient } => match mask.count_ones() {
                0 => plan.constant += coefficient,
                1 => {
                    plan.constant -= coefficient;
                    count(*mask, 2.0 * coefficient, false);
                }
                2 => {
                    plan.constant += coefficient;
                    count(*mask, -2.0 * coefficient, true);
                }
                _ => plan.products.push(ProductTerm { coefficient: *coefficient, mask: *mask, parity: true }),
            },
            DiagonalTerm::Levels { factors, coefficient } if factors.is_empty() => plan.constant += coefficient,
            DiagonalTerm::Levels { factors, coefficient } => plan.levels.push(LevelTerm {
                coefficient: *coefficient,
                factors: factors.iter().map(|(site, power)| (*site as u32, *power)).collect(),
            }),
        }
    }
    plan.counts = counts
        .into_iter()
        .map(|((left, right, differs, bits), mask)| CountGroup {
            coefficient: f64::from_bits(bits),
            left,
            right,
            mask,
            differs,
        })
        .collect();
    plan
}

/// The diagonal sums in the user's own words, when together they are the whole diagonal.
fn expressions(sums: &[RecordedSum]) -> Vec<ExpressionPlan> {
    let complete = sums.iter().all(|sum| sum.cuda.is_some() || !sum.has_diagonal);
    if !complete {
        return Vec::new();
    }
    let translated = sums.iter().filter_map(|sum| Some((sum, sum.cuda.clone()?)));
    translated.map(|(sum, cuda)| expression(sum, cuda)).collect()
}

fn expression(sum: &RecordedSum, cuda: String) -> ExpressionPlan {
    let column = |k: usize| sum.rows.iter().map(|row| row[k]).collect::<Vec<f64>>();
    let index = |(k, name): (usize, &String)| match name.strip_suffix(": f64") {
        Some(name) => (name.to_string(), false, column(k)),
        None => (name.clone(), true, column(k)),
    };
    let parameter = |parameter: &crate::operator::Parameter| ExpressionParameter {
        name: parameter.name.clone(),
        values: parameter.values.clone(),
        indexed: parameter.indexed,
        integer: parameter.integer,
    };
    ExpressionPlan {
        file: sum.file.clone(),
        line: sum.line,
        text: sum.text.clone(),
        cuda,
        indices: sum.indices.iter().enumerate().map(index).collect(),
        parameters: sum.parameters.iter().map(parameter).collect(),
    }
}
