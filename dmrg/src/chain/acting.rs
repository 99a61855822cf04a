//! The terms that act on something in a sector, so that no scale is taken from the others.
//!
//! In: terms, and the charges that parts of the chain can have. Out: the same operator in the sector with fewer terms. Where the sector
//! leaves a site only some of its states, an operator that is zero on them takes its term away, and one that is a number there becomes that
//! number (a double occupancy where nobody has spin down; n of sites that are all full). A term that needs charges which no
//! configuration has together (n n of neighbours with a single particle) is left out too.

use super::charges::Charges;
use super::reachable::Reachable;
use super::site::Matrix;
use super::site_list::SiteList;
use super::terms::{LocalOperators, OperatorId, Term, Terms};
use std::collections::{HashMap, HashSet};

/// A sum of terms below this part of their sizes is rounding.
const ROUNDING: f64 = 1e-15;

/// Leaves out what acts on nothing; what is a number in the sector goes to the constant.
pub(crate) fn keep_acting(terms: &mut Terms, local: &SiteList, reachable: &Reachable) {
    let states: Vec<Vec<bool>> = (0..local.len()).map(|p| possible(local, reachable, p)).collect();
    let before: usize = terms.list.iter().map(|term| term.operators.len()).sum();
    let list = std::mem::take(&mut terms.list);
    let operators = &terms.operators;
    let mut kept: Vec<Term> = list.into_iter().filter_map(|term| restricted(term, operators, &states)).collect();
    kept.retain(|term| term.operators.is_empty() || acts(term, operators, local, reachable));
    if kept.iter().map(|term| term.operators.len()).sum::<usize>() != before {
        kept = merged(kept);
    }
    let (constants, kept): (Vec<Term>, Vec<Term>) = kept.into_iter().partition(|term| term.operators.is_empty());
    terms.constant += constants.iter().map(|term| term.coefficient).sum::<f64>();
    terms.list = kept;
}

/// Which states a position has in the sector.
fn possible(local: &SiteList, reachable: &Reachable, p: usize) -> Vec<bool> {
    let labels = reachable.cut(p);
    let is_possible = |step: &Charges| labels.keys().any(|left| reachable.allows(p + 1, *left + *step));
    local.site(p).charges().iter().map(is_possible).collect()
}

/// The term on these states; `None` if it vanishes there.
fn restricted(term: Term, operators: &LocalOperators, states: &[Vec<bool>]) -> Option<Term> {
    let mut left = Term { coefficient: term.coefficient, operators: Vec::with_capacity(term.operators.len()) };
    for (p, id) in term.operators {
        match number(&operators.get(id).matrix, &states[p]) {
            Some(0.0) => return None,
            Some(number) => left.coefficient *= number,
            None => left.operators.push((p, id)),
        }
    }
    Some(left)
}

/// The number that a matrix is on these states, if it is one.
fn number(matrix: &Matrix, states: &[bool]) -> Option<f64> {
    if states.iter().all(|is_possible| *is_possible) {
        return None;
    }
    let list: Vec<usize> = (0..states.len()).filter(|state| states[*state]).collect();
    let first = list.first().map_or(0.0, |state| matrix.element(*state, *state));
    let is_it = |row: usize, column: usize| matrix.element(row, column) == if row == column { first } else { 0.0 };
    list.iter().all(|row| list.iter().all(|column| is_it(*row, *column))).then_some(first)
}

/// Whether a configuration of the sector is taken to another, or to itself.
fn acts(term: &Term, operators: &LocalOperators, local: &SiteList, reachable: &Reachable) -> bool {
    let (Some((first, _)), Some((last, _))) = (term.operators.first(), term.operators.last()) else { return true };
    let at = |p: usize| term.operators.iter().find(|(position, _)| *position == p).map(|(_, id)| *id);
    let inside: Vec<Vec<Charges>> = (*first..=*last).map(|p| steps(at(p), operators, local, p)).collect();
    let mut seen: HashSet<(usize, Charges)> = HashSet::new();
    // The likeliest labels last, where the search begins.
    let mut labels: Vec<(&Charges, &f64)> = reachable.cut(*first).iter().collect();
    labels.sort_by(|a, b| a.1.total_cmp(b.1));
    let mut open: Vec<(usize, Charges)> = labels.into_iter().map(|(charges, _)| (*first, *charges)).collect();
    while let Some((p, left)) = open.pop() {
        if p > *last {
            return true;
        }
        for step in &inside[p - first] {
            let next = left + *step;
            if reachable.allows(p + 1, next) && seen.insert((p + 1, next)) {
                open.push((p + 1, next));
            }
        }
    }
    false
}

/// The charges of the states of a position that an operator does not annihilate, each once.
fn steps(id: Option<OperatorId>, operators: &LocalOperators, local: &SiteList, p: usize) -> Vec<Charges> {
    let charges = local.site(p).charges();
    let mut steps: Vec<Charges> = match id {
        None => charges.to_vec(),
        Some(id) => operators.get(id).matrix.nonzeros().into_iter().map(|(_, column, _)| charges[column]).collect(),
    };
    steps.sort();
    steps.dedup();
    steps
}

/// Terms with the same operators as one.
fn merged(list: Vec<Term>) -> Vec<Term> {
    let mut numbers: HashMap<Vec<(usize, OperatorId)>, usize> = HashMap::new();
    let mut sums: Vec<(Term, f64)> = Vec::new();
    for term in list {
        let size = term.coefficient.abs();
        match numbers.get(&term.operators) {
            Some(number) => {
                sums[*number].0.coefficient += term.coefficient;
                sums[*number].1 += size;
            }
            None => {
                numbers.insert(term.operators.clone(), sums.len());
                sums.push((term, size));
            }
        }
    }
    let is_left = |(term, size): &(Term, f64)| term.coefficient.abs() > ROUNDING * size;
    sums.into_iter().filter(is_left).map(|(term, _)| term).collect()
}

#[cfg(test)]
mod tests {
    use crate::chain::Chain;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models::{hubbard, xxz};

    #[test]
    fn terms_that_act_on_nothing_set_no_scale() {
        let electrons = hubbard(&Lattice::chain(5).open(), &[1.0; 4], &[1e8; 5], &[0.0; 5], 0.0, &[0.0; 4]);
        let largest = |up, down| {
            let units = Chain::new(&electrons, Sector::Fermions { up, down }, None).unwrap().units;
            units.scale * units.largest
        };
        assert_eq!(largest(2, 0), 1.0, "nobody of spin down");
        assert_eq!(largest(1, 1), 1e8);
    }

    /// All spins up is one state, whose energy is a number.
    #[test]
    fn what_is_a_number_in_the_sector_is_in_the_constant() {
        let spins = xxz(&Lattice::chain(4).open(), &[1.0; 3], &[1e6; 3], &[0.5; 4], &[0.0; 4]);
        let chain = Chain::new(&spins, Sector::Spins { two_sz: 4 }, None).unwrap();
        assert!(chain.terms.is_empty() && (chain.units.energy(0.0) - 7.5e5).abs() < 2.0, "{:?}", chain.units);
    }
}
