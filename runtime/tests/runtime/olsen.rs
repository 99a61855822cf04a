//! Olsen: matrices that their diagonal dominates, and others; how many multiplies; what it refuses.

use crate::davidson::dominated;
use crate::operators::Sparse;
use crate::solvers::{chain, check, options};
use crate::test_devices;
use eigenforge_runtime::solvers::*;
use eigenforge_runtime::{Device, LinearOperator};

fn solved(operator: &Sparse, options: &SolveOptions) -> Eigenpairs<f64> {
    solve::<f64>(operator, Solver::Olsen, options).unwrap()
}

#[test]
fn matrices_of_every_size() {
    for device in test_devices() {
        for n in [2, 3, 7, 31, 150, 900] {
            for seed in 1..4 {
                let operator = Sparse::random(&device, n, 10.0, 6.min(n / 2), 0.3, seed);
                let found = solved(&operator, &options(1, 1e-11));
                assert_eq!(found.stop, StopReason::Converged, "{n} {seed}: {:?}", found.residuals);
                check(&operator, &found, 1, 1e-11);
            }
        }
    }
}

/// Bounds: what was needed when this was written, and a fifth more. With all its vectors Davidson's method takes fewer.
#[test]
fn few_multiplies_with_two_vectors() {
    for device in test_devices().into_iter().filter(|device| !device.is_cuda()) {
        for (operator, bound) in [
            (dominated(&device, 3000, 20, 7), 13),
            (Sparse::random(&device, 900, 10.0, 6, 0.3, 2), 45),
            // The diagonal says little of this one.
            (Sparse::random(&device, 900, 20.0, 6, 1.0, 2), 65),
        ] {
            let n = LinearOperator::<f64>::dimension(&operator) as u64;
            let search = SolveOptions {
                certify: false,
                memory_limit: Some(16 * n),
                ..options(1, 1e-8 / LinearOperator::<f64>::norm_bound(&operator))
            };
            let found = solved(&operator, &search);
            println!("{n}: {} multiplies", found.multiplies);
            assert_eq!(found.stop, StopReason::Converged);
            assert!((found.values[0] - operator.spectrum()[0]).abs() < 1e-10);
            assert!(found.multiplies <= bound, "{} of {bound}", found.multiplies);
            assert_eq!(resident(900, 8, Solver::Olsen, &search), ("2 vectors of 900 elements for Olsen".into(), 14400));
        }
    }
}

#[test]
fn the_unit_and_the_zero_of_the_operator_change_nothing() {
    for device in test_devices() {
        let base = dominated(&device, 600, 20, 9);
        let reference = solved(&base, &options(1, 1e-10));
        for (scale, shift) in [(1e-30, 0.0), (1e30, 0.0), (1.0, 1e3), (1.0, -1e3)] {
            let mut other = Sparse { device: device.clone(), rows: base.rows.clone() };
            other.rows.iter_mut().flatten().for_each(|entry| entry.1 *= scale);
            for (i, row) in other.rows.iter_mut().enumerate() {
                row.push((i, shift));
            }
            let tolerance = 1e-10 * reference.norm * scale / LinearOperator::<f64>::norm_bound(&other);
            let found = solved(&other, &options(1, tolerance));
            check(&other, &found, 1, tolerance);
            let (more, less) = (found.iterations.max(reference.iterations), found.iterations.min(reference.iterations));
            assert!(more <= less + less / 5 + 10, "{scale:e}, {shift}: {more} iterations, {less}");
        }
    }
}

/// A diagonal matrix, whose lowest state K x alone would never leave, and couplings that hardly matter.
#[test]
fn a_diagonal_that_is_almost_or_all_of_the_matrix() {
    for device in test_devices() {
        for coupling in [0.0, 1e-12, 1e-6, 1e-3] {
            let operator = Sparse::random(&device, 600, 10.0, 6, coupling, 6);
            let found = solved(&operator, &options(1, 1e-11));
            assert_eq!(found.stop, StopReason::Converged, "coupling {coupling:e}: {:?}", found.residuals);
            check(&operator, &found, 1, 1e-11);
        }
    }
}

#[test]
fn single_precision() {
    for device in test_devices() {
        let operator = dominated(&device, 900, 20, 3);
        let found = solve::<f32>(&operator, Solver::Olsen, &options(1, 2e-6)).unwrap();
        assert_eq!(found.stop, StopReason::Converged, "{:?}", found.residuals);
        check(&operator, &found, 1, 2e-6);
    }
}

/// It ends and says so; nothing that has not converged is called converged.
#[test]
fn few_iterations() {
    let operator = dominated(&Device::cpu(), 900, 20, 3);
    let found = solved(&operator, &SolveOptions { max_iterations: 3, ..options(1, 1e-11) });
    assert_eq!((found.stop, found.iterations), (StopReason::MaxIterations, 3));
    assert!(found.residuals[0] > found.tolerance);
    let spectrum = operator.spectrum();
    assert!(found.values[0] >= spectrum[0] - 1e-12 && found.values[0] - spectrum[0] <= found.residuals[0]);
}

#[test]
fn what_it_cannot_do_is_refused() {
    let device = Device::cpu();
    let refused = |operator: &Sparse, options: SolveOptions| {
        solve::<f64>(operator, Solver::Olsen, &options).unwrap_err().to_string()
    };
    let operator = dominated(&device, 900, 20, 3);
    let several = refused(&operator, options(2, 1e-10));
    assert!(several.contains("states = 2") && several.contains("davidson finds several states"), "{several}");
    let flat = refused(&chain(&device, 900), options(1, 1e-10));
    assert!(flat.contains("solver = olsen: expected lanczos, which needs no diagonal"), "{flat}");
    let tight = refused(&operator, SolveOptions { memory_limit: Some(16 * 900 - 1), ..options(1, 1e-10) });
    assert!(tight.contains("Olsen (2 vectors of 900 elements) needs 14400 bytes"), "{tight}");
}
