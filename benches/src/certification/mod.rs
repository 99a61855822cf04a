//! `eigenforge bench certification`: whether any member of a level is ever missed.
//!
//! In: how many Hamiltonians, seeds of each, a seed. Out: for each solver how many levels were found whole, and every one that was not,
//! with what repeats it. The [Hamiltonians](hamiltonian) have lowest levels of 1 to 27 states in several symmetry sectors, as atoms far
//! apart have them. A level counts as missed if its multiplicity is wrong and said to be complete; one that is said to be a lower bound is
//! counted apart.

pub mod hamiltonian;

use eigenforge::sparse::{FormatRequest, SparseError, SparseOperator};
use eigenforge_runtime::solvers::{Preconditioner, SolveOptions, Solver, solve};
use eigenforge_runtime::{Device, SolveError};
use hamiltonian::Hamiltonian;
use rayon::prelude::*;
use std::io::Write;
use std::sync::Arc;

/// Options of the bench.
#[derive(Clone, Debug, clap::Args)]
pub struct CertificationArguments {
    /// Random Hamiltonians
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub hamiltonians: u64,
    /// Seeds of the solvers for each
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub seeds: u64,
    /// Seed of the Hamiltonians
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Errors of the bench.
#[derive(Debug, thiserror::Error)]
pub enum CertificationError {
    /// A matrix could not be stored.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// A solve failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The table could not be written.
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

/// Every way to search for the lowest state.
const SEARCHES: [(Solver, Preconditioner); 5] = [
    (Solver::Lanczos, Preconditioner::None),
    (Solver::Davidson, Preconditioner::None),
    (Solver::Olsen, Preconditioner::None),
    (Solver::Lobpcg, Preconditioner::None),
    (Solver::Lobpcg, Preconditioner::Jacobi),
];

/// How the levels of one solver came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Whole, and known to be.
    pub whole: usize,
    /// Not known to be whole: the search or its certification did not converge.
    pub bounds: usize,
    /// Wrong in silence: Hamiltonian, seed, what was found.
    pub missed: Vec<String>,
    /// Multiplies of all.
    pub multiplies: usize,
}

impl Tally {
    fn and(mut self, other: Tally) -> Tally {
        self.whole += other.whole;
        self.bounds += other.bounds;
        self.multiplies += other.multiplies;
        self.missed.extend(other.missed);
        self
    }
}

/// Solves one Hamiltonian with `seeds` seeds by every search.
fn tallies(seed: u64, number: u64, seeds: u64) -> Result<Vec<Tally>, CertificationError> {
    let Hamiltonian { matrix, energy, multiplicity } = Hamiltonian::random(seed, number);
    let operator = SparseOperator::new("certification", Arc::new(matrix), FormatRequest::default(), &Device::cpu())?;
    let mut tallies = vec![Tally::default(); SEARCHES.len()];
    for start in 0..seeds {
        for ((solver, preconditioner), tally) in SEARCHES.into_iter().zip(&mut tallies) {
            let options = SolveOptions { seed: start, preconditioner, ..SolveOptions::default() };
            let found = solve::<f64>(&operator, solver, &options)?;
            let level = &found.levels[0];
            let right = level.multiplicity == multiplicity && (level.value - energy).abs() <= 1e-7;
            tally.multiplies += found.multiplies;
            match (level.complete, right) {
                (true, true) => tally.whole += 1,
                (false, _) => tally.bounds += 1,
                (true, false) => tally.missed.push(format!(
                    "Hamiltonian {number} of seed {seed}, {} from seed {start}: {} states at {:.10} for {multiplicity} at {energy:.10}",
                    solver.name(), level.multiplicity, level.value
                )),
            }
        }
    }
    Ok(tallies)
}

/// All of them, by solver.
///
/// # Errors
/// Errors of a solve.
pub fn run(arguments: &CertificationArguments) -> Result<Vec<(String, Tally)>, CertificationError> {
    let CertificationArguments { hamiltonians, seeds, seed } = *arguments;
    let all: Vec<Vec<Tally>> =
        (0..hamiltonians).into_par_iter().map(|number| tallies(seed, number, seeds)).collect::<Result<_, _>>()?;
    let sums = all.into_iter().reduce(|sums, more| sums.into_iter().zip(more).map(|(a, b)| a.and(b)).collect());
    let name = |(solver, preconditioner): (Solver, Preconditioner)| match preconditioner {
        Preconditioner::None => solver.name().to_string(),
        _ => format!("{}, {}", solver.name(), preconditioner.name()),
    };
    Ok(SEARCHES.into_iter().map(name).zip(sums.unwrap_or_default()).collect())
}

/// The bench.
///
/// # Errors
/// Errors of a solve, or of the output.
pub fn command(arguments: &CertificationArguments, out: &mut dyn Write) -> Result<(), CertificationError> {
    let CertificationArguments { hamiltonians, seeds, seed } = arguments;
    writeln!(out, "levels of {hamiltonians} random Hamiltonians of seed {seed}, {seeds} seeds of each solver")?;
    writeln!(out, "{:>16}   {:>8}   {:>8}   {:>8}   {:>12}", "solver", "whole", "bounds", "missed", "multiplies")?;
    let found = run(arguments)?;
    for (name, Tally { whole, bounds, missed, multiplies }) in &found {
        writeln!(out, "{name:>16}   {whole:>8}   {bounds:>8}   {:>8}   {multiplies:>12}", missed.len())?;
    }
    for line in found.iter().flat_map(|(_, tally)| &tally.missed) {
        writeln!(out, "missed: {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_member_of_a_level_is_missed() {
        let found = run(&CertificationArguments { hamiltonians: 12, seeds: 2, seed: 7 }).unwrap();
        assert_eq!(found.len(), SEARCHES.len());
        for (name, tally) in found {
            assert!(tally.missed.is_empty(), "{name}: {:?}", tally.missed);
            assert!(tally.whole >= 22, "{name}: {tally:?}");
        }
    }
}
