//! A problem is diagonalised: a model on a lattice, or a molecule.
//!
//! ```text
//! options → device → solver → what will be resident → solve → what the family makes of the states → Outcome, files
//! ```

use super::context::PhaseClock;
use super::device::{ChosenDevice, choose_device};
use super::records::{cards_line, memory_lines, memory_record, ranks_line};
use super::{BringVectors, RunContext, Solved, WriteFile};
use crate::Error;
use crate::exact::Received;
use crate::input::SolveSpec;
use crate::observable::Averages;
use crate::problem::Problem;
use crate::report::{
    CostRecord, CountedWork, FamilyRecord, LevelAverages, MemoryRecord, Method, ModelRecord, Outcome, Seconds,
};
use eigenforge_product::{Diagonalisable, Diagonalisation, Eigenproblem, Eigenstates};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::SolvePhase;
use eigenforge_runtime::{Device, DeviceError, Scalar};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

/// A problem that is diagonalised with vectors of one type of number: what its family does of its own.
pub(super) trait Diagonalised<'p, T: Scalar>: Problem {
    /// The matrix.
    type Matrix: Diagonalisable<T, Error: Into<Error>, Solution: Deref<Target = Eigenstates<T>>>;

    /// How the file wants it solved.
    fn spec(&self) -> &SolveSpec;

    /// The file.
    fn record(&self) -> ModelRecord;

    /// The solve that the file asks for.
    fn matrix(&'p self) -> Diagonalisation<Self::Matrix>;

    /// The first output, after what can be refused before.
    fn heading(&self) -> Result<String, Error>;

    /// What each of several cards receives in a multiply, where that is known before.
    fn received(&self, _device: &Device) -> Result<Option<Received>, Error> {
        Ok(None)
    }

    /// The whole vectors that the first of several ranks gathers; `None` where it gathers none, or the solve is refused with other numbers.
    fn gathering(&self, solve: &Diagonalisation<Self::Matrix>, device: &Device) -> Option<Gathering>;

    /// The error of a solve, with what the file could do about it.
    fn advised(&self, error: <Self::Matrix as Eigenproblem>::Error) -> Error {
        error.into()
    }

    /// What the family makes of the states; every rank asks.
    fn findings(
        &'p self,
        solve: &Diagonalisation<Self::Matrix>,
        solution: <Self::Matrix as Diagonalisable<T>>::Solution,
    ) -> Result<Findings<'p>, Error>;
}

/// Rows of a matrix up to which the whole spectrum has vectors that nothing is made of: with them residuals are measured.
pub(super) const MEASURED_ROWS: usize = 4096;

/// What a family makes of its states.
pub(super) struct Findings<'p> {
    /// Its part of the report.
    pub(super) family: FamilyRecord,
    /// What found the states.
    pub(super) method: Method,
    /// What a reader should know.
    pub(super) notes: Vec<String>,
    /// Averages over the lowest level.
    pub(super) lowest: LevelAverages,
    /// Those of each state's level.
    pub(super) states: Vec<Averages>,
    /// The eigenvectors, where the file wants them; of several ranks the first has them.
    pub(super) vectors: Option<BringVectors<'p>>,
    /// Files for an output folder; of several ranks the first writes them.
    pub(super) files: Vec<WriteFile<'p>>,
}

