//! Streams of a card beside that of its kernels, and points in the work of any of its streams; both are given back when they are dropped.

use super::context::{Context, driver};
use super::cuda::Cuda;
use crate::error::Result;
use cudarc::driver::{result, sys};
use std::sync::Arc;

/// A stream of its own, whose work is ordered with nothing but by events.
pub(super) struct Stream {
    stream: sys::CUstream,
    cuda: Arc<Cuda>,
}

// SAFETY: a stream may be used from any thread with its context current.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.cuda.context().enter().is_ok() {
            // SAFETY: nobody else holds the stream; the driver finishes its remaining work first.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

impl Stream {
    pub(super) fn new(cuda: &Arc<Cuda>) -> Result<Stream> {
        cuda.context().enter()?;
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        Ok(Stream { stream, cuda: cuda.clone() })
    }

    /// The driver's handle.
    pub(super) fn raw(&self) -> sys::CUstream {
        self.stream
    }

    /// The card that it belongs to.
    pub(super) fn cuda(&self) -> &Arc<Cuda> {
        &self.cuda
    }
}

/// A point in the work of a stream.
pub(super) struct Event {
    event: sys::CUevent,
    cuda: Arc<Cuda>,
}

// SAFETY: an event may be used from any thread with a context current.
unsafe impl Send for Event {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Event {}

impl Event {
    /// Of no time.
    pub(super) fn new(cuda: &Arc<Cuda>) -> Result<Event> {
        Event::create(cuda, sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)
    }

    fn create(cuda: &Arc<Cuda>, flags: sys::CUevent_flags) -> Result<Event> {
        cuda.context().enter()?;
        let event = result::event::create(flags).map_err(driver("cuEventCreate"))?;
        Ok(Event { event, cuda: cuda.clone() })
    }

    /// After what is queued on a stream so far, with a time. Who waits for it sleeps.
    pub(super) fn timed(cuda: &Arc<Cuda>, stream: sys::CUstream) -> Result<Event> {
        let event = Event::create(cuda, sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC)?;
        event.record(stream)?;
        Ok(event)
    }

    /// Seconds from an earlier event; both are timed and have passed.
    pub(super) fn seconds_since(&self, earlier: &Event) -> Result<f64> {
        self.context().enter()?;
        // SAFETY: both events are of this context, and were recorded.
        let milliseconds = unsafe { result::event::elapsed(earlier.event, self.event) };
        Ok(1e-3 * f64::from(milliseconds.map_err(driver("cuEventElapsedTime"))?))
    }

    /// Records what is queued on a stream of its card.
    pub(super) fn record(&self, stream: sys::CUstream) -> Result<()> {
        self.context().enter()?;
        // SAFETY: event and stream live, belong to one context, and it is current.
        unsafe { result::event::record(self.event, stream) }.map_err(driver("cuEventRecord"))
    }

    /// Has the work queued on a stream of `card` from here on wait.
    pub(super) fn hold(&self, card: &Cuda, stream: sys::CUstream) -> Result<()> {
        card.context().enter()?;
        // SAFETY: event and stream live, and the context of the stream is current.
        unsafe { result::stream::wait_event(stream, self.event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT) }
            .map_err(driver("cuStreamWaitEvent"))
    }

    /// Waits until it is reached.
    pub(super) fn wait(&self) -> Result<()> {
        self.context().enter()?;
        // SAFETY: the event lives as long as `self`.
        unsafe { result::event::synchronize(self.event) }.map_err(driver("cuEventSynchronize"))
    }

    fn context(&self) -> &Context {
        self.cuda.context()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context().enter().is_ok() {
            // SAFETY: nobody else holds the event.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}
