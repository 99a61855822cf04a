//! Eigenvalues of stored matrices of real numbers, complex numbers and quaternions.
//!
//! Sources: tests/data/matrices (eigenvalues by the complex image with NumPy's `eigvalsh`, y = A x by quaternion arithmetic; each quaternion
//! eigenvalue once), and matrices that are made of their eigenvalues by Householder reflections, so that levels are known exactly.

use super::models::root;
use eigenforge::Error;
use eigenforge::input::{InputFile, MatrixFile};
use eigenforge::problem::run::{RunContext, Silent, Solvable, solvable};
use eigenforge::report::{FamilyRecord, Outcome};
use eigenforge::runtime::simulate::Schedule;
use eigenforge::runtime::solvers::Solver;
use eigenforge::runtime::testing::{devices_of_many_launches, host_and_card};
use eigenforge::runtime::{Device, seeded};
use eigenforge::sparse::{Csr, NumberKind};
use eigenforge_product::{Diagonalisation, HermitianMatrix, HermitianProblem, HermitianSolution};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

type Solve<'a> = Diagonalisation<HermitianProblem<'a>>;
type Quaternion = [f64; 4];

fn times([a, b, c, d]: Quaternion, [e, f, g, h]: Quaternion) -> Quaternion {
    [
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    ]
}

fn conjugate([a, b, c, d]: Quaternion) -> Quaternion {
    [a, -b, -c, -d]
}

fn plus(x: Quaternion, y: Quaternion) -> Quaternion {
    std::array::from_fn(|part| x[part] + y[part])
}

fn scaled(x: Quaternion, factor: f64) -> Quaternion {
    x.map(|part| factor * part)
}

fn sum(terms: impl Iterator<Item = Quaternion>) -> Quaternion {
    terms.fold([0.0; 4], plus)
}

fn length(x: &[Quaternion]) -> f64 {
    x.iter().flatten().map(|part| part * part).sum::<f64>().sqrt()
}

/// A dense matrix of numbers.
struct Dense {
    kind: NumberKind,
    rows: Vec<Vec<Quaternion>>,
}

impl Dense {
    /// A random matrix with these eigenvalues: H A H of three reflections H = 1 - 2 v v† / |v|².
    fn of_levels(kind: NumberKind, values: &[f64], seed: u64) -> Dense {
        let n = values.len();
        let mut a = vec![vec![[0.0; 4]; n]; n];
        (0..n).for_each(|row| a[row][row][0] = values[row]);
        for reflection in 0..3 {
            let random = seeded::vector(n * kind.parts(), seed + 1000 * reflection);
            let v: Vec<Quaternion> = (0..n)
                .map(|row| std::array::from_fn(|part| if part < kind.parts() { random[part * n + row] } else { 0.0 }))
                .collect();
            let factor = -2.0 / length(&v).powi(2);
            let left: Vec<Quaternion> = (0..n).map(|s| sum((0..n).map(|t| times(conjugate(v[t]), a[t][s])))).collect();
            for (r, row) in a.iter_mut().enumerate() {
                (0..n).for_each(|s| row[s] = plus(row[s], scaled(times(v[r], left[s]), factor)));
            }
            for row in &mut a {
                let right = sum((0..n).map(|t| times(row[t], v[t])));
                (0..n).for_each(|s| row[s] = plus(row[s], scaled(times(right, conjugate(v[s])), factor)));
            }
        }
        let half = |r: usize, s: usize| scaled(plus(a[r][s], conjugate(a[s][r])), 0.5);
        Dense { kind, rows: (0..n).map(|r| (0..n).map(|s| half(r, s)).collect()).collect() }
    }

    fn matrix(&self) -> HermitianMatrix {
        let n = self.rows.len();
        let starts: Vec<u64> = (0..=n as u64).map(|row| row * n as u64).collect();
        let columns: Vec<u32> = (0..n).flat_map(|_| 0..n as u32).collect();
        let parts = self.kind.parts();
        let values = self.rows.iter().flatten().flat_map(|number| &number[..parts]).copied().collect();
        HermitianMatrix::new(Csr::of_numbers(self.kind, starts, columns, values).unwrap()).unwrap()
    }

