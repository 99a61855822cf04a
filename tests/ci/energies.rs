//! Energies of the reference data: full, truncated and single-irrep spaces of every molecule, by Lanczos.

use super::{data, operator};
use eigenforge::ci::{self, Integrals, Space, count};

/// The lowest total energies.
fn lowest(integrals: &Integrals, space: &Space, states: usize) -> Vec<f64> {
    let matrix = ci::matrix(integrals, space, ci::THRESHOLD).unwrap();
    operator::lowest(matrix, states).iter().map(|value| value + integrals.core).collect()
}

#[track_caller]
fn compare(what: &str, found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} instead of {expected}");
    }
}

#[test]
fn every_file_says_what_the_reference_says() {
    let cases = data::energies();
    assert_eq!(cases.len(), 18);
    for case in cases {
        let integrals = data::integrals(&case.id);
        assert_eq!((integrals.orbitals, integrals.spins()), (case.norb, (case.n_alpha, case.n_beta)), "{}", case.id);
        assert!((integrals.core - case.ecore).abs() < 1e-12, "{}", case.id);
        assert!(integrals.largest_forbidden(&integrals.irreps) < 1e-9, "{}", case.id);
        let (up, down) = integrals.spins();
        assert_eq!(Space::full(integrals.orbitals, up, down).unwrap().len(), case.fci_dim, "{}", case.id);
        let determinants = count::determinants(case.norb, up, down, &integrals.irreps).unwrap();
        assert_eq!(determinants.per_level(), case.dets_per_excitation_level, "{}", case.id);
        let reference = count::Reference::high_spin(up + down, up - down);
        let states = count::configuration_state_functions(case.norb, up + down, up - down, reference, &[]).unwrap();
        assert_eq!(states.cumulative().last(), Some(&case.csf_total), "{}", case.id);
        if let Some(expected) = case.csf_per_level {
            assert_eq!(states.per_level(), expected, "{}", case.id);
        }
    }
}

#[test]
fn full_ci_and_cisd_roots() {
    for case in data::energies() {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        if case.fci_dim <= 3100 {
            let space = Space::full(integrals.orbitals, up, down).unwrap();
            compare(&case.id, &lowest(&integrals, &space, 4), &case.fci_roots);
        }
        if let Some(roots) = &case.cisd_roots {
            let space = Space::excitations(integrals.orbitals, up, down, 2).unwrap();
            compare(&format!("{} CISD", case.id), &lowest(&integrals, &space, 3), roots);
        }
    }
}

#[test]
fn truncated_spaces_of_the_reference_irrep() {
    for case in data::energies() {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        for truncated in &case.truncated {
            let space = Space::excitations(integrals.orbitals, up, down, truncated.level).unwrap();
            assert_eq!(space.len(), truncated.dets, "{} level {}", case.id, truncated.level);
            let irrep = space.reference_irrep(&integrals.irreps).unwrap();
            let space = space.in_irrep(&integrals.irreps, irrep).unwrap();
            if space.len() <= 10_000 {
                let what = format!("{} level {}", case.id, truncated.level);
                compare(&what, &lowest(&integrals, &space, 1), &[truncated.energy]);
            }
        }
    }
}
