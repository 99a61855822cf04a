//! Sweeps of one site whose bonds grow, against sweeps of two sites and exact diagonalisation.

use super::random::{Random, fermion_operator, graph, spin_operator};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgError, DmrgResult, Options, StartVectors, UpdateChoice, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, spin_hubbard, xxz};
use eigenforge::operator::Operator;
use eigenforge::operator::build::{imaginary_unit, scalar, sm, sp, sz};
use eigenforge::runtime::Device;

fn heisenberg(lattice: &Lattice) -> Operator {
    let (bonds, none) = (vec![1.0; lattice.bonds().len()], vec![0.0; lattice.sites().len()]);
    xxz(lattice, &bonds, &bonds, &none, &none)
}

fn expanding(states: usize) -> Options {
    Options { states: vec![states], update: UpdateChoice::Expanding, ..Options::default() }
}

fn result(chain: &Chain, options: &Options) -> DmrgResult {
    run(chain, options, None, |_| {}).unwrap()
}

fn exact(operator: &Operator, sector: &Sector) -> f64 {
    let model = Model::new(operator.clone(), sector.clone()).unwrap();
    Lanczos::new(&model).tolerance(1e-9).run(&Device::cpu()).unwrap().energy()
}

/// Random spins, electrons, flavours, products of several operators, on graphs and in any order, with all states and without noise.
#[test]
fn random_chains_have_their_exact_energies() {
    for seed in 0..40 {
        let mut random = Random::new(500 + seed);
        let sites = 4 + random.below(4);
        let lattice = graph(&mut random, sites, 0.4);
        let bonds = lattice.bonds().len();
        let (operator, sector) = match seed % 5 {
            0 | 1 => {
                let two_s = 1 + random.below(2) as u32;
                let operator = xxz(
                    &lattice,
                    &random.numbers(bonds),
                    &random.numbers(bonds),
                    &random.numbers(sites),
                    &random.numbers(sites),
                );
                (operator.spin(two_s), Sector::Spins { two_sz: (two_s as usize * sites % 2) as i64 })
            }
            2 => {
                let u: Vec<f64> = random.numbers(sites).iter().map(|x| 4.0 + 4.0 * x).collect();
                let (t, v) = (random.numbers(bonds), random.numbers(bonds));
                let operator = hubbard(&lattice, &t, &u, &random.numbers(sites), 0.3, &v);
                (operator, Sector::Fermions { up: 2, down: 1 + random.below(2) })
            }
            3 => (fermion_operator(&mut random, sites, 14), Sector::Fermions { up: 2, down: 2 }),
            _ => (spin_operator(&mut random, sites, 1, 18), Sector::Spins { two_sz: (sites % 2) as i64 }),
        };
        let expected = exact(&operator, &sector);
        let mut order: Vec<usize> = (0..sites).collect();
        (1..sites).rev().for_each(|k| order.swap(k, random.below(k + 1)));
        let chain = Chain::new(&operator, sector, Some(order)).unwrap();
        let noise = if seed.is_multiple_of(2) { Some(Vec::new()) } else { None };
        let found = result(&chain, &Options { noise, tolerance: 1e-12, ..expanding(300) });
        assert!((found.energy - expected).abs() < 1e-8, "seed {seed}: {} is not {expected}", found.energy);
        assert_eq!(found.warnings, Vec::<String>::new(), "seed {seed}");
    }
}

