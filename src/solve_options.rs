//! What every solve can be told, on a lattice or of a molecule: builder methods of a type that keeps them in `options`.

/// Adds the methods to an `impl` of a type with a field `options:`
/// [`SolveOptions`](eigenforge_runtime::solvers::SolveOptions).
macro_rules! solve_options {
    () => {
        /// How many of the lowest states.
        pub fn states(mut self, states: usize) -> Self {
            self.options.states = states;
            self
        }

        /// On the residual norm ‖Hx − λx‖ of each state, in parts of the norm of H (without what is the same on all
        /// states): between 0 and 1, 1e-10 unless given.
        pub fn tolerance(mut self, tolerance: f64) -> Self {
            self.options.tolerance = tolerance;
            self
        }

        /// Iterations of one search.
        pub fn max_iterations(mut self, iterations: usize) -> Self {
            self.options.max_iterations = iterations;
            self
        }

        /// Extra vectors of a block.
        pub fn guard(mut self, guard: usize) -> Self {
            self.options.guard = Some(guard);
            self
        }

        /// Of random start vectors.
        pub fn seed(mut self, seed: u64) -> Self {
            self.options.seed = seed;
            self
        }

        /// Of LOBPCG.
        pub fn preconditioner(mut self, preconditioner: eigenforge_runtime::solvers::Preconditioner) -> Self {
            self.options.preconditioner = preconditioner;
            self
        }

        /// Whether to search for missed states and the rest of each multiplet.
        pub fn certify(mut self, certify: bool) -> Self {
            self.options.certify = certify;
            self
        }

        /// Saves the state to a folder every so many seconds; with `resume`, goes on from it.
        pub fn checkpoint(mut self, folder: impl Into<std::path::PathBuf>, every_seconds: f64, resume: bool) -> Self {
            let (folder, identity) = (folder.into(), self.identity());
            let checkpoint = eigenforge_runtime::solvers::CheckpointOptions { folder, every_seconds, resume, identity };
            self.options.checkpoint = Some(checkpoint);
            self
        }

        /// Called with every line of progress.
        pub fn progress(
            mut self,
            report: impl Fn(&eigenforge_runtime::solvers::Progress) + Send + Sync + 'static,
        ) -> Self {
            self.options.progress = Some(std::sync::Arc::new(report));
            self
        }
    };
}
pub(crate) use solve_options;
