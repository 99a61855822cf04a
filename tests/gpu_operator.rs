//! `#[gpu_operator]` end to end: each definition equals the operator built by hand, term by term, and its sums carry
//! the user's text with the CUDA of their coefficients.

use eigenforge::exact::InSector;
use eigenforge::lattice::Lattice;
use eigenforge::operator::build::{self, c, cdag, electron_sm, electron_sp, n, n_total, scalar, sm, sp, sz};
use eigenforge::operator::{Operator, Spin};
use eigenforge_macros::gpu_operator;

const SPINS: [Spin; 2] = [Spin::Up, Spin::Down];

/// Hubbard model with a repulsion of its own on each site.
#[gpu_operator(conserves(Up, Down))]
fn hubbard(lattice: &Lattice, t: f64, u: &[f64]) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
        + sum!(i in lattice.sites(); u[i] * n(i, Up) * n(i, Down))
}

fn hubbard_by_hand(lattice: &Lattice, t: f64, u: &[f64]) -> Operator {
    let mut total = Operator::zero();
    for bond in lattice.bonds() {
        for spin in SPINS {
            total = total + -t * (cdag(bond.i, spin) * c(bond.j, spin)) + -t * (cdag(bond.j, spin) * c(bond.i, spin));
        }
    }
    for site in lattice.sites() {
        total = total + u[site] * (n(site, Spin::Up) * n(site, Spin::Down));
    }
    total
}

/// Both operators, their difference below rounding of a few additions.
fn assert_same(left: Operator, right: Operator) {
    assert!(!right.is_empty());
    let largest = right.terms().fold(0.0f64, |largest, (_, coefficient)| largest.max(coefficient.abs()));
    let (left_terms, right_terms): (Vec<_>, Vec<_>) = (left.terms().collect(), right.terms().collect());
    assert_eq!(left_terms.len(), right_terms.len(), "\n{left_terms:?}\n{right_terms:?}");
    for ((product, a), (expected, b)) in left_terms.into_iter().zip(right_terms) {
        assert_eq!(product, expected);
        assert!((a - b).abs() <= 1e-14 * largest, "{product:?}: {a} and {b}");
    }
}

#[test]
fn hubbard_equals_the_operator_built_by_hand() {
    let lattice = Lattice::square([3, 2]).open();
    let u = [4.0, 3.0, 2.0, 1.0, 0.5, 8.0];
    let model = hubbard(&lattice, 1.25, &u);
    assert_same(model.clone(), hubbard_by_hand(&lattice, 1.25, &u));
    assert_same(model.adjoint(), model);
}

