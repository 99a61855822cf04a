//! Energies of the reference data: full, truncated and single-irrep spaces of every molecule, by Lanczos.

use super::data;
use eigenforge::ci::{self, Integrals, Space, count};
use eigenforge::runtime::solvers::{SolveOptions, Solver, solve};
use eigenforge::runtime::{Device, LinearOperator, Result, Vector};
use eigenforge::sparse::Csr;
use eigenforge_templates::Cost;
use rayon::prelude::*;

/// A matrix on the host.
struct Host {
    matrix: Csr,
    device: Device,
}

impl LinearOperator<f64> for Host {
    fn dimension(&self) -> usize {
        self.matrix.rows()
    }
    fn device(&self) -> &Device {
        &self.device
    }
    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64> {
        let (x, y) = (x.as_host().unwrap(), y.as_host_mut().unwrap());
        y.par_iter_mut().enumerate().for_each(|(row, y)| {
            let (columns, values) = self.matrix.row(row);
            *y = columns.iter().zip(values).map(|(column, value)| value * x[*column as usize]).sum();
        });
        Ok(x.iter().zip(y).map(|(x, y)| x * *y).sum())
    }
    fn norm_bound(&self) -> f64 {
        let row = |row| self.matrix.row(row).1.iter().map(|value| value.abs()).sum::<f64>();
        (0..self.matrix.rows()).map(row).fold(0.0, f64::max)
    }
    fn cost(&self) -> Cost {
        Cost { flops: 2.0 * self.matrix.non_zeros() as f64, bytes: 12.0 * self.matrix.non_zeros() as f64 }
    }
}

/// The lowest total energies.
fn lowest(integrals: &Integrals, space: &Space, states: usize) -> Vec<f64> {
    let matrix = ci::matrix(integrals, space, ci::THRESHOLD).unwrap();
    let host = Host { matrix, device: Device::cpu() };
    let states = states.min(host.matrix.rows());
    let options = SolveOptions { states, tolerance: 1e-7, ..SolveOptions::default() };
    let found = solve(&host, Solver::Lanczos, &options).unwrap();
    assert!(found.residuals.iter().all(|residual| *residual <= 1e-7));
    found.values.iter().map(|value| value + integrals.core).collect()
}

#[track_caller]
fn compare(what: &str, found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} instead of {expected}");
    }
}

#[test]
fn every_file_says_what_the_reference_says() {
    let cases = data::energies();
    assert_eq!(cases.len(), 18);
    for case in cases {
        let integrals = data::integrals(&case.id);
        assert_eq!((integrals.orbitals, integrals.spins()), (case.norb, (case.n_alpha, case.n_beta)), "{}", case.id);
        assert!((integrals.core - case.ecore).abs() < 1e-12, "{}", case.id);
        assert!(integrals.largest_forbidden().unwrap() < 1e-9, "{}", case.id);
        let (up, down) = integrals.spins();
        assert_eq!(Space::full(integrals.orbitals, up, down).unwrap().len(), case.fci_dim, "{}", case.id);
        let determinants = count::determinants(case.norb, up, down, &integrals.irreps).unwrap();
        assert_eq!(determinants.per_level(), case.dets_per_excitation_level, "{}", case.id);
        let reference = count::Reference::high_spin(up + down, up - down);
        let states = count::configuration_state_functions(case.norb, up + down, up - down, reference, &[]).unwrap();
        assert_eq!(states.cumulative().last(), Some(&case.csf_total), "{}", case.id);
        if let Some(expected) = case.csf_per_level {
            assert_eq!(states.per_level(), expected, "{}", case.id);
        }
    }
}

#[test]
fn full_ci_and_cisd_roots() {
    for case in data::energies() {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        if case.fci_dim <= 3100 {
            let space = Space::full(integrals.orbitals, up, down).unwrap();
            compare(&case.id, &lowest(&integrals, &space, 4), &case.fci_roots);
        }
        if let Some(roots) = &case.cisd_roots {
            let space = Space::excitations(integrals.orbitals, up, down, 2).unwrap();
            compare(&format!("{} CISD", case.id), &lowest(&integrals, &space, 3), roots);
        }
    }
}

#[test]
fn truncated_spaces_of_the_reference_irrep() {
    for case in data::energies() {
        let integrals = data::integrals(&case.id);
        let (up, down) = integrals.spins();
        for truncated in &case.truncated {
            let space = Space::excitations(integrals.orbitals, up, down, truncated.level).unwrap();
            assert_eq!(space.len(), truncated.dets, "{} level {}", case.id, truncated.level);
            let irrep = space.reference_irrep(&integrals.irreps);
            let space = space.in_irrep(&integrals.irreps, irrep).unwrap();
            if space.len() <= 10_000 {
                let what = format!("{} level {}", case.id, truncated.level);
                compare(&what, &lowest(&integrals, &space, 1), &[truncated.energy]);
            }
        }
    }
}
