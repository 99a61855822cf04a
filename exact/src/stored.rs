//! H as a matrix of elements that all cores make once: columns with values, or with codes of these.
//!
//! In: a basis, whose states are listed or have tables, and terms. Out: rows that the formats and generated kernels of [`StoredHamiltonian`]
//! multiply, so no kernel needs words of more than 64 bits. States of more than 64 bits, and those of symmetry sectors, are listed.
//!
//! An element is the sum of its contributions in ascending order, so that H_ij and H_ji have the same bits.

use super::matrix::{MatrixTerms, rows};
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::{MatrixStorage, OperatorError};
use eigenforge_product::sparse::MadeRows;
use eigenforge_product::{Multiply, StoredHamiltonian};
use eigenforge_templates::ScalarType;
use std::sync::Arc;

/// The multiply by the matrix of H in a basis with a multiple of 1 added, for vectors of a type; with codes in place of values as a table.
///
/// # Errors
/// No room for the elements.
pub(super) fn matrix_of_terms(
    name: &str,
    basis: &Basis,
    terms: MatrixTerms,
    (scalar, shift): (ScalarType, f64),
    storage: MatrixStorage,
) -> Result<Arc<dyn Multiply>, OperatorError> {
    let matrix = StoredHamiltonian::from_rows(name, rows(basis, terms, shift)?, scalar);
    Ok(Arc::new(if storage == MatrixStorage::Table { matrix.as_table() } else { matrix }))
}

/// The multiply by a matrix of so many rows and about so many elements; `row_of` puts those of a row in place of what is in a list.
///
/// # Errors
/// No room for the elements.
pub(super) fn matrix_of_rows(
    name: &str,
    scalar: ScalarType,
    [rows, about]: [u64; 2],
    row_of: impl Fn(usize, &mut Vec<(u32, f64)>) + Send + Sync + 'static,
) -> Result<Arc<dyn Multiply>, OperatorError> {
    let rows = MadeRows::new(rows as usize, about, row_of)?;
    Ok(Arc::new(StoredHamiltonian::from_rows(name, rows, scalar)))
}
