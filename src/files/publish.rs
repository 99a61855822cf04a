//! Files that appear whole or not at all.
//!
//! In: a path and something that writes. Out: the file, by way of a temporary one in the same folder that is flushed to
//! the disk and renamed; after an error the old file, if any, is still there.

use super::ReportError;
use std::fs::File;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Lets `write` fill a temporary file beside `path`, then renames it to `path`. Makes the folder if need be.
///
/// # Errors
/// The errors of `write` and of the file system.
pub fn publish(path: &Path, write: impl FnOnce(&mut File) -> Result<(), ReportError>) -> Result<PathBuf, ReportError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|source| ReportError::Folder { folder: folder.into(), source })?;
    let failed = |source| ReportError::Write { file: path.into(), source };
    let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all().map_err(failed)?;
    open_to_readers(&file).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(path.into())
}

/// A temporary file is its owner's alone; a report is an ordinary file.
#[cfg(unix)]
fn open_to_readers(file: &NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn open_to_readers(_: &NamedTempFile) -> std::io::Result<()> {
    Ok(())
}
