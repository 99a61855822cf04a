//! Why a stage of a problem cannot be shown.

use eigenforge_runtime::jit::JitError;
use eigenforge_runtime::{DeviceError, SolveError};
use eigenforge_templates::{LaunchError, TextError};
use std::fmt;

/// The common interface of the families' errors: whose fault it is, and which kernel did not compile.
pub trait FamilyError: std::error::Error + Send + Sync + 'static {
    /// Whether the user's input is at fault, not the machine.
    fn is_of_the_input(&self) -> bool {
        false
    }

    /// The device's error, if that was the cause.
    fn device(&self) -> Option<&DeviceError> {
        None
    }
}

/// Why a stage cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// A text could not be made from its plan.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A kernel cannot be launched as planned.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Error of the compiler or disassembler.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// A name that is neither a generated file nor a kernel.
    #[error("no generated file and no kernel of this problem is named '{name}'; there are: {known}")]
    UnknownKernel {
        /// The requested name.
        name: String,
        /// The available names.
        known: String,
    },
    /// A stage that the family does not have.
    #[error("--stage {stage} is not available for {family}: {why}")]
    NoStage {
        /// The stage.
        stage: super::Stage,
        /// The kind of problem.
        family: String,
        /// The reason.
        why: String,
    },
    /// The family's own error, such as a plan that cannot be made or integrals that cannot be read.
    #[error(transparent)]
    Family(FamilyFault),
}

/// The error of some family.
#[derive(Debug)]
pub struct FamilyFault(Box<dyn FamilyError>);

impl FamilyFault {
    /// Keeps an error of any family.
    pub fn new(error: impl FamilyError) -> FamilyFault {
        FamilyFault(Box::new(error))
    }

    /// The family's error.
    pub fn family(&self) -> &dyn FamilyError {
        &*self.0
    }
}

impl fmt::Display for FamilyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for FamilyFault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl<E: FamilyError> From<E> for StageError {
    fn from(error: E) -> StageError {
        StageError::Family(FamilyFault::new(error))
    }
}

impl StageError {
    /// Whether the user's input is at fault, not the machine.
    pub fn is_of_the_input(&self) -> bool {
        match self {
            StageError::UnknownKernel { .. } | StageError::NoStage { .. } => true,
            StageError::Family(error) => error.0.is_of_the_input(),
            _ => false,
        }
    }

    /// The compiler's error, if that was the cause.
    pub fn jit(&self) -> Option<&JitError> {
        match self {
            StageError::Jit(error) => Some(error),
            StageError::Family(error) => error.0.device().and_then(DeviceError::jit),
            _ => None,
        }
    }
}

impl FamilyError for DeviceError {
    fn is_of_the_input(&self) -> bool {
        use DeviceError::{NotOverRanks, SeveralCards, UnknownDevice};
        matches!(self, UnknownDevice(_) | SeveralCards { .. } | NotOverRanks { .. })
    }

    fn device(&self) -> Option<&DeviceError> {
        Some(self)
    }
}

impl FamilyError for SolveError {
    fn is_of_the_input(&self) -> bool {
        SolveError::is_of_the_input(self)
    }

    fn device(&self) -> Option<&DeviceError> {
        if let SolveError::Device(error) = self { Some(error) } else { None }
    }
}

/// Says of errors that they are always of the input.
#[macro_export]
macro_rules! errors_of_the_input {
    ($($error:ty),* $(,)?) => {$(
        impl $crate::path::FamilyError for $error {
            fn is_of_the_input(&self) -> bool {
                true
            }
        }
    )*};
}

errors_of_the_input!(
    crate::lattice::LatticeError,
    crate::operator::OperatorError,
    crate::observable::ReadError,
    super::IrError
);
