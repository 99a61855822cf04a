//! States of more than 64 bits, which are listed, with H as a stored matrix.
//!
//! In: models that have tables, with their states listed as if they had none; few particles on many sites. Out: matrices, multiplies
//! and averages of both ways; one- and two-particle matrices made here, magnons on a ring, free bosons.

use super::models::{multiply_agrees, random, root};
use super::{free, ours};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{Dense, InSector, Lanczos, Lobpcg, Model, Solve, StoredHamiltonian, averages_on_host};
use eigenforge::export::{ExportFormat, export};
use eigenforge::input::ModelFile;
use eigenforge::lattice::Lattice;
use eigenforge::operator::build::{b, bdag, c, cdag, imaginary_unit, n, scalar, sdots, sm, sp, sz};
use eigenforge::operator::{Charge, Operator, OperatorError, SiteKind, Spin};
use eigenforge_templates::ScalarType;
use ndarray::Array2;
use ndarray_npy::NpzReader;
use std::f64::consts::PI;

/// A model with its states in a list has the matrix, the multiply and the averages of the same model with tables.
pub fn agrees_with_tables(name: &str, model: &Model, dense: &[Vec<f64>]) {
    let name = format!("{name}, listed");
    let listed = model.with_listed_states().unwrap();
    assert_eq!(listed.dimension(), model.dimension(), "{name}");
    if listed.basis().word() != model.basis().word() {
        return;
    }
    assert_eq!(ours::dense(&listed), dense, "{name}");
    multiply_agrees(&name, &listed, dense);
    let vector = random(5, dense.len());
    let observables = model.standard_observables();
    let of = |model: &Model| averages_on_host(model, &[vector.as_slice()], &observables).unwrap();
    let (expected, found) = (of(model), of(&listed));
    for observable in &observables {
        let values = |averages: &eigenforge::observable::Averages| averages.get(&observable.name).unwrap().values();
        for (found, expected) in values(&found).iter().zip(values(&expected)) {
            let close = (found - expected).abs() <= 1e-12 * dense.len() as f64;
            assert!(close, "{name}, {}: {found} and {expected}", observable.name);
        }
    }
}

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

fn ring(sites: usize) -> Operator {
    (0..sites).map(|i| sdots(i, (i + 1) % sites)).sum::<Operator>().on_sites(sites)
}

/// Levels of a list of energies: values with how many are equal.
fn levels(mut energies: Vec<f64>) -> Vec<(f64, usize)> {
    energies.sort_by(f64::total_cmp);
    let mut levels: Vec<(f64, usize)> = Vec::new();
    for energy in energies {
        match levels.last_mut() {
            Some((value, count)) if (energy - *value).abs() < 1e-9 => *count += 1,
            _ => levels.push((energy, 1)),
        }
    }
    levels
}

fn lowest_levels_are(solved: &eigenforge::exact::Solution<'_>, energies: Vec<f64>) {
    let expected = levels(energies);
    assert!(!solved.levels().is_empty());
    for (level, (value, count)) in solved.levels().iter().zip(expected) {
        assert!((level.value - value).abs() < 1e-8, "{level:?} and {value}");
        assert!(!level.complete || level.multiplicity == count, "{level:?} and {count}");
    }
}

/// One magnon: E = N/4 − (1 − cos k) (Bloch 1930).
#[test]
fn a_magnon_on_a_ring_of_100() {
    let model = ring(100).two_sz(98).unwrap();
    assert_eq!((model.dimension(), model.basis().word().bits()), (100, 100));
    let energy = |k: usize| 25.0 - (1.0 - (2.0 * PI * k as f64 / 100.0).cos());
    for device in ours::devices() {
        for solver in ours::SOLVERS {
            let solved = Solve::new(&model, solver).states(4).run(&device).unwrap();
            lowest_levels_are(&solved, (0..100).map(energy).collect());
            assert!((solved.observables().unwrap().sites("sz").unwrap().sum() - 49.0).abs() < 1e-9);
        }
    }
}

