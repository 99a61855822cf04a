//! The lowest states of H, the highest, or those nearest to an energy, for every family: options, set-up, search.
//!
//! ```text
//! Eigenproblem + solver + options → Diagonalisation ─ plans: memory, ranks, solver, forecast
//!                                                   └ run → SetUp → operator → search → Eigenstates
//! ```
//!
//! | file | question it answers |
//! |---|---|
//! | `problem` | what does a family tell of its matrix? |
//! | `options` | what can a user ask of a solve? |
//! | `choice` | which solver where that is left open? |
//! | `image` | which states has a complex H that was solved as a real matrix? |
//! | `ahead` | which texts does a run compile, and where will it be sooner done? |
//! | `eigenstates` | what was found? |

mod ahead;
mod choice;
mod eigenstates;
mod image;
mod options;
mod problem;

pub use eigenstates::Eigenstates;
pub use image::{LevelPartners, RealImage};
pub use problem::{Diagonalisable, Eigenproblem};

use crate::ranks::RankPlan;
use eigenforge_runtime::solvers::{self, Eigenpairs, SolveOptions, Solver, SpectrumPart};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, Scalar, SolveError, trace};
use eigenforge_templates::ScalarType;
use std::time::Instant;

/// A solve being put together. Defaults: one state, tolerance 1e-10 on ‖Hx − λx‖ / ‖H‖, 2,000 iterations, certified.
#[derive(Clone)]
pub struct Diagonalisation<P> {
    /// Whose states are looked for.
    pub problem: P,
    /// The solver.
    pub solver: Solver,
    /// Its options.
    pub options: SolveOptions,
    /// Whether the launch shape that was tuned for this problem on this card is used.
    pub tuned: bool,
    /// The number type of the vectors.
    pub scalar: ScalarType,
}

impl<P: Eigenproblem> Diagonalisation<P> {
    /// Starts a solve with a solver chosen at run time.
    pub fn new(problem: impl Into<P>, solver: Solver) -> Diagonalisation<P> {
        let options = SolveOptions::default();
        Diagonalisation { problem: problem.into(), solver, options, tuned: true, scalar: ScalarType::F64 }
    }

    /// Chooses the solver for this problem and leaves the other options as they are; returns the reason as well, if another was chosen.
    pub fn choose(self, device: &Device) -> (Diagonalisation<P>, Option<String>) {
        P::choose(self, device)
    }

    /// The options for the real matrix: a complex H has each state twice.
    pub fn real_options(&self) -> SolveOptions {
        SolveOptions { states: self.problem.real_states(self.options.states), ..self.options.clone() }
    }

    /// The least memory of the solver for vectors of so many elements: a name and bytes.
    pub fn resident(&self, dimension: u64) -> (String, u64) {
        let dimension = usize::try_from(dimension).unwrap_or(usize::MAX);
        solvers::resident(dimension, self.scalar.bytes(), self.solver, &self.real_options())
    }

    /// The vectors that the solver keeps only if there is room beside so many bytes of tables.
    pub fn optional_vectors(&self, device: &Device, tables: u64) -> Option<(String, u64)> {
        let optional = match self.scalar {
            ScalarType::F64 => solvers::optional_vectors::<f64>,
            ScalarType::F32 => solvers::optional_vectors::<f32>,
        };
        let dimension = usize::try_from(self.problem.dimension()).unwrap_or(usize::MAX);
        optional(device, dimension, tables, self.solver, &self.real_options())
    }

    /// Whether Lanczos would multiply twice in each step, since so many bytes have no room for its basis.
    pub fn lanczos_multiplies_twice(&self, room: u64) -> bool {
        let dimension = usize::try_from(self.problem.dimension()).unwrap_or(usize::MAX);
        solvers::lanczos_multiplies_twice(dimension, self.scalar.bytes(), room, &self.real_options())
    }

    /// What each of several ranks holds and sends; `None` without ranks, and where each diagonalises the whole matrix by itself.
    pub fn rank_plan(&self, device: &Device) -> Option<RankPlan> {
        let ranks = device.ranks().filter(|_| self.solver != Solver::Dense)?;
        Some(P::rank_plan(self, ranks.count(), device))
    }

    /// The same of so many ranks, each on its CPU cores or on a card.
    pub fn over_ranks(&self, ranks: usize, on_cards: bool) -> Option<RankPlan> {
        (self.solver != Solver::Dense).then(|| self.problem.over_ranks(ranks, on_cards))
    }

    /// Whether each of several ranks solves the whole problem by itself: that of a small matrix.
    pub fn is_replicated(&self, device: &Device) -> bool {
        device.ranks().is_some() && self.solver == Solver::Dense
    }

    /// Runs in double precision on a device.
    ///
    /// # Errors
    /// The problem does not fit, the device or compiler fails, or the checkpoint is of another run.
    pub fn run(&self, device: &Device) -> Result<P::Solution, P::Error>
    where
        P: Diagonalisable<f64>,
    {
        self.run_in::<f64>(device)
    }

    /// Runs with vectors of another number type: f32 takes half the memory and traffic. Sums are always in f64. Residuals with f32
    /// reach about 1e-6 of the norm of H.
    ///
    /// # Errors
    /// As of [`Diagonalisation::run`].
    pub fn run_in<T: Scalar>(&self, device: &Device) -> Result<P::Solution, P::Error>
    where
        P: Diagonalisable<T>,
    {
        if self.scalar != T::TYPE {
            return self.clone().scalar(T::TYPE).run_in::<T>(device);
        }
        if !self.is_replicated(device) {
            return P::diagonalise(self, device);
        }
        // Rank 0 alone saves it.
        let mut own = self.clone();
        own.options.checkpoint.take_if(|_| device.ranks().is_some_and(|ranks| !ranks.is_first()));
        P::diagonalise(&own, &Device::cpu())
    }

    /// Begins the set-up of a run, and refuses ranks that solve something else.
    ///
    /// # Errors
    /// Their difference; a rank that failed.
    pub fn set_up(&self, device: &Device) -> Result<SetUp, DeviceError> {
        let start = Instant::now();
        if let Some(ranks) = device.ranks() {
            ranks.check_same(P::PROBLEM_AND_SOLVER, &(self.problem.identity() + self.solver.name()))?;
        }
        Ok(SetUp { start, span: trace::span("set up", "set up") })
    }

    /// Ends the set-up and searches for the states of the operator, from which `constant` was taken out; returns the seconds of the
    /// set-up as well.
    ///
    /// # Errors
    /// The solver's.
    pub fn search<T: Scalar>(
        &self,
        SetUp { start, span }: SetUp,
        operator: &dyn LinearOperator<T>,
        constant: f64,
    ) -> Result<(Eigenpairs<T>, f64), SolveError> {
        drop(span);
        let seconds = start.elapsed().as_secs_f64();
        let _solving = trace::span("solver", "solve");
        let part = match self.options.part {
            SpectrumPart::Nearest(energy) => SpectrumPart::Nearest(energy - constant),
            part => part,
        };
        // The image of a complex H has more states than are asked for.
        solvers::check_states(self.solver, self.options.states)?;
        let options = SolveOptions { taken_out: constant, part, ..self.real_options() };
        Ok((solvers::solve(operator, self.solver, &options)?, seconds))
    }
}

/// A run from its begin to an operator that is ready on its device: tables, text, compilation.
pub struct SetUp {
    start: Instant,
    span: trace::Span,
}