/// Four flavours with charges of their own, and a ring with a flux whose phases an auxiliary site carries.
#[test]
fn several_charges_and_complex_chains() {
    let lattice = Lattice::chain(5).open();
    let flavours = spin_hubbard(&lattice, 4, &[1.0; 4], &[3.0; 5], &[0.0; 5], 0.0);
    let sector = Sector::Flavours(vec![1, 1, 1, 1]);
    let chain = Chain::new(&flavours, sector, None).unwrap();
    let one = result(&chain, &Options { noise: Some(Vec::new()), ..expanding(400) });
    let two = result(&chain, &Options { states: vec![400], ..Options::default() });
    assert!((one.energy - two.energy).abs() < 1e-9, "{} is not {}", one.energy, two.energy);
    let phase = scalar(0.3f64.cos()) + 0.3f64.sin() * imaginary_unit();
    let ring = (0..8).map(|i| {
        let j = (i + 1) % 8;
        let hop = 0.5 * phase.clone() * sp(i) * sm(j);
        hop.clone() + hop.adjoint() + 0.7 * sz(i) * sz(j)
    });
    let operator = ring.fold(Operator::zero(), |sum, term| sum + term);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    assert!(chain.is_complex());
    let one = result(&chain, &Options { targets: 2, ..expanding(128) });
    let two = result(&chain, &Options { targets: 2, states: vec![128], ..Options::default() });
    for (one, two) in [(one.energy, two.energy), (one.excited[0].energy, two.excited[0].energy)] {
        assert!((one - two).abs() < 1e-9, "{one} is not {two}");
    }
}

/// States above the lowest stay orthogonal to those below.
#[test]
fn states_above_the_lowest() {
    let mut random = Random::new(77);
    let lattice = Lattice::chain(10).open();
    let (jxy, jz) = (random.numbers(9), random.numbers(9));
    let operator = xxz(&lattice, &jxy, &jz, &random.numbers(10), &random.numbers(10));
    let sector = Sector::Spins { two_sz: 0 };
    let model = Model::new(operator.clone(), sector.clone()).unwrap();
    let expected = Lanczos::new(&model).states(3).tolerance(1e-10).run(&Device::cpu()).unwrap();
    let found = result(&Chain::new(&operator, sector, None).unwrap(), &Options { targets: 3, ..expanding(64) });
    let energies = std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy));
    for (found, expected) in energies.zip(expected.energies()) {
        assert!((found - expected).abs() < 1e-8, "{found} is not {expected}");
    }
    assert!(found.excited.iter().all(|state| state.overlap < 1e-6));
}

/// A run goes on from any half sweep to the same energy; from a state of two sites it goes on too and says so.
#[test]
fn a_run_goes_on_and_names_the_other_update() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = |resume| Checkpoint { folder: folder.path().into(), resume };
    let chain = Chain::new(&heisenberg(&Lattice::chain(20).open()), Sector::Spins { two_sz: 0 }, None).unwrap();
    let whole = result(&chain, &expanding(48));
    run(&chain, &Options { sweeps: 2, ..expanding(48) }, Some(&checkpoint(false)), |_| {}).unwrap();
    let mut states: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    states.sort();
    // As if it had been killed in the second half of the second sweep.
    std::fs::remove_dir_all(states.pop().unwrap()).unwrap();
    let resumed = run(&chain, &expanding(48), Some(&checkpoint(true)), |_| {}).unwrap();
    assert_eq!((resumed.resumed, resumed.sweeps.len()), (1, whole.sweeps.len()));
    assert!((resumed.energy - whole.energy).abs() < 1e-10, "{} is not {}", resumed.energy, whole.energy);
    let other = Options { update: UpdateChoice::TwoSite, ..expanding(48) };
    let other = run(&chain, &other, Some(&checkpoint(true)), |_| {}).unwrap();
    assert!((other.energy - whole.energy).abs() < 1e-9, "{} is not {}", other.energy, whole.energy);
    let said = "resumed from a state of a run with update = expanding (here two-site)";
    assert!(other.warnings.iter().any(|warning| warning.contains(said)), "{:?}", other.warnings);
}

/// What one-site sweeps cannot do is refused by the name of the key.
#[test]
fn what_has_no_expansion_is_refused() {
    let chain = Chain::new(&heisenberg(&Lattice::chain(6).open()), Sector::Spins { two_sz: 0 }, None).unwrap();
    let refused = |options: Options| match run(&chain, &options, None, |_| {}).unwrap_err() {
        DmrgError::Option { option, .. } => option,
        error => panic!("{error}"),
    };
    assert_eq!(refused(Options { targets: 2, weights: Some(vec![1.0; 2]), ..expanding(8) }), "weights");
    assert_eq!(refused(Options { start: StartVectors::Random, ..expanding(8) }), "start");
}
