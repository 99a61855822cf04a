//! The problem of a file with `[ci]`: integrals with frozen cores folded in, and the determinants or configuration state functions.
//!
//! In: a [`CiSpec`]. Out: [`Molecule`].

use super::fcidump::{FcidumpHeader, OrbitalSymmetry, OrbsymError};
use super::operator::{electrons, term_by_term};
use super::orbital_number::OrbitalNumber;
use super::spec::{CiBasis, CiSpec, SpaceSpec};
use super::strings::MAX_ORBITALS;
use super::{
    CsfError, CsfSpace, FcidumpError, FileIntegrals, Integrals, OneElectron, OneElectronError, OrbitalWindow, Space,
    SpaceError, WindowError,
};
use eigenforge_core::operator::Operator;
use eigenforge_core::words::grouped;
use eigenforge_product::sparse::FormatName;
use eigenforge_runtime::trace;
use num_complex::Complex64;
use std::path::PathBuf;

/// Integrals and determinants of one problem.
#[derive(Clone, Debug)]
pub struct Molecule {
    /// With frozen cores folded in and other orbitals removed. Over complex orbitals these have no values, but numbers of orbitals and
    /// electrons, irreps and core energy.
    pub integrals: Integrals,
    /// The integrals over complex orbitals, if the file has such.
    pub complex: Option<Box<Integrals<Complex64>>>,
    /// Whether real integrals were written as complex numbers.
    pub from_complex: bool,
    /// The determinants.
    pub space: Space,
    /// The configuration state functions among which states are searched, in place of all determinants.
    pub csfs: Option<CsfSpace>,
    /// Their description in words.
    pub words: String,
    /// Which orbitals of the file these are.
    pub window: OrbitalWindow,
    /// Irreps of the file's orbitals.
    pub symmetry: OrbitalSymmetry,
    /// Components of the dipole over all orbitals, if their integrals are given.
    pub dipole: Option<Vec<OneElectron>>,
    /// The same over complex orbitals, in its place.
    pub complex_dipole: Option<Vec<OneElectron<Complex64>>>,
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
    /// Error of the configuration state functions.
    #[error(transparent)]
    Csf(#[from] CsfError),
    /// An irrep that the orbitals' group has not got.
    #[error(transparent)]
    Orbsym(#[from] OrbsymError),
    /// Error of the dipole's integrals.
    #[error(transparent)]
    Dipole(#[from] OneElectronError),
    /// Something that needs real orbitals.
    #[error("{what} needs real orbitals, and {} has complex ones, (re,im) i j k l; {instead}", path.display())]
    Complex {
        /// What was asked for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What to do.
        instead: &'static str,
    },
    /// Something that needs one set of orbitals for both spins.
    #[error(
        "{what} needs one set of orbitals for both spins, and {} has unrestricted ones (IUHF=1): S² needs their overlap, which the file has \
         not; {instead}", path.display()
    )]
    Unrestricted {
        /// What was asked for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What to do.
        instead: &'static str,
    },
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
fn check_magnitudes<T: OrbitalNumber>(integrals: &Integrals<T>) -> Result<(), MoleculeError> {
    let all = || integrals.values().map(OrbitalNumber::size).chain([integrals.core.abs()]);
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
        if header.unrestricted && (ci.basis == CiBasis::Csf || ci.two_s.is_some()) {
            let what = if ci.basis == CiBasis::Csf { "basis = \"csf\"" } else { "`two_s`" };
            let instead = "leave `basis` and `two_s` out, and choose n_α − n_β by two_sz";
            return Err(MoleculeError::Unrestricted { what, path: ci.fcidump.clone(), instead });
        }
        let rest = || ci.orbitals.unwrap_or(header.orbitals.saturating_sub(ci.frozen));
        let kept = ci.active.as_ref().map_or_else(rest, Vec::len);
        if kept > MAX_ORBITALS && kept <= header.orbitals {
            return Err(SpaceError::Orbitals { found: kept }.into());
        }
        let (read, symmetry) = FileIntegrals::read(&ci.fcidump, ci.symmetry)?;
        let (mut integrals, mut complex, from_complex) = match read {
            FileIntegrals::Real { integrals, from_complex } => (integrals, None, from_complex),
            FileIntegrals::Complex(complex) => (complex.without_values(), Some(Box::new(complex)), false),
        };
        check_magnitudes(&integrals)?;
        complex.as_deref().map_or(Ok(()), check_magnitudes)?;
        if complex.is_some() {
            refuse_complex(ci)?;
        }
        let irrep = ci.irrep.as_ref().map(|irrep| symmetry.number(irrep)).transpose()?;
        let of_one_spin = ci.basis == CiBasis::Csf || ci.two_s.is_some();
        let two_s = of_one_spin.then(|| two_s(ci, &integrals)).transpose()?;
        if let Some(two_sz) = ci.two_sz.or(two_s.and_then(|two_s| component(ci.basis, two_s, integrals.two_sz))) {
            integrals = integrals.with_two_sz(two_sz)?;
        }
        let window = ci.window(integrals.orbitals, integrals.spins())?;
        match &mut complex {
            Some(complex) => {
                **complex = Integrals { two_sz: integrals.two_sz, ..(**complex).clone() }.in_window(&window);
                integrals = complex.without_values();
            }
            None => integrals = integrals.in_window(&window),
        }
        let (space, csfs) = match two_s {
            None => (determinants(ci, &integrals, irrep)?, None),
            Some(two_s) if ci.basis == CiBasis::Determinants => {
                let csfs = in_irrep(spin_of_determinants(ci, &integrals, two_s)?, &integrals, irrep)?;
                (determinants(ci, &integrals, irrep)?, Some(csfs))
            }
            Some(two_s) => {
                let csfs = functions(ci, &integrals, two_s, irrep)?;
                (csfs.determinants(integrals.two_sz)?, Some(csfs))
            }
        };
        let irrep = irrep.map_or(String::new(), |irrep| format!(", irrep {}", symmetry.label(irrep)));
        let spin = two_s.map_or(String::new(), |two_s| format!(", 2S = {two_s}"));
        let words = format!("{}{spin}{irrep}{}", ci.space.describe(), window.describe());
        let (all, unrestricted) = (window.all, header.unrestricted);
        let (dipole, complex_dipole) = match (&ci.dipole, &complex) {
            (None, _) => (None, None),
            (Some(path), None) => (Some(OneElectron::read_dipole(path, all, unrestricted)?), None),
            (Some(path), Some(_)) => (None, Some(OneElectron::read_dipole(path, all, unrestricted)?)),
        };
        Ok(Molecule { integrals, complex, from_complex, space, csfs, words, window, symmetry, dipole, complex_dipole })
    }

    /// Whether each spin has its own orbitals.
    pub fn is_unrestricted(&self) -> bool {
        self.integrals.is_unrestricted() || self.complex.as_ref().is_some_and(|complex| complex.is_unrestricted())
    }

    /// H as an operator, the core energy included: [`electrons`].
    pub fn operator(&self) -> Operator {
        self.complex.as_ref().map_or_else(|| electrons(&self.integrals), |complex| term_by_term(complex))
    }

    /// Elements of a vector: configuration state functions, or determinants.
    pub fn dimension(&self) -> u64 {
        self.csfs.as_ref().map_or_else(|| self.space.len(), CsfSpace::len)
    }

    /// Whether there are integrals of the dipole.
    pub fn has_dipole(&self) -> bool {
        self.dipole.is_some() || self.complex_dipole.is_some()
    }

    /// One line: space, electrons, determinants or configuration state functions.
    pub fn describe(&self) -> String {
        let (up, down) = self.integrals.spins();
        let determinants = format!("{} determinants", grouped(u128::from(self.space.len())));
        let functions = self.csfs.as_ref().map_or(String::new(), |csfs| {
            let count = |number: u64| grouped(u128::from(number));
            format!(
                "{} configuration state functions of {} configurations, ",
                count(csfs.len()),
                count(csfs.configurations())
            )
        });
        let orbitals = match (self.is_unrestricted(), &self.complex) {
            (false, None) => "",
            (true, None) => ", unrestricted orbitals,",
            (false, Some(_)) => ", complex orbitals,",
            (true, Some(_)) => ", complex unrestricted orbitals,",
        };
        format!("{}{orbitals} of {up} + {down} electrons: {functions}{determinants}", self.words)
    }
}

/// Refuses what complex orbitals have not.
fn refuse_complex(ci: &CiSpec) -> Result<(), MoleculeError> {
    let refused = [
        (
            ci.basis == CiBasis::Csf,
            "basis = \"csf\"",
            "leave `basis` and `two_s` out: ⟨S²⟩ of each state is in the report",
        ),
        (ci.two_s.is_some(), "`two_s`", "leave it out: ⟨S²⟩ of each state is in the report"),
        (ci.format == Some(FormatName::Symmetric), "format = \"symmetric\"", "take another format, or leave it out"),
    ];
    match refused.into_iter().find(|(asked, ..)| *asked) {
        Some((_, what, instead)) => Err(MoleculeError::Complex { what, path: ci.fcidump.clone(), instead }),
        None => Ok(()),
    }
}

/// 2S of a file: its own, or that of its two_sz or MS2.
fn two_s(ci: &CiSpec, integrals: &Integrals) -> Result<usize, CsfError> {
    let Integrals { electrons, orbitals, .. } = *integrals;
    let wanted = ci.two_s.unwrap_or_else(|| ci.two_sz.unwrap_or(integrals.two_sz).abs());
    let two_s = usize::try_from(wanted).unwrap_or(usize::MAX);
    let both = two_s.saturating_add(electrons);
    if two_s > electrons || !both.is_multiple_of(2) || both / 2 > orbitals {
        return Err(CsfError::Spin { electrons, orbitals, two_s: wanted });
    }
    match ci.two_sz.filter(|two_sz| two_sz.abs() > wanted || (two_sz + wanted) % 2 != 0) {
        Some(two_sz) => Err(CsfError::Projection { two_s, two_sz }),
        None => Ok(two_s),
    }
}

/// The determinants of a file, of an irrep if it has one.
fn determinants(ci: &CiSpec, integrals: &Integrals, irrep: Option<u8>) -> Result<Space, MoleculeError> {
    let (orbitals, (up, down)) = (integrals.orbitals, integrals.spins());
    let space = match &ci.space {
        SpaceSpec::Full => Space::full(orbitals, up, down)?,
        SpaceSpec::Excitations(level) => Space::excitations(orbitals, up, down, *level)?,
        SpaceSpec::File(path) => Space::from_file(path)?,
        SpaceSpec::Ras(ras) => Space::ras(orbitals, up, down, *ras)?,
    };
    let listed = (space.alpha().electrons(), space.beta().electrons());
    if listed != (up, down) {
        return Err(MoleculeError::Electrons { listed, wanted: (up, down) });
    }
    match irrep {
        Some(irrep) => Ok(space.in_irrep(&integrals.irreps, irrep)?),
        None => Ok(space),
    }
}

/// The configuration state functions of a file, of an irrep if it has one.
fn functions(ci: &CiSpec, integrals: &Integrals, two_s: usize, irrep: Option<u8>) -> Result<CsfSpace, MoleculeError> {
    let Integrals { orbitals, electrons, .. } = integrals;
    let csfs = match &ci.space {
        SpaceSpec::Full => CsfSpace::full(*orbitals, *electrons, two_s)?,
        SpaceSpec::Excitations(level) => CsfSpace::excitations(*orbitals, *electrons, two_s, *level)?,
        SpaceSpec::Ras(ras) => CsfSpace::ras(*orbitals, *electrons, two_s, *ras)?,
        SpaceSpec::File(_) => spin_of_determinants(ci, integrals, two_s)?,
    };
    in_irrep(csfs, integrals, irrep)
}

/// The functions of one spin of a file's determinants, of all irreps, which must be spin-complete.
fn spin_of_determinants(ci: &CiSpec, integrals: &Integrals, two_s: usize) -> Result<CsfSpace, MoleculeError> {
    let Integrals { orbitals, electrons, .. } = *integrals;
    Ok(match &ci.space {
        // Spin-complete by their definition.
        SpaceSpec::Full => CsfSpace::full(orbitals, electrons, two_s)?,
        SpaceSpec::Ras(ras) => CsfSpace::ras(orbitals, electrons, two_s, *ras)?,
        _ => CsfSpace::from_space(&determinants(ci, integrals, None)?, two_s)?,
    })
}

fn in_irrep(csfs: CsfSpace, integrals: &Integrals, irrep: Option<u8>) -> Result<CsfSpace, MoleculeError> {
    Ok(irrep.map_or(Ok(csfs.clone()), |irrep| csfs.in_irrep(&integrals.irreps, irrep))?)
}

/// 2Sz of a file that does not say: of functions 2S, of determinants what the integrals have, if 2S has it.
fn component(basis: CiBasis, two_s: usize, own: i64) -> Option<i64> {
    let two_s = two_s as i64;
    let is_own = basis == CiBasis::Determinants && own.abs() <= two_s && (own - two_s) % 2 == 0;
    if is_own { None } else { Some(two_s) }
}
