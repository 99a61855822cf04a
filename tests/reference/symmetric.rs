//! Symmetry sectors: together they are the sector without symmetry, and alone they have what theory says.
//!
//! In: models of every kind of site with random couplings on several lattices. Out: dimensions and spectra of all irreducible
//! representations of an abelian group against those of the whole sector (dense), averages of every level, exact ground states.

use super::ours;
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{Dense, InSector, Lanczos, Model, SectorRows, Solution, averages_on_host};
use eigenforge::lattice::Lattice;
use eigenforge::operator::build::{
    b, bdag, c, cdag, electron_sdots, imaginary_unit, n, n_total, scalar, sdots, sm, sp, sx, sz,
};
use eigenforge::operator::{Charge, MatrixStorage, Operator, OperatorError, SiteKind, Spin, Symmetry, SymmetryError};
use eigenforge::runtime::{Device, LinearOperator};
use eigenforge_templates::ScalarType;
use num_complex::Complex64;
use std::f64::consts::TAU;

/// Sets an eigenvalue of 1 or −1.
pub(super) type SetSign = fn(Symmetry, i64) -> Symmetry;

pub(super) fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

/// The model in a symmetry sector; `None` if that has no states.
pub(super) fn in_sector(model: &Model, symmetry: &Symmetry) -> Option<Model> {
    match model.symmetry(symmetry) {
        Ok(model) => Some(model),
        Err(OperatorError::Symmetry(error)) if matches!(*error, SymmetryError::NoStates { .. }) => None,
        Err(error) => panic!("{symmetry:?}: {error}"),
    }
}

pub(super) fn all_states(model: &Model) -> Solution<'_> {
    Dense::new(model).states(model.states() as usize).certify(false).run(&Device::cpu()).unwrap()
}

/// Energy and averages of a state, all observables in one list.
fn states(model: &Model) -> Vec<(f64, Vec<f64>)> {
    let (solved, observables) = (all_states(model), model.standard_observables());
    // Of a complex level with several states the orthonormal vectors, whose mean is that of the level.
    let joined = |vector: &Vec<Complex64>| -> Vec<f64> {
        vector.iter().map(|x| x.re).chain(vector.iter().map(|x| x.im)).collect()
    };
    let vectors: Vec<Vec<f64>> = match model.is_complex() {
        true => solved.complex_vectors().unwrap().iter().map(joined).collect(),
        false => (0..solved.energies().len()).map(|state| solved.vector(state).unwrap()).collect(),
    };
    let of_state = |state: usize| {
        let averages = averages_on_host(model, &[&vectors[state][..]], &observables).unwrap();
        let values = observables.iter().flat_map(|observable| averages.get(&observable.name).unwrap().values());
        (solved.energies()[state], values.collect())
    };
    (0..solved.energies().len()).map(of_state).collect()
}

/// Levels: energy, number of states, mean of each observable.
fn levels(mut states: Vec<(f64, Vec<f64>)>) -> Vec<(f64, usize, Vec<f64>)> {
    states.sort_by(|a, b| a.0.total_cmp(&b.0));
    let level = |same: &[(f64, Vec<f64>)]| {
        let share = 1.0 / same.len() as f64;
        let mean = |k: usize| same.iter().map(|(_, values)| values[k] * share).sum();
        (same[0].0, same.len(), (0..same[0].1.len()).map(mean).collect())
    };
    states.chunk_by(|a, b| (a.0 - b.0).abs() < 1e-8).map(level).collect()
}

/// Rows that are made as they are multiplied are those of the stored matrix.
fn rows_are_the_matrix(name: &str, whole: &Model, symmetry: &Symmetry) {
    let symmetry = symmetry.clone().storage(MatrixStorage::Direct);
    if let Err(OperatorError::Symmetry(error)) = whole.symmetry(&symmetry)
        && matches!(*error, SymmetryError::NotDirect { .. })
    {
        assert!(name == "PXP" && error.to_string().contains("no [[forbid]]"), "{name}: {error}");
        return;
    }
    let Some(model) = in_sector(whole, &symmetry) else { return };
    let prepared = model.multiply(ScalarType::F64).unwrap();
    assert!(prepared.way::<SectorRows>().is_some());
    let (device, dense) = (Device::cpu(), model.dense().unwrap());
    let hamiltonian = model.hamiltonian(prepared, &device).unwrap();
    let x: Vec<f64> = (0..dense.nrows()).map(|i| ((i * 7919 + 13) % 2003) as f64 / 1001.5 - 1.0).collect();
    let mut y = device.upload(&vec![f64::NAN; x.len()]).unwrap();
    let dot = hamiltonian.apply(&device.upload(&x).unwrap(), &mut y).unwrap();
    let expected = dense.dot(&ndarray::Array1::from(x.clone()));
    let scale = expected.iter().fold(1.0f64, |scale, value| scale.max(value.abs()));
    for (y, expected) in y.download().unwrap().iter().zip(&expected) {
        assert!((y - expected).abs() < 1e-13 * scale, "{name}: {y} and {expected}");
    }
    let exact: f64 = expected.iter().zip(&x).map(|(a, b)| a * b).sum();
    assert!((dot - exact).abs() < 1e-12 * scale * x.len() as f64, "{name}");
}

