//! The kernel cache: one folder per entry, published by renaming, with every byte checked when read.
//!
//! In: text, options, architecture and compiler. Out: the cubin (or the failure) made from exactly these, if cached.
//!
//! key = blake3(schema, options, architecture, NVRTC version, NVRTC build, text), each preceded by its length.
//!
//! An entry is `<key16>-<name>-sm_90/` with `kernel.cu`, `plan.ron`, `options.txt`, `log.txt`, `kernel.cubin`,
//! `resources.ron` and `entry.ron`, which contains the length and the hash of each of the others and a hash of itself. A
//! failed build is an entry without cubin. There are no locks: an entry is written into a sibling folder that is then
//! renamed; if two processes build the same kernel, one wins and both are right. A truncated, torn, foreign or altered
//! entry is a miss, and the next build replaces it. Nothing here is an error for the caller: without a cache kernels
//! still compile. The hashes detect damage, not malice: a folder that others may write to is not used
//! ([`crate::private`]).

use super::arch::Arch;
use super::diagnostics::SOURCE_FILE;
use super::settings::{CacheFolder, Settings};
use crate::private::{self, Trust};
use crate::sealed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Version of the layout of an entry and of the key. It is part of the key, so older entries are never found.
pub(crate) const SCHEMA: u32 = 1;
/// The record of an entry.
pub(crate) const RECORD_FILE: &str = "entry.ron";
/// The binary of an entry.
pub(crate) const CUBIN_FILE: &str = "kernel.cubin";
/// The options of an entry, one per line.
pub(crate) const OPTIONS_FILE: &str = "options.txt";
/// The log of an entry.
const LOG_FILE: &str = "log.txt";
/// An empty file whose modification time says when the entry was last used.
pub(crate) const USED_FILE: &str = "used";
/// Size limit of a record in bytes.
const RECORD_LIMIT: u64 = 1 << 20;
/// Size limit of any file of an entry in bytes, whatever its record says.
const FILE_LIMIT: u64 = 1 << 30;
/// Prefix of folders being written or deleted.
pub(crate) const TEMPORARY: &str = ".tmp-";

/// The kernel cache on disk, if any, and the read-only ones behind it.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The writable folder.
    pub(crate) root: Option<PathBuf>,
    /// The read-only folders, in this order.
    pub(crate) readonly: Vec<PathBuf>,
    /// Whose entries are trusted in the writable folder.
    pub(crate) trust: Trust,
    /// Size limit in bytes.
    pub(crate) limit: u64,
    /// Why there is no cache, if the user did not turn it off.
    pub(crate) absent: Option<String>,
    /// Why the configured folder is not used; already reported on standard error.
    pub(crate) distrusted: Option<String>,
    /// Bytes on disk when last counted plus what was written since; `u64::MAX`: not counted yet.
    pub(crate) bytes: Arc<AtomicU64>,
}

/// What determines a cubin, and therefore its key.
#[derive(Clone, Copy)]
pub(crate) struct Ingredients<'a> {
    pub text: &'a str,
    pub options: &'a [String],
    pub arch: Arch,
    pub nvrtc: (u32, u32),
    pub build: &'a str,
}

impl Ingredients<'_> {
    /// The key, 64 hexadecimal digits.
    pub(crate) fn key(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(&SCHEMA.to_le_bytes());
        field(&(self.options.len() as u64).to_le_bytes());
        for option in self.options {
            field(option.as_bytes());
        }
        field(&self.arch.0.to_le_bytes());
        field(&self.nvrtc.0.to_le_bytes());
        field(&self.nvrtc.1.to_le_bytes());
        field(self.build.as_bytes());
        field(self.text.as_bytes());
        hasher.finalize().to_hex().to_string()
    }
}

/// An entry's record, `entry.ron`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub schema: u32,
    pub key: String,
    pub name: String,
    pub arch: Arch,
    pub nvrtc: (u32, u32),
    pub build: String,
    /// The text did not compile, and there is no cubin.
    pub failed: bool,
    pub files: Vec<FileRecord>,
}

/// One file of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub name: String,
    pub bytes: u64,
    pub blake3: String,
}

/// The result of a build, to be cached.
pub(crate) struct Build<'a> {
    pub name: &'a str,
    pub ingredients: Ingredients<'a>,
    pub plan: &'a str,
    pub log: &'a str,
    pub resources: &'a str,
    /// `None`: the build failed.
    pub cubin: Option<&'a [u8]>,
}

/// An entry read and checked.
pub(crate) struct Stored {
    pub folder: PathBuf,
    pub log: String,
    /// `None`: the build failed.
    pub cubin: Option<Vec<u8>>,
}

