//! Coupling coefficients cached on disk, under a name derived from what determines them.
//!
//! In: pairs of irreps with their range of L3. Out: their square tables, read if a file has them intact, otherwise
//! computed and cached.
//!
//! key = blake3(schema, [`SquareTable::VERSION`], every λ1 μ1 λ2 μ2 L3_max, in 4 little-endian bytes each)
//!
//! A file is `su3-tables/<name>-<key16>.table` in the folder of the kernel cache: `EIGENSU3`, u32 schema, key (32 bytes),
//! u64 numbers, blake3 of the key and of what follows (32 bytes), then for each table its defect and its values, 8-byte
//! little-endian. It is written beside and renamed; if two programs make the same one, one wins and both are right. A
//! short, torn or altered file is computed again and replaced. A folder that cannot be written is not an error; one that
//! others may write to is not used. W⁰ of quanta (N_f, N_i) serves every N_max.

use eigenforge_runtime::jit::{CacheFolder, Settings};
use eigenforge_runtime::private::{self, Trust};
use eigenforge_su3::{Coupler, Irrep, SquareTable};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"EIGENSU3";
const SCHEMA: u32 = 1;
const HEADER: usize = 8 + 4 + 32 + 8 + 32;
const ENDING: &str = "table";

/// Two irreps whose tables of L3 = 0, …, `l3_max` are requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Factors {
    /// (λ1 μ1), (λ2 μ2).
    pub irreps: [Irrep; 2],
    /// The largest L3.
    pub l3_max: u32,
}

/// The folder, and counts of its use.
#[derive(Debug, Default)]
pub struct TableCache {
    folder: Option<PathBuf>,
    limit: u64,
    read: AtomicUsize,
    made: AtomicUsize,
    damaged: AtomicUsize,
}

/// Counts of a cache's use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCounts {
    /// Files read.
    pub read: usize,
    /// Files computed, whether cached or not.
    pub made: usize,
    /// Computed files whose cached version was damaged.
    pub damaged: usize,
}

/// A file of the cache.
#[derive(Debug, Clone, Serialize)]
pub struct TableFile {
    /// Its name, `w0-8-6-…` or `wf-wi-8-…`.
    pub name: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// Time since it was last used.
    pub unused: Duration,
    /// Where it is.
    pub path: PathBuf,
}

impl TableCache {
    /// In the folder `su3-tables` of the kernel cache, up to its limit; off if others may write to it. Writes nothing.
    pub fn open(settings: &Settings) -> TableCache {
        let CacheFolder::At(root) = &settings.cache else { return TableCache::off() };
        let folder = root.join("su3-tables");
        let trust = Trust::current_user();
        if !(trust.allows(root) && trust.allows(&folder)) {
            return TableCache::off();
        }
        TableCache::new(folder, settings.cache_limit)
    }

    /// A cache in a folder, of up to `limit` bytes.
    pub fn new(folder: PathBuf, limit: u64) -> TableCache {
        TableCache { folder: Some(folder), limit, ..TableCache::default() }
    }

    /// A cache that stores nothing.
    pub fn off() -> TableCache {
        TableCache::default()
    }

    /// The counts so far.
    pub fn served(&self) -> CacheCounts {
        let [read, made, damaged] = [&self.read, &self.made, &self.damaged].map(|count| count.load(Ordering::Relaxed));
        CacheCounts { read, made, damaged }
    }

