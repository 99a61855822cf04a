//! The sectors that an operator leads to from the states of a model.
//!
//! In: a model, an operator, the momentum of what it makes. Out: a model for each change of charges, with the part of the operator that makes
//! it. A part that leads to no state has no target. From a symmetry sector each part leads to one: parities, rotations and mirrors that take
//! it to a multiple of itself are kept, so that a target is no larger than what it has to hold.

use super::super::model::Model;
use eigenforge_core::basis::Sector;
use eigenforge_core::operator::{Charge, MatrixStorage, Operator, OperatorError, Product, Symmetry, SymmetryError};
use std::collections::BTreeMap;

/// A sector with the part of an operator that leads there.
#[derive(Clone, Debug)]
pub struct ResponseTarget {
    /// H in the sector.
    pub model: Model,
    /// The part of the operator.
    pub operator: Operator,
}

impl Model {
    /// The sectors that an operator leads to, at a momentum as `k` of `[symmetry]` has it, or without translations where there is none.
    ///
    /// # Errors
    /// An operator that the sites do not have; sectors that are too large.
    pub fn response_targets(
        &self,
        operator: &Operator,
        momentum: Option<&[i64]>,
    ) -> Result<Vec<ResponseTarget>, OperatorError> {
        let (kinds, charges) = (self.site_kinds(), self.sector().charge_values());
        let operator = operator.clone().on_kinds(&kinds).reduced();
        let mut parts: BTreeMap<Vec<i64>, Vec<(f64, Product)>> = BTreeMap::new();
        for (product, coefficient) in operator.terms() {
            let change = |(charge, _): &(Charge, i64)| charge.change_on(product, &kinds);
            parts.entry(charges.iter().map(change).collect()).or_default().push((coefficient, product.to_vec()));
        }
        let mut targets = Vec::new();
        for (changes, terms) in parts {
            let moved = |((charge, value), change): (&(Charge, i64), &i64)| (*charge, charge.folded(value + change));
            let sector = Sector::Charges(charges.iter().zip(&changes).map(moved).collect());
            let part = Operator::recorded(&terms, operator.two_s(), kinds.len(), Vec::new()).on_kinds(&kinds);
            if let Some(model) = self.behind(&part, sector, momentum)? {
                targets.push(ResponseTarget { model, operator: part });
            }
        }
        Ok(targets)
    }

    /// H in the sector that an operator leads to, at a momentum if there is one; `None` if that has no state.
    fn behind(
        &self,
        operator: &Operator,
        sector: Sector,
        momentum: Option<&[i64]>,
    ) -> Result<Option<Model>, OperatorError> {
        let Some(own) = self.symmetric() else { return self.in_other_sector(sector, momentum) };
        let Some(plain) = self.in_other_sector(sector, None)? else { return Ok(None) };
        let group = own.group().behind(operator, plain.operator(), &plain.sector().charge_values(), momentum)?;
        let Some(group) = group else { return Ok(Some(plain)) };
        if_it_has_states(plain.in_group(group, MatrixStorage::Auto))
    }

    /// H in another sector, at a momentum if there is one; `None` if that has no state.
    ///
    /// # Errors
    /// A sector that is too large.
    pub fn in_other_sector(&self, sector: Sector, momentum: Option<&[i64]>) -> Result<Option<Model>, OperatorError> {
        let model = match Model::new(self.operator().clone(), sector) {
            Err(OperatorError::EmptySector { .. }) => return Ok(None),
            model => model?.named(self.name()),
        };
        // What is made without a matrix here may need one there.
        let model = match self.wanted_storage() {
            MatrixStorage::Direct => model,
            storage => model.with_storage(storage)?,
        };
        momentum.map_or_else(|| Ok(Some(model.clone())), |k| model.in_momentum(k))
    }

    /// The same sector at a momentum; `None` if that has no state.
    ///
    /// # Errors
    /// A momentum that the lattice has not; H without translations; a sector that is too large.
    pub fn in_momentum(&self, k: &[i64]) -> Result<Option<Model>, OperatorError> {
        if_it_has_states(self.symmetry(&Symmetry::new().k(k)))
    }
}

/// `None` for a symmetry sector without states.
fn if_it_has_states(model: Result<Model, OperatorError>) -> Result<Option<Model>, OperatorError> {
    match model {
        Err(OperatorError::Symmetry(error)) if matches!(*error, SymmetryError::NoStates { .. }) => Ok(None),
        model => Ok(Some(model?)),
    }
}
