//! A product of operators as a move of the low word and a move of the high word, and the tables of such moves.
//!
//! Local moments: the factors on the sites of each half. Fermions: the factors of each spin; a product that conserves both
//! numbers of electrons has an even number of down factors, which pass the up factors without a sign. A move of the high word is
//! a list of pairs of columns for each amplitude, one of the low word a list of pairs of rows for each class and amplitude:
//! Σ v(h, l) v(h', l') then needs no ranks.
//!
//! Work: each move looks at every word of its half once; a ring of 28 spins ½ has 106 moves a half of 16,384 words each, and
//! a million pairs of 8 bytes.

use super::halves::Halves;
use eigenforge_core::operator::{Factor, Spin, Transition, fermion_transition, local_element};
use eigenforge_runtime::trace;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a product does to one half's word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Move {
    /// Its factors there, with sites counted within the half; none leaves the word as it is.
    Factors(Vec<Factor>),
    /// Bits to compare, their values, bits that flip, bits of the sign: on sites of any kind.
    Bits([u64; 4]),
}

/// A move in the form in which it is applied to words.
struct Prepared {
    /// What happens to electrons of one spin, or at sites whose level must be one.
    fixed: Transition,
    /// What happens at sites that may have several levels.
    sites: Vec<SiteMove>,
}

/// What a product of one site's operators does to a word.
struct SiteMove {
    /// The site's lowest bit.
    shift: u32,
    /// The bits that change and the amplitude for each level of the site; an amplitude of 0 where the move is not possible.
    by_level: Vec<(u64, f64)>,
}

impl SiteMove {
    fn new(halves: &Halves, site: usize, factors: &[Factor]) -> SiteMove {
        let shift = site as u32 * halves.width;
        let of_level = |level: u32| match local_element(factors, level, halves.two_s) {
            Some((to, amplitude)) => (u64::from(level ^ to) << shift, amplitude),
            None => (0, 0.0),
        };
        SiteMove { shift, by_level: (0..=halves.two_s).map(of_level).collect() }
    }
}

impl Move {
    fn prepared(&self, halves: &Halves) -> Prepared {
        let own = match self {
            Move::Factors(factors) => factors,
            Move::Bits([care, pattern, flip, sign]) => {
                let (care, pattern, flip, sign) = (*care, *pattern, *flip, *sign);
                let fixed = Transition { care, pattern, flip, sign, amplitude: 1.0 };
                return Prepared { fixed, sites: Vec::new() };
            }
        };
        if halves.fermions {
            let fixed = fermion_transition(own, 1.0, |_, site| site as u32);
            return Prepared { fixed, sites: Vec::new() };
        }
        let mut factors: BTreeMap<usize, Vec<Factor>> = BTreeMap::new();
        own.iter().for_each(|factor| factors.entry(factor.site()).or_default().push(*factor));
        let mut fixed = Transition { care: 0, pattern: 0, flip: 0, sign: 0, amplitude: 1.0 };
        let mut sites = Vec::new();
        for (site, factors) in factors {
            let of_site = SiteMove::new(halves, site, &factors);
            let mut levels = (0u64..).zip(&of_site.by_level).filter(|(_, (_, amplitude))| *amplitude != 0.0);
            match (levels.next(), levels.next()) {
                (Some((level, (flip, amplitude))), None) => {
                    fixed.care |= (u64::MAX >> (u64::BITS - halves.width)) << of_site.shift;
                    fixed.pattern |= level << of_site.shift;
                    fixed.flip |= flip;
                    fixed.amplitude *= amplitude;
                }
                _ => sites.push(of_site),
            }
        }
        Prepared { fixed, sites }
    }
}

/// Pairs of numbers, left | reached << 32, of one amplitude.
type Pairs = (f64, Vec<u64>);

impl Prepared {
    /// The pairs of the words from which the move is possible and the words reached, by amplitude; `number` finds the latter.
    fn pairs(
        &self,
        halves: &Halves,
        words: impl Iterator<Item = (u64, u64)>,
        number: impl Fn(u64) -> Option<usize>,
    ) -> Vec<Pairs> {
        let (mut lists, mut last): (Vec<Pairs>, usize) = (Vec::new(), 0);
        let mut push = |left: u64, reached: u64, amplitude: f64| {
            let Some(reached) = number(reached) else { return };
            if lists.get(last).is_none_or(|list| list.0 != amplitude) {
                last = lists.iter().position(|list| list.0 == amplitude).unwrap_or(lists.len());
                if last == lists.len() {
                    lists.push((amplitude, Vec::new()));
                }
            }
            lists[last].1.push(left | (reached as u64) << 32);
        };
        let Transition { care, pattern, flip, sign, amplitude } = self.fixed;
        for (left, word) in words.filter(|(_, word)| word & care == pattern) {
            let odd = (word & sign).count_ones() % 2 == 1;
            let (mut reached, mut amplitude) = (word ^ flip, if odd { -amplitude } else { amplitude });
            for site in &self.sites {
                let (flip, factor) = site.by_level[halves.level_at(word, site.shift) as usize];
                reached ^= flip;
                amplitude *= factor;
            }
            if amplitude != 0.0 {
                push(left, reached, amplitude);
            }
        }
        lists
    }
}

