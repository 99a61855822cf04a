//! Particle–hole symmetry P: c_i → ε_i c†_i of every fermion mode, b_i → b†_i of hard-core bosons.
//!
//! In: an operator, the charges of its sector. Out: the signs ε_i, as two colours of the sites, and whether P is its own inverse and commutes
//! with the other generators.
//!
//! * **Colours.** A real hop stays as it is if its ends have different signs, an imaginary one if they have equal signs. So the hops are
//!   followed from site to site; the first site of each piece has ε = 1.
//! * **States.** P|0⟩ = c†_1 … c†_M |0⟩ with the M modes in their order, so P c†_a c†_b … |0⟩ = η_a η_b … |complement⟩ with
//!   η_a = ε_a (−1)^(a − 1): the sign of a state is a product over its occupied modes.
//! * **Square.** P² = Π_a η_a, one number for all states: (−1)^sites of electrons.
//! * **Permutations.** U P U⁻¹ = det(U) s^N P if U takes every ε_i to s ε_i, with det the sign of the permutation of all modes and N the
//!   number of fermions. Where this is −1, P takes the eigenvalue of U to its opposite: momentum k to k + L/2.

use super::super::{Charge, Factor, Operator, Product, SiteKind, Spin};
use super::element::GroupElement;
use super::error::SymmetryError;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Of each site whether ε is −1.
pub(super) type Colours = Arc<[bool]>;

/// The part of a hop that is a rounding of it.
const ROUNDING: f64 = 1e-12;

/// The two sites, the lower one first, between which a product moves a fermion.
fn ends(product: &[Factor], sites: usize) -> Option<(usize, usize)> {
    let mut fermions = product.iter().filter(|factor| factor.is_fermion()).map(|factor| factor.site());
    let (Some(i), Some(j), None) = (fermions.next(), fermions.next(), fermions.next()) else { return None };
    (i != j && i.max(j) < sites).then_some((i.min(j), i.max(j)))
}

/// The signs of all sites.
///
/// # Errors
/// A hop whose ends would need other signs than the hops before give them.
pub(super) fn colours(operator: &Operator) -> Result<Colours, SymmetryError> {
    let sites = operator.kinds_or_implied().len();
    let mut hops: Vec<Vec<(usize, bool, &[Factor])>> = vec![Vec::new(); sites];
    let mut largest: HashMap<(usize, usize), f64> = HashMap::new();
    let found: Vec<_> =
        operator.terms().filter_map(|(product, value)| Some((ends(product, sites)?, product, value))).collect();
    for (pair, _, value) in &found {
        let most = largest.entry(*pair).or_insert(0.0);
        *most = most.max(value.abs());
    }
    for ((i, j), product, value) in found {
        // cos π + i sin π has an imaginary part of rounding.
        if value.abs() > ROUNDING * largest[&(i, j)] {
            let differ = product.last() != Some(&Factor::ImaginaryUnit);
            hops[i].push((j, differ, product));
            hops[j].push((i, differ, product));
        }
    }
    let mut found: Vec<Option<bool>> = vec![None; sites];
    for start in 0..sites {
        if found[start].is_some() {
            continue;
        }
        found[start] = Some(false);
        let mut next = VecDeque::from([(start, false)]);
        while let Some((site, own)) = next.pop_front() {
            for (other, differ, product) in &hops[site] {
                match found[*other] {
                    None => {
                        found[*other] = Some(own != *differ);
                        next.push_back((*other, own != *differ));
                    }
                    Some(known) if known == (own != *differ) => {}
                    Some(_) => {
                        return Err(SymmetryError::Frustrated {
                            term: product.to_vec(),
                            imaginary: !differ,
                            sites: [site, *other],
                        });
                    }
                }
            }
        }
    }
    Ok(found.into_iter().map(|colour| colour == Some(true)).collect())
}

/// The fermion modes in their order, each with its site.
pub(super) fn modes(kinds: &[SiteKind]) -> Vec<(Spin, usize)> {
    let of_site = |(site, kind): (usize, &SiteKind)| kind.modes().into_iter().map(move |mode| (mode, site));
    let mut modes: Vec<(Spin, usize)> = kinds.iter().enumerate().flat_map(of_site).collect();
    modes.sort_unstable();
    modes
}

/// Whether η is −1 of each mode in their order.
pub(super) fn mode_signs(colours: &Colours, modes: &[(Spin, usize)]) -> Vec<bool> {
    modes.iter().enumerate().map(|(number, (_, site))| colours[*site] != (number % 2 == 1)).collect()
}

/// Whether a permutation is odd.
pub(super) fn is_odd(places: &[usize]) -> bool {
    let (mut seen, mut odd) = (vec![false; places.len()], false);
    for start in 0..places.len() {
        let mut at = start;
        while !std::mem::replace(&mut seen[at], true) {
            at = places[at];
            odd ^= at != start;
        }
    }
    odd
}

/// Where an element takes each mode, by their numbers.
pub(super) fn moved_modes(element: &GroupElement, kinds: &[SiteKind], modes: &[(Spin, usize)]) -> Vec<usize> {
    let numbers: HashMap<(Spin, usize), usize> = modes.iter().enumerate().map(|(k, mode)| (*mode, k)).collect();
    let there = |(spin, site): &(Spin, usize)| (element.mode(kinds[*site], *spin), element.place[*site] as usize);
    modes.iter().map(|mode| numbers[&there(mode)]).collect()
}

