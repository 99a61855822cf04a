//! Operator → plan-ready parts: the diagonal, one matrix for each spin species, or the rest.
//!
//! A fermion operator whose off-diagonal terms each act in one spin species is a Kronecker sum (Yamada et al. 2020,
//! eq. 2–3), H = D + I ⊗ A↑ + A↓ ⊗ I, however many operators its terms hold. Anything else is general.

use super::constant;
use super::symmetric::SymmetricSector;
use eigenforge_core::basis::{LinTables, Sector};
use eigenforge_core::operator::{
    Charge, DiagonalTerm, Operator, RecordedSum, SiteLayout, Transition, Word, diagonal_terms, moves, species_moves,
};
use eigenforge_templates::exact::{
    CountGroup, DiagonalPlan, DigitTerm, ExpressionParameter, ExpressionPlan, FlipGroup, LevelTerm, MaskedTerm,
    ProductTerm, StateWord, TableSizes,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an operator is made of, in state-word form.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The diagonal without the constant.
    pub diagonal: DiagonalPlan,
    /// What was taken out of the diagonal because it is the same on all states of the sector.
    pub constant: f64,
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
    /// All terms of states that are listed, the diagonal ones too.
    Listed(ListedTerms),
}

/// Terms of states of up to 128 bits, from which the elements of H are made.
#[derive(Clone, Debug)]
pub struct ListedTerms {
    pub(super) diagonal: Vec<DiagonalTerm<u128>>,
    pub(super) moves: Vec<Transition<u128>>,
    /// The symmetry sector whose representatives are listed. It has the moving terms then.
    pub(super) symmetric: Option<Arc<SymmetricSector>>,
}

impl Structure {
    /// Finds the structure of a reduced, checked operator in a sector whose states have tables.
    pub fn new(operator: &Operator, word: &Word, sector: &Sector) -> Structure {
        let moves = match word {
            Word::Fermions { .. } => match species_moves(operator) {
                Ok([up, down]) => Moves::Kronecker { up, down },
                Err(_) => Moves::General(by_flip(&moves(operator, word))),
            },
            Word::Spins { .. } | Word::Sites(_) => Moves::General(by_flip(&moves(operator, word))),
        };
        let mut terms = diagonal_terms(operator, word);
        let constant = constant::take_out(&mut terms, word, sector);
        let mut diagonal = diagonal(&terms, word);
        if !matches!(word, Word::Sites(_)) {
            diagonal.expressions = expressions(operator.sums());
        }
        diagonal.taken_out = constant;
        diagonal.choose_strategy();
        Structure { diagonal, constant, moves }
    }

    /// The same in a sector whose states are listed.
    pub(super) fn listed(operator: &Operator, layout: &SiteLayout, charges: &[(Charge, i64)]) -> Structure {
        let (mut diagonal, moves) = (layout.diagonal_terms(operator), layout.moves(operator));
        let constant = constant::of_sites(&mut diagonal, layout, charges);
        Structure::of_list(constant, ListedTerms { diagonal, moves, symmetric: None })
    }

    /// The same in a symmetry sector; the layout is that of real vectors.
    pub(super) fn symmetric(
        operator: &Operator,
        layout: &SiteLayout,
        charges: &[(Charge, i64)],
        sector: Arc<SymmetricSector>,
    ) -> Structure {
        let mut diagonal = layout.diagonal_terms(operator);
        let constant = constant::of_sites(&mut diagonal, layout, charges);
        Structure::of_list(constant, ListedTerms { diagonal, moves: Vec::new(), symmetric: Some(sector) })
    }

    fn of_list(constant: f64, terms: ListedTerms) -> Structure {
        let plan = DiagonalPlan { taken_out: constant, ..DiagonalPlan::default() };
        Structure { diagonal: plan, constant, moves: Moves::Listed(terms) }
    }
}

/// The sizes of tables of ranks.
pub(super) fn sizes_of(tables: &LinTables) -> TableSizes {
    TableSizes {
        low_bits: tables.low_bits,
        parts: tables.parts.len() as u64,
        low_states: tables.low_states.len() as u64,
        high_parts: tables.direct.as_ref().map_or(0, |direct| direct.high_offset.len() as u64),
    }
}

