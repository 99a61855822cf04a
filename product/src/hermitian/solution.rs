//! What a solve of a matrix found: energies, and vectors of the numbers of the matrix.

use super::HermitianMatrix;
use crate::hamiltonian::Hamiltonian;
use crate::plan::MultiplyPlan;
use crate::solve::{Eigenstates, RealImage};
use crate::sparse::Format;
use eigenforge_runtime::{Device, DeviceError};
use num_complex::Complex64;
use std::ops::Deref;

/// How a stored matrix was multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMatrixUsed {
    /// Its format.
    pub format: Format,
    /// Why this format; `None` on cores, which multiply the rows as they are.
    pub reason: Option<String>,
    /// The kernels of the format in words; `None` where none ran.
    pub shape: Option<String>,
}

impl StoredMatrixUsed {
    pub(super) fn new(multiply: &MultiplyPlan, hamiltonian: &Hamiltonian<'_>, device: &Device) -> StoredMatrixUsed {
        let stored = multiply.0.format();
        let of_cards = hamiltonian.sharing().map_or(String::new(), |sharing| format!("; of several cards {sharing}"));
        StoredMatrixUsed {
            format: stored.as_ref().map_or(Format::Csr, |stored| stored.format),
            reason: stored.and_then(|stored| Some(stored.ranking?.reason.clone() + &of_cards)),
            shape: device.runs_kernels().then(|| hamiltonian.shape()),
        }
    }
}

/// The result of a solve of a matrix: its [`Eigenstates`], whose vectors have the real parts of each number side by
/// side; with vectors of the numbers of the matrix.
#[derive(Debug)]
pub struct HermitianSolution<'a> {
    pub(super) matrix: &'a HermitianMatrix,
    pub(super) states: Eigenstates,
    pub(super) used: StoredMatrixUsed,
}

impl Deref for HermitianSolution<'_> {
    type Target = Eigenstates;

    fn deref(&self) -> &Eigenstates {
        &self.states
    }
}

impl HermitianSolution<'_> {
    /// The matrix.
    pub fn matrix(&self) -> &HermitianMatrix {
        self.matrix
    }

    /// How it was multiplied.
    pub fn stored_matrix_used(&self) -> &StoredMatrixUsed {
        &self.used
    }

    /// The vectors of a real matrix, one per state.
    ///
    /// # Errors
    /// Those of copies from the device.
    pub fn real_vectors(&self) -> Result<Vec<Vec<f64>>, DeviceError> {
        self.eigenpairs().vectors.iter().map(|vector| vector.download()).collect()
    }

    /// The vectors of a complex matrix, one per state, orthonormal.
    ///
    /// # Errors
    /// Those of copies from the device.
    pub fn complex_vectors(&self) -> Result<Vec<Vec<Complex64>>, DeviceError> {
        let (image, pairs) = (RealImage::of_matrix(self.matrix.kind()), self.eigenpairs());
        Ok(image.complex_vectors(&self.real_vectors()?, (&pairs.values, pairs.norm)))
    }

    /// The vectors of a matrix of quaternions a + b i + c j + d k, one per state, orthonormal.
    ///
    /// # Errors
    /// Those of copies from the device.
    pub fn quaternion_vectors(&self) -> Result<Vec<Vec<[f64; 4]>>, DeviceError> {
        let (image, pairs) = (RealImage::of_matrix(self.matrix.kind()), self.eigenpairs());
        Ok(image.quaternion_vectors(&self.real_vectors()?, (&pairs.values, pairs.norm)))
    }
}
