//! Everything that can stop the command, with its exit code.

use crate::exact::{InspectError, PrepareError, RunError};
use crate::input::{InputError, TooManyStates};
use crate::operator::OperatorError;
use crate::report::ReportError;
use eigenforge_runtime::DeviceError;
use eigenforge_runtime::jit::JitError;
use miette::Diagnostic;
use std::path::PathBuf;

/// Why a verb did not do its work.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(super) enum CommandError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    States(#[from] TooManyStates),
    #[error("--vectors needs a folder to write to: add --output DIR, or `folder` in the file's [output]")]
    VectorsWithoutFolder,
    #[error(transparent)]
    Model(#[from] OperatorError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error(transparent)]
    Jit(#[from] JitError),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Bench(#[from] crate::bench::hubbard::BenchError),
    #[error("the cache in {}: {source}", folder.display())]
    Cache { folder: PathBuf, source: std::io::Error },
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl CommandError {
    /// 2 for what the user wrote, 1 for what happened.
    pub fn exit_code(&self) -> u8 {
        match self {
            CommandError::Input(_)
            | CommandError::States(_)
            | CommandError::VectorsWithoutFolder
            | CommandError::Model(_)
            | CommandError::Device(DeviceError::UnknownDevice(_))
            | CommandError::Inspect(InspectError::UnknownKernel { .. }) => 2,
            _ => 1,
        }
    }
}
