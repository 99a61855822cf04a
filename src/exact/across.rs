//! What a Kronecker sum needs from other cards.
//!
//! In: its plan. Out: memory on each card for copies of x, or for the rows that the cards exchange.

use eigenforge_runtime::{Device, DeviceError, Everywhere, OnDevice};
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::KroneckerPlan;

/// What reaches a card from the others for the down hops of a Kronecker sum.
pub(super) enum AcrossCards {
    /// Nothing that is prepared: there is one card, or kernels read the others' memory where it lies.
    Nothing,
    /// Copies of x, whose columns are read many times.
    Copies(Everywhere),
    /// Rows of x.
    Exchanged(Exchanged),
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
    /// For vectors of `dimension` elements.
    pub(super) fn new(plan: &KroneckerPlan, dimension: usize, device: &Device) -> Result<AcrossCards, DeviceError> {
        let Some(exchange) = plan.exchange() else {
            let copies = Everywhere::new(device, dimension, plan.scalar)?;
            return Ok(copies.map_or(AcrossCards::Nothing, AcrossCards::Copies));
        };
        let memory = |part: u64| -> Result<Box<dyn OnDevice + Send>, DeviceError> {
            let len = (part * u64::from(device.cards_at_work())) as usize;
            Ok(match plan.scalar {
                ScalarType::F64 => Box::new(device.zeros::<f64>(len)?),
                ScalarType::F32 => Box::new(device.zeros::<f32>(len)?),
            })
        };
        let (staged, added) = (memory(exchange.staged)?, memory(exchange.across)?);
        Ok(AcrossCards::Exchanged(Exchanged { staged, added, chunks: exchange.chunks as i32 }))
    }
}
