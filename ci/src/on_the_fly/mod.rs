//! H row by row, recomputed in each product: σ = H C in any space, storing only the moves of its strings.
//!
//! In: integrals and a space. Out: σ, the diagonal, a bound of the norm (the largest row sum of |H|, Gershgorin 1931), as
//! a [`LinearOperator`] without the core energy, in Hartree. On the CPU the rows are those of [`CiHamiltonian`], for any
//! space; this is used where a matrix does not fit, because computing a row takes far longer than reading it. On devices
//! that run kernels, [`eigenforge_templates::ci::RowsPlan`] computes them faster than a CPU could store them, for spaces
//! of products of strings: full or up to a level, of all irreps or of one.
//!
//! | file | question it answers |
//! |---|---|
//! | `device_tables` | what does the generated kernel read? |
//! | `kernels` | σ on a device that runs kernels |

mod device_tables;
mod kernels;

use super::matrix::{CiHamiltonian, MatrixError, THRESHOLD};
use super::{Integrals, Space};
use eigenforge_product::ProductKernels;
use eigenforge_product::ranks::RowKernels;
use eigenforge_product::sparse::Target;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, Vector};
use eigenforge_templates::ci::{FullCiPlanError, RowsPlan};
use eigenforge_templates::{Cost, TextError};
use kernels::kernels;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows per task; the tasks' sums of x·σ are added in this order.
const CHUNK: usize = 64;

/// Why a product is not possible.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the text of each says what its values are
pub enum OnTheFlyError {
    #[error(
        "a list of determinants ({rows} of them) where kernels run: their rows are found by looking up every move; store \
         the matrix, or run it on the CPU"
    )]
    List { rows: u64 },
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    #[error(transparent)]
    Plan(#[from] FullCiPlanError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// H of a space, as an operator.
pub struct OnTheFly<'a> {
    device: Device,
    rows: usize,
    engine: Engine<'a>,
    norm_bound: f64,
    cost: Cost,
    /// Lanes over the moves of a β string, on devices that run kernels.
    pub(super) lanes: Option<u32>,
}

enum Engine<'a> {
    Cpu { hamiltonian: Box<CiHamiltonian<'a>>, diagonal: Arc<Vec<f64>> },
    Kernels(Box<ProductKernels>, ElementFunction),
}

impl<'a> OnTheFly<'a> {
    /// Lists the moves of the space's strings.
    ///
    /// # Errors
    /// Integrals that do not fit the space, a list on a device that runs kernels, too little memory.
    pub fn new(integrals: &Integrals, space: &'a Space, device: &Device) -> Result<OnTheFly<'a>, OnTheFlyError> {
        OnTheFly::with_lanes(integrals, space, None, device)
    }

    /// The same with a given number of lanes over the moves of a β string, on devices that run kernels.
    ///
    /// # Errors
    /// Errors of [`OnTheFly::new`]; an impossible number of lanes.
    pub fn with_lanes(
        integrals: &Integrals,
        space: &'a Space,
        lanes: Option<u32>,
        device: &Device,
    ) -> Result<OnTheFly<'a>, OnTheFlyError> {
        let hamiltonian = CiHamiltonian::new(integrals, space, THRESHOLD)?;
        let rows = space.len() as usize;
        let device = device.clone();
        if device.runs_kernels() {
            let tables = device_tables::tables(&hamiltonian, "ci", Target::new(&device), lanes)?;
            let (cost, lanes) = (tables.plan.cost(), Some(tables.plan.lanes));
            let (kernels, diagonal, norm_bound) = kernels(tables, &device)?;
            let engine = Engine::Kernels(Box::new(kernels), diagonal);
            return Ok(OnTheFly { device, rows, engine, norm_bound, cost, lanes });
        }
        device.check_memory(&format!("the diagonal of {rows} determinants"), 8 * rows as u64)?;
        let (diagonal, norm_bound) = (diagonal_of(&hamiltonian, 0..rows), largest_sum(&hamiltonian, 0..rows));
        let cost = Cost { flops: 2.0 * device_tables::elements(&hamiltonian) as f64, bytes: 16.0 * rows as f64 };
        Ok(OnTheFly {
            device,
            rows,
            engine: Engine::Cpu { hamiltonian: Box::new(hamiltonian), diagonal: Arc::new(diagonal) },
            norm_bound,
            cost,
            lanes: None,
        })
    }

