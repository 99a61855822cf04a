//! The ways to multiply by H of a lattice model, a line each. A new way is a folder with a [`Way`] and a [`Multiply`](eigenforge_product::Multiply), and its line here.

use super::general::GeneralWay;
use super::kronecker::KroneckerWay;
use super::model::Model;
use super::stored::StoredWay;
use super::symmetric::{OrbitsWay, PairsWay, PartnersWay, StringsWay};
use super::way::{Request, Way};
use eigenforge_core::operator::OperatorError;
use eigenforge_product::MultiplyPlan;
use eigenforge_runtime::{Device, trace};
use eigenforge_templates::ScalarType;

/// The first that is for a model is taken.
const WAYS: [&dyn Way; 7] = [
    &KroneckerWay, // a Kronecker sum of one matrix for each spin
    &GeneralWay,   // any terms on states that have ranks
    &StringsWay,   // electrons in a symmetry sector, by strings of each spin
    &PairsWay,     // electrons in a sector of the exchange of spins, on pairs of strings
    &PartnersWay,  // a symmetry sector, from a table that a card makes once
    &OrbitsWay,    // a symmetry sector, by rows that are made as they are multiplied
    &StoredWay,    // a stored matrix of listed states
];

impl Model {
    /// The way to multiply by H.
    pub(super) fn way(&self) -> &'static dyn Way {
        let way = WAYS.into_iter().find(|way| way.is_for(self));
        way.unwrap_or_else(|| unreachable!("a matrix is stored of any listed states"))
    }

    /// The multiply by all of H, the [constant](Model::constant) of the sector included, for vectors of `scalar`.
    ///
    /// # Errors
    /// A plan that cannot be made, such as one of a stored matrix that does not fit in memory.
    pub fn multiply(&self, scalar: ScalarType) -> Result<MultiplyPlan, OperatorError> {
        self.planned(&Request { scalar, constant: self.constant(), arguments: self.shared(), room: None })
    }

    /// The same without the constant, which solvers add to energies.
    ///
    /// # Errors
    /// As of [`Model::multiply`].
    pub fn multiply_without_constant(&self, scalar: ScalarType) -> Result<MultiplyPlan, OperatorError> {
        self.multiply_in_room(scalar, None)
    }

    /// The same where so many bytes may be kept beside what is needed.
    pub(super) fn multiply_in_room(
        &self,
        scalar: ScalarType,
        room: Option<u64>,
    ) -> Result<MultiplyPlan, OperatorError> {
        self.planned(&Request { scalar, constant: 0.0, arguments: self.shared(), room })
    }

    /// The multiply that a request asks for.
    pub(super) fn planned(&self, request: &Request<'_>) -> Result<MultiplyPlan, OperatorError> {
        let _planning = trace::span("generate", "plan");
        Ok(MultiplyPlan(self.way().plan(self, request)?))
    }

    /// Bytes of the tables that a multiply needs on a card, and while they are made: packed neighbours of a Kronecker
    /// sum, Lin's tables of a general operator and about what its lists of elements take, or listed states and the stored matrix.
    pub fn table_bytes(&self) -> u64 {
        let model = self.by_strings();
        model.way().table_bytes(model, ScalarType::F64, None)
    }

    /// The same on all cards of a device.
    pub(super) fn table_bytes_on(&self, scalar: ScalarType, device: &Device) -> u64 {
        let model = self.by_strings();
        model.way().table_bytes(model, scalar, Some(device))
    }

    /// About the bytes that a multiply keeps beside its tables on a device, as far as there is room.
    pub(super) fn kept_bytes(&self, scalar: ScalarType, device: &Device) -> u64 {
        let model = self.by_strings();
        model.way().kept_bytes(model, scalar, device)
    }

    /// What cards hold of each other's in a multiply, and panels of rows, with its bytes over all of them.
    pub(super) fn exchanged(&self, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        let model = self.by_strings();
        model.way().exchanged(model, scalar, device)
    }

    /// How H of a symmetry sector is multiplied without a matrix, in words; `None` where a matrix is stored.
    pub fn rows_text(&self) -> Option<String> {
        let model = self.by_strings();
        model.way().words(model)
    }
}
