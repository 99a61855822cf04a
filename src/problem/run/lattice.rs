//! What only a model on a lattice has of a run: averages, spins, symmetries, vectors in its basis.

use super::diagonalise::{Diagonalised, Findings, Gathering, MEASURED_ROWS};
use super::entanglement::{Entanglement, write_density_matrices};
use super::records::{shape_record, spectrum};
use super::{BringVectors, RunContext, Solved, diagonalise};
use crate::Error;
use crate::exact::{LevelSpin, Model, ModelProblem, PrepareError, Received, RunError, Solution, Solve};
use crate::input::SolveSpec;
use crate::observable::Averages;
use crate::problem::{LatticeProblem, Problem};
use crate::report::{
    ClusterRecord, FamilyRecord, LatticeRecord, LevelAverages, LevelSpinRecord, ModelRecord, SpinCount, StateVectors,
    StructureFactor, SymmetryRecord, VectorRows,
};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Level;
use eigenforge_runtime::{Device, DeviceError, Scalar, SolveError};
use eigenforge_templates::ScalarType;
use ndarray::{Array1, Array2};

pub(super) fn solve<'p>(problem: &'p LatticeProblem, context: &RunContext) -> Result<Solved<'p>, Error> {
    match problem.file.solve.precision {
        ScalarType::F64 => diagonalise::solve::<f64, _>(problem, context),
        ScalarType::F32 => diagonalise::solve::<f32, _>(problem, context),
    }
}

/// States from which on a point is worth to be prepared while another is solved.
const WORTH_PREPARING: u64 = 1 << 20;

pub(super) fn prepare(problem: &LatticeProblem, device: &Device) {
    if !device.runs_kernels() || problem.model.dimension() < WORTH_PREPARING {
        return;
    }
    let (mut solve, machine) = (problem.solve(), Machine::new(device));
    if problem.file.solve.solver.is_none() {
        solve = solve.choose(device).0;
    }
    if let Ok(texts) = solve.common_texts(&machine, device.warp()) {
        let _ = device.compile_all(&texts);
    }
}

impl<'p, T: Scalar> Diagonalised<'p, T> for LatticeProblem {
    type Matrix = ModelProblem<'p>;

    fn spec(&self) -> &SolveSpec {
        &self.file.solve
    }

    fn record(&self) -> ModelRecord {
        let file = &self.file;
        ModelRecord { name: file.model.name().into(), file: file.name.clone(), text: file.text.clone() }
    }

