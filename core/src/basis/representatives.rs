//! Representatives of a symmetry sector: of each orbit of a group the smallest state word, if the orbit has a state in the sector.
//!
//! In: a group with characters χ, the words of the sector without symmetry. Out: the representatives, ascending, each with the number of
//! elements that leave it as it is. The state of a representative r is
//!
//! |r̃⟩ = 1/√(|G| |S_r|) Σ_g χ(g)* U_g |r⟩,   S_r = { g : g r = r },   U_g |s⟩ = σ_g(s) |g s⟩
//!
//! with σ the sign of fermions. An orbit has no state if χ(g)* σ_g(r) ≠ 1 for some g of S_r, because the sum then vanishes
//! (A. W. Sandvik, AIP Conf. Proc. 1297, 135 (2010), section 4.1.3). Antiunitary elements join two orbits in one, and leave an orbit its
//! state.
//!
//! A word is moved by tables: for each run of whole digits of at most 8 bits and each of its values, where every element takes the
//! bits. The entries of all elements stand side by side, so that a block of images is made at once by vector instructions. A word is
//! a representative unless some image is smaller. Half of the words have a smaller one by the first element, and of k elements all images
//! are larger for about one word in k + 1: so the first are made one after the other. Words that follow each other have their high bits in
//! common. Where these alone make an image smaller, none of them is looked at; of long chains that leaves about one word in twenty.

use crate::operator::{GroupElement, SiteLayout, SymmetryGroup};
use multiversion::multiversion;
use num_complex::Complex64;
use rayon::prelude::*;
use std::ops::{BitAnd, BitOrAssign, BitXor, Not};

/// Bits of a run of digits. A digit has at most 6.
const RUN_BITS: u32 = 8;

/// Digits that are moved by one look-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) shift: u32,
    pub(super) mask: u64,
    /// Where its values begin in the tables of an element.
    pub(super) first: usize,
}

/// A mode's bit, and the bits of the later modes that an element takes before it; its own bit among them if the mode changes the sign by
/// itself.
pub(super) type Inverted = (u128, u128);

/// Words of a table: 32 or 64 bits where they suffice.
pub(super) trait TableWord:
    Copy + Ord + BitOrAssign + BitAnd<Output = Self> + BitXor<Output = Self> + Not<Output = Self> + Default + Send + Sync
{
    fn narrow(word: u128) -> Self;
    fn wide(self) -> u128;
    /// The bits above the highest one that is set.
    fn above(self) -> Self;
    /// The value of a run.
    fn value(self, run: &Run) -> usize;
}

impl TableWord for u32 {
    fn narrow(word: u128) -> u32 {
        word as u32
    }

    fn wide(self) -> u128 {
        self.into()
    }

    #[inline(always)]
    fn above(mut self) -> u32 {
        for step in 0..5 {
            self |= self >> (1u32 << step);
        }
        !self
    }

    #[inline]
    fn value(self, run: &Run) -> usize {
        (u64::from(self) >> run.shift & run.mask) as usize
    }
}

impl TableWord for u64 {
    fn narrow(word: u128) -> u64 {
        word as u64
    }

    fn wide(self) -> u128 {
        self.into()
    }

    #[inline(always)]
    fn above(mut self) -> u64 {
        for step in 0..6 {
            self |= self >> (1u32 << step);
        }
        !self
    }

    #[inline]
    fn value(self, run: &Run) -> usize {
        (self >> run.shift & run.mask) as usize
    }
}

impl TableWord for u128 {
    fn narrow(word: u128) -> u128 {
        word
    }

    fn wide(self) -> u128 {
        self
    }

    #[inline(always)]
    fn above(mut self) -> u128 {
        for step in 0..7 {
            self |= self >> (1u32 << step);
        }
        !self
    }

    #[inline]
    fn value(self, run: &Run) -> usize {
        ((self >> run.shift) as u64 & run.mask) as usize
    }
}

