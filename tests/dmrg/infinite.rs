//! The infinite-lattice algorithm: energies on the way and at the end, what the sweeps behind it make of it, what it refuses.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgError, DmrgResult, Mode, Options, StartVectors, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, spin_hubbard, xxz};
use eigenforge::operator::Operator;
use eigenforge::runtime::Device;

fn heisenberg(lattice: &Lattice) -> Operator {
    let (sites, bonds) = (lattice.sites().len(), lattice.bonds().len());
    xxz(lattice, &vec![1.0; bonds], &vec![1.0; bonds], &vec![0.0; sites], &vec![0.0; sites])
}

fn electrons(lattice: &Lattice, u: f64) -> Operator {
    let (sites, bonds) = (lattice.sites().len(), lattice.bonds().len());
    hubbard(lattice, &vec![1.0; bonds], &vec![u; sites], &vec![0.0; sites], 0.0, &vec![0.0; bonds])
}

fn options(states: usize, sweeps: usize) -> Options {
    Options { states: vec![states], sweeps, mode: Mode::Infinite, tolerance: 1e-10, ..Options::default() }
}

fn grown(operator: &Operator, numbers: Sector, options: &Options) -> DmrgResult {
    run(&Chain::new(operator, numbers, None).unwrap(), options, None, |_| {}).unwrap()
}

/// Bethe ansatz for 16, 20, 32 and 64 sites; the energy per site of the infinite chain is 1/4 − ln 2 (Hulthén 1938).
#[test]
fn a_heisenberg_chain_passes_the_energies_of_all_shorter_chains() {
    let found = grown(&heisenberg(&Lattice::chain(64).open()), Sector::Spins { two_sz: 0 }, &options(96, 0));
    assert_eq!(found.growth.len(), 30, "6, 8, … 64 sites");
    let exact = [(16, -6.911737145575), (20, -8.682473334399), (32, -13.997315618224), (64, -28.175424859743)];
    for (sites, energy) in exact {
        let step = found.growth.iter().find(|step| step.sites == sites).unwrap();
        assert!(
            step.energy - energy > -1e-8 && step.energy - energy < 1e-6,
            "{sites}: {} is not {energy}",
            step.energy
        );
    }
    let last = found.growth.last().unwrap();
    let bulk = 0.25 - 2f64.ln();
    // An open chain of n sites has π²/(48 n²) more (conformal invariance, v = π/2).
    assert!((last.energy_per_site.unwrap() - bulk).abs() < 1e-4, "{last:?}");
    assert!(last.predicted && last.products <= 12, "{last:?}");
    assert!(
        (found.energy - last.energy).abs() < 1e-6,
        "carried to the first bond: {} from {}",
        found.energy,
        last.energy
    );
    assert!(found.sweeps.is_empty());
    // The same from random vectors, as in the paper: the same energies for several times the products.
    let random = Options { start: StartVectors::Random, ..options(96, 0) };
    let random = grown(&heisenberg(&Lattice::chain(64).open()), Sector::Spins { two_sz: 0 }, &random);
    let end = random.growth.last().unwrap();
    assert!((end.energy - last.energy).abs() < 1e-6 && end.products > 2 * last.products, "{end:?}");
    assert!(random.growth.iter().all(|step| !step.predicted));
}

/// Sweeps behind growth: Bethe ansatz (Heisenberg 32; Hubbard 16 at U = 8 and half filling, 12 of 16 at U = 4).
#[test]
fn sweeps_go_on_from_the_grown_chain_to_the_exact_energy() {
    let chain = Lattice::chain(32).open();
    let found = grown(&heisenberg(&chain), Sector::Spins { two_sz: 0 }, &options(128, 20));
    assert!((found.energy + 13.997315618224).abs() < 1e-9, "{}", found.energy);
    assert!(found.sweeps.len() <= 4, "{} sweeps after growth", found.sweeps.len());
    let chain = Lattice::chain(16).open();
    let found = grown(&electrons(&chain, 8.0), Sector::Fermions { up: 8, down: 8 }, &options(400, 20));
    assert!((found.energy + 5.037134091652).abs() < 1e-9, "{}", found.energy);
    let found = grown(&electrons(&chain, 4.0), Sector::Fermions { up: 6, down: 6 }, &options(500, 20));
    assert!((found.energy + 12.358327288499).abs() < 2e-9, "{}", found.energy);
    assert!(found.variance.unwrap().abs() < 1e-8);
}

