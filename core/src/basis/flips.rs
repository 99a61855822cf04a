//! Representatives of words that differ in a few bits from one whose images are known.
//!
//! An element takes each bit of a word to a bit, or to its complement, wherever its tables say so for every value of a run. Then
//!
//! g(s ⊕ f) = g(s) ⊕ g(f) ⊕ g(0),
//!
//! and of what H makes of a state all images are one ⊕ of rows that lie side by side, in place of a look-up of every run.
//! The exception is the inversion of a digit with five or more values, if their number is no power of two.

use super::representatives::{BLOCK, Reached, TableWord, Tables, WordActions};
use multiversion::multiversion;

/// Bytes of the images of flips beyond which runs are looked up.
const MOST_BYTES: usize = 1 << 26;

/// g(f) ⊕ g(0) of flips f by all elements, a flip after the other.
#[derive(Debug)]
pub struct FlipImages(Tables);

/// The images of one word by all elements.
#[derive(Debug)]
pub struct WordImages(Tables);

/// The least of words that are ⊕ of two by two, and the first place with it.
#[multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+avx512bw+avx2", "x86_64+avx2"))]
fn least_of_two<W: TableWord>(words: &[W], flips: &[W]) -> (W, usize) {
    let image = |block: usize, lane: usize| words[block + lane] ^ flips[block + lane];
    let mut least: [W; BLOCK] = std::array::from_fn(|lane| image(0, lane));
    let mut firsts = [W::default(); BLOCK];
    let blocks = words.as_chunks::<BLOCK>().0.iter().zip(flips.as_chunks::<BLOCK>().0).enumerate().skip(1);
    for (block, (words, flips)) in blocks {
        let own = W::narrow((block * BLOCK) as u128);
        for lane in 0..BLOCK {
            let image = words[lane] ^ flips[lane];
            let is_less = image < least[lane];
            least[lane] = if is_less { image } else { least[lane] };
            firsts[lane] = if is_less { own } else { firsts[lane] };
        }
    }
    let mut found = (least[0], firsts[0].wide() as usize);
    for lane in 1..BLOCK {
        found = found.min((least[lane], firsts[lane].wide() as usize + lane));
    }
    found
}

impl WordActions {
    /// The images of flips; `None` where an element does not take bits to bits, or there are too many.
    pub fn flip_images(&self, flips: &[u128]) -> Option<FlipImages> {
        fn images<W: TableWord>(actions: &WordActions, table: &[W], flips: &[u128]) -> Option<Vec<W>> {
            if flips.len() * actions.stride() * size_of::<W>() > MOST_BYTES || !actions.takes_bits_to_bits(table) {
                return None;
            }
            let zero = actions.all_images(table, W::default());
            // A flip between two levels need not be a level.
            let of_flip = |flip: &u128| {
                let mut images = vec![W::default(); zero.len()];
                for bit in (0..u128::BITS).filter(|bit| flip >> bit & 1 == 1) {
                    let own = actions.all_images(table, W::narrow(1 << bit));
                    let moved = own.into_iter().zip(&zero).map(|(image, zero)| image ^ *zero);
                    images.iter_mut().zip(moved).for_each(|(sum, bit)| *sum = *sum ^ bit);
                }
                images
            };
            Some(flips.iter().flat_map(of_flip).collect())
        }
        Some(FlipImages(match &self.tables {
            Tables::Brief(table) => Tables::Brief(images(self, table, flips)?),
            Tables::Short(table) => Tables::Short(images(self, table, flips)?),
            Tables::Long(table) => Tables::Long(images(self, table, flips)?),
        }))
    }

    /// The images of a word.
    pub fn word_images(&self, word: u128) -> WordImages {
        WordImages(match &self.tables {
            Tables::Brief(table) => Tables::Brief(self.all_images(table, word as u32)),
            Tables::Short(table) => Tables::Short(self.all_images(table, word as u64)),
            Tables::Long(table) => Tables::Long(self.all_images(table, word)),
        })
    }

