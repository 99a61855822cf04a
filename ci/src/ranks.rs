//! y = H x of a molecule over several ranks: each has the rows of a run of determinants, in the memory of its cores or of its card.
//!
//! | H | on cores | on cards |
//! |---|---|---|
//! | full CI | the rows of a run of α strings, of a whole x | the same by kernels; by slabs of pieces of x, so that no rank has all of it |
//! | row by row | a run of rows | the same by kernels |
//! | stored | a run of rows, which alone are made and kept | by the cores of the rank |
//!
//! Tables of strings and integrals are on every rank.

use super::direct::RankFullCi;
use super::matrix::{CiHamiltonian, THRESHOLD};
use super::on_the_fly;
use super::solve::CiError;
use super::storage::ProductKind;
use super::{Integrals, Space};
use eigenforge_product::ranks::{RowKernels, Shares, table_of_share};
use eigenforge_runtime::ranks::{Ranks, equal};
use eigenforge_runtime::{Device, DeviceError, ElementFunction, LinearOperator, Vector};
use eigenforge_templates::Cost;
use eigenforge_templates::ci::FullCiShape;
use std::ops::Range;
use std::sync::Arc;

/// H over ranks, as one of them has it.
pub struct OverRanks<'a> {
    shares: Shares,
    /// Its vectors are cut as the rows are.
    device: Device,
    engine: Engine<'a>,
    diagonal: ElementFunction,
    norm_bound: f64,
    cost: Cost,
    non_zeros: Option<u64>,
}

/// This rank's rows of y, of a whole x; returns their part of x·y.
type MakeRows<'a> = dyn Fn(&[f64], &mut [f64]) -> f64 + Send + Sync + 'a;

/// This rank's share of y, of shares of x; returns x·y of all ranks, or NaN where it is not wanted.
type MultiplyShares = dyn Fn(&Vector<f64>, &mut Vector<f64>, bool) -> Result<f64, DeviceError> + Send + Sync;

enum Engine<'a> {
    Host(Box<MakeRows<'a>>),
    Kernels(Box<RowKernels>),
    /// Of pieces of x; x·y is that of all ranks.
    Slabs(Box<MultiplyShares>),
}

/// What is known before vectors are cut.
struct Made<'a> {
    engine: Engine<'a>,
    bounds: Vec<usize>,
    diagonal: ElementFunction,
    norm_bound: f64,
    cost: Cost,
    non_zeros: Option<u64>,
}

impl<'a> OverRanks<'a> {
    /// This rank's part of H, without the core energy, in Hartree. Vectors are those of [`LinearOperator::device`], cut where its rows are.
    ///
    /// # Errors
    /// Those of the product in one process; a device of no rank; a rank that failed.
    pub fn new(
        integrals: &Integrals,
        space: &'a Space,
        way: ProductKind,
        device: &Device,
    ) -> Result<OverRanks<'a>, CiError> {
        OverRanks::with_shape(integrals, space, way, None, device)
    }

    /// The same with full CI in a given shape, which cores ignore.
    ///
    /// # Errors
    /// Those of [`OverRanks::new`].
    pub fn with_shape(
        integrals: &Integrals,
        space: &'a Space,
        way: ProductKind,
        shape: Option<FullCiShape>,
        device: &Device,
    ) -> Result<OverRanks<'a>, CiError> {
        let Some(ranks) = device.ranks() else {
            let (what, instead) =
                (device.name(), "it is no rank's: multiply with DirectFullCi, OnTheFly or a matrix".into());
            return Err(DeviceError::NotOverRanks { what, instead }.into());
        };
        let made = match (way, space.is_complete()) {
            (ProductKind::Direct, true) => full_ci(integrals, space, shape, ranks, device)?,
            (ProductKind::Direct, false) => row_by_row(integrals, space, ranks, device)?,
            (ProductKind::Stored, _) => stored(integrals, space, ranks, device)?,
        };
        let Made { engine, bounds, diagonal, norm_bound, cost, non_zeros } = made;
        let cut = device.cut_at(bounds.clone())?;
        let shares = Shares::new(ranks, bounds, device);
        Ok(OverRanks { shares, device: cut, engine, diagonal, norm_bound, cost, non_zeros })
    }

    /// Elements of a stored matrix, of all ranks.
    pub(super) fn non_zeros(&self) -> Option<u64> {
        self.non_zeros
    }

    fn run(&self, x: &Vector<f64>, y: &mut Vector<f64>, summed: bool) -> Result<f64, DeviceError> {
        self.shares.check(x, y)?;
        let part = match &self.engine {
            Engine::Slabs(apply) => return apply(x, y, summed),
            Engine::Kernels(rows) => self.shares.by_kernels(rows, x, y)?,
            Engine::Host(make) => self.shares.by_cores(make, x, y)?,
        };
        self.shares.added_up(part)
    }
}

