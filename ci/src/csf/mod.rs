//! Configuration state functions: combinations of the determinants of one configuration with a definite spin S.
//!
//! In: integrals and a space of one 2S. Out: the matrix of H, and vectors over determinants of any Sz that S has. A
//! configuration says which orbitals are doubly and which singly occupied. With k singly occupied ones it has
//! C(k, k/2 − S) − C(k, k/2 − S − 1) functions ([`spin_functions`], genealogical coupling). H is spin-free,
//!
//! H = Σ h_pq E_pq + ½ Σ (pq|rs) (E_pq E_rs − δ_qr E_ps), E_pq = Σ_σ a†_pσ a_qσ
//!
//! (Helgaker, Jørgensen and Olsen 2000, eq. 2.2.18), so a block between two configurations is a sum of integrals times
//! coupling coefficients of one or two moves of an electron. The coefficients depend only on how many open shells there are
//! and between which of them the electrons go ([`coupling`]); each is computed once.
//!
//! Levels of excitation count electrons by spatial orbitals from the configuration with 2S open shells above the closed ones,
//! which keeps every configuration whole.
//!
//! | file | question it answers |
//! |---|---|
//! | `spin_functions` | how are the spins of open shells coupled? |
//! | `configurations` | which configurations are there, and in which order? |
//! | `coupling` | what are the coefficients of one and of two moves? |
//! | `blocks` | which configurations does H couple, with which integrals and coefficients? |
//! | `matrix` | which elements has the matrix, and how many? |
//! | `determinants` | what is a vector of functions over determinants, and is a list of these complete? |
//! | `guess` | what does the lowest state look like? |
//! | `diagonal` | what are the diagonal elements of H? |
//! | `way` | the way of a stored matrix |
//! | `direct/` | the ways without a matrix |

mod blocks;
mod configurations;
mod coupling;
mod determinants;
mod diagonal;
mod direct;
mod error;
mod guess;
mod matrix;
mod spin_functions;
#[cfg(test)]
mod tests;
mod way;

use super::count::{Reference, StateCounts};
use super::space::{RestrictedActiveSpace, Restriction, Space, check_irreps};
use configurations::{Configuration, Configurations};
pub(super) use direct::CsfDirectWay;
use eigenforge_runtime::Device;
pub use error::CsfError;
pub(super) use matrix::census;
use std::sync::Arc;
pub(super) use way::CsfWay;

/// Most singly occupied orbitals: 14 have up to 1,001 functions of 3,432 determinants.
const MOST_OPEN: usize = 14;

/// Configuration state functions of one spin. Clones share their configurations.
#[derive(Clone, Debug)]
pub struct CsfSpace {
    orbitals: usize,
    electrons: usize,
    two_s: usize,
    /// Which configurations are left out; nothing of a list.
    restriction: Restriction,
    is_list: bool,
    /// Irrep of each orbital and that of the functions, both from 1, if the space has a single one.
    irreps: Option<(Vec<u8>, u8)>,
    configurations: Arc<Configurations>,
}

impl CsfSpace {
    /// Full configuration interaction with spin S.
    ///
    /// # Errors
    /// A spin that the electrons cannot have; too many functions or open shells.
    pub fn full(orbitals: usize, electrons: usize, two_s: usize) -> Result<CsfSpace, CsfError> {
        CsfSpace::new(orbitals, electrons, two_s, Restriction::None)
    }

    /// All functions of configurations up to `level` electrons away from the reference: the lowest orbitals doubly, and the
    /// next 2S singly occupied.
    ///
    /// # Errors
    /// As of [`CsfSpace::full`].
    pub fn excitations(orbitals: usize, electrons: usize, two_s: usize, level: usize) -> Result<CsfSpace, CsfError> {
        CsfSpace::new(orbitals, electrons, two_s, Restriction::Level(level.min(electrons)))
    }

    /// All functions of the configurations that restricted orbitals allow.
    ///
    /// # Errors
    /// Restricted orbitals that cannot be; as of [`CsfSpace::full`].
    pub fn ras(
        orbitals: usize,
        electrons: usize,
        two_s: usize,
        ras: RestrictedActiveSpace,
    ) -> Result<CsfSpace, CsfError> {
        ras.check(orbitals)?;
        CsfSpace::new(orbitals, electrons, two_s, Restriction::Ras(ras))
    }

    /// The functions with spin S of the configurations of a space, each of which must be complete.
    ///
    /// # Errors
    /// A determinant that a configuration lacks; no function of this spin.
    pub fn from_space(space: &Space, two_s: usize) -> Result<CsfSpace, CsfError> {
        let electrons = space.alpha().electrons() + space.beta().electrons();
        let whole = CsfSpace::empty(space.orbitals(), electrons, two_s, Restriction::None)?;
        let configurations = Configurations::new(determinants::complete(space)?, two_s)?;
        CsfSpace { is_list: true, configurations: Arc::new(configurations), ..whole }.checked()
    }

