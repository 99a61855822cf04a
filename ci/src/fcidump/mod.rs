//! FCIDUMP files (Knowles and Handy, Comput. Phys. Commun. 54, 75 (1989)): text in, checked [`Integrals`] out, and
//! back.
//!
//! A namelist `&FCI NORB=…,NELEC=…,MS2=…,ORBSYM=…,ISYM=… &END` (or `/`; keys in any order and case, counts such as
//! `4*1`), then lines `value i j k l`, orbitals from 1, Hartree:
//!
//! | indices | meaning |
//! |---|---|
//! | i j k l | (ij\|kl), chemist order: ∫∫ φ_i(1) φ_j(1) φ_k(2) φ_l(2) / r₁₂ |
//! | i j 0 0 | h_ij |
//! | i 0 0 0 | orbital energy: ignored |
//! | 0 0 0 0 | energy of nuclei and frozen cores; required, because a truncated file lacks it |
//!
//! Real orbitals, eightfold symmetry: each integral once, or also any of its symmetric copies if they agree to 1e-10.
//! With `IUHF=1` each spin has its own orbitals, and the file has five blocks, in the order of Molpro and block2: (ij|kl) of two α electrons,
//! of two β electrons, of an α (ij) and a β electron (kl), h_ij of α, h_ij of β. Each ends with `0.0 0 0 0 0`; the core energy follows.
//! Values `(re,im)` are over complex orbitals, (ij|kl) = ∫∫ φ_i*(1) φ_j(1) φ_k*(2) φ_l(2) / r₁₂ = (kl|ij) = (ji|lk)*, h_ij = h_ji*: fourfold
//! symmetry, so that (ij|lk) is another integral, which is 0 if it is not given. A file begins with one, or has `ICOMPLEX=1`. One whose
//! imaginary parts are all 0 and whose integrals have eightfold symmetry is real ([`FileIntegrals`]).
//! Spin-orbital files are refused by name, as is everything else that does not fit, with its line.
//!
//! | file | question it answers |
//! |---|---|
//! | `header` | what does the namelist contain? |
//! | `orbsym`, `group` | which irreps do the numbers of ORBSYM mean, and what are their names? |
//! | `entries` | what does a line of numbers mean? |
//! | `collected` | which integrals have been read, and do copies agree? |
//! | `real` | are integrals that were written as complex numbers real? |
//! | `write` | how is it written? |
//! | `error` | what can be wrong with it? |
//! | `one_electron` | what does a file of one-electron operators, such as a dipole, contain? |

mod collected;
mod entries;
mod error;
mod group;
mod header;
mod one_electron;
mod orbsym;
mod real;
mod write;

use super::integrals::{Integrals, triangle};
use super::orbital_number::OrbitalNumber;
use collected::Collected;
use eigenforge_runtime::Device;
use eigenforge_runtime::input_file::{FileKind, Lines, TextFile};
use entries::Entry;
use num_complex::Complex64;
use std::io::BufRead;
use std::path::Path;

pub use error::FcidumpError;
pub(super) use error::{AGREEMENT, MAX_ORBITALS};
pub use group::AbelianGroup;
pub use header::FcidumpHeader;
pub(super) use header::check_spins;
use orbsym::Forbidden;
pub use orbsym::{IrrepLabel, OrbitalSymmetry, Orbsym, OrbsymError, SymmetryKeys};

pub use one_electron::{OneElectron, OneElectronError};

/// Bytes of integrals allowed for a file of any length: those of 128 orbitals, which a model may leave nearly empty.
const ROOM: u64 = 512 << 20;
/// Additional bytes allowed for each byte of the file.
const ROOM_PER_BYTE: u64 = 1024;

impl Integrals {
    /// Reads an FCIDUMP file; `-` is standard input.
    ///
    /// # Errors
    /// With the file's name: a file that cannot be read, ends too early, or has invalid lines.
    pub fn read(path: impl AsRef<Path>) -> Result<Integrals, FcidumpError> {
        Ok(Integrals::read_with(path, SymmetryKeys::default())?.0)
    }

