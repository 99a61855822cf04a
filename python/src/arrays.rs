//! Arrays of the library as NumPy's.

use eigenforge::report::{NamedArray, VectorRows};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A dictionary of arrays.
pub(crate) fn arrays<'py>(py: Python<'py>, named: Vec<(&'static str, NamedArray)>) -> PyResult<Bound<'py, PyDict>> {
    let arrays = PyDict::new(py);
    for (name, array) in named {
        match array {
            NamedArray::Numbers(numbers) => arrays.set_item(name, numbers.into_pyarray(py))?,
            NamedArray::Vectors(VectorRows::Real(rows)) => arrays.set_item(name, rows.into_pyarray(py))?,
            NamedArray::Vectors(VectorRows::Complex(rows)) => arrays.set_item(name, rows.into_pyarray(py))?,
            NamedArray::Vectors(VectorRows::Quaternion(rows)) => arrays.set_item(name, rows.into_pyarray(py))?,
            NamedArray::States(states) => arrays.set_item(name, states.into_pyarray(py))?,
            NamedArray::LongStates(states) => arrays.set_item(name, states.into_pyarray(py))?,
        }
    }
    Ok(arrays)
}