#[test]
fn sums_carry_their_text_line_and_cuda() {
    let lattice = Lattice::chain(3).open();
    let model = hubbard(&lattice, 1.5, &[4.0, 5.0, 6.0]);
    let [hopping, repulsion] = model.sums() else { panic!("expected two sums, found {:?}", model.sums()) };
    assert!(hopping.file.ends_with("gpu_operator.rs"), "{}", hopping.file);
    assert_eq!((hopping.line, repulsion.line), (15, 16));
    assert_eq!(hopping.text, "sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))");
    assert_eq!(hopping.indices, ["i", "j", "s"]);
    assert_eq!(hopping.rows, [[0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]);
    assert_eq!(
        (hopping.cuda.as_deref(), hopping.coefficients.as_slice()),
        (None, ["-t", "-t"].map(String::from).as_slice())
    );
    assert_eq!((hopping.parameters[0].name.as_str(), hopping.parameters[0].values.as_slice()), ("t", &[1.5][..]));
    assert_eq!(repulsion.cuda.as_deref(), Some("u[i] * n_up(i) * n_dn(i)"));
    assert_eq!(repulsion.coefficients, ["u[i]"]);
    assert_eq!(repulsion.parameters.len(), 1);
    assert_eq!(repulsion.parameters[0].values, [4.0, 5.0, 6.0]);
    assert!(repulsion.parameters[0].indexed && !repulsion.parameters[0].integer);
}

/// Extended Hubbard model: hopping and neighbour repulsion scale with the bond's weight, legs and rungs differ.
#[gpu_operator(conserves(N, Sz))]
fn extended_hubbard(lattice: &Lattice, t: &[f64; 2], u: f64, v: f64, mu: f64) -> Operator {
    let hopping =
        sum!(<i, j, w, kind> in lattice.bonds(), s in [Up, Down]; -t[kind] * w * (cdag(i, s) * c(j, s) + h.c.));
    let interaction = sum!(i in lattice.sites(); u * (n(i, Up) - 0.5) * (n(i, Down) - 0.5) - mu * n(i))
        + sum!(<i, j, w> in lattice.bonds(); v * w * n(i) * n(j));
    hopping + interaction
}

#[test]
fn extended_hubbard_uses_weights_and_kinds_of_bonds() {
    let lattice = Lattice::ladder([3, 2]).open().weights(&[1.0, 0.5]);
    let (t, u, v, mu) = ([1.0, 0.7], 4.0, 1.5, 0.3);
    let mut expected = Operator::zero();
    for bond in lattice.bonds() {
        for spin in SPINS {
            let hop = cdag(bond.i, spin) * c(bond.j, spin);
            expected = expected + -t[bond.kind] * bond.weight * (hop.clone() + hop.adjoint());
        }
        expected = expected + v * bond.weight * (n_total(bond.i) * n_total(bond.j));
    }
    for site in lattice.sites() {
        let shifted = |spin| n(site, spin) - scalar(0.5);
        expected = expected + u * (shifted(Spin::Up) * shifted(Spin::Down)) - mu * n_total(site);
    }
    let model = extended_hubbard(&lattice, &t, u, v, mu);
    assert_eq!(model.sums()[2].indices, ["i", "j", "w: f64"]);
    assert_eq!(model.sums()[2].cuda.as_deref(), Some("v * w * n_total(i) * n_total(j)"));
    assert_same(model, expected);
}

/// XXZ model in a staggered field that grows along x, bonds of two strengths.
#[gpu_operator(conserves(Sz))]
fn xxz(lattice: &Lattice, jxy: f64, jz: f64, h: f64) -> Operator {
    sum!(<i, j, w> in lattice.bonds(); w * (jxy / 2.0 * (sp(i) * sm(j) + h.c.) + jz * sz(i) * sz(j)))
        - sum!(i in lattice.sites(); (if i % 2 == 1 { -h } else { h }) * (1.0 + lattice.x(i)).sqrt() * sz(i))
}

#[test]
fn xxz_has_a_field_that_depends_on_the_position() {
    let lattice = Lattice::triangular([3, 2]).open();
    let (jxy, jz, h) = (1.0, 0.4, 0.25);
    let mut expected = Operator::zero();
    for bond in lattice.bonds() {
        let flip = sp(bond.i) * sm(bond.j) + sm(bond.i) * sp(bond.j);
        expected = expected + bond.weight * (jxy / 2.0 * flip + jz * (sz(bond.i) * sz(bond.j)));
    }
    for site in lattice.sites() {
        let sign = if site % 2 == 0 { 1.0 } else { -1.0 };
        expected = expected - sign * h * (1.0 + lattice.x(site)).sqrt() * sz(site);
    }
    assert_same(xxz(&lattice, jxy, jz, h), expected);
}

/// Heisenberg model and its transverse field; S·S and Sx are written out by the builders.
#[gpu_operator]
fn heisenberg(lattice: &Lattice, j1: f64, h: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); j1 * sdots(i, j)) + sum!(i in lattice.sites(); -h * sx(i))
}

#[test]
fn heisenberg_uses_s_dot_s() {
    let lattice = Lattice::chain(4).periodic();
    let mut expected = Operator::zero();
    for bond in lattice.bonds() {
        expected = expected + 0.7 * build::sdots(bond.i, bond.j);
    }
    for site in lattice.sites() {
        expected = expected + -0.2 * build::sx(site);
    }
    assert_same(heisenberg(&lattice, 0.7, 0.2), expected);
}

