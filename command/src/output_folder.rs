//! The folder of `--output`, locked from the beginning of a solve to its end.
//!
//! In: the folder, or none. Out: a guard, or who else writes there: two solves into one folder would leave the report of one beside
//! the vectors of the other. A folder that cannot be made is left for the end to complain of, when the result has been printed.
//! Folders that were made for nothing, because the solve failed, go again.

use eigenforge_runtime::lock::{InUse, Lock};
use std::path::{Path, PathBuf};

/// Given back in the order of its fields: the lock's file must be gone before its folder can.
pub(super) struct OutputFolder {
    _lock: Option<Lock>,
    _made: Made,
}

/// Folders that were made, the innermost first.
struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.0 {
            // One that holds something stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Locks it.
pub(super) fn lock(folder: Option<&Path>) -> Result<OutputFolder, InUse> {
    let named = folder.into_iter().flat_map(Path::ancestors).filter(|path| !path.as_os_str().is_empty());
    let made = Made(named.take_while(|path| !path.exists()).map(Path::to_path_buf).collect());
    let lock = match folder {
        Some(folder) if std::fs::create_dir_all(folder).is_ok() => Lock::of_folder(folder)?,
        _ => None,
    };
    Ok(OutputFolder { _lock: lock, _made: made })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_for_nothing_goes_and_what_is_used_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        let guard = lock(Some(&folder)).unwrap();
        assert!(lock(Some(&folder)).is_err_and(|in_use| in_use.place == folder));
        drop(guard);
        assert!(!root.path().join("a").exists());
        let guard = lock(Some(&folder)).unwrap();
        std::fs::write(folder.join("report.json"), "{}").unwrap();
        drop(guard);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::write(root.path().join("file"), "").unwrap();
        assert!(lock(Some(&root.path().join("file/x"))).is_ok() && lock(None).is_ok());
    }
}
