//! A product of operators as a move of the low word and a move of the high word, and the tables of such moves.
//!
//! Local moments: the factors on the sites of each half. Fermions: the factors of each spin; a product that conserves both
//! numbers of electrons has an even number of down factors, which pass the up factors without a sign. A move of the high word is
//! a list of pairs of columns, one of the low word a list of pairs of rows for each class, grouped by amplitude:
//! Σ v(h, l) v(h', l') then needs no ranks.

use super::halves::Halves;
use crate::operator::{Factor, Spin, Transition, fermion_transition, local_element};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What a product does to one half's word: its factors there, with sites counted within the half; none leaves the word as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Move(Vec<Factor>);

/// A move in the form in which it is applied to words.
enum Prepared {
    /// Of fermions of one spin.
    Masked(Transition),
    /// Of local moments: the factors at each site.
    Levels(Vec<(usize, Vec<Factor>)>),
}

impl Move {
    fn prepared(&self, halves: &Halves) -> Prepared {
        if halves.fermions {
            return Prepared::Masked(fermion_transition(&self.0, 1.0, |_, site| site as u32));
        }
        let mut sites: BTreeMap<usize, Vec<Factor>> = BTreeMap::new();
        self.0.iter().for_each(|factor| sites.entry(factor.site()).or_default().push(*factor));
        Prepared::Levels(sites.into_iter().collect())
    }
}

impl Prepared {
    /// The word reached and the amplitude; `None` where the move is not possible.
    fn of(&self, halves: &Halves, word: u64) -> Option<(u64, f64)> {
        match self {
            Prepared::Masked(Transition { care, pattern, flip, sign, amplitude }) => {
                let odd = (word & sign).count_ones() % 2 == 1;
                (word & care == *pattern).then_some((word ^ flip, if odd { -amplitude } else { *amplitude }))
            }
            Prepared::Levels(sites) => {
                let (mut reached, mut amplitude) = (word, 1.0);
                for (site, factors) in sites {
                    let level = halves.level(word, *site);
                    let (to, factor) = local_element(factors, level, halves.two_s)?;
                    reached ^= u64::from(level ^ to) << (*site as u32 * halves.width);
                    amplitude *= factor;
                }
                (amplitude != 0.0).then_some((reached, amplitude))
            }
        }
    }
}

/// A product of operators by what it does to each half.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moved {
    /// Which product it is.
    pub number: usize,
    /// What happens to the low word.
    pub low: Move,
    /// What happens to the high word.
    pub high: Move,
}

impl Moved {
    /// Of a normal-ordered product that conserves the sector's numbers.
    pub(super) fn new(halves: &Halves, number: usize, product: &[Factor]) -> Moved {
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
        Moved { number, low: Move(low), high: Move(high) }
    }
}

/// Puts products that share a move beside each other.
pub(super) fn sorted(mut all: Vec<Moved>) -> Vec<Moved> {
    all.sort_by(|a, b| (&a.high, &a.low).cmp(&(&b.high, &b.low)));
    all
}

/// Words of moves that one set of tables may look at; the tables have some four times fewer entries of 8 to 28 bytes.
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

/// The moves of some operators, as the kernel reads them.
#[derive(Debug, Default)]
pub(super) struct MoveTables {
    /// Of each operator, the number of its move of the high word.
    pub operator_high: Vec<u32>,
    /// And of the low word.
    pub operator_low: Vec<u32>,
    /// Where each high move's pairs of columns begin, and the end of the last.
    pub high_start: Vec<u32>,
    /// First index of the column left.
    pub high_from: Vec<u64>,
    /// First index of the column reached.
    pub high_to: Vec<u64>,
    /// Class of the column left, ascending within a move.
    pub high_class: Vec<u32>,
    /// Amplitude of the high move.
    pub high_amplitude: Vec<f64>,
    /// Where the lists of (low move · classes + class) begin, and the end of the last.
    pub low_lists: Vec<u32>,
    /// Where each list's pairs of rows begin, and the end of the last.
    pub list_start: Vec<u32>,
    /// The amplitude of a list.
    pub list_amplitude: Vec<f64>,
    /// Row left | row reached << 32.
    pub row_pairs: Vec<u64>,
}

