//! Vector programs against a naive interpreter, on every device.

use crate::test_devices;
use eigenforge_runtime::{Bind, Device, Scalar, Vector};
use eigenforge_templates::vector_program::*;
use proptest::prelude::*;
use std::collections::HashMap;

/// One element, statement by statement, as the language says.
fn interpret(expression: &Expression, names: &HashMap<String, f64>) -> f64 {
    let value = |e: &Expression| interpret(e, names);
    match expression {
        Expression::Number(number) => *number,
        Expression::Name(name) => names[name],
        Expression::Negate(a) => -value(a),
        Expression::Binary(Binary::Add, a, b) => value(a) + value(b),
        Expression::Binary(Binary::Subtract, a, b) => value(a) - value(b),
        Expression::Binary(Binary::Multiply, a, b) => value(a) * value(b),
        Expression::Binary(Binary::Divide, a, b) => value(a) / value(b),
        Expression::Call(Function::Sqrt, a) => value(&a[0]).sqrt(),
        Expression::Call(Function::Abs, a) => value(&a[0]).abs(),
        Expression::Call(Function::Min, a) => value(&a[0]).min(value(&a[1])),
        Expression::Call(Function::Max, a) => value(&a[0]).max(value(&a[1])),
        Expression::Call(Function::Fma, a) => value(&a[0]).mul_add(value(&a[1]), value(&a[2])),
        Expression::Select { comparison, left, right, then, otherwise } => {
            let holds = match comparison {
                Comparison::Less => value(left) < value(right),
                Comparison::LessEqual => value(left) <= value(right),
            };
            value(if holds { then } else { otherwise })
        }
    }
}

/// New vectors and sums (with the sum of absolute values, for the tolerance).
fn run_naively<T: Scalar>(program: &VectorProgram, vectors: &mut [Vec<T>], scalars: &[f64]) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); program.sums.len()];
    for i in 0..vectors[0].len() {
        let mut names: HashMap<String, f64> = program.scalars.iter().cloned().zip(scalars.iter().copied()).collect();
        for (declared, vector) in program.vectors.iter().zip(vectors.iter()) {
            names.insert(declared.name.clone(), vector[i].to_f64());
        }
        for statement in &program.statements {
            let value = interpret(statement.value(), &names);
            match statement {
                Statement::Let { name, .. } => drop(names.insert(name.clone(), value)),
                Statement::Assign { vector, .. } => drop(names.insert(vector.clone(), T::from_f64(value).to_f64())),
                Statement::Sum { name, .. } => {
                    let at = program.sums.iter().position(|s| s == name).unwrap();
                    sums[at] = (sums[at].0 + value, sums[at].1 + value.abs());
                }
            }
        }
        for (declared, vector) in program.vectors.iter().zip(vectors.iter_mut()) {
            vector[i] = T::from_f64(names[&declared.name]);
        }
    }
    sums
}

