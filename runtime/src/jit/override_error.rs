//! Why an edited text cannot replace a generated one.

use std::path::PathBuf;

/// Why an edited text cannot run.
#[derive(Debug, thiserror::Error)]
pub enum OverrideError {
    /// The folder or a file in it cannot be read.
    #[error("override {}: {source}; expected a folder written by `eigenforge inspect MODEL.toml --dump DIR`", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
    /// No kernel file in the folder.
    #[error(
        "override {}: it has no .cu file; `eigenforge inspect MODEL.toml --dump {}` writes those of a model, to be edited",
        folder.display(), folder.display()
    )]
    Empty {
        /// The folder.
        folder: PathBuf,
    },
    /// The .ron that ties the text to its problem is missing or altered.
    #[error(
        "override {}: {reason}; without it nothing says which problem the text was made for. Dump again \
         (`eigenforge inspect MODEL.toml --dump NEW_DIR`), edit only the .cu there, and keep the .ron beside it", file.display()
    )]
    NoOrigin {
        /// The edited file.
        file: PathBuf,
        /// What is wrong with its .ron.
        reason: String,
    },
    /// The text was edited from that of another problem or version.
    #[error(
        "override {}: it was made from the text of another problem or version: {difference}. Dump again for this model \
         (`eigenforge inspect MODEL.toml --dump NEW_DIR`) and carry your edit over", file.display()
    )]
    OtherProblem {
        /// The edited file.
        file: PathBuf,
        /// What differs.
        difference: String,
    },
    /// The kernels or their parameters differ from what the program launches.
    #[error(
        "override {}: its kernels are not those that will be launched; kernels, and the types of their parameters in order, \
         must be as generated\n  expected:\n{expected}\n  found:\n{found}", file.display()
    )]
    Arguments {
        /// The edited file.
        file: PathBuf,
        /// The generated kernels with their parameters, one per line.
        expected: String,
        /// The edited ones.
        found: String,
    },
    /// No generated text runs on this device.
    #[error(
        "override {}: {device} does not run generated kernels, so the edit would have no effect; choose --device cuda, or \
         --device sim for a small problem, or leave out --override and unset EIGENFORGE_OVERRIDE", folder.display()
    )]
    NoText {
        /// The folder.
        folder: PathBuf,
        /// The device.
        device: String,
    },
}
