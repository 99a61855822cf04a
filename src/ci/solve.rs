//! Solving: integrals and a space in, certified states with their spins out.
//!
//! ```
//! use eigenforge::ci::{Integrals, Solve, Space};
//! use eigenforge::runtime::Device;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Two electrons in two orbitals: H2 in a minimal basis, 0.74 Å.
//! let mut h2 = Integrals::zero(2);
//! (h2.electrons, h2.core) = (2, 0.7151043391);
//! h2.one = vec![-1.2533097866, 0.0, -0.4750688488]; // h_11, h_21, h_22
//! h2.two = vec![0.6747559268, 0.0, 0.1812104620, 0.6637114014, 0.0, 0.6976515045];
//! let space = Space::full(2, 1, 1)?;
//! let solution = Solve::new(&h2, &space).states(2).run(&Device::cpu())?;
//! assert!((solution.energies()[0] + 1.1372838345).abs() < 1e-9); // full CI, PySCF
//! # Ok(()) }
//! ```
//!
//! H is multiplied in one of two ways ([`Storage`]): as a sparse matrix of which every row is made once from string
//! tables, in a generated kernel's format where kernels run; or, for full CI on the CPU, straight from the integrals.

use super::direct::{DirectError, DirectFullCi};
use super::matrix::{Hamiltonian, MatrixError, THRESHOLD};
use super::{Integrals, Space};
use crate::solve_options::solve_options;
use crate::sparse::{Choice, FormatName, RowStatistics, SparseError, SparseOperator, Target, Wish};
use eigenforge_runtime::solvers::{self, Eigenpairs, SolveOptions, Solver, StopReason};
use eigenforge_runtime::{Device, DeviceError, LinearOperator, SolveError, trace};
use std::sync::Arc;
use std::time::Instant;

/// How H is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Direct where that is possible, else stored.
    Auto,
    /// As a sparse matrix.
    Stored,
    /// From the integrals: full CI, of all irreps or of one, on the CPU.
    Direct,
}

/// Why there is no solution; a solve that did not converge is none of these, its [`Solution`] says so.
#[derive(Debug, thiserror::Error)]
pub enum CiError {
    /// The matrix could not be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// There is no product straight from the integrals.
    #[error(transparent)]
    Direct(#[from] DirectError),
    /// It could not be put on the device.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The solver refused or failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Memory or transfers.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More states than determinants.
    #[error("states = {states}, but the space has {dimension} determinants: ask for at most {dimension}")]
    States {
        /// States asked for.
        states: usize,
        /// Determinants.
        dimension: u64,
    },
    /// A product straight from the integrals was asked for where there is none.
    #[error(
        "storage = \"direct\" is for full CI, of all irreps or of one, on the CPU; found {found}: take storage = \"stored\""
    )]
    NotDirect {
        /// What was asked for.
        found: String,
    },
}

impl CiError {
    /// Whether the input asks for what there is not; else something happened while running.
    pub fn is_of_the_input(&self) -> bool {
        match self {
            CiError::States { .. } | CiError::NotDirect { .. } => true,
            CiError::Matrix(error) => !matches!(error, MatrixError::Memory(_)),
            CiError::Direct(error) => !matches!(error, DirectError::Memory(_)),
            _ => false,
        }
    }

    /// The device's error, through whichever stage it came.
    pub fn device(&self) -> Option<&DeviceError> {
        match self {
            CiError::Device(error)
            | CiError::Sparse(SparseError::Device(error))
            | CiError::Direct(DirectError::Memory(error)) => Some(error),
            CiError::Solve(SolveError::Device(error)) => Some(error),
            _ => None,
        }
    }
}

/// A solve being put together. Defaults: one state by Davidson, tolerance 1e-8 on ‖Hx − Ex‖, certified.
#[derive(Clone)]
pub struct Solve<'a> {
    integrals: &'a Integrals,
    space: &'a Space,
    solver: Solver,
    storage: Storage,
    wish: Wish,
    options: SolveOptions,
}

