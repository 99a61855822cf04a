//! Molecules through `#[gpu_operator]`: integrals → operator → integrals, the same energies by configuration interaction
//! and by exact diagonalisation, terms added to a molecule, and every operator that has no integrals.

use super::data;
use super::random::Random;
use eigenforge::ci::{
    CiProblem, CiSolve, Integrals, LoweringError, OneBody, OneElectron, Space, Storage, electrons, pair,
};
use eigenforge::prelude::*;
use eigenforge::runtime::LinearOperator;
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::testing::{card, kernel_devices};
use eigenforge_templates::ScalarType;

/// H as a user types it; [`electrons`] is the library's.
#[gpu_operator(conserves(Up, Down))]
fn written_out(integrals: &Integrals) -> Operator {
    let n = integrals.orbitals;
    sum!(p in 0..n, q in 0..n, s in [Up, Down]; integrals.one(p, q) * cdag(p, s) * c(q, s))
        + sum!(p in 0..n, q in 0..n, r in 0..n, t in 0..n, s in [Up, Down], u in [Up, Down];
            0.5 * integrals.two(p, q, r, t) * cdag(p, s) * cdag(r, u) * c(t, u) * c(q, s))
        + integrals.core
}

fn lower(operator: &Operator, (up, down): (usize, usize)) -> Integrals {
    Integrals::from_operator(operator, Up(up), Down(down)).unwrap()
}

#[track_caller]
fn assert_close(found: &Integrals, expected: &Integrals) {
    assert_eq!((found.orbitals, found.spins()), (expected.orbitals, expected.spins()));
    assert!((found.core - expected.core).abs() <= 1e-15 * expected.core.abs());
    for (kind, found, expected) in [("h", &found.one, &expected.one), ("(pq|rs)", &found.two, &expected.two)] {
        assert_eq!(found.len(), expected.len());
        for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-14, "{kind} {k}: {found} instead of {expected}");
        }
    }
}

#[test]
fn integrals_come_back_from_their_operator() {
    let mut random = Random(20261121);
    for orbitals in 1..=6 {
        let integrals = random.integrals(orbitals, 1, orbitals.min(2));
        assert_close(&lower(&electrons(&integrals), integrals.spins()), &integrals);
        assert_close(&lower(&written_out(&integrals), integrals.spins()), &integrals);
        let symmetric = random.integrals_with_irreps(orbitals, 1, 1);
        let mut back = lower(&electrons(&symmetric), (1, 1));
        assert_close(&back, &symmetric);
        back.irreps = symmetric.irreps.clone();
        assert!(back.obey_irreps(), "what is 0 by symmetry comes back as 0");
    }
    // The last orbital carries no term, and is there all the same.
    assert_eq!(lower(&electrons(&Integrals::zero(3)), (1, 0)), random_free(3));
}

fn random_free(orbitals: usize) -> Integrals {
    Integrals { electrons: 1, two_sz: 1, ..Integrals::zero(orbitals) }
}

/// Reference energies, through both ways of one operator.
#[test]
fn exact_diagonalisation_and_configuration_interaction_of_one_operator() {
    for case in data::energies() {
        if case.fci_dim > 600 {
            continue;
        }
        let operator = electrons(&data::integrals(&case.id));
        let states = case.fci_roots.len().min(3);
        let expected = &case.fci_roots[..states];
        let compare = |way: &str, found: &[f64]| {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{} {way}: {found} instead of {expected}", case.id);
            }
        };
        let model = operator.clone().sector(Up(case.n_alpha), Down(case.n_beta)).unwrap();
        assert_eq!(model.dimension(), case.fci_dim, "{}", case.id);
        for device in [Device::cpu()].into_iter().chain(card()) {
            let exact = Lobpcg::new(&model).states(states).tolerance(1e-8).run(&device).unwrap();
            compare(&format!("exact on {}", device.name()), exact.energies());
        }
        let integrals = lower(&operator, (case.n_alpha, case.n_beta));
        let space = Space::full(integrals.orbitals, case.n_alpha, case.n_beta).unwrap();
        for storage in [Storage::Direct, Storage::Stored] {
            let solve = CiProblem::new(&integrals, &space).storage(storage).solve().states(states);
            compare(&format!("{storage:?}"), solve.run(&Device::cpu()).unwrap().energies());
        }
    }
}

