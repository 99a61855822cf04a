//! H(t) = Σ_k f_k(t) H_k as models in one basis.
//!
//! In: the H_k in a sector, the f_k; a symmetry that every H(t) has. Out: the H_k in the same sector of the same group. The group is that of
//! Σ_k c_k H_k with unrelated c_k, which has no symmetry that some H(t) has not.

use super::super::model::Model;
use eigenforge_core::operator::{Operator, OperatorError, Symmetry, SymmetryError};
use eigenforge_runtime::solvers::TimeCoefficients;

/// H(t) = Σ_k f_k(t) H_k in a sector.
pub struct DrivenModel<'f> {
    /// The H_k, all in the same basis; complex where one is.
    parts: Vec<Model>,
    /// The f_k at a time.
    pub(super) coefficients: Box<dyn TimeCoefficients + Send + Sync + 'f>,
}

impl<'f> DrivenModel<'f> {
    /// Of models in one sector, without symmetry, and their coefficients.
    ///
    /// # Errors
    /// No room for the states of a complex one.
    pub fn new(
        parts: Vec<Model>,
        coefficients: impl TimeCoefficients + Send + Sync + 'f,
    ) -> Result<DrivenModel<'f>, OperatorError> {
        Ok(DrivenModel { parts: alike(parts)?, coefficients: Box::new(coefficients) })
    }

    /// The same in a symmetry sector.
    ///
    /// # Errors
    /// A generator that is no symmetry of some H(t), with the term that breaks it; a sector without states; too little memory.
    pub fn symmetry(self, symmetry: &Symmetry) -> Result<DrivenModel<'f>, OperatorError> {
        if let Some(sector) = self.basis_model().symmetric() {
            return Err(SymmetryError::Twice { symmetry: sector.group().describe() }.into());
        }
        let charges = self.basis_model().sector().charge_values();
        let group = symmetry.group(&self.generic_operator(), &charges)?;
        let within = |part: &Model| part.in_group(group.clone(), symmetry.wanted_storage());
        let parts = self.parts.iter().map(within).collect::<Result<Vec<Model>, _>>()?;
        Ok(DrivenModel { parts: alike(parts)?, ..self })
    }

    /// Σ_k c_k H_k / |H_k|, |H_k| the largest coefficient of H_k and c_k between 1 and 2 such that no sum of terms cancels by chance.
    fn generic_operator(&self) -> Operator {
        let golden = 0.5 * (5f64.sqrt() - 1.0);
        let scaled = |(k, part): (usize, &Model)| {
            let largest = part.operator().terms().map(|(_, coefficient)| coefficient.abs()).fold(0.0, f64::max);
            let factor = (1.0 + (golden * k as f64).fract()) / if largest > 0.0 { largest } else { 1.0 };
            factor * part.operator().clone()
        };
        let model = self.basis_model();
        let whole = self.parts.iter().enumerate().map(scaled).fold(Operator::zero(), |sum, part| sum + part);
        let whole = whole.on_kinds(&model.site_kinds());
        let whole = model.operator().lattice().map_or(whole.clone(), |lattice| whole.on_lattice(lattice));
        let forbidden = model.operator().forbidden().iter();
        forbidden.fold(whole, |operator, states| operator.forbid(states)).reduced()
    }

    /// The H_k, in one basis.
    pub fn parts(&self) -> &[Model] {
        &self.parts
    }

    /// A model with the basis of all.
    pub fn basis_model(&self) -> &Model {
        &self.parts[0]
    }
}

/// The models on complex vectors where one of them is.
fn alike(parts: Vec<Model>) -> Result<Vec<Model>, OperatorError> {
    let is_complex = parts.iter().any(Model::is_complex);
    let made = parts.into_iter().map(|part| if is_complex { part.on_complex_vectors() } else { Ok(part) });
    made.collect()
}
