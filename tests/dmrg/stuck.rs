//! Searches that end in the wrong state, and how they are told.

use super::random::{Random, spin_operator};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::xxz;
use eigenforge::runtime::Device;

/// Nine random products on ten sites keep charges that no label knows, and from some seeds without noise the sweeps settle in
/// an excited state: an eigenstate, so its variance says nothing. The sector, diagonalised whole, does, and they are done again.
#[test]
fn an_eigenstate_that_is_not_the_lowest_is_left() {
    let operator = spin_operator(&mut Random::new(1), 10, 1, 9);
    let sector = Sector::Spins { two_sz: 0 };
    let model = Model::new(operator.clone(), sector.clone()).unwrap();
    let lowest = Lanczos::new(&model).tolerance(1e-9).run(&Device::cpu()).unwrap().energy();
    let chain = Chain::new(&operator, sector, None).unwrap();
    let mut again = 0;
    for seed in 1..7 {
        let (states, noise) = (vec![200, 200], Some(Vec::new()));
        let options = Options { states, noise, sweeps: 12, targets: 3, seed, ..Options::default() };
        let found = run(&chain, &options, None, |_| {}).unwrap();
        assert!((found.energy - lowest).abs() < 1e-8, "seed {seed}: {} is not {lowest}", found.energy);
        again += found.restarts.len();
    }
    assert!(again > 0, "no search was stuck");
}

/// Eight singlets across the middle need 256 states there; with 100 the energy settles, and the weight that is lost is said.
#[test]
fn states_that_are_too_few_are_said_to_be() {
    let pairs: Vec<_> = (0..8).map(|i| (i, i + 8, 1.0)).collect();
    let lattice = Lattice::from_edges(16, &pairs).unwrap();
    let operator = xxz(&lattice, &[1.0; 8], &[1.0; 8], &[0.0; 16], &[0.0; 16]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let found = run(&chain, &Options { states: vec![100], ..Options::default() }, None, |_| {}).unwrap();
    assert!(found.energy > -6.0 + 0.1, "eight singlets have -6: {}", found.energy);
    assert!(found.warnings.iter().any(|said| said.contains("are too few")), "{:?}", found.warnings);
    // Pair by pair along the chain two states are enough.
    let order = Some((0..16).map(|k| k / 2 + 8 * (k % 2)).collect());
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, order).unwrap();
    let found = run(&chain, &Options { states: vec![16], ..Options::default() }, None, |_| {}).unwrap();
    assert!((found.energy + 6.0).abs() < 1e-9 && found.warnings.is_empty(), "{}: {:?}", found.energy, found.warnings);
}

/// Noise lets states in that the start left out: sweeps with it keep others and end elsewhere than sweeps without.
#[test]
fn noise_changes_which_states_are_kept() {
    let lattice = Lattice::chain(30).open();
    let operator = xxz(&lattice, &[1.0; 29], &[1.0; 29], &[0.0; 30], &[0.0; 30]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let swept = |noise: Vec<f64>| {
        let options = Options { states: vec![24], noise: Some(noise), sweeps: 2, ..Options::default() };
        let last = *run(&chain, &options, None, |_| {}).unwrap().sweeps.last().unwrap();
        (last.energy, last.discarded)
    };
    let (plain, noisy) = (swept(Vec::new()), swept(vec![1e-2, 1e-2]));
    assert!((noisy.0 - plain.0).abs() > 1e-9 && noisy.1 != plain.1, "with noise {noisy:?}, without {plain:?}");
    let again = swept(Vec::new());
    assert!((again.0 - plain.0).abs() < 1e-12, "the same sweeps again: {again:?} and {plain:?}");
}
