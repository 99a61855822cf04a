//! What a transformation is asked for: `[su3]` of a model file, or the flags of `eigenforge su3 transform`.

use super::interaction::InteractionInput;
use super::output::TensorFormat;
use super::work::Direction;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The largest N_max that is served.
pub const MOST_N_MAX: u32 = 30;

/// `[su3]`, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Su3Spec {
    /// `interaction`: the file of matrix elements (or strengths); or `[force]`.
    pub interaction: InteractionInput,
    /// `n_max`.
    pub n_max: u32,
    /// `output`: the file of the result.
    pub output: PathBuf,
    /// `format`; `None` takes the one that the name of `output` implies.
    pub format: Option<TensorFormat>,
    /// `inverse`.
    pub direction: Direction,
    /// `memory` in bytes; `None` allows four fifths of what is free.
    pub memory: Option<u64>,
}
