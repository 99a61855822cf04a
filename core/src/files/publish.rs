//! Files that appear whole or not at all.
//!
//! In: a path and something that writes. Out: the file. A regular file is written beside and flushed to the disk, then renamed, so
//! that after an error the old one is still there, with its permissions. Links stay, and what they lead to is written. A pipe, device
//! or socket gets the bytes once all are there, and stays what it is.

use super::ReportError;
use super::destination::{Destination, folder_of};
use eigenforge_runtime::say;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Permissions of a new file; a temporary one is its owner's alone.
const NEW_MODE: u32 = 0o644;

/// Lets `write` fill a temporary file, and makes it what stands at `path`. Makes the folder if need be.
///
/// # Errors
/// The errors of `write` and of the file system.
pub fn publish(path: &Path, write: impl FnOnce(&mut File) -> Result<(), ReportError>) -> Result<PathBuf, ReportError> {
    let failed = |source| ReportError::Write { file: path.into(), source };
    match Destination::find(path)? {
        Destination::Regular(file) => replace(&file, write, &failed)?,
        Destination::Stream(stream) => {
            let mut whole = tempfile::tempfile().map_err(failed)?;
            write(&mut whole)?;
            send(&mut whole, &stream).map_err(failed)?;
        }
    }
    Ok(path.into())
}

/// Writes beside the file and renames.
fn replace(
    file: &Path,
    write: impl FnOnce(&mut File) -> Result<(), ReportError>,
    failed: &impl Fn(io::Error) -> ReportError,
) -> Result<(), ReportError> {
    let folder = folder_of(file);
    std::fs::create_dir_all(folder).map_err(|source| ReportError::Folder { folder: folder.into(), source })?;
    let mode = file.metadata().map_or(NEW_MODE, |old| old.permissions().mode() & 0o7777);
    let mut new = NamedTempFile::new_in(folder).map_err(failed)?;
    write(new.as_file_mut())?;
    new.as_file().sync_all().map_err(failed)?;
    new.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Copies the bytes to a pipe, device or socket.
fn send(bytes: &mut File, stream: &Path) -> io::Result<()> {
    bytes.rewind()?;
    io::copy(bytes, &mut open_stream(stream)?).map(drop)
}

fn open_stream(stream: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(stream)?.file_type();
    if kind.is_socket() {
        return Ok(OwnedFd::from(UnixStream::connect(stream)?).into());
    }
    let mut options = OpenOptions::new();
    options.append(true); // an open file of a process goes on where it is
    if !kind.is_fifo() {
        return options.open(stream);
    }
    // Without a reader this fails at once; the user is told before the wait for one. An end that was opened is kept: a reader that saw it
    // close would leave.
    match options.clone().custom_flags(OFlags::NONBLOCK.bits() as i32).open(stream) {
        Ok(file) => {
            let flags = rustix::fs::fcntl_getfl(&file)?;
            rustix::fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
            Ok(file)
        }
        Err(_) => {
            say!("waiting for a reader of {}", stream.display());
            options.open(stream)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    fn text(path: &Path, text: &str) -> Result<PathBuf, ReportError> {
        publish(path, |file| {
            file.write_all(text.as_bytes()).map_err(|source| ReportError::Write { file: path.into(), source })
        })
    }

    #[test]
    fn links_and_permissions_stay_and_their_target_is_written() {
        let root = tempfile::tempdir().unwrap();
        let [file, link, later] = ["file", "link", "later"].map(|name| root.path().join(name));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        symlink("folder/new", &later).unwrap();
        text(&link, "new").unwrap();
        text(&later, "made").unwrap();
        assert!(link.is_symlink() && later.is_symlink());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_to_string(root.path().join("folder/new")).unwrap(), "made");
        assert!(text(root.path(), "folder").is_err());
    }

    #[test]
    fn pipes_devices_and_sockets_get_the_bytes_and_stay() {
        let root = tempfile::tempdir().unwrap();
        let [pipe, socket] = ["pipe", "socket"].map(|name| root.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let listener = UnixListener::bind(&socket).unwrap();
        // More than a pipe holds, to a reader that comes before or after; one end is opened, or the reader would see it close.
        for number in 0..50 {
            let reader = std::thread::spawn({
                let pipe = pipe.clone();
                move || std::fs::read_to_string(pipe).unwrap()
            });
            if number % 2 == 0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            text(&pipe, &"through".repeat(20_000)).unwrap();
            assert_eq!(reader.join().unwrap().len(), 140_000, "{number}");
        }
        let accepted = std::thread::spawn(move || {
            let mut found = String::new();
            listener.accept().unwrap().0.read_to_string(&mut found).unwrap();
            found
        });
        text(&socket, "sent").unwrap();
        assert_eq!(accepted.join().unwrap(), "sent");
        assert!(pipe.metadata().unwrap().file_type().is_fifo() && socket.metadata().unwrap().file_type().is_socket());
        text(Path::new("/dev/null"), "gone").unwrap();
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
        let full = text(Path::new("/dev/full"), "lost").unwrap_err().to_string();
        assert!(full.contains("/dev/full"), "{full}");
    }
}
