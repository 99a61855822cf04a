//! Sites and states in the order that suits the multiply.
//!
//! A multiply cuts the state word in two; a term that acts on both parts costs more than one that acts on one. On a lattice in two
//! dimensions the order of the lattice cuts many bonds. Here the sites are divided anew, so that few terms cross the cut (by swaps,
//! annealed), those with terms across next to it: inner sites of the low part, its border, the border of the high part, its inner
//! sites. Then the states stand by the charge of the high part of their word, and within one by the charge of its upper half: terms on
//! either part leave it as it is. Cards that share a vector have neighbouring charges each, and read few elements of each other's.
//! The model in this order is what solvers work on; states, averages and vectors keep the user's numbers.
//!
//! In: a model. Out: the same model in this order, and the way back for vectors; none where little is gained.

use super::model::Model;
use super::structure::Moves;
use eigenforge_core::observable::Observable;
use eigenforge_core::operator::{SiteKind, Spin, Word};
use eigenforge_runtime::Scalar;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// States below which a multiply takes no time that matters.
const LEAST_STATES: u64 = 20_000;
/// Share of the terms across that must remain at most for the effort to pay.
const LARGEST_SHARE: f64 = 0.8;
/// Annealed searches, swaps in each.
const SEARCHES: u64 = 6;
const SWAPS: u32 = 20_000;

/// A model with other site numbers, or states in another order.
#[derive(Debug)]
pub(super) struct Renumbered {
    /// The model that is solved.
    pub(super) model: Model,
    /// The number there of each of the user's sites; `None` where sites keep their numbers.
    place: Option<Vec<usize>>,
}

/// Bits of a site, if all sites have as many and the sector's words are cut between sites.
fn uniform_bits(model: &Model) -> Option<u32> {
    match model.basis().word() {
        Word::Fermions { .. } => None,
        Word::Spins { width, .. } => Some(*width),
        Word::Sites(layout) => {
            let bits = layout.kinds().first()?.bits();
            layout.kinds().iter().all(|kind| kind.bits() == bits).then_some(bits)
        }
    }
}

/// New numbers of the sites, so that fewer terms cross the cut; `None` where little is gained.
fn site_order(model: &Model) -> Option<Vec<usize>> {
    let Moves::General(groups) = &model.structure().moves else { return None };
    let (bits, sites) = (uniform_bits(model)?, model.sites());
    if !model.operator().forbidden().is_empty() {
        return None;
    }
    let tables = model.basis().lin_tables().ok()?;
    let low_bits = super::general::lists::columns::cut_for_blocks(&tables, model.is_complex())
        .map_or(tables.low_bits, |cut| cut.low_bits);
    let low_sites = ((low_bits / bits) as usize).min(sites);
    // The sites of each term, with the number of terms on them.
    let mut on_sites: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for group in groups {
        for term in &group.terms {
            let touched = |site: &usize| (group.flip | term.care) >> (*site as u32 * bits) & ((1 << bits) - 1) != 0;
            *on_sites.entry((0..sites).filter(touched).collect()).or_insert(0.0) += 1.0;
        }
    }
    let terms: Vec<(Vec<usize>, f64)> = on_sites.into_iter().filter(|(sites, _)| sites.len() > 1).collect();
    Some(Cut::new(sites, low_sites, &terms)?.order())
}

impl Renumbered {
    pub(super) fn new(model: &Model) -> Option<Renumbered> {
        if !matches!(model.structure().moves, Moves::General(_)) || model.dimension() < LEAST_STATES {
            return None;
        }
        let place = site_order(model);
        let renumbered = match &place {
            Some(place) => {
                let numbers: Vec<String> = place.iter().map(usize::to_string).collect();
                let numbers = numbers.join(", ");
                let remark =
                    format!("sites have other numbers here, so that few terms cross the cut: 0, 1, 2 … are {numbers}");
                Some(model.rewritten(model.operator().with_sites_at(place), remark).ok()?)
            }
            None => None,
        };
        let model = renumbered.as_ref().unwrap_or(model).by_charge().or(renumbered)?;
        Some(Renumbered { model, place })
    }

    /// An observable in the numbers of the model.
    pub(super) fn observable(&self, observable: &Observable) -> Observable {
        let Some(place) = &self.place else { return observable.clone() };
        let operators = observable.operators.iter().map(|operator| operator.with_sites_at(place)).collect();
        Observable { operators, ..observable.clone() }
    }

    /// A vector of the model as one of the user's.
    pub(super) fn vector<T: Scalar>(&self, user: &Model, vector: &[T]) -> Vec<T> {
        let basis = self.model.basis();
        let kinds = user.site_kinds();
        // Every state of a sector is one of the same sector with other numbers.
        let value = |index: Option<u64>| index.map_or(f64::NAN, |index| vector[index as usize].to_f64());
        let element = |index: usize| match &self.place {
            None => T::from_f64(value(basis.index(user.basis().state(index as u64)))),
            Some(place) => {
                let (moved, minus) = moved(place, &kinds, &user.basis().configuration(index as u64));
                let value = value(basis.index_of(&moved));
                T::from_f64(if minus { -value } else { value })
            }
        };
        (0..vector.len()).into_par_iter().map(element).collect()
    }
}

