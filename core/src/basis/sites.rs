//! The two halves of the state words on sites of any kind, by the charges that they leave to each other.
//!
//! In: a layout, charges with their values, what is forbidden. Out: the high words that have states, ascending, each with the
//! list of the low words that complete it; columns with the same list share it. A list is that of the low words with the charges
//! that are missing, without those that a pattern across the cut forbids beside this high word.

use super::low_mask;
use super::{LISTED_BITS, LinTables, listed, number};
use crate::operator::{Charge, Operator, OperatorError, SiteLayout};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Values of the charges.
type Values = Vec<i64>;

/// How many words have them.
type Counts = HashMap<Values, u128>;

/// The halves of a sector.
pub(super) struct HalfWords {
    /// Bits of the low half.
    pub low_bits: u32,
    /// Lists of low words, ascending.
    pub classes: Vec<Vec<u64>>,
    /// High words with states, ascending, each with the number of its list.
    pub highs: Vec<(u64, u32)>,
    /// Whether a low word may be in several lists.
    pub shared: bool,
}

/// The sites of one half, and the part of a complex number among those of the high half.
struct Half<'a> {
    layout: &'a SiteLayout,
    charges: &'a [Charge],
    sites: std::ops::Range<usize>,
}

impl Half<'_> {
    /// How many words have each combination of charges; `None` if there are too many combinations.
    fn counts(&self) -> Option<Counts> {
        let mut counts = HashMap::from([(vec![0; self.charges.len()], 1u128)]);
        for site in self.sites.clone() {
            let local = self.layout.local_states(site, self.charges);
            if counts.len().saturating_mul(local.len()) > MOST_SUMS {
                return None;
            }
            let mut next = Counts::new();
            for (before, number) in &counts {
                for (_, values) in &local {
                    let sum = before.iter().zip(values).map(|(a, b)| a + b).collect();
                    let total = next.entry(sum).or_insert(0);
                    *total = total.saturating_add(*number);
                }
            }
            counts = next;
        }
        Some(counts)
    }

    /// Hands on the words with the charges that `wanted` accepts, ascending, counted from the lowest bit of the half, each after
    /// its charges.
    fn each_word(&self, wanted: &Counts, forbidden: &[(u64, u64)], take: &mut impl FnMut(&Values, u64)) {
        let (branches, sums) = self.branches(wanted);
        let base = self.sites.clone().next().map_or(0, |site| self.layout.shift(site));
        let lowest = |mask: u64| {
            let sites = self.sites.clone().rev();
            sites.into_iter().find(|site| self.layout.shift(*site) - base <= mask.trailing_zeros())
        };
        let mut completed = vec![Vec::new(); branches.len()];
        for (mask, pattern) in forbidden {
            let place = lowest(*mask).map_or(0, |site| site - self.sites.start);
            completed.get_mut(place).into_iter().for_each(|rules| rules.push((*mask, *pattern)));
        }
        walk(&branches, &completed, branches.len(), (0, 0), &mut |word, sum| take(&sums[sum as usize], word));
    }

    /// For a walk from the highest site down: of each site and each sum of the sites above, the states that lead to a wanted sum, each
    /// with the number of the new sum; and the sums in the end.
    fn branches(&self, wanted: &Counts) -> (Vec<Vec<Vec<Branch>>>, Vec<Values>) {
        let base = self.sites.clone().next().map_or(0, |site| self.layout.shift(site));
        let mut reachable = vec![wanted.keys().cloned().collect::<HashSet<Values>>()];
        for site in self.sites.clone() {
            // What the sites above may add up to, for a wanted sum with the sites so far.
            let of_site = self.layout.local_states(site, self.charges);
            let last = reachable.last().cloned().unwrap_or_default();
            let less = |sum: &Values| {
                let each = of_site.iter().map(|(_, values)| sum.iter().zip(values).map(|(a, b)| a - b).collect());
                each.collect::<Vec<Values>>()
            };
            reachable.push(last.iter().flat_map(less).collect());
        }
        let (mut branches, mut sums) = (Vec::new(), vec![vec![0i64; self.charges.len()]]);
        for (depth, site) in self.sites.clone().enumerate().rev() {
            let of_site = self.layout.local_states(site, self.charges);
            let shift = self.layout.shift(site) - base;
            let (mut numbers, mut next) = (HashMap::new(), Vec::new());
            let of_sum = |before: &Values| {
                let branch = |(state, values): &(u64, Values)| {
                    let sum: Values = before.iter().zip(values).map(|(a, b)| a + b).collect();
                    reachable[depth].contains(&sum).then(|| {
                        let number = *numbers.entry(sum).or_insert_with_key(|sum| {
                            next.push(sum.clone());
                            next.len() as u32 - 1
                        });
                        (state << shift, number)
                    })
                };
                of_site.iter().filter_map(branch).collect()
            };
            branches.push(sums.iter().map(of_sum).collect());
            sums = next;
        }
        branches.reverse();
        (branches, sums)
    }
}

