//! Copies between device memory and pinned host memory, on a stream of their own beside the kernels.
//!
//! A [`Transfer`] owns both ends until it is finished, so neither can be read, written or freed too early. It begins when
//! all work queued on the device before is done; work queued later does not wait for it. On the CPU and in simulation a
//! copy is done at once.

use super::context::driver;
use super::streams::{Event, Stream};
use super::{Device, Pinned, Vector};
use crate::error::{DeviceError, Result};
use cudarc::driver::{result, sys};

/// A stream for copies.
pub struct Copies {
    device: Device,
    stream: Option<Stream>,
}

/// The first elements of a vector on their way to host memory or back.
pub struct Transfer {
    ends: Option<(Vector<f64>, Pinned)>,
    done: Option<Event>,
}

impl Stream {
    /// Queues `copy` after everything queued on the device.
    pub(super) fn queue(&self, copy: impl FnOnce(sys::CUstream) -> Result<()>) -> Result<Event> {
        let [before, done] = [Event::new(self.cuda())?, Event::new(self.cuda())?];
        before.record(self.cuda().context().stream())?;
        before.hold(self.cuda(), self.raw())?;
        copy(self.raw())?;
        done.record(self.raw())?;
        Ok(done)
    }
}

fn check(device: &Device, vector: &Vector<f64>, pinned: &Pinned, len: usize) -> Result<()> {
    if !vector.device().is_same(device) {
        let (expected, found) = (device.name(), vector.device().name());
        return Err(DeviceError::WrongDevice { what: "a copy".into(), expected, found });
    }
    if len > vector.len() || len > pinned.len() {
        return Err(DeviceError::Arguments {
            what: "a copy".into(),
            expected: format!("at most {} elements", vector.len().min(pinned.len())),
            found: len.to_string(),
        });
    }
    Ok(())
}

impl Copies {
    /// For vectors of this device.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(device: &Device) -> Result<Copies> {
        let stream = match device {
            Device::Cuda(cuda) => Some(Stream::new(cuda)?),
            Device::Cpu(_) | Device::Sim(_) => None,
        };
        Ok(Copies { device: device.clone(), stream })
    }

    /// Starts copying the first `len` elements of a vector to host memory.
    ///
    /// # Errors
    /// Too many elements; a vector of another device.
    pub fn to_host(&self, vector: Vector<f64>, mut pinned: Pinned, len: usize) -> Result<Transfer> {
        check(&self.device, &vector, &pinned, len)?;
        let (Some(stream), Some(address)) = (&self.stream, vector.address()) else {
            vector.read_part(0, &mut pinned[..len])?;
            return Ok(Transfer { ends: Some((vector, pinned)), done: None });
        };
        let (to, bytes) = (pinned.as_mut_ptr(), 8 * len);
        let done = stream.queue(|stream| {
            // SAFETY: both ends hold `len` numbers, as just checked, and the transfer keeps them until the copy is done.
            unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), address, bytes, stream) }
                .result()
                .map_err(driver("cuMemcpyDtoHAsync"))
        })?;
        Ok(Transfer { ends: Some((vector, pinned)), done: Some(done) })
    }

    /// Starts copying `len` numbers to the front of a vector.
    ///
    /// # Errors
    /// See [`Copies::to_host`].
    pub fn to_device(&self, pinned: Pinned, mut vector: Vector<f64>, len: usize) -> Result<Transfer> {
        check(&self.device, &vector, &pinned, len)?;
        let (Some(stream), Some(address)) = (&self.stream, vector.address()) else {
            vector.write_first(&pinned[..len])?;
            return Ok(Transfer { ends: Some((vector, pinned)), done: None });
        };
        let done = stream.queue(|stream| {
            // SAFETY: as above.
            unsafe { result::memcpy_htod_async(address, &pinned[..len], stream) }.map_err(driver("cuMemcpyHtoDAsync"))
        })?;
        Ok(Transfer { ends: Some((vector, pinned)), done: Some(done) })
    }
}

impl Transfer {
    /// Waits, and returns both ends.
    ///
    /// # Errors
    /// The device fails.
    pub fn finish(mut self) -> Result<(Vector<f64>, Pinned)> {
        self.wait()?;
        self.ends.take().ok_or_else(|| DeviceError::Arguments {
            what: "a copy".into(),
            expected: "one that is under way".into(),
            found: "one that has ended".into(),
        })
    }

    /// A copy of the first `len` numbers after the transfer.
    ///
    /// # Errors
    /// The device fails.
    pub fn values(&self, len: usize) -> Result<Vec<f64>> {
        self.wait()?;
        Ok(self.ends.as_ref().map_or_else(Vec::new, |(_, pinned)| pinned[..len].to_vec()))
    }

    fn wait(&self) -> Result<()> {
        self.done.as_ref().map_or(Ok(()), Event::wait)
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        // Memory may be reused only when the copy is done; a failed device has released it.
        let _ = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_and_come_back_beside_other_work() {
        let device = crate::testing::card().unwrap_or(Device::cpu());
        let copies = Copies::new(&device).unwrap();
        let mut under_way = Vec::new();
        for k in 0..6usize {
            let numbers: Vec<f64> = (0..50_000 + k).map(|i| (i * (k + 1)) as f64).collect();
            let vector = device.upload(&numbers).unwrap();
            under_way.push((copies.to_host(vector, device.pinned(60_000).unwrap(), numbers.len()).unwrap(), numbers));
        }
        for (transfer, numbers) in under_way {
            assert_eq!(transfer.values(numbers.len()).unwrap(), numbers);
            let (mut vector, pinned) = transfer.finish().unwrap();
            vector.write(&vec![f64::NAN; numbers.len()]).unwrap();
            let back = copies.to_device(pinned, vector, numbers.len()).unwrap();
            assert_eq!(back.finish().unwrap().0.download().unwrap(), numbers);
        }
        let (vector, pinned) = (device.zeros(5).unwrap(), device.pinned(9).unwrap());
        assert!(copies.to_host(vector, pinned, 6).is_err());
    }
}
