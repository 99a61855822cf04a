//! Values known exactly: free fermions, the dimer, the Bethe ansatz (tests/data/bethe_exact.json), and the 4×4 torus
//! by momentum sectors of another program (tests/data/hubbard4x4.json).

use super::cases::{Bethe, Torus, read};
use super::compare::{Differences, timed};
use super::free::free_fermions;
use super::ours;

fn chain(sites: usize, closed: bool) -> Vec<(usize, usize, f64)> {
    (0..sites - usize::from(!closed)).map(|i| (i, (i + 1) % sites, 1.0)).collect()
}

fn binomial(n: usize, k: usize) -> usize {
    (0..k).fold(1, |value, i| value * (n - i) / (i + 1))
}

fn ground(model: &ours::Model, device: &ours::Device) -> f64 {
    ours::solve(model, 1, ours::Solver::Lobpcg, device).values[0]
}

/// U = 0: the sum of the lowest orbital energies of both spins, with weights and on-site energies of every kind.
#[test]
fn free_fermions_fill_the_lowest_orbitals() {
    let mut differences = Differences::default();
    let eps: Vec<f64> = (0..9).map(|i| 0.3 * (i as f64 * 1.7).sin()).collect();
    let ladder: Vec<_> = (0..8).map(|i| (i, i + 1, 1.0 + 0.1 * i as f64)).chain([(0, 5, -0.4), (2, 7, 0.9)]).collect();
    for device in ours::devices() {
        for (up, down) in [(0, 1), (3, 2), (4, 4), (9, 5), (8, 1)] {
            let model = ours::hubbard(9, &ladder, &[0.0; 9], Some(&eps), up, down);
            let exact = free_fermions(9, &ladder, &eps, up, down);
            differences.number(&format!("{up} up, {down} down"), ground(&model, &device), exact, 1e-9);
        }
    }
    differences.finish();
}

/// E = U/2 − sqrt(U²/4 + 4 t²) for two sites and two electrons.
#[test]
fn the_dimer_for_any_interaction() {
    let mut differences = Differences::default();
    for device in ours::devices() {
        for u in [-8.0, -1.0, 0.0, 0.5, 4.0, 100.0] {
            let model = ours::hubbard(2, &[(0, 1, 1.5)], &[u; 2], None, 1, 1);
            let exact = u / 2.0 - (u * u / 4.0 + 4.0 * 1.5 * 1.5f64).sqrt();
            differences.number(&format!("U = {u}"), ground(&model, &device), exact, 1e-9);
        }
    }
    differences.finish();
}

/// Bethe ansatz: Hubbard chains and rings, Heisenberg and XY open chains, as far as they are small enough.
#[test]
fn bethe_ansatz() {
    let data: Bethe = read("bethe_exact.json");
    let mut differences = Differences::default();
    for device in ours::devices() {
        let largest = if device.is_cuda() { 30_000_000 } else { 900_000 };
        let hubbard =
            data.hubbard_open.iter().map(|case| (case, false)).chain(data.hubbard_ring.iter().map(|case| (case, true)));
        for (case, closed) in hubbard {
            let (up, down) = (case.electrons - case.down, case.down);
            if case.sites > 16 || binomial(case.sites, up) * binomial(case.sites, down) > largest {
                continue;
            }
            let what = format!(
                "Hubbard {} of {} sites, {up} + {down}, U = {}",
                if closed { "ring" } else { "chain" },
                case.sites,
                case.u
            );
            let model =
                ours::hubbard(case.sites, &chain(case.sites, closed), &vec![case.u; case.sites], None, up, down);
            differences.number(&what, timed(&what, || ground(&model, &device)), case.energy, 1e-9);
        }
        for (cases, jz) in [(&data.heisenberg_open, 1.0), (&data.xy_open, 0.0)] {
            for case in cases.iter().filter(|case| case.sites <= 20) {
                let edges: Vec<_> = (0..case.sites - 1).map(|i| (i, i + 1, 1.0, jz)).collect();
                let model = ours::xxz(case.sites, 1, &edges, None, None, 0);
                let what = format!("open chain of {} spins, Jz = {jz}", case.sites);
                differences.number(&what, timed(&what, || ground(&model, &device)), case.energy, 1e-9);
            }
        }
    }
    differences.finish();
}

/// Fillings (up, down, U) and the multiplicity of the ground level where it is known.
fn torus(fillings: &[(usize, usize, f64)], multiplicity: Option<usize>, differences: &mut Differences) {
    let data: Torus = read("hubbard4x4.json");
    for device in ours::devices() {
        for &(up, down, u) in fillings {
            let found = data.cases.iter().find(|case| (case.nup, case.ndn, case.u) == (up, down, u));
            let case = found.expect("the filling is in hubbard4x4.json");
            let what = format!("4x4 torus, {up} + {down}, U = {u} on {}", device.name());
            let model = ours::hubbard(16, &data.edges, &[u; 16], None, up, down);
            let solved = timed(&what, || ours::solve(&model, 1, ours::Solver::Lanczos, &device));
            differences.number(&what, solved.values[0], case.e0, 1e-9);
            if let Some(multiplicity) = multiplicity {
                let (level, ground) = (&solved.levels[0], solved.ground.len());
                let right = level.complete && level.multiplicity == multiplicity && ground == multiplicity;
                differences
                    .check(right, || format!("{what}: {level:?}, and {ground} vectors, for {multiplicity} states"));
            }
            let double: f64 = ours::averages(&model, &solved).double_occupancy.iter().sum::<f64>() / 16.0;
            differences.number(&format!("{what}: double occupancy"), double, case.double_occ, 1e-7);
        }
    }
}

/// 4×4 torus, 3 and 3: dimension 313,600.
#[test]
fn the_torus_with_six_electrons() {
    let mut differences = Differences::default();
    torus(&[(3, 3, 4.0)], None, &mut differences);
    differences.finish();
}

/// 4×4 torus, 4 and 4: dimension 3,312,400, −17.534897796641. The file finds this energy at k = (0,0) and at (π,0), which
/// a rotation takes to (0,π): three states. (Its `verified_full` lists two; by one vector without deflation, it says, that
/// is a lower bound.)
#[test]
#[ignore = "minutes on a few cores; for a GPU, or with time: cargo test --release --test reference -- --ignored"]
fn the_torus_with_eight_electrons() {
    let mut differences = Differences::default();
    torus(&[(4, 4, 4.0)], Some(3), &mut differences);
    differences.finish();
}

/// 4×4 torus, 5 and 5: dimension 19,079,424.
#[test]
#[ignore = "minutes on a few cores; for a GPU, or with time: cargo test --release --test reference -- --ignored"]
fn the_torus_with_ten_electrons() {
    let mut differences = Differences::default();
    torus(&[(5, 5, 4.0), (5, 5, 8.0)], None, &mut differences);
    differences.finish();
}
