//! Levels of atoms far apart: members of several spins and symmetry sectors, none of which a search may miss.
//!
//! Integrals by PySCF in STO-3G, 50 bohr and more apart; energies and multiplicities by dense diagonalisation of the same files.

use super::data;
use eigenforge::ci::{CiSolve, Space};
use eigenforge_runtime::Device;
use eigenforge_runtime::solvers::Solver;

/// File, orbitals, electrons up and down, energy and multiplicity of the lowest level, seeds.
const CASES: [(&str, u32, [u32; 2], f64, usize, u64); 5] = [
    ("N_H_far", 6, [4, 4], -54.18559201215123, 2, 10),
    ("O_H_far", 6, [5, 4], -74.27073208281323, 6, 6),
    ("N_HHH_far", 8, [5, 5], -55.118755711265806, 8, 2),
    // Six states and three, 3.9e-11 apart, which the residuals of the default tolerance do not tell apart.
    ("N_O_far", 10, [8, 7], -127.52316039591, 9, 1),
    ("N_O_plus_far", 10, [7, 7], -127.1625943265614, 4, 1),
];

#[test]
fn every_member_of_a_level_is_found_by_every_solver() {
    for (id, orbitals, [up, down], energy, multiplicity, seeds) in CASES {
        let integrals = data::integrals(id);
        let space = Space::full(orbitals as usize, up as usize, down as usize).unwrap();
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
