//! Checkpoints: stop and go on, kill -9, torn files, other problems.

use crate::operators::Sparse;
use crate::solvers::SEARCHES;
use crate::test_devices;
use eigenforge_runtime::solvers::*;
use eigenforge_runtime::{Device, ElementFunction, LinearOperator, Result, SolveError, Vector};
use eigenforge_templates::Cost;
use std::path::Path;
use std::time::Duration;

fn options(states: usize, folder: &Path, identity: &str, resume: bool) -> SolveOptions {
    let checkpoint = CheckpointOptions {
        folder: folder.to_path_buf(),
        resume,
        identity: identity.into(),
        ..CheckpointOptions::default()
    };
    SolveOptions { states, checkpoint: Some(checkpoint), ..SolveOptions::default() }
}

/// With so many vectors kept at most.
fn keeping(vectors: Option<usize>, options: SolveOptions) -> SolveOptions {
    SolveOptions { keep_vectors: vectors, ..options }
}

fn problem(device: &Device) -> Sparse {
    Sparse::random(device, 900, 20.0, 6, 1.0, 5)
}

fn states(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|e| e.file_name().to_string_lossy().starts_with("state-")).count()
}

#[test]
fn a_stopped_run_goes_on_to_the_same_energies_with_less_work() {
    for device in test_devices() {
        let operator = problem(&device);
        // These matrices have a diagonal on the host alone.
        let by_diagonal = LinearOperator::<f64>::diagonal(&operator).map(|_| (1, Solver::Olsen));
        for (k, solver) in SEARCHES.into_iter().chain(by_diagonal) {
            let folder = tempfile::tempdir().unwrap();
            let whole =
                solve::<f64>(&operator, solver, &SolveOptions { states: k, ..SolveOptions::default() }).unwrap();
            let half = whole.history.last().unwrap().0 * 2 / 3;
            let first = SolveOptions { max_iterations: half, ..options(k, folder.path(), "a", false) };
            assert_eq!(solve::<f64>(&operator, solver, &first).unwrap().stop, StopReason::MaxIterations);
            assert!((1..=2).contains(&states(folder.path())));
            let rest = solve::<f64>(&operator, solver, &options(k, folder.path(), "a", true)).unwrap();
            assert_eq!(rest.stop, StopReason::Converged);
            for (a, b) in rest.values.iter().zip(&whole.values) {
                assert!((a - b).abs() < 1e-9, "{k} {solver:?}: {a} {b}");
            }
            assert!(rest.multiplies < whole.multiplies, "{k} {solver:?}: {} of {}", rest.multiplies, whole.multiplies);
        }
    }
}

#[test]
fn other_problems_and_torn_states_are_told_apart() {
    let device = Device::cpu();
    let operator = problem(&device);
    let folder = tempfile::tempdir().unwrap();
    let run = |o: SolveOptions, solver| solve::<f64>(&operator, solver, &o);
    run(options(1, folder.path(), "a", false), Solver::Lobpcg).unwrap();
    assert_eq!(states(folder.path()), 2);
    for resume in [false, true] {
        let text = run(options(1, folder.path(), "b", resume), Solver::Lobpcg).unwrap_err().to_string();
        assert!(text.contains("its problem is") && text.contains("use another folder"), "{text}");
        let text = run(options(1, folder.path(), "a", resume), Solver::Lanczos).unwrap_err().to_string();
        assert!(text.contains("its solver is lobpcg, this run's is lanczos"), "{text}");
    }
    // Tear the newest state: the one before is used. Tear both: the run starts anew.
    let sorted = || {
        let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        names
    };
    let tear = |state: &Path| {
        let file = state.join("vector-0.bin");
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    };
    let start = |found: Eigenpairs<f64>| found.history[0].0;
    let few = |resume, max_iterations| SolveOptions { max_iterations, ..options(1, folder.path(), "a", resume) };
    assert_eq!(start(run(few(false, 20), Solver::Lobpcg).unwrap()), 0);
    assert_eq!(start(run(few(true, 30), Solver::Lobpcg).unwrap()), 20);
    let [older, newest] = &sorted()[..] else { panic!("two states are kept") };
    tear(newest);
    let header = std::fs::read_to_string(older.join("header.ron")).unwrap();
    let after = header.split("iteration:").nth(1).unwrap();
    let at: usize = after.split(',').next().unwrap().trim().parse().unwrap();
    assert!(at > 20);
    assert_eq!(start(run(few(true, 40), Solver::Lobpcg).unwrap()), at);
    sorted().iter().for_each(|state| tear(state));
    let anew = run(options(1, folder.path(), "a", true), Solver::Lobpcg).unwrap();
    assert_eq!(anew.stop, StopReason::Converged);
    assert_eq!(start(anew), 0);
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let error = run(options(1, &blocked.join("x"), "a", false), Solver::Lobpcg).unwrap_err();
    assert!(matches!(error, SolveError::Checkpoint { .. }), "{error}");
}