/// A product of operators by what it does to each half.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moved {
    /// Which product it is.
    pub number: usize,
    /// The sum over the pairs counts so many times.
    pub factor: f64,
    /// What happens to the low word.
    pub low: Move,
    /// What happens to the high word.
    pub high: Move,
}

impl Moved {
    /// Of a normal-ordered product that conserves the sector's numbers: one, or one for each combination of levels on sites of
    /// any kind.
    pub(super) fn all(halves: &Halves, number: usize, product: &[Factor]) -> Vec<Moved> {
        let Some((layout, low_bits)) = &halves.layout else { return vec![Moved::new(halves, number, product)] };
        let low_mask = eigenforge_core::basis::low_mask(*low_bits);
        let of = |Transition { care, pattern, flip, sign, amplitude }: Transition| {
            let masks = [care, pattern, flip, sign];
            let high = masks.map(|mask| mask.checked_shr(*low_bits).unwrap_or(0));
            let low = masks.map(|mask| mask & low_mask);
            Moved { number, factor: amplitude, low: Move::Bits(low), high: Move::Bits(high) }
        };
        layout.transitions(product, 1.0).into_iter().map(Transition::narrow).map(of).collect()
    }

    fn new(halves: &Halves, number: usize, product: &[Factor]) -> Moved {
        let low_sites = halves.sites[0];
        let is_low = |factor: &&Factor| match factor {
            Factor::Create(spin, _) | Factor::Annihilate(spin, _) => *spin == Spin::Up,
            moment => moment.site() < low_sites,
        };
        let counted = |factor: &Factor| match *factor {
            Factor::Raise(site) => Factor::Raise(site - low_sites),
            Factor::Sz(site) => Factor::Sz(site - low_sites),
            Factor::Lower(site) => Factor::Lower(site - low_sites),
            fermion => fermion,
        };
        let low = product.iter().filter(is_low).copied().collect();
        let high = product.iter().filter(|factor| !is_low(factor)).map(counted).collect();
        Moved { number, factor: 1.0, low: Move::Factors(low), high: Move::Factors(high) }
    }
}

/// Puts products that share a move beside each other.
pub(super) fn sorted(mut all: Vec<Moved>) -> Vec<Moved> {
    all.sort_by(|a, b| (&a.high, &a.low).cmp(&(&b.high, &b.low)));
    all
}

/// Words of moves that one set of tables may look at; the tables have some four times fewer pairs of 8 bytes.
const WORDS_AT_ONCE: usize = 1 << 24;

/// Cuts the list so that the tables of each part stay small.
pub(super) fn batches<'a>(halves: &Halves, all: &'a [Moved]) -> Vec<&'a [Moved]> {
    let mut parts = Vec::new();
    let (mut first, mut lows, mut highs) = (0, BTreeSet::new(), BTreeSet::new());
    for (k, moved) in all.iter().enumerate() {
        let words = |lows: &BTreeSet<&Move>, highs: &BTreeSet<&Move>| {
            (lows.len() + 1) * halves.lows.len() + (highs.len() + 1) * halves.columns.len()
        };
        if k > first && words(&lows, &highs) > WORDS_AT_ONCE {
            parts.push(&all[first..k]);
            (first, lows, highs) = (k, BTreeSet::new(), BTreeSet::new());
        }
        lows.insert(&moved.low);
        highs.insert(&moved.high);
    }
    if first < all.len() {
        parts.push(&all[first..]);
    }
    parts
}

