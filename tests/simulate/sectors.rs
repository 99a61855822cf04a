//! Small sectors of many sites: tables by the sector and not by all words, searched lists, words of 64 bits; on the CPU and
//! in the simulator against the dense matrix.

use super::{devices, multiply::check};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{Dense, GeneralMultiply, InSector, Model, MultiplyPlan};
use eigenforge::lattice::Lattice;
use eigenforge::operator::{Operator, OperatorError, Spin, build};
use eigenforge::runtime::Device;
use eigenforge_templates::ScalarType;
use proptest::prelude::*;
use std::f64::consts::PI;

fn compare(model: &Model) -> MultiplyPlan {
    let dense = model.dense().unwrap();
    let prepared = model.multiply(ScalarType::F64).unwrap();
    let cpu = [Device::cpu()];
    check::<f64>(&cpu, model, &prepared, &dense);
    check::<f32>(&cpu, model, &model.multiply(ScalarType::F32).unwrap(), &dense);
    check::<f64>(&devices(), model, &prepared, &dense);
    prepared
}

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

/// Random couplings between random pairs, a field, and terms of three sites.
pub fn spins(two_s: u32, sites: usize, two_sz: i64, numbers: &[usize]) -> Model {
    let mut h = Operator::zero();
    for (k, numbers) in numbers.windows(3).enumerate() {
        let (i, j, l) = (numbers[0] % sites, numbers[1] % sites, numbers[2] % sites);
        let value = 0.3 + 0.1 * (k % 7) as f64;
        if i != j {
            h = h + value * plus_adjoint(build::sp(i) * build::sm(j)) - 0.7 * (build::sz(i) * build::sz(j));
        }
        if i != j && j != l && i != l {
            h = h + 0.2 * plus_adjoint(build::sz(i) * build::sp(j) * build::sm(l));
            h = h + 0.15 * (build::sz(i) * build::sz(j) * build::sz(l));
        }
        h = h + 0.05 * k as f64 * build::sz(l);
    }
    h.spin(two_s).on_sites(sites).two_sz(two_sz).unwrap()
}

/// Hops within a species that carry a density of the same species, a field, repulsion of pairs and of three; with `pairs`
/// also hops of both electrons of a site.
fn electrons(sites: usize, up: usize, down: usize, numbers: &[usize], pairs: bool) -> Result<Model, OperatorError> {
    let mut h = Operator::zero();
    for (k, numbers) in numbers.windows(3).enumerate() {
        let (i, j, l) = (numbers[0] % sites, numbers[1] % sites, numbers[2] % sites);
        let value = 0.4 + 0.1 * (k % 5) as f64;
        for spin in [Spin::Up, Spin::Down] {
            if i != j && j != l && i != l {
                let hop = build::cdag(i, spin) * build::c(j, spin);
                h = h - value * plus_adjoint(hop.clone()) + 0.2 * plus_adjoint(hop * build::n(l, spin));
            }
            h = h + 0.03 * k as f64 * build::n(l, spin);
        }
        h = h + 1.5 * (build::n(i, Spin::Up) * build::n(i, Spin::Down)) + 0.3 * (build::n_total(i) * build::n_total(j));
        h = h + 0.6 * (build::n(i, Spin::Up) * build::n(j, Spin::Down) * build::n(l, Spin::Up));
        if pairs && i != j {
            let both = build::cdag(i, Spin::Up) * build::cdag(i, Spin::Down);
            h = h + 0.2 * plus_adjoint(both * build::c(j, Spin::Down) * build::c(j, Spin::Up));
        }
    }
    h.on_sites(sites).sector(Up(up), Down(down))
}

fn searches(multiply: &MultiplyPlan) -> bool {
    let way = multiply.way::<GeneralMultiply>().expect("general operators only");
    assert_eq!(way.plan.is_direct(), way.tables.direct.is_some());
    way.tables.direct.is_none()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, ..ProptestConfig::default() })]

    /// Zero to two flips away from full alignment either way, on as many sites as 64 bits hold and somewhat fewer.
    #[test]
    fn spins_of_few_magnons(
        (two_s, sites) in prop_oneof![
            (Just(1u32), 34usize..=64), (Just(2), 18usize..=32), (Just(3), 18usize..=32), (Just(5), 11usize..=21),
        ],
        flips in 0i64..=2, up in any::<bool>(), numbers in prop::collection::vec(0usize..1000, 12),
    ) {
        let full = sites as i64 * i64::from(two_s);
        let two_sz = if up { full - 2 * flips } else { 2 * flips - full };
        // Two flips of 64 spins are 2,016 states: a dense matrix of 32 MB.
        let model = spins(two_s, sites, two_sz, &numbers);
        let lone = if two_s > 1 { sites } else { 0 };
        let states = [1, sites, sites * (sites - 1) / 2 + lone][flips as usize];
        prop_assert_eq!(model.dimension(), states as u64);
        prop_assert!(searches(&compare(&model)) && model.table_bytes() < 1 << 18);
    }

    /// Words of more than 32 bits a species, and up and down words that together have more than 64.
    #[test]
    fn electrons_on_many_sites(
        sites in 33usize..=64, (up, down) in prop_oneof![Just((1usize, 0usize)), Just((0, 1)), Just((2, 0)), Just((0, 0))],
        holes in any::<bool>(), numbers in prop::collection::vec(0usize..1000, 12),
    ) {
        let (up, down) = if holes { (sites - up, down) } else { (up, down) };
        let model = electrons(sites, up, down, &numbers, false).unwrap();
        prop_assert!(model.is_kronecker());
        compare(&model);
    }

    /// Both species at once, up to the last site that fits.
    #[test]
    fn electrons_that_move_in_pairs(sites in 17usize..=32, holes in any::<bool>(), numbers in prop::collection::vec(0usize..1000, 12)) {
        let (up, down) = if holes { (sites - 1, 1) } else { (1, 1) };
        let model = electrons(sites, up, down, &numbers, true).unwrap();
        if !model.is_kronecker() {
            prop_assert!(searches(&compare(&model)));
        }
    }
}

