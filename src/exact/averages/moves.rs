//! ⟨S⁺ᵢS⁻ⱼ⟩ as products of a move of the low word and a move of the high word, and the tables of such moves.
//!
//! Local moments: both sites in one half, so the other half stays; or one in each. Fermions: S⁺ᵢS⁻ⱼ =
//! −(c†ᵢ↑cⱼ↑)(c†ⱼ↓cᵢ↓), a hop in each half, with the signs of both. A move of the high word is a list of pairs of columns,
//! one of the low word a list of pairs of rows for each class, apart by amplitude: Σ v(h, l) v(h', l') then needs no ranks.

use super::halves::Halves;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A change of one half's word: a site raised, a site lowered, both, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    /// The site whose level goes up by one.
    pub raise: Option<usize>,
    /// The site whose level goes down by one.
    pub lower: Option<usize>,
}

impl Move {
    /// The word reached and the amplitude; `None` where the move is not possible.
    fn of(self, halves: &Halves, word: u64) -> Option<(u64, f64)> {
        let (mut reached, mut square, top) = (word, 1.0, f64::from(halves.two_s));
        if let Some(site) = self.lower {
            let level = halves.level(word, site);
            reached = (level > 0).then(|| reached - (1 << (site as u32 * halves.width)))?;
            square *= f64::from(level) * (top - f64::from(level) + 1.0);
        }
        if let Some(site) = self.raise {
            let level = halves.level(word, site);
            reached = (level < halves.two_s).then(|| reached + (1 << (site as u32 * halves.width)))?;
            square *= (top - f64::from(level)) * (f64::from(level) + 1.0);
        }
        let odd = match (self.raise, self.lower) {
            (Some(a), Some(b)) if halves.fermions => {
                let between = ((1u64 << a.max(b)) - 1) & !((2u64 << a.min(b)) - 1);
                (word & between).count_ones() % 2 == 1
            }
            _ => false,
        };
        let amplitude = square.sqrt();
        Some((reached, if odd { -amplitude } else { amplitude }))
    }
}

/// S⁺ᵢS⁻ⱼ of two sites, i < j.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchange {
    /// i and j
    pub sites: [usize; 2],
    /// What happens to the low word.
    pub low: Move,
    /// What happens to the high word.
    pub high: Move,
    /// The sign of the order of the four operators.
    pub factor: f64,
}

/// S⁺ᵢS⁻ⱼ of all pairs.
pub fn exchanges(halves: &Halves) -> Vec<Exchange> {
    let [low, high] = halves.sites;
    let sites = if halves.fermions { low } else { low + high };
    let pairs = (0..sites).flat_map(|i| (i + 1..sites).map(move |j| (i, j)));
    let exchange = |(i, j): (usize, usize)| {
        let both = |raise, lower| Move { raise: Some(raise), lower: Some(lower) };
        let none = Move::default();
        let (low, high) = match (halves.fermions, i < low, j < low) {
            (true, ..) => (both(i, j), both(j, i)),
            (false, true, true) => (both(i, j), none),
            (false, true, false) => (Move { raise: Some(i), lower: None }, Move { raise: None, lower: Some(j - low) }),
            (false, false, _) => (none, both(i - low, j - low)),
        };
        Exchange { sites: [i, j], low, high, factor: if halves.fermions { -1.0 } else { 1.0 } }
    };
    let mut all: Vec<Exchange> = pairs.map(exchange).collect();
    // Those that share a move stand together.
    all.sort_by_key(|exchange| (exchange.high, exchange.low));
    all
}

/// Words of moves that one set of tables may look at; the tables have some four times fewer entries of 8 to 28 bytes.
const WORDS_AT_ONCE: usize = 1 << 24;

/// Cuts the list so that the tables of each part stay small.
pub fn batches<'a>(halves: &Halves, all: &'a [Exchange]) -> Vec<&'a [Exchange]> {
    let mut parts = Vec::new();
    let (mut first, mut lows, mut highs) = (0, Vec::new(), Vec::new());
    for (k, exchange) in all.iter().enumerate() {
        let words = |lows: &Vec<Move>, highs: &Vec<Move>| {
            (lows.len() + 1) * halves.lows.len() + (highs.len() + 1) * halves.columns.len()
        };
        if k > first && words(&lows, &highs) > WORDS_AT_ONCE {
            parts.push(&all[first..k]);
            (first, lows, highs) = (k, Vec::new(), Vec::new());
        }
        if !lows.contains(&exchange.low) {
            lows.push(exchange.low);
        }
        if !highs.contains(&exchange.high) {
            highs.push(exchange.high);
        }
    }
    if first < all.len() {
        parts.push(&all[first..]);
    }
    parts
}

/// The moves of some operators, as the kernel reads them.
#[derive(Debug, Default)]
pub struct MoveTables {
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
type ColumnPairs = Vec<(u64, u64, u32, f64)>;

fn column_pairs(halves: &Halves, high: Move) -> ColumnPairs {
    let pair = |column: &super::halves::Column| {
        let (reached, amplitude) = high.of(halves, column.word)?;
        let to = halves.column_of(reached)?;
        Some((column.start as u64, to.start as u64, column.class as u32, amplitude))
    };
    halves.columns.iter().filter_map(pair).collect()
}

/// Pairs of rows of one low move from one class, by amplitude.
type RowPairs = Vec<(f64, Vec<u64>)>;

fn row_pairs(halves: &Halves, low: Move, class: usize) -> RowPairs {
    let mut lists: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (row, word) in halves.rows(class).iter().enumerate() {
        let Some((reached, amplitude)) = low.of(halves, *word) else { continue };
        let Some((_, to)) = halves.row_of(reached) else { continue };
        lists.entry(amplitude.to_bits()).or_default().push(row as u64 | (to as u64) << 32);
    }
    lists.into_iter().map(|(bits, pairs)| (f64::from_bits(bits), pairs)).collect()
}

impl MoveTables {
    /// Of some operators.
    pub fn new(halves: &Halves, operators: &[Exchange]) -> MoveTables {
        let mut tables =
            MoveTables { high_start: vec![0], low_lists: vec![0], list_start: vec![0], ..Default::default() };
        let (mut highs, mut lows) = (Vec::new(), Vec::new());
        for exchange in operators {
            tables.operator_high.push(number_of(&mut highs, exchange.high));
            tables.operator_low.push(number_of(&mut lows, exchange.low));
        }
        let found: Vec<ColumnPairs> = highs.par_iter().map(|high| column_pairs(halves, *high)).collect();
        found.into_iter().for_each(|pairs| tables.push_high(pairs));
        let cells: Vec<(Move, usize)> =
            lows.iter().flat_map(|low| (0..halves.classes.len()).map(|class| (*low, class))).collect();
        let found: Vec<RowPairs> = cells.par_iter().map(|(low, class)| row_pairs(halves, *low, *class)).collect();
        found.into_iter().for_each(|lists| tables.push_cell(lists));
        tables
    }

    fn push_high(&mut self, pairs: ColumnPairs) {
        for (from, to, class, amplitude) in pairs {
            self.high_from.push(from);
            self.high_to.push(to);
            self.high_class.push(class);
            self.high_amplitude.push(amplitude);
        }
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

/// The move's place in the list, at the end where it is new.
fn number_of(known: &mut Vec<Move>, wanted: Move) -> u32 {
    let place = known.iter().rposition(|known| *known == wanted).unwrap_or_else(|| {
        known.push(wanted);
        known.len() - 1
    });
    place as u32
}