    /// Vectors are made for what is made of them.
    fn matrix(&'p self) -> Solve<'p> {
        let file = &self.file;
        let wanted = file.output.vectors || file.entanglement.is_some() || !self.observables().is_empty();
        self.solve().values_above((file.solve.all && !wanted).then_some(MEASURED_ROWS))
    }

    fn heading(&self) -> Result<String, Error> {
        if self.file.output.vectors {
            self.model.check_list()?;
        }
        if self.file.entanglement.is_some() {
            self.model.check_entanglement(1).map_err(RunError::from)?;
        }
        Ok(self.describe() + "\n")
    }

    fn received(&self, device: &Device) -> Result<Option<Received>, Error> {
        let vector = self.model.working().dimension().saturating_mul(T::TYPE.bytes() as u64);
        Ok(self.model.received(T::TYPE, device.cards_for(vector)?)?)
    }

    /// A vector at a time.
    fn gathering(&self, _: &Solve<'p>, _: &Device) -> Option<Gathering> {
        let words = [
            "one whole vector on rank 0, for averages and files,",
            "a rank, beside its share of the solve,",
            "write `standard = false` in [observables] and leave out --vectors, or start fewer ranks on a machine",
        ];
        let bytes = self.model.in_real_gauge().dimension().saturating_mul(size_of::<T>() as u64);
        (self.file.output.vectors || !self.observables().is_empty()).then_some(Gathering { bytes, words })
    }

    /// What does not fit, with the symmetries that would make its vectors shorter.
    fn advised(&self, mut error: RunError) -> Error {
        if let RunError::Device(of_device)
        | RunError::Prepare(PrepareError::Device(of_device))
        | RunError::Solve(SolveError::Device(of_device)) = &mut error
            && let DeviceError::Memory { fits, .. } = of_device
        {
            let unused = self.file.unused_symmetries();
            if !unused.is_empty() {
                *fits += &format!("; `--sectors all` solves smaller ones one after the other ({})", unused.join(", "));
            }
        }
        error.into()
    }

    fn findings(&'p self, solve: &Solve<'p>, solution: Solution<'p, T>) -> Result<Findings<'p>, Error> {
        let LatticeProblem { file, model } = self;
        let (level, states) = averages(self, &solution)?;
        let (spins, fault) = match file.observables.standard {
            true => level_spins(&solution, &level),
            false => (Vec::new(), None),
        };
        let Entanglement { records: entanglement, left_out, matrices } = Entanglement::new(self, &solution);
        let pairs = solution.eigenpairs();
        let verbs = [
            ("spectrum", file.spectrum.is_some()),
            ("thermal", file.thermal.is_some()),
            ("evolve", file.evolve.is_some()),
        ];
        let verb = |(verb, _): (&str, bool)| format!("the file has [{verb}]: `eigenforge {verb}` makes its curves");
        let other = verbs.into_iter().filter(|(_, there)| *there).map(verb);
        let notes = model.warnings().into_iter().chain(file.solve.without_effect()).chain(other);
        let notes = notes.chain(pairs.notes.iter().cloned()).chain(fault).chain(left_out).collect();
        let of_sector = || file.dimension().and_then(|dimension| u64::try_from(dimension).ok()).unwrap_or(u64::MAX);
        let symmetry = model
            .symmetry_group()
            .zip(model.symmetry_text())
            .map(|((group, plain), text)| SymmetryRecord::new(text, group, &file.lattice, plain));
        let dimension = if symmetry.is_some() { model.states() } else { of_sector() };
        let cluster = ClusterRecord::new(&file.lattice);
        let family = FamilyRecord::Lattice(Box::new(LatticeRecord {
            structure_factor: StructureFactor::new(&level, &cluster),
            lattice: cluster,
            sector: file.sector.clone(),
            symmetry,
            dimension,
            degeneracy: model.symmetry_degeneracy(),
            entanglement,
            spectrum: spectrum((pairs, file.solve.part), solution.constant(), &spins).with_statistics(model.states()),
            multiply: Some(solution.multiply_choice()),
            shape: solution.shape().map(|(shape, source)| shape_record(shape, source)),
        }));
        let averaged_over = pairs.levels.first().map_or(0, |level| level.multiplicity);
        let lowest = LevelAverages { averaged_over, averages: level };
        let vectors = file.output.vectors.then(|| vectors(model, solution)).transpose()?;
        let files = write_density_matrices(matrices);
        Ok(Findings { family, method: solve.solver.into(), notes, lowest, states, vectors, files })
    }
}

/// The vectors; of several ranks each has its share of them, and gives it here.
fn vectors<'p, T: Scalar>(model: &'p Model, solution: Solution<'p, T>) -> Result<BringVectors<'p>, Error> {
    let shared = solution.device().ranks().map(|_| rows(model, &solution)).transpose()?;
    Ok(Box::new(move || {
        let vectors = shared.map_or_else(|| rows(model, &solution), Ok)?;
        Ok(StateVectors { energies: solution.energies().to_vec(), vectors, states: model.into() })
    }))
}

/// The total spins of all levels, where H conserves it; why there are none if their averages failed, which costs the run nothing else.
fn level_spins<T: Scalar>(solution: &Solution<'_, T>, lowest: &Averages) -> (Vec<LevelSpinRecord>, Option<String>) {
    let squared = lowest.pairs("sdots").map(|products| products.sum());
    let record = |spin: LevelSpin| LevelSpinRecord::new(spin.s_squared, spin.two_s.map(|two_s| SpinCount::all(&two_s)));
    match solution.level_spins(squared) {
        Ok(spins) => (spins.into_iter().map(record).collect(), None),
        Err(error) => (Vec::new(), Some(format!("the spins of the levels were left out: {error}"))),
    }
}

/// Averages over the lowest level, and those of the file's own observables over the level of each state.
fn averages<T: Scalar>(
    problem: &LatticeProblem,
    solution: &Solution<'_, T>,
) -> Result<(Averages, Vec<Averages>), RunError> {
    let (file, wanted) = (&problem.file, problem.observables());
    if wanted.is_empty() {
        return Ok((Averages::default(), Vec::new()));
    }
    let level = solution.level_averages(&wanted)?;
    let own = |name: &str| file.observed.iter().any(|observable| observable.name == name);
    let of_lowest =
        || level.iter().filter(|(name, _)| own(name)).map(|(name, found)| (name.to_string(), found.clone()));
    let levels = if file.observed.is_empty() { &[] } else { solution.levels() };
    let mut by_state: Vec<Averages> = Vec::new();
    for (place, Level { returned, .. }) in levels.iter().enumerate() {
        let of_level = match place {
            0 => of_lowest().collect(),
            _ => solution.state_averages(by_state.len(), &file.observed)?,
        };
        by_state.extend(std::iter::repeat_n(of_level, *returned));
    }
    Ok((level, by_state))
}

/// The vectors on the host, one per row.
fn rows<T: Scalar>(model: &Model, solution: &Solution<'_, T>) -> Result<VectorRows, DeviceError> {
    let count = solution.energies().len();
    Ok(match model.is_complex() {
        true => VectorRows::Complex(joined(solution.complex_vectors()?.into_iter().map(Ok), count)?),
        false => VectorRows::Real(joined((0..count).map(|state| solution.vector(state)), count)?),
    })
}

/// `count` vectors as the rows of a matrix.
fn joined<E: Clone + Default>(
    vectors: impl Iterator<Item = Result<Vec<E>, DeviceError>>,
    count: usize,
) -> Result<Array2<E>, DeviceError> {
    let mut matrix = Array2::default((count, 0));
    for (row, vector) in vectors.enumerate() {
        let vector = Array1::from(vector?);
        if row == 0 {
            matrix = Array2::default((count, vector.len()));
        }
        matrix.row_mut(row).assign(&vector);
    }
    Ok(matrix)
}
