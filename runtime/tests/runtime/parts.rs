//! The highest states and those nearest to a value, against the dense spectrum: random matrices, degenerate levels, both ends and the middle.

use crate::operators::Sparse;
use crate::solvers::{chain, options};
use crate::test_devices;
use eigenforge_runtime::simulate::Schedule;
use eigenforge_runtime::solvers::*;
use eigenforge_runtime::testing::devices_of_many_launches;
use eigenforge_runtime::{Device, ElementFunction, LinearOperator, Result, SolveError, Vector};
use eigenforge_templates::{Cost, ElementFunctionText};
use std::sync::{Arc, Mutex};

/// Levels of a spectrum in the order of a part: (value, states).
fn levels(mut spectrum: Vec<f64>, part: SpectrumPart, apart: f64) -> Vec<(f64, usize)> {
    spectrum.sort_by(f64::total_cmp);
    let mut levels: Vec<(f64, usize)> = Vec::new();
    for value in spectrum {
        match levels.last_mut() {
            Some((last, states)) if value - *last < apart => *states += 1,
            _ => levels.push((value, 1)),
        }
    }
    let key = |value: f64| match part {
        SpectrumPart::Lowest => value,
        SpectrumPart::Highest => -value,
        SpectrumPart::Nearest(centre) => (value - centre).abs(),
    };
    levels.sort_by(|a, b| key(a.0).total_cmp(&key(b.0)));
    levels
}

