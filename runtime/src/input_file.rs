//! Reads files that a user names; all such reads go through here.
//!
//! In: a path and a [`FileKind`]. Out: an [`OpenedFile`], its bytes or its lines. Only regular files are opened: a named
//! pipe, a device, a socket or a folder is refused before a byte is read, and cannot block. `-` is standard input, which
//! is read whole, once, and may be opened repeatedly. A file longer than its kind's limit is refused, whatever its
//! contents claim.
//!
//! | kind | limit |
//! |---|---|
//! | model files, forces, records of caches, tuned choices | 16 MiB |
//! | edited kernels | 64 MiB |
//! | one-electron operators | 1 GiB |
//! | determinants | 64 GiB |
//! | tables of labels, integrals, matrices, interactions, tables of coefficients | 1 TiB, and read piece by piece |
//! | standard input | that of its kind, and at most 4 GiB |
//! | one line of a text | 64 KiB |
//!
//! A text must end with a line feed ([`Lines`]): a file truncated within its last number would give a wrong number. Texts are opened as
//! [`TextFile`], which unpacks gzip files and skips a byte-order mark.

mod lines;
mod number;
mod text;

pub use lines::{Line, Lines, check_ending};
pub use number::real_number;
pub use text::TextFile;

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The path that means standard input.
pub const STANDARD_INPUT: &str = "-";

/// Most bytes of standard input, which is held in memory.
const STANDARD_INPUT_LIMIT: u64 = 4 << 30;

/// What a file contains, as named in errors, and its size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKind {
    /// For example "a model file".
    pub name: &'static str,
    /// Size limit in bytes.
    pub limit: u64,
}

impl FileKind {
    /// `eigenforge solve MODEL.toml`.
    pub const MODEL: FileKind = FileKind { name: "a model file", limit: 16 << 20 };
    /// `[force]` in a TOML file.
    pub const FORCE: FileKind = FileKind { name: "a force", limit: 16 << 20 };
    /// Records of kernel caches and tuned choices.
    pub const RECORD: FileKind = FileKind { name: "a record", limit: 16 << 20 };
    /// Headers of checkpoints, in which a long chain has a line for each sector of each block.
    pub const HEADER: FileKind = FileKind { name: "the header of a checkpoint", limit: 1 << 30 };
    /// Vectors and other numbers of a checkpoint.
    pub const STATE: FileKind = FileKind { name: "the saved state of a run", limit: 1 << 46 };
    /// Edited CUDA texts and the files beside them.
    pub const KERNEL: FileKind = FileKind { name: "a kernel file", limit: 64 << 20 };
    /// FCIDUMP.
    pub const INTEGRALS: FileKind = FileKind { name: "an FCIDUMP file", limit: 1 << 40 };
    /// A dipole, or another one-electron operator.
    pub const OPERATORS: FileKind = FileKind { name: "a file of one-electron operators", limit: 1 << 30 };
    /// A list of determinants.
    pub const DETERMINANTS: FileKind = FileKind { name: "a list of determinants", limit: 64 << 30 };
    /// Matrix Market and npz.
    pub const MATRIX: FileKind = FileKind { name: "a matrix", limit: 1 << 40 };
    /// Two-body elements, strengths or relative motion, in any format.
    pub const INTERACTION: FileKind = FileKind { name: "an interaction", limit: 1 << 40 };
    /// Comma-separated labels.
    pub const TABLE: FileKind = FileKind { name: "a table", limit: 1 << 40 };
}

/// An open file, or standard input.
#[derive(Debug)]
pub struct OpenedFile {
    source: Source,
    bytes: u64,
}

#[derive(Debug)]
enum Source {
    File(File),
    Memory(Cursor<Arc<[u8]>>),
}

impl OpenedFile {
    /// Opens a regular file, or standard input for `-`.
    ///
    /// # Errors
    /// No such file, or no permission; a pipe, device, socket or folder; a file larger than its kind's limit.
    pub fn open(path: &Path, kind: FileKind) -> io::Result<OpenedFile> {
        let file = if path.as_os_str() == STANDARD_INPUT {
            let bytes = standard_input(kind)?;
            OpenedFile { bytes: bytes.len() as u64, source: Source::Memory(Cursor::new(bytes)) }
        } else {
            // Also checked before opening: opening some devices has side effects.
            check_regular(std::fs::metadata(path)?.file_type())?;
            let file = without_blocking().read(true).open(path)?;
            let metadata = file.metadata()?;
            check_regular(metadata.file_type())?;
            OpenedFile { bytes: metadata.len(), source: Source::File(file) }
        };
        if file.bytes > kind.limit {
            return Err(too_long(kind, file.bytes));
        }
        Ok(file)
    }

    /// Its length in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.bytes
    }

    /// Fills `buffer` with the bytes from `offset` on, independent of other reads; many threads may do so at once.
    ///
    /// # Errors
    /// The file is too short or cannot be read.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.source {
            Source::File(file) => std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset),
            Source::Memory(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get_ref().get(offset..));
                let found = rest.and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }
}