impl Cache {
    /// The cache that the settings name, without folders that others may write to. Writes nothing.
    pub fn open(settings: &Settings) -> Cache {
        let (root, absent) = match &settings.cache {
            CacheFolder::At(folder) => (Some(folder.clone()), None),
            CacheFolder::Off => (None, None),
            CacheFolder::Homeless => {
                let reason = "no home folder is known, so there is no kernel cache; name a folder in EIGENFORGE_CACHE";
                (None, Some(reason.to_string()))
            }
        };
        let trust = Trust::current_user();
        let root = root.filter(|root| trust.allows(root));
        let distrusted = match &settings.cache {
            CacheFolder::At(folder) if root.is_none() => trust.fault(folder),
            _ => None,
        };
        let tiers = if settings.cache == CacheFolder::Off { &[][..] } else { &settings.cache_readonly[..] };
        let readonly = tiers.iter().filter(|tier| Trust::of_tier(tier).allows(tier)).cloned().collect();
        let bytes = Arc::new(AtomicU64::new(u64::MAX));
        Cache { root, readonly, trust, limit: settings.cache_limit, absent, distrusted, bytes }
    }

    /// The writable folder; `None` when the cache is off.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Why there is no writable folder, if the user did not turn it off.
    pub fn fault(&self) -> Option<&str> {
        self.absent.as_deref().or(self.distrusted.as_deref())
    }

    /// The size limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The entry for these ingredients, from the writable cache, otherwise from the first read-only one with an intact
    /// entry.
    pub(crate) fn find(&self, name: &str, ingredients: &Ingredients) -> Option<Stored> {
        let key = ingredients.key();
        let folder_name = folder_name(&key, name, ingredients.arch);
        let tiers = self.readonly.iter().map(|tier| (tier, Trust::of_tier(tier)));
        for (root, trust) in self.root.iter().map(|root| (root, self.trust.clone())).chain(tiers) {
            let folder = root.join(&folder_name);
            match read(&folder, &trust, &key, ingredients.text) {
                Ok(stored) => {
                    if Some(root) == self.root.as_ref() {
                        private::touch(&folder.join(USED_FILE));
                    }
                    return Some(stored);
                }
                Err(fault) if folder.exists() => {
                    tracing::debug!("cache entry {} is unusable and will be replaced: {fault}", folder.display());
                }
                Err(_) => {}
            }
        }
        None
    }

    /// Caches a build. Returns the entry's folder, `None` when the cache is off, and an error if it cannot be written.
    pub(crate) fn publish(&self, build: &Build) -> io::Result<Option<PathBuf>> {
        let Some(root) = &self.root else { return Ok(None) };
        private::make_folder(root)?;
        let key = build.ingredients.key();
        let target = root.join(folder_name(&key, build.name, build.ingredients.arch));
        let temporary = temporary(root);
        let written = write(&temporary, &key, build).and_then(|()| self.put(&temporary, &target, &key, build));
        if written.is_err() {
            fs::remove_dir_all(&temporary).ok();
        }
        written?;
        self.evict(&target);
        Ok(Some(target))
    }

    /// Renames the written folder into place. An existing intact entry with the same content stays.
    fn put(&self, temporary: &Path, target: &Path, key: &str, build: &Build) -> io::Result<()> {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotADirectory};
        const TRIES: usize = 16;
        let mut last = None;
        for _ in 0..TRIES {
            match fs::rename(temporary, target) {
                Ok(()) => return Ok(()),
                Err(e) => last = Some(e),
            }
            // A dangling link is in the way too; the obstacle may meanwhile have been evicted and recreated.
            if fs::symlink_metadata(target).is_err() {
                match last.as_ref().map(io::Error::kind) {
                    Some(DirectoryNotEmpty | AlreadyExists | NotADirectory) => continue,
                    _ => break,
                }
            }
            match read(target, &self.trust, key, build.ingredients.text) {
                Ok(stored) if stored.cubin.is_some() == build.cubin.is_some() => {
                    fs::remove_dir_all(temporary).ok();
                    return Ok(());
                }
                _ => remove(target)?,
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("other programs keep replacing the entry")))
    }
}

/// Keeps the source of a failed build outside the cache, in a new private folder in the system's temporary one; once per
/// process for each failure.
pub(crate) fn keep_failed(build: &Build) -> io::Result<PathBuf> {
    static KEPT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let key = build.ingredients.key();
    let mut kept = KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(folder) = kept.get(&key).filter(|folder| folder.is_dir()) {
        return Ok(folder.clone());
    }
    let private = tempfile::Builder::new().prefix("eigenforge-failed-").tempdir()?;
    let folder = private.path().join(folder_name(&key, build.name, build.ingredients.arch));
    write(&folder, &key, build)?;
    let _ = private.keep();
    kept.insert(key, folder.clone());
    Ok(folder)
}

/// `<key16>-<name>-sm_90`, with only safe characters in the name.
pub(crate) fn folder_name(key: &str, name: &str, arch: Arch) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.+".contains(c) { c } else { '_' }).take(80).collect();
    format!("{}-{plain}-{arch}", key.get(..16).unwrap_or(key))
}