/// The moves of some products, as the kernel reads them. A term is a product's list of pairs of columns of one amplitude.
#[derive(Debug, Default)]
pub(super) struct MoveTables {
    /// How many products there are.
    products: usize,
    /// Of each term, its product and the amplitude of its pairs of columns. Terms with one list of pairs of columns follow each other.
    terms: Vec<(usize, f64)>,
    /// Of each term, the number of its list of pairs of columns.
    pub term_columns: Vec<u32>,
    /// And of its move of the low word.
    pub term_low: Vec<u32>,
    /// Where each list of pairs of columns begins, and the end of the last.
    pub column_lists: Vec<u32>,
    /// Column left | column reached << 32; classes of the columns left ascend within a list.
    pub column_pairs: Vec<u64>,
    /// Where the lists of pairs of rows of (low move · classes + class) begin, and the end of the last.
    pub low_lists: Vec<u32>,
    /// Where each of these lists begins, and the end of the last.
    pub row_lists: Vec<u32>,
    /// The amplitude of each.
    pub row_amplitude: Vec<f64>,
    /// Row left | row reached << 32.
    pub row_pairs: Vec<u64>,
}

impl MoveTables {
    /// Of some products.
    pub(super) fn new(halves: &Halves, products: &[Moved]) -> MoveTables {
        let _making = trace::span("observables", "tables of moves");
        let (mut highs, mut lows) = (Numbered::default(), Numbered::default());
        let numbers: Vec<(u32, u32)> =
            products.iter().map(|moved| (highs.number(&moved.high), lows.number(&moved.low))).collect();
        let of_columns = |high: &&Move| {
            let words = (0..).zip(&halves.columns).map(|(number, column)| (number, column.word));
            high.prepared(halves).pairs(halves, words, |word| halves.column_of(word))
        };
        let columns: Vec<Vec<Pairs>> = highs.list.par_iter().map(of_columns).collect();
        let of_rows = |(low, class): &(&Prepared, usize)| {
            let words = (0..).zip(halves.rows(*class).iter().copied());
            low.pairs(halves, words, |word| halves.row_of(word))
        };
        let prepared: Vec<Prepared> = lows.list.par_iter().map(|low| low.prepared(halves)).collect();
        let classes = 0..halves.classes.len();
        let cells: Vec<(&Prepared, usize)> =
            prepared.iter().flat_map(|low| classes.clone().map(move |class| (low, class))).collect();
        let rows: Vec<Vec<Pairs>> = cells.par_iter().map(of_rows).collect();

        let high_lists = starts(columns.iter().map(Vec::len));
        let low_lists = starts(rows.iter().map(Vec::len));
        let (columns, rows) = (columns.concat(), rows.concat());
        let mut tables = MoveTables {
            products: products.len(),
            column_lists: starts(columns.iter().map(|list| list.1.len())),
            column_pairs: joined(&columns),
            low_lists,
            row_lists: starts(rows.iter().map(|list| list.1.len())),
            row_amplitude: rows.iter().map(|list| list.0).collect(),
            row_pairs: joined(&rows),
            ..Default::default()
        };
        let of_product = |(product, (high, low)): (usize, (u32, u32))| {
            (high_lists[high as usize]..high_lists[high as usize + 1]).map(move |list| (list, low, product))
        };
        let mut terms: Vec<(u32, u32, usize)> = numbers.into_iter().enumerate().flat_map(of_product).collect();
        terms.sort_unstable();
        tables.terms = terms.iter().map(|(list, _, product)| (*product, columns[*list as usize].0)).collect();
        tables.term_columns = terms.iter().map(|(list, ..)| *list).collect();
        tables.term_low = terms.iter().map(|(_, low, _)| *low).collect();
        tables
    }

    /// The sum of each product from those of its terms.
    pub(super) fn of_products(&self, of_terms: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.products];
        self.terms.iter().zip(of_terms).for_each(|((product, amplitude), sum)| sums[*product] += amplitude * sum);
        sums
    }
}

/// Where parts of these lengths begin, and the end of the last.
fn starts(lengths: impl Iterator<Item = usize>) -> Vec<u32> {
    let ends = lengths.scan(0, |end, length| {
        *end += length as u32;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// All pairs one after the other, copied by all cores.
fn joined(lists: &[Pairs]) -> Vec<u64> {
    let mut all = vec![0; lists.iter().map(|list| list.1.len()).sum()];
    let (mut places, mut rest) = (Vec::with_capacity(lists.len()), all.as_mut_slice());
    for (_, list) in lists {
        let (place, after) = rest.split_at_mut(list.len());
        places.push(place);
        rest = after;
    }
    places.into_par_iter().zip(lists).for_each(|(place, (_, list))| place.copy_from_slice(list));
    all
}

/// Distinct moves in order of appearance.
#[derive(Default)]
struct Numbered<'a> {
    list: Vec<&'a Move>,
    known: BTreeMap<&'a Move, u32>,
}

impl<'a> Numbered<'a> {
    fn number(&mut self, wanted: &'a Move) -> u32 {
        *self.known.entry(wanted).or_insert_with(|| {
            self.list.push(wanted);
            self.list.len() as u32 - 1
        })
    }
}
