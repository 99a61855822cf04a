//! The kernels of averages, unmodified, under every schedule and both checks: the numbers of the CPU, the same bits each
//! time.

use super::devices;
use super::gallery::small_problems;
use super::multiply::start;
use super::shapes::{hubbard, one_of, spins};
use eigenforge::exact::{InSector, Lobpcg, Model, averages_of, averages_on_host};
use eigenforge::observable::{Averages, Observable};
use eigenforge::operator::{Operator, SiteKind, build};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::simulated;
use eigenforge::runtime::{Checks, Device, Vector};

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
    list.push(Observable::scalar("three", z(0) * z(1 % sites) * z(2 % sites)));
    list.push(Observable::scalar("four", flip(0, 1 % sites) * flip(2 % sites, 3 % sites)));
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

/// What a solve prepares for announced observables changes no bit of them, nor of others; with phases that a gauge removes too.
#[test]
fn announced_observables_have_the_averages_of_others() {
    let turned = |i: usize| {
        let bond = build::sp(i) * build::sm(i + 1);
        (0.6 * bond.clone() + 0.8 * (build::imaginary_unit() * bond)) * (0.5 + 0.1 * i as f64)
    };
    let open: Operator = (0..5).map(turned).map(|bond| bond.clone() + bond.adjoint()).sum();
    for model in [hubbard(4, true, 2, 1, |_| 1.0), open.on_sites(6).two_sz(0).unwrap()] {
        // Solves launch the same kernels again and again.
        let Some(device) = simulated(Schedule::Forward, Checks::Watched) else { return };
        let list = model.standard_observables();
        let solve = || Lobpcg::new(&model).tolerance(1e-8);
        let mut announced = solve();
        announced.problem.observables = list.clone();
        let announced = announced.run(&device).unwrap();
        let plain = solve().run(&device).unwrap();
        assert_eq!(announced.level_averages(&list).unwrap(), plain.level_averages(&list).unwrap(), "{}", model.name());
        let others = &list[..1];
        assert_eq!(announced.level_averages(others).unwrap(), plain.level_averages(others).unwrap());
        assert!(numbers(&announced.level_averages(&list).unwrap()).iter().any(|value| value.abs() > 0.01));
    }
}

/// Models of more states run under one schedule.
const LARGEST_UNDER_EVERY_SCHEDULE: u64 = 600;

#[test]
fn averages_of_the_gallery() {
    let (mut every, mut one) = (0, 0);
    for model in small_problems() {
        let devices = devices();
        if model.dimension() <= LARGEST_UNDER_EVERY_SCHEDULE {
            agree_on(&devices, &model);
            every += 1;
        } else {
            agree_on(one_of(&devices), &model);
            one += 1;
        }
    }
    assert!(every >= 5 && one >= 3, "{every} under every schedule, {one} under one");
}
