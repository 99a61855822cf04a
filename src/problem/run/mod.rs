//! A problem is run: device, memory, solver or sweeps, averages, one [`Outcome`].
//!
//! ```text
//! problem + RunContext → device → what will be resident → solve → averages → Outcome, files that only a family has
//! ```
//!
//! [`Solvable::solve`] is what all problems do; lattice models, molecules and matrices are solved by `diagonalise`, and what they
//! do differently stands in `lattice`, `molecule` and `matrix`; the others in `chain` and `tensors`. [`solve_sweep`] solves the points of a sweep of parameters, on several cards as a `queue`, and [`sweep_curves`] makes their curves. A [`RunObserver`] sees what is
//! planned and how it goes on.

mod chain;
mod context;
mod curve_sweep;
mod device;
mod diagonalise;
mod entanglement;
mod lattice;
mod matrix;
mod molecule;
mod molecule_levels;
mod orbitals;
mod over_ranks;
mod pieces;
mod queue;
mod records;
mod sweep;
mod tensors;
mod transitions;

pub use context::{CheckpointRequest, RunContext, RunObserver, Silent};
pub use curve_sweep::{MakeCurves, sweep_curves};
pub use device::open_device;
pub(crate) use device::{ChosenDevice, choose_device};
pub(crate) use pieces::{PieceSaver, operators_setting, setting};
pub use sweep::solve_sweep;

use super::{ChainProblem, Family, LatticeProblem, MatrixProblem, MoleculeProblem, Problem, TensorProblem};
use crate::Error;
use crate::input::InputFile;
use crate::report::{Outcome, StateVectors};
use eigenforge_runtime::Device;
use eigenforge_runtime::tune::Tuning;
use std::path::{Path, PathBuf};

/// Writes one file that only a family has into a folder, and returns its path.
pub type WriteFile<'p> = Box<dyn FnOnce(&Path) -> Result<PathBuf, Error> + 'p>;

/// Brings eigenvectors from the device that found them, with their basis.
pub type BringVectors<'p> = Box<dyn FnOnce() -> Result<StateVectors, Error> + 'p>;

/// What a run found.
pub struct Solved<'p> {
    /// The record of the run.
    pub outcome: Outcome,
    /// The eigenvectors, where the file wants them.
    pub vectors: Option<BringVectors<'p>>,
    /// Files beside report, pictures and vectors, for an output folder: density matrices.
    pub files: Vec<WriteFile<'p>>,
    /// Files that the run itself has written, or why it could not: what was computed is shown before that is said.
    pub written: Result<Vec<PathBuf>, Error>,
}

impl<'p> Solved<'p> {
    /// A run that writes only into an output folder.
    fn new(outcome: Outcome) -> Solved<'p> {
        Solved { outcome, vectors: None, files: Vec::new(), written: Ok(Vec::new()) }
    }

    /// Writes the report, its pictures and the family's files into a folder, if there is one; returns the paths of all
    /// files of the run.
    ///
    /// # Errors
    /// A folder that cannot be made or written; a file that the run could not write.
    pub fn write(self, folder: Option<&Path>) -> Result<Vec<PathBuf>, Error> {
        let mut written = self.written?;
        let Some(folder) = folder else { return Ok(written) };
        written.extend(self.outcome.write(folder)?);
        if let Some(vectors) = self.vectors {
            written.push(vectors()?.write(folder)?);
        }
        for file in self.files {
            written.push(file(folder)?);
        }
        Ok(written)
    }
}

/// A problem that can be run.
pub trait Solvable: Problem {
    /// Finds the states and measures what is asked for, or transforms.
    ///
    /// # Errors
    /// A device that is not there or too small, a solver or a compiler that fails, a checkpoint of another run, a signal.
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, Error>;

    /// Makes ready what a solve on a device will ask for and needs no memory of it: plans, kernels. What fails here is told by the solve.
    fn prepare(&self, _device: &Device) {}

    /// The folder that the file wants its report in, if it names one.
    fn folder(&self) -> Option<&Path>;

