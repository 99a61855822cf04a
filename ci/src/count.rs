//! How many determinants and configuration state functions a space holds, by excitation level and irrep.
//!
//! In: orbitals, electrons, spin, the reference configuration (doubly, then singly occupied orbitals), and optionally the
//! orbitals' irreps. Out: exact numbers, without enumeration.
//!
//! A configuration with o singly occupied orbitals has C(o, o/2 − S) − C(o, o/2 − S − 1) states of spin S (Helgaker,
//! Jørgensen and Olsen 2000, eq. 2.6.1). Its level is the number of its electrons in orbitals where the reference has
//! none: Σ max(0, n_p − n_p of the reference). From a closed-shell reference of d orbitals the sum over configurations is
//! Σ_S′ D(d, 2d − k, S′) D(n − d, k, S′) with D of Weyl and Paldus, which gives Table 1 of Mahmoud, Hoffmann and Reza
//! (2018): all singlets of water in 6-31G(d), cumulative.

use super::strings::binomial;
use std::collections::HashMap;

/// With more orbitals the counts exceed 128 bits even for a few electrons.
const MOST_ORBITALS: usize = 10_000;

/// Why a count fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CountError {
    /// The reference does not hold the electrons.
    #[error(
        "{electrons} electrons do not fit the reference: {doubly} orbitals filled twice and {singly} once of {orbitals}"
    )]
    Reference {
        /// Electrons.
        electrons: usize,
        /// Orbitals filled twice.
        doubly: usize,
        /// Orbitals filled once.
        singly: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// This number of electrons cannot have this spin.
    #[error(
        "{electrons} electrons cannot have 2S = {two_s}: both must be even or both odd, and 2S at most the number of electrons"
    )]
    Spin {
        /// Electrons.
        electrons: usize,
        /// The requested 2S.
        two_s: usize,
    },
    /// The number of irreps differs from the number of orbitals, or an irrep does not exist.
    #[error("{found} irreps for {orbitals} orbitals; give one per orbital, from 1 to 8, or none")]
    Irreps {
        /// What was found.
        found: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// More orbitals than can be counted.
    #[error("{orbitals} orbitals: at most {MOST_ORBITALS} are counted")]
    Orbitals {
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// More electrons of one spin than orbitals.
    #[error("{up} α and {down} β electrons do not fit {orbitals} orbitals")]
    Electrons {
        /// α electrons.
        up: usize,
        /// β electrons.
        down: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// A count exceeds 128 bits.
    #[error("there are over 3 · 10^38 states")]
    Overflow,
}

/// The reference occupation for levels: the lowest orbitals doubly, the next singly occupied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Orbitals with two electrons.
    pub doubly: usize,
    /// Orbitals with one electron.
    pub singly: usize,
}

impl Reference {
    /// All orbitals doubly occupied except 2S.
    pub fn high_spin(electrons: usize, two_s: usize) -> Reference {
        Reference { doubly: electrons.saturating_sub(two_s) / 2, singly: two_s }
    }
}

/// Numbers of states by excitation level, from level 0 up to the number of electrons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCounts {
    /// For each level and each irrep from 1 to 8; all in the first entry without irreps.
    pub by_irrep: Vec<[u128; 8]>,
}

impl StateCounts {
    /// Summed over irreps.
    pub fn per_level(&self) -> Vec<u128> {
        self.by_irrep.iter().map(|irreps| irreps.iter().sum()).collect()
    }

    /// Cumulative over levels, summed over irreps.
    pub fn cumulative(&self) -> Vec<u128> {
        sums(self.per_level())
    }

    /// Cumulative over levels, for one irrep (Molpro's number, 1 to 8; 0 for any other).
    pub fn cumulative_in_irrep(&self, irrep: u8) -> Vec<u128> {
        let of = |irreps: &[u128; 8]| irreps.get(usize::from(irrep).wrapping_sub(1)).copied().unwrap_or(0);
        sums(self.by_irrep.iter().map(of).collect())
    }

    fn zero(electrons: usize) -> StateCounts {
        StateCounts { by_irrep: vec![[0; 8]; electrons + 1] }
    }

