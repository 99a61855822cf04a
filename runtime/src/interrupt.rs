//! SIGINT and SIGTERM during a run that is saved: the state goes to the disk first.
//!
//! In: a signal, seen by a thread that [`watch`] starts. Out: [`pending`], which a run looks at in every iteration; it then
//! saves and ends with [`Interrupted`], and the command ends by the same signal ([`end_by_signal`]). A second signal ends the
//! process at once, and so does the first where nothing is being saved. A library that does not call [`watch`] sees no signals.

use crate::say;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The signal that a run is to end for; 0 for none.
static PENDING: AtomicI32 = AtomicI32::new(0);
/// The signal that a run has ended for; 0 for none.
static OBEYED: AtomicI32 = AtomicI32::new(0);
static SAVED: Mutex<Saved> = Mutex::new(Saved { runs: 0, last: None });

/// What there is to go on from.
struct Saved {
    /// Runs that look at [`pending`] now.
    runs: usize,
    /// Where the newest of them keeps its state.
    last: Option<PathBuf>,
}

/// A run that ended because of a signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ended by {}: {state}", name(*signal))]
pub struct Interrupted {
    /// The signal's number.
    pub signal: i32,
    /// What is on the disk, and how to go on.
    pub state: String,
}

/// As long as it lives, a signal waits for the run to save its state.
#[derive(Debug)]
pub struct Saving(());

impl Saving {
    /// A run whose state goes to `place`.
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

/// Starts to watch for signals, those that this process was told to ignore left out. `hint` says how a run of this kind is
/// saved, for when none is.
///
/// # Errors
/// A system that refuses handlers or threads.
pub fn watch(hint: &'static str) -> io::Result<()> {
    let heeded: Vec<i32> = [SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).collect();
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

/// The signal that the run is to end for.
pub fn pending() -> Option<i32> {
    Some(PENDING.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// What a run that saw [`pending`] ends with; `state` says what is on the disk and how to go on.
pub fn obey(signal: i32, state: String) -> Interrupted {
    OBEYED.store(signal, Ordering::SeqCst);
    Interrupted { signal, state }
}

/// The signal that a run has ended for.
pub fn obeyed() -> Option<i32> {
    Some(OBEYED.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Ends this process by the signal, so that who started it sees which; returns where the system refuses.
pub fn end_by_signal(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

fn name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("a signal")
}
