//! Chains whose sites differ, and kinds of site beside electrons and moments, against exact diagonalisation.

use super::random::Random;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, DmrgResult, Mode, Options, conserved_charges, run};
use eigenforge::exact::{Lanczos, Model};
use eigenforge::lattice::Lattice;
use eigenforge::observable::{Names, Observable, read_observable};
use eigenforge::operator::Spin::{Down, Flavour, Up};
use eigenforge::operator::build::{
    b, bdag, c, cdag, electron_sm, electron_sp, electron_sz, n, pauli_x, pauli_z, sdots, sm, sp, sz,
};
use eigenforge::operator::{Charge, Operator, SiteKind};
use eigenforge::runtime::Device;

const HALF: SiteKind = SiteKind::Moments { two_s: 1 };
const ONE: SiteKind = SiteKind::Moments { two_s: 2 };

fn hermitian(operator: Operator) -> Operator {
    operator.clone() + operator.adjoint()
}

/// The lowest states and averages of an operator in a sector, by both methods.
fn compare(
    name: &str,
    operator: &Operator,
    charges: &[(Charge, i64)],
    order: Option<Vec<usize>>,
    texts: &[(&str, &str)],
    targets: usize,
) -> DmrgResult {
    let kinds = operator.kinds().unwrap().to_vec();
    let lattice = Lattice::chain(kinds.len()).open();
    let names = Names::new(kinds, Some(&lattice), Vec::new());
    let observables: Vec<Observable> =
        texts.iter().map(|(name, text)| read_observable(name, text, &names).unwrap()).collect();
    let sector = Sector::Charges(charges.to_vec());
    let model = Model::new(operator.clone(), sector.clone()).unwrap();
    let exact = Lanczos::new(&model).states(targets).tolerance(1e-10).run(&Device::cpu()).unwrap();
    let chain = Chain::new(operator, sector, order).unwrap();
    let options = Options {
        states: vec![128],
        tolerance: 1e-12,
        targets,
        correlations: true,
        observables: observables.clone(),
        ..Options::default()
    };
    let found = run(&chain, &options, None, |_| {}).unwrap();
    assert_eq!(found.warnings, Vec::<String>::new(), "{name}");
    let energies = std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy));
    for (state, (energy, expected)) in energies.zip(exact.energies()).enumerate() {
        assert!((energy - expected).abs() < 1e-9, "{name}, state {state}: {energy} is not {expected}");
    }
    assert!(found.variance.unwrap().abs() < 1e-9, "{name}: variance {:?}", found.variance);
    let expected = exact.state_averages(0, &observables).unwrap();
    for (text, _) in texts {
        let (found, expected) = (found.averages.get(text).unwrap(), expected.get(text).unwrap());
        for (place, (found, expected)) in found.values().iter().zip(expected.values()).enumerate() {
            assert!((found - expected).abs() < 5e-5, "{name}, {text} {place}: {found} is not {expected}");
        }
    }
    found
}

fn alternating(sites: usize, field: &[f64]) -> Operator {
    let kinds: Vec<SiteKind> = (0..sites).map(|i| if i % 2 == 0 { HALF } else { ONE }).collect();
    let bonds = (0..sites - 1).map(|i| sdots(i, i + 1)).sum::<Operator>();
    (bonds + field.iter().enumerate().map(|(i, h)| *h * sz(i)).sum::<Operator>()).on_kinds(&kinds)
}

#[test]
fn spins_of_two_lengths() {
    let mut random = Random::new(71);
    let texts = [
        ("sz2", "sz(i) * sz(i)"),
        ("zz", "sz(i) * sz(j)"),
        ("flip", "sp(i) * sm(j)"),
        ("three", "sz(0) * sp(1) * sm(4)"),
    ];
    let clean = alternating(8, &[0.0; 8]);
    // The ferrimagnet of Lieb and Mattis: total spin 2 for four of each.
    compare("ferrimagnet", &clean, &[(Charge::TwoSz, 4)], None, &texts, 2);
    let order = Some(vec![3, 0, 1, 2, 6, 5, 4, 7]);
    compare("disordered", &alternating(8, &random.numbers(8)), &[(Charge::TwoSz, 0)], order, &texts, 3);
}