/// All sectors together are the whole: dimensions, spectra, averages of every level.
pub(super) fn add_up(name: &str, whole: &Model, sectors: &[Symmetry]) {
    sectors.iter().for_each(|symmetry| rows_are_the_matrix(name, whole, symmetry));
    let parts: Vec<Model> = sectors.iter().filter_map(|symmetry| in_sector(whole, symmetry)).collect();
    assert_eq!(parts.iter().map(Model::states).sum::<u64>(), whole.states(), "{name}: dimensions");
    let (expected, found) = (levels(states(whole)), levels(parts.iter().flat_map(states).collect()));
    assert_eq!(expected.len(), found.len(), "{name}: levels");
    for (expected, found) in expected.iter().zip(&found) {
        let close = (expected.0 - found.0).abs() < 1e-9 && expected.1 == found.1;
        assert!(close, "{name}: {} x {} and {} x {}", expected.0, expected.1, found.0, found.1);
        for (place, (a, b)) in expected.2.iter().zip(&found.2).enumerate() {
            assert!((a - b).abs() < 1e-7, "{name}: average {place} of the level {}: {a} and {b}", expected.0);
        }
    }
}

/// Every momentum, with every combination of the signs that `with` sets.
pub(super) fn momenta(lengths: &[i64], with: &[SetSign]) -> Vec<Symmetry> {
    let mut all: Vec<Vec<i64>> = vec![vec![]];
    for length in lengths {
        all = all.iter().flat_map(|k| (0..*length).map(move |next| [&k[..], &[next]].concat())).collect();
    }
    let mut sectors: Vec<Symmetry> = all.iter().map(|k| Symmetry::new().k(k)).collect();
    for set in with {
        sectors = sectors.iter().flat_map(|one| [1, -1].map(|sign| set(one.clone(), sign))).collect();
    }
    sectors
}

/// Σ over bonds of a lattice.
pub(super) fn over_bonds(lattice: &Lattice, of_bond: impl Fn(usize, usize) -> Operator) -> Operator {
    lattice.bonds().iter().map(|bond| of_bond(bond.i, bond.j)).sum::<Operator>().on_lattice(lattice)
}

pub(super) fn over_sites(lattice: &Lattice, of_site: impl Fn(usize) -> Operator) -> Operator {
    lattice.sites().map(of_site).sum()
}

fn xxz(lattice: &Lattice, jz: f64, d: f64) -> Operator {
    let bond = |i, j| plus_adjoint(0.5 * (sp(i) * sm(j))) + jz * (sz(i) * sz(j));
    over_bonds(lattice, bond) + over_sites(lattice, |i| d * (sz(i) * sz(i)))
}

#[test]
fn spins_on_rings_and_tori() {
    let ring = Lattice::chain(8).periodic().further(&[0.37]);
    let inversion: &[SetSign] = &[Symmetry::spin_inversion];
    add_up("ring, 2Sz = 0", &xxz(&ring, 0.83, 0.0).two_sz(0).unwrap(), &momenta(&[8], inversion));
    add_up("ring, 2Sz = 2", &xxz(&ring, 0.83, 0.0).two_sz(2).unwrap(), &momenta(&[8], &[]));
    let spin_one = xxz(&Lattice::chain(5).periodic(), 1.21, -0.43).spin(2).two_sz(0).unwrap();
    add_up("spin 1", &spin_one, &momenta(&[5], inversion));
    let three_halves = xxz(&Lattice::chain(4).periodic(), 0.7, 0.31).spin(3).two_sz(0).unwrap();
    add_up("spin 3/2", &three_halves, &momenta(&[4], inversion));
    for (lattice, lengths) in [
        (Lattice::square([4, 2]).periodic(), vec![4, 2]),
        (Lattice::triangular([3, 3]).periodic(), vec![3, 3]),
        (Lattice::honeycomb([2, 2]).periodic(), vec![2, 2]),
        (
            Lattice::kagome([3, 1])
                .boundary([eigenforge::lattice::Boundary::Periodic, eigenforge::lattice::Boundary::Open]),
            vec![3],
        ),
        (Lattice::ladder([4, 2]).periodic().weights(&[1.0, 0.6]), vec![4]),
    ] {
        let sites = lattice.sites().len() as i64;
        let (two_sz, with) = if sites % 2 == 0 { (0, inversion) } else { (1, &[] as &[_]) };
        add_up(&lattice.describe(), &xxz(&lattice, 0.83, 0.0).two_sz(two_sz).unwrap(), &momenta(&lengths, with));
    }
}

