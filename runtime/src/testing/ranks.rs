//! Several ranks as threads of one process.

use crate::device::Device;
use crate::ranks::by_threads;
use std::sync::Arc;

/// What each of so many ranks returns, all of them on one device.
///
/// # Panics
/// A rank panics, or the device is a rank's already.
pub fn on_ranks<R: Send>(device: &Device, count: usize, run: impl Fn(&Device) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let run = &run;
        let one = |ranks| device.over_ranks(&Arc::new(ranks), count).unwrap_or_else(|error| panic!("{error}"));
        let threads: Vec<_> =
            by_threads(count).into_iter().map(one).map(|device| scope.spawn(move || run(&device))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