/// Of each entry the bits to which the elements take it, all elements of an entry side by side, and after them the first once more up to
/// whole blocks.
#[derive(Debug)]
pub(super) enum Tables {
    Brief(Vec<u32>),
    Short(Vec<u64>),
    Long(Vec<u128>),
}

/// Calls a function with the table of words of either length.
macro_rules! with_table {
    ($tables:expr, $table:ident => $call:expr) => {
        match $tables {
            Tables::Brief($table) => $call,
            Tables::Short($table) => $call,
            Tables::Long($table) => $call,
        }
    };
}

pub(super) use with_table;

/// Elements whose images are made at once.
pub(super) const BLOCK: usize = 16;
/// Runs of a word: a digit of five bits may have one of its own.
const MOST_RUNS: usize = 26;

/// The elements of a group on state words.
#[derive(Debug)]
pub struct WordActions {
    pub(super) runs: Vec<Run>,
    pub(super) tables: Tables,
    /// Of each element; empty without fermions.
    inverted: Vec<Vec<Inverted>>,
    characters: Vec<Complex64>,
    /// Whether each element conjugates amplitudes; empty where none does.
    conjugates: Vec<bool>,
    /// All bits of a word, where each digit is one bit.
    bits: Option<u128>,
    /// Digits whose largest value is not all of their bits: where they begin, their bits, that value.
    pub(super) cut_digits: Vec<(u32, u128, u128)>,
}

/// A state that was taken to its representative: U_g |s⟩ = σ |r⟩.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// The representative's word.
    pub word: u128,
    /// σ χ(g)*, with which P|s⟩ = σ χ(g)* P|r⟩ for the projector P on the sector.
    pub factor: Complex64,
    /// Whether g conjugates: ψ(s) is the conjugate of `factor` times ψ(r), or then times the conjugate of ψ(r).
    pub conjugates: bool,
}

/// The images of a word by a block of elements; `entries` is where the entries of its runs begin in the table.
#[inline(always)]
fn block_of_images<W: TableWord>(table: &[W], entries: &[usize], first: usize) -> [W; BLOCK] {
    let mut images = [W::default(); BLOCK];
    for entry in entries {
        let Some(moved) = table[entry + first..].first_chunk::<BLOCK>() else { return images };
        for lane in 0..BLOCK {
            images[lane] |= moved[lane];
        }
    }
    images
}

/// The least image of a word, and the first element that leads to it. A whole block is compared lane by lane; what is left is to compare the
/// lanes.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+avx2", "x86_64+avx2"))]
fn least_image<W: TableWord>(table: &[W], entries: &[usize], stride: usize) -> (W, usize) {
    let mut least = block_of_images(table, entries, 0);
    let (mut firsts, mut first) = ([W::default(); BLOCK], BLOCK);
    while first < stride {
        let (images, own) = (block_of_images(table, entries, first), W::narrow(first as u128));
        for lane in 0..BLOCK {
            let is_less = images[lane] < least[lane];
            least[lane] = if is_less { images[lane] } else { least[lane] };
            firsts[lane] = if is_less { own } else { firsts[lane] };
        }
        first += BLOCK;
    }
    let mut found = (least[0], firsts[0].wide() as usize);
    for lane in 1..BLOCK {
        found = found.min((least[lane], firsts[lane].wide() as usize + lane));
    }
    found
}

/// The part of the images of words that the high bits make, which they have in common, and the runs of other bits.
pub(super) struct CommonImages<W> {
    pub(super) images: Vec<W>,
    pub(super) open: usize,
}

/// How many images are a word itself, `common` is a part of them; those behind the last element too, which are the first's; `None` if one is less.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+avx2", "x86_64+avx2"))]
fn equal_images<W: TableWord>(table: &[W], entries: &[usize], common: &[W], own: W) -> Option<usize> {
    let mut equal = 0;
    for (block, common) in common.as_chunks::<BLOCK>().0.iter().enumerate() {
        let (mut images, mut is_less, mut same) = (block_of_images(table, entries, block * BLOCK), false, 0u32);
        for lane in 0..BLOCK {
            images[lane] |= common[lane];
        }
        for image in images {
            is_less |= image < own;
            same += u32::from(image == own);
        }
        if is_less {
            return None;
        }
        equal += same as usize;
    }
    Some(equal)
}

