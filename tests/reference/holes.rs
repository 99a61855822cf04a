//! Particle–hole symmetry: its two sectors together are the half-filled one, alone and beside the symmetries with which it commutes.
//!
//! In: electrons, spinless fermions and hard-core bosons with random couplings on bipartite lattices. Out: dimensions, spectra and averages of
//! all sectors against those of the whole (dense); what has no such symmetry is refused with the reason.

use super::symmetric::{
    SetSign, add_up, all_states, by_irreps, in_sector, momenta, over_bonds, over_sites, plus_adjoint,
};
use eigenforge::basis::{Down, Up};
use eigenforge::exact::{InSector, Model};
use eigenforge::lattice::{Boundary, Lattice};
use eigenforge::operator::build::{b, bdag, c, cdag, electron_sdots, imaginary_unit, n, n_total};
use eigenforge::operator::{Charge, Operator, SiteKind, Spin, Symmetry};

const HOLES: &[SetSign] = &[Symmetry::particle_hole];
const F: Spin = Spin::Flavour(0);

fn signs() -> Vec<Symmetry> {
    [1, -1].map(|sign| Symmetry::new().particle_hole(sign)).to_vec()
}

/// A number between −1 and 1 of a pair of sites and a seed.
fn drawn(seed: usize, i: usize, j: usize) -> f64 {
    ((seed * 7919 + i.min(j) * 104_729 + i.max(j) * 1_299_709) % 2003) as f64 / 1001.0 - 1.0
}

/// Edges of a connected graph between the sites below `left` and the others, with random ones among them.
fn bipartite(sites: usize, left: usize, seed: usize) -> Vec<(usize, usize)> {
    let tree = (1..sites).map(|site| if site < left { (site, left) } else { (0, site) });
    let more = (0..left).flat_map(|i| (left..sites).map(move |j| (i, j)));
    let mut edges: Vec<(usize, usize)> = tree.chain(more.filter(|(i, j)| drawn(seed, *i, *j) > 0.5)).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The hop of both spins.
fn hop(i: usize, j: usize) -> Operator {
    plus_adjoint(cdag(i, Spin::Up) * c(j, Spin::Up)) + plus_adjoint(cdag(i, Spin::Down) * c(j, Spin::Down))
}

fn repulsion(i: usize) -> Operator {
    n(i, Spin::Up) * n(i, Spin::Down)
}

/// The Hubbard model with V n n on bonds, U and V the same everywhere.
fn extended(lattice: &Lattice, v: f64) -> Operator {
    over_bonds(lattice, |i, j| -1.0 * hop(i, j) + v * (n_total(i) * n_total(j)))
        + over_sites(lattice, |i| 3.3 * repulsion(i))
}

#[test]
fn random_bipartite_lattices_of_electrons() {
    for (sites, left, seed) in [(4, 1, 1), (4, 2, 2), (6, 2, 3)] {
        // Random hops, U, exchange and V of densities that are counted from half filling.
        let bond = |(i, j): (usize, usize)| {
            let charge = |site| n_total(site) - 1.0;
            (0.3 + drawn(seed, i, j)) * hop(i, j)
                + drawn(seed + 1, i, j) * (charge(i) * charge(j))
                + drawn(seed + 2, i, j) * electron_sdots(i, j)
        };
        let hops: Operator = bipartite(sites, left, seed).into_iter().map(bond).sum();
        let on_site = |i| drawn(seed + 3, i, i) * (repulsion(i) - 0.5 * n_total(i));
        let random = hops + (0..sites).map(on_site).sum::<Operator>();
        let half = sites / 2;
        let model = random.on_sites(sites).sector(Up(half), Down(half)).unwrap();
        if sites == 4 {
            add_up(&format!("{sites} sites, {left} of one colour"), &model, &signs());
            let both = signs().into_iter().flat_map(|one| [1, -1].map(|sign| one.clone().exchange(sign)));
            add_up("and exchange", &model, &both.collect::<Vec<_>>());
        } else {
            let parts: Vec<Model> = signs().iter().filter_map(|symmetry| in_sector(&model, symmetry)).collect();
            assert_eq!(parts.iter().map(Model::states).sum::<u64>(), model.states());
        }
    }
}

#[test]
fn hubbard_with_momenta_and_irreps() {
    let ring = Lattice::chain(4).periodic();
    let model = extended(&ring, 0.6).sector(Up(2), Down(2)).unwrap();
    add_up("ring", &model, &momenta(&[4], HOLES));
    add_up("ring with exchange", &model, &momenta(&[4], &[Symmetry::exchange, Symmetry::particle_hole]));
    let open = over_bonds(&Lattice::chain(4), |i, j| -1.0 * hop(i, j)) + over_sites(&ring, |i| 2.1 * repulsion(i));
    let both = signs().into_iter().flat_map(|one| [1, -1].map(|sign| one.clone().reflection(sign)));
    add_up("open", &open.sector(Up(2), Down(2)).unwrap(), &both.collect::<Vec<_>>());
    // An imaginary hop joins sites of one colour, and a field and a chemical potential vanish in the sector.
    let current = |i, j| 0.4 * plus_adjoint(imaginary_unit() * cdag(i, Spin::Up) * c(j, Spin::Up));
    let crossed =
        extended(&ring, 0.0) + current(0, 2) + over_sites(&ring, |i| 0.7 * n(i, Spin::Up) - 0.2 * n(i, Spin::Down));
    let model = crossed.on_kinds(&[SiteKind::Electrons; 4]).charges(&[(Charge::Up, 2), (Charge::Down, 2)]).unwrap();
    add_up("imaginary hops", &model, &signs());
    // The whole half-filled space, 2Sz not fixed, of an even number of sites.
    let model = extended(&ring, 0.6).on_kinds(&[SiteKind::Electrons; 4]).charges(&[(Charge::Particles, 4)]).unwrap();
    add_up("any 2Sz", &model, &momenta(&[4], HOLES));
    // Every irrep of every momentum of a ladder.
    let ladder = Lattice::ladder([3, 2]).boundary([Boundary::Open, Boundary::Open]);
    let operator = over_bonds(&ladder, |i, j| -1.0 * hop(i, j)) + over_sites(&ladder, |i| 2.1 * repulsion(i));
    let model = operator.sector(Up(3), Down(3)).unwrap();
    let parts = [1, -1].map(|sign| by_irreps(&model, &ladder, |symmetry| symmetry.particle_hole(sign)).0).concat();
    assert_eq!(parts.iter().map(Model::states).sum::<u64>(), model.states());
    let mut found: Vec<f64> = parts.iter().flat_map(|part| all_states(part).energies().to_vec()).collect();
    found.sort_by(f64::total_cmp);
    found.iter().zip(all_states(&model).energies()).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} and {b}"));
}

