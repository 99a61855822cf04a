//! The way of the CPU: the rows of all determinants, or of those of a rank.

use super::super::error::CiError;
use super::super::estimate::{Estimate, StorageTarget};
use super::super::matrix::{CiHamiltonian, THRESHOLD};
use super::super::vector_number::VectorNumber;
use super::super::way::{Counted, Request, Source, Way};
use super::super::{Integrals, Space};
use super::{OnTheFlyError, device_tables, estimate, excitations};
use eigenforge_product::{CoresMultiply, Fit, HostProduct, HostRows, Multiply, PrepareError};
use eigenforge_runtime::ranks::equal;
use eigenforge_runtime::{Device, Scalar};
use eigenforge_templates::Cost;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;

/// Rows per task; the tasks' sums of x·σ are added in this order.
const CHUNK: usize = 64;

/// The name of this way in plans and reports.
const WAY: &str = "row by row on the cores";

/// Spaces that are not complete on cores, and on cards of more ranks than they have blocks.
pub(in super::super) struct RowByRowWay;

impl Way for RowByRowWay {
    fn name(&self) -> &'static str {
        WAY
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        match (request.is_by_strings(), request.is_on_card()) {
            (true, _) => Fit::Foreign,
            (false, true) if request.space.is_list() => {
                Fit::Refuses("on cards lists of determinants are stored".into())
            }
            (false, true) if excitations::is_possible(request) => Fit::Refuses("a card multiplies".into()),
            _ => Fit::Takes,
        }
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        estimate(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(plan(request)?)
    }
}

/// All rows, or those of a rank with numbers of all.
pub(super) fn plan(request: &Request<'_>) -> Result<Arc<dyn Multiply>, OnTheFlyError> {
    match request.complex {
        Some(complex) => plan_of(complex, request),
        None => plan_of(request.integrals, request),
    }
}

fn plan_of<N: VectorNumber>(
    integrals: &Integrals<N>,
    request: &Request<'_>,
) -> Result<Arc<dyn Multiply>, OnTheFlyError> {
    let (space, ranks) = (request.space, request.ranks);
    let hamiltonian = CiHamiltonian::new(integrals, space, THRESHOLD)?;
    let bounds = equal(space.len() as usize, ranks.map_or(1, |ranks| ranks.count()));
    let rank = ranks.map_or(0, |ranks| ranks.rank());
    let own = bounds[rank]..bounds[rank + 1];
    let mut norm = largest_sum(&hamiltonian, own.clone());
    if let Some(ranks) = ranks {
        norm = ranks.largest("norm of the matrix", norm)?;
    }
    let flops = N::KIND.product_flops() as f64 * device_tables::elements(&hamiltonian) as f64;
    let cost = Cost { flops, bytes: (16 * N::PARTS) as f64 * space.len() as f64 };
    let rows = HostDeterminants::new(hamiltonian, own)?;
    Ok(Arc::new(CoresMultiply { rows, norm, cost, shape: WAY }))
}

/// The rows on the host of what is planned for cards.
pub(super) fn host(source: &Source) -> Result<Box<dyn HostProduct>, PrepareError> {
    fn host_of<N: VectorNumber>(integrals: &Integrals<N>, space: &Space) -> Result<Box<dyn HostProduct>, PrepareError> {
        let hamiltonian = CiHamiltonian::new(integrals, space, THRESHOLD).map_err(OnTheFlyError::from)?;
        Ok(Box::new(HostDeterminants::new(hamiltonian, 0..space.len() as usize)?))
    }
    match &source.complex {
        Some(complex) => host_of(complex, &source.space),
        None => host_of(&source.integrals, &source.space),
    }
}

/// The largest sum of magnitudes of a row.
pub(super) fn norm(source: &Source) -> Result<f64, OnTheFlyError> {
    fn norm_of<N: VectorNumber>(integrals: &Integrals<N>, space: &Space) -> Result<f64, OnTheFlyError> {
        let hamiltonian = CiHamiltonian::new(integrals, space, THRESHOLD)?;
        Ok(largest_sum(&hamiltonian, 0..space.len() as usize))
    }
    match &source.complex {
        Some(complex) => norm_of(complex, &source.space),
        None => norm_of(&source.integrals, &source.space),
    }
}

fn largest_sum<N: VectorNumber>(hamiltonian: &CiHamiltonian<N>, rows: Range<usize>) -> f64 {
    let row_sum = |row: usize| {
        let mut sum = 0.0;
        hamiltonian.for_each(row as u64, |_, value| sum += value.size());
        sum
    };
    rows.into_par_iter().with_min_len(CHUNK).map(row_sum).reduce(|| 0.0, f64::max)
}

/// Rows of determinants, with the diagonal of those from `first` on.
#[derive(Clone)]
struct HostDeterminants<N> {
    hamiltonian: Arc<CiHamiltonian<N>>,
    first: usize,
    diagonal: Arc<Vec<f64>>,
}

impl<N: VectorNumber> HostDeterminants<N> {
    fn new(hamiltonian: CiHamiltonian<N>, own: Range<usize>) -> Result<HostDeterminants<N>, OnTheFlyError> {
        let what = format!("the diagonal of {} determinants", own.len());
        Device::cpu().check_memory(&what, 8 * own.len() as u64)?;
        let (first, element) = (own.start, |row: usize| hamiltonian.diagonal(row as u64));
        let diagonal = own.into_par_iter().with_min_len(CHUNK).map(element).collect();
        Ok(HostDeterminants { hamiltonian: hamiltonian.into(), first, diagonal: Arc::new(diagonal) })
    }
}

impl<N: VectorNumber> HostRows for HostDeterminants<N> {
    fn dimension(&self) -> usize {
        N::PARTS * self.hamiltonian.space.len() as usize
    }

    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let of_chunk = |(chunk, y): (usize, &mut [T])| {
            let mut dot = 0.0;
            for (row, y) in (first / N::PARTS + chunk * CHUNK..).zip(y.chunks_exact_mut(N::PARTS)) {
                let mut sum = N::default();
                self.hamiltonian.for_each(row as u64, |column, value| sum += value * N::read(x, column as usize));
                sum.write(y, 0);
                dot += (N::read(x, row).conjugate() * sum).real();
            }
            dot
        };
        let dots: Vec<f64> = y.par_chunks_mut(N::PARTS * CHUNK).enumerate().map(of_chunk).collect();
        dots.iter().sum()
    }

    /// Between numbers.
    fn cut(&self, shares: usize) -> Vec<usize> {
        equal(self.hamiltonian.space.len() as usize, shares).into_iter().map(|row| N::PARTS * row).collect()
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.diagonal[index / N::PARTS - self.first]
    }
}
