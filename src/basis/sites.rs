//! The two halves of the state words on sites of any kind, by the charges that they leave to each other.
//!
//! In: a layout, charges with their values, what is forbidden. Out: the high words that have states, ascending, each with the
//! list of the low words that complete it; columns with the same list share it. A list is that of the low words with the charges
//! that are missing, without those that a pattern across the cut forbids beside this high word.

use super::low_mask;
use super::{LISTED_BITS, LinTables, listed};
use crate::operator::{Charge, Operator, OperatorError, SiteLayout};
use std::collections::{BTreeMap, HashMap};

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
    pub highs: Vec<(u64, usize)>,
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
    /// How many words have each combination of charges.
    fn counts(&self) -> Counts {
        let mut counts = HashMap::from([(vec![0; self.charges.len()], 1u128)]);
        for site in self.sites.clone() {
            let local = self.layout.local_states(site, self.charges);
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
        counts
    }

    /// The words with the charges that `wanted` accepts, ascending, counted from the lowest bit of the half.
    fn words(&self, wanted: &Counts, forbidden: &[(u64, u64)]) -> Vec<(u64, Values)> {
        let base = self.sites.clone().next().map_or(0, |site| self.layout.shift(site));
        // From the highest site down, so that words ascend.
        let mut words = vec![(0u64, vec![0i64; self.charges.len()])];
        let mut reachable = vec![wanted.keys().cloned().collect::<std::collections::HashSet<Values>>()];
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
        for (depth, site) in self.sites.clone().enumerate().rev() {
            let of_site = self.layout.local_states(site, self.charges);
            let shift = self.layout.shift(site) - base;
            let fits = &reachable[depth];
            let with = |(word, sum): &(u64, Values)| {
                let joined = |(state, values): &(u64, Values)| {
                    (word | state << shift, sum.iter().zip(values).map(|(a, b)| a + b).collect::<Values>())
                };
                of_site.iter().map(joined).filter(|(_, sum)| fits.contains(sum)).collect::<Vec<_>>()
            };
            words = words.iter().flat_map(with).collect();
        }
        words.retain(|(word, _)| forbidden.iter().all(|(mask, pattern)| word & mask != *pattern));
        words
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

impl<'a> Cut<'a> {
    /// `kinds` are the charges without their values.
    fn new(layout: &'a SiteLayout, kinds: &'a [Charge], charges: &[(Charge, i64)]) -> Cut<'a> {
        let parts = layout.parts();
        let cut = (0..=parts).min_by_key(|part| layout.shift(*part).abs_diff(layout.bits() / 2)).unwrap_or(0);
        let low = Half { layout, charges: kinds, sites: 0..cut };
        let high = Half { layout, charges: kinds, sites: cut..parts };
        let (mut low_counts, mut high_counts) = (low.counts(), high.counts());
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
        Cut { low, high, low_counts, high_counts, dimension }
    }
}

/// Cuts the words of a sector in two.
pub(super) fn halves(
    layout: &SiteLayout,
    charges: &[(Charge, i64)],
    largest: u128,
) -> Result<HalfWords, OperatorError> {
    let kinds: Vec<Charge> = charges.iter().map(|(charge, _)| *charge).collect();
    let Cut { low, high, low_counts, high_counts, dimension } = Cut::new(layout, &kinds, charges);
    let low_bits = layout.shift(high.sites.start);
    let total = |counts: &Counts| counts.values().fold(0u128, |sum, number| sum.saturating_add(*number));
    if total(&low_counts).max(total(&high_counts)) > largest {
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
    for (word, sum) in low.words(&low_counts, &of_lows) {
        by_charge.entry(folded(charges, &sum)).or_default().push(word);
    }
    let (mut classes, mut numbers, mut highs) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (word, sum) in high.words(&high_counts, &of_highs) {
        let rules: Vec<(u64, u64)> =
            across.iter().filter(|[_, (mask, pattern)]| word & mask == *pattern).map(|[low, _]| *low).collect();
        let missing = partner(charges, &sum);
        let Some(lows) = by_charge.get(&missing) else { continue };
        let class = *numbers.entry((missing, rules)).or_insert_with_key(|(_, rules)| {
            let fits = |low: &u64| rules.iter().all(|(mask, pattern)| low & mask != *pattern);
            classes.push(lows.iter().copied().filter(fits).collect::<Vec<u64>>());
            classes.len() - 1
        });
        if !classes[class].is_empty() {
            highs.push((word, class));
        }
    }
    Ok(HalfWords { low_bits, classes, highs, shared: !across.is_empty() })
}

impl Operator {
    /// States of these charges on the operator's sites; `None` if they are too many to be counted, or if a site is not there.
    pub fn dimension(&self, charges: &[(Charge, i64)]) -> Option<u128> {
        let mut layout = SiteLayout::new(&self.kinds_or_implied());
        if layout.bits() > LISTED_BITS {
            return None;
        }
        if self.forbidden().is_empty() && layout.bits() <= u64::BITS {
            let kinds: Vec<Charge> = charges.iter().map(|(charge, _)| *charge).collect();
            return Some(Cut::new(&layout, &kinds, charges).dimension);
        }
        let sites = layout.kinds().len();
        if self.forbidden().iter().flatten().any(|(site, _)| *site >= sites) {
            return None;
        }
        self.forbidden().iter().for_each(|states| layout.forbid(states));
        if layout.bits() > u64::BITS {
            return listed::number(&layout, charges);
        }
        LinTables::on_sites(&layout, charges).ok().map(|tables| tables.dimension().into())
    }
}
