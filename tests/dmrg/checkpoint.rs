//! Runs that end early and go on; folders that belong to another run.

use super::random::{Random, spin_operator};
use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgError, DmrgResult, Options, run};
use eigenforge::lattice::Lattice;
use eigenforge::models::xxz;
use eigenforge::operator::Operator;
use std::path::Path;

fn operator(jz: f64) -> Operator {
    xxz(&Lattice::chain(20).open(), &[1.0; 19], &[jz; 19], &[0.0; 20], &[0.0; 20])
}

fn chain(jz: f64) -> Chain {
    Chain::new(&operator(jz), Sector::Spins { two_sz: 0 }, None).unwrap()
}

fn options(sweeps: usize) -> Options {
    Options { states: vec![48], sweeps, ..Options::default() }
}

fn checkpoint(folder: &Path, resume: bool) -> Checkpoint {
    Checkpoint { folder: folder.into(), resume }
}

fn states(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn a_run_goes_on_from_its_last_half_sweep_to_the_same_energy() {
    let folder = tempfile::tempdir().unwrap();
    let chain = chain(1.0);
    let whole = run(&chain, &options(20), None, |_| {}).unwrap();
    run(&chain, &options(2), Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
    assert_eq!(states(folder.path()).len(), 2, "the two newest are kept");
    // As if it had been killed in the second half of the second sweep.
    std::fs::remove_dir_all(states(folder.path()).pop().unwrap()).unwrap();
    let resumed = run(&chain, &options(20), Some(&checkpoint(folder.path(), true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1);
    assert_eq!(resumed.sweeps.len(), whole.sweeps.len());
    assert!((resumed.energy - whole.energy).abs() < 1e-10, "{} is not {}", resumed.energy, whole.energy);
}

#[test]
fn a_torn_state_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let chain = chain(1.0);
    run(&chain, &options(2), Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
    let data = states(folder.path()).pop().unwrap().join("data.bin");
    let mut bytes = std::fs::read(&data).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&data, bytes).unwrap();
    let resumed = run(&chain, &options(20), Some(&checkpoint(folder.path(), true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1, "the half sweep before it was whole");
}

#[test]
fn the_folder_of_another_model_is_refused_whether_or_not_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    run(&chain(1.0), &options(1), Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
    for resume in [false, true] {
        let refused =
            run(&chain(1.0 + 1e-12), &options(1), Some(&checkpoint(folder.path(), resume)), |_| {}).unwrap_err();
        assert!(matches!(&refused, DmrgError::OtherCheckpoint { what, .. } if what == "model"), "{refused}");
    }
}

fn levels(found: &DmrgResult) -> Vec<f64> {
    std::iter::once(found.energy).chain(found.excited.iter().map(|state| state.energy)).collect()
}

/// Three states with polish: the run is killed among the sweeps of the third, of the second, and between two states.
#[test]
fn a_run_of_several_states_goes_on_from_each_of_them() {
    let lattice = Lattice::chain(12).open();
    let field: Vec<f64> = (0..12).map(|i| 0.6 * ((2 * i * i + 1) as f64).sin()).collect();
    let operator = xxz(&lattice, &[1.0; 11], &[1.0; 11], &field, &[0.0; 12]);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let options = |sweeps| Options { states: vec![64], sweeps, targets: 3, polish: true, ..Options::default() };
    let whole = run(&chain, &options(20), None, |_| {}).unwrap();
    let sweeps: Vec<usize> =
        std::iter::once(whole.sweeps.len()).chain(whole.excited.iter().map(|state| state.sweeps.len())).collect();
    // What is left on disk, newest first: (state, halves to take away); all of the states above goes too.
    for (state, lost, resumed) in [
        (2, 1, sweeps[0] + sweeps[1] + sweeps[2] - 1),
        (1, 1, sweeps[0] + sweeps[1] - 1),
        (1, 2, sweeps[0]),
        (0, 0, sweeps[0]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        run(&chain, &options(20), Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
        let of = |state: usize| match state {
            0 => folder.path().to_path_buf(),
            _ => folder.path().join(format!("state-{state}")),
        };
        for above in state + 1..3 {
            std::fs::remove_dir_all(of(above)).unwrap();
        }
        let halves = |state: usize| {
            let mut found = states(&of(state));
            found.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("half-"));
            found
        };
        assert_eq!(halves(state).len(), 2);
        halves(state).iter().rev().take(lost).for_each(|path| std::fs::remove_dir_all(path).unwrap());
        let again = run(&chain, &options(20), Some(&checkpoint(folder.path(), true)), |_| {}).unwrap();
        assert_eq!(again.resumed, resumed, "state {state}, {lost} halves lost: {sweeps:?}");
        for (found, expected) in levels(&again).iter().zip(levels(&whole)) {
            assert!((found - expected).abs() < 1e-9, "state {state}, {lost}: {found} is not {expected}");
        }
    }
}

/// Where the lowest state goes on, what was found above its former self is none above it.
#[test]
fn states_above_another_lowest_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let chain = chain(1.0);
    let options = |sweeps| Options { targets: 2, ..options(sweeps) };
    run(&chain, &options(1), Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
    let resumed = run(&chain, &options(20), Some(&checkpoint(folder.path(), true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1, "the sweep of the lowest, none of the other");
    let whole = run(&chain, &options(20), None, |_| {}).unwrap();
    for (found, expected) in levels(&resumed).iter().zip(levels(&whole)) {
        assert!((found - expected).abs() < 1e-7, "{found} is not {expected}");
    }
}

/// With more states the sweeps go on at these, and the run says where it came from; a finished run stays what it is.
#[test]
fn a_run_with_other_keys_ends_as_one_from_the_start_or_says_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let chain = chain(1.0);
    let with = |states: usize, tolerance: f64| Options { states: vec![states], tolerance, ..options(20) };
    let resumed = |options: &Options| run(&chain, options, Some(&checkpoint(folder.path(), true)), |_| {});
    let few = run(&chain, &with(12, 1e-9), Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
    let finished = resumed(&with(12, 1e-9)).unwrap();
    assert_eq!((finished.resumed, finished.sweeps.len()), (few.sweeps.len(), few.sweeps.len()));
    assert!((finished.energy - few.energy).abs() < 1e-12 && finished.warnings == few.warnings);
    let whole = run(&chain, &with(48, 1e-11), None, |_| {}).unwrap();
    assert!(whole.energy < few.energy - 1e-6, "meant to be truncated");
    let more = resumed(&with(48, 1e-11)).unwrap();
    assert!((more.energy - whole.energy).abs() < 1e-9, "{} is not {}", more.energy, whole.energy);
    let said = "resumed from a state of a run with states = [12] (here [48]), tolerance = 1e-9 (here 1e-11)";
    assert!(more.warnings.iter().any(|warning| warning.contains(said)), "{:?}", more.warnings);
    assert!(more.sweeps.iter().skip(few.sweeps.len()).all(|sweep| sweep.states == 48));
    // Finished, it says so again, and sweeps no more.
    let again = resumed(&with(48, 1e-11)).unwrap();
    assert!(again.sweeps.len() == more.sweeps.len() && again.warnings == more.warnings);
    let seed = resumed(&Options { seed: 2, ..with(48, 1e-11) }).unwrap_err();
    assert!(matches!(&seed, DmrgError::OtherCheckpoint { what, .. } if what == "seed"), "{seed}");
    let reversed = Chain::new(&operator(1.0), Sector::Spins { two_sz: 0 }, Some((0..20).rev().collect())).unwrap();
    let order = run(&reversed, &with(48, 1e-11), Some(&checkpoint(folder.path(), true)), |_| {}).unwrap_err();
    assert!(matches!(&order, DmrgError::OtherCheckpoint { what, .. } if what == "order"), "{order}");
}

/// A search that had ended above its state and was done again from the exact one stays that when the finished run is resumed.
#[test]
fn a_search_that_was_done_again_stays_done() {
    let operator = spin_operator(&mut Random::new(1), 10, 1, 9);
    let chain = Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap();
    let mut again = 0;
    for seed in 1..4 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { states: vec![200, 200], noise: Some(Vec::new()), targets: 3, seed, ..options(12) };
        let whole = run(&chain, &options, Some(&checkpoint(folder.path(), false)), |_| {}).unwrap();
        let resumed = run(&chain, &options, Some(&checkpoint(folder.path(), true)), |_| {}).unwrap();
        assert_eq!(resumed.restarts.len(), whole.restarts.len(), "seed {seed}");
        for (found, expected) in levels(&resumed).iter().zip(levels(&whole)) {
            assert!((found - expected).abs() < 1e-10, "seed {seed}: {found} is not {expected}");
        }
        again += whole.restarts.len();
    }
    assert!(again > 0, "no search was done again");
}
