//! Davidson: matrices that their diagonal dominates, in any memory; how many multiplies; states that the start does not
//! see.

use crate::operators::Sparse;
use crate::solvers::{chain, check, options};
use crate::test_devices;
use eigenforge_runtime::solvers::*;
use eigenforge_runtime::{Device, LinearOperator};

/// As configuration interaction has them: one low basis state, `near` of them some way above, the others spread over
/// 10; and couplings that are weak beside these differences.
pub fn dominated(device: &Device, n: usize, near: usize, seed: u64) -> Sparse {
    let mut matrix = Sparse::random(device, n, 10.0, 12, 0.1, seed);
    for (i, row) in matrix.rows.iter_mut().enumerate() {
        let lift = if i == 0 { -0.8 } else { 0.2 + if i <= near { 0.01 * i as f64 } else { 0.5 } };
        row.iter_mut().filter(|entry| entry.0 == i).for_each(|entry| {
            entry.1 = if i <= near { lift } else { entry.1 + lift };
        });
    }
    matrix
}

#[test]
fn matrices_that_their_diagonal_dominates() {
    for device in test_devices() {
        for seed in 1..4 {
            let operator = dominated(&device, 900, 20, seed);
            for k in 1..=6 {
                let found = solve::<f64>(&operator, Solver::Davidson, &options(k, 1e-11)).unwrap();
                assert_eq!(found.stop, StopReason::Converged);
                check(&operator, &found, k, 1e-11);
                assert!(!found.notes.iter().any(|note| note.contains("missed")), "{:?}", found.notes);
            }
        }
    }
}

/// Bounds: what was needed when this was written, and a fifth more.
#[test]
fn few_multiplies_and_fewer_than_lanczos() {
    for device in test_devices().into_iter().filter(|device| !device.is_cuda()) {
        let operator = dominated(&device, 3000, 20, 7);
        for (k, bound) in [(1, 16), (3, 59), (6, 102)] {
            let options =
                SolveOptions { certify: false, ..options(k, 1e-8 / LinearOperator::<f64>::norm_bound(&operator)) };
            let run = |solver| solve::<f64>(&operator, solver, &options).unwrap();
            let (davidson, lanczos) = (run(Solver::Davidson), run(Solver::Lanczos));
            println!("k = {k}: {} multiplies, {} by Lanczos", davidson.multiplies, lanczos.multiplies);
            assert!(davidson.multiplies <= bound && davidson.multiplies < lanczos.multiplies, "k = {k}");
            for (a, b) in davidson.values.iter().zip(&lanczos.values) {
                assert!((a - b).abs() < 1e-10, "k = {k}: {a} {b}");
            }
        }
    }
}

/// Three vectors a column, a few more, and as many as are of use: the states are the same, and room saves multiplies.
#[test]
fn the_same_states_in_any_memory() {
    for device in test_devices() {
        let close = Sparse::random(&device, 900, 20.0, 6, 1.0, 2);
        for (operator, k) in [(&dominated(&device, 900, 20, 5), 1), (&close, 1), (&close, 4), (&chain(&device, 450), 2)]
        {
            let columns = if k == 1 { 1 } else { k as u64 + 2 + k as u64 / 4 };
            let vector = 8 * LinearOperator::<f64>::dimension(operator) as u64;
            let mut multiplies = Vec::new();
            for extra in [Some(0), Some(3), Some(20), None] {
                let memory_limit = extra.map(|extra| (8 * columns + extra) * vector);
                let options = SolveOptions {
                    memory_limit,
                    certify: false,
                    ..options(k, 1e-9 / LinearOperator::<f64>::norm_bound(operator))
                };
                let found = solve::<f64>(operator, Solver::Davidson, &options).unwrap();
                assert_eq!(found.stop, StopReason::Converged, "k = {k}, {extra:?}: {:?}", found.residuals);
                let spectrum = operator.spectrum();
                for (value, wanted) in found.values.iter().zip(&spectrum) {
                    assert!((value - wanted).abs() < 1e-9, "k = {k}, {extra:?}: {value} {wanted}");
                }
                assert!(found.residuals.iter().all(|residual| *residual <= 1e-9), "{:?}", found.residuals);
                multiplies.push(found.multiplies);
                let planned = optional_vectors::<f64>(&device, operator.rows.len(), 0, Solver::Davidson, &options);
                let planned = planned.map_or(0, |(_, bytes)| bytes / vector);
                assert!(extra.is_none_or(|extra| planned <= extra && planned + 3 > extra), "{planned} of {extra:?}");
            }
            println!("dimension {}, k = {k}: {multiplies:?} multiplies", operator.rows.len());
            // A start with room takes three vectors more, which short searches do not earn back.
            assert!(multiplies[3] <= multiplies[0] + 3, "{multiplies:?}");
            // What the Ritz vectors before are kept for: without them the smallest basis takes twice as many and more.
            assert!(2 * multiplies[0] <= 3 * multiplies[3], "{multiplies:?}");
        }
        let operator = dominated(&device, 900, 20, 5);
        let tight = SolveOptions { memory_limit: Some(8 * 900 * 8 - 1), ..options(1, 1e-8) };
        let refused = solve::<f64>(&operator, Solver::Davidson, &tight).unwrap_err().to_string();
        assert!(refused.contains("Davidson (8 vectors of 900 elements) needs 57600 bytes"), "{refused}");
    }
}