    /// Refuses, by name, a problem whose kernels have one shape only.
    ///
    /// # Errors
    /// [`Error::NotOfFamily`].
    fn check_shapes(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Times the shapes of its kernels on a card and keeps the fastest for later runs.
    ///
    /// # Errors
    /// The errors of [`Solvable::check_shapes`]; a device that is no card; a problem that does not fit; a shape whose numbers differ.
    fn tune(&self, device: &Device) -> Result<Tuning, Error>;
}

/// The problem of a file, to be run.
///
/// # Errors
/// The errors of [`open`](crate::inspection::open), or a file with sweeps, which [`solve_sweep`] solves.
pub fn solvable(file: InputFile) -> Result<Box<dyn Solvable + Send>, Error> {
    Ok(match file {
        InputFile::Lattice(file) => Box::new(LatticeProblem::new(*file)?),
        InputFile::Ci(file) => Box::new(MoleculeProblem::read(*file)?),
        InputFile::Dmrg(file) => Box::new(ChainProblem::new(*file)?),
        InputFile::Su3(file) => Box::new(TensorProblem::new(*file)),
        InputFile::Matrix(file) => Box::new(MatrixProblem::new(*file)),
        sweep @ InputFile::Sweep(_) => {
            let why = "this takes one problem; give every swept key one value";
            return Err(Error::not_of_family(Family::from_file(&sweep), "a sweep", why));
        }
    })
}

impl Solvable for LatticeProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, Error> {
        lattice::solve(self, context)
    }

    fn prepare(&self, device: &Device) {
        lattice::prepare(self, device);
    }

    fn folder(&self) -> Option<&Path> {
        self.file.output.folder.as_deref()
    }

    fn tune(&self, device: &Device) -> Result<Tuning, Error> {
        Ok(crate::exact::tune(&self.model, self.file.solve.precision, device)?)
    }
}

impl Solvable for MoleculeProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, Error> {
        diagonalise::solve::<f64, _>(self, context)
    }

    fn folder(&self) -> Option<&Path> {
        self.file.output.folder.as_deref()
    }

    fn tune(&self, device: &Device) -> Result<Tuning, Error> {
        Ok(crate::ci::CiProblem::tune(&self.solve(), &self.file.name, device)?)
    }
}

impl Solvable for MatrixProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, Error> {
        diagonalise::solve::<f64, _>(self, context)
    }

    fn folder(&self) -> Option<&Path> {
        self.file.output.folder.as_deref()
    }

    fn check_shapes(&self) -> Result<(), Error> {
        Err(MatrixProblem::one_shape())
    }

    fn tune(&self, _: &Device) -> Result<Tuning, Error> {
        Err(MatrixProblem::one_shape())
    }
}

impl MatrixProblem {
    fn one_shape() -> Error {
        let why = "its format is chosen by bytes; `eigenforge spmv FILE --race` times the formats of a real matrix";
        Error::not_of_family(Family::Matrix, "tune", why)
    }
}

impl Solvable for ChainProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, Error> {
        chain::solve(self, context)
    }

    fn folder(&self) -> Option<&Path> {
        self.file.model.output.folder.as_deref()
    }

    fn check_shapes(&self) -> Result<(), Error> {
        Err(self.one_shape())
    }

    fn tune(&self, _: &Device) -> Result<Tuning, Error> {
        Err(self.one_shape())
    }
}

impl ChainProblem {
    fn one_shape(&self) -> Error {
        let why = "its kernels read every size from records, so one text serves all chains and has one shape";
        Error::not_of_family(Family::Dmrg, "tune", why)
    }
}

impl Solvable for TensorProblem {
    fn solve(&self, context: &RunContext) -> Result<Solved<'_>, Error> {
        tensors::solve(self, context)
    }

    fn folder(&self) -> Option<&Path> {
        None
    }

    fn tune(&self, device: &Device) -> Result<Tuning, Error> {
        Ok(crate::su3::tune(&self.file.su3, device)?)
    }
}
