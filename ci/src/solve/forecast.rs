//! Whether a solve will be sooner done on the cores or on a card.
//!
//! In: a solve and a [`Machine`]. Out: a [`SolveForecast`], with the seconds of a product by which the [way](super::StoragePlan) to multiply is
//! chosen on each of both.

use super::{CiSolve, StoragePlan};
use crate::error::CiError;
use crate::estimate::ProductKind;
use eigenforge_product::{SolveCourse, SolveForecast};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{self, MatrixOutline};
use eigenforge_templates::{KernelText, ScalarType};

impl CiSolve<'_> {
    /// Predicts for all cores of a machine, and for its card, which is `device` if it is open.
    ///
    /// # Errors
    /// A plan that cannot be made.
    pub fn forecast(&self, machine: &Machine, device: Option<&Device>) -> Result<SolveForecast, CiError> {
        let texts = device.map_or(Ok(Vec::new()), |device| self.common_texts(machine, device))?;
        let cold = device.map_or(Vec::new(), |device| device.cold_texts(&texts));
        let course = SolveCourse::new(self.solver, &self.options, self.space.len(), ScalarType::F64);
        let seconds = |machine: &Machine| {
            let StoragePlan { ways, way, .. } = self.storage_plan_on(machine).ok()?;
            ways.iter().find(|estimate| estimate.way == way).map(|estimate| [estimate.set_up, estimate.product])
        };
        Ok(SolveForecast::new(course, machine, seconds, &cold))
    }

    /// The texts that a common run compiles on a card: the multiply and the solver's programs; of a matrix that is stored the solver's alone.
    fn common_texts(&self, machine: &Machine, device: &Device) -> Result<Vec<KernelText>, CiError> {
        let of_solver = |outline| solvers::common_texts(self.solver, &self.options, &outline, device.warp());
        let is_stored = |plan: StoragePlan| plan.way == ProductKind::Stored;
        if self.storage_plan_on(machine).map_or(true, is_stored) {
            return Ok(of_solver(MatrixOutline::stored(self.space.len(), ScalarType::F64, false)));
        }
        let multiply = self.multiply_on(machine)?.multiply;
        let texts = multiply.map_or(Ok(Vec::new()), |multiply| {
            let text = multiply.0.kernels().map(|kernels| kernels.text()).transpose()?;
            let programs = of_solver(self.outline(multiply.0.diagonal_text()));
            Ok::<_, eigenforge_product::PrepareError>(text.into_iter().chain(programs).collect())
        });
        Ok(texts?)
    }
}
