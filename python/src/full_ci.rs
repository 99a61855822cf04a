//! Full CI of one's own vectors, in PySCF's order: rows are α strings and columns β strings, each in ascending integers.
//!
//! In: integrals of spatial orbitals and vectors. Out: H x, and one- and two-body density matrices. PySCF's sign convention is the library's.

use crate::calls::long;
use crate::errors::input_error;
use eigenforge::Error;
use eigenforge::ci::{Integrals, OneBody, Space, TwoBody, full_ci, spins};
use eigenforge::runtime::solvers::{Preconditioner, SolveOptions, Solver, StopReason, solve};
use eigenforge::runtime::{Device, DeviceError, ElementFunction, LinearOperator, Vector};
use eigenforge_product::Hamiltonian;
use numpy::ndarray::Array1;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray4, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// How many times longer than a unit vector a start is handed to the solver: the random part that the solver adds is by so much smaller.
const CERTAINTY: f64 = 1e3;

/// A start that the next search takes.
type Start = Arc<Mutex<Option<Arc<Vec<f64>>>>>;

/// H of integrals on a device.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct FullCi {
    hamiltonian: Hamiltonian<'static>,
    core: f64,
    vectors: Mutex<[Vector<f64>; 2]>,
    start: Start,
}

/// The start as a function of the index.
fn guess(start: &Start, device: &Device) -> Result<Option<ElementFunction>, DeviceError> {
    let Some(vector) = start.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return Ok(None) };
    if device.runs_kernels() {
        return Ok(Some(ElementFunction::stored_diagonal(Arc::new(device.buffer(&vector)?))));
    }
    Ok(Some(ElementFunction::host_diagonal(move |first, out| out.copy_from_slice(&vector[first..first + out.len()]))))
}

fn space(orbitals: usize, up: usize, down: usize) -> Result<Space, Error> {
    Ok(Space::full(orbitals, up, down)?)
}

#[pymethods]
impl FullCi {
    /// `one` is the packed lower triangle of h, `two` that of (pq|rs) over packed pairs.
    #[new]
    fn new(
        py: Python<'_>,
        counts: (usize, usize, usize),
        one: PyReadonlyArray1<'_, f64>,
        two: PyReadonlyArray1<'_, f64>,
        core: f64,
        device: &str,
    ) -> PyResult<FullCi> {
        let (orbitals, up, down) = counts;
        let (one, two) = (one.as_array().to_vec(), two.as_array().to_vec());
        let (electrons, two_sz) = (up + down, up as i64 - down as i64);
        let integrals = Integrals { electrons, two_sz, core, one, two, ..Integrals::zero(orbitals) };
        if !integrals.is_whole() {
            return Err(input_error(&format!("expected packed integrals of {orbitals} orbitals"), ""));
        }
        long(py, || {
            let (space, device) = (space(orbitals, up, down)?, Device::parse(device)?);
            let plan = full_ci(&integrals, &space, None, &device)?;
            let start = Start::default();
            let read = Arc::clone(&start);
            let hamiltonian = Hamiltonian::new(plan, "full CI", &device)?.guessing(move |device| guess(&read, device));
            let zeros = || device.zeros(space.len() as usize);
            let vectors = Mutex::new([zeros()?, zeros()?]);
            Ok(FullCi { hamiltonian, core: integrals.core, vectors, start })
        })
    }

    /// The lowest state, searched from a vector, and certified where asked for: energy, vector, residual norm, whether it is below `tolerance`
    /// times the norm of H, and iterations.
    #[allow(clippy::type_complexity)] // what a search finds
    fn lowest<'py>(
        &self,
        py: Python<'py>,
        start: PyReadonlyArray1<'py, f64>,
        tolerance: f64,
        max_iterations: usize,
        certify: bool,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f64>>, f64, bool, usize)> {
        let start = start.as_array();
        let dimension = LinearOperator::<f64>::dimension(&self.hamiltonian);
        let length = start.dot(&start).sqrt();
        if start.len() != dimension || !(length > 0.0 && length.is_finite()) {
            let found = format!("{} of length {length}", start.len());
            return Err(input_error(
                &format!("expected a start of {dimension} finite elements that are not all zero, found {found}"),
                "",
            ));
        }
        let scaled = start.iter().map(|element| CERTAINTY / length * element).collect();
        let (energy, vector, residual, converged, iterations) = long(py, || {
            *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(scaled));
            let preconditioner = Preconditioner::Jacobi;
            let options =
                SolveOptions { tolerance, max_iterations, preconditioner, certify, ..SolveOptions::default() };
            let pairs = solve::<f64>(&self.hamiltonian, Solver::Lobpcg, &options)?;
            let converged = matches!(pairs.stop, StopReason::Converged | StopReason::Dense);
            let vector = Array1::from(pairs.vectors[0].download()?);
            Ok((pairs.values[0] + self.core, vector, pairs.residuals[0], converged, pairs.iterations))
        })?;
        Ok((energy, vector.into_pyarray(py), residual, converged, iterations))
    }

    /// H x of a vector.
    fn multiply<'py>(&self, py: Python<'py>, x: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let x = x.as_array();
        let found = long(py, || {
            let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
            let [input, output] = &mut *vectors;
            match x.as_slice() {
                Some(values) => input.write(values)?,
                None => input.write(&x.to_vec())?,
            }
            LinearOperator::<f64>::multiply(&self.hamiltonian, input, output)?;
            let mut y = Array1::from(output.download()?);
            if self.core != 0.0 {
                y.scaled_add(self.core, &x);
            }
            Ok(y)
        })?;
        Ok(found.into_pyarray(py))
    }
}

/// γ^α_pq, γ^β_pq = ⟨a†_p a_q⟩ and, where asked for, Γ_pqrs = Σ ⟨a†_p a†_r a_s a_q⟩, averaged over the rows of `vectors`.
#[pyfunction]
#[allow(clippy::type_complexity)] // three arrays
pub(crate) fn density_matrices<'py>(
    py: Python<'py>,
    counts: (usize, usize, usize),
    vectors: PyReadonlyArray2<'py, f64>,
    two_body: bool,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray4<f64>>>)> {
    let ((orbitals, up, down), vectors) = (counts, vectors.as_array());
    let (one, two) = long(py, || {
        let space = space(orbitals, up, down)?;
        let one = OneBody::new(&space, &vectors)?;
        let two = two_body.then(|| TwoBody::new(&space, &vectors)).transpose()?;
        Ok((one, two))
    })?;
    Ok((one.alpha.into_pyarray(py), one.beta.into_pyarray(py), two.map(|two| two.values.into_pyarray(py))))
}

/// ⟨S²⟩ of each row of `vectors`, of length 1.
#[pyfunction]
pub(crate) fn spin_squares(
    py: Python<'_>,
    counts: (usize, usize, usize),
    vectors: PyReadonlyArray2<'_, f64>,
) -> PyResult<Vec<f64>> {
    let ((orbitals, up, down), vectors) = (counts, vectors.as_array());
    let found = long(py, || Ok(spins(&space(orbitals, up, down)?, &vectors)?))?;
    Ok(found.iter().map(|spin| spin.square).collect())
}
