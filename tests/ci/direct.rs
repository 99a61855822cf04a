//! The product without a matrix against the stored matrix, row by row; `energies` has its energies.

use super::data;
use super::operators::full_ci;
use super::random::Random;
use eigenforge::ci::{self, DirectError, Integrals, Space};
use eigenforge::runtime::{Device, LinearOperator};
use eigenforge::sparse::Csr;

/// σ and x·σ of a seeded vector, written over NaN.
fn product(operator: &dyn LinearOperator<f64>, x: &[f64]) -> (Vec<f64>, f64) {
    let device = Device::cpu();
    let (x, mut y) = (device.upload(x).unwrap(), device.upload(&vec![f64::NAN; x.len()]).unwrap());
    let dot = operator.apply(&x, &mut y).unwrap();
    (y.as_host().unwrap().to_vec(), dot)
}

fn vector(rows: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..rows).map(|_| random.number()).collect()
}

/// Row by row to 1e-13 of Σ |H x| of the row; diagonal, x·y and the bound of the norm as well.
#[track_caller]
fn compare(what: &str, integrals: &Integrals, space: &Space) {
    let matrix: Csr = ci::matrix(integrals, space, 0.0).unwrap();
    let operator = full_ci(integrals, space, None, &Device::cpu());
    assert_eq!(operator.dimension(), matrix.rows(), "{what}");
    let x = vector(matrix.rows(), 7);
    let (y, dot) = product(&operator, &x);
    let (mut largest, mut expected_dot, mut dot_size) = (0.0f64, 0.0, 0.0);
    for (row, found) in y.iter().enumerate() {
        let (columns, values) = matrix.row(row);
        let products = || columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]);
        let (expected, size) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
        assert!((found - expected).abs() <= 1e-13 * size, "{what}, row {row}: {found} instead of {expected}");
        largest = largest.max(values.iter().map(|value| value.abs()).sum());
        expected_dot += x[row] * expected;
        dot_size += x[row].abs() * size;
    }
    assert!((dot - expected_dot).abs() <= 1e-13 * dot_size, "{what}: {dot} instead of {expected_dot}");
    assert!(operator.norm_bound() >= largest * (1.0 - 1e-13), "{what}: {} below {largest}", operator.norm_bound());
    // Any part of the diagonal, wherever it begins.
    let diagonal = operator.diagonal().unwrap();
    for (start, end) in [(0, y.len()), (y.len() / 3, y.len() - y.len() / 4), (y.len() - 1, y.len())] {
        let mut found = vec![f64::NAN; end - start];
        (diagonal.host)(start, &mut found);
        for (row, found) in (start..end).zip(found) {
            let expected = matrix.element(row, row as u32);
            let message = format!("{what}, diagonal {row}: {found} instead of {expected}");
            assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1.0), "{message}");
        }
    }
}

#[test]
fn random_integrals_and_every_number_of_electrons() {
    let mut random = Random(20);
    for orbitals in 4..=6 {
        for up in 0..=orbitals {
            for down in 0..=orbitals {
                let integrals = random.integrals(orbitals, up, down);
                let space = Space::full(orbitals, up, down).unwrap();
                compare(&format!("{orbitals} orbitals, {up} + {down}"), &integrals, &space);
                let unrestricted = random.unrestricted(orbitals, up, down);
                compare(&format!("{orbitals} orbitals, {up} + {down}, unrestricted"), &unrestricted, &space);
            }
        }
    }
}

#[test]
fn random_integrals_with_irreps_in_the_whole_space_and_in_each_irrep() {
    let mut random = Random(21);
    let mut spaces = 0;
    for (orbitals, up, down) in [(4, 1, 3), (5, 2, 2), (5, 0, 3), (5, 5, 2), (6, 3, 2), (7, 3, 3), (7, 1, 6)] {
        let full = || Space::full(orbitals, up, down).unwrap();
        let kinds =
            [random.integrals_with_irreps(orbitals, up, down), random.unrestricted_with_irreps(orbitals, up, down)];
        for integrals in kinds {
            let what = format!("{orbitals} orbitals, {up} + {down}, unrestricted {}", integrals.is_unrestricted());
            compare(&what, &integrals, &full());
            for irrep in 1..=8 {
                let Ok(space) = full().in_irrep(&integrals.irreps, irrep) else { continue };
                compare(&format!("{what}, irrep {irrep}"), &integrals, &space);
                spaces += 1;
            }
        }
    }
    assert!(spaces > 30, "{spaces}");
}

