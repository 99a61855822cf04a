//! Standard output: text that may be cut off by a closed pipe without a panic.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether anything was written to standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether this process has written to standard output.
pub(super) fn has_printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

/// Writes to standard output; a closed pipe is an error like any other, which the command takes for a wish to stop.
pub(super) fn print(text: &str) -> std::io::Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
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

/// 5 s, 12 min, 3 h, 4 d.
pub(super) fn span(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "?".into(),
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_a_unit_that_suits_them() {
        assert_eq!([bytes(800), bytes(1536), bytes(3 << 30)], ["800 B", "1.5 KiB", "3.00 GiB"]);
        assert_eq!([span(5.2), span(720.0), span(7200.0), span(f64::NAN)], ["5 s", "12 min", "2 h", "?"]);
    }
}
