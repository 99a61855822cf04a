//! Whether a solve will be sooner done on the cores or on a card.
//!
//! In: a solve and a [`Machine`]. Out: a [`SolveForecast`]. Nothing is made for it that the run would not make: of listed states neither the
//! matrix nor its rows, of which only the number of elements counts.

use super::super::averages;
use super::Solve;
use eigenforge_product::{PrepareError, SolveCourse, SolveForecast, product_seconds};
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{self, MatrixOutline};
use eigenforge_templates::{Cost, KernelText, Warp};

/// Bytes of an element of a stored matrix in f64, with its column.
const ELEMENT_BYTES: f64 = 12.0;

impl Solve<'_> {
    /// Predicts for all cores of a machine, and for its card, which is `device` if it is open.
    ///
    /// # Errors
    /// A plan that cannot be made.
    pub fn forecast(&self, machine: &Machine, device: Option<&Device>) -> Result<SolveForecast, PrepareError> {
        let texts = device.map_or(Ok(Vec::new()), |device| self.common_texts(device.warp()))?;
        let cold = device.map_or(Vec::new(), |device| device.cold_texts(&texts));
        self.forecast_with(machine, &cold)
    }

    /// The same where a card must compile these texts.
    fn forecast_with(&self, machine: &Machine, texts: &[&KernelText]) -> Result<SolveForecast, PrepareError> {
        let cost = self.product_cost()?;
        let course = SolveCourse::new(self.solver, &self.real_options(), self.dimension() as u64, self.scalar);
        let seconds = |machine: &Machine| Some([0.0, product_seconds(cost, machine)]);
        Ok(SolveForecast::new(course, machine, seconds, texts))
    }

    /// The least work of a product with H.
    fn product_cost(&self) -> Result<Cost, PrepareError> {
        let (model, vector) = (self.model.working(), self.dimension() as f64 * self.scalar.bytes() as f64);
        if let Some((elements, _)) = model.stored_elements() {
            let elements = elements as f64;
            return Ok(Cost { flops: 2.0 * elements, bytes: ELEMENT_BYTES * elements + 2.0 * vector });
        }
        let multiply = model.multiply_without_constant(self.scalar)?;
        Ok(Cost { flops: multiply.0.work(), ..multiply.cost() })
    }

    /// The texts that a common run compiles on a card with warps of this width: the multiply, the averages, and the solver's programs. Of listed
    /// states the solver's alone, since the others are known when the states are listed.
    ///
    /// # Errors
    /// A plan that has no text.
    fn common_texts(&self, warp: Warp) -> Result<Vec<KernelText>, PrepareError> {
        let model = self.model.working();
        let of_solver = |outline| solvers::common_texts(self.solver, &self.real_options(), outline, warp);
        if model.basis().is_listed() {
            let (dimension, is_complex) = (model.dimension(), model.is_complex());
            return Ok(of_solver(&MatrixOutline::stored(dimension, self.scalar, is_complex)));
        }
        let multiply = model.multiply_without_constant(self.scalar)?;
        let fitted = multiply.0.with_warp(warp).unwrap_or_else(|| multiply.0.clone());
        let text = fitted.kernels().map(|kernels| kernels.text()).transpose()?;
        let averaged = averages::generated(model, self.scalar)?.text;
        Ok(text.into_iter().chain([averaged]).chain(of_solver(&self.outline(&multiply))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InSector, Lanczos, Lobpcg, samples};
    use eigenforge_core::basis::{Down, Up};
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models;

    /// Compiled in a tenth of a second each, by as many threads as there are cores.
    #[test]
    fn a_thousand_states_are_for_the_cores_and_a_hundred_million_for_a_card() {
        let machine = Machine::h200();
        let small = samples::xxz(&Lattice::chain(12).periodic(), 1.0, 1.0, 0);
        assert_eq!(small.dimension(), 924);
        let solve = Lanczos::new(&small);
        let texts = solve.common_texts(Warp::NVIDIA).unwrap();
        assert!(texts.len() > 8, "{:?}", texts.iter().map(|text| &text.name).collect::<Vec<_>>());
        let cold = solve.forecast_with(&machine, &texts.iter().collect::<Vec<_>>()).unwrap();
        assert!(!cold.prefers_the_card() && cold.ends_before_a_card_starts(), "{cold:?}");
        // The paper's 4 x 4 sites with 7 and 7 electrons: 130,873,600 states.
        let (open, bonds) = (Lattice::square([4, 4]).open(), [1.0; 24]);
        let hubbard = models::hubbard(&open, &bonds, &[4.0; 16], &[0.0; 16], 0.0, &[0.0; 24]);
        let large = hubbard.sector(Up(7), Down(7)).unwrap();
        let solve = Lobpcg::new(&large);
        let texts = solve.common_texts(Warp::NVIDIA).unwrap();
        let cold = solve.forecast_with(&machine, &texts.iter().collect::<Vec<_>>()).unwrap();
        assert!(cold.prefers_the_card() && !cold.ends_before_a_card_starts(), "{cold:?}");
    }
}
