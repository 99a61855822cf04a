//! Averages of sites against exact diagonalisation, and the extrapolation in discarded weight against the exact energy.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::runtime::Device;

#[test]
fn densities_and_moments_of_disordered_chains() {
    let mut random = Random::new(5);
    let lattice = Lattice::chain(6).open();
    let operator = hubbard(&lattice, &[1.0; 5], &[3.0; 6], &random.numbers(6), 0.0, &[0.0; 5]);
    let sector = Sector::Fermions { up: 3, down: 2 };
    let model = Model::new(operator.clone(), sector).unwrap();
    let exact = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().observables().unwrap();
    let order = vec![4, 2, 0, 1, 3, 5];
    let chain = Chain::new(&operator, sector, Some(order.clone())).unwrap();
    let found = run(&chain, &Options { tolerance: 1e-11, ..Options::default() }, None, |_| {}).unwrap();
    for (position, site) in order.into_iter().enumerate() {
        let densities = found.sites[position].densities.clone().unwrap();
        let (up, down, double) = (densities[0], densities[1], found.sites[position].pairs.unwrap());
        let expected = [
            exact.n_up.as_ref().unwrap()[site],
            exact.n_dn.as_ref().unwrap()[site],
            exact.double_occupancy.as_ref().unwrap()[site],
        ];
        for (found, expected) in [up, down, double].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "site {site}: {found} is not {expected}");
        }
        assert!((found.sites[position].sz - exact.sz[site]).abs() < 1e-6);
    }
    let lattice = Lattice::chain(7).open();
    let operator = xxz(&lattice, &[1.0; 6], &[1.0; 6], &random.numbers(7), &[0.0; 7]).spin(2);
    let model = Model::new(operator.clone(), Sector::Spins { two_sz: 2 }).unwrap();
    let exact = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().observables().unwrap();
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 2 }, None).unwrap();
    let found = run(&chain, &Options { tolerance: 1e-11, ..Options::default() }, None, |_| {}).unwrap();
    for (found, expected) in found.sites.iter().zip(&exact.sz) {
        assert!((found.sz - expected).abs() < 1e-6, "{} is not {expected}", found.sz);
    }
}

fn near(name: &str, found: &[Vec<f64>], order: &[usize], expected: impl Fn(usize, usize) -> f64) {
    for (row, i) in found.iter().zip(order) {
        for (found, j) in row.iter().zip(order) {
            let expected = expected(*i, *j);
            assert!((found - expected).abs() < 1e-6, "{name} of {i} and {j}: {found} is not {expected}");
        }
    }
}

#[test]
fn correlations_of_every_pair_of_sites() {
    let mut random = Random::new(6);
    let lattice = Lattice::chain(6).open();
    let operator = hubbard(&lattice, &[1.0; 5], &[3.0; 6], &random.numbers(6), 0.0, &[0.5; 5]);
    let sector = Sector::Fermions { up: 3, down: 2 };
    let spins = xxz(&lattice, &[1.0; 5], &[0.8; 5], &random.numbers(6), &[0.3; 6]).spin(2);
    for (operator, sector) in [(operator, sector), (spins, Sector::Spins { two_sz: 2 })] {
        let model = Model::new(operator.clone(), sector).unwrap();
        let exact = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().observables().unwrap();
        let order = vec![4, 2, 0, 1, 3, 5];
        let chain = Chain::new(&operator, sector, Some(order.clone())).unwrap();
        let options = Options { tolerance: 1e-11, correlations: true, ..Options::default() };
        let found = run(&chain, &options, None, |_| {}).unwrap().correlations.unwrap();
        near("SzSz", found.szsz.as_ref().unwrap(), &order, |i, j| exact.szsz[[i, j]]);
        near("S.S", found.sdots.as_ref().unwrap(), &order, |i, j| exact.sdots[[i, j]]);
        match (&found.nn, &exact.nn) {
            (Some(found), Some(exact)) => near("nn", found, &order, |i, j| exact[[i, j]]),
            (found, exact) => assert!(found.is_none() && exact.is_none()),
        }
    }
}

