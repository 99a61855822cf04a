//! tests/data/spins.json: spin ½, 1 and 3/2; rings, open chains, ladders, square, triangular and kagome clusters; XXZ,
//! J1–J2, random couplings and fields, single-ion terms; every listed value of 2 Sz.

use super::cases::{File, SpinCase, read};
use super::compare::{Differences, OBSERVABLE, timed};
use super::ours;

fn check(case: &SpinCase, device: &ours::Device, differences: &mut Differences) {
    for sector in &case.sectors {
        let name = |what: &str| format!("{} at 2Sz = {}: {what}", case.id, sector.two_sz);
        let model = ours::xxz(case.sites, case.two_s, &case.edges, case.h.as_deref(), case.d.as_deref(), sector.two_sz);
        differences
            .check(ours::dimension(&model) == sector.dim, || name(&format!("dimension {}", ours::dimension(&model))));
        let last_may_be_cut = sector.eigenvalues.len() < sector.dim;
        for solver in ours::solvers(&model, device) {
            let name = |what: &str| name(&format!("{solver:?}: {what}"));
            let solved = ours::solve(&model, sector.eigenvalues.len(), solver, device);
            differences.levels(&name(""), &solved, &sector.eigenvalues, &sector.levels, last_may_be_cut);
            if sector.two_sz != case.ground_two_sz {
                continue;
            }
            let (ours, reference) = (ours::averages(&model, &solved), &case.ground_observables);
            differences.number(&name("E0"), solved.values[0], case.e0, 1e-9);
            differences.list(&name("sz"), &ours.sz, &reference.sz, OBSERVABLE);
            differences.matrix(&name("szsz"), &ours.szsz, &reference.szsz, OBSERVABLE);
            differences.matrix(&name("sdots"), &ours.sdots, &reference.sdots, OBSERVABLE);
        }
    }
}

/// Every case, every sector, every listed level.
#[test]
fn every_spin_case() {
    let mut cases = read::<File<SpinCase>>("spins.json").cases;
    assert_eq!(cases.len(), 42, "spins.json is not the file this test was written for");
    cases.sort_by_key(|case| case.sectors.iter().map(|sector| sector.dim).sum::<usize>());
    let mut differences = Differences::default();
    for device in ours::devices() {
        for case in &cases {
            timed(&format!("{} on {}", case.id, device.name()), || check(case, &device, &mut differences));
        }
    }
    differences.finish();
}
