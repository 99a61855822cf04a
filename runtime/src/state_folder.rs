//! A folder of saved states: each state is a folder, written beside, flushed and renamed; the two newest are kept.
//!
//! In: a function that writes the files of a state. Out: `PREFIX00000007`, complete or absent, whatever kills the
//! process. A disk that is full, read-only or gone costs the saved state and never the run: standard error says so, once
//! until it changes. Signals that wait for a state to be saved ([`crate::interrupt`]) are handled here too.

use crate::input_file::{FileKind, read_text};
use crate::interrupt::{self, Interrupted, Saving};
use crate::sealed::{seal_compactly, unseal};
use crate::{say, say_once};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How many states stay on disk.
const KEPT: usize = 2;
/// Prefix of a state being written.
const UNFINISHED: &str = "saving-";
/// The record of a state.
const HEADER: &str = "header.ron";

/// The folder of one run's states.
#[derive(Debug)]
pub struct StateFolder {
    folder: PathBuf,
    prefix: &'static str,
    sequence: u64,
    /// The last reported fault of the disk.
    fault: Option<String>,
    saving: Option<Saving>,
}

/// Why a state was not written.
#[derive(Debug)]
pub enum NotWritten<E> {
    /// A disk error: the run continues.
    Disk(PathBuf, io::Error),
    /// The data to be saved could not be obtained: an error of the run.
    Run(E),
}

impl<E> NotWritten<E> {
    /// For `map_err` at a file.
    pub fn disk_error(path: &Path) -> impl Fn(io::Error) -> NotWritten<E> + '_ {
        move |error| NotWritten::Disk(path.into(), error)
    }
}

/// The result of reading a header.
#[derive(Debug)]
pub enum Header<H> {
    /// Intact.
    Whole(H),
    /// From another version of eigenforge, with the number of its schema.
    OtherSchema(u32),
    /// Torn or altered.
    Damaged,
}

