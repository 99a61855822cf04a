//! The reference data as types: what tests/data/ci holds.

use eigenforge::ci::Integrals;
use serde::Deserialize;
use std::path::PathBuf;

/// Path of a file.
pub fn path(name: &str) -> PathBuf {
    // The tests also run on machines where they were not built.
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(root).join("tests").join("data").join("ci").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The integrals of one of the molecules.
pub fn integrals(id: &str) -> Integrals {
    Integrals::read(path(&format!("{id}.FCIDUMP"))).unwrap_or_else(|error| panic!("{id}: {error}"))
}

/// energies.json: total energies, with the core.
#[derive(Deserialize)]
pub struct Energies {
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    pub n_alpha: usize,
    pub n_beta: usize,
    pub norb: usize,
    pub ecore: f64,
    pub fci_dim: u64,
    pub dets_per_excitation_level: Vec<u128>,
    /// All configuration state functions with S = Ms.
    pub csf_total: u128,
    /// By level; of closed shells.
    pub csf_per_level: Option<Vec<u128>>,
    /// Lowest of all irreps, with multiplicity.
    pub fci_roots: Vec<f64>,
    pub cisd_roots: Option<Vec<f64>>,
    pub truncated: Vec<Truncated>,
}

/// Lowest energy of the reference's irrep, in all determinants up to a level.
#[derive(Deserialize)]
pub struct Truncated {
    pub level: usize,
    /// Of all irreps.
    pub dets: u64,
    pub energy: f64,
}

pub fn energies() -> Vec<Case> {
    serde_json::from_str::<Energies>(&text("energies.json")).unwrap().cases
}

/// spin_squares.json.
#[derive(Deserialize)]
struct SpinSquares {
    cases: Vec<Squares>,
}

#[derive(Deserialize)]
struct Squares {
    id: String,
    squares: Vec<f64>,
}

/// ⟨S²⟩ of the full-CI roots of a molecule.
pub fn spin_squares(id: &str) -> Vec<f64> {
    let cases = serde_json::from_str::<SpinSquares>(&text("spin_squares.json")).unwrap().cases;
    cases.into_iter().find(|case| case.id == id).unwrap_or_else(|| panic!("{id}")).squares
}

/// matrices.json, whose note says what the numbers are.
#[derive(Deserialize)]
pub struct Matrices {
    pub matrices: Vec<Matrix>,
}

#[derive(Deserialize)]
pub struct Matrix {
    pub name: String,
    pub fcidump: String,
    /// A number, or "full".
    pub max_excitation_level: serde_json::Value,
    pub symmetry: String,
    pub dim: usize,
    pub non_zeros: u64,
    pub row_lengths_hash: u64,
    pub lowest_eigenvalues: Vec<f64>,
    pub ecore: f64,
    pub first_y: usize,
    pub y_step: usize,
}

pub fn matrices() -> Vec<Matrix> {
    serde_json::from_str::<Matrices>(&text("matrices.json")).unwrap().matrices
}

/// y of all matrices, one after another.
pub fn matrix_y() -> Vec<f64> {
    ndarray_npy::read_npy::<_, ndarray::Array1<f64>>(path("matrix_y.npy")).unwrap().to_vec()
}

/// A molecule of unrestricted.json.
#[derive(Deserialize)]
pub struct Unrestricted {
    pub id: String,
    pub orbitals: usize,
    pub alpha: usize,
    pub beta: usize,
    pub core: f64,
    pub energies: Vec<f64>,
    pub dipole: Vec<f64>,
    pub gamma_alpha: Vec<f64>,
    pub gamma_beta: Vec<f64>,
}

pub fn unrestricted() -> Vec<Unrestricted> {
    #[derive(Deserialize)]
    struct Cases {
        cases: Vec<Unrestricted>,
    }
    serde_json::from_str::<Cases>(&text("unrestricted.json")).unwrap().cases
}
