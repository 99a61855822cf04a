//! A run on disk after every half sweep, so that a killed one goes on to the same energy.
//!
//! A state is a folder `half-N`: `header.ron` (what it belongs to, the tables of the kept states) and `data.bin` (all
//! numbers, little-endian, with a blake3 sum in the header). It is written beside under another name, flushed, and
//! renamed, so a kill at any moment leaves the last good one; a torn one is passed over for the one before, and the two
//! newest stay. Blocks are not saved: they are made again from the kept states.
//!
//! States above the lowest have folders of their own, `state-1` and so on. Each of their headers names what was saved last of
//! the states below, whose newest is the finished one: of others it would be no state above them.

use super::chain::Chain;
use super::engine::Engine;
use super::error::DmrgError;
use super::found::SweepRecord;
use super::growth::GrowthRecord;
use super::restored::is_whole;
use super::state::Isometry;
use super::sweep::Sweeper;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

const SCHEMA: u32 = 3;
const KEPT: usize = 2;

/// Where to save, and whether to go on from what is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The folder.
    pub folder: PathBuf,
    /// Go on from its newest state.
    pub resume: bool,
}

impl Checkpoint {
    /// That of a state above the lowest, 0 for the lowest.
    pub(super) fn of_state(&self, target: usize) -> Checkpoint {
        match target {
            0 => self.clone(),
            _ => Checkpoint { folder: self.folder.join(format!("state-{target}")), resume: self.resume },
        }
    }
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Steps of the infinite-lattice algorithm before them.
    pub growth: Vec<GrowthRecord>,
    /// Sweeps done.
    pub sweeps: Vec<SweepRecord>,
    /// The sweep in progress, its first half done; `None` between two sweeps.
    pub half: Option<SweepRecord>,
}

/// What a run goes on from.
pub struct Saved {
    /// The states kept of each site.
    pub kept: Vec<Option<Isometry>>,
    /// ψ, one for each state that shares the kept states.
    pub waves: Vec<Vec<f64>>,
    /// The bond it is at.
    pub bond: usize,
    /// How far the run had come.
    pub progress: Progress,
}

/// The first two entries of every header.
#[derive(Deserialize)]
#[serde(rename = "Header")]
struct Version {
    schema: u32,
    version: String,
}

#[derive(Serialize, Deserialize)]
struct Header {
    schema: u32,
    version: String,
    /// blake3 of operator, sector and order.
    problem: String,
    /// What was saved last of the states below.
    below: Vec<Option<String>>,
    progress: Progress,
    kept: Vec<Option<Isometry>>,
    /// Elements of each ψ.
    waves: Vec<usize>,
    sum: String,
}

/// Saves the states of one run.
pub struct Saver {
    folder: PathBuf,
    problem: String,
    below: Vec<Option<String>>,
    sequence: u64,
    last: Option<String>,
}

fn fault(path: &Path) -> impl Fn(std::io::Error) -> DmrgError + '_ {
    move |source| DmrgError::Checkpoint { path: path.into(), source }
}

