//! A lattice: its sites, bonds and momenta as numbers.

use crate::errors::raised;
use eigenforge::input::parse_lattice;
use eigenforge::lattice::{self, Bond, Momenta};
use eigenforge::report::{ClusterRecord, ReportError};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// What `[lattice]` of a model file describes.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct LatticeData {
    lattice: lattice::Lattice,
}

/// A site, another, and the weight of their bond.
type BondRow = (usize, usize, f64);

fn row(bond: &Bond) -> BondRow {
    (bond.i, bond.j, bond.weight)
}

impl LatticeData {
    fn checked(&self, site: usize) -> PyResult<usize> {
        let sites = self.lattice.sites().len();
        match site < sites {
            true => Ok(site),
            false => Err(PyIndexError::new_err(format!("expected a site from 0 to {}, found {site}", sites - 1))),
        }
    }
}

#[pymethods]
impl LatticeData {
    /// Of the keys of `[lattice]`, as TOML.
    #[new]
    fn new(text: &str) -> PyResult<LatticeData> {
        Ok(LatticeData { lattice: parse_lattice("the lattice", text).map_err(|error| raised(error.into()))? })
    }

    fn describe(&self) -> String {
        self.lattice.describe()
    }

    /// The lattice as a report has it, JSON.
    fn record(&self) -> PyResult<String> {
        serde_json::to_string(&ClusterRecord::new(&self.lattice))
            .map_err(|error| raised(ReportError::from(error).into()))
    }

    fn sites(&self) -> usize {
        self.lattice.sites().len()
    }

    fn bonds(&self) -> Vec<BondRow> {
        self.lattice.bonds().iter().map(row).collect()
    }

    /// The name of each bond's kind, empty of a further bond; no names where the lattice has no kinds.
    fn bond_kinds(&self) -> Vec<&'static str> {
        let names = self.lattice.kind().bond_kinds();
        let name = |bond: &Bond| names.get(bond.kind).copied().unwrap_or_default();
        if names.is_empty() { Vec::new() } else { self.lattice.bonds().iter().map(name).collect() }
    }

    fn bonds_at(&self, shell: usize) -> Vec<BondRow> {
        self.lattice.bonds_at(shell).iter().map(row).collect()
    }

    fn neighbors(&self, site: usize) -> PyResult<Vec<usize>> {
        Ok(self.lattice.neighbors(self.checked(site)?))
    }

    fn distance(&self, i: usize, j: usize) -> PyResult<f64> {
        Ok(self.lattice.distance(self.checked(i)?, self.checked(j)?))
    }

    fn displacement(&self, i: usize, j: usize) -> PyResult<Option<[f64; 2]>> {
        Ok(self.lattice.displacement(self.checked(i)?, self.checked(j)?))
    }

    /// (sites, 2).
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let at = |(site, axis): (usize, usize)| self.lattice.position(site)[axis];
        Array2::from_shape_fn((self.lattice.sites().len(), 2), at).into_pyarray(py)
    }

    /// The whole numbers k of every momentum, as `[symmetry]` has them, one for each periodic direction.
    fn momenta(&self) -> Vec<Vec<i64>> {
        Momenta::new(&self.lattice).all()
    }

    /// The momenta in units of the reciprocal vectors: (momenta, 2).
    fn momentum_fractions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let momenta = Momenta::new(&self.lattice);
        let rows: Vec<[f64; 2]> = momenta.all().iter().map(|k| momenta.fraction(k)).collect();
        Array2::from_shape_fn((rows.len(), 2), |(row, axis)| rows[row][axis]).into_pyarray(py)
    }

    /// (2, 2): a row each.
    fn primitive_vectors<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let vectors = self.lattice.primitive_vectors();
        Array2::from_shape_fn((2, 2), |(row, axis)| vectors[row][axis]).into_pyarray(py)
    }
}