#[test]
fn spinless_fermions_flavours_and_hard_core_bosons() {
    let spinless = |lattice: &Lattice, v: f64| {
        let bond = |i, j| -1.0 * plus_adjoint(cdag(i, F) * c(j, F)) + v * (n(i, F) * n(j, F));
        over_bonds(lattice, bond).on_kinds(&vec![SiteKind::Flavours(1); lattice.sites().len()])
    };
    // Of an odd number of fermions it goes with momenta; of an even number it takes k to k + π.
    let ring = |sites| Lattice::chain(sites).periodic();
    let six = spinless(&ring(6), 1.7).charges(&[(Charge::Particles, 3)]).unwrap();
    add_up("ring of 6", &six, &momenta(&[6], HOLES));
    let eight = spinless(&ring(8), 1.7).charges(&[(Charge::Particles, 4)]).unwrap();
    add_up("ring of 8", &eight, &signs());
    let error = eight.symmetry(&Symmetry::new().k(&[0]).particle_hole(1)).unwrap_err().to_string();
    assert!(error.contains("particle_hole beside translation along x") && error.contains("k + half"), "{error}");
    for k in 0..4 {
        let energies = [k, k + 4].map(|k| in_sector(&eight, &Symmetry::new().k(&[k])).unwrap());
        let [left, right] = energies.each_ref().map(|model| all_states(model).energies().to_vec());
        left.iter().zip(&right).for_each(|(a, b)| assert!((a - b).abs() < 1e-10));
    }
    // By the parity alone: pairs that are created and annihilated, as in Kitaev's chain.
    let pairs = |i, j| plus_adjoint(cdag(i, F) * c(j, F)) + 0.6 * plus_adjoint(cdag(i, F) * cdag(j, F));
    let kitaev = over_bonds(&Lattice::chain(4), pairs).on_kinds(&[SiteKind::Flavours(1); 4]);
    for parity in [0, 1] {
        let model = kitaev.clone().charges(&[(Charge::Parity, parity)]).unwrap();
        add_up("Kitaev", &model, &signs());
    }
    let three = |i: usize, j: usize| {
        let of = |g| plus_adjoint(-1.0 * (cdag(i, Spin::Flavour(g)) * c(j, Spin::Flavour(g))));
        (0..3).map(of).sum::<Operator>()
    };
    let kinds = [SiteKind::Flavours(3); 2];
    let flavours = over_bonds(&Lattice::chain(2), three).on_kinds(&kinds).charges(&[(Charge::Particles, 3)]).unwrap();
    add_up("three flavours", &flavours, &signs());
    // Hard-core bosons need no colours.
    let triangle = |i, j| -1.0 * plus_adjoint(bdag(i) * b(j)) + 0.7 * (bdag(i) * b(i) * bdag(j) * b(j));
    let lattice = Lattice::triangular([3, 2]).periodic();
    let bosons = over_bonds(&lattice, triangle).on_kinds(&[SiteKind::Bosons { most: 1 }; 6]);
    add_up("bosons", &bosons.charges(&[(Charge::Bosons, 3)]).unwrap(), &momenta(&[3, 2], HOLES));
}

