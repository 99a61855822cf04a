//! The reasons why a DMRG run fails.

use eigenforge_core::operator::OperatorError;
use eigenforge_core::path::FamilyError;
use eigenforge_core::words::size;
use eigenforge_runtime::{BackendError, DeviceError};
use std::path::PathBuf;

/// Everything that can stop a run.
#[derive(Debug, thiserror::Error)]
pub enum DmrgError {
    /// The operator, or the operator in this sector.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// A factor that the model's sites do not have.
    #[error("{operator} at site {site}, in the term {term}: the sites of this model have no such operator")]
    UnknownOperator {
        /// The factor.
        operator: String,
        /// Its site.
        site: usize,
        /// The whole term.
        term: String,
    },
    /// A start that is no state of the chain's sector.
    #[error("the start should be {expected}, found {found}")]
    Start {
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A chain too short for two sites and their ends.
    #[error(
        "a chain of {sites} site(s) is too short: two-site DMRG needs at least 3; remove [dmrg] to diagonalise exactly"
    )]
    TooShort {
        /// Number of sites.
        sites: usize,
    },
    /// A chain longer than the limit.
    #[error("a chain of {sites} sites is too long: DMRG is limited to {most} sites")]
    TooLong {
        /// Number of sites.
        sites: usize,
        /// The limit, [`crate::MOST_SITES`].
        most: usize,
    },
    /// More charges at the cuts of a chain than can be listed.
    #[error(
        "the cuts of this chain of {sites} sites have up to {labels} combinations of charges in this sector, more than the limit of \
         {most}: use fewer sites, or a sector with fewer particles"
    )]
    TooManyLabels {
        /// Number of sites.
        sites: usize,
        /// Charges of all cuts together, at most.
        labels: u128,
        /// The limit.
        most: u128,
    },
    /// A chain whose bulk does not repeat site after site.
    #[error(
        "mode = \"infinite\" adds one site at each end, so the model must repeat every one or two sites; this chain of {sites} \
         sites does not (site-dependent couplings, a ring, a wider lattice): use mode = \"finite\""
    )]
    NotRepeated {
        /// Number of sites.
        sites: usize,
    },
    /// A chain without a bulk.
    #[error(
        "mode = \"infinite\" needs at least {needed} sites for the range of this model, found {sites}: use mode = \"finite\""
    )]
    TooShortToGrow {
        /// Number of sites.
        sites: usize,
        /// Sites of the shortest chain.
        needed: usize,
    },
    /// An order that is not a permutation of the sites.
    #[error("the order should name each of the {sites} sites once, found {wrong}")]
    Order {
        /// Number of sites.
        sites: usize,
        /// What is wrong with it.
        wrong: String,
    },
    /// A term of H that changes the irrep of a state.
    #[error(
        "H should conserve the irreps of the orbitals, found {coefficient:e} {term}: leave the irreps out, or drop the term"
    )]
    ChangesIrrep {
        /// The term.
        term: String,
        /// Its coefficient.
        coefficient: f64,
    },
    /// An option out of its range.
    #[error("{option} should be {expected}, found {found}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The memory needed at one bond does not fit.
    #[error(
        "one bond needs about {}, but only {} may be used: about {states} states would fit; lower `states` or raise `memory`",
        size(*needed), size(*free)
    )]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes that may be held.
        free: u64,
        /// States that would fit.
        states: usize,
    },
    /// More states below than a device's Davidson basis has room for.
    #[error(
        "targets should be at most {most} on this device, because its Davidson basis also holds the lower states; found \
         {found}: use fewer targets, or --device cpu"
    )]
    TooManyBelow {
        /// The requested number.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// Numbers of the run.
    #[error(transparent)]
    Numbers(BackendError),
    /// The device.
    #[error(transparent)]
    Device(DeviceError),
    /// The energy is NaN or infinite.
    #[error(
        "the energy at sites {first} and {second} is not finite: check for couplings that differ by many orders of magnitude"
    )]
    NotFinite {
        /// The left site.
        first: usize,
        /// The right site.
        second: usize,
    },
    /// Evicted numbers could not be written to disk or read back.
    #[error("{0}; set `scratch` in [dmrg] to a folder with more free space, raise `memory`, or lower `states`")]
    Scratch(#[source] BackendError),
    /// Another run uses the checkpoint folder.
    #[error(transparent)]
    InUse(#[from] eigenforge_runtime::lock::InUse),
    /// A signal ended the run.
    #[error(transparent)]
    Interrupted(#[from] eigenforge_runtime::interrupt::Interrupted),
    /// A folder of checkpoints cannot be made or read.
    #[error("checkpoint {}: {source}", path.display())]
    Checkpoint {
        /// Where.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// The folder holds another run's states.
    #[error(
        "the checkpoint in {} belongs to another run: its {what} is {}; choose another folder", folder.display(), differing(expected, found)
    )]
    OtherCheckpoint {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: String,
        /// This run's.
        expected: String,
        /// The checkpoint's.
        found: String,
    },
}

/// What a value is and what this run has; of sums of files and operators there is nothing to read.
fn differing(expected: &str, found: &str) -> String {
    let is_sum = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_sum(expected) || is_sum(found) { "another".into() } else { format!("{found}, this run's is {expected}") }
}

impl DmrgError {
    /// Whether the user wrote what is wrong, so that the exit code says so.
    pub fn is_of_the_input(&self) -> bool {
        !matches!(
            self,
            DmrgError::Numbers(_)
                | DmrgError::NotFinite { .. }
                | DmrgError::Checkpoint { .. }
                | DmrgError::InUse(_)
                | DmrgError::Interrupted(_)
                | DmrgError::Scratch(_)
                | DmrgError::Device(_)
        )
    }
}

impl From<BackendError> for DmrgError {
    fn from(error: BackendError) -> DmrgError {
        match error {
            BackendError::Device(error) => DmrgError::Device(error),
            error @ BackendError::Scratch { .. } => DmrgError::Scratch(error),
            error => DmrgError::Numbers(error),
        }
    }
}

impl From<DeviceError> for DmrgError {
    fn from(error: DeviceError) -> DmrgError {
        BackendError::from(error).into()
    }
}

impl FamilyError for DmrgError {
    fn is_of_the_input(&self) -> bool {
        DmrgError::is_of_the_input(self)
    }

    fn device(&self) -> Option<&DeviceError> {
        if let DmrgError::Device(error) = self { Some(error) } else { None }
    }
}
