//! The generated kernels against the CPU's chain of products: on the simulated device under every check, and on the card where
//! `EIGENFORGE_TEST_DEVICE=cuda`.

use super::random::random;
use eigenforge::runtime::simulate::{Schedule, SimulateError, Simulator};
use eigenforge::runtime::{Checks, Device};
use eigenforge::su3::device::DeviceTransform;
use eigenforge::su3::space::Space;
use eigenforge::su3::{Plan, Tables, forward, inverse};

pub fn devices(schedule: Schedule) -> Vec<Device> {
    let mut devices = vec![];
    match Simulator::find() {
        Ok(simulator) => devices.push(Device::simulated_by(simulator, schedule, Checks::Every)),
        Err(error @ SimulateError::NoCompiler { .. }) => eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    }
    if std::env::var("EIGENFORGE_TEST_DEVICE").is_ok_and(|device| device == "cuda") {
        devices.push(Device::cuda(0).expect("EIGENFORGE_TEST_DEVICE=cuda needs a CUDA device"));
    }
    devices
}

/// ‖a − b‖_∞ relative to ‖b‖_∞.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    // not f64::max, which would drop a NaN
    let worst = |worst: f64, (a, b): (&f64, &f64)| if (a - b).abs() <= worst { worst } else { (a - b).abs() };
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).fold(0.0, worst) / largest
}

/// Both directions against the CPU, over NaN, twice with the same bits.
#[track_caller]
fn compare(n_max: u32, channels: usize, most_in_text: Option<usize>, device: &Device) {
    let plan = Plan::new(Space { n_max });
    let tables = Tables::new(&plan).unwrap();
    let ours = DeviceTransform::with_layout(&plan, &tables, channels, most_in_text, device).unwrap();
    let what = format!("N_max {n_max}, {channels} channels, {most_in_text:?} in text, {}", device.name());
    let of_all = |x: &[f64], one: &dyn Fn(&[f64]) -> Vec<f64>| x.chunks_exact(plan.length).flat_map(one).collect::<Vec<_>>();
    let elements = random(41 + u64::from(n_max), channels * plan.length);
    let run = |input: &[f64], poison: f64, back: bool| {
        let mut numbers = device.upload(input).unwrap();
        let mut work = device.upload(&vec![poison; input.len()]).unwrap();
        let done = if back { ours.inverse(&mut numbers, &mut work) } else { ours.forward(&mut numbers, &mut work) };
        done.unwrap();
        numbers.download().unwrap()
    };
    let expected = of_all(&elements, &|u| forward(&plan, &tables, u));
    let strengths = run(&elements, f64::NAN, false);
    assert!(difference(&strengths, &expected) < 1e-13, "{what}: {:e}", difference(&strengths, &expected));
    let back = run(&expected, f64::NAN, true);
    let expected = of_all(&expected, &|c| inverse(&plan, &tables, c));
    assert!(difference(&back, &expected) < 1e-13, "{what}, inverse: {:e}", difference(&back, &expected));
    let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
    assert!(same(&strengths, &run(&elements, 1e300, false)), "{what}: other bits");
}

#[test]
fn small_spaces_on_the_device() {
    for device in devices(Schedule::Forward) {
        for (n_max, channels) in [(0, 1), (1, 2), (2, 3)] {
            compare(n_max, channels, None, &device);
        }
        compare(2, 1, Some(0), &device);
    }
}

/// Slabs of several classes; ranges of labels as tables. The name has compute-sanitizer run it.
#[test]
fn larger_slabs_and_tables_under_memcheck() {
    for device in devices(Schedule::Random { seed: 3 }) {
        compare(3, 1, Some(0), &device);
        compare(4, 1, None, &device);
    }
}