#[test]
fn a_chemical_potential_vanishes_in_the_sector_and_a_field_too() {
    let ring = Lattice::chain(4).periodic();
    let model = (extended(&ring, 0.6) + over_sites(&ring, |i| 0.3 * n_total(i))).sector(Up(2), Down(2)).unwrap();
    add_up("chemical potential", &model, &signs());
    let field = over_bonds(&ring, eigenforge::operator::build::sdots)
        + over_sites(&ring, |i| 0.3 * eigenforge::operator::build::sz(i));
    add_up("field", &field.two_sz(0).unwrap(), &momenta(&[4], &[Symmetry::spin_inversion]));
}

#[test]
fn what_has_no_holes_is_refused_with_the_reason() {
    let told = |model: &Model, symmetry: Symmetry| model.symmetry(&symmetry).unwrap_err().to_string();
    let has =
        |text: String, parts: &[&str]| parts.iter().for_each(|part| assert!(text.contains(part), "{text}\n{part}"));
    let holes = || Symmetry::new().particle_hole(1);
    let ring = |sites| Lattice::chain(sites).periodic();
    let frustrated = extended(&ring(6).further(&[0.3]), 0.0).sector(Up(3), Down(3)).unwrap();
    has(told(&frustrated, holes()), &["c†_", "different signs", "not bipartite"]);
    let doped = extended(&ring(6), 0.0).sector(Up(2), Down(3)).unwrap();
    has(told(&doped, holes()), &["takes 2 up to 4 up", "half filled: 3 up"]);
    let odd = extended(&Lattice::chain(5), 0.0).sector(Up(2), Down(3)).unwrap();
    has(told(&odd, holes()), &["2 up to 3 up", "no sector of these sites is half filled"]);
    // V n n of an open chain, whose ends have fewer neighbours, and a field at one site.
    let open = extended(&Lattice::chain(4), 0.6).sector(Up(2), Down(2)).unwrap();
    has(told(&open, holes()), &["adds", "(n(i) - 1) * (n(j) - 1)"]);
    let staggered = (extended(&ring(4), 0.0) + 0.4 * n_total(1)).sector(Up(2), Down(2)).unwrap();
    has(told(&staggered, holes()), &["not invariant under particle_hole", "_1"]);
    let imaginary = extended(&ring(4), 0.0) + 0.4 * plus_adjoint(imaginary_unit() * cdag(0, Spin::Up) * c(1, Spin::Up));
    let imaginary =
        imaginary.on_kinds(&[SiteKind::Electrons; 4]).charges(&[(Charge::Up, 2), (Charge::Down, 2)]).unwrap();
    has(told(&imaginary, holes()), &["equal signs", "different ones"]);
    let spins = over_bonds(&ring(4), eigenforge::operator::build::sdots).two_sz(0).unwrap();
    has(told(&spins, holes()), &["particle_hole acts on electrons", "give `spin_inversion`"]);
    let tj =
        extended(&ring(4), 0.0).on_kinds(&[SiteKind::Tj; 4]).charges(&[(Charge::Up, 2), (Charge::Down, 2)]).unwrap();
    has(told(&tj, holes()), &["two electrons", "\"tj\""]);
    let bosons = over_bonds(&ring(4), |i, j| plus_adjoint(bdag(i) * b(j))).on_kinds(&[SiteKind::Bosons { most: 2 }; 4]);
    has(told(&bosons.charges(&[(Charge::Bosons, 4)]).unwrap(), holes()), &["more bosons"]);
    // Twice is −1 on an odd number of sites, and where two of six sites have the other colour.
    let five = extended(&Lattice::chain(5), 0.0)
        .on_kinds(&[SiteKind::Electrons; 5])
        .charges(&[(Charge::Particles, 5)])
        .unwrap();
    has(told(&five, holes()), &["applied twice is -1", "10 fermion modes"]);
    let star: Operator =
        [(0, 2), (0, 3), (0, 4), (1, 4), (1, 5)].map(|(i, j)| plus_adjoint(cdag(i, F) * c(j, F))).into_iter().sum();
    let star = star.on_kinds(&[SiteKind::Flavours(1); 6]).charges(&[(Charge::Particles, 3)]).unwrap();
    has(told(&star, holes()), &["applied twice is -1", "on 4 of the sites"]);
    has(told(&extended(&ring(4), 0.0).sector(Up(2), Down(2)).unwrap(), Symmetry::new().particle_hole(2)), &["1 or -1"]);
}
