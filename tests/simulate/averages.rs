//! The kernels of averages, unmodified, under every schedule and both checks: the numbers of the CPU, the same bits each
//! time.

use super::devices;
use super::gallery::small_problems;
use super::multiply::start;
use super::shapes::{hubbard, spins};
use eigenforge::exact::{Model, averages_of, averages_on_host};
use eigenforge::observable::{Averages, Observable};
use eigenforge::operator::{SiteKind, build};
use eigenforge::runtime::{Device, Vector};

fn normalised(model: &Model, salt: usize) -> Vec<f64> {
    let values: Vec<f64> = start(model.dimension() as usize, salt);
    let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    values.iter().map(|v| v / norm).collect()
}

fn numbers(found: &Averages) -> Vec<f64> {
    found.iter().flat_map(|(_, average)| average.values()).collect()
}

/// The standard observables, and two of more sites.
fn observables(model: &Model) -> Vec<Observable> {
    let sites = model.sites();
    let mut list = model.standard_observables();
    let kinds = model.site_kinds();
    if kinds.iter().any(|kind| *kind != kinds[0]) {
        return list;
    }
    let fermions = kinds[0] == SiteKind::Electrons;
    let z = if fermions { build::electron_sz } else { build::sz };
    let flip = if fermions { build::electron_sdots } else { build::sdots };
    list.push(Observable::whole("three", z(0) * z(1 % sites) * z(2 % sites)));
    list.push(Observable::whole("four", flip(0, 1 % sites) * flip(2 % sites, 3 % sites)));
    list
}

fn check(model: &Model) {
    agree_on(&devices(), model);
}

/// The averages on these devices are those of the CPU, and the same bits on all.
pub fn agree_on(devices: &[Device], model: &Model) {
    let vectors = [0, 1].map(|salt| normalised(model, salt));
    let expected =
        numbers(&averages_on_host(model, &vectors.each_ref().map(Vec::as_slice), &observables(model)).unwrap());
    let mut bits: Option<Vec<u64>> = None;
    for device in devices {
        let given: Vec<Vector<f64>> = vectors.iter().map(|vector| device.upload(vector).unwrap()).collect();
        let found = averages_of(model, &given.iter().collect::<Vec<_>>(), device, &observables(model));
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
