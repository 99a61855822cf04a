//! Runs that end early and go on; folders that belong to another run.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgError, DmrgResult, Options, run};
use eigenforge::lattice::Lattice;
use eigenforge::models::xxz;
use std::path::Path;

fn chain(jz: f64) -> Chain {
    let lattice = Lattice::chain(20).open();
    let operator = xxz(&lattice, &[1.0; 19], &[jz; 19], &[0.0; 20], &[0.0; 20]);
    Chain::new(&operator, Sector::Spins { two_sz: 0 }, None).unwrap()
}

fn options(sweeps: usize) -> Options {
    Options { states: vec![48], sweeps, ..Options::default() }
}

fn at(folder: &Path, resume: bool) -> Checkpoint {
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
    run(&chain, &options(2), Some(&at(folder.path(), false)), |_| {}).unwrap();
    assert_eq!(states(folder.path()).len(), 2, "the two newest are kept");
    // As if it had been killed in the second half of the second sweep.
    std::fs::remove_dir_all(states(folder.path()).pop().unwrap()).unwrap();
    let resumed = run(&chain, &options(20), Some(&at(folder.path(), true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1);
    assert_eq!(resumed.sweeps.len(), whole.sweeps.len());
    assert!((resumed.energy - whole.energy).abs() < 1e-10, "{} is not {}", resumed.energy, whole.energy);
}

#[test]
fn a_torn_state_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let chain = chain(1.0);
    run(&chain, &options(2), Some(&at(folder.path(), false)), |_| {}).unwrap();
    let data = states(folder.path()).pop().unwrap().join("data.bin");
    let mut bytes = std::fs::read(&data).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&data, bytes).unwrap();
    let resumed = run(&chain, &options(20), Some(&at(folder.path(), true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1, "the half sweep before it was whole");
}

#[test]
fn the_folder_of_another_model_is_refused_whether_or_not_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    run(&chain(1.0), &options(1), Some(&at(folder.path(), false)), |_| {}).unwrap();
    for resume in [false, true] {
        let refused = run(&chain(1.0 + 1e-12), &options(1), Some(&at(folder.path(), resume)), |_| {}).unwrap_err();
        assert!(matches!(refused, DmrgError::OtherCheckpoint { what: "model", .. }), "{refused}");
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
        run(&chain, &options(20), Some(&at(folder.path(), false)), |_| {}).unwrap();
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
        let again = run(&chain, &options(20), Some(&at(folder.path(), true)), |_| {}).unwrap();
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
    run(&chain, &options(1), Some(&at(folder.path(), false)), |_| {}).unwrap();
    let resumed = run(&chain, &options(20), Some(&at(folder.path(), true)), |_| {}).unwrap();
    assert_eq!(resumed.resumed, 1, "the sweep of the lowest, none of the other");
    let whole = run(&chain, &options(20), None, |_| {}).unwrap();
    for (found, expected) in levels(&resumed).iter().zip(levels(&whole)) {
        assert!((found - expected).abs() < 1e-7, "{found} is not {expected}");
    }
}
