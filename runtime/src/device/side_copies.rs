//! Copies of parts of a vector to host memory, on a stream of their own beside the device's kernels.
//!
//! In: a vector, ranges of its elements, host memory. Out: that memory with the ranges one after the other, after
//! [`PendingCopy::wait`]; kernels launched in between run at the same time. The copies begin when everything queued
//! before is done. In simulation and on the CPU they finish at once.

use super::context::{Context, driver};
use super::cuda::Cuda;
use super::{Device, Pinned, Vector};
use crate::error::{DeviceError, Result};
use cudarc::driver::{result, sys};
use std::ops::Range;
use std::sync::Arc;

/// The stream of such copies.
pub struct SideCopies {
    lane: Option<Lane>,
}

struct Lane {
    cuda: Arc<Cuda>,
    stream: sys::CUstream,
    /// Recorded after the work queued before the copies.
    ready: sys::CUevent,
}

// SAFETY: the handles may be used from any thread with the context current, which every use makes it.
unsafe impl Send for Lane {}
// SAFETY: as above; the driver locks internally, and who waits on the stream waits for everything on it.
unsafe impl Sync for Lane {}

/// Copies that may still be running. The host memory is returned only after they finish.
#[must_use = "the numbers are there after `wait`"]
pub struct PendingCopy<'a> {
    lane: Option<&'a Lane>,
    to: Option<Pinned>,
    /// Borrowed, so that it is not written while it is copied.
    _from: &'a Vector<f64>,
}

impl Lane {
    fn new(cuda: &Arc<Cuda>) -> Result<Lane> {
        cuda.context().enter()?;
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        let ready =
            result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(driver("cuEventCreate"))?;
        Ok(Lane { cuda: cuda.clone(), stream, ready })
    }

    fn context(&self) -> &Context {
        self.cuda.context()
    }

    /// Makes the stream wait for the work queued on the device so far.
    fn begin(&self) -> Result<()> {
        self.context().enter()?;
        // SAFETY: event and stream live as long as the lane, the device's stream as long as the context.
        unsafe {
            result::event::record(self.ready, self.context().stream()).map_err(driver("cuEventRecord"))?;
            result::stream::wait_event(self.stream, self.ready, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
                .map_err(driver("cuStreamWaitEvent"))
        }
    }

    fn wait(&self) -> Result<()> {
        self.context().enter()?;
        // SAFETY: the stream lives as long as the lane.
        unsafe { result::stream::synchronize(self.stream) }.map_err(driver("cuStreamSynchronize"))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        if self.context().enter().is_ok() {
            // SAFETY: nobody else holds them; the driver lets what is queued finish.
            unsafe {
                let _ = result::event::destroy(self.ready);
                let _ = result::stream::destroy(self.stream);
            }
        }
    }
}

impl SideCopies {
    /// For vectors of a device.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn new(device: &Device) -> Result<SideCopies> {
        let lane = match device {
            Device::Cpu(_) | Device::Sim(_) => None,
            Device::Cuda(cuda) => Some(Lane::new(cuda)?),
        };
        Ok(SideCopies { lane })
    }

    /// Starts copying ranges of `from`, relative to its element `first`, to the front of `to`, one after the other.
    ///
    /// # Errors
    /// Ranges beyond the vector, more elements than the host memory holds; a vector of another device; the driver
    /// refuses.
    pub fn begin<'a>(
        &'a self,
        from: &'a Vector<f64>,
        first: usize,
        parts: &[Range<usize>],
        mut to: Pinned,
    ) -> Result<PendingCopy<'a>> {
        let end = parts.iter().map(|part| part.end).max().unwrap_or(0);
        let count: usize = parts.iter().map(Range::len).sum();
        if count > to.len() || first + end > from.len() || parts.iter().any(|part| part.start > part.end) {
            return Err(DeviceError::Arguments {
                what: "parts of a vector to be copied".into(),
                expected: format!("at most {} of {} elements from {first} on", to.len(), from.len()),
                found: format!("{count} up to element {end}"),
            });
        }
        let mut at = 0;
        let places = parts.iter().filter(|part| !part.is_empty()).map(|part| {
            at += part.len();
            (first + part.start, at - part.len()..at)
        });
        let Some(lane) = &self.lane else {
            for (start, place) in places {
                from.read_part(start, &mut to[place])?;
            }
            return Ok(PendingCopy { lane: None, to: Some(to), _from: from });
        };
        let address = match (from.device(), from.address()) {
            (Device::Cuda(cuda), Some(address)) if Arc::ptr_eq(cuda, &lane.cuda) => address,
            _ => {
                let (what, expected) = ("the source of copies beside kernels".into(), lane.cuda.name());
                return Err(DeviceError::WrongDevice { what, expected, found: from.device().name() });
            }
        };
        lane.begin()?;
        // From here on, dropping it waits.
        let mut underway = PendingCopy { lane: Some(lane), to: Some(to), _from: from };
        if let Some(to) = &mut underway.to {
            for (start, place) in places {
                // SAFETY: both ranges were compared above; the host memory is kept until the copies are waited for, the
                // vector is borrowed as long.
                unsafe { result::memcpy_dtoh_async(&mut to[place], address + 8 * start as u64, lane.stream) }
                    .map_err(driver("cuMemcpyDtoHAsync"))?;
            }
        }
        Ok(underway)
    }
}

impl PendingCopy<'_> {
    /// Waits, and returns the host memory with the numbers in it.
    ///
    /// # Errors
    /// The device failed.
    pub fn wait(mut self) -> Result<Pinned> {
        let waited = self.lane.take().map_or(Ok(()), Lane::wait);
        match (waited, self.to.take()) {
            (Ok(()), Some(to)) => Ok(to),
            (Err(error), to) => {
                // Copies that cannot be waited for may still write.
                std::mem::forget(to);
                Err(error)
            }
            (Ok(()), None) => unreachable!("it is taken here alone"),
        }
    }
}

impl Drop for PendingCopy<'_> {
    fn drop(&mut self) {
        if self.lane.take().is_some_and(|lane| lane.wait().is_err()) {
            std::mem::forget(self.to.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Schedule;

    /// The name has a card run it.
    #[test]
    fn memcheck_parts_arrive_side_by_side_and_nothing_else_does() {
        let Some(device) = crate::testing::card_or_simulated(Schedule::Forward) else { return };
        let copies = SideCopies::new(&device).unwrap();
        let values: Vec<f64> = (0..100_000).map(|k| f64::from(k) + 0.25).collect();
        let vector = device.upload(&values).unwrap();
        let mut to = device.pinned(60_000).unwrap();
        to.fill(f64::NAN);
        let (first, parts) = (30_007, [3..3, 5..17, 900..40_000, 40_001..60_000]);
        let to = copies.begin(&vector, first, &parts, to).unwrap().wait().unwrap();
        let expected: Vec<f64> = parts.iter().flat_map(|part| part.clone()).map(|k| values[first + k]).collect();
        assert_eq!(to[..expected.len()], expected);
        assert!(to[expected.len()..].iter().all(|behind| behind.is_nan()));
        let said = copies.begin(&vector, 99_990, &parts, to).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("up to element 60000"), "{said}");
        let elsewhere = Device::cpu().upload(&values).unwrap();
        let refused = copies.begin(&elsewhere, 0, &parts, device.pinned(60_000).unwrap()).map(|_| ()).is_err();
        assert_eq!(refused, device.is_cuda());
    }
}
