//! Why a model could not be put on a device.

use crate::sparse::{LayoutError, SparseError};
use eigenforge_core::operator::OperatorError;
use eigenforge_core::path::FamilyError;
use eigenforge_runtime::DeviceError;
use eigenforge_templates::{LaunchError, TextError};

/// Why a model could not be put on a device.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The plan could not be made.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The text could not be made.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The matrix does not fit the format that was asked for.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

impl From<LaunchError> for PrepareError {
    fn from(error: LaunchError) -> PrepareError {
        PrepareError::Device(error.into())
    }
}

impl From<SparseError> for PrepareError {
    fn from(error: SparseError) -> PrepareError {
        match error {
            SparseError::Text(error) => PrepareError::Text(error),
            SparseError::Device(error) => PrepareError::Device(error),
            SparseError::Layout(error) => PrepareError::Layout(error),
        }
    }
}

impl FamilyError for PrepareError {
    fn is_of_the_input(&self) -> bool {
        // What a sector or a device lacks of what a symmetry asks for.
        matches!(
            self,
            PrepareError::Operator(OperatorError::Symmetry(_) | OperatorError::TooManyValues { .. })
                | PrepareError::Layout(LayoutError::Asymmetric(_) | LayoutError::ManyValues)
        )
    }

    fn device(&self) -> Option<&DeviceError> {
        if let PrepareError::Device(error) = self { Some(error) } else { None }
    }
}
