//! `eigenforge bench dmrg --random-chains N --scales`: chains with terms of very different sizes, by DMRG (or with `--solver` by an
//! eigensolver) and to the last digit.
//!
//! In: how many [cases](super::scales), a seed. Out: how many energies were right, how many results said less than the truth, and how good
//! the uncertainties are that results state. An energy is right if it is off by at most 1e-8 of the smallest coupling or 2e-15 of the
//! largest term, whichever is more. The truth is that of [`levels`]. A case that went wrong is printed as its model
//! file. Cases run on all threads; the result does not depend on their number.

use super::DmrgBenchError;
use super::levels;
use super::random_chains::is_converged;
use super::scales::model_file;
use eigenforge::basis::Sector;
use eigenforge::dmrg::{DmrgResult, run};
use eigenforge::exact::{Model, Solve};
use eigenforge::input::DmrgFile;
use eigenforge::operator::Operator;
use eigenforge_runtime::solvers::{Solver, StopReason};
use eigenforge_runtime::{Device, SolveError};
use rayon::prelude::*;
use std::io::Write;

/// Parts of the smallest coupling and of the largest term that an energy may be off.
const OF_SMALLEST: f64 = 1e-8;
const OF_LARGEST: f64 = 2e-15;
/// Coefficients below this part of the largest are rounding.
const NOTHING: f64 = 1e-15;
/// A stated uncertainty is good if it is at most so many times the error, or what is right anyhow.
const CLOSE: f64 = 100.0;

/// One case.
#[derive(Clone, Debug, Default)]
pub struct ScaledOutcome {
    /// Whether the sector is there and small enough.
    pub compared: bool,
    /// Whether every energy is right.
    pub right: bool,
    /// Whether there was a warning or a flag.
    pub warned: bool,
    /// Whether every energy is right or off by no more than its stated uncertainty.
    pub holds: bool,
    /// Whether every stated uncertainty is at most a hundred times the error.
    pub close: bool,
    /// (error, stated, right) of each state.
    pub errors: Vec<(f64, f64, f64)>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Whether sweeps were done again.
    pub restarted: bool,
}

impl ScaledOutcome {
    /// Wrong, and nothing was said.
    pub fn is_silent(&self) -> bool {
        self.compared && !self.holds && !self.warned
    }
}

/// How far an energy may be off to be right.
fn right(operator: &Operator) -> f64 {
    let sizes = || operator.terms().filter(|(product, _)| !product.is_empty()).map(|(_, size)| size.abs());
    let largest = sizes().fold(0.0, f64::max);
    let smallest = sizes().filter(|size| *size > NOTHING * largest).fold(largest, f64::min);
    (OF_SMALLEST * smallest).max(OF_LARGEST * largest)
}

/// Solves a model file both ways: by DMRG, or by an eigensolver.
///
/// # Errors
/// A file that is refused, a solve that fails.
pub fn compare(text: &str, solver: Option<Solver>) -> Result<ScaledOutcome, DmrgBenchError> {
    let file = DmrgFile::parse("random", text).map_err(|error| DmrgBenchError::RandomChain(format!("{error:?}")))?;
    let operator = file.model.operator();
    let charges = match &file.model.sector {
        Sector::Flavours(_) => return Ok(ScaledOutcome::default()),
        sector => sector.charge_values(),
    };
    let Some(kinds) = operator.kinds() else { return Ok(ScaledOutcome::default()) };
    // Olsen's method finds one state.
    let targets = if solver == Some(Solver::Olsen) { 1 } else { file.dmrg.options.targets };
    let Some(exact) = levels::lowest(&operator, kinds, &charges, targets).filter(|exact| exact.len() == targets) else {
        return Ok(ScaledOutcome::default());
    };
    let right = right(&operator);
    let Some(solver) = solver else {
        return Ok(swept(&run(&file.chain()?, &file.options(), None, |_| {})?, &exact, right));
    };
    let failed = |error: &dyn std::fmt::Display| DmrgBenchError::RandomChain(error.to_string());
    let model = Model::new(operator, Sector::Charges(charges)).map_err(|error| failed(&error))?;
    let solve = Solve::new(&model, solver).states(targets).max_iterations(ITERATIONS);
    let solution = match solve.run(&Device::cpu()) {
        Ok(solution) => solution,
        // A diagonal that is the same everywhere.
        Err(eigenforge::exact::RunError::Solve(SolveError::Option { .. })) => return Ok(ScaledOutcome::default()),
        Err(error) => return Err(failed(&error)),
    };
    let pairs = solution.eigenpairs();
    let rounded = f64::EPSILON * solution.constant().abs();
    let states =
        solution.energies().iter().zip(pairs.uncertainties()).map(|(energy, stated)| (*energy, stated + rounded));
    let is_whole = pairs.levels.iter().all(|level| level.complete);
    let warnings = if is_whole { Vec::new() } else { pairs.notes.clone() };
    let is_done = matches!(pairs.stop, StopReason::Converged | StopReason::Dense);
    Ok(judged(states.collect(), &exact, right, (warnings, !is_done, false)))
}

