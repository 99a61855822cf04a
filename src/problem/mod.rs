//! A problem: what a model file asks for, whatever its family.
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
//! | `inspect` | any stage of any of them as text |
//!
//! Every verb that looks at a problem without running it (`inspect`, `inspect --dump`, `build`), and the gallery of generated
//! kernels, goes through [`Problem`]; a family that implements it has them all.

mod chain;
mod family;
mod inspect;
mod lattice;
mod molecule;
mod tensors;

pub use chain::ChainProblem;
pub use family::Family;
pub use inspect::{Inspected, Inspection, inspect};
pub use lattice::LatticeProblem;
pub use molecule::MoleculeProblem;
pub use tensors::TensorProblem;

use crate::input::InputFile;
use crate::path::{GeneratedFile, OperatorIr, StageError};
use eigenforge_runtime::machine::Machine;

/// What a model file asks for, ready to be planned.
pub trait Problem {
    /// Model, lattice or space, sector, and every default that counts: what `solve` prints first. Ends in a line feed.
    fn describe(&self) -> String;

    /// The operator in its sector.
    ///
    /// # Errors
    /// [`StageError::NoStage`] where there is no operator, or none that can be written as data.
    fn operator(&self) -> Result<OperatorIr, StageError>;

    /// What people should see of the operator: its terms, and what the family makes of them.
    ///
    /// # Errors
    /// As of [`Problem::operator`].
    fn operator_text(&self) -> Result<String, StageError> {
        Ok(self.operator()?.to_string())
    }

    /// What the run does beyond the plans of its generated files, such as records of operations; empty if that is all.
    ///
    /// # Errors
    /// A plan that cannot be made.
    fn plan_text(&self) -> Result<String, StageError> {
        Ok(String::new())
    }

    /// Work and memory of the run beyond what each generated file does once: choices, with their reasons.
    ///
    /// # Errors
    /// A plan that cannot be made.
    fn cost_text(&self) -> Result<String, StageError> {
        Ok(String::new())
    }

    /// The generated files of a run, with their launches and least work, on a card that need not be here.
    ///
    /// # Errors
    /// A plan that cannot be made, such as for more memory than any card has.
    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError>;
}

/// The problem of a model file, planned for an NVIDIA H200.
///
/// # Errors
/// As of [`open_for`].
pub fn open(file: &InputFile) -> Result<Box<dyn Problem>, StageError> {
    open_for(file, &Machine::h200())
}

/// The problem of a model file, planned for a machine that need not be here.
///
/// # Errors
/// Files that it names and that cannot be read; a model that is not Hermitian, or has no state in its sector.
pub fn open_for(file: &InputFile, machine: &Machine) -> Result<Box<dyn Problem>, StageError> {
    Ok(match file {
        InputFile::Lattice(file) => Box::new(LatticeProblem::new((**file).clone())?),
        InputFile::Ci(file) => Box::new(MoleculeProblem::read((**file).clone())?.on(machine.clone())),
        InputFile::Dmrg(file) => Box::new(ChainProblem::new((**file).clone())?.on(machine.clone())),
        InputFile::Su3(file) => Box::new(TensorProblem::new((**file).clone())?),
    })
}
