//! Random models against this project's exact diagonalisation: couplings of any range, ladders, rings, any order.

use super::random::{Random, fermion_operator, graph, spin_operator};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::Operator;
use eigenforge::runtime::Device;

/// The lowest energy of both, and the variance of the DMRG state.
fn compare(name: &str, operator: &Operator, sector: Sector, order: Option<Vec<usize>>, states: usize) {
    let model = Model::new(operator.clone(), sector.clone()).unwrap();
    let expected = Lanczos::new(&model).tolerance(1e-9).run(&Device::cpu()).unwrap().energy();
    let chain = Chain::new(operator, sector, order).unwrap();
    let options = Options { states: vec![states], tolerance: 1e-10, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    let variance = found.variance.unwrap();
    assert!((found.energy - expected).abs() < 1e-9, "{name}: {} is not {expected}", found.energy);
    assert!(variance.abs() < 1e-9, "{name}: variance {variance}");
    assert_eq!(found.warnings, Vec::<String>::new(), "{name}");
}

#[test]
fn spin_graphs_with_random_couplings_and_fields() {
    for (seed, two_s, sites, two_sz) in [(1, 1, 10, 0), (2, 1, 9, 3), (3, 2, 6, 2), (4, 3, 5, -1)] {
        let mut random = Random::new(seed);
        let lattice = graph(&mut random, sites, 0.5);
        let bonds = lattice.bonds().len();
        let (jxy, jz) = (random.numbers(bonds), random.numbers(bonds));
        let operator = xxz(&lattice, &jxy, &jz, &random.numbers(sites), &random.numbers(sites)).spin(two_s);
        compare(&format!("graph {seed}"), &operator, Sector::Spins { two_sz }, None, 300);
    }
}

#[test]
fn hubbard_graphs_with_random_hopping_repulsion_and_potential() {
    for (seed, sites, up, down) in [(11, 6, 3, 3), (12, 7, 4, 2), (13, 5, 0, 3)] {
        let mut random = Random::new(seed);
        let lattice = graph(&mut random, sites, 0.4);
        let bonds = lattice.bonds().len();
        let (t, v) = (random.numbers(bonds), random.numbers(bonds));
        let u: Vec<f64> = random.numbers(sites).iter().map(|x| 4.0 + 4.0 * x).collect();
        let operator = hubbard(&lattice, &t, &u, &random.numbers(sites), 0.3, &v);
        compare(&format!("graph {seed}"), &operator, Sector::Fermions { up, down }, None, 300);
    }
}

#[test]
fn products_of_four_fermions_and_of_three_spins_in_a_shuffled_order() {
    let operator = fermion_operator(&mut Random::new(21), 6, 24);
    let order = Some(vec![3, 0, 5, 1, 4, 2]);
    compare("four fermions", &operator, Sector::Fermions { up: 3, down: 2 }, order, 400);
    let operator = spin_operator(&mut Random::new(22), 8, 1, 30);
    let order = Some(vec![3, 0, 5, 1, 7, 4, 2, 6]);
    compare("three spins", &operator, Sector::Spins { two_sz: 0 }, order, 300);
}

#[test]
fn ladders_rings_and_extended_interactions() {
    let ladder = Lattice::ladder([5, 2]).open();
    let bonds = ladder.bonds().len();
    let operator = xxz(&ladder, &vec![1.0; bonds], &vec![0.7; bonds], &[0.0; 10], &[0.0; 10]);
    compare("ladder", &operator, Sector::Spins { two_sz: 0 }, None, 200);
    let ring = Lattice::chain(8).periodic();
    let operator = hubbard(&ring, &[1.0; 8], &[4.0; 8], &[0.0; 8], 0.0, &[1.5; 8]);
    compare("ring", &operator, Sector::Fermions { up: 4, down: 3 }, None, 500);
}
