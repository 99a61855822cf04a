//! The state of a solver on disk, so that a killed run goes on to the same energy.
//!
//! A state is a folder `state-N`: `header.ron` and one raw little-endian file a vector. It is written beside under
//! another name, flushed, and renamed, so `kill -9` at any moment leaves the last good one. Checksums (blake3) find torn
//! files; a torn state is passed over for the one before. The two newest are kept.

use super::CheckpointOptions;
use crate::device::Vector;
use crate::error::SolveError;
use crate::scalar::Scalar;
use crate::trace;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// How many states stay on disk.
const KEPT: usize = 2;
/// Elements converted at a time.
const SLAB: usize = 1 << 16;

/// What `header.ron` says.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Header {
    schema: u32,
    /// blake3 of the problem's identity.
    problem: String,
    solver: String,
    phase: String,
    dimension: usize,
    states: usize,
    scalar: String,
    seed: u64,
    iteration: usize,
    scalars: Vec<f64>,
    /// blake3 of each vector file.
    vectors: Vec<String>,
}

/// A state read back.
pub(super) struct Saved<T> {
    pub iteration: usize,
    pub scalars: Vec<f64>,
    pub vectors: Vec<Vec<T>>,
}

/// Who is saving; compared on resume.
pub(super) struct Owner<'a> {
    pub solver: &'a str,
    pub dimension: usize,
    pub states: usize,
    pub scalar: &'a str,
    pub seed: u64,
}

/// Saves now and then; does nothing when checkpoints are off.
pub(super) struct Saver {
    target: Option<Target>,
}

struct Target {
    options: CheckpointOptions,
    header: Header,
    sequence: u64,
    last: Instant,
    resumed: Option<(Header, PathBuf)>,
}

fn fault(path: &Path) -> impl Fn(std::io::Error) -> SolveError {
    let path = path.display().to_string();
    move |source| SolveError::Checkpoint { path: path.clone(), source }
}

impl Saver {
    /// Saves nothing.
    pub(super) fn off() -> Saver {
        Saver { target: None }
    }

    /// Opens the folder. States of another problem or another solver are refused, whether or not to resume, so that
    /// they are never overwritten by mistake.
    pub(super) fn open(options: Option<&CheckpointOptions>, owner: &Owner<'_>) -> Result<Saver, SolveError> {
        let Some(options) = options else { return Ok(Saver::off()) };
        let folder = &options.folder;
        fs::create_dir_all(folder).map_err(fault(folder))?;
        let header = Header {
            schema: 1,
            problem: blake3::hash(options.identity.as_bytes()).to_hex().to_string(),
            solver: owner.solver.into(),
            phase: String::new(),
            dimension: owner.dimension,
            states: owner.states,
            scalar: owner.scalar.into(),
            seed: owner.seed,
            iteration: 0,
            scalars: Vec::new(),
            vectors: Vec::new(),
        };
        let found = list(folder)?;
        let sequence = found.last().map_or(0, |s| s.0);
        let mut resumed = None;
        for (_, path) in found.iter().rev() {
            let Some(old) = read_header(path) else { continue };
            compare(folder, &old, &header)?;
            if options.resume && intact(path, &old) {
                resumed = Some((old, path.clone()));
                break;
            }
        }
        let target = Target { options: options.clone(), header, sequence, last: Instant::now(), resumed };
        Ok(Saver { target: Some(target) })
    }

    /// The state to go on from; once.
    pub(super) fn take_resumed<T: Scalar>(&mut self) -> Option<Saved<T>> {
        let (header, path) = self.target.as_mut()?.resumed.take()?;
        let read = |i: usize| fs::read(path.join(format!("vector-{i}.bin"))).ok().map(|b| T::read_bytes(&b));
        let vectors: Vec<Vec<T>> = (0..header.vectors.len()).map(read).collect::<Option<_>>()?;
        Some(Saved { iteration: header.iteration, scalars: header.scalars, vectors })
    }

    /// Whether it is time to save again.
    pub(super) fn due(&self) -> bool {
        self.target.as_ref().is_some_and(|t| t.last.elapsed().as_secs_f64() >= t.options.every_seconds)
    }

