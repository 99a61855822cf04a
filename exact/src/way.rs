//! A way to multiply before it is planned for a model: whom it is for, and what it would take.

use super::model::Model;
use eigenforge_core::operator::{MatrixStorage, OperatorError};
use eigenforge_product::{Fit, Multiply};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Card;
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{CoefficientArguments, DiagonalPlan};
use std::sync::Arc;

/// Part of a card's memory that nothing is planned in, as a divisor.
pub(super) const SPARE: u64 = 64;

/// A way to multiply, before it is planned for a model.
pub(super) trait Way: Sync {
    /// Its name in plans and reports, that of its [`Multiply::way_name`].
    fn name(&self) -> &'static str;

    /// Whether it is for this model.
    fn fit(&self, model: &Model) -> Fit;

    /// Plans the multiply of a model that it is for.
    ///
    /// # Errors
    /// Too many states for tables; no room for a matrix.
    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError>;

    /// About the bytes of the tables on all cards of a device, and while they are made; without a device on one card.
    fn table_bytes(&self, model: &Model, scalar: ScalarType, device: Option<&Device>) -> u64;

    /// What cards hold of each other's in a multiply, and panels of rows, with its bytes over all of them; `None` where there is
    /// nothing of the kind.
    fn exchanged(&self, _model: &Model, _scalar: ScalarType, _device: &Device) -> Option<(&'static str, u64)> {
        None
    }

    /// About the bytes that it keeps beside those tables on a device, as far as there is room.
    fn kept_bytes(&self, _model: &Model, _scalar: ScalarType, _device: &Device) -> u64 {
        0
    }

    /// Bytes on one H200 beside vectors, and predicted seconds of a multiply of f64 there, where something predicts them.
    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        (self.table_bytes(model, ScalarType::F64, None), None)
    }

    /// How H of a symmetry sector is multiplied, in words; `None` where a matrix is stored.
    fn words(&self, _model: &Model) -> Option<String> {
        None
    }

    /// Whether only the matrix, once made, says what cards need of each other.
    fn stores_matrix(&self) -> bool {
        false
    }
}

/// What a plan is asked for.
pub(super) struct Request<'a> {
    pub(super) scalar: ScalarType,
    /// Added to the diagonal, which a model's structure leaves out.
    pub(super) constant: f64,
    /// Coefficients that kernels take as arguments, where their text is the one that these are of.
    pub(super) arguments: Option<&'a CoefficientArguments>,
    /// Bytes that may be kept beside what is needed; `None` where nobody knows yet what else a device holds.
    pub(super) room: Option<u64>,
}

impl Request<'_> {
    /// A plan that is made to be counted.
    pub(super) fn counting(scalar: ScalarType) -> Request<'static> {
        Request { scalar, constant: 0.0, arguments: None, room: None }
    }

    /// The diagonal with the constant that is asked for.
    pub(super) fn complete(&self, diagonal: &mut DiagonalPlan) {
        if self.constant != 0.0 {
            diagonal.constant += self.constant;
            diagonal.taken_out = 0.0;
        }
    }
}

/// The answer of a way that is for a model without a symmetry sector, unless another word of `storage` asks for a matrix.
pub(super) fn fit_of_words(model: &Model) -> Fit {
    match model.wanted_storage() {
        MatrixStorage::Auto | MatrixStorage::Direct => Fit::Takes,
        word @ (MatrixStorage::Stored | MatrixStorage::Table) => Fit::other_storage(word.word()),
    }
}

/// The time of a multiply of f64 on an H200 that takes so many times its memory floor: x is read twice, y three times.
pub(super) fn seconds_of_passes(model: &Model, times: f64) -> f64 {
    const PASSES: f64 = 5.0;
    let bytes = PASSES * ScalarType::F64.bytes() as f64 * model.dimension() as f64;
    (times * bytes / Card::H200.memory_rate).max(Card::H200.launch_seconds)
}

/// Cards of a device that share vectors of so many elements. Without an answer of the driver all cards: more than is needed, and its
/// failure shows in the run.
pub(super) fn cards_for(device: Option<&Device>, dimension: u64, scalar: ScalarType) -> u32 {
    let vector = dimension.saturating_mul(scalar.bytes() as u64);
    device.map_or(1, |device| device.cards_for(vector).unwrap_or(device.cards_at_work()))
}
