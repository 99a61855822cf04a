//! What a user asks of a solve, option by option.

use super::{Diagonalisation, Eigenproblem};
use eigenforge_runtime::solvers::{
    CheckpointOptions, Preconditioner, Progress, SolveOptions, Solver, SpectrumPart, Start,
};
use eigenforge_templates::ScalarType;
use std::path::PathBuf;
use std::sync::Arc;

impl<P: Eigenproblem> Diagonalisation<P> {
    /// Sets the solver.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// Sets whether to use the launch shape that was tuned for this problem on this card, if there is one; true by default.
    pub fn tuned(mut self, tuned: bool) -> Self {
        self.tuned = tuned;
        self
    }

    /// Sets the number type of the vectors that plans count with; f64 unless given. [`Diagonalisation::run_in`] takes it from its own type.
    pub fn scalar(mut self, scalar: ScalarType) -> Self {
        self.scalar = scalar;
        self
    }

    /// Sets the most vectors that Lanczos for one state keeps in addition to the three it needs, of which fewer than 16
    /// count as none; by default what memory allows.
    pub fn keep_vectors(mut self, vectors: usize) -> Self {
        self.options.keep_vectors = Some(vectors);
        self
    }

    /// Takes the options of a file; observers and checkpoints are set afterwards.
    pub fn options(mut self, options: SolveOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets which states are wanted: the lowest by default, the highest, or those nearest to an energy, with the constant of H in it.
    pub fn part(mut self, part: SpectrumPart) -> Self {
        self.options.part = part;
        self
    }

    /// Sets the rows above which a dense solve makes energies alone, which takes less memory and time; by default it makes vectors.
    pub fn values_above(mut self, rows: Option<usize>) -> Self {
        self.options.values_above = rows;
        self
    }

    /// Sets the number of states; 1 by default.
    pub fn states(mut self, states: usize) -> Self {
        self.options.states = states;
        self
    }

    /// Sets the largest residual norm ‖Hx − λx‖ of a converged state, relative to the norm of H (without the part that is
    /// constant in the sector): between 0 and 1; 1e-10 by default.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.options.tolerance = tolerance;
        self
    }

    /// Sets the largest number of iterations of one search; 2,000 by default.
    pub fn max_iterations(mut self, iterations: usize) -> Self {
        self.options.max_iterations = iterations;
        self
    }

    /// Sets the number of extra vectors of a block, which need not converge.
    pub fn guard(mut self, guard: usize) -> Self {
        self.options.guard = Some(guard);
        self
    }

    /// Sets the seed of the random start vectors; 1 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Sets where a search for one state starts: from a guess with a random part by default, or at random.
    pub fn start(mut self, start: Start) -> Self {
        self.options.start = start;
        self
    }

    /// Sets the preconditioner of LOBPCG; none by default.
    pub fn preconditioner(mut self, preconditioner: Preconditioner) -> Self {
        self.options.preconditioner = preconditioner;
        self
    }

    /// Sets whether to search for missed states and for the rest of each multiplet; true by default.
    pub fn certify(mut self, certify: bool) -> Self {
        self.options.certify = certify;
        self
    }

    /// Saves the solver's state to a folder at this interval; with `resume`, continues from the last state there.
    pub fn checkpoint(mut self, folder: impl Into<PathBuf>, every_seconds: f64, resume: bool) -> Self {
        let (folder, identity) = (folder.into(), self.problem.identity());
        let checkpoint = CheckpointOptions { folder, every_seconds, resume, identity, settings: Vec::new() };
        self.options.checkpoint = Some(checkpoint);
        self
    }

    /// Calls a function with every line of progress.
    pub fn progress(mut self, report: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.options.progress = Some(Arc::new(report));
        self
    }
}