/// Long-range hopping and repulsion between all pairs, by distance.
#[gpu_operator(conserves(Up, Down))]
fn long_range(lattice: &Lattice, t: f64, v: f64, range: f64, cutoff: f64) -> Operator {
    sum!(i in lattice.sites(), j in lattice.sites() if i < j && lattice.distance(i, j) <= cutoff, s in [Up, Down];
        -t * (-(lattice.distance(i, j) - 1.0) / range).exp() * (cdag(i, s) * c(j, s) + h.c.))
        + sum!(i in lattice.sites(), j in (i + 1)..lattice.sites().len(); v / lattice.distance(i, j).powi(3) * n(i) * n(j))
}

#[test]
fn long_range_terms_know_distances_around_a_periodic_lattice() {
    let lattice = Lattice::chain(5).periodic();
    let (t, v, range, cutoff) = (1.0, 2.0, 0.8, 1.5);
    let mut expected = Operator::zero();
    for i in lattice.sites() {
        for j in i + 1..5 {
            let distance = lattice.distance(i, j);
            if distance <= cutoff {
                for spin in SPINS {
                    let hop = cdag(i, spin) * c(j, spin);
                    expected = expected + -t * (-(distance - 1.0) / range).exp() * (hop.clone() + hop.adjoint());
                }
            }
            expected = expected + v / distance.powi(3) * (n_total(i) * n_total(j));
        }
    }
    let model = long_range(&lattice, t, v, range, cutoff);
    let repulsion = &model.sums()[1];
    assert_eq!(
        repulsion.cuda.as_deref(),
        Some("v / pow(lattice_distance[i * lattice_sites + j], 3) * n_total(i) * n_total(j)")
    );
    let table = &repulsion.parameters.iter().find(|parameter| parameter.name == "lattice_distance").unwrap().values;
    assert_eq!(table[4], 1.0, "sites 0 and 4 are neighbours around the ring");
    assert_eq!(table.len(), 25);
    assert_same(model, expected);
}

/// t-J-like model: with electrons in the function, spin operators are the electrons' spin.
#[gpu_operator(conserves(Up, Down))]
fn t_j(lattice: &Lattice, t: f64, j_exchange: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; -t * (cdag(i, s) * c(j, s) + h.c.))
        + sum!(<i, j> in lattice.bonds();
            j_exchange * (0.5 * (sp(i) * sm(j) + h.c.) + sz(i) * sz(j) - n(i) * n(j) / 4))
}

#[test]
fn t_j_exchanges_the_spin_of_electrons() {
    let lattice = Lattice::chain(3).open();
    let mut expected = Operator::zero();
    for bond in lattice.bonds() {
        let (i, j) = (bond.i, bond.j);
        for spin in SPINS {
            let hop = cdag(i, spin) * c(j, spin);
            expected = expected - (hop.clone() + hop.adjoint());
        }
        let flip = electron_sp(i) * electron_sm(j);
        let exchange = 0.5 * (flip.clone() + flip.adjoint()) + build::electron_sz(i) * build::electron_sz(j);
        expected = expected + 0.4 * (exchange - n_total(i) * n_total(j) / 4.0);
    }
    assert_same(t_j(&lattice, 1.0, 0.4), expected);
}

/// A ring of sites with a flux-free twist: sites computed from indices, options by ordinary Rust.
#[gpu_operator]
fn options(length: usize, t: f64, μ: f64, field: Option<f64>, shells: usize) -> Operator {
    let mut total = sum!(i in 0..length; -μ * n(i));
    for shell in 1..=shells {
        let strength = t / shell as f64;
        total =
            total + sum!(i in 0..length, s in [Up, Down]; -strength * (cdag(i, s) * c((i + shell) % length, s) + h.c.));
    }
    if let Some(h) = field {
        total = total - sum!(i in 0..length, s in [Up, Down]; (if s == Up { h } else { -h }) * n(i, s) / 2);
    }
    let pairs: Operator = (0..length).map(|site| sum!(s in [Up, Down]; 0.125 * n(site, s))).sum();
    let list = vec![sum!(i in 0..1; 0.5), sum!(i in 0..1; 2 * n(i, Up))];
    total + pairs + list.into_iter().sum::<Operator>()
}