impl<'a> Solve<'a> {
    /// A solve of these integrals in this space.
    pub fn new(integrals: &'a Integrals, space: &'a Space) -> Solve<'a> {
        let options = SolveOptions::default();
        let wish = Wish::default();
        Solve { integrals, space, solver: Solver::Davidson, storage: Storage::Auto, wish, options }
    }

    /// Another solver.
    pub fn solver(mut self, solver: Solver) -> Self {
        self.solver = solver;
        self
    }

    /// How H is multiplied.
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self
    }

    /// The format of a stored matrix where kernels run; the one of the fewest modelled bytes unless named.
    pub fn format(mut self, format: Option<FormatName>) -> Self {
        self.wish.format = format;
        self
    }

    solve_options!();

    /// What makes this problem this problem: a hash of the integrals and the determinants.
    fn identity(&self) -> String {
        let mut hash = blake3::Hasher::new();
        for number in self.integrals.one.iter().chain(&self.integrals.two) {
            hash.update(&number.to_le_bytes());
        }
        self.space.identify(&mut hash);
        hash.finalize().to_hex().to_string()
    }

    /// What the solver will have in memory on this device beside the matrix: a name and the bytes of each thing.
    pub fn memory_plan(&self, device: &Device) -> Vec<(String, u64)> {
        let dimension = usize::try_from(self.space.len()).unwrap_or(usize::MAX);
        let needed = solvers::resident(dimension, size_of::<f64>(), self.solver, &self.options);
        let kept = solvers::kept::<f64>(device, dimension, 0, self.solver, &self.options);
        [needed].into_iter().chain(kept).collect()
    }

    /// Runs in double precision on a device.
    pub fn run(&self, device: &Device) -> Result<Solution<'a>, CiError> {
        let (states, dimension) = (self.options.states, self.space.len());
        if states as u64 > dimension {
            return Err(CiError::States { states, dimension });
        }
        let (what, needed) = solvers::resident(dimension as usize, size_of::<f64>(), self.solver, &self.options);
        device.check_memory(&what, needed)?;
        let start = Instant::now();
        let setting_up = trace::span("set up", "set up");
        let (operator, how) = self.operator(device)?;
        drop(setting_up);
        let setup_seconds = start.elapsed().as_secs_f64();
        let _solving = trace::span("solver", "solve");
        let pairs = solvers::solve::<f64>(&*operator, self.solver, &self.options)?;
        Ok(Solution {
            integrals: self.integrals,
            space: self.space,
            device: device.clone(),
            energies: pairs.values.iter().map(|value| value + self.integrals.core).collect(),
            pairs,
            how,
            setup_seconds,
        })
    }

    fn operator(&self, device: &Device) -> Result<(Box<dyn LinearOperator<f64>>, How), CiError> {
        let complete = self.space.is_complete();
        let direct = complete && matches!(device, Device::Cpu(_));
        match self.storage {
            Storage::Direct if !direct => {
                let space = if complete { "full CI" } else { "a part of it" };
                Err(CiError::NotDirect { found: format!("{space} on {}", device.name()) })
            }
            Storage::Direct | Storage::Auto if direct => {
                let _listing = trace::span("set up", "moves of the strings");
                let how = How { storage: "direct", format: None, reason: None, non_zeros: None };
                Ok((Box::new(DirectFullCi::new(self.integrals, self.space, device)?), how))
            }
            _ => self.stored(device),
        }
    }

    fn stored(&self, device: &Device) -> Result<(Box<dyn LinearOperator<f64>>, How), CiError> {
        let making = trace::span("set up", "matrix elements");
        let matrix = Arc::new(Hamiltonian::new(self.integrals, self.space, THRESHOLD)?.matrix()?);
        drop(making);
        let non_zeros = Some(matrix.non_zeros());
        if !device.runs_kernels() {
            let how = How { storage: "stored", format: Some("CSR".into()), reason: None, non_zeros };
            return Ok((Box::new(SparseOperator::new("ci", matrix, self.wish, device)?), how));
        }
        let choice = Choice::new(&matrix, &RowStatistics::of(&matrix), Target::of(device), self.wish);
        let best = choice.best();
        let operator = SparseOperator::with_layout("ci", matrix, &best.layout, self.wish, device)?;
        let format = Some(best.format.to_string());
        Ok((Box::new(operator), How { storage: "stored", format, reason: Some(choice.reason), non_zeros }))
    }
}

