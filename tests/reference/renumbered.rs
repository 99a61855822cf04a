//! Models whose sites are renumbered for the multiply, and whose states stand in another order: energies, averages and vectors are
//! those of the user's numbers.

use super::ours::{Solver, devices};
use eigenforge::exact::{Model, Solve, averages_on_host};
use eigenforge::input::ModelFile;
use eigenforge::observable::Averages;
use eigenforge::runtime::{Device, LinearOperator, Vector};
use eigenforge_templates::ScalarType;

fn model(site: &str, h: &str, sector: &str) -> Model {
    let text = format!(
        "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{h}\"\n[lattice]\nkind = \"kagome\"\nsize = [3, 2]\n\
         [sector]\n{sector}\n"
    );
    ModelFile::parse("renumbered.toml", &text).unwrap().to_model().unwrap()
}

/// ‖H v − E v‖ with H of the user's numbers.
fn residual(model: &Model, vector: &[f64], energy: f64) -> f64 {
    let device = Device::cpu();
    let hamiltonian = model.hamiltonian(model.multiply(ScalarType::F64).unwrap(), &device).unwrap();
    let x = device.upload(vector).unwrap();
    let mut y: Vector<f64> = device.zeros(vector.len()).unwrap();
    hamiltonian.apply(&x, &mut y).unwrap();
    let difference = y.download().unwrap().iter().zip(vector).map(|(y, x)| (y - energy * x).powi(2)).sum::<f64>();
    difference.sqrt()
}

/// Solves on the CPU, and on the card where there is one, and holds the result against the user's model.
fn check(model: &Model) {
    let sources = model.working().sources();
    assert!(sources.iter().any(|line| line.contains("sites have other numbers")), "{sources:?}");
    devices().iter().for_each(|device| check_on(model, device));
}

fn check_on(model: &Model, device: &Device) {
    let working = model.working();
    assert_ne!(working.identity(), model.identity(), "checkpoints have the order of their vectors");
    assert_eq!(working.states(), model.states());
    let solution = Solve::new(model, Solver::Lanczos).tolerance(1e-11).run(device).unwrap();
    let vector = match model.is_complex() {
        false => solution.vector(0).unwrap(),
        true => {
            let first = solution.complex_vectors().unwrap().swap_remove(0);
            first.iter().map(|z| z.re).chain(first.iter().map(|z| z.im)).collect()
        }
    };
    let found = residual(model, &vector, solution.energy());
    assert!(found < 1e-7, "{}: |Hv - Ev| = {found:e} in the user's order", model.name());
    let observables = model.standard_observables();
    let here = solution.state_averages(0, &observables).unwrap();
    let there = averages_on_host::<f64>(model, &[&vector], &observables).unwrap();
    for observable in &observables {
        let values =
            |averages: &Averages| averages.get(&observable.name).map_or_else(Vec::new, |average| average.values());
        let (here, there) = (values(&here), values(&there));
        assert_eq!(here.len(), there.len());
        for (a, b) in here.iter().zip(&there) {
            assert!((a - b).abs() < 1e-9, "{}: {}: {a}, expected {b}", model.name(), observable.name);
        }
    }
}

#[test]
fn spins_in_a_field_that_tells_sites_apart() {
    check(&model("spin 1/2", "sum(<i, j> in bonds; sdots(i, j)) + sum(i in sites; 0.05 * i * sz(i))", "two_sz = 0"));
}

#[test]
fn fermions_whose_order_has_signs() {
    let hop = "sum(<i, j> in bonds; -1.0 * (cdag(i) * c(j) + h.c.) + 0.7 * n(i) * n(j))";
    check(&model("spinless", &format!("{hop} + sum(i in sites; 0.03 * i * n(i))"), "particles = 9"));
}

#[test]
fn complex_fermions_with_a_gauge() {
    let phase = "((0.7 * (i * i - j * j)).cos() + I * (0.7 * (i * i - j * j)).sin())";
    let hop = format!("sum(<i, j> in bonds; -1.0 * ({phase} * cdag(i) * c(j) + h.c.) + 0.7 * n(i) * n(j))");
    let model = model("spinless", &format!("{hop} + sum(i in sites; 0.03 * i * n(i))"), "particles = 9");
    assert!(model.is_complex() && !model.working().is_complex());
    check(&model);
}

#[test]
fn complex_fermions() {
    let hop = "sum(<i, j> in bonds; -1.0 * ((0.8 + 0.6 * I) * cdag(i) * c(j) + h.c.) + 0.7 * n(i) * n(j))";
    check(&model("spinless", &format!("{hop} + sum(i in sites; 0.03 * i * n(i))"), "particles = 8"));
}

/// Chains keep the numbers of their sites; their states stand by the charge of half of them.
#[test]
fn states_by_the_charge_of_the_high_part() {
    let chain = |site: &str, h: &str, size: u32, sector: &str| {
        let text = format!(
            "[model]\nname = \"terms\"\nsite = \"{site}\"\nH = \"{h}\"\n[lattice]\nkind = \"chain\"\nsize = {size}\n\
             boundary = \"periodic\"\n[sector]\n{sector}\n"
        );
        ModelFile::parse("chain.toml", &text).unwrap().to_model().unwrap()
    };
    let field = "sum(<i, j> in bonds; sdots(i, j)) + sum(i in sites; 0.05 * i * sz(i))";
    let hop = "sum(<i, j> in bonds; -1.0 * ((0.8 + 0.6 * I) * cdag(i) * c(j) + h.c.) + 0.7 * n(i) * n(j))";
    let exchange = "sum(<i, j> in bonds, s in [Up, Down]; -1.0 * (cdag(i, s) * c(j, s) + h.c.)) + sum(<i, j> in bonds; 0.6 * sdots(i, j)) \
                    + sum(i in sites; 0.1 * i * n(i, Up))";
    for model in [
        chain("spin 1/2", field, 18, "two_sz = 0"),
        chain("spin 1", field, 11, "two_sz = 2"),
        chain("spinless", hop, 17, "particles = 8"),
        chain("electron", exchange, 9, "particles = 9"),
    ] {
        let places = |model: &Model| model.sources().into_iter().find(|line| line.contains("other numbers"));
        assert_eq!(places(model.working()), None);
        devices().iter().for_each(|device| check_on(&model, device));
    }
}
