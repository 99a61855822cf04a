//! The words of a sector in one ascending list: for states of more than 64 bits, whose sectors must be small.
//!
//! In: a layout of at most 128 bits, charges with their values. Out: how many words have them, and the list.
//!
//! A node is a site with what the sites below it still have to add up to; a sum that they cannot reach is no node. So the list is a walk from the highest site down that ends in a word on every path
//! (less those that [`SiteLayout::forbid`] cuts off, at the first site that completes a forbidden pattern). Neither visits words
//! outside the sector.

use super::number::number;
use crate::operator::{Charge, OperatorError, SiteLayout};
use std::collections::HashMap;

/// Most words in a list: 1 GiB.
const MOST_LISTED: u64 = 1 << 26;

/// Most nodes of one site: sums of several charges, far more than a sector of [`MOST_LISTED`] words has in practice.
const MOST_SUMS: usize = 1 << 20;

/// What a site can be in: the local state, and the node of the site below.
type Branch = (u128, u32);

/// The nodes of a sector, site by site from the lowest.
struct Nodes {
    /// Of each site and node: its local states, ascending.
    branches: Vec<Vec<Vec<Branch>>>,
    /// Words of the sector without regard to what is forbidden, at most `u128::MAX`.
    words: u128,
}

/// Local states of a site with charges as they are added up: from 0 up, or modulo a number.
fn local(layout: &SiteLayout, site: usize, charges: &[(Charge, i64)]) -> (Vec<(u64, Vec<i64>)>, Vec<i64>) {
    let kinds: Vec<Charge> = charges.iter().map(|(charge, _)| *charge).collect();
    let mut states = layout.local_states(site, &kinds);
    let least = |k: usize| match kinds[k].modulo() {
        Some(_) => 0,
        None => states.iter().map(|(_, values)| values[k]).min().unwrap_or(0),
    };
    let least: Vec<i64> = (0..kinds.len()).map(least).collect();
    for (_, values) in &mut states {
        values.iter_mut().zip(&least).for_each(|(value, least)| *value -= least);
    }
    (states, least)
}

impl Nodes {
    /// `None` if there are too many to be counted.
    fn new(layout: &SiteLayout, charges: &[(Charge, i64)]) -> Option<Nodes> {
        let of_sites: Vec<_> = (0..layout.parts()).map(|site| local(layout, site, charges)).collect();
        let wanted = |(k, (charge, value)): (usize, &(Charge, i64))| {
            charge.folded(value.saturating_sub(of_sites.iter().map(|(_, least)| least[k]).sum()))
        };
        let wanted: Vec<i64> = charges.iter().enumerate().map(wanted).collect();
        // The most that the sites above can add.
        let mut above = vec![vec![0; charges.len()]];
        for (states, _) in of_sites.iter().rev() {
            let last = above.last().cloned().unwrap_or_default();
            let most = |k: usize| last[k] + states.iter().map(|(_, values)| values[k]).max().unwrap_or(0);
            above.push((0..charges.len()).map(most).collect());
        }
        above.reverse();
        let is_open = |sums: &[i64], above: &[i64]| {
            let each = charges.iter().zip(sums).zip(wanted.iter().zip(above));
            each.into_iter().all(|(((charge, _), sum), (wanted, above))| {
                charge.modulo().is_some() || (*sum <= *wanted && sum + above >= *wanted)
            })
        };
        let mut numbers = HashMap::from([(vec![0i64; charges.len()], 0u32)]);
        let (mut branches, mut counts) = (Vec::new(), vec![1u128]);
        for (site, (states, _)) in of_sites.iter().enumerate() {
            let (mut next, mut of_site) = (HashMap::new(), Vec::<Vec<Branch>>::new());
            // State by state, so that those of a node ascend.
            for (state, values) in states {
                for (sums, below) in &numbers {
                    let each = charges.iter().zip(sums.iter().zip(values));
                    let sums: Vec<i64> = each.map(|((charge, _), (sum, value))| charge.folded(sum + value)).collect();
                    if !is_open(&sums, &above[site + 1]) {
                        continue;
                    }
                    let node = *next.entry(sums).or_insert_with(|| {
                        of_site.push(Vec::new());
                        of_site.len() as u32 - 1
                    });
                    of_site[node as usize].push((u128::from(*state) << layout.shift(site), *below));
                }
            }
            if of_site.len() > MOST_SUMS {
                return None;
            }
            let count = |node: &Vec<Branch>| {
                node.iter().fold(0u128, |sum, (_, below)| sum.saturating_add(counts[*below as usize]))
            };
            counts = of_site.iter().map(count).collect();
            branches.push(of_site);
            numbers = next;
        }
        // Only the wanted sums are open above the last site, but what has a modulus is open either way.
        let top = numbers.get(&wanted).copied();
        let words = top.map_or(0, |top| counts[top as usize]);
        if let (Some(top), Some(last)) = (top, branches.last_mut()) {
            *last = vec![std::mem::take(&mut last[top as usize])];
        }
        Some(Nodes { branches, words })
    }
}

