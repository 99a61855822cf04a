//! Why a model could not be put on a device.

use crate::operator::OperatorError;
use crate::sparse::SparseError;
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
            SparseError::Layout(error) => unreachable!("a ranked layout fits its matrix: {error}"),
        }
    }
}