#[test]
fn a_chain_of_two_lengths_can_be_grown() {
    let chain = Chain::new(&alternating(16, &[0.0; 16]), Sector::Spins { two_sz: 8 }, None).unwrap();
    let options = |mode| Options { states: vec![96], tolerance: 1e-12, mode, ..Options::default() };
    let [swept, grown] = [Mode::Finite, Mode::Infinite].map(|mode| run(&chain, &options(mode), None, |_| {}).unwrap());
    assert!(!grown.growth.is_empty());
    assert!((swept.energy - grown.energy).abs() < 1e-9, "{} is not {}", grown.energy, swept.energy);
}

/// Electrons, each beside a moment.
fn kondo(cells: usize, spin: SiteKind, coupling: f64) -> Operator {
    let kinds: Vec<SiteKind> = (0..2 * cells).map(|i| if i % 2 == 0 { SiteKind::Electrons } else { spin }).collect();
    let hops = (0..cells - 1).flat_map(|i| [Up, Down].map(|s| hermitian(-1.0 * (cdag(2 * i, s) * c(2 * i + 2, s)))));
    let exchange = (0..cells).map(|i| {
        let (e, s) = (2 * i, 2 * i + 1);
        coupling * (0.5 * (electron_sp(e) * sm(s) + electron_sm(e) * sp(s)) + electron_sz(e) * sz(s))
    });
    let repulsion = (0..cells).map(|i| 1.5 * n(2 * i, Up) * n(2 * i, Down));
    (hops.sum::<Operator>() + exchange.sum::<Operator>() + repulsion.sum::<Operator>()).on_kinds(&kinds)
}

#[test]
fn kondo_chains() {
    let texts = [
        ("hop", "cdag(0, Up) * c(4, Up) + h.c."),
        ("far", "cdag(0, Down) * c(6, Down) + h.c."),
        ("kondo", "0.5 * (cdag(2, Up) * c(2, Down) * sm(7) + h.c.) + 0.5 * (n(2, Up) - n(2, Down)) * sz(7)"),
        ("double", "n(0, Up) * n(0, Down) + n(6, Up) * n(6, Down)"),
        ("charges", "n(0) * n(2)"),
    ];
    let operator = kondo(4, HALF, 2.3);
    assert_eq!(conserved_charges(&operator), [Charge::Particles, Charge::TwoSz]);
    let found = compare("half filled", &operator, &[(Charge::Particles, 4), (Charge::TwoSz, 0)], None, &texts, 2);
    assert!(found.averages.get("sz").is_some());
    let order = Some(vec![1, 0, 2, 3, 7, 6, 4, 5]);
    compare("order", &operator, &[(Charge::Particles, 3), (Charge::TwoSz, 1)], order, &texts, 1);
    compare("spin 1", &kondo(3, ONE, -0.8), &[(Charge::Particles, 2), (Charge::TwoSz, 2)], None, &texts[..1], 2);
}

