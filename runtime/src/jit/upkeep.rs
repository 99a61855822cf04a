//! Cache maintenance: list, verify, clear, and eviction of the least recently used entries.
//!
//! In: the cache's folder. Out: plain data for the command to print. Folders that other programs are writing or deleting
//! (`.tmp-…`) are left alone for an hour, then treated as remains of a killed program and removed.

use super::arch::Arch;
use super::cache::{
    self, CUBIN_FILE, Cache, Ingredients, OPTIONS_FILE, RECORD_FILE, Record, TEMPORARY, USED_FILE, Unreadable,
};
use super::diagnostics::SOURCE_FILE;
use crate::private::{self, Trust};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

/// Age at which a temporary folder counts as abandoned.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// One cached kernel.
#[derive(Clone, Debug, Serialize)]
pub struct CacheEntry {
    /// The key, 64 hexadecimal digits.
    pub key: String,
    /// The kernel's name.
    pub name: String,
    /// Its target architecture.
    pub arch: Arch,
    /// Bytes on disk.
    pub bytes: u64,
    /// Time since it was made.
    pub age: Duration,
    /// Time since it was last used.
    pub unused: Duration,
    /// Version of the compiler, `13.0`.
    pub nvrtc: String,
    /// The text did not compile.
    pub failed: bool,
    /// Its folder.
    pub folder: PathBuf,
}

/// What `verify` found about one folder of the cache.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The folder.
    pub folder: PathBuf,
    /// What is wrong with it; `None` if it is intact. A faulty entry does no harm: it is never used, and is replaced when
    /// its kernel is next compiled.
    pub fault: Option<String>,
}

impl Cache {
    /// All readable entries of the writable cache, the most recently used first.
    pub fn list(&self) -> io::Result<Vec<CacheEntry>> {
        let mut entries: Vec<CacheEntry> = self
            .folders()?
            .into_iter()
            .filter(|folder| !is_temporary(folder))
            .filter_map(|folder| Some(entry(&folder, cache::read_record(&folder, &self.trust).ok()?)))
            .collect();
        entries.sort_by(|a, b| a.unused.cmp(&b.unused).then_with(|| a.folder.cmp(&b.folder)));
        Ok(entries)
    }

    /// Reads every entry of the writable cache and checks every byte: lengths, hashes, and that the key matches text,
    /// options, architecture and compiler.
    pub fn verify(&self) -> io::Result<Vec<Verdict>> {
        let check = |folder: PathBuf| match is_temporary(&folder) {
            true if unused(&folder) < LEFT_BEHIND => None,
            true => Some(Verdict { folder, fault: Some("left behind by a program that was killed".into()) }),
            false => Some(Verdict { fault: verify(&folder, &self.trust).err(), folder }),
        };
        let mut verdicts: Vec<Verdict> = self.folders()?.into_iter().filter_map(check).collect();
        verdicts.sort_by(|a, b| a.folder.cmp(&b.folder));
        Ok(verdicts)
    }

    /// Empties the writable cache. Returns the number of entries and the bytes freed.
    pub fn clear(&self) -> io::Result<(usize, u64)> {
        let (mut entries, mut bytes) = (0, 0);
        for folder in self.folders()? {
            let size = size(&folder);
            cache::remove(&folder)?;
            entries += usize::from(!is_temporary(&folder));
            bytes += size;
        }
        Ok((entries, bytes))
    }

    /// Bytes on disk, and the number of entries.
    pub fn size(&self) -> io::Result<(u64, usize)> {
        let folders = self.folders()?;
        let entries = folders.iter().filter(|folder| !is_temporary(folder)).count();
        Ok((folders.iter().map(|folder| size(folder)).sum(), entries))
    }

    /// Checks that an entry could be written, by making and removing a folder.
    pub fn check_writable(&self) -> io::Result<()> {
        let Some(root) = &self.root else { return Ok(()) };
        private::make_folder(root)?;
        let trial = root.join(format!("{TEMPORARY}{}-trial", std::process::id()));
        fs::create_dir(&trial)?;
        let written = fs::write(trial.join("trial"), b"trial");
        fs::remove_dir_all(&trial).ok();
        written
    }

