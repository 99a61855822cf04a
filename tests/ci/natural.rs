//! Natural orbitals: γ rebuilt from them, occupations by hand, irreps kept apart.

use super::operator::stacked;
use super::random::Random;
use super::{data, operator};
use eigenforge::ci::{self, DensityError, OneBody, Space, natural_orbitals};
use ndarray::ArrayView1;

/// Orthonormal, descending, and γ again.
fn check(density: &OneBody, irreps: &[u8], electrons: usize) -> ci::NaturalOrbitals {
    let n = density.orbitals();
    let natural = natural_orbitals(density, irreps).unwrap();
    assert_eq!((natural.occupations.len(), natural.orbitals.dim()), (n, (n, n)));
    assert!(natural.occupations.iter().is_sorted_by(|one, other| one >= other));
    assert!((natural.occupations.iter().sum::<f64>() - electrons as f64).abs() < 1e-11);
    assert!(natural.occupations.iter().all(|occupation| (-1e-12..2.0 + 1e-12).contains(occupation)));
    for (p, value) in density.total().indexed_iter() {
        let orbitals = natural.orbitals.rows().into_iter();
        let rebuilt: f64 = orbitals.zip(&natural.occupations).map(|(orbital, x)| x * orbital[p.0] * orbital[p.1]).sum();
        // With irreps, what a solver's error (residuals of 1e-7) has mixed is left out.
        let tolerance = if natural.irreps.is_empty() { 1e-12 } else { 1e-6 };
        assert!((rebuilt - value).abs() < tolerance, "{p:?}: {rebuilt} instead of {value}");
        let product = natural.orbitals.row(p.0).dot(&natural.orbitals.row(p.1));
        assert!((product - f64::from(u8::from(p.0 == p.1))).abs() < 1e-12);
    }
    natural
}

#[test]
fn random_states() {
    let mut random = Random(8);
    for (orbitals, up, down) in [(1, 1, 0), (4, 2, 2), (5, 3, 1), (6, 2, 2)] {
        let space = Space::full(orbitals, up, down).unwrap();
        let vectors = [random.vector(space.len()), random.vector(space.len())];
        let density = OneBody::new(&space, &stacked(&vectors)).unwrap();
        let natural = check(&density, &[], up + down);
        assert!(natural.irreps.is_empty());
        for orbital in natural.orbitals.rows() {
            let largest = orbital.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
            assert!(largest > 0.0);
        }
        if orbitals > 1 {
            // A random state keeps no irreps.
            let irreps: Vec<u8> = (0..orbitals).map(|p| 1 + p as u8 % 2).collect();
            assert!(check(&density, &irreps, up + down).irreps.is_empty());
            let error = natural_orbitals(
                &OneBody::transition(&space, &ArrayView1::from(&vectors[0]), &ArrayView1::from(&vectors[1])).unwrap(),
                &[],
            )
            .unwrap_err();
            assert!(matches!(error, DensityError::Transition { .. }), "{error}");
            let error = natural_orbitals(&density, &[1]).unwrap_err();
            assert!(error.to_string().contains("ORBSYM has 1 orbitals"), "{error}");
        }
    }
}

/// H2 in a minimal basis: c₁ |1 1̄⟩ + c₂ |2 2̄⟩ holds 2 c₁² and 2 c₂² electrons.
#[test]
fn hydrogen_by_hand() {
    let integrals = data::integrals("H2_sto3g_0.74");
    let space = Space::full(2, 1, 1).unwrap();
    let (_, vectors) = operator::lowest_states(ci::matrix(&integrals, &space, 0.0).unwrap(), 1);
    let (a, b, c) = (
        2.0 * integrals.one(0, 0) + integrals.two(0, 0, 0, 0),
        integrals.two(0, 1, 0, 1),
        2.0 * integrals.one(1, 1) + integrals.two(1, 1, 1, 1),
    );
    // Lower eigenvector of [[a, b], [b, c]]: c₁² = ½ (1 + (c − a) / √((c − a)² + 4b²)).
    let first = 1.0 + (c - a) / ((c - a).powi(2) + 4.0 * b * b).sqrt();
    let natural = check(&OneBody::new(&space, &stacked(&vectors)).unwrap(), &integrals.irreps, 2);
    assert!((natural.occupations[0] - first).abs() < 1e-12 && (natural.occupations[1] - 2.0 + first).abs() < 1e-12);
    assert_eq!(natural.irreps, integrals.irreps);
}

/// Linear molecules: π_x and π_y are as full as each other, and each stays in its irrep.
#[test]
fn degenerate_occupations_keep_their_irreps() {
    for (id, electrons) in [("HF_sto3g_0.92", 10), ("LiH_sto3g_1.6", 4), ("BeH2_sto3g_1.33", 6)] {
        let integrals = data::integrals(id);
        let (up, down) = integrals.spins();
        let space = Space::full(integrals.orbitals, up, down).unwrap();
        let (_, vectors) = operator::lowest_states(ci::matrix(&integrals, &space, 0.0).unwrap(), 1);
        let natural = check(&OneBody::new(&space, &stacked(&vectors)).unwrap(), &integrals.irreps, electrons);
        let pairs = (1..integrals.orbitals)
            .filter(|k| (natural.occupations[*k] - natural.occupations[k - 1]).abs() < 1e-8)
            .filter(|k| natural.irreps[*k] != natural.irreps[k - 1])
            .count();
        assert_eq!(pairs, 1, "{id}: one pair of π orbitals, {:?} {:?}", natural.occupations, natural.irreps);
        for (orbital, irrep) in natural.orbitals.rows().into_iter().zip(&natural.irreps) {
            for (coefficient, own) in orbital.iter().zip(&integrals.irreps) {
                assert!(own == irrep || *coefficient == 0.0, "{id}");
            }
        }
    }
}
