//! Traces where time goes: spans of work, recorded on request, and passed to an attached profiler as NVTX ranges.
//!
//! ```text
//! span(category, name) … drop   →  Recording (for a Chrome trace)   and   NVTX push/pop (for Nsight)
//! ```
//!
//! Without a recording, a span is one relaxed load of one byte. There is one recording at a time in the process; a span
//! belongs to the thread that began it and ends there, in reverse order of beginning, so the spans of a thread nest. GPU
//! work of a span is added on a separate track by [`crate::Device::span`].

mod nvtx;

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// No check for a profiler was made yet.
const UNASKED: u8 = 1;
/// A recording runs.
const RECORDING: u8 = 2;
/// A profiler is attached.
const PROFILER: u8 = 4;
static STATE: AtomicU8 = AtomicU8::new(UNASKED);

/// Events kept of one recording, some 200 bytes each.
const MOST_EVENTS: usize = 1 << 20;

/// The value of a span's argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number, in the unit given by the argument's name.
    Number(f64),
    /// A count.
    Count(u64),
    /// A boolean.
    Flag(bool),
}

macro_rules! value {
    ($($from:ty => $variant:ident $convert:expr),* $(,)?) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Value {
                Value::$variant($convert(value))
            }
        }
    )*};
}
value!(&str => Text str::to_owned, String => Text std::convert::identity, f64 => Number std::convert::identity,
    bool => Flag std::convert::identity, u64 => Count std::convert::identity, usize => Count |count| count as u64);

/// Where the work was done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// A thread of this process, in the order in which they first traced; the first is 1.
    Thread(u32),
    /// A device, by its name.
    Device(String),
}

/// One finished span.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where the work was done.
    pub track: Track,
    /// The stage: `generate`, `compile`, `solver`, ….
    pub category: &'static str,
    /// Name of the work.
    pub name: String,
    /// Start in seconds from the start of the recording.
    pub start: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Its arguments.
    pub arguments: Vec<(&'static str, Value)>,
}

/// The contents of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The spans, in the order in which they ended.
    pub events: Vec<Event>,
    /// Spans dropped because the recording was full.
    pub dropped: u64,
    /// Problems, such as a device without timers.
    pub notes: Vec<String>,
}

struct Recorder {
    number: u64,
    started: Instant,
    trace: Trace,
    /// Called before the end, to submit device measurements.
    last_words: Vec<fn()>,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

fn recorder() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A recording in progress; it ends with [`Recording::finish`], or is discarded when dropped.
#[derive(Debug)]
pub struct Recording {
    number: u64,
}

/// Another recording is in progress; only one is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trace is already being recorded: only one at a time is possible; finish it first")]
pub struct AlreadyRecording;

impl Recording {
    /// Records every span that begins from now on, in any thread.
    ///
    /// # Errors
    /// Another recording is running.
    pub fn start() -> Result<Recording, AlreadyRecording> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut recorder = recorder();
        if recorder.is_some() {
            return Err(AlreadyRecording);
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        *recorder = Some(Recorder { number, started: Instant::now(), trace: Trace::default(), last_words: vec![] });
        STATE.fetch_or(RECORDING, Ordering::Relaxed);
        Ok(Recording { number })
    }

    /// Ends it. Unfinished spans are not in the trace.
    pub fn finish(self) -> Trace {
        let last_words = recorder().as_mut().map(|recorder| std::mem::take(&mut recorder.last_words));
        last_words.unwrap_or_default().iter().for_each(|hand_in| hand_in());
        self.stop().map(|recorder| recorder.trace).unwrap_or_default()
    }

