//! Launches: what is compared before one, each mismatch with its names and numbers, and what the comparison costs.

use crate::test_devices;
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::*;
use eigenforge_templates::launch::{Access, Element, Launch, Number, Parameter};
use eigenforge_templates::{KernelText, LaunchError};
use std::time::Instant;

/// The devices of the other tests, and the CPU in place of a GPU where there is a host compiler.
fn devices() -> Vec<Device> {
    let mut devices = test_devices();
    devices.extend(testing::simulated(Schedule::Reverse, Checks::Watched));
    devices
}

fn text() -> KernelText {
    let text = "typedef long long i64;\nextern \"C\" __global__ void __launch_bounds__(256) reverse(\n    const double* __restrict__ x, double* __restrict__ y, i64 n, unsigned int shift, double factor)\n{\n    extern __shared__ double copy[];\n    for (i64 i = threadIdx.x; i < n; i += blockDim.x) copy[i] = x[i];\n    __syncthreads();\n    for (i64 i = threadIdx.x; i < n; i += blockDim.x) y[i] = factor * copy[(n - 1 - i + shift) % n];\n}\n";
    KernelText { name: "reverse".into(), text: text.into(), plan: String::new(), entries: vec!["reverse".into()] }
}

fn planned(n: usize, block: u32, shared: u64) -> Launch {
    let parameters = vec![
        Parameter::table("x", Element::F64, n as u64),
        Parameter::memory("y", Element::F64, Access::Out, n as u64),
        Parameter::number("n", Number::I64),
        Parameter::number("shift", Number::U32),
        Parameter::number("factor", Number::F64),
    ];
    Launch::new("reverse", 1, block, shared, parameters).unwrap()
}

fn arguments<'a>(x: &'a Vector<f64>, y: &'a mut Vector<f64>) -> Arguments<'a> {
    let n = x.len() as i64;
    Arguments::new().read("x", x).write("y", y).i64("n", n).u32("shift", 7).f64("factor", 2.0)
}

#[test]
fn kernels_are_launched_as_planned_memcheck() {
    for device in devices() {
        if !device.runs_kernels() {
            assert!(device.compile(&text()).err().unwrap().to_string().contains("expected it on a CUDA device"));
            assert!(device.kernels_used().is_empty());
            continue;
        }
        let kernel = device.compile(&text()).unwrap();
        let n = 10_000;
        let x = device.random::<f64>(n, 3).unwrap();
        let mut y = device.zeros::<f64>(n).unwrap();
        // 80,000 bytes of shared memory: above the 48 KiB that need no opt-in.
        let launch = planned(n, 256, 8 * n as u64);
        let (outcome, milliseconds) = device.time(|| kernel.launch(&launch, arguments(&x, &mut y))).unwrap();
        outcome.unwrap();
        assert!(milliseconds > 0.0);
        let (x_host, y_host) = (x.download().unwrap(), y.download().unwrap());
        assert!((0..n).all(|i| y_host[i] == 2.0 * x_host[(n - 1 - i + 7) % n]));
        assert!(device.kernels_used().iter().any(|k| k.name == "reverse" && !k.key.is_empty()));
    }
}

