//! Lin's two tables: index = high_offset[high] + low_index[low] (H. Q. Lin, Phys. Rev. B 42, 6561 (1990)).
//!
//! High parts stand in ascending order, or by the charge of the high part, then by that of its upper half ([`LinTables::by_charge`]):
//! terms that conserve the charge of the high part then lead to states nearby, so that cards which share a vector read few elements of
//! each other's.
//!
//! The lists have the size of the sector: high parts that contain states, and low parts that complete one. The two tables
//! indexed by a part of the word itself have 2^bits entries; if that exceeds the number of states in the sector, the
//! lists are searched instead ([`LinTables::direct`]).

use super::combinations;
use super::digits::Digits;
use super::low_mask;
use super::number::MOST_STATES;
use super::sites::{HalfWords, halves};
use crate::operator::{Charge, OperatorError, SiteLayout, Spin};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Most high parts, and most low parts, in a list: 1 GiB. Sectors beyond have 1e10 states and more.
const LARGEST_LIST: u128 = 1 << 25;

/// Table entries, indexed by a part of a word, allowed in any sector: they take less than a millisecond.
const SMALL_TABLE: u64 = 1 << 16;

/// Bits of one half beyond which it never indexes a table.
const LARGEST_HALF: u32 = 28;

/// Lists of low parts in a sector of a parity: without a charge, an order by charge would only tear neighbours apart.
const PARITIES: usize = 2;

/// One high part with the low parts that complete it to the sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighPart {
    /// The high bits.
    pub high: u64,
    /// Index of its first state.
    pub start: u64,
    /// First of its low parts in [`LinTables::low_states`].
    pub first_low: u64,
    /// How many there are.
    pub count: u64,
}

/// The tables of a sector.
#[derive(Clone, Debug)]
pub struct LinTables {
    /// Bits of the low part.
    pub low_bits: u32,
    /// Low parts by charge, ascending within one.
    pub low_states: Vec<u64>,
    /// High parts with states, in the order of their states.
    pub parts: Vec<HighPart>,
    /// The numbers of the parts by ascending words; empty where they stand so.
    by_word: Vec<u32>,
    /// Tables indexed by the parts themselves; `None` if the lists are searched.
    pub direct: Option<DirectTables>,
    /// Whether a low part may be in several lists, at different places: where patterns across the cut are forbidden.
    pub shared_lows: bool,
}

/// Lin's tables proper.
#[derive(Clone, Debug)]
pub struct DirectTables {
    /// Index of the first state of each high part; `u64::MAX` if the sector has none.
    pub high_offset: Vec<u64>,
    /// Position of each low part among those of its charge; `u32::MAX` for words that are not states.
    pub low_index: Vec<u32>,
}

/// Sizes of tables with a shorter low part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShape {
    /// Rows of the longest column.
    pub longest: u64,
    /// Columns.
    pub columns: u64,
    /// Whether places would be looked up in tables, if no low part is in several lists at different places.
    pub is_direct: bool,
}

/// How the charge of a part of a word is told, where that matters for an order alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChargeOfWord {
    /// Bits of a site.
    pub(super) width: u32,
    /// Whether each bit is a particle; otherwise the bits of a site are a number.
    pub(super) by_bits: bool,
    /// The bit of a state that is above all sites, if there is one: it tells imaginary from real parts.
    pub turn: Option<u32>,
}

impl ChargeOfWord {
    fn charge(&self, word: u64) -> u64 {
        if self.by_bits || self.width == 1 {
            return u64::from(word.count_ones());
        }
        let digits = (0..u64::BITS).step_by(self.width as usize);
        digits.map(|shift| word >> shift & low_mask(self.width)).sum()
    }
}

/// Whether halves of this many bits index tables, in a sector of this dimension.
fn is_direct(low_bits: u32, high_bits: u32, dimension: u64) -> bool {
    let bits = low_bits.max(high_bits);
    bits <= LARGEST_HALF && 1 << bits <= dimension.max(SMALL_TABLE)
}

/// Bytes of the tables of a fermion sector, which a Kronecker sum does not need.
pub(super) fn fermion_bytes(sites: usize, up: usize, down: usize) -> u64 {
    let bits = sites as u32;
    let direct = if is_direct(bits, bits, up as u64 * down as u64) { 12 << bits } else { 0 };
    list_bytes(up, down) + direct
}

fn list_bytes(low_states: usize, parts: usize) -> u64 {
    8 * low_states as u64 + size_of::<HighPart>() as u64 * parts as u64
}

