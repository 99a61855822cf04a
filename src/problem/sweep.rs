//! A problem with a list of values for some of its keys: one problem for each point.

use super::plan::identity_of;
use super::{LatticeProblem, PlanDetails, PlannedChoice, Problem, open_for};
use crate::exact::{ShareError, SharedKernels};
use crate::input::{InputFile, ParameterSweep};
use crate::path::{FamilyError, GeneratedFile, OperatorIr, Stage, StageError};
use eigenforge_runtime::machine::Machine;
use eigenforge_templates::Cost;

impl FamilyError for ShareError {}

/// Which points of a lattice model share a text; `None` of other families.
///
/// # Errors
/// A point that cannot be planned.
pub(super) fn shared_kernels(sweep: &ParameterSweep) -> Result<Option<SharedKernels>, ShareError> {
    let mut shared = SharedKernels::default();
    for point in &sweep.points {
        let InputFile::Lattice(file) = &point.file else { return Ok(None) };
        if file.symmetry.is_some() {
            shared.add_stored();
            continue;
        }
        shared.add(&file.to_model()?, file.solve.precision)?;
    }
    Ok(Some(shared))
}

/// A model file with sweeps; what it shows of a point is of the first.
pub struct SweepProblem {
    /// The file of each point.
    pub sweep: ParameterSweep,
    first: Box<dyn Problem>,
    machine: Machine,
}

impl SweepProblem {
    /// The problems of a sweep, planned for a machine.
    ///
    /// # Errors
    /// The errors of [`super::open_for`] for the first point.
    pub fn new(sweep: ParameterSweep, machine: &Machine) -> Result<SweepProblem, StageError> {
        let first = open_for(&sweep.points[0].file, machine)?;
        Ok(SweepProblem { sweep, first, machine: machine.clone() })
    }

    /// "point 1 of 4: u = 1".
    fn heading(&self) -> String {
        format!("// point 1 of {}: {}\n", self.sweep.points.len(), self.sweep.label(0))
    }
}

/// The plan of a sweep: of its first point, and which points share kernels.
struct SweepPlan<'p> {
    about: String,
    heading: String,
    first: Box<dyn PlanDetails + 'p>,
}

impl PlanDetails for SweepPlan<'_> {
    fn memory(&self) -> Vec<(String, u64)> {
        self.first.memory()
    }

    fn work(&self) -> Vec<(String, Cost)> {
        self.first.work()
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        self.first.choices()
    }

    fn plan_text(&self) -> String {
        format!("{}{}{}", self.about, self.heading, self.first.plan_text())
    }

    fn cost_text(&self) -> String {
        format!("{}{}", self.heading, self.first.cost_text())
    }
}

impl Problem for SweepProblem {
    fn describe(&self) -> String {
        self.sweep.describe() + &self.first.describe()
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let why =
            "each point of a sweep has an operator of its own; give the file one value, or take --stage ir".into();
        Err(StageError::NoStage { stage: Stage::IrRon, family: "a sweep of parameters".into(), why })
    }

    fn operator_text(&self) -> Result<String, StageError> {
        Ok(self.heading() + &self.first.operator_text()?)
    }

    fn identity(&self) -> Result<String, StageError> {
        Ok(identity_of(&[&self.sweep.describe(), &self.first.identity()?]))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        let texts = shared_kernels(&self.sweep)?.map_or(String::new(), |shared| shared.describe());
        let about = self.sweep.describe() + &texts;
        Ok(Box::new(SweepPlan { about, heading: self.heading(), first: self.first.details()? }))
    }

    /// The files of all points, each text once.
    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let arguments = shared_kernels(&self.sweep)?.map_or(Vec::new(), |shared| shared.arguments());
        let mut files: Vec<GeneratedFile> = Vec::new();
        for (number, point) in self.sweep.points.iter().enumerate() {
            let of_point = match &point.file {
                InputFile::Lattice(file) => {
                    LatticeProblem::new((**file).clone())?.sharing(arguments[number].clone()).generated()?
                }
                file => open_for(file, &self.machine)?.generated()?,
            };
            for file in of_point {
                if !files.iter().any(|other| other.text.text == file.text.text) {
                    files.push(file);
                }
            }
        }
        Ok(files)
    }
}
