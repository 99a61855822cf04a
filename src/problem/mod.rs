//! A problem: the content of a model file, for any family.
//!
//! ```text
//! model file → InputFile → Problem → describe, operator, plan, generated files, cost
//! ```
//!
//! | file | problem |
//! |---|---|
//! | `lattice` | a model on a lattice, diagonalised |
//! | `molecule` | configuration interaction |
//! | `chain` | DMRG |
//! | `tensors` | an interaction as SU(3) tensors |
//! | `matrix` | a Hermitian matrix, diagonalised |
//! | `sweep` | any of them with a list of values for some of its keys |
//! | `plan` | memory, work, choices and kernels of any of them as data |
//! | `inspect` | any stage of any of them as text |
//!
//! Every command that examines a problem without running it (`inspect`, `inspect --dump`, `build`), and the gallery of
//! generated kernels, uses [`Problem`]; a family that implements it supports all of them.

mod chain;
mod inspect;
mod lattice;
mod matrix;
mod molecule;
mod plan;
pub mod run;
mod sweep;
mod tensors;

pub use crate::input::Family;
pub use chain::ChainProblem;
pub(crate) use chain::written_state;
pub use inspect::{Inspected, Inspection, every_file, files_of_run, inspect};
pub use lattice::LatticeProblem;
pub use matrix::MatrixProblem;
pub use molecule::MoleculeProblem;
pub use plan::{PlanDetails, PlannedBytes, PlannedChoice, PlannedFile, PlannedWay, PlannedWork, RunPlan};
pub use sweep::{Sharing, SweepProblem};
pub use tensors::TensorProblem;

use crate::input::InputFile;
use crate::path::{GeneratedFile, OperatorIr, StageError};
use eigenforge_runtime::machine::Machine;

/// The problem of a model file, ready to be planned.
pub trait Problem {
    /// Model, lattice or space, sector, and every important default: the first output of `solve`. Ends in a line feed.
    fn describe(&self) -> String;

    /// The operator in its sector.
    ///
    /// # Errors
    /// [`StageError::NoStage`] if there is no operator, or it cannot be written as data.
    fn operator(&self) -> Result<OperatorIr, StageError>;

    /// The operator for people: its terms, and the family's analysis of them.
    ///
    /// # Errors
    /// See [`Problem::operator`].
    fn operator_text(&self) -> Result<String, StageError> {
        Ok(self.operator()?.to_string())
    }

    /// A hash of what determines the numbers of a run: operator, sector and what the family describes.
    ///
    /// # Errors
    /// An input that cannot be read.
    fn identity(&self) -> Result<String, StageError> {
        Ok(plan::identity_of(&[&self.describe(), &self.operator_text()?]))
    }

    /// What the run holds, computes and chooses beyond its generated files.
    ///
    /// # Errors
    /// The plan cannot be made.
    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError>;

    /// The generated files of a run, with their launches and minimal work, for a card that need not be present.
    ///
    /// # Errors
    /// The plan cannot be made, for example because it needs more memory than any card has.
    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError>;

    /// The solver's block operations in all sizes, of which [`Problem::generated`] has a few; none of a family without such a solver.
    ///
    /// # Errors
    /// As of [`Problem::generated`].
    fn block_operations(&self) -> Result<Vec<GeneratedFile>, StageError> {
        Ok(Vec::new())
    }
}

/// The problem of a model file, planned for a machine, which need not be present. [`crate::inspection`] adds what its curves launch.
///
/// # Errors
/// A file that it names cannot be read; a model that is not Hermitian, or has no state in its sector.
pub(crate) fn open_for(file: &InputFile, machine: &Machine) -> Result<Box<dyn Problem>, StageError> {
    Ok(match file {
        InputFile::Lattice(file) => Box::new(LatticeProblem::new((**file).clone())?),
        InputFile::Ci(file) => Box::new(MoleculeProblem::read((**file).clone())?.planned_for(machine.clone())),
        InputFile::Dmrg(file) => Box::new(ChainProblem::new((**file).clone())?.planned_for(machine.clone())),
        InputFile::Su3(file) => Box::new(TensorProblem::new((**file).clone())),
        InputFile::Matrix(file) => Box::new(MatrixProblem::new((**file).clone()).planned_for(machine.clone())),
        InputFile::Sweep(sweep) => Box::new(SweepProblem::new((**sweep).clone(), machine, open_for)?),
    })
}
