//! What remains of every string when electrons are taken out of it.
//!
//! In: the strings of one spin, and how many electrons leave: none, one or two. Out: for each string the strings that
//! remain, and for each of those the strings that it is the remainder of, with the orbitals and the sign of
//! a_q |w⟩ = ± |w − q⟩, which is −1 where an odd number of electrons stand below q. Two electrons leave as a_q a_s with
//! q < s, s first.

use crate::integrals::triangle;
use crate::strings::{Occupation, Strings, binomial, occupied};
use eigenforge_runtime::{Device, Result};
use rayon::prelude::*;

/// A string and what takes an electron to it or from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Step {
    /// Rank of the string that the step leads to.
    pub string: u32,
    /// Which orbitals: 0 for none, q for one, [`pair_label`]`(q, s)` for two.
    pub label: u16,
    /// Whether the sign is −1.
    pub odd: bool,
}

/// Place of q < s among the pairs of different orbitals.
pub(super) fn pair_label(q: usize, s: usize) -> usize {
    s * (s - 1) / 2 + q
}

/// All ways of taking electrons out.
pub(super) struct Removal {
    /// Labels are below this.
    pub labels: usize,
    /// Strings that remain.
    pub remainders: usize,
    /// Ways for each string.
    pub ways: usize,
    steps: Vec<Step>,
}

/// All ways of putting them back.
pub(super) struct Addition {
    start: Vec<u64>,
    steps: Vec<Step>,
}

impl Removal {
    /// Takes 0, 1 or 2 electrons out of each string.
    pub(super) fn new(orbitals: usize, strings: &Strings, electrons: usize) -> Result<Removal> {
        let words = strings.words();
        let ways = binomial(strings.electrons(), electrons).unwrap_or(0) as usize;
        let bytes = (words.len() * ways) as u64 * (size_of::<Step>() as u64 * 2 + 2 * crate::strings::BYTES);
        Device::cpu().check_memory(&format!("{} strings less {electrons} electrons", words.len()), bytes)?;
        let labels = match electrons {
            0 => 1,
            1 => orbitals,
            _ => triangle(orbitals) - orbitals,
        };
        if electrons == 0 {
            let steps = (0..words.len() as u32).map(|string| Step { string, ..Step::default() }).collect();
            return Ok(Removal { labels, remainders: words.len(), ways, steps });
        }
        let left: Vec<Occupation> =
            words.par_iter().flat_map_iter(|word| removals(*word, electrons).map(|r| r.0)).collect();
        let remainders = Strings::new(strings.electrons().saturating_sub(electrons), left);
        let steps = words.par_iter().flat_map_iter(|word| {
            let step = |(left, label, odd)| Some(Step { string: remainders.rank(left)?, label: label as u16, odd });
            removals(*word, electrons).filter_map(step)
        });
        Ok(Removal { labels, ways, steps: steps.collect(), remainders: remainders.words().len() })
    }

    /// What remains of a string.
    pub(super) fn remainders(&self, string: u32) -> &[Step] {
        &self.steps[string as usize * self.ways..(string as usize + 1) * self.ways]
    }

    /// The same steps by what remains.
    pub(super) fn reversed(&self) -> Addition {
        let mut start = vec![0u64; self.remainders + 1];
        self.steps.iter().for_each(|step| start[step.string as usize + 1] += 1);
        (0..self.remainders).for_each(|k| start[k + 1] += start[k]);
        let (mut next, mut steps) = (start.clone(), vec![Step::default(); self.steps.len()]);
        for (k, step) in self.steps.iter().enumerate() {
            let at = &mut next[step.string as usize];
            steps[*at as usize] = Step { string: (k / self.ways) as u32, ..*step };
            *at += 1;
        }
        Addition { start, steps }
    }
}

impl Addition {
    /// The strings that a remainder is of.
    pub(super) fn strings(&self, remainder: usize) -> &[Step] {
        &self.steps[self.start[remainder] as usize..self.start[remainder + 1] as usize]
    }
}

/// Remaining word, label and sign of each way to take one or two electrons out.
fn removals(word: Occupation, electrons: usize) -> impl Iterator<Item = (Occupation, usize, bool)> {
    let odd = move |orbital: usize| (word & ((1 << orbital) - 1)).count_ones() % 2 == 1;
    occupied(word).flat_map(move |s| {
        let below = if electrons == 2 { word & ((1 << s) - 1) } else { 0 };
        let one = (electrons == 1).then(|| (word & !(1 << s), s, odd(s)));
        let two = occupied(below).map(move |q| (word & !(1 << s | 1 << q), pair_label(q, s), odd(s) != odd(q)));
        one.into_iter().chain(two)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removals_of_a_string_by_hand() {
        // a_0, a_2, a_5 on |0 2 5⟩; a_q a_s with s first: a_0 a_2 → −|5⟩, a_0 a_5 → +|2⟩, a_2 a_5 → −|0⟩.
        let word = 0b100101;
        let one: Vec<_> = removals(word, 1).collect();
        assert_eq!(one, [(0b100100, 0, false), (0b100001, 2, true), (0b000101, 5, false)]);
        let two: Vec<_> = removals(word, 2).collect();
        let expected = [
            (0b100000, pair_label(0, 2), true),
            (0b000100, pair_label(0, 5), false),
            (0b000001, pair_label(2, 5), true),
        ];
        assert_eq!(two, expected);
    }

    #[test]
    fn what_is_taken_out_can_be_put_back() {
        for (orbitals, up, level) in [(5, 0, 5), (5, 1, 5), (6, 3, 6), (6, 4, 1), (3, 3, 0)] {
            let strings = Strings::up_to_level(orbitals, up, level);
            for electrons in 0..=2 {
                let removal = Removal::new(orbitals, &strings, electrons).unwrap();
                let addition = removal.reversed();
                let mut put_back = 0;
                for remainder in 0..removal.remainders {
                    for step in addition.strings(remainder) {
                        let there = Step { string: remainder as u32, ..*step };
                        assert!(removal.remainders(step.string).contains(&there), "{there:?}");
                        assert!(usize::from(step.label) < removal.labels);
                        put_back += 1;
                    }
                }
                assert_eq!(put_back, strings.words().len() * removal.ways);
            }
        }
    }
}
