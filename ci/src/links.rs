//! Strings of a list that differ by one or two electrons.
//!
//! In: a string, and the strings of a list. Out: the ranks of those that one or two moves reach. A list has few of a string's excitations,
//! so that comparing it with every other string (the XOR of their words has two bits for each move) costs less than generating them all:
//! 340,000 doubles of 30 electrons in 70 orbitals, whatever the list.

use super::strings::{Occupation, Strings, occupied};
use multiversion::multiversion;

/// Comparisons in the time in which one excitation is generated and looked up.
const COMPARISONS: u64 = 16;

/// Whether comparing a string with all others costs less than generating its excitations.
pub(super) fn comparing_pays(strings: &Strings, orbitals: usize) -> bool {
    let (electrons, holes) = (strings.electrons() as u64, orbitals.saturating_sub(strings.electrons()) as u64);
    let pairs = |n: u64| n * n.saturating_sub(1) / 2;
    let excitations = electrons * holes + pairs(electrons) * pairs(holes);
    (strings.words().len() as u64) < excitations.saturating_mul(COMPARISONS)
}

/// Ranks of the strings that differ from one in two or four orbitals: one move or two.
#[multiversion(targets("x86_64+avx2+bmi2+popcnt", "x86_64+popcnt"))]
pub(super) fn linked(words: &[Occupation], word: Occupation) -> Vec<u32> {
    let mut found = Vec::new();
    for (rank, other) in words.iter().enumerate() {
        if matches!((word ^ other).count_ones(), 1..=4) {
            found.push(rank as u32);
        }
    }
    found
}

/// The orbitals that a move of `N` electrons empties, and those that it fills, ascending; `None` if it moves another number.
pub(super) fn moved<const N: usize>(word: Occupation, other: Occupation) -> Option<([usize; N], [usize; N])> {
    let orbitals = |word: Occupation| {
        let mut all = occupied(word);
        let some = [0; N].map(|_| all.next());
        all.next().is_none().then_some(())?;
        let found: Vec<usize> = some.into_iter().collect::<Option<_>>()?;
        found.try_into().ok()
    };
    Some((orbitals(word & !other)?, orbitals(other & !word)?))
}
