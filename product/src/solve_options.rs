//! Options that all eigensolvers share, as builder methods: for lattice models and for molecules.

/// Adds the methods to an `impl` of a type with a field `options:`
/// [`SolveOptions`](eigenforge_runtime::solvers::SolveOptions).
#[macro_export]
macro_rules! solve_options {
    () => {
        /// Takes the options of a file; observers and checkpoints are set afterwards.
        pub fn options(mut self, options: eigenforge_runtime::solvers::SolveOptions) -> Self {
            self.options = options;
            self
        }

        /// Sets the number of lowest states; 1 by default.
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
        pub fn start(mut self, start: eigenforge_runtime::solvers::Start) -> Self {
            self.options.start = start;
            self
        }

        /// Sets the preconditioner of LOBPCG; none by default.
        pub fn preconditioner(mut self, preconditioner: eigenforge_runtime::solvers::Preconditioner) -> Self {
            self.options.preconditioner = preconditioner;
            self
        }

        /// Sets whether to search for missed states and for the rest of each multiplet; true by default.
        pub fn certify(mut self, certify: bool) -> Self {
            self.options.certify = certify;
            self
        }

        /// Saves the solver's state to a folder at this interval; with `resume`, continues from the last state there.
        pub fn checkpoint(mut self, folder: impl Into<std::path::PathBuf>, every_seconds: f64, resume: bool) -> Self {
            let (folder, identity) = (folder.into(), self.identity());
            let checkpoint = eigenforge_runtime::solvers::CheckpointOptions { folder, every_seconds, resume, identity };
            self.options.checkpoint = Some(checkpoint);
            self
        }

        /// Calls a function with every line of progress.
        pub fn progress(
            mut self,
            report: impl Fn(&eigenforge_runtime::solvers::Progress) + Send + Sync + 'static,
        ) -> Self {
            self.options.progress = Some(std::sync::Arc::new(report));
            self
        }
    };
}
