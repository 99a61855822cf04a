//! The problem of a file with `[ci]`: integrals with frozen cores folded in, and the determinants.
//!
//! In: a [`CiSpec`]. Out: [`Molecule`].

use super::fcidump::{FcidumpHeader, OrbitalSymmetry, OrbsymError};
use super::spec::{CiSpec, SpaceSpec};
use super::strings::MAX_ORBITALS;
use super::{FcidumpError, Integrals, OneElectron, OneElectronError, Space, SpaceError, WindowError};
use eigenforge_core::words::grouped;
use eigenforge_runtime::trace;

/// Integrals and determinants of one problem.
#[derive(Clone, Debug)]
pub struct Molecule {
    /// With frozen cores folded in and other orbitals removed.
    pub integrals: Integrals,
    /// The determinants.
    pub space: Space,
    /// Their description in words.
    pub words: String,
    /// Orbitals of the file.
    pub all_orbitals: usize,
    /// Their irreps.
    pub symmetry: OrbitalSymmetry,
    /// Components of the dipole over all orbitals, if their integrals are given.
    pub dipole: Option<Vec<OneElectron>>,
}

/// Why a molecule cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MoleculeError {
    /// Error of the integrals.
    #[error(transparent)]
    Fcidump(#[from] FcidumpError),
    /// Error of frozen or kept orbitals.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// Error of the determinants.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// An irrep that the orbitals' group has not got.
    #[error(transparent)]
    Orbsym(#[from] OrbsymError),
    /// Error of the dipole's integrals.
    #[error(transparent)]
    Dipole(#[from] OneElectronError),
    /// An integral whose square overflows in double precision.
    #[error(
        "the integrals add up to {sum:e} in magnitude, {largest:e} at most each, expected less than {MOST_MAGNITUDE:e}: are they of a molecule, in Hartree?"
    )]
    Magnitude {
        /// The sum of all.
        sum: f64,
        /// The largest.
        largest: f64,
    },
    /// A list of determinants for another molecule.
    #[error(
        "the listed determinants have {} + {} electrons, the integrals {} + {}: list determinants of this molecule, or \
         set two_sz", listed.0, listed.1, wanted.0, wanted.1
    )]
    Electrons {
        /// α and β electrons of the list.
        listed: (usize, usize),
        /// α and β electrons of the integrals, without frozen ones.
        wanted: (usize, usize),
    },
}

/// Solvers square numbers of the size of H.
const MOST_MAGNITUDE: f64 = 1e150;

/// Refuses integrals with which a solver would overflow.
fn check_magnitudes(integrals: &Integrals) -> Result<(), MoleculeError> {
    let all = || integrals.one.iter().chain(&integrals.two).chain([&integrals.core]).map(|value| value.abs());
    let (sum, largest) = (all().sum::<f64>(), all().fold(0.0, f64::max));
    if sum < MOST_MAGNITUDE { Ok(()) } else { Err(MoleculeError::Magnitude { sum, largest }) }
}

impl Molecule {
    /// Reads integrals and lists determinants.
    ///
    /// # Errors
    /// A file is refused; orbitals, electrons or irreps that do not exist.
    pub fn read(ci: &CiSpec) -> Result<Molecule, MoleculeError> {
        let _reading = trace::span("generate", "read integrals");
        let header = FcidumpHeader::read(&ci.fcidump)?;
        let kept = ci.orbitals.unwrap_or(header.orbitals.saturating_sub(ci.frozen));
        if kept > MAX_ORBITALS && kept <= header.orbitals {
            return Err(SpaceError::Orbitals { found: kept }.into());
        }
        let (mut integrals, symmetry) = Integrals::read_with(&ci.fcidump, ci.symmetry)?;
        check_magnitudes(&integrals)?;
        let irrep = ci.irrep.as_ref().map(|irrep| symmetry.number(irrep)).transpose()?;
        if let Some(two_sz) = ci.two_sz {
            integrals = integrals.with_two_sz(two_sz)?;
        }
        let all_orbitals = integrals.orbitals;
        integrals = integrals.freeze(ci.frozen)?;
        if let Some(orbitals) = ci.orbitals {
            integrals = integrals.keep(orbitals)?;
        }
        let (orbitals, (up, down)) = (integrals.orbitals, integrals.spins());
        let space = match &ci.space {
            SpaceSpec::Full => Space::full(orbitals, up, down)?,
            SpaceSpec::Excitations(level) => Space::excitations(orbitals, up, down, *level)?,
            SpaceSpec::File(path) => Space::from_file(path)?,
        };
        let listed = (space.alpha().electrons(), space.beta().electrons());
        if listed != (up, down) {
            return Err(MoleculeError::Electrons { listed, wanted: (up, down) });
        }
        let space = match irrep {
            Some(irrep) => space.in_irrep(&integrals.irreps, irrep)?,
            None => space,
        };
        let irrep = irrep.map_or(String::new(), |irrep| format!(", irrep {}", symmetry.label(irrep)));
        let frozen = if ci.frozen == 0 { String::new() } else { format!(", {} orbitals frozen", ci.frozen) };
        let words = format!("{}{irrep}{frozen}", ci.space.describe());
        let dipole = ci.dipole.as_ref().map(|path| OneElectron::read_dipole(path, all_orbitals)).transpose()?;
        Ok(Molecule { integrals, space, words, all_orbitals, symmetry, dipole })
    }

    /// One line: space, electrons, determinants.
    pub fn describe(&self) -> String {
        let (up, down) = self.integrals.spins();
        format!("{} of {up} + {down} electrons: {} determinants", self.words, grouped(u128::from(self.space.len())))
    }
}