    fn multiply(&self, x: &[Quaternion]) -> Vec<Quaternion> {
        self.rows.iter().map(|row| sum(row.iter().zip(x).map(|(a, x)| times(*a, *x)))).collect()
    }
}

/// The vectors of a solution as quaternions.
fn vectors(solution: &HermitianSolution<'_>) -> Vec<Vec<Quaternion>> {
    match solution.matrix().kind() {
        NumberKind::Real => {
            let all = solution.real_vectors().unwrap();
            all.into_iter().map(|vector| vector.into_iter().map(|x| [x, 0.0, 0.0, 0.0]).collect()).collect()
        }
        NumberKind::Complex => {
            let all = solution.complex_vectors().unwrap();
            all.into_iter().map(|vector| vector.into_iter().map(|x| [x.re, x.im, 0.0, 0.0]).collect()).collect()
        }
        NumberKind::Quaternion => solution.quaternion_vectors().unwrap(),
    }
}

/// Solves for some of the lowest states, and compares energies, levels, vectors and residuals.
fn check(dense: &Dense, values: &[f64], (solver, states): (Solver, usize), device: &Device) {
    let matrix = dense.matrix();
    let about =
        format!("{:?} {} of {} rows, {states} states by {}", dense.kind, device.name(), values.len(), solver.name());
    let solve = Solve::new(&matrix, solver).states(states).tolerance(1e-11);
    let solution = solve.run(device).unwrap_or_else(|error| panic!("{about}: {error}"));
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let norm = sorted.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let allowed = 1e-10 * norm;
    assert_eq!(solution.energies().len(), states, "{about}");
    for (found, expected) in solution.energies().iter().zip(&sorted) {
        assert!((found - expected).abs() <= allowed, "{about}: {found:e} instead of {expected:e}");
    }
    let mut first = 0;
    for level in solution.levels() {
        let members = sorted.iter().filter(|value| (*value - sorted[first]).abs() <= allowed).count();
        assert!(level.complete, "{about}: {level:?}, {:?}", solution.eigenpairs().notes);
        assert_eq!((level.multiplicity, level.returned), (members, members.min(states - first)), "{about}: {level:?}");
        first += members;
    }
    let vectors = vectors(&solution);
    for (state, vector) in vectors.iter().enumerate() {
        let energy = solution.energies()[state];
        let product = dense.multiply(vector);
        let rest: Vec<Quaternion> = product.iter().zip(vector).map(|(y, x)| plus(*y, scaled(*x, -energy))).collect();
        assert!((length(vector) - 1.0).abs() < 1e-12, "{about}: {}", length(vector));
        assert!(length(&rest) <= 1e-8 * norm, "{about}: residual {:e} of state {state}", length(&rest));
        assert!(solution.residuals()[state] <= 1.1e-11 * solution.eigenpairs().norm, "{about}");
        for other in &vectors[..state] {
            let overlap = sum(other.iter().zip(vector).map(|(a, b)| times(conjugate(*a), *b)));
            assert!(length(&[overlap]) < 1e-12, "{about}: overlap {:e} of state {state}", length(&[overlap]));
        }
    }
}

const KINDS: [NumberKind; 3] = [NumberKind::Real, NumberKind::Complex, NumberKind::Quaternion];

/// Different, in threes, all equal, and of both signs around zero.
fn spectra(n: usize) -> [Vec<f64>; 4] {
    let values = |value: fn(usize) -> f64| (0..n).map(value).collect();
    [
        values(|k| k as f64 - 2.5 + 0.1 * (k * k) as f64),
        values(|k| (k / 3) as f64 - 1.0),
        values(|_| 0.75),
        values(|k| [-3.0, 0.0, 2.0, 0.0][k % 4]),
    ]
}

