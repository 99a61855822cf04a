//! Everything that can stop the command, with its exit code.

use eigenforge::export::ExportFormat;
use eigenforge_runtime::jit::CompileFailure;
use miette::Diagnostic;
use std::path::PathBuf;

/// Why a verb did not do its work.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(super) enum CommandError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Library(eigenforge::Error),
    #[error(
        "--tolerance {tolerance:e} is less than vectors of f32 allow, {least:e}; give at least that, or leave precision = \"f32\" \
         out of the file"
    )]
    TooFine { tolerance: f64, least: f64 },
    #[error("{0}")]
    Solver(String),
    #[error("--vectors needs a folder to write to: add --output DIR, or `folder` in the file's [output]")]
    VectorsWithoutFolder,
    #[error(
        "nothing was written, because these files exist and differ from what is generated (were they edited?):\n  {}\nDump to \
         another folder, or overwrite them with --force", files.join("\n  ")
    )]
    WouldOverwrite { files: Vec<String> },
    #[error("{} exists, and nothing was written; name another file, or overwrite it with --force", file.display())]
    FileExists { file: PathBuf },
    #[error("{option} has no effect {place}: {why}")]
    NoEffect { option: &'static str, place: String, why: String },
    #[error("{option} times generated kernels, but the device {device} does not run any; use a card: --device cuda")]
    NeedsCard { option: &'static str, device: String },
    #[error("a table on standard input has no file beside which its output could stand: add --output OUT")]
    Su3NoOutput,
    #[error(
        "the ending of {} names no format: add --format {}, or end it in .mtx, .npz or .toml", file.display(),
        ExportFormat::WORDS.map(|(word, _)| word).join("|")
    )]
    ExportFormat { file: PathBuf },
    #[error("cannot write to standard output ({source}): {results}")]
    StandardOutput { source: std::io::Error, results: String },
    #[error("the cache in {}: {source}", folder.display())]
    Cache { folder: PathBuf, source: std::io::Error },
}

impl CommandError {
    /// 2 for what the user wrote, 1 for what happened.
    pub(super) fn exit_code(&self) -> u8 {
        match self {
            CommandError::Library(error) if !error.is_of_the_input() => 1,
            CommandError::Cache { .. } | CommandError::StandardOutput { .. } => 1,
            _ => 2,
        }
    }

    /// A text that did not compile.
    pub(super) fn compile_failure(&self) -> Option<&CompileFailure> {
        if let CommandError::Library(error) = self { error.compile_failure() } else { None }
    }
}

impl<E: Into<eigenforge::Error>> From<E> for CommandError {
    fn from(error: E) -> CommandError {
        CommandError::Library(error.into())
    }
}