/// The forbidden patterns (bits, their values) that each site completes, when sites are filled from the highest down.
fn completed(layout: &SiteLayout) -> Vec<Vec<(u128, u128)>> {
    let lowest = |mask: u128| (0..layout.parts()).rev().find(|site| layout.shift(*site) <= mask.trailing_zeros());
    let mut completed = vec![Vec::new(); layout.parts()];
    for rule in layout.forbidden() {
        completed[lowest(rule.mask).unwrap_or(0)].push((rule.mask, rule.pattern));
    }
    completed
}

/// The walk.
struct Walk<'a> {
    nodes: &'a Nodes,
    completed: Vec<Vec<(u128, u128)>>,
    words: Vec<u128>,
    most: u64,
}

impl Walk<'_> {
    /// Adds the words with these high sites; `None` once there are too many.
    fn down(&mut self, word: u128, sites: usize, node: u32) -> Option<()> {
        let Some(site) = sites.checked_sub(1) else {
            self.words.push(word);
            return (self.words.len() as u64 <= self.most).then_some(());
        };
        let nodes = self.nodes;
        for (state, below) in &nodes.branches[site][node as usize] {
            let word = word | state;
            if self.completed[site].iter().all(|(mask, pattern)| word & mask != *pattern) {
                self.down(word, site, *below)?;
            }
        }
        Some(())
    }
}

/// The words that have the charges, ascending, without those that the layout forbids.
///
/// # Errors
/// A list that would be too long.
pub(super) fn words(layout: &SiteLayout, charges: &[(Charge, i64)]) -> Result<Vec<u128>, OperatorError> {
    let too_many = |states: Option<u128>| {
        let (sites, bits) = (layout.kinds().len(), layout.bits());
        Err(OperatorError::TooManyToList { sites, bits, states, most: MOST_LISTED })
    };
    let number = number(layout, charges);
    let free = layout.forbidden().is_empty();
    if number.map_or(free, |number| number > MOST_LISTED.into()) {
        return too_many(number);
    }
    let Some(nodes) = Nodes::new(layout, charges) else { return too_many(None) };
    let words = Vec::with_capacity(number.map_or(0, |number| number as usize));
    let mut walk = Walk { nodes: &nodes, completed: completed(layout), words, most: MOST_LISTED };
    if nodes.words > 0 && walk.down(0, layout.parts(), 0).is_none() {
        return too_many(None);
    }
    Ok(walk.words)
}

#[cfg(test)]
mod tests {
    use super::super::LinTables;
    use super::*;
    use crate::operator::{SiteKind, SiteSum};

    fn same_as_tables(layout: &SiteLayout, charges: &[(Charge, i64)]) {
        let tables = LinTables::on_sites(layout, charges).unwrap();
        let expected: Vec<u128> = (0..tables.dimension()).map(|index| tables.state(index).into()).collect();
        assert_eq!(words(layout, charges).unwrap(), expected, "{charges:?}");
        assert_eq!(number(layout, charges), Some(expected.len() as u128), "{charges:?}");
    }

    #[test]
    fn the_list_is_that_of_the_tables() {
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
        forbidding.forbid(&[(1, 1), (2, 0)]);
        forbidding.forbid(&[(0, 3)]);
        for layout in [&plain, &forbidding, &plain.clone().complex(), &forbidding.clone().complex()] {
            same_as_tables(layout, &[]);
            for value in -1..=4 {
                same_as_tables(layout, &[(Charge::Bosons, value)]);
                same_as_tables(layout, &[(Charge::TwoSz, value), (Charge::Particles, 2)]);
                same_as_tables(layout, &[(Charge::Bosons, value), (Charge::Parity, 1)]);
                let sum = |modulo| Charge::OfSites(SiteSum::new("q", &[1, -2, 3, 0, 5, -1, 2], modulo));
                same_as_tables(layout, &[(sum(None), value), (Charge::Particles, 3)]);
                same_as_tables(layout, &[(sum(Some(3)), value), (Charge::Bosons, 1)]);
            }
            same_as_tables(layout, &[(Charge::Parity, -1)]);
        }
    }

    #[test]
    fn long_words_are_counted_before_they_are_listed() {
        let spins = SiteLayout::new(&[SiteKind::Moments { two_s: 1 }; 128]);
        assert_eq!(number(&spins, &[(Charge::TwoSz, 4 - 128)]), Some(128 * 127 / 2));
        assert_eq!(number(&spins, &[(Charge::TwoSz, 128)]), Some(1));
        assert_eq!(words(&spins, &[(Charge::TwoSz, 128)]).unwrap(), [u128::MAX]);
        assert_eq!(words(&spins, &[(Charge::TwoSz, 1)]).unwrap(), []);
        let error = words(&spins, &[(Charge::TwoSz, 0)]).unwrap_err().to_string();
        assert!(error.contains("128 bits") && error.contains("2.395e37"), "{error}");
        assert!(words(&spins, &[]).is_err(), "2^128 states");
        // Hard rods: two particles on 100 sites that are not neighbours.
        let mut rods = SiteLayout::new(&[SiteKind::Bosons { most: 1 }; 100]);
        (0..99).for_each(|site| rods.forbid(&[(site, 1), (site + 1, 1)]));
        let found = words(&rods, &[(Charge::Bosons, 2)]).unwrap();
        assert_eq!(found.len(), 99 * 98 / 2);
        assert!(found.is_sorted() && found.iter().all(|word| word & (word >> 1) == 0));
    }
}
