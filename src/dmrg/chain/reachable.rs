//! The charges that the part of a chain left of a cut can have in a sector.

use super::charges::{COUNT, Charges};
use super::site::Site;
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
    pub(crate) fn new(site: &Site, sites: usize, total: Charges) -> Reachable {
        // Fractions of all configurations: numbers of states overflow, and small fractions may vanish only where a
        // charge is as good as never reached.
        let weight = 1.0 / site.dimension() as f64;
        let extreme = |pick: fn(i32, i32) -> i32| -> Charges {
            let all = site.charges().iter().copied();
            let both = |a: Charges, b: Charges| Charges(std::array::from_fn(|k| pick(a.0[k], b.0[k])));
            all.reduce(both).unwrap_or_default()
        };
        let (least, most) = (extreme(i32::min), extreme(i32::max));
        // The charges that this many sites can hold: beyond them the rest of the chain cannot reach the total.
        let holds = |sites: usize, charges: Charges| {
            let n = sites as i32;
            (0..COUNT).all(|k| (n * least.0[k]..=n * most.0[k]).contains(&charges.0[k]))
        };
        let grow = |from: &BTreeMap<Charges, f64>, sign: i32, p: usize| {
            let mut grown = BTreeMap::new();
            for (charges, fraction) in from {
                for state in site.charges() {
                    let step = if sign > 0 { *charges + *state } else { *charges - *state };
                    if holds(p, step) && holds(sites - p, total - step) {
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
    pub(crate) fn labels(site: &Site, sites: usize, total: Charges) -> u128 {
        let range = |k: usize| -> (i128, i128, i128) {
            let all: Vec<i128> = site.charges().iter().map(|charges| charges.0[k].into()).collect();
            let (least, most) = (all.iter().min().copied().unwrap_or(0), all.iter().max().copied().unwrap_or(0));
            // 2Sz changes in steps of 2: the charges of a block are spaced like those of a site.
            let step = all.iter().map(|charge| charge - least).filter(|apart| *apart > 0).min().unwrap_or(1);
            (least, most, step)
        };
        let ranges: Vec<(i128, i128, i128)> = (0..COUNT).map(range).collect();
        let at = |p: usize| -> u128 {
            let (left, right) = (p as i128, (sites - p) as i128);
            let number = |(k, (least, most, step)): (usize, &(i128, i128, i128))| {
                let total = i128::from(total.0[k]);
                let low = (left * least).max(total - right * most);
                let high = (left * most).min(total - right * least);
                if high < low { 0 } else { ((high - low) / step + 1) as u128 }
            };
            ranges.iter().enumerate().map(number).fold(1u128, u128::saturating_mul)
        };
        (0..=sites).map(at).fold(0, u128::saturating_add)
    }

    /// No limit at any cut: for blocks of chains that still grow.
    pub(crate) fn everything() -> Reachable {
        Reachable { cuts: Vec::new(), everything: true, fraction: 1.0 }
    }

    /// Number of states of the chain in its sector; approximate beyond 2⁵³.
    pub(crate) fn dimension(&self, site: &Site, sites: usize) -> f64 {
        (self.fraction * (site.dimension() as f64).powi(sites as i32)).round()
    }

    /// Whether the part left of cut `p` may have these charges.
    pub(crate) fn allows(&self, p: usize, left: Charges) -> bool {
        self.everything || self.cuts[p].contains_key(&left)
    }

    /// Charges and fractions at cut `p`.
    pub(crate) fn at(&self, p: usize) -> &BTreeMap<Charges, f64> {
        &self.cuts[p]
    }
}

#[cfg(test)]
mod tests {
    use super::super::charges::QuantumNumbers;
    use super::*;
    use crate::basis::Sector;
    use crate::operator::{Operator, build};

    /// The count equals the length of the list where charges fill their ranges, and is never below it.
    #[test]
    fn labels_are_counted_before_they_are_listed() {
        for two_sz in [0, 2, -4] {
            let ring = (0..8).map(|i| build::sdots(i, (i + 1) % 8)).sum::<Operator>();
            let numbers = QuantumNumbers::from(Sector::Spins { two_sz });
            let (site, total) = (Site::of(&ring.reduced(), &numbers.charges()), numbers.total());
            let listed: usize = (0..=8).map(|p| Reachable::new(&site, 8, total).at(p).len()).sum();
            assert_eq!(Reachable::labels(&site, 8, total), listed as u128);
            assert!(Reachable::labels(&site, 1 << 20, Charges::default()) > 1 << 30);
        }
    }
}