impl LinTables {
    /// Fermions: the low part is the up word, the high part the down word, so the index is the Kronecker one. At most 32
    /// sites, because both words must fit in one state word.
    pub fn fermions(sites: usize, up: &[u64], down: &[u64]) -> LinTables {
        let n_up = up.len() as u64;
        let part =
            |(j, high): (usize, &u64)| HighPart { high: *high, start: j as u64 * n_up, first_low: 0, count: n_up };
        let parts = down.iter().enumerate().map(part).collect();
        LinTables {
            low_bits: sites as u32,
            low_states: up.to_vec(),
            parts,
            by_word: Vec::new(),
            direct: None,
            shared_lows: false,
        }
        .with_direct(sites as u32)
    }

    /// Local moments of `width` bits per site whose levels, 0 to `two_s` each, add up to `levels`.
    ///
    /// # Errors
    /// A sector whose lists would be too long.
    pub fn spins(sites: usize, two_s: u32, width: u32, levels: u64) -> Result<LinTables, OperatorError> {
        let top = u64::from(two_s);
        let low = Digits { count: sites / 2, width, top };
        let high = Digits { count: sites - sites / 2, width, top };
        // Charges of one half that the other can complete.
        let low_sums = levels.saturating_sub(high.largest())..=low.largest().min(levels);
        let high_sums = levels.saturating_sub(low.largest())..=high.largest().min(levels);
        let dimension = Digits { count: sites, width, top }.number(levels..=levels);
        if low.number(low_sums.clone()).max(high.number(high_sums.clone())) > LARGEST_LIST || dimension > MOST_STATES {
            return Err(OperatorError::TooLarge { dimension: dimension as f64 });
        }
        let (low_states, first) = by_charge(low.words(low_sums.clone()), &low_sums);
        let (mut start, mut parts) = (0, Vec::with_capacity(high.number(high_sums.clone()) as usize));
        high.each(high_sums, |word, sum| {
            let class = (levels - sum - low_sums.start()) as usize;
            let (first_low, count) = (first[class], first[class + 1] - first[class]);
            let part = HighPart { high: word, start, first_low, count };
            start += count;
            parts.push(part);
        });
        let low_bits = low.count as u32 * width;
        let tables = LinTables { low_bits, low_states, parts, by_word: Vec::new(), direct: None, shared_lows: false };
        Ok(tables.with_direct(high.count as u32 * width))
    }

    /// Sites of any kind whose states have these charges, without those that the layout forbids. Empty if there is none.
    ///
    /// # Errors
    /// A sector whose lists would be too long.
    pub fn on_sites(layout: &SiteLayout, charges: &[(Charge, i64)]) -> Result<LinTables, OperatorError> {
        if let Some(low) = layout.low_species() {
            let sites = layout.kinds().len();
            let of_species = |is_low: bool| {
                let charge = if is_low == (low == Spin::Up) { Charge::Up } else { Charge::Down };
                let number = charges.iter().find(|(own, _)| *own == charge).map_or(0, |(_, number)| *number);
                combinations::words(sites, number as usize)
            };
            return Ok(LinTables::fermions(sites, &of_species(true), &of_species(false)));
        }
        let HalfWords { low_bits, classes, highs, shared } = halves(layout, charges, LARGEST_LIST)?;
        let (mut low_states, mut first) = (Vec::new(), Vec::new());
        for lows in &classes {
            first.push((low_states.len() as u64, lows.len() as u64));
            low_states.extend(lows);
        }
        let mut start = 0;
        let part = |(high, class): &(u64, u32)| {
            let (first_low, count) = first[*class as usize];
            let part = HighPart { high: *high, start, first_low, count };
            start += count;
            part
        };
        let parts: Vec<HighPart> = highs.iter().map(part).collect();
        let tables = LinTables { low_bits, low_states, parts, by_word: Vec::new(), direct: None, shared_lows: shared };
        // A low word that has different numbers in different columns is looked up there.
        Ok(if shared { tables } else { tables.with_direct(layout.bits() - low_bits) })
    }

    /// What [`LinTables::with_low_bits`] would make, without making it.
    pub fn shape_with_low_bits(&self, bits: u32) -> CutShape {
        let shift = self.low_bits - bits;
        // Of each list of low parts: how many lists it becomes, and the length of the longest.
        let mut known: HashMap<u64, (u64, u64)> = HashMap::new();
        let (mut columns, mut longest, mut highest) = (0u64, 0, 0);
        for part in &self.parts {
            let (pieces, length) = *known.entry(part.first_low).or_insert_with(|| {
                let lengths = self.lows(part).chunk_by(|a, b| a >> bits == b >> bits).map(|piece| piece.len() as u64);
                lengths.fold((0, 0), |(pieces, longest), length| (pieces + 1, longest.max(length)))
            });
            (columns, longest, highest) = (columns + pieces, longest.max(length), highest.max(part.high));
        }
        let high_bits = u64::BITS - highest.leading_zeros() + shift;
        CutShape { longest, columns, is_direct: is_direct(bits, high_bits, self.dimension()) }
    }

