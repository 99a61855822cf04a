//! The way of one card that has room: the rows of [`super`], whose elements its kernels write into a table once.
//!
//! In: the set-up kernels' tables, a card's memory. Out: columns and values of the first rows, as many as there is room for beside the
//! solver's vectors: 12 bytes an element (20 over complex orbitals), since values are sums of integrals and too many for a list. A product reads the table, and makes
//! the other rows anew in the same launch.

use super::super::super::error::CiError;
use super::super::super::estimate::{Estimate, LAUNCHES, ProductKind, StorageTarget};
use super::super::super::stored::OF_MEMORY;
use super::super::super::way::{Counted, Request, Way};
use super::super::super::{Integrals, Space};
use super::super::OnTheFlyError;
use super::{ExcitationsMultiply, kernels_fit, named_lanes};
use eigenforge_product::{Fit, Multiply, MultiplyPlan, PrepareError};
use eigenforge_runtime::{Arguments, Device, ElementArgument, Kernel, NamedTables, trace};
use eigenforge_templates::ci::{KeptElements, RowsPlan};
use std::sync::Arc;

/// The name of this way in plans and reports.
pub(super) const NAME: &str = "table of elements";

/// Products in whose time the kernels count the elements and write them, reading each row's moves three times.
const PASSES: f64 = 3.0;
/// Bytes of L2 that an element of x takes: water in 6-31G(d) up to quadruples, 9e8 elements in 5.04 ms, up to quintuples 1.5e11 a second.
const SECTOR: f64 = 32.0;
/// The part of a card's memory that stays free beside table and vectors: 1 / 32.
const SPARE: u64 = 32;
/// Names of the numbers of rows and elements of a table.
const KEPT: &str = "kept";
const ELEMENTS: &str = "kept_elements";

/// Spaces of excitations, on one card.
pub(in super::super::super) struct ElementTableWay;

impl Way for ElementTableWay {
    fn kind(&self) -> ProductKind {
        ProductKind::Table
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        let columns = u64::from(u32::MAX);
        match kernels_fit(request) {
            Fit::Takes if request.place.cards > 1 || request.place.ranks.is_some() => {
                Fit::Refuses("for one card".into())
            }
            Fit::Takes if request.space.len() > columns => Fit::Refuses(format!("more than {columns} rows")),
            other => other,
        }
    }

    /// As many rows as there is room for, the others as they are made anew.
    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        let made = super::super::estimate(counted, place);
        let (rows, elements) = (counted.space.len(), u64::try_from(counted.census.non_zeros).unwrap_or(u64::MAX));
        let all = RowsPlan::kept_bytes(KeptElements { rows, elements }, counted.parts());
        let room = counted.room.saturating_sub(made.bytes).saturating_sub(place.free / SPARE);
        let kept = all.min(room);
        let share = kept as f64 / all.max(1) as f64;
        let (latency, read) = place.card.map_or((0.0, 0.0), |card| {
            let gathers = SECTOR * share * elements as f64 / card.l2_rate;
            (LAUNCHES * card.launch_seconds, gathers.max(kept as f64 / (OF_MEMORY * card.memory_rate)))
        });
        Estimate {
            way: ProductKind::Table,
            what: format!("a table of {:.0} % of at most {elements} elements, and {}", 100.0 * share, made.what),
            bytes: made.bytes.saturating_add(kept),
            set_up: made.set_up + PASSES * made.product,
            product: latency + read + (1.0 - share) * (made.product - latency),
            ..made
        }
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        let lanes = request.shape.as_deref().and_then(named_lanes);
        Ok(Arc::new(ExcitationsMultiply::new(request, lanes)?.in_table(request.reserved, None)))
    }
}

/// The multiply by a table of elements of at most so many bytes, on a device that runs kernels; the other rows are made anew.
///
/// # Errors
/// As of [`row_by_row`](super::super::row_by_row).
pub fn element_table(
    integrals: &Integrals,
    space: &Space,
    most: Option<u64>,
    device: &Device,
) -> Result<MultiplyPlan, OnTheFlyError> {
    let made = ExcitationsMultiply::new(&Request::on_device(integrals, space, None, device), None)?;
    Ok(MultiplyPlan::new(made.in_table(0, most)))
}

/// What a table may take.
#[derive(Clone, Copy)]
pub(super) struct TableRoom {
    /// Bytes of the solver's vectors.
    pub(super) reserved: u64,
    /// Bytes of the table at most; `None` for what the card has beside vectors.
    pub(super) most: Option<u64>,
}

impl TableRoom {
    fn bytes(self, device: &Device) -> u64 {
        let memory = device.memory();
        let free = memory.free.saturating_sub(self.reserved).saturating_sub(memory.total / SPARE);
        self.most.unwrap_or(u64::MAX).min(free)
    }
}

/// The rows and elements that tables have; without tables about those of the plan.
pub(super) fn kept_elements(plan: &RowsPlan, tables: &NamedTables) -> KeptElements {
    let number = |name| match tables.get(name) {
        Some(ElementArgument::I64(number)) => Some(*number as u64),
        _ => None,
    };
    match (number(KEPT), number(ELEMENTS)) {
        (Some(rows), Some(elements)) => KeptElements { rows, elements },
        _ => plan.predicted_kept(),
    }
}

/// Adds the table of as many rows as there is room for.
///
/// # Errors
/// The device's.
pub(super) fn fill(
    plan: &RowsPlan,
    room: TableRoom,
    tables: &mut NamedTables,
    kernel: &Kernel,
    device: &Device,
) -> Result<(), PrepareError> {
    let _filling = trace::span("set up", "table of elements on the device");
    let [counting, _] = plan.table_launches(KeptElements::default())?;
    let mut lengths = device.empty_buffer::<u32>(plan.rows as usize)?;
    kernel.launch(&counting, Arguments::new().write("row_length", &mut lengths).tables(tables))?;
    let (starts, kept) = starts(&lengths.download()?, plan.parts(), room.bytes(device));
    tables.insert_buffer("row_length", lengths);
    tables.insert_count(KEPT, kept.rows);
    tables.insert_count(ELEMENTS, kept.elements);
    // Memory has at least one element.
    let length = kept.elements.max(1) as usize;
    let mut elements = device.empty_buffer::<f64>(plan.parts() as usize * length)?;
    let mut columns = device.empty_buffer::<u32>(length)?;
    tables.upload(device, "row_start", if starts.is_empty() { vec![0] } else { starts })?;
    if kept.rows > 0 {
        let [_, filling] = plan.table_launches(kept)?;
        kernel.check(&filling)?;
        let arguments = Arguments::new().write("elements", &mut elements).write("columns", &mut columns);
        kernel.launch(&filling, arguments.tables(tables))?;
    }
    tables.insert_buffer("elements", elements);
    tables.insert_buffer("columns", columns);
    Ok(())
}

/// Where the elements of each row begin, of the rows that there is room for.
fn starts(lengths: &[u32], parts: u64, room: u64) -> (Vec<u64>, KeptElements) {
    let (mut starts, mut kept) = (Vec::new(), KeptElements::default());
    for length in lengths {
        let with = KeptElements {
            rows: kept.rows + 1,
            elements: kept.elements + u64::from(*length).next_multiple_of(RowsPlan::ROW_STEP),
        };
        if RowsPlan::kept_bytes(with, parts) > room {
            break;
        }
        starts.push(kept.elements);
        kept = with;
    }
    (starts, kept)
}