    /// The same, with what a model file says of ORBSYM; also what is known of the irreps.
    ///
    /// # Errors
    /// See [`Integrals::read`].
    pub fn read_with(path: impl AsRef<Path>, keys: SymmetryKeys) -> Result<(Integrals, OrbitalSymmetry), FcidumpError> {
        let path = path.as_ref();
        let file = open(path)?;
        let bytes = file.size();
        Integrals::read_lines(file, Some(bytes), keys).map_err(|error| error.in_file(path))
    }

    /// Reads the text of an FCIDUMP file, in one pass.
    ///
    /// # Errors
    /// See [`Integrals::read`].
    pub fn read_from(text: impl BufRead) -> Result<Integrals, FcidumpError> {
        Ok(Integrals::read_lines(text, None, SymmetryKeys::default())?.0)
    }

    fn read_lines(
        text: impl BufRead,
        bytes: Option<u64>,
        keys: SymmetryKeys,
    ) -> Result<(Integrals, OrbitalSymmetry), FcidumpError> {
        match FileIntegrals::read_lines(text, bytes, keys)? {
            (FileIntegrals::Real { integrals, .. }, symmetry) => Ok((integrals, symmetry)),
            (FileIntegrals::Complex(_), _) => Err(FcidumpError::ComplexOrbitals),
        }
    }
}

/// The integrals of a file, over real or complex orbitals.
#[derive(Clone, Debug)]
pub enum FileIntegrals {
    /// Over real orbitals.
    Real {
        /// The integrals.
        integrals: Integrals,
        /// Whether they were written as complex numbers, with imaginary parts that are all 0.
        from_complex: bool,
    },
    /// Over complex ones.
    Complex(Integrals<Complex64>),
}

impl FileIntegrals {
    /// Reads an FCIDUMP file, with what a model file says of ORBSYM; also what is known of the irreps.
    ///
    /// # Errors
    /// See [`Integrals::read`].
    pub fn read(path: impl AsRef<Path>, keys: SymmetryKeys) -> Result<(FileIntegrals, OrbitalSymmetry), FcidumpError> {
        let path = path.as_ref();
        let file = open(path)?;
        let bytes = file.size();
        FileIntegrals::read_lines(file, Some(bytes), keys).map_err(|error| error.in_file(path))
    }

    fn read_lines(
        text: impl BufRead,
        bytes: Option<u64>,
        keys: SymmetryKeys,
    ) -> Result<(FileIntegrals, OrbitalSymmetry), FcidumpError> {
        let mut lines = Lines::new(text);
        let header = FcidumpHeader::read_from(&mut lines)?;
        // Groups and numbers that do not fit are said before the integrals are read.
        header.symmetry(keys, None)?;
        let first = next_entry(&mut lines, header.orbitals)?;
        let Some(first) = first else { return Err(FcidumpError::NoIntegrals { line: lines.number() }) };
        if !header.complex && !first.0.pair {
            header.check_room::<f64>(bytes)?;
            let (integrals, _) = collect::<f64>(&mut lines, &header, first)?;
            return with_irreps(&header, keys, integrals, |integrals| FileIntegrals::Real {
                integrals,
                from_complex: false,
            });
        }
        header.check_room::<Complex64>(bytes)?;
        let (integrals, two_lines) = collect::<Complex64>(&mut lines, &header, first)?;
        match real::from_complex(&integrals, &two_lines)? {
            Some(integrals) => {
                with_irreps(&header, keys, integrals, |integrals| FileIntegrals::Real { integrals, from_complex: true })
            }
            None => with_irreps(&header, keys, integrals, FileIntegrals::Complex),
        }
    }
}

/// The next line of numbers that is not blank, with its number.
fn next_entry(lines: &mut Lines<impl BufRead>, orbitals: usize) -> Result<Option<(Entry, u64)>, FcidumpError> {
    while let Some(line) = lines.next()? {
        if let Some(entry) = Entry::parse(line.bytes, line.number, orbitals)? {
            return Ok(Some((entry, line.number)));
        }
    }
    Ok(None)
}

