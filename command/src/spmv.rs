//! `eigenforge spmv MATRIX`: one sparse matrix, its statistics and its multiply. [`eigenforge::spmv`] does the work.

use super::VerbEnd;
use super::arguments::SpmvArguments;
use super::error::CommandError;
use super::output::{print, print_json, results_in};
use eigenforge::input::MatrixSource;
use eigenforge::report::check_file;
use eigenforge::sparse::{FormatName, FormatRequest, HypercomplexVector, NumberKind, Triangle};
use eigenforge::spmv::{self, FormatRace, SpmvError, SpmvOptions};
use eigenforge_benches::peers::device_peers;
use eigenforge_runtime::{Device, say};
use eigenforge_templates::ScalarType;
use std::path::PathBuf;

/// Runs the verb.
pub(super) fn run(arguments: &SpmvArguments) -> Result<VerbEnd, CommandError> {
    let device = Device::parse(&arguments.device)?;
    device.check_alone("spmv")?;
    check(arguments, &device)?;
    let triangle = if arguments.upper { Triangle::Upper } else { Triangle::Full };
    arguments.y.as_deref().map_or(Ok(()), check_file)?;
    let matrix = arguments.matrix.read_numbers(triangle).map_err(SpmvError::from)?;
    let read = |file: &PathBuf| HypercomplexVector::read(file, "x", (matrix.kind(), matrix.rows()));
    let x = arguments.x.as_ref().map(read).transpose().map_err(eigenforge::Error::from)?;
    // A vector may have more parts than the matrix.
    let kind = x.as_ref().map_or(matrix.kind(), |x| x.kind);
    let (matrix, x) = (matrix.with_parts_of(kind), x.map(|x| x.parts));
    let name = match kind {
        NumberKind::Real => arguments.matrix.to_string(),
        kind => format!("{} of {kind} numbers", arguments.matrix),
    };
    let options = SpmvOptions {
        wish: FormatRequest {
            format: format_of(arguments),
            boundary: arguments.boundary,
            vectors: arguments.vectors,
            scalar: ScalarType::F64,
            values: if arguments.single { ScalarType::F32 } else { ScalarType::F64 },
        },
        race: match (arguments.no_race, arguments.race) {
            (true, _) => FormatRace::Never,
            (false, true) => FormatRace::Anew,
            (false, false) => FormatRace::Kept,
        },
        repeats: arguments.repeats.map_or_else(|| spmv::samples(&device), |repeats| repeats as usize),
    };
    let ordinal = arguments.device.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()).unwrap_or(0);
    let peers = device_peers(&device, ordinal, options.repeats);
    let peers = arguments.compare.then_some(&peers as &spmv::Peers<'_>);
    let (report, y) = spmv::multiply((&name, matrix), x, &options, &device, peers)?;
    let y = HypercomplexVector { kind, parts: y };
    let written = arguments.y.as_deref().map(|file| y.write(file, "y")).transpose();
    if let Ok(Some(file)) = &written {
        results_in(file);
    }
    match arguments.json {
        true => print_json(&report)?,
        false => print(&report.to_string()),
    }
    written?.iter().for_each(|file| say!("wrote {}", file.display()));
    Ok(VerbEnd::Done)
}

/// The format, if one is named; a hybrid where nothing but a boundary was given.
fn format_of(arguments: &SpmvArguments) -> Option<FormatName> {
    arguments.format.or(arguments.boundary.map(|_| FormatName::Hybrid))
}

/// Refuses options that would do nothing for this matrix, format or device.
fn check(arguments: &SpmvArguments, device: &Device) -> Result<(), CommandError> {
    let format = format_of(arguments);
    let named = format.filter(|format| *format != FormatName::Symmetric).is_some();
    let half = format == Some(FormatName::Symmetric);
    let rows = "the CPU multiplies compressed rows as they stand; take a card, --device sim, or --format symmetric";
    let on_cpu = format!("on {}", device.name());
    let of_hybrid = "it is the boundary of a hybrid; leave --format out, or --format hybrid";
    for (option, given, place, why) in [
        (
            "--upper",
            arguments.upper && !matches!(arguments.matrix, MatrixSource::Npz(_) | MatrixSource::StandardInput),
            "for this matrix",
            "it is for a .npz",
        ),
        (
            "--boundary",
            arguments.boundary.is_some() && format != Some(FormatName::Hybrid),
            "for this format",
            of_hybrid,
        ),
        ("--boundary", arguments.boundary.is_some() && !device.runs_kernels(), &on_cpu, rows),
        ("--format", named && !device.runs_kernels(), &on_cpu, rows),
        ("--single", arguments.single && !half && !device.runs_kernels(), &on_cpu, rows),
        ("--race", arguments.race && !device.is_cuda(), &on_cpu, "candidates are timed only on a card"),
        ("--no-race", arguments.no_race && !device.is_cuda(), &on_cpu, "candidates are timed only on a card"),
    ] {
        if given {
            return Err(CommandError::NoEffect { option, place: place.into(), why: why.into() });
        }
    }
    Ok(())
}
