//! What only a matrix has of a run: vectors of its numbers.

use super::BringVectors;
use super::diagonalise::{Diagonalised, Findings, Gathering, MEASURED_ROWS};
use super::records::{shape_record, spectrum};
use crate::Error;
use crate::input::SolveSpec;
use crate::problem::{MatrixProblem, Problem};
use crate::report::{BasisStates, FamilyRecord, LevelAverages, MatrixRecord, ModelRecord, StateVectors, VectorRows};
use crate::sparse::NumberKind;
use eigenforge_product::{Diagonalisation, HermitianProblem, HermitianSolution};
use eigenforge_runtime::Device;
use eigenforge_runtime::solvers::StopReason;
use eigenforge_runtime::tune::ShapeSource;
use ndarray::{Array2, Array3};

impl<'p> Diagonalised<'p, f64> for MatrixProblem {
    type Matrix = HermitianProblem<'p>;

    fn spec(&self) -> &SolveSpec {
        &self.file.solve
    }

    fn record(&self) -> ModelRecord {
        ModelRecord { name: "matrix".into(), file: self.file.name.clone(), text: self.file.text.clone() }
    }

    /// Vectors are made for files of them.
    fn matrix(&'p self) -> Diagonalisation<HermitianProblem<'p>> {
        let alone = self.file.solve.all && !self.file.output.vectors;
        self.solve().values_above(alone.then_some(MEASURED_ROWS))
    }

    fn heading(&self) -> Result<String, Error> {
        Ok(self.describe())
    }

    /// One process has all vectors.
    fn gathering(&self, _: &Diagonalisation<HermitianProblem<'p>>, _: &Device) -> Option<Gathering> {
        None
    }

    fn findings(
        &'p self,
        solve: &Diagonalisation<HermitianProblem<'p>>,
        solution: HermitianSolution<'p>,
    ) -> Result<Findings<'p>, Error> {
        let (file, matrix, pairs) = (&self.file, &self.file.matrix, solution.eigenpairs());
        let used = solution.stored_matrix_used();
        let family = FamilyRecord::Matrix(Box::new(MatrixRecord {
            matrix: file.describe(),
            numbers: matrix.kind(),
            dimension: matrix.rows(),
            real_dimension: matrix.real_rows(),
            non_zeros: matrix.non_zeros(),
            spectrum: spectrum((pairs, file.solve.part), solution.constant(), &[]).with_statistics(matrix.rows()),
            format: used.format,
            format_reason: used.reason.clone(),
            shape: used.shape.as_ref().map(|shape| shape_record(shape, &ShapeSource::Rule)),
        }));
        let method = match pairs.stop {
            StopReason::Dense => crate::report::Method::Dense,
            _ => solve.solver.into(),
        };
        let notes = file.solve.without_effect().into_iter().chain(pairs.notes.iter().cloned()).collect();
        let vectors = file.output.vectors.then(|| -> BringVectors<'p> { Box::new(move || vectors(&solution)) });
        let (lowest, states, files) = (LevelAverages::default(), Vec::new(), Vec::new());
        Ok(Findings { family, method, notes, lowest, states, vectors, files })
    }
}

/// The vectors on the host, one per row; basis states are the rows of the matrix.
fn vectors(solution: &HermitianSolution<'_>) -> Result<StateVectors, Error> {
    let (matrix, count) = (solution.matrix(), solution.energies().len());
    let rows = matrix.rows() as usize;
    let vectors = match matrix.kind() {
        NumberKind::Real => {
            let vectors = solution.real_vectors()?;
            VectorRows::Real(Array2::from_shape_fn((count, rows), |(state, row)| vectors[state][row]))
        }
        NumberKind::Complex => {
            let vectors = solution.complex_vectors()?;
            VectorRows::Complex(Array2::from_shape_fn((count, rows), |(state, row)| vectors[state][row]))
        }
        NumberKind::Quaternion => {
            let vectors = solution.quaternion_vectors()?;
            let part = |(state, row, part): (usize, usize, usize)| vectors[state][row][part];
            VectorRows::Quaternion(Array3::from_shape_fn((count, rows, 4), part))
        }
    };
    let states = BasisStates::List((0..matrix.rows()).collect());
    Ok(StateVectors { energies: solution.energies().to_vec(), vectors, states })
}