#[test]
fn reflections_divide_real_momenta() {
    for lattice in [Lattice::chain(8).periodic(), Lattice::ladder([4, 2]).periodic()] {
        let model = xxz(&lattice, 0.83, 0.0).two_sz(0).unwrap();
        let length = lattice.size()[0] as i64;
        for k in [0, length / 2] {
            let whole = in_sector(&model, &Symmetry::new().k(&[k])).unwrap();
            let half = |sign| in_sector(&model, &Symmetry::new().reflection(sign).k(&[k]));
            let halves: Vec<Model> = [1, -1].into_iter().filter_map(half).collect();
            assert_eq!(halves.iter().map(Model::states).sum::<u64>(), whole.states());
            let (expected, found) = (levels(states(&whole)), levels(halves.iter().flat_map(states).collect()));
            assert_eq!(expected.len(), found.len());
            expected.iter().zip(&found).for_each(|(a, b)| assert!((a.0 - b.0).abs() < 1e-9 && a.1 == b.1));
        }
    }
    let open = xxz(&Lattice::chain(7), 0.83, 0.0).two_sz(1).unwrap();
    add_up("open chain", &open, &[1, -1].map(|sign| Symmetry::new().reflection(sign)));
}

fn hubbard(lattice: &Lattice, turn: Operator) -> Operator {
    let hop = |i, j, spin| plus_adjoint(turn.clone() * cdag(i, spin) * c(j, spin));
    let bond = |i, j| -1.0 * (hop(i, j, Spin::Up) + hop(i, j, Spin::Down)) + 0.6 * (n_total(i) * n_total(j));
    over_bonds(lattice, bond) + over_sites(lattice, |i| 3.3 * (n(i, Spin::Up) * n(i, Spin::Down)))
}

#[test]
fn electrons_with_their_signs() {
    let exchange: &[SetSign] = &[Symmetry::exchange];
    let one = scalar(1.0);
    for (sites, up, down) in [(4, 2, 2), (5, 2, 2), (4, 1, 1)] {
        let ring = Lattice::chain(sites).periodic();
        let model = hubbard(&ring, one.clone()).sector(Up(up), Down(down)).unwrap();
        add_up(&format!("{sites} sites, {up} up, {down} down"), &model, &momenta(&[sites as i64], exchange));
    }
    let model = hubbard(&Lattice::chain(5).periodic(), one.clone()).sector(Up(3), Down(2)).unwrap();
    add_up("3 up, 2 down", &model, &momenta(&[5], &[]));
    let torus = Lattice::square([3, 2]).periodic();
    let model = hubbard(&torus, one).sector(Up(2), Down(2)).unwrap();
    add_up("torus", &model, &momenta(&[3, 2], exchange));
    // A flux through the ring: complex coefficients that no gauge removes.
    let turn = scalar(0.3f64.cos()) + 0.3f64.sin() * imaginary_unit();
    let model = hubbard(&Lattice::chain(4).periodic(), turn).sector(Up(2), Down(1)).unwrap();
    add_up("flux", &model, &momenta(&[4], &[]));
}