/// Whether an element makes all words less that are `low` but for open bits; `entries` are those of it with no open bit, and with all.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+avx2", "x86_64+avx2"))]
fn some_make_less<W: TableWord>(table: &[W], entries: [&[usize]; 2], stride: usize, (low, open): (W, W)) -> bool {
    let mut first = 0;
    while first < stride {
        let [lows, highs] = entries.map(|entries| block_of_images(table, entries, first));
        let mut is_less = false;
        for (image, high) in lows.into_iter().zip(highs) {
            // An image's bit comes from one bit, so it is known where both are the same.
            let mut unknown = image ^ high;
            unknown |= open;
            let known = unknown.above();
            is_less |= image & known < low & known;
        }
        if is_less {
            return true;
        }
        first += BLOCK;
    }
    false
}

/// The digits that lie in runs of at most [`RUN_BITS`], and the values of each run.
fn runs(layout: &SiteLayout) -> (Vec<Run>, usize) {
    let (mut runs, mut length) = (Vec::<Run>::new(), 0);
    let (mut start, mut end) = (0, 0);
    let mut close = |start: u32, end: u32| {
        if end > start {
            runs.push(Run { shift: start, mask: (1 << (end - start)) - 1, first: length });
            length += 1 << (end - start);
        }
    };
    let mut digits = layout.digits().to_vec();
    digits.sort_unstable_by_key(|digit| digit.shift);
    for digit in digits {
        if digit.shift + digit.width - start > RUN_BITS {
            close(start, end);
            start = digit.shift;
        }
        end = digit.shift + digit.width;
    }
    close(start, end);
    (runs, length)
}

impl WordActions {
    /// Bytes of the tables of a group on words of this layout.
    pub fn bytes(layout: &SiteLayout, elements: usize) -> u64 {
        let modes = layout.digits().iter().filter(|digit| digit.mode.is_some()).count();
        let word = match layout.bits() {
            ..=32 => size_of::<u32>(),
            33..=64 => size_of::<u64>(),
            _ => size_of::<u128>(),
        };
        (elements.next_multiple_of(BLOCK) * runs(layout).1 * word + elements * modes * size_of::<Inverted>()) as u64
    }

    /// Tables of a group, for words of a layout of real vectors.
    pub fn new(group: &SymmetryGroup, layout: &SiteLayout) -> WordActions {
        let (runs, length) = runs(layout);
        let tables = match layout.bits() {
            ..=32 => Tables::Brief(table(group, layout, &runs, length)),
            33..=64 => Tables::Short(table(group, layout, &runs, length)),
            _ => Tables::Long(table(group, layout, &runs, length)),
        };
        let fermions = layout.digits().iter().any(|digit| digit.mode.is_some());
        let inverted = |element: &GroupElement| inverted(layout, element);
        let inverted = if fermions { group.elements.iter().map(inverted).collect() } else { Vec::new() };
        let conjugates = group.elements.iter().map(|element| element.conjugates);
        let conjugates = if group.conjugates() { conjugates.collect() } else { Vec::new() };
        let single = layout.digits().iter().all(|digit| digit.width == 1);
        let bits = single.then(|| layout.digits().iter().fold(0, |bits, digit| bits | 1 << digit.shift));
        let cut = layout.digits().iter().map(|digit| (digit.shift, (1 << digit.width) - 1, digit.top.into()));
        let cut_digits = cut.filter(|(_, mask, top)| mask != top).collect();
        WordActions { runs, tables, inverted, characters: group.characters(), conjugates, bits, cut_digits }
    }

    /// Elements of the group.
    pub fn elements(&self) -> usize {
        self.characters.len()
    }

