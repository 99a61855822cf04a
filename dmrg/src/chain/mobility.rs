//! The charges that H conserves in addition to those that a run fixes.
//!
//! In: a chain. Out: how many further independent U(1) charges its off-diagonal terms conserve. Each term changes the
//! occupation of every mode (Sᶻ of every moment) by a fixed vector; Σ_i q_i n_i is conserved if q is orthogonal to all of
//! them, so the number of charges is the number of modes minus the rank of these vectors. Hopping on a graph of several
//! components conserves the number in each; an Ising model conserves every spin. Sweeps cannot move such a charge from
//! site to site: they may settle in the wrong distribution of it, which is an eigenstate with zero variance. If the terms
//! that move a charge are merely weak, this nearly holds.

use super::site::Site;
use super::terms::Term;
use crate::chain::Chain;
use std::collections::{BTreeMap, HashMap};

/// Terms below this fraction of the largest move charge too slowly for sweeps.
const WEAK: f64 = 0.1;
/// Terms below this fraction of the largest are rounding errors.
const NOTHING: f64 = 1e-14;
/// A prime: ranks of integer matrices are computed modulo it.
const PRIME: i64 = 2_147_483_647;

/// Conserved charges that were not declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mobility {
    /// Their number.
    pub hidden: usize,
    /// Their number when terms that are weak relative to the largest are ignored.
    pub nearly_hidden: usize,
}

impl Mobility {
    /// Counts the undeclared conserved charges of a chain.
    pub(crate) fn new(chain: &Chain) -> Mobility {
        Mobility { hidden: hidden(chain, NOTHING), nearly_hidden: hidden(chain, WEAK) }
    }

    /// Whether sweeps may be unable to move charge to where it belongs.
    pub(crate) fn is_hindered(self) -> bool {
        self.nearly_hidden > 0
    }
}

/// A vector over the modes of the chain, modulo the prime.
type Change = BTreeMap<usize, i64>;

/// Number of modes of a site: one if it has levels, none of an auxiliary site.
fn modes(site: &Site) -> usize {
    if site.kind.is_some() { site.modes().len().max(1) } else { 0 }
}

/// What a state of a site adds to a mode.
fn occupation(site: &Site, state: usize, mode: usize) -> i64 {
    if site.modes().is_empty() { state as i64 } else { (state >> mode & 1) as i64 }
}

/// How much a term changes each mode; empty for a diagonal one. `first` is the first mode of each position.
fn change(chain: &Chain, first: &[usize], term: &Term) -> Change {
    let mut change = Change::new();
    for (position, operator) in &term.operators {
        let (site, matrix) = (chain.site(*position), &chain.sum.operators.get(*operator).matrix);
        let Some((row, column, _)) = matrix.nonzeros().into_iter().find(|(row, column, _)| row != column) else {
            continue;
        };
        for mode in 0..modes(site) {
            let by = occupation(site, row, mode) - occupation(site, column, mode);
            if by != 0 {
                change.insert(first[*position] + mode, by.rem_euclid(PRIME));
            }
        }
    }
    change
}

fn hidden(chain: &Chain, part: f64) -> usize {
    let next = |end: &mut usize, site: &Site| {
        *end += modes(site);
        Some(*end - modes(site))
    };
    let first: Vec<usize> = chain.local.iter().scan(0, next).collect();
    let all: usize = chain.local.iter().map(modes).sum();
    let most = all.saturating_sub(chain.numbers.len());
    let (mut pivots, least): (HashMap<usize, Change>, f64) = (HashMap::new(), part * chain.units.largest);
    for term in chain.terms.iter().filter(|term| chain.sum.operators.size(term) >= least) {
        if pivots.len() >= most {
            break;
        }
        let mut row = change(chain, &first, term);
        while let Some((&lead, &value)) = row.iter().next() {
            let Some(pivot) = pivots.get(&lead) else {
                let inverse = power(value, PRIME - 2);
                row.values_mut().for_each(|x| *x = *x * inverse % PRIME);
                pivots.insert(lead, row);
                break;
            };
            for (mode, own) in pivot {
                let sum = row.entry(*mode).or_insert(0);
                *sum = (*sum - value * own).rem_euclid(PRIME);
                if *sum == 0 {
                    row.remove(mode);
                }
            }
        }
    }
    most - pivots.len().min(most)
}

/// x^n modulo the prime.
fn power(x: i64, n: i64) -> i64 {
    let (mut result, mut base, mut rest) = (1, x, n);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result * base % PRIME;
        }
        base = base * base % PRIME;
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models::{hubbard, xxz};

    fn of_spins(jxy: &[f64]) -> Mobility {
        let sites = jxy.len() + 1;
        let (none, jz) = (vec![0.0; sites], vec![1.0; jxy.len()]);
        let operator = xxz(&Lattice::chain(sites).open(), jxy, &jz, &none, &none);
        let two_sz = (sites % 2) as i64;
        Mobility::new(&Chain::new(&operator, Sector::Spins { two_sz }, None).unwrap())
    }

    #[test]
    fn every_bond_that_moves_nothing_hides_a_charge() {
        assert_eq!(of_spins(&[1.0; 5]), Mobility { hidden: 0, nearly_hidden: 0 });
        assert_eq!(of_spins(&[1.0, 0.0, 1.0, 0.0, 1.0]), Mobility { hidden: 2, nearly_hidden: 2 });
        assert_eq!(of_spins(&[0.0; 5]), Mobility { hidden: 5, nearly_hidden: 5 });
        assert_eq!(of_spins(&[1.0, 1e-3, 1.0]), Mobility { hidden: 0, nearly_hidden: 1 });
    }

    #[test]
    fn electrons_hide_both_spins() {
        let lattice = Lattice::chain(5).open();
        let of = |t: &[f64]| {
            let operator = hubbard(&lattice, t, &[4.0; 5], &[0.0; 5], 0.0, &[0.0; 4]);
            Mobility::new(&Chain::new(&operator, Sector::Fermions { up: 2, down: 2 }, None).unwrap())
        };
        assert_eq!(of(&[1.0; 4]).hidden, 0);
        assert_eq!(of(&[1.0, 0.0, 1.0, 1.0]).hidden, 2);
        assert_eq!(of(&[0.01; 4]), Mobility { hidden: 0, nearly_hidden: 8 });
    }
}