#[test]
fn other_kinds_of_site() {
    // Spinless fermions, an odd and an even number.
    let ring = Lattice::chain(7).periodic().further(&[0.45]);
    let f = Spin::Flavour(0);
    let spinless = over_bonds(&ring, |i, j| -1.0 * plus_adjoint(cdag(i, f) * c(j, f)) + 1.7 * (n(i, f) * n(j, f)));
    for number in [3, 4] {
        let model = spinless.clone().on_kinds(&[SiteKind::Flavours(1); 7]).charges(&[(Charge::Particles, number)]);
        add_up("spinless", &model.unwrap(), &momenta(&[7], &[]));
    }
    // Three flavours.
    let ring = Lattice::chain(3).periodic();
    let flavours = over_bonds(&ring, |i, j| {
        (0..3).map(|g| plus_adjoint(-1.0 * (cdag(i, Spin::Flavour(g)) * c(j, Spin::Flavour(g))))).sum()
    });
    let pairs = |i: usize| [(0, 1), (0, 2), (1, 2)].map(|(a, b)| n(i, Spin::Flavour(a)) * n(i, Spin::Flavour(b)));
    let flavours = flavours + over_sites(&ring, |i| 2.0 * pairs(i).into_iter().sum::<Operator>());
    let model = flavours.on_kinds(&[SiteKind::Flavours(3); 3]).charges(&[(Charge::Particles, 4)]).unwrap();
    add_up("three flavours", &model, &momenta(&[3], &[]));
    // t-J electrons.
    let ring = Lattice::chain(5).periodic();
    let tj = over_bonds(&ring, |i, j| {
        let hop = |spin| plus_adjoint(cdag(i, spin) * c(j, spin));
        -1.0 * (hop(Spin::Up) + hop(Spin::Down)) + 0.4 * electron_sdots(i, j)
    });
    let model = tj.on_kinds(&[SiteKind::Tj; 5]).charges(&[(Charge::Up, 2), (Charge::Down, 2)]).unwrap();
    add_up("t-J", &model, &momenta(&[5], &[Symmetry::exchange]));
    // Bosons, and the transverse-field Ising ring without conserved numbers: spin inversion is the product of X.
    let ring = Lattice::chain(5).periodic();
    let bosons = over_bonds(&ring, |i, j| -1.0 * plus_adjoint(bdag(i) * b(j)))
        + over_sites(&ring, |i| 0.9 * (bdag(i) * bdag(i) * b(i) * b(i)));
    let model = bosons.on_kinds(&[SiteKind::Bosons { most: 3 }; 5]).charges(&[(Charge::Bosons, 4)]).unwrap();
    add_up("bosons", &model, &momenta(&[5], &[]));
    let ring = Lattice::chain(6).periodic();
    let ising = over_bonds(&ring, |i, j| sz(i) * sz(j)) + over_sites(&ring, |i| 0.37 * sx(i));
    let model = ising.on_kinds(&[SiteKind::Moments { two_s: 1 }; 6]).charges(&[]).unwrap();
    add_up("Ising", &model, &momenta(&[6], &[Symmetry::spin_inversion]));
    // A Dzyaloshinskii-Moriya coupling around the ring.
    let dm = over_bonds(&ring, |i, j| {
        plus_adjoint((scalar(0.5) + 0.21 * imaginary_unit()) * sp(i) * sm(j)) + 0.8 * (sz(i) * sz(j))
    });
    add_up("Dzyaloshinskii-Moriya", &dm.two_sz(0).unwrap(), &momenta(&[6], &[]));
    // Rydberg atoms, no two neighbours excited.
    let ring = Lattice::chain(8).periodic();
    let pxp = over_sites(&ring, sx).on_lattice(&ring).on_kinds(&[SiteKind::Moments { two_s: 1 }; 8]);
    let pxp = (0..8).fold(pxp, |pxp, i| pxp.forbid(&[(i, 1), ((i + 1) % 8, 1)]));
    add_up("PXP", &pxp.charges(&[]).unwrap(), &momenta(&[8], &[]));
    // A Kondo ring of three cells of an electron and a moment, by permutations with characters.
    let cells: Vec<SiteKind> =
        (0..6).map(|site| if site % 2 == 0 { SiteKind::Electrons } else { SiteKind::Moments { two_s: 1 } }).collect();
    let mut kondo = Operator::zero().on_kinds(&cells);
    for (site, next) in [(0, 2), (2, 4), (4, 0)] {
        for spin in [Spin::Up, Spin::Down] {
            kondo = kondo - plus_adjoint(cdag(site, spin) * c(next, spin));
        }
        let (up, down) = (cdag(site, Spin::Up) * c(site, Spin::Down), n(site, Spin::Up) - n(site, Spin::Down));
        kondo = kondo + plus_adjoint(0.35 * (up * sm(site + 1))) + 0.35 * (down * sz(site + 1));
    }
    let model = kondo.charges(&[(Charge::Particles, 3), (Charge::TwoSz, 0)]).unwrap();
    let turn = |k: i64| Complex64::from_polar(1.0, -TAU * k as f64 / 3.0);
    let sector = |k| Symmetry::new().generator(&[2, 3, 4, 5, 0, 1], turn(k));
    let both = (0..3).flat_map(|k| [1, -1].map(|sign| sector(k).spin_inversion(sign)));
    add_up("Kondo", &model, &both.collect::<Vec<_>>());
}

#[test]
pub(super) fn momenta_k_and_minus_k_have_one_spectrum() {
    let model = hubbard(&Lattice::chain(5).periodic(), scalar(1.0)).sector(Up(2), Down(3)).unwrap();
    for k in 1..3 {
        let [left, right] = [k, 5 - k].map(|k| in_sector(&model, &Symmetry::new().k(&[k])).unwrap());
        assert!(left.is_complex());
        let (left, right) = (all_states(&left), all_states(&right));
        left.energies().iter().zip(right.energies()).for_each(|(a, b)| assert!((a - b).abs() < 1e-10));
    }
}

