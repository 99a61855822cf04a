//! What can go wrong while a report is written. Nothing half-written is left under the final name.

use std::path::PathBuf;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Something else stands where a file or folder is to be written; found before the run.
    #[error("cannot write to `{}`: expected {expected}, found {found}; name another path", path.display())]
    Unusable {
        /// The path that was given.
        path: PathBuf,
        /// What can be written there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The output folder cannot be made.
    #[error("cannot make the output folder {}: {source}; name another one", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}{}", file.display(), if source.raw_os_error().is_some() { "; is the folder writable, or the disk full?" } else { "" })]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A record is not JSON.
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The picture cannot be drawn.
    #[error("cannot draw the picture: {0}")]
    Picture(String),
    /// The arrays cannot be written.
    #[error("cannot write the arrays of {}: {source}", file.display())]
    Arrays {
        /// The file.
        file: PathBuf,
        /// What the writer said.
        source: ndarray_npy::WriteNpzError,
    },
    /// Arrays whose lengths do not belong together.
    #[error("{what} has length {found}, expected {expected}: vectors and basis states must belong to one sector")]
    Shape {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
}