    /// The representative of the orbit of `word`, which differs from that of the images by a flip of this number.
    #[inline]
    pub fn reached_by(&self, images: &WordImages, flips: &FlipImages, number: usize, word: u128) -> Reached {
        fn least<W: TableWord>(words: &[W], flips: &[W], number: usize) -> (u128, usize) {
            let (least, element) = least_of_two(words, &flips[number * words.len()..][..words.len()]);
            (least.wide(), element)
        }
        let (least, element) = match (&images.0, &flips.0) {
            (Tables::Brief(words), Tables::Brief(flips)) => least(words, flips, number),
            (Tables::Short(words), Tables::Short(flips)) => least(words, flips, number),
            (Tables::Long(words), Tables::Long(flips)) => least(words, flips, number),
            _ => unreachable!("of words of one layout"),
        };
        Reached { word: least, factor: self.factor(element, word), conjugates: self.conjugates(element) }
    }

    fn all_images<W: TableWord>(&self, table: &[W], word: W) -> Vec<W> {
        let (entries, runs) = self.entries(word);
        self.images_by(table, &entries[..runs])
    }

    /// Whether every value of a run goes where its bits go; of digits that leave bits unused those up to their largest.
    fn takes_bits_to_bits<W: TableWord>(&self, table: &[W]) -> bool {
        let stride = self.stride();
        self.runs.iter().all(|run| {
            let of = |value: usize| &table[(run.first + value) * stride..][..stride];
            let occurs = |value: usize| {
                let word = (value as u128) << run.shift;
                self.cut_digits.iter().all(|(shift, mask, top)| word >> shift & mask <= *top)
            };
            (1..=run.mask as usize).filter(|value| occurs(*value)).all(|value| {
                let rest = value & (value - 1);
                let parts = of(rest).iter().zip(of(value ^ rest)).zip(of(0));
                parts.zip(of(value)).all(|(((rest, bit), zero), image)| *image == (*rest ^ *bit ^ *zero))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{GroupElement, SiteKind, SiteLayout, SymmetryGroup};

    /// Of spins, electrons and bosons the representatives are those by runs; an inverted spin 2 takes no bits to bits.
    #[test]
    fn flips_reach_what_words_reach() {
        let electrons = vec![SiteKind::Electrons; 9];
        let spins = |two_s: u32, sites: usize| vec![SiteKind::Moments { two_s }; sites];
        let bosons = vec![SiteKind::Bosons { most: 2 }; 12];
        for (kinds, inverts, is_linear) in [
            (spins(1, 14), true, true),
            (spins(1, 40), true, true),
            (spins(3, 14), true, true),
            (spins(2, 12), false, true),
            (spins(2, 12), true, true),
            (spins(4, 9), false, true),
            (spins(4, 9), true, false),
            (electrons, true, true),
            (bosons, true, true),
            (spins(1, 70), false, true),
        ] {
            let (sites, layout) = (kinds.len(), SiteLayout::new(&kinds));
            let turn = GroupElement::permutation(&(0..sites).map(|i| (i + 1) % sites).collect::<Vec<_>>());
            let inversion = GroupElement { moments: inverts, electrons: inverts, ..GroupElement::identity(sites) };
            let powers = std::iter::successors(Some(GroupElement::identity(sites)), |last| Some(turn.after(last)));
            let turns: Vec<GroupElement> = powers.take(sites).collect();
            let both = turns.iter().cloned().chain(turns.iter().map(|own| inversion.after(own))).collect();
            let elements = if inverts { both } else { turns };
            let actions = WordActions::new(&SymmetryGroup::of_elements(elements), &layout);
            let valid = |word: u128| {
                let digits = layout.configuration(word);
                digits.iter().zip(layout.digits()).all(|(value, digit)| *value <= digit.top)
            };
            let mixed = |k: u128| k.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 7;
            let words: Vec<u128> =
                (1..4000).map(|k| mixed(k) % (1 << layout.bits())).filter(|word| valid(*word)).take(60).collect();
            assert!(words.len() > 10, "{kinds:?}");
            let flips: Vec<u128> = words.windows(2).map(|pair| pair[0] ^ pair[1]).collect();
            let found = actions.flip_images(&flips);
            assert_eq!(found.is_some(), is_linear, "{kinds:?}");
            let Some(found) = found else { continue };
            for (number, pair) in words.windows(2).enumerate() {
                let images = actions.word_images(pair[0]);
                assert_eq!(actions.reached_by(&images, &found, number, pair[1]), actions.reached(pair[1]), "{kinds:?}");
            }
        }
    }
}
