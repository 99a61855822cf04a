//! A model on a lattice, to be diagonalised.

use super::plan::identity_of;
use super::{PlanDetails, PlannedChoice, Problem};
use crate::exact::{Model, ModelProblem, Solve};
use crate::input::ModelFile;
use crate::observable::Observable;
use crate::operator::OperatorError;
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError, block_operations};
use crate::words::{grouped, size};
use eigenforge_runtime::machine::Card;
use eigenforge_runtime::solvers::Solver;
use eigenforge_templates::exact::CoefficientArguments;
use std::sync::Arc;

/// A model file and its model.
pub struct LatticeProblem {
    /// The file.
    pub file: ModelFile,
    /// Its operator in its sector.
    pub model: Model,
}

impl LatticeProblem {
    /// Creates the problem of a file.
    ///
    /// # Errors
    /// An operator that cannot be diagonalised in its sector.
    pub fn new(mut file: ModelFile) -> Result<LatticeProblem, OperatorError> {
        let model = file.to_model()?;
        file.solve.resolve(model.states());
        Ok(LatticeProblem { file, model })
    }

    /// The solve that the file asks for, by LOBPCG where it leaves the solver out.
    pub fn solve(&self) -> Solve<'_> {
        let spec = &self.file.solve;
        let problem = ModelProblem { model: &self.model, observables: self.observables() };
        Solve::new(problem, spec.solver.unwrap_or(Solver::Lobpcg)).options(spec.options()).scalar(spec.precision)
    }

    /// What is averaged over the lowest level.
    pub(super) fn observables(&self) -> Vec<Observable> {
        let standard = self.file.observables.standard.then(|| self.model.standard_observables());
        standard.into_iter().flatten().chain(self.file.observed.iter().cloned()).collect()
    }

    /// The same with no more states asked for than the symmetry sector has.
    pub(super) fn at_most_all(mut self) -> LatticeProblem {
        self.file.solve.states = self.file.solve.states.min(self.model.states() as usize);
        self
    }

    /// The same with kernels that take these coefficients as arguments, as other points of a sweep do.
    pub(super) fn sharing(mut self, arguments: Option<Arc<CoefficientArguments>>) -> LatticeProblem {
        self.model.share_arguments(arguments);
        self
    }
}

/// Memory of a model: how many vectors there are depends on the solver, and on the room of the device.
struct LatticePlan {
    vector: u64,
    tables: u64,
    /// How listed states are stored, if they are.
    listed: Option<String>,
    multiply: PlannedChoice,
}

impl PlanDetails for LatticePlan {
    fn memory(&self) -> Vec<(String, u64)> {
        vec![("a vector".into(), self.vector), ("tables of the Hamiltonian".into(), self.tables)]
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        vec![self.multiply.clone()]
    }

    fn plan_text(&self) -> String {
        self.listed.clone().unwrap_or_default()
    }

    fn cost_text(&self) -> String {
        self.plan_text()
    }
}

/// How the states of a model are listed and its matrix is made, a line each; `None` where neither is.
fn listed(model: &Model) -> Option<String> {
    let (elements, bytes) = model.stored_elements()?;
    let states = match model.symmetry_text() {
        Some(symmetry) => format!("symmetry {symmetry}\n"),
        None if !model.basis().is_listed() => String::new(),
        None => format!(
            "states   of {} bits, more than the 64 of generated multiplies: all {} are listed\n",
            model.basis().word().bits(),
            grouped(model.dimension().into())
        ),
    };
    if let Some(rows) = model.rows_text() {
        return Some(format!("{states}multiply {rows}\n"));
    }
    Some(format!(
        "{states}matrix   of about {} elements ({}), made once on the host and multiplied as a stored sparse matrix\n",
        grouped(elements.into()),
        size(bytes)
    ))
}

impl Problem for LatticeProblem {
    fn describe(&self) -> String {
        let numbers = self.model.numbers().map_or(String::new(), |numbers| format!("numbers  {numbers}\n"));
        format!("{}\n{numbers}{}", self.file, listed(self.model.in_real_gauge()).unwrap_or_default())
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        if self.file.symmetry.is_none() {
            return Ok(self.model.ir());
        }
        let why = "the operator as data has no symmetry sector; leave [symmetry] out for H in the whole sector".into();
        Err(StageError::NoStage { stage: Stage::IrRon, family: "a file with [symmetry]".into(), why })
    }

    fn operator_text(&self) -> Result<String, StageError> {
        let symmetry = self.model.symmetry_text().map_or(String::new(), |symmetry| format!("symmetry {symmetry}\n"));
        Ok(symmetry + &self.model.ir().to_string())
    }

    fn identity(&self) -> Result<String, StageError> {
        let parts = [self.describe(), self.operator_text()?, self.model.identity()];
        let parts = &parts[..if self.file.symmetry.is_some() { 3 } else { 2 }];
        Ok(identity_of(&parts.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        let model = self.model.in_real_gauge();
        Ok(Box::new(LatticePlan {
            vector: model.dimension().saturating_mul(self.file.solve.precision.bytes() as u64),
            tables: model.table_bytes(),
            listed: listed(model),
            multiply: model.multiply_choice(),
        }))
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let mut solve = self.solve();
        if self.file.solve.solver.is_none() {
            solve = ModelProblem::choose_on(solve, &Card::H200);
        }
        ModelProblem::generated(&solve)
    }

    fn block_operations(&self) -> Result<Vec<GeneratedFile>, StageError> {
        block_operations(self.model.dimension(), self.solve().scalar)
    }
}