    /// The same states with a shorter low part, `bits` bits.
    pub fn with_low_bits(&self, bits: u32) -> LinTables {
        let shift = self.low_bits - bits;
        let (mut low_states, mut parts) = (Vec::new(), Vec::new());
        // Of each old list: its top values, each with the new list's beginning and length.
        let mut cut: HashMap<u64, Vec<(u64, u64, u64)>> = HashMap::new();
        let mut known: HashMap<Vec<u64>, u64> = HashMap::new();
        let mut start = 0;
        for part in &self.parts {
            let pieces = cut.entry(part.first_low).or_insert_with(|| {
                let piece = |lows: &[u64]| {
                    let list: Vec<u64> = lows.iter().map(|low| low & low_mask(bits)).collect();
                    let count = list.len() as u64;
                    let first = *known.entry(list).or_insert_with_key(|list| {
                        low_states.extend(list);
                        low_states.len() as u64 - count
                    });
                    (lows[0] >> bits, first, count)
                };
                self.lows(part).chunk_by(|a, b| a >> bits == b >> bits).map(piece).collect()
            });
            for (top, first_low, count) in pieces.iter().copied() {
                parts.push(HighPart { high: part.high << shift | top, start, first_low, count });
                start += count;
            }
        }
        let mut seen = HashSet::new();
        let shared_lows = !low_states.iter().all(|low| seen.insert(*low));
        let high_bits = parts.iter().map(|part| u64::BITS - part.high.leading_zeros()).max().unwrap_or(0);
        let by_word = if self.by_word.is_empty() { Vec::new() } else { by_word(&parts) };
        let tables = LinTables { low_bits: bits, low_states, parts, by_word, direct: None, shared_lows };
        if shared_lows { tables } else { tables.with_direct(high_bits) }
    }

    /// The same states with their high parts by charge, then by the charge of the upper half of the high part, then ascending; `None`
    /// where they stand so, places are searched, or no charge but a parity is fixed.
    pub fn by_charge(&self, charge: ChargeOfWord) -> Option<LinTables> {
        let direct = self.direct.as_ref().filter(|_| !self.is_by_charge())?;
        let lists: HashSet<u64> = self.parts.iter().map(|part| part.first_low).collect();
        if lists.len() <= PARITIES {
            return None;
        }
        let turn = charge.turn.map_or(0, |bit| 1u64 << bit >> self.low_bits);
        let largest = self.parts.iter().map(|part| part.high & !turn).max()?;
        let sites = (u64::BITS - largest.leading_zeros()).div_ceil(charge.width);
        let upper = sites / 2 * charge.width;
        // The list of low parts belongs to the charges of the high part.
        let key = |part: &HighPart| {
            (part.high & turn, part.first_low, charge.charge((part.high & !turn) >> upper), part.high)
        };
        let mut parts = self.parts.clone();
        parts.sort_by_key(key);
        let mut start = 0;
        for part in &mut parts {
            part.start = start;
            start += part.count;
        }
        let (by_word, high_bits) = (by_word(&parts), direct.high_offset.len().ilog2());
        Some(LinTables { parts, by_word, direct: None, ..self.clone() }.with_direct(high_bits))
    }

    /// Whether high parts stand by their charge.
    pub fn is_by_charge(&self) -> bool {
        !self.by_word.is_empty()
    }

    /// Adds the tables indexed by parts of the word, if the sector is large enough for them.
    fn with_direct(mut self, high_bits: u32) -> LinTables {
        if !is_direct(self.low_bits, high_bits, self.dimension()) {
            return self;
        }
        let mut high_offset = vec![u64::MAX; 1 << high_bits];
        let mut low_index = vec![u32::MAX; 1 << self.low_bits];
        for part in &self.parts {
            high_offset[part.high as usize] = part.start;
            let lows = &self.low_states[part.first_low as usize..][..part.count as usize];
            // The parts of one charge share their low parts, which are numbered once.
            if lows.first().is_some_and(|low| low_index[*low as usize] == u32::MAX) {
                lows.iter().enumerate().for_each(|(k, low)| low_index[*low as usize] = k as u32);
            }
        }
        self.direct = Some(DirectTables { high_offset, low_index });
        self
    }