impl Read for OpenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::File(file) => file.read(buffer),
            Source::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for OpenedFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.source {
            Source::File(file) => file.seek(position),
            Source::Memory(bytes) => bytes.seek(position),
        }
    }
}

/// All bytes of a file; for kinds with a small limit.
///
/// # Errors
/// Errors of [`OpenedFile::open`]; a file that cannot be read, or that grows beyond its limit while being read.
pub fn read_bytes(path: &Path, kind: FileKind) -> io::Result<Vec<u8>> {
    let file = OpenedFile::open(path, kind)?;
    let mut bytes = Vec::with_capacity(file.bytes.min(1 << 20) as usize);
    file.take(kind.limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > kind.limit { Err(too_long(kind, bytes.len() as u64)) } else { Ok(bytes) }
}

/// All bytes of a text; for kinds with a small limit.
///
/// # Errors
/// Errors of [`TextFile::open`]; a text that is longer than its limit.
pub fn read_text_bytes(path: &Path, kind: FileKind) -> io::Result<Vec<u8>> {
    let text = TextFile::open(path, kind)?;
    let mut bytes = Vec::with_capacity(text.size().min(1 << 20) as usize);
    text.take(kind.limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > kind.limit { Err(too_long(kind, bytes.len() as u64)) } else { Ok(bytes) }
}

/// The whole text of a file; for kinds with a small limit.
///
/// # Errors
/// Errors of [`read_text_bytes`]; bytes that are not UTF-8.
pub fn read_text(path: &Path, kind: FileKind) -> io::Result<String> {
    String::from_utf8(read_text_bytes(path, kind)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        invalid(format!("it is not UTF-8 text (byte {at}), expected {}", kind.name))
    })
}

/// The name of a file in reports: its path, or "standard input".
pub fn shown_name(path: &Path) -> String {
    if path.as_os_str() == STANDARD_INPUT { "standard input".into() } else { path.display().to_string() }
}

fn standard_input(kind: FileKind) -> io::Result<Arc<[u8]>> {
    static READ: OnceLock<Result<Arc<[u8]>, String>> = OnceLock::new();
    let limit = kind.limit.min(STANDARD_INPUT_LIMIT);
    let read = READ.get_or_init(|| {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(limit + 1).read_to_end(&mut bytes);
        read.map(|_| bytes.into()).map_err(|error| error.to_string())
    });
    match read {
        Ok(bytes) if bytes.len() as u64 > limit => Err(too_long(FileKind { limit, ..kind }, bytes.len() as u64)),
        Ok(bytes) => Ok(bytes.clone()),
        Err(reason) => Err(io::Error::other(format!("standard input: {reason}"))),
    }
}

/// Opens without blocking, in case a pipe without a writer has just replaced a file.
fn without_blocking() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        /// O_NONBLOCK of x86-64 and AArch64. It has no effect on regular files.
        const O_NONBLOCK: i32 = 0o4000;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, O_NONBLOCK);
    }
    options
}

fn check_regular(found: FileType) -> io::Result<()> {
    if found.is_file() {
        return Ok(());
    }
    let what = name_of(found);
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("it is {what}, expected a regular file; `-` in place of the path reads standard input"),
    ))
}

fn name_of(found: FileType) -> &'static str {
    if found.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        for (is, name) in [
            (found.is_fifo(), "a named pipe"),
            (found.is_char_device(), "a character device"),
            (found.is_block_device(), "a block device"),
            (found.is_socket(), "a socket"),
        ] {
            if is {
                return name;
            }
        }
    }
    "no file"
}

fn too_long(kind: FileKind, found: u64) -> io::Error {
    let FileKind { name, limit } = kind;
    let found = if found > limit.saturating_add(1) { format!("it has {found} bytes, ") } else { String::new() };
    invalid(format!("{found}{name} may have {limit} at most"))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_are_read_up_to_their_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "1234\n").unwrap();
        let kind = |limit| FileKind { name: "a test", limit };
        assert_eq!(read_text(&path, kind(5)).unwrap(), "1234\n");
        let error = read_text(&path, kind(3)).unwrap_err().to_string();
        assert_eq!(error, "it has 5 bytes, a test may have 3 at most");
        std::fs::write(&path, b"ab\xff\n").unwrap();
        let error = read_text(&path, kind(9)).unwrap_err().to_string();
        assert_eq!(error, "it is not UTF-8 text (byte 2), expected a test");
        let error = OpenedFile::open(folder.path(), kind(5)).unwrap_err().to_string();
        assert!(error.starts_with("it is a folder, expected a regular file"), "{error}");
        assert_eq!(read_bytes(&folder.path().join("no"), kind(5)).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// Each is refused at once, where reading it would block or never end.
    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, link, socket] = ["pipe", "link", "socket"].map(|name| folder.path().join(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for (path, name) in [
            (pipe.as_path(), "a named pipe"),
            (&link, "a character device"),
            (&socket, "a socket"),
            (Path::new("/dev/zero"), "a character device"),
        ] {
            let error = read_bytes(path, FileKind::MODEL).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("expected a regular file"), "{error}");
        }
    }
}
