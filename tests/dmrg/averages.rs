//! Averages of sites against exact diagonalisation, and the extrapolation in discarded weight against the exact energy.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::models::{hubbard, xxz};
use eigenforge::observable::{Averages, Names, read_observable};
use eigenforge::operator::SiteKind;
use eigenforge::runtime::Device;

#[test]
fn densities_and_moments_of_disordered_chains() {
    let mut random = Random::new(5);
    let lattice = Lattice::chain(6).open();
    let operator = hubbard(&lattice, &[1.0; 5], &[3.0; 6], &random.numbers(6), 0.0, &[0.0; 5]);
    let sector = Sector::Fermions { up: 3, down: 2 };
    let model = Model::new(operator.clone(), sector.clone()).unwrap();
    let exact = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().observables().unwrap();
    let order = vec![4, 2, 0, 1, 3, 5];
    let chain = Chain::new(&operator, sector, Some(order.clone())).unwrap();
    let found = run(&chain, &Options { tolerance: 1e-11, ..Options::default() }, None, |_| {}).unwrap();
    assert_close(&found.averages, &exact, &["n_up", "n_dn", "double_occupancy", "sz"]);
    let lattice = Lattice::chain(7).open();
    let operator = xxz(&lattice, &[1.0; 6], &[1.0; 6], &random.numbers(7), &[0.0; 7]).spin(2);
    let model = Model::new(operator.clone(), Sector::Spins { two_sz: 2 }).unwrap();
    let exact = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().observables().unwrap();
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 2 }, None).unwrap();
    let found = run(&chain, &Options { tolerance: 1e-11, ..Options::default() }, None, |_| {}).unwrap();
    assert_close(&found.averages, &exact, &["sz"]);
}

/// The averages of these names agree, site by site of the lattice.
fn assert_close(found: &Averages, expected: &Averages, names: &[&str]) {
    for name in names {
        let (found, expected) = (found.get(name).unwrap().values(), expected.get(name).unwrap().values());
        assert_eq!(found.len(), expected.len(), "{name}");
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-6, "{name}, number {k}: {found} is not {expected}");
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
        let model = Model::new(operator.clone(), sector.clone()).unwrap();
        let exact = Lanczos::new(&model).tolerance(1e-10).run(&Device::cpu()).unwrap().observables().unwrap();
        let chain = Chain::new(&operator, sector, Some(vec![4, 2, 0, 1, 3, 5])).unwrap();
        let options = Options { tolerance: 1e-11, correlations: true, ..Options::default() };
        let found = run(&chain, &options, None, |_| {}).unwrap().averages;
        assert_close(&found, &exact, &["szsz", "sdots"]);
        assert_eq!(found.get("nn").is_some(), exact.get("nn").is_some());
        if exact.get("nn").is_some() {
            assert_close(&found, &exact, &["nn"]);
        }
    }
}

/// Operators of one, two, three and four sites, whole and by site, Hermitian and not, in the lowest states of a ring of electrons and
/// of an open chain of spins 1, along an order that is not that of the lattice: as exact diagonalisation has them.
#[test]
fn observables_of_any_number_of_sites_are_those_of_exact_diagonalisation() {
    let mut random = Random::new(9);
    let ring = Lattice::chain(6).periodic();
    let electrons = hubbard(&ring, &[1.0; 6], &[3.0; 6], &random.numbers(6), 0.0, &[0.5; 6]);
    let open = Lattice::chain(5).open();
    let spins = xxz(&open, &[1.0; 4], &[0.8; 4], &random.numbers(5), &[0.3; 5]).spin(2);
    let of_electrons = [
        ("current", "sum(<i, j> in bonds; cdag(i, Up) * c(j, Up))"),
        ("energy_u", "sum(i in sites; 3.0 * n(i, Up) * n(i, Down))"),
        ("string", "(n(0) - 1.0) * (n(1) - 1.0) * (n(2) - 1.0) * (n(3) - 1.0)"),
        ("pair", "cdag(i, Up) * cdag(i, Down) * c(j, Down) * c(j, Up)"),
        ("assisted", "cdag(i, Up) * c(0, Up) * n(3, Down)"),
        ("ring", "cdag(0, Up) * c(1, Up) * cdag(3, Down) * c(2, Down)"),
        ("flip", "sp(0) * sm(4) + 2.0 * sz(1)"),
        ("none", "cdag(0, Up) * c(1, Down)"),
    ];
    let of_spins = [
        ("quadrupole", "sz(i) * sz(i) - 2.0 / 3.0"),
        ("four", "sp(0) * sp(0) * sm(2) * sm(2) + sz(1) * sz(3)"),
        ("chain", "sum(<i, j> in bonds; sdots(i, j) * sdots(i, j))"),
        ("cross", "sz(i) * sp(1) * sm(j)"),
    ];
    let kinds = [SiteKind::Electrons, SiteKind::Moments { two_s: 2 }];
    let sectors = [Sector::Fermions { up: 3, down: 2 }, Sector::Spins { two_sz: 2 }];
    let texts: [&[(&str, &str)]; 2] = [&of_electrons, &of_spins];
    for (k, (operator, lattice)) in [(electrons, &ring), (spins, &open)].into_iter().enumerate() {
        let sites = lattice.sites().len();
        let names = Names::new(vec![kinds[k]; sites], Some(lattice), Vec::new());
        let observables: Vec<_> =
            texts[k].iter().map(|(name, text)| read_observable(name, text, &names).unwrap()).collect();
        let model = Model::new(operator.clone(), sectors[k].clone()).unwrap();
        let exact = Lanczos::new(&model).states(2).tolerance(1e-11).run(&Device::cpu()).unwrap();
        let mut order: Vec<usize> = (0..sites).rev().collect();
        order.swap(0, 2);
        let chain = Chain::new(&operator, sectors[k].clone(), Some(order)).unwrap();
        let options = Options { tolerance: 1e-12, targets: 2, observables: observables.clone(), ..Options::default() };
        let found = run(&chain, &options, None, |_| {}).unwrap();
        assert_eq!(found.state_averages.len(), 2);
        for (state, averages) in found.state_averages.iter().enumerate() {
            let expected = exact.state_averages(state, &observables).unwrap();
            assert_close(averages, &expected, &texts[k].iter().map(|(name, _)| *name).collect::<Vec<_>>());
        }
        assert_eq!(found.averages.get(texts[k][0].0), found.state_averages[0].get(texts[k][0].0));
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
    let found = run(&chain, &options, None, |_| {}).unwrap().averages;
    for (name, electrons) in [("cdag_c_up", 3), ("cdag_c_dn", 5)] {
        let found = found.pairs(name).unwrap();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let expected = filled(i, j, electrons);
            assert!(
                (found[[i, j]] - expected).abs() < 1e-6,
                "{name} of {i} and {j}: {} is not {expected}",
                found[[i, j]]
            );
        }
    }
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