/// Odd lengths, magnetisation, second neighbours, ladders, spin 1 and flavours, against exact diagonalisation.
#[test]
fn chains_of_other_kinds_end_at_their_lowest_energy() {
    let compare = |name: &str, operator: Operator, sector: Sector| {
        let model = Model::new(operator.clone(), sector.clone()).unwrap();
        let expected = Lanczos::new(&model).tolerance(1e-9).run(&Device::cpu()).unwrap().energy();
        let found = grown(&operator, sector, &options(300, 20));
        assert!((found.energy - expected).abs() < 1e-9, "{name}: {} is not {expected}", found.energy);
        assert!(!found.growth.is_empty(), "{name}");
    };
    compare("odd", heisenberg(&Lattice::chain(11).open()), Sector::Spins { two_sz: 1 });
    compare("magnetised", heisenberg(&Lattice::chain(12).open()), Sector::Spins { two_sz: 4 });
    compare("spin one", heisenberg(&Lattice::chain(8).open()).spin(2), Sector::Spins { two_sz: 0 });
    let edges: Vec<_> = (0..11).map(|i| (i, i + 1, 1.0)).chain((0..10).map(|i| (i, i + 2, 0.4))).collect();
    compare("second neighbours", heisenberg(&Lattice::from_edges(12, &edges).unwrap()), Sector::Spins { two_sz: 0 });
    let ladder: Vec<_> = (0..10).map(|i| (i, i + 2, 1.0)).chain((0..6).map(|i| (2 * i, 2 * i + 1, 0.7))).collect();
    compare("ladder", heisenberg(&Lattice::from_edges(12, &ladder).unwrap()), Sector::Spins { two_sz: 0 });
    compare("electrons", electrons(&Lattice::chain(8).open(), 4.0), Sector::Fermions { up: 4, down: 3 });
    let flavours =
        |n: usize| spin_hubbard(&Lattice::chain(n).open(), 3, &vec![1.0; n - 1], &vec![2.0; n], &vec![0.0; n], 0.0);
    let numbers = || Sector::Flavours(vec![2, 2, 2]);
    let swept = Options { mode: Mode::Finite, ..options(200, 20) };
    let (a, b) = (grown(&flavours(6), numbers(), &options(200, 20)), grown(&flavours(6), numbers(), &swept));
    assert!((a.energy - b.energy).abs() < 1e-9, "{} and {}", a.energy, b.energy);
}

#[test]
fn chains_that_do_not_repeat_or_are_too_short_are_refused_by_name() {
    let why = |operator: &Operator, sector: Sector| {
        let chain = Chain::new(operator, sector, None).unwrap();
        run(&chain, &options(32, 4), None, |_| {}).unwrap_err()
    };
    let mut random = Random::new(3);
    let lattice = Lattice::chain(16).open();
    let disordered = xxz(&lattice, &random.numbers(15), &random.numbers(15), &[0.0; 16], &[0.0; 16]);
    let said = why(&disordered, Sector::Spins { two_sz: 0 });
    assert!(matches!(said, DmrgError::NotRepeated { sites: 16 }), "{said}");
    assert!(said.to_string().contains("use mode = \"finite\""), "{said}");
    let ring = heisenberg(&Lattice::chain(10).periodic());
    let said = why(&ring, Sector::Spins { two_sz: 0 });
    assert!(matches!(said, DmrgError::NotRepeated { .. } | DmrgError::TooShortToGrow { .. }), "{said}");
    let said = why(&heisenberg(&Lattice::chain(3).open()), Sector::Spins { two_sz: 1 });
    assert!(said.to_string().contains("mode = \"infinite\""), "{said}");
}

#[test]
fn a_grown_chain_is_saved_with_its_growth() {
    let folder = tempfile::tempdir().unwrap();
    let chain = Chain::new(&heisenberg(&Lattice::chain(20).open()), Sector::Spins { two_sz: 0 }, None).unwrap();
    let at = |resume| Checkpoint { folder: folder.path().into(), resume };
    let whole = run(&chain, &options(64, 20), None, |_| {}).unwrap();
    run(&chain, &options(64, 1), Some(&at(false)), |_| {}).unwrap();
    let resumed = run(&chain, &options(64, 20), Some(&at(true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1);
    assert_eq!(resumed.growth.len(), whole.growth.len());
    assert!((resumed.energy - whole.energy).abs() < 1e-10, "{} is not {}", resumed.energy, whole.energy);
}

/// One-site sweeps end in a state of the kept width whose energy is its expectation value: above the exact one (Bethe ansatz),
/// below that of the truncated state, and the same whichever sweeps come before.
#[test]
fn one_site_sweeps_give_a_variational_energy_of_the_kept_width() {
    let exact = -13.997315618224;
    let chain = Chain::new(&heisenberg(&Lattice::chain(32).open()), Sector::Spins { two_sz: 0 }, None).unwrap();
    let polished = |states: usize, mode| {
        let options = Options { mode, polish: true, ..options(states, 20) };
        run(&chain, &options, None, |_| {}).unwrap()
    };
    let (few, grown) = (polished(24, Mode::Finite), polished(24, Mode::Infinite));
    let record = few.polish.unwrap();
    assert!(few.energy > exact + 1e-9 && few.energy < exact + 1e-4, "{}", few.energy);
    assert!((few.energy - grown.energy).abs() < 1e-7, "{} and {}", few.energy, grown.energy);
    assert!(record.change < 1e-8 && record.sweeps <= 4, "{record:?}");
    assert!(few.cuts.iter().all(|cut| cut.states <= 24), "no cut is wider than what is kept");
    // ⟨H⟩ from the two-point correlations is the energy that is reported.
    let options = Options { correlations: true, polish: true, ..options(24, 20) };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    let sdots = found.averages.pairs("sdots").unwrap();
    let sum: f64 = (0..31).map(|i| sdots[[i, i + 1]]).sum();
    assert!((sum - found.energy).abs() < 1e-9, "{sum} is not {}", found.energy);
    let many = polished(128, Mode::Finite);
    assert!((many.energy - exact).abs() < 1e-9 && many.variance.unwrap().abs() < 1e-9, "{}", many.energy);
    // Fermion signs and a shuffled order: Hubbard 8 sites, U = 4 (Bethe ansatz).
    let operator = electrons(&Lattice::chain(8).open(), 4.0);
    let order = Some(vec![3, 0, 1, 2, 4, 5, 7, 6]);
    let chain = Chain::new(&operator, Sector::Fermions { up: 4, down: 4 }, order).unwrap();
    let options = Options { states: vec![256], polish: true, tolerance: 1e-10, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    assert!((found.energy + 4.235806999130).abs() < 1e-9, "{}", found.energy);
}
