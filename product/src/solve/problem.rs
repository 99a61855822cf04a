//! What a family tells of the matrix whose lowest states are wanted.

use super::Diagonalisation;
use crate::error::PrepareError;
use crate::plan::MultiplyPlan;
use crate::ranks::RankPlan;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::{Device, DeviceError, Scalar, SolveError};
use eigenforge_templates::{ElementFunctionText, KernelText};

/// A matrix whose lowest states are wanted: it is planned before anything of it is made.
pub trait Eigenproblem: Clone {
    /// Why it has no solution.
    type Error: From<PrepareError> + From<SolveError> + From<DeviceError>;

    /// What ranks must agree on, in words.
    const PROBLEM_AND_SOLVER: &'static str;

    /// Identifies it in checkpoints.
    fn identity(&self) -> String;

    /// Elements of the vectors that a solver works on.
    fn dimension(&self) -> u64;

    /// Whether vectors hold real and imaginary parts.
    fn is_complex(&self) -> bool {
        false
    }

    /// States of the real matrix that a solver looks for in place of so many.
    fn real_states(&self, states: usize) -> usize {
        states
    }

    /// The text of a first guess of the lowest state, if there is one.
    fn guess_text(&self, multiply: &MultiplyPlan) -> Option<ElementFunctionText>;

    /// A solve with the solver for this problem on a device, and the reason, if another was chosen than the one that is asked for.
    fn choose(solve: Diagonalisation<Self>, device: &Device) -> (Diagonalisation<Self>, Option<String>);

    /// Refuses a run whose vectors alone do not fit with any solver, before tables are made.
    ///
    /// # Errors
    /// The bytes that they take.
    fn check_vectors(_solve: &Diagonalisation<Self>, _device: &Device) -> Result<(), DeviceError> {
        Ok(())
    }

    /// The device memory of a run: a name and the bytes of each item. Vectors that are kept only if there is room come last.
    fn memory_plan(solve: &Diagonalisation<Self>, device: &Device) -> Vec<(String, u64)>;

    /// What each of the ranks of a device holds and sends.
    fn rank_plan(solve: &Diagonalisation<Self>, ranks: usize, device: &Device) -> RankPlan {
        solve.problem.over_ranks(ranks, device.runs_kernels())
    }

    /// The same of so many ranks, each on its CPU cores or on a card.
    fn over_ranks(&self, ranks: usize, on_cards: bool) -> RankPlan;

    /// What gives the seconds of the set-up and of a product on a machine; `None` where the solve does not fit.
    ///
    /// # Errors
    /// A plan that cannot be made.
    fn product_seconds(solve: &Diagonalisation<Self>) -> Result<impl Fn(&Machine) -> Option<[f64; 2]>, Self::Error>;

    /// The multiply whose text a common run compiles on the card of a machine; `None` of a stored matrix.
    ///
    /// # Errors
    /// A plan that cannot be made.
    fn compiled_multiply(solve: &Diagonalisation<Self>, machine: &Machine)
    -> Result<Option<MultiplyPlan>, Self::Error>;

    /// What it compiles beside the multiply and the solver's programs.
    ///
    /// # Errors
    /// A plan that has no text.
    fn compiled_beside(_solve: &Diagonalisation<Self>) -> Result<Option<KernelText>, Self::Error> {
        Ok(None)
    }
}

/// What can be diagonalised with vectors of one type of number.
pub trait Diagonalisable<T: Scalar>: Eigenproblem {
    /// The states, and what the family says of them.
    type Solution;

    /// Sets up the operator, searches ([`Diagonalisation::search`]), and says what was found.
    ///
    /// # Errors
    /// The problem does not fit, the device or compiler fails, or the checkpoint is of another run.
    fn diagonalise(solve: &Diagonalisation<Self>, device: &Device) -> Result<Self::Solution, Self::Error>;
}
