//! Electrons in a sector of the exchange of their spins, on pairs of strings: the multiply on all cores and in the simulator against the elements
//! of H between the same representatives, made one by one from orbits; spectra against the model without the symmetry; vectors and
//! averages in the order of sites.

use super::{
    devices,
    multiply::check,
    strings::{hubbard, in_the_order_of_rows, sector_of, vectors_are_the_users},
};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{Dense, InSector, Model, MultiplyPlan, PairRows, SectorRows};
use eigenforge::lattice::{Boundary, Lattice};
use eigenforge::operator::build::{c, cdag, n, n_total};
use eigenforge::operator::{Operator, Spin, Symmetry};
use eigenforge::runtime::{Device, testing};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{DownShape, PairsShape};

const SPINS: [Spin; 2] = [Spin::Up, Spin::Down];

/// The multiply of a sector of the exchange.
fn on_pairs(working: &Model, scalar: ScalarType) -> PairRows {
    let multiply = working.multiply(scalar).unwrap();
    multiply.way::<PairRows>().unwrap_or_else(|| panic!("{}", multiply.shape())).clone()
}

/// Hops between all sites, of size and sign as they come, some of them 0; potentials, repulsion, densities of neighbours.
fn random(sites: usize, seed: u64) -> Operator {
    let number = |i: usize, j: usize| {
        let mixed =
            (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((i * 64 + j) as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 11) % 2001) as f64 / 1000.0 - 1.0
    };
    let hop = |i, j| {
        let t = if number(j, i) > 0.5 { 0.0 } else { number(i, j) };
        let of_spin = |spin| t * (cdag(i, spin) * c(j, spin) + cdag(j, spin) * c(i, spin));
        of_spin(Spin::Up) + of_spin(Spin::Down)
    };
    let hops = (0..sites).flat_map(|i| (0..i).map(move |j| hop(i, j)));
    let on_site = |i| number(i, i) * n_total(i) + (2.0 + number(i, i + 1)) * (n(i, Spin::Up) * n(i, Spin::Down));
    let across = (1..sites).map(|i| number(0, i) * (n_total(i) * n_total(i - 1)));
    hops.chain((0..sites).map(on_site)).chain(across).sum::<Operator>().on_lattice(&Lattice::chain(sites))
}

fn on_sites(sites: usize) -> Operator {
    (0..sites).map(|i| 0.4 * (n(i, Spin::Up) * n(i, Spin::Down))).sum()
}

fn model(operator: &Operator, electrons: usize) -> Model {
    operator.clone().sector(Up(electrons), Down(electrons)).unwrap()
}

/// Both parities on the cores and on these devices, and the spectrum of the whole model from them.
fn compare(plain: &Model, devices: &[Device], shapes: &[PairsShape]) {
    let mut levels = Vec::new();
    for sign in [1, -1] {
        let Some(sector) = sector_of(plain, &Symmetry::new().exchange(sign)) else { continue };
        let working = sector.working();
        let rows = on_pairs(working, ScalarType::F64);
        let dense = in_the_order_of_rows(&working.dense().unwrap(), |unit| rows.in_basis_order(unit));
        let single = on_pairs(working, ScalarType::F32);
        let of = |rows: &PairRows| MultiplyPlan::from(rows.clone());
        check::<f64>(&[Device::cpu()], working, &of(&rows), &dense);
        check::<f32>(&[Device::cpu()], working, &of(&single), &dense);
        for shape in shapes {
            check::<f64>(devices, working, &of(&rows.with_shape(*shape)), &dense);
        }
        // Texts of either number type differ in it alone.
        if let ([shape, ..], [device, ..], 1, 100..) = (shapes, devices, sign, dense.nrows()) {
            check::<f32>(std::slice::from_ref(device), working, &of(&single.with_shape(*shape)), &dense);
        }
        if dense.nrows() < 150 {
            let states = dense.nrows();
            let solved = Dense::new(&sector).states(states).certify(false).run(&Device::cpu()).unwrap();
            levels.extend(solved.energies().to_vec());
            vectors_are_the_users(&sector);
        }
    }
    let states = plain.dimension() as usize;
    if levels.len() == states {
        levels.sort_by(f64::total_cmp);
        let whole = Dense::new(plain).states(states).certify(false).run(&Device::cpu()).unwrap();
        let worst = levels.iter().zip(whole.energies()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-9, "{}: levels of both parities differ by {worst:e}", plain.name());
    } else {
        assert!(states > 150, "{}: {} of {states} levels", plain.name(), levels.len());
    }
}

