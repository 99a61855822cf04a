//! The kernels of averages, unmodified, under every schedule and both checks: the numbers of the CPU, the same bits each
//! time.

use super::devices;
use super::gallery::small_problems;
use super::multiply::start;
use super::shapes::{hubbard, spins};
use eigenforge::exact::{Model, Observables};
use eigenforge::runtime::Vector;

fn normalised(model: &Model, salt: usize) -> Vec<f64> {
    let values: Vec<f64> = start(model.dimension() as usize, salt);
    let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    values.iter().map(|v| v / norm).collect()
}

fn numbers(found: &Observables) -> Vec<f64> {
    let lists = [&found.n_up, &found.n_dn, &found.double_occupancy].into_iter().flatten().flatten();
    let matrices = found.szsz.iter().chain(&found.sdots).chain(found.nn.iter().flatten());
    lists.chain(&found.sz).chain(matrices).copied().collect()
}

fn check(model: &Model) {
    let vectors = [0, 1].map(|salt| normalised(model, salt));
    let expected = numbers(&Observables::of(model, &vectors.each_ref().map(Vec::as_slice)).unwrap());
    let mut bits: Option<Vec<u64>> = None;
    for device in devices() {
        let given: Vec<Vector<f64>> = vectors.iter().map(|vector| device.upload(vector).unwrap()).collect();
        let found = Observables::of_vectors(model, &given.iter().collect::<Vec<_>>(), &device);
        let found = numbers(&found.unwrap_or_else(|error| panic!("{}: {error}", model.name())));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-12, "{} number {k}: {found}, expected {expected}", model.name());
        }
        let found: Vec<u64> = found.iter().map(|value| value.to_bits()).collect();
        assert_eq!(bits.get_or_insert_with(|| found.clone()), &found, "{} between schedules", model.name());
    }
}

#[test]
fn averages_are_those_of_the_cpu() {
    for model in [hubbard(6, true, 3, 2, |_| 1.0), hubbard(4, false, 0, 3, |_| 1.0), spins(1, 11, 1), spins(2, 5, 2)] {
        check(&model);
    }
}

#[test]
fn averages_of_the_gallery() {
    small_problems().iter().for_each(check);
}
