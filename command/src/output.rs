//! Standard output: the command's text, of which no part can cost a result.
//!
//! In: text, and the files that are written. Out: the text on standard output. If that is closed or full, the verb goes on and writes
//! its files; at the end [`fault`] says what happened and where the results are, and the command fails.

use super::error::CommandError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// What happened to standard output, and what was written elsewhere.
struct Record {
    /// Whether the command line asks for one JSON object.
    json: bool,
    /// Whether anything was written to it.
    printed: bool,
    /// Why no more can be written.
    fault: Option<io::Error>,
    /// Folders of results, or files where they stand alone.
    results: Vec<PathBuf>,
}

static RECORD: Mutex<Record> = Mutex::new(Record { json: false, printed: false, fault: None, results: Vec::new() });

fn record() -> MutexGuard<'static, Record> {
    RECORD.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Whether standard output is for one JSON object.
pub(super) fn set_json(json: bool) {
    record().json = json;
}

/// Whether standard output is for one JSON object, and nothing was written to it.
pub(super) fn wants_json() -> bool {
    let record = record();
    record.json && !record.printed
}

/// Writes to standard output, unless that has failed before.
pub(super) fn print(text: &str) {
    // The writer keeps the error.
    let _ = Printer.write_all(text.as_bytes());
}

/// The version of the fields of what verbs print with `--json`.
pub(super) const SCHEMA: u32 = 1;

/// Writes a result to standard output as one JSON object.
///
/// # Errors
/// A number that JSON has no place for.
pub(super) fn print_json(result: &impl serde::Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(result).map_err(eigenforge::report::ReportError::from)?;
    print(&(text + "\n"));
    Ok(())
}

/// Standard output as a writer; its errors are kept for [`fault`].
pub(super) struct Printer;

impl Write for Printer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if eigenforge_runtime::is_silent() {
            return Ok(bytes.len());
        }
        let mut record = record();
        if let Some(fault) = &record.fault {
            return Err(fault.kind().into());
        }
        record.printed = true;
        let mut out = io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| {
            let kind = error.kind();
            record.fault = Some(error);
            kind
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps an error of standard output that another writer met.
pub(super) fn failed(error: io::Error) {
    record().fault.get_or_insert(error);
}

/// Whether standard output has failed.
pub(super) fn has_failed() -> bool {
    record().fault.is_some()
}

/// Results are in this folder or file.
pub(super) fn results_in(place: &Path) {
    record().results.push(place.into());
}

/// Why not all text is on standard output, if so.
pub(super) fn fault() -> Option<CommandError> {
    let mut record = record();
    let source = record.fault.take()?;
    let places: Vec<String> = record.results.iter().map(|place| place.display().to_string()).collect();
    let results = match places.is_empty() {
        true => "nothing was written to files".into(),
        false => format!("the results are in {}", places.join(", ")),
    };
    Some(CommandError::StandardOutput { source, results })
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