/// Runs on all devices and compares with the naive interpreter; outputs start as NaN.
fn compare<T: Scalar>(text: &str, n: usize, scalars: &[f64], tolerance: f64) {
    let program = VectorProgram::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let count = program.vectors.len();
    let value = |v: usize, i: usize| (((i * 7919 + v * 104729 + 13) % 2003) as f64 / 1001.5 - 1.0) * 3.0;
    let start: Vec<Vec<T>> = (0..count).map(|v| (0..n).map(|i| T::from_f64(value(v, i))).collect()).collect();
    let mut expected = start.clone();
    let expected_sums = run_naively(&program, &mut expected, scalars);
    for device in test_devices() {
        let compiled = device.program(&program, T::TYPE, &[]).unwrap();
        let mut vectors: Vec<Vector<T>> = start.iter().map(|v| device.upload(v).unwrap()).collect();
        for (declared, vector) in program.vectors.iter().zip(&mut vectors) {
            if declared.access == Access::Out {
                vector.write(&vec![T::from_f64(f64::NAN); n]).unwrap();
            }
        }
        let mut binds: Vec<Bind<'_, T>> = vectors
            .iter_mut()
            .zip(&program.vectors)
            .map(|(v, d)| if d.access == Access::In { Bind::In(v) } else { Bind::Out(v) })
            .collect();
        let sums = compiled.run(&mut binds, scalars).unwrap();
        for ((sum, (wanted, size)), name) in sums.iter().zip(&expected_sums).zip(&program.sums) {
            let close =
                (sum - wanted).abs() <= 1e-12 * size.max(1e-300) || sum == wanted || (sum.is_nan() && wanted.is_nan());
            assert!(close, "sum {name} = {sum}, expected {wanted}, n = {n}, {device:?}\n{text}");
        }
        for (v, (vector, wanted)) in vectors.iter().zip(&expected).enumerate() {
            for (i, (a, b)) in vector.download().unwrap().iter().zip(wanted).enumerate() {
                let (a, b) = (a.to_f64(), b.to_f64());
                let close = a == b || (a - b).abs() <= tolerance * (1.0 + b.abs()) || (a.is_nan() && b.is_nan());
                assert!(close, "vector {v} element {i} = {a}, expected {b}, n = {n}, {device:?}\n{text}");
            }
        }
    }
}

#[test]
fn every_construct_agrees_with_the_naive_interpreter_memcheck() {
    let text = "program everything\nvectors x y : inout\nvectors a b : in\nvectors z : out\nscalars s t\n\
        let r = s * x - t * a + 2.5\n\
        y = y - s * x\n\
        z = select(x < y, r / (b * b + 1), select(a <= b, -a, s)) # nested\n\
        let old = x\nx = y\ny = old\n\
        sum xy = x * y\nsum one = 1\nsum scaled = s * z\nsum far = max(abs(x), sqrt(abs(z))) + min(a, s)\n\
        let f = fma(x, y, z)\nsum ff = f * f\nx = 3\nsum three = x\n";
    for n in [0, 1, 2, 3, 5, 31, 511, 512, 513, 1025, 32768, 32769, 100_003] {
        compare::<f64>(text, n, &[0.7, -1.3], 1e-13);
        compare::<f32>(text, n, &[0.7, -1.3], 1e-6);
    }
}

/// A random expression over the given names.
fn expression(names: Vec<&'static str>) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => prop::sample::select(names).prop_map(str::to_owned),
        1 => (0.1f64..4.0).prop_map(|v| format!("{v:?}")),
    ];
    leaf.prop_recursive(4, 20, 4, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            (two.clone(), prop::sample::select(vec!["+", "-", "*"])).prop_map(|((a, b), o)| format!("({a} {o} {b})")),
            two.clone().prop_map(|(a, b)| format!("{a} * {b}")),
            two.clone().prop_map(|(a, b)| format!("{a} / ({b} * {b} + 0.5)")),
            two.clone().prop_map(|(a, b)| format!("max({a}, -{b})")),
            inner.clone().prop_map(|a| format!("sqrt(abs({a}))")),
            (two.clone(), two).prop_map(|((a, b), (c, d))| format!("select({a} < {b}, {c}, {d})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_programs_agree_with_the_naive_interpreter(
        lets in expression(vec!["x", "y", "a", "s", "t"]),
        x in expression(vec!["x", "y", "a", "s", "q"]),
        y in expression(vec!["x", "y", "a", "t", "q"]),
        sum in expression(vec!["x", "y", "a", "s", "q"]),
        n in 1usize..3000,
        s in -2.0f64..2.0,
        t in -2.0f64..2.0,
    ) {
        let text = format!(
            "program random_one\nvectors x y : inout\nvectors a : in\nscalars s t\nlet q = {lets}\nx = {x}\ny = {y}\nsum e = {sum}\nsum f = x * y\n"
        );
        // A branch may flip where its sides are equal up to rounding on a device that contracts; the CPU does not.
        compare::<f64>(&text, n, &[s, t], 1e-9);
    }
}

#[test]
fn sums_have_the_same_bits_on_any_number_of_threads() {
    let device = eigenforge_runtime::Device::cpu();
    let x = device.random::<f64>(200_001, 5).unwrap();
    let program = VectorProgram::parse("program norm\nvectors x : in\nsum xx = x * x\n").unwrap();
    let program = device.program(&program, f64::TYPE, &[]).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| program.run(&mut [Bind::In(&x)], &[]).unwrap()[0])
    };
    let bits: Vec<u64> = (1..6).map(|t| run(t).to_bits()).collect();
    assert!(bits.iter().all(|b| *b == bits[0]), "{bits:x?}");
}