    fn add(&mut self, level: usize, irrep: u8, states: Option<u128>) -> Result<(), CountError> {
        let count = &mut self.by_irrep[level][usize::from(irrep)];
        *count = states.and_then(|states| count.checked_add(states)).ok_or(CountError::Overflow)?;
        Ok(())
    }

    /// Checks that totals and running sums fit too.
    fn checked(self) -> Result<StateCounts, CountError> {
        let total = self.by_irrep.iter().flatten().try_fold(0u128, |sum, count| sum.checked_add(*count));
        total.map(|_| self).ok_or(CountError::Overflow)
    }
}

fn sums(counts: Vec<u128>) -> Vec<u128> {
    let mut sum = 0;
    let add = |count| {
        sum += count;
        sum
    };
    counts.into_iter().map(add).collect()
}

impl StateCounts {
    /// Determinants of `up` α and `down` β electrons, by level from the lowest orbitals; `irreps` may be empty.
    pub fn determinants(orbitals: usize, up: usize, down: usize, irreps: &[u8]) -> Result<StateCounts, CountError> {
        if up.max(down) > orbitals {
            return Err(CountError::Electrons { up, down, orbitals });
        }
        if orbitals > MOST_ORBITALS {
            return Err(CountError::Orbitals { orbitals });
        }
        let irreps = from_zero(irreps, orbitals)?;
        let mut counts = StateCounts::zero(up + down);
        let (alpha, beta) = (strings(&irreps, up)?, strings(&irreps, down)?);
        for ((level, irrep), count) in &alpha {
            for ((other, partner), pairs) in &beta {
                counts.add(level + other, irrep ^ partner, count.checked_mul(*pairs))?;
            }
        }
        counts.checked()
    }

    /// Configuration state functions of spin S, by level from a reference; `irreps` may be empty.
    pub fn configuration_state_functions(
        orbitals: usize,
        electrons: usize,
        two_s: usize,
        reference: Reference,
        irreps: &[u8],
    ) -> Result<StateCounts, CountError> {
        let Reference { doubly, singly } = reference;
        let held = doubly.checked_mul(2).and_then(|twice| twice.checked_add(singly));
        if held != Some(electrons) || doubly + singly > orbitals {
            return Err(CountError::Reference { electrons, doubly, singly, orbitals });
        }
        if two_s > electrons || !(electrons - two_s).is_multiple_of(2) {
            return Err(CountError::Spin { electrons, two_s });
        }
        if orbitals > MOST_ORBITALS {
            return Err(CountError::Orbitals { orbitals });
        }
        let irreps = from_zero(irreps, orbitals)?;
        let mut filled = Partial::from([(Shell::default(), 1)]);
        for (orbital, irrep) in irreps[..doubly + singly].iter().enumerate() {
            let hole = |holes, open| Shell { holes, open, ..Shell::new(*irrep, open) };
            filled = match orbital < doubly {
                true => with_orbital(&filled, [hole(0, 0), hole(1, 1), hole(2, 0)], electrons)?,
                false => with_orbital(
                    &filled,
                    [Shell::new(*irrep, 1), hole(1, 0), Shell::particles(1, 0, *irrep)],
                    electrons,
                )?,
            };
        }
        let mut empty = Partial::from([(Shell::default(), 1)]);
        for irrep in &irreps[doubly + singly..] {
            let choices = [Shell::default(), Shell::particles(1, 1, *irrep), Shell::particles(2, 0, *irrep)];
            empty = with_orbital(&empty, choices, electrons)?;
        }
        let mut counts = StateCounts::zero(electrons);
        for (left, count) in &filled {
            for (right, pairs) in empty.iter().filter(|(right, _)| left.holes == left.particles + right.particles) {
                let spins = spin_functions(left.open + right.open, two_s).ok_or(CountError::Overflow)?;
                if spins > 0 {
                    let states = count.checked_mul(*pairs).and_then(|states| states.checked_mul(spins));
                    counts.add(left.holes, left.irrep ^ right.irrep, states)?;
                }
            }
        }
        counts.checked()
    }
}

/// How a set of orbitals differs from the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Shell {
    holes: usize,
    particles: usize,
    open: usize,
    irrep: u8,
}

impl Shell {
    /// As in the reference; the irrep counts if the orbital is singly occupied.
    fn new(irrep: u8, open: usize) -> Shell {
        Shell { open, irrep: if open == 1 { irrep } else { 0 }, ..Shell::default() }
    }

