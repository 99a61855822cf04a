//! The only way to standard error.
//!
//! In: a line for the user. Out: the line on standard error, or nothing: a closed or full standard error must never cost
//! a result, and `eprintln!` panics on it. A test reads the sources and finds every other use.

use std::collections::BTreeSet;
use std::fmt::Arguments;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process says nothing: another one speaks for it.
static SILENT: AtomicBool = AtomicBool::new(false);

/// From now on this process says nothing, because another one does.
pub fn be_silent() {
    SILENT.store(true, Ordering::Relaxed);
}

/// Whether this process says nothing.
pub fn is_silent() -> bool {
    SILENT.load(Ordering::Relaxed)
}

/// Writes one line to standard error in one piece, ignoring failures.
pub fn say(line: Arguments<'_>) {
    if is_silent() {
        return;
    }
    let text = format!("{line}\n");
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a line that this process has not written before.
pub fn say_once(line: Arguments<'_>) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(line.to_string()) {
        say(line);
    }
}

/// [`say`](fn@crate::say) with the arguments of `format!`.
#[macro_export]
macro_rules! say {
    ($($argument:tt)+) => { $crate::say(::std::format_args!($($argument)+)) };
}
