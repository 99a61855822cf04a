//! The problem of a model file, whatever verb runs it: that of the solve, and what the verbs of `[spectrum]`, `[thermal]` and `[evolve]`
//! launch beside it.

use crate::input::InputFile;
use crate::path::{GeneratedFile, OperatorIr, StageError};
use crate::problem::{self, LatticeProblem, PlanDetails, Problem, SweepProblem};
use crate::{evolve, spectrum, thermal};
use eigenforge_runtime::machine::Machine;

/// The problem of a model file, planned for an NVIDIA H200.
///
/// # Errors
/// See [`open_for`].
pub fn open(file: &InputFile) -> Result<Box<dyn Problem>, StageError> {
    open_for(file, &Machine::h200())
}

/// The problem of a model file, planned for a machine, which need not be present.
///
/// # Errors
/// A file that it names cannot be read; a model that is not Hermitian, or has no state in its sector.
pub fn open_for(file: &InputFile, machine: &Machine) -> Result<Box<dyn Problem>, StageError> {
    match file {
        InputFile::Lattice(file) => Ok(Box::new(WithCurves(LatticeProblem::new((**file).clone())?))),
        InputFile::Sweep(sweep) => Ok(Box::new(SweepProblem::new((**sweep).clone(), machine, open_for)?)),
        _ => problem::open_for(file, machine),
    }
}

/// A lattice model with the curves that its file asks for.
struct WithCurves(LatticeProblem);

impl Problem for WithCurves {
    fn describe(&self) -> String {
        self.0.describe()
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        self.0.operator()
    }

    fn operator_text(&self) -> Result<String, StageError> {
        self.0.operator_text()
    }

    fn identity(&self) -> Result<String, StageError> {
        self.0.identity()
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        self.0.details()
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let (file, model) = (&self.0.file, &self.0.model);
        let mut files = self.0.generated()?;
        let mut curves = Vec::new();
        // Beside [thermal] its chains are in the sectors of the ensemble.
        if let Some(spec) = file.spectrum.as_ref().filter(|_| file.thermal.is_none()) {
            curves.extend(spectrum::chain_files(file, model, spec)?);
        }
        if let Some(spec) = &file.thermal {
            curves.extend(thermal::sector_files(file, spec)?);
        }
        if let Some(spec) = &file.evolve {
            curves.extend(evolve::step_files(file, spec, model)?);
        }
        for curve in curves {
            // Sectors share most of their texts, with each other and with the solve.
            if files.iter().all(|known| known.text.name != curve.text.name || known.text.text != curve.text.text) {
                files.push(curve);
            }
        }
        Ok(files)
    }

    fn block_operations(&self) -> Result<Vec<GeneratedFile>, StageError> {
        self.0.block_operations()
    }
}
