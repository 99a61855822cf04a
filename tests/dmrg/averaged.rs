//! Several states in one set of kept states, against exact diagonalisation and against states with searches of their own.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{BasisChoice, Chain, Checkpoint, DmrgResult, Mode, Options, run};
use eigenforge::exact::{Dense, Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::Operator;
use eigenforge::runtime::Device;

fn levels(found: &DmrgResult) -> Vec<f64> {
    std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect()
}

fn exact(operator: &Operator, sector: Sector, states: usize) -> Vec<f64> {
    let model = Model::new(operator.clone(), sector).unwrap();
    let found = match model.dimension() {
        0..500 => Dense::new(&model).states(states).run(&Device::cpu()),
        _ => Lanczos::new(&model).states(states).tolerance(1e-9).run(&Device::cpu()),
    };
    found.unwrap().energies()[..states].to_vec()
}

/// With a basis for each state, and with a common one.
fn compare(name: &str, operator: &Operator, sector: Sector, order: Option<Vec<usize>>, weights: &[f64]) {
    for basis in [BasisChoice::Each, BasisChoice::Common] {
        compare_with(basis, name, operator, (sector.clone(), order.clone()), weights);
    }
}

fn compare_with(
    basis: BasisChoice,
    name: &str,
    operator: &Operator,
    (sector, order): (Sector, Option<Vec<usize>>),
    weights: &[f64],
) {
    let name = format!("{name}, {}", basis.name());
    let targets = weights.len();
    let expected = exact(operator, sector.clone(), targets);
    let chain = Chain::new(operator, sector, order).unwrap();
    let weighted = Some(weights.to_vec());
    let options =
        Options { states: vec![256], tolerance: 1e-11, targets, weights: weighted, basis, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    assert_eq!(found.warnings, Vec::<String>::new(), "{name}");
    let levels = levels(&found);
    assert_eq!(levels.len(), targets, "{name}");
    for (state, (energy, expected)) in levels.iter().zip(&expected).enumerate() {
        assert!((energy - expected).abs() < 2e-9, "{name}, state {state}: {energy} is not {expected}");
    }
    assert!(found.variance.unwrap().abs() < 1e-8, "{name}");
    for state in &found.excited {
        assert!(state.variance.unwrap().abs() < 1e-8 && state.overlap < 1e-8, "{name}: {state:?}");
    }
    let sum: f64 = weights.iter().sum();
    let average: f64 = weights.iter().zip(&levels).map(|(weight, level)| weight * level / sum).sum();
    assert!((found.average.unwrap() - average).abs() < 1e-12, "{name}");
}

fn disordered(sites: usize, seed: u64) -> Operator {
    let (lattice, bonds) = (Lattice::chain(sites).open(), vec![1.0; sites - 1]);
    let field: Vec<f64> = Random::new(seed).numbers(sites);
    xxz(&lattice, &bonds, &vec![0.8; sites - 1], &field, &vec![0.0; sites])
}

#[test]
fn the_lowest_states_of_disordered_chains_together() {
    compare("spins", &disordered(10, 71), Sector::Spins { two_sz: 0 }, None, &[1.0; 4]);
    let lattice = Lattice::chain(6).periodic();
    let field = Random::new(72).numbers(6);
    let operator = hubbard(&lattice, &[1.0; 6], &[4.0; 6], &field, 0.0, &[0.3; 6]);
    let order = Some(vec![0, 5, 1, 4, 2, 3]);
    compare("electrons", &operator, Sector::Fermions { up: 3, down: 2 }, order, &[3.0, 2.0, 1.0]);
}

/// The lowest level of an odd ring of spins, which two momenta share: both states are found, whichever mixtures come out.
#[test]
fn both_states_of_a_degenerate_level() {
    let operator = xxz(&Lattice::chain(7).periodic(), &[1.0; 7], &[1.0; 7], &[0.0; 7], &[0.0; 7]);
    let sector = Sector::Spins { two_sz: 1 };
    let level = exact(&operator, sector.clone(), 2);
    assert!((level[0] - level[1]).abs() < 1e-9, "meant to be degenerate: {level:?}");
    compare("ring", &operator, sector, Some(vec![0, 6, 1, 5, 2, 4, 3]), &[1.0, 1.0]);
}

/// Four states in all (one spin up among four), more than the bonds at the ends have room for.
#[test]
fn every_state_of_a_small_sector() {
    compare("one spin up", &disordered(4, 73), Sector::Spins { two_sz: -2 }, None, &[1.0; 4]);
}

#[test]
fn a_grown_chain_goes_on_with_several_states() {
    let bonds = [1.0; 11];
    let operator = xxz(&Lattice::chain(12).open(), &bonds, &bonds, &[0.0; 12], &[0.0; 12]);
    let sector = Sector::Spins { two_sz: 0 };
    let chain = Chain::new(&operator, sector.clone(), None).unwrap();
    let weights = Some(vec![1.0; 3]);
    let options = Options {
        states: vec![128],
        tolerance: 1e-10,
        targets: 3,
        weights,
        mode: Mode::Infinite,
        ..Options::default()
    };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    for (energy, expected) in levels(&found).iter().zip(exact(&operator, sector, 3)) {
        assert!((energy - expected).abs() < 1e-8, "{energy} is not {expected}");
    }
}

/// With too few states for all, what is kept follows the weights, and the average is a bound from above.
#[test]
fn few_states_go_to_whom_the_weights_give_them() {
    let (operator, sector) = (disordered(14, 74), Sector::Spins { two_sz: 0 });
    let expected = exact(&operator, sector.clone(), 3);
    let chain = Chain::new(&operator, sector, None).unwrap();
    let with = |weights: [f64; 3]| {
        let weights = Some(weights.to_vec());
        let options = Options { states: vec![12], tolerance: 1e-8, targets: 3, weights, ..Options::default() };
        run(&chain, &options, None, |_| {}).unwrap()
    };
    let (of_lowest, of_highest) = (with([98.0, 1.0, 1.0]), with([1.0, 1.0, 98.0]));
    let error = |found: &DmrgResult, state: usize| levels(found)[state] - expected[state];
    assert!(error(&of_lowest, 0) > 0.0 && error(&of_highest, 2) > 0.0, "truncated: bounds from above");
    assert!(error(&of_lowest, 0) < 0.5 * error(&of_highest, 0), "{:?}", (levels(&of_lowest), levels(&of_highest)));
    assert!(error(&of_highest, 2) < 0.5 * error(&of_lowest, 2), "{:?}", (levels(&of_lowest), levels(&of_highest)));
    let exact_average = (98.0 * expected[0] + expected[1] + expected[2]) / 100.0;
    assert!(of_lowest.average.unwrap() >= exact_average);
}

#[test]
fn a_killed_run_of_several_states_goes_on_to_the_same_energies() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = |resume| Checkpoint { folder: folder.path().into(), resume };
    let chain = Chain::new(&disordered(14, 75), Sector::Spins { two_sz: 0 }, None).unwrap();
    let weights = Some(vec![2.0, 1.0, 1.0]);
    let options =
        |sweeps| Options { states: vec![48], sweeps, targets: 3, weights: weights.clone(), ..Options::default() };
    let whole = run(&chain, &options(20), None, |_| {}).unwrap();
    run(&chain, &options(2), Some(&checkpoint(false)), |_| {}).unwrap();
    let resumed = run(&chain, &options(20), Some(&checkpoint(true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 2);
    for (found, expected) in levels(&resumed).iter().zip(levels(&whole)) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }
}