/// Pairs of columns of one high move: first indices, class, amplitude.
#[derive(Default)]
struct ColumnPairs {
    from: Vec<u64>,
    to: Vec<u64>,
    class: Vec<u32>,
    amplitude: Vec<f64>,
}

fn column_pairs(halves: &Halves, high: &Move) -> ColumnPairs {
    let high = high.prepared(halves);
    let mut pairs = ColumnPairs::default();
    for column in &halves.columns {
        let Some((reached, amplitude)) = high.of(halves, column.word) else { continue };
        let Some(to) = halves.column_of(reached) else { continue };
        pairs.from.push(column.start as u64);
        pairs.to.push(to.start as u64);
        pairs.class.push(column.class as u32);
        pairs.amplitude.push(amplitude);
    }
    pairs
}

/// Pairs of rows of one low move from one class, by amplitude.
type RowPairs = Vec<(f64, Vec<u64>)>;

fn row_pairs(halves: &Halves, low: &Move, class: usize) -> RowPairs {
    let low = low.prepared(halves);
    let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut last: Option<(u64, Vec<u64>)> = None;
    for (row, word) in halves.rows(class).iter().enumerate() {
        let Some((reached, amplitude)) = low.of(halves, *word) else { continue };
        let Some(to) = halves.row_of(reached) else { continue };
        let bits = amplitude.to_bits();
        if last.as_ref().is_none_or(|(known, _)| *known != bits) {
            // The list of another amplitude is taken up, and this one laid aside.
            lists.extend(last.take());
            last = Some((bits, lists.remove(&bits).unwrap_or_default()));
        }
        if let Some((_, list)) = &mut last {
            list.push(row as u64 | (to as u64) << 32);
        }
    }
    lists.extend(last);
    lists.into_iter().map(|(bits, pairs)| (f64::from_bits(bits), pairs)).collect()
}

impl MoveTables {
    /// Of some products.
    pub(super) fn new(halves: &Halves, products: &[Moved]) -> MoveTables {
        let mut tables =
            MoveTables { high_start: vec![0], low_lists: vec![0], list_start: vec![0], ..Default::default() };
        let (mut highs, mut lows) = (Numbered::default(), Numbered::default());
        for moved in products {
            tables.operator_high.push(highs.number(&moved.high));
            tables.operator_low.push(lows.number(&moved.low));
        }
        let found: Vec<ColumnPairs> = highs.list.par_iter().map(|high| column_pairs(halves, high)).collect();
        found.into_iter().for_each(|pairs| tables.push_high(pairs));
        let cells: Vec<(&Move, usize)> =
            lows.list.iter().flat_map(|low| (0..halves.classes.len()).map(|class| (*low, class))).collect();
        let found: Vec<RowPairs> = cells.par_iter().map(|(low, class)| row_pairs(halves, low, *class)).collect();
        found.into_iter().for_each(|lists| tables.push_cell(lists));
        tables
    }

    fn push_high(&mut self, pairs: ColumnPairs) {
        self.high_from.extend(pairs.from);
        self.high_to.extend(pairs.to);
        self.high_class.extend(pairs.class);
        self.high_amplitude.extend(pairs.amplitude);
        self.high_start.push(self.high_from.len() as u32);
    }

    fn push_cell(&mut self, lists: RowPairs) {
        for (amplitude, pairs) in lists {
            self.row_pairs.extend(pairs);
            self.list_amplitude.push(amplitude);
            self.list_start.push(self.row_pairs.len() as u32);
        }
        self.low_lists.push(self.list_amplitude.len() as u32);
    }
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
