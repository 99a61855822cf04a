//! The part of a diagonal that is the same on all states of a sector, taken out before anything is solved.
//!
//! In: diagonal terms and the conserved numbers. Out: the other terms, and a number c with D = c + D′ on every state of the
//! sector. A chemical potential, a uniform field, the energy of an empty lattice and couplings of every pair to every
//! other add nothing but c, and c may be so large that the digits of everything else are lost in it:
//!
//! | taken out | is |
//! |---|---|
//! | 1 | 1 |
//! | Π n over bits of a species that is full or empty | less of them, or 0 |
//! | m Σ_i n_iσ | m N_σ |
//! | m Σ_{i<j} n_iσ n_jσ | m N_σ (N_σ − 1) / 2 |
//! | m Σ_ij n_i↑ n_j↓ | m N_↑ N_↓ |
//! | m Σ_i Sᶻ_i | m Sᶻ |
//! | m Σ_{i<j} Sᶻ_i Sᶻ_j | m (Sᶻ² − Σ_i (Sᶻ_i)²) / 2 |
//!
//! The m of a family of terms is the median of its coefficients, terms that are missing counted as 0: so a potential that
//! is uniform but for a few sites leaves those few. It is taken out where less than half of Σ |coefficient| is left. The
//! differences of the coefficients to m are exact where they matter (Sterbenz 1974), so nothing is lost.

use eigenforge_core::basis::Sector;
use eigenforge_core::operator::{Charge, DiagonalTerm, SiteLayout, Spin, Word};
use std::collections::BTreeMap;
use std::ops::Shl;

/// Σ |coefficient| that may be left where something is taken out of a family.
const SHARE: f64 = 0.5;

/// Takes the constant of the sector out of the terms.
pub(super) fn take_out(terms: &mut Vec<DiagonalTerm>, word: &Word, sector: &Sector) -> f64 {
    match (word, sector) {
        (Word::Fermions { sites }, Sector::Fermions { up, down }) => of_fermions(terms, *sites, [*up, *down]),
        (Word::Spins { sites, two_s: 1, .. }, Sector::Spins { two_sz }) => of_halves(terms, *sites, *two_sz as f64),
        (Word::Spins { sites, .. }, Sector::Spins { two_sz }) => of_levels(terms, *sites, 0.5 * *two_sz as f64),
        (Word::Sites(layout), Sector::Charges(charges)) => of_sites(terms, layout, charges),
        _ => 0.0,
    }
}

/// Terms by what they are of.
type Terms<K> = BTreeMap<K, f64>;

/// Takes `m` off every term of a family, if that leaves little of it; returns m, or 0.
fn level<K: Ord + Clone>(terms: &mut Terms<K>, family: &[K]) -> f64 {
    let mut values: Vec<f64> = family.iter().map(|key| terms.get(key).copied().unwrap_or(0.0)).collect();
    values.sort_by(f64::total_cmp);
    let Some(median) = values.get(values.len() / 2).copied() else { return 0.0 };
    let sum = |shift: f64| values.iter().map(|value| (value - shift).abs()).sum::<f64>();
    if median == 0.0 || sum(median) >= SHARE * sum(0.0) {
        return 0.0;
    }
    for key in family {
        let rest = terms.remove(key).unwrap_or(0.0) - median;
        if rest != 0.0 {
            terms.insert(key.clone(), rest);
        }
    }
    median
}

/// All pairs of two different keys out of one list.
fn pairs<K, P>(list: &[K], join: impl Fn(&K, &K) -> P) -> Vec<P> {
    (0..list.len()).flat_map(|j| (0..j).map(move |i| (i, j))).map(|(i, j)| join(&list[i], &list[j])).collect()
}

/// Bits of the up and of the down word.
type Masks = [u64; 2];

