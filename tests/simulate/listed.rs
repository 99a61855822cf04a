//! Listed states and their stored matrix, as of more than 64 bits: every format's kernels against the dense matrix.

use super::{devices, multiply::check, shapes::one_of};
use eigenforge::exact::{InSector, Model, MultiplyPlan, PartnerRows, SectorRows, StoredHamiltonian};
use eigenforge::exact::{averages_of, averages_on_host};
use eigenforge::lattice::{Lattice, LatticeKind};
use eigenforge::operator::{Charge, MatrixStorage, Operator, SiteKind, Spin, Symmetry, build};
use eigenforge::runtime::Device;
use eigenforge_templates::ScalarType;

fn compare(model: &Model) {
    let dense = model.dense().unwrap();
    let prepared = model.multiply(ScalarType::F64).unwrap();
    assert!(prepared.way::<StoredHamiltonian>().is_some());
    check::<f64>(&[Device::cpu()], model, &prepared, &dense);
    check::<f64>(&devices(), model, &prepared, &dense);
    let single = model.multiply(ScalarType::F32).unwrap();
    check::<f32>(&[Device::cpu()], model, &single, &dense);
    check::<f32>(one_of(&devices()), model, &single, &dense);
}

fn plus_adjoint(term: Operator) -> Operator {
    term.clone() + term.adjoint()
}

/// Bosons and spins on 40 sites of three bits in all for each pair, some states forbidden; complex with `flux`.
fn mixed(flux: f64) -> Operator {
    let kinds: Vec<SiteKind> = (0..40)
        .map(|site| if site % 2 == 0 { SiteKind::Bosons { most: 6 } } else { SiteKind::Moments { two_s: 1 } })
        .collect();
    let turn = build::scalar(flux.cos()) + flux.sin() * build::imaginary_unit();
    let mut h = Operator::zero().on_kinds(&kinds);
    for site in (0..40).step_by(2) {
        let next = (site + 2) % 40;
        h = h + plus_adjoint(turn.clone() * build::bdag(site) * build::b(next));
        h = h - 0.7 * plus_adjoint(build::sp(site + 1) * build::sm(next + 1));
        h = h + 0.3 * (build::bdag(site) * build::b(site) * build::sz(site + 1));
        h = h + 0.05 * site as f64 * (build::bdag(site) * build::bdag(site) * build::b(site) * build::b(site));
    }
    h.forbid(&[(0, 1), (1, 1)])
}

#[test]
fn words_of_many_bits_multiply_by_a_stored_matrix() {
    for (flux, bosons, ups) in [(0.0, 1, 1), (0.4, 1, 0), (0.0, 2, 0)] {
        let charges = [(Charge::Bosons, bosons), (Charge::TwoSz, 2 * ups - 20)];
        let model = mixed(flux).charges(&charges).unwrap();
        assert_eq!(model.basis().word().bits(), 80 + u32::from(flux != 0.0));
        compare(&model);
    }
}

#[test]
fn short_words_in_a_list_multiply_as_from_tables() {
    let mut h = Operator::zero();
    for i in 0..6 {
        let j = (i + 1) % 6;
        h = h + build::sdots(i, j) + 0.2 * i as f64 * build::sz(i);
    }
    let model = h.on_sites(6).two_sz(0).unwrap();
    let listed = model.with_listed_states().unwrap();
    assert_eq!(model.dense().unwrap(), listed.dense().unwrap());
    compare(&listed);
}

/// A real and a complex symmetry sector: every format's kernels on the simulator, and the CPU's.
#[test]
fn symmetry_sectors_multiply_by_a_stored_matrix() {
    let ring = eigenforge::lattice::Lattice::chain(10).periodic();
    let bonds = ring.bonds().iter().map(|bond| build::sdots(bond.i, bond.j));
    let model = bonds.sum::<Operator>().on_lattice(&ring).two_sz(0).unwrap();
    for k in [5, 2] {
        let sector = model.symmetry(&Symmetry::new().k(&[k]).spin_inversion(-1)).unwrap();
        assert_eq!(sector.is_complex(), k == 2);
        compare(&sector);
    }
}

/// Σ over the bonds of a lattice.
fn bond_sum(lattice: &Lattice, of_bond: impl Fn(usize, usize) -> Operator) -> Operator {
    lattice.bonds().iter().map(|bond| of_bond(bond.i, bond.j)).sum::<Operator>().on_lattice(lattice)
}