/// A block of another width goes on from the states of the first, and the result says so; what does not matter is not said.
#[test]
fn a_run_with_other_options_goes_on_and_says_so() {
    let device = Device::cpu();
    let operator = problem(&device);
    let spectrum = operator.spectrum();
    for (first, then) in [(3, 0), (0, 3)] {
        let folder = tempfile::tempdir().unwrap();
        let with = |guard, resume, max_iterations| SolveOptions {
            guard: Some(guard),
            max_iterations,
            ..options(3, folder.path(), "a", resume)
        };
        let stopped = solve::<f64>(&operator, Solver::Lobpcg, &with(first, false, 12)).unwrap();
        assert_eq!(stopped.stop, StopReason::MaxIterations);
        let found = solve::<f64>(&operator, Solver::Lobpcg, &with(then, true, 2000)).unwrap();
        assert_eq!((found.stop, found.history[0].0), (StopReason::Converged, 12), "guard {first}, then {then}");
        for (value, wanted) in found.values.iter().zip(&spectrum) {
            assert!((value - wanted).abs() < 1e-9, "{value} {wanted}");
        }
        let said = format!("resumed from a state of a search with guard = {first} (here {then})");
        assert!(found.notes.iter().any(|note| note.contains(&said)), "{:?}", found.notes);
        let again = solve::<f64>(&operator, Solver::Lobpcg, &with(then, true, 3000)).unwrap();
        assert!(again.notes.iter().all(|note| !note.contains("resumed")), "{:?}", again.notes);
    }
}

/// The result of `dense` is in levels by the tolerance: with another one it is found again.
#[test]
fn a_dense_result_of_another_tolerance_is_found_again() {
    let operator = problem(&Device::cpu());
    let folder = tempfile::tempdir().unwrap();
    let with = |tolerance, resume| SolveOptions { tolerance, ..options(2, folder.path(), "a", resume) };
    let multiplies = |tolerance, resume| {
        let found = solve::<f64>(&operator, Solver::Dense, &with(tolerance, resume)).unwrap();
        let whole = SolveOptions { checkpoint: None, ..with(tolerance, false) };
        assert_eq!(found.levels, solve::<f64>(&operator, Solver::Dense, &whole).unwrap().levels);
        found.multiplies
    };
    assert!(multiplies(1e-10, false) >= 900);
    assert!(multiplies(1e-10, true) < 10 && multiplies(1e-2, true) >= 900);
}

/// The same matrix, slowly, so that there is time to kill it.
struct Slow(Sparse);

impl LinearOperator<f64> for Slow {
    fn dimension(&self) -> usize {
        LinearOperator::<f64>::dimension(&self.0)
    }
    fn device(&self) -> &Device {
        LinearOperator::<f64>::device(&self.0)
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64> {
        std::thread::sleep(Duration::from_millis(4));
        self.0.apply(x, y)
    }
    fn diagonal(&self) -> Option<ElementFunction> {
        LinearOperator::<f64>::diagonal(&self.0)
    }
    fn norm_bound(&self) -> f64 {
        LinearOperator::<f64>::norm_bound(&self.0)
    }
    fn cost(&self) -> Cost {
        LinearOperator::<f64>::cost(&self.0)
    }
}

/// Not a test of its own: the process that `a_killed_run_goes_on` kills.
#[test]
#[ignore = "run by a_killed_run_goes_on"]
fn victim() {
    let Ok(folder) = std::env::var("EIGENFORGE_TEST_VICTIM") else { return };
    let (k, solver) = SEARCHES[std::env::var("EIGENFORGE_TEST_SOLVER").unwrap().parse::<usize>().unwrap()];
    let vectors = std::env::var("EIGENFORGE_TEST_KEEP").ok().map(|vectors| vectors.parse().unwrap());
    let options = keeping(vectors, options(k, Path::new(&folder), "a", false));
    solve(&Slow(problem(&Device::cpu())), solver, &options).unwrap();
}

#[test]
fn a_killed_run_goes_on() {
    let whole = solve::<f64>(&problem(&Device::cpu()), Solver::Lanczos, &SolveOptions::default()).unwrap();
    let steps = whole.history.last().unwrap().0 as u32;
    // Which solver, how many vectors it keeps, and after how many saved states it is killed. Lanczos: among the factors,
    // without and with a kept start; among the steps, which are of no use with another seed; with everything kept; after a restart.
    for (index, vectors, after, seed) in [
        (0, None, 20, 1),
        (1, None, 10, 1),
        (2, Some(0), steps + 10, 1),
        (2, Some(17), steps + 10, 1),
        (2, Some(0), 20, 1),
        (2, Some(0), 20, 99),
        (2, None, 20, 1),
        (2, Some(54), 60, 1),
        (3, None, 2, 1),
        (4, None, 5, 1),
        (5, None, 5, 1),
    ] {
        let (k, solver) = SEARCHES[index];
        let folder = tempfile::tempdir().unwrap();
        let mut victim = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "checkpoints::victim", "--ignored"])
            .env("EIGENFORGE_TEST_VICTIM", folder.path())
            .env("EIGENFORGE_TEST_SOLVER", index.to_string())
            .envs(vectors.map(|vectors: usize| ("EIGENFORGE_TEST_KEEP", vectors.to_string())))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let newest = || {
            let names = std::fs::read_dir(folder.path()).into_iter().flatten().flatten();
            names.filter_map(|e| e.file_name().to_str()?.strip_prefix("state-")?.parse::<u32>().ok()).max().unwrap_or(0)
        };
        for _ in 0..2000 {
            if newest() >= after {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // SIGKILL, wherever it is: perhaps while it writes.
        victim.kill().unwrap();
        let ended = victim.wait().unwrap().success();
        assert!(!ended, "killed before it could end: {k} {solver:?}, {after} states, {} saved", newest());
        let operator = problem(&Device::cpu());
        let resumed = SolveOptions { seed, ..keeping(vectors, options(k, folder.path(), "a", true)) };
        let found = solve::<f64>(&operator, solver, &resumed).unwrap();
        let spectrum = operator.spectrum();
        assert_eq!(found.stop, StopReason::Converged);
        assert!(found.history[0].0 > 0, "it went on from a saved iteration: {:?}", found.history[0]);
        for (value, wanted) in found.values.iter().zip(&spectrum) {
            assert!((value - wanted).abs() < 1e-9, "{k} {solver:?}: {value} {wanted}");
        }
    }
}