/// A convention: T c†_r T⁻¹ = c†_{r+1}, so one electron of H = −t (e^{iφ} c†_r c_{r+1} + h.c.) with T|k⟩ = e^{−2πik/L}|k⟩ and
/// |k⟩ = Σ e^{2πikr/L} |r⟩ / √L has E = −2t cos(2πk/L + φ).
#[test]
fn momentum_has_the_sign_of_the_convention() {
    let (length, phase) = (5, 0.4f64);
    let ring = Lattice::chain(length).periodic();
    let turn = scalar(phase.cos()) + phase.sin() * imaginary_unit();
    let hop = over_bonds(&ring, |i, j| -1.0 * plus_adjoint(turn.clone() * cdag(i, Spin::Up) * c(j, Spin::Up)));
    let model = hop.sector(Up(1), Down(0)).unwrap();
    for k in 0..length as i64 {
        let sector = in_sector(&model, &Symmetry::new().k(&[k])).unwrap();
        assert_eq!(sector.states(), 1);
        let expected = -2.0 * (TAU * k as f64 / length as f64 + phase).cos();
        assert!((all_states(&sector).energy() - expected).abs() < 1e-12, "k = {k}");
    }
}

#[test]
fn a_relabelled_lattice_has_the_same_sectors() {
    let (ring, place) = (Lattice::chain(8).periodic(), [3, 7, 0, 5, 2, 6, 1, 4]);
    let model = xxz(&ring, 0.83, 0.0).two_sz(0).unwrap();
    let there =
        |i: usize, j: usize| plus_adjoint(0.5 * (sp(place[i]) * sm(place[j]))) + 0.83 * (sz(place[i]) * sz(place[j]));
    let moved = (0..8).map(|i| there(i, (i + 1) % 8)).sum::<Operator>().two_sz(0).unwrap();
    let mut turn = [0; 8];
    (0..8).for_each(|i| turn[place[i]] = place[(i + 1) % 8]);
    for k in 0..8 {
        let own = in_sector(&model, &Symmetry::new().k(&[k]).spin_inversion(1)).unwrap();
        let character = Complex64::from_polar(1.0, -TAU * k as f64 / 8.0);
        let other = in_sector(&moved, &Symmetry::new().spin_inversion(1).generator(&turn, character)).unwrap();
        assert_eq!(own.states(), other.states());
        let (own, other) = (all_states(&own), all_states(&other));
        own.energies().iter().zip(other.energies()).for_each(|(a, b)| assert!((a - b).abs() < 1e-10));
    }
}

/// The lowest level of the Heisenberg ring of 24 by the Bethe ansatz, a singlet of momentum 0; spin inversion is (−1)^(N/2 − S).
#[test]
fn the_bethe_ring_of_24() {
    let model = xxz(&Lattice::chain(24).periodic(), 1.0, 0.0).two_sz(0).unwrap();
    let symmetry = Symmetry::new().k(&[0]).reflection(1).spin_inversion(1);
    let sector = model.symmetry(&symmetry).unwrap();
    // Necklaces of 12 black and 12 white beads that may be turned, turned over and exchanged.
    assert_eq!(sector.states(), 28_968);
    for device in ours::devices() {
        let solved = Lanczos::new(&sector).run(&device).unwrap();
        assert!((solved.energy() + 10.670_014_516_537).abs() < 1e-9, "{}", solved.energy());
        assert_eq!(solved.levels()[0].multiplicity, 1);
        let averages = solved.observables().unwrap();
        assert!(averages.pairs("sdots").unwrap().sum().abs() < 1e-7, "a singlet");
        let bond = averages.pairs("sdots").unwrap()[[5, 6]];
        assert!((bond + 10.670_014_516_537 / 24.0).abs() < 1e-9, "{bond}");
    }
    let odd = in_sector(&model, &Symmetry::new().k(&[12]).spin_inversion(-1)).unwrap();
    // The lowest triplet has momentum π (des Cloizeaux and Pearson 1962).
    let solved = Lanczos::new(&odd).run(&Device::cpu()).unwrap();
    let total = solved.observables().unwrap().pairs("sdots").unwrap().sum();
    assert!((total - 2.0).abs() < 1e-6 && solved.energy() > -10.67, "{total}");
}

/// Majumdar and Ghosh (1969): J2 = J1/2 has two ground states of dimers, E = −3N/8, of momenta 0 and π.
#[test]
fn majumdar_and_ghosh() {
    let ring = Lattice::chain(12).periodic().further(&[0.5]);
    let operator: Operator = ring.bonds().iter().map(|bond| bond.weight * sdots(bond.i, bond.j)).sum();
    let model = operator.on_lattice(&ring).two_sz(0).unwrap();
    let lowest = |k: i64| {
        let sector = in_sector(&model, &Symmetry::new().k(&[k])).unwrap();
        let solved = Lanczos::new(&sector).states(2).run(&Device::cpu()).unwrap();
        (solved.energies()[0], solved.levels()[0].multiplicity)
    };
    for k in 0..12 {
        let (energy, multiplicity) = lowest(k);
        match k {
            0 | 6 => assert!((energy + 4.5).abs() < 1e-9 && multiplicity == 1, "k = {k}: {energy}"),
            _ => assert!(energy > -4.4, "k = {k}: {energy}"),
        }
    }
}

