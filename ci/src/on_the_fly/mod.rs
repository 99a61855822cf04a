//! H row by row, recomputed in each product: σ = H C in any space, storing only the moves of its strings.
//!
//! In: integrals and a space. Out: a [`Multiply`] with σ, the diagonal, a bound of the norm (the largest row sum of |H|, Gershgorin 1931),
//! without the core energy, in Hartree. On the CPU the rows are those of [`CiHamiltonian`](super::matrix::CiHamiltonian), for any
//! space; this is used where a matrix does not fit, because computing a row takes far longer than reading it. On devices
//! that run kernels, [`eigenforge_templates::ci::RowsPlan`] computes them faster than a CPU could store them, for spaces
//! of products of strings: full or up to a level, of all irreps or of one.
//!
//! Over complex orbitals an element takes 8 flops in place of 2 and gathers of 16 bytes in place of 8; cards make the rows of full spaces too.
//!
//! | file | question it answers |
//! |---|---|
//! | `cores` | the way of the CPU |
//! | `device_tables` | what does the generated kernel read? |
//! | `error` | why is a product not possible? |
//! | `excitations` | the way of a card, and that of one that keeps what the kernel makes |

mod cores;
mod device_tables;
mod error;
mod excitations;

use super::estimate::{Estimate, LAUNCHES, ProductKind, SECONDS_A_MOVE, StorageTarget};
use super::way::{Counted, Request};
use super::{Integrals, Space};
pub(super) use cores::RowByRowWay;
use eigenforge_product::MultiplyPlan;
use eigenforge_runtime::Device;
use eigenforge_runtime::machine::{Card, Processor};
pub use error::OnTheFlyError;
pub use excitations::element_table;
pub(super) use excitations::{ElementTableWay, ExcitationsWay};

/// Bytes of L2 per element of a product row by row: a sector of the vector and the moves (one H200: 0.8 to 2.0e11
/// elements per second).
const L2_BYTES_AN_ELEMENT: f64 = Card::H200.l2_rate / 1e11;
/// Operations of a core in the time of one element of a product row by row (water in 6-31G up to triples, 1.8e6 elements:
/// 54 products in 0.45 s on two).
const OPERATIONS_AN_ELEMENT: f64 = Processor::XEON.core_rate / 1e8;

/// The multiply row by row on a device, with a number of lanes over the moves of a β string or the model's; cores have none.
///
/// # Errors
/// Integrals that do not fit the space, a list on a device that runs kernels, an impossible number of lanes, too little memory.
pub fn row_by_row(
    integrals: &Integrals,
    space: &Space,
    lanes: Option<u32>,
    device: &Device,
) -> Result<MultiplyPlan, OnTheFlyError> {
    let request = Request::on_device(integrals, space, None, device);
    let by_cores = !request.is_on_card() || request.ranks.is_some() && !excitations::is_possible(&request);
    let planned = if by_cores { cores::plan(&request) } else { excitations::plan(&request, lanes) };
    planned.map(MultiplyPlan)
}

/// Tables of moves, with their targets and values, integrals, the diagonal, and on a card the strings of each row.
pub(super) fn estimate(counted: &Counted<'_>, place: StorageTarget) -> Estimate {
    let Counted { census, space, irreps, .. } = *counted;
    let (orbitals, pairs, parts) = (space.orbitals() as u64, counted.pairs(), counted.parts());
    let strings = [space.alpha(), space.beta()].map(|strings| strings.words().len() as u64);
    let (singles, same) = (census.singles.iter().sum::<u64>(), census.same.iter().sum::<u64>());
    let slots = space.product_tables().map_or(1, |tables| tables.slots as u64);
    let tables = (6 + 8 * parts) * singles
        + (4 + 8 * parts) * same
        + strings[0] * (30 + 8 * slots)
        + strings[1] * (30 + 8 * irreps + 10 * 8);
    let rows = if place.card.is_some() { (8 + 8 * parts) * space.len() } else { 8 * space.len() };
    // Of complex numbers a gather and the arithmetic take twice as long.
    let elements = parts as f64 * census.non_zeros as f64;
    let product = match place.card {
        Some(card) => LAUNCHES * card.launch_seconds + elements * L2_BYTES_AN_ELEMENT / card.l2_rate,
        None => elements * OPERATIONS_AN_ELEMENT / (place.processor.core_rate * place.cores()),
    };
    let total = tables.saturating_add(rows).saturating_add(8 * parts * pairs * (pairs + orbitals));
    Estimate {
        way: ProductKind::Direct,
        what: "moves of the strings, integrals, the diagonal".into(),
        bytes: total,
        exchanged: 0,
        // The tables as listed, and again as uploaded.
        host_bytes: if place.card.is_some() { total.saturating_mul(2) } else { total },
        set_up: SECONDS_A_MOVE * (singles + same) as f64 / place.cores() + product,
        product,
    }
}
