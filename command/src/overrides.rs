//! `--override DIR`, or `EIGENFORGE_OVERRIDE` where it is not given: edited kernel files for a verb or a device.

use super::error::CommandError;
use eigenforge_runtime::Device;
use eigenforge_runtime::jit::{JitError, Overrides};
use std::path::Path;

/// The edited files that a verb works with.
pub(super) fn read(folder: Option<&Path>) -> Result<Overrides, CommandError> {
    Ok(folder.map_or_else(Overrides::from_env, Overrides::read).map_err(JitError::from)?)
}

/// Hands them to the device, which refuses them if it runs no generated text.
pub(super) fn give(device: &Device, folder: Option<&Path>) -> Result<(), CommandError> {
    Ok(device.set_overrides(read(folder)?)?)
}
