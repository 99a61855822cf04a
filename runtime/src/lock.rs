//! A lock that lets only one process use a checkpoint folder or an output, and names the holder.
//!
//! In: the lock file, in the folder or beside the output. Out: a [`Lock`], or who holds it. The lock is the operating
//! system's (`flock`) on that file, so it ends with its process, however that ends; the text in the file is for people.
//! The file is removed when the lock is released, or a signal ends the process. If a file system has no locks, a line on standard error says so, and
//! the run continues without.

use crate::interrupt::BeforeTheEnd;
use crate::say;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The lock file in a folder.
const IN_FOLDER: &str = ".eigenforge-lock";
/// How often to retry opening a lock file that was removed meanwhile.
const TRIES: usize = 100;
/// Size limit of a holder's description in bytes.
const ACCOUNT: usize = 1024;

/// A lock, released when dropped.
#[derive(Debug)]
pub struct Lock {
    file: Arc<File>,
    path: PathBuf,
    _at_a_signal: BeforeTheEnd,
}

/// Another process, or another run in this one, holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is in use by {holder}: wait until it ends, or name another place", place.display())]
pub struct InUse {
    /// What is locked.
    pub place: PathBuf,
    /// Process number, machine, since when, command.
    pub holder: String,
}

impl Lock {
    /// Locks an existing folder; `None` if that is not possible, which is reported on standard error.
    ///
    /// # Errors
    /// Another process holds the lock.
    pub fn of_folder(folder: &Path) -> Result<Option<Lock>, InUse> {
        Lock::take(folder, &folder.join(IN_FOLDER))
    }

    /// Locks an output by the file OUT.lock beside it; `None` as above.
    ///
    /// # Errors
    /// Another process holds the lock.
    pub fn of_output(output: &Path) -> Result<Option<Lock>, InUse> {
        let mut name = output.file_name().unwrap_or_default().to_os_string();
        name.push(".lock");
        Lock::take(output, &output.with_file_name(name))
    }

    fn new(file: Arc<File>, path: &Path) -> Lock {
        let (held, there) = (Arc::clone(&file), path.to_path_buf());
        Lock { file, path: path.into(), _at_a_signal: BeforeTheEnd::call(move || remove(&held, &there)) }
    }

    fn take(place: &Path, path: &Path) -> Result<Option<Lock>, InUse> {
        match try_take(path) {
            Ok(Taken::Mine(file)) => Ok(Some(Lock::new(Arc::new(file), path))),
            Ok(Taken::Others(holder)) => Err(InUse { place: place.into(), holder }),
            // There is no such folder: writing there will report it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                say!("warning: {} cannot be locked ({error}): make sure that no other run uses it", place.display());
                Ok(None)
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        remove(&self.file, &self.path);
    }
}

/// Removes the file, if it is still this one that is there.
fn remove(file: &File, path: &Path) {
    if is_at(file, path) {
        let _ = fs::remove_file(path);
    }
}

enum Taken {
    Mine(File),
    Others(String),
}

fn try_take(path: &Path) -> io::Result<Taken> {
    let no_links = OFlags::NOFOLLOW.bits() as i32;
    for _ in 0..TRIES {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).custom_flags(no_links).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(format!("{} is no regular file", path.display())));
        }
        match file.try_lock() {
            // The previous holder may have removed the file since it was opened here.
            Ok(()) if !is_at(&file, path) => continue,
            Ok(()) => {
                file.set_len(0)?;
                file.write_all((account() + "\n").as_bytes())?;
                return Ok(Taken::Mine(file));
            }
            Err(TryLockError::WouldBlock) => return Ok(Taken::Others(read_account(&mut file))),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("other processes keep taking and leaving it"))
}

/// Whether this file is the one at that path.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |mine: fs::Metadata, there: fs::Metadata| (mine.dev(), mine.ino()) == (there.dev(), there.ino());
    file.metadata().and_then(|mine| Ok(same(mine, fs::symlink_metadata(path)?))).unwrap_or(false)
}

/// "process 4711 on node7 since 2026-11-22 12:00:00 UTC: eigenforge solve model.toml"
fn account() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let text = format!("process {} on {machine} since {}: {}", std::process::id(), utc(since), words.join(" "));
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(ACCOUNT / 4).collect()
}

/// The holder's text; written a moment after it gets the lock.
fn read_account(file: &mut File) -> String {
    for _ in 0..10 {
        let mut bytes = Vec::new();
        let read = file.rewind().and_then(|()| Read::by_ref(file).take(ACCOUNT as u64).read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        if let (Ok(_), Some(line)) = (read, text.lines().next()) {
            return line.chars().filter(|c| !c.is_control()).collect();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    "another process".into()
}

/// A time by the calendar (Hinnant, "chrono-compatible low-level date algorithms", civil_from_days).
fn utc(seconds: u64) -> String {
    let (day, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (date, month) = (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{date:02} {:02}:{:02}:{:02} UTC", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is_and_comes_in_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::of_folder(folder.path()).unwrap().unwrap();
        let refused = Lock::of_folder(folder.path()).unwrap_err();
        assert!(refused.holder.starts_with(&format!("process {} on ", std::process::id())), "{refused}");
        assert!(refused.to_string().contains(" UTC: "), "{refused}");
        drop(first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the lock file is gone");
        // The file of a killed process is not a lock.
        fs::write(folder.path().join(IN_FOLDER), "process 1 on nowhere\n").unwrap();
        let second = Lock::of_folder(folder.path()).unwrap().unwrap();
        assert!(Lock::of_folder(folder.path()).unwrap_err().holder.contains(&std::process::id().to_string()));
        drop(second);
        let output = folder.path().join("out.csv");
        let lock = Lock::of_output(&output).unwrap().unwrap();
        assert!(folder.path().join("out.csv.lock").is_file());
        assert_eq!(Lock::of_output(&output).unwrap_err().place, output);
        drop(lock);
    }

    /// Of many at once one holds the lock at any time, although each removes the file.
    #[test]
    fn one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, entered) = (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(Some(_lock)) = Lock::of_folder(folder.path()) {
                            assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                            entered.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert!(entered.into_inner() > 0);
    }

    #[test]
    fn a_link_in_its_place_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "data").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join(IN_FOLDER)).unwrap();
        assert!(Lock::of_folder(folder.path()).unwrap().is_none());
        assert_eq!(fs::read_to_string(&precious).unwrap(), "data");
    }

    #[test]
    fn times_by_the_calendar() {
        // date -u -d @N
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_795_348_799, "2026-11-22 11:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
