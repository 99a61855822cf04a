//! The charges that the part of a chain left of a cut can have in a sector.

use super::charges::{COUNT, Charges};
use super::site::Site;
use super::site_list::SiteList;
use std::collections::BTreeMap;

/// For every cut, the charges that the left part can have in the sector, and how many states of the whole chain have them
/// (as a fraction of the sector): the distribution at infinite temperature.
#[derive(Clone, Debug)]
pub(crate) struct Reachable {
    /// `cuts[p]`: charge of sites 0 … p−1 → fraction; p from 0 to N.
    cuts: Vec<BTreeMap<Charges, f64>>,
    everything: bool,
    /// The fraction of all configurations that lies in the sector.
    fraction: f64,
}

impl Reachable {
    /// Counts configurations from both ends.
    pub(crate) fn new(local: &SiteList, total: Charges) -> Reachable {
        let sites = local.len();
        // The charges that the parts beside a cut can hold: beyond them they cannot add up to the total.
        let (least, most) = (from_the_left(local, i32::min), from_the_left(local, i32::max));
        let holds = |p: usize, charges: Charges| {
            let left = |k: usize| (least[p].0[k]..=most[p].0[k]).contains(&charges.0[k]);
            let (low, high) = (least[sites] - least[p], most[sites] - most[p]);
            let right = |k: usize| (low.0[k]..=high.0[k]).contains(&(total.0[k] - charges.0[k]));
            (0..COUNT).all(|k| left(k) && right(k))
        };
        let grow = |from: &BTreeMap<Charges, f64>, sign: i32, p: usize| {
            // Fractions of all configurations: numbers of states overflow, and small fractions may vanish only where a
            // charge is as good as never reached.
            let site = local.site(if sign > 0 { p - 1 } else { p });
            let weight = 1.0 / site.dimension() as f64;
            let mut grown = BTreeMap::new();
            for (charges, fraction) in from {
                for state in site.charges() {
                    let step = if sign > 0 { *charges + *state } else { *charges - *state };
                    if holds(p, step) {
                        *grown.entry(step).or_insert(0.0) += weight * fraction;
                    }
                }
            }
            grown
        };
        let mut left = vec![BTreeMap::from([(Charges::default(), 1.0)])];
        let mut right = vec![BTreeMap::from([(total, 1.0)])];
        for p in 0..sites {
            left.push(grow(&left[p], 1, p + 1));
            right.push(grow(&right[p], -1, sites - 1 - p));
        }
        let cut = |p: usize| {
            let (left, right) = (&left[p], &right[sites - p]);
            let both: BTreeMap<Charges, f64> = left.iter().filter_map(|(q, a)| Some((*q, a * right.get(q)?))).collect();
            let sum: f64 = both.values().sum();
            both.into_iter().map(|(q, f)| (q, if sum > 0.0 { f / sum } else { 0.0 })).collect()
        };
        let fraction = left[sites].get(&total).copied().unwrap_or(0.0);
        Reachable { cuts: (0..=sites).map(cut).collect(), everything: false, fraction }
    }

    /// Upper bound on the labels of all cuts together, from what the left part and the rest can hold of each charge.
    pub(crate) fn labels(local: &SiteList, total: Charges) -> u128 {
        let sites = local.len();
        let (least, most) = (from_the_left(local, i32::min), from_the_left(local, i32::max));
        // 2Sz changes in steps of 2: the charges of a block are spaced like those of its sites.
        let step = |k: usize| {
            let apart = |site: &Site| -> u32 {
                let first = site.charges()[0].0[k];
                site.charges().iter().fold(0, |step, charges| common_divisor(step, charges.0[k].abs_diff(first)))
            };
            i128::from(local.counted().map(|(site, _)| apart(site)).fold(0, common_divisor).max(1))
        };
        let steps: [i128; COUNT] = std::array::from_fn(step);
        let bits = local.counted().flat_map(|(site, _)| site.charges()).fold(0, |bits, charges| bits | charges.1);
        let irreps = 1u128 << bits.count_ones();
        let at = |p: usize| -> u128 {
            let number = |k: usize| {
                let at = |cut: &Charges| i128::from(cut.0[k]);
                let (total, low, high) = (i128::from(total.0[k]), at(&least[p]), at(&most[p]));
                let low = low.max(total - (at(&most[sites]) - high));
                let high = high.min(total - (at(&least[sites]) - at(&least[p])));
                if high < low { 0 } else { ((high - low) / steps[k] + 1) as u128 }
            };
            (0..COUNT).map(number).fold(irreps, u128::saturating_mul)
        };
        (0..=sites).map(at).fold(0, u128::saturating_add)
    }

    /// No limit at any cut: for blocks of chains that still grow.
    pub(crate) fn everything() -> Reachable {
        Reachable { cuts: Vec::new(), everything: true, fraction: 1.0 }
    }

    /// Number of states of the chain in its sector; approximate beyond 2⁵³.
    pub(crate) fn dimension(&self, local: &SiteList) -> f64 {
        (self.fraction * local.configurations()).round()
    }

    /// Whether the part left of cut `p` may have these charges.
    pub(crate) fn allows(&self, p: usize, left: Charges) -> bool {
        self.everything || self.cuts[p].contains_key(&left)
    }

    /// Charges and fractions at cut `p`.
    pub(crate) fn cut(&self, p: usize) -> &BTreeMap<Charges, f64> {
        &self.cuts[p]
    }
}

/// The extreme charges that the sites left of each cut can hold together.
fn from_the_left(local: &SiteList, pick: fn(i32, i32) -> i32) -> Vec<Charges> {
    let both = |a: Charges, b: Charges| Charges(std::array::from_fn(|k| pick(a.0[k], b.0[k])), 0);
    let extreme = |site: &Site| site.charges().iter().copied().reduce(both).unwrap_or_default();
    let next = |sum: &mut Charges, site: &Site| {
        *sum = *sum + extreme(site);
        Some(*sum)
    };
    std::iter::once(Charges::default()).chain(local.iter().scan(Charges::default(), next)).collect()
}

/// The greatest common divisor; the other number if one is 0.
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::site_list::kinds_of;
    use super::*;
    use eigenforge_core::basis::Sector;
    use eigenforge_core::operator::{Operator, build};

    /// The count equals the length of the list where charges fill their ranges, and is never below it.
    #[test]
    fn labels_are_counted_before_they_are_listed() {
        for two_sz in [0, 2, -4] {
            let ring = (0..8).map(|i| build::sdots(i, (i + 1) % 8)).sum::<Operator>();
            let numbers = Sector::Spins { two_sz };
            let ring = ring.reduced();
            let (charges, total) = (numbers.charges(), Charges::total(&numbers.charge_values()));
            let local = SiteList::new(&kinds_of(&ring, &charges), &charges);
            let listed: usize = (0..=8).map(|p| Reachable::new(&local, total).cut(p).len()).sum();
            assert_eq!(Reachable::labels(&local, total), listed as u128);
            let long = SiteList::new(&vec![local.site(0).kind.unwrap(); 1 << 20], &charges);
            assert!(Reachable::labels(&long, Charges::default()) > 1 << 30);
        }
    }
}