fn numbers(arguments: Arguments<'_>) -> Arguments<'_> {
    arguments.i64("n", 100).u32("shift", 7).f64("factor", 2.0)
}

fn assert_refused(kernel: &Kernel, launch: &Launch, arguments: Arguments<'_>, said: &[&str]) {
    let error = kernel.launch(launch, arguments).unwrap_err();
    assert!(matches!(error, DeviceError::Arguments { .. }), "{error}");
    let error = error.to_string();
    assert!(said.iter().all(|part| error.contains(part)) && error.contains("kernel reverse"), "{error}");
}

/// Vectors that no other mistake is hidden by.
struct Vectors {
    x: Vector<f64>,
    y: Vector<f64>,
    single: Vector<f32>,
    short: Vector<f64>,
    elsewhere: Vector<f64>,
}

#[test]
fn wrong_arguments_are_refused_before_the_launch_memcheck() {
    for device in devices().into_iter().filter(Device::runs_kernels) {
        let kernel = device.compile(&text()).unwrap();
        let n = 100;
        let mut v = Vectors {
            x: device.random(n, 3).unwrap(),
            y: device.zeros(n).unwrap(),
            single: device.zeros(n).unwrap(),
            short: device.zeros(n - 1).unwrap(),
            elsewhere: Device::cpu().zeros(n).unwrap(),
        };
        let launch = planned(n, 256, 8 * n as u64);
        let refused = |arguments: Arguments<'_>, said: &[&str]| assert_refused(&kernel, &launch, arguments, said);
        let new = Arguments::new;
        refused(new().read("x", &v.x), &["expected 5 (x, y, n, shift, factor)", "found 1 (x)"]);
        let swapped = numbers(new().write("y", &mut v.y).read("x", &v.x));
        refused(swapped, &["argument 1: expected `const double* x`, found `y`"]);
        refused(numbers(new().read("x", &v.x).read("y", &v.y)), &["parameter y", "bind it with `write`"]);
        refused(numbers(new().write("x", &mut v.x).write("y", &mut v.y)), &["parameter x", "bind it with `read`"]);
        refused(
            numbers(new().read("x", &v.single).write("y", &mut v.y)),
            &["x: expected elements double, found elements float"],
        );
        refused(
            numbers(new().read("x", &v.short).write("y", &mut v.y)),
            &["x: expected 100 elements or more, found 99"],
        );
        refused(
            numbers(new().read("x", &v.x).write("y", &mut v.short)),
            &["y: expected 100 elements or more, found 99"],
        );
        let other = numbers(new().read("x", &v.elsewhere).write("y", &mut v.y));
        refused(other, &["x: expected memory of the kernel's device, found memory of the CPU"]);
        let wide = new().read("x", &v.x).write("y", &mut v.y).i32("n", 100).u32("shift", 7).f64("factor", 2.0);
        refused(wide, &["parameter n: expected `i64 n`, found a number, int"]);
        let bytes = device.buffer(&[1i8; 100]).unwrap();
        refused(numbers(new().read("x", &bytes).write("y", &mut v.y)), &["found elements of another type"]);
        refused(
            new().read("x", &v.x).write("y", &mut v.y).read("n", &v.short).u32("shift", 7).f64("factor", 2.0),
            &["parameter n: expected a number, i64, found memory"],
        );
        refused(
            new().i64("x", 1).write("y", &mut v.y).i64("n", 100).u32("shift", 7).f64("factor", 2.0),
            &["parameter x: expected `const double* x`, found a number, i64"],
        );
        assert_eq!(v.y.download().unwrap(), vec![0.0; n], "nothing ran");
    }
}

#[test]
fn wrong_shapes_are_refused_before_the_launch_memcheck() {
    for device in devices().into_iter().filter(Device::runs_kernels) {
        let kernel = device.compile(&text()).unwrap();
        let n = 100;
        let (x, mut y) = (device.random::<f64>(n, 3).unwrap(), device.zeros::<f64>(n).unwrap());
        let mut refused = |launch: &Launch, said: &str| {
            let error = kernel.launch(launch, arguments(&x, &mut y)).unwrap_err();
            assert!(matches!(error, DeviceError::Launch(_)) && error.to_string().contains(said), "{error}");
        };
        refused(&planned(n, 257, 800), "a block of 1 to 256 threads");
        refused(&planned(n, 256, 300_000), "300000 dynamic");
        refused(&Launch { block: 0, ..planned(n, 256, 800) }, "found 0");
        refused(&Launch { grid: [1, 1, 1 << 20], ..planned(n, 256, 800) }, "1048576 blocks along z");
        let mut other = planned(n, 256, 800);
        other.parameters[3] = Parameter::number("shift", Number::I32);
        refused(&other, "parameter 4: the plan passes `int shift` and the text declares `u32 shift`");
        let forward = Launch { entry: "forward".into(), ..planned(n, 256, 800) };
        let error = kernel.launch(&forward, arguments(&x, &mut y)).unwrap_err().to_string();
        assert!(error.contains("expected one of reverse, found forward"), "{error}");
        assert!(matches!(kernel.check(&planned(n, 257, 0)), Err(DeviceError::Launch(LaunchError::Threads { .. }))));
        assert_eq!(y.download().unwrap(), vec![0.0; n], "nothing ran");
    }
}

/// A grid without blocks is compared and starts nothing, so this is what the comparison alone takes.
#[test]
fn the_comparison_takes_less_than_two_microseconds() {
    for device in devices().into_iter().filter(Device::runs_kernels) {
        let kernel = device.compile(&text()).unwrap();
        let n = 100;
        let (x, mut y) = (device.random::<f64>(n, 3).unwrap(), device.zeros::<f64>(n).unwrap());
        let launch = Launch { grid: [0, 1, 1], ..planned(n, 256, 800) };
        const LAUNCHES: u32 = 1000;
        let once = |_| {
            let start = Instant::now();
            (0..LAUNCHES).for_each(|_| kernel.launch(&launch, arguments(&x, &mut y)).unwrap());
            start.elapsed().as_secs_f64() / f64::from(LAUNCHES)
        };
        // The best of many, since other programs run on this machine.
        let best = (0..30).map(once).fold(f64::INFINITY, f64::min);
        println!("{:.0} ns a launch of five parameters on {device:?}", 1e9 * best);
        assert!(best < 2e-6, "{best} s");
    }
}
