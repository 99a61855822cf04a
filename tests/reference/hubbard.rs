//! tests/data/hubbard.json: dimers, chains, rings, ladders, square lattices, attractive and random ones; dimension
//! 1 to 853,776.

use super::cases::{File, HubbardCase, read};
use super::compare::{Differences, OBSERVABLE, timed};
use super::ours;
use std::ops::RangeBounds;

fn cases() -> Vec<HubbardCase> {
    let mut cases = read::<File<HubbardCase>>("hubbard.json").cases;
    assert_eq!(cases.len(), 50, "hubbard.json is not the file this test was written for");
    cases.sort_by_key(|case| case.dim);
    cases
}

fn check(case: &HubbardCase, device: &ours::Device, differences: &mut Differences) {
    let model =
        ours::hubbard(case.sites, &case.edges, &case.u.each(case.sites), case.eps.as_deref(), case.nup, case.ndn);
    differences
        .check(ours::dimension(&model) == case.dim, || format!("{}: dimension {}", case.id, ours::dimension(&model)));
    for solver in ours::solvers(&model, device) {
        let name = |what: &str| format!("{} by {solver:?}: {what}", case.id);
        let solved = ours::solve(&model, case.eigenvalues.len(), solver, device);
        differences.levels(&name(""), &solved, &case.eigenvalues, &case.levels, case.last_level_may_be_cut);
        differences.check(solved.ground.len() == case.ground_degeneracy_in_sector, || {
            name(&format!("ground multiplet of {}, not {}", solved.ground.len(), case.ground_degeneracy_in_sector))
        });
        let (ours, reference) = (ours::averages(&model, &solved), &case.ground_observables);
        differences.list(&name("n_up"), &ours.n_up, &reference.n_up, OBSERVABLE);
        differences.list(&name("n_dn"), &ours.n_dn, &reference.n_dn, OBSERVABLE);
        differences.list(&name("double_occupancy"), &ours.double_occupancy, &reference.double_occ, OBSERVABLE);
        differences.matrix(&name("szsz"), &ours.szsz, &reference.szsz, OBSERVABLE);
        differences.matrix(&name("nn"), &ours.nn, &reference.nn, OBSERVABLE);
        differences.matrix(&name("sdots"), &ours.sdots, &reference.sdots, OBSERVABLE);
    }
}

/// The largest dimension that is solved on CPU cores where there is no card: the ten cases above it take several times as long as all
/// others. `anchors` solves the 4×4 torus of 313,600 states there.
const LARGEST_ON_CORES: usize = 50_000;

/// Every listed level of the cases of these dimensions.
fn solve_cases(dimensions: impl RangeBounds<usize>) {
    let mut differences = Differences::default();
    for device in ours::devices() {
        for case in cases().into_iter().filter(|case| dimensions.contains(&case.dim)) {
            timed(&format!("{} ({}) on {}", case.id, case.dim, device.name()), || {
                check(&case, &device, &mut differences)
            });
        }
    }
    differences.finish();
}

/// Every case and every listed level.
#[test]
fn every_hubbard_case() {
    if ours::devices().len() > 1 { solve_cases(..) } else { solve_cases(..=LARGEST_ON_CORES) }
}

#[test]
#[ignore = "minutes on a few cores; a card solves them with the others"]
fn every_large_hubbard_case() {
    solve_cases(LARGEST_ON_CORES + 1..);
}

/// Each solver by itself finds the ground state, however small the sector: none hands it to another.
#[test]
fn every_solver_finds_the_ground_state() {
    let mut differences = Differences::default();
    for device in ours::devices() {
        for case in cases().iter().filter(|case| case.dim <= 1_000) {
            let u = case.u.each(case.sites);
            let model = ours::hubbard(case.sites, &case.edges, &u, case.eps.as_deref(), case.nup, case.ndn);
            for solver in ours::SOLVERS {
                let energy = ours::ground_energy(&model, solver, &device);
                differences.number(&format!("{} by {solver:?}", case.id), energy, case.eigenvalues[0], 1e-9);
            }
        }
    }
    differences.finish();
}
