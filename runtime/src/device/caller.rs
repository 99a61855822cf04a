//! Arrays that another library keeps in the memory of a card, used where they are, and the order of its streams and the device's.
//!
//! In: addresses and a stream of the driver, as CuPy or PyTorch give them. Out: [`Vector`]s at these addresses, and work that begins after what
//! the stream has so far and before what it gets later. Nothing waits on the host, and nothing is allocated in a call.
//!
//! | call | stream of the work | driver calls beside those of the work |
//! |---|---|---|
//! | [`CallerStream::queue`] | the caller's | 3: is it captured, wait for the work before, mark the end |
//! | [`CallerStream::order`] | the device's | 5: both wait for each other, and for the work before |

use super::cuda::Cuda;
use super::streams::Event;
use super::{Device, Vector};
use crate::error::{DeviceError, Result};
use crate::scalar::Scalar;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A card as a caller with streams of its own uses it. All work that is queued by one value is in order, whatever its streams: it may share
/// scratch memory.
pub struct CallerStream {
    device: Device,
    cuda: Arc<Cuda>,
    marks: Mutex<Marks>,
}

/// Points in the work of streams. Each is recorded and waited for by one call at a time.
struct Marks {
    /// Of a caller's stream, before work on the device's.
    before: Event,
    /// The end of the last work.
    last: Event,
}

impl CallerStream {
    /// Of one card.
    ///
    /// # Errors
    /// Cores, several cards, or a rank's share of one.
    pub fn new(device: &Device) -> Result<CallerStream> {
        let Device::Cuda(cuda) = device else {
            let (expected, found) = ("a card".into(), device.name());
            return Err(DeviceError::WrongDevice { what: "arrays in the memory of a card".into(), expected, found });
        };
        device.check_alone("arrays in the memory of a card")?;
        if device.ranks().is_some() {
            let instead = "its vectors are cut into shares".into();
            return Err(DeviceError::NotOverRanks { what: "an array of another library".into(), instead });
        }
        let marks = Mutex::new(Marks { before: Event::new(cuda)?, last: Event::new(cuda)? });
        Ok(CallerStream { device: device.clone(), cuda: cuda.clone(), marks })
    }

    /// The driver's handle of the device's own stream.
    pub fn own_stream(&self) -> u64 {
        self.cuda.context().own_stream() as u64
    }

    /// The number of the card, as the driver counts.
    pub fn ordinal(&self) -> usize {
        self.cuda.ordinals()[0]
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues work on a caller's stream itself. What the work needs from the device must be there: it may launch kernels and copy, not
    /// allocate or compile. Where the stream is captured into a graph, the caller orders the graph with other work that this value queues.
    ///
    /// # Safety
    /// `stream` is the driver's handle of a stream of this card that lives: 0 or 1 for the default one, 2 for that of the thread.
    ///
    /// # Errors
    /// Those of the work; the driver's.
    pub unsafe fn queue<R>(&self, stream: u64, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let stream = stream as sys::CUstream;
        let marks = self.marks();
        // SAFETY: the caller vouches for the stream.
        let borrowed = || unsafe { self.cuda.context().borrow_stream(stream, work) };
        self.cuda.context().enter()?;
        if is_captured(stream) {
            return borrowed();
        }
        marks.last.hold(&self.cuda, stream)?;
        let result = borrowed();
        // Also after an error: some of the work may be queued.
        marks.last.record(stream)?;
        result
    }

    /// Queues work on the device's stream, between what a caller's stream has so far and what it gets later.
    ///
    /// # Safety
    /// As of [`CallerStream::queue`].
    ///
    /// # Errors
    /// Those of the work; the driver's.
    pub unsafe fn order<R>(&self, stream: u64, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let (own, stream) = (self.cuda.context().own_stream(), stream as sys::CUstream);
        let marks = self.marks();
        marks.before.record(stream)?;
        marks.before.hold(&self.cuda, own)?;
        marks.last.hold(&self.cuda, own)?;
        let result = work();
        marks.last.record(own)?;
        marks.last.hold(&self.cuda, stream)?;
        result
    }

    /// Queues work on the device's stream, in no order with streams of a caller.
    ///
    /// # Errors
    /// Those of the work; the driver's.
    pub fn device_work<R, E: From<DeviceError>>(&self, work: impl FnOnce() -> Result<R, E>) -> Result<R, E> {
        let (own, marks) = (self.cuda.context().own_stream(), self.marks());
        marks.last.hold(&self.cuda, own)?;
        let result = work();
        marks.last.record(own)?;
        result
    }

    /// Refuses an address that is not in the memory of this card.
    ///
    /// # Errors
    /// Memory of the host, of another card, or of nothing.
    pub fn check(&self, address: u64) -> Result<()> {
        let (mut ordinal, own) = (-1i32, self.ordinal());
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        self.cuda.context().enter()?;
        // SAFETY: the attribute is a C int; the driver looks the address up and does not read from it.
        let found = unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast::<c_void>(), attribute, address) };
        if found.result().is_ok() && ordinal == own as i32 {
            return Ok(());
        }
        let found = if ordinal < 0 { "memory of the host".into() } else { format!("memory of cuda:{ordinal}") };
        let expected = format!("memory of cuda:{own}");
        Err(DeviceError::WrongDevice { what: "an array of another library".into(), expected, found })
    }

    /// The numbers as a vector, where they are.
    ///
    /// # Safety
    /// They are in the memory of this card, as [`CallerStream::check`] finds, one beside the other, until what is queued on the device's
    /// stream while the vector lives is done; nothing else writes them meanwhile, and where the vector is written, nothing reads them.
    pub unsafe fn vector<T: Scalar>(&self, address: u64, len: usize) -> Vector<T> {
        Vector::lent(&self.device, &self.cuda, address, len)
    }
}

/// Whether what is queued on a stream becomes a graph. The context must be current.
fn is_captured(stream: sys::CUstream) -> bool {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: callers vouch for the stream, and the status is written. The default stream is refused while another is captured.
    let asked = unsafe { sys::cuStreamIsCapturing(stream, &mut status) };
    asked.result().is_ok() && status == sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE
}