    /// Elements of an entry of the tables: whole blocks.
    #[inline]
    pub(super) fn stride(&self) -> usize {
        self.elements().next_multiple_of(BLOCK)
    }

    /// Where the entries of a word's runs begin in the table, and how many there are.
    #[inline]
    pub(super) fn entries<W: TableWord>(&self, word: W) -> ([usize; MOST_RUNS], usize) {
        let (mut entries, stride) = ([0; MOST_RUNS], self.stride());
        for (entry, run) in entries.iter_mut().zip(&self.runs) {
            *entry = (run.first + word.value(run)) * stride;
        }
        (entries, self.runs.len())
    }

    /// What some entries make of the images of all elements.
    pub(super) fn images_by<W: TableWord>(&self, table: &[W], entries: &[usize]) -> Vec<W> {
        let stride = self.stride();
        let mut images = vec![W::default(); stride];
        for entry in entries {
            images.iter_mut().zip(&table[*entry..entry + stride]).for_each(|(image, moved)| *image |= *moved);
        }
        images
    }

    /// The image of a word by one element.
    #[inline]
    fn one<W: TableWord>(&self, table: &[W], word: W, element: usize) -> W {
        let (stride, mut image) = (self.stride(), W::default());
        for run in &self.runs {
            image |= table[(run.first + word.value(run)) * stride + element];
        }
        image
    }

    /// Of each fermion mode's bit the bits, of later modes and perhaps of itself, that change the sign if both are set.
    #[inline]
    pub fn inverted(&self, element: usize) -> &[Inverted] {
        self.inverted.get(element).map_or(&[], Vec::as_slice)
    }

    /// σ_g(s) is −1.
    #[inline]
    pub fn is_odd(&self, element: usize, word: u128) -> bool {
        let Some(inverted) = self.inverted.get(element) else { return false };
        let pairs = inverted.iter().filter(|(bit, _)| word & bit != 0);
        pairs.fold(0, |odd, (_, later)| odd ^ (word & later).count_ones()) % 2 == 1
    }

    /// χ(g).
    #[inline]
    pub fn character(&self, element: usize) -> Complex64 {
        self.characters[element]
    }

    /// Whether an element conjugates amplitudes.
    #[inline]
    pub fn conjugates(&self, element: usize) -> bool {
        self.conjugates.get(element).is_some_and(|conjugates| *conjugates)
    }

    /// The direction u of the amplitudes of a representative that an antiunitary element leaves as it is: u² = σ χ, so that ψ = σ χ ψ*.
    pub(crate) fn direction(&self, word: u128) -> Option<Complex64> {
        let fixes = |element: &usize| self.conjugates(*element) && self.image(*element, word) == word;
        let element = (0..self.conjugates.len()).find(fixes)?;
        Some(self.factor(element, word).conj().sqrt())
    }

    /// σ_g(s) χ(g)*.
    #[inline]
    pub fn factor(&self, element: usize, word: u128) -> Complex64 {
        let character = self.characters[element].conj();
        if self.is_odd(element, word) { -character } else { character }
    }

    /// How many elements leave a word as it is; `None` if it is no representative or has no state.
    pub(crate) fn stabiliser(&self, word: u128) -> Option<u32> {
        self.least_word(word).and_then(|(stabiliser, has_state)| has_state.then_some(stabiliser))
    }

    /// How many elements leave the least word of an orbit as it is, and whether the orbit has a state; `None` of other words.
    pub(crate) fn least_word(&self, word: u128) -> Option<(u32, bool)> {
        with_table!(&self.tables, table => {
            let common = CommonImages { images: vec![Default::default(); self.stride()], open: self.runs.len() };
            self.least_word_by(table, word, &common)
        })
    }

