//! What an output path leads to, and whether it can be written, before any work is done.
//!
//! In: the path of a file or folder to be written. Out: its [`Destination`], or what is in the way. A link leads to what it names, and
//! stays; pipes, devices and sockets are written to and stay; a regular file is replaced. Folders that are missing are made when
//! the file is written.

use super::ReportError;
use rustix::fs::{Access, access};
use std::fs::{FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// Links in a row that a path may have, as in Linux.
const MOST_LINKS: usize = 40;

/// Where a file is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A regular file or nothing yet, at this path without links: written beside and renamed.
    Regular(PathBuf),
    /// A pipe, device, socket or open file of a process: written to as it is.
    Stream(PathBuf),
}

impl Destination {
    /// Follows the links of a path.
    pub(super) fn find(path: &Path) -> Result<Destination, ReportError> {
        let mut place = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            let kind = match place.symlink_metadata() {
                Ok(metadata) => metadata.file_type(),
                // Nothing yet, or a file where a folder should be, which is told when its folder is looked at.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
                        && place.file_name().is_some() =>
                {
                    return Ok(Destination::Regular(place));
                }
                Err(error) => return Err(unusable(path, error.to_string(), FILE)),
            };
            if !kind.is_symlink() {
                return match kind {
                    kind if kind.is_file() => Ok(Destination::Regular(place)),
                    kind if kind.is_dir() => Err(unusable(path, "a folder", FILE)),
                    _ => Ok(Destination::Stream(path.into())),
                };
            }
            let folder = folder_of(&place);
            // /dev/stdout and /dev/fd/N lead to open files, whose names are no paths.
            if folder.canonicalize().is_ok_and(|folder| folder.starts_with("/proc")) {
                return Ok(Destination::Stream(path.into()));
            }
            let target = place.read_link().map_err(|error| unusable(path, error.to_string(), FILE))?;
            place = folder.join(target);
        }
        Err(unusable(path, "links that lead to each other", FILE))
    }
}

const FILE: &str = "a file that can be written";
const FOLDER: &str = "a folder that can be written";

/// Checks that a file can be written at `path`.
///
/// # Errors
/// [`ReportError::Unusable`]: a folder, a read-only file, a folder of it that is a file or read-only.
pub fn check_file(path: &Path) -> Result<(), ReportError> {
    if path.as_os_str().is_empty() {
        return Err(unusable(path, "an empty path", FILE));
    }
    if path.to_string_lossy().ends_with('/') {
        return Err(unusable(path, "the path of a folder", FILE));
    }
    match Destination::find(path)? {
        Destination::Stream(stream) => access(&stream, Access::WRITE_OK)
            .map_err(|error| unusable(path, format!("no permission to write ({error})"), FILE)),
        Destination::Regular(file) => {
            if file.metadata().is_ok_and(|metadata| is_read_only(&file, &metadata)) {
                return Err(unusable(path, "a read-only file", FILE));
            }
            check_ancestor(path, folder_of(&file), FILE)
        }
    }
}

/// The place of a file beside which others will stand, and which is therefore a regular one; links are followed.
///
/// # Errors
/// [`ReportError::Unusable`] as for [`check_file`], and for a pipe, device or socket.
pub fn regular_place(path: &Path) -> Result<PathBuf, ReportError> {
    check_file(path)?;
    match Destination::find(path)? {
        Destination::Regular(place) => Ok(place),
        Destination::Stream(_) => {
            Err(unusable(path, "a pipe, device or socket", "a regular file, since others go beside it"))
        }
    }
}

/// Checks that files of these names can be written into a folder, which need not exist yet.
///
/// # Errors
/// [`ReportError::Unusable`]: a file or a link to nothing in its place, no permission, a name that cannot be written.
pub fn check_folder(folder: &Path, names: &[&str]) -> Result<(), ReportError> {
    if folder.as_os_str().is_empty() {
        return Err(unusable(folder, "an empty path", FOLDER));
    }
    check_ancestor(folder, folder, FOLDER)?;
    let there = names.iter().map(|name| folder.join(name)).filter(|file| file.symlink_metadata().is_ok());
    there.into_iter().try_for_each(|file| check_file(&file))
}

