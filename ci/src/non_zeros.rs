//! Upper bounds on the non-zeros of H and on the moves of the strings, counted before either is made.
//!
//! In: a space, and the orbitals' irreps if the integrals obey them. Out: [`Census`]. Strings of one spin are classified
//! by excitation level and irrep; the effect of their moves on both is counted string by string, pairs of electrons by
//! pairs of holes, and the rest is sums over kinds of strings: (moves of α) × (moves of β) that end within the space.
//! Elements that happen to be 0 are counted, so this is an upper bound, and exact for generic integrals. A list of
//! determinants has no kinds; it is bounded by the row length of the full space.

use super::space::Space;
use super::strings::{MAX_ORBITALS, Occupation, occupied, reference};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Possible level changes of one or two electrons' moves: from −2 to 2.
const STEPS: usize = 5;
/// Most irreps.
const IRREPS: usize = 8;

/// Moves of all strings of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Moves {
    strings: u64,
    /// One-electron moves, by level change (+ 2) and by product of irreps.
    singles: [[u64; IRREPS]; STEPS],
    /// Two-electron moves that conserve the irrep.
    doubles: [u64; STEPS],
}

impl Moves {
    fn add(mut self, other: &Moves) -> Moves {
        self.strings += other.strings;
        for step in 0..STEPS {
            self.doubles[step] += other.doubles[step];
            (0..IRREPS).for_each(|g| self.singles[step][g] += other.singles[step][g]);
        }
        self
    }

    /// Moves of this spin alone that raise the level by at most `room` and conserve the irrep.
    fn single_spin(&self, room: i64) -> u128 {
        let allowed = (0..STEPS).filter(|step| *step as i64 - 2 <= room);
        allowed.map(|step| u128::from(self.doubles[step]) + u128::from(self.singles[step][0])).sum()
    }
}

/// Level and irrep of a string.
type Kind = (usize, u8);

/// StateCounts of a space.
#[derive(Clone, Debug)]
pub struct Census {
    /// Upper bound on the non-zeros of the matrix.
    pub non_zeros: u128,
    /// Whether it was estimated from some of the rows.
    pub is_sampled: bool,
    /// One-electron moves of all α and β strings.
    pub singles: [u64; 2],
    /// Off-diagonal elements of H_αα and of H_ββ.
    pub same: [u64; 2],
}

impl Census {
    /// Counts the elements of H in a space; `irreps` has one per orbital from 0, all 0 if the integrals obey none.
    pub fn new(space: &Space, irreps: &[u8]) -> Census {
        let kinds = [space.alpha(), space.beta()].map(|strings| {
            let with_level = space.level().is_some();
            kinds(strings.words(), strings.electrons(), irreps, with_level)
        });
        let totals = kinds.each_ref().map(|kinds| kinds.values().fold(Moves::default(), Moves::add));
        let singles = totals.map(|moves| moves.singles.iter().flatten().sum());
        let same = totals.map(|moves| moves.single_spin(2) as u64);
        let rows = u128::from(space.len());
        // What restricted orbitals forbid is not counted by kinds.
        let non_zeros = match space.is_list() || space.restricted_orbitals().is_some() {
            true => rows * rows.min(longest_row(&totals)),
            false => {
                // The irrep of the space, if it has a single one.
                let wanted = space.irreps().map(|irreps| super::space::irrep_of(irreps, space.determinant(0)) - 1);
                let most = space.level().map_or(i64::MAX / 2, |level| level as i64);
                let pairs = kinds[0].iter().flat_map(|alpha| kinds[1].iter().map(move |beta| (alpha, beta)));
                let inside = pairs.filter(|((a, _), (b, _))| {
                    wanted.is_none_or(|wanted| a.1 ^ b.1 == wanted) && (a.0 + b.0) as i64 <= most
                });
                inside.map(|((a, alpha), (b, beta))| of_kinds(alpha, beta, most - (a.0 + b.0) as i64)).sum()
            }
        };
        Census { non_zeros, is_sampled: false, singles, same }
    }
}

/// Elements of all rows with an α string of one kind and a β string of another.
fn of_kinds(alpha: &Moves, beta: &Moves, room: i64) -> u128 {
    let (strings, others) = (u128::from(alpha.strings), u128::from(beta.strings));
    let mut elements = strings * others + others * alpha.single_spin(room) + strings * beta.single_spin(room);
    for a in 0..STEPS {
        for b in (0..STEPS).filter(|b| (a + b) as i64 - 4 <= room) {
            let both = alpha.singles[a].iter().zip(&beta.singles[b]);
            elements += both.map(|(alpha, beta)| u128::from(*alpha) * u128::from(*beta)).sum::<u128>();
        }
    }
    elements
}

/// Row length of the full space, ignoring irreps: every string of a spin has equally many moves.
fn longest_row(totals: &[Moves; 2]) -> u128 {
    let each = totals.each_ref().map(|moves| {
        let strings = u128::from(moves.strings.max(1));
        let singles = moves.singles.iter().flatten().map(|count| u128::from(*count)).sum::<u128>() / strings;
        let doubles = moves.doubles.iter().map(|count| u128::from(*count)).sum::<u128>() / strings;
        (singles, doubles)
    });
    let [(alpha, alpha_doubles), (beta, beta_doubles)] = each;
    (1 + alpha + beta + alpha_doubles + beta_doubles).saturating_add(alpha * beta)
}

