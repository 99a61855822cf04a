//! Errors of configuration state functions. Every message has the numbers.

use super::MOST_OPEN;
use crate::count::CountError;
use crate::space::SpaceError;
use eigenforge_runtime::DeviceError;

/// Why there are no configuration state functions of a space.
#[derive(Debug, thiserror::Error)]
pub enum CsfError {
    /// This number of electrons cannot have this spin.
    #[error(
        "{electrons} electrons in {orbitals} orbitals cannot have 2S = {two_s}: expected {expected}; change two_s, or the electrons \
         (fcidump, frozen, orbitals)",
        expected = spins(*electrons, *orbitals)
    )]
    Spin {
        /// Electrons.
        electrons: usize,
        /// Spatial orbitals.
        orbitals: usize,
        /// The requested 2S.
        two_s: i64,
    },
    /// This spin has no such projection.
    #[error(
        "two_sz = {two_sz} is not a projection of 2S = {two_s}: expected {}; leave two_sz out \
         (it is 2S then), or change two_s", projections(*two_s)
    )]
    Projection {
        /// The requested 2S.
        two_s: usize,
        /// The requested 2Sz.
        two_sz: i64,
    },
    /// A space of determinants that lacks some of a configuration.
    #[error(
        "the space is not spin-complete: it has the determinant `{listed}` and lacks `{missing}`, which occupies the same orbitals, so S² \
         leads out of it; add the determinant to the list; in place of a level of excitation of an open shell take that of basis = \"csf\", \
         which counts by spatial orbitals; or leave out two_s and basis = \"csf\""
    )]
    Incomplete {
        /// A determinant of the space.
        listed: String,
        /// One of the same configuration that is not in it.
        missing: String,
    },
    /// More singly occupied orbitals than are coupled.
    #[error(
        "a configuration of the space has {found} singly occupied orbitals, and spins of at most {MOST_OPEN} are coupled: lower the \
         excitation level, take fewer orbitals, or leave out two_s and basis = \"csf\""
    )]
    OpenShells {
        /// What was found.
        found: usize,
    },
    /// More functions than can be numbered.
    #[error(
        "{found} configuration state functions: a stored matrix has at most {limit} rows; lower the excitation level, or take fewer \
         orbitals or one irrep",
        limit = u32::MAX
    )]
    Rows {
        /// What was found.
        found: u128,
    },
    /// A space without functions of this spin.
    #[error(
        "no configuration of the space has 2S = {two_s}{}: change two_s, irrep or the space",
        irrep.map_or(String::new(), |irrep| format!(" and irrep {irrep}"))
    )]
    Empty {
        /// The requested 2S.
        two_s: usize,
        /// The requested irrep, Molpro's number.
        irrep: Option<u8>,
    },
    /// They could not be counted.
    #[error(transparent)]
    Count(#[from] CountError),
    /// Error of the determinants.
    #[error(transparent)]
    Space(#[from] SpaceError),
    /// Not enough memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
}

/// The 2S that electrons in orbitals can have, in words.
fn spins(electrons: usize, orbitals: usize) -> String {
    let most = electrons.min((2 * orbitals).saturating_sub(electrons));
    match electrons % 2 {
        least if least == most => format!("{least}"),
        least => format!("a number from {least} to {most} in steps of 2"),
    }
}

/// The values of 2Sz of a spin, in words.
fn projections(two_s: usize) -> String {
    if two_s == 0 { "0".into() } else { format!("a number from -{two_s} to {two_s} in steps of 2") }
}
