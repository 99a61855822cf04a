//! Blocks against row by row against the dense matrix.

use super::blocks::Blocks;
use super::by_rows::ByRows;
use crate::InSector;
use crate::{GeneralMultiply, Model};
use eigenforge_core::basis::{Down, Up};
use eigenforge_core::lattice::Lattice;
use eigenforge_core::operator::Operator;
use eigenforge_core::operator::build::{c, cdag, n, sdots, sm, sp, sz};
use eigenforge_product::HostRows;
use eigenforge_templates::ScalarType;
use ndarray::Array1;

/// A small generator: full period modulo 2^64 (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % most
    }

    fn number(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0
    }

    fn vector(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.number()).collect()
    }
}

/// Random terms of every kind that a moment has, on up to four sites.
fn spins(random: &mut Random, sites: usize, two_s: u32) -> Operator {
    let mut h = Operator::zero();
    for _ in 0..3 + random.below(2 * sites) {
        let [i, j, k, l] = [0; 4].map(|_| random.below(sites));
        let term = match random.below(6) {
            0 => sdots(i, j),
            1 => sp(i) * sm(j) * sz(k),
            2 => sp(i) * sm(j) * sp(k) * sm(l),
            3 => sz(i) * sz(j) * sz(k),
            4 => sz(i),
            _ => sz(i) * sz(j) * sz(j),
        };
        let term = random.number() * term;
        h = h + term.clone() + term.adjoint();
    }
    h.spin(two_s).on_sites(sites)
}

/// Random hops, assisted hops, pair hops, exchanges and densities of electrons.
fn electrons(random: &mut Random, sites: usize) -> Operator {
    use eigenforge_core::operator::Spin::{Down, Up};
    let mut h = Operator::zero();
    for _ in 0..3 + random.below(2 * sites) {
        let [i, j, k] = [0; 3].map(|_| random.below(sites));
        let term = match random.below(6) {
            0 => cdag(i, Up) * c(j, Up),
            1 => cdag(i, Down) * c(j, Down) * n(k, Up),
            2 => cdag(i, Up) * c(j, Up) * cdag(i, Down) * c(j, Down),
            3 => cdag(i, Up) * c(i, Down) * cdag(j, Down) * c(j, Up),
            4 => n(i, Up) * n(j, Down),
            _ => n(i, Up) * n(j, Up) * n(k, Down),
        };
        let term = random.number() * term;
        h = h + term.clone() + term.adjoint();
    }
    // One of both species at least, so that it is no Kronecker sum.
    h + 0.25 * (electrons_exchange(0, sites - 1)) + 0.25 * electrons_exchange(0, sites - 1).adjoint() + n(sites - 1, Up)
}

fn electrons_exchange(i: usize, j: usize) -> Operator {
    use eigenforge_core::operator::Spin::{Down, Up};
    cdag(i, Up) * c(i, Down) * cdag(j, Down) * c(j, Up)
}