/// A Hubbard ring in orbitals that are any rotation of its sites.
#[gpu_operator(conserves(Up, Down))]
fn rotated_hubbard(sites: usize, t: f64, u: f64, rotation: &[f64]) -> Operator {
    let c_of = |site: usize, p: usize| rotation[site * sites + p];
    let hopping: Vec<f64> = (0..sites * sites)
        .map(|pq| (pq / sites, pq % sites))
        .map(|(p, q)| {
            let bond = |i: usize, j: usize| c_of(i, p) * c_of(j, q) + c_of(j, p) * c_of(i, q);
            (0..sites).map(|i| -t * bond(i, (i + 1) % sites)).sum()
        })
        .collect();
    let hopping = &hopping;
    let mut operator = sum!(p in 0..sites, q in 0..sites, s in [Up, Down];
        hopping[p * sites + q] * cdag(p, s) * c(q, s));
    for site in 0..sites {
        let on_site = &rotation[site * sites..(site + 1) * sites];
        operator = operator
            + sum!(p in 0..sites, q in 0..sites, r in 0..sites, t in 0..sites;
                u * on_site[p] * on_site[q] * on_site[r] * on_site[t]
                    * cdag(p, Up) * cdag(r, Down) * c(t, Down) * c(q, Up));
    }
    operator
}

/// Orthonormal columns from random ones.
fn rotation(n: usize, random: &mut Random) -> Vec<f64> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while columns.len() < n {
        let mut column = random.vector(n as u64);
        for _ in 0..2 {
            for done in &columns {
                let overlap: f64 = done.iter().zip(&column).map(|(a, b)| a * b).sum();
                column.iter_mut().zip(done).for_each(|(a, b)| *a -= overlap * b);
            }
        }
        let norm = column.iter().map(|a| a * a).sum::<f64>().sqrt();
        columns.push(column.iter().map(|a| a / norm).collect());
    }
    (0..n * n).map(|k| columns[k % n][k / n]).collect()
}

/// Six sites, half filled, U = 4 t: −3.6687061788729776 t by the Bethe ansatz (Lieb and Wu 1968).
#[test]
fn a_hubbard_ring_in_rotated_orbitals_has_the_energy_of_the_bethe_ansatz() {
    let operator = rotated_hubbard(6, 1.0, 4.0, &rotation(6, &mut Random(5)));
    let integrals = lower(&operator, (3, 3));
    let space = Space::full(6, 3, 3).unwrap();
    let found = CiSolve::new(&integrals, &space).run(&Device::cpu()).unwrap().energies()[0];
    assert!((found + 3.6687061788729776).abs() < 1e-8, "{found}");
}

/// Electrons in a field along the dipole's axis, H − F μ with μ as it acts on an electron.
#[gpu_operator(conserves(Up, Down))]
fn in_field(integrals: &Integrals, field: f64, dipole: &OneElectron) -> Operator {
    let n = integrals.orbitals;
    let nuclei: f64 = field * dipole.nuclear;
    electrons(integrals)
        - sum!(p in 0..n, q in 0..n, s in [Up, Down]; field * dipole.at(p, q) * cdag(p, s) * c(q, s))
        - nuclei
}