/// How H was multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct How {
    /// "stored" or "direct".
    pub storage: &'static str,
    /// The format of a stored matrix.
    pub format: Option<String>,
    /// Why this format.
    pub reason: Option<String>,
    /// Elements of a stored matrix.
    pub non_zeros: Option<u64>,
}

/// What a solve found.
#[derive(Debug)]
pub struct Solution<'a> {
    integrals: &'a Integrals,
    space: &'a Space,
    device: Device,
    energies: Vec<f64>,
    pairs: Eigenpairs<f64>,
    how: How,
    setup_seconds: f64,
}

impl<'a> Solution<'a> {
    /// Total energies in Hartree, core included, ascending.
    pub fn energies(&self) -> &[f64] {
        &self.energies
    }

    /// ‖Hx − Ex‖ of each state, recomputed after the solve.
    pub fn residuals(&self) -> &[f64] {
        &self.pairs.residuals
    }

    /// Why the solver stopped.
    pub fn stop(&self) -> StopReason {
        self.pairs.stop
    }

    /// Everything the solver reports; its values leave out the core energy.
    pub fn eigenpairs(&self) -> &Eigenpairs<f64> {
        &self.pairs
    }

    /// How H was multiplied.
    pub fn how(&self) -> &How {
        &self.how
    }

    /// The integrals.
    pub fn integrals(&self) -> &'a Integrals {
        self.integrals
    }

    /// The space.
    pub fn space(&self) -> &'a Space {
        self.space
    }

    /// Where it ran.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Seconds from integrals to an operator ready on the device.
    pub fn setup_seconds(&self) -> f64 {
        self.setup_seconds
    }

    /// A state vector in the order of the space.
    pub fn vector(&self, state: usize) -> Result<Vec<f64>, DeviceError> {
        self.pairs.vectors[state].download()
    }

    /// An orthonormal basis of the lowest level, as far as it is known.
    pub fn ground_multiplet(&self) -> Result<Vec<Vec<f64>>, DeviceError> {
        self.pairs.ground_multiplet().into_iter().map(|vector| vector.download()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A checkpoint of one problem is not taken for another's.
    #[test]
    fn a_problem_is_known_by_all_its_determinants() {
        let integrals = Integrals::zero(9);
        let identity = |space: &Space| Solve::new(&integrals, space).identity();
        let full = Space::full(9, 4, 4).unwrap();
        let mut list: Vec<_> = (0..full.len() - 1).map(|row| full.determinant(row)).collect();
        assert!(list.len() > 15_000);
        let listed = |list: &[_]| Space::from_determinants(9, list).unwrap();
        let first = identity(&listed(&list));
        assert_eq!(identity(&listed(&list)), first);
        let last = full.determinant(full.len() - 1);
        for row in [1, 4097, list.len() - 1] {
            let kept = std::mem::replace(&mut list[row], last);
            assert_ne!(identity(&listed(&list)), first, "row {row} is another determinant");
            list[row] = kept;
        }
        list.swap(5, 6);
        assert_ne!(identity(&listed(&list)), first, "another order");
        let irreps = [1, 2, 3, 4, 1, 2, 3, 4, 1];
        let others = [
            Space::excitations(9, 4, 4, 2).unwrap(),
            Space::excitations(9, 4, 4, 3).unwrap(),
            full.clone().in_irrep(&irreps, 1).unwrap(),
            full.clone().in_irrep(&irreps, 2).unwrap(),
            full.clone().in_irrep(&[1, 2, 3, 4, 1, 2, 3, 1, 4], 1).unwrap(),
            listed(&(0..full.len()).map(|row| full.determinant(row)).collect::<Vec<_>>()),
            full,
        ];
        let mut identities: Vec<String> = others.iter().map(identity).collect();
        identities.sort();
        identities.dedup();
        assert_eq!(identities.len(), others.len());
    }
}
