//! Several vectors at once by columns in shared memory: y of each has the bits of a multiply of its own, x·y is that sum to rounding.

use super::multiply::{multiply, start};
use super::shapes::{one_of, spins};
use super::{devices, sectors};
use eigenforge::exact::{GeneralMultiply, Model, MultiplyPlan};
use eigenforge::input::ModelFile;
use eigenforge::runtime::{Device, LinearOperator, Scalar, Vector};
use eigenforge_templates::exact::CoefficientArguments;
use eigenforge_templates::signature::Signature;

/// Blocks of `counts` vectors beside the same vectors one by one, and these beside the dense matrix.
fn check<T: Scalar>(devices: &[Device], model: &Model, counts: &[usize]) {
    let prepared = model.multiply(T::TYPE).unwrap();
    compare::<T>(devices, model, &prepared, counts);
}

fn compare<T: Scalar>(devices: &[Device], model: &Model, prepared: &MultiplyPlan, counts: &[usize]) {
    let (dense, n) = (model.dense().unwrap(), model.dimension() as usize);
    let of = |device: &Device| model.hamiltonian(prepared.clone(), device).unwrap().with_vectors_at_once(2);
    for device in devices {
        let hamiltonian = of(device);
        let x: Vec<Vec<T>> = (0..5).map(|salt| start(n, salt)).collect();
        let alone: Vec<(Vec<T>, f64)> = x.iter().map(|x| multiply(&hamiltonian, x).unwrap()).collect();
        for (x, (y, _)) in x.iter().zip(&alone) {
            let exact = dense.dot(&ndarray::Array1::from_iter(x.iter().map(|x| x.to_f64())));
            let scale = exact.iter().fold(1e-3f64, |scale, value| scale.max(value.abs()));
            let near = |(y, exact): (&T, &f64)| (y.to_f64() - exact).abs() <= (4.0 * T::EPSILON + 1e-14) * scale;
            assert!(y.iter().zip(&exact).all(near), "{}", model.name());
        }
        let of_device: Vec<Vector<T>> = x.iter().map(|x| device.upload(x).unwrap()).collect();
        for count in counts.iter().copied() {
            let groups = hamiltonian.vectors_at_once(count);
            assert_eq!(groups, [vec![2; count / 2], vec![1; count % 2]].concat(), "{}", model.name());
            let mut y: Vec<Vector<T>> =
                (0..count).map(|_| device.upload(&vec![T::from_f64(f64::NAN); n]).unwrap()).collect();
            let dots = hamiltonian.apply_block(&of_device[..count].iter().collect::<Vec<_>>(), &mut y);
            let dots = dots.unwrap_or_else(|error| panic!("{}: {error}", model.name()));
            for ((y, dot), (expected, sum)) in y.iter().zip(dots).zip(&alone) {
                let bits = |y: &[T]| y.iter().map(|y| y.to_f64().to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&y.download().unwrap()), bits(expected), "{}: {count} vectors", model.name());
                let scale: f64 = expected.iter().map(|y| y.to_f64().abs()).sum();
                assert!((dot - sum).abs() <= 1e-14 * scale, "{}: x.y = {dot}, alone {sum}", model.name());
            }
        }
    }
}

/// Spins of one bit and of two: one amplitude, tables, a diagonal across the cut.
#[test]
fn spins_in_blocks() {
    check::<f64>(&devices(), &spins(1, 12, 0), &[1, 2, 3, 5]);
    let devices = devices();
    check::<f32>(one_of(&devices), &spins(1, 12, 0), &[2]);
    check::<f64>(one_of(&devices), &spins(2, 8, 0), &[2]);
}

/// Couplings between random pairs, and terms of three sites.
#[test]
fn random_couplings_in_blocks() {
    for salt in [3, 11] {
        let numbers: Vec<usize> = (0..12).map(|k| (k * k * 7 + k * salt + 5) % 97).collect();
        check::<f64>(one_of(&devices()), &sectors::spins(1, 12, 0, &numbers), &[3]);
    }
}

fn of_file(model: &str) -> Model {
    ModelFile::parse("block.toml", model).unwrap().to_model().unwrap()
}

/// Signs of fermions in the lists and in the factors.
#[test]
fn fermions_in_blocks() {
    let model = of_file(
        "[model]\nname = \"terms\"\nsite = \"tj\"\nH = \"sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.)) \
         + sum(<i, j> in bonds; 0.4 * (sdots(i, j) - 0.25 * n(i) * n(j)))\"\n[lattice]\nkind = \"square\"\nsize = [3, 3]\n\
         [sector]\nup = 3\ndown = 3\n",
    );
    check::<f64>(one_of(&devices()), &model, &[2, 3]);
}

/// Real and imaginary parts side by side, with a phase and with amplitudes of many values.
#[test]
fn complex_vectors_in_blocks() {
    let model = |h: &str, size: u32, sector: &str| {
        of_file(&format!(
            "[model]\nname = \"terms\"\nsite = \"spin 1/2\"\nH = \"{h}\"\n[lattice]\nkind = \"chain\"\nsize = {size}\n{sector}"
        ))
    };
    let phase = "sum(<i, j> in bonds; 0.5 * ((0.8 + 0.6 * I) * sp(i) * sm(j) + h.c.) + sz(i) * sz(j))";
    check::<f64>(one_of(&devices()), &model(phase, 12, "[sector]\ntwo_sz = 0\n"), &[2, 3]);
    let many = format!(
        "{phase} + sum(<i, j> in bonds; 0.45 * (sy(i) * sz(j) - sz(i) * sy(j))) + sum(i in sites; 0.2 * sx(i))"
    );
    check::<f64>(one_of(&devices()), &model(&many, 8, ""), &[2]);
    check::<f32>(one_of(&devices()), &model(&many, 8, ""), &[2]);
}

/// Texts that points of a sweep share: coefficients are arguments of the block too.
#[test]
fn blocks_take_coefficients_as_arguments() {
    let model = |j: f64| {
        of_file(&format!(
            "[model]\nname = \"xxz\"\njxy = {j:?}\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 12\n[sector]\ntwo_sz = 0\n"
        ))
    };
    let models = [model(1.0), model(0.6)];
    let prepared = models.each_ref().map(|model| model.multiply(f64::TYPE).unwrap());
    let collected = prepared.each_ref().map(|multiply| {
        multiply.way::<GeneralMultiply>().expect("spins do not split").plan.collect_coefficients().unwrap()
    });
    let arguments = CoefficientArguments::new(&collected).unwrap();
    let device = &devices();
    for (model, multiply) in models.iter().zip(prepared) {
        let shared = multiply.changed(|way: &mut GeneralMultiply| way.plan = way.plan.sharing(&arguments).unwrap());
        compare::<f64>(one_of(device), model, &shared.unwrap(), &[2]);
    }
}

/// Launches and declarations agree, in both number types.
#[test]
fn blocks_are_declared_as_they_are_launched() {
    for scalar in [f64::TYPE, f32::TYPE] {
        let multiply = spins(1, 12, 0).multiply(scalar).unwrap();
        let plan = &multiply.way::<GeneralMultiply>().expect("spins").plan;
        let lists = plan.lists.clone().unwrap();
        let plan = plan.for_vectors(2, plan.sizes(), &lists).unwrap();
        let text = plan.text().unwrap();
        assert!(text.name.ends_with("_multiply_of_2"), "{}", text.name);
        for launch in plan.launches().unwrap() {
            let signature = Signature::read(&text.text, &launch.entry).unwrap();
            signature.check(&launch).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(signature.threads, Some(launch.block));
        }
    }
}