#[test]
fn levels_of_every_kind_of_numbers() {
    let device = Device::cpu();
    for (n, kind) in [1, 2, 3, 4, 7, 12, 30].into_iter().flat_map(|n| KINDS.map(|kind| (n, kind))) {
        for (number, values) in spectra(n).iter().enumerate() {
            let dense = Dense::of_levels(kind, values, 7 + number as u64);
            for states in [1, 2, 5, n].into_iter().filter(|states| *states <= n) {
                check(&dense, values, (Solver::Dense, states), &device);
            }
            // A search in the complement of one vector does not end where every vector is an eigenvector up to rounding.
            let is_one_level = values.iter().all(|value| *value == values[0]) && n > 1;
            for solver in [Solver::Lanczos, Solver::Lobpcg, Solver::Davidson].into_iter().filter(|_| !is_one_level) {
                for states in [1, 3].into_iter().filter(|states| *states <= n) {
                    check(&dense, values, (solver, states), &device);
                }
            }
        }
    }
}

#[test]
fn levels_do_not_depend_on_the_scale() {
    for (kind, scale) in KINDS.into_iter().flat_map(|kind| [1e-70, 1e-10, 1e70].map(|scale| (kind, scale))) {
        let values: Vec<f64> = spectra(9)[1].iter().map(|value| scale * value).collect();
        let dense = Dense::of_levels(kind, &values, 3);
        for solver in [Solver::Dense, Solver::Lanczos, Solver::Lobpcg] {
            check(&dense, &values, (solver, 2), &Device::cpu());
        }
    }
}

#[test]
fn the_generated_text_finds_the_same_levels() {
    for device in devices_of_many_launches(Schedule::Forward) {
        for (n, kind) in [1, 5, 14].into_iter().flat_map(|n| KINDS.map(|kind| (n, kind))) {
            let values = &spectra(n)[1];
            let dense = Dense::of_levels(kind, values, 5);
            for solver in [Solver::Dense, Solver::Lanczos, Solver::Lobpcg] {
                check(&dense, values, (solver, n.min(2)), &device);
            }
        }
    }
}

/// Nothing but zeros, and nothing stored at all.
#[test]
fn a_matrix_of_zeros_has_one_level() {
    for n in [1usize, 2, 6] {
        let stored = Csr::new(vec![0; n + 1], vec![], vec![]).unwrap();
        let matrix = HermitianMatrix::new(stored).unwrap();
        for solver in [Solver::Dense, Solver::Lanczos, Solver::Lobpcg] {
            let solve = Solve::new(&matrix, solver);
            let solution = solve.run(&Device::cpu()).unwrap();
            assert_eq!((solution.energy(), solution.levels()[0].multiplicity), (0.0, n), "{n} {}", solver.name());
        }
    }
}

fn folder() -> PathBuf {
    root().join("tests/data/matrices")
}

fn solved(file: &Path, device: &str, change: impl FnOnce(&mut MatrixFile)) -> Result<Outcome, Error> {
    let InputFile::Matrix(mut file) = InputFile::read(file)? else { panic!("no matrix") };
    change(&mut file);
    let problem: Box<dyn Solvable + Send> = solvable(InputFile::Matrix(file))?;
    let context = RunContext::new(Instant::now(), device, Arc::new(Silent));
    Ok(problem.solve(&context)?.outcome)
}