impl StateFolder {
    /// Creates the folder if needed; `None`, with a line on standard error, if the disk cannot be written.
    ///
    /// # Errors
    /// An invalid path, or a folder that cannot be read.
    pub fn open(folder: &Path, prefix: &'static str) -> io::Result<Option<StateFolder>> {
        use ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match fs::create_dir_all(folder) {
            Ok(()) => {}
            Err(error)
                if matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | PermissionDenied) =>
            {
                say!("warning: checkpoint {} cannot be made ({error}): the run is not saved", folder.display());
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let mut states = StateFolder { folder: folder.into(), prefix, sequence: 0, fault: None, saving: None };
        states.sequence = states.list()?.last().map_or(0, |(number, _)| *number);
        Ok(Some(states))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// From now on a signal waits for the next save, until [`StateFolder::let_signals_end`].
    pub fn hold_signals(&mut self) {
        self.saving = Some(Saving::to(&self.folder));
    }

    /// From now on a signal ends the process at once.
    ///
    /// # Errors
    /// A signal came since the last state was saved.
    pub fn let_signals_end(&mut self) -> Result<(), Interrupted> {
        self.saving = None;
        self.answer()
    }

    /// The states, oldest first. Half-written remains of a killed run are removed.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut states = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with(UNFINISHED) {
                let _ = fs::remove_dir_all(&path);
            } else if let Some(number) = name.strip_prefix(self.prefix).and_then(|number| number.parse().ok()) {
                states.push((number, path));
            }
        }
        states.sort();
        Ok(states)
    }

    /// Writes a state: `write` puts its files into a new folder and returns the header. Returns whether it was written.
    ///
    /// # Errors
    /// Errors of `write`; a signal that waited for this save, [`Interrupted`], after the save.
    pub fn save<H: Serialize, E: From<Interrupted>>(
        &mut self,
        write: impl FnOnce(&Path) -> Result<H, NotWritten<E>>,
    ) -> Result<bool, E> {
        let written = match self.try_save(write) {
            Ok(()) => {
                if self.fault.take().is_some() {
                    say!("checkpoint {}: states are saved again", self.folder.display());
                }
                true
            }
            Err(NotWritten::Run(error)) => return Err(error),
            Err(NotWritten::Disk(path, error)) => {
                self.warn(&path, &error);
                // If a name is taken, the next one is tried.
                let newest = self.list().ok().and_then(|states| Some(states.last()?.0));
                self.sequence = self.sequence.max(newest.unwrap_or(0));
                false
            }
        };
        self.answer()?;
        Ok(written)
    }

    fn try_save<H: Serialize, E>(
        &mut self,
        write: impl FnOnce(&Path) -> Result<H, NotWritten<E>>,
    ) -> Result<(), NotWritten<E>> {
        let folder = &self.folder;
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(folder);
        let unfinished = unfinished.map_err(NotWritten::disk_error(folder))?;
        let header = write(unfinished.path())?;
        let path = unfinished.path().join(HEADER);
        let sealed = seal_compactly(&header).map_err(NotWritten::disk_error(&path))?;
        let file = File::create(&path).and_then(|mut file| {
            file.write_all(sealed.as_bytes())?;
            file.sync_all()
        });
        file.map_err(NotWritten::disk_error(&path))?;
        let next = self.sequence + 1;
        let done = folder.join(format!("{}{next:08}", self.prefix));
        fs::rename(unfinished.path(), &done).map_err(NotWritten::disk_error(&done))?;
        let _ = unfinished.keep(); // it has another name now
        self.sequence = next;
        // Some file systems cannot flush a folder; the state itself is on disk.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
        let states = self.list().map_err(NotWritten::disk_error(&self.folder))?;
        for (_, old) in &states[..states.len().saturating_sub(KEPT)] {
            let _ = fs::remove_dir_all(old);
        }
        Ok(())
    }

    fn warn(&mut self, path: &Path, error: &io::Error) {
        // The name of an unfinished state differs each time.
        let fault = error.to_string();
        if self.fault.as_ref() != Some(&fault) {
            say!(
                "warning: the state could not be saved ({}: {fault}); the run goes on, and tries again at the next save",
                path.display()
            );
            self.fault = Some(fault);
        }
    }

    /// Ends the run if a signal waits for it.
    fn answer(&self) -> Result<(), Interrupted> {
        let Some(signal) = interrupt::pending() else { return Ok(()) };
        let folder = self.folder.display();
        let state = match (&self.fault, self.sequence) {
            (None, 1..) => format!("the state is saved in {folder}, and --resume goes on from it"),
            (Some(_), 1..) => format!("the state could not be saved, one saved before is in {folder}"),
            (_, 0) => format!("no state could be saved in {folder}"),
        };
        Err(interrupt::obey(signal, state))
    }
}

/// Reports once that a state is skipped.
pub fn pass_over(state: &Path, file: &str) {
    let state = state.display();
    say_once(format_args!(
        "warning: checkpoint {state}: {file} is torn or altered; the state before it is used, if there is one"
    ));
}

/// Reads a sealed header whose first field is `schema`; schemas below `first_sealed` had no seal.
pub fn read_header<H: DeserializeOwned>(state: &Path, schema: u32, first_sealed: u32) -> Header<H> {
    /// The fields common to the headers of all schemas; its type has the name of the full header's.
    #[derive(serde::Deserialize)]
    #[serde(rename = "Header")]
    struct Version {
        schema: u32,
    }
    let Ok(sealed) = read_text(&state.join(HEADER), FileKind::HEADER) else { return Header::Damaged };
    let version = |text: &str| ron::from_str::<Version>(text).ok().map(|version| version.schema);
    let Some(text) = unseal(&sealed) else {
        return match version(&sealed) {
            Some(old) if old < first_sealed && !sealed.contains("// blake3") => Header::OtherSchema(old),
            _ => Header::Damaged,
        };
    };
    match version(text) {
        Some(found) if found != schema => Header::OtherSchema(found),
        _ => ron::from_str(text).map_or(Header::Damaged, Header::Whole),
    }
}