/// Two magnons of total momentum K: with the distance r, up to half of the ring, a chain with hops J cos(K/2) and the diagonal
/// N/4 − 2, or N/4 − 1 at r = 1. At r = N/2 both ways round are one state, which odd momenta do not have.
fn two_magnons(sites: usize) -> Vec<f64> {
    let of_momentum = |m: usize| {
        let (half, hop) = (sites / 2, (PI * m as f64 / sites as f64).cos());
        let most = if m.is_multiple_of(2) { half } else { half - 1 };
        let mut matrix = vec![vec![0.0; most]; most];
        for r in 1..=most {
            matrix[r - 1][r - 1] = 0.25 * sites as f64 - if r == 1 { 1.0 } else { 2.0 };
            if r < most {
                let factor = if r + 1 == half { 2f64.sqrt() } else { 1.0 };
                (matrix[r - 1][r], matrix[r][r - 1]) = (factor * hop, factor * hop);
            }
        }
        free::eigenvalues(matrix)
    };
    (0..sites).flat_map(of_momentum).collect()
}

#[test]
fn two_magnons_on_a_ring_of_100() {
    let expected = two_magnons(100);
    assert_eq!(expected.len(), 100 * 99 / 2);
    let model = ring(100).two_sz(96).unwrap();
    assert_eq!(model.dimension(), 4950);
    for device in ours::devices() {
        let solved = Lanczos::new(&model).states(5).run(&device).unwrap();
        lowest_levels_are(&solved, expected.clone());
        let solved = Lobpcg::new(&model).states(3).run_in::<f64>(&device).unwrap();
        lowest_levels_are(&solved, expected.clone());
        let single = Lanczos::new(&model).tolerance(1e-5).run_in::<f32>(&device).unwrap();
        assert!((single.energy() - solved.energy()).abs() < 1e-3);
        let averages = solved.observables().unwrap();
        assert!((averages.sites("sz").unwrap().sum() - 48.0).abs() < 1e-9);
        // H is a sum of correlations.
        let (dots, bonds) = (solved.expectation(ring(100)).unwrap(), solved.energy());
        assert!((dots - bonds).abs() < 1e-8, "{dots} and {bonds}");
    }
    // Where the words are short enough for tables, the same by both ways.
    let model = ring(12).two_sz(8).unwrap();
    let solved = Dense::new(&model).states(66).run(&eigenforge_runtime::Device::cpu()).unwrap();
    lowest_levels_are(&solved, two_magnons(12));
}

/// Three bosons without repulsion on a chain of 40 sites of two bits: sums of E = −2 cos(π k / 41).
#[test]
fn free_bosons_on_many_sites() {
    let kinds = [SiteKind::Bosons { most: 3 }; 40];
    let hops = (0..39).map(|i| -1.0 * plus_adjoint(bdag(i) * b(i + 1))).sum::<Operator>();
    let model = hops.on_kinds(&kinds).charges(&[(Charge::Bosons, 3)]).unwrap();
    assert_eq!((model.dimension(), model.basis().word().bits()), (40 * 41 * 42 / 6, 80));
    let energy = |k: usize| -2.0 * (PI * k as f64 / 41.0).cos();
    let mut all = Vec::new();
    for i in 1..=40 {
        all.extend((i..=40).flat_map(|j| (j..=40).map(move |k| energy(i) + energy(j) + energy(k))));
    }
    for device in ours::devices() {
        let solved = Lanczos::new(&model).states(4).run(&device).unwrap();
        lowest_levels_are(&solved, all.clone());
    }
}

