//! `--override DIR`, or `EIGENFORGE_OVERRIDE` where it is not given: edited kernel files for a verb.

use super::error::CommandError;
use eigenforge_runtime::jit::{JitError, Overrides};
use std::path::Path;

/// The edited files that a verb works with.
pub(super) fn read(folder: Option<&Path>) -> Result<Overrides, CommandError> {
    Ok(folder.map_or_else(Overrides::from_env, Overrides::read).map_err(JitError::from)?)
}