#[test]
fn a_sector_without_states_says_so() {
    let model = xxz(&Lattice::chain(6).periodic(), 1.0, 0.0).two_sz(6).unwrap();
    assert_eq!(model.symmetry(&Symmetry::new().k(&[0])).unwrap().states(), 1);
    let error = model.symmetry(&Symmetry::new().k(&[1])).unwrap_err().to_string();
    assert!(error.contains("dimension 0") && error.contains("k = 1") && error.contains("the answer"), "{error}");
    let twice = model.symmetry(&Symmetry::new().k(&[0])).unwrap().symmetry(&Symmetry::new().k(&[0]));
    assert!(twice.unwrap_err().to_string().contains("all generators at once"));
}

/// Names of irreps of every point group.
const LABELS: [&str; 15] = ["A", "B", "E+", "E-", "E1+", "E1-", "E2+", "E2-", "A1", "A2", "B1", "B2", "E", "E1", "E2"];

/// The sectors of all momenta and all irreps of their little groups, each as often as its levels are there.
pub(super) fn by_irreps(whole: &Model, lattice: &Lattice, with: impl Fn(Symmetry) -> Symmetry) -> (Vec<Model>, usize) {
    let orders: Vec<i64> = lattice.translations().iter().map(|translation| translation.order as i64).collect();
    let (mut parts, mut names) = (Vec::new(), 0);
    for k in momenta(&orders, &[]) {
        // Without a translation there is no momentum to be fixed.
        let k = if orders.is_empty() { Symmetry::new() } else { k };
        for label in LABELS {
            let model = match whole.symmetry(&with(k.clone()).irrep(label)) {
                Ok(model) => model,
                Err(OperatorError::Symmetry(error)) => match *error {
                    SymmetryError::NoIrrep { .. } => continue,
                    // Of a small torus: a rotation that is a translation.
                    SymmetryError::NoStates { .. } | SymmetryError::NoRepresentation { .. } => {
                        names += 1;
                        continue;
                    }
                    error => panic!("{}: {label}: {error}", lattice.describe()),
                },
                Err(error) => panic!("{error}"),
            };
            names += 1;
            rows_are_the_matrix(label, whole, &with(k.clone()).irrep(label));
            parts.extend(vec![model.clone(); model.symmetry_degeneracy()]);
        }
    }
    (parts, names)
}

/// All momenta and irreps together have the states and the spectrum of the whole sector.
fn irreps_add_up(name: &str, whole: &Model, lattice: &Lattice) -> usize {
    irreps_of(name, whole, lattice, |symmetry| symmetry)
}

fn irreps_of(name: &str, whole: &Model, lattice: &Lattice, with: impl Fn(Symmetry) -> Symmetry) -> usize {
    let (parts, names) = by_irreps(whole, lattice, with);
    assert_eq!(parts.iter().map(Model::states).sum::<u64>(), whole.states(), "{name}: dimensions");
    let energies = |model: &Model| all_states(model).energies().to_vec();
    let mut found: Vec<f64> = parts.iter().flat_map(energies).collect();
    found.sort_by(f64::total_cmp);
    let expected = energies(whole);
    for (a, b) in expected.iter().zip(&found) {
        assert!((a - b).abs() < 1e-9, "{name}: {a} and {b}");
    }
    names
}

#[test]
fn point_groups_divide_every_momentum() {
    let open = eigenforge::lattice::Boundary::Open;
    let periodic = eigenforge::lattice::Boundary::Periodic;
    // The number of irreps of all little groups together.
    for (lattice, irreps) in [
        (Lattice::square([3, 3]).periodic(), 21),
        (Lattice::square([4, 2]).periodic(), 12),
        (Lattice::triangular([3, 3]).periodic(), 24),
        (Lattice::honeycomb([2, 2]).periodic(), 18),
        (Lattice::ladder([4, 2]).periodic(), 12),
        (Lattice::square([3, 3]), 5),
        (Lattice::square([4, 2]).boundary([periodic, open]), 12),
        (Lattice::chain(8).periodic(), 10),
    ] {
        let odd = lattice.sites().len() % 2;
        let model = xxz(&lattice, 0.83, 0.0).two_sz(odd as i64).unwrap();
        assert_eq!(irreps_add_up(&lattice.describe(), &model, &lattice), irreps, "{lattice}");
    }
    // Fermions with their signs, both spins odd and even, and spins ½ of both kinds of parity.
    let lattice = Lattice::square([3, 3]).periodic();
    for (up, down) in [(2, 1), (3, 0), (2, 2)] {
        let model = hubbard(&lattice, scalar(1.0)).sector(Up(up), Down(down)).unwrap();
        match up == down {
            true => {
                let (even, _) = by_irreps(&model, &lattice, |symmetry| symmetry.exchange(1));
                let (odd, _) = by_irreps(&model, &lattice, |symmetry| symmetry.exchange(-1));
                let states: u64 = even.iter().chain(&odd).map(Model::states).sum();
                assert_eq!(states, model.states());
            }
            false => assert_eq!(irreps_add_up("electrons", &model, &lattice), 21),
        }
    }
    let kagome = Lattice::kagome([2, 2]).periodic();
    let model = xxz(&kagome, 0.83, 0.0).two_sz(6).unwrap();
    irreps_of("kagome", &model, &kagome, |symmetry| symmetry);
    let spin_one = xxz(&Lattice::triangular([3, 2]).periodic(), 1.21, -0.43).spin(2).two_sz(2).unwrap();
    irreps_add_up("spin 1", &spin_one, &Lattice::triangular([3, 2]).periodic());
}

