//! The folder of `--output`, locked from the beginning of a solve to its end.
//!
//! In: the folder, or none. Out: a guard, or who else writes there: two solves into one folder would leave the report of one beside
//! the vectors of the other. A folder or file that cannot be written is refused before the work.
//! Folders that were made for nothing, because the solve failed, go again.

use super::error::CommandError;
use eigenforge::report::{ReportError, check_folder};
use eigenforge_runtime::interrupt::BeforeTheEnd;
use eigenforge_runtime::lock::Lock;
use std::fs::create_dir_all;
use std::path::{Path, PathBuf};

/// Given back in the order of its fields: the lock's file must be gone before its folder can.
pub(super) struct OutputFolder {
    _lock: Option<Lock>,
    _at_a_signal: BeforeTheEnd,
    _made: Made,
}

/// Folders that were made, the innermost first.
struct Made(Vec<PathBuf>);

impl Made {
    /// Removes those that hold nothing.
    fn remove(&self) {
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Locks it, and checks that files of these names can be written there.
pub(super) fn lock(folder: Option<&Path>, names: &[&str]) -> Result<OutputFolder, CommandError> {
    folder.map_or(Ok(()), |folder| check_folder(folder, names))?;
    let named = folder.into_iter().flat_map(Path::ancestors).filter(|path| !path.as_os_str().is_empty());
    let made = Made(named.take_while(|path| !path.exists()).map(Path::to_path_buf).collect());
    // Before the lock, whose file a signal removes first.
    let at_a_signal = Made(made.0.clone());
    let _at_a_signal = BeforeTheEnd::call(move || at_a_signal.remove());
    let lock = match folder {
        Some(folder) => {
            create_dir_all(folder).map_err(|source| ReportError::Folder { folder: folder.into(), source })?;
            Lock::of_folder(folder)?
        }
        None => None,
    };
    Ok(OutputFolder { _lock: lock, _at_a_signal, _made: made })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_for_nothing_goes_and_what_is_used_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        let lock = |folder: Option<&Path>| lock(folder, &["report.json"]);
        let guard = lock(Some(&folder)).unwrap();
        assert!(lock(Some(&folder)).is_err_and(|error| error.to_string().contains("is in use")));
        drop(guard);
        assert!(!root.path().join("a").exists());
        let guard = lock(Some(&folder)).unwrap();
        std::fs::write(folder.join("report.json"), "{}").unwrap();
        drop(guard);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        std::fs::write(root.path().join("file"), "").unwrap();
        let blocked = lock(Some(&root.path().join("file/x"))).err().unwrap().to_string();
        assert!(blocked.contains("which is a file") && lock(None).is_ok(), "{blocked}");
    }
}
