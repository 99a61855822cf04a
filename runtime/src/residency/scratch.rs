//! The scratch file, for buffers that fit in no memory.
//!
//! One unnamed file in a folder, which disappears when the run ends, however it ends. Its space is reused. Every buffer
//! is verified on reading against the blake3 sum of what was written. Calls block; [`super::spill::SpillStore`] makes them on
//! its own thread.

use super::{Ledger, locked};
use crate::error::BackendError;
use crate::free_list::FreeList;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Mutex;

/// Numbers converted to bytes at a time.
const CHUNK: usize = 1 << 16;

/// A folder, and the file in it once something was written.
pub(super) struct Scratch {
    folder: PathBuf,
    file: Mutex<Option<File>>,
    /// Allocation of the file's bytes.
    space: Mutex<FreeList>,
    /// Counter of the bytes in the file.
    pub ledger: Ledger,
}

/// Position and checksum of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    first: u64,
    len: usize,
    sum: blake3::Hash,
}

impl Scratch {
    /// In a folder; nothing is created yet.
    pub(super) fn new(folder: PathBuf) -> Scratch {
        Scratch { folder, file: Mutex::default(), space: Mutex::default(), ledger: Ledger::default() }
    }

    /// On a file that is already open.
    #[cfg(test)]
    pub(super) fn from_file(file: File, folder: PathBuf) -> Scratch {
        let scratch = Scratch::new(folder);
        *locked(&scratch.file) = Some(file);
        scratch
    }

    /// An I/O error, with the folder and the bytes in it.
    pub(super) fn fault(&self, what: &'static str, source: io::Error) -> BackendError {
        BackendError::Scratch { folder: self.folder.clone(), what, held: self.ledger.used(), source }
    }

    fn with_file<R>(&self, work: impl FnOnce(&mut File) -> io::Result<R>) -> io::Result<R> {
        let mut file = locked(&self.file);
        if file.is_none() {
            *file = Some(tempfile::tempfile_in(&self.folder)?);
        }
        match file.as_mut() {
            Some(file) => work(file),
            None => Err(io::Error::other("no file")),
        }
    }

    /// The first byte of a free range of the file.
    fn reserve(&self, bytes: u64) -> u64 {
        self.ledger.take(bytes);
        let mut space = locked(&self.space);
        loop {
            if let Some(first) = space.take(bytes) {
                return first;
            }
            let missing = space.missing(bytes);
            space.grow(missing);
        }
    }

    /// Writes numbers to a free range.
    ///
    /// # Errors
    /// The folder does not exist, or the disk is full.
    pub(super) fn write(&self, values: &[f64]) -> io::Result<Written> {
        let first = self.reserve(8 * values.len() as u64);
        let mut hasher = blake3::Hasher::new();
        let done = self.with_file(|file| {
            file.seek(SeekFrom::Start(first))?;
            let mut buffer = Vec::with_capacity(8 * CHUNK.min(values.len()));
            for chunk in values.chunks(CHUNK) {
                buffer.clear();
                chunk.iter().for_each(|x| buffer.extend_from_slice(&x.to_le_bytes()));
                hasher.update(&buffer);
                file.write_all(&buffer)?;
            }
            Ok(())
        });
        let written = Written { first, len: values.len(), sum: hasher.finalize() };
        match done {
            Ok(()) => Ok(written),
            Err(error) => {
                self.forget(written);
                Err(error)
            }
        }
    }

    /// Reads a buffer back.
    ///
    /// # Errors
    /// The file is truncated or changed.
    pub(super) fn read(&self, written: Written, values: &mut [f64]) -> io::Result<()> {
        let mut hasher = blake3::Hasher::new();
        self.with_file(|file| {
            file.seek(SeekFrom::Start(written.first))?;
            let mut buffer = vec![0; 8 * CHUNK.min(written.len)];
            for chunk in values[..written.len].chunks_mut(CHUNK) {
                let bytes = &mut buffer[..8 * chunk.len()];
                file.read_exact(bytes)?;
                hasher.update(bytes);
                let numbers = bytes.as_chunks::<8>().0.iter().map(|number| f64::from_le_bytes(*number));
                chunk.iter_mut().zip(numbers).for_each(|(to, from)| *to = from);
            }
            Ok(())
        })?;
        if hasher.finalize() == written.sum {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "what was read back is not what was written"))
    }

    /// Frees the range of a buffer.
    pub(super) fn forget(&self, written: Written) {
        let bytes = 8 * written.len as u64;
        self.ledger.give_back(bytes);
        let mut space = locked(&self.space);
        space.give_back(written.first, bytes);
        space.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::vector;
    use std::fs::OpenOptions;

    #[test]
    fn pieces_come_back_to_the_last_bit_and_their_space_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::new(folder.path().into());
        let lengths = [0, 1, 1000, 3 * CHUNK + 5, 77];
        let pieces: Vec<Vec<f64>> = lengths.iter().zip(1..).map(|(len, seed)| vector(*len, seed)).collect();
        let written: Vec<Written> = pieces.iter().map(|piece| scratch.write(piece).unwrap()).collect();
        let bytes: usize = lengths.iter().map(|len| 8 * len).sum();
        assert_eq!(scratch.ledger.used(), bytes as u64);
        // The folder is empty: an unnamed file does not outlive the process.
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let again = |piece: &Vec<f64>, place| {
            let mut found = vec![f64::NAN; piece.len()];
            scratch.read(place, &mut found).unwrap();
            assert!(found.iter().zip(piece).all(|(a, b)| a.to_bits() == b.to_bits()));
        };
        scratch.forget(written[2]);
        let shorter = vector(600, 9);
        let place = scratch.write(&shorter).unwrap();
        assert_eq!(place.first, written[2].first);
        again(&shorter, place);
        [0, 1, 3, 4].into_iter().for_each(|k| again(&pieces[k], written[k]));
        [written[0], written[1], place, written[3], written[4]].into_iter().for_each(|place| scratch.forget(place));
        let space = scratch.space.lock().unwrap();
        assert_eq!((scratch.ledger.used(), space.end(), space.taken()), (0, 0, 0), "all of it is free again");
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("named");
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let scratch = Scratch::from_file(open(), folder.path().into());
        let (values, mut found) = (vector(500, 3), vec![0.0; 500]);
        let written = scratch.write(&values).unwrap();
        open().write_all(&[1, 2, 3]).unwrap();
        assert_eq!(scratch.read(written, &mut found).unwrap_err().kind(), io::ErrorKind::InvalidData);
        open().set_len(100).unwrap();
        assert_eq!(scratch.read(written, &mut found).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_disk_that_is_full_and_a_folder_that_is_not_there() {
        let full = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
        let scratch = Scratch::from_file(full, "/somewhere".into());
        let error = scratch.write(&[1.0; 10]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        let said = scratch.fault("written", error).to_string();
        assert!(said.contains("/somewhere") && said.contains("could not be written"), "{said}");
        assert_eq!(scratch.ledger.used(), 0);
        assert!(Scratch::new("/no/such/folder".into()).write(&[1.0]).is_err());
    }
}