/// Whether the number of fermions in the sector is odd; `None` if its charges do not tell.
fn odd_number(kinds: &[SiteKind], charges: &[(Charge, i64)]) -> Option<bool> {
    // Some of the charges whose sum is the number, up to an even one and what each site adds.
    let told_by = |chosen: usize| {
        let own = || charges.iter().enumerate().filter(|(k, _)| chosen >> k & 1 == 1).map(|(_, charge)| charge);
        let rest = |(site, kind): (usize, &SiteKind)| {
            let of_state = |state: u64| {
                let number = if kind.modes().is_empty() { 0 } else { i64::from(state.count_ones()) };
                (own().map(|(charge, _)| kind.charge(*charge, site, state)).sum::<i64>() - number).rem_euclid(2)
            };
            let first = of_state(0);
            kind.states().all(|state| of_state(state) == first).then_some(first)
        };
        let rest = kinds.iter().enumerate().map(rest).sum::<Option<i64>>()?;
        Some((own().map(|(_, value)| value).sum::<i64>() - rest).rem_euclid(2) == 1)
    };
    (1..1usize << charges.len().min(10)).find_map(told_by)
}

/// Refuses P where it is not its own inverse, and beside elements with which it does not commute.
pub(super) fn check<'g>(
    colours: &Colours,
    others: impl Iterator<Item = (&'g str, &'g GroupElement)>,
    kinds: &[SiteKind],
    charges: &[(Charge, i64)],
) -> Result<(), SymmetryError> {
    let modes = modes(kinds);
    if mode_signs(colours, &modes).iter().fold(false, |odd, sign| odd ^ sign) {
        let negative = colours.iter().filter(|colour| **colour).count();
        return Err(SymmetryError::SquareIsMinusOne { sites: kinds.len(), negative, modes: modes.len() });
    }
    for (name, element) in others {
        let refuse = |why| Err(SymmetryError::NotBesideHoles { other: name.into(), why });
        let of_fermions = || modes.iter().map(|(_, site)| *site);
        let signs: Vec<bool> =
            of_fermions().map(|site| colours[site] != colours[element.place[site] as usize]).collect();
        let changes = signs.first().copied().unwrap_or(false);
        if signs.iter().any(|sign| *sign != changes) {
            return refuse("the hops leave the lattice in several pieces, whose signs in c → ±c† it mixes");
        }
        let odd = match (changes, odd_number(kinds, charges)) {
            (false, _) => false,
            (true, Some(odd)) => odd,
            (true, None) => {
                return refuse("their order matters by the parity of the number of fermions: fix it in [sector]");
            }
        };
        if is_odd(&moved_modes(element, kinds, &modes)) != odd {
            return refuse(match name.starts_with("translation") {
                true => {
                    "in this sector they anticommute: particle_hole takes k to k + half the length, so no state has both"
                }
                false => {
                    "in this sector they anticommute: particle_hole takes its eigenvalue to the opposite, so no state has both"
                }
            });
        }
    }
    Ok(())
}

/// A product in which each site of hard-core bosons has one of 1, b†, b and b†b, as a sum of such.
pub(super) fn without_pairs(kinds: &[SiteKind], product: &Product) -> Vec<(Product, f64)> {
    let is_hard = |factor: &Factor| factor.is_boson() && kinds[factor.site()].has_holes();
    if !product.iter().any(is_hard) {
        return vec![(product.clone(), 1.0)];
    }
    let mut sum = vec![(Product::new(), 1.0)];
    for run in product.chunk_by(|a, b| is_hard(a) && is_hard(b) && a.site() == b.site()) {
        let local = if is_hard(&run[0]) { hard_core(run) } else { vec![(run.to_vec(), 1.0)] };
        let with = |(before, weight): &(Product, f64)| {
            let joined = |(more, factor): &(Product, f64)| ([&before[..], more].concat(), weight * factor);
            local.iter().map(joined).collect::<Vec<_>>()
        };
        sum = sum.iter().flat_map(with).collect();
    }
    sum
}

/// A product of b† and b of one site that holds at most one boson.
fn hard_core(factors: &[Factor]) -> Vec<(Product, f64)> {
    let site = factors[0].site();
    let applied = |start: bool| {
        factors.iter().rev().try_fold(start, |full, factor| {
            let creates = matches!(factor, Factor::CreateBoson(_));
            (creates != full).then_some(creates)
        })
    };
    let number = vec![Factor::CreateBoson(site), Factor::AnnihilateBoson(site)];
    match [applied(false), applied(true)] {
        [Some(true), _] => vec![(vec![Factor::CreateBoson(site)], 1.0)],
        [Some(false), _] => vec![(Vec::new(), 1.0), (number, -1.0)],
        [None, Some(false)] => vec![(vec![Factor::AnnihilateBoson(site)], 1.0)],
        [None, Some(true)] => vec![(number, 1.0)],
        [None, None] => Vec::new(),
    }
}
