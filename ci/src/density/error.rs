//! What can be wrong with vectors that densities and spins are asked of.

use eigenforge_core::files::ReportError;
use eigenforge_runtime::{DeviceError, SolveError};

/// Why there is no density matrix, spin or natural orbital.
#[derive(Debug, thiserror::Error)]
pub enum DensityError {
    /// An average over nothing.
    #[error("a density needs at least one vector: give one state, or all states of a level to average over")]
    NoVectors,
    /// A vector of another space.
    #[error(
        "vector {vector} has {found} elements but the space has {expected} determinants: use the space it was solved in"
    )]
    Length {
        /// Which one, from 0.
        vector: usize,
        /// Its elements.
        found: usize,
        /// Determinants of the space.
        expected: u64,
    },
    /// A vector that is not a state.
    #[error("vector {vector} has norm {norm}: the norm of a state must be finite and above 0")]
    Norm {
        /// Which one, from 0.
        vector: usize,
        /// Its norm.
        norm: f64,
    },
    /// An observable that takes out more electrons than density matrices hold.
    #[error(
        "{term} annihilates more than two electrons; averages in configuration interaction come from one- and two-body density \
         matrices: use operators of at most two creators and two annihilators in each term"
    )]
    TooManyElectrons {
        /// The product.
        term: String,
    },
    /// An operator that the orbitals do not have.
    #[error(transparent)]
    Operator(#[from] eigenforge_core::operator::OperatorError),
    /// Two things of different molecules.
    #[error("{what} has {found} orbitals and the density matrix {expected}; both must be of the same orbitals")]
    Orbitals {
        /// What does not fit.
        what: &'static str,
        /// Its orbitals.
        found: usize,
        /// Orbitals of the density matrix.
        expected: usize,
    },
    /// Natural orbitals of a matrix that is not symmetric.
    #[error(
        "a density matrix that differs by {largest:e} from its transpose: natural orbitals belong to one state, not to a \
         transition"
    )]
    Transition {
        /// Largest |γ_pq − γ_qp|.
        largest: f64,
    },
    /// Not enough memory.
    #[error(transparent)]
    Memory(#[from] DeviceError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] ReportError),
    /// The small eigenproblem failed.
    #[error(transparent)]
    CiSolve(#[from] SolveError),
}