    /// The tables of `factors`, L3 ascending for each, from the file of this name and content or computed on all cores.
    pub fn tables(&self, name: &str, coupler: &Coupler, factors: &[Factors]) -> Vec<SquareTable> {
        let key = key(factors);
        let path = self.folder.as_ref().map(|folder| folder.join(file_name(name, &key)));
        if let Some(path) = path.as_ref().filter(|path| path.exists()) {
            match read(path, &key, factors).and_then(|payload| decode(&payload, factors)) {
                Ok(tables) => {
                    private::touch(path);
                    self.read.fetch_add(1, Ordering::Relaxed);
                    return tables;
                }
                Err(fault) => {
                    tracing::debug!("{} is unusable and will be replaced: {fault}", path.display());
                    self.damaged.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        let of = |of: &Factors| coupler.square_tables(of.irreps[0], of.irreps[1], 0..=of.l3_max);
        let tables: Vec<SquareTable> = factors.par_iter().flat_map_iter(of).collect();
        self.made.fetch_add(1, Ordering::Relaxed);
        if let Some(path) = path
            && let Err(fault) = publish(&path, &key, &encode(&tables))
        {
            tracing::debug!("{} cannot be kept: {fault}", path.display());
        }
        tables
    }

    /// All files, by name.
    ///
    /// # Errors
    ///
    /// The folder exists but cannot be read.
    pub fn list(&self) -> io::Result<Vec<TableFile>> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let listing = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            listing => listing?,
        };
        let paths = listing.filter_map(|item| Some(item.ok()?.path()));
        let ours = paths.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
        let mut files: Vec<TableFile> = ours.filter_map(table_file).collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    /// Reads every file and checks every byte; returns paths and faults.
    ///
    /// # Errors
    ///
    /// The folder exists but cannot be read.
    pub fn verify(&self) -> io::Result<Vec<(PathBuf, Option<String>)>> {
        let check = |file: TableFile| {
            let fault = stored_key(&file.path).and_then(|key| check(&file.path, &key)).err();
            (file.path, fault)
        };
        Ok(self.list()?.into_iter().map(check).collect())
    }

    /// Removes all files; returns their number and bytes.
    ///
    /// # Errors
    ///
    /// A file cannot be removed.
    pub fn clear(&self) -> io::Result<(usize, u64)> {
        let files = self.list()?;
        files.iter().try_for_each(|file| std::fs::remove_file(&file.path))?;
        Ok((files.len(), files.iter().map(|file| file.bytes).sum()))
    }

    /// Removes the least recently used files until the cache is within its limit. Called at the end of a run.
    pub(super) fn evict(&self) {
        let Ok(mut files) = self.list() else { return };
        files.sort_by_key(|file| file.unused);
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        while total > self.limit {
            let Some(file) = files.pop() else { return };
            if std::fs::remove_file(&file.path).is_ok() {
                tracing::debug!("{} evicted", file.path.display());
            }
            total -= file.bytes;
        }
    }
}

fn key(factors: &[Factors]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let mut number = |number: u32| {
        hasher.update(&number.to_le_bytes());
    };
    [SCHEMA, SquareTable::VERSION, factors.len() as u32].into_iter().for_each(&mut number);
    for Factors { irreps: [first, second], l3_max } in factors {
        [first.lambda, first.mu, second.lambda, second.mu, *l3_max].into_iter().for_each(&mut number);
    }
    hasher.finalize()
}

fn file_name(name: &str, key: &blake3::Hash) -> String {
    format!("{name}-{}.{ENDING}", &key.to_hex()[..16])
}

fn encode(tables: &[SquareTable]) -> Vec<u8> {
    let numbers = tables.iter().flat_map(|table| std::iter::once(&table.defect).chain(&table.values));
    numbers.flat_map(|number| number.to_le_bytes()).collect()
}

fn decode(payload: &[u8], factors: &[Factors]) -> Result<Vec<SquareTable>, String> {
    let mut numbers = payload.chunks_exact(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or([0; 8])));
    let mut tables = Vec::new();
    for Factors { irreps, l3_max } in factors {
        for l3 in 0..=*l3_max {
            let defect = numbers.next().ok_or("it ends early")?;
            let values: Vec<f64> = numbers.by_ref().take(SquareTable::places(*irreps, l3)).collect();
            tables.push(SquareTable::from_values(*irreps, l3, values, defect).ok_or("it ends early")?);
        }
    }
    if numbers.next().is_some() { Err("it is too long".into()) } else { Ok(tables) }
}

/// A hash of key and content together.
fn seal(key: &blake3::Hash, payload: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(key.as_bytes()).update(payload).finalize()
}

/// Header and content.
fn publish(path: &Path, key: &blake3::Hash, payload: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    private::make_folder(folder)?;
    let mut file = tempfile::Builder::new().prefix(".tmp-").tempfile_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(&SCHEMA.to_le_bytes())?;
    file.write_all(key.as_bytes())?;
    file.write_all(&(payload.len() as u64 / 8).to_le_bytes())?;
    file.write_all(seal(key, payload).as_bytes())?;
    file.write_all(payload)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The content of an intact file of this key. Its length is known before anything is read.
fn read(path: &Path, key: &blake3::Hash, factors: &[Factors]) -> Result<Vec<u8>, String> {
    let (mut file, header, bytes) = open(path, key)?;
    let of = |of: &Factors| (0..=of.l3_max).map(|l3| 1 + SquareTable::places(of.irreps, l3)).sum::<usize>();
    let numbers: usize = factors.iter().map(of).sum();
    if bytes != (HEADER + 8 * numbers) as u64 {
        return Err(format!("it has {bytes} bytes, its tables take {}", HEADER + 8 * numbers));
    }
    let mut payload = vec![0; 8 * numbers];
    file.read_exact(&mut payload).map_err(|error| error.to_string())?;
    if header[HEADER - 32..] == *seal(key, &payload).as_bytes() { Ok(payload) } else { Err(ALTERED.into()) }
}

/// Checks every byte of a file of this key, piece by piece.
fn check(path: &Path, key: &blake3::Hash) -> Result<(), String> {
    let (file, header, _) = open(path, key)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes()).update_reader(file).map_err(|error| error.to_string())?;
    if header[HEADER - 32..] == *hasher.finalize().as_bytes() { Ok(()) } else { Err(ALTERED.into()) }
}

const ALTERED: &str = "its key or content is altered";

/// Opens a file and skips its header, which must have this key and the file's length; returns its bytes.
fn open(path: &Path, key: &blake3::Hash) -> Result<(File, [u8; HEADER], u64), String> {
    let mut file = Trust::current_user().open(path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    let mut header = [0; HEADER];
    file.read_exact(&mut header).map_err(|_| "it ends in its header".to_string())?;
    let numbers = bytes.saturating_sub(HEADER as u64) / 8;
    let expected = [MAGIC.as_slice(), &SCHEMA.to_le_bytes(), key.as_bytes(), &numbers.to_le_bytes()];
    if header[..HEADER - 32] != expected.concat() {
        return Err("its header has another schema, key or length".into());
    }
    Ok((file, header, bytes))
}

/// The key in a header, which must match the name.
fn stored_key(path: &Path) -> Result<blake3::Hash, String> {
    let mut header = [0; 44];
    let mut file = Trust::current_user().open(path).map_err(|error| error.to_string())?;
    file.read_exact(&mut header).map_err(|_| "it ends in its header".to_string())?;
    let bytes: [u8; 32] = header[12..].try_into().map_err(|_| "it ends in its header".to_string())?;
    let key = blake3::Hash::from_bytes(bytes);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.ends_with(&key.to_hex()[..16]) { Ok(key) } else { Err("its key is not that of its name".into()) }
}

fn table_file(path: PathBuf) -> Option<TableFile> {
    let data = path.symlink_metadata().ok()?;
    let unused = SystemTime::now().duration_since(data.modified().ok()?).unwrap_or_default();
    Some(TableFile { name: path.file_stem()?.to_string_lossy().into_owned(), bytes: data.len(), unused, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors() -> Vec<Factors> {
        let of = |a, b| Factors { irreps: [Irrep::new(a, 1), Irrep::new(1, b)], l3_max: 2 };
        vec![of(2, 2), of(0, 3)]
    }

    /// A file returns exactly the same numbers; any change of a byte or of its length is detected and repaired.
    #[test]
    fn a_damaged_file_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let coupler = Coupler::new();
        let get = || {
            let cache = TableCache::new(folder.path().into(), u64::MAX);
            let tables = cache.tables("w0-1", &coupler, &factors());
            (cache.served(), tables.into_iter().flat_map(|table| table.values).collect::<Vec<f64>>())
        };
        let (served, made) = get();
        assert_eq!(served, CacheCounts { read: 0, made: 1, damaged: 0 });
        assert!(made.len() > 100);
        assert_eq!(get(), (CacheCounts { read: 1, made: 0, damaged: 0 }, made.clone()));
        let cache = TableCache::new(folder.path().into(), u64::MAX);
        let path = cache.list().unwrap().remove(0).path;
        let good = std::fs::read(&path).unwrap();
        let mut cases: Vec<Vec<u8>> = [0, 9, 20, 45, 60, HEADER, good.len() - 1]
            .map(|at| {
                let mut bytes = good.clone();
                bytes[at] ^= 4;
                bytes
            })
            .into();
        cases.extend([good[..good.len() - 8].to_vec(), good[..30].to_vec(), vec![], [&good[..], &[0; 8]].concat()]);
        for bytes in cases {
            std::fs::write(&path, &bytes).unwrap();
            assert!(cache.verify().unwrap()[0].1.is_some());
            assert_eq!(get(), (CacheCounts { read: 0, made: 1, damaged: 1 }, made.clone()));
            assert_eq!(std::fs::read(&path).unwrap(), good);
        }
        assert_eq!(cache.verify().unwrap()[0].1, None);
        assert_eq!(cache.clear().unwrap(), (1, good.len() as u64));
        assert!(cache.list().unwrap().is_empty());
    }

    #[test]
    fn another_request_has_another_key_and_the_limit_evicts() {
        let folder = tempfile::tempdir().unwrap();
        let coupler = Coupler::new();
        let cache = TableCache::new(folder.path().into(), 0);
        let mut other = factors();
        other[1].l3_max = 1;
        assert!(
            cache.tables("w0-1", &coupler, &factors()).len() == 6 && cache.tables("w0-1", &coupler, &other).len() == 5
        );
        assert_eq!(cache.list().unwrap().len(), 2);
        cache.evict();
        assert_eq!(cache.list().unwrap().len(), 0);
    }
}
