//! Every solver against the dense spectrum: random, degenerate, clustered, cut multiplets; residuals and levels.

use crate::operators::Sparse;
use crate::test_devices;
use eigenforge_runtime::solvers::*;
use eigenforge_runtime::{LinearOperator, Scalar, SolveError};

fn options(states: usize, tolerance: f64) -> SolveOptions {
    SolveOptions { states, tolerance, ..SolveOptions::default() }
}

/// Values, residuals, levels and orthonormality of a result against the whole spectrum.
fn check<T: Scalar>(operator: &Sparse, found: &Eigenpairs<T>, k: usize, tolerance: f64) {
    let spectrum = operator.spectrum();
    assert_eq!(found.values.len(), k);
    for (i, (value, residual)) in found.values.iter().zip(&found.residuals).enumerate() {
        assert!(
            (value - spectrum[i]).abs() < tolerance,
            "state {i}: {value} against {} ({:?})",
            spectrum[i],
            found.stop
        );
        assert!(*residual <= tolerance, "state {i}: residual {residual:e}");
    }
    let all: Vec<_> = found.vectors.iter().chain(&found.extra_vectors).map(|v| v.download().unwrap()).collect();
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            let dot: f64 = a.iter().zip(b).map(|(a, b)| a.to_f64() * b.to_f64()).sum();
            assert!((dot - f64::from(u8::from(i == j))).abs() < tolerance.max(1e-7), "vectors {i} and {j}: {dot}");
        }
    }
    let mut states = 0;
    for level in &found.levels {
        assert!(level.complete, "{:?} {:?}", found.levels, found.notes);
        let true_count = spectrum.iter().filter(|v| (**v - level.value).abs() < found.degeneracy_tolerance).count();
        assert_eq!(level.multiplicity, true_count, "{:?}", found.levels);
        states += level.returned;
    }
    assert_eq!(states, k);
    assert_eq!(found.ground_multiplet().len(), found.levels[0].multiplicity);
}

#[test]
fn one_state_of_a_random_matrix() {
    for device in test_devices() {
        for seed in 1..4 {
            let operator = Sparse::random(&device, 900, 20.0, 6, 1.0, seed);
            for solver in [Solver::Lobpcg, Solver::Lanczos] {
                let found = solve::<f64>(&operator, solver, &options(1, 1e-8)).unwrap();
                assert_eq!(found.stop, StopReason::Converged);
                check(&operator, &found, 1, 1e-8);
            }
        }
    }
}

#[test]
fn a_degenerate_ground_level_is_completed() {
    for device in test_devices() {
        // Ground level of the ring's square, shifted so that the lowest level is a product of pairs: 4 states.
        let mut ring = Sparse::ring(&device, 24);
        ring.rows.iter_mut().for_each(|row| row.iter_mut().for_each(|e| e.1 = -e.1));
        let ring = Sparse::new(&device, 23, (0..23).map(|i| (i, (i + 1) % 23, 1.0)));
        let operator = ring.kronecker_sum();
        for solver in [Solver::Lobpcg, Solver::Lanczos] {
            let found = solve::<f64>(&operator, solver, &options(1, 1e-8)).unwrap();
            check(&operator, &found, 1, 1e-8);
            assert_eq!(found.levels[0].multiplicity, 4);
            assert_eq!(found.levels[0].returned, 1);
        }
    }
}
