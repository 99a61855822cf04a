//! `#[gpu_operator]` end to end: each definition equals the operator built by hand, term by term, and its sums carry
//! the user's text with the CUDA of their coefficients.

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
    assert_eq!((hopping.line, repulsion.line), (14, 15));
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