#[test]
fn random_starts_have_the_same_bits_on_every_device() {
    let reference = test_devices()[0].random::<f64>(10_001, 42).unwrap().download().unwrap();
    assert!(reference.iter().all(|v| (-1.0..1.0).contains(v)));
    let mean: f64 = reference.iter().sum::<f64>() / 10_001.0;
    let square: f64 = reference.iter().map(|v| v * v).sum::<f64>() / 10_001.0;
    assert!(mean.abs() < 0.02 && (square - 1.0 / 3.0).abs() < 0.02, "{mean} {square}");
    for device in test_devices() {
        assert_eq!(device.random::<f64>(10_001, 42).unwrap().download().unwrap(), reference, "{device:?}");
        assert_ne!(device.random::<f64>(10_001, 43).unwrap().download().unwrap(), reference);
    }
}

#[test]
fn errors_say_where_and_what() {
    let head = "program p\nvectors x : inout\nvectors aw : in\nscalars alpha\n";
    let cases = [
        ("x = alpa * x\n", "line 5, column 5: unknown name 'alpa'; did you mean 'alpha'?"),
        ("aw = x\n", "declared in and cannot be assigned"),
        ("x = x +\n", "expected a number, a name or '(', found the end of the line"),
        ("x = max(x)\n", "max takes 2 arguments"),
        ("x = select(x, 1, 2)\n", "or '<=' in select(a < b, then, otherwise)"),
        ("sum alpha = x\nx = 1\n", "'alpha' is declared already"),
        ("x = 1.2.3\n", "a number was expected"),
        ("x = x $ 2\n", "'$' has no meaning here"),
        ("y = x\n", "'y' is not a vector of this program"),
        ("let double = x\nx = 1\n", "'double' is reserved"),
        ("sum s = x\n", "vector 'x' is never assigned"),
        ("sum s = x\nx = s\n", "a sum is known only after the run"),
        ("vectors z : sideways\n", "expected in, out or inout, found 'sideways'"),
        ("vectors z : out\nx = z\nz = 1\n", "read before it is assigned"),
    ];
    for (text, expected) in cases {
        let error = VectorProgram::parse(&format!("{head}{text}")).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(VectorProgram::parse("").unwrap_err().to_string().contains("the text is empty"));
    assert!(VectorProgram::parse("vectors x : in").unwrap_err().to_string().contains("'program NAME' first"));
}

#[test]
fn wrong_arguments_are_refused() {
    for device in test_devices() {
        let program =
            VectorProgram::parse("program p\nvectors x : inout\nvectors y : in\nscalars a\nx = a * y\n").unwrap();
        let program = device.program(&program, f64::TYPE, &[]).unwrap();
        let (mut x, y) = (device.zeros::<f64>(4).unwrap(), device.zeros::<f64>(4).unwrap());
        let short = device.zeros::<f64>(3).unwrap();
        let text = |r: eigenforge_runtime::Result<Vec<f64>>| r.unwrap_err().to_string();
        assert!(text(program.run(&mut [Bind::Out(&mut x)], &[1.0])).contains("expected 2, found 1"));
        assert!(
            text(program.run(&mut [Bind::Out(&mut x), Bind::In(&y)], &[])).contains("scalars: expected 1, found 0")
        );
        assert!(
            text(program.run(&mut [Bind::Out(&mut x), Bind::In(&short)], &[1.0]))
                .contains("expected 4 elements, found 3")
        );
        assert!(text(program.run(&mut [Bind::In(&short), Bind::In(&y)], &[1.0])).contains("found Bind::In"));
    }
}

#[test]
fn cuda_text_of_every_program_compiles_for_every_architecture() {
    use eigenforge_runtime::jit::{Arch, Jit, Settings};
    use eigenforge_templates::launch::{Number, Parameter};
    use eigenforge_templates::{ElementFunctionText, ScalarType};
    let Some(jit) = Jit::for_tests(&Settings::from_env().unwrap()) else { return };
    let diagonal = ElementFunctionText {
        name: "random_start".into(),
        source: RANDOM_START.into(),
        parameters: vec![Parameter::number("seed", Number::U64)],
    }
    .named("diagonal");
    let everything = "program everything\nvectors x : inout\nvectors a : in\nvectors z : out\nscalars s\nfunctions diagonal\n\
        let r = -s * (x - -a) / (2.5 + diagonal) - (a - (x - 1e-3))\n\
        z = select(x < r, r / (a * a + 1), select(a <= r, -a, fma(s, x, r)))\n\
        x = max(abs(z), sqrt(min(a, 2)))\nsum xz = x * z\n";
    let mut programs = eigenforge_runtime::solvers::vector_programs();
    programs.push(VectorProgram::parse(everything).unwrap());
    programs.push(VectorProgram::parse("program copy_only\nvectors x : in\nvectors y : out\ny = x\n").unwrap());
    // In single precision for one architecture, each in turn.
    let every = [80, 90, 100];
    for (program, one) in programs.iter().zip(every.chunks(1).cycle()) {
        for (scalar, archs) in [(ScalarType::F64, &every[..]), (ScalarType::F32, one)] {
            let functions: Vec<_> = program.functions.iter().map(|_| diagonal.clone()).collect();
            let text = program.text(scalar, &functions).unwrap();
            for arch in archs.iter().copied() {
                let cubin = jit.compile(&text, Arch(arch)).unwrap_or_else(|e| panic!("{e}\n{}", text.text));
                for resources in &cubin.resources {
                    assert_eq!(resources.spills(), Some(false), "{} on sm_{arch}: {resources:?}", program.name);
                }
            }
        }
    }
}

/// A vector is made by one program while it is kept, and by another when it is not.
fn steps_of_lanczos_agree<T: Scalar>(device: &Device, n: usize) {
    let programs = eigenforge_runtime::solvers::vector_programs();
    let compiled = |name: &str| {
        let program = programs.iter().find(|program| program.name == name).unwrap();
        device.program(program, T::TYPE, &[]).unwrap()
    };
    let [y, v, before] = [1, 2, 3].map(|seed| device.random::<T>(n, seed).unwrap());
    let scalars = [0.7318, -1.2391, 0.4817];
    let bits = |vector: &Vector<T>| vector.download().unwrap().iter().map(|v| v.to_f64().to_bits()).collect::<Vec<_>>();
    let mut next = device.zeros::<T>(n).unwrap();
    let mut binds = [Bind::In(&before), Bind::Out(&mut next), Bind::In(&y), Bind::In(&v)];
    let norm = compiled("lanczos_step").run(&mut binds, &scalars).unwrap();
    let mut in_place = before.duplicate().unwrap();
    let mut binds = [Bind::Out(&mut in_place), Bind::In(&y), Bind::In(&v)];
    let norm_in_place = compiled("lanczos_step_in_place").run(&mut binds, &scalars).unwrap();
    assert_eq!(norm[0].to_bits(), norm_in_place[0].to_bits(), "n = {n}");
    assert_eq!(bits(&next), bits(&in_place), "n = {n}");
}

#[test]
fn lanczos_makes_the_same_bits_whether_it_keeps_a_vector() {
    for device in test_devices() {
        for n in [1, 513, 40_000] {
            steps_of_lanczos_agree::<f64>(&device, n);
            steps_of_lanczos_agree::<f32>(&device, n);
        }
    }
}
