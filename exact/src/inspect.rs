//! A model's generated files, its operator as data, and any stage of it as text.

use super::averages;
use super::{Model, ModelProblem, MultiplyPlan, Solve};
use eigenforge_core::operator::{Operator, OperatorError};
use eigenforge_core::path::{self, GeneratedFile, OperatorIr, Stage, StageError, StructureKind, solver_programs};
use eigenforge_runtime::jit::{JitError, Overrides};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{Course, MatrixOutline, rehearse_course};
use eigenforge_templates::ScalarType;

impl Model {
    /// The generated files of the model in f64: its multiply, and the averages. [`ModelProblem::generated`] adds what the solver launches.
    ///
    /// # Errors
    /// A plan that cannot be made, such as one of a stored matrix that does not fit in memory.
    pub fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        self.generated_for(ScalarType::F64)
    }

    /// The same for vectors of `scalar`.
    ///
    /// # Errors
    /// As of [`Model::generated`].
    pub fn generated_for(&self, scalar: ScalarType) -> Result<Vec<GeneratedFile>, StageError> {
        self.files_of(&self.working().multiply_without_constant(scalar)?, scalar)
    }

    fn files_of(&self, multiply: &MultiplyPlan, scalar: ScalarType) -> Result<Vec<GeneratedFile>, StageError> {
        let mut files = multiply.generated()?;
        let averaged = self.averaged();
        if !averaged.basis().is_listed() {
            files.push(averages::generated(averaged, scalar)?.launched("for averages"));
        } else if let Some(rows) = averaged.made_rows(scalar) {
            // Those of a symmetry sector are taken by the kernels of its rows, whatever multiplies; others of listed states on the host.
            let mut others = MultiplyPlan::from(rows).generated()?;
            others.retain(|other| files.iter().all(|file| file.text.name != other.text.name));
            files.extend(others.into_iter().map(|other| other.launched("for averages")));
        }
        Ok(files)
    }

    /// The generated files of a chain or an evolution in the model: its multiply, and the vector programs; of an evolution under
    /// several operators those of this one.
    ///
    /// # Errors
    /// As of [`Model::generated`].
    pub fn course_files(&self, course: Course, when: &'static str) -> Result<Vec<GeneratedFile>, StageError> {
        let scalar = ScalarType::F64;
        let multiply = self.multiply_without_constant(scalar)?;
        // Chains multiply one vector at a time.
        let own = multiply.generated()?.into_iter().filter(|file| file.when.is_empty());
        let mut files: Vec<GeneratedFile> = own.map(|file| file.launched(when)).collect();
        let (dimension, is_complex) = (self.dimension(), self.is_complex());
        let outline = MatrixOutline { dimension, scalar, diagonal: None, guess: None, is_complex };
        files.extend(solver_programs(dimension, &rehearse_course(course, &outline))?);
        Ok(files)
    }

    /// The generated text of averages that are taken of vectors as the model has them, without a real gauge; `None` where the host takes them.
    ///
    /// # Errors
    /// As of [`Model::generated`].
    pub fn average_file(&self) -> Result<Option<GeneratedFile>, StageError> {
        if self.symmetric().is_some() || self.basis().is_listed() {
            return Ok(None);
        }
        Ok(Some(averages::generated(self, ScalarType::F64)?.launched("for averages")))
    }

    /// The operator IR as data.
    pub fn ir(&self) -> OperatorIr {
        let structure = if self.is_kronecker() { StructureKind::KroneckerSum } else { StructureKind::General };
        OperatorIr::new(self.name(), self.sites(), self.sector().clone(), self.dimension(), structure, self.operator())
    }

    /// The model of an operator IR. Name, terms and sums are the IR's; dimension and structure are found anew.
    ///
    /// # Errors
    /// As for any operator: not Hermitian, not conserving, an empty sector.
    pub fn from_ir(ir: &OperatorIr) -> Result<Model, OperatorError> {
        let mut operator = Operator::recorded(&ir.terms, ir.two_s, ir.sites, ir.sums.clone());
        if !ir.kinds.is_empty() {
            operator = operator.on_kinds(&ir.kinds);
        }
        operator = ir.forbidden.iter().fold(operator, |operator, states| operator.forbid(states));
        Ok(Model::new(operator, ir.sector.clone())?.named(&ir.name))
    }

    /// A stage as text; times are those of an H200. `arch` (such as "sm_90") matters from [`Stage::Ptx`] on; from
    /// [`Stage::Cuda`] on the edited texts of `EIGENFORGE_OVERRIDE` stand in for generated ones.
    ///
    /// # Errors
    /// A plan that cannot be made; from [`Stage::Ptx`] on a compiler that is missing or refuses the text.
    pub fn inspect(&self, stage: Stage, arch: &str) -> Result<String, StageError> {
        match stage {
            Stage::Ir => return Ok(self.ir().to_string()),
            Stage::IrRon => return Ok(self.ir().to_ron()),
            _ => {}
        }
        let mut files = self.generated()?;
        if stage.is_of_the_text() {
            let overrides = Overrides::from_env().map_err(JitError::from)?;
            files = files.into_iter().map(|file| file.overridden(&overrides)).collect::<Result<_, _>>()?;
        }
        path::shown(&files, None, stage, arch, &Machine::h200())
    }
}