/// Blocks of two to five vectors row by row, over poisoned results: each with y and x·y of a multiply of its own.
fn several_have_the_bits_of_one(rows: &ByRows, x: &[f64]) {
    let all: Vec<Vec<f64>> = (0..5).map(|k| x.iter().cycle().skip(k).take(x.len()).copied().collect()).collect();
    for count in 2..=5 {
        let x: Vec<&[f64]> = all[..count].iter().map(Vec::as_slice).collect();
        let mut y = vec![vec![f64::NAN; x[0].len()]; count];
        let dots = rows.block(&x, &mut y.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        for ((x, y), dot) in x.iter().zip(y).zip(dots) {
            let mut alone = vec![f64::NAN; x.len()];
            assert_eq!((rows.rows(x, 0, &mut alone), alone), (dot, y));
        }
    }
}

/// y by blocks and row by row, with their x·y; y is poisoned before.
fn both(model: &Model, x: &[f64]) -> [(Vec<f64>, f64); 2] {
    let multiply = model.multiply(ScalarType::F64).unwrap();
    let GeneralMultiply { plan, tables, .. } = multiply.way().expect("not a Kronecker sum");
    let blocks = Blocks::of_tables(tables, &plan.diagonal, &plan.groups).unwrap();
    let rows = ByRows::new(tables.clone(), plan.diagonal.clone(), plan.groups.clone());
    for index in 0..x.len() {
        assert!((blocks.diagonal(index) - rows.diagonal(index)).abs() < 1e-12);
    }
    let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
    let mut y = vec![f32::NAN; x.len()];
    blocks.rows(&single, 0, &mut y);
    let (mut by_blocks, mut by_rows) = (vec![f64::NAN; x.len()], vec![f64::NAN; x.len()]);
    let dots = [blocks.rows(x, 0, &mut by_blocks), rows.rows(x, 0, &mut by_rows)];
    several_have_the_bits_of_one(&rows, x);
    let size = by_rows.iter().fold(1.0f64, |size, y| size.max(y.abs()));
    assert!(y.iter().zip(&by_rows).all(|(single, y)| (f64::from(*single) - y).abs() < 3e-6 * size));
    let again = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(|| {
        let mut y = vec![f64::NAN; x.len()];
        (blocks.rows(x, 0, &mut y), y)
    });
    assert!((dots[0], &by_blocks) == (again.0, &again.1), "the same bits for any number of threads");
    [(by_blocks, dots[0]), (by_rows, dots[1])]
}

fn agree(model: &Model, random: &mut Random) {
    let x = random.vector(model.dimension() as usize);
    let exact = model.dense().unwrap().dot(&Array1::from(x.clone()));
    let size = exact.iter().fold(1.0f64, |size, y| size.max(y.abs()));
    for (y, dot) in both(model, &x) {
        assert!(y.iter().zip(&exact).all(|(y, exact)| (y - exact).abs() < 1e-13 * size));
        let expected: f64 = x.iter().zip(&exact).map(|(x, y)| x * y).sum();
        assert!((dot - expected).abs() < 1e-12 * size * x.len() as f64);
    }
}

/// A Kronecker sum with a repulsion of its own on each site: by a table of patterns, and where that would be larger than vectors
/// term by term.
#[test]
fn terms_of_both_species_by_patterns_and_one_by_one() {
    let random = &mut Random(3);
    for (sites, up, down, pairs) in [(6, 3, 2, 4), (20, 8, 1, 80), (5, 1, 3, 0)] {
        use eigenforge_core::operator::Spin::{Down, Up};
        let mut h = electrons_alone(sites);
        for pair in 0..pairs {
            let (i, j) = (pair % sites, (pair + 1 + pair / sites) % sites);
            h = h + random.number() * n(i, Up) * n(j, Up) * n(random.below(sites), Down);
        }
        for i in 0..sites {
            h = h + random.number() * n(i, Up) * n(i, Down) + random.number() * n(i, Up) * n((i + 1) % sites, Down);
        }
        let model = h.sector(eigenforge_core::basis::Up(up), eigenforge_core::basis::Down(down)).unwrap();
        let host = model.multiply(ScalarType::F64).unwrap().0.host().unwrap();
        let exact = |index: usize| -> f64 {
            let state = model.basis().configuration(index as u64);
            let reached = model.operator().apply(sites, &state);
            reached.iter().filter(|(other, _)| *other == state).map(|(_, amplitude)| amplitude).sum()
        };
        let dimension = model.dimension() as usize;
        for index in (0..dimension).step_by(1 + dimension / 50) {
            assert!((host.diagonal(index) - exact(index)).abs() < 1e-12);
        }
        if dimension <= 8192 {
            let x = random.vector(dimension);
            let mut y = vec![f64::NAN; dimension];
            host.typed::<f64>().rows(&x, 0, &mut y);
            let expected = model.dense().unwrap().dot(&Array1::from(x));
            assert!(y.iter().zip(&expected).all(|(y, exact)| (y - exact).abs() < 1e-12));
        }
    }
}

fn electrons_alone(sites: usize) -> Operator {
    use eigenforge_core::operator::Spin::{Down, Up};
    let hop = |i: usize, spin| cdag(i, spin) * c((i + 1) % sites, spin);
    (0..sites).flat_map(|i| [hop(i, Up), hop(i, Down)]).map(|hop| hop.clone() + hop.adjoint()).sum()
}

#[test]
fn blocks_multiply_as_rows_and_as_the_dense_matrix() {
    let random = &mut Random(17);
    for case in 0..120 {
        let (sites, two_s) = [(2, 1), (3, 1), (7, 1), (9, 1), (10, 1), (5, 2), (4, 3), (3, 5)][case % 8];
        let most = sites as i64 * i64::from(two_s);
        let two_sz = 2 * random.below(most as usize + 1) as i64 - most;
        let model = spins(random, sites, two_s).two_sz(two_sz).unwrap();
        agree(&model, random);
    }
    for case in 0..80 {
        let sites = [2, 3, 4, 5][case % 4];
        let (up, down) = (1 + random.below(sites), 1 + random.below(sites));
        let model = electrons(random, sites).sector(Up(up), Down(down)).unwrap();
        if !model.is_kronecker() {
            agree(&model, random);
        }
    }
}

/// Sectors of many tasks, groups of columns of both widths, tiles of both heights.
#[test]
fn long_sectors_multiply_as_row_by_row() {
    let random = &mut Random(5);
    for (sites, two_s, two_sz) in [(16, 1, 0), (17, 1, 5), (9, 2, 0), (40, 1, 36)] {
        let ring = Lattice::chain(sites);
        let next = ring.bonds().iter().map(|bond| sdots(bond.i, bond.j)).sum::<Operator>();
        let far = (0..sites).map(|i| 0.3 * sdots(i, (i + 2) % sites)).sum::<Operator>();
        let model = (next + far).spin(two_s).on_sites(sites).two_sz(two_sz).unwrap();
        let x = random.vector(model.dimension() as usize);
        let [(by_blocks, dot), (by_rows, expected)] = both(&model, &x);
        assert!(by_blocks.iter().zip(&by_rows).all(|(a, b)| (a - b).abs() < 1e-12));
        assert!((dot - expected).abs() < 1e-11 * x.len() as f64);
    }
}
