//! Strings: the orbitals occupied by the electrons of one spin, one bit per orbital, orbital 0 the least significant.
//!
//! In: orbitals, electrons, and how far a string may differ from the reference (the lowest orbitals). Out: the strings,
//! ascending as numbers, and the rank of each.

use rayon::prelude::*;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Occupied orbitals of one spin.
pub type Occupation = u128;

/// Orbitals that an [`Occupation`] holds.
pub(super) const MAX_ORBITALS: usize = 128;

/// Bytes of memory per string: the word, and its place in the hash table (at most 8/7 × 2 slots per string).
pub(super) const BYTES: u64 = 16 + 33 * 16 / 7;

/// The orbitals of a word, ascending.
pub(super) fn occupied(mut word: Occupation) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let orbital = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (orbital < MAX_ORBITALS).then_some(orbital)
    })
}

/// The lowest orbitals, one per electron.
pub(super) fn reference(electrons: usize) -> Occupation {
    match electrons {
        0 => 0,
        electrons => Occupation::MAX >> (MAX_ORBITALS - electrons),
    }
}

/// Binomial coefficient; `None` past 128 bits.
pub(super) fn binomial(n: usize, k: usize) -> Option<u128> {
    if k > n {
        return Some(0);
    }
    // C(n, step + 1) = C(n, step) (n − step) / (step + 1), divided first so that only what is too large overflows.
    (0..k.min(n - k)).try_fold(1u128, |value, step| {
        let (factor, divisor) = ((n - step) as u128, step as u128 + 1);
        let common = greatest_common_divisor(value, divisor);
        (value / common).checked_mul(factor / (divisor / common))
    })
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Strings of each excitation level 0..=`level`: C(electrons, k) C(orbitals − electrons, k). `None` past 128 bits.
pub(super) fn by_level(orbitals: usize, electrons: usize, level: usize) -> Option<Vec<u128>> {
    (0..=level).map(|k| binomial(electrons, k)?.checked_mul(binomial(orbitals - electrons, k)?)).collect()
}

/// Words of `bits` bits with `set` of them set, ascending (Gosper's step).
pub(super) fn combinations(bits: usize, set: usize) -> impl Iterator<Item = Occupation> {
    let total = binomial(bits, set).unwrap_or(u128::MAX);
    let mut word = reference(set);
    (0..total).map(move |done| {
        let this = word;
        if done + 1 < total {
            let lowest = word & word.wrapping_neg();
            let carried = word.wrapping_add(lowest);
            word = carried | (((word ^ carried) >> 2) >> lowest.trailing_zeros());
        }
        this
    })
}

/// Hashes words by one multiplication; the standard hash protects against attackers, which a table of strings does not
/// need.
#[derive(Default)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u128(u128::from(*byte)));
    }
    fn write_u128(&mut self, word: u128) {
        // 2⁶⁴ / golden ratio and an odd neighbour spread both halves (Knuth 6.4); high bits come down for the slots.
        let low = (word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let high = ((word >> 64) as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        let mixed = self.0.rotate_left(5) ^ low ^ high.rotate_left(32);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Strings of one spin, ascending, and their ranks.
#[derive(Clone, Debug)]
pub struct Strings {
    electrons: usize,
    words: Vec<Occupation>,
    ranks: HashMap<Occupation, u32, BuildHasherDefault<WordHasher>>,
}

impl Strings {
    /// All strings up to an excitation level; the caller has checked that 32 bits can number them.
    pub fn up_to_level(orbitals: usize, electrons: usize, level: usize) -> Strings {
        let level = level.min(electrons).min(orbitals - electrons);
        let lowest = reference(electrons);
        let mut words = Vec::new();
        for k in 0..=level {
            for holes in combinations(electrons, k) {
                let kept = lowest & !holes;
                words.extend(combinations(orbitals - electrons, k).map(|particles| match electrons {
                    MAX_ORBITALS => kept,
                    electrons => kept | particles << electrons,
                }));
            }
        }
        Strings::new(electrons, words)
    }

    /// These strings, each once.
    pub fn new(electrons: usize, mut words: Vec<Occupation>) -> Strings {
        words.par_sort_unstable();
        words.dedup();
        let ranks = words.iter().zip(0..).map(|(word, rank)| (*word, rank)).collect();
        Strings { electrons, words, ranks }
    }

    /// Electrons of a string.
    pub fn electrons(&self) -> usize {
        self.electrons
    }

    /// The strings, ascending.
    pub fn words(&self) -> &[Occupation] {
        &self.words
    }

    /// Rank of a string, if it is in the list.
    pub fn rank(&self, word: Occupation) -> Option<u32> {
        self.ranks.get(&word).copied()
    }

    /// Electrons outside the lowest orbitals.
    pub fn level(&self, rank: usize) -> usize {
        (self.words[rank] & !reference(self.electrons)).count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_up_to_a_level_are_those_that_differ_in_so_many_orbitals() {
        for (orbitals, electrons) in [(0, 0), (1, 0), (1, 1), (5, 2), (7, 4), (10, 5), (12, 1)] {
            for level in 0..=orbitals {
                let strings = Strings::up_to_level(orbitals, electrons, level);
                let differ = |word: u32| (word & !(reference(electrons) as u32)).count_ones() as usize;
                let expected: Vec<Occupation> = (0..1u32 << orbitals)
                    .filter(|word| word.count_ones() as usize == electrons && differ(*word) <= level)
                    .map(Occupation::from)
                    .collect();
                assert_eq!(strings.words(), expected, "{orbitals} {electrons} {level}");
                let counted: u128 = by_level(orbitals, electrons, level).unwrap().iter().sum();
                assert_eq!(counted, expected.len() as u128);
                for (rank, word) in expected.iter().enumerate() {
                    assert_eq!(strings.rank(*word), Some(rank as u32));
                    assert_eq!(strings.level(rank), differ(*word as u32));
                }
                assert_eq!(strings.rank(1 << 100), None);
            }
        }
    }

    #[test]
    fn words_of_128_orbitals() {
        let strings = Strings::up_to_level(128, 3, 1);
        assert_eq!(strings.words().len(), 1 + 3 * 125);
        assert_eq!(occupied(*strings.words().last().unwrap()).collect::<Vec<_>>(), [1, 2, 127]);
        assert_eq!(Strings::up_to_level(128, 128, 5).words(), [Occupation::MAX]);
        assert_eq!(occupied(Occupation::MAX).count(), 128);
        assert_eq!(binomial(128, 64), Some(23951146041928082866135587776380551750));
        assert_eq!(binomial(200, 100), None);
    }
}
