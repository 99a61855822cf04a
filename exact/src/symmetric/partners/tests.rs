//! Kept = made = stored = dense, on a simulated card, for every kind of site, group and value that rows by orbits take, whole and in part.

use super::PartnerRows;
use crate::symmetric::SectorRows;
use crate::{InSector, Model, MultiplyPlan};
use eigenforge_core::lattice::{Lattice, LatticeKind};
use eigenforge_core::operator::{Charge, MatrixStorage, Operator, SiteKind, Spin, Symmetry, build};
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::testing::{card, devices_of_many_launches, simulated_with_warps_of, teams};
use eigenforge_runtime::{Device, LinearOperator, Scalar};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::SlotCodes;

fn bond_sum(lattice: &Lattice, of_bond: impl Fn(usize, usize) -> Operator) -> Operator {
    lattice.bonds().iter().map(|bond| of_bond(bond.i, bond.j)).sum::<Operator>().on_lattice(lattice)
}

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

fn ring(sites: usize) -> Lattice {
    Lattice::chain(sites).periodic()
}

fn k(momenta: &[i64]) -> Symmetry {
    Symmetry::new().k(momenta)
}

fn random<T: Scalar>(length: usize, seed: u64) -> Vec<T> {
    let value = |i: usize| {
        let mixed = (seed * 977 + i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..length).map(|i| T::from_f64(value(i))).collect()
}

/// y = H x over NaN, and x·y.
fn product<T: Scalar>(model: &Model, plan: MultiplyPlan, x: &[T], device: &Device) -> (Vec<f64>, f64, String) {
    let hamiltonian = model.hamiltonian(plan, device).unwrap();
    let mut y = device.upload(&vec![T::from_f64(f64::NAN); x.len()]).unwrap();
    let dot = hamiltonian.apply(&device.upload(x).unwrap(), &mut y).unwrap();
    (y.download().unwrap().into_iter().map(T::to_f64).collect(), dot, hamiltonian.shape())
}

fn in_room(plan: &MultiplyPlan, room: u64) -> MultiplyPlan {
    plan.way::<PartnerRows>().unwrap().clone().with_room(room).into()
}

/// Compares the table, with room for no row, a third of them and all, with the dense matrix, and with the rows by orbits.
fn compare<T: Scalar>(table: &Model, direct: &Model, devices: &[Device], seed: u64) {
    let plan = table.multiply(T::TYPE).unwrap();
    let own = plan.way::<PartnerRows>().unwrap().plan().clone();
    let dense = table.dense().unwrap();
    let x: Vec<T> = random(dense.nrows(), seed);
    let exact: Vec<f64> =
        dense.rows().into_iter().map(|row| row.iter().zip(&x).map(|(h, x)| h * x.to_f64()).sum()).collect();
    let scale = exact.iter().fold(1e-3f64, |scale, value| scale.max(value.abs()));
    let tolerance = 4.0 * T::EPSILON * scale + 1e-14 * scale;
    let expected: f64 = exact.iter().zip(&x).map(|(a, b)| a * b.to_f64()).sum();
    let rooms = [u64::MAX, own.predicted_bytes(own.rows.states / 3), 0];
    for device in devices {
        let made = direct.multiply(T::TYPE).unwrap();
        assert!(made.way::<SectorRows>().is_some());
        let shares = rooms.map(|room| in_room(&plan, room));
        for plan in [plan.clone(), made].into_iter().chain(shares) {
            let text = plan.plan_text();
            let (y, dot, shape) = product(table, plan, &x, device);
            for (row, (y, exact)) in y.iter().zip(&exact).enumerate() {
                assert!((y - exact).abs() <= tolerance, "{shape}, row {row}: {y}, expected {exact}\n{text}");
            }
            assert!((dot - expected).abs() <= tolerance * x.len() as f64, "{shape}: {dot}, expected {expected}");
        }
    }
}

/// The table's plan of a sector, after the comparison.
fn check_sector(model: &Model, symmetry: &Symmetry, devices: &[Device]) -> PartnerRows {
    let sector = |storage| model.symmetry(&symmetry.clone().storage(storage)).unwrap();
    let (table, direct) = (sector(MatrixStorage::Table), sector(MatrixStorage::Direct));
    compare::<f64>(&table, &direct, devices, 1);
    if table.in_real_gauge().is_in_own_conjugates() {
        compare::<f64>(table.in_real_gauge(), direct.in_real_gauge(), devices, 2);
    }
    let plan = table.multiply(ScalarType::F64).unwrap();
    plan.way::<PartnerRows>().unwrap().clone()
}

fn spins(operator: Operator, two_sz: i64) -> Model {
    operator.two_sz(two_sz).unwrap()
}

/// Couplings of one size and characters of 1 take no code, signs one bit of a slot.
#[test]
fn spins_by_slots_without_and_with_codes() {
    use build::{sdots, sm, sp, sz};
    let devices = devices_of_many_launches(Schedule::Forward);
    let heisenberg = |sites| bond_sum(&ring(sites), sdots);
    let check = |model: &Model, symmetry: Symmetry, codes, values| {
        let rows = check_sector(model, &symmetry, &devices);
        assert_eq!((rows.plan().codes, rows.plan().values), (codes, values), "{}", model.name());
    };
    check(&spins(heisenberg(12), 0), k(&[0]).reflection(1).spin_inversion(1), SlotCodes::None, 1);
    check(&spins(heisenberg(14), 0), Symmetry::new().reflection(1), SlotCodes::None, 1);
    check(&spins(heisenberg(12), 0), k(&[6]).reflection(-1).spin_inversion(-1), SlotCodes::Within, 2);
    check(&spins(heisenberg(33), 31), k(&[0]).reflection(1), SlotCodes::None, 1);
    let next = ring(12).further(&[0.4]);
    let anisotropic = bond_sum(&next, |i, j| plus_adjoint(0.45 * (sp(i) * sm(j))) + 0.7 * (sz(i) * sz(j)));
    check(&spins(anisotropic, 2), k(&[0]).reflection(-1), SlotCodes::Within, 2);
    let square = Lattice::square([4, 4]).periodic();
    check(&spins(bond_sum(&square, sdots), 0), k(&[0, 0]).irrep("A1").spin_inversion(1), SlotCodes::None, 1);
    check(&spins(bond_sum(&square, sdots), 2), k(&[0, 0]).irrep("B1"), SlotCodes::Within, 2);
    let triangular = Lattice::triangular([3, 3]).periodic();
    check(&spins(bond_sum(&triangular, sdots), 1), k(&[0, 0]).irrep("A1"), SlotCodes::None, 1);
}

/// Several bits a site, amplitudes that vary with the state, no flips, no charges, signs of fermions, particle–hole symmetry.
#[test]
fn other_kinds_of_sites() {
    use build::{b, bdag, c, cdag, n, sdots, sx, sz};
    let devices = devices_of_many_launches(Schedule::Reverse);
    let torus = Lattice::square([3, 2]).periodic();
    let spin_one = bond_sum(&ring(5), sdots).spin(2).two_sz(0).unwrap();
    check_sector(&spin_one, &k(&[0]).spin_inversion(-1), &devices);
    let boson = |i: usize, j: usize| -1.0 * plus_adjoint(bdag(i) * b(j)) + 0.2 * (bdag(i) * b(i) * bdag(j) * b(j));
    let bosons = bond_sum(&torus, boson).on_kinds(&[SiteKind::Bosons { most: 3 }; 6]);
    let rows = check_sector(&bosons.charges(&[(Charge::Bosons, 4)]).unwrap(), &k(&[1, 0]), &devices);
    assert!(rows.plan().amplitudes > 2, "{:?}", rows.plan().amplitudes);
    let ising = bond_sum(&Lattice::chain(7), |i, j| sz(i) * sz(j)) + (0..7).map(|i| 0.37 * sx(i)).sum::<Operator>();
    let ising = ising.on_kinds(&[SiteKind::Moments { two_s: 1 }; 7]).charges(&[]).unwrap();
    check_sector(&ising, &Symmetry::new().reflection(-1).spin_inversion(-1), &devices);
    check_sector(&spins(bond_sum(&ring(6), |i, j| sz(i) * sz(j)), 0), &k(&[3]), &devices);
    let hop = |i: usize, j: usize| {
        [Spin::Up, Spin::Down].map(|s| -1.0 * plus_adjoint(cdag(i, s) * c(j, s))).into_iter().sum::<Operator>()
    };
    let hubbard = |lattice: &Lattice, up, down| {
        let on_site = |i: usize| 3.3 * (n(i, Spin::Up) * n(i, Spin::Down));
        let operator = bond_sum(lattice, hop) + lattice.sites().map(on_site).sum::<Operator>();
        let kinds = vec![SiteKind::Electrons; lattice.sites().len()];
        operator.on_kinds(&kinds).charges(&[(Charge::Up, up), (Charge::Down, down)]).unwrap()
    };
    let rows = check_sector(&hubbard(&ring(6), 3, 3), &k(&[0]).exchange(-1), &devices);
    assert_eq!((rows.plan().codes, rows.plan().values), (SlotCodes::Within, 2));
    check_sector(&hubbard(&torus, 2, 3), &k(&[0, 1]), &devices);
    check_sector(&hubbard(&Lattice::ladder([2, 2]), 2, 2), &Symmetry::new().exchange(-1).particle_hole(1), &devices);
    let f = Spin::Flavour(0);
    let bond = |i: usize, j: usize| -1.0 * plus_adjoint(cdag(i, f) * c(j, f)) + 1.7 * (n(i, f) * n(j, f));
    let spinless = bond_sum(&ring(10), bond).on_kinds(&[SiteKind::Flavours(1); 10]);
    let spinless = spinless.charges(&[(Charge::Particles, 5)]).unwrap();
    check_sector(&spinless, &k(&[0]).reflection(1).particle_hole(1), &devices);
}

/// Complex characters, complex terms, and both; points of irreps of two dimensions.
#[test]
fn complex_sectors() {
    use build::{c, cdag, imaginary_unit, scalar, sdots, sm, sp, sz};
    let devices = devices_of_many_launches(Schedule::Forward);
    let heisenberg = spins(bond_sum(&ring(12), sdots), 0);
    let rows = check_sector(&heisenberg, &k(&[1]).spin_inversion(-1), &devices);
    assert!(rows.plan().rows.complex && rows.plan().values == 12, "{}", rows.plan().values);
    let turned = |i: usize, j: usize| {
        plus_adjoint((scalar(0.5) + 0.21 * imaginary_unit()) * sp(i) * sm(j)) + 0.8 * (sz(i) * sz(j))
    };
    check_sector(&spins(bond_sum(&ring(10), turned), 0), &k(&[0]), &devices);
    check_sector(&spins(bond_sum(&ring(10), turned), 2), &k(&[3]), &devices);
    let triangular = Lattice::triangular([3, 3]).periodic();
    check_sector(&spins(bond_sum(&triangular, sdots), 1), &k(&[1, 1]).irrep("E"), &devices);
    let tilted = Lattice::tilted(LatticeKind::Square, [[6, 0], [2, 2]]);
    check_sector(&spins(bond_sum(&tilted, sdots), 0), &k(&[0, 0]).irrep("B1").spin_inversion(1), &devices);
    let hop = |i: usize, j: usize| {
        let both = [Spin::Up, Spin::Down].map(|s| cdag(i, s) * c(j, s));
        plus_adjoint((scalar(-0.9) + 0.3 * imaginary_unit()) * both.into_iter().sum::<Operator>())
    };
    let electrons = bond_sum(&ring(5), hop).on_kinds(&[SiteKind::Electrons; 5]);
    let electrons = electrons.charges(&[(Charge::Up, 2), (Charge::Down, 2)]).unwrap();
    check_sector(&electrons, &k(&[1]), &devices);
}

/// Vectors in f32, warps of another width, blocks in random order; random couplings and symmetries of rings.
#[test]
fn random_rings() {
    use build::{sm, sp, sx, sz};
    const CASES: u64 = 6;
    let devices = devices_of_many_launches(Schedule::Random { seed: 5 });
    let narrow: Vec<Device> = simulated_with_warps_of(8, Schedule::Reverse).into_iter().collect();
    for seed in 0..CASES {
        let draw = |salt: u64, below: u64| {
            let mixed = (seed * 37 + salt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33 & 0xffff_ffff
        } % below;
        let sites = 4 + draw(0, 8) as usize;
        let mut symmetry = k(&[draw(3, sites as u64) as i64]);
        if draw(1, 2) == 0 {
            symmetry = k(&[0]).reflection(1 - 2 * draw(4, 2) as i64);
        }
        let next = ring(sites).further(&[0.1 + draw(8, 90) as f64 / 100.0]);
        let coupling = 0.2 + draw(9, 100) as f64 / 70.0;
        let bonds = bond_sum(&next, |i, j| plus_adjoint(coupling * (sp(i) * sm(j))) + 0.7 * (sz(i) * sz(j)));
        let free = draw(5, 2) == 0;
        let model = match free {
            true => {
                let field = bonds + (0..sites).map(|i| 0.3 * sx(i)).sum::<Operator>();
                field.on_kinds(&vec![SiteKind::Moments { two_s: 1 }; sites]).charges(&[]).unwrap()
            }
            false => spins(bonds, sites as i64 % 2),
        };
        let sector = |storage| model.symmetry(&symmetry.clone().storage(storage));
        let Ok(table) = sector(MatrixStorage::Table) else { continue };
        let direct = sector(MatrixStorage::Direct).unwrap();
        compare::<f64>(&table, &direct, if seed % 2 == 0 { &devices } else { &narrow }, seed);
        compare::<f32>(&table, &direct, &devices, seed + 100);
    }
}

/// Several cards share the rows of real sectors, of complex ones and of those that are their own conjugates, with the numbers of one card.
#[test]
fn several_cards_share_the_rows() {
    use build::{scalar, sdots, sm, sp, sz};
    let turned = |i: usize, j: usize| {
        plus_adjoint((scalar(0.5) + 0.21 * build::imaginary_unit()) * sp(i) * sm(j)) + 0.8 * (sz(i) * sz(j))
    };
    let (mut one, cards) = (devices_of_many_launches(Schedule::Forward), teams(&[2]));
    let mut sectors = vec![
        (bond_sum(&ring(12), sdots), k(&[6]).reflection(-1)),
        (bond_sum(&ring(12), turned), k(&[1])),
        (bond_sum(&ring(12), sdots), k(&[1])),
    ];
    // On two cards also vectors that are too short to be spread, whose table is long enough.
    if let Some(card) = card().filter(|_| Device::cards() > 1) {
        one = vec![card];
        sectors.push((bond_sum(&ring(26), sdots), k(&[0]).reflection(1).spin_inversion(1)));
    }
    for (bond, symmetry) in sectors {
        let sector = spins(bond, 0).symmetry(&symmetry.storage(MatrixStorage::Table)).unwrap();
        let model = sector.in_real_gauge();
        let plan = model.multiply(ScalarType::F64).unwrap();
        let states = plan.way::<PartnerRows>().unwrap().plan().rows.states;
        let x: Vec<f64> = random(model.dimension() as usize, 11);
        for room in [u64::MAX, plan.way::<PartnerRows>().unwrap().plan().predicted_bytes(states / 3)] {
            let of_one: Vec<_> = one.iter().map(|device| product(model, in_room(&plan, room), &x, device).0).collect();
            for device in &cards {
                let (y, ..) = product(model, in_room(&plan, room), &x, device);
                let same = |of_one: &Vec<f64>| of_one.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-14);
                assert!(of_one.iter().all(same), "{}", device.name());
            }
        }
    }
}

/// Where codes do not fit beside the place they stand in bytes of their own, with the same product.
#[test]
fn codes_of_their_own() {
    let devices = devices_of_many_launches(Schedule::Forward);
    for symmetry in [k(&[6]).reflection(-1), k(&[1])] {
        let sector = spins(bond_sum(&ring(12), build::sdots), 0).symmetry(&symmetry.storage(MatrixStorage::Table));
        let table = sector.unwrap();
        let plan = table.multiply(ScalarType::F64).unwrap();
        let x: Vec<f64> = random(table.dimension() as usize, 7);
        let rows = plan.way::<PartnerRows>().unwrap();
        for device in &devices {
            let (within, dot, _) = product(&table, plan.clone(), &x, device);
            let mut beside = rows.clone();
            std::sync::Arc::make_mut(&mut beside.plan).codes = SlotCodes::Beside;
            let (y, other, shape) = product(&table, beside.into(), &x, device);
            assert!(y == within && dot == other && shape.contains("5 bytes an element"), "{shape}");
        }
    }
}

/// Cores make a table of their own; so they do where no kernel makes rows, for words of more than 64 bits.
#[test]
fn cores_make_tables_that_no_card_makes() {
    let heisenberg = spins(bond_sum(&ring(12), build::sdots), 0);
    let table = heisenberg.symmetry(&k(&[0]).storage(MatrixStorage::Table)).unwrap();
    let text = table.rows_text().unwrap();
    assert!(text.starts_with("on one card by a table of partners of all rows, 4 bytes an element"), "{text}");
    assert!(text.ends_with("elsewhere by a table that the cores make"), "{text}");
    let long = bond_sum(&ring(70), build::sdots).two_sz(66).unwrap();
    let long = long.symmetry(&k(&[0]).storage(MatrixStorage::Table)).unwrap();
    assert!(long.rows_text().unwrap().contains("made once by the cores"));
}