/// Full CI.
fn full_ci<'a>(
    integrals: &Integrals,
    space: &Space,
    shape: Option<FullCiShape>,
    ranks: &Ranks,
    device: &Device,
) -> Result<Made<'a>, CiError> {
    Ok(match RankFullCi::new(integrals, space, shape, ranks, device)? {
        RankFullCi::Host(rows) => {
            let (norm_bound, cost, bounds) = (rows.norm_bound(ranks)?, rows.cost(ranks)?, rows.bounds.clone());
            let own = bounds[ranks.rank()]..bounds[ranks.rank() + 1];
            let rows = Arc::new(rows);
            let same = rows.clone();
            let diagonal = diagonal_of_host(own, device, move |start, out| same.diagonal(start, out))?;
            let engine = Engine::Host(Box::new(move |x, y| rows.multiply(x, y)));
            Made { engine, bounds, diagonal, norm_bound, cost, non_zeros: None }
        }
        RankFullCi::Fields { rows, diagonal, norm_bound, cost } => {
            Made { bounds: rows.bounds(), engine: Engine::Kernels(rows), diagonal, norm_bound, cost, non_zeros: None }
        }
        RankFullCi::Slabs { kernels, bounds, norm_bound, cost } => {
            let diagonal = kernels.diagonal();
            let engine = Engine::Slabs(Box::new(move |x, y, summed| kernels.apply(x, y, summed)));
            Made { engine, bounds, diagonal, norm_bound, cost, non_zeros: None }
        }
    })
}

/// Rows that are recomputed in each product.
fn row_by_row<'a>(
    integrals: &Integrals,
    space: &'a Space,
    ranks: &Ranks,
    device: &Device,
) -> Result<Made<'a>, CiError> {
    let hamiltonian = CiHamiltonian::new(integrals, space, THRESHOLD)?;
    let by_kernel = match device.runs_kernels() && space.product_tables().is_some() {
        true => on_the_fly::kernel_of_rank(&hamiltonian, ranks, device)?,
        false => None,
    };
    if let Some((rows, diagonal, norm_bound, cost)) = by_kernel {
        let (bounds, engine) = (rows.bounds(), Engine::Kernels(Box::new(rows)));
        return Ok(Made { engine, bounds, diagonal, norm_bound, cost, non_zeros: None });
    }
    let bounds = equal(space.len() as usize, ranks.count());
    let own = bounds[ranks.rank()]..bounds[ranks.rank() + 1];
    let norm_bound = ranks.largest("norm of the matrix", on_the_fly::largest_sum(&hamiltonian, own.clone()))?;
    let values = Arc::new(on_the_fly::diagonal_of(&hamiltonian, own.clone()));
    let cost = Cost { flops: 2.0 * on_the_fly::elements(&hamiltonian) as f64, bytes: 16.0 * space.len() as f64 };
    let diagonal = of_values(values, own.clone(), device)?;
    let multiply = move |x: &[f64], y: &mut [f64]| on_the_fly::multiply_rows(&hamiltonian, own.start, x, y);
    Ok(Made { engine: Engine::Host(Box::new(multiply)), bounds, diagonal, norm_bound, cost, non_zeros: None })
}

/// A stored matrix, of which a rank makes and keeps its rows.
fn stored<'a>(integrals: &Integrals, space: &Space, ranks: &Ranks, device: &Device) -> Result<Made<'a>, CiError> {
    let bounds = equal(space.len() as usize, ranks.count());
    let own = bounds[ranks.rank()]..bounds[ranks.rank() + 1];
    let matrix = CiHamiltonian::new(integrals, space, THRESHOLD)?.matrix_of(own.clone())?;
    let mut sums = [matrix.non_zeros() as f64];
    let norm_bound = ranks.largest("norm of the matrix", matrix.largest_row_sum(own.clone()))?;
    ranks.add_up("elements of the matrix", 0, &mut sums)?;
    let cost = Cost { flops: 2.0 * sums[0], bytes: 12.0 * sums[0] + 24.0 * space.len() as f64 };
    let values = Arc::new(own.clone().map(|row| matrix.element(row, row as u32)).collect());
    let (first, diagonal) = (own.start, of_values(values, own, device)?);
    let engine = Engine::Host(Box::new(move |x, y| matrix.multiply_rows(x, first, y)));
    Ok(Made { engine, bounds, diagonal, norm_bound, cost, non_zeros: Some(sums[0] as u64) })
}

/// The diagonal of own rows that are known.
fn of_values(values: Arc<Vec<f64>>, own: Range<usize>, device: &Device) -> Result<ElementFunction, DeviceError> {
    let first = own.start;
    diagonal_of_host(own, device, move |start, out| {
        out.copy_from_slice(&values[start - first..][..out.len()]);
    })
}

/// The diagonal of own rows as the host makes it, of which a card gets a table.
fn diagonal_of_host(
    own: Range<usize>,
    device: &Device,
    elements: impl Fn(usize, &mut [f64]) + Send + Sync + 'static,
) -> Result<ElementFunction, DeviceError> {
    if !device.runs_kernels() {
        return Ok(ElementFunction::host_diagonal(elements));
    }
    // A card of no elements has one that nobody reads.
    let mut values = vec![0.0; own.len().max(1)];
    elements(own.start, &mut values[..own.len()]);
    table_of_share(&values, own.start, &device.of_this_rank())
}

impl LinearOperator<f64> for OverRanks<'_> {
    fn dimension(&self) -> usize {
        self.shares.bounds().last().copied().unwrap_or(0)
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
        Some(self.diagonal.clone())
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}