    /// The functions of the same irrep up to a level.
    pub(super) fn up_to(&self, level: usize) -> Result<CsfSpace, CsfError> {
        let space = CsfSpace::excitations(self.orbitals, self.electrons, self.two_s, level)?;
        match &self.irreps {
            Some((irreps, irrep)) => space.in_irrep(irreps, *irrep),
            None => Ok(space),
        }
    }

    fn new(orbitals: usize, electrons: usize, two_s: usize, restriction: Restriction) -> Result<CsfSpace, CsfError> {
        let space = CsfSpace::empty(orbitals, electrons, two_s, restriction)?;
        let found = space.count()?;
        if found > u128::from(u32::MAX) {
            return Err(CsfError::Rows { found });
        }
        // There are at most as many configurations.
        let bytes = Configurations::BYTES * found as u64;
        Device::cpu().check_memory(&format!("configurations of {found} configuration state functions"), bytes)?;
        let configurations = Configurations::new(configurations::all(&space), two_s)?;
        CsfSpace { configurations: Arc::new(configurations), ..space }.checked()
    }

    /// Functions by formula.
    fn count(&self) -> Result<u128, CsfError> {
        let CsfSpace { orbitals, electrons, two_s, .. } = *self;
        if let Restriction::Ras(ras) = self.restriction {
            // Determinants with Sz = S that none of a higher spin have.
            let of = |two_sz: usize| {
                let up = (electrons + two_sz) / 2;
                if up > orbitals || two_sz > electrons {
                    Some(0)
                } else {
                    ras.determinants(orbitals, [up, electrons - up])
                }
            };
            return Ok(of(two_s).zip(of(two_s + 2)).map_or(u128::MAX, |(all, higher)| all.saturating_sub(higher)));
        }
        let reference = Reference::high_spin(electrons, two_s);
        let counts = StateCounts::configuration_state_functions(orbitals, electrons, two_s, reference, &[])?;
        let most = if let Restriction::Level(level) = self.restriction { level } else { electrons };
        Ok(counts.cumulative()[most])
    }

    /// Without configurations.
    fn empty(orbitals: usize, electrons: usize, two_s: usize, restriction: Restriction) -> Result<CsfSpace, CsfError> {
        let both = electrons + two_s;
        if two_s > electrons || !both.is_multiple_of(2) || both / 2 > orbitals {
            return Err(CsfError::Spin { electrons, orbitals, two_s: two_s as i64 });
        }
        let configurations = Arc::new(Configurations::new(Vec::new(), two_s)?);
        Ok(CsfSpace { orbitals, electrons, two_s, restriction, is_list: false, irreps: None, configurations })
    }

    fn checked(self) -> Result<CsfSpace, CsfError> {
        let (two_s, irrep) = (self.two_s, self.irreps.as_ref().map(|(_, irrep)| *irrep));
        if self.len() == 0 { Err(CsfError::Empty { two_s, irrep }) } else { Ok(self) }
    }

    /// The functions whose irrep is `irrep`, in the same order; `irreps` has one per orbital, from 1, Molpro's numbers.
    ///
    /// # Errors
    /// Irreps that do not exist; no such function.
    pub fn in_irrep(self, irreps: &[u8], irrep: u8) -> Result<CsfSpace, CsfError> {
        check_irreps(irreps, self.orbitals)?;
        let words = self.configurations.words.iter().copied().filter(|word| word.irrep(irreps) + 1 == irrep).collect();
        let configurations = Arc::new(Configurations::new(words, self.two_s)?);
        CsfSpace { irreps: Some((irreps.to_vec(), irrep)), configurations, ..self }.checked()
    }

    /// Electrons of the reference in an orbital.
    fn reference(&self, orbital: usize) -> usize {
        let Reference { doubly, singly } = Reference::high_spin(self.electrons, self.two_s);
        if orbital < doubly { 2 } else { usize::from(orbital < doubly + singly) }
    }

    /// Number of functions.
    #[allow(clippy::len_without_is_empty)] // no space is empty
    pub fn len(&self) -> u64 {
        self.configurations.rows()
    }

    /// Number of configurations.
    pub fn configurations(&self) -> u64 {
        self.configurations.words.len() as u64
    }

    /// Coefficients of all functions over the determinants of a space, zeros included.
    pub(super) fn coefficients(&self, space: &Space) -> f64 {
        let of = |word: &Configuration| {
            let patterns = determinants::patterns(word.open(), space.two_sz()).unwrap_or(0);
            patterns as f64 * crate::count::spin_functions(word.open(), self.two_s).unwrap_or(0) as f64
        };
        self.configurations.words.iter().map(of).sum()
    }

    /// 2S.
    pub fn two_s(&self) -> usize {
        self.two_s
    }

    /// Hashes what identifies the space.
    pub(super) fn identify(&self, hash: &mut blake3::Hasher) {
        hash.update(b"configuration state functions");
        for number in [self.orbitals, self.electrons, self.two_s] {
            hash.update(&(number as u64).to_le_bytes());
        }
        for word in &self.configurations.words {
            hash.update(&word.doubly.to_le_bytes()).update(&word.singly.to_le_bytes());
        }
    }
}
