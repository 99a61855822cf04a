//! An evolution of a model on a device.

use super::super::model::Model;
use super::super::solve::RunError;
use super::measures::{EvolutionMeasures, EvolutionPoint, Meter};
use eigenforge_core::operator::OperatorError;
use eigenforge_runtime::solvers::{EvolutionOptions, EvolutionSteps, OperatorCombination, evolve, evolve_driven};
use eigenforge_runtime::{Device, LinearOperator};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;

/// Vectors of the length of H that an evolution needs on a device at least, for the room that tables are given: two bases of twelve and what
/// stands beside them.
const VECTORS: u64 = 36;

/// H(t) = Σ_k f_k(t) H_k in a sector.
pub struct DrivenModel<'f> {
    /// The H_k, all in the same basis; complex where one is.
    parts: Vec<Model>,
    /// The f_k at a time.
    coefficients: Box<dyn Fn(f64) -> Vec<f64> + Send + Sync + 'f>,
}

impl<'f> DrivenModel<'f> {
    /// Of models in one sector, without symmetry, and their coefficients.
    ///
    /// # Errors
    /// No room for the states of a complex one.
    pub fn new(
        parts: Vec<Model>,
        coefficients: impl Fn(f64) -> Vec<f64> + Send + Sync + 'f,
    ) -> Result<DrivenModel<'f>, OperatorError> {
        let is_complex = parts.iter().any(Model::is_complex);
        let made = parts.into_iter().map(|part| if is_complex { part.on_complex_vectors() } else { Ok(part) });
        Ok(DrivenModel { parts: made.collect::<Result<_, _>>()?, coefficients: Box::new(coefficients) })
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

fn split(start: &[Complex64]) -> [Vec<f64>; 2] {
    [start.iter().map(|v| v.re).collect(), start.iter().map(|v| v.im).collect()]
}

/// Evolves a state of a model, in the order of its basis; `visit` sees what was measured at each time.
///
/// # Errors
/// No room for the bases of steps, with numbers; a start that is zero; the device's.
pub fn evolve_model(
    model: &Model,
    start: &[Complex64],
    options: &EvolutionOptions,
    wanted: &EvolutionMeasures,
    device: &Device,
    mut visit: impl FnMut(EvolutionPoint),
) -> Result<EvolutionSteps, RunError> {
    let hamiltonian = model.on_device(device, ScalarType::F64, VECTORS)?;
    let operator: &dyn LinearOperator<f64> = &hamiltonian;
    let mut meter = Meter { model, device, wanted, scratch: device.zeros(operator.dimension())? };
    let constant = model.constant();
    let [re, im] = split(start);
    evolve(operator, [&re, &im], options, |state| -> Result<(), RunError> {
        let mut point = meter.point(state, operator, constant)?;
        match options.imaginary {
            true => point.log_norm -= constant * state.time,
            false => point.overlap *= Complex64::from_polar(1.0, -constant * state.time),
        }
        visit(point);
        Ok(())
    })
}

/// The same under H(t); the start is in the order of [`DrivenModel::basis_model`].
///
/// # Errors
/// As of [`evolve_model`]; coefficients that are not finite.
pub fn evolve_driven_model(
    driven: &DrivenModel<'_>,
    start: &[Complex64],
    options: &EvolutionOptions,
    wanted: &EvolutionMeasures,
    device: &Device,
    mut visit: impl FnMut(EvolutionPoint),
) -> Result<EvolutionSteps, RunError> {
    let mut terms: Vec<(Box<dyn LinearOperator<f64>>, f64)> = Vec::new();
    for part in &driven.parts {
        terms.push((Box::new(part.on_device(device, ScalarType::F64, VECTORS)?), part.constant()));
    }
    let sum = OperatorCombination::new(terms)?;
    let mut meter = Meter { model: driven.basis_model(), device, wanted, scratch: device.zeros(sum.dimension())? };
    let [re, im] = split(start);
    evolve_driven(&sum, &driven.coefficients, [&re, &im], options, |state| -> Result<(), RunError> {
        visit(meter.point(state, &sum, 0.0)?);
        Ok(())
    })
}
