//! Dense linear algebra on the host: column-major matrices (faer, sequential: parallelism is over matrices), and a
//! few long vectors at once (`long_vectors.rs`) on all cores.

pub(crate) mod long_vectors;

use crate::error::BackendError;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

/// A column-major matrix inside a slice.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// From its first element on.
    pub data: &'a [f64],
    /// Rows as stored.
    pub rows: usize,
    /// Columns as stored.
    pub columns: usize,
    /// Elements from one column to the next.
    pub stride: usize,
    /// Whether the transpose is meant.
    pub transposed: bool,
}

impl<'a> View<'a> {
    /// A view of a whole slice, column by column.
    pub fn new(data: &'a [f64], rows: usize, columns: usize) -> View<'a> {
        View { data, rows, columns, stride: rows, transposed: false }
    }

    /// Its transpose.
    pub fn transpose(self) -> View<'a> {
        View { transposed: !self.transposed, ..self }
    }

    fn matrix(self) -> MatRef<'a, f64> {
        let stored = MatRef::from_column_major_slice_with_stride(self.data, self.rows, self.columns, self.stride);
        if self.transposed { stored.transpose() } else { stored }
    }
}

/// C += α A B for C of `rows` × `columns` at the start of `c`.
pub fn multiply_add(c: &mut [f64], rows: usize, columns: usize, stride: usize, alpha: f64, a: View<'_>, b: View<'_>) {
    let c = MatMut::from_column_major_slice_with_stride_mut(c, rows, columns, stride);
    matmul(c, Accum::Add, a.matrix(), b.matrix(), alpha, Par::Seq);
}

/// The lower triangle of C += α Aᵀ A, C square and column-major; what stands above the diagonal stays.
pub fn add_gram(c: &mut [f64], alpha: f64, a: View<'_>) {
    let a = a.matrix();
    let c = MatMut::from_column_major_slice_mut(c, a.ncols(), a.ncols());
    let whole = BlockStructure::Rectangular;
    triangular::matmul(c, BlockStructure::TriangularLower, Accum::Add, a.transpose(), whole, a, whole, alpha, Par::Seq);
}

/// U diag(s) Vᵀ of a matrix, thin; s descending.
pub struct Decomposition {
    /// Columns of U.
    pub u: Mat<f64>,
    /// Singular values.
    pub s: Vec<f64>,
    /// Columns of V.
    pub v: Mat<f64>,
}

/// Singular value decomposition.
///
/// # Errors
/// A matrix element is not finite.
pub fn decompose(a: View<'_>) -> Result<Decomposition, BackendError> {
    let svd = a.matrix().thin_svd().map_err(|_| BackendError::Decomposition { rows: a.rows, columns: a.columns })?;
    let s = svd.S().column_vector().iter().copied().collect();
    Ok(Decomposition { u: svd.U().to_owned(), s, v: svd.V().to_owned() })
}

/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix.
///
/// # Errors
/// A matrix element is not finite.
pub fn eigen(a: View<'_>) -> Result<(Vec<f64>, Mat<f64>), BackendError> {
    let found = a.matrix().self_adjoint_eigen(Side::Lower);
    let found = found.map_err(|_| BackendError::Decomposition { rows: a.rows, columns: a.columns })?;
    Ok((found.S().column_vector().iter().copied().collect(), found.U().to_owned()))
}

/// Orthonormal columns that span the columns of a tall matrix.
pub fn orthonormal(a: View<'_>) -> Mat<f64> {
    a.matrix().qr().compute_thin_Q()
}