/// H of a lower symmetry than the lattice: rotations without mirrors, mirrors of some directions, a subgroup by name.
#[test]
fn the_point_group_is_that_of_h() {
    // The scalar chirality S·(S × S) of the triangles to one side breaks mirrors and time reversal.
    let lattice = Lattice::triangular([3, 3]).periodic();
    let at = |x: usize, y: usize| x % 3 + 3 * (y % 3);
    let chirality = |i: usize, j: usize, k: usize| {
        let cross = |a: usize, b: usize, c: usize| {
            // S_a^z (S_b × S_c)^z and its cyclic permutations give all terms.
            0.5 * imaginary_unit() * sz(a) * (sp(b) * sm(c) - sm(b) * sp(c))
        };
        cross(i, j, k) + cross(j, k, i) + cross(k, i, j)
    };
    let cells = (0..9).map(|site| (site % 3, site / 3));
    let up = cells.map(|(x, y)| chirality(at(x, y), at(x + 1, y), at(x + 1, y + 1))).sum::<Operator>();
    let operator = xxz(&lattice, 1.0, 0.0) + 0.41 * up;
    let model = operator.clone().on_lattice(&lattice).two_sz(1).unwrap();
    let told = |symmetry: Symmetry| model.symmetry(&symmetry).unwrap_err().to_string();
    let error = told(Symmetry::new().k(&[0, 0]).irrep("A1"));
    assert!(error.contains("none of C3") && error.contains("\"A\", \"E+\", \"E-\""), "{error}");
    assert_eq!(irreps_add_up("chiral", &model, &lattice), 3 * 3 + 6);
    let error = told(Symmetry::new().k(&[0, 0]).point_group("D6").irrep("A1"));
    assert!(error.contains("not invariant under rotation by 60 degrees"), "{error}");
    let error = told(Symmetry::new().k(&[0, 0]).point_group("D4").irrep("A1"));
    assert!(error.contains("the cluster has D6, D3, C6, D2, C3, D1, C2"), "{error}");
    let error = told(Symmetry::new().k(&[0, 0]).point_group("C3"));
    assert!(error.contains("\"A\", \"E+\", \"E-\"") && error.contains("needs its irrep"), "{error}");
    // Weights by direction leave the mirrors along x and y.
    let lattice = Lattice::square([3, 3]).periodic().weights(&[1.0, 0.7]);
    let weighted: Operator = lattice.bonds().iter().map(|bond| bond.weight * sdots(bond.i, bond.j)).sum();
    let model = weighted.on_lattice(&lattice).two_sz(1).unwrap();
    let error = model.symmetry(&Symmetry::new().k(&[0, 0]).irrep("E")).unwrap_err().to_string();
    assert!(error.contains("none of D2"), "{error}");
    irreps_add_up("weights", &model, &lattice);
    let by_rotations = |symmetry: Symmetry| symmetry.point_group("C2");
    irreps_of("C2 by name", &model, &lattice, by_rotations);
    let edges = Lattice::from_edges(3, &[(0, 1, 1.0), (1, 2, 1.0)]).unwrap();
    let model = xxz(&edges, 1.0, 0.0).two_sz(1).unwrap();
    let error = model.symmetry(&Symmetry::new().irrep("A1")).unwrap_err().to_string();
    assert!(error.contains("no rotation or mirror") && error.contains("`generators`"), "{error}");
}