/// A hop of one electron of each species, on-site repulsion, and pairs that hop, on a torus.
fn electrons(lattice: &Lattice, u: f64, pair: f64) -> Operator {
    let mut h = Operator::zero();
    for bond in lattice.bonds() {
        let (i, j) = (bond.i, bond.j);
        for spin in [Spin::Up, Spin::Down] {
            h = h - plus_adjoint(cdag(i, spin) * c(j, spin));
        }
        let both = cdag(i, Spin::Up) * cdag(i, Spin::Down) * c(j, Spin::Down) * c(j, Spin::Up);
        h = h + pair * plus_adjoint(both);
    }
    let sites = lattice.sites().len();
    (0..sites).fold(h, |h, i| h + u * (n(i, Spin::Up) * n(i, Spin::Down))).on_sites(sites)
}

fn with_one_of_each(operator: Operator) -> Result<Model, OperatorError> {
    operator.sector(Up(1), Down(1))
}

/// The matrix of one ↑ and one ↓ electron, made from the two positions, element by element.
#[test]
fn two_electrons_on_tori() {
    for size in [6, 7] {
        let lattice = Lattice::square([size, size]).periodic();
        let (u, pair) = (3.0, 0.4);
        let model = with_one_of_each(electrons(&lattice, u, pair)).unwrap();
        let sites = lattice.sites().len();
        assert_eq!(model.dimension(), (sites * sites) as u64);
        let place = |spin: usize, site: usize| 1u128 << (2 * site + spin);
        let at = |up: usize, down: usize| model.basis().index(place(0, up) | place(1, down)).unwrap() as usize;
        let mut expected = Array2::<f64>::zeros((sites * sites, sites * sites));
        for bond in lattice.bonds() {
            for (to, from) in [(bond.i, bond.j), (bond.j, bond.i)] {
                for other in 0..sites {
                    expected[[at(to, other), at(from, other)]] -= 1.0;
                    expected[[at(other, to), at(other, from)]] -= 1.0;
                }
                expected[[at(to, to), at(from, from)]] += pair;
            }
        }
        (0..sites).for_each(|site| expected[[at(site, site), at(site, site)]] += u);
        let multiply = model.multiply(ScalarType::F64).unwrap();
        let matrix = multiply.way::<StoredHamiltonian>().expect("it is listed");
        for row in 0..sites * sites {
            for column in 0..sites * sites {
                let (found, expected) = (matrix.elements().element(row, column as u32), expected[[row, column]]);
                assert!((found - expected).abs() < 1e-14, "{row} {column}: {found} and {expected}");
            }
        }
    }
}

/// Of all momenta, the lowest state of the pair has none: a matrix of as many distances as sites.
#[test]
fn two_electrons_on_64_sites() {
    let (size, u, pair) = (8, -2.0, -0.3);
    let lattice = Lattice::square([size, size]).periodic();
    let model = with_one_of_each(electrons(&lattice, u, pair)).unwrap();
    assert_eq!((model.dimension(), model.basis().word().bits()), (4096, 128));
    let at = |x: usize, y: usize| x % size + size * (y % size);
    let mut matrix = vec![vec![0.0; 64]; 64];
    for x in 0..size {
        for y in 0..size {
            for step in [at(x + 1, y), at(x + size - 1, y), at(x, y + 1), at(x, y + size - 1)] {
                matrix[at(x, y)][step] -= 2.0;
            }
        }
    }
    matrix[0][0] += u + 4.0 * pair;
    let expected = free::eigenvalues(matrix)[0];
    for device in ours::devices() {
        let solved = Lanczos::new(&model).run(&device).unwrap();
        assert!((solved.energy() - expected).abs() < 1e-8, "{} and {expected}", solved.energy());
    }
}