/// A state of a site in its place, and the number of the sum that it leads to.
type Branch = (u64, u32);

/// Goes down from the sites above `sites`, which make a word and a sum, without words that match a pattern.
fn walk(
    branches: &[Vec<Vec<Branch>>],
    completed: &[Vec<(u64, u64)>],
    sites: usize,
    (word, sum): (u64, u32),
    take: &mut impl FnMut(u64, u32),
) {
    let Some(site) = sites.checked_sub(1) else { return take(word, sum) };
    for (state, sum) in branches[site].get(sum as usize).into_iter().flatten() {
        let word = word | state;
        if completed[site].iter().all(|(mask, pattern)| word & mask != *pattern) {
            walk(branches, completed, site, (word, *sum), take);
        }
    }
}

/// The charges with parities modulo 2.
fn folded(charges: &[(Charge, i64)], sum: &Values) -> Values {
    charges.iter().zip(sum).map(|((charge, _), sum)| charge.folded(*sum)).collect()
}

/// The charges that the other half must have.
fn partner(charges: &[(Charge, i64)], sum: &Values) -> Values {
    let missing: Values = charges.iter().zip(sum).map(|((_, value), sum)| value - sum).collect();
    folded(charges, &missing)
}

/// The words of a sector, cut at the site where the halves have nearly the same number of bits.
struct Cut<'a> {
    low: Half<'a>,
    high: Half<'a>,
    /// Words by their charges, of those that the other half can complete.
    low_counts: Counts,
    high_counts: Counts,
    /// States of the sector, without regard to what is forbidden.
    dimension: u128,
}

/// Most combinations of charges with one site more, at each site of a half.
const MOST_SUMS: usize = 1 << 21;

impl<'a> Cut<'a> {
    /// `kinds` are the charges without their values.
    fn new(layout: &'a SiteLayout, kinds: &'a [Charge], charges: &[(Charge, i64)]) -> Option<Cut<'a>> {
        let parts = layout.parts();
        let cut = (0..=parts).min_by_key(|part| layout.shift(*part).abs_diff(layout.bits() / 2)).unwrap_or(0);
        let low = Half { layout, charges: kinds, sites: 0..cut };
        let high = Half { layout, charges: kinds, sites: cut..parts };
        let (mut low_counts, mut high_counts) = (low.counts()?, high.counts()?);
        let by_folded = |counts: &Counts| -> Counts {
            let mut sums = Counts::new();
            for (values, number) in counts {
                let sum = sums.entry(folded(charges, values)).or_insert(0);
                *sum = sum.saturating_add(*number);
            }
            sums
        };
        let (of_low, of_high) = (by_folded(&low_counts), by_folded(&high_counts));
        low_counts.retain(|values, _| of_high.contains_key(&partner(charges, values)));
        high_counts.retain(|values, _| of_low.contains_key(&partner(charges, values)));
        let states = high_counts.iter().map(|(sum, number)| number.saturating_mul(of_low[&partner(charges, sum)]));
        let dimension = states.fold(0u128, u128::saturating_add);
        Some(Cut { low, high, low_counts, high_counts, dimension })
    }
}

