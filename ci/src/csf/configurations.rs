//! Configurations: which orbitals are doubly and which singly occupied, all spins alike.
//!
//! In: orbitals, electrons, 2S, and up to how many electrons may leave the reference. Out: the configurations that have 2S,
//! by level, each level from the lowest orbitals on.

use super::error::CsfError;
use super::{CsfSpace, MOST_OPEN};
use crate::count::spin_functions;
use crate::strings::{Occupation, WordHasher, occupied};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

/// Spatial occupation of orbitals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Configuration {
    /// Orbitals with two electrons.
    pub(super) doubly: Occupation,
    /// Orbitals with one electron.
    pub(super) singly: Occupation,
}

impl Configuration {
    /// The configuration of a determinant.
    pub(super) fn new((up, down): (Occupation, Occupation)) -> Configuration {
        Configuration { doubly: up & down, singly: up ^ down }
    }

    /// Electrons in an orbital.
    pub(super) fn electrons(self, orbital: usize) -> usize {
        2 * (self.doubly >> orbital & 1) as usize + (self.singly >> orbital & 1) as usize
    }

    /// Singly occupied orbitals.
    pub(super) fn open(self) -> usize {
        self.singly.count_ones() as usize
    }

    /// With one electron moved between two different orbitals.
    pub(super) fn moved(self, from: usize, to: usize) -> Configuration {
        let change = 1 << from | 1 << to;
        let filled = Configuration { singly: self.singly ^ change, ..self };
        // What was doubly occupied and lost an electron, and what was singly occupied and won one.
        Configuration { doubly: self.doubly & !(1 << from) | self.singly & 1 << to, ..filled }
    }

    /// Product of the electrons' irreps, which count from 1; from 0.
    pub(super) fn irrep(self, irreps: &[u8]) -> u8 {
        occupied(self.singly).fold(0, |product, orbital| product ^ (irreps[orbital] - 1))
    }
}

/// Configurations, and where the functions of each begin.
#[derive(Debug)]
pub(super) struct Configurations {
    pub(super) words: Vec<Configuration>,
    /// First row of each, followed by the number of rows.
    pub(super) first: Vec<u64>,
    places: HashMap<Configuration, u32, BuildHasherDefault<WordHasher>>,
}

impl Configurations {
    /// Bytes per configuration: its words, first row, and place in the hash table.
    pub(super) const BYTES: u64 = 32 + 8 + 49 * 16 / 7;

    /// These, each once; those that do not have 2S are left out.
    ///
    /// # Errors
    /// Too many open shells or rows.
    pub(super) fn new(mut words: Vec<Configuration>, two_s: usize) -> Result<Configurations, CsfError> {
        let functions = |open| spin_functions(open, two_s).unwrap_or(0);
        words.retain(|word| functions(word.open()) > 0);
        let found = words.iter().map(|word| word.open()).max().unwrap_or(0);
        if found > MOST_OPEN {
            return Err(CsfError::OpenShells { found });
        }
        let rows: u128 = words.iter().map(|word| functions(word.open())).sum();
        if rows > u128::from(u32::MAX) {
            return Err(CsfError::Rows { found: rows });
        }
        let (mut first, mut next) = (vec![0], 0);
        for word in &words {
            next += functions(word.open()) as u64;
            first.push(next);
        }
        let places = words.iter().zip(0..).map(|(word, place)| (*word, place)).collect();
        Ok(Configurations { words, first, places })
    }

    /// The place of a configuration.
    pub(super) fn place(&self, word: Configuration) -> Option<usize> {
        self.places.get(&word).map(|place| *place as usize)
    }

    /// Rows.
    pub(super) fn rows(&self) -> u64 {
        self.first.last().copied().unwrap_or(0)
    }

    /// Functions of a configuration.
    pub(super) fn functions(&self, place: usize) -> usize {
        (self.first[place + 1] - self.first[place]) as usize
    }
}

/// The configurations of a space that is no list, by the counts of its restriction: by level.
pub(super) fn all(space: &CsfSpace) -> Vec<Configuration> {
    let most = space.restriction.most();
    let mut listing = Listing { space, most, by_counts: vec![Vec::new(); (most[0] + 1) * (most[1] + 1)] };
    listing.fill(0, Configuration { doubly: 0, singly: 0 }, space.electrons, [0, 0]);
    listing.by_counts.concat()
}

/// Configurations being listed.
struct Listing<'a> {
    space: &'a CsfSpace,
    /// The most of both counts of the restriction.
    most: [usize; 2],
    by_counts: Vec<Vec<Configuration>>,
}

impl Listing<'_> {
    /// Fills the orbitals from one on with the electrons that are left, after those before have these counts.
    fn fill(&mut self, orbital: usize, word: Configuration, left: usize, counts: [usize; 2]) {
        let (remaining, open) = (self.space.orbitals - orbital, word.open());
        if left > 2 * remaining || open + remaining.min(left) < self.space.two_s {
            return;
        }
        if counts[0] > self.most[0] || counts[1] > self.most[1] {
            return;
        }
        if remaining == 0 {
            self.by_counts[counts[0] * (self.most[1] + 1) + counts[1]].push(word);
            return;
        }
        let held = self.space.reference(orbital);
        for electrons in (0..=left.min(2)).rev() {
            let bit = |filled: bool| Occupation::from(filled) << orbital;
            let next =
                Configuration { doubly: word.doubly | bit(electrons == 2), singly: word.singly | bit(electrons == 1) };
            let own = self.space.restriction.of_orbital(orbital, self.space.orbitals, electrons, held);
            self.fill(orbital + 1, next, left - electrons, [counts[0] + own[0], counts[1] + own[1]]);
        }
    }
}