/// Two blocks that nothing couples. All basis states with low diagonal elements lie in one, the lowest state in the
/// other.
#[test]
fn a_symmetry_that_hides_states_from_the_start() {
    for device in test_devices() {
        let (n, half) = (1000, 500);
        let mut operator = Sparse::random(&device, n, 10.0, 8, 0.1, 4);
        for (i, row) in operator.rows.iter_mut().enumerate() {
            row.retain(|entry| (entry.0 < half) == (i < half));
            if i < 8 {
                row.iter_mut().filter(|entry| entry.0 == i).for_each(|entry| entry.1 = -0.1 * (8 - i) as f64);
            }
            if i >= half {
                row.iter_mut().filter(|entry| entry.0 == i).for_each(|entry| entry.1 += 0.3);
            }
        }
        // Ten states of the second block, strongly coupled: one of their combinations is the lowest of all.
        for i in half..half + 10 {
            for j in (half..half + 10).filter(|j| *j != i) {
                operator.rows[i].push((j, -0.6));
            }
            let own = operator.entry(i);
            operator.rows[i].push((i, 1.0 - own));
        }
        for k in [1, 2, 3] {
            let search = SolveOptions { certify: false, ..options(k, 1e-9) };
            let found = solve::<f64>(&operator, Solver::Davidson, &search).unwrap();
            let spectrum = operator.spectrum();
            for (value, wanted) in found.values.iter().zip(&spectrum) {
                assert!(
                    (value - wanted).abs() < 1e-9,
                    "k = {k}: {:?}, the spectrum begins {:?}",
                    found.values,
                    &spectrum[..4]
                );
            }
            check(&operator, &solve::<f64>(&operator, Solver::Davidson, &options(k, 1e-9)).unwrap(), k, 1e-9);
        }
    }
}

/// The better the diagonal, the more is t along the Ritz vector itself; of a diagonal matrix it is all of it.
#[test]
fn a_diagonal_that_is_almost_or_all_of_the_matrix() {
    for device in test_devices() {
        for coupling in [0.0, 1e-12, 1e-6, 1e-3] {
            let operator = Sparse::random(&device, 600, 10.0, 6, coupling, 6);
            for k in [1, 4] {
                let found = solve::<f64>(&operator, Solver::Davidson, &options(k, 1e-11)).unwrap();
                assert_eq!(found.stop, StopReason::Converged, "coupling {coupling:e}, k = {k}: {:?}", found.residuals);
                check(&operator, &found, k, 1e-11);
            }
        }
    }
}

/// Copies of one dominated matrix: every level has as many members, and k cuts one or takes it whole.
#[test]
fn multiplets_of_a_dominated_matrix() {
    for device in test_devices() {
        let one = dominated(&device, 300, 6, 8);
        for copies in [2, 3] {
            let rows = (0..copies).flat_map(|copy| {
                let shift = |row: &Vec<(usize, f64)>| row.iter().map(|(j, v)| (copy * 300 + j, *v)).collect();
                one.rows.iter().map(shift).collect::<Vec<_>>()
            });
            let operator = Sparse { device: device.clone(), rows: rows.collect() };
            for k in 1..=6 {
                let found = solve::<f64>(&operator, Solver::Davidson, &options(k, 1e-9)).unwrap();
                check(&operator, &found, k, 1e-9);
                assert!(found.levels.iter().all(|level| level.multiplicity == copies), "{:?}", found.levels);
            }
        }
    }
}

#[test]
fn single_precision() {
    for device in test_devices() {
        let operator = dominated(&device, 900, 20, 3);
        for k in [1, 3, 6] {
            let found = solve::<f32>(&operator, Solver::Davidson, &options(k, 2e-6)).unwrap();
            assert_eq!(found.stop, StopReason::Converged, "{:?}", found.residuals);
            check(&operator, &found, k, 2e-6);
        }
    }
}

#[test]
fn any_number_of_guard_vectors() {
    for device in test_devices() {
        let operator = dominated(&device, 900, 20, 2);
        for (k, guard) in [(1, 0), (1, 3), (2, 0), (5, 0), (5, 7)] {
            let guarded = SolveOptions { guard: Some(guard), ..options(k, 1e-9) };
            check(&operator, &solve::<f64>(&operator, Solver::Davidson, &guarded).unwrap(), k, 1e-9);
        }
    }
}
