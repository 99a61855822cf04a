//! Why a stage of a problem cannot be shown.

use eigenforge_runtime::DeviceError;
use eigenforge_runtime::jit::JitError;
use eigenforge_templates::{LaunchError, TextError};
use std::fmt;

/// What any family's error can say of itself; the command chooses its exit code and its form by it.
pub trait FamilyError: std::error::Error + Send + Sync + 'static {
    /// Whether the user's input is at fault, not the machine.
    fn is_of_the_input(&self) -> bool {
        false
    }

    /// The device's error behind it, if it was the device's.
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
    /// Compiler or disassembler.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// A name that is neither a generated file's nor a kernel's.
    #[error("no generated file and no kernel of this problem is named '{name}'; there are: {known}")]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A stage that the family has no meaning for.
    #[error("--stage {stage} is not available for {family}: {why}")]
    NoStage {
        /// The stage.
        stage: super::Stage,
        /// What the problem is about.
        family: String,
        /// Why.
        why: String,
    },
    /// The family's own error: a plan that cannot be made, integrals that cannot be read.
    #[error(transparent)]
    Family(FamilyFault),
}

/// The error of some family.
#[derive(Debug)]
pub struct FamilyFault(Box<dyn FamilyError>);

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
        StageError::Family(FamilyFault(Box::new(error)))
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

    /// The compiler's error behind it, if it was the compiler's.
    pub fn jit(&self) -> Option<&JitError> {
        match self {
            StageError::Jit(error) => Some(error),
            StageError::Family(error) => error.0.device().and_then(DeviceError::jit),
            _ => None,
        }
    }
}
