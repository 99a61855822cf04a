//! Everything that can stop the command, with its exit code.

use crate::bench::hubbard::BenchError;
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
    Model(Box<OperatorError>),
    #[error(transparent)]
    Prepare(Box<PrepareError>),
    #[error(transparent)]
    Run(Box<RunError>),
    #[error(transparent)]
    Device(Box<DeviceError>),
    #[error(transparent)]
    Inspect(Box<InspectError>),
    #[error(transparent)]
    Jit(Box<JitError>),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Bench(Box<BenchError>),
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
            | CommandError::Model(_) => 2,
            CommandError::Device(error) if matches!(**error, DeviceError::UnknownDevice(_)) => 2,
            CommandError::Inspect(error) if matches!(**error, InspectError::UnknownKernel { .. }) => 2,
            _ => 1,
        }
    }
}

/// Errors of the stages are large; boxed, a result stays small.
macro_rules! boxed {
    ($($variant:ident($error:ty)),* $(,)?) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> CommandError {
                CommandError::$variant(Box::new(error))
            }
        }
    )*};
}
boxed!(
    Model(OperatorError),
    Prepare(PrepareError),
    Run(RunError),
    Device(DeviceError),
    Inspect(InspectError),
    Jit(JitError),
    Bench(BenchError),
);
