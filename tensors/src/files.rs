//! The files of a result: their names, their format, and how what was saved becomes them.

use super::Plan;
use super::binary::TensorKind;
use super::error::TransformError;
use super::output::TensorFormat;
use super::partial::Partial;
use eigenforge_core::files::{ReportError, publish};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The format asked for, or that of the name.
///
/// # Errors
/// A format that does not hold `kind`.
pub fn format_of(output: &Path, kind: TensorKind, asked: Option<TensorFormat>) -> Result<TensorFormat, TransformError> {
    let format = asked.unwrap_or_else(|| TensorFormat::of_name(output, kind));
    match format.kind() {
        Some(holds) if holds != kind => Err(TransformError::Format { format, holds: holds.word(), found: kind.word() }),
        _ => Ok(format),
    }
}

/// Refuses an input that would be written over.
///
/// # Errors
/// The two are one file.
pub fn refuse_to_overwrite(input: &Path, output: &Path) -> Result<(), TransformError> {
    let same = input == output || matches!((input.canonicalize(), output.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same { Err(TransformError::SameFile { path: input.to_path_buf() }) } else { Ok(()) }
}

/// Makes the folder of an output, in which a run keeps what is finished.
pub(crate) fn make_folder(output: &Path) -> Result<(), ReportError> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or(Ok(()), |folder| {
        std::fs::create_dir_all(folder).map_err(|source| ReportError::Folder { folder: folder.into(), source })
    })
}

/// The files beside a result.
pub struct FilesBeside {
    /// The report.
    pub json: PathBuf,
    /// The picture.
    pub svg: PathBuf,
}

/// OUT with the endings .json and .svg, or .summary.json where OUT has that itself.
pub fn companion_files(output: &Path) -> FilesBeside {
    let beside = |ending: &str| {
        let path = output.with_extension(ending);
        if path == *output { output.with_extension(format!("summary.{ending}")) } else { path }
    };
    FilesBeside { json: beside("json"), svg: beside("svg") }
}

/// Makes the partial result the result.
pub(crate) fn finish(
    output: &Path,
    plan: &Plan,
    mut partial: Partial,
    kind: TensorKind,
    format: TensorFormat,
) -> Result<(), TransformError> {
    let failed = |source| ReportError::Write { file: output.to_path_buf(), source };
    partial.write_held(plan).map_err(failed)?;
    if format == TensorFormat::Binary {
        return Ok(partial.publish(output)?);
    }
    let source = partial.source(plan, kind)?;
    publish(output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        format.write(&mut out, output, plan, kind, &source).and_then(|()| out.flush()).map_err(failed)
    })?;
    Ok(partial.discard().map_err(failed)?)
}
