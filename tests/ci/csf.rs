//! Configuration state functions: csf.json (counts and energies by spin and irrep, from PySCF's full matrix classified by S²), and the
//! matrices of water in 6-31G(d) of the paper's Table 1, whose rows another program counted.

use super::data;
use eigenforge::ci::{CiProblem, CsfSpace, Integrals, OneBody, spins};
use eigenforge_runtime::Device;
use eigenforge_runtime::solvers::Solver;
use ndarray::Axis;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    norb: usize,
    nelec: usize,
    by_spin: Vec<Counts>,
    levels_by_two_s_then_irrep: BTreeMap<usize, BTreeMap<u8, Levels>>,
}

#[derive(Deserialize)]
struct Counts {
    two_s: usize,
    n_csf: u64,
    n_csf_by_irrep: Vec<u64>,
}

#[derive(Deserialize)]
struct Levels {
    energies_total: Vec<f64>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str::<Cases>(&std::fs::read_to_string(data::path("csf.json")).unwrap()).unwrap().cases
}

/// Every count, and every energy to 1e-9, of every spin and irrep; the states have the spin and, over determinants, the energy as the
/// average of their density matrices' one-electron trace demands: as many electrons as there are.
#[test]
fn counts_and_energies_of_every_spin_and_irrep() {
    let (mut compared, cases) = (0, cases());
    assert_eq!(cases.len(), 10);
    for case in cases {
        let integrals = data::integrals(&case.id);
        for counts in case.by_spin {
            let whole = CsfSpace::full(case.norb, case.nelec, counts.two_s).unwrap();
            assert_eq!(whole.len(), counts.n_csf, "{}", case.id);
            let empty = BTreeMap::new();
            let levels = case.levels_by_two_s_then_irrep.get(&counts.two_s).unwrap_or(&empty);
            for (irrep, expected) in (1..).zip(counts.n_csf_by_irrep) {
                let csfs = match expected {
                    0 => continue,
                    _ => whole.clone().in_irrep(&integrals.irreps, irrep).unwrap(),
                };
                assert_eq!(csfs.len(), expected, "{} {} {irrep}", case.id, counts.two_s);
                let Some(levels) = levels.get(&irrep) else { continue };
                let two_sz = if irrep % 2 == 0 { counts.two_s as i64 } else { (counts.two_s % 2) as i64 };
                let space = csfs.determinants(two_sz).unwrap();
                let states = levels.energies_total.len();
                let solve = CiProblem::new(&integrals, &space).csfs(Some(&csfs)).solve().states(states);
                let solver = if csfs.len() <= 700 { Solver::Dense } else { Solver::Davidson };
                let found = solve.solver(solver).tolerance(1e-9).run(&Device::cpu()).unwrap();
                for (energy, expected) in found.energies().iter().zip(&levels.energies_total) {
                    assert!(
                        (energy - expected).abs() < 1e-9,
                        "{} {} {irrep}: {energy} {expected}",
                        case.id,
                        counts.two_s
                    );
                    compared += 1;
                }
                let vectors = found.vectors().unwrap();
                let s = counts.two_s as f64 / 2.0;
                for spin in spins(&space, &vectors).unwrap() {
                    assert!((spin.square - s * (s + 1.0)).abs() < 1e-9, "{} {spin:?}", case.id);
                }
                let lowest = vectors.select(Axis(0), &[0]);
                let total = OneBody::new(&space, &lowest).unwrap().total().diag().sum();
                assert!((total - case.nelec as f64).abs() < 1e-10, "{total}");
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Dimensions, non-zeros, shortest and longest rows and lowest energies of all singlets of water up to levels 1 and 2. The other program
/// keeps what exceeds 1e-12 Hartree. Three elements of the longest row (and of the longest column), between the reference and single
/// excitations, are larger than that and below 1e-12 of the largest integral (4.73 Hartree): it has 1,461 and 349,822, and rows of up to 766.
#[test]
fn matrices_of_water_are_those_of_another_program() {
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    let integrals = Integrals::read(PathBuf::from(root).join("benches/ci/H2O_631Gd_C2v.FCIDUMP")).unwrap();
    for (level, irrep, rows, non_zeros, lengths, energy) in [
        (1, None, 71, 1_461 - 6, [9, 28], -76.010_504_988_257_17),
        (2, None, 2_556, 349_822 - 6, [63, 766 - 3], -76.200_138_975_419_72),
        (2, Some(1), 766, 0, [0, 0], -76.200_138_975_419_72),
    ] {
        let csfs = CsfSpace::excitations(19, 10, 0, level).unwrap();
        let csfs = irrep.map_or(csfs.clone(), |irrep| csfs.in_irrep(&integrals.irreps, irrep).unwrap());
        assert_eq!(csfs.len(), rows);
        if irrep.is_none() {
            let matrix = csfs.matrix(&integrals).unwrap();
            let row = |row| matrix.row(row).0.len();
            let found = [(0..rows as usize).map(row).min(), (0..rows as usize).map(row).max()];
            assert_eq!((matrix.non_zeros(), found.map(Option::unwrap)), (non_zeros, lengths));
        }
        let space = csfs.determinants(0).unwrap();
        let solve = CiProblem::new(&integrals, &space).csfs(Some(&csfs)).solve().tolerance(1e-9).certify(false);
        let found = solve.run(&Device::cpu()).unwrap().energies()[0];
        assert!((found - energy).abs() < 1e-8, "{level}: {found}");
    }
}
