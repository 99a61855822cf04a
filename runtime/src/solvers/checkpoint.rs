//! Saves the state of a solver on disk, so that a killed run resumes to the same energy.
//!
//! A state is a folder `state-N`: a sealed `header.ron`, and one raw little-endian file per vector, whose blake3 sums are
//! in the header, so no changed byte goes unnoticed. A damaged state is skipped in favour of the one before. The folder
//! is locked during a run. Of several ranks the first writes and reads, slab by slab; the files do not know how many there were. For how states are written and how a failing disk is handled see [`crate::state_folder`].

use super::{CheckpointOptions, SolveOptions, Solver, Start};
use crate::device::{Device, Vector};
use crate::error::SolveError;
use crate::input_file::{FileKind, OpenedFile, read_bytes};
use crate::interrupt::{self, Saving};
use crate::lock::Lock;
use crate::ranks::Ranks;
use crate::scalar::Scalar;
use crate::state_folder::{self, NotWritten, StateFolder};
use crate::trace;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Version of the layout. Layouts before 2 had no seals, and those before 3 no settings.
const SCHEMA: u32 = 3;
const FIRST_SEALED: u32 = 2;
/// Elements converted at a time.
const SLAB: usize = 1 << 16;

/// The contents of `header.ron`.
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
    settings: Settings,
    iteration: usize,
    scalars: Vec<f64>,
    /// blake3 of each vector file.
    vectors: Vec<String>,
    /// What else must be the same.
    #[serde(default)]
    fixed: Vec<(String, String)>,
    /// What the run has found so far, as it writes it.
    #[serde(default)]
    notes: String,
}

/// A state to resume from.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    pub iteration: usize,
    pub scalars: Vec<f64>,
    pub vectors: Vec<SavedVector>,
    pub notes: String,
}

/// A vector on disk, which rank 0 reads.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedVector(PathBuf);

impl SavedVector {
    /// Overwrites a vector with it.
    pub(super) fn restore<T: Scalar>(&self, to: &mut Vector<T>) -> Result<(), SolveError> {
        let (path, mut file, mut bytes) = (&self.0, None, Vec::new());
        to.write_by_first(|slab| {
            let file = match &mut file {
                Some(file) => file,
                none => none.insert(OpenedFile::open(path, FileKind::STATE).map_err(fault(path))?),
            };
            bytes.resize(size_of_val(slab), 0);
            file.read_exact(&mut bytes).map_err(fault(path))?;
            slab.copy_from_slice(&T::read_bytes(&bytes));
            Ok(())
        })
    }
}

/// Identifies the run that saves; compared on resume.
pub(super) struct Owner<'a> {
    pub solver: &'a str,
    pub dimension: usize,
    pub states: usize,
    pub scalar: &'a str,
    pub settings: Settings,
}

/// Options that a state depends on, by their names in model files, beside those that must be equal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings(Vec<(String, String)>);