/// Transitions by the bits they flip.
pub(super) fn by_flip(moves: &[Transition]) -> Vec<FlipGroup> {
    let mut groups: BTreeMap<u64, Vec<MaskedTerm>> = BTreeMap::new();
    for t in moves {
        let term = MaskedTerm { care: t.care, pattern: t.pattern, sign: t.sign, amplitude: t.amplitude };
        groups.entry(t.flip).or_default().push(term);
    }
    groups.into_iter().map(|(flip, terms)| FlipGroup { flip, terms }).collect()
}

/// Key of terms that one popcount can count: words, distance of the pair, kind, and coefficient (as bits).
type CountKey = (StateWord, Option<(StateWord, i32)>, bool, u64);

/// The plan of the diagonal.
pub(super) fn diagonal(terms: &[DiagonalTerm], word: &Word) -> DiagonalPlan {
    let mut plan = match word {
        Word::Fermions { sites } => DiagonalPlan { sites: *sites as u32, ..DiagonalPlan::default() },
        Word::Spins { two_s, width, .. } => {
            DiagonalPlan { two_s: *two_s, level_width: *width, ..DiagonalPlan::default() }
        }
        Word::Sites(_) => DiagonalPlan::default(),
    };
    let mut counts: BTreeMap<CountKey, u64> = BTreeMap::new();
    let mut count = |bits: &[(StateWord, u32)], coefficient: f64, differs: bool| {
        let (left, a) = bits[0];
        let partner = bits.get(1).map(|(right, b)| (*right, *b as i32 - a as i32));
        *counts.entry((left, partner, differs, coefficient.to_bits())).or_insert(0) |= 1 << a;
    };
    for term in terms {
        match term {
            DiagonalTerm::Occupied { up, down, coefficient } => {
                let places: Vec<_> = set_bits(StateWord::Up, *up).chain(set_bits(StateWord::Down, *down)).collect();
                match places.len() {
                    0 => plan.constant += coefficient,
                    1 | 2 => count(&places, *coefficient, false),
                    _ => plan.products.push(ProductTerm {
                        coefficient: *coefficient,
                        mask: *up,
                        down_mask: *down,
                        parity: false,
                    }),
                }
            }
            // (−1)^clear of one bit is 2n − 1; of two bits 1 − 2 [they differ].
            DiagonalTerm::Parity { mask, coefficient } => {
                let places: Vec<_> = set_bits(StateWord::State, *mask).collect();
                match places.len() {
                    0 => plan.constant += coefficient,
                    1 => {
                        plan.constant -= coefficient;
                        count(&places, 2.0 * coefficient, false);
                    }
                    2 => {
                        plan.constant += coefficient;
                        count(&places, -2.0 * coefficient, true);
                    }
                    _ => plan.products.push(ProductTerm {
                        coefficient: *coefficient,
                        mask: *mask,
                        down_mask: 0,
                        parity: true,
                    }),
                }
            }
            DiagonalTerm::Word { mask, coefficient } => {
                let places: Vec<_> = set_bits(StateWord::State, *mask).collect();
                match places.len() {
                    0 => plan.constant += coefficient,
                    1 | 2 => count(&places, *coefficient, false),
                    _ => plan.products.push(ProductTerm {
                        coefficient: *coefficient,
                        mask: *mask,
                        down_mask: 0,
                        parity: false,
                    }),
                }
            }
            DiagonalTerm::Digits { factors, coefficient } => {
                plan.digits.push(DigitTerm { coefficient: *coefficient, factors: factors.clone() });
            }
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
    // In an order that does not depend on the coefficients, so that models that differ in these alone have one text.
    plan.counts.sort_by_key(|group| (group.left, group.right, group.differs, group.mask));
    plan
}

/// The set bits of a word, ascending.
fn set_bits(word: StateWord, mask: u64) -> impl Iterator<Item = (StateWord, u32)> {
    (0..u64::BITS).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| (word, bit))
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
    let parameter = |parameter: &eigenforge_core::operator::RecordedParameter| ExpressionParameter {
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