/// One particle on a ring with flux: E = 2 cos(k + φ/N). No gauge removes the flux of the ring; on a chain one does.
#[test]
fn complex_hamiltonians_of_many_bits() {
    let (sites, phase) = (70, 0.02);
    let turn = || scalar(f64::cos(phase)) + f64::sin(phase) * imaginary_unit();
    let hops = |bonds: usize| {
        let hop = |i: usize| plus_adjoint(turn() * sp(i) * sm((i + 1) % sites));
        (0..bonds).map(hop).sum::<Operator>() + 0.5 * (0..sites).map(|i| sz(i) * sz((i + 1) % sites)).sum::<Operator>()
    };
    let qubits = |bonds: usize| {
        hops(bonds).on_kinds(&[SiteKind::Qubits; 70]).charges(&[(Charge::TwoSz, 2 - sites as i64)]).unwrap()
    };
    let diagonal = 0.125 * (sites as f64 - 4.0);
    let device = eigenforge_runtime::Device::cpu();
    let model = qubits(sites);
    assert_eq!((model.states(), model.dimension(), model.basis().word().bits()), (70, 140, 71));
    assert!(model.is_complex() && model.working().is_complex());
    let solved = Lanczos::new(&model).states(3).run(&device).unwrap();
    let energy = |k: usize| diagonal + 2.0 * (2.0 * PI * k as f64 / sites as f64 + phase).cos();
    lowest_levels_are(&solved, (0..sites).map(energy).collect());
    super::models::complex_vectors_are_eigenvectors("ring", &ours::dense(&model), &solved);
    let chain = qubits(sites - 1);
    assert!(chain.is_complex() && !chain.working().is_complex());
    let solved = Lanczos::new(&chain).states(3).run(&device).unwrap();
    let energy = |k: usize| diagonal + 2.0 * (PI * k as f64 / (sites as f64 + 1.0)).cos();
    lowest_levels_are(&solved, (1..=sites).map(energy).collect());
    super::models::complex_vectors_are_eigenvectors("chain", &ours::dense(&chain), &solved);
    assert!((solved.expectation(hops(sites - 1)).unwrap() - solved.energy()).abs() < 1e-8);
}

#[test]
fn files_have_two_numbers_a_state() {
    let model = ring(70).two_sz(66).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.npz");
    export(&model, ExportFormat::Npz, &file).unwrap();
    let mut npz = NpzReader::new(std::fs::File::open(&file).unwrap()).unwrap();
    let states: Array2<u64> = npz.by_name("states").unwrap();
    assert_eq!(states.dim(), (70 * 69 / 2, 2));
    for (row, words) in states.rows().into_iter().enumerate() {
        assert_eq!(u128::from(words[0]) | u128::from(words[1]) << 64, model.basis().state(row as u64));
    }
    let multiply = model.multiply(ScalarType::F64).unwrap();
    let matrix = multiply.way::<StoredHamiltonian>().expect("it is listed");
    let read = eigenforge::sparse::read_npz(&file, eigenforge::sparse::Triangle::Full).unwrap();
    assert_eq!(read.non_zeros(), matrix.elements().non_zeros());
    assert!(read.values().iter().zip(matrix.elements().values()).all(|(a, b)| (a - b).abs() < 1e-13));
    let file = folder.path().join("h.mtx");
    export(&model, ExportFormat::MatrixMarket, &file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&format!(" {}", model.basis().state(2414))), "words of 70 bits in comments");
}

#[test]
fn the_example_has_its_energies() {
    let file = ModelFile::read(&root().join("examples/two_magnons.toml")).unwrap();
    let model = file.to_model().unwrap();
    assert_eq!(file.dimension(), Some(4950));
    let solved = Lanczos::new(&model).states(2).run(&ours::devices()[0]).unwrap();
    lowest_levels_are(&solved, two_magnons(100));
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let refused = |operator: Operator, two_sz: i64| operator.two_sz(two_sz).unwrap_err().to_string();
    let long = refused(ring(129), 127);
    assert!(long.contains("129 sites need 129 bits") && long.contains("has 128"), "{long}");
    let many = refused(ring(100), 0);
    assert!(many.contains("100 bits") && many.contains("about 1.009e29") && many.contains("67108864"), "{many}");
    let lattice = Lattice::square([10, 10]).periodic();
    let error = with_one_of_each(electrons(&lattice, 1.0, 0.1)).unwrap_err();
    assert!(matches!(error, OperatorError::TooManySites { sites: 100, .. }), "{error}");
}