    /// Saves a state: written beside, flushed, renamed; then all but the newest two are removed.
    pub(super) fn save<T: Scalar>(
        &mut self,
        phase: &str,
        iteration: usize,
        scalars: &[f64],
        vectors: &[&Vector<T>],
    ) -> Result<(), SolveError> {
        let Some(target) = &mut self.target else { return Ok(()) };
        let _checkpoint = trace::span("solver", "checkpoint");
        let folder = &target.options.folder;
        let writing = tempfile::Builder::new().prefix("saving-").tempdir_in(folder).map_err(fault(folder))?;
        let mut header = target.header.clone();
        header.phase = phase.into();
        header.iteration = iteration;
        header.scalars = scalars.to_vec();
        for (index, vector) in vectors.iter().enumerate() {
            let path = writing.path().join(format!("vector-{index}.bin"));
            header.vectors.push(write_vector(&path, &vector.download()?)?);
        }
        let path = writing.path().join("header.ron");
        let text = ron::ser::to_string_pretty(&header, ron::ser::PrettyConfig::new())
            .map_err(|e| fault(&path)(std::io::Error::other(e)))?;
        let mut file = File::create(&path).map_err(fault(&path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(fault(&path))?;
        target.sequence += 1;
        let done = folder.join(format!("state-{:08}", target.sequence));
        fs::rename(writing.keep(), &done).map_err(fault(&done))?;
        if let Ok(opened) = File::open(folder) {
            let _ = opened.sync_all();
        }
        let states = list(folder)?;
        for (_, old) in &states[..states.len().saturating_sub(KEPT)] {
            let _ = fs::remove_dir_all(old);
        }
        target.last = Instant::now();
        Ok(())
    }
}

/// The states of a folder, oldest first. What a killed run left half written is removed.
fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>, SolveError> {
    let mut states = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault(folder))? {
        let path = entry.map_err(fault(folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("saving-") {
            let _ = fs::remove_dir_all(&path);
        } else if let Some(number) = name.strip_prefix("state-").and_then(|n| n.parse().ok()) {
            states.push((number, path));
        }
    }
    states.sort();
    Ok(states)
}

fn read_header(path: &Path) -> Option<Header> {
    let header = ron::from_str::<Header>(&fs::read_to_string(path.join("header.ron")).ok()?).ok()?;
    (header.schema == 1).then_some(header)
}

fn intact(path: &Path, header: &Header) -> bool {
    header.vectors.iter().enumerate().all(|(i, sum)| {
        let bytes = fs::read(path.join(format!("vector-{i}.bin"))).unwrap_or_default();
        let whole =
            bytes.len().is_multiple_of(header.dimension.max(1)) && blake3::hash(&bytes).to_hex().as_str() == sum;
        if !whole {
            tracing::warn!(state = %path.display(), "a checkpoint is torn; the one before it is used");
        }
        whole
    })
}

fn compare(folder: &Path, old: &Header, new: &Header) -> Result<(), SolveError> {
    let pairs = [
        ("problem", old.problem.clone(), new.problem.clone()),
        ("solver", old.solver.clone(), new.solver.clone()),
        ("dimension", old.dimension.to_string(), new.dimension.to_string()),
        ("number of states", old.states.to_string(), new.states.to_string()),
        ("scalar type", old.scalar.clone(), new.scalar.clone()),
    ];
    for (what, found, expected) in pairs {
        if found != expected {
            return Err(SolveError::OtherCheckpoint { folder: folder.display().to_string(), what, found, expected });
        }
    }
    Ok(())
}

fn write_vector<T: Scalar>(path: &Path, values: &[T]) -> Result<String, SolveError> {
    let mut file = File::create(path).map_err(fault(path))?;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::with_capacity(SLAB * size_of::<T>());
    for slab in values.chunks(SLAB) {
        bytes.clear();
        T::write_bytes(slab, &mut bytes);
        hasher.update(&bytes);
        file.write_all(&bytes).map_err(fault(path))?;
    }
    file.sync_all().map_err(fault(path))?;
    Ok(hasher.finalize().to_hex().to_string())
}
