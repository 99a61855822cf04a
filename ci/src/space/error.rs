//! Errors of spaces. Every message has the numbers.

use super::{FileError, RestrictedActiveSpace};
use crate::strings::MAX_ORBITALS;
use eigenforge_runtime::DeviceError;
use std::path::PathBuf;

/// Why a space cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// More orbitals than a string holds.
    #[error("{found} orbitals: strings hold at most {MAX_ORBITALS}; freeze cores or delete virtuals")]
    Orbitals {
        /// What was found.
        found: usize,
    },
    /// More electrons of one spin than orbitals, or a number that differs from other determinants of a list.
    #[error("{up} α and {down} β electrons do not fit {orbitals} orbitals")]
    Electrons {
        /// α electrons.
        up: usize,
        /// β electrons.
        down: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// More strings of one spin than can be numbered.
    #[error(
        "{strings} strings of {electrons} electrons in {orbitals} orbitals: at most {limit} can be numbered; lower the \
         excitation level, or take fewer orbitals",
        strings = strings.map_or("over 10^38".to_owned(), |n| n.to_string()), limit = u32::MAX
    )]
    Strings {
        /// How many; `None` past 128 bits.
        strings: Option<u128>,
        /// Electrons.
        electrons: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// The orbitals have no irreps.
    #[error("ORBSYM is needed for a space of one irrep: the integrals' file has none")]
    NoIrreps,
    /// The number of irreps differs from the number of orbitals.
    #[error("{found} irreps for {orbitals} orbitals")]
    IrrepCount {
        /// What was found.
        found: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// No irrep has this number.
    #[error("irrep {found}: irreps go from 1 to 8, in Molpro's numbering")]
    Irrep {
        /// What was found.
        found: u8,
    },
    /// The space already has a single irrep.
    #[error("the space holds one irrep already: cut the whole space to the other one")]
    Cut,
    /// The space would be empty.
    #[error("no determinant of the space has irrep {irrep}")]
    Empty {
        /// The requested irrep.
        irrep: u8,
    },
    /// More restricted orbitals than there are.
    #[error(
        "ras1 = {ras1} and ras3 = {ras3} of {orbitals} orbitals: expected at most {orbitals} together; make one smaller"
    )]
    RestrictedOrbitals {
        /// Orbitals of RAS1.
        ras1: usize,
        /// Orbitals of RAS3.
        ras3: usize,
        /// Spatial orbitals.
        orbitals: usize,
    },
    /// More holes or electrons than restricted orbitals have places.
    #[error(
        "{what} = {found} in {space} = {orbitals} orbitals: expected at most {}, two for each orbital; lower {what}, or raise {space}",
        2 * orbitals
    )]
    RestrictedElectrons {
        /// `ras1` or `ras3`.
        space: &'static str,
        /// Its orbitals.
        orbitals: usize,
        /// `holes` or `electrons`.
        what: &'static str,
        /// The requested number.
        found: usize,
    },
    /// Restricted orbitals that leave no place for the electrons.
    #[error(
        "no determinant of {up} + {down} electrons in {orbitals} orbitals is in a {ras}: raise holes or electrons, or change ras1 or ras3"
    )]
    NoPlace {
        /// The restricted orbitals.
        ras: RestrictedActiveSpace,
        /// Spatial orbitals.
        orbitals: usize,
        /// α electrons.
        up: usize,
        /// β electrons.
        down: usize,
    },
    /// Not enough memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// The file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// An I/O error.
        source: std::io::Error,
    },
    /// The file is not a list of determinants.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FileError,
    },
    /// An empty list.
    #[error("the list has no determinants")]
    NoDeterminants,
    /// A list that is too long.
    #[error("a list of {found} determinants: at most {limit} can be numbered", limit = u32::MAX)]
    Rows {
        /// What was found.
        found: usize,
    },
    /// A determinant twice.
    #[error("determinant {second} of the list repeats determinant {first}")]
    Repeated {
        /// Its first place, from 1.
        first: usize,
        /// Its second place.
        second: usize,
    },
}