/// A path for a folder that no other process writes.
pub(crate) fn temporary(root: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    root.join(format!("{TEMPORARY}{}-{nanos:x}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// Removes an entry atomically, so that nobody reads half of it, and then deletes it.
pub(crate) fn remove(folder: &Path) -> io::Result<()> {
    let aside = temporary(folder.parent().unwrap_or(Path::new(".")));
    match fs::rename(folder, &aside) {
        Ok(()) if aside.is_dir() => fs::remove_dir_all(&aside),
        Ok(()) => fs::remove_file(&aside),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Writes all files of an entry into a new folder.
pub(crate) fn write(folder: &Path, key: &str, build: &Build) -> io::Result<()> {
    private::make_folder(folder)?;
    let mut options = build.ingredients.options.join("\n");
    options.push('\n');
    let mut files: Vec<(&str, &[u8])> = vec![
        (SOURCE_FILE, build.ingredients.text.as_bytes()),
        ("plan.ron", build.plan.as_bytes()),
        (OPTIONS_FILE, options.as_bytes()),
        (LOG_FILE, build.log.as_bytes()),
        ("resources.ron", build.resources.as_bytes()),
    ];
    files.extend(build.cubin.map(|cubin| (CUBIN_FILE, cubin)));
    let mut records = Vec::new();
    for (name, bytes) in files {
        private::write_new(&folder.join(name), bytes)?;
        let blake3 = blake3::hash(bytes).to_hex().to_string();
        records.push(FileRecord { name: name.into(), bytes: bytes.len() as u64, blake3 });
    }
    let record = Record {
        schema: SCHEMA,
        key: key.into(),
        name: build.name.into(),
        arch: build.ingredients.arch,
        nvrtc: build.ingredients.nvrtc,
        build: build.ingredients.build.into(),
        failed: build.cubin.is_none(),
        files: records,
    };
    private::write_new(&folder.join(USED_FILE), b"")?;
    private::write_new(&folder.join(RECORD_FILE), sealed::seal(&record)?.as_bytes())
}

/// Reads a record and checks its hash and schema; the text of the error says what is wrong.
pub(crate) fn read_record(folder: &Path, trust: &Trust) -> Result<Record, Unreadable> {
    if !trust.holds_folder(folder) {
        return Err("it is no folder, or others own it or may write to it".to_string().into());
    }
    let record = trust.read_text(&folder.join(RECORD_FILE), RECORD_LIMIT).map_err(|e| format!("{RECORD_FILE}: {e}"))?;
    let text = sealed::unseal(&record).ok_or_else(|| format!("{RECORD_FILE} is torn or altered"))?;
    let Schema { schema } = ron::from_str(text).map_err(|e| format!("{RECORD_FILE}: {e}"))?;
    if schema != SCHEMA {
        return Err(Unreadable::OtherSchema(schema));
    }
    Ok(ron::from_str(text).map_err(|e| format!("{RECORD_FILE}: {e}"))?)
}

/// The part common to the records of all schemas.
#[derive(Deserialize)]
struct Schema {
    schema: u32,
}

/// Why a record cannot be used.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// An intact record of another version of eigenforge, which shares the folder.
    OtherSchema(u32),
    /// Anything else, in words.
    Damaged(String),
}

impl From<String> for Unreadable {
    fn from(reason: String) -> Unreadable {
        Unreadable::Damaged(reason)
    }
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::OtherSchema(schema) => {
                write!(f, "it has schema {schema}, and this eigenforge reads {SCHEMA}")
            }
            Unreadable::Damaged(reason) => f.write_str(reason),
        }
    }
}

/// Reads a file of an entry and checks its length and hash.
pub(crate) fn read_file(folder: &Path, trust: &Trust, record: &FileRecord) -> Result<Vec<u8>, String> {
    let limit = record.bytes.min(FILE_LIMIT);
    let bytes = trust.read(&folder.join(&record.name), limit).map_err(|e| format!("{}: {e}", record.name))?;
    if bytes.len() as u64 != record.bytes {
        return Err(format!("{} has {} bytes, its record says {}", record.name, bytes.len(), record.bytes));
    }
    if blake3::hash(&bytes).to_hex().as_str() != record.blake3 {
        return Err(format!("{} differs from its record", record.name));
    }
    Ok(bytes)
}

/// Reads and checks a whole entry. It must have exactly this key and this text.
fn read(folder: &Path, trust: &Trust, key: &str, text: &str) -> Result<Stored, String> {
    let record = read_record(folder, trust).map_err(|fault| fault.to_string())?;
    if record.key != key {
        return Err("it is the entry of another key".into());
    }
    let (mut source, mut log, mut cubin) = (None, None, None);
    for file in &record.files {
        let bytes = read_file(folder, trust, file)?;
        match file.name.as_str() {
            SOURCE_FILE => source = Some(bytes),
            LOG_FILE => log = Some(String::from_utf8(bytes).map_err(|_| format!("{LOG_FILE} is no text"))?),
            CUBIN_FILE => cubin = Some(bytes),
            _ => {}
        }
    }
    if source.as_deref() != Some(text.as_bytes()) {
        return Err("its text is another one".into());
    }
    if cubin.is_none() != record.failed {
        return Err(format!("it should{} have {CUBIN_FILE}", if record.failed { " not" } else { "" }));
    }
    Ok(Stored { folder: folder.to_path_buf(), log: log.ok_or("it has no log")?, cubin })
}