/// The matrices of a list, each with its smallest eigenvalues.
fn listed(kind: &str) -> Vec<(PathBuf, serde_json::Value)> {
    let text = std::fs::read_to_string(folder().join("matrices.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cases = all[kind].as_array().unwrap();
    cases.iter().map(|case| (folder().join(case["file"].as_str().unwrap()), case.clone())).collect()
}

fn compare(outcome: &Outcome, case: &serde_json::Value) {
    let expected: Vec<f64> =
        case["eigenvalues_first_ten"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    let about = format!("{} on {}", case["id"], outcome.device);
    assert!(outcome.converged(), "{about}: {:?}", outcome.warnings);
    for (state, (found, expected)) in outcome.energies.iter().zip(&expected).enumerate() {
        assert!((found - expected).abs() < 1e-10 * 20.0, "{about}: state {state} at {found:?} instead of {expected:?}");
    }
    assert_eq!(outcome.dimension(), case["n"].as_u64().unwrap(), "{about}");
    let FamilyRecord::Matrix(record) = &outcome.family else { panic!("{about}") };
    assert_eq!(record.non_zeros, case["nnz"].as_u64().unwrap(), "{about}");
    let lowest = case["lowest_multiplicity"].as_u64().unwrap_or(1) as usize;
    assert_eq!(record.spectrum.multiplicities[0], lowest, "{about}");
    assert!(record.spectrum.levels.iter().all(|level| level.complete), "{about}: {:?}", outcome.warnings);
}

#[test]
fn reference_matrices_on_the_cpu() {
    for (kind, solvers) in [("quaternion", 1), ("complex", 2)] {
        for (file, case) in listed(kind) {
            for solver in [None, Some(Solver::Lanczos)].into_iter().take(solvers) {
                let outcome =
                    solved(&file, "cpu", |file| (file.solve.states, file.solve.solver) = (10, solver)).unwrap();
                compare(&outcome, &case);
            }
        }
    }
}

/// All eigenvalues of a matrix, against the array in its file.
#[test]
fn the_whole_spectrum_of_reference_matrices() {
    for (file, case) in listed("quaternion").into_iter().chain(listed("complex").into_iter().take(1)) {
        let outcome = solved(&file, "cpu", |file| file.solve.all = true).unwrap();
        let expected = eigenforge::sparse::read_npz_vector(&file, "eigenvalues").unwrap();
        assert_eq!(outcome.energies.len(), expected.len(), "{}", case["id"]);
        for (found, expected) in outcome.energies.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-10, "{}: {found:?} instead of {expected:?}", case["id"]);
        }
    }
}

#[test]
fn reference_matrices_by_the_generated_text() {
    for device in devices_of_many_launches(Schedule::Forward).into_iter().chain(host_and_card().into_iter().skip(1)) {
        for (file, case) in listed("quaternion").into_iter().chain(listed("complex").into_iter().take(2)) {
            let InputFile::Matrix(file) = InputFile::read(&file).unwrap() else { panic!("no matrix") };
            let solution = Solve::new(&file.matrix, Solver::Lanczos).run(&device).unwrap();
            let expected = case["eigenvalues_first_ten"][0].as_f64().unwrap();
            assert!((solution.energy() - expected).abs() < 1e-9, "{}: {:?}", case["id"], solution.energy());
            let lowest = case["lowest_multiplicity"].as_u64().unwrap_or(1) as usize;
            assert_eq!(solution.levels()[0].multiplicity, lowest, "{}", case["id"]);
        }
    }
}

/// As Matrix Market writes it: i times a skew-symmetric matrix has the eigenvalues ±ω.
#[test]
fn a_skew_symmetric_file_is_taken_times_i() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("skew.mtx");
    std::fs::write(&file, "%%MatrixMarket matrix coordinate real skew-symmetric\n4 4 2\n2 1 3.0\n4 3 0.5\n").unwrap();
    let outcome = solved(&file, "cpu", |file| file.solve.states = 4).unwrap();
    for (found, expected) in outcome.energies.iter().zip([-3.0, -0.5, 0.5, 3.0]) {
        assert!((found - expected).abs() < 1e-13, "{:?}", outcome.energies);
    }
    let FamilyRecord::Matrix(record) = &outcome.family else { panic!() };
    assert!(record.matrix.starts_with("i times a real skew-symmetric matrix"), "{}", record.matrix);
    assert_eq!(record.spectrum.multiplicities, [1, 1, 1, 1]);
}
