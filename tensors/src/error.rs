//! Why a transformation did not end with a result.

use super::csv::TableError;
use super::device::DeviceTransformError;
use super::interaction::InteractionError;
use super::output::TensorFormat;
use super::processes::TeamError;
use super::summary::Overflow;
use eigenforge_core::files::ReportError;
use eigenforge_core::path::FamilyError;
use eigenforge_core::words::size;
use eigenforge_runtime::interrupt::Interrupted;
use eigenforge_runtime::lock::InUse;
use eigenforge_runtime::{DeviceError, SolveError};
use eigenforge_su3::LabelError;
use std::path::PathBuf;

/// Why a transformation did not end with a result.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// The input cannot be read.
    #[error(transparent)]
    Interaction(#[from] InteractionError),
    /// A file of numbers was changed while it was read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Error of the coefficients.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// Error of the device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Error of the kernels.
    #[error(transparent)]
    Kernels(#[from] DeviceTransformError),
    /// Numbers beyond doubles.
    #[error(transparent)]
    Overflow(#[from] Overflow),
    /// One of several cards failed.
    #[error("{card}: {source}")]
    Card {
        /// The card.
        card: String,
        /// Why.
        source: Box<TransformError>,
    },
    /// Error of the processes that share the work.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// A matrix that cannot be diagonalised.
    #[error("levels of two nucleons: {0}; is a strength beyond 1e100?")]
    Eigenvalues(#[source] SolveError),
    /// A file cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Another run writes the same file.
    #[error(transparent)]
    InUse(#[from] InUse),
    /// A signal ended the run.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// An input that would be written over.
    #[error("{} is both the input and the output: choose another file for --output", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// A format that does not hold what comes out.
    #[error("--format {} is for {holds}, but this run writes {found}: choose another --format", format.word())]
    Format {
        /// The format.
        format: TensorFormat,
        /// What it holds.
        holds: &'static str,
        /// What comes out.
        found: &'static str,
    },
    /// The largest group does not fit into the memory allowed.
    #[error(
        "N_max = {n_max} needs {} for its largest group of quadruples and {} for input and tables, but only {} may be used: \
         raise --memory, free memory, use a smaller --n-max, or an input that is read group by group (a .bin file, or relative \
         coordinates)", size(*needed), size(*resident), size(*limit)
    )]
    Memory {
        /// N_max.
        n_max: u32,
        /// Bytes held all the time.
        resident: u64,
        /// Bytes of the largest group.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// An operator of rank J0 that does not fit into the memory allowed.
    #[error(
        "an operator of J0 = {j0} in the space of N_max = {n_max} needs {}, but only {} may be used: raise --memory, free memory, or \
         use a smaller --n-max", size(*needed), size(*limit)
    )]
    RankedMemory {
        /// N_max.
        n_max: u32,
        /// J0.
        j0: u32,
        /// Bytes of all numbers, of the largest group and of W⁰.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The folder of `--checkpoint` holds groups of another transformation.
    #[error(
        "{} contains groups of another transformation (its input, N_max, direction or version differs): choose another \
         folder, or delete these groups", path.display()
    )]
    OtherCheckpoint {
        /// The file of groups.
        path: PathBuf,
    },
}

impl FamilyError for TransformError {
    fn is_of_the_input(&self) -> bool {
        if let TransformError::Card { source, .. } = self {
            return source.is_of_the_input();
        }
        matches!(
            self,
            TransformError::Interaction(_)
                | TransformError::Table(_)
                | TransformError::Overflow(_)
                | TransformError::SameFile { .. }
                | TransformError::Format { .. }
                | TransformError::Memory { .. }
                | TransformError::RankedMemory { .. }
                | TransformError::OtherCheckpoint { .. }
                | TransformError::Device(DeviceError::UnknownDevice(_) | DeviceError::SeveralCards { .. })
        )
    }

    fn device(&self) -> Option<&DeviceError> {
        match self {
            TransformError::Device(error) | TransformError::Kernels(DeviceTransformError::Device(error)) => Some(error),
            TransformError::Card { source, .. } => source.device(),
            _ => None,
        }
    }
}

impl FamilyError for DeviceTransformError {
    fn device(&self) -> Option<&DeviceError> {
        if let DeviceTransformError::Device(error) = self { Some(error) } else { None }
    }
}

eigenforge_core::errors_of_the_input!(InteractionError, TableError, Overflow);