/// Values, levels, residuals and vectors of a result against the whole spectrum.
fn check(operator: &Sparse, part: SpectrumPart, solver: Solver, found: &Eigenpairs<f64>, k: usize) {
    let context =
        format!("{part:?} {solver:?}: {:?} {:?} {:?} {:?}", found.stop, found.values, found.levels, found.notes);
    let stop = if solver == Solver::Dense { StopReason::Dense } else { StopReason::Converged };
    assert!(found.stop == stop && found.values.len() == k && found.vectors.len() == k, "{context}");
    let expected = levels(operator.spectrum(), part, 1e-7 * found.norm);
    let mut left = k;
    for (level, (value, states)) in found.levels.iter().zip(&expected) {
        assert!((level.value - value).abs() <= found.tolerance, "{} against {value}; {context}", level.value);
        assert_eq!(
            (level.multiplicity, level.returned, level.complete),
            (*states, left.min(*states), true),
            "{context}"
        );
        left -= level.returned;
    }
    assert_eq!(left, 0, "{context}");
    let by_level = found.levels.iter().flat_map(|level| std::iter::repeat_n(level.value, level.returned));
    assert!(by_level.zip(&found.values).all(|(level, value)| (level - value).abs() <= found.tolerance), "{context}");
    let mut image = operator.device.zeros::<f64>(operator.rows.len()).unwrap();
    for ((value, vector), residual) in found.values.iter().zip(&found.vectors).zip(&found.residuals) {
        operator.apply(vector, &mut image).unwrap();
        let (x, y) = (vector.download().unwrap(), image.download().unwrap());
        let true_residual = x.iter().zip(&y).map(|(x, y)| (y - value * x).powi(2)).sum::<f64>().sqrt();
        assert!(
            true_residual <= 1.1 * found.tolerance && *residual <= 1.01 * found.tolerance,
            "{true_residual}; {context}"
        );
        assert!((x.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-9, "{context}");
    }
}

fn solved(operator: &Sparse, part: SpectrumPart, solver: Solver, k: usize) -> Eigenpairs<f64> {
    solve::<f64>(operator, solver, &SolveOptions { part, ..options(k, 1e-10) }).unwrap()
}

#[test]
fn the_highest_states_are_those_of_the_dense_spectrum() {
    let part = SpectrumPart::Highest;
    for device in test_devices() {
        for seed in 1..4 {
            let operator = Sparse::random(&device, 300, 12.0, 6, 1.0, seed);
            for (k, solver) in [
                (1, Solver::Lobpcg),
                (4, Solver::Lobpcg),
                (1, Solver::Lanczos),
                (4, Solver::Lanczos),
                (3, Solver::Davidson),
                (1, Solver::Olsen),
                (4, Solver::Dense),
            ] {
                check(&operator, part, solver, &solved(&operator, part, solver, k), k);
            }
        }
        // A level of two states that k cuts.
        let ring = Sparse::ring(&device, 61);
        for solver in [Solver::Lanczos, Solver::Lobpcg, Solver::Dense] {
            check(&ring, part, solver, &solved(&ring, part, solver, 3), 3);
        }
    }
}

#[test]
fn the_states_nearest_to_a_value_are_those_of_the_dense_spectrum() {
    for device in test_devices() {
        for seed in 1..4 {
            let operator = Sparse::random(&device, 250, 12.0, 6, 1.0, seed);
            for centre in [5.7, 0.1, -40.0, 9.0] {
                let part = SpectrumPart::Nearest(centre);
                for (k, solver) in [(1, Solver::Lanczos), (5, Solver::Lanczos), (3, Solver::Lobpcg), (5, Solver::Dense)]
                {
                    check(&operator, part, solver, &solved(&operator, part, solver, k), k);
                }
            }
            // So far away that every state is as near in floating point.
            for (centre, end) in [(1e17, SpectrumPart::Highest), (-1e300, SpectrumPart::Lowest)] {
                for solver in [Solver::Lobpcg, Solver::Dense] {
                    let [far, expected] =
                        [SpectrumPart::Nearest(centre), end].map(|part| solved(&operator, part, solver, 3));
                    assert_eq!(far.values, expected.values, "{centre}");
                }
            }
        }
    }
}

/// Levels of several states, in the middle of a symmetric spectrum: ±E are nearly as far from 0.002.
#[test]
fn degenerate_and_mirrored_levels_around_a_value_are_complete() {
    for device in test_devices() {
        let torus = Sparse::ring(&device, 9).kronecker_sum();
        for (centre, k) in [(0.3, 5), (-1.1, 7), (0.002, 4)] {
            let part = SpectrumPart::Nearest(centre);
            for solver in [Solver::Lanczos, Solver::Dense] {
                check(&torus, part, solver, &solved(&torus, part, solver, k), k);
            }
        }
    }
}

/// Many more states than a dense search takes, and a level deep inside: 2 cos(π q/(n + 1)) of an open chain.
#[test]
fn a_filter_finds_states_deep_inside_a_long_spectrum() {
    let operator = chain(&Device::cpu(), 1200);
    let (part, k) = (SpectrumPart::Nearest(0.77), 6);
    let found = solved(&operator, part, Solver::Lanczos, k);
    let mut exact: Vec<f64> = (1..=1200).map(|q| 2.0 * (std::f64::consts::PI * f64::from(q) / 1201.0).cos()).collect();
    exact.sort_by(|a, b| (a - 0.77).abs().total_cmp(&(b - 0.77).abs()));
    for (value, near) in found.values.iter().zip(&exact) {
        assert!((value - near).abs() < 1e-9, "{:?} against {:?}", found.values, &exact[..k]);
    }
    assert!(found.levels.iter().all(|level| level.complete && level.multiplicity == 1), "{:?}", found.notes);
}

/// A matrix whose diagonal is a text as well.
struct WithDiagonal(Sparse);

impl LinearOperator<f64> for WithDiagonal {
    fn dimension(&self) -> usize {
        self.0.rows.len()
    }
    fn device(&self) -> &Device {
        &self.0.device
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64> {
        self.0.apply(x, y)
    }
    fn diagonal(&self) -> Option<ElementFunction> {
        let text = ElementFunctionText::new("", "double", "diagonal", Vec::new(), "(double)(i * 37 % 101) * 0.3");
        let fill = |start: usize, out: &mut [f64]| {
            out.iter_mut().enumerate().for_each(|(k, out)| *out = 0.3 * ((start + k) * 37 % 101) as f64);
        };
        Some(ElementFunction { text, arguments: Vec::new(), host: Arc::new(fill) })
    }
    fn norm_bound(&self) -> f64 {
        LinearOperator::<f64>::norm_bound(&self.0)
    }
    fn cost(&self) -> Cost {
        LinearOperator::<f64>::cost(&self.0)
    }
}

/// Davidson's method takes the negative of a diagonal, in generated text too.
#[test]
fn the_text_of_a_diagonal_is_negated_for_the_highest_states() {
    let n = 90;
    let devices = devices_of_many_launches(Schedule::Forward).into_iter().chain([Device::cpu()]);
    for device in devices {
        let entries = (0..n).map(|i| (i, i, 0.3 * (i * 37 % 101) as f64)).chain((1..n).map(|i| (i - 1, i, 0.5)));
        let matrix = WithDiagonal(Sparse::new(&device, n, entries));
        let options = SolveOptions { part: SpectrumPart::Highest, ..options(2, 1e-10) };
        let found = solve::<f64>(&matrix, Solver::Davidson, &options).unwrap();
        check(&matrix.0, SpectrumPart::Highest, Solver::Davidson, &found, 2);
    }
}

/// Progress and history are of A itself, and what a filter cannot do is refused by name.
#[test]
fn progress_is_of_the_operator_itself_and_bad_parts_are_refused() {
    let operator = Sparse::random(&Device::cpu(), 200, 12.0, 6, 1.0, 5);
    let shown: Arc<Mutex<Vec<f64>>> = Arc::default();
    let (noted, part) = (shown.clone(), SpectrumPart::Highest);
    let progress = move |progress: &Progress| {
        let searches = progress.phase == SolvePhase::Lanczos;
        noted.lock().unwrap().extend(progress.energies.first().filter(|_| searches));
    };
    let options = SolveOptions { part, taken_out: 100.0, progress: Some(Arc::new(progress)), ..options(1, 1e-10) };
    let found = solve::<f64>(&operator, Solver::Lanczos, &options).unwrap();
    let last = *shown.lock().unwrap().last().unwrap();
    assert!((last - 100.0 - found.values[0]).abs() < 1e-6, "{last} against {}", found.values[0]);
    assert!((found.history.last().unwrap().1 - found.values[0]).abs() < 1e-6, "{:?}", found.history.last());
    for (solver, value, expected) in [
        (Solver::Davidson, 0.3, "solver = davidson"),
        (Solver::Olsen, 0.3, "solver = olsen"),
        (Solver::Lanczos, f64::NAN, "near = NaN"),
    ] {
        let options = SolveOptions { part: SpectrumPart::Nearest(value), ..SolveOptions::default() };
        let error = solve::<f64>(&operator, solver, &options).unwrap_err();
        assert!(matches!(error, SolveError::Option { .. }) && error.to_string().contains(expected), "{error}");
    }
    let options = SolveOptions { states: 201, part: SpectrumPart::Nearest(0.0), ..SolveOptions::default() };
    assert!(matches!(solve::<f64>(&operator, Solver::Lanczos, &options), Err(SolveError::States { .. })));
}
