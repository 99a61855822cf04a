//! Every average of random vectors against the dense matrix of its own operator, on the CPU and, where
//! EIGENFORGE_TEST_DEVICE=cuda, on the card. (tests/simulate has the generated text on the simulated device.)

use crate::InSector;
use crate::{Model, averages_of, averages_on_host};
use eigenforge_core::basis::{Down, Sector, Up};
use eigenforge_core::observable::Observable;
use eigenforge_core::operator::{Factor, Operator, Spin, build};
use eigenforge_runtime::{Device, Vector};
use proptest::prelude::*;

fn devices() -> Vec<Device> {
    let mut devices = vec![Device::cpu()];
    if std::env::var("EIGENFORGE_TEST_DEVICE").is_ok_and(|device| device == "cuda") {
        devices.push(Device::cuda(0).expect("EIGENFORGE_TEST_DEVICE=cuda needs a CUDA device"));
    }
    devices
}

/// Any operator of a sector: averages depend on the sector alone.
fn spins(two_s: u32, sites: usize, two_sz: i64) -> Model {
    let field: Operator = (0..sites).map(build::sz).sum();
    field.spin(two_s).on_sites(sites).two_sz(two_sz).unwrap()
}

fn fermions(sites: usize, up: usize, down: usize) -> Model {
    let number: Operator = (0..sites).map(build::n_total).sum();
    number.on_sites(sites).sector(Up(up), Down(down)).unwrap()
}

/// Two vectors of a sector, normalised.
fn multiplet(model: &Model, seed: u64) -> Vec<Vec<f64>> {
    let random = |seed| {
        let vector = Device::cpu().random::<f64>(model.dimension() as usize, seed).unwrap().download().unwrap();
        let norm = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        vector.iter().map(|v| v / norm).collect()
    };
    vec![random(seed), random(seed + 1)]
}

/// Operators of up to four products of up to four ladder operators that conserve the sector's numbers, at random sites.
fn random_operators(model: &Model, seed: u64) -> Vec<Observable> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % n
    };
    let sites = model.sites();
    let mut product = || {
        let mut factors: Vec<Factor> = Vec::new();
        for _ in 0..1 + below(2) {
            let (i, j) = (below(sites), below(sites));
            match (model.sector(), below(3)) {
                (Sector::Fermions { .. }, kind) => {
                    let spin = if kind == 0 { Spin::Up } else { Spin::Down };
                    factors.extend([Factor::Create(spin, i), Factor::Annihilate(spin, j)]);
                }
                (_, 0) => factors.extend([Factor::Sz(i), Factor::Sz(j)]),
                _ => factors.extend([Factor::Raise(i), Factor::Lower(j)]),
            }
        }
        let coefficient = below(7) as f64 - 3.25;
        coefficient * Operator::product(&factors)
    };
    (0..6).map(|k| Observable::scalar(&format!("random {k}"), (0..1 + k % 4).map(|_| product()).sum())).collect()
}

/// Largest deviation of any average from that of its operator's dense matrix.
fn error(model: &Model, device: &Device, seed: u64) -> f64 {
    let vectors = multiplet(model, seed);
    let given: Vec<Vector<f64>> = vectors.iter().map(|vector| device.upload(vector).unwrap()).collect();
    let mut observables = model.standard_observables();
    observables.extend(random_operators(model, seed));
    let found = averages_of(model, &given.iter().collect::<Vec<_>>(), device, &observables).unwrap();
    let exact = |operator: &Operator| -> f64 {
        // The Hermitian part has the same average in a real state.
        let operator = (operator.clone() + operator.adjoint()) * 0.5;
        let operator = operator.spin(model.operator().two_s()).on_sites(model.sites());
        let matrix = Model::new(operator, model.sector().clone()).unwrap().dense().unwrap();
        let average = |v: &Vec<f64>| matrix.dot(&ndarray::aview1(v)).iter().zip(v).map(|(hv, v)| hv * v).sum::<f64>();
        vectors.iter().map(average).sum::<f64>() / vectors.len() as f64
    };
    let mut worst = 0.0f64;
    for observable in &observables {
        let values = found.get(&observable.name).unwrap().values();
        assert_eq!(values.len(), observable.operators.len());
        for (found, operator) in values.iter().zip(&observable.operators) {
            let error = (found - exact(operator)).abs();
            worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
        }
    }
    worst
}

fn check(model: &Model) {
    for device in devices() {
        let error = error(model, &device, 11);
        assert!(error < 1e-12, "{} on {}: error {error:e}", model.name(), device.name());
    }
}

#[test]
fn memcheck_averages_of_spins_of_every_length_and_sector() {
    for (two_s, sites, two_sz) in
        [(1, 1, 1), (1, 2, 0), (1, 9, 1), (1, 8, -8), (1, 8, 6), (2, 5, -2), (3, 4, 0), (5, 3, 1)]
    {
        check(&spins(two_s, sites, two_sz));
    }
}

#[test]
fn memcheck_averages_of_fermions_in_every_kind_of_sector() {
    for (sites, up, down) in [(1, 1, 1), (2, 1, 1), (5, 2, 3), (5, 0, 3), (5, 4, 0), (4, 4, 1), (4, 0, 0), (6, 3, 3)] {
        check(&fermions(sites, up, down));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn averages_of_random_sectors(two_s in 1u32..=4, sites in 1usize..=6, level in 0i64..=24, up in 0usize..=5, down in 0usize..=5) {
        let sites = if two_s > 1 { sites.min(4) } else { sites };
        let most = sites as i64 * i64::from(two_s);
        let spins = spins(two_s, sites, 2 * (level % (most + 1)) - most);
        prop_assert!(error(&spins, &Device::cpu(), 5) < 1e-12);
        let fermions = fermions(sites, up.min(sites), down.min(sites));
        prop_assert!(error(&fermions, &Device::cpu(), 5) < 1e-12);
    }
}

/// More rows and columns than one task takes: sums of 203,280 states add up, and do not know the number of threads.
#[test]
fn sums_of_several_tasks_are_whole_and_keep_their_bits() {
    let model = fermions(12, 6, 3);
    let vector = &multiplet(&model, 3)[0];
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| averages_on_host(&model, &[vector.as_slice()], &model.standard_observables()).unwrap())
    };
    let one = of(1);
    assert_eq!(one, of(3));
    let (up, down) = (one.sites("n_up").unwrap().sum(), one.sites("n_dn").unwrap().sum());
    assert!((up - 6.0).abs() < 1e-12 && (down - 3.0).abs() < 1e-12, "{up} {down}");
    assert!((one.pairs("nn").unwrap().sum() - 81.0).abs() < 1e-10);
}

#[test]
fn no_vector_has_averages_of_zero() {
    let model = spins(1, 4, 0);
    let none = averages_on_host::<f64>(&model, &[], &model.standard_observables()).unwrap();
    assert!(none.iter().flat_map(|(_, average)| average.values()).all(|value| value == 0.0));
}
