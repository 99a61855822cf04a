//! `eigenforge spmv MATRIX`: one sparse matrix, its statistics and its multiply. The work is [`crate::bench::spmv`]'s.

use super::Outcome;
use super::arguments::SpmvArguments;
use super::error::CommandError;
use super::output::print;
use crate::bench::spmv::{self, SpmvOptions};
use crate::sparse::{Triangle, Wish};
use eigenforge_runtime::Device;
use eigenforge_templates::ScalarType;

/// Runs the verb.
pub(super) fn run(arguments: &SpmvArguments) -> Result<Outcome, CommandError> {
    let device = Device::parse(&arguments.device)?;
    let triangle = if arguments.upper { Triangle::Upper } else { Triangle::Full };
    let matrix = arguments.matrix.read(triangle)?;
    let options = SpmvOptions {
        wish: Wish {
            // A boundary is that of a hybrid.
            format: arguments.format.name(arguments.boundary.is_some()),
            boundary: arguments.boundary,
            vectors: arguments.vectors,
            scalar: ScalarType::F64,
            values: if arguments.single { ScalarType::F32 } else { ScalarType::F64 },
        },
        compare: arguments.compare,
        race: !arguments.no_race,
        repeats: arguments.repeats as usize,
        ordinal: arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0),
    };
    let report = spmv::run(&arguments.matrix.to_string(), matrix, &options, &device)?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&report).map_err(crate::report::ReportError::from)? + "\n"
    } else {
        report.to_string()
    };
    print(&text)?;
    Ok(Outcome::Done)
}