fn kinds(words: &[Occupation], electrons: usize, irreps: &[u8], with_level: bool) -> BTreeMap<Kind, Moves> {
    let lowest = if with_level { reference(electrons) } else { 0 };
    let count = |mut kinds: BTreeMap<Kind, Moves>, word: &Occupation| {
        let irrep = occupied(*word).fold(0, |product, p| product ^ irreps[p]);
        let level = if with_level { (word & !lowest).count_ones() as usize } else { 0 };
        let entry = kinds.entry((level, irrep)).or_default();
        *entry = entry.add(&of_string(*word, irreps, lowest, with_level));
        kinds
    };
    let join = |mut left: BTreeMap<Kind, Moves>, right: BTreeMap<Kind, Moves>| {
        for (kind, moves) in right {
            let entry = left.entry(kind).or_default();
            *entry = entry.add(&moves);
        }
        left
    };
    words.par_iter().with_min_len(256).fold(BTreeMap::new, count).reduce(BTreeMap::new, join)
}

fn of_string(word: Occupation, irreps: &[u8], lowest: Occupation, with_level: bool) -> Moves {
    let orbitals = irreps.len();
    let empty: Vec<usize> = (0..orbitals.min(MAX_ORBITALS)).filter(|p| word >> p & 1 == 0).collect();
    let from: Vec<usize> = occupied(word).collect();
    // How an orbital counts among the excited ones.
    let outside = |p: usize| usize::from(with_level && lowest >> p & 1 == 0);
    let one = |list: &[usize]| {
        let mut found = [[0u64; IRREPS]; 2];
        list.iter().for_each(|p| found[outside(*p)][usize::from(irreps[*p])] += 1);
        found
    };
    let two = |list: &[usize]| {
        let mut found = [[0u64; IRREPS]; 3];
        for (k, p) in list.iter().enumerate() {
            for q in &list[..k] {
                found[outside(*p) + outside(*q)][usize::from(irreps[*p] ^ irreps[*q])] += 1;
            }
        }
        found
    };
    let mut moves = Moves { strings: 1, ..Moves::default() };
    let (left, taken) = (one(&from), one(&empty));
    for (a, left) in left.iter().enumerate() {
        for (b, taken) in taken.iter().enumerate() {
            for (g, left) in left.iter().enumerate() {
                for (h, taken) in taken.iter().enumerate() {
                    moves.singles[2 + b - a][g ^ h] += left * taken;
                }
            }
        }
    }
    let (left, taken) = (two(&from), two(&empty));
    for (a, left) in left.iter().enumerate() {
        for (b, taken) in taken.iter().enumerate() {
            moves.doubles[2 + b - a] += left.iter().zip(taken).map(|(left, taken)| left * taken).sum::<u64>();
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Integrals, matrix};

    /// Integrals that are non-zero except where irreps forbid it.
    fn generic(orbitals: usize, irreps: &[u8]) -> Integrals {
        use crate::integrals::pair;
        let mut integrals = Integrals::zero(orbitals);
        integrals.irreps = irreps.iter().map(|irrep| irrep + 1).collect();
        let mut number = 0.0f64;
        for p in 0..orbitals {
            for q in 0..=p {
                for (r, s) in (0..orbitals).flat_map(|r| (0..=r).map(move |s| (r, s))) {
                    number += 1.0;
                    if irreps[p] ^ irreps[q] ^ irreps[r] ^ irreps[s] == 0 {
                        integrals.two[pair(pair(p, q), pair(r, s))] = (number * 0.7).sin() + 1.5;
                    }
                }
                if irreps[p] == irreps[q] {
                    integrals.one[pair(p, q)] = (number * 1.3).sin() + 2.5;
                }
            }
        }
        integrals
    }

    #[test]
    fn non_zeros_of_full_and_truncated_spaces_with_and_without_irreps() {
        for irreps in [[0, 0, 0, 0, 0, 0], [0, 1, 0, 2, 3, 1]] {
            let integrals = generic(6, &irreps);
            for (up, down) in [(3, 3), (2, 1), (4, 0), (1, 5)] {
                let mut spaces = vec![Space::full(6, up, down).unwrap()];
                spaces.extend((1..=4).map(|level| Space::excitations(6, up, down, level).unwrap()));
                for space in spaces {
                    let cut = space.clone().in_irrep(&integrals.irreps, 1).ok();
                    for space in [Some(space), cut].into_iter().flatten() {
                        let found = Census::new(&space, &irreps).non_zeros;
                        let expected = matrix(&integrals, &space, 0.0).unwrap().non_zeros();
                        let what = format!("{up} + {down}, level {:?}, {irreps:?}", space.level());
                        assert_eq!(found, u128::from(expected), "{what}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_list_has_no_more_than_every_row_of_the_full_space() {
        let integrals = generic(6, &[0; 6]);
        let full = Space::full(6, 3, 2).unwrap();
        let every: Vec<_> = (0..full.len()).map(|row| full.determinant(row)).collect();
        let list = Space::from_determinants(6, &every).unwrap();
        let expected = u128::from(matrix(&integrals, &list, 0.0).unwrap().non_zeros());
        assert_eq!(Census::new(&list, &[0; 6]).non_zeros, expected);
        let few = Space::from_determinants(6, &every[..3]).unwrap();
        assert!(Census::new(&few, &[0; 6]).non_zeros <= 9);
    }
}
