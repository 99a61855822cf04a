//! The ways of a matrix that all cores make once: with values, or with codes of these.
//!
//! In: a model, whose states are listed or have tables. Out: what either would take, and its multiply ([`super::stored`]).

#[cfg(test)]
mod tests;

use super::model::Model;
use super::stored::matrix_of_terms;
use super::symmetric::SymmetricSector;
use super::way::{Request, Way};
use eigenforge_core::operator::{MatrixStorage, OperatorError};
use eigenforge_core::words::{grouped, size};
use eigenforge_product::sparse::MadeRows;
use eigenforge_product::{Fit, Multiply, STORED, TABLE};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Card;
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::gathered_milliseconds;
use std::sync::Arc;

/// The time of products with a matrix of so many rows and elements on an H200, of which each element takes so many bytes, in f64.
fn predicted_seconds(rows: u64, elements: u64, element_bytes: u64) -> f64 {
    let slots = elements as f64 / rows.max(1) as f64;
    let row = 2.0 * ScalarType::F64.bytes() as f64;
    let milliseconds = gathered_milliseconds(rows, row, slots, (element_bytes as f64, 1.0));
    (1e-3 * milliseconds).max(Card::H200.launch_seconds)
}

/// Why a matrix is not for a model, whatever was asked for.
fn refusal(model: &Model) -> Option<Fit> {
    let (rows, most) = (model.dimension(), u64::from(u32::MAX));
    (rows > most).then(|| {
        let [rows, most] = [rows, most].map(|number| grouped(number.into()));
        Fit::Refuses(format!("{rows} columns, and {most} have numbers of 32 bits"))
    })
}

/// The matrix of a model.
fn matrix_of(model: &Model, request: &Request<'_>, storage: MatrixStorage) -> Result<Arc<dyn Multiply>, OperatorError> {
    matrix_of_terms(model.name(), model.basis(), model.matrix_terms(), (request.scalar, request.constant), storage)
}

/// The list of states, where there is one.
fn list_bytes(model: &Model) -> u64 {
    model.symmetric().map_or_else(|| model.basis().lin_table_bytes(), SymmetricSector::list_bytes)
}

/// Any model whose states have numbers of 32 bits.
pub(super) struct StoredWay;

impl Way for StoredWay {
    fn name(&self) -> &'static str {
        STORED
    }

    fn fit(&self, model: &Model) -> Fit {
        match model.wanted_storage() {
            word @ (MatrixStorage::Direct | MatrixStorage::Table) => Fit::other_storage(word.word()),
            MatrixStorage::Auto | MatrixStorage::Stored => refusal(model).unwrap_or(Fit::Takes),
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        matrix_of(model, request, MatrixStorage::Stored)
    }

    /// The list of states with the matrix.
    fn table_bytes(&self, model: &Model, _: ScalarType, device: Option<&Device>) -> u64 {
        if let (Some(sector), Some(_)) = (model.symmetric(), device) {
            return sector.matrix_bytes();
        }
        list_bytes(model).saturating_add(MadeRows::compressed_bytes(model.dimension(), model.about_elements()))
    }

    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        const ELEMENT_BYTES: u64 = 12;
        let seconds = predicted_seconds(model.dimension(), model.about_elements(), ELEMENT_BYTES);
        (self.table_bytes(model, ScalarType::F64, None), Some(seconds))
    }

    fn stores_matrix(&self) -> bool {
        true
    }
}

/// The same models with a table of partners: columns with codes of values, made once by the cores. Where a card can make the table of a
/// symmetry sector, that way is for it ([`super::symmetric`]).
pub(super) struct TableWay;

/// Bytes of an element of such a table.
const SLOT_BYTES: u64 = 4;

impl Way for TableWay {
    fn name(&self) -> &'static str {
        TABLE
    }

    fn fit(&self, model: &Model) -> Fit {
        if model.has_table_of_cards() {
            return Fit::Foreign;
        }
        match model.wanted_storage() {
            word @ (MatrixStorage::Direct | MatrixStorage::Stored) => Fit::other_storage(word.word()),
            MatrixStorage::Auto if model.listed_terms().is_some() => {
                Fit::Declines("the stored matrix has codes in place of values too, where they pay".into())
            }
            MatrixStorage::Auto | MatrixStorage::Table => refusal(model).unwrap_or(Fit::Takes),
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        matrix_of(model, request, MatrixStorage::Table)
    }

    /// The list of states with the table, and the matrix from which a card's table is made.
    fn table_bytes(&self, model: &Model, scalar: ScalarType, device: Option<&Device>) -> u64 {
        match device {
            Some(device) if device.runs_kernels() => StoredWay.table_bytes(model, scalar, Some(device)),
            _ => {
                let slots = model.about_elements().saturating_mul(SLOT_BYTES);
                list_bytes(model).saturating_add(slots).saturating_add(model.dimension().saturating_mul(8))
            }
        }
    }

    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        let seconds = predicted_seconds(model.dimension(), model.about_elements(), SLOT_BYTES);
        (self.table_bytes(model, ScalarType::F64, None), Some(seconds))
    }

    fn words(&self, model: &Model) -> Option<String> {
        let elements = grouped(model.about_elements().into());
        let table = size(self.table_bytes(model, ScalarType::F64, None));
        Some(format!("by a table of about {elements} partners, 4 bytes each, made once by the cores: {table}"))
    }

    fn stores_matrix(&self) -> bool {
        true
    }
}