/// One electron of each species on 40 sites: words of 64 bits in both halves, and a diagonal of both.
#[test]
fn two_electrons_on_forty_sites() {
    let numbers: Vec<usize> = (0..20).map(|k| 7 * k * k + 3).collect();
    let model = electrons(40, 1, 1, &numbers, false).unwrap();
    assert_eq!(model.dimension(), 1600);
    compare(&model);
}

fn ground_energy(model: &Model) -> f64 {
    Dense::new(model).run(&Device::cpu()).unwrap().energy()
}

/// A magnon of a ring has E = N S² − 2S (1 − cos k), in units of J > 0 (Bloch 1930); the lowest is that of k = π, or next
/// to it on odd rings.
#[test]
fn a_magnon_of_a_long_ring_has_bloch_s_energy() {
    for (two_s, sites) in [(1u32, 64usize), (1, 63), (1, 62), (1, 56), (3, 31), (2, 32)] {
        let ring = (0..sites).map(|i| build::sdots(i, (i + 1) % sites)).sum::<Operator>();
        let model = ring.spin(two_s).two_sz(sites as i64 * i64::from(two_s) - 2).unwrap();
        assert_eq!(model.dimension(), sites as u64);
        let s = 0.5 * f64::from(two_s);
        let k = 2.0 * PI * (sites / 2) as f64 / sites as f64;
        let expected = sites as f64 * s * s - 2.0 * s * (1.0 - k.cos());
        let found = ground_energy(&model);
        assert!((found - expected).abs() < 1e-11 * expected, "{sites} sites of spin {s}: {found}, {expected}");
    }
}

/// E = −2t Σ cos k over the lowest momenta; where the other species is full, plus U for each electron.
#[test]
fn an_electron_on_sixty_sites_moves_freely() {
    for (sites, up, down, expected) in [
        (60usize, 1usize, 0usize, -2.0),
        (64, 0, 1, -2.0),
        (64, 64, 1, -2.0 + 4.0),
        (35, 2, 0, -2.0 - 2.0 * (2.0 * PI / 35.0).cos()),
    ] {
        let lattice = Lattice::chain(sites).periodic();
        let (bonds, zero) = (vec![1.0; sites], vec![0.0; sites]);
        let h = eigenforge::models::hubbard(&lattice, &bonds, &vec![4.0; sites], &zero, 0.0, &[]);
        let found = ground_energy(&h.sector(Up(up), Down(down)).unwrap());
        assert!((found - expected).abs() < 1e-10, "{sites} sites, {up} + {down}: {found}, expected {expected}");
    }
}

/// What does not fit is refused by what it would need, before anything is listed.
#[test]
fn sectors_that_do_not_fit_are_refused_at_once() {
    let started = std::time::Instant::now();
    let ring = |sites: usize| (0..sites).map(|i| build::sdots(i, (i + 1) % sites)).sum::<Operator>();
    let text = |model: Result<Model, OperatorError>| match model {
        Ok(model) => panic!("{} was taken", model.name()),
        Err(error) => error.to_string(),
    };
    assert!(text(ring(129).two_sz(127)).contains("129 sites need 129 bits"));
    assert!(text(ring(65).two_sz(1)).contains("listed one by one"));
    assert!(text(ring(33).spin(3).two_sz(1)).contains("33 sites need 66 bits"));
    assert!(text(ring(64).two_sz(0)).contains("about 1.833e18 states"));
    assert!(text(electrons(65, 1, 0, &[1, 2, 3], false)).contains("65 sites need"));
    assert!(text(electrons(64, 32, 32, &[1, 2, 3], false)).contains("fix more charges, use a smaller lattice"));
    assert!(text(electrons(33, 16, 16, &[1, 2, 3], true)).contains("33 sites need 66 bits"));
    // Beyond 64 bits a small sector is listed.
    assert_eq!(ring(33).spin(3).two_sz(97).unwrap().dimension(), 33);
    assert_eq!(electrons(33, 1, 1, &[1, 2, 3], true).unwrap().dimension(), 33 * 33);
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