    /// The plan of the generated kernel for this kind of card, without a device.
    ///
    /// # Errors
    /// See [`OnTheFly::new`].
    pub fn plan(integrals: &Integrals, space: &Space, target: Target) -> Result<RowsPlan, OnTheFlyError> {
        let hamiltonian = CiHamiltonian::new(integrals, space, THRESHOLD)?;
        Ok(device_tables::tables(&hamiltonian, "ci", target, None)?.plan)
    }

    /// y = H x, and x·y if `summed` (on the CPU in any case).
    fn run(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        let n = self.rows;
        if x.len() != n || y.len() != n {
            let (expected, found) = (format!("vectors of {n} elements"), format!("{} and {}", x.len(), y.len()));
            return Err(DeviceError::Arguments { what: "multiply by H".into(), expected, found });
        }
        let hamiltonian = match &self.engine {
            Engine::Kernels(kernels, _) => return kernels.apply(x, y, summed),
            Engine::Cpu { hamiltonian, .. } => hamiltonian,
        };
        let (x, y) = Vector::both_on_host("multiply by H", x, y)?;
        Ok(multiply_rows(hamiltonian, 0, x, y))
    }
}

/// The kernel of one of several ranks, with the diagonal, a bound of the norm and the work of a product; `None` where there is no block for
/// each.
///
/// # Errors
/// See [`OnTheFly::new`].
pub(super) fn kernel_of_rank(
    hamiltonian: &CiHamiltonian<'_>,
    ranks: &Ranks,
    device: &Device,
) -> Result<Option<(RowKernels, ElementFunction, f64, Cost)>, OnTheFlyError> {
    let card = device.of_this_rank();
    let tables = device_tables::tables(hamiltonian, "ci", Target::new(&card), None)?;
    let cost = tables.plan.cost();
    let found = kernels::of_rank(tables, &card, [ranks.rank(), ranks.count()])?;
    Ok(found.map(|(rows, diagonal, norm_bound)| (rows, diagonal, norm_bound, cost)))
}

/// Upper bound on the elements of H.
pub(super) fn elements(hamiltonian: &CiHamiltonian<'_>) -> u64 {
    device_tables::elements(hamiltonian)
}

/// The rows of y = H x from `first` on, of a whole x; returns their part of x·y.
pub(super) fn multiply_rows(hamiltonian: &CiHamiltonian<'_>, first: usize, x: &[f64], y: &mut [f64]) -> f64 {
    let of_chunk = |(chunk, y): (usize, &mut [f64])| {
        let mut dot = 0.0;
        for (row, y) in (first + chunk * CHUNK..).zip(y) {
            let mut sum = 0.0;
            hamiltonian.for_each(row as u64, |column, value| sum += value * x[column as usize]);
            *y = sum;
            dot += x[row] * sum;
        }
        dot
    };
    let dots: Vec<f64> = y.par_chunks_mut(CHUNK).enumerate().map(of_chunk).collect();
    dots.iter().sum()
}

/// The diagonal elements of some rows.
pub(super) fn diagonal_of(hamiltonian: &CiHamiltonian<'_>, rows: Range<usize>) -> Vec<f64> {
    rows.into_par_iter().with_min_len(CHUNK).map(|row| hamiltonian.diagonal(row as u64)).collect()
}

/// The largest sum of magnitudes of one of these rows.
pub(super) fn largest_sum(hamiltonian: &CiHamiltonian<'_>, rows: Range<usize>) -> f64 {
    let row_sum = |row: usize| {
        let mut sum = 0.0;
        hamiltonian.for_each(row as u64, |_, value| sum += value.abs());
        sum
    };
    rows.into_par_iter().with_min_len(CHUNK).map(row_sum).reduce(|| 0.0, f64::max)
}

impl LinearOperator<f64> for OnTheFly<'_> {
    fn dimension(&self) -> usize {
        self.rows
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn apply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<f64, DeviceError> {
        self.run(x, y, true)
    }

    fn multiply(&self, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<(), DeviceError> {
        self.run(x, y, false).map(drop)
    }

    fn diagonal(&self) -> Option<ElementFunction> {
        let diagonal = match &self.engine {
            Engine::Kernels(_, diagonal) => return Some(diagonal.clone()),
            Engine::Cpu { diagonal, .. } => diagonal.clone(),
        };
        Some(ElementFunction::host_diagonal(move |start, out| out.copy_from_slice(&diagonal[start..start + out.len()])))
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
