//! Handling of SIGINT, SIGTERM and SIGHUP (a closed terminal) during a run with checkpoints: the state is saved first.
//!
//! In: a signal, seen by a thread that [`watch`] starts. Out: [`pending`], which a run checks in every iteration; it then
//! saves and ends with [`Interrupted`], and the command ends by the same signal ([`end_by_signal`]). A second signal ends
//! the process at once, and so does the first if nothing is being saved. A library that does not call [`watch`] handles
//! no signals.
//!
//! A program with signals of its own, such as Python, calls [`stop`] in their place: then runs that save nothing end too, at their next
//! multiply by H ([`check`]).

use crate::say;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The signal for which runs should end; 0 for none.
static PENDING: AtomicI32 = AtomicI32::new(0);
/// The signal for which a run has ended; 0 for none.
static OBEYED: AtomicI32 = AtomicI32::new(0);
/// Whether runs that save nothing end too.
static STOPPED: AtomicBool = AtomicBool::new(false);
static SAVED: Mutex<Saved> = Mutex::new(Saved { runs: 0, last: None });

/// Saved states to resume from.
struct Saved {
    /// Runs that now check [`pending`].
    runs: usize,
    /// Folder of the newest saved state.
    last: Option<PathBuf>,
}

/// A run that ended because of a signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ended by {}: {state}", name(*signal))]
pub struct Interrupted {
    /// The signal's number.
    pub signal: i32,
    /// What is on disk, and how to resume.
    pub state: String,
}

/// While it lives, a signal waits for the run to save its state.
#[derive(Debug)]
pub struct Saving(());

impl Saving {
    /// A run that saves its state to `place`.
    pub fn to(place: &Path) -> Saving {
        let mut saved = saved();
        saved.runs += 1;
        saved.last = Some(place.to_path_buf());
        Saving(())
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        saved().runs -= 1;
    }
}

fn saved() -> MutexGuard<'static, Saved> {
    SAVED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Starts watching for signals, except those that this process was started to ignore. `hint` says how to save a run of
/// this kind, for when no run is saving.
///
/// # Errors
/// The system refuses handlers or threads.
pub fn watch(hint: &'static str) -> io::Result<()> {
    let heeded: Vec<i32> = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let mut signals = Signals::new(heeded)?;
    let watching = move || signals.forever().for_each(|signal| receive(signal, hint));
    std::thread::Builder::new().name("signals".into()).spawn(watching).map(drop)
}

/// Whether this process was started with the signal ignored, as by `nohup` or by a script's `&`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn receive(signal: i32, hint: &str) {
    let name = name(signal);
    let saved = saved();
    if PENDING.load(Ordering::SeqCst) != 0 {
        say!("{name} once more: ended before the state was saved");
    } else if saved.runs > 0 {
        PENDING.store(signal, Ordering::SeqCst);
        say!("{name}: the run ends as soon as its state is saved; another signal ends it at once");
        return;
    } else if let Some(place) = &saved.last {
        say!("{name}: ended; the state that was saved last is in {}", place.display());
    } else {
        say!("{name}: ended, and nothing was saved; {hint}");
    }
    drop(saved);
    end_by_signal(signal);
}

/// The signal for which the run should end.
pub fn pending() -> Option<i32> {
    Some(PENDING.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Ends the runs of this process as a signal would: those that save their state save it first, the others end at their next multiply by H.
pub fn stop(signal: i32) {
    PENDING.store(signal, Ordering::SeqCst);
    STOPPED.store(true, Ordering::SeqCst);
}

/// Lets runs go on after [`stop`].
pub fn clear() {
    STOPPED.store(false, Ordering::SeqCst);
    PENDING.store(0, Ordering::SeqCst);
    OBEYED.store(0, Ordering::SeqCst);
}

/// Whether a run that saves nothing goes on.
///
/// # Errors
/// [`stop`] was called, and no run of this process has a state to save.
pub fn check() -> Result<(), Interrupted> {
    if !STOPPED.load(Ordering::Relaxed) || saved().runs > 0 {
        return Ok(());
    }
    match pending() {
        Some(signal) => Err(obey(signal, "nothing was saved".into())),
        None => Ok(()),
    }
}

/// The error of a run that ends because of [`pending`]; `state` says what is on disk and how to resume.
pub fn obey(signal: i32, state: String) -> Interrupted {
    OBEYED.store(signal, Ordering::SeqCst);
    Interrupted { signal, state }
}

/// The signal for which a run has ended.
pub fn obeyed() -> Option<i32> {
    Some(OBEYED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// What a process ended by a signal leaves no trace of, such as lock files.
type Leftovers = Vec<(u64, Box<dyn Fn() + Send>)>;
static LEFTOVERS: Mutex<Leftovers> = Mutex::new(Vec::new());

/// While it lives, a signal that ends the process does something first.
#[derive(Debug)]
pub struct BeforeTheEnd(u64);

impl BeforeTheEnd {
    /// Calls `clear` before a signal ends the process; what was registered last is called first.
    pub fn call(clear: impl Fn() + Send + 'static) -> BeforeTheEnd {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        leftovers().push((number, Box::new(clear)));
        BeforeTheEnd(number)
    }
}

impl Drop for BeforeTheEnd {
    fn drop(&mut self) {
        leftovers().retain(|(number, _)| *number != self.0);
    }
}

fn leftovers() -> MutexGuard<'static, Leftovers> {
    LEFTOVERS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Ends this process by the signal, so that its parent sees which; returns if the system refuses.
pub fn end_by_signal(signal: i32) {
    leftovers().iter().rev().for_each(|(_, clear)| clear());
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

fn name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}