    /// Number of states.
    pub fn dimension(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.start + part.count)
    }

    /// Bytes of all tables.
    pub fn bytes(&self) -> u64 {
        let direct = self.direct.as_ref();
        let direct = direct.map_or(0, |tables| 8 * tables.high_offset.len() + 4 * tables.low_index.len());
        list_bytes(self.low_states.len(), self.parts.len()) + direct as u64
    }

    /// The high part that contains an index below the dimension.
    #[inline]
    pub fn part_of(&self, index: u64) -> usize {
        self.parts.partition_point(|part| part.start <= index) - 1
    }

    /// The state word of an index below the dimension.
    #[inline]
    pub fn state(&self, index: u64) -> u64 {
        let part = &self.parts[self.part_of(index)];
        self.low_states[(part.first_low + index - part.start) as usize] | part.high << self.low_bits
    }

    /// The words of a range of indices.
    #[inline]
    pub fn states(&self, range: Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.parts.partition_point(|part| part.start + part.count <= range.start);
        let end = range.end;
        self.parts[first..].iter().take_while(move |part| part.start < end).flat_map(move |part| {
            let [from, to] = [range.start, range.end].map(|index| index.clamp(part.start, part.start + part.count));
            let lows = &self.lows(part)[(from - part.start) as usize..(to - part.start) as usize];
            lows.iter().map(move |low| low | part.high << self.low_bits)
        })
    }

    /// The index of a word in the sector.
    #[inline]
    pub fn index(&self, state: u64) -> u64 {
        let (low, high) = (state & low_mask(self.low_bits), state >> self.low_bits);
        match &self.direct {
            Some(tables) => tables.high_offset[high as usize] + u64::from(tables.low_index[low as usize]),
            None => {
                let Some(part) = self.part_with(high) else { unreachable!("a word of the sector") };
                let part = &self.parts[part];
                part.start + self.lows(part).partition_point(|word| *word < low) as u64
            }
        }
    }

    /// The index of any word; `None` if it is not in the sector.
    #[inline]
    pub fn checked_index(&self, state: u64) -> Option<u64> {
        let (low, high) = (state & low_mask(self.low_bits), state >> self.low_bits);
        let part = &self.parts[self.part_with(high)?];
        Some(part.start + self.lows(part).binary_search(&low).ok()? as u64)
    }

    /// The number of the part with a high word, if the sector has one.
    #[inline]
    pub fn part_with(&self, high: u64) -> Option<usize> {
        if self.by_word.is_empty() {
            return self.parts.binary_search_by_key(&high, |part| part.high).ok();
        }
        let found = self.by_word.binary_search_by_key(&high, |part| self.parts[*part as usize].high).ok()?;
        Some(self.by_word[found] as usize)
    }

    /// The low parts of a high part, ascending.
    fn lows(&self, part: &HighPart) -> &[u64] {
        &self.low_states[part.first_low as usize..][..part.count as usize]
    }
}

/// The numbers of parts by ascending words.
fn by_word(parts: &[HighPart]) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..parts.len() as u32).collect();
    numbers.sort_unstable_by_key(|part| parts[*part as usize].high);
    numbers
}