#[test]
fn the_body_around_the_sums_is_ordinary_rust() {
    let (length, t, mu, h) = (5, 1.0, 0.3, 0.8);
    let mut expected = scalar(0.5) + 2.0 * n(0, Spin::Up);
    for i in 0..length {
        expected = expected + (0.125 - mu) * n_total(i);
        expected = expected - h / 2.0 * n(i, Spin::Up) + h / 2.0 * n(i, Spin::Down);
        for shell in 1..=2 {
            for spin in SPINS {
                let hop = cdag(i, spin) * c((i + shell) % length, spin);
                expected = expected - t / shell as f64 * (hop.clone() + hop.adjoint());
            }
        }
    }
    assert_same(options(length, t, mu, Some(h), 2), expected);
}

struct Ring {
    sites: usize,
    couplings: Vec<f64>,
}

impl Ring {
    /// A method is a definition too; its fields are captured by name.
    #[gpu_operator(conserves(Sz))]
    fn operator(&self) -> Operator {
        sum!(i in 0..self.sites; self.couplings[i] * sz(i) * sz((i + 1) % self.sites))
    }
}

#[test]
fn methods_capture_fields() {
    let ring = Ring { sites: 3, couplings: vec![1.0, 2.0, 3.0] };
    let model = ring.operator();
    assert_same(model.clone(), sz(0) * sz(1) + 2.0 * (sz(1) * sz(2)) + 3.0 * (sz(2) * sz(0)));
    assert_eq!(model.sums()[0].cuda.as_deref(), Some("self_couplings[i] * sz(i) * sz((i + 1) % self_sites)"));
}

/// A current is not Hermitian by itself (its i stands outside); the attribute says so.
#[gpu_operator(non_hermitian, conserves(Up, Down))]
fn hop_right(length: usize) -> Operator {
    sum!(i in 0..length - 1, s in [Up, Down]; cdag(i + 1, s) * c(i, s))
}

#[test]
fn a_definition_may_be_declared_non_hermitian() {
    let right = hop_right(3);
    assert_eq!(right.len(), 4);
    assert!(right.adjoint() != right);
}

/// K with J = i K the current along the bonds: real and antisymmetric.
#[gpu_operator(non_hermitian, conserves(Up, Down))]
fn current(lattice: &Lattice) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down]; cdag(i, s) * c(j, s) - cdag(j, s) * c(i, s))
}

/// The matrix of K for one up electron.
fn current_matrix(lattice: &Lattice) -> Vec<Vec<f64>> {
    let (k, sites) = (current(lattice), lattice.sites().len());
    let column = |from: usize| -> Vec<f64> {
        let state: Vec<u32> = (0..2 * sites).map(|mode| u32::from(mode == from)).collect();
        let mut column = vec![0.0; sites];
        for (reached, amplitude) in k.apply(sites, &state) {
            column[reached.iter().position(|occupied| *occupied == 1).unwrap()] += amplitude;
        }
        column
    };
    let columns: Vec<Vec<f64>> = lattice.sites().map(column).collect();
    (0..sites).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}

/// (K ψ)_r = ψ_{r+1} − ψ_{r−1} all around a ring, so K cos(kr) = −2 sin k sin(kr), across the boundary as elsewhere.
#[test]
fn a_current_flows_around_a_ring() {
    for length in 3..9usize {
        let k = current_matrix(&Lattice::chain(length).periodic());
        for number in 0..length {
            let q = 2.0 * std::f64::consts::PI * number as f64 / length as f64;
            for (r, row) in k.iter().enumerate() {
                let found: f64 = row.iter().enumerate().map(|(s, k)| k * (q * s as f64).cos()).sum();
                let expected = -2.0 * q.sin() * (q * r as f64).sin();
                assert!((found - expected).abs() < 1e-13, "{length} sites, k = {q}, site {r}: {found}, {expected}");
            }
        }
    }
}

