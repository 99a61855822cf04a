//! A Hermitian matrix in a file, to be diagonalised.

use super::plan::identity_of;
use super::{Family, PlanDetails, PlannedChoice, Problem};
use crate::input::MatrixFile;
use crate::path::{GeneratedFile, OperatorIr, Stage, StageError, block_operations, solver_programs};
use crate::words::grouped;
use eigenforge_product::{Diagonalisation, Eigenproblem, HermitianError, HermitianProblem, MultiplyPlan};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use std::cell::OnceCell;

/// A file with a matrix.
pub struct MatrixProblem {
    /// The file.
    pub file: MatrixFile,
    /// The machine that it is planned for: an H200 unless another is named.
    machine: Machine,
    /// The product there, planned on demand because formats are compared.
    multiply: OnceCell<MultiplyPlan>,
}

impl MatrixProblem {
    /// The problem of a file.
    pub fn new(mut file: MatrixFile) -> MatrixProblem {
        file.solve.resolve(file.matrix.rows());
        MatrixProblem { file, machine: Machine::h200(), multiply: OnceCell::new() }
    }

    /// This problem planned for another machine than an H200.
    pub fn planned_for(self, machine: Machine) -> MatrixProblem {
        MatrixProblem { machine, multiply: OnceCell::new(), ..self }
    }

    /// The solve that the file and the command line ask for; by Lanczos where the solver is left open and the device chooses.
    pub fn solve(&self) -> Diagonalisation<HermitianProblem<'_>> {
        let spec = &self.file.solve;
        Diagonalisation::new(&self.file.matrix, spec.solver.unwrap_or(Solver::Lanczos)).options(spec.options())
    }

    /// How several cards would get x in a multiply; `None` where the matrix has fewer blocks than cards.
    pub fn sharing(&self, cards: usize) -> Option<String> {
        let cards = cards.try_into().unwrap_or(u32::MAX);
        self.multiply().0.received(cards).map(|received| received.describe())
    }

    /// The product, planned on first use.
    fn multiply(&self) -> &MultiplyPlan {
        self.multiply.get_or_init(|| self.file.matrix.multiply_on(&self.machine))
    }
}

/// The product, and the formats that were compared.
struct MatrixPlan<'p>(&'p MultiplyPlan);

impl PlanDetails for MatrixPlan<'_> {
    fn memory(&self) -> Vec<(String, u64)> {
        self.0.0.table_bytes().into_iter().map(|(what, bytes)| (what.into(), bytes)).collect()
    }

    fn choices(&self) -> Vec<PlannedChoice> {
        self.0.0.format().and_then(|stored| stored.choice()).into_iter().collect()
    }

    fn cost_text(&self) -> String {
        self.0.0.cost_text()
    }
}

impl Problem for MatrixProblem {
    fn describe(&self) -> String {
        let (solve, matrix) = (&self.file.solve, &self.file.matrix);
        let real = match matrix.real_rows() == matrix.rows() {
            true => String::new(),
            false => format!(
                "         solved on vectors of {} real parts, which have each state {} times; each is reported once\n",
                grouped(matrix.real_rows().into()),
                matrix.kind().parts()
            ),
        };
        format!(
            "model    {}\n         {}\n{real}\
             solve    solver {}, {}, tolerance {:e} on |Hx - Ex| / |H|, at most {} iterations, seed {}{}\n",
            self.file.name,
            self.file.describe(),
            solve.solver_name(),
            solve.states_text(),
            solve.tolerance,
            solve.max_iterations,
            solve.seed,
            if solve.certify { ", multiplets certified" } else { ", multiplets not certified" }
        )
    }

    fn operator(&self) -> Result<OperatorIr, StageError> {
        let why = "its elements are those of the file: no operator is known that they are made from";
        Err(StageError::NoStage { stage: Stage::IrRon, family: Family::Matrix.to_string(), why: why.into() })
    }

    fn operator_text(&self) -> Result<String, StageError> {
        Ok(self.describe())
    }

    fn identity(&self) -> Result<String, StageError> {
        Ok(identity_of(&[&self.describe(), self.file.matrix.identity()]))
    }

    fn details(&self) -> Result<Box<dyn PlanDetails + '_>, StageError> {
        Ok(Box::new(MatrixPlan(self.multiply())))
    }

    fn generated(&self) -> Result<Vec<GeneratedFile>, StageError> {
        let multiply = self.multiply();
        let mut solve = self.solve();
        if self.file.solve.solver.is_none() {
            solve = solve.usual_solver(|_| String::new(), |_| true, |_| false).0;
        }
        let mut files = multiply.generated().map_err(HermitianError::from)?;
        files.extend(solver_programs(solve.problem.dimension(), &solve.rehearsed(multiply))?);
        Ok(files)
    }

    fn block_operations(&self) -> Result<Vec<GeneratedFile>, StageError> {
        block_operations(self.file.matrix.real_rows(), self.solve().scalar)
    }
}
