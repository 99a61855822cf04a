//! The vector programs of the solvers, and one with every construct: the CUDA text on the CPU against the interpreter of
//! the runtime's CPU device. Outputs start as NaN; all schedules leave the same bits.

use super::{SCHEDULES, bytes, simulator};
use eigenforge_runtime::simulate::{Argument, Simulated, Simulator};
use eigenforge_runtime::{Bind, Device, Scalar, Vector, solvers};
use eigenforge_templates::ElementFunctionText;
use eigenforge_templates::launch::{Number, Parameter};
use eigenforge_templates::vector_program::{Access, THREADS, VectorProgram, blocks};
use std::sync::Arc;

/// A stand-in for an operator's diagonal, with a parameter: 2 + scale (i mod 7), exact in double.
fn function(name: &str) -> eigenforge_runtime::ElementFunction {
    if name == "random_start" {
        return eigenforge_runtime::device::random_start(11);
    }
    let source = format!(
        "__device__ __forceinline__ double {name}(i64 i, double scale)\n{{\n    return 2.0 + scale * (double)(i % 7);\n}}"
    );
    let text =
        ElementFunctionText { name: name.into(), source, parameters: vec![Parameter::number("scale", Number::F64)] };
    let host = |start: usize, out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(k, out)| *out = 2.0 + 0.5 * ((start + k) % 7) as f64);
    };
    eigenforge_runtime::ElementFunction { text, arguments: vec![], host: Arc::new(host) }
}

struct Run {
    vectors: Vec<Vec<u8>>,
    sums: Vec<f64>,
}

/// Both launches of a program, as `Program::run` makes them on CUDA.
fn simulate<T: Scalar>(
    simulated: &Simulated,
    program: &VectorProgram,
    start: &[Vec<T>],
    scalars: &[f64],
    schedule: eigenforge_runtime::simulate::Schedule,
) -> Run {
    let n = start[0].len();
    let (grid, count) = (blocks(n, T::TYPE), program.sums.len());
    let mut vectors: Vec<Vec<u8>> = start.iter().map(|vector| bytes(vector)).collect();
    let mut partials = vec![0; 8 * count * grid as usize];
    let mut arguments: Vec<Argument<'_>> = Vec::new();
    for (vector, declared) in vectors.iter_mut().zip(&program.vectors) {
        arguments.push(match declared.access {
            Access::In => Argument::In(vector),
            Access::Out => Argument::Out(vector),
            Access::InOut => Argument::InOut(vector),
        });
    }
    arguments.extend(scalars.iter().map(|scalar| Argument::F64(*scalar)));
    for name in &program.functions {
        arguments.push(if name == "random_start" { Argument::U64(11) } else { Argument::F64(0.5) });
    }
    if count > 0 {
        arguments.push(Argument::Out(&mut partials));
    }
    arguments.push(Argument::I64(n as i64));
    let name = &program.name;
    let what = |error| panic!("{name} of {n} under {schedule:?}: {error}");
    simulated.launch(name, [grid, 1, 1], [THREADS, 1, 1], 0, &mut arguments, schedule).unwrap_or_else(what);
    drop(arguments);
    let mut sums = vec![0; 8 * count];
    if count > 0 {
        let mut arguments = [Argument::In(&partials), Argument::I32(grid as i32), Argument::Out(&mut sums)];
        let finish = format!("{name}_finish");
        simulated
            .launch(&finish, [count as u32, 1, 1], [THREADS, 1, 1], 0, &mut arguments, schedule)
            .unwrap_or_else(what);
    }
    Run { vectors, sums: f64::read_bytes(&sums) }
}

fn compare<T: Scalar>(simulator: &Simulator, program: &VectorProgram, lengths: &[usize], tolerance: f64) {
    let functions: Vec<_> = program.functions.iter().map(|name| function(name)).collect();
    let texts: Vec<_> = functions.iter().map(|function| function.text.clone()).collect();
    let simulated = simulator.build(&program.text(T::TYPE, &texts).unwrap()).unwrap_or_else(|error| panic!("{error}"));
    let compiled = Device::cpu().program(program, T::TYPE, &functions).unwrap();
    let scalars: Vec<f64> = (0..program.scalars.len()).map(|k| 0.7 - 0.45 * k as f64).collect();
    for &n in lengths {
        let value = |v: usize, i: usize| ((i * 7919 + v * 104729 + 13) % 2003) as f64 / 1001.5 - 1.0;
        let start: Vec<Vec<T>> =
            (0..program.vectors.len()).map(|v| (0..n).map(|i| T::from_f64(value(v, i))).collect()).collect();
        let device = Device::cpu();
        let mut expected: Vec<Vector<T>> = start.iter().map(|vector| device.upload(vector).unwrap()).collect();
        let mut binds: Vec<Bind<'_, T>> = expected
            .iter_mut()
            .zip(&program.vectors)
            .map(|(v, d)| if d.access == Access::In { Bind::In(v) } else { Bind::Out(v) })
            .collect();
        let expected_sums = compiled.run(&mut binds, &scalars).unwrap();
        let runs = SCHEDULES.map(|schedule| simulate(&simulated, program, &start, &scalars, schedule));
        for run in &runs {
            assert_eq!(run.vectors, runs[0].vectors, "{} of {n}: vectors differ between schedules", program.name);
            let bits = |run: &Run| run.sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(run), bits(&runs[0]), "{} of {n}: sums differ between schedules", program.name);
        }
        for ((sum, wanted), name) in runs[0].sums.iter().zip(&expected_sums).zip(&program.sums) {
            let close = (sum - wanted).abs() <= 1e-12 * (n as f64 + wanted.abs());
            assert!(close, "{}: sum {name} = {sum}, expected {wanted}, n = {n}", program.name);
        }
        for ((vector, wanted), declared) in runs[0].vectors.iter().zip(&expected).zip(&program.vectors) {
            let wanted = wanted.download().unwrap();
            for (i, (a, b)) in T::read_bytes(vector).iter().zip(&wanted).enumerate() {
                let (a, b) = (a.to_f64(), b.to_f64());
                let close = (a - b).abs() <= tolerance * (1.0 + b.abs());
                assert!(close, "{}: {}[{i}] = {a}, expected {b}, n = {n}", program.name, declared.name);
            }
        }
    }
}

#[test]
fn every_program_of_the_solvers() {
    let Some(simulator) = simulator() else { return };
    let programs = solvers::vector_programs();
    assert!(programs.len() > 3 && programs[0].name == "lobpcg_update");
    for program in &programs {
        compare::<f64>(&simulator, program, &[2 * 256 + 1, 1], 1e-12);
        compare::<f32>(&simulator, program, &[4 * 256 + 3], 1e-5);
    }
}

#[test]
fn every_construct_of_the_language() {
    let Some(simulator) = simulator() else { return };
    let text = "program everything\nvectors x y : inout\nvectors a b : in\nvectors z : out\nscalars s t\nfunctions random_start\n\
        let r = s * x - t * a + 2.5\ny = y - s * x\n\
        z = select(x < y, r / (b * b + 1), select(a <= b, -a, random_start))\n\
        let old = x\nx = y\ny = old\nsum xy = x * y\nsum one = 1\n\
        sum far = max(abs(x), sqrt(abs(z))) + min(a, s)\nlet f = fma(x, y, z)\nsum ff = f * f\n";
    let program = VectorProgram::parse(text).unwrap_or_else(|error| panic!("{error}"));
    compare::<f64>(&simulator, &program, &[1, 2, 511, 512, 513, 1537], 1e-13);
    compare::<f32>(&simulator, &program, &[3, 1024, 1027], 1e-6);
}