/// On every torus K is the same seen from every cell, and antisymmetric; a ladder's legs go one way.
#[test]
fn a_current_is_the_same_in_every_cell_of_a_torus() {
    use eigenforge::lattice::LatticeKind::{Honeycomb, Kagome, Ladder, Square, Triangular};
    let [lx, ly] = [4, 3];
    for (kind, bases) in [(Square, 1), (Triangular, 1), (Honeycomb, 2), (Kagome, 3), (Ladder, 1)] {
        let lattice = Lattice::named(kind, &[lx, ly]).boundary([eigenforge::lattice::Boundary::Periodic; 2]);
        let k = current_matrix(&lattice);
        let site = |basis: usize, x: usize, y: usize| {
            basis + bases * if kind == Ladder { y % ly + ly * (x % lx) } else { x % lx + lx * (y % ly) }
        };
        let cells = (0..lx).flat_map(|x| (0..ly).map(move |y| (x, y)));
        for ((x, y), (x2, y2)) in cells.clone().flat_map(|cell| cells.clone().map(move |other| (cell, other))) {
            for (b, b2) in (0..bases).flat_map(|b| (0..bases).map(move |b2| (b, b2))) {
                let element = k[site(b, x, y)][site(b2, x2, y2)];
                for (dx, dy) in [(1, 0), (0, 1)] {
                    let moved = k[site(b, x + dx, y + dy)][site(b2, x2 + dx, y2 + dy)];
                    assert_eq!(moved, element, "{lattice}: cells {x},{y} and {x2},{y2}");
                }
                assert_eq!(k[site(b2, x2, y2)][site(b, x, y)], -element);
            }
        }
    }
}

#[gpu_operator(conserves(Sz))]
fn without_weights(lattice: &Lattice, j: f64) -> Operator {
    sum!(<a, b> in lattice.bonds(); j * sdots(a, b))
}

#[gpu_operator(conserves(Sz))]
fn weights_bound_in_vain(lattice: &Lattice, j: f64) -> Operator {
    sum!(<a, b, w> in lattice.bonds(); j * sdots(a, b))
}

#[gpu_operator(conserves(Sz))]
fn weights_waved_away(lattice: &Lattice, j: f64) -> Operator {
    sum!(<a, b, _> in lattice.bonds(); j * sdots(a, b))
}

#[gpu_operator(conserves(Sz))]
fn weights_used(lattice: &Lattice, j: f64) -> Operator {
    sum!(<a, b, w> in lattice.bonds(); w * j * sdots(a, b))
}

#[gpu_operator(conserves(Sz))]
fn weights_chosen(lattice: &Lattice, j: f64) -> Operator {
    sum!(<a, b, w> in lattice.bonds() if w == 1.0; j * sdots(a, b))
        + sum!(<a, b, w> in lattice.bonds(), k in 0..1 if w == 0.5; (k as f64 + 0.5) * j * sdots(a, b))
}