/// Words sorted by charge, ascending within one, and the start of each charge, followed by the end of the last.
fn by_charge(words: Vec<(u64, u64)>, sums: &std::ops::RangeInclusive<u64>) -> (Vec<u64>, Vec<u64>) {
    let classes = (sums.end() - sums.start() + 1) as usize;
    let mut first = vec![0u64; classes + 1];
    for (_, sum) in &words {
        first[(sum - sums.start()) as usize + 1] += 1;
    }
    for class in 0..classes {
        first[class + 1] += first[class];
    }
    let mut next = first.clone();
    let mut sorted = vec![0; words.len()];
    for (word, sum) in words {
        let place = &mut next[(sum - sums.start()) as usize];
        sorted[*place as usize] = word;
        *place += 1;
    }
    (sorted, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(tables: &LinTables) -> Vec<u64> {
        (0..tables.dimension()).map(|index| tables.state(index)).collect()
    }

    fn is_inverse(tables: &LinTables) {
        for (index, state) in states(tables).iter().enumerate() {
            assert_eq!(tables.index(*state), index as u64);
            assert_eq!(tables.checked_index(*state), Some(index as u64));
        }
    }

    #[test]
    fn index_and_state_are_inverse_and_ascending_by_tables_and_by_search() {
        for (sites, two_s, width) in [(1, 1, 1), (6, 1, 1), (5, 2, 2), (4, 3, 2), (7, 1, 1)] {
            for levels in 0..=sites as u64 * u64::from(two_s) {
                let tables = LinTables::spins(sites, two_s, width, levels).unwrap();
                assert!(tables.direct.is_some(), "halves of a few bits");
                let brute = (0..1u64 << (sites as u32 * width)).filter(|word| {
                    let digits = (0..sites as u32).map(|site| (word >> (site * width)) as u32 & ((1 << width) - 1));
                    digits.clone().all(|level| level <= two_s) && digits.map(u64::from).sum::<u64>() == levels
                });
                assert_eq!(states(&tables), brute.collect::<Vec<_>>());
                is_inverse(&tables);
                is_inverse(&LinTables { direct: None, ..tables.clone() });
                for bits in 0..tables.low_bits {
                    let cut = tables.with_low_bits(bits);
                    assert_eq!((cut.low_bits, states(&cut)), (bits, states(&tables)));
                    is_inverse(&cut);
                }
                let outside = (0..1u64 << (sites as u32 * width)).filter(|word| !states(&tables).contains(word));
                outside.for_each(|word| assert_eq!(tables.checked_index(word), None));
            }
        }
    }

    #[test]
    fn states_by_charge_are_the_same_in_another_order() {
        for (sites, two_s, width, levels) in [(8, 1, 1, 4), (9, 1, 1, 3), (6, 2, 2, 5), (5, 3, 2, 7), (5, 1, 1, 2)] {
            let plain = LinTables::spins(sites, two_s, width, levels).unwrap();
            let charge = ChargeOfWord { width, by_bits: false, turn: None };
            let ordered = plain.by_charge(charge).unwrap();
            assert!(ordered.is_by_charge() && !plain.is_by_charge() && ordered.by_charge(charge).is_none());
            let mut all = states(&ordered);
            is_inverse(&ordered);
            is_inverse(&LinTables { direct: None, ..ordered.clone() });
            for bits in 0..ordered.low_bits {
                let cut = ordered.with_low_bits(bits);
                assert_eq!(states(&cut), all);
                is_inverse(&cut);
                is_inverse(&LinTables { direct: None, ..cut });
            }
            let outside = (0..1u64 << (sites as u32 * width)).filter(|word| !all.contains(word));
            outside.for_each(|word| assert_eq!(ordered.checked_index(word), None));
            // The charge of the high part goes one way, and within one that of its upper half.
            let sum = |word: u64| charge.charge(word);
            let upper = (sites - sites / 2) as u32 / 2 * width;
            let keys = |part: &HighPart| (sum(part.high), sum(part.high >> upper));
            let rises = |pair: &[HighPart]| {
                let [(a, first), (b, second)] = [keys(&pair[0]), keys(&pair[1])];
                a > b || (a == b && (first, pair[0].high) <= (second, pair[1].high))
            };
            assert!(ordered.parts.windows(2).all(rises), "{sites} sites");
            all.sort_unstable();
            assert_eq!(all, states(&plain));
            let two_lists = LinTables::spins(sites, two_s, width, 1).unwrap();
            assert!(two_lists.by_charge(charge).is_none(), "as many as of a parity");
        }
    }

    /// One magnon has as many states as there are sites, and tables of that size, in either half.
    #[test]
    fn tables_have_the_size_of_the_sector() {
        for (sites, two_s, width) in
            [(64, 1, 1), (63, 1, 1), (62, 1, 1), (56, 1, 1), (31, 3, 2), (32, 2, 2), (16, 9, 4)]
        {
            let full = sites as u64 * u64::from(two_s);
            for levels in [0, 1, full - 1, full] {
                let tables = LinTables::spins(sites, two_s, width, levels).unwrap();
                assert_eq!(tables.dimension(), if levels % full == 0 { 1 } else { sites as u64 });
                assert!(tables.direct.is_none() && tables.bytes() < 1 << 14, "{} bytes", tables.bytes());
                assert!(states(&tables).windows(2).all(|pair| pair[0] < pair[1]));
                is_inverse(&tables);
            }
        }
        let two = LinTables::spins(64, 1, 1, 62).unwrap();
        assert_eq!(two.dimension(), 64 * 63 / 2);
        is_inverse(&two);
        let error = LinTables::spins(64, 1, 1, 32).unwrap_err();
        assert_eq!(error, OperatorError::TooLarge { dimension: 1_832_624_140_942_590_534.0 });
    }
}
