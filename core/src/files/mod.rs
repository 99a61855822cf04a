//! Files that a run leaves behind: whole, or not there; and whether they can be written, before the run.

mod destination;
mod error;
mod publish;

pub use destination::regular_place;
pub use destination::{check_file, check_folder};
pub use error::ReportError;
pub use publish::publish;

/// The version of the fields of report.json, sweep.json and what `--json` prints: docs/record.md. A field that is taken away or means
/// something else raises it; a new field does not.
pub const SCHEMA: u32 = 1;
