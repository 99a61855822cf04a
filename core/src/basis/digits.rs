//! Words of digits whose sum lies in a range: how many there are, and the list in ascending order.
//!
//! A digit is the level of one site (0 … 2S); site 0 is the lowest digit. Counting is by inclusion and exclusion, Σ_k
//! (−1)ᵏ C(n, k) C(q − k(2S+1) + n, n) words of n digits with a sum of at most q, so that the length is known before
//! anything is listed; listing never visits a word outside the range.

use std::ops::RangeInclusive;

/// Words of `count` digits from 0 to `top`, each of `width` bits; 64 bits at most altogether.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    pub count: usize,
    pub width: u32,
    pub top: u64,
}

impl Digits {
    /// The largest sum of digits.
    pub(super) fn largest(self) -> u64 {
        self.count as u64 * self.top
    }

    /// Number of words whose digits add up to a number in `sums`; saturates at `u128::MAX`.
    pub(super) fn number(self, sums: RangeInclusive<u64>) -> u128 {
        let (low, high) = (*sums.start(), (*sums.end()).min(self.largest()));
        if low > high {
            return 0;
        }
        let below = if low == 0 { 0 } else { self.up_to(low - 1) };
        self.up_to(high) - below
    }

    /// Number of words with a sum of at most `sum`.
    fn up_to(self, sum: u64) -> u128 {
        let (n, base, largest) = (self.count as u128, u128::from(self.top) + 1, self.largest());
        if sum >= largest {
            return base.saturating_pow(self.count as u32);
        }
        if sum > largest / 2 {
            // Reversing the digits, d → top − d, keeps the terms below small: those of 64 bits stay under 2^91.
            return self.up_to(largest) - self.up_to(largest - sum - 1);
        }
        let mut value = 0i128;
        for k in 0..=n {
            let Some(rest) = u128::from(sum).checked_sub(k * base) else { break };
            let term = (choose(n, k) * choose(rest + n, n)) as i128;
            value += if k % 2 == 0 { term } else { -term };
        }
        value as u128
    }

    /// The words with a sum in `sums`, ascending, each with its sum.
    pub(super) fn words(self, sums: RangeInclusive<u64>) -> Vec<(u64, u64)> {
        let mut words = Vec::with_capacity(self.number(sums.clone()).min(1 << 32) as usize);
        self.each(sums, |word, sum| words.push((word, sum)));
        words
    }

    /// The same one after another, in no list.
    pub(super) fn each(self, sums: RangeInclusive<u64>, mut take: impl FnMut(u64, u64)) {
        self.extend(&mut take, (0, 0), (*sums.start(), *sums.end()));
    }

    /// Hands on the words that begin with the digits of `(word, sum)` and whose other `self.count` digits bring the total sum
    /// into `(low, high)`.
    fn extend(self, take: &mut impl FnMut(u64, u64), (word, sum): (u64, u64), (low, high): (u64, u64)) {
        let Some(rest) = self.count.checked_sub(1) else {
            if (low..=high).contains(&sum) {
                take(word, sum);
            }
            return;
        };
        let rest = Digits { count: rest, ..self };
        let first = low.saturating_sub(sum + rest.largest());
        let last = self.top.min(high.saturating_sub(sum));
        for digit in first..=last {
            rest.extend(take, (word | digit << (rest.count as u32 * self.width), sum + digit), (low, high));
        }
    }
}

/// Binomial coefficient C(n, k).
fn choose(n: u128, k: u128) -> u128 {
    (0..k.min(n.saturating_sub(k))).fold(1, |value, step| value * (n - step) / (step + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_lists_are_those_of_a_search_through_all_words() {
        for (count, width, top) in [(0, 1, 1), (1, 1, 1), (7, 1, 1), (5, 2, 2), (5, 2, 3), (3, 3, 5), (2, 4, 9)] {
            let digits = Digits { count, width, top };
            let sum = |word: u64| -> Option<u64> {
                let mut each = (0..count as u32).map(|place| word >> (place * width) & ((1 << width) - 1));
                each.clone().all(|digit| digit <= top).then(|| each.by_ref().sum())
            };
            let all: Vec<(u64, u64)> =
                (0..1u64 << (count as u32 * width)).filter_map(|word| Some((word, sum(word)?))).collect();
            for low in 0..=digits.largest() {
                for high in low..=digits.largest() + 1 {
                    let expected: Vec<_> = all.iter().copied().filter(|(_, s)| (low..=high).contains(s)).collect();
                    assert_eq!(digits.number(low..=high), expected.len() as u128, "{digits:?} {low} {high}");
                    assert_eq!(digits.words(low..=high), expected, "{digits:?} {low} {high}");
                }
            }
        }
    }

    /// C(64, k) and sums over all words that fill 64 bits.
    #[test]
    fn counts_of_full_words_are_exact() {
        let spins = Digits { count: 64, width: 1, top: 1 };
        for k in 0..=64 {
            assert_eq!(spins.number(k..=k), u128::from(super::super::combinations::count(64, k as usize)), "{k}");
        }
        for (count, width, top) in
            [(64, 1, 1), (32, 2, 3), (21, 3, 6), (16, 4, 9), (4, 16, 65_535), (2, 32, 4_294_967_294)]
        {
            let digits = Digits { count, width, top };
            let cuts = [0, digits.largest() / 3, digits.largest() / 2, digits.largest()];
            let pieces: u128 = cuts.windows(2).map(|cut| digits.number(cut[0] + 1..=cut[1])).sum();
            assert_eq!(digits.number(0..=0) + pieces, u128::from(top + 1).pow(count as u32), "{digits:?}");
            let (low, high) = (digits.largest() / 5, digits.largest() / 4);
            let turned = digits.largest() - high..=digits.largest() - low;
            assert_eq!(digits.number(low..=high), digits.number(turned), "{digits:?}");
        }
    }
}