/// What makes a model the same model: its sites, charges, order, and the operator sum to the last bit.
fn identity(chain: &Chain) -> String {
    let mut hasher = blake3::Hasher::new();
    let operators: Vec<_> = (0..chain.sum.operators.len()).map(|id| chain.sum.operators.get(id)).collect();
    hasher.update(format!("{:?}{:?}{:?}", chain.site, chain.total, chain.order).as_bytes());
    hasher.update(format!("{:?}{:?}{operators:?}", chain.sum.sites, chain.sum.constant).as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// All numbers of a state, written piece by piece: never all of them in memory.
struct Numbers {
    path: PathBuf,
    file: File,
    hasher: blake3::Hasher,
}

impl Numbers {
    fn create(path: PathBuf) -> Result<Numbers, DmrgError> {
        let file = File::create(&path).map_err(fault(&path))?;
        Ok(Numbers { path, file, hasher: blake3::Hasher::new() })
    }

    fn write(&mut self, values: &[f64]) -> Result<(), DmrgError> {
        const CHUNK: usize = 1 << 16;
        let mut bytes = Vec::with_capacity(8 * CHUNK.min(values.len()));
        for chunk in values.chunks(CHUNK) {
            bytes.clear();
            chunk.iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
            self.hasher.update(&bytes);
            self.file.write_all(&bytes).map_err(fault(&self.path))?;
        }
        Ok(())
    }

    /// On the disk; their sum.
    fn finish(self) -> Result<String, DmrgError> {
        self.file.sync_all().map_err(fault(&self.path))?;
        Ok(self.hasher.finalize().to_hex().to_string())
    }
}

impl Saver {
    /// Opens the folder; gives the run to go on from, if that is asked for and there is one. States of another model or
    /// version are refused, so that they are neither used nor overwritten; those above other states than `below` are passed
    /// over.
    ///
    /// # Errors
    /// A folder that cannot be read; states of another model or version.
    pub fn open(
        options: &Checkpoint,
        chain: &Chain,
        below: &[Option<String>],
    ) -> Result<(Saver, Option<Saved>), DmrgError> {
        let folder = &options.folder;
        fs::create_dir_all(folder).map_err(fault(folder))?;
        let found = list(folder)?;
        let sequence = found.last().map_or(0, |(number, _)| *number);
        let (folder, problem, below) = (folder.clone(), identity(chain), below.to_vec());
        let mut saver = Saver { folder, problem, below, sequence, last: None };
        for (_, path) in found.iter().rev() {
            let text = fs::read_to_string(path.join("header.ron")).unwrap_or_default();
            // A header of another version may hold other things: its version is all that is read of it then.
            if let Ok(version) = ron::from_str::<Version>(&text) {
                saver.compare_version(&version)?;
            }
            let Ok(header) = ron::from_str::<Header>(&text) else { continue };
            saver.compare("model", &saver.problem, &header.problem)?;
            if !options.resume {
                return Ok((saver, None));
            }
            if header.below != saver.below {
                continue;
            }
            let sum = header.sum.clone();
            if let Some(state) = restore(path, header, chain) {
                saver.last = Some(sum);
                return Ok((saver, Some(state)));
            }
            tracing::warn!(state = %path.display(), "a checkpoint is torn; the one before it is used");
        }
        Ok((saver, None))
    }

    /// The sum of what was saved or restored last.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    fn compare(&self, what: &'static str, expected: &str, found: &str) -> Result<(), DmrgError> {
        if expected == found {
            return Ok(());
        }
        let (folder, expected, found) = (self.folder.clone(), expected.into(), found.into());
        Err(DmrgError::OtherCheckpoint { folder, what, expected, found })
    }

    fn compare_version(&self, found: &Version) -> Result<(), DmrgError> {
        let text = |schema: u32, version: &str| format!("{schema} of eigenforge {version}");
        let expected = text(SCHEMA, env!("CARGO_PKG_VERSION"));
        self.compare("version", &expected, &text(found.schema, &found.version))
    }

    /// Saves a state; ψ is at the first bond between sweeps, at the last after half of one.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn save<E: Engine>(&mut self, sweeper: &Sweeper<'_, E>, progress: &Progress) -> Result<(), DmrgError> {
        let writing = tempfile::Builder::new().prefix("saving-").tempdir_in(&self.folder);
        let writing = writing.map_err(fault(&self.folder))?;
        let (mut kept, mut numbers) = (Vec::new(), Numbers::create(writing.path().join("data.bin"))?);
        for isometry in sweeper.kept() {
            if let Some(isometry) = isometry {
                numbers.write(&sweeper.engine().download(&isometry.data)?)?;
            }
            kept.push(isometry.as_ref().map(Isometry::tables));
        }
        let mut waves = Vec::new();
        for wave in sweeper.waves() {
            let wave = sweeper.engine().download(wave)?;
            numbers.write(&wave)?;
            waves.push(wave.len());
        }
        let sum = numbers.finish()?;
        let header = Header {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            problem: self.problem.clone(),
            below: self.below.clone(),
            progress: progress.clone(),
            kept,
            waves,
            sum: sum.clone(),
        };
        let path = writing.path().join("header.ron");
        let text = ron::to_string(&header).map_err(|error| fault(&path)(std::io::Error::other(error)))?;
        let mut file = File::create(&path).map_err(fault(&path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(fault(&path))?;
        (self.sequence, self.last) = (self.sequence + 1, Some(sum));
        let done = self.folder.join(format!("half-{:06}", self.sequence));
        fs::rename(writing.keep(), &done).map_err(fault(&done))?;
        if let Ok(opened) = File::open(&self.folder) {
            let _ = opened.sync_all();
        }
        let states = list(&self.folder)?;
        for (_, old) in &states[..states.len().saturating_sub(KEPT)] {
            let _ = fs::remove_dir_all(old);
        }
        Ok(())
    }
}

/// The states of a folder, oldest first. What a killed run left half written is removed.
fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>, DmrgError> {
    let mut states = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault(folder))? {
        let path = entry.map_err(fault(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("saving-") {
            let _ = fs::remove_dir_all(&path);
        } else if let Some(number) = name.strip_prefix("half-").and_then(|n| n.parse().ok()) {
            states.push((number, path));
        }
    }
    states.sort();
    Ok(states)
}

/// The run of a state, if every byte of it is as it was written.
fn restore(path: &Path, header: Header, chain: &Chain) -> Option<Saved> {
    let bytes = fs::read(path.join("data.bin")).ok()?;
    if blake3::hash(&bytes).to_hex().as_str() != header.sum || header.kept.len() != chain.sites {
        return None;
    }
    let mut numbers = bytes.chunks_exact(8).map(|chunk| chunk.iter().rev().fold(0u64, |x, b| x << 8 | u64::from(*b)));
    let mut take = |count: usize| -> Option<Vec<f64>> {
        let taken: Vec<f64> = numbers.by_ref().take(count).map(f64::from_bits).collect();
        (taken.len() == count).then_some(taken)
    };
    let mut kept = header.kept;
    for isometry in kept.iter_mut().flatten() {
        isometry.data = take(isometry.blocks.iter().map(|block| block.rows * block.columns).sum())?;
    }
    let waves = header.waves.iter().map(|count| take(*count)).collect::<Option<Vec<_>>>()?;
    let bond = if header.progress.half.is_some() { chain.sites - 2 } else { 0 };
    let whole = !waves.is_empty() && waves.iter().all(|wave| is_whole(chain, &kept, wave, bond));
    whole.then_some(Saved { kept, waves, bond, progress: header.progress })
}
