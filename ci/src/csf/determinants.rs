//! Between configuration state functions and determinants.
//!
//! In: a space of functions, vectors over it. Out: the determinants of the same configurations with any Sz that S has, and
//! vectors over them. The genealogical coefficients belong to creators in the order of the orbitals; a determinant has all α left
//! of all β, so each is multiplied by (−1)^(pairs of an occupied α orbital above an occupied β orbital).

use super::configurations::Configuration;
use super::error::CsfError;
use super::spin_functions::SpinFunctions;
use super::{CsfSpace, MOST_OPEN};
use crate::space::{Restriction, Space};
use crate::strings::{Occupation, binomial, occupied};
use eigenforge_runtime::{Device, DeviceError};
use std::collections::HashMap;

impl CsfSpace {
    /// The determinants of the space's configurations with 2Sz.
    ///
    /// # Errors
    /// A projection that the spin has not; too many determinants.
    pub fn determinants(&self, two_sz: i64) -> Result<Space, CsfError> {
        let two_s = self.two_s;
        if two_sz.unsigned_abs() as usize > two_s || (two_s as i64 + two_sz) % 2 != 0 {
            return Err(CsfError::Projection { two_s, two_sz });
        }
        let [up, down] = [two_sz, -two_sz].map(|two_sz| ((self.electrons as i64 + two_sz) / 2) as usize);
        let space = match self.restriction {
            Restriction::None if !self.is_list => Space::full(self.orbitals, up, down)?,
            Restriction::Ras(ras) => Space::ras(self.orbitals, up, down, ras)?,
            // Levels of a closed shell are those of its determinants.
            Restriction::Level(level) if two_s == 0 => Space::excitations(self.orbitals, up, down, level)?,
            _ => Space::from_determinants(self.orbitals, &self.listed(two_sz)?)?,
        };
        match &self.irreps {
            Some((irreps, irrep)) => Ok(space.in_irrep(irreps, *irrep)?),
            None => Ok(space),
        }
    }

    /// All determinants of all configurations.
    fn listed(&self, two_sz: i64) -> Result<Vec<(Occupation, Occupation)>, CsfError> {
        let words = &self.configurations.words;
        let of = |word: &Configuration| patterns(word.open(), two_sz).map_or(0, |count| count as u64);
        let count = words.iter().map(of).sum::<u64>();
        Device::cpu().check_memory(&format!("a list of {count} determinants"), 32 * count)?;
        let functions: Vec<SpinFunctions> =
            (0..=MOST_OPEN).map(|open| SpinFunctions::new(open, self.two_s, two_sz)).collect();
        let all = words
            .iter()
            .flat_map(|word| functions[word.open()].patterns.iter().map(|pattern| determinant(*word, *pattern)));
        Ok(all.collect())
    }

    /// A vector of functions as one over determinants, which must hold those of each configuration.
    ///
    /// # Errors
    /// Too little memory.
    pub fn to_determinants(&self, space: &Space, vector: &[f64]) -> Result<Vec<f64>, DeviceError> {
        let rows = space.len() as usize;
        Device::cpu().check_memory(&format!("a vector of {rows} determinants"), 8 * rows as u64)?;
        let two_sz = space.two_sz();
        let most = self.configurations.words.iter().map(|word| word.open()).max().unwrap_or(0);
        let functions: Vec<SpinFunctions> =
            (0..=most).map(|open| SpinFunctions::new(open, self.two_s, two_sz)).collect();
        let mut found = vec![0.0; rows];
        for (word, first) in self.configurations.words.iter().zip(&self.configurations.first) {
            let functions = &functions[word.open()];
            let own = &vector[*first as usize..][..functions.count];
            for (place, pattern) in functions.patterns.iter().enumerate() {
                let Some((row, is_odd)) = determinant_row(space, *word, *pattern) else { continue };
                let sum: f64 = functions.row(place).iter().map(|(at, c)| c * own[usize::from(*at)]).sum();
                found[row as usize] = if is_odd { -sum } else { sum };
            }
        }
        Ok(found)
    }
}

/// Determinants of open shells with a projection.
pub(super) fn patterns(open: usize, two_sz: i64) -> Option<u128> {
    let up = usize::try_from((open as i64 + two_sz) / 2).ok()?;
    binomial(open, up)
}

/// The determinant of a configuration whose open shells have the spins of a pattern.
fn determinant(word: Configuration, pattern: u32) -> (Occupation, Occupation) {
    let spins = occupied(word.singly).enumerate();
    let up = spins.fold(0, |up, (shell, orbital)| up | Occupation::from(pattern >> shell & 1) << orbital);
    (word.doubly | up, word.doubly | word.singly & !up)
}

/// The row of the determinant of a configuration and a spin pattern, and whether its coefficient changes sign.
pub(super) fn determinant_row(space: &Space, word: Configuration, pattern: u32) -> Option<(u64, bool)> {
    let (up, down) = determinant(word, pattern);
    space.row(up, down).map(|row| (row, is_odd(up, down)))
}

/// Whether the creators of a determinant, sorted from the order of orbitals to α before β, change sign.
fn is_odd(up: Occupation, down: Occupation) -> bool {
    let below = |orbital: usize| (down & ((1 << orbital) - 1)).count_ones();
    occupied(up).map(below).sum::<u32>() % 2 == 1
}

/// The configurations of a space, in the order of their first determinants, each of which must have all of its determinants.
pub(super) fn complete(space: &Space) -> Result<Vec<Configuration>, CsfError> {
    let two_sz = space.two_sz();
    let (mut words, mut counts) = (Vec::new(), HashMap::new());
    for row in 0..space.len() {
        let word = Configuration::new(space.determinant(row));
        let count = counts.entry(word).or_insert(0u128);
        if *count == 0 {
            words.push(word);
        }
        *count += 1;
    }
    for word in &words {
        if patterns(word.open(), two_sz) == counts.get(word).copied() {
            continue;
        }
        if word.open() > MOST_OPEN {
            return Err(CsfError::OpenShells { found: word.open() });
        }
        let all = SpinFunctions::new(word.open(), word.open() % 2, two_sz);
        let all = || all.patterns.iter().map(|pattern| determinant(*word, *pattern));
        let found = |is_listed: bool| all().find(|(up, down)| space.row(*up, *down).is_some() == is_listed);
        if let (Some(listed), Some(missing)) = (found(true), found(false)) {
            let [listed, missing] = [listed, missing].map(|pair| text(pair, space.orbitals()));
            return Err(CsfError::Incomplete { listed, missing });
        }
    }
    Ok(words)
}

/// A determinant as a file has it: orbital 1 leftmost.
fn text((up, down): (Occupation, Occupation), orbitals: usize) -> String {
    let string =
        |word: Occupation| (0..orbitals).map(|p| if word >> p & 1 == 1 { '1' } else { '0' }).collect::<String>();
    format!("{} {}", string(up), string(down))
}
