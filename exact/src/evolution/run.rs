//! An evolution of a model on a device.

use super::super::model::Model;
use super::super::solve::RunError;
use super::driven::DrivenModel;
use super::measures::{EvolutionMeasures, EvolutionPoint, Meter, read_points, written_points};
use eigenforge_runtime::solvers::{
    EvolutionOptions, EvolutionSteps, EvolutionVisitor, EvolvedState, OperatorCombination, evolve, evolve_driven,
};
use eigenforge_runtime::{Device, LinearOperator};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;

/// Vectors of the length of H that an evolution needs on a device at least, for the room that tables are given: two bases of twelve and what
/// stands beside them.
const VECTORS: u64 = 36;

fn split(start: &[Complex64]) -> [Vec<f64>; 2] {
    [start.iter().map(|v| v.re).collect(), start.iter().map(|v| v.im).collect()]
}

/// Measures the states of an evolution, and keeps what was measured for checkpoints.
struct Recorder<'a, F> {
    meter: Meter<'a>,
    hamiltonian: &'a dyn LinearOperator<f64>,
    /// What H leaves out.
    constant: f64,
    imaginary: bool,
    /// The points so far, where there are checkpoints.
    points: Option<Vec<EvolutionPoint>>,
    visit: F,
}

impl<F: FnMut(EvolutionPoint)> Recorder<'_, F> {
    fn take(&mut self, point: EvolutionPoint) {
        self.points.iter_mut().for_each(|points| points.push(point.clone()));
        (self.visit)(point);
    }
}

impl<F: FnMut(EvolutionPoint)> EvolutionVisitor<f64> for Recorder<'_, F> {
    type Error = RunError;

    fn visit(&mut self, state: &EvolvedState<'_, f64>) -> Result<(), RunError> {
        let mut point = self.meter.point(state, self.hamiltonian, self.constant)?;
        match self.imaginary {
            true => point.log_norm -= self.constant * state.time,
            false => point.overlap *= Complex64::from_polar(1.0, -self.constant * state.time),
        }
        self.take(point);
        Ok(())
    }

    fn notes(&self) -> String {
        written_points(self.points.as_deref().unwrap_or_default())
    }

    fn restore(&mut self, notes: &str) -> bool {
        let Some(points) = read_points(notes) else { return false };
        points.into_iter().for_each(|point| self.take(point));
        true
    }
}

/// Evolves a state of a model, in the order of its basis; `visit` sees what was measured at each time, of an evolution that goes on from a
/// checkpoint also what was measured before.
///
/// # Errors
/// No room for the bases of steps, with numbers; a start that is zero; a checkpoint of another run; the device's.
pub fn evolve_model(
    model: &Model,
    start: &[Complex64],
    options: &EvolutionOptions,
    wanted: &EvolutionMeasures,
    device: &Device,
    visit: impl FnMut(EvolutionPoint),
) -> Result<EvolutionSteps, RunError> {
    let hamiltonian = model.on_device(device, ScalarType::F64, VECTORS)?;
    evolve_measured((model, model.constant()), &hamiltonian, options, (wanted, device), visit, |recorder| {
        let [re, im] = split(start);
        evolve(&hamiltonian, [&re, &im], options, recorder)
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
    visit: impl FnMut(EvolutionPoint),
) -> Result<EvolutionSteps, RunError> {
    let mut terms: Vec<(Box<dyn LinearOperator<f64>>, f64)> = Vec::new();
    for part in driven.parts() {
        terms.push((Box::new(part.on_device(device, ScalarType::F64, VECTORS)?), part.constant()));
    }
    let sum = OperatorCombination::new(terms)?;
    // The constants are in the sum.
    evolve_measured((driven.basis_model(), 0.0), &sum, options, (wanted, device), visit, |recorder| {
        let [re, im] = split(start);
        evolve_driven(&sum, &*driven.coefficients, [&re, &im], options, recorder)
    })
}

/// An evolution whose states are measured.
fn evolve_measured<'a, F: FnMut(EvolutionPoint)>(
    (model, constant): (&'a Model, f64),
    hamiltonian: &'a dyn LinearOperator<f64>,
    options: &EvolutionOptions,
    (wanted, device): (&'a EvolutionMeasures, &'a Device),
    visit: F,
    run: impl FnOnce(Recorder<'a, F>) -> Result<EvolutionSteps, RunError>,
) -> Result<EvolutionSteps, RunError> {
    let meter = Meter { model, device, wanted, scratch: device.zeros(hamiltonian.dimension())? };
    let points = options.checkpoint.as_ref().map(|_| Vec::new());
    run(Recorder { meter, hamiltonian, constant, imaginary: options.imaginary, points, visit })
}