/// Cuts the words of a sector in two.
pub(super) fn halves(
    layout: &SiteLayout,
    charges: &[(Charge, i64)],
    largest: u128,
) -> Result<HalfWords, OperatorError> {
    let kinds: Vec<Charge> = charges.iter().map(|(charge, _)| *charge).collect();
    let Some(Cut { low, high, low_counts, high_counts, dimension }) = Cut::new(layout, &kinds, charges) else {
        return Err(OperatorError::TooManyCharges { sites: layout.kinds().len(), charges: charges.len() });
    };
    let low_bits = layout.shift(high.sites.start);
    let total = |counts: &Counts| counts.values().fold(0u128, |sum, number| sum.saturating_add(*number));
    if total(&low_counts).max(total(&high_counts)) > largest {
        let dimension = number::number(layout, charges).unwrap_or(dimension);
        return Err(OperatorError::TooLarge { dimension: dimension as f64 });
    }
    let (low_mask, forbidden) = (low_mask(low_bits), layout.forbidden());
    let split = |pattern: u128| (pattern as u64 & low_mask, (pattern >> low_bits) as u64);
    let (mut of_lows, mut of_highs, mut across) = (Vec::new(), Vec::new(), Vec::new());
    for rule in forbidden {
        let ((low_bits, high_bits), (low, high)) = (split(rule.mask), split(rule.pattern));
        match (low_bits, high_bits) {
            (_, 0) => of_lows.push((low_bits, low)),
            (0, _) => of_highs.push((high_bits, high)),
            _ => across.push([(low_bits, low), (high_bits, high)]),
        }
    }
    let mut by_charge: BTreeMap<Values, Vec<u64>> = BTreeMap::new();
    low.each_word(&low_counts, &of_lows, &mut |sum, word| match by_charge.get_mut(&folded(charges, sum)) {
        Some(words) => words.push(word),
        None => drop(by_charge.insert(folded(charges, sum), vec![word])),
    });
    let (mut classes, mut numbers) = (Vec::new(), BTreeMap::new());
    let mut highs = Vec::with_capacity(if of_highs.is_empty() { total(&high_counts) as usize } else { 0 });
    high.each_word(&high_counts, &of_highs, &mut |sum, word| {
        let rules: Vec<(u64, u64)> =
            across.iter().filter(|[_, (mask, pattern)]| word & mask == *pattern).map(|[low, _]| *low).collect();
        let missing = partner(charges, sum);
        let Some(lows) = by_charge.get(&missing) else { return };
        let class = *numbers.entry((missing, rules)).or_insert_with_key(|(_, rules)| {
            let fits = |low: &u64| rules.iter().all(|(mask, pattern)| low & mask != *pattern);
            classes.push(lows.iter().copied().filter(fits).collect::<Vec<u64>>());
            classes.len() - 1
        });
        if !classes[class].is_empty() {
            highs.push((word, class as u32));
        }
    });
    Ok(HalfWords { low_bits, classes, highs, shared: !across.is_empty() })
}

impl Operator {
    /// States of these charges on the operator's sites; `None` if they are too many to be counted, or if a site is not there.
    pub fn dimension(&self, charges: &[(Charge, i64)]) -> Option<u128> {
        let mut layout = SiteLayout::new(&self.kinds_or_implied());
        if layout.bits() > LISTED_BITS {
            return None;
        }
        let sites = layout.kinds().len();
        if self.forbidden().iter().flatten().any(|(site, _)| *site >= sites) {
            return None;
        }
        self.forbidden().iter().for_each(|states| layout.forbid(states));
        // What takes long to count is listed, if the list is short.
        number::number(&layout, charges).or_else(|| match layout.bits() > u64::BITS {
            true => listed::words(&layout, charges).ok().map(|words| words.len() as u128),
            false => LinTables::on_sites(&layout, charges).ok().map(|tables| tables.dimension().into()),
        })
    }
}
