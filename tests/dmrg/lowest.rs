//! Chains whose sweeps settle in an eigenstate that is not the lowest: what is found in the end, in which order, in which units.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, DmrgResult, Options, SweepStop, UpdateChoice, run};
use eigenforge::exact::{Dense, Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::operator::Operator;
use eigenforge::runtime::Device;
use eigenforge_benches::dmrg::random_chains::{Tally, many};

fn found(operator: &Operator, sector: Sector, options: &Options) -> DmrgResult {
    run(&Chain::new(operator, sector, None).unwrap(), options, None, |_| {}).unwrap()
}

fn levels(found: &DmrgResult) -> Vec<f64> {
    std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect()
}

fn exact(operator: &Operator, sector: Sector, states: usize) -> Vec<f64> {
    let model = Model::new(operator.clone(), sector).unwrap();
    let found = match model.dimension() {
        0..500 => Dense::new(&model).states(states).run(&Device::cpu()),
        _ => Lanczos::new(&model).states(states).tolerance(1e-10).run(&Device::cpu()),
    };
    found.unwrap().eigenpairs().values[..states].to_vec()
}

/// One bond of three moves spins, so each of the other two sites conserves its own: of ten seeds nine settled at −(1 + √5)/4.
fn broken_chain() -> Operator {
    let lattice = Lattice::chain(4).open();
    xxz(&lattice, &[1.0, 0.0, 0.0], &[0.0, -1.0, -1.0], &[0.0, 1.0, -1.0, 0.0], &[0.0; 4])
}

/// Twelve spins of an Ising model whose couplings move spins by 1/50 of them.
fn weakly_moving() -> Operator {
    let edges = [
        (0, 1, 1.519),
        (1, 2, -0.331),
        (2, 3, -1.599),
        (3, 4, 1.594),
        (4, 5, 1.268),
        (5, 6, 1.37),
        (6, 7, 0.193),
        (7, 8, 1.66),
        (8, 9, 0.367),
        (9, 10, 0.911),
        (10, 11, -0.32),
        (0, 7, 1.644),
        (2, 9, -1.375),
    ];
    let lattice = Lattice::from_edges(12, &edges).unwrap();
    // The model multiplies by the weights of the bonds.
    xxz(&lattice, &[0.02; 13], &[-1.0; 13], &[0.0; 12], &[0.0; 12])
}

#[test]
fn the_lowest_state_is_found_whatever_the_seed() {
    let cases = [
        (broken_chain(), Sector::Spins { two_sz: 0 }, -1.0),
        (weakly_moving(), Sector::Spins { two_sz: 2 }, -2.932_660_818_5),
    ];
    for (operator, sector, lowest) in cases {
        let mut again = 0;
        for seed in 1..=10 {
            let found = found(&operator, sector.clone(), &Options { states: vec![64], seed, ..Options::default() });
            assert!((found.energy - lowest).abs() < 1e-9, "seed {seed}: {} is not {lowest}", found.energy);
            assert_eq!((found.stop, &found.warnings), (SweepStop::Converged, &Vec::new()), "seed {seed}");
            assert!((found.check.as_ref().unwrap().energies[0] - lowest).abs() < 1e-9);
            assert!(found.restarts.iter().all(|restart| restart.energy_before > lowest + 1e-6));
            again += found.restarts.len();
        }
        assert!(again > 0, "no seed ended above the lowest state: this tests nothing");
    }
}

#[test]
fn several_states_are_ascending_and_none_is_missed() {
    let ising = |seed| {
        let (mut random, lattice) = (Random::new(seed), Lattice::chain(8).periodic());
        let jz = random.numbers(8);
        xxz(&lattice, &[0.0; 8], &jz, &random.numbers(8), &[0.0; 8])
    };
    for (operator, two_sz) in [(broken_chain(), 0), (weakly_moving(), 2), (ising(5), 0), (ising(6), 2)] {
        let sector = Sector::Spins { two_sz };
        let expected = exact(&operator, sector.clone(), 4);
        for weights in [None, Some(vec![1.0; 4])] {
            let options = Options { states: vec![64], targets: 4, weights, ..Options::default() };
            let found = found(&operator, sector.clone(), &options);
            let close = levels(&found).iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < 1e-8);
            assert!(close, "{:?} are not {expected:?}", levels(&found));
            assert_eq!(found.warnings, Vec::<String>::new());
        }
    }
}

