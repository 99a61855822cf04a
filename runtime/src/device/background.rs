//! Kernel files compiled by a thread beside the run, which goes on with what it has.
//!
//! In: texts, the one that is needed first at the front. Out: each kernel, or why there is none, when it is asked for after it has become
//! ready. A run that ends first waits for the text that is being compiled, and no more are begun.

use super::Device;
use super::kernel::Kernel;
use crate::error::Result;
use eigenforge_templates::KernelText;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Builder, JoinHandle};

/// Texts that are being compiled.
pub(crate) struct BackgroundCompilation {
    ready: Receiver<(usize, Result<Kernel>)>,
    cancelled: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl BackgroundCompilation {
    /// Begins; the results are numbered as the texts are. Fails where no thread can be started.
    pub(crate) fn begin(device: &Device, texts: Vec<KernelText>) -> std::io::Result<BackgroundCompilation> {
        let (sender, ready) = channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let (device, stop) = (device.clone(), cancelled.clone());
        let compile = move || {
            for (number, text) in texts.iter().enumerate() {
                if stop.load(Ordering::Relaxed) || sender.send((number, device.compile(text))).is_err() {
                    return;
                }
            }
        };
        let thread = Some(Builder::new().name("compile kernels".into()).spawn(compile)?);
        Ok(BackgroundCompilation { ready, cancelled, thread })
    }

    /// What has become ready since the last call; does not wait.
    pub(crate) fn ready(&self) -> Vec<(usize, Result<Kernel>)> {
        self.ready.try_iter().collect()
    }
}

impl Drop for BackgroundCompilation {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        // The compiler must not run while the process ends.
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