    pub(super) fn least_word_by<W: TableWord>(
        &self,
        table: &[W],
        word: u128,
        common: &CommonImages<W>,
    ) -> Option<(u32, bool)> {
        let own = W::narrow(word);
        let mut entries = [0; MOST_RUNS];
        for (entry, run) in entries.iter_mut().zip(&self.runs[..common.open]) {
            *entry = (run.first + own.value(run)) * self.stride();
        }
        let equal = equal_images(table, &entries[..common.open], &common.images, own)?;
        // Nearly all are left as they are by the identity alone.
        if equal == 1 + self.stride() - self.elements() && self.one(table, own, 0) == own {
            return Some((1, true));
        }
        let fixing = (0..self.elements()).filter(|element| self.one(table, own, *element) == own);
        // The factors are roots of unity: the sum is their number, or 0.
        let is_one = |element| self.conjugates(element) || (self.factor(element, word) - 1.0).norm() <= 1e-6;
        Some(fixing.fold((0, true), |(count, has_state), element| (count + 1, has_state & is_one(element))))
    }

    /// Whether the bits that two words and all between them have in common tell that an element makes each of them less.
    pub(super) fn all_become_less(&self, first: u128, last: u128) -> bool {
        with_table!(&self.tables, table => self.all_become_less_by(table, first, last))
    }

    fn all_become_less_by<W: TableWord>(&self, table: &[W], first: u128, last: u128) -> bool {
        let Some(bits) = self.bits else { return false };
        let apart = first ^ last;
        let open = if apart == 0 { 0 } else { bits & u128::MAX >> apart.leading_zeros() };
        let [low, high, open] = [first & !open, first | open, open].map(W::narrow);
        let [(lows, runs), (highs, _)] = [low, high].map(|word| self.entries(word));
        some_make_less(table, [&lows[..runs], &highs[..runs]], self.stride(), (low, open))
    }

    /// Whether its elements move words as those of another group do, in whatever order, with whatever characters, conjugating or not.
    pub(crate) fn moves_alike(&self, other: &WordActions) -> bool {
        /// Where each element takes every entry, the elements sorted.
        fn columns<W: TableWord>(table: &[W], stride: usize, elements: usize) -> Vec<Vec<W>> {
            let column = |element: usize| table.chunks(stride).map(|entry| entry[element]).collect();
            let mut columns: Vec<Vec<W>> = (0..elements).map(column).collect();
            columns.sort_unstable();
            columns
        }
        fn alike<W: TableWord>(own: &[W], others: &[W], stride: usize, elements: usize) -> bool {
            own == others || columns(own, stride, elements) == columns(others, stride, elements)
        }
        if self.elements() != other.elements() || self.inverted.is_empty() != other.inverted.is_empty() {
            return false;
        }
        let (stride, elements) = (self.stride(), self.elements());
        match (&self.tables, &other.tables) {
            (Tables::Brief(own), Tables::Brief(others)) => alike(own, others, stride, elements),
            (Tables::Short(own), Tables::Short(others)) => alike(own, others, stride, elements),
            (Tables::Long(own), Tables::Long(others)) => alike(own, others, stride, elements),
            _ => false,
        }
    }

    /// The element that moves words as one of another group does, on words of the same layout.
    pub fn element_like(&self, other: &WordActions, element: usize) -> Option<usize> {
        fn find<W: TableWord>(
            own: (&[W], usize),
            others: (&[W], usize),
            count: usize,
            element: usize,
        ) -> Option<usize> {
            let entries = || own.0.chunks(own.1).zip(others.0.chunks(others.1));
            (0..count).find(|there| entries().all(|(own, other)| own[*there] == other[element]))
        }
        let (stride, others, count) = (self.stride(), other.stride(), self.elements());
        match (&self.tables, &other.tables) {
            (Tables::Brief(own), Tables::Brief(there)) => find((own, stride), (there, others), count, element),
            (Tables::Short(own), Tables::Short(there)) => find((own, stride), (there, others), count, element),
            (Tables::Long(own), Tables::Long(there)) => find((own, stride), (there, others), count, element),
            _ => None,
        }
    }