    fn particles(particles: usize, open: usize, irrep: u8) -> Shell {
        Shell { particles, ..Shell::new(irrep, open) }
    }
}

/// The number of ways to reach each [`Shell`].
type Partial = HashMap<Shell, u128>;

/// Adds one orbital, in any of three occupations.
fn with_orbital(before: &Partial, choices: [Shell; 3], electrons: usize) -> Result<Partial, CountError> {
    let mut after = Partial::new();
    for (shell, count) in before {
        for choice in choices {
            let shell = Shell {
                holes: shell.holes + choice.holes,
                particles: shell.particles + choice.particles,
                open: shell.open + choice.open,
                irrep: shell.irrep ^ choice.irrep,
            };
            if shell.holes.max(shell.particles).max(shell.open) > electrons {
                continue;
            }
            let sum = after.entry(shell).or_insert(0u128);
            *sum = sum.checked_add(*count).ok_or(CountError::Overflow)?;
        }
    }
    Ok(after)
}

/// C(o, o/2 − S) − C(o, o/2 − S − 1); 0 where o electrons cannot have spin S. `None` past 128 bits.
pub(super) fn spin_functions(open: usize, two_s: usize) -> Option<u128> {
    if open < two_s || !(open - two_s).is_multiple_of(2) {
        return Some(0);
    }
    let paired = (open - two_s) / 2;
    let fewer = paired.checked_sub(1).map_or(Some(0), |fewer| binomial(open, fewer))?;
    Some(binomial(open, paired)? - fewer)
}

/// Strings of one spin by (level, irrep).
fn strings(irreps: &[u8], electrons: usize) -> Result<HashMap<(usize, u8), u128>, CountError> {
    // (holes or particles, irrep of the occupied orbitals) of the lowest orbitals and of those above.
    let side = |orbitals: &[u8], filled: bool| -> Result<HashMap<(usize, u8), u128>, CountError> {
        let mut ways = HashMap::from([((0, 0), 1u128)]);
        for irrep in orbitals {
            let mut next = HashMap::new();
            for ((moved, product), count) in &ways {
                for occupied in [false, true] {
                    let key = (moved + usize::from(occupied != filled), product ^ if occupied { *irrep } else { 0 });
                    let sum = next.entry(key).or_insert(0u128);
                    *sum = sum.checked_add(*count).ok_or(CountError::Overflow)?;
                }
            }
            ways = next;
        }
        Ok(ways)
    };
    let (low, high) = (side(&irreps[..electrons], true)?, side(&irreps[electrons..], false)?);
    let mut strings = HashMap::new();
    for ((holes, left), count) in &low {
        for ((_, right), pairs) in high.iter().filter(|((particles, _), _)| particles == holes) {
            let states = count.checked_mul(*pairs).ok_or(CountError::Overflow)?;
            let sum = strings.entry((*holes, left ^ right)).or_insert(0u128);
            *sum = sum.checked_add(states).ok_or(CountError::Overflow)?;
        }
    }
    Ok(strings)
}