/// dE/dF = −⟨μ⟩ (Hellmann and Feynman): the energy in a field against the density without one.
#[test]
fn the_slope_of_the_energy_in_a_field_is_the_dipole() {
    let integrals = data::integrals("LiH_sto3g_1.6");
    let mut random = Random(11);
    let mut dipole = OneElectron::zero(integrals.orbitals);
    dipole.nuclear = random.number();
    dipole.values.iter_mut().for_each(|value| *value = random.number());
    let (up, down) = integrals.spins();
    let space = Space::full(integrals.orbitals, up, down).unwrap();
    let energy = |field: f64| {
        let integrals = lower(&in_field(&integrals, field, &dipole), (up, down));
        let solution = CiSolve::new(&integrals, &space).tolerance(1e-10).run(&Device::cpu()).unwrap();
        (solution.energies()[0], solution.ground_multiplet().unwrap())
    };
    let step = 1e-4;
    let slope = (energy(step).0 - energy(-step).0) / (2.0 * step);
    let expected = dipole.expectation(&OneBody::new(&space, &energy(0.0).1).unwrap()).unwrap();
    assert!((slope + expected).abs() < 1e-6 * expected.abs().max(1.0), "{slope} and {expected}");
}

/// Two shells with the interaction of Kanamori (1963); J' is the strength of hopping pairs.
#[gpu_operator(conserves(Up, Down))]
fn kanamori(u: f64, between: f64, j: f64, j_pair: f64) -> Operator {
    sum!(p in 0..2; u * n(p, Up) * n(p, Down))
        + sum!(p in 0..2, q in 0..2 if p != q, s in [Up, Down], v in [Up, Down]; 0.5 * between * n(p, s) * n(q, v))
        + sum!(p in 0..2, q in 0..2 if p != q, s in [Up, Down], v in [Up, Down];
            0.5 * j * cdag(p, s) * cdag(q, v) * c(p, v) * c(q, s))
        + sum!(p in 0..2, q in 0..2 if p != q; j_pair * cdag(p, Up) * cdag(p, Down) * c(q, Down) * c(q, Up))
}

#[test]
fn pairs_may_hop_with_the_strength_of_the_exchange() {
    let integrals = lower(&kanamori(4.0, 2.5, 0.75, 0.75), (1, 1));
    let mut expected = Integrals { electrons: 2, ..Integrals::zero(2) };
    let at = |p, q, r, s| pair(pair(p, q), pair(r, s));
    (expected.two[at(0, 0, 0, 0)], expected.two[at(1, 1, 1, 1)]) = (4.0, 4.0);
    (expected.two[at(0, 0, 1, 1)], expected.two[at(0, 1, 0, 1)]) = (2.5, 0.75);
    assert_eq!(integrals, expected);
    // Pairs alone: not over real orbitals, though a good model for exact diagonalisation. Two electrons in two orbitals:
    // the pairs' 2 x 2 block has U - |J'|.
    let pairs = kanamori(4.0, 0.0, 0.0, -0.75);
    let refusal = Integrals::from_operator(&pairs, Up(1), Down(1)).unwrap_err();
    assert!(matches!(refusal, LoweringError::NotReal { found: -0.75, other: 0.0, .. }), "{refusal}");
    let model = (pairs - kanamori(8.0, 0.0, 0.0, 0.0)).sector(Up(1), Down(1)).unwrap();
    let ground = Dense::new(&model).run(&Device::cpu()).unwrap().energy();
    assert!((ground + 4.75).abs() < 1e-12, "{ground}");
}

#[gpu_operator(non_hermitian)]
fn odd_ones(which: &str) -> Operator {
    match which {
        "field" => sum!(p in 0..2; 0.5 * n(p, Up) - 0.5 * n(p, Down)),
        "one spin hops" => sum!(p in 0..1; cdag(p, Down) * c(p + 1, Down) + h.c.),
        "three" => sum!(p in 0..1; 2.0 * n(p, Up) * n(p, Down) * n(p + 1, Up)),
        "flip" => sum!(p in 0..1; cdag(p, Up) * c(p + 1, Down) + h.c.),
        "no conjugate" => sum!(s in [Up, Down]; cdag(0, s) * c(1, s)),
        "half a conjugate" => sum!(s in [Up, Down], u in [Up, Down];
            cdag(0, s) * cdag(0, u) * c(1, u) * c(0, s) + cdag(0, s) * cdag(0, u) * c(0, u) * c(1, s)),
        "opposite spins" => sum!(p in 0..2, q in 0..2; n(p, Up) * n(q, Down)),
        "one spin only" => sum!(p in 0..2, q in 0..2 if p != q; n(p, Up) * n(q, Up)),
        "an ordered pair" => sum!(p in 0..1; n(p, Up) * n(p + 1, Down)),
        "pair" => sum!(p in 0..1; cdag(p, Up) * cdag(p, Down) + h.c.),
        _ => sum!(p in 0..1; f64::NAN * n(p)),
    }
}