/// The ground state of the Heisenberg model on the 4 × 4 torus: a singlet of Γ and A1.
#[test]
fn ground_states_have_their_irrep() {
    let lattice = Lattice::square([4, 4]).periodic();
    let model = xxz(&lattice, 1.0, 0.0).two_sz(0).unwrap();
    let lowest = |label: &str, inversion: i64| {
        let symmetry = Symmetry::new().k(&[0, 0]).irrep(label).spin_inversion(inversion);
        Lanczos::new(&model.symmetry(&symmetry).unwrap()).run(&Device::cpu()).unwrap().energy()
    };
    // Oitmaa and Betts (1978).
    assert!((lowest("A1", 1) + 11.228_483_208_4).abs() < 1e-8, "{}", lowest("A1", 1));
    assert!(["A2", "B1", "B2", "E"].iter().all(|label| lowest(label, 1) > -11.0));
}

/// An irrep with the name of its point has the levels of the one with its momentum.
#[test]
fn points_of_high_symmetry_are_their_momenta() {
    let (square, ring) = (Lattice::square([4, 4]).periodic(), Lattice::chain(8).periodic());
    let triangular = |length: usize| Lattice::triangular([length, length]).periodic();
    for (lattice, two_sz, names) in [
        (
            &square,
            10,
            &[
                ("Gamma.A1", &[0, 0][..], "A1"),
                ("Γ.B1", &[0, 0], "B1"),
                ("M.B2", &[2, 2], "B2"),
                ("M.E", &[2, 2], "E"),
                ("X.A1", &[2, 0], "A1"),
                ("Y.B2", &[0, 2], "B2"),
            ][..],
        ),
        (&triangular(3), 1, &[("Gamma.E2", &[0, 0], "E2"), ("K.E", &[1, 1], "E"), ("K'.A1", &[2, 2], "A1")]),
        (&triangular(6), 32, &[("M.A1", &[3, 0], "A1"), ("K.A1", &[2, 2], "A1"), ("Gamma.A1", &[0, 0], "A1")]),
        (&ring, 0, &[("Gamma.A1", &[0], "A1"), ("Pi.A2", &[4], "A2"), ("π.trivial", &[4], "trivial")]),
    ] {
        let model = over_bonds(lattice, sdots).two_sz(two_sz).unwrap();
        for (name, k, label) in names {
            let by_name = model.symmetry(&Symmetry::new().irrep(name)).unwrap();
            let by_number = model.symmetry(&Symmetry::new().k(k).irrep(label)).unwrap();
            assert_eq!(by_name.symmetry_text(), by_number.symmetry_text(), "{lattice} {name}");
            assert_eq!(all_states(&by_name).energies(), all_states(&by_number).energies(), "{lattice} {name}");
        }
    }
    // Any momentum that has the name goes with it.
    let other = over_bonds(&triangular(6), sdots).two_sz(32).unwrap();
    let first = other.symmetry(&Symmetry::new().irrep("M.A1")).unwrap().states();
    for k in [[3, 0], [0, 3], [3, 3]] {
        assert_eq!(other.symmetry(&Symmetry::new().k(&k).irrep("M.A1")).unwrap().states(), first);
    }
    let told = |model: &Model, symmetry: Symmetry| model.symmetry(&symmetry).unwrap_err().to_string();
    let model = over_bonds(&square, sdots).two_sz(10).unwrap();
    let wrong = told(&model, Symmetry::new().k(&[2, 0]).irrep("M.A1"));
    assert!(wrong.contains("is at k = [2, 2], and k = [2, 0] is given"), "{wrong}");
    let wrong = told(&model, Symmetry::new().irrep("K.E"));
    assert!(wrong.contains("which are \"Gamma\", \"X\", \"Y\", \"M\""), "{wrong}");
    let wrong = told(&model, Symmetry::new().irrep("M.E1"));
    assert!(wrong.contains("\"E1\" is none of D4"), "{wrong}");
    let open = over_bonds(&Lattice::chain(6), sdots).two_sz(0).unwrap();
    assert!(told(&open, Symmetry::new().irrep("Gamma.A1")).contains("none has a name here"));
}

/// A Hamiltonian without terms has the sites of its sector.
#[test]
fn couplings_of_zero_keep_their_sites() {
    let lattice = Lattice::square([3, 2]).periodic();
    let hops: Operator =
        lattice.bonds().iter().map(|bond| 0.0 * plus_adjoint(cdag(bond.i, Spin::Up) * c(bond.j, Spin::Up))).sum();
    let model = hops.on_lattice(&lattice).sector(Up(3), Down(2)).unwrap();
    let sectors = (0..3).flat_map(|x| (0..2).map(move |y| Symmetry::new().k(&[x, y])));
    let states: u64 = sectors
        .filter_map(|symmetry| in_sector(&model, &symmetry))
        .map(|sector| {
            assert_eq!(Lanczos::new(&sector).run(&Device::cpu()).unwrap().energy(), 0.0);
            sector.states()
        })
        .sum();
    assert_eq!(states, model.states());
}
