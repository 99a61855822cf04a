//! The vector programs of the solvers, and one with every construct: the CUDA text on the CPU against the interpreter of
//! the runtime's CPU device. Outputs start as NaN; all schedules leave the same bits.

use super::{SCHEDULES, simulator};
use eigenforge_runtime::simulate::Simulator;
use eigenforge_runtime::{Bind, Checks, Device, ElementArgument, Scalar, Vector, solvers};
use eigenforge_templates::ElementFunctionText;
use eigenforge_templates::launch::{Number, Parameter};
use eigenforge_templates::signature::Signature;
use eigenforge_templates::vector_program::{Access, VectorDeclaration, VectorProgram};
use std::sync::Arc;

/// A stand-in for an operator's diagonal, with a parameter: 2 + scale (i mod 7), exact in double.
fn function(name: &str) -> eigenforge_runtime::ElementFunction {
    if name == "random_start" {
        return eigenforge_runtime::random_start(11);
    }
    let source = format!(
        "__device__ __forceinline__ double {name}(i64 i, double scale)\n{{\n    return 2.0 + scale * (double)(i % 7);\n}}"
    );
    let text =
        ElementFunctionText { name: name.into(), source, parameters: vec![Parameter::number("scale", Number::F64)] };
    let host = |start: usize, out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(k, out)| *out = 2.0 + 0.5 * ((start + k) % 7) as f64);
    };
    eigenforge_runtime::ElementFunction { text, arguments: vec![ElementArgument::F64(0.5)], host: Arc::new(host) }
}

/// What a run leaves.
struct Run<T> {
    vectors: Vec<Vec<T>>,
    sums: Vec<f64>,
}

/// Outputs start as NaN.
fn run<T: Scalar>(device: &Device, program: &VectorProgram, n: usize) -> Run<T> {
    let functions: Vec<_> = program.functions.iter().map(|name| function(name)).collect();
    let compiled = device.program(program, T::TYPE, &functions).unwrap_or_else(|error| panic!("{error}"));
    let scalars: Vec<f64> = (0..program.scalars.len()).map(|k| 0.7 - 0.45 * k as f64).collect();
    let value = |v: usize, i: usize| ((i * 7919 + v * 104729 + 13) % 2003) as f64 / 1001.5 - 1.0;
    let first = |(v, declared): (usize, &VectorDeclaration)| -> Vec<T> {
        let start = |i| if declared.access == Access::Out { f64::NAN } else { value(v, i) };
        (0..n).map(|i| T::from_f64(start(i))).collect()
    };
    let mut vectors: Vec<Vector<T>> =
        program.vectors.iter().enumerate().map(|v| device.upload(&first(v)).unwrap()).collect();
    let mut binds: Vec<Bind<'_, T>> = vectors
        .iter_mut()
        .zip(&program.vectors)
        .map(|(v, d)| if d.access == Access::In { Bind::In(v) } else { Bind::Out(v) })
        .collect();
    let what = |error| panic!("{} of {n} on {device:?}: {error}", program.name);
    let sums = compiled.run(&mut binds, &scalars).unwrap_or_else(what);
    Run { vectors: vectors.iter().map(|vector| vector.download().unwrap()).collect(), sums }
}

/// The launches as the text declares them, with blocks of as many threads as it is written for; then the runs on `devices`
/// against the CPU device, and bit by bit against each other.
fn compare<T: Scalar>(devices: &[Device], program: &VectorProgram, lengths: &[usize], tolerance: f64) {
    let texts: Vec<_> = program.functions.iter().map(|name| function(name).text).collect();
    let text = program.text(T::TYPE, &texts).unwrap();
    for &n in lengths {
        let launch = program.launch(n, 1, T::TYPE, &texts).unwrap();
        assert_eq!(text.entries, std::slice::from_ref(&launch.entry));
        let signature = Signature::read(&text.text, &launch.entry).unwrap();
        signature.check(&launch).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(signature.threads, Some(launch.block));
        let cpu: Run<T> = run(&Device::cpu(), program, n);
        let runs: Vec<Run<T>> = devices.iter().map(|device| run(device, program, n)).collect();
        let Some(first) = runs.first() else { continue };
        for run in &runs {
            assert_eq!(run.vectors, first.vectors, "{} of {n}: vectors differ between schedules", program.name);
            let bits = |run: &Run<T>| run.sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(run), bits(first), "{} of {n}: sums differ between schedules", program.name);
        }
        for ((sum, wanted), name) in first.sums.iter().zip(&cpu.sums).zip(&program.sums) {
            let close = (sum - wanted).abs() <= 1e-12 * (n as f64 + wanted.abs());
            assert!(close, "{}: sum {name} = {sum}, expected {wanted}, n = {n}", program.name);
        }
        for ((vector, wanted), declared) in first.vectors.iter().zip(&cpu.vectors).zip(&program.vectors) {
            for (i, (a, b)) in vector.iter().zip(wanted).enumerate() {
                let (a, b) = (a.to_f64(), b.to_f64());
                let close = (a - b).abs() <= tolerance * (1.0 + b.abs());
                assert!(close, "{}: {}[{i}] = {a}, expected {b}, n = {n}", program.name, declared.name);
            }
        }
    }
}

/// A simulated device a schedule, every launch under both checks.
fn devices() -> Vec<Device> {
    let device = |simulator: &Simulator, order| Device::simulated_by(simulator.clone(), order, Checks::Every);
    simulator().map_or(Vec::new(), |simulator| SCHEDULES.map(|order| device(&simulator, order)).into())
}

#[test]
fn every_program_of_the_solvers() {
    let devices = devices();
    let programs = solvers::vector_programs();
    assert!(programs.len() > 3 && programs[0].name == "lobpcg_update");
    for program in &programs {
        compare::<f64>(&devices, program, &[2 * 256 + 1, 1], 1e-12);
        compare::<f32>(&devices, program, &[4 * 256 + 3], 1e-5);
    }
}

/// Every number of sums that a warp divides among its lanes in another way, and more than it has lanes.
#[test]
fn any_number_of_sums() {
    let devices = devices();
    for count in [1, 2, 3, 5, 7, 8, 11, 12, 17, 20, 24, 31, 32, 33, 45, 70] {
        let mut text = format!("program sums_{count}\nvectors x y : in\n");
        (0..count).for_each(|k| text += &format!("sum s{k} = x * (y + {k})\n"));
        let program = VectorProgram::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        compare::<f64>(&devices[..devices.len().min(1)], &program, &[1, 1300], 0.0);
    }
}

#[test]
fn every_construct_of_the_language() {
    let devices = devices();
    let text = "program everything\nvectors x y : inout\nvectors a b : in\nvectors z : out\nscalars s t\nfunctions random_start\n\
        let r = s * x - t * a + 2.5\ny = y - s * x\n\
        z = select(x < y, r / (b * b + 1), select(a <= b, -a, random_start))\n\
        let old = x\nx = y\ny = old\nsum xy = x * y\nsum one = 1\n\
        sum far = max(abs(x), sqrt(abs(z))) + min(a, s)\nlet f = fma(x, y, z)\nsum ff = f * f\n";
    let program = VectorProgram::parse(text).unwrap_or_else(|error| panic!("{error}"));
    compare::<f64>(&devices, &program, &[1, 2, 511, 512, 513, 1537], 1e-13);
    compare::<f32>(&devices, &program, &[3, 1024, 1027], 1e-6);
}
