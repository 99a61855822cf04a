//! The way of the CPU: the rows of all determinants, or of those of a rank.

use super::super::error::CiError;
use super::super::estimate::{Estimate, StorageTarget};
use super::super::matrix::{CiHamiltonian, THRESHOLD};
use super::super::way::{Counted, Request, Source, Way};
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
        match (request.space.is_complete(), request.is_on_card()) {
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
    let (space, ranks) = (request.space, request.ranks);
    let hamiltonian = CiHamiltonian::new(request.integrals, space, THRESHOLD)?;
    let bounds = equal(space.len() as usize, ranks.map_or(1, |ranks| ranks.count()));
    let rank = ranks.map_or(0, |ranks| ranks.rank());
    let own = bounds[rank]..bounds[rank + 1];
    let mut norm = largest_sum(&hamiltonian, own.clone());
    if let Some(ranks) = ranks {
        norm = ranks.largest("norm of the matrix", norm)?;
    }
    let cost = Cost { flops: 2.0 * device_tables::elements(&hamiltonian) as f64, bytes: 16.0 * space.len() as f64 };
    let rows = HostDeterminants::new(hamiltonian, own)?;
    Ok(Arc::new(CoresMultiply { rows, norm, cost, shape: WAY }))
}

/// The rows on the host of what is planned for cards.
pub(super) fn host(source: &Source) -> Result<Box<dyn HostProduct>, PrepareError> {
    let hamiltonian = CiHamiltonian::new(&source.integrals, &source.space, THRESHOLD).map_err(OnTheFlyError::from)?;
    Ok(Box::new(HostDeterminants::new(hamiltonian, 0..source.space.len() as usize)?))
}

/// The largest sum of magnitudes of a row.
pub(super) fn norm(source: &Source) -> Result<f64, OnTheFlyError> {
    let hamiltonian = CiHamiltonian::new(&source.integrals, &source.space, THRESHOLD)?;
    Ok(largest_sum(&hamiltonian, 0..source.space.len() as usize))
}

fn largest_sum(hamiltonian: &CiHamiltonian, rows: Range<usize>) -> f64 {
    let row_sum = |row: usize| {
        let mut sum = 0.0;
        hamiltonian.for_each(row as u64, |_, value| sum += value.abs());
        sum
    };
    rows.into_par_iter().with_min_len(CHUNK).map(row_sum).reduce(|| 0.0, f64::max)
}

/// Rows of determinants, with the diagonal of those from `first` on.
#[derive(Clone)]
struct HostDeterminants {
    hamiltonian: Arc<CiHamiltonian>,
    first: usize,
    diagonal: Arc<Vec<f64>>,
}

impl HostDeterminants {
    fn new(hamiltonian: CiHamiltonian, own: Range<usize>) -> Result<HostDeterminants, OnTheFlyError> {
        let what = format!("the diagonal of {} determinants", own.len());
        Device::cpu().check_memory(&what, 8 * own.len() as u64)?;
        let (first, element) = (own.start, |row: usize| hamiltonian.diagonal(row as u64));
        let diagonal = own.into_par_iter().with_min_len(CHUNK).map(element).collect();
        Ok(HostDeterminants { hamiltonian: hamiltonian.into(), first, diagonal: Arc::new(diagonal) })
    }
}

impl HostRows for HostDeterminants {
    fn dimension(&self) -> usize {
        self.hamiltonian.space.len() as usize
    }

    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        let of_chunk = |(chunk, y): (usize, &mut [T])| {
            let mut dot = 0.0;
            for (row, y) in (first + chunk * CHUNK..).zip(y) {
                let mut sum = 0.0;
                self.hamiltonian.for_each(row as u64, |column, value| sum += value * x[column as usize].to_f64());
                *y = T::from_f64(sum);
                dot += x[row].to_f64() * sum;
            }
            dot
        };
        let dots: Vec<f64> = y.par_chunks_mut(CHUNK).enumerate().map(of_chunk).collect();
        dots.iter().sum()
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.diagonal[index - self.first]
    }
}
