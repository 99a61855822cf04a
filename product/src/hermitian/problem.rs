//! A Hermitian matrix as a solve asks of it: its solver, its memory, and the search.

use super::matrix::NAME;
use super::{HermitianMatrix, HermitianSolution, StoredMatrixUsed};
use crate::error::PrepareError;
use crate::forecast::product_seconds;
use crate::hamiltonian::Hamiltonian;
use crate::plan::MultiplyPlan;
use crate::ranks::RankPlan;
use crate::solve::{Diagonalisable, Diagonalisation, Eigenproblem, Eigenstates, RealImage};
use crate::sparse::NumberKind;
use eigenforge_core::path::FamilyError;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{Solver, room_for_vectors};
use eigenforge_runtime::{Device, DeviceError, SolveError};
use eigenforge_templates::ElementFunctionText;

/// Why a solve of a matrix failed. A solve that did not converge is not an error; its solution reports it.
#[derive(Debug, thiserror::Error)]
pub enum HermitianError {
    /// The matrix could not be put on the device.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The solver refused or failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Memory or transfers.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl FamilyError for HermitianError {
    fn is_of_the_input(&self) -> bool {
        match self {
            HermitianError::Prepare(error) => error.is_of_the_input(),
            HermitianError::Solve(error) => error.is_of_the_input(),
            HermitianError::Device(_) => false,
        }
    }

    fn device(&self) -> Option<&DeviceError> {
        match self {
            HermitianError::Prepare(error) => error.device(),
            HermitianError::Device(error) | HermitianError::Solve(SolveError::Device(error)) => Some(error),
            HermitianError::Solve(_) => None,
        }
    }
}

/// A Hermitian matrix whose lowest states are wanted.
#[derive(Clone, Copy, Debug)]
pub struct HermitianProblem<'a> {
    /// The matrix.
    pub matrix: &'a HermitianMatrix,
}

impl<'a> From<&'a HermitianMatrix> for HermitianProblem<'a> {
    fn from(matrix: &'a HermitianMatrix) -> HermitianProblem<'a> {
        HermitianProblem { matrix }
    }
}

type Solve<'a> = Diagonalisation<HermitianProblem<'a>>;

impl HermitianProblem<'_> {
    fn image(&self) -> RealImage {
        RealImage::of_matrix(self.matrix.kind())
    }
}

/// The memory that a run needs: a name and the bytes of each item. On cores the matrix is where it was read.
fn needed(solve: &Solve<'_>, device: &Device) -> Vec<(String, u64)> {
    let stored = device.runs_kernels().then(|| ("the stored matrix".into(), solve.problem.matrix.bytes()));
    stored.into_iter().chain([solve.resident(solve.problem.dimension())]).collect()
}

fn needed_bytes(solve: &Solve<'_>, device: &Device) -> u64 {
    needed(solve, device).iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// Refuses a run that does not fit, before anything is allocated, and says what would fit.
fn check_memory(solve: &Solve<'_>, device: &Device) -> Result<(), DeviceError> {
    let eigenforge_runtime::Memory { free, total } = device.memory();
    let bytes = needed_bytes(solve, device);
    if bytes <= free {
        return Ok(());
    }
    let fits = |solver: &Solver| needed_bytes(&solve.clone().solver(*solver), device) <= free;
    let fits = match [Solver::Lanczos, Solver::Lobpcg, Solver::Olsen].into_iter().find(fits) {
        Some(solver) => format!("--solver {} fits", solver.name()),
        None => "no solver fits: ask for fewer states, or take a device with more memory".into(),
    };
    let names: Vec<String> = needed(solve, device).into_iter().map(|(name, _)| name).collect();
    Err(DeviceError::Memory { what: names.join(" and "), device: device.name(), needed: bytes, free, total, fits })
}

impl Eigenproblem for HermitianProblem<'_> {
    type Error = HermitianError;

    const PROBLEM_AND_SOLVER: &'static str = "the matrix and its solver";

    fn identity(&self) -> String {
        self.matrix.identity().into()
    }

    /// Real parts of a vector.
    fn dimension(&self) -> u64 {
        self.matrix.real_rows()
    }

    fn is_complex(&self) -> bool {
        self.matrix.kind() != NumberKind::Real
    }

    fn real_states(&self, states: usize) -> usize {
        self.image().states(states)
    }

    fn guess_text(&self, _: &MultiplyPlan) -> Option<ElementFunctionText> {
        None
    }

    /// The usual one ([`Diagonalisation::usual_solver`]).
    fn choose(solve: Diagonalisation<Self>, device: &Device) -> (Diagonalisation<Self>, Option<String>) {
        let rows = match solve.problem.is_complex() {
            true => "rows of real parts",
            false => "rows",
        };
        let free = device.memory().free;
        let fits = |solve: &Solve<'_>| needed_bytes(solve, device) <= free;
        let is_scarce = |solve: &Solve<'_>| {
            let tables = needed_bytes(solve, device).saturating_sub(solve.resident(solve.problem.dimension()).1);
            let room = room_for_vectors(device, tables, solve.options.memory_limit);
            solve.lanczos_multiplies_twice(room) && fits(&solve.clone().solver(Solver::Lobpcg))
        };
        let (solve, why) =
            solve.usual_solver(|dimension| format!("the matrix has {dimension} {rows}"), fits, is_scarce);
        (solve, Some(why))
    }

    fn memory_plan(solve: &Solve<'_>, device: &Device) -> Vec<(String, u64)> {
        let kept = solve.optional_vectors(device, needed_bytes(solve, device));
        needed(solve, device).into_iter().chain(kept).collect()
    }

    fn over_ranks(&self, ranks: usize, on_cards: bool) -> RankPlan {
        RankPlan::gathering(self.dimension(), ranks, on_cards)
    }

    fn product_seconds(solve: &Solve<'_>) -> Result<impl Fn(&Machine) -> Option<[f64; 2]>, HermitianError> {
        let cost = solve.problem.matrix.multiply(&Device::cpu(), 0).cost();
        Ok(move |machine: &Machine| Some([0.0, product_seconds(cost, machine)]))
    }

    fn compiled_multiply(_: &Solve<'_>, _: &Machine) -> Result<Option<MultiplyPlan>, HermitianError> {
        Ok(None)
    }
}

impl<'a> Diagonalisable<f64> for HermitianProblem<'a> {
    type Solution = HermitianSolution<'a>;

    fn diagonalise(solve: &Solve<'a>, device: &Device) -> Result<HermitianSolution<'a>, HermitianError> {
        let set_up = solve.set_up(device)?;
        let (problem, wanted) = (solve.problem, solve.options.states);
        let rows = problem.matrix.rows() as usize;
        if wanted > rows {
            return Err(SolveError::States { states: wanted, dimension: rows }.into());
        }
        check_memory(solve, device)?;
        let multiply = problem.matrix.multiply(device, solve.resident(problem.dimension()).1);
        let _ahead = solve.compile_ahead(device, &multiply);
        let hamiltonian = Hamiltonian::new(multiply.clone(), NAME, device)?.of_numbers(problem.matrix.kind().parts());
        let used = StoredMatrixUsed::new(&multiply, &hamiltonian, device);
        let (pairs, seconds) = solve.search(set_up, &hamiltonian, 0.0)?;
        let (pairs, _) = problem.image().fold(pairs, wanted)?;
        let states = Eigenstates::new((&hamiltonian, device), (pairs, seconds), 0.0)?;
        Ok(HermitianSolution { matrix: problem.matrix, states, used })
    }
}
