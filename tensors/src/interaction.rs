//! Detects the format of a file and provides its numbers as a [`TensorSource`].
//!
//! In: a path, a plan. Out: a source of elements (or strengths) by group; the beginning of the file determines how it is
//! read, or its ending: .toml means a force, .me2j (also .gz, .bin) elements without labels.

use super::csv::TableError;
use super::force::{self, Force, ForceError};
use super::plan::Plan;
use super::relative::{self, Relative};
use super::rotation::RotatedElements;
use super::source::TensorSource;
use super::table_cache::TableCache;
use super::work::Direction;
use super::{binary, elements, foreign, h2, hermitian, me2j, strengths};
use eigenforge_runtime::input_file::{FileKind, OpenedFile};
use eigenforge_runtime::trace;
use eigenforge_su3::LabelError;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};

/// Why an interaction cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum InteractionError {
    /// Error of a file.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Error of a force.
    #[error(transparent)]
    Force(#[from] ForceError),
    /// Error of the coefficients.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A number of `[hamiltonian]` out of its range.
    #[error("[hamiltonian] {key}: expected {expected}, found {found}")]
    Hamiltonian {
        /// The key.
        key: &'static str,
        /// The accepted values.
        expected: &'static str,
        /// The value.
        found: f64,
    },
    /// An interaction alone.
    #[error(
        "the levels of an interaction need the kinetic energy beside it: add --hw with the interaction's hw in MeV, or a section \
         [hamiltonian] with hw to the model file (kinetic = false there leaves T_rel out)"
    )]
    NoKineticEnergy,
    /// Nucleons that the input says nothing of.
    #[error("{input} has no channel {channel}: expected one of {found}")]
    NoChannel {
        /// The input.
        input: String,
        /// The channel.
        channel: &'static str,
        /// Its channels.
        found: String,
    },
    /// Two widths of oscillator functions.
    #[error("the force has hw = {force} MeV and the terms beside it hw = {terms} MeV: expected the same")]
    OtherOscillator {
        /// Of the force.
        force: f64,
        /// Of the terms.
        terms: f64,
    },
    /// Terms beside strengths.
    #[error(
        "[hamiltonian] adds terms to matrix elements, but this run starts from strengths: leave it out, or transform the interaction \
         together with it"
    )]
    TermsOfStrengths,
    /// Terms beside an operator of rank J0.
    #[error(
        "[force] and [hamiltonian] are scalars, but the interaction of this run is an operator of rank J0: leave them out, or give a \
         scalar interaction"
    )]
    TermsOfRank,
}

/// Where the numbers of a transformation come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InteractionInput {
    /// A file of matrix elements, of strengths, or of a force.
    File(PathBuf),
    /// A force whose section `[force]` stands in the model file.
    Force(Box<Force>),
}

impl InteractionInput {
    /// Opens the input of a transformation.
    ///
    /// # Errors
    ///
    /// See [`open_interaction`].
    pub fn open(
        &self,
        plan: &Plan,
        direction: Direction,
        cache: &TableCache,
    ) -> Result<Box<dyn TensorSource>, InteractionError> {
        match self {
            InteractionInput::File(path) => open_interaction(path, plan, direction, cache),
            InteractionInput::Force(force) => rotated(force.relative(plan), plan, cache),
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            InteractionInput::File(path) => Some(path),
            InteractionInput::Force(_) => None,
        }
    }

    /// The force, if it is one.
    pub(super) fn force(&self) -> Result<Option<Force>, ForceError> {
        match self {
            InteractionInput::File(path) if force::recognised(path) => Force::read(path).map(Some),
            InteractionInput::File(_) => Ok(None),
            InteractionInput::Force(force) => Ok(Some((**force).clone())),
        }
    }

    /// A fingerprint of its numbers.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn fingerprint(&self) -> Result<String, TableError> {
        match self {
            InteractionInput::File(path) => fingerprint(path),
            // `{:?}` prints every number with all its digits.
            InteractionInput::Force(force) => Ok(blake3::hash(format!("{force:?}").as_bytes()).to_hex().to_string()),
        }
    }
}

impl fmt::Display for InteractionInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InteractionInput::File(path) => path.display().fmt(f),
            InteractionInput::Force(force) => write!(f, "[force] with hw = {} MeV", force.hw),
        }
    }
}

/// Opens the input of a transformation.
///
/// # Errors
///
/// A file that does not match its beginning, does not cover the plan's space, or has invalid numbers.
pub fn open_interaction(
    path: &Path,
    plan: &Plan,
    direction: Direction,
    cache: &TableCache,
) -> Result<Box<dyn TensorSource>, InteractionError> {
    // A file that cannot be opened is reported as such, not as an unknown format.
    OpenedFile::open(path, FileKind::INTERACTION)
        .map_err(|source| TableError::Read { path: path.to_path_buf(), source })?;
    if binary::recognised(path) {
        return Ok(Box::new(binary::BinaryFile::open(path, plan, direction.input())?));
    }
    foreign::check_scalar(path)?;
    if direction == Direction::Inverse {
        let mut read = strengths::read(path, plan)?;
        hermitian::fill(plan, &mut read)?;
        strengths::check_complete(path, plan, &read)?;
        return Ok(Box::new(read));
    }
    if force::recognised(path) {
        return rotated(Force::read(path)?.relative(plan), plan, cache);
    }
    if me2j::recognised(path) {
        return Ok(Box::new(me2j::read(path, plan)?));
    }
    if h2::recognised(path) {
        return Ok(Box::new(h2::read(path, plan)?));
    }
    if relative::recognised(path) {
        let interaction = Relative::read(path)?;
        if !interaction.reaches(plan) {
            let (path, n_max, found) = (path.to_path_buf(), plan.n_max, interaction.quanta_max);
            return Err(TableError::Truncation { path, n_max, found }.into());
        }
        return rotated(interaction, plan, cache);
    }
    foreign::check_table(path)?;
    Ok(Box::new(elements::read(path, plan)?))
}

fn rotated(interaction: Relative, plan: &Plan, cache: &TableCache) -> Result<Box<dyn TensorSource>, InteractionError> {
    Ok(Box::new(RotatedElements::new(interaction, plan, cache)?))
}

/// Bytes hashed by one task.
const HASHED_AT_ONCE: u64 = 8 << 20;

/// A fingerprint of a file's content, computed on all cores: blake3 of the hashes of its parts of 8 MiB.
///
/// # Errors
///
/// The file cannot be read.
fn fingerprint(path: &Path) -> Result<String, TableError> {
    let _hashing = trace::span("set up", "name the input");
    let failed = |source| TableError::Read { path: path.to_path_buf(), source };
    let file = OpenedFile::open(path, FileKind::INTERACTION).map_err(failed)?;
    let length = file.size();
    let part = |at: u64| {
        let first = at * HASHED_AT_ONCE;
        let mut bytes = vec![0; HASHED_AT_ONCE.min(length - first) as usize];
        file.read_exact_at(&mut bytes, first).map(|()| blake3::hash(&bytes))
    };
    let parts = (0..length.div_ceil(HASHED_AT_ONCE)).into_par_iter().map(part).collect::<std::io::Result<Vec<_>>>();
    let mut whole = blake3::Hasher::new();
    for part in parts.map_err(failed)? {
        whole.update(part.as_bytes());
    }
    Ok(whole.finalize().to_hex().to_string())
}