/// Checks the folder, or the nearest one above it that exists.
fn check_ancestor(path: &Path, folder: &Path, expected: &'static str) -> Result<(), ReportError> {
    let absolute = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for place in absolute.ancestors() {
        let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        match place.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // A file in the way: the next one is that file.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => continue,
            Err(error) => return Err(unusable(path, format!("{}: {error}", place.display()), expected)),
            Ok(_) => {}
        }
        let found = |what: &str| match place == path {
            true => what.to_string(),
            false => format!("{}, which is {what}", place.display()),
        };
        let Ok(metadata) = place.metadata() else {
            return Err(unusable(path, found("a link to nothing"), expected));
        };
        if !metadata.is_dir() {
            return Err(unusable(path, found(name_of(metadata.file_type())), expected));
        }
        return match access(place, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Ok(()),
            Err(error) => Err(unusable(path, found(&format!("a folder that cannot be written ({error})")), expected)),
        };
    }
    Err(unusable(path, "no folder above it", expected))
}

/// Whether the file's owner wants it left as it is, or this user may not write it.
fn is_read_only(file: &Path, metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o222 == 0 || access(file, Access::WRITE_OK).is_err()
}

/// The folder that a path's last name stands in.
pub(super) fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match path.components().next_back() {
        Some(Component::RootDir) => path,
        _ => parent.unwrap_or(Path::new(".")),
    }
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_file() => "a file",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "no folder",
    }
}

fn unusable(path: &Path, found: impl Into<String>, expected: &'static str) -> ReportError {
    ReportError::Unusable { path: path.into(), expected, found: found.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// The text of the error.
    fn refusal(checked: Result<(), ReportError>) -> String {
        checked.expect_err("it should be refused").to_string()
    }

    #[test]
    fn links_are_followed_and_streams_are_known() {
        let root = tempfile::tempdir().unwrap();
        let place = |name: &str| root.path().join(name);
        std::fs::write(place("file"), "old").unwrap();
        for (link, target) in
            [("one", "file"), ("two", "one"), ("new", "folder/later"), ("null", "/dev/null"), ("loop", "loop")]
        {
            symlink(target, place(link)).unwrap();
        }
        let regular = |name: &str| Destination::Regular(place(name));
        let find = |name: &str| Destination::find(&place(name)).unwrap();
        assert_eq!([find("two"), find("new"), find("no")], [regular("file"), regular("folder/later"), regular("no")]);
        assert_eq!(find("null"), Destination::Stream(place("null")));
        assert_eq!(Destination::find(Path::new("/dev/stdout")).unwrap(), Destination::Stream("/dev/stdout".into()));
        assert!(refusal(check_file(&place("loop"))).contains("lead to each other"));
    }

    #[test]
    fn what_cannot_be_written_is_refused_with_what_was_found() {
        let root = tempfile::tempdir().unwrap();
        let place = |name: &str| root.path().join(name);
        std::fs::write(place("file"), "old").unwrap();
        std::fs::write(place("locked"), "old").unwrap();
        std::fs::set_permissions(place("locked"), std::fs::Permissions::from_mode(0o444)).unwrap();
        std::fs::create_dir_all(place("folder/report.json")).unwrap();
        symlink("nowhere", place("link")).unwrap();
        for good in ["file", "new", "a/b/new", "link"] {
            check_file(&place(good)).unwrap();
        }
        check_folder(&place("a/b"), &["report.json"]).unwrap();
        for (path, found) in
            [("folder", "a folder"), ("locked", "a read-only file"), ("file/x", "which is a file"), ("x/", "a folder")]
        {
            let text = refusal(check_file(&place(path)));
            assert!(text.contains(found) && text.contains("expected a file that can be written"), "{path}: {text}");
        }
        for (path, found) in
            [("file", "a file"), ("file/x", "which is a file"), ("link", "a link to nothing"), ("folder", "a folder")]
        {
            let text = refusal(check_folder(&place(path), &["report.json"]));
            assert!(text.contains(found), "{path}: {text}");
        }
        assert!(refusal(check_folder(Path::new(""), &[])).contains("an empty path"));
    }
}