/// The sector by rows that its own kernels make, against the dense matrix; gives it.
fn rows_made(model: &Model, symmetry: &Symmetry) -> Model {
    let sector = model.symmetry(&symmetry.clone().storage(MatrixStorage::Direct)).unwrap();
    let prepared = sector.multiply(ScalarType::F64).unwrap();
    assert!(prepared.way::<SectorRows>().is_some());
    check::<f64>(&devices(), &sector, &prepared, &sector.dense().unwrap());
    sector
}

/// Words of 32 and 64 bits and beside them, words with equal bits, mirrors through a site, no flips, large couplings; and rings with
/// random symmetries.
#[test]
fn rings_by_longest_runs() {
    use build::{sdots, sm, sp, sx, sz};
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    let k = |k: i64| Symmetry::new().k(&[k]);
    let through_a_site = |sites: usize| (0..sites).map(|site| (sites - site) % sites).collect::<Vec<usize>>();
    for (sites, symmetry) in
        [(32, k(0).reflection(1)), (33, k(2)), (40, k(20).reflection(-1)), (64, k(0).reflection(1))]
    {
        let magnons = bond_sum(&ring(sites), sdots).two_sz(sites as i64 - 4).unwrap();
        rows_made(&magnons, &symmetry);
    }
    let mirrored = bond_sum(&ring(7), |i, j| 1e12 * sdots(i, j)).two_sz(1).unwrap();
    rows_made(&mirrored, &k(0).generator(&through_a_site(7), (-1.0).into()));
    rows_made(&bond_sum(&ring(6), |i, j| sz(i) * sz(j)).two_sz(0).unwrap(), &k(1));
    const CASES: u64 = 4;
    for seed in 0..CASES {
        let draw = |salt: u64, below: u64| {
            let mixed = (seed * 31 + salt + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33 & 0xffff_ffff
        } % below;
        let sites = 3 + draw(0, 10) as usize;
        let half = sites as i64 / 2;
        let real = [0, half][draw(1, if sites.is_multiple_of(2) { 2 } else { 1 }) as usize];
        let mut symmetry = match draw(2, 3) {
            0 => k(draw(3, sites as u64) as i64),
            1 => k(real).reflection(1 - 2 * draw(4, 2) as i64),
            _ => k(real).generator(&through_a_site(sites), (1.0 - 2.0 * draw(4, 2) as f64).into()),
        };
        // Couplings to second neighbours too, and a field where nothing is conserved.
        let next = if sites > 4 { ring(sites).further(&[0.4]) } else { ring(sites) };
        let free = draw(5, 2) == 0;
        let bonds = bond_sum(&next, |i, j| plus_adjoint(0.45 * (sp(i) * sm(j))) + 0.7 * (sz(i) * sz(j)));
        let model = match free {
            true => {
                let field = bonds + (0..sites).map(|i| 0.3 * sx(i)).sum::<Operator>();
                field.on_kinds(&vec![SiteKind::Moments { two_s: 1 }; sites]).charges(&[]).unwrap()
            }
            false => bonds.two_sz(sites as i64 % 2).unwrap(),
        };
        if draw(6, 2) == 0 && (free || sites.is_multiple_of(2)) {
            symmetry = symmetry.spin_inversion(1 - 2 * draw(7, 2) as i64);
        }
        match model.symmetry(&symmetry) {
            Ok(_) => drop(rows_made(&model, &symmetry)),
            Err(error) => assert!(error.to_string().contains("dimension 0"), "{sites} sites, {symmetry:?}: {error}"),
        }
    }
}

/// Rows made by the sector's own kernels, list and bitmap included: rings of whole words and other groups, characters and none, signs of
/// fermions, several bits a site, complex terms, no charges; and averages by the same kernels.
#[test]
fn symmetry_sectors_multiply_by_rows_made_on_the_device() {
    use build::{b, bdag, c, cdag, imaginary_unit, n, scalar, sdots, sm, sp, sx, sz};
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    let heisenberg = bond_sum(&ring(10), sdots);
    let turned = |i: usize, j: usize| {
        plus_adjoint((scalar(0.5) + 0.21 * imaginary_unit()) * sp(i) * sm(j)) + 0.8 * (sz(i) * sz(j))
    };
    let hop = |i: usize, j: usize| {
        [Spin::Up, Spin::Down].map(|s| -1.0 * plus_adjoint(cdag(i, s) * c(j, s))).into_iter().sum::<Operator>()
    };
    let hubbard = |lattice: &Lattice| {
        let on_site = |i: usize| 3.3 * (n(i, Spin::Up) * n(i, Spin::Down));
        bond_sum(lattice, hop) + lattice.sites().map(on_site).sum::<Operator>()
    };
    let electrons = |model: Operator, sites: usize, up, down| {
        model.on_kinds(&vec![SiteKind::Electrons; sites]).charges(&[(Charge::Up, up), (Charge::Down, down)]).unwrap()
    };
    let torus = Lattice::square([3, 2]).periodic();
    let bosons = bond_sum(&torus, |i, j| -1.0 * plus_adjoint(bdag(i) * b(j)) + 0.2 * (bdag(i) * b(i) * bdag(j) * b(j)));
    let spin_one = bond_sum(&ring(5), sdots).spin(2).two_sz(0).unwrap();
    let ising = bond_sum(&Lattice::chain(7), |i, j| sz(i) * sz(j)) + (0..7).map(|i| 0.37 * sx(i)).sum::<Operator>();
    let ising = ising.on_kinds(&[SiteKind::Moments { two_s: 1 }; 7]).charges(&[]).unwrap();
    let hard_core =
        bond_sum(&torus, |i, j| -1.0 * plus_adjoint(bdag(i) * b(j)) + 0.2 * (bdag(i) * b(i) * bdag(j) * b(j)));
    let hard_core = hard_core.on_kinds(&[SiteKind::Bosons { most: 1 }; 6]).charges(&[(Charge::Bosons, 3)]).unwrap();
    let spinless = |lattice: &Lattice, number: i64| {
        let f = Spin::Flavour(0);
        let bond = |i: usize, j: usize| -1.0 * plus_adjoint(cdag(i, f) * c(j, f)) + 1.7 * (n(i, f) * n(j, f));
        let kinds = vec![SiteKind::Flavours(1); lattice.sites().len()];
        bond_sum(lattice, bond).on_kinds(&kinds).charges(&[(Charge::Particles, number)]).unwrap()
    };
    let bosons = bosons.on_kinds(&[SiteKind::Bosons { most: 3 }; 6]).charges(&[(Charge::Bosons, 4)]).unwrap();
    let (square, triangular) = (Lattice::square([3, 3]).periodic(), Lattice::triangular([3, 3]).periodic());
    let tilted = Lattice::tilted(LatticeKind::Square, [[6, 0], [2, 2]]);
    let mut by_rows = 0;
    let k = |k: &[i64]| Symmetry::new().k(k);
    let half = || heisenberg.clone().two_sz(0).unwrap();
    for (model, symmetry) in [
        (half(), k(&[0]).reflection(1).spin_inversion(-1)),
        (half(), k(&[5]).spin_inversion(-1)),
        (half(), k(&[2]).spin_inversion(1)),
        (heisenberg.clone().two_sz(4).unwrap(), k(&[0])),
        (bond_sum(&ring(8), turned).two_sz(0).unwrap(), k(&[1])),
        (electrons(hubbard(&ring(5)), 5, 2, 2), k(&[1]).exchange(-1)),
        (electrons(hubbard(&torus), 6, 2, 3), k(&[0, 1])),
        (spin_one, k(&[0]).spin_inversion(-1)),
        (bosons, k(&[1, 0])),
        (ising, Symmetry::new().reflection(-1).spin_inversion(-1)),
        (bond_sum(&square, sdots).two_sz(1).unwrap(), k(&[0, 0]).irrep("E")),
        (bond_sum(&tilted, sdots).two_sz(0).unwrap(), k(&[0, 0]).irrep("B1").spin_inversion(1)),
        (bond_sum(&triangular, sdots).two_sz(1).unwrap(), k(&[1, 1]).irrep("E")),
        // Particle–hole symmetry, an inversion of all bits or of some, with a sign for each.
        (electrons(hubbard(&ring(4)), 4, 2, 2), k(&[1]).particle_hole(-1)),
        (
            electrons(hubbard(&Lattice::ladder([2, 2])), 4, 2, 2),
            Symmetry::new().reflection(1).exchange(-1).particle_hole(1),
        ),
        (spinless(&ring(10), 5), k(&[0]).reflection(1).particle_hole(1)),
        (spinless(&ring(6), 3), k(&[1]).particle_hole(1)),
        (spinless(&Lattice::square([4, 2]).periodic(), 4), k(&[2, 0]).particle_hole(-1)),
        (hard_core, k(&[0, 0]).particle_hole(-1)),
    ] {
        let sector = rows_made(&model, &symmetry);
        // Solvers take electrons by strings; here they are rows like others.
        let shape = sector.multiply(ScalarType::F64).unwrap().shape();
        by_rows += usize::from(shape.contains("by the least rows of a torus"));
        let Some(device) = devices().into_iter().next() else { continue };
        let x: Vec<f64> = super::multiply::start(sector.dimension() as usize, 3);
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let x: Vec<f64> = x.iter().map(|x| x / norm).collect();
        let observables = sector.standard_observables();
        let there = averages_of(&sector, &[&device.upload(&x).unwrap()], &device, &observables).unwrap();
        let here = averages_on_host(&sector, &[&x[..]], &observables).unwrap();
        for observable in &observables {
            let values = |averages: &eigenforge::observable::Averages| averages.get(&observable.name).unwrap().values();
            for (a, b) in values(&there).iter().zip(&values(&here)) {
                assert!((a - b).abs() < 1e-12, "{}, {}: {a} and {b}", sector.name(), observable.name);
            }
        }
    }
    // Of the ring of electrons the exchange turns the two bits of a site.
    assert_eq!(by_rows, 8);
    let single = half().symmetry(&k(&[2]).storage(MatrixStorage::Direct)).unwrap();
    let prepared = single.multiply(ScalarType::F32).unwrap();
    check::<f32>(one_of(&devices()), &single, &prepared, &single.dense().unwrap());
}

/// Rows from a table of partners, all of them and as many as there is room for, the same bits under all schedules; without symmetry of
/// values, with signs, complex.
#[test]
fn symmetry_sectors_multiply_by_a_table_of_partners() {
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    let spins = |sites: usize| bond_sum(&ring(sites), build::sdots).two_sz(0).unwrap();
    let k = |k: i64| Symmetry::new().k(&[k]);
    for (model, symmetry) in [
        (spins(12), k(0).reflection(1).spin_inversion(1)),
        (spins(12), k(6).reflection(-1)),
        (spins(12), k(1)),
        (spins(14), Symmetry::new().reflection(-1)),
    ] {
        let sector = model.symmetry(&symmetry.storage(MatrixStorage::Table)).unwrap();
        let (prepared, dense) = (sector.multiply(ScalarType::F64).unwrap(), sector.dense().unwrap());
        let rows = prepared.way::<PartnerRows>().unwrap();
        check::<f64>(&devices(), &sector, &prepared, &dense);
        let third = rows.plan().predicted_bytes(sector.states() / 3);
        let part = MultiplyPlan::from(rows.clone().with_room(third));
        check::<f64>(one_of(&devices()), &sector, &part, &dense);
        let single = sector.multiply(ScalarType::F32).unwrap();
        check::<f32>(one_of(&devices()), &sector, &single, &dense);
    }
}

/// Sectors of one group and one H share the text, and so the compiled kernels: numbers of states and characters are arguments. With half
/// words in tables and searched, real and complex, rings, tori and electrons.
#[test]
fn sectors_of_other_sizes_share_their_text() {
    use build::{c, cdag, sdots};
    let ring = |sites: usize| Lattice::chain(sites).periodic();
    let spins = |lattice: &Lattice, two_sz: i64| bond_sum(lattice, sdots).two_sz(two_sz).unwrap();
    let torus = Lattice::square([4, 4]).periodic();
    let hop = |i: usize, j: usize| plus_adjoint(cdag(i, Spin::Up) * c(j, Spin::Up));
    let electrons = |up: i64| {
        let kinds = [SiteKind::Electrons; 6];
        bond_sum(&ring(6), hop).on_kinds(&kinds).charges(&[(Charge::Up, up), (Charge::Down, 2)]).unwrap()
    };
    let k = |k: &[i64]| Symmetry::new().k(k);
    for pair in [
        [(spins(&ring(10), 2), k(&[0]).reflection(1)), (spins(&ring(10), 4), k(&[0]).reflection(1))],
        [(spins(&ring(10), 2), k(&[5]).reflection(1)), (spins(&ring(10), 4), k(&[5]).reflection(-1))],
        [(spins(&ring(10), 2), k(&[2])), (spins(&ring(10), 4), k(&[3]))],
        [(spins(&ring(40), 36), k(&[1])), (spins(&ring(40), 34), k(&[2]))],
        [(spins(&torus, 4), k(&[0, 0]).irrep("A2")), (spins(&torus, 2), k(&[0, 0]).irrep("B1"))],
        [(electrons(1), k(&[1])), (electrons(3), k(&[2]))],
    ] {
        let texts = pair.map(|(model, symmetry)| {
            let sector = model.symmetry(&symmetry.storage(MatrixStorage::Direct)).unwrap();
            let prepared = sector.multiply(ScalarType::F64).unwrap();
            let text = prepared.text().unwrap();
            (sector.states(), (text.name, text.text, prepared.diagonal_text().source))
        });
        let [(states, text), (others, other)] = texts;
        assert!(states != others && text == other, "{states} and {others} states:\n{}\n{}", text.1, other.1);
    }
}
