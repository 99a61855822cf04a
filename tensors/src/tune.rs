//! Choosing the shape of the kernels of a transformation on the card they will run on.
//!
//! The ranges of labels stand in the text as constants, or in tables; the sums are the same, bit for bit. The rule takes
//! the text for up to 16,384 numbers. In: a [`Su3Spec`] and a CUDA device. Out: the faster shape, kept beside the kernel
//! cache for later runs ([`eigenforge_runtime::tune`]).

use super::device::{DeviceTransform, DeviceTransformError, Layouts, memory_plan};
use super::error::TransformError;
use super::work::Direction;
use super::{OscillatorSpace, Plan, Su3Spec, TableCache, Tables};
use eigenforge_core::path::FamilyError;
use eigenforge_runtime::jit::Settings;
use eigenforge_runtime::tune::{Choices, ShapeRace, TimedProduct, Tuning, check_device};
use eigenforge_runtime::{Device, DeviceError};

/// Times both shapes on the device and keeps the faster one.
///
/// # Errors
/// Another device than a CUDA card; an input that cannot be read; a plan that does not fit.
pub fn tune(spec: &Su3Spec, device: &Device) -> Result<Tuning, TransformError> {
    check_device(device)?;
    let settings = Settings::from_env().map_err(DeviceError::from)?;
    let (plan, cache) = (Plan::new(OscillatorSpace { n_max: spec.n_max }), TableCache::open(&settings));
    let channels = spec.open(&plan, &cache)?.channels().len();
    let tables = Tables::of_pairs(&plan, cache)?;
    race(&plan, &tables, channels, spec, device, &Choices::open(&settings))
}

fn race(
    plan: &Plan,
    tables: &Tables,
    channels: usize,
    spec: &Su3Spec,
    device: &Device,
    choices: &Choices,
) -> Result<Tuning, TransformError> {
    let at_once = memory_plan(plan, channels, device.memory().free).channels;
    let all: Vec<usize> = (0..plan.groups.len()).collect();
    let layouts = || Layouts::new(plan, tables, at_once, spec.direction.ways(), std::slice::from_ref(&all));
    let rule = layouts();
    let (name, problem, bytes) = (format!("N_max = {}", plan.n_max), rule.text()?.text, rule.cost().bytes);
    let other = layouts().in_the_other_shape(tables);
    // The tables of the labels are counted in one of the two.
    let table_bytes = rule.table_bytes().max(other.table_bytes());
    let shapes = [rule, other].into_iter().map(|layouts| {
        let (shape, product) = (layouts.shape().to_string(), product(layouts, spec.direction, device));
        (shape, product.map_err(TransformError::from))
    });
    let unfit = |error: &TransformError| match error.device()? {
        DeviceError::Launch(why) => Some(why.to_string()),
        _ => None,
    };
    let length = at_once * plan.length;
    let race = ShapeRace { name: &name, problem: &problem, length, bytes, table_bytes };
    race.run(device, choices, shapes, unfit)
}

/// Copies the numbers and transforms them in place.
fn product(
    layouts: Layouts,
    direction: Direction,
    device: &Device,
) -> Result<TimedProduct<'static>, DeviceTransformError> {
    let transform: DeviceTransform = layouts.upload(device)?.0;
    let mut work = device.zeros(transform.numbers())?;
    Ok(Box::new(move |from, to| {
        to.copy_from(from)?;
        let done = match direction {
            Direction::Forward => transform.forward(to, &mut work),
            Direction::Inverse => transform.inverse(to, &mut work),
        };
        done.map(|()| None).map_err(|error| match error {
            DeviceTransformError::Device(error) => error,
            DeviceTransformError::Launch(error) => error.into(),
            other => DeviceError::Arguments {
                what: "a transformation".into(),
                expected: "kernels as planned".into(),
                found: other.to_string(),
            },
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::InteractionInput;
    use super::*;
    use eigenforge_runtime::simulate::Schedule;
    use eigenforge_runtime::testing::devices_of_many_launches;
    use std::path::PathBuf;

    /// Both shapes run, both ways, with the same numbers; their names tell them apart.
    #[test]
    fn both_shapes_give_the_same_numbers() {
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let tables = Tables::of_pairs(&plan, TableCache::off()).unwrap();
        for device in devices_of_many_launches(Schedule::Forward) {
            for direction in [Direction::Forward, Direction::Inverse] {
                let (interaction, output) = (InteractionInput::File(PathBuf::new()), PathBuf::new());
                let spec =
                    Su3Spec { interaction, n_max: 1, output, format: None, direction, memory: None, hamiltonian: None };
                let tuning = race(&plan, &tables, 2, &spec, &device, &Choices::none()).unwrap();
                let names: Vec<&str> = tuning.timings.iter().map(|timing| timing.name.as_str()).collect();
                assert_eq!(names, ["labels in the text", "labels in tables"]);
            }
        }
    }
}