/// Free electrons in a random potential fill the lowest orbitals: ⟨c†_i c_j⟩ = Σ_k φ_k(i) φ_k(j), whatever the order of the
/// sites along the chain; with U the derivative of E by the hopping of a bond is −2 Σ_σ ⟨c†_iσ c_jσ⟩ (Hellmann, Feynman).
#[test]
fn one_particle_density_matrices_are_those_of_filled_orbitals() {
    let mut random = Random::new(8);
    let n = 8;
    let lattice = Lattice::chain(n).open();
    let (potential, hopping) = (random.numbers(n), random.numbers(n - 1));
    let operator = hubbard(&lattice, &hopping, &vec![0.0; n], &potential, 0.0, &vec![0.0; n - 1]);
    let one = faer::Mat::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => potential[i],
        1 => -hopping[i.min(j)],
        _ => 0.0,
    });
    let orbitals = one.self_adjoint_eigen(faer::Side::Lower).unwrap();
    let filled = |i: usize, j: usize, electrons: usize| -> f64 {
        (0..electrons).map(|k| orbitals.U()[(i, k)] * orbitals.U()[(j, k)]).sum()
    };
    let order = vec![4, 2, 7, 0, 1, 3, 6, 5];
    let chain = Chain::new(&operator, Sector::Fermions { up: 3, down: 5 }, Some(order.clone())).unwrap();
    let options = Options { tolerance: 1e-11, correlations: true, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap().correlations.unwrap();
    let modes = found.cdag_c.unwrap();
    assert_eq!(modes.len(), 2);
    near("c†↑ c↑", &modes[0], &order, |i, j| filled(i, j, 3));
    near("c†↓ c↓", &modes[1], &order, |i, j| filled(i, j, 5));
}

/// The weights of a cut add up to 1, their charges differ by what a kept state may hold, and of a sector without any
/// spread there is one.
#[test]
fn the_entanglement_spectrum_names_the_charges_of_the_left_part() {
    let lattice = Lattice::chain(8).open();
    let operator = xxz(&lattice, &[1.0; 7], &[1.0; 7], &[0.0; 8], &[0.0; 8]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let found = run(&chain, &Options { tolerance: 1e-11, ..Options::default() }, None, |_| {}).unwrap();
    let middle = &found.cuts[3];
    assert_eq!(middle.weights.len(), middle.charges.len());
    assert!((middle.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    // Four spins have a singlet ground state: 2Sz = 0 leads, then a triplet of equal weights.
    assert_eq!(middle.charges[0], [0]);
    let mut triplet: Vec<i32> = middle.charges[1..4].iter().map(|charges| charges[0]).collect();
    triplet.sort_unstable();
    assert_eq!(triplet, [-2, 0, 2]);
    assert!((middle.weights[1] - middle.weights[3]).abs() < 1e-4 * middle.weights[1], "{:?}", middle.weights);
}

/// Bethe ansatz: −13.997315618224 for 32 sites.
#[test]
fn settled_sweeps_at_several_sizes_extrapolate_towards_the_exact_energy() {
    let lattice = Lattice::chain(32).open();
    let operator = xxz(&lattice, &[1.0; 31], &[1.0; 31], &[0.0; 32], &[0.0; 32]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let states = vec![12, 12, 12, 12, 12, 12, 16, 16, 16, 16, 24];
    let options = Options { states, noise: Some(vec![1e-4, 1e-5]), tolerance: 1e-8, ..Options::default() };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    let extrapolated = found.extrapolated.expect("three numbers of states");
    let (exact, best) = (-13.997315618224, found.sweeps.last().unwrap().energy);
    assert!(extrapolated.points >= 2, "{extrapolated:?}");
    assert!((extrapolated.energy - exact).abs() < (best - exact).abs(), "{extrapolated:?}, best {best}");
    assert!((extrapolated.energy - exact).abs() < 3.0 * extrapolated.error, "{extrapolated:?}");
}
