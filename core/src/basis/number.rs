//! How many states a sector has, before any of them is listed.
//!
//! In: a layout, charges with their values, what is forbidden. Out: the number, or none where counting would be long work itself.
//!
//! Sites are taken one after another. What matters of those so far are the sums of the charges, and the digits that a forbidden
//! pattern may still complete; states that agree in these are counted together. Where every site's states are a product of one
//! factor per charge, as up and down electrons or flavours are, the number is a product too, and each charge is counted alone.

use crate::operator::{Charge, SiteLayout};
use std::collections::HashMap;

/// Most states of a sector before symmetries: a vector of them has 32 TiB, and a group of 1,000 elements leaves 4.4e9, more than a
/// symmetry sector may have.
pub(super) const MOST_STATES: u128 = 1 << 42;

/// Most steps of a count, each of some 100 ns.
const MOST_STEPS: usize = 2_000_000;

/// Local states of a site by their charges, in the order of the layout.
type Local = Vec<(u64, Vec<i64>)>;

/// What is still open of the sites so far: the sums of the charges, and the digits (mask and values) that patterns in progress look at.
type Open = (Vec<i64>, u128, u128);

/// The number of states with these charges, without those that the layout forbids, at most `u128::MAX`; `None` if it takes too long to
/// count.
pub(super) fn number(layout: &SiteLayout, charges: &[(Charge, i64)]) -> Option<u128> {
    let kinds: Vec<Charge> = charges.iter().map(|(charge, _)| *charge).collect();
    let sites: Vec<Local> = (0..layout.parts()).map(|site| layout.local_states(site, &kinds)).collect();
    if layout.forbidden().is_empty()
        && charges.len() > 1
        && let Some(factors) = sites.iter().map(factors).collect::<Option<Vec<_>>>()
    {
        let of_charge = |k: usize| {
            let own: Vec<Local> = factors.iter().map(|(_, factors)| factors[k].clone()).collect();
            sum_over_sites(layout, &own, &charges[k..=k])
        };
        let copies = factors.iter().fold(1u128, |product, (copies, _)| product.saturating_mul(*copies));
        return (0..charges.len()).try_fold(copies, |product, k| Some(product.saturating_mul(of_charge(k)?)));
    }
    sum_over_sites(layout, &sites, charges)
}