#[test]
fn bosons_qubits_tj_and_spinless_fermions() {
    let boson = SiteKind::Bosons { most: 3 };
    let hops = |sites: usize| (0..sites - 1).map(|i| hermitian(-0.7 * (bdag(i) * b(i + 1)))).sum::<Operator>();
    let pairs = |i: usize| 0.9 * bdag(i) * bdag(i) * b(i) * b(i);
    let bose = (hops(6) + (0..6).map(pairs).sum::<Operator>()).on_kinds(&[boson; 6]);
    compare("Bose-Hubbard", &bose, &[(Charge::Bosons, 5)], None, &[("n", "n(i)"), ("hop", "bdag(i) * b(j)")], 2);
    let ising = (0..7).map(|i| -1.0 * pauli_z(i) * pauli_z(i + 1)).sum::<Operator>()
        + (0..8).map(|i| -1.3 * pauli_x(i) + 0.2 * pauli_z(i)).sum::<Operator>();
    compare("qubits", &ising.on_kinds(&[SiteKind::Qubits; 8]), &[], None, &[("x", "X(i)"), ("zz", "Z(i) * Z(j)")], 2);
    let tj =
        (0..6).flat_map(|i| [Up, Down].map(|s| hermitian(-1.0 * (cdag(i, s) * c((i + 1) % 7, s))))).sum::<Operator>()
            + (0..6).map(|i| 0.4 * electron_sz(i) * electron_sz(i + 1)).sum::<Operator>()
            + (0..6).map(|i| hermitian(0.2 * (electron_sp(i) * electron_sm(i + 1)))).sum::<Operator>();
    let tj = tj.on_kinds(&[SiteKind::Tj; 7]);
    compare(
        "t-J",
        &tj,
        &[(Charge::Up, 2), (Charge::Down, 2)],
        None,
        &[("n", "n(i)"), ("hop", "cdag(i, Up) * c(j, Up)")],
        2,
    );
    let f = Flavour(0);
    let kitaev = (0..7)
        .map(|i| hermitian(-1.0 * (cdag(i, f) * c(i + 1, f)) + 0.6 * (cdag(i, f) * cdag(i + 1, f))))
        .sum::<Operator>()
        + (0..8).map(|i| 0.7 * n(i, f)).sum::<Operator>();
    let kitaev = kitaev.on_kinds(&[SiteKind::Flavours(1); 8]);
    compare("Kitaev chain", &kitaev, &[], None, &[("n", "n(i)"), ("hop", "cdag(i) * c(j)")], 2);
}

/// A boson on every bond of electrons' sites (Holstein), and sites that share nothing.
#[test]
fn electrons_with_bosons_and_four_kinds_in_one_chain() {
    let boson = SiteKind::Bosons { most: 2 };
    let kinds = [SiteKind::Electrons, boson, SiteKind::Electrons, boson, SiteKind::Electrons, boson];
    let hops = [0, 2].into_iter().flat_map(|i| [Up, Down].map(|s| hermitian(-1.0 * (cdag(i, s) * c(i + 2, s)))));
    let phonons = [0, 2, 4]
        .into_iter()
        .map(|i| bdag(i + 1) * b(i + 1) + 0.5 * (n(i, Up) + n(i, Down)) * (bdag(i + 1) + b(i + 1)));
    let holstein = (hops.sum::<Operator>() + phonons.sum::<Operator>()).on_kinds(&kinds);
    let texts = [("n", "sum(i in sites; n(i))"), ("x", "b(1) + bdag(1)"), ("hop", "cdag(0, Up) * c(4, Up) + h.c.")];
    compare("Holstein", &holstein, &[(Charge::Up, 1), (Charge::Down, 1)], None, &texts, 2);
    let kinds =
        [SiteKind::Flavours(1), HALF, boson, SiteKind::Qubits, SiteKind::Flavours(1), ONE, SiteKind::Flavours(1)];
    let mut random = Random::new(72);
    let f = Flavour(0);
    let [x, y, z] = [0, 1, 2].map(|_| random.numbers(1)[0]);
    let several = hermitian(cdag(0, f) * c(4, f) * sz(1))
        + x * hermitian(cdag(4, f) * c(6, f) * bdag(2))
        + y * hermitian(sp(1) * sm(5))
        + z * hermitian(pauli_x(3) * bdag(2))
        + sz(1) * pauli_z(3)
        + 0.4 * bdag(2) * b(2)
        + 0.3 * hermitian(cdag(0, f) * c(6, f) * pauli_x(3));
    let texts = [("hop", "cdag(0) * c(6) + h.c."), ("qubit", "X(3)"), ("string", "cdag(0) * c(4) * Z(3) + h.c.")];
    compare("several", &several.on_kinds(&kinds), &[(Charge::Particles, 2)], None, &texts, 3);
}