/// A configuration with its sites moved, and whether the fermions change sign on the way.
fn moved(place: &[usize], kinds: &[SiteKind], state: &[u32]) -> (Vec<u32>, bool) {
    let digits = |kind: &SiteKind| kind.modes().len().max(1);
    let own: Vec<usize> = kinds.iter().map(digits).collect();
    let starts = |lengths: &[usize]| -> Vec<usize> {
        lengths
            .iter()
            .scan(0, |sum, length| {
                *sum += length;
                Some(*sum - length)
            })
            .collect()
    };
    let (mut there, first) = (vec![0; own.len()], starts(&own));
    place.iter().zip(&own).for_each(|(to, length)| there[*to] = *length);
    let first_there = starts(&there);
    let mut moved = state.to_vec();
    for (site, there) in place.iter().enumerate() {
        moved[first_there[*there]..][..own[site]].copy_from_slice(&state[first[site]..][..own[site]]);
    }
    let mut minus = false;
    let mut spins: Vec<Spin> = kinds.iter().flat_map(|kind| kind.modes()).collect();
    spins.sort_unstable();
    spins.dedup();
    for spin in spins {
        let occupied = |site: &usize| {
            let mode = kinds[*site].modes().iter().position(|mode| *mode == spin);
            mode.is_some_and(|mode| state[first[*site] + mode] == 1)
        };
        let places: Vec<usize> = (0..kinds.len()).filter(occupied).map(|site| place[site]).collect();
        for (k, place) in places.iter().enumerate() {
            minus ^= places[..k].iter().filter(|earlier| *earlier > place).count() % 2 == 1;
        }
    }
    (moved, minus)
}

/// Sites divided into the low part and the rest.
struct Cut<'a> {
    low: Vec<bool>,
    terms: &'a [(Vec<usize>, f64)],
}

impl<'a> Cut<'a> {
    /// The best division that was found; `None` if that of the lattice is nearly as good.
    fn new(sites: usize, low_sites: usize, terms: &'a [(Vec<usize>, f64)]) -> Option<Cut<'a>> {
        if low_sites == 0 || low_sites == sites {
            return None;
        }
        let own = Cut { low: (0..sites).map(|site| site < low_sites).collect(), terms };
        let of_site: Vec<Vec<usize>> =
            (0..sites).map(|site| (0..terms.len()).filter(|term| terms[*term].0.contains(&site)).collect()).collect();
        let found = (0..SEARCHES).map(|seed| own.annealed(&of_site, seed));
        let best = found.min_by(|a, b| a.cost().total_cmp(&b.cost()))?;
        (best.cost() <= LARGEST_SHARE * own.cost()).then_some(best)
    }

    fn is_cut(&self, term: usize) -> bool {
        let sites = &self.terms[term].0;
        sites.iter().any(|site| self.low[*site] != self.low[sites[0]])
    }

    fn cost(&self) -> f64 {
        (0..self.terms.len()).filter(|term| self.is_cut(*term)).map(|term| self.terms[term].1).sum()
    }

    /// Swaps of a low site for a high one, at a temperature that falls to zero.
    fn annealed(&self, of_site: &[Vec<usize>], seed: u64) -> Cut<'a> {
        let mut cut = Cut { low: self.low.clone(), terms: self.terms };
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..cut.low.len()).partition(|site| cut.low[*site]);
        let hottest = self.terms.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
        for swap in 0..SWAPS {
            let (a, b) = (random() as usize % low.len(), random() as usize % high.len());
            let touched: std::collections::BTreeSet<usize> =
                of_site[low[a]].iter().chain(&of_site[high[b]]).copied().collect();
            let cost = |cut: &Cut<'_>| -> f64 {
                touched.iter().filter(|term| cut.is_cut(**term)).map(|term| cut.terms[*term].1).sum()
            };
            let before = cost(&cut);
            (cut.low[low[a]], cut.low[high[b]]) = (false, true);
            let rise = cost(&cut) - before;
            let temperature = 2.0 * hottest * (1.0 - f64::from(swap) / f64::from(SWAPS)).powi(2);
            let chance = random() as f64 / u64::MAX as f64;
            if rise <= 0.0 || chance < (-rise / temperature.max(1e-300)).exp() {
                std::mem::swap(&mut low[a], &mut high[b]);
            } else {
                (cut.low[low[a]], cut.low[high[b]]) = (true, false);
            }
        }
        cut
    }

    /// The new number of each site.
    fn order(&self) -> Vec<usize> {
        let sites = self.low.len();
        let at_border =
            |site: usize| (0..self.terms.len()).any(|term| self.terms[term].0.contains(&site) && self.is_cut(term));
        let mut order: Vec<usize> = (0..sites).collect();
        order.sort_by_key(|site| match (self.low[*site], at_border(*site)) {
            (true, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
            (false, false) => 3,
        });
        let mut place = vec![0; sites];
        order.into_iter().enumerate().for_each(|(number, site)| place[site] = number);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eigenforge_core::lattice::Lattice;

    #[test]
    fn a_kagome_torus_is_cut_along_few_bonds() {
        let lattice = Lattice::kagome([4, 2]).periodic();
        let terms: Vec<(Vec<usize>, f64)> = lattice.bonds().iter().map(|bond| (vec![bond.i, bond.j], 1.0)).collect();
        let own = Cut { low: (0..24).map(|site| site < 12).collect(), terms: &terms };
        let cut = Cut::new(24, 12, &terms).unwrap();
        assert!(cut.cost() <= 0.8 * own.cost(), "{} of {}", cut.cost(), own.cost());
        assert_eq!(cut.low.iter().filter(|low| **low).count(), 12);
        let mut order = cut.order();
        assert!(order.iter().zip(&cut.low).all(|(place, low)| (*place < 12) == *low));
        order.sort_unstable();
        assert_eq!(order, (0..24).collect::<Vec<_>>());
    }

    #[test]
    fn a_ring_keeps_its_order() {
        let terms: Vec<(Vec<usize>, f64)> = (0..20).map(|i| (vec![i, (i + 1) % 20], 1.0)).collect();
        assert!(Cut::new(20, 10, &terms).is_none());
    }
}