/// A Hubbard chain in units from 1e-12 to 1e12, and under a potential that is constant in the sector: the same digits.
#[test]
fn units_and_constants_change_no_digit() {
    let lattice = Lattice::chain(8).open();
    let with = |t: f64, mu: f64| {
        let operator = hubbard(&lattice, &[t; 7], &[4.0 * t; 8], &[0.0; 8], mu, &[0.0; 7]);
        found(&operator, Sector::Fermions { up: 4, down: 4 }, &Options { states: vec![128], ..Options::default() })
    };
    let reference = with(1.0, 0.0);
    assert!((reference.energy + 4.235_806_999_130).abs() < 1e-9, "{}", reference.energy);
    for t in [1e-12, 1e-6, 1e-4, 0.3, 7.0, 1e6, 1e12] {
        let scaled = with(t, 0.0);
        assert!((scaled.energy / t - reference.energy).abs() < 1e-9, "t = {t:e}: {}", scaled.energy / t);
        assert_eq!(scaled.warnings, Vec::<String>::new(), "t = {t:e}");
        let double = |found: &DmrgResult| found.averages.sites("double_occupancy").unwrap().to_vec();
        for (a, b) in double(&scaled).iter().zip(double(&reference)) {
            assert!((a - b).abs() < 1e-6, "t = {t:e}");
        }
    }
    for mu in [1e3, -2e7] {
        let shifted = with(1.0, mu);
        let rest = shifted.energy + 8.0 * mu;
        assert!((rest - reference.energy).abs() < 1e-9 + 1e-15 * 8.0 * mu.abs(), "mu = {mu:e}: {rest}");
        assert_eq!((shifted.stop, shifted.sweeps.len()), (reference.stop, reference.sweeps.len()), "mu = {mu:e}");
    }
}

/// Too long to be diagonalised beside the sweeps, with two halves that exchange no spin: that is said.
#[test]
fn charges_that_no_sweep_moves_are_told_of_a_long_chain() {
    let lattice = Lattice::chain(40).open();
    let mut jxy = [1.0; 39];
    let long = |jxy: &[f64]| {
        let operator = xxz(&lattice, jxy, &[1.0; 39], &[0.0; 40], &[0.0; 40]);
        found(&operator, Sector::Spins { two_sz: 0 }, &Options { states: vec![48], ..Options::default() })
    };
    assert_eq!(long(&jxy).warnings, Vec::<String>::new());
    jxy[20] = 0.0;
    let halves = long(&jxy);
    assert!(halves.warnings.iter().any(|said| said.contains("conserves 1 more charge(s)")), "{:?}", halves.warnings);
}

/// A share of `eigenforge bench dmrg --random-chains N`; `EIGENFORGE_RANDOM_CHAINS` takes more of them.
#[test]
fn random_chains_and_graphs_have_their_exact_energies() {
    let count = std::env::var("EIGENFORGE_RANDOM_CHAINS").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    for update in [UpdateChoice::TwoSite, UpdateChoice::Expanding] {
        let mut shown = Vec::new();
        let tally = many(2026, (0, count), update, &mut shown).unwrap();
        let shown = String::from_utf8_lossy(&shown);
        let Tally { right, right_warned, wrong, restarted, skipped, .. } = tally;
        assert_eq!(wrong, 0, "{}: {shown}", update.name());
        assert!(100 * right_warned <= 3 * (right + right_warned), "{}: {tally:?}\n{shown}", update.name());
        assert!(restarted > 0 && 10 * skipped < count as usize, "{}: {tally:?}", update.name());
    }
}
