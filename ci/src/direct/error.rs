//! Why a product straight from the integrals is not possible.

use super::super::integrals::triangle;
use super::super::matrix::FORBIDDEN;
use eigenforge_product::PrepareError;
use eigenforge_runtime::DeviceError;
use eigenforge_templates::ci::FullCiPlanError;

/// Why a product straight from the integrals is not possible.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the text of each says what its values are
pub enum DirectError {
    #[error("the integrals have {integrals} orbitals, but the space has {space}; build both for the same molecule")]
    Orbitals { integrals: usize, space: usize },
    #[error(
        "a space of {rows} determinants that is not every pair of strings: the direct product takes full spaces, whole \
         or of one irrep; store the matrix of others"
    )]
    Incomplete { rows: u64 },
    #[error(
        "a space of one irrep needs integrals that keep it, but one that the orbitals' irreps forbid is {largest:e} \
         (at most {limit:e} is taken for rounding): ORBSYM does not fit the integrals; take the space without irrep",
        limit = FORBIDDEN
    )]
    Irreps { largest: f64 },
    #[error(
        "integrals of {orbitals} orbitals have {one} one-electron and {two} two-electron values, all finite, and an irrep \
         from 1 to 8 for each orbital or none; these have {found:?} values and irreps, {infinite} of them not finite",
        one = triangle(*orbitals), two = triangle(triangle(*orbitals))
    )]
    Integrals { orbitals: usize, found: [usize; 3], infinite: usize },
    #[error(transparent)]
    Plan(#[from] FullCiPlanError),
    #[error(transparent)]
    Memory(#[from] DeviceError),
}

/// Of tables that are made again, or only for the host.
impl From<DirectError> for PrepareError {
    fn from(error: DirectError) -> PrepareError {
        match error {
            DirectError::Memory(error) => error.into(),
            other => unreachable!("it was refused when it was planned: {other}"),
        }
    }
}