fn of_fermions(terms: &mut Vec<DiagonalTerm>, sites: usize, particles: [usize; 2]) -> f64 {
    let mut by_mask: Terms<Masks> = BTreeMap::new();
    for term in terms.drain(..) {
        let DiagonalTerm::Occupied { up, down, coefficient } = term else { unreachable!("fermions have occupations") };
        let mut masks = [up, down];
        let empty = (0..2).any(|s| particles[s] == 0 && masks[s] != 0);
        (0..2).filter(|&s| particles[s] == sites).for_each(|s| masks[s] = 0);
        if !empty {
            *by_mask.entry(masks).or_insert(0.0) += coefficient;
        }
    }
    let mut constant = by_mask.remove(&[0, 0]).unwrap_or(0.0);
    let numbers = particles.map(|n| n as f64);
    let bits = [0, 1].map(|s| {
        let bit = |site: usize| if s == 0 { [1u64 << site, 0] } else { [0, 1u64 << site] };
        (0..sites).map(bit).collect::<Vec<Masks>>()
    });
    let join = |a: &Masks, b: &Masks| [a[0] | b[0], a[1] | b[1]];
    // A species that is full or empty has no terms left.
    for s in (0..2).filter(|&s| particles[s] > 0 && particles[s] < sites) {
        constant += level(&mut by_mask, &pairs(&bits[s], join)) * 0.5 * numbers[s] * (numbers[s] - 1.0);
        constant += level(&mut by_mask, &bits[s]) * numbers[s];
    }
    if particles.iter().all(|&n| n > 0 && n < sites) {
        let both: Vec<Masks> = bits[0].iter().flat_map(|up| bits[1].iter().map(move |down| join(up, down))).collect();
        constant += level(&mut by_mask, &both) * numbers[0] * numbers[1];
    }
    let term = |([up, down], coefficient): (Masks, f64)| DiagonalTerm::Occupied { up, down, coefficient };
    terms.extend(by_mask.into_iter().map(term));
    constant
}

/// Sites of any kind: the identity, and m times the number of particles where that number is fixed.
pub(super) fn of_sites<W: Ord + Copy + From<u8> + Shl<u32, Output = W>>(
    terms: &mut Vec<DiagonalTerm<W>>,
    layout: &SiteLayout,
    charges: &[(Charge, i64)],
) -> f64 {
    let mut by_mask: Terms<W> = BTreeMap::new();
    terms.retain(|term| match term {
        DiagonalTerm::Word { mask, coefficient } => {
            *by_mask.entry(*mask).or_insert(0.0) += coefficient;
            false
        }
        _ => true,
    });
    let mut constant = by_mask.remove(&W::from(0)).unwrap_or(0.0);
    for (charge, value) in charges {
        let counted = |mode: Spin| *charge != Charge::TwoSz && charge.of_fermion(mode) == 1;
        let of_charge = layout.digits().iter().filter(|digit| digit.mode.is_some_and(counted));
        let bits: Vec<W> = of_charge.map(|digit| W::from(1) << digit.shift).collect();
        constant += level(&mut by_mask, &bits) * *value as f64;
    }
    terms.extend(by_mask.into_iter().map(|(mask, coefficient)| DiagonalTerm::Word { mask, coefficient }));
    constant
}

/// Terms are of the signs 2Sᶻ.
fn of_halves(terms: &mut Vec<DiagonalTerm>, sites: usize, two_sz: f64) -> f64 {
    let mut by_mask: Terms<u64> = BTreeMap::new();
    for term in terms.drain(..) {
        let DiagonalTerm::Parity { mask, coefficient } = term else { unreachable!("spins 1/2 have signs") };
        *by_mask.entry(mask).or_insert(0.0) += coefficient;
    }
    let bits: Vec<u64> = (0..sites).map(|bit| 1 << bit).collect();
    let mut constant = by_mask.remove(&0).unwrap_or(0.0);
    constant += level(&mut by_mask, &bits) * two_sz;
    constant += level(&mut by_mask, &pairs(&bits, |a, b| a | b)) * 0.5 * (two_sz * two_sz - sites as f64);
    terms.extend(by_mask.into_iter().map(|(mask, coefficient)| DiagonalTerm::Parity { mask, coefficient }));
    constant
}

/// Terms are of products of Sᶻ, for spins above ½.
fn of_levels(terms: &mut Vec<DiagonalTerm>, sites: usize, sz: f64) -> f64 {
    let mut by_factors: Terms<Vec<(usize, u32)>> = BTreeMap::new();
    for term in terms.drain(..) {
        let DiagonalTerm::Levels { factors, coefficient } = term else { unreachable!("spins above 1/2 have levels") };
        *by_factors.entry(factors).or_insert(0.0) += coefficient;
    }
    let mut constant = by_factors.remove(&Vec::new()).unwrap_or(0.0);
    let singles: Vec<Vec<(usize, u32)>> = (0..sites).map(|i| vec![(i, 1)]).collect();
    constant += level(&mut by_factors, &singles) * sz;
    let sites_in_order: Vec<usize> = (0..sites).collect();
    let couples = pairs(&sites_in_order, |i, j| vec![(*i, 1), (*j, 1)]);
    let squares = 0.5 * level(&mut by_factors, &couples);
    if squares != 0.0 {
        constant += squares * sz * sz;
        (0..sites).for_each(|i| *by_factors.entry(vec![(i, 2)]).or_insert(0.0) -= squares);
    }
    by_factors.retain(|_, coefficient| *coefficient != 0.0);
    terms.extend(by_factors.into_iter().map(|(factors, coefficient)| DiagonalTerm::Levels { factors, coefficient }));
    constant
}