/// Iterations that a search may take: penalties make levels close beside the norm.
const ITERATIONS: usize = 5_000;

/// What sweeps found.
fn swept(found: &DmrgResult, exact: &[f64], right: f64) -> ScaledOutcome {
    let lowest = std::iter::once((found.energy, found.energy_error));
    let states = lowest.chain(found.excited.iter().map(|state| (state.energy, state.energy_error)));
    let states = states.map(|(energy, stated)| (energy, stated.unwrap_or(f64::INFINITY))).collect();
    let flags = (found.warnings.clone(), !is_converged(found), !found.restarts.is_empty());
    judged(states, exact, right, flags)
}

/// Energies with what is stated of their errors, beside the exact ones.
fn judged(
    states: Vec<(f64, f64)>,
    exact: &[f64],
    right: f64,
    (warnings, is_flagged, restarted): (Vec<String>, bool, bool),
) -> ScaledOutcome {
    let errors: Vec<(f64, f64, f64)> = states
        .into_iter()
        .zip(exact)
        .map(|((energy, stated), exact)| ((energy - exact).abs(), stated, right))
        .collect();
    let all = |is: fn(&(f64, f64, f64)) -> bool| errors.len() == exact.len() && errors.iter().all(is);
    ScaledOutcome {
        compared: true,
        right: all(|(error, _, right)| error <= right),
        warned: !warnings.is_empty() || is_flagged,
        holds: all(|(error, stated, right)| error <= right || error <= stated),
        close: all(|(error, stated, right)| *stated <= CLOSE * error.max(*right)),
        warnings,
        restarted,
        errors,
    }
}

/// What became of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScaledTally {
    /// Compared with the truth.
    pub compared: usize,
    /// Right, nothing said.
    pub right: usize,
    /// Right, with a warning.
    pub right_warned: usize,
    /// Off by more, within what was stated.
    pub stated: usize,
    /// Off by more than what was stated, with a warning.
    pub wrong_warned: usize,
    /// Off by more than what was stated, nothing said.
    pub silent: usize,
    /// Stated uncertainties that are close to the error.
    pub close: usize,
    /// Cases whose sweeps were done again.
    pub restarted: usize,
}

impl ScaledTally {
    fn add(&mut self, outcome: &ScaledOutcome) {
        if !outcome.compared {
            return;
        }
        self.compared += 1;
        *match (outcome.right, outcome.holds, outcome.warned) {
            (true, _, false) => &mut self.right,
            (true, _, true) => &mut self.right_warned,
            (false, true, _) => &mut self.stated,
            (false, false, true) => &mut self.wrong_warned,
            (false, false, false) => &mut self.silent,
        } += 1;
        self.close += usize::from(outcome.close);
        self.restarted += usize::from(outcome.restarted);
    }
}

/// Compares `count` cases from number `first` on; what is not plainly right is written to `out`, what is not right with its model file.
///
/// # Errors
/// A solve that fails, an output that cannot be written.
pub fn many(
    (seed, first, count): (u64, u64, u64),
    solver: Option<Solver>,
    out: &mut dyn Write,
) -> Result<ScaledTally, DmrgBenchError> {
    let solved = |case: u64| (case, compare(&model_file(seed, case), solver));
    let outcomes: Vec<_> = (first..first + count).into_par_iter().map(solved).collect();
    let mut tally = ScaledTally::default();
    for (case, outcome) in outcomes {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                writeln!(out, "case {case} of seed {seed} failed\n{}", model_file(seed, case))?;
                return Err(error);
            }
        };
        let ScaledOutcome { compared, right, warned, holds, close, errors, warnings, .. } = &outcome;
        if *compared && !(*right && !warned && *close) {
            writeln!(
                out,
                "case {case} of seed {seed}: right {right}, holds {holds}, close {close}; (error, stated, right) {errors:?}; {warnings:?}"
            )?;
        }
        if *compared && !(*right && *holds) {
            writeln!(out, "{}", model_file(seed, case))?;
        }
        tally.add(&outcome);
    }
    Ok(tally)
}

/// Runs it and prints the count.
///
/// # Errors
/// An energy that is off by more than what was stated; a solve that fails.
pub fn command(count: u64, seed: u64, solver: Option<Solver>, out: &mut dyn Write) -> Result<(), DmrgBenchError> {
    let tally = many((seed, 0, count), solver, out)?;
    let ScaledTally { compared, right, right_warned, stated, wrong_warned, silent, close, restarted } = tally;
    writeln!(
        out,
        "| chains with scales, seed {seed} | compared | right | right, warned | off as stated | off by more, warned | off by more, nothing said \
         | uncertainty within {CLOSE} x | done again |\n|---|---|---|---|---|---|---|---|---|\n\
         | {count} | {compared} | {right} | {right_warned} | {stated} | {wrong_warned} | {silent} | {close} | {restarted} |"
    )?;
    if silent + wrong_warned > 0 {
        let wrong = silent + wrong_warned;
        return Err(DmrgBenchError::RandomChain(format!(
            "{wrong} of {compared} energies are off by more than is stated"
        )));
    }
    Ok(())
}
