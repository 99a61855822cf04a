//! Complex Hamiltonians that a gauge makes real: chains and trees with a phase on every bond.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Options, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::observable::{Names, read_observable};
use eigenforge::operator::Spin::{Down, Up};
use eigenforge::operator::build::{c, cdag, imaginary_unit, n, scalar, sdots, sm, sp, sz};
use eigenforge::operator::{Operator, SiteKind};
use eigenforge::runtime::Device;

/// e^{iφ} O + h.c.
fn turned(phase: f64, operator: Operator) -> Operator {
    let term = (scalar(phase.cos()) + phase.sin() * imaginary_unit()) * operator;
    term.clone() + term.adjoint()
}

/// The bonds of a tree, and a closed bond, whose phase makes the flux through the loop `flux`.
fn spins(random: &mut Random, flux: Option<f64>) -> Operator {
    let bonds = [[0, 1], [1, 2], [2, 3], [3, 4], [2, 5], [5, 6], [6, 7]];
    let phases = random.numbers(bonds.len());
    let mut h: Operator = bonds
        .iter()
        .zip(&phases)
        .map(|([i, j], phase)| turned(3.0 * phase, 0.5 * (sp(*i) * sm(*j))) + 0.7 * (sz(*i) * sz(*j)))
        .sum();
    if let Some(flux) = flux {
        // 2 → 3 → 4 → 2.
        h = h + turned(flux - 3.0 * (phases[2] + phases[3]), 0.5 * (sp(4) * sm(2)));
    }
    h + (0..8).map(|i| 0.3 * random.numbers(1)[0] * sz(i)).sum::<Operator>()
}

fn electrons(random: &mut Random) -> Operator {
    let phases = random.numbers(10);
    let hops = (0..5).flat_map(|i| [Up, Down].map(|s| (i, s)));
    let h: Operator =
        hops.zip(&phases).map(|((i, s), phase)| turned(3.0 * phase, -1.0 * (cdag(i, s) * c(i + 1, s)))).sum();
    h + (0..6).map(|i| (2.0 + 0.1 * i as f64) * (n(i, Up) * n(i, Down))).sum::<Operator>()
}

#[test]
fn phases_that_a_gauge_removes_leave_energies_and_averages_right() {
    let mut random = Random::new(21);
    let half_flux = std::f64::consts::PI;
    let of_spins = [
        ("current", "I * (sp(2) * sm(3) - sp(3) * sm(2))"),
        ("bond", "sp(2) * sm(3) + sp(3) * sm(2)"),
        ("flip", "sp(i) * sm(j)"),
        ("chirality", "I * (sp(0) * sm(1) * sz(5) - sp(1) * sm(0) * sz(5))"),
    ];
    let of_electrons = [
        ("current", "sum(i in sites; I * (cdag(i, Up) * c(0, Up) - cdag(0, Up) * c(i, Up)))"),
        ("hop", "cdag(i, Down) * c(j, Down)"),
        ("pair", "cdag(0, Up) * cdag(0, Down) * c(3, Down) * c(3, Up)"),
    ];
    let two_sz = Sector::Spins { two_sz: 0 };
    let cases = [
        (spins(&mut random, None), two_sz.clone(), SiteKind::Moments { two_s: 1 }, of_spins.as_slice()),
        (spins(&mut random, Some(half_flux)), two_sz, SiteKind::Moments { two_s: 1 }, &of_spins),
        (electrons(&mut random), Sector::Fermions { up: 3, down: 2 }, SiteKind::Electrons, &of_electrons),
    ];
    for (operator, sector, kind, texts) in cases {
        let sites = if kind == SiteKind::Electrons { 6 } else { 8 };
        let lattice = Lattice::chain(sites).open();
        let names = Names::new(vec![kind; sites], Some(&lattice), Vec::new());
        let observables: Vec<_> =
            texts.iter().map(|(name, text)| read_observable(name, text, &names).unwrap()).collect();
        let model = Model::new(operator.clone(), sector.clone()).unwrap();
        let exact = Lanczos::new(&model).tolerance(1e-11).run(&Device::cpu()).unwrap();
        let mut order: Vec<usize> = (0..sites).rev().collect();
        order.swap(0, 2);
        let chain = Chain::new(&operator, sector, Some(order)).unwrap();
        let options = Options { tolerance: 1e-12, observables: observables.clone(), ..Options::default() };
        let found = run(&chain, &options, None, |_| {}).unwrap();
        assert!((found.energy - exact.energies()[0]).abs() < 1e-9, "{} {}", found.energy, exact.energies()[0]);
        let expected = exact.state_averages(0, &observables).unwrap();
        let mut largest: f64 = 0.0;
        for (name, _) in texts {
            let (found, expected) = (found.averages.get(name).unwrap(), expected.get(name).unwrap());
            for (found, expected) in found.values().iter().zip(expected.values()) {
                assert!((found - expected).abs() < 1e-6, "{name}: {found} is not {expected}");
                largest = largest.max(expected.abs());
            }
        }
        assert!(largest > 0.1, "{largest}");
    }
}

#[test]
fn a_flux_that_no_gauge_removes_makes_a_chain_complex() {
    let of = |flux| Chain::new(&spins(&mut Random::new(22), Some(flux)), Sector::Spins { two_sz: 0 }, None).unwrap();
    assert!(of(0.4).is_complex() && !of(std::f64::consts::PI).is_complex());
    assert_eq!((of(0.4).sites, of(0.4).order.len()), (9, 8), "an auxiliary site carries the phases");
    let not_hermitian = imaginary_unit() * sz(0) + sdots(1, 2);
    let error = Chain::new(&not_hermitian, Sector::Spins { two_sz: 1 }, None).err().unwrap();
    assert!(error.to_string().contains("Hermitian"), "{error}");
}
