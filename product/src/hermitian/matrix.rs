//! A matrix of numbers as a Hermitian one, with its product.
//!
//! In: a [`Csr`]. Out: a [`HermitianMatrix`], if it is one; a real skew-symmetric matrix A is taken as i A.

use crate::plan::MultiplyPlan;
use crate::sparse::{Csr, CsrError, NumberKind, SYMMETRY, Target};
use crate::stored::StoredMatrix;
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::{Card, Machine};
use std::fmt;

/// The name of every given matrix in kernels and messages: equal texts are compiled once.
pub(super) const NAME: &str = "matrix";

/// Why a matrix has no real eigenvalues that can be looked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MatrixFault {
    /// No rows.
    #[error("the matrix has no rows, and so no eigenvalues")]
    Empty,
    /// A pair of elements.
    #[error(
        "{0} (rows and columns from 0); eigenvalues are computed of Hermitian matrices, whose file holds both triangles, and of real \
         skew-symmetric ones, times i"
    )]
    Pair(#[from] CsrError),
}

/// A Hermitian matrix and its product, which vectors of the real parts of its numbers take. Clones share its elements.
#[derive(Clone)]
pub struct HermitianMatrix {
    times_i: bool,
    identity: String,
    matrix: StoredMatrix,
}

impl fmt::Debug for HermitianMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HermitianMatrix({} rows of {} numbers)", self.rows(), self.kind())
    }
}

impl HermitianMatrix {
    /// Checks a matrix.
    ///
    /// # Errors
    /// The first pair of elements that are not conjugate; no rows.
    pub fn new(matrix: Csr) -> Result<HermitianMatrix, MatrixFault> {
        if matrix.rows() == 0 {
            return Err(MatrixFault::Empty);
        }
        let (matrix, times_i) = match matrix.check_hermitian(SYMMETRY) {
            Ok(()) => (matrix, false),
            Err(pair) => {
                let skew = matrix.into_real().map(Csr::imaginary);
                let skew = skew.filter(|skew| skew.check_hermitian(SYMMETRY).is_ok());
                (skew.ok_or(MatrixFault::Pair(pair))?, true)
            }
        };
        let identity = identity(&matrix);
        Ok(HermitianMatrix { times_i, identity, matrix: StoredMatrix::new(NAME, matrix) })
    }

    /// The kind of its numbers.
    pub fn kind(&self) -> NumberKind {
        self.matrix.elements().kind()
    }

    /// Number of rows and of columns.
    pub fn rows(&self) -> u64 {
        self.matrix.elements().rows() as u64
    }

    /// Real parts of a vector of its numbers.
    pub fn real_rows(&self) -> u64 {
        self.matrix.elements().vector_length() as u64
    }

    /// Stored elements, as its numbers.
    pub fn non_zeros(&self) -> u64 {
        self.matrix.elements().non_zeros()
    }

    /// Whether it is i times the real skew-symmetric matrix that was given.
    pub fn is_times_i(&self) -> bool {
        self.times_i
    }

    /// A hash of its elements.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Bytes of its compressed rows.
    pub fn bytes(&self) -> u64 {
        self.matrix.elements().bytes()
    }

    /// The product on a device, in the format that takes the fewest bytes there beside those that vectors take.
    pub fn multiply(&self, device: &Device, vectors: u64) -> MultiplyPlan {
        self.matrix.multiply(device.runs_kernels().then(|| Target::new(device).reserve(vectors)))
    }

    /// The product on the card of a machine, or an H200 where it has none.
    pub fn multiply_on(&self, machine: &Machine) -> MultiplyPlan {
        self.matrix.multiply(Some(Target::all_of(machine.card.as_ref().map_or(Card::H200, |card| card.values))))
    }
}

/// A hash of the numbers.
fn identity(matrix: &Csr) -> String {
    let mut hash = blake3::Hasher::new();
    matrix.identify(&mut hash);
    hash.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(values: [f64; 2]) -> Csr {
        Csr::new(vec![0, 1, 2], vec![1, 0], values.to_vec()).unwrap()
    }

    #[test]
    fn a_matrix_is_checked() {
        let fault = |matrix: Csr| HermitianMatrix::new(matrix).unwrap_err().to_string();
        let empty = Csr::new(vec![0], vec![], vec![]).unwrap();
        assert!(fault(empty).contains("no rows"));
        let text = fault(pair([1.0, 2.0]));
        assert!(text.contains("A(0, 1) = 1e0") && text.contains("skew-symmetric ones, times i"), "{text}");
        let text = fault(Csr::of_numbers(NumberKind::Complex, vec![0, 1, 2], vec![1, 0], vec![1.0; 4]).unwrap());
        assert!(text.contains("not Hermitian") && text.contains("A(1, 0) = 1e0 + 1e0 i"), "{text}");
        let symmetric = HermitianMatrix::new(pair([1.0, 1.0])).unwrap();
        assert_eq!((symmetric.kind(), symmetric.real_rows(), symmetric.is_times_i()), (NumberKind::Real, 2, false));
        let skew = HermitianMatrix::new(pair([1.0, -1.0])).unwrap();
        assert_eq!((skew.kind(), skew.real_rows(), skew.is_times_i()), (NumberKind::Complex, 4, true));
        assert_ne!(skew.identity(), symmetric.identity());
    }
}
