//! The generated kernels against the CPU's chain of products: on the simulated device under every check, and on the card where
//! `EIGENFORGE_TEST_DEVICE=cuda`.

use super::random::random;
use eigenforge::path::footprints;
use eigenforge::runtime::Device;
use eigenforge::runtime::jit::{Arch, CacheFolder, Disassembler, Jit, Settings};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::kernel_devices;
use eigenforge::su3::{
    DeviceCoefficients, DevicePaper, DeviceTransform, OscillatorSpace, Plan, Tables, forward, inverse,
};
use eigenforge_su3::Coupler;

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
    let plan = Plan::new(OscillatorSpace { n_max });
    let tables = Tables::new(&plan).unwrap();
    let ours = DeviceTransform::with_layout(&plan, &tables, channels, most_in_text, device).unwrap();
    let what = format!("N_max {n_max}, {channels} channels, {most_in_text:?} in text, {}", device.name());
    let of_all =
        |x: &[f64], one: &dyn Fn(&[f64]) -> Vec<f64>| x.chunks_exact(plan.length).flat_map(one).collect::<Vec<_>>();
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
    for device in kernel_devices(Schedule::Forward) {
        for (n_max, channels) in [(0, 1), (1, 2), (2, 3)] {
            compare(n_max, channels, None, &device);
        }
        compare(2, 1, Some(0), &device);
    }
}

/// Slabs of several classes; ranges of labels as tables. The name has compute-sanitizer run it.
#[test]
fn larger_slabs_and_tables_under_memcheck() {
    for device in kernel_devices(Schedule::Random { seed: 3 }) {
        compare(3, 1, Some(0), &device);
        compare(4, 1, None, &device);
        // Slabs of every class, with more than 48 KB of shared memory.
        if device.is_cuda() {
            compare(9, 2, None, &device);
        }
    }
}

/// The published sum as a kernel, over NaN.
#[test]
fn the_published_sum_on_the_device() {
    for device in kernel_devices(Schedule::Reverse) {
        for n_max in [1, 2] {
            let plan = Plan::new(OscillatorSpace { n_max });
            let tables = Tables::new(&plan).unwrap();
            let u = random(91 + u64::from(n_max), 2 * plan.length);
            let expected: Vec<f64> = u.chunks_exact(plan.length).flat_map(|u| forward(&plan, &tables, u)).collect();
            let paper = DevicePaper::new(&plan, &tables, 2, &device).unwrap();
            let mut strengths = device.upload(&vec![f64::NAN; u.len()]).unwrap();
            paper.forward(&device.upload(&u).unwrap(), &mut strengths).unwrap();
            let difference = difference(&strengths.download().unwrap(), &expected);
            assert!(difference < 1e-13, "N_max {n_max}, {}: {difference:e}", device.name());
        }
    }
}

/// All W⁰ of a space against the CPU's, over NaN; the measured defect beside.
#[test]
fn coefficients_on_the_device_under_memcheck() {
    for device in kernel_devices(Schedule::Random { seed: 11 }) {
        let most = if device.is_cuda() { 10 } else { 3 };
        for n_max in [0, 1, most] {
            let plan = Plan::new(OscillatorSpace { n_max });
            let coupler = Coupler::new();
            let ours = DeviceCoefficients::new(&plan, &coupler, &device).unwrap();
            let mut w0 = device.upload(&vec![f64::NAN; ours.plan().w0 as usize]).unwrap();
            ours.compute(&mut w0).unwrap();
            let expected: Vec<f64> = plan
                .groups
                .iter()
                .flat_map(|group| &group.products)
                .flat_map(|product| coupler.square_tables(product.bra_irrep(), product.ket_irrep(), 0..=2))
                .flat_map(|table| table.values)
                .collect();
            let found = w0.download().unwrap();
            assert_eq!(found.len(), expected.len());
            let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            let worst = worst.fold(0.0, |worst, x| if x <= worst { worst } else { x });
            assert!(worst < 1e-14, "N_max {n_max}, {}: {worst:e}", device.name());
            let defect = ours.defect(&w0).unwrap();
            assert!(defect < 1e-13, "N_max {n_max}, {}: {defect:e}", device.name());
            // a matrix with one wrong number is not orthogonal
            let mut wrong = found.clone();
            wrong[0] += 1e-6;
            assert!(ours.defect(&device.upload(&wrong).unwrap()).unwrap() > 1e-8);
        }
    }
}

/// Every architecture compiles both texts, with ranges in the text and as tables; on sm_90 nothing spills.
#[test]
fn the_kernels_compile_everywhere_and_do_not_spill() {
    let cache = tempfile::tempdir().unwrap();
    let settings = Settings {
        cache: CacheFolder::At(cache.path().to_path_buf()),
        cache_readonly: vec![],
        ..Settings::from_env().expect("the environment's settings are sound")
    };
    let Some(jit) = Jit::for_tests(&settings) else { return };
    let disassembler = Disassembler::find(&settings).ok();
    let plan = Plan::new(OscillatorSpace { n_max: 8 });
    let tables = Tables::new(&plan).unwrap();
    let paper = DevicePaper::plan_of(&plan, &tables, 3);
    let coefficients = DeviceCoefficients::plan_of(&plan, &Coupler::new());
    let of_coefficients =
        vec![coefficients.launch(&coefficients.classes[0]).unwrap(), coefficients.defect_launch().unwrap()];
    for in_text in [None, Some(0)] {
        let plan = DeviceTransform::plan_of(&plan, &tables, 3, in_text);
        assert_eq!(plan.layout.is_empty(), in_text.is_some());
        assert_eq!(plan.tiles.len(), 3, "every tile is compiled");
        let launches = plan.launches().unwrap();
        for (text, launches) in [
            (plan.text().unwrap(), launches),
            (paper.text().unwrap(), vec![paper.launch().unwrap()]),
            (coefficients.text().unwrap(), of_coefficients.clone()),
        ] {
            // one of the two says all there is to say of old and new cards
            let archs: &[u32] = if in_text.is_none() { &[75, 90, 120] } else { &[90] };
            for arch in archs.iter().copied().map(Arch) {
                let cubin = jit.compile(&text, arch).unwrap_or_else(|error| panic!("{arch}: {error}"));
                for kernel in footprints(&cubin, disassembler.as_ref(), &launches).unwrap() {
                    // NVRTC 13.0 puts two registers of one kernel into memory on sm_90, 13.5 none.
                    assert!(kernel.spilled.unwrap_or(0) <= 16, "{arch}: {kernel}");
                    println!("{arch}: {kernel}");
                }
            }
        }
    }
}
