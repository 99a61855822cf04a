//! Why a molecule has no solution.

use super::estimate::StorageError;
use super::{CountError, CsfError, DirectError, LoweringError, MatrixError, MoleculeError, OnTheFlyError};
use eigenforge_core::path::FamilyError;
use eigenforge_product::PrepareError;
use eigenforge_runtime::{DeviceError, SolveError};

/// Why there is no solution. A solve that did not converge is not an error; its [`CiSolution`](crate::CiSolution) reports it.
#[derive(Debug, thiserror::Error)]
pub enum CiError {
    /// The matrix could not be built.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// There is no product straight from the integrals.
    #[error(transparent)]
    Direct(#[from] DirectError),
    /// Rows cannot be recomputed in each product.
    #[error(transparent)]
    OnTheFly(#[from] OnTheFlyError),
    /// The multiply could not be put on the device.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The solver failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// An error of memory or transfers.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More states than rows.
    #[error("states = {states}, but the space has {dimension} {functions}: ask for at most {dimension}")]
    States {
        /// Requested states.
        states: usize,
        /// Elements of a vector.
        dimension: u64,
        /// What they are of, in words.
        functions: &'static str,
    },
    /// Neither way of multiplying fits, or the requested one does not exist.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl CiError {
    /// Whether the input is at fault; otherwise the error occurred while running.
    pub fn is_of_the_input(&self) -> bool {
        match self {
            CiError::States { .. }
            | CiError::Storage(
                StorageError::NotDirect { .. } | StorageError::NoTable { .. } | StorageError::StoredOnly { .. },
            ) => true,
            CiError::Device(DeviceError::NotOverRanks { .. }) => true,
            CiError::Solve(error) => error.is_of_the_input(),
            CiError::Matrix(error) => !matches!(error, MatrixError::Memory(_)),
            CiError::Direct(error) => !matches!(error, DirectError::Memory(_)),
            CiError::OnTheFly(error) => {
                !matches!(error, OnTheFlyError::Device(_) | OnTheFlyError::Matrix(MatrixError::Memory(_)))
            }
            CiError::Prepare(error) => error.is_of_the_input(),
            _ => false,
        }
    }

    /// The device error, from whichever stage.
    pub fn device(&self) -> Option<&DeviceError> {
        match self {
            CiError::Device(error)
            | CiError::Prepare(PrepareError::Device(error))
            | CiError::Direct(DirectError::Memory(error))
            | CiError::OnTheFly(OnTheFlyError::Device(error)) => Some(error),
            CiError::Solve(SolveError::Device(error)) => Some(error),
            _ => None,
        }
    }
}

impl FamilyError for CiError {
    fn is_of_the_input(&self) -> bool {
        CiError::is_of_the_input(self)
    }

    fn device(&self) -> Option<&DeviceError> {
        CiError::device(self)
    }
}

eigenforge_core::errors_of_the_input!(MoleculeError, LoweringError, CountError, CsfError);