    /// The representative of a word's orbit.
    #[inline]
    pub fn reached(&self, word: u128) -> Reached {
        let (word_there, by) = self.least(word);
        Reached { word: word_there, factor: self.factor(by, word), conjugates: self.conjugates(by) }
    }

    /// The least image of a word, and an element that leads to it.
    #[inline]
    pub fn least(&self, word: u128) -> (u128, usize) {
        with_table!(&self.tables, table => self.least_by(table, word))
    }

    fn least_by<W: TableWord>(&self, table: &[W], word: u128) -> (u128, usize) {
        let (entries, runs) = self.entries(W::narrow(word));
        let (least, element) = least_image(table, &entries[..runs], self.stride());
        (least.wide(), element)
    }

    /// The image of a word by one element.
    #[inline]
    pub fn image(&self, element: usize, word: u128) -> u128 {
        match &self.tables {
            Tables::Brief(table) => self.one(table, word as u32, element).into(),
            Tables::Short(table) => self.one(table, word as u64, element).into(),
            Tables::Long(table) => self.one(table, word, element),
        }
    }

    /// The elements that leave a word as it is; `None` if an element makes it less.
    pub fn fixing(&self, word: u128) -> Option<Vec<usize>> {
        let mut fixing = Vec::new();
        for element in 0..self.elements() {
            match self.image(element, word).cmp(&word) {
                std::cmp::Ordering::Less => return None,
                std::cmp::Ordering::Equal => fixing.push(element),
                std::cmp::Ordering::Greater => {}
            }
        }
        Some(fixing)
    }
}

/// The entries of all runs, each for all elements.
fn table<W: TableWord>(group: &SymmetryGroup, layout: &SiteLayout, runs: &[Run], length: usize) -> Vec<W> {
    let elements = group.elements.len();
    let stride = elements.next_multiple_of(BLOCK);
    let mut table = vec![W::default(); length * stride];
    for run in runs {
        let entries = &mut table[run.first * stride..][..(run.mask as usize + 1) * stride];
        entries.par_chunks_mut(stride).enumerate().for_each(|(value, entry)| {
            let (own, rest) = entry.split_at_mut(elements);
            for (bits, element) in own.iter_mut().zip(&group.elements) {
                *bits = W::narrow(moved(layout, element, *run, value as u64));
            }
            rest.fill(own[0]);
        });
    }
    table
}

/// The bits to which an element takes a value of a run; 0 for values that no state has.
fn moved(layout: &SiteLayout, element: &GroupElement, run: Run, value: u64) -> u128 {
    let mut bits = 0;
    let word = u128::from(value) << run.shift;
    let bit = |shift: u32| run.mask.checked_shr(shift - run.shift).unwrap_or(0) & 1;
    let inside = |shift: u32| shift >= run.shift && bit(shift) == 1;
    for digit in layout.digits().iter().filter(|digit| inside(digit.shift)) {
        let (kind, there) = (layout.kinds()[digit.site], element.place[digit.site] as usize);
        let value = (word >> digit.shift) as u64 & ((1 << digit.width) - 1);
        if value > digit.top.into() {
            return 0;
        }
        bits |= match digit.mode {
            Some(mode) => {
                let value = value ^ u64::from(element.empties(kind));
                u128::from(value) << layout.mode_shift(element.mode(kind, mode), there)
            }
            None => u128::from(element.local(kind, value)) << layout.shift(there),
        };
    }
    bits
}

