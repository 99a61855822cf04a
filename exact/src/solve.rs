//! Solving a model: `Lobpcg::new(&model).tolerance(1e-10).run(&device)` and its kin.

mod memory;
mod problem;
mod solution;

pub use problem::ModelProblem;
pub use solution::Solution;

use super::entanglement::EntanglementError;
use super::way::SPARE;
use super::{Model, PrepareError, ShapeSource};
use eigenforge_core::operator::OperatorError;
use eigenforge_core::path::FamilyError;
use eigenforge_product::{Diagonalisable, Diagonalisation, Eigenstates, RealImage};
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, DeviceError, Scalar, SolveError};

/// A solve of a model.
pub type Solve<'m> = Diagonalisation<ModelProblem<'m>>;

/// Why a solve failed. A solve that did not converge is not an error; its [`Solution`] reports it.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The model could not be put on the device.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The solver refused or failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Memory or transfers.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The model itself.
    #[error(transparent)]
    Operator(#[from] OperatorError),
    /// The entropy of a set of sites.
    #[error(transparent)]
    Entanglement(Box<EntanglementError>),
}

impl From<EntanglementError> for RunError {
    fn from(error: EntanglementError) -> RunError {
        match error {
            EntanglementError::Expand(error) => error,
            other => RunError::Entanglement(Box::new(other)),
        }
    }
}

/// LOBPCG: fused for one state, a block with soft locking for several.
pub struct Lobpcg;

/// Lanczos: for the ground state with as many vectors as memory allows, three at least; thick restart for several.
pub struct Lanczos;

/// Davidson: for matrices with a dominant diagonal, as in configuration interaction; the fewest multiplies there.
pub struct Davidson;

/// Olsen: one state with two vectors, for matrices with a dominant diagonal whose vectors fill the memory.
pub struct Olsen;

/// The whole matrix, diagonalised on the host.
pub struct Dense;

macro_rules! start {
    ($($name:ident),*) => {$(
        impl $name {
            /// Starts a solve of the model with this solver.
            #[expect(clippy::new_ret_no_self, reason = "the solver's name starts a builder")]
            pub fn new(model: &Model) -> Solve<'_> {
                Solve::new(model, Solver::$name)
            }
        }
    )*};
}
start!(Lobpcg, Lanczos, Davidson, Olsen, Dense);

impl<'m, T: Scalar> Diagonalisable<T> for ModelProblem<'m> {
    type Solution = Solution<'m, T>;

    fn diagonalise(solve: &Solve<'m>, device: &Device) -> Result<Solution<'m, T>, RunError> {
        let ModelProblem { model: user, observables } = &solve.problem;
        let set_up = solve.set_up(device)?;
        let (model, wanted) = (user.working(), solve.options.states);
        if wanted as u64 > model.states() {
            return Err(SolveError::States { states: wanted, dimension: model.states() as usize }.into());
        }
        memory::check(solve, device)?;
        let rule = model.multiply_in_room(T::TYPE, memory::room(solve, device)).map_err(PrepareError::from)?;
        let (multiply, source) =
            if solve.tuned { model.in_tuned_shape(rule, device)? } else { (rule, ShapeSource::Rule) };
        let _ahead = solve.compile_ahead(device, &multiply);
        let hamiltonian = model.hamiltonian(multiply, device)?;
        let (shape, way) = (hamiltonian.shape(), hamiltonian.way_name());
        // Of several ranks the first averages on its cores.
        let early = device.runs_kernels() && device.ranks().is_none() && !observables.is_empty();
        let constant = model.constant();
        let (found, prepared) = std::thread::scope(|scope| {
            let preparing = early.then(|| scope.spawn(|| solve.problem.prepared_averages()));
            let found = solve.search::<T>(set_up, &hamiltonian, constant);
            let prepared =
                preparing.and_then(|made| made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            found.map(|found| (found, prepared))
        })?;
        let (pairs, setup_seconds) = found;
        let (pairs, partners) = match model.is_complex() {
            true => RealImage::LATTICE.fold(pairs, wanted)?,
            false => (pairs, Vec::new()),
        };
        let states = Eigenstates::new((&hamiltonian, device), (pairs, setup_seconds), constant)?;
        Ok(Solution { model: user, states, partners, shape, way, source, prepared })
    }
}

impl FamilyError for RunError {
    fn is_of_the_input(&self) -> bool {
        match self {
            RunError::Prepare(error) => error.is_of_the_input(),
            RunError::Solve(error) => error.is_of_the_input(),
            RunError::Entanglement(_) => true,
            RunError::Device(_) | RunError::Operator(_) => false,
        }
    }

    fn device(&self) -> Option<&DeviceError> {
        match self {
            RunError::Prepare(error) => error.device(),
            RunError::Device(error) | RunError::Solve(SolveError::Device(error)) => Some(error),
            _ => None,
        }
    }
}
