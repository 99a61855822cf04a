//! Why a product row by row is not possible.

use super::super::matrix::MatrixError;
use eigenforge_product::PrepareError;
use eigenforge_runtime::DeviceError;
use eigenforge_templates::ci::FullCiPlanError;

/// Why a product is not possible.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the text of each says what its values are
pub enum OnTheFlyError {
    #[error(
        "a list of determinants ({rows} of them) where kernels run: their rows are found by looking up every move; store \
         the matrix, or run it on the CPU"
    )]
    List { rows: u64 },
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    #[error(transparent)]
    Plan(#[from] FullCiPlanError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// Of tables that are made again, or only for the host.
impl From<OnTheFlyError> for PrepareError {
    fn from(error: OnTheFlyError) -> PrepareError {
        match error {
            OnTheFlyError::Device(error) | OnTheFlyError::Matrix(MatrixError::Memory(error)) => error.into(),
            other => unreachable!("it was refused when it was planned: {other}"),
        }
    }
}