/// Irreps counted from 0; all 0 if there are none.
fn from_zero(irreps: &[u8], orbitals: usize) -> Result<Vec<u8>, CountError> {
    if irreps.is_empty() {
        return Ok(vec![0; orbitals]);
    }
    let inside = irreps.iter().all(|irrep| (1..=8).contains(irrep));
    match irreps.len() == orbitals && inside {
        true => Ok(irreps.iter().map(|irrep| irrep - 1).collect()),
        false => Err(CountError::Irreps { found: irreps.len(), orbitals }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weyl's dimension formula as Paldus wrote it (J. Chem. Phys. 61, 5321 (1974)): all states of n orbitals.
    fn weyl_paldus(n: usize, electrons: usize, two_s: usize) -> u128 {
        let choose = |n, k: i64| usize::try_from(k).map_or(0, |k| binomial(n, k).unwrap());
        if electrons < two_s || !(electrons - two_s).is_multiple_of(2) {
            return 0;
        }
        let (less, more) = ((electrons - two_s) / 2, (electrons + two_s) / 2 + 1);
        (two_s as u128 + 1) * choose(n + 1, less as i64) * choose(n + 1, more as i64) / (n as u128 + 1)
    }

    /// Table 1 of Mahmoud, Hoffmann and Reza (2018), and the A1 part of it in C2v; both counted by two other programs
    /// as well (Weyl-Paldus by levels; enumeration of configurations).
    #[test]
    fn water_in_6_31g_d() {
        let reference = Reference::high_spin(10, 0);
        let all = StateCounts::configuration_state_functions(19, 10, 0, reference, &[]).unwrap();
        let paper = [1, 71, 2556, 42596, 391126, 2114666, 7147876, 15836556, 24490201, 29044751, 30046752];
        assert_eq!(all.cumulative(), paper);
        let irreps = [1, 1, 3, 1, 2, 1, 3, 3, 1, 2, 1, 3, 1, 1, 4, 2, 1, 3, 1];
        let in_c2v = StateCounts::configuration_state_functions(19, 10, 0, reference, &irreps).unwrap();
        let a1 = [28, 766, 11150, 99324, 531642, 1794438, 3971726, 6141639, 7283686, 7536400];
        assert_eq!(in_c2v.cumulative_in_irrep(1)[1..], a1);
        assert_eq!(in_c2v.per_level(), all.per_level());
        let determinants = StateCounts::determinants(19, 5, 5, &irreps).unwrap();
        let expected = [1, 141, 6861, 141541, 1489251, 8818755, 31457735, 71537775, 111162360, 131202380, 135210384];
        assert_eq!(determinants.cumulative(), expected);
        // Rows of the reference matrices of this molecule in the irrep A1.
        assert_eq!(determinants.cumulative_in_irrep(1)[3..5], [36235, 373311]);
    }

    #[test]
    fn all_levels_together_are_weyl_and_paldus() {
        for orbitals in 1..8 {
            for electrons in 0..=2 * orbitals {
                for two_s in (electrons % 2..=electrons.min(2 * orbitals - electrons)).step_by(2) {
                    let expected = weyl_paldus(orbitals, electrons, two_s);
                    for singly in (electrons % 2..=electrons).step_by(2) {
                        let reference = Reference { doubly: (electrons - singly) / 2, singly };
                        if reference.doubly + singly > orbitals {
                            continue;
                        }
                        let counts =
                            StateCounts::configuration_state_functions(orbitals, electrons, two_s, reference, &[])
                                .unwrap();
                        assert_eq!(
                            counts.cumulative().last(),
                            Some(&expected),
                            "{orbitals} {electrons} {two_s} {singly}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let count = |orbitals, electrons, two_s, doubly, singly, irreps: &[u8]| {
            StateCounts::configuration_state_functions(orbitals, electrons, two_s, Reference { doubly, singly }, irreps)
                .unwrap_err()
        };
        assert!(matches!(count(3, 4, 0, 1, 0, &[]), CountError::Reference { .. }));
        assert!(matches!(count(3, 8, 0, 4, 0, &[]), CountError::Reference { .. }));
        assert!(matches!(count(3, 4, 1, 2, 0, &[]), CountError::Spin { .. }));
        assert!(matches!(count(3, 4, 0, 2, 0, &[1, 2]), CountError::Irreps { found: 2, orbitals: 3 }));
        assert!(matches!(count(3, 4, 0, 2, 0, &[1, 2, 9]), CountError::Irreps { .. }));
        assert!(matches!(StateCounts::determinants(3, 4, 0, &[]), Err(CountError::Electrons { .. })));
        assert!(matches!(StateCounts::determinants(200, 100, 100, &[]), Err(CountError::Overflow)));
        assert!(matches!(StateCounts::determinants(usize::MAX, 1, 1, &[]), Err(CountError::Orbitals { .. })));
        assert!(matches!(count(usize::MAX, 2, 0, 1, 0, &[]), CountError::Orbitals { .. }));
        assert!(matches!(count(10_000, 10_000, 0, 5_000, 0, &[]), CountError::Overflow));
        let most = usize::MAX;
        assert!(matches!(count(most, most, 1, most / 2, 1, &[]), CountError::Orbitals { .. }));
        assert!(matches!(count(most, most, most, 0, most, &[]), CountError::Orbitals { .. }));
    }
}