#[test]
fn small_clusters_on_the_cores() {
    for sites in 2..=5 {
        for electrons in 0..=sites {
            if sites < 4 {
                compare(&model(&hubbard(&Lattice::chain(sites), 0.0, 0.6), electrons), &[], &[]);
            }
            compare(&model(&random(sites, electrons as u64), electrons), &[], &[]);
        }
    }
    let ladder = Lattice::ladder([3, 2]).boundary([Boundary::Periodic, Boundary::Open]);
    let square = Lattice::square([3, 3]).periodic();
    for (operator, electrons) in [
        (hubbard(&ladder, 0.0, 0.0), 3),
        (hubbard(&square, 0.0, 0.3), 2),
        (random(7, 3), 3),
        (random(8, 4), 2),
        (0.0 * hubbard(&square, 0.0, 0.0) + on_sites(9), 2),
    ] {
        compare(&model(&operator, electrons), &[], &[]);
    }
}

fn list(rows: u32) -> PairsShape {
    PairsShape { rows, runs: None }
}

fn runs(rows: u32, outputs: u32) -> PairsShape {
    PairsShape { rows, runs: Some(DownShape::Runs { low_sites: 3, outputs, warps: 2 }) }
}

/// The generated text: one tile and several, rows that are no whole warp, several panels, hops by a list and by runs; no hops at all.
#[test]
fn the_generated_text() {
    let ring = hubbard(&Lattice::chain(6).periodic(), 0.0, 0.6);
    for (operator, electrons, shapes) in [
        (hubbard(&Lattice::chain(2), 0.0, 0.6), 1, &[list(32)][..]),
        (random(5, 8), 2, &[list(32)]),
        (ring, 3, &[runs(32, 4)]),
        (on_sites(3).on_lattice(&Lattice::chain(3)), 1, &[list(32)]),
        (random(7, 1), 3, &[list(32)]),
        (random(8, 2), 3, &[runs(32, 24)]),
    ] {
        compare(&model(&operator, electrons), &devices(), shapes);
    }
}

/// Several cards: rows that are no whole warp, more cards than strings; several panels of each are in `tests/reference/several_cards.rs`.
#[test]
fn several_cards() {
    for device in testing::teams(&[3]) {
        for (operator, electrons, shape) in
            [(hubbard(&Lattice::chain(2), 0.0, 0.6), 1, list(32)), (random(7, 6), 2, runs(32, 24))]
        {
            compare(&model(&operator, electrons), std::slice::from_ref(&device), &[shape]);
        }
    }
}

/// Hops of pairs of one spin and hops that see densities of it are in A; terms of both spins, another group and other hops of one spin are not for
/// pairs.
#[test]
fn what_is_for_pairs() {
    let ring = Lattice::chain(6).periodic();
    let plus_adjoint = |term: Operator| term.clone() + term.adjoint();
    let alone: Operator = (0..6)
        .flat_map(|i| {
            let at = move |by: usize| (i + by) % 6;
            SPINS.map(|s| {
                plus_adjoint(0.2 * (cdag(at(0), s) * cdag(at(1), s) * c(at(3), s) * c(at(4), s)))
                    + plus_adjoint(0.3 * (cdag(i, s) * c(at(2), s) * n(at(1), s)))
            })
        })
        .sum();
    let plain = hubbard(&ring, 0.0, 0.4);
    compare(&model(&(plain.clone() + alone).on_lattice(&ring), 3), &[], &[]);
    let both: Operator = (0..6)
        .flat_map(|i| {
            let j = (i + 1) % 6;
            [(Spin::Up, Spin::Down), (Spin::Down, Spin::Up)]
                .map(|(s, other)| plus_adjoint(0.4 * (cdag(i, s) * c(j, s) * (n(i, other) + n(j, other)))))
        })
        .sum();
    let exchange = Symmetry::new().exchange(1);
    for (operator, symmetry) in
        [((plain.clone() + both).on_lattice(&ring), exchange.clone()), (plain.clone(), exchange.clone().k(&[0]))]
    {
        let sector = sector_of(&model(&operator, 3), &symmetry).unwrap();
        let prepared = sector.working().multiply(ScalarType::F64).unwrap();
        assert!(prepared.way::<SectorRows>().is_some(), "{}", prepared.shape());
    }
    // A field is a multiple of the charges that vanishes where both numbers are equal; hops of one spin alone are refused.
    let field: Operator = (0..6).map(|i| 0.5 * (n(i, Spin::Up) + -1.0 * n(i, Spin::Down))).sum();
    compare(&model(&(plain.clone() + field).on_lattice(&ring), 2), &[], &[]);
    let of_one = plus_adjoint(0.1 * (cdag(0, Spin::Up) * c(2, Spin::Up)));
    let refused = model(&(plain + of_one).on_lattice(&ring), 3).symmetry(&exchange).unwrap_err().to_string();
    assert!(refused.contains("exchange"), "{refused}");
}
