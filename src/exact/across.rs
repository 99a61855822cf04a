//! What a multiply needs from other cards.
//!
//! In: its plan. Out: memory on each card for copies of x, or for the rows that the cards exchange.

use super::prepared::Prepared;
use eigenforge_runtime::{Device, DeviceError, Everywhere, OnDevice};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::Exchange;

/// What reaches a card from the others.
pub(super) enum AcrossCards {
    /// Nothing that is prepared: there is one card, or kernels read the others' memory where it lies.
    Nothing,
    /// Copies of x for the kernel of this name, which reads elements of other cards many times, or each from another place.
    Copies(Everywhere, &'static str),
    /// Rows of x, for the down hops of a Kronecker sum.
    Exchanged(Exchanged),
    /// Panels of rows, of pairs of strings; also on one card.
    Panels(Panels),
}

/// Memory for panels of rows, a part on each card.
pub(super) struct Panels {
    /// Whole rows of two panels.
    pub(super) staged: Box<dyn OnDevice + Send>,
    /// What the hops of two panels add.
    pub(super) across: Box<dyn OnDevice + Send>,
    /// Panels of a card.
    pub(super) count: i32,
}

/// Memory for the rows that cards exchange in a multiply, a part on each card.
pub(super) struct Exchanged {
    /// Rows of x that were fetched, by chunks.
    pub(super) staged: Box<dyn OnDevice + Send>,
    /// What the down hops add to the rows of each card.
    pub(super) added: Box<dyn OnDevice + Send>,
    /// Chunks of a card.
    pub(super) chunks: i32,
}

impl AcrossCards {
    pub(super) fn new(prepared: &Prepared, device: &Device) -> Result<AcrossCards, DeviceError> {
        let (scalar, reader) = match prepared {
            Prepared::Kronecker { plan, .. } => match plan.exchange() {
                Some(exchange) => return AcrossCards::exchanged(exchange, plan.scalar, device),
                None => (plan.scalar, "multiply_down"),
            },
            Prepared::Symmetric(rows) => (rows.plan().scalar, "multiply"),
            Prepared::Strings(rows) => (rows.plan().scalar, "multiply"),
            Prepared::Pairs(rows) => {
                let plan = rows.plan();
                let memory = || numbers(plan.panel_memory() as usize, plan.scalar, device);
                let (staged, across) = (memory()?, memory()?);
                return Ok(AcrossCards::Panels(Panels { staged, across, count: plan.panels() as i32 }));
            }
            Prepared::General { .. } | Prepared::Stored(_) => return Ok(AcrossCards::Nothing),
        };
        let copies = Everywhere::new(device, prepared.dimension(), scalar)?;
        Ok(copies.map_or(AcrossCards::Nothing, |copies| AcrossCards::Copies(copies, reader)))
    }

    fn exchanged(exchange: Exchange, scalar: ScalarType, device: &Device) -> Result<AcrossCards, DeviceError> {
        let memory = |part: u64| numbers((part * u64::from(device.cards_at_work())) as usize, scalar, device);
        let (staged, added) = (memory(exchange.staged)?, memory(exchange.across)?);
        Ok(AcrossCards::Exchanged(Exchanged { staged, added, chunks: exchange.chunks as i32 }))
    }
}

/// Memory of the vectors' numbers, 0.
fn numbers(len: usize, scalar: ScalarType, device: &Device) -> Result<Box<dyn OnDevice + Send>, DeviceError> {
    Ok(match scalar {
        ScalarType::F64 => Box::new(device.zeros::<f64>(len)?),
        ScalarType::F32 => Box::new(device.zeros::<f32>(len)?),
    })
}