    fn stop(&self) -> Option<Recorder> {
        let mut recorder = recorder();
        recorder.take_if(|recorder| recorder.number == self.number).inspect(|_| {
            // Under the lock, so that a recording that starts right after stays switched on.
            STATE.fetch_and(!RECORDING, Ordering::Relaxed);
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A span of work that lasts until this is dropped.
#[must_use = "a span lasts as long as it is kept"]
pub struct Span {
    active: Option<Box<Active>>,
    /// Begins and ends in one thread.
    stays: PhantomData<*const ()>,
}

struct Active {
    category: &'static str,
    name: String,
    start: Instant,
    arguments: Vec<(&'static str, Value)>,
    /// Whether a profiler records the span.
    pushed: bool,
    /// The recording it belongs to, if any.
    recording: Option<u64>,
}

/// Begins a span. `category` is the stage, `name` what is done.
pub fn span(category: &'static str, name: &str) -> Span {
    let state = STATE.load(Ordering::Relaxed);
    let active = (state != 0).then(|| Active::begin(state, category, name)).flatten();
    Span { active, stays: PhantomData }
}

thread_local!(static UNRECORDED: Cell<bool> = const { Cell::new(false) });

/// Does work whose spans on this thread are recorded nowhere, such as a solve in the place of the user's.
pub(crate) fn unrecorded<R>(work: impl FnOnce() -> R) -> R {
    let before = UNRECORDED.replace(true);
    let result = work();
    UNRECORDED.set(before);
    result
}

impl Span {
    /// Adds a value that is known only now. Costs nothing without a recording.
    pub fn note(&mut self, name: &'static str, value: impl Into<Value>) {
        if let Some(active) = &mut self.active {
            active.arguments.push((name, value.into()));
        }
    }

    /// Whether it is being recorded.
    pub fn is_recorded(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.recording.is_some())
    }
}

impl Active {
    #[cold]
    fn begin(state: u8, category: &'static str, name: &str) -> Option<Box<Active>> {
        let state = if state & UNASKED != 0 { ask() } else { state };
        if state & (RECORDING | PROFILER) == 0 || UNRECORDED.get() {
            return None;
        }
        let pushed = state & PROFILER != 0;
        if pushed {
            nvtx::push(name);
        }
        let recording = if state & RECORDING != 0 { recorder().as_ref().map(|recorder| recorder.number) } else { None };
        let name = name.to_owned();
        Some(Box::new(Active { category, name, start: Instant::now(), arguments: Vec::new(), pushed, recording }))
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(active) = self.active.take() else { return };
        let seconds = active.start.elapsed().as_secs_f64();
        if active.pushed {
            nvtx::pop();
        }
        let mut recorder = recorder();
        let Some(recorder) = recorder.as_mut().filter(|recorder| active.recording == Some(recorder.number)) else {
            return;
        };
        let start = active.start.saturating_duration_since(recorder.started).as_secs_f64();
        let Active { category, name, arguments, .. } = *active;
        recorder.keep(Event { track: this_thread(), category, name, start, seconds, arguments });
    }
}

impl Recorder {
    fn keep(&mut self, event: Event) {
        if self.trace.events.len() < MOST_EVENTS {
            self.trace.events.push(event);
        } else {
            self.trace.dropped += 1;
        }
    }
}

/// Checks once for a profiler; returns the new state.
fn ask() -> u8 {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| {
        if nvtx::attach() {
            STATE.fetch_or(PROFILER, Ordering::Relaxed);
        }
        STATE.fetch_and(!UNASKED, Ordering::Relaxed);
    });
    STATE.load(Ordering::Relaxed)
}

fn this_thread() -> Track {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static NUMBER: Cell<u32> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        Track::Thread(number.get())
    })
}

/// Number and age in seconds of the recording in progress: a device aligns its own clock with it.
pub(crate) fn now() -> Option<(u64, f64)> {
    recorder().as_ref().map(|recorder| (recorder.number, recorder.started.elapsed().as_secs_f64()))
}

/// Registers `hand_in` to be called when the recording in progress ends; registering it repeatedly has no effect.
pub(crate) fn before_the_end(hand_in: fn()) {
    let known = |recorder: &Recorder| recorder.last_words.iter().any(|known| std::ptr::fn_addr_eq(*known, hand_in));
    if let Some(recorder) = recorder().as_mut().filter(|recorder| !known(recorder)) {
        recorder.last_words.push(hand_in);
    }
}

/// Adds a device's measurements to the recording with that number, if it still runs.
pub(crate) fn hand_in(recording: u64, events: Vec<Event>) {
    if let Some(recorder) = recorder().as_mut().filter(|recorder| recorder.number == recording) {
        events.into_iter().for_each(|event| recorder.keep(event));
    }
}

/// Adds a note to the trace, once.
pub(crate) fn note(text: String) {
    if let Some(recorder) = recorder().as_mut().filter(|recorder| !recorder.trace.notes.contains(&text)) {
        recorder.trace.notes.push(text);
    }
}

#[cfg(test)]
mod tests;