/// The states of a site as one factor per charge, if they are a product: each factor has the values of one charge, each once. With how
/// many states there are for each combination.
fn factors(site: &Local) -> Option<(u128, Vec<Local>)> {
    let charges = site.first()?.1.len();
    let values = |k: usize| {
        let mut values: Vec<i64> = site.iter().map(|(_, values)| values[k]).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let all: Vec<Vec<i64>> = (0..charges).map(values).collect();
    let product = all.iter().try_fold(1usize, |product, values| product.checked_mul(values.len()))?;
    let mut seen: Vec<&Vec<i64>> = site.iter().map(|(_, values)| values).collect();
    seen.sort_unstable();
    let copies: Vec<usize> = seen.chunk_by(|a, b| a == b).map(<[_]>::len).collect();
    let is_product = product == copies.len() && copies.iter().all(|number| *number == copies[0]);
    let factor = |values: Vec<i64>| values.into_iter().map(|value| (0, vec![value])).collect();
    is_product.then(|| (copies[0] as u128, all.into_iter().map(factor).collect()))
}

/// Counts site by site, with what is forbidden.
fn sum_over_sites(layout: &SiteLayout, sites: &[Local], charges: &[(Charge, i64)]) -> Option<u128> {
    let bounds = bounds(sites, charges);
    let wanted: Vec<i64> = charges.iter().map(|(charge, value)| charge.folded(*value)).collect();
    let reachable = |sums: &[i64], site: usize| {
        let (least, most) = &bounds[site];
        let mut each = charges.iter().zip(sums).zip(&wanted).zip(least.iter().zip(most));
        each.all(|((((charge, _), sum), wanted), (least, most))| {
            charge.modulo().is_some() || (sum + least <= *wanted && *wanted <= sum + most)
        })
    };
    let patterns = layout.forbidden().len();
    let mut counts: HashMap<Open, u128> = HashMap::from([((vec![0; charges.len()], 0, 0), 1)]);
    let mut steps = 0;
    for (site, local) in sites.iter().enumerate() {
        let mut next = HashMap::new();
        for ((sums, mask, bits), number) in &counts {
            steps += local.len() * (1 + patterns / 64);
            if steps > MOST_STEPS {
                return None;
            }
            for (state, values) in local {
                let each = charges.iter().zip(sums.iter().zip(values));
                let sums: Vec<i64> = each.map(|((charge, _), (sum, value))| charge.folded(sum + value)).collect();
                if !reachable(&sums, site + 1) {
                    continue;
                }
                let Some((mask, bits)) = open(layout, site, (*mask, *bits), *state) else { continue };
                let total: &mut u128 = next.entry((sums, mask, bits)).or_insert(0);
                *total = total.saturating_add(*number);
            }
        }
        counts = next;
    }
    let found = counts.into_iter().filter(|((sums, ..), _)| *sums == wanted);
    Some(found.fold(0u128, |sum, (_, number)| sum.saturating_add(number)))
}

/// Of each site: the least and the most that it and those above add to each charge.
fn bounds(sites: &[Local], charges: &[(Charge, i64)]) -> Vec<(Vec<i64>, Vec<i64>)> {
    let none = vec![0i64; charges.len()];
    let mut bounds = vec![(none.clone(), none)];
    for local in sites.iter().rev() {
        let (least, most) = bounds.last().cloned().unwrap_or_default();
        let values = |k: usize| local.iter().map(move |(_, values)| values[k]);
        let add = |sums: Vec<i64>, of: &dyn Fn(usize) -> Option<i64>| -> Vec<i64> {
            sums.iter().enumerate().map(|(k, sum)| sum + of(k).unwrap_or(0)).collect()
        };
        bounds.push((add(least, &|k| values(k).min()), add(most, &|k| values(k).max())));
    }
    bounds.reverse();
    bounds
}

/// The bits of all sites from this one up.
fn above(layout: &SiteLayout, site: usize) -> u128 {
    u128::MAX.checked_shl(layout.shift(site)).unwrap_or(0)
}

/// The digits (mask and values) that patterns in progress look at once a site is in a state; `None` if a pattern is complete.
fn open(layout: &SiteLayout, site: usize, (mask, bits): (u128, u128), state: u64) -> Option<(u128, u128)> {
    if layout.forbidden().is_empty() {
        return Some((0, 0));
    }
    let above = above(layout, site + 1);
    let mask = mask | (self::above(layout, site) & !above);
    let (bits, mut kept) = (bits | u128::from(state) << layout.shift(site), 0);
    for rule in layout.forbidden() {
        let so_far = rule.mask & !above;
        // Digits that no pattern in progress looks at are no longer known, and a rule that looks at one has failed before.
        let is_open = so_far != 0 && so_far & !mask == 0 && bits & so_far == rule.pattern & so_far;
        match (is_open, rule.mask & above == 0) {
            (true, true) => return None,
            (true, false) => kept |= so_far,
            (false, _) => {}
        }
    }
    Some((kept, bits & kept))
}

#[cfg(test)]
mod tests {
    use super::super::listed;
    use super::*;
    use crate::operator::{SiteKind, SiteSum};
    use std::time::Instant;

    /// Every count is the length of the list.
    #[test]
    fn counts_are_lengths_of_lists() {
        let kinds = [
            SiteKind::Electrons,
            SiteKind::Bosons { most: 2 },
            SiteKind::Moments { two_s: 2 },
            SiteKind::Tj,
            SiteKind::Flavours(3),
            SiteKind::Qubits,
            SiteKind::Bosons { most: 1 },
        ];
        let plain = SiteLayout::new(&kinds);
        let mut forbidding = plain.clone();
        // Overlapping, distant and repeated patterns, one inside another.
        for pattern in
            [&[(1, 1), (2, 0)][..], &[(0, 3)], &[(0, 1), (6, 1)], &[(3, 0), (4, 5), (5, 0)], &[(3, 0), (4, 5)]]
        {
            forbidding.forbid(pattern);
        }
        let mut sectors = vec![Vec::new(), vec![(Charge::Parity, 1)], vec![(Charge::Parity, -1)]];
        let sum = |modulo| Charge::OfSites(SiteSum::new("q", &[1, -2, 3, 0, 5, -1, 2], modulo));
        for value in -1..=4 {
            sectors.push(vec![(sum(None), value), (Charge::Particles, 3)]);
            sectors.push(vec![(sum(Some(3)), value)]);
            sectors.push(vec![(Charge::Bosons, value)]);
            sectors.push(vec![(Charge::TwoSz, value), (Charge::Particles, 2)]);
            sectors.push(vec![(Charge::Bosons, value), (Charge::Parity, 1)]);
        }
        for layout in [&plain, &forbidding, &plain.clone().complex(), &forbidding.clone().complex()] {
            for charges in &sectors {
                let listed = listed::words(layout, charges).unwrap().len();
                assert_eq!(number(layout, charges), Some(listed as u128), "{charges:?}");
            }
        }
    }

    /// Sites without occupied neighbours: F(62) of Fibonacci's numbers on an open chain of 60, L(60) of Lucas' on the ring.
    #[test]
    fn large_sectors_are_counted_at_once() {
        let started = Instant::now();
        let mut open = SiteLayout::new(&[SiteKind::Bosons { most: 1 }; 60]);
        (0..59).for_each(|site| open.forbid(&[(site, 1), (site + 1, 1)]));
        assert_eq!(number(&open, &[]), Some(4_052_739_537_881));
        let mut ring = open.clone();
        ring.forbid(&[(59, 1), (0, 1)]);
        assert_eq!(number(&ring, &[]), Some(3_461_452_808_002));
        let flavours = SiteLayout::new(&[SiteKind::Flavours(6); 20]);
        let ten: Vec<(Charge, i64)> = (0..6).map(|flavour| (Charge::Flavour(flavour), 10)).collect();
        assert_eq!(number(&flavours, &ten), Some(184_756u128.pow(6)));
        let spins = SiteLayout::new(&[SiteKind::Moments { two_s: 3 }; 24]);
        assert_eq!(number(&spins, &[(Charge::TwoSz, 0)]), Some(20_356_299_454_276));
        assert!(started.elapsed().as_secs_f64() < 2.0, "{:?}", started.elapsed());
    }
}
