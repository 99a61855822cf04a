//! Why a run did not end with a result.

use crate::ci::{CiError, DensityError};
use crate::dmrg::DmrgError;
use crate::exact::RunError;
use crate::input::InputError;
use crate::report::ReportError;
use eigenforge_runtime::DeviceError;

/// Why a run did not end with a result; a run that did not converge ends with one, which says so.
#[derive(Debug, thiserror::Error)]
pub enum SolveFailure {
    /// Observables that the file describes and that are none.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A diagonalisation.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Configuration interaction.
    #[error(transparent)]
    Ci(#[from] CiError),
    /// Density matrices.
    #[error(transparent)]
    Density(#[from] DensityError),
    /// DMRG.
    #[error(transparent)]
    Dmrg(#[from] DmrgError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file that cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// What is planned cannot be shown.
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
    /// Strings that vectors.npz has no room for.
    #[error("{orbitals} orbitals: vectors.npz holds determinants as words of 64 bits; leave --vectors out")]
    WideStrings {
        /// Orbitals of the space.
        orbitals: usize,
    },
}
