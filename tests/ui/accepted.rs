//! Definitions that look like mistakes and are none. They are compiled with the gallery and their operators checked.

use eigenforge::ci::Integrals;
use eigenforge::lattice::{Bond, Lattice};
use eigenforge::operator::Operator;
use eigenforge_macros::gpu_operator;

/// Both directions of each pair are summed: the conjugate of a term is another term.
#[gpu_operator(conserves(Up, Down))]
fn all_pairs(lattice: &Lattice, t: f64) -> Operator {
    sum!(i in lattice.sites(), j in lattice.sites() if i != j, s in [Up, Down]; -t * cdag(i, s) * c(j, s))
}

/// The conjugate stands in another sum.
#[gpu_operator(conserves(Up, Down))]
fn two_halves(lattice: &Lattice, t: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(); -t * cdag(i, Up) * c(j, Up))
        + sum!(<i, j> in lattice.bonds(); -t * cdag(j, Up) * c(i, Up))
}

/// The conjugate is taken of the whole sum.
#[gpu_operator]
fn adjoint_afterwards(lattice: &Lattice, d: f64) -> Operator {
    let pairing = sum!(<i, j> in lattice.bonds(); d * cdag(i, Up) * cdag(j, Down));
    pairing.clone() + pairing.adjoint()
}

/// Each bond is listed in both directions by hand; the lists are only known when the program runs.
#[gpu_operator]
fn directed_lists(bonds: &[Bond]) -> Operator {
    let back: Vec<Bond> = bonds.iter().map(|bond| Bond { i: bond.j, j: bond.i, ..*bond }).collect();
    let mut total = Operator::zero();
    for list in [bonds, &back] {
        total = total + sum!(<i, j, w> in list; w * cdag(i, Up) * c(j, Up));
    }
    total
}

/// Each site hops to its partner; that partners are mutual is not visible here.
#[gpu_operator]
fn partners(partner: &[usize], t: f64) -> Operator {
    sum!(i in 0..partner.len(); t * cdag(i, Down) * c(partner[i], Down))
}

/// Only equal spins pass the filter, so the spins are conserved.
#[gpu_operator(conserves(Up, Down))]
fn equal_spins(lattice: &Lattice, t: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), s in [Up, Down], p in [Up, Down] if s == p; t * (cdag(i, s) * c(j, p) + h.c.))
}

/// Sˣ Sˣ + Sʸ Sʸ through ladder operators: the parts that change Sᶻ cancel.
#[gpu_operator(conserves(Sz))]
fn planar(lattice: &Lattice) -> Operator {
    sum!(<i, j> in lattice.bonds(); sx(i) * sx(j) - 0.25 * (sp(i) - sm(i)) * (sp(j) - sm(j)))
}

/// The lattice is handed over for good, and asked for its distances all the same.
#[gpu_operator(conserves(N))]
fn owned_lattice(lattice: Lattice, v: f64) -> Operator {
    sum!(i in lattice.sites(), j in 0..i; v / lattice.distance(i, j) * n(i) * n(j))
}

/// An unusual name of a parameter: a keyword of CUDA, and a function of the generated text.
#[gpu_operator]
fn awkward_names(double: f64, n: usize, sz: &[f64]) -> Operator {
    sum!(k in 0..n; double * sz[k] * sz(k))
}

/// No `h.c.`: (pq|rs) = (qp|sr) makes each term the conjugate of another. The core energy is a number.
#[gpu_operator(conserves(Up, Down))]
fn molecule(integrals: &Integrals) -> Operator {
    let m = integrals.orbitals;
    sum!(p in 0..m, q in 0..m, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s))
        + sum!(p in 0..m, q in 0..m, r in 0..m, t in 0..m, s in [Up, Down], u in [Up, Down];
            0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s))
        + integrals.core
}

/// Operators of qubits and bosons, the imaginary unit, and a conjugate with a complex coefficient.
#[gpu_operator]
fn qubits(lattice: &Lattice, j: f64) -> Operator {
    sum!(<i, k> in lattice.bonds(); j * (X(i) * Y(k) + Z(i) * Z(k)))
}