    /// Removes the least recently used entries until the cache is within its limit; `kept`, just written, always stays.
    /// Folders are counted at a program's first build, and again when the limit seems reached.
    pub(crate) fn evict(&self, kept: &Path) {
        let estimate = self.bytes.load(Ordering::Relaxed).saturating_add(size(kept));
        if estimate <= self.limit {
            self.bytes.store(estimate, Ordering::Relaxed);
            return;
        }
        let Ok(folders) = self.folders() else { return };
        let (left, folders): (Vec<_>, Vec<_>) = folders.into_iter().partition(|folder| is_temporary(folder));
        for folder in left.iter().filter(|folder| unused(folder) >= LEFT_BEHIND) {
            fs::remove_dir_all(folder).ok();
        }
        let mut sized: Vec<(Duration, u64, PathBuf)> =
            folders.into_iter().map(|folder| (unused(&folder), size(&folder), folder)).collect();
        let mut total: u64 = sized.iter().map(|(_, bytes, _)| bytes).sum();
        sized.sort();
        while total > self.limit {
            let Some((_, bytes, folder)) = sized.pop() else { break };
            if folder != kept && cache::remove(&folder).is_ok() {
                tracing::debug!("cache entry {} evicted", folder.display());
                total -= bytes;
            }
        }
        self.bytes.store(total, Ordering::Relaxed);
    }

    /// Our folders in the cache's folder: entries and temporary ones.
    fn folders(&self) -> io::Result<Vec<PathBuf>> {
        let Some(root) = &self.root else { return Ok(Vec::new()) };
        let listing = match fs::read_dir(root) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let paths = listing.filter_map(|item| Some(item.ok()?.path()));
        Ok(paths.filter(|path| path.is_dir() && (is_temporary(path) || is_entry(path))).collect())
    }
}

fn file_name(folder: &Path) -> &str {
    folder.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn is_temporary(folder: &Path) -> bool {
    file_name(folder).starts_with(TEMPORARY)
}

/// Whether the name is `<16 hexadecimal digits>-…`: other folders, which the user may have put there, are not touched.
fn is_entry(folder: &Path) -> bool {
    let digits = file_name(folder).split('-').next().unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()) && file_name(folder).contains("-sm_")
}

fn entry(folder: &Path, record: Record) -> CacheEntry {
    CacheEntry {
        key: record.key,
        name: record.name,
        arch: record.arch,
        bytes: size(folder),
        age: time_since(&folder.join(RECORD_FILE)).unwrap_or_default(),
        unused: unused(folder),
        nvrtc: format!("{}.{}", record.nvrtc.0, record.nvrtc.1),
        failed: record.failed,
        folder: folder.to_path_buf(),
    }
}

fn verify(folder: &Path, trust: &Trust) -> Result<(), String> {
    let record = match cache::read_record(folder, trust) {
        Ok(record) => record,
        // Of another version that shares the folder; only that version can check its files.
        Err(Unreadable::OtherSchema(_)) => return Ok(()),
        Err(Unreadable::Damaged(fault)) => return Err(fault),
    };
    let (mut text, mut options) = (String::new(), Vec::new());
    for file in &record.files {
        let bytes = cache::read_file(folder, trust, file)?;
        match file.name.as_str() {
            SOURCE_FILE => text = String::from_utf8(bytes).map_err(|_| format!("{SOURCE_FILE} is no text"))?,
            OPTIONS_FILE => options = String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect(),
            _ => {}
        }
    }
    if record.failed == record.files.iter().any(|file| file.name == CUBIN_FILE) {
        return Err(format!("its record and its files disagree on {CUBIN_FILE}"));
    }
    let Record { arch, nvrtc, build, .. } = &record;
    let key = Ingredients { text: &text, options: &options, arch: *arch, nvrtc: *nvrtc, build }.key();
    if key != record.key {
        return Err("its key is not that of its content".into());
    }
    if file_name(folder) != cache::folder_name(&record.key, &record.name, record.arch) {
        return Err("its folder has another entry's name".into());
    }
    Ok(())
}

fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten();
    files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len())).sum()
}

/// Time since an entry was used, or since a folder without that file was changed.
fn unused(folder: &Path) -> Duration {
    time_since(&folder.join(USED_FILE)).or_else(|| time_since(folder)).unwrap_or(Duration::MAX)
}

fn time_since(path: &Path) -> Option<Duration> {
    let modified = fs::metadata(path).and_then(|data| data.modified()).ok()?;
    Some(SystemTime::now().duration_since(modified).unwrap_or_default())
}
