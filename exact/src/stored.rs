//! H as a stored sparse matrix, for states that are listed: those of more than 64 bits, and those of symmetry sectors.
//!
//! In: listed states, and the terms as transitions of their words. Out: compressed rows, made once by all cores, which the formats
//! and generated kernels of [`StoredHamiltonian`] multiply; so no kernel needs words of more than 64 bits.
//!
//! An element is the sum of its contributions in ascending order, so that H_ij and H_ji have the same bits.

use super::matrix::{about, rows};
use super::model::Model;
use super::structure::ListedTerms;
use super::way::{Request, Way};
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::OperatorError;
use eigenforge_product::sparse::MadeRows;
use eigenforge_product::{Fit, Multiply, STORED, StoredHamiltonian};
use eigenforge_runtime::Device;
use eigenforge_templates::ScalarType;
use std::sync::Arc;

/// The multiply by the matrix of listed states with a multiple of 1 added, for vectors of a type.
///
/// # Errors
/// No room for the elements.
pub(super) fn matrix_of_terms(
    name: &str,
    basis: &Basis,
    terms: &ListedTerms,
    (scalar, shift): (ScalarType, f64),
) -> Result<Arc<dyn Multiply>, OperatorError> {
    Ok(Arc::new(StoredHamiltonian::from_rows(name, rows(basis, terms, shift)?, scalar)))
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

/// Models whose states are listed.
pub(super) struct StoredWay;

impl Way for StoredWay {
    fn name(&self) -> &'static str {
        STORED
    }

    fn fit(&self, model: &Model) -> Fit {
        match model.listed_terms() {
            None => Fit::Foreign,
            Some(_) if model.symmetric().is_some_and(|sector| !sector.may_store()) => Fit::other_storage("direct"),
            Some(_) => Fit::Takes,
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        let terms = model.listed_terms().unwrap_or_else(|| unreachable!("it is for this model"));
        matrix_of_terms(model.name(), model.basis(), terms, (request.scalar, request.constant))
    }

    /// The list of states with the matrix.
    fn table_bytes(&self, model: &Model, _: ScalarType, device: Option<&Device>) -> u64 {
        let Some(terms) = model.listed_terms() else { return 0 };
        if let (Some(sector), Some(_)) = (&terms.symmetric, device) {
            return sector.matrix_bytes();
        }
        let matrix = MadeRows::compressed_bytes(model.dimension(), about(model.basis(), terms));
        let list = terms.symmetric.as_ref().map_or(model.basis().lin_table_bytes(), |sector| sector.list_bytes());
        list.saturating_add(matrix)
    }

    fn stores_matrix(&self) -> bool {
        true
    }
}
