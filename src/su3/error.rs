//! Why a transformation did not end with a result.

use super::csv::TableError;
use super::device::DeviceTransformError;
use super::interaction::InteractionError;
use super::output::TensorFormat;
use super::summary::Overflow;
use super::team::TeamError;
use crate::files::ReportError;
use crate::words::size;
use eigenforge_runtime::DeviceError;
use eigenforge_runtime::interrupt::Interrupted;
use eigenforge_runtime::lock::InUse;
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
    /// Error of the processes that share the work.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// A file cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Another run writes the same file.
    #[error(transparent)]
    InUse(#[from] InUse),
    /// A signal ended the run.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The published sum is asked for backwards.
    #[error("--algorithm paper is of elements into strengths; leave it or --inverse out")]
    PaperInverse,
    /// An input that would be written over.
    #[error("{} is input and output at once; name another --output", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// A format that does not hold what comes out.
    #[error("--format {} holds {holds}, what comes out are {found}", format.word())]
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
        "N_max = {n_max} needs {} for the largest group of quadruples (strengths are done group by group) beside {} held all the \
         time; {} are allowed: free memory or raise --memory, take a smaller --n-max, or give an input that is not held, a .bin \
         file or relative motion", size(*needed), size(*resident), size(*limit)
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
    /// The folder of `--checkpoint` holds groups of another transformation.
    #[error(
        "{} holds groups of another transformation (input, N_max, direction, algorithm or version differ): name another folder, or \
         remove them", path.display()
    )]
    OtherCheckpoint {
        /// The file of groups.
        path: PathBuf,
    },
    /// Several processes of a build without MPI.
    #[error(
        "{size} processes were started together, and this eigenforge was built without MPI: build it with --features mpi, or \
         start one"
    )]
    WithoutMpi {
        /// How many.
        size: usize,
    },
}

impl TransformError {
    /// Whether the user's input is at fault, not the machine.
    pub fn is_of_the_input(&self) -> bool {
        matches!(
            self,
            TransformError::Interaction(_)
                | TransformError::Table(_)
                | TransformError::Overflow(_)
                | TransformError::PaperInverse
                | TransformError::SameFile { .. }
                | TransformError::Format { .. }
                | TransformError::Memory { .. }
                | TransformError::OtherCheckpoint { .. }
                | TransformError::WithoutMpi { .. }
                | TransformError::Device(DeviceError::UnknownDevice(_))
        )
    }

    /// The device's error, if that was the cause.
    pub fn device(&self) -> Option<&DeviceError> {
        match self {
            TransformError::Device(error) | TransformError::Kernels(DeviceTransformError::Device(error)) => Some(error),
            _ => None,
        }
    }
}
