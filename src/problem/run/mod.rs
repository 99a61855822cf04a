//! A problem is run: device, memory, solver or sweeps, averages, one [`Outcome`].
//!
//! ```text
//! problem + RunContext → device → what will be resident → solve → averages → Outcome, files that only a family has
//! ```
//!
//! [`Solvable::solve`] is what all problems that have states do; what a family does differently stands in `lattice`, `molecule`
//! and `chain`. An [`RunObserver`] sees what is planned and how it goes on.

mod chain;
mod context;
mod device;
mod error;
mod lattice;
mod molecule;
mod records;

pub use context::{CheckpointRequest, RunContext, RunObserver, Silent};
pub use device::open_device;
pub use error::SolveFailure;
pub use records::{kernel_records, versions, warnings_of};

use super::{ChainProblem, LatticeProblem, MoleculeProblem};
use crate::input::OutputSpec;
use crate::report::Outcome;
use std::path::{Path, PathBuf};

/// Writes one file that only a family has into a folder, and returns its path.
pub type WriteFile<'p> = Box<dyn FnOnce(&Path) -> Result<PathBuf, SolveFailure> + 'p>;

/// What a run found.
pub struct Solved<'p> {
    /// The record of the run.
    pub outcome: Outcome,
    /// Files beside report and pictures, for an output folder: vectors, density matrices.
    pub files: Vec<WriteFile<'p>>,
}

impl Solved<'_> {
    /// Writes the report, its pictures and the family's files; returns their paths.
    ///
    /// # Errors
    /// A folder that cannot be made or written.
    pub fn write(self, folder: &Path) -> Result<Vec<PathBuf>, SolveFailure> {
        let mut written = self.outcome.write(folder)?;
        for file in self.files {
            written.push(file(folder)?);
        }
        Ok(written)
    }
}

/// A problem whose states can be found.
pub trait Solvable {
    /// Finds the states and measures what is asked for.
    ///
    /// # Errors
    /// A device that is not there or too small, a solver or a compiler that fails, a checkpoint of another run, a signal.
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, SolveFailure>;

    /// Where the file wants its results.
    fn output(&self) -> &OutputSpec;
}

impl Solvable for LatticeProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, SolveFailure> {
        lattice::solve(self, context)
    }

    fn output(&self) -> &OutputSpec {
        &self.file.output
    }
}

impl Solvable for MoleculeProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, SolveFailure> {
        molecule::solve(self, context)
    }

    fn output(&self) -> &OutputSpec {
        &self.file.output
    }
}

impl Solvable for ChainProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, SolveFailure> {
        chain::solve(self, context)
    }

    fn output(&self) -> &OutputSpec {
        &self.file.model.output
    }
}
