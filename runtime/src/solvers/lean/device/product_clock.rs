//! What each card did of the products with H, by its own clock.

use crate::device::{Device, Mark};
use crate::error::DeviceError;
use serde::{Deserialize, Serialize};

/// Products with fewer operations are not timed: a mark takes some microseconds.
const FEW_FLOPS: f64 = 1e9;

/// What a card did of the products with H.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CardWork {
    /// The card.
    pub device: String,
    /// Operations of its part of the products that were timed.
    pub flops: f64,
    /// Seconds of it.
    pub products: f64,
    /// Seconds from the end of its own work until all of x had arrived: links, and other cards that were still at work.
    pub waiting: f64,
    /// Bytes that it received from other cards: operators, and parts of vectors.
    pub received: u64,
}

/// The times of one card.
pub(super) struct ProductClock {
    device: Device,
    work: CardWork,
    /// Before x was collected, after it, and after the product; the last one is missing while it is queued.
    pending: Vec<(f64, [Mark; 2], Option<Mark>)>,
}

impl ProductClock {
    pub(super) fn new(device: &Device) -> ProductClock {
        let work = CardWork { device: device.name(), ..CardWork::default() };
        ProductClock { device: device.clone(), work, pending: Vec::new() }
    }

    /// A product of so many operations is queued next; x is there.
    pub(super) fn begin(&mut self, flops: f64) -> Result<(), DeviceError> {
        if flops >= FEW_FLOPS {
            self.pending.push((flops, [self.device.mark()?, self.device.mark()?], None));
        }
        Ok(())
    }

    /// The same for a product whose x was collected since the mark.
    pub(super) fn collected(&mut self, flops: f64, since: Mark) -> Result<(), DeviceError> {
        self.pending.push((flops, [since, self.device.mark()?], None));
        Ok(())
    }

    /// A point before x is collected.
    pub(super) fn mark(&self) -> Result<Mark, DeviceError> {
        self.device.mark()
    }

    /// The product that was begun is queued.
    pub(super) fn end(&mut self) -> Result<(), DeviceError> {
        if let Some((.., end @ None)) = self.pending.last_mut() {
            *end = Some(self.device.mark()?);
        }
        Ok(())
    }

    /// So many bytes came from another card.
    pub(super) fn received(&mut self, bytes: u64) {
        self.work.received += bytes;
    }

    /// Adds the products that are done; those queued are waited for.
    pub(super) fn read(&mut self) -> Result<(), DeviceError> {
        for (flops, [before, there], end) in self.pending.drain(..) {
            if let Some(end) = end {
                self.work.flops += flops;
                self.work.waiting += before.seconds_to(&there)?;
                self.work.products += there.seconds_to(&end)?;
            }
        }
        Ok(())
    }

    pub(super) fn work(&self) -> &CardWork {
        &self.work
    }
}
