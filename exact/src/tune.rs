//! Choosing the shape of a multiply on the card it will run on, and finding the choice again.
//!
//! In: a model and a CUDA device. Out: the fastest of [`Multiply::candidates`], kept beside the kernel cache for later runs
//! ([`eigenforge_runtime::tune`]).

use super::{Model, MultiplyPlan, PrepareError, RunError};
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::tune::{Choice, Choices, ShapeRace, ShapeSource, TimedProduct, Tuning, check_device};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Scalar};
use eigenforge_templates::ScalarType;

impl Model {
    /// The plan without the model's constant in the shape that was tuned for this device, if one was, else in the rule's.
    ///
    /// # Errors
    /// As of [`Model::multiply`].
    pub fn tuned_multiply(
        &self,
        scalar: ScalarType,
        device: &Device,
    ) -> Result<(MultiplyPlan, ShapeSource), PrepareError> {
        self.in_tuned_shape(self.multiply_without_constant(scalar)?, device)
    }

    /// A plan in the shape that was tuned for this device.
    pub(super) fn in_tuned_shape(
        &self,
        rule: MultiplyPlan,
        device: &Device,
    ) -> Result<(MultiplyPlan, ShapeSource), PrepareError> {
        let candidates = rule.0.candidates();
        // Where there is one shape, there is nothing to choose.
        let Some(kernels) = rule.0.kernels().filter(|_| !candidates.is_empty()) else {
            return Ok((rule, ShapeSource::Rule));
        };
        let Some(choice) = Choice::earlier(device, || Ok::<_, PrepareError>(kernels.text()?.text))? else {
            return Ok((rule, ShapeSource::Rule));
        };
        let chosen = candidates.into_iter().find(|candidate| candidate.shape() == choice.shape).map(MultiplyPlan);
        // A shape that is no candidate any more counts as never tuned.
        Ok(chosen.map_or((rule, ShapeSource::Rule), |chosen| (chosen, ShapeSource::Tuned(Box::new(choice)))))
    }
}

/// Times every candidate on the device, with vectors of this number type, and keeps the fastest.
///
/// # Errors
/// Another device than a CUDA card; a model that does not fit; a candidate whose numbers differ, which is a fault of
/// eigenforge.
pub fn tune(model: &Model, scalar: ScalarType, device: &Device) -> Result<Tuning, RunError> {
    check_device(device)?;
    let choices = Choices::open(&Settings::from_env().map_err(DeviceError::from)?);
    match scalar {
        ScalarType::F64 => raced::<f64>(model, device, &choices),
        ScalarType::F32 => raced::<f32>(model, device, &choices),
    }
}

fn raced<T: Scalar>(model: &Model, device: &Device, choices: &Choices) -> Result<Tuning, RunError> {
    let model = model.working();
    let rule = model.multiply_without_constant(T::TYPE).map_err(PrepareError::from)?;
    let text = rule.text()?.text;
    let race = ShapeRace {
        name: model.name(),
        problem: &text,
        length: usize::try_from(model.dimension()).unwrap_or(usize::MAX),
        bytes: rule.cost().bytes,
        table_bytes: model.table_bytes(),
    };
    let product = |candidate: MultiplyPlan| -> (String, Result<TimedProduct<'_, T>, PrepareError>) {
        let (shape, built) = (candidate.shape(), model.hamiltonian(candidate, device));
        (
            shape,
            built.map(|hamiltonian| -> TimedProduct<'_, T> { Box::new(move |x, y| hamiltonian.apply(x, y).map(Some)) }),
        )
    };
    let unfit = |error: &PrepareError| match error {
        PrepareError::Device(DeviceError::Launch(why)) => Some(why.to_string()),
        _ => None,
    };
    Ok(race.run(device, choices, rule.candidates().into_iter().map(product), unfit)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InSector;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::devices_of_many_launches;

    /// Every candidate gives the numbers of the rule, in both precisions.
    #[test]
    fn shapes_race_in_both_precisions() {
        let lattice = eigenforge_core::lattice::Lattice::chain(5);
        let (bonds, sites) = (lattice.bonds().len(), lattice.sites().len());
        let operator = eigenforge_core::models::hubbard(
            &lattice,
            &vec![1.0; bonds],
            &vec![4.0; sites],
            &vec![0.0; sites],
            0.0,
            &[],
        );
        let model = operator.sector(eigenforge_core::basis::Up(2), eigenforge_core::basis::Down(2)).unwrap();
        for device in devices_of_many_launches(Schedule::Forward) {
            let double = raced::<f64>(&model, &device, &Choices::none()).unwrap();
            let single = raced::<f32>(&model, &device, &Choices::none()).unwrap();
            assert!(single.timings.len() > 2 && double.timings.len() > 2, "{:?}", single.timings);
            let problem = |tuning: &Tuning| tuning.choice.conditions.problem.clone();
            assert_ne!(problem(&single), problem(&double), "one choice each");
        }
    }
}
