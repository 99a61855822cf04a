//! Which format a file has, and its numbers as a [`Source`].
//!
//! In: a path, a plan. Out: what gives elements (or strengths) by group; the beginning of the file says how it is read, the
//! ending .toml that it is a force.

use super::csv::TableError;
use super::force::{self, ForceError};
use super::plan::Plan;
use super::relative::{self, Relative, RotatedElements};
use super::source::Source;
use super::table_cache::TableCache;
use super::work::Direction;
use super::{binary, elements, h2, strengths};
use eigenforge_runtime::input_file::{FileKind, InputFile};
use eigenforge_su3::LabelError;
use std::path::Path;

/// Why an interaction cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum InteractionError {
    /// Of a file.
    #[error(transparent)]
    Table(#[from] TableError),
    /// Of a force.
    #[error(transparent)]
    Force(#[from] ForceError),
    /// Of the coefficients.
    #[error(transparent)]
    Labels(#[from] LabelError),
}

/// Opens what goes into a transformation.
///
/// # Errors
///
/// A file that is not what its beginning says, does not hold the plan's space, or has numbers that are none.
pub fn open(
    path: &Path,
    plan: &Plan,
    direction: Direction,
    cache: &TableCache,
) -> Result<Box<dyn Source>, InteractionError> {
    // What cannot be opened is told as such, and not as a format that is not known.
    InputFile::open(path, FileKind::INTERACTION)
        .map_err(|source| TableError::Read { path: path.to_path_buf(), source })?;
    if binary::recognised(path) {
        return Ok(Box::new(binary::BinaryFile::open(path, plan, direction.input())?));
    }
    if direction == Direction::Inverse {
        return Ok(Box::new(strengths::read(path, plan)?));
    }
    if force::recognised(path) {
        return rotated(force::read(path)?.relative(plan), plan, cache);
    }
    if h2::recognised(path) {
        return Ok(Box::new(h2::read(path, plan)?));
    }
    if relative::recognised(path) {
        let interaction = relative::read(path)?;
        if !interaction.reaches(plan) {
            let (path, n_max, found) = (path.to_path_buf(), plan.n_max, interaction.quanta_max);
            return Err(TableError::Truncation { path, n_max, found }.into());
        }
        return rotated(interaction, plan, cache);
    }
    Ok(Box::new(elements::read(path, plan)?))
}

fn rotated(interaction: Relative, plan: &Plan, cache: &TableCache) -> Result<Box<dyn Source>, InteractionError> {
    Ok(Box::new(RotatedElements::new(interaction, plan, cache)?))
}
