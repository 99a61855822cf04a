//! Which determinants a space of products of strings leaves out: by excitation level, or by restricted orbitals.
//!
//! In: the electrons of strings or orbitals. Out: up to two numbers that add up over strings, or over orbitals, and the most of each that a
//! determinant may have: electrons outside the reference; or holes in RAS1 and electrons in RAS3 (Olsen, Roos, Jørgensen and Jensen 1988).

use super::SpaceError;
use crate::strings::{self, Occupation, binomial};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Restricted orbitals: RAS1, the lowest, has at most so many holes, and RAS3, the highest, at most so many electrons. Those between, RAS2,
/// are occupied in any way. Both counts are of both spins together, so that every spin is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RestrictedActiveSpace {
    /// Orbitals of RAS1.
    pub ras1: usize,
    /// Most holes in RAS1.
    pub holes: usize,
    /// Orbitals of RAS3.
    pub ras3: usize,
    /// Most electrons in RAS3.
    pub electrons: usize,
}

impl fmt::Display for RestrictedActiveSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RestrictedActiveSpace { ras1, holes, ras3, electrons } = self;
        write!(f, "RAS of {ras1} orbitals with at most {holes} holes and {ras3} with at most {electrons} electrons")
    }
}

impl RestrictedActiveSpace {
    /// Orbitals of RAS2.
    fn ras2(&self, orbitals: usize) -> usize {
        orbitals - self.ras1 - self.ras3
    }

    /// Refuses orbitals, holes and electrons that cannot be.
    ///
    /// # Errors
    /// More restricted orbitals than there are; more holes or electrons than restricted orbitals have places.
    pub(crate) fn check(&self, orbitals: usize) -> Result<(), SpaceError> {
        let RestrictedActiveSpace { ras1, holes, ras3, electrons } = *self;
        if ras1.checked_add(ras3).is_none_or(|both| both > orbitals) {
            return Err(SpaceError::RestrictedOrbitals { ras1, ras3, orbitals });
        }
        for (space, orbitals, what, found) in [("ras1", ras1, "holes", holes), ("ras3", ras3, "electrons", electrons)] {
            if found > 2 * orbitals {
                return Err(SpaceError::RestrictedElectrons { space, orbitals, what, found });
            }
        }
        Ok(())
    }

    /// Holes and electrons of strings with these counts, and how many strings have them.
    fn kinds(&self, orbitals: usize, electrons: usize) -> impl Iterator<Item = ([usize; 2], Option<u128>)> + use<> {
        let ras = *self;
        let each =
            (0..=ras.ras1.min(ras.holes)).flat_map(move |h| (0..=ras.ras3.min(ras.electrons)).map(move |e| [h, e]));
        each.filter_map(move |[holes, outer]| {
            let inner = electrons.checked_sub(ras.ras1 - holes + outer)?;
            let outside = binomial(ras.ras1, holes)?.checked_mul(binomial(ras.ras3, outer)?);
            let count = outside.zip(binomial(ras.ras2(orbitals), inner)).and_then(|(a, b)| a.checked_mul(b));
            Some(([holes, outer], count)).filter(|(_, count)| *count != Some(0))
        })
    }

    /// Strings of so many electrons that a determinant may have; `None` past 128 bits.
    pub(super) fn strings(&self, orbitals: usize, electrons: usize) -> Option<u128> {
        self.kinds(orbitals, electrons).try_fold(0u128, |sum, (_, count)| sum.checked_add(count?))
    }

    /// Determinants; `None` past 128 bits.
    pub(crate) fn determinants(&self, orbitals: usize, [up, down]: [usize; 2]) -> Option<u128> {
        let others: Vec<_> = self.kinds(orbitals, down).collect();
        let mut sum = 0u128;
        for ([holes, electrons], count) in self.kinds(orbitals, up) {
            let fits =
                |other: &&([usize; 2], _)| holes + other.0[0] <= self.holes && electrons + other.0[1] <= self.electrons;
            for (_, other) in others.iter().filter(fits) {
                sum = sum.checked_add(count?.checked_mul((*other)?)?)?;
            }
        }
        Some(sum)
    }

    /// The words of these strings.
    pub(super) fn words(&self, orbitals: usize, electrons: usize) -> Vec<Occupation> {
        let (ras1, ras2, ras3) = (self.ras1, self.ras2(orbitals), self.ras3);
        let above = |word: Occupation, first: usize| word.checked_shl(first as u32).unwrap_or(0);
        let mut words = Vec::new();
        for ([holes, outer], _) in self.kinds(orbitals, electrons) {
            let (low, inner) = (ras1 - holes, electrons - (ras1 - holes) - outer);
            for first in strings::combinations(ras1, low) {
                for second in strings::combinations(ras2, inner) {
                    let both = first | above(second, ras1);
                    words.extend(strings::combinations(ras3, outer).map(|third| both | above(third, ras1 + ras2)));
                }
            }
        }
        words
    }
}

/// What a space of products of strings leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restriction {
    /// Nothing.
    None,
    /// What is beyond an excitation level.
    Level(usize),
    /// What restricted orbitals forbid.
    Ras(RestrictedActiveSpace),
}

impl Restriction {
    /// The most of both numbers that a determinant has.
    pub(crate) fn most(self) -> [usize; 2] {
        match self {
            Restriction::None => [0, 0],
            Restriction::Level(level) => [level, 0],
            Restriction::Ras(ras) => [ras.holes, ras.electrons],
        }
    }

    /// Both numbers of a string.
    pub(super) fn of_string(self, word: Occupation, orbitals: usize) -> [usize; 2] {
        match self {
            Restriction::None => [0, 0],
            Restriction::Level(_) => {
                [(word & !strings::reference(word.count_ones() as usize)).count_ones() as usize, 0]
            }
            Restriction::Ras(ras) => {
                let outer = word.checked_shr((orbitals - ras.ras3) as u32).unwrap_or(0);
                [ras.ras1 - (word & strings::reference(ras.ras1)).count_ones() as usize, outer.count_ones() as usize]
            }
        }
    }

    /// Both numbers of so many electrons in an orbital, of which the reference has some.
    pub(crate) fn of_orbital(self, orbital: usize, orbitals: usize, electrons: usize, reference: usize) -> [usize; 2] {
        match self {
            Restriction::None => [0, 0],
            Restriction::Level(_) => [electrons.saturating_sub(reference), 0],
            Restriction::Ras(ras) if orbital < ras.ras1 => [2 - electrons, 0],
            Restriction::Ras(ras) if orbital + ras.ras3 >= orbitals => [0, electrons],
            Restriction::Ras(_) => [0, 0],
        }
    }
}
