//! Off-diagonal terms by what they do to the two words of a state.
//!
//! In: terms that compare, flip and count bits of the whole word. Out: what each does to the low word and what to the high word;
//! a term of one word alone is an element of that word's matrix, any other couples columns.

use eigenforge_core::basis::low_mask;
use eigenforge_templates::exact::FlipGroup;

/// What a term does to one word: words with (w & care) == pattern become w ⊕ flip, with the sign (−1)^popcount(w & sign).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WordMove {
    care: u64,
    pattern: u64,
    flip: u64,
    sign: u64,
}

impl WordMove {
    /// Whether it leaves every word as it is.
    fn is_nothing(self) -> bool {
        self.care == 0 && self.flip == 0 && self.sign == 0
    }

    /// The word reached, and whether the sign is −1; `None` if the word does not match.
    pub(super) fn image(self, word: u64) -> Option<(u64, bool)> {
        let odd = (word & self.sign).count_ones() % 2 == 1;
        (word & self.care == self.pattern).then_some((word ^ self.flip, odd))
    }

    /// The largest share of all words that match.
    fn fraction(self) -> f64 {
        0.5f64.powi(self.care.count_ones() as i32)
    }
}

/// A term of both words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coupling {
    /// Of the low word: its number in [`SplitTerms::low_moves`].
    pub low: usize,
    /// Of the high word.
    pub high: WordMove,
    /// The amplitude.
    pub amplitude: f64,
}

/// The off-diagonal terms of an operator.
#[derive(Default)]
pub(super) struct SplitTerms {
    /// Of the low word alone.
    pub low: Vec<(WordMove, f64)>,
    /// Of the high word alone.
    pub high: Vec<(WordMove, f64)>,
    /// Of both.
    pub both: Vec<Coupling>,
    /// The different moves of the low word in `both`.
    pub low_moves: Vec<WordMove>,
}

impl SplitTerms {
    /// Cuts the masks of all terms at a bit.
    pub(super) fn new(groups: &[FlipGroup], low_bits: u32) -> SplitTerms {
        let mask = low_mask(low_bits);
        let high_of = |bits: u64| bits.checked_shr(low_bits).unwrap_or(0);
        let mut split = SplitTerms::default();
        let mut both = Vec::new();
        for (group, term) in groups.iter().flat_map(|group| group.terms.iter().map(move |term| (group, term))) {
            let word = |of: &dyn Fn(u64) -> u64| WordMove {
                care: of(term.care),
                pattern: of(term.pattern),
                flip: of(group.flip),
                sign: of(term.sign),
            };
            let (low, high) = (word(&|bits| bits & mask), word(&high_of));
            match (low.is_nothing(), high.is_nothing()) {
                (_, true) => split.low.push((low, term.amplitude)),
                (true, false) => split.high.push((high, term.amplitude)),
                (false, false) => both.push((low, high, term.amplitude)),
            }
        }
        split.low_moves = both.iter().map(|(low, ..)| *low).collect();
        split.low_moves.sort_unstable();
        split.low_moves.dedup();
        let number = |low: WordMove| split.low_moves.partition_point(|other| *other < low);
        let coupling = |(low, high, amplitude)| Coupling { low: number(low), high, amplitude };
        split.both = both.into_iter().map(coupling).collect();
        split
    }

    /// An estimate of the bytes of all tables, for this many low words and columns.
    pub(super) fn table_bytes(&self, lows: usize, columns: usize) -> f64 {
        let share = |moves: &[(WordMove, f64)]| moves.iter().map(|(word, _)| word.fraction()).sum::<f64>();
        let couplings: f64 = self.both.iter().map(|coupling| coupling.high.fraction()).sum();
        let pairs: f64 = self.low_moves.iter().map(|word| word.fraction()).sum();
        lows as f64 * (12.0 * share(&self.low) + 8.0 * pairs)
            + columns as f64 * (12.0 * share(&self.high) + 24.0 * couplings)
    }
}
