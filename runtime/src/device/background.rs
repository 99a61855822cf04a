//! Kernel files compiled by threads beside the run, which goes on with what it has.
//!
//! In: texts, the one that is needed first at the front. A run that ends first waits for the texts that are being compiled, and no more are
//! begun.
//!
//! * [`BackgroundCompilation`]: one thread. Out: each kernel, or why there is none, when it is asked for after it has become ready.
//! * [`CompilationAhead`]: as many threads as there are cores. Out: nothing, but when the run asks for one of the texts it is loaded, or
//!   being compiled.

use super::Device;
use super::kernel::Kernel;
use crate::error::Result;
use eigenforge_templates::KernelText;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};

/// Texts that are being compiled.
pub(crate) struct BackgroundCompilation {
    ready: Receiver<(usize, Result<Kernel>)>,
    _thread: BackgroundThread,
}

impl BackgroundCompilation {
    /// Begins; the results are numbered as the texts are. Fails where no thread can be started.
    pub(crate) fn begin(device: &Device, texts: Vec<KernelText>) -> std::io::Result<BackgroundCompilation> {
        let (sender, ready) = channel();
        let device = device.clone();
        let thread = BackgroundThread::begin(move |cancelled| {
            for (number, text) in texts.iter().enumerate() {
                if cancelled.load(Ordering::Relaxed) || sender.send((number, device.compile(text))).is_err() {
                    return;
                }
            }
        })?;
        Ok(BackgroundCompilation { ready, _thread: thread })
    }

    /// What has become ready since the last call; does not wait.
    pub(crate) fn ready(&self) -> Vec<(usize, Result<Kernel>)> {
        self.ready.try_iter().collect()
    }
}

/// Texts that are compiled and loaded before a run asks for them, until it is dropped.
pub struct CompilationAhead {
    _thread: BackgroundThread,
}

impl CompilationAhead {
    /// Begins with what `texts` makes on a thread of its own. `None` where no thread can be started: the run compiles what it needs.
    pub(crate) fn begin(
        device: &Device,
        texts: impl FnOnce() -> Vec<KernelText> + Send + 'static,
    ) -> Option<CompilationAhead> {
        let device = device.clone();
        let thread = BackgroundThread::begin(move |cancelled| {
            let (texts, next) = (texts(), AtomicUsize::new(0));
            let compile = || {
                while !cancelled.load(Ordering::Relaxed)
                    && let Some(text) = texts.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    device.prepare(text);
                }
            };
            std::thread::scope(|scope| {
                for _ in 1..texts.len().min(rayon::current_num_threads()) {
                    // Those that could be started do the work.
                    let _ = Builder::new().name("compile ahead".into()).spawn_scoped(scope, compile);
                }
                compile();
            });
        });
        thread.ok().map(|thread| CompilationAhead { _thread: thread })
    }
}

/// A thread that is told to end, and waited for, when it is dropped.
struct BackgroundThread {
    cancelled: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundThread {
    fn begin(work: impl FnOnce(&AtomicBool) + Send + 'static) -> std::io::Result<BackgroundThread> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let told = cancelled.clone();
        let thread = Builder::new().name("compile kernels".into()).spawn(move || work(&told))?;
        Ok(BackgroundThread { cancelled, thread: Some(thread) })
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        // The compiler must not run while the process ends.
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Schedule;
    use crate::testing;

    fn text(name: &str, body: &str) -> KernelText {
        let text = format!("extern \"C\" __global__ void {name}(double* y) {{ {body} }}\n");
        KernelText { name: name.into(), text, plan: String::new(), entries: vec![name.into()] }
    }

    /// What is asked for is loaded already and listed then; what is not is in no list; what fails says so to who asks.
    #[test]
    fn texts_that_are_compiled_ahead_are_listed_when_the_run_asks() {
        let Some(device) = testing::simulated(Schedule::Forward, crate::device::Checks::Watched) else { return };
        let texts = [text("one", "y[0] = 1.0;"), text("never", "y[0] = 2.0;"), text("wrong", "y[0] = there_is_none;")];
        let compiled_ahead = texts.clone();
        let ahead = CompilationAhead::begin(&device, move || compiled_ahead.to_vec()).unwrap();
        while !texts[..2].iter().all(|text| device.library().unwrap().has_loaded(text)) {
            std::thread::yield_now();
        }
        drop(ahead);
        assert_eq!(device.kernels_used(), []);
        assert!(device.compile(&texts[2]).err().unwrap().to_string().contains("there_is_none"));
        device.compile(&texts[0]).unwrap();
        let used: Vec<String> = device.kernels_used().into_iter().map(|kernel| kernel.name).collect();
        assert_eq!(used, ["one"]);
    }
}
