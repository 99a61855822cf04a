//! Texts for warps of another width than any card has, on simulated devices with such warps, against the same oracles: the dense
//! matrix, and the CPU's vector programs and averages.

use super::averages::agree_on;
use super::gallery::check_updates;
use super::multiply::check;
use super::shapes::{hubbard, spins};
use eigenforge::exact::{GeneralMultiply, KroneckerMultiply, Model, MultiplyPlan};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::{Device, DeviceError, testing};
use eigenforge_templates::exact::{DownShape, GeneralStrategy, Staging};
use eigenforge_templates::{ScalarType, Warp};

fn devices(lanes: u32) -> Vec<Device> {
    let schedules = [Schedule::Forward, Schedule::Random { seed: 5 }];
    schedules.iter().filter_map(|schedule| testing::simulated_with_warps_of(lanes, *schedule)).collect()
}

fn multiplies(lanes: u32, model: &Model, change: impl Fn(&MultiplyPlan) -> MultiplyPlan) {
    let prepared = change(&model.multiply(ScalarType::F64).unwrap());
    check::<f64>(&devices(lanes), model, &prepared, &model.dense().unwrap());
}

#[test]
fn kronecker_sums() {
    let shape = |staging, down| {
        move |multiply: &MultiplyPlan| {
            let shaped = multiply.changed(|KroneckerMultiply { plan, .. }: &mut KroneckerMultiply| {
                (plan.shape.staging, plan.shape.down) = (staging, down);
            });
            shaped.expect("it splits")
        }
    };
    // 56 up states: three warps of 16 rows and half of another.
    let model = hubbard(8, true, 3, 4, |i| 1.0 + 0.1 * (i * i) as f64);
    let runs = DownShape::Runs { low_sites: 4, outputs: 24, warps: 8 };
    multiplies(16, &model, shape(Staging::Shared, runs));
    multiplies(8, &model, shape(Staging::Global, runs));
    let tile = DownShape::Tile { rows: 16, lanes: 4, columns: 28 };
    multiplies(16, &hubbard(6, true, 3, 2, |_| 1.0), shape(Staging::Shared, tile));
}

#[test]
fn operators_by_columns_and_by_states() {
    for strategy in [GeneralStrategy::Staged { columns: 2 }, GeneralStrategy::States] {
        multiplies(16, &spins(1, 13, 1), |multiply| {
            let shaped = multiply.changed(|GeneralMultiply { plan, .. }: &mut GeneralMultiply| {
                assert!(plan.lists.is_some(), "its columns are long enough");
                *plan = plan.with_strategy(strategy);
            });
            shaped.expect("it does not split")
        });
    }
}

#[test]
fn vector_programs_and_averages() {
    let model = hubbard(6, true, 3, 2, |_| 1.0);
    check_updates::<f64>(&devices(16), &model);
    agree_on(&devices(16), &model);
}

#[test]
fn a_text_for_another_width_is_refused() {
    let Some(device) = devices(16).pop() else { return };
    let text = spins(1, 5, 1).multiply(ScalarType::F64).unwrap().text().unwrap();
    assert_eq!(Warp::declared(&text.text), Some(32));
    let refused = device.compile(&text).map(|_| ()).unwrap_err();
    assert!(matches!(refused, DeviceError::WarpWidth { found: 32, width: 16, .. }), "{refused}");
    assert!(refused.to_string().contains("warps of 32 lanes") && refused.to_string().contains("warps of 16"));
}