impl ModelProblem<'_> {
    /// The generated files that a run can launch on a card, each with the line that says when: the multiply, the averages, and the
    /// solver's vector programs.
    ///
    /// # Errors
    /// As of [`Model::generated`].
    pub fn generated(solve: &Solve<'_>) -> Result<Vec<GeneratedFile>, StageError> {
        let ModelProblem { model, observables } = &solve.problem;
        let multiply = model.working().multiply_without_constant(solve.scalar)?;
        let mut files = model.files_of(&multiply, solve.scalar)?;
        if observables.is_empty() {
            files.retain(|file| file.when != "for averages");
        }
        files.extend(solver_programs(model.working().dimension(), &solve.rehearsed(&multiply))?);
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InSector;
    use eigenforge_core::basis::{Down, Up};
    use eigenforge_core::lattice::Lattice;
    use eigenforge_core::models;

    fn there_and_back(model: &Model) {
        let ir = model.ir();
        let read = OperatorIr::parse(&ir.to_ron()).unwrap();
        assert_eq!(read, ir, "{}", model.name());
        let again = Model::from_ir(&read).unwrap();
        assert_eq!(again.operator(), model.operator());
        assert_eq!(again.ir(), ir);
        assert_eq!(StructureKind::classify(model.operator()), ir.structure, "by its terms alone");
        let text = |model: &Model| model.generated().unwrap().remove(0).text;
        assert_eq!(text(&again), text(model), "{}: not the same kernel", model.name());
    }

    #[test]
    fn an_operator_comes_back_with_its_kernel() {
        // Coefficients without a short decimal form, negative zero left out by the sums, expressions in the user's words.
        let ring = Lattice::chain(5).periodic();
        let (t, u, e) = ([1.0 / 3.0; 5], [std::f64::consts::PI; 5], [0.1, -0.2, 1e-17, 1e100, 0.0]);
        let hubbard = models::hubbard(&ring, &t, &u, &e, 0.7, &[0.25; 5]).sector(Up(2), Down(3)).unwrap();
        there_and_back(&hubbard.named("ring"));
        let spins = models::xxz(&ring, &[1.0; 5], &[0.3; 5], &[0.1; 5], &[0.9; 5]).spin(2).two_sz(0).unwrap();
        there_and_back(&spins);
        there_and_back(&crate::samples::xxz(&Lattice::chain(4).open(), 1.0, 1.0, 0));
    }

    #[test]
    fn what_is_no_ir_is_refused_with_what_was_expected() {
        let ring = Lattice::chain(4).periodic();
        let model = models::xxz(&ring, &[1.0; 4], &[1.0; 4], &[0.0; 4], &[0.0; 4]).two_sz(0).unwrap();
        let ron = model.ir().to_ron();
        let message = |text: &str| OperatorIr::parse(text).unwrap_err().to_string();
        assert!(message("").contains("--stage ir-ron"));
        assert!(
            message(&ron.replace("schema: 1", "schema: 2"))
                .contains("schema 1 was expected, but this one has schema 2")
        );
        assert!(message(&ron.replace("two_s:", "three_s:")).contains("three_s"));
    }
}
