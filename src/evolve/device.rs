//! The device of a run, and solves on it.

use crate::Error;
use crate::exact::{Solution, Solve};
use crate::input::SolveSpec;
use crate::problem::run::RunContext;
use eigenforge_runtime::Device;
use eigenforge_templates::ScalarType;
use std::sync::Arc;

/// Where a run takes place, and who is told.
pub(super) struct RunDevice<'c> {
    pub device: Device,
    pub context: &'c RunContext,
}

impl RunDevice<'_> {
    /// The lowest states that a solve looks for, at least so many.
    pub(super) fn lowest<'p>(&self, solve: Solve<'p>, spec: &SolveSpec, states: usize) -> Result<Solution<'p>, Error> {
        let asked = solve.states(states.max(spec.states)).scalar(ScalarType::F64);
        let solve = if spec.solver.is_none() { asked.choose(&self.device).0 } else { asked };
        let observer = Arc::clone(&self.context.observer);
        let solve = solve.tuned(self.context.tuned).progress(move |progress| observer.iteration(progress));
        Ok(solve.run(&self.device)?)
    }
}