impl Settings {
    /// A search converges to the same levels from any start, so another start is said and no more. What `dense` saves is a result,
    /// in levels by the tolerance: with another one it begins anew.
    pub(super) fn new(solver: Solver, options: &SolveOptions) -> Settings {
        let list = match solver {
            Solver::Dense => vec![("tolerance", format!("{:e}", options.tolerance))],
            _ => vec![
                ("seed", options.seed.to_string()),
                (
                    "start",
                    Start::WORDS.iter().find(|(_, start)| *start == options.start).map_or("", |(word, _)| word).into(),
                ),
                ("guard", options.guard.map_or("the usual".into(), |guard| guard.to_string())),
                ("preconditioner", options.preconditioner.name().into()),
            ],
        };
        Settings(list.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// "seed = 1 (here 2)" for every value that is another in `saved`.
    fn differences(&self, saved: &Settings) -> Vec<String> {
        let pairs = self.0.iter().zip(&saved.0).filter(|(here, saved)| here != saved);
        pairs.map(|((key, here), (_, saved))| format!("{key} = {saved} (here {here})")).collect()
    }
}

/// Saves periodically; does nothing when checkpoints are off. Of several ranks the first has the folder, and all save at once.
pub(super) struct Saver {
    target: Option<Target>,
    /// The ranks that save together, and of the others than the first, that signals wait.
    together: Option<(Arc<Ranks>, Option<Saving>)>,
    resumed: Option<Saved>,
    /// What differs from the run that saved it.
    difference: Option<String>,
}

/// What rank 0 tells the others in a save.
#[derive(Serialize, Deserialize)]
enum Order {
    /// Hand over the next vector.
    Next,
    /// The state is saved, or could not be.
    Done,
    /// The run ends because of a signal.
    End { signal: i32, state: String },
}

/// Tells the other ranks what they do next in a save; returns it there.
fn order(ranks: Option<&Ranks>, order: Order) -> Result<Order, SolveError> {
    let Some(ranks) = ranks else { return Ok(order) };
    broadcast(ranks, "save a state", if ranks.is_first() { Some(order) } else { None })
}

/// The value of rank 0 on every rank; the other ranks give `None`.
fn broadcast<O: Serialize + DeserializeOwned>(ranks: &Ranks, what: &str, own: Option<O>) -> Result<O, SolveError> {
    let unclear = |error: String| crate::DeviceError::Operator(format!("{what}, told by rank 0: {error}"));
    let text = ron::to_string(&own).map_err(|error| unclear(error.to_string()))?;
    let bytes = ranks.from_first(what, text.as_bytes())?;
    let found: Option<O> = ron::de::from_bytes(&bytes).map_err(|error| unclear(error.to_string()))?;
    Ok(found.ok_or_else(|| unclear("nothing".into()))?)
}

struct Target {
    options: CheckpointOptions,
    header: Header,
    states: StateFolder,
    last: Instant,
    _lock: Option<Lock>,
}

fn fault(path: &Path) -> impl Fn(std::io::Error) -> SolveError {
    let path = path.display().to_string();
    move |source| SolveError::Checkpoint { path: path.clone(), source }
}

impl Saver {
    /// Saves nothing.
    pub(super) fn off() -> Saver {
        Saver { target: None, together: None, resumed: None, difference: None }
    }

    /// Opens the folder, on rank 0 of the device's ranks. States of another problem, solver or version are refused, even without
    /// resuming, so that they are never overwritten by mistake.
    pub(super) fn open(
        options: Option<&CheckpointOptions>,
        owner: &Owner<'_>,
        device: &Device,
    ) -> Result<Saver, SolveError> {
        let Some(options) = options else { return Ok(Saver::off()) };
        let Some(ranks) = device.ranks() else { return Saver::open_here(options, owner) };
        let own = if ranks.is_first() { Some(Saver::open_here(options, owner)?) } else { None };
        let Saver { target, resumed, difference, .. } = own.unwrap_or_else(Saver::off);
        let (saves, resumed) = broadcast(ranks, "open the checkpoint", Some((target.is_some(), resumed)))?;
        if !saves {
            return Ok(Saver::off());
        }
        let waits = (!ranks.is_first()).then(|| Saving::to(&options.folder));
        Ok(Saver { target, together: Some((ranks.clone(), waits)), resumed, difference })
    }

    fn open_here(options: &CheckpointOptions, owner: &Owner<'_>) -> Result<Saver, SolveError> {
        let folder = &options.folder;
        let Some(mut states) = StateFolder::open(folder, "state-").map_err(fault(folder))? else {
            return Ok(Saver::off());
        };
        let lock = Lock::of_folder(folder)?;
        let header = Header {
            schema: SCHEMA,
            problem: blake3::hash(options.identity.as_bytes()).to_hex().to_string(),
            solver: owner.solver.into(),
            phase: String::new(),
            dimension: owner.dimension,
            states: owner.states,
            scalar: owner.scalar.into(),
            settings: owner.settings.clone(),
            iteration: 0,
            scalars: Vec::new(),
            vectors: Vec::new(),
            fixed: options.settings.clone(),
            notes: String::new(),
        };
        let (mut resumed, mut difference) = (None, None);
        for (_, path) in states.list().map_err(fault(folder))?.into_iter().rev() {
            let old: Header = match state_folder::read_header(&path, SCHEMA, FIRST_SEALED) {
                state_folder::Header::Whole(old) => old,
                state_folder::Header::OtherSchema(found) => {
                    return Err(SolveError::OldCheckpoint { path, found, expected: SCHEMA });
                }
                state_folder::Header::Damaged => {
                    state_folder::pass_over(&path, "header.ron");
                    continue;
                }
            };
            compare(folder, &old, &header)?;
            let differences = header.settings.differences(&old.settings);
            if owner.solver == Solver::Dense.name() && !differences.is_empty() {
                break;
            }
            if options.resume && intact(&path, &old) {
                difference = (!differences.is_empty()).then(|| {
                    let list = differences.join(", ");
                    format!("resumed from a state of a search with {list}: the vectors within a level may be others than those of a run from the start")
                });
                let vectors = (0..old.vectors.len()).map(|index| SavedVector(path.join(vector_file(index)))).collect();
                let Header { iteration, scalars, notes, .. } = old;
                resumed = Some(Saved { iteration, scalars, vectors, notes });
                break;
            }
        }
        states.hold_signals();
        let target = Target { options: options.clone(), header, states, last: Instant::now(), _lock: lock };
        Ok(Saver { target: Some(target), together: None, resumed, difference })
    }

    /// Takes the state to resume from, once.
    pub(super) fn take_resumed(&mut self) -> Option<Saved> {
        self.resumed.take()
    }

    /// A sentence on what differs from the run that saved the state to resume from.
    pub(super) fn difference(&self) -> Option<&str> {
        self.difference.as_deref()
    }

    /// Whether it is time to save again; the same on all ranks.
    pub(super) fn due(&self) -> Result<bool, SolveError> {
        let late = |target: &Target| target.last.elapsed().as_secs_f64() >= target.options.every_seconds;
        self.agreed(self.target.as_ref().is_some_and(late) || self.has_signal())
    }

    /// Whether a signal waits for the next save; the same on all ranks.
    pub(super) fn is_interrupted(&self) -> Result<bool, SolveError> {
        self.agreed(self.has_signal())
    }

    fn has_signal(&self) -> bool {
        (self.target.is_some() || self.together.is_some()) && interrupt::pending().is_some()
    }

    fn agreed(&self, own: bool) -> Result<bool, SolveError> {
        match &self.together {
            Some((ranks, _)) => Ok(ranks.any("whether to save", own)?),
            None => Ok(own),
        }
    }

    /// Ends the search: signals no longer wait.
    pub(super) fn search_has_ended(&mut self) -> Result<(), SolveError> {
        if let Some((_, waits)) = &mut self.together {
            *waits = None;
        }
        match &mut self.target {
            Some(target) => Ok(target.states.let_signals_end()?),
            None => Ok(()),
        }
    }

    /// Saves a state.
    ///
    /// # Errors
    /// Device errors; a signal that waited for this save. A disk that cannot be written is not an error.
    pub(super) fn save<T: Scalar>(
        &mut self,
        phase: &str,
        iteration: usize,
        scalars: &[f64],
        vectors: &[&Vector<T>],
    ) -> Result<(), SolveError> {
        self.save_with_notes(phase, iteration, (scalars, String::new()), vectors)
    }

    /// Saves a state with what the run has found so far.
    ///
    /// # Errors
    /// As of [`Saver::save`].
    pub(super) fn save_with_notes<T: Scalar>(
        &mut self,
        phase: &str,
        iteration: usize,
        (scalars, notes): (&[f64], String),
        vectors: &[&Vector<T>],
    ) -> Result<(), SolveError> {
        let Saver { target, together, .. } = self;
        let ranks = together.as_ref().map(|(ranks, _)| &**ranks);
        let Some(target) = target else { return hand_over(ranks, vectors) };
        let _checkpoint = trace::span("solver", "checkpoint");
        let mut header = target.header.clone();
        (header.phase, header.iteration, header.scalars) = (phase.into(), iteration, scalars.to_vec());
        header.notes = notes;
        let saved = target.states.save(|folder| {
            for (index, vector) in vectors.iter().enumerate() {
                header.vectors.push(write_vector(&folder.join(vector_file(index)), vector, ranks)?);
            }
            Ok(header)
        });
        target.last = Instant::now();
        let end = match &saved {
            Ok(_) => Order::Done,
            Err(SolveError::Interrupted(end)) => Order::End { signal: end.signal, state: end.state.clone() },
            // The other ranks hear of it as of any other error.
            Err(_) => return saved.map(drop),
        };
        order(ranks, end)?;
        saved.map(drop)
    }
}

/// A save on another rank than the first.
fn hand_over<T: Scalar>(ranks: Option<&Ranks>, vectors: &[&Vector<T>]) -> Result<(), SolveError> {
    let Some(ranks) = ranks else { return Ok(()) };
    let mut vectors = vectors.iter();
    loop {
        match order(Some(ranks), Order::Done)? {
            Order::Next => vectors.next().map_or(Ok(()), |vector| vector.to_first(|_| Ok::<(), SolveError>(())))?,
            Order::Done => return Ok(()),
            Order::End { signal, state } => return Err(interrupt::obey(signal, state).into()),
        }
    }
}

/// The name of a vector's file.
fn vector_file(index: usize) -> String {
    format!("vector-{index}.bin")
}

impl From<crate::DeviceError> for NotWritten<SolveError> {
    fn from(error: crate::DeviceError) -> NotWritten<SolveError> {
        NotWritten::Run(error.into())
    }
}

impl From<SolveError> for NotWritten<SolveError> {
    fn from(error: SolveError) -> NotWritten<SolveError> {
        NotWritten::Run(error)
    }
}

/// Whether the vector files are unchanged.
fn intact(path: &Path, header: &Header) -> bool {
    header.vectors.iter().enumerate().all(|(index, sum)| {
        let name = vector_file(index);
        let bytes = read_bytes(&path.join(&name), FileKind::STATE).unwrap_or_default();
        let whole = blake3::hash(&bytes).to_hex().as_str() == sum;
        if !whole {
            state_folder::pass_over(path, &name);
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
            let (folder, what) = (folder.display().to_string(), what.into());
            return Err(SolveError::OtherCheckpoint { folder, what, found, expected });
        }
    }
    for (what, expected) in &new.fixed {
        let found = old.fixed.iter().find(|(key, _)| key == what).map_or("unknown", |(_, value)| value);
        if found != expected {
            let (folder, what) = (folder.display().to_string(), what.clone());
            return Err(SolveError::OtherCheckpoint { folder, what, found: found.into(), expected: expected.clone() });
        }
    }
    Ok(())
}

/// Writes a vector and returns the hash of its bytes; the ranks are told to hand it over.
fn write_vector<T: Scalar>(
    path: &Path,
    vector: &Vector<T>,
    ranks: Option<&Ranks>,
) -> Result<String, NotWritten<SolveError>> {
    let mut file = File::create(path).map_err(NotWritten::disk_error(path))?;
    order(ranks, Order::Next)?;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::with_capacity(SLAB * size_of::<T>());
    vector.to_first(|values| {
        for slab in values.chunks(SLAB) {
            bytes.clear();
            T::write_bytes(slab, &mut bytes);
            hasher.update(&bytes);
            file.write_all(&bytes).map_err(NotWritten::disk_error(path))?;
        }
        Ok::<(), NotWritten<SolveError>>(())
    })?;
    file.sync_all().map_err(NotWritten::disk_error(path))?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn open(folder: &Path, resume: bool) -> Result<Saver, SolveError> {
        let identity = "a problem".to_string();
        let settings = Vec::new();
        let options = CheckpointOptions { folder: folder.into(), every_seconds: 0.0, resume, identity, settings };
        let owner =
            Owner { solver: "lobpcg", dimension: 5, states: 1, scalar: "double", settings: Settings::default() };
        Saver::open(Some(&options), &owner, &Device::cpu())
    }

    /// One state: its folder, and the vectors in it.
    fn saved(folder: &Path) -> (PathBuf, Vec<Vec<f64>>) {
        let device = Device::cpu();
        let numbers = vec![vec![1.5, -2.0, 0.25, 3.0, 1e-300], vec![0.1, 0.2, 0.3, 0.4, 0.5]];
        let vectors: Vec<Vector<f64>> = numbers.iter().map(|values| device.upload(values).unwrap()).collect();
        let vectors: Vec<&Vector<f64>> = vectors.iter().collect();
        open(folder, false).unwrap().save("lobpcg", 42, &[-1.25, f64::MIN_POSITIVE], &vectors).unwrap();
        (folder.join("state-00000001"), numbers)
    }

    /// Whatever byte of any file is changed, or word removed or doubled: the state is not resumed.
    #[test]
    fn a_change_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (state, numbers) = saved(folder.path());
        let resumed = || open(folder.path(), true).ok().and_then(|mut saver| saver.take_resumed());
        let whole = resumed().unwrap();
        assert_eq!((whole.iteration, whole.scalars), (42, vec![-1.25, f64::MIN_POSITIVE]));
        for (saved, numbers) in whole.vectors.iter().zip(&numbers) {
            let mut vector = Device::cpu().zeros::<f64>(5).unwrap();
            saved.restore(&mut vector).unwrap();
            assert_eq!(&vector.download().unwrap(), numbers);
        }
        assert_eq!(whole.vectors.len(), numbers.len());
        for name in ["header.ron", "vector-0.bin", "vector-1.bin"] {
            let path = state.join(name);
            let good = fs::read(&path).unwrap();
            for at in 0..good.len() {
                for change in [1, 2, 0x10] {
                    let mut bytes = good.clone();
                    bytes[at] ^= change;
                    fs::write(&path, bytes).unwrap();
                    assert!(resumed().is_none(), "{name}, byte {at} ^ {change}");
                }
                let [(before, after), (_, later)] = [good.split_at(at), good.split_at(at + 1)];
                for bytes in [before.to_vec(), [before, later].concat(), [before, &good[at..=at], after].concat()] {
                    fs::write(&path, bytes).unwrap();
                    assert!(resumed().is_none(), "{name}, a byte less or more at {at}");
                }
            }
            fs::remove_file(&path).unwrap();
            assert!(resumed().is_none(), "no {name}");
            fs::write(&path, good).unwrap();
        }
        assert!(resumed().is_some());
    }

    /// Numbers of one entry and its words exchanged for others that fit, without a new seal.
    #[test]
    fn states_without_a_seal_are_of_an_older_version() {
        let folder = tempfile::tempdir().unwrap();
        let (state, _) = saved(folder.path());
        let header = state.join("header.ron");
        let sealed = fs::read_to_string(&header).unwrap();
        let text = sealed.split("\n// blake3").next().unwrap();
        fs::write(&header, text).unwrap();
        assert!(open(folder.path(), true).unwrap().take_resumed().is_none(), "of this version, and its seal is gone");
        fs::write(&header, text.replacen("schema:3", "schema:1", 1)).unwrap();
        for resume in [false, true] {
            let refused = open(folder.path(), resume).map(drop).unwrap_err();
            assert!(matches!(refused, SolveError::OldCheckpoint { found: 1, expected: 3, .. }), "{refused}");
            assert!(refused.to_string().contains("continue with the version that wrote it"), "{refused}");
        }
    }

    /// The folder disappears during the run: saving fails repeatedly, and works again when it is back.
    #[test]
    fn a_folder_that_is_removed_ends_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("saved");
        let mut saver = open(&folder, false).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let vector = Device::cpu().upload(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        saver.save("lobpcg", 1, &[], &[&vector]).unwrap();
        saver.save("lobpcg", 2, &[], &[&vector]).unwrap();
        fs::create_dir(&folder).unwrap();
        saver.save("lobpcg", 3, &[], &[&vector]).unwrap();
        drop(saver);
        assert_eq!(open(&folder, true).unwrap().take_resumed().unwrap().iteration, 3);
    }
}
