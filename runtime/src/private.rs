//! Private folders: whatever is executed, loaded or trusted comes from a folder that nobody else can change.
//!
//! In: a folder of kernels, compiled simulations, coefficients or tuned choices. Out: whether it may be used, and if not
//! why; its files, read within limits. A hash inside a folder does not protect against someone who can also write the
//! hash. Therefore the folder and everything in it must belong to this user or to root and be writable by nobody else. A
//! read-only cache that the user names may also belong to its owner.

use crate::say_once;
use rustix::fs::OFlags;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Write permission of the group and of others.
const OTHERS_WRITE: u32 = 0o022;
const ALL_WRITE: u32 = 0o002;
/// Sticky bit: only the owner of a file may remove or rename it there.
const STICKY: u32 = 0o1000;

/// Creates a folder and its parents for this user alone; existing ones are not changed.
///
/// # Errors
/// An I/O error.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a new file for this user alone.
///
/// # Errors
/// An I/O error; the file exists.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Writes a file for this user alone, replacing an earlier one in one step, and creates its folder if needed.
///
/// # Errors
/// An I/O error.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The owners whose folders and files are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    owners: Vec<u32>,
}

impl Trust {
    /// Trusts this user and root.
    pub fn current_user() -> Trust {
        Trust { owners: vec![rustix::process::geteuid().as_raw(), 0] }
    }

    /// Trusts those, and the owner of a read-only cache that the user named.
    pub fn of_tier(folder: &Path) -> Trust {
        let mut trust = Trust::current_user();
        trust.owners.extend(fs::metadata(folder).map(|metadata| metadata.uid()));
        trust
    }

    /// Whether a folder may be used; if not, standard error says why and what to do, once. A folder that does not exist
    /// may be used.
    pub fn allows(&self, folder: &Path) -> bool {
        let fault = self.fault(folder);
        fault.iter().for_each(|fault| say_once(format_args!("warning: {fault}")));
        fault.is_none()
    }

    /// Why a folder may not be used.
    pub fn fault(&self, folder: &Path) -> Option<String> {
        let ignored = |why: String| {
            format!(
                "the folder {} is ignored: {why}, so others could have put anything there; if you trust what it holds, make \
                 it yours alone (chown, chmod -R go-w), else remove it, or name another folder in EIGENFORGE_CACHE",
                folder.display()
            )
        };
        // The folder, or its nearest existing parent.
        let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.into());
        let there = folder.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
        let (path, real) = there?;
        let all = path == folder;
        if all
            && let Err(why) = fs::metadata(&real).map_err(|error| error.to_string()).and_then(|data| self.check(&data))
        {
            return Some(ignored(why));
        }
        let replaceable = |parent: &Path| {
            let mode = fs::metadata(parent).map_or(0, |metadata| metadata.mode());
            mode & ALL_WRITE != 0 && mode & STICKY == 0
        };
        let parents = real.ancestors().skip(usize::from(all));
        let parent = parents.into_iter().find(|parent| replaceable(parent))?;
        Some(ignored(format!("everyone may write in {}, above it", parent.display())))
    }

    fn check(&self, metadata: &Metadata) -> Result<(), String> {
        let (owner, mode) = (metadata.uid(), metadata.mode());
        if !self.owners.contains(&owner) {
            return Err(format!("it belongs to user {owner} and not to you (user {})", self.owners[0]));
        }
        if mode & OTHERS_WRITE != 0 {
            return Err(format!("others may write to it (mode {:04o})", mode & 0o7777));
        }
        Ok(())
    }

    /// Whether an entry of a trusted folder is itself a trusted folder, or this user's link to one.
    pub fn holds_folder(&self, folder: &Path) -> bool {
        fs::metadata(folder).is_ok_and(|data| data.is_dir() && self.check(&data).is_ok())
    }

    /// Opens a regular file; links are not followed, and a pipe or a device is not waited for.
    ///
    /// # Errors
    /// The file is not regular, or others own it or may write to it.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(refused("it is no regular file".into()));
        }
        self.check(&metadata).map_err(refused)?;
        Ok(file)
    }

    /// The bytes of such a file, at most `limit`.
    ///
    /// # Errors
    /// Errors of [`Trust::open`]; a longer file.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let length = file.metadata()?.len();
        if length > limit {
            return Err(refused(format!("it has {length} bytes, expected {limit} at most")));
        }
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit { Err(refused(format!("it is longer than {limit} bytes"))) } else { Ok(bytes) }
    }

    /// The same as text.
    ///
    /// # Errors
    /// Errors of [`Trust::read`]; bytes that are not UTF-8.
    pub fn read_text(&self, path: &Path, limit: u64) -> io::Result<String> {
        String::from_utf8(self.read(path, limit)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text"))
    }
}