/// The Majumdar-Ghosh ring: 8 sites, J2 = J1/2, E = −3/8 J1 a site (J. Math. Phys. 10, 1388 (1969)).
#[test]
fn a_sum_that_leaves_out_weights_is_refused_by_name() {
    use eigenforge::prelude::{Dense, Device};
    let plain = Lattice::chain(8).periodic();
    let ring = plain.clone().further(&[0.5]);
    for (model, line) in [(without_weights(&ring, 1.0), "without"), (weights_bound_in_vain(&ring, 1.0), "in vain")] {
        let text = model.two_sz(0).unwrap_err().to_string();
        assert!(text.contains("in lattice.bonds(); j * sdots(a, b))"), "{line}: {text}");
        assert!(text.contains("tests/gpu_operator.rs:") && text.contains("0.5 of the bond from 0 to 2"), "{text}");
        assert!(text.contains("`<i, j, w>`") && text.contains("`<i, j, _>`"), "{text}");
    }
    // Algebra keeps what is wrong, and a weight of 2 is one as well.
    let half = 0.5 * without_weights(&ring, 1.0) + 0.5 * weights_used(&ring, 1.0);
    assert!(half.two_sz(0).unwrap_err().to_string().contains("ignores"));
    let doubled = Lattice::square([2, 4]).periodic().double_bonds();
    assert!(without_weights(&doubled, 1.0).two_sz(0).unwrap_err().to_string().contains("weights"));

    assert!(without_weights(&plain, 1.0).two_sz(0).is_ok() && weights_bound_in_vain(&plain, 1.0).two_sz(0).is_ok());
    let energy = |h: Operator| Dense::new(&h.two_sz(0).unwrap()).run(&Device::cpu()).unwrap().energy();
    assert!((energy(weights_used(&ring, 1.0)) + 3.0).abs() < 1e-12);
    assert!((energy(weights_chosen(&ring, 1.0)) + 3.0).abs() < 1e-12);
    assert!((energy(weights_waved_away(&ring, 1.0)) + 4.1284190638).abs() < 1e-9);
}

#[gpu_operator(conserves(Sz))]
fn bilinear_biquadratic(lattice: &Lattice, q: f64, d: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); sdots(i, j) + q * (sdots(i, j) * sdots(i, j)))
        + sum!(i in lattice.sites(); d * sz(i) * sz(i))
}

/// Squares say nothing for spin ½; the total spin, a square of sums, does.
#[test]
fn a_forgotten_spin_is_hinted_at() {
    let ring = Lattice::chain(4).periodic();
    let warnings = |h: Operator| h.two_sz(0).unwrap().warnings();
    let found = warnings(bilinear_biquadratic(&ring, 1.0 / 3.0, 0.2));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("squares sdots(i, j)") && found[0].contains(".spin(2)"), "{}", found[0]);
    assert!(found[1].contains("squares sz(i)") && found[1].contains("d * sz(i) * sz(i)"), "{}", found[1]);
    assert_eq!(warnings(bilinear_biquadratic(&ring, 1.0 / 3.0, 0.0)).len(), 1);
    assert!(warnings(bilinear_biquadratic(&ring, 0.0, 0.0)).is_empty(), "nothing is squared");
    assert!(warnings(bilinear_biquadratic(&ring, 1.0 / 3.0, 0.2).spin(2)).is_empty());
    let total = total_spin(4);
    assert!(warnings(total.clone()).is_empty() && warnings(total.clone() * total).is_empty());
}

#[gpu_operator]
fn total_spin(sites: usize) -> Operator {
    sum!(i in 0..sites, j in 0..sites; sdots(i, j))
}

#[gpu_operator(conserves(Up, Down))]
fn kondo(sites: usize, t: f64, j: f64) -> Operator {
    sum!(i in 1..sites, s in [Up, Down]; -t * (cdag(i - 1, s) * c(i, s) + h.c.))
        + sum!(i in 0..sites; j * sdots(i, sites + i))
}

#[gpu_operator(conserves(Up, Down))]
fn kondo_on_the_same_sites(sites: usize, t: f64, j: f64) -> Operator {
    sum!(i in 1..sites, s in [Up, Down]; -t * (cdag(i - 1, s) * c(i, s) + h.c.)) + sum!(i in 0..sites; j * sdots(i, i))
}

#[gpu_operator(conserves(Up, Down))]
fn t_j_chain(sites: usize, t: f64, j: f64) -> Operator {
    sum!(i in 1..sites, s in [Up, Down]; -t * (cdag(i - 1, s) * c(i, s) + h.c.))
        + sum!(i in 1..sites; j * (sdots(i - 1, i) - 0.25 * n(i - 1) * n(i)))
        + sum!(i in 0..sites, k in 0..sites; 0.1 * sdots(i, k))
}