#[gpu_operator]
fn bosons_in_a_flux(lattice: &Lattice, t: f64, phi: f64) -> Operator {
    sum!(<i, k> in lattice.bonds(); -t * ((phi.cos() + I * phi.sin()) * bdag(i) * b(k) + h.c.))
}

#[gpu_operator]
fn dzyaloshinskii(lattice: &Lattice, d: f64) -> Operator {
    sum!(<i, k> in lattice.bonds(); d * (sx(i) * sy(k) - sy(i) * sx(k)))
}

/// Integrals that may not be there.
#[gpu_operator]
fn maybe_a_molecule(integrals: &Integrals) -> Result<Operator, String> {
    let last = integrals.orbitals.checked_sub(1).ok_or("no orbitals")?;
    Ok(sum!(s in [Up, Down]; integrals.one(last, last) * n(last, s)))
}

/// Flavours by number: a diagonal sum of them has no CUDA text, and its coefficients have.
#[gpu_operator(conserves(N))]
fn flavours(lattice: &Lattice, number: usize, t: f64, u: f64) -> Operator {
    sum!(<i, j> in lattice.bonds(), f in 0..number; -t * (cdag(i, Flavour(f)) * c(j, Flavour(f)) + h.c.))
        + sum!(i in lattice.sites(), f in 0..number, g in 0..f; u * n(i, Flavour(f)) * n(i, Flavour(g)))
        + sum!(i in lattice.sites(); 0.1 * (cdag(i, Flavour(0)) * c(i, Flavour(number - 1)) + h.c.))
}

#[test]
fn flavours_are_numbered() {
    let model = flavours(&Lattice::chain(3).open(), 4, 1.0, 2.0);
    assert_eq!(model.flavours(), 4);
    assert_eq!(model.len(), 2 * 2 * 4 + 3 * 6 + 2 * 3);
    assert_eq!(model.sums()[1].cuda, None);
}

#[test]
fn a_molecule_has_as_many_sites_as_orbitals() {
    let mut integrals = Integrals::zero(3);
    integrals.one[0] = -1.0;
    assert_eq!(molecule(&integrals).sites(), 3);
    assert_eq!(maybe_a_molecule(&integrals).unwrap().sites(), 3);
    assert_eq!(maybe_a_molecule(&Integrals::zero(0)).unwrap_err(), "no orbitals");
}

#[test]
fn definitions_that_look_wrong_are_accepted_and_hermitian() {
    let lattice = Lattice::chain(4).open();
    let models = [
        all_pairs(&lattice, 1.0),
        two_halves(&lattice, 1.0),
        adjoint_afterwards(&lattice, 1.0),
        directed_lists(lattice.bonds()),
        partners(&[1, 0, 3, 2], 0.5),
        equal_spins(&lattice, 1.0),
        planar(&lattice),
        owned_lattice(lattice.clone(), 1.0),
        awkward_names(0.5, 3, &[1.0, 2.0, 3.0]),
        flavours(&lattice, 3, 1.0, 4.0),
        qubits(&lattice, 1.0),
        bosons_in_a_flux(&lattice, 1.0, 0.4),
        dzyaloshinskii(&lattice, 0.3),
        molecule(&Integrals {
            one: vec![-1.0, 0.5, -0.25],
            two: vec![0.7, 0.1, 0.2, 0.6, 0.15, 0.65],
            ..Integrals::zero(2)
        }),
    ];
    for (number, model) in models.into_iter().enumerate() {
        assert!(!model.is_empty(), "model {number}");
        assert!(model.adjoint() == model, "model {number} is not Hermitian");
    }
}

#[test]
fn planar_exchange_has_no_double_flips() {
    // Two products a bond: S+S− and S−S+.
    assert_eq!(planar(&Lattice::chain(4).open()).len(), 6);
}

#[test]
fn awkward_names_are_renamed_in_cuda() {
    let model = awkward_names(0.5, 3, &[1.0, 2.0, 3.0]);
    assert_eq!(model.sums()[0].cuda.as_deref(), Some("double_ * sz_[k_] * sz(k_)"));
    assert_eq!(model.sums()[0].indices, ["k_"]);
}
