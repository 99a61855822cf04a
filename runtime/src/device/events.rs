//! Times of spans on a CUDA device: two events around each, read in batches, on a separate track.
//!
//! Device work ends after the call that queues it has returned, so host times only show when it was queued. While a trace
//! is recorded, events are recorded on the stream before and after a span; their times are relative to an anchor, an
//! event that the host waited for and whose host time is therefore known to some ten microseconds. Every [`BATCH`] spans
//! are read together with a new anchor, so that neither clock drift nor the single precision of `cuEventElapsedTime`
//! matters. Nothing of this happens without a recording.

use super::Device;
use super::context::{Context, driver};
use crate::error::Result;
use crate::trace::{self, Span, Track, Value};
use cudarc::driver::{result, sys};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Spans per batch.
const BATCH: usize = 256;

/// A span of [`Device::span`]: on the host, and on a CUDA device while a trace is recorded.
#[must_use = "a span lasts as long as it is kept"]
pub struct DeviceSpan {
    /// Dropped, and so ended, before the host's span.
    _device: Option<Begun>,
    host: Span,
}

impl Device {
    /// Begins a span of work queued on this device. See [`trace::span`].
    pub fn span(&self, category: &'static str, name: &str) -> DeviceSpan {
        let host = trace::span(category, name);
        let device = match self {
            Device::Cuda(cuda) if host.is_recorded() => {
                let track = || format!("GPU: {}", cuda.name());
                report_error(Timeline::begin(cuda.context(), track)).map(|(recording, start)| {
                    let context = cuda.context().clone();
                    Begun { context, recording, category, name: name.to_owned(), start: Some(start) }
                })
            }
            _ => None,
        };
        DeviceSpan { _device: device, host }
    }
}

impl DeviceSpan {
    /// Adds a value that is known only now; see [`Span::note`].
    pub fn note(&mut self, name: &'static str, value: impl Into<Value>) {
        self.host.note(name, value);
    }
}

struct Begun {
    context: Arc<Context>,
    recording: u64,
    category: &'static str,
    name: String,
    start: Option<Event>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        let Some(start) = self.start.take() else { return };
        let mut timelines = timelines();
        let same = |line: &&mut Timeline| Arc::ptr_eq(&line.context, &self.context) && line.recording == self.recording;
        if let Some(line) = timelines.iter_mut().find(same) {
            let (category, name) = (self.category, std::mem::take(&mut self.name));
            report_error(line.end(category, name, start));
        }
    }
}

/// A CUDA event. It is destroyed with its timeline, whose context it belongs to.
#[derive(Clone, Copy)]
struct Event(sys::CUevent);

// SAFETY: driver handles may be used from any thread once the context is made current there.
unsafe impl Send for Event {}

/// The spans of one device in one recording.
struct Timeline {
    context: Arc<Context>,
    recording: u64,
    track: Track,
    anchor: Event,
    /// Seconds from the start of the recording to the anchor.
    anchored: f64,
    waiting: Vec<(&'static str, String, Event, Event)>,
    free: Vec<Event>,
    /// Every event created, to be destroyed at the end.
    made: Vec<Event>,
}

static TIMELINES: Mutex<Vec<Timeline>> = Mutex::new(Vec::new());

fn timelines() -> MutexGuard<'static, Vec<Timeline>> {
    TIMELINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ignores errors: a trace without device times is better than a failed solve.
fn report_error<T>(result: Result<T>) -> Option<T> {
    result.map_err(|error| trace::note(format!("times of the GPU are incomplete: {error}"))).ok()
}

/// Reads the remaining spans at the end of a recording.
fn hand_in_all() {
    for mut line in timelines().drain(..) {
        report_error(line.read());
    }
}

impl Timeline {
    /// The recording's number, and an event recorded now on the context's stream.
    fn begin(context: &Arc<Context>, track: impl Fn() -> String) -> Result<(u64, Event)> {
        let mut timelines = timelines();
        context.enter()?;
        let recording = trace::now().map_or(0, |(number, _)| number);
        // Spans left from another recording are useless.
        timelines.retain(|line| line.recording == recording);
        let at = match timelines.iter().position(|line| Arc::ptr_eq(&line.context, context)) {
            Some(at) => at,
            None => {
                let anchor = create()?;
                let mut line = Timeline {
                    context: context.clone(),
                    recording,
                    track: Track::Device(track()),
                    anchor,
                    anchored: 0.0,
                    waiting: Vec::new(),
                    free: Vec::new(),
                    made: vec![anchor],
                };
                line.anchor_now()?;
                timelines.push(line);
                trace::before_the_end(hand_in_all);
                timelines.len() - 1
            }
        };
        let event = timelines[at].record()?;
        Ok((recording, event))
    }

    /// An event recorded now on the stream.
    fn record(&mut self) -> Result<Event> {
        let event = match self.free.pop() {
            Some(event) => event,
            None => {
                let event = create()?;
                self.made.push(event);
                event
            }
        };
        // SAFETY: event and stream belong to this context, which is current, and live as long as the timeline.
        unsafe { result::event::record(event.0, self.context.stream()) }.map_err(driver("cuEventRecord"))?;
        Ok(event)
    }

    /// Ties the device's clock to the host's, after waiting for all queued work.
    fn anchor_now(&mut self) -> Result<()> {
        // SAFETY: as in `record`.
        unsafe {
            result::event::record(self.anchor.0, self.context.stream()).map_err(driver("cuEventRecord"))?;
            result::event::synchronize(self.anchor.0).map_err(driver("cuEventSynchronize"))?;
        }
        self.anchored = trace::now().map_or(0.0, |(_, seconds)| seconds);
        Ok(())
    }

    fn end(&mut self, category: &'static str, name: String, start: Event) -> Result<()> {
        self.context.enter()?;
        let end = self.record()?;
        self.waiting.push((category, name, start, end));
        if self.waiting.len() >= BATCH { self.read() } else { Ok(()) }
    }

    /// Submits the waiting spans, and ties the clocks again.
    fn read(&mut self) -> Result<()> {
        self.context.enter()?;
        let mut events = Vec::with_capacity(self.waiting.len());
        for (category, name, start, end) in self.waiting.drain(..) {
            // SAFETY: both events were recorded on this context's stream; the anchor too, and before them.
            let (after, seconds) = unsafe {
                result::event::synchronize(end.0).map_err(driver("cuEventSynchronize"))?;
                let elapsed =
                    |from: Event, to: Event| result::event::elapsed(from.0, to.0).map_err(driver("cuEventElapsedTime"));
                (1e-3 * f64::from(elapsed(self.anchor, start)?), 1e-3 * f64::from(elapsed(start, end)?))
            };
            self.free.extend([start, end]);
            let (track, start) = (self.track.clone(), self.anchored + after);
            events.push(trace::Event { track, category, name, start, seconds, arguments: Vec::new() });
        }
        trace::hand_in(self.recording, events);
        self.anchor_now()
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            for event in self.made.drain(..) {
                // SAFETY: made by `create` in this context and used by nobody any more.
                let _ = unsafe { result::event::destroy(event.0) };
            }
        }
    }
}

/// A new event in the current context, with a timer.
fn create() -> Result<Event> {
    let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver("cuEventCreate"))?;
    Ok(Event(event))
}
