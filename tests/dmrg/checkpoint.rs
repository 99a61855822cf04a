//! Runs that end early and go on; folders that belong to another run.

use eigenforge::basis::Sector;
use eigenforge::dmrg::{Chain, Checkpoint, DmrgError, Options, run};
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