#[test]
fn molecules_of_the_reference_data() {
    for case in data::energies().iter().filter(|case| case.fci_dim <= 16_000) {
        let integrals = data::integrals(&case.id);
        let full = || Space::full(case.norb, case.n_alpha, case.n_beta).unwrap();
        compare(&case.id, &integrals, &full());
        let irrep = full().reference_irrep(&integrals.irreps).unwrap();
        let space = full().in_irrep(&integrals.irreps, irrep).unwrap();
        compare(&format!("{}, irrep {irrep}", case.id), &integrals, &space);
    }
}

#[test]
fn rows_of_the_larger_molecules() {
    for id in ["H2O_631g_fc_0.96", "N2_631g_fc_cas10o_1.8"] {
        let integrals = data::integrals(id);
        let (up, down) = integrals.spins();
        let space = Space::full(integrals.orbitals, up, down).unwrap();
        let operator = full_ci(&integrals, &space, None, &Device::cpu());
        let rows = ci::CiHamiltonian::new(&integrals, &space, 0.0).unwrap();
        let x = vector(operator.dimension(), 8);
        let (y, _) = product(&operator, &x);
        for row in (0..y.len()).step_by(997) {
            let (mut expected, mut size) = (0.0, 0.0);
            rows.for_each(row as u64, |column, value| {
                expected += value * x[column as usize];
                size += (value * x[column as usize]).abs();
            });
            assert!((y[row] - expected).abs() <= 1e-13 * size, "{id}, row {row}: {} instead of {expected}", y[row]);
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let mut random = Random(22);
    let integrals = random.integrals(9, 4, 3);
    let space = Space::full(9, 4, 3).unwrap();
    let x = vector(space.len() as usize, 9);
    // Groups of strings are cut for the threads at hand as well.
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| product(&full_ci(&integrals, &space, None, &Device::cpu()), &x))
    };
    let (one, two, five) = (with(1), with(2), with(5));
    assert!(one.0.iter().all(|value| value.is_finite()));
    for other in [&two, &five] {
        assert!(one.0.iter().zip(&other.0).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert_eq!(one.1.to_bits(), other.1.to_bits());
    }
}

#[test]
fn what_is_not_a_full_space_of_these_integrals_is_refused() {
    let mut random = Random(23);
    let integrals = random.integrals_with_irreps(5, 2, 2);
    let new = |space: &Space| ci::full_ci(&integrals, space, None, &Device::cpu()).map(drop).unwrap_err();
    assert!(matches!(new(&Space::full(4, 2, 2).unwrap()), DirectError::Orbitals { integrals: 5, space: 4 }));
    let truncated = Space::excitations(5, 2, 2, 1).unwrap();
    assert!(matches!(new(&truncated), DirectError::Incomplete { rows: 13 }));
    let full = Space::full(5, 2, 2).unwrap();
    let every: Vec<_> = (0..full.len()).rev().map(|row| full.determinant(row)).collect();
    let listed = Space::from_determinants(5, &every).unwrap();
    assert!(matches!(new(&listed), DirectError::Incomplete { rows: 100 }));
    // A space cut by irreps that the integrals do not have.
    let broken = random.integrals(5, 2, 2);
    let space = full.clone().in_irrep(&[1, 2, 3, 4, 1], 1).unwrap();
    let error = ci::full_ci(&broken, &space, None, &Device::cpu()).map(drop).unwrap_err();
    assert!(matches!(error, DirectError::Irreps { largest } if largest > 1e-8), "{error}");
    // Integrals that no file has.
    let mut wrong = [integrals.clone(), integrals.clone()];
    wrong[0].one.pop();
    wrong[1].two[3] = f64::NAN;
    for (wrong, expected) in wrong.iter().zip([0, 1]) {
        let error = ci::full_ci(wrong, &full, None, &Device::cpu()).map(drop).unwrap_err();
        assert!(matches!(error, DirectError::Integrals { infinite, .. } if infinite == expected), "{error}");
    }
    // Vectors of another length.
    let operator = full_ci(&integrals, &full, None, &Device::cpu());
    let (x, mut y) = (Device::cpu().zeros::<f64>(99).unwrap(), Device::cpu().zeros::<f64>(100).unwrap());
    let error = operator.apply(&x, &mut y).unwrap_err().to_string();
    assert!(error.contains("100 elements") && error.contains("found 99"), "{error}");
}
