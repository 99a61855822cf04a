//! H as a stored matrix: its elements, of all rows or of those of a rank, and what it would take.

use super::error::CiError;
use super::estimate::{Estimate, LAUNCHES, ProductKind, StorageTarget, bytes, gib};
use super::matrix::{CiHamiltonian, THRESHOLD};
use super::way::{Counted, NAME, NamedPlan, Request, Way};
use super::{Census, Integrals, MatrixError, Space};
use eigenforge_product::sparse::{Csr, FormatName, add_seconds};
use eigenforge_product::{Fit, Multiply, MultiplyPlan, STORED, StoredHamiltonian};
use eigenforge_runtime::machine::Card;
use eigenforge_runtime::ranks::equal;
use eigenforge_runtime::{Device, trace};
use eigenforge_templates::ScalarType;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a stored element: its value and its column.
const ELEMENT: u128 = 12;
/// Seconds of one core to compute one element: full CI of water in 6-31G, 99.6 million in 1.1 s on the 16 cores beside an
/// H200. No rate of a processor measures this integer work: the Xeon's time is used for all of them.
const SECONDS_AN_ELEMENT: f64 = 1.8e-7;
/// Fraction of a card's memory rate that a stored multiply reaches: 3.5 TB/s of an H200's copies.
pub(super) const OF_MEMORY: f64 = 3.5e12 / Card::H200.memory_rate;

/// Any space.
pub(super) struct StoredWay;

impl Way for StoredWay {
    fn kind(&self) -> ProductKind {
        ProductKind::Stored
    }

    fn name(&self) -> &'static str {
        STORED
    }

    fn fit(&self, _: &Request<'_>) -> Fit {
        Fit::Takes
    }

    /// A matrix on the host, and on a card again in its format: whole, or half of it if requested or if the whole does
    /// not fit.
    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        matrix_estimate(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(Arc::new(plan(request)?))
    }

    fn shapes<'r>(&self, request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        Ok(matrix_shapes(plan(request)?))
    }
}

/// A matrix of any basis: half of it if requested or if the whole does not fit.
pub(super) fn matrix_estimate(counted: &Counted<'_>, place: StorageTarget) -> Estimate {
    let Counted { census, rows, .. } = *counted;
    let whole = whole_matrix(census, rows, place);
    if counted.complex {
        // A second part of each element, and twice the operations.
        let more = bytes(8 * census.non_zeros);
        return Estimate {
            bytes: whole.bytes + more,
            host_bytes: whole.host_bytes + 2 * more,
            product: 2.0 * whole.product,
            ..whole
        };
    }
    match counted.format {
        Some(FormatName::Symmetric) => half(whole, census, rows, place),
        None if place.card.is_some() && whole.bytes > counted.room => half(whole, census, rows, place),
        _ => whole,
    }
}

/// The layouts of a stored matrix that are worth timing.
pub(super) fn matrix_shapes<'r>(stored: StoredHamiltonian) -> Vec<NamedPlan<'r>> {
    let names: Vec<String> = stored.layouts().iter().map(|layout| layout.name()).collect();
    let of = |name: String| -> NamedPlan<'r> {
        let stored = stored.clone().with_layout(Some(name.clone()));
        (name, Box::new(move || Ok(Arc::new(stored) as Arc<dyn Multiply>)))
    };
    names.into_iter().map(of).collect()
}

/// The multiply by a stored matrix on a device; each of several ranks makes its rows.
///
/// # Errors
/// Integrals that do not fit the space; no room for the matrix.
pub fn stored(integrals: &Integrals, space: &Space, device: &Device) -> Result<MultiplyPlan, CiError> {
    Ok(plan(&Request::on_device(integrals, space, None, device))?.into())
}

/// The matrix; of a rank its rows.
fn plan(request: &Request<'_>) -> Result<StoredHamiltonian, CiError> {
    matrix_plan(request, |rows| match request.complex {
        Some(complex) => CiHamiltonian::new(complex, request.space, THRESHOLD)?.matrix_of(rows),
        None => CiHamiltonian::new(request.integrals, request.space, THRESHOLD)?.matrix_of(rows),
    })
}

/// The matrix of any basis by what makes some of its rows; of a rank its rows.
pub(super) fn matrix_plan(
    request: &Request<'_>,
    elements: impl Fn(Range<usize>) -> Result<Csr, MatrixError>,
) -> Result<StoredHamiltonian, CiError> {
    let rows = request.rows() as usize;
    let matrix = |rows| {
        let _making = trace::span("set up", "matrix elements");
        elements(rows)
    };
    if let Some(ranks) = request.ranks {
        let bounds = equal(rows, ranks.count());
        let own = bounds[ranks.rank()]..bounds[ranks.rank() + 1];
        let matrix = matrix(own.clone())?;
        let mut sums = [matrix.non_zeros() as f64];
        let norm = ranks.largest("norm of the matrix", matrix.largest_row_sum(own))?;
        ranks.add_up("elements of the matrix", 0, &mut sums)?;
        return Ok(StoredHamiltonian::new(NAME, matrix, ScalarType::F64).for_rank(norm, sums[0] as u64));
    }
    let stored = StoredHamiltonian::new(NAME, matrix(0..rows)?, ScalarType::F64);
    if !request.is_on_card() && request.wish.format != Some(FormatName::Symmetric) {
        return Ok(stored);
    }
    let target = request.target().reserve(request.reserved);
    Ok(stored.for_target(request.wish, target).with_layout(request.shape.clone()))
}

/// The upper triangle instead of the whole matrix.
pub(super) fn half(whole: Estimate, census: &Census, rows: u64, place: StorageTarget) -> Estimate {
    let upper = (census.non_zeros + u128::from(rows)) / 2;
    // Starts, diagonal, and the integer sums.
    let total = ELEMENT.saturating_mul(upper).saturating_add(24 * u128::from(rows));
    let atomics = place.card.map_or(0.0, |card| add_seconds(&card, bytes(upper)));
    Estimate {
        what: format!("half of {}, which would take {:.2} GiB", whole.what, gib(whole.bytes)),
        bytes: bytes(total),
        // The whole, its triangle, and the tables of that.
        host_bytes: whole.bytes.saturating_mul(2),
        product: whole.product + atomics,
        ..whole
    }
}

/// A matrix on the host, and on a card again in its format.
pub(super) fn whole_matrix(census: &Census, rows: u64, place: StorageTarget) -> Estimate {
    let non_zeros = census.non_zeros;
    let total = ELEMENT.saturating_mul(non_zeros).saturating_add(16 * u128::from(rows));
    let host = if place.card.is_some() { total.saturating_mul(2) } else { total };
    let (latency, rate) = match place.card {
        Some(card) => (LAUNCHES * card.launch_seconds, OF_MEMORY * card.memory_rate),
        None => (0.0, place.processor.stream_rate()),
    };
    Estimate {
        way: ProductKind::Stored,
        what: format!("a matrix of {} {non_zeros} non-zeros", if census.is_sampled { "about" } else { "at most" }),
        bytes: bytes(total),
        exchanged: 0,
        host_bytes: bytes(host),
        set_up: SECONDS_AN_ELEMENT * non_zeros as f64 / place.cores(),
        product: latency + total as f64 / rate,
    }
}