#[test]
fn a_kondo_lattice_in_one_definition_is_refused_or_warned_of() {
    use eigenforge::basis::{Down, Up};
    let text = kondo(3, 1.0, 0.5).sector(Up(2), Down(1)).unwrap_err().to_string();
    assert!(text.contains("sum!(i in 0..sites; j * sdots(i, sites + i))"), "{text}");
    assert!(text.contains("site 3") && text.contains("Kondo"), "{text}");
    let same = kondo_on_the_same_sites(3, 1.0, 0.5).sector(Up(2), Down(1)).unwrap().warnings();
    assert!(same.len() == 1 && same[0].contains("sum!(i in 0..sites; j * sdots(i, i))"), "{same:?}");
    assert!(t_j_chain(4, 1.0, 0.4).sector(Up(2), Down(2)).unwrap().warnings().is_empty());
}

// Below all that says its own line.
#[path = "gpu_operator/blame.rs"]
mod blame;

/// What a text of a file says, a definition says in the same words.
#[gpu_operator(non_hermitian)]
fn words(lattice: &Lattice, t: f64, phi: f64, j: &[Vec<f64>], u: &[f64]) -> Operator {
    sum!(<i, k> in lattice.bonds(); exp(I * phi) * cdag(i, Up) * c(k, Up) + h.c.)
        + sum!(i in lattice.sites(); -2.0 * t^2 * n(i, Up)^2 + sqrt(t + i) * n(i, Down) + t ** -1)
        + sum!(p in lattice.sites(), q in lattice.sites() if p < q;
            j[p][q] * cdag(p, Up) * prod(k in p + 1..q; 1 - 2 * n(k, Up)) * c(q, Up))
        + sum!(<i, k, _, _, b> in lattice.bonds(); u[b] * n(i) * sum(l in lattice.neighbors(k); n(l)))
        + sum!(<i, k> in [[0, 2], [1, 3]]; max(t, 1) * cdag(i, Down) * c(k, Down))
        + sum!(<i, k, w> in [(0, 3, 0.25)]; w * chirality(i, 1, k))
}

#[test]
fn a_definition_has_the_words_of_a_text() {
    let lattice = Lattice::chain(4).open();
    let (t, phi, u) = (1.5f64, 0.3f64, [1.0, 2.0, 4.0]);
    let j: Vec<Vec<f64>> = (0..4).map(|p| (0..4).map(|q| 1.0 + f64::from(4 * p + q)).collect()).collect();
    let mut expected = Operator::zero();
    let (up, down) = (Spin::Up, Spin::Down);
    let string = |k: usize| scalar(1.0) - 2.0 * n(k, up);
    for (number, bond) in lattice.bonds().iter().enumerate() {
        let hop = (scalar(phi.cos()) + phi.sin() * build::imaginary_unit()) * cdag(bond.i, up) * c(bond.j, up);
        let around: Operator = lattice.neighbors(bond.j).into_iter().map(n_total).sum();
        expected = expected + hop.clone() + hop.adjoint() + u[number] * n_total(bond.i) * around;
    }
    for (i, row) in j.iter().enumerate() {
        expected = expected + -2.0 * t * t * n(i, up) + (t + i as f64).sqrt() * n(i, down) + scalar(1.0 / t);
        for (q, value) in row.iter().enumerate().skip(i + 1) {
            let between = (i + 1..q).map(string).fold(scalar(1.0), |all, one| all * one);
            expected = expected + *value * (cdag(i, up) * between * c(q, up));
        }
    }
    expected = expected + t * (cdag(0, down) * c(2, down) + cdag(1, down) * c(3, down));
    expected = expected + 0.25 * build::electron_chirality(0, 1, 3);
    assert_same(words(&lattice, t, phi, &j, &u), expected);
}
