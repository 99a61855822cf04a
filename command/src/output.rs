//! Standard output: text that may be cut off by a closed pipe without a panic.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether anything was written to standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether this process has written to standard output.
pub(super) fn has_printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

/// Writes to standard output. A closed pipe is an error like any other, at which the command ends with success.
pub(super) fn print(text: &str) -> std::io::Result<()> {
    if eigenforge_runtime::is_silent() {
        return Ok(());
    }
    PRINTED.store(true, Ordering::Relaxed);
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| std::io::Error::new(error.kind(), format!("cannot write to standard output: {error}")))
}

/// 3 GiB, 12.5 MiB, 800 B.
pub(super) fn bytes(number: u64) -> String {
    let scaled = |power: u32| number as f64 / 1024f64.powi(power as i32);
    match number {
        n if n >= 1 << 30 => format!("{:.2} GiB", scaled(3)),
        n if n >= 1 << 20 => format!("{:.1} MiB", scaled(2)),
        n if n >= 1 << 10 => format!("{:.1} KiB", scaled(1)),
        n => format!("{n} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_that_suits_them() {
        assert_eq!([bytes(800), bytes(1536), bytes(3 << 30)], ["800 B", "1.5 KiB", "3.00 GiB"]);
    }
}
