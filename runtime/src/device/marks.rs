//! Points in the work of a device, and the seconds between them.
//!
//! A mark on a card is an event in its stream, which costs a few microseconds of the host and holds up nothing; its time is read when
//! the work before it is done. Elsewhere work is done when it is queued, and a mark is the time of the host.

use super::Device;
use super::streams::Event;
use crate::error::Result;
use std::time::Instant;

/// A point in the work queued on a device.
pub(crate) struct Mark(When);

enum When {
    Card(Event),
    Host(Instant),
}

impl Device {
    /// Marks the end of the work queued so far.
    ///
    /// # Errors
    /// The driver refuses.
    pub(crate) fn mark(&self) -> Result<Mark> {
        Ok(Mark(match self {
            Device::Cuda(cuda) => When::Card(Event::timed(cuda, cuda.context().stream())?),
            Device::Cpu(_) | Device::Sim(_) => When::Host(Instant::now()),
        }))
    }
}

impl Mark {
    /// Seconds to a later mark of the same device, which is waited for; 0 between marks of two kinds of devices.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn seconds_to(&self, later: &Mark) -> Result<f64> {
        match (&self.0, &later.0) {
            (When::Card(earlier), When::Card(later)) => {
                later.wait()?;
                later.seconds_since(earlier)
            }
            (When::Host(earlier), When::Host(later)) => Ok(later.duration_since(*earlier).as_secs_f64()),
            _ => Ok(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_between_marks_takes_time() {
        let device = crate::testing::card().unwrap_or(Device::cpu());
        let before = device.mark().unwrap();
        device.random::<f64>(1 << 20, 3).unwrap();
        let after = device.mark().unwrap();
        let seconds = before.seconds_to(&after).unwrap();
        assert!(seconds > 0.0 && seconds < 60.0, "{seconds}");
    }
}