/// Whole vectors that the first of several ranks gathers on its host, for averages and for files.
pub(super) struct Gathering {
    pub(super) bytes: u64,
    /// In words: the vectors, their place, and what would fit.
    pub(super) words: [&'static str; 3],
}

impl Gathering {
    /// Refuses, before the run, what has no room.
    fn check(self, device: &Device, memory: &MemoryRecord) -> Result<(), DeviceError> {
        let Some(ranks) = device.ranks() else { return Ok(()) };
        // Each knows its own host alone.
        if device.runs_kernels() && !ranks.is_first() {
            return Ok(());
        }
        let (free, total, among) = match device.runs_kernels() {
            true => {
                let host = Device::cpu().memory();
                (host.free, host.total, ranks.on_this_machine())
            }
            false => {
                let left = memory.available_bytes.saturating_sub(memory.planned_bytes);
                (left, memory.available_bytes, ranks.count())
            }
        };
        let [free, total] = [free, total].map(|bytes| bytes / among as u64);
        if self.bytes <= free {
            return Ok(());
        }
        let [what, device, fits] = self.words.map(String::from);
        Err(DeviceError::Memory { what, device, needed: self.bytes, free, total, fits })
    }
}

/// Runs a problem.
pub(super) fn solve<'p, T: Scalar, P: Diagonalised<'p, T>>(
    problem: &'p P,
    context: &RunContext,
) -> Result<Solved<'p>, Error> {
    let spec = problem.spec();
    context.observer.plan(&problem.heading()?)?;
    let clock = Arc::new(PhaseClock::default());
    let asked = options(problem.matrix(), context, &clock);
    let choose = |device: &Device| match spec.solver {
        None => asked.clone().choose(device),
        Some(_) => (asked.clone(), None),
    };
    let forecast = |machine: &Machine, device: Option<&Device>| {
        let on_cores = Device::cpu();
        choose(device.unwrap_or(&on_cores)).0.forecast(machine, device)
    };
    let ChosenDevice { device, on_cpu, line } = choose_device(context, forecast)?;
    P::Matrix::check_vectors(&asked, &device).map_err(|error| problem.advised(error.into()))?;
    let (solve, reason) = choose(&device);
    let memory = memory_record(&device, P::Matrix::memory_plan(&solve, &device));
    let of_cards = cards_line(&device, problem.received(&device)?);
    let of_ranks = ranks_line(solve.rank_plan(&device), &device, solve.scalar);
    context.observer.plan(&(line + &of_cards + &of_ranks + &memory_lines(&memory)))?;
    if solve.rank_plan(&device).is_some()
        && let Some(gathering) = problem.gathering(&solve, &device)
    {
        gathering.check(&device, &memory)?;
    }
    let read_seconds = context.start.elapsed().as_secs_f64();
    let solution = solve.run_in::<T>(&device);
    context.observer.finished();
    let solution = solution.map_err(|error| problem.advised(error))?;

    let (pairs, least) = (solution.eigenpairs(), solution.cost());
    let cost = CostRecord::new(
        &Machine::new(&device),
        CountedWork::Multiply,
        (least.flops, least.bytes),
        solution.multiply_seconds(),
    );
    let (energies, stop, norm) = (solution.energies().to_vec(), pairs.stop.into(), pairs.tolerance / spec.tolerance);
    let certify = clock.seconds_of(SolvePhase::Certify, pairs.seconds);
    let (setup, search) = (read_seconds + solution.setup_seconds(), pairs.seconds - certify);
    let observing = Instant::now();
    let Findings { family, method, notes, lowest, states, vectors, files } = problem.findings(&solve, solution)?;
    let observables = observing.elapsed().as_secs_f64();
    let notes = on_cpu.into_iter().chain(notes).collect();
    let devices = std::slice::from_ref(&device);
    let outcome = context.outcome(devices, problem.record(), memory, notes, (method, stop), family);
    let outcome = Outcome {
        energies,
        solver_reason: reason,
        cost,
        observables: lowest,
        state_observables: states,
        seconds: Seconds { setup, solve: search, certify, observables, ..outcome.seconds },
        seed: spec.seed,
        tolerance: spec.tolerance,
        norm,
        ..outcome
    };
    let writes = device.ranks().is_none_or(|ranks| ranks.is_first());
    let solved = Solved::new(outcome.with_warnings());
    Ok(if writes { Solved { vectors, files, ..solved } } else { solved })
}

/// A solve with what the run asks for.
fn options<P: Eigenproblem>(
    solve: Diagonalisation<P>,
    context: &RunContext,
    clock: &Arc<PhaseClock>,
) -> Diagonalisation<P> {
    let (observer, clock) = (Arc::clone(&context.observer), Arc::clone(clock));
    let solve = solve.tuned(context.tuned).progress(move |progress| {
        clock.note(progress);
        observer.iteration(progress);
    });
    match &context.checkpoint {
        Some(request) => solve.checkpoint(&request.folder, request.seconds, request.resume),
        None => solve,
    }
}