/// Of each fermion mode the bits of later modes that an element takes before it, and its own bit if an occupied mode changes the sign there,
/// as holes do.
fn inverted(layout: &SiteLayout, element: &GroupElement) -> Vec<Inverted> {
    let modes = layout.digits().iter().filter_map(|digit| {
        let (mode, there) = (digit.mode?, element.place[digit.site] as usize);
        let moved = element.mode(layout.kinds()[digit.site], mode);
        Some((1u128 << digit.shift, (mode, digit.site), (moved, there)))
    });
    let modes: Vec<_> = modes.collect();
    let odd = element.odd_modes(layout.kinds());
    let of_mode = |(bit, own, moved): &(u128, _, _)| {
        let later = modes.iter().filter(|(_, other, other_moved)| other > own && other_moved < moved);
        let alone = if odd.contains(moved) { *bit } else { 0 };
        (*bit, later.fold(alone, |mask, (bit, ..)| mask | bit))
    };
    modes.iter().map(of_mode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{SiteKind, Spin};

    /// Signs of fermions against a sort by neighbours, levels against the definition.
    #[test]
    fn words_move_as_configurations_do() {
        let short = vec![
            SiteKind::Electrons,
            SiteKind::Moments { two_s: 2 },
            SiteKind::Electrons,
            SiteKind::Bosons { most: 2 },
            SiteKind::Electrons,
            SiteKind::Moments { two_s: 2 },
            SiteKind::Qubits,
        ];
        // More than 64 bits, with sites that are inverted at both ends.
        let ends = [SiteKind::Moments { two_s: 2 }, SiteKind::Electrons];
        let long = [&ends[..], &[SiteKind::Bosons { most: 2 }; 34], &[ends[1], ends[0]]].concat();
        let mirror: Vec<usize> = (0..long.len()).rev().collect();
        for (kinds, place, inverts) in [
            (&short, vec![2, 5, 4, 3, 0, 1, 6], false),
            (&short, vec![4, 1, 2, 3, 0, 5, 6], true),
            (&short, vec![0, 5, 2, 3, 4, 1, 6], true),
            (&long, mirror.clone(), true),
            (&long, mirror, false),
        ] {
            let layout = SiteLayout::new(kinds);
            let element = GroupElement { moments: inverts, electrons: inverts, ..GroupElement::permutation(&place) };
            let group = SymmetryGroup::of_elements(vec![element.clone()]);
            let actions = WordActions::new(&group, &layout);
            let mut words = 0;
            for state in 0..5000u128 {
                // Few set bits of a long word, so that many are states.
                let mixed = |k: u128| (state + k).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                let word = match layout.bits() > 64 {
                    true => mixed(0) & mixed(1).rotate_left(17) & mixed(2).rotate_left(71),
                    false => state.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                } % (1 << layout.bits());
                let digits = layout.configuration(word);
                if digits.iter().zip(layout.digits()).any(|(value, digit)| *value > digit.top) {
                    continue;
                }
                words += 1;
                let (mut expected, mut modes) = (0u128, Vec::new());
                for (value, digit) in digits.iter().zip(layout.digits()) {
                    let there = place[digit.site];
                    match digit.mode {
                        Some(spin) => {
                            let spin = match (spin, inverts) {
                                (Spin::Up, true) => Spin::Down,
                                (Spin::Down, true) => Spin::Up,
                                (spin, _) => spin,
                            };
                            let bit = layout.shift(there) + u32::from(spin == Spin::Down);
                            expected |= u128::from(*value) << bit;
                            if *value == 1 {
                                modes.push(((digit.mode, digit.site), (spin, there)));
                            }
                        }
                        None => {
                            let inverted = inverts && !matches!(kinds[digit.site], SiteKind::Bosons { .. });
                            let value = if inverted { digit.top - value } else { *value };
                            expected |= u128::from(value) << layout.shift(there);
                        }
                    }
                }
                modes.sort_unstable();
                let mut moved: Vec<_> = modes.into_iter().map(|(_, there)| there).collect();
                let mut swaps = 0;
                while let Some(k) = (1..moved.len()).find(|k| moved[k - 1] > moved[*k]) {
                    moved.swap(k - 1, k);
                    swaps += 1;
                }
                let reached = actions.reached(word).word;
                assert_eq!(reached, expected, "{word:b}");
                assert_eq!(actions.is_odd(0, word), swaps % 2 == 1, "{word:b}");
            }
            assert!(words > 100, "{words} states of {} bits", layout.bits());
        }
    }
}
