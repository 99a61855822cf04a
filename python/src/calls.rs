//! Long calls: on a thread of their own, without Python's lock; the caller's thread hears signals in between.

use crate::errors::{fault, raised};
use eigenforge::Error;
use eigenforge::runtime::interrupt;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often signals are heard.
const EVERY: Duration = Duration::from_millis(50);
/// As of the command's main thread.
const STACK: usize = 8 << 20;
/// The signal of Ctrl-C.
pub(crate) const SIGINT: i32 = 2;

/// The process that made the first call: its threads are not in those that it forks.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Refuses a process that is a fork of one with threads at work.
pub(crate) fn check_process() -> PyResult<()> {
    let own = std::process::id();
    match PROCESS.compare_exchange(0, own, Ordering::SeqCst, Ordering::SeqCst) {
        Err(first) if first != own => Err(fault(format!(
            "process {own} is a fork of {first}, which had used eigenforge: its threads and cards are not here. \
             Start processes with multiprocessing.get_context(\"spawn\"), or fork before the first call"
        ))),
        _ => Ok(()),
    }
}

/// Runs something to its end; Ctrl-C ends it as soon as its state is saved or H is multiplied again, and raises KeyboardInterrupt.
pub(crate) fn long<T: Send>(py: Python<'_>, call: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    check_process()?;
    let ended = (Mutex::new(false), Condvar::new());
    let mut signal = None;
    let result = std::thread::scope(|scope| {
        let work = || {
            let result = catch_unwind(AssertUnwindSafe(call));
            *ended.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            ended.1.notify_all();
            result
        };
        let worker = std::thread::Builder::new().name("eigenforge".into()).stack_size(STACK).spawn_scoped(scope, work);
        let worker = match worker {
            Ok(worker) => worker,
            Err(source) => return Err(fault(format!("no thread could be started: {source}"))),
        };
        while !py.detach(|| wait(&ended)) {
            if let Err(heard) = py.check_signals() {
                interrupt::stop(SIGINT);
                signal.get_or_insert(heard);
            }
        }
        let result = py.detach(|| worker.join());
        Ok(result.unwrap_or_else(Err))
    });
    if signal.is_some() {
        // Other threads' runs have ended too; what they begin now goes on.
        interrupt::clear();
    }
    match (result?, signal) {
        (Ok(Err(error)), Some(signal)) => {
            // What is on disk, and how to go on.
            let _ = signal.value(py).call_method1("add_note", (error.to_string(),));
            Err(signal)
        }
        (_, Some(signal)) => Err(signal),
        (Ok(result), None) => result.map_err(raised),
        (Err(panic), None) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
            Err(fault(format!("a fault in eigenforge itself, please report it: {said}")))
        }
    }
}

/// Waits a while for the end.
fn wait((ended, change): &(Mutex<bool>, Condvar)) -> bool {
    let ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = change.wait_timeout_while(ended, EVERY, |ended| !*ended);
    *waited.unwrap_or_else(PoisonError::into_inner).0
}
