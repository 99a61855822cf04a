//! Levels of atoms far apart: members of several spins and symmetry sectors, none of which a search may miss.
//!
//! Integrals by PySCF in STO-3G, 50 bohr and more apart; energies and multiplicities by dense diagonalisation of the same files.

use super::data;
use eigenforge::ci::{CiSolve, Space};
use eigenforge_runtime::Device;
use eigenforge_runtime::solvers::Solver;

/// A molecule and its lowest level.
struct Case {
    id: &'static str,
    orbitals: usize,
    /// Electrons up and down.
    electrons: [usize; 2],
    energy: f64,
    multiplicity: usize,
    /// Seeds to solve it from.
    seeds: u64,
}

#[rustfmt::skip]
const CASES: [Case; 5] = [
    Case { id: "N_H_far", orbitals: 6, electrons: [4, 4], energy: -54.18559201215123, multiplicity: 2, seeds: 10 },
    Case { id: "O_H_far", orbitals: 6, electrons: [5, 4], energy: -74.27073208281323, multiplicity: 6, seeds: 6 },
    Case { id: "N_HHH_far", orbitals: 8, electrons: [5, 5], energy: -55.118755711265806, multiplicity: 8, seeds: 2 },
    // Six states and three, 3.9e-11 apart, which the residuals of the default tolerance do not tell apart.
    Case { id: "N_O_far", orbitals: 10, electrons: [8, 7], energy: -127.52316039591, multiplicity: 9, seeds: 1 },
    Case { id: "N_O_plus_far", orbitals: 10, electrons: [7, 7], energy: -127.1625943265614, multiplicity: 4, seeds: 1 },
];

#[test]
fn every_member_of_a_level_is_found_by_every_solver() {
    for Case { id, orbitals, electrons: [up, down], energy, multiplicity, seeds } in CASES {
        let integrals = data::integrals(id);
        let space = Space::full(orbitals, up, down).unwrap();
        for (seed, solver) in
            (0..seeds).flat_map(|seed| [Solver::Davidson, Solver::Lanczos, Solver::Olsen].map(|solver| (seed, solver)))
        {
            let solution = CiSolve::new(&integrals, &space).solver(solver).seed(seed).run(&Device::cpu()).unwrap();
            let level = &solution.eigenpairs().levels[0];
            let what = format!("{id} by {} from seed {seed}: {level:?}", solver.name());
            assert!((solution.energies()[0] - energy).abs() < 1e-8, "{what}");
            assert!(level.complete && level.multiplicity == multiplicity, "{what}");
        }
    }
}