fn refused(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Sets the modification time of a file to now, marking its last use; creates it if needed.
pub fn touch(path: &Path) {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let mut options = OpenOptions::new();
    let file: io::Result<File> =
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(path);
    // In a read-only folder no use is recorded.
    let _ = file.and_then(|file| file.set_modified(std::time::SystemTime::now()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Gives a file to the user "nobody", if this process may.
    fn give_away(path: &Path) -> bool {
        chown(path, Some(65_534), None).is_ok()
    }

    #[test]
    fn folders_that_others_may_change_are_not_used() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        let trust = Trust::current_user();
        assert_eq!(trust.fault(&folder), None, "not there yet");
        make_folder(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(trust.fault(&folder), None);
        for wrong in [0o777, 0o770, 0o1777, 0o722] {
            mode(&folder, wrong);
            let fault = trust.fault(&folder).unwrap();
            assert!(fault.contains(&format!("mode {wrong:04o}")) && fault.contains("EIGENFORGE_CACHE"), "{fault}");
            assert!(!trust.allows(&folder));
        }
        for right in [0o755, 0o700, 0o500] {
            mode(&folder, right);
            assert_eq!(trust.fault(&folder), None, "{right:o}");
        }
        mode(&root.path().join("a"), 0o777);
        for path in [folder.clone(), root.path().join("a/new/folder")] {
            let fault = trust.fault(&path).unwrap();
            assert!(fault.contains("everyone may write in") && fault.contains("/a, above it"), "{fault}");
        }
        mode(&root.path().join("a"), 0o1777);
        assert_eq!(trust.fault(&folder), None, "as in /tmp, nobody else can replace it there");
        if give_away(&folder) {
            let fault = trust.fault(&folder).unwrap();
            assert!(fault.contains("belongs to user 65534"), "{fault}");
            assert_eq!(Trust::of_tier(&folder).fault(&folder), None, "the user named it");
            let link = root.path().join("link");
            symlink(&folder, &link).unwrap();
            assert!(trust.fault(&link).is_some(), "what a link leads to counts");
        }
    }

    #[test]
    fn only_regular_files_of_ones_own_within_the_limit_are_read() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let trust = Trust::current_user();
        write_new(&at("file"), b"12345").unwrap();
        assert_eq!(trust.read(&at("file"), 5).unwrap(), b"12345");
        assert!(write_new(&at("file"), b"").is_err(), "it is there");
        assert!(trust.read(&at("file"), 4).unwrap_err().to_string().contains("5 bytes"));
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        symlink("/dev/zero", at("zero")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        for name in ["pipe", "zero", "link", ".", "none"] {
            assert!(trust.read(&at(name), 5).is_err(), "{name}");
            touch(&at(name)); // comes back
        }
        mode(&at("file"), 0o666);
        assert!(trust.read(&at("file"), 5).unwrap_err().to_string().contains("mode 0666"));
        mode(&at("file"), 0o600);
        if give_away(&at("file")) {
            assert!(trust.read(&at("file"), 5).is_err());
        }
        assert!(!trust.holds_folder(&at("link")) && trust.holds_folder(root.path()));
    }
}