#[test]
fn what_has_no_integrals_is_named() {
    let cases = [
        ("field", "c†_0↑ c_0↑ has coefficient 0.5, but c†_0↓ c_0↓, the same with the spins exchanged, has -0.5"),
        ("one spin hops", "c†_0↓ c_1↓ has coefficient 1, but c†_0↑ c_1↑"),
        ("three", "acts on 3 electrons at once"),
        ("flip", "changes the number of up electrons by 1"),
        ("no conjugate", "is not Hermitian: c†_0↑ c_1↑ has coefficient 1"),
        ("half a conjugate", "is not Hermitian"),
        ("opposite spins", "ask for (pq|rs) - (ps|rq) = 1"),
        ("one spin only", "c†_0↑ c†_1↑ c_1↑ c_0↑ has coefficient 2"),
        ("an ordered pair", "c†_0↑ c†_1↓ c_1↓ c_0↑ has coefficient 1, but c†_1↑ c†_0↓ c_0↓ c_1↑"),
        ("pair", "changes the number of up electrons"),
        ("nan", "is NaN"),
    ];
    for (which, expected) in cases {
        let error = Integrals::from_operator(&odd_ones(which), Up(1), Down(1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{which}: {error}");
    }
    let refuse = |operator: &Operator, up, down| Integrals::from_operator(operator, Up(up), Down(down)).unwrap_err();
    let moments = eigenforge::operator::build::sz(0);
    assert!(refuse(&moments, 1, 1).to_string().contains("local moments"));
    let two = electrons(&Random(1).integrals(2, 1, 1));
    assert!(refuse(&two, 3, 1).to_string().contains("3 up and 1 down electrons do not fit 2 orbitals"));
    let small = eigenforge::operator::build::scalar(1.0).on_sites(5000);
    assert!(matches!(refuse(&small, 1, 1), LoweringError::Memory(_)));
}

/// One changed coefficient in a molecule of five orbitals is found wherever it is.
#[test]
fn one_wrong_term_is_found() {
    use eigenforge::operator::{Factor, Operator};
    let mut random = Random(77);
    let operator = electrons(&random.integrals(5, 2, 2));
    let terms: Vec<Vec<Factor>> = operator.terms().map(|(product, _)| product.to_vec()).collect();
    for _ in 0..200 {
        let product = &terms[1 + random.below(terms.len() - 1)];
        // Missing, or too strong, with its conjugate.
        let change = if random.below(2) == 0 { -operator.coefficient(product) } else { 0.25 };
        let conjugate: Vec<Factor> = product.iter().rev().map(|factor| factor.adjoint()).collect();
        let mut wrong = operator.clone() + change * Operator::product(product);
        let diagonal = conjugate == *product;
        if !diagonal {
            wrong = wrong + change * Operator::product(&conjugate);
        }
        let found = Integrals::from_operator(&wrong, Up(2), Down(2));
        // n_p↑ n_p↓ is an integral of its own; every other term has copies.
        let sites: Vec<usize> = product.iter().map(|factor| factor.site()).collect();
        let own = product.len() == 4 && sites.iter().all(|site| *site == sites[0]);
        assert_eq!(found.is_ok(), own, "{product:?}: {found:?}");
    }
}

/// Pariser, Parr and Pople: the repulsion of each pair of atoms from a table.
#[gpu_operator(conserves(Up, Down))]
fn ppp(integrals: &Integrals) -> Operator {
    let atoms = integrals.orbitals;
    sum!(i in 0..atoms, j in 0..atoms, s in [Up, Down]; integrals.one(i, j) * cdag(i, s) * c(j, s))
        + sum!(i in 0..atoms; integrals.two(i, i, i, i) * n(i, Up) * n(i, Down))
        + sum!(i in 0..atoms, j in 0..i; integrals.two(i, i, j, j) * (n(i) - 1.0) * (n(j) - 1.0))
}

/// Hopping around a ring, and a repulsion of its own for each pair.
fn ring(random: &mut Random, atoms: usize) -> Integrals {
    let mut integrals = Integrals::zero(atoms);
    for i in 0..atoms {
        integrals.one[pair(i, (i + 1) % atoms)] = random.number() - 2.4;
        for j in 0..=i {
            integrals.two[pair(pair(i, i), pair(j, j))] = 8.0 + random.number();
        }
    }
    integrals
}

/// The repulsions stand in the kernel as the definition has them, one value a summand; y = H x of that very text is the
/// dense matrix's. The same operator as CI has the same energies.
#[test]
fn a_diagonal_from_integral_tables() {
    let integrals = ring(&mut Random(6), 6);
    let operator = ppp(&integrals);
    let repulsion = &operator.sums()[2];
    assert_eq!(repulsion.indices, ["i", "j", "integrals_two_i_i_j_j: f64"]);
    assert_eq!(repulsion.rows[1], [2.0, 0.0, integrals.two(2, 2, 0, 0)]);
    assert!(repulsion.parameters.is_empty());
    let model = operator.clone().sector(Up(3), Down(3)).unwrap();
    let prepared = model.multiply(ScalarType::F64).unwrap();
    let text = prepared.text().unwrap().text;
    assert!(text.contains("const double integrals_two_i_i_j_j = integrals_two_i_i_j_j_of[k];"), "{text}");
    assert!(text.contains("sum += integrals_two_i_i_j_j * (n_total(i) - 1.0) * (n_total(j) - 1.0);"), "{text}");
    let x = Random(8).vector(model.dimension());
    let expected = model.dense().unwrap().dot(&ndarray::Array1::from(x.clone()));
    for device in [Device::cpu()].into_iter().chain(kernel_devices(Schedule::Forward)) {
        let hamiltonian = model.hamiltonian(prepared.clone(), &device).unwrap();
        let (x, mut y) = (device.upload(&x).unwrap(), device.upload(&vec![f64::NAN; x.len()]).unwrap());
        hamiltonian.apply(&x, &mut y).unwrap();
        for (found, expected) in y.download().unwrap().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-11, "{}: {found} instead of {expected}", device.name());
        }
    }
    let exact = Lobpcg::new(&model).states(2).run(&Device::cpu()).unwrap();
    let lowered = lower(&operator, (3, 3));
    let space = Space::full(6, 3, 3).unwrap();
    let ci = CiSolve::new(&lowered, &space).states(2).run(&Device::cpu()).unwrap();
    for (exact, ci) in exact.energies().iter().zip(ci.energies()) {
        assert!((exact - ci).abs() < 1e-8, "{exact} {ci}");
    }
}

/// Off-diagonal sums over many integrals do not keep every index; diagonal ones do.
#[test]
fn long_sums_do_not_keep_their_indices() {
    let mut integrals = Random(4).integrals(12, 2, 2);
    integrals.core = 0.0;
    let operator = electrons(&integrals);
    assert_eq!(operator.sums().iter().map(|sum| sum.rows.len()).collect::<Vec<_>>(), [2 * 144, 0]);
    integrals.core = 1.0;
    assert!(electrons(&integrals).sums().is_empty(), "with a constant added they are not the whole operator");
}
