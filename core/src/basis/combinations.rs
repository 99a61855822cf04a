//! Words of a fixed number of set bits: count, list in ascending order, rank by combinatorial numbers.

/// Binomial coefficient C(n, k), saturating at `u64::MAX`.
pub fn count(n: usize, k: usize) -> u64 {
    if k > n {
        return 0;
    }
    let mut value: u128 = 1;
    for step in 0..k.min(n - k) {
        value = value * (n - step) as u128 / (step + 1) as u128;
        if value > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    value as u64
}

/// All words of `bits` bits with `set` of them set, ascending (Gosper's step).
pub(super) fn words(bits: usize, set: usize) -> Vec<u64> {
    let total = count(bits, set) as usize;
    let mut words = Vec::with_capacity(total);
    if set == 0 {
        return vec![0];
    }
    let mut word: u64 = u64::MAX >> (64 - set);
    for remaining in (0..total).rev() {
        words.push(word);
        if remaining > 0 {
            let lowest = word & word.wrapping_neg();
            let carried = word.wrapping_add(lowest);
            word = carried | (((word ^ carried) >> 2) / lowest);
        }
    }
    words
}

/// Ranks words of a fixed number of set bits: rank = Σ_k C(position of the k-th set bit, k), k from 1.
#[derive(Clone, Debug)]
pub struct WordRanks {
    binomials: Vec<Vec<u64>>,
}

impl WordRanks {
    /// For words of up to `bits` bits with `set` set.
    pub fn new(bits: usize, set: usize) -> WordRanks {
        WordRanks {
            binomials: (0..=set).map(|k| (0..bits.max(1)).map(|position| count(position, k)).collect()).collect(),
        }
    }

    /// Position of the word in the ascending list.
    #[inline]
    pub fn rank(&self, mut word: u64) -> u64 {
        let (mut rank, mut k) = (0, 0);
        while word != 0 {
            k += 1;
            rank += self.binomials[k][word.trailing_zeros() as usize];
            word &= word - 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_number_the_words_in_order() {
        for (bits, set) in [(1, 0), (1, 1), (8, 3), (12, 12), (16, 7)] {
            let (words, ranks) = (words(bits, set), WordRanks::new(bits, set));
            assert_eq!(words.len() as u64, count(bits, set));
            assert!(words.iter().all(|word| word.count_ones() as usize == set && word >> bits == 0));
            for (expected, word) in words.iter().enumerate() {
                assert_eq!(ranks.rank(*word), expected as u64);
            }
        }
        assert_eq!(words(64, 64), [u64::MAX]);
        assert_eq!(count(64, 32), 1832624140942590534);
    }
}