/// All integrals of a file from its first line on, and the lines of those of two electrons.
fn collect<T: OrbitalNumber>(
    lines: &mut Lines<impl BufRead>,
    header: &FcidumpHeader,
    first: (Entry, u64),
) -> Result<(Integrals<T>, Vec<Vec<u32>>), FcidumpError> {
    let (mut collected, mut next) = (Collected::<T>::new(header), Some(first));
    while let Some((entry, line)) = next {
        if entry.pair && T::KIND.is_real() {
            let expected = "the file begins with a real value: write all as `(re,im)`, or ICOMPLEX=1 in the namelist";
            return Err(FcidumpError::Complex { line, expected });
        }
        collected.add(entry, line)?;
        next = next_entry(lines, header.orbitals)?;
    }
    collected.finish(lines.number())
}

/// The integrals with the irreps of the file.
fn with_irreps<T: OrbitalNumber>(
    header: &FcidumpHeader,
    keys: SymmetryKeys,
    mut integrals: Integrals<T>,
    kind: impl FnOnce(Integrals<T>) -> FileIntegrals,
) -> Result<(FileIntegrals, OrbitalSymmetry), FcidumpError> {
    let symmetry = header.symmetry_by(keys, Some(&integrals))?;
    integrals.irreps.clone_from(&symmetry.irreps);
    Ok((kind(integrals), symmetry))
}

impl FcidumpHeader {
    /// Reads only the namelist of a file.
    ///
    /// # Errors
    /// See [`Integrals::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<FcidumpHeader, FcidumpError> {
        let path = path.as_ref();
        let mut lines = Lines::new(open(path)?);
        FcidumpHeader::read_from(&mut lines).map_err(|error| error.in_file(path))
    }

    /// The orbitals' irreps; without integrals they do not decide whose numbers ORBSYM has.
    ///
    /// # Errors
    /// Groups that differ; numbers that do not exist.
    pub fn symmetry(&self, keys: SymmetryKeys, integrals: Option<&Integrals>) -> Result<OrbitalSymmetry, OrbsymError> {
        self.symmetry_by(keys, integrals)
    }

    fn symmetry_by<T: OrbitalNumber>(
        &self,
        keys: SymmetryKeys,
        integrals: Option<&Integrals<T>>,
    ) -> Result<OrbitalSymmetry, OrbsymError> {
        let share = integrals.map(|integrals| {
            let unit = integrals.unit();
            move |irreps: &[u8]| if unit > 0.0 { integrals.largest_forbidden(irreps) / unit } else { 0.0 }
        });
        let forbidden = share.as_ref().map(|share| share as Forbidden<'_>);
        OrbitalSymmetry::new(&self.orbsym, self.point_group, keys, forbidden)
    }

    /// Refuses integrals that the file cannot contain, before they are allocated.
    fn check_room<T: OrbitalNumber>(&self, bytes: Option<u64>) -> Result<(), FcidumpError> {
        // A value, and the number of its line.
        let pairs = T::pairs(self.orbitals);
        let each = if self.unrestricted { 2 * triangle(pairs) + pairs * pairs } else { triangle(pairs) };
        let needed = (4 + size_of::<T>() as u64) * each as u64;
        if let Some(bytes) = bytes
            && needed > ROOM.saturating_add(bytes.saturating_mul(ROOM_PER_BYTE))
        {
            return Err(FcidumpError::Sparse { orbitals: self.orbitals, needed, bytes });
        }
        Ok(Device::cpu().check_memory(&format!("the integrals of {} orbitals", self.orbitals), needed)?)
    }
}

fn open(path: &Path) -> Result<TextFile, FcidumpError> {
    TextFile::open(path, FileKind::INTEGRALS).map_err(|source| FcidumpError::Io { path: path.to_owned(), source })
}
