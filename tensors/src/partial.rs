//! A result that grows on disk group by group, so that a killed run can resume.
//!
//! In: finished groups. Out: `OUT.partial`, a file of [`super::binary`] whose groups are filled in, and
//! `OUT.partial.done`, one RON line per finished group: its position in the plan, blake3 of its numbers, its shares of
//! the summary, and a seal of the line. The numbers are on disk before their line is. The first line identifies the run
//! by everything that determines the numbers (input, N_max, direction, version); under another name, or with a line or a
//! group altered, the work is repeated. Groups that a full disk does not accept are held in memory, and written as soon
//! as possible. A checkpoint folder holds the same two files as `groups.partial` and `groups.partial.done`; there another
//! run is refused, so that nothing is overwritten by mistake.

use super::binary::{self, BinaryFile, TensorKind};
use super::channel::Channel;
use super::csv::TableError;
use super::error::TransformError;
use super::plan::Plan;
use super::summary::Share;
use super::work::FinishedGroup;
use eigenforge_core::files::{ReportError, publish, regular_place};
use eigenforge_runtime::input_file::{FileKind, read_bytes};
use eigenforge_runtime::lock::Lock;
use eigenforge_runtime::{say, say_once, trace};
use rayon::prelude::*;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Version of the journal: 2 since its lines are sealed.
const SCHEMA: u32 = 2;
/// Most bytes of groups held while the disk does not accept them.
const HELD: usize = 4 << 30;

/// A result in progress.
#[derive(Debug)]
pub(crate) struct Partial {
    path: PathBuf,
    journal_path: PathBuf,
    how_to_resume: &'static str,
    /// Of a checkpoint folder.
    _lock: Option<Lock>,
    file: File,
    journal: File,
    channels: Vec<Channel>,
    known: BTreeMap<usize, KnownGroup>,
    /// The journal's first line.
    name: String,
    /// Finished groups not yet on disk: their numbers, channel by channel.
    held: BTreeMap<usize, Vec<Vec<u8>>>,
    /// The last reported fault of the disk.
    fault: Option<String>,
}

/// The journal's record of a finished group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownGroup {
    /// The largest deviation from orthogonality of its W⁰.
    pub defect: f64,
    /// Share of each channel.
    pub shares: Vec<Share>,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
struct Entry {
    group: usize,
    blake3: String,
    known: KnownGroup,
}

/// What determines the numbers.
#[derive(Debug, Clone)]
pub(crate) struct Run<'a> {
    /// The space.
    pub plan: &'a Plan,
    /// The kind of numbers.
    pub kind: TensorKind,
    /// The channels.
    pub channels: &'a [Channel],
    /// Identifies the input and the transformation.
    pub name: String,
}

impl Partial {
    /// Resumes this run beside `output`, or begins it.
    ///
    /// # Errors
    ///
    /// Files that cannot be created, read or written.
    pub(crate) fn open(output: &Path, run: &Run) -> io::Result<Partial> {
        Partial::start(output, run, true, "the same command continues from there")
    }

    /// Begins this run in a checkpoint folder, or with `resume` goes on with it.
    ///
    /// # Errors
    ///
    /// Groups of another run, also without `resume`; files that cannot be created, read or written.
    pub(crate) fn in_folder(folder: &Path, run: &Run, resume: bool) -> Result<Partial, TransformError> {
        let failed = |source| ReportError::Folder { folder: folder.to_path_buf(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let lock = Lock::of_folder(folder)?;
        let base = folder.join("groups");
        let journal = read_bytes(&sibling_path(&base, ".partial.done"), FileKind::STATE).unwrap_or_default();
        let journal = String::from_utf8_lossy(&journal);
        if journal.lines().next().is_some_and(|name| name != name_of(run)) {
            return Err(TransformError::OtherCheckpoint { path: sibling_path(&base, ".partial") });
        }
        let partial = Partial::start(&base, run, resume, "the same command with --resume continues from there");
        Ok(Partial { _lock: lock, ..partial.map_err(failed)? })
    }

    fn start(base: &Path, run: &Run, resume: bool, how_to_resume: &'static str) -> io::Result<Partial> {
        let path = sibling_path(base, ".partial");
        let journal_path = sibling_path(base, ".partial.done");
        let (file, mut journal) = (open(&path)?, open(&journal_path)?);
        let mut text = Vec::new();
        if resume {
            journal.read_to_end(&mut text)?;
        }
        let (channels, name) = (run.channels.to_vec(), name_of(run));
        let (known, held) = (BTreeMap::new(), BTreeMap::new());
        let (_lock, fault) = (None, None);
        let mut partial =
            Partial { path, journal_path, how_to_resume, _lock, file, journal, channels, known, name, held, fault };
        let sound = partial.recover(run, &String::from_utf8_lossy(&text))?;
        if !sound {
            if !text.is_empty() {
                say_once(format_args!(
                    "warning: {} belongs to another run or was changed; starting again from the beginning",
                    partial.path.display()
                ));
            }
            partial.begin(run)?;
        }
        Ok(partial)
    }

    /// Reads the journal's groups whose numbers are intact; false if it belongs to another run.
    fn recover(&mut self, run: &Run, text: &str) -> io::Result<bool> {
        let mut lines = text.lines();
        let mut header = [0; 32];
        let whole = self.file.metadata()?.len() == binary::size(run.plan, run.channels.len());
        if lines.next() != Some(&self.name) || !whole || self.file.read_exact(&mut header).is_err() {
            return Ok(false);
        }
        if header != binary::header(run.plan, run.kind, run.channels) {
            return Ok(false);
        }
        let (mut altered, mut journal) = (0, self.name.clone() + "\n");
        for line in lines {
            let entry = unsealed(&self.name, line)
                .filter(|entry| entry.group < run.plan.groups.len() && entry.known.shares.len() == self.channels.len());
            match entry {
                Some(entry) if hash(&self.bytes(run.plan, entry.group)?) == entry.blake3 => {
                    if self.known.insert(entry.group, entry.known).is_none() {
                        journal += &format!("{line}\n");
                    }
                }
                _ => altered += 1,
            }
        }
        // The last line may be cut, if a process was killed.
        altered -= usize::from(altered > 0 && !text.ends_with('\n'));
        if altered > 0 {
            let path = self.path.display();
            say_once(format_args!("warning: {altered} groups in {path} were changed; computing them again"));
        }
        self.journal.set_len(0)?;
        self.journal.rewind()?;
        self.journal.write_all(journal.as_bytes())?;
        Ok(true)
    }

    fn begin(&mut self, run: &Run) -> io::Result<()> {
        self.known.clear();
        self.journal.set_len(0)?;
        self.journal.rewind()?;
        self.file.set_len(0)?;
        self.file.set_len(binary::size(run.plan, run.channels.len()))?;
        self.file.rewind()?;
        self.file.write_all(&binary::header(run.plan, run.kind, run.channels))?;
        self.journal.write_all((self.name.clone() + "\n").as_bytes())
    }

    /// The finished groups, in order.
    pub(crate) fn known(&self) -> &BTreeMap<usize, KnownGroup> {
        &self.known
    }

    /// The groups of the plan that are not finished.
    pub(crate) fn missing(&self, plan: &Plan) -> Vec<usize> {
        (0..plan.groups.len()).filter(|at| !self.known.contains_key(at)).collect()
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What a user does to go on with it.
    pub(crate) fn how_to_resume(&self) -> &'static str {
        self.how_to_resume
    }

    /// Number of groups on disk.
    pub(crate) fn standing(&self) -> usize {
        self.known.len() - self.held.len()
    }

    /// Writes groups, and then their journal lines. Groups that the disk does not accept are held and retried with the
    /// next; standard error says so.
    ///
    /// # Errors
    ///
    /// An I/O error, once 4 GiB are held.
    pub(crate) fn put(&mut self, plan: &Plan, finished: Vec<FinishedGroup>) -> io::Result<()> {
        let bytes = |FinishedGroup { group, vectors, defect, shares }: FinishedGroup| {
            let bytes: Vec<Vec<u8>> = vectors.iter().map(|vector| binary::bytes_of(vector)).collect();
            (group, bytes, KnownGroup { defect, shares })
        };
        let done: Vec<(usize, Vec<Vec<u8>>, KnownGroup)> = finished.into_par_iter().map(bytes).collect();
        for (group, bytes, known) in done {
            self.held.insert(group, bytes);
            self.known.insert(group, known);
        }
        let Err(error) = self.write_held(plan) else { return Ok(()) };
        if self.held.values().flatten().map(Vec::len).sum::<usize>() > HELD {
            return Err(error);
        }
        let fault = error.to_string();
        if self.fault.as_ref() != Some(&fault) {
            let path = self.path.display();
            say!(
                "warning: cannot write to {path} ({fault}): finished groups stay in memory until it can be written again"
            );
            self.fault = Some(fault);
        }
        Ok(())
    }

    /// Writes held groups, and then their journal lines.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub(crate) fn write_held(&mut self, plan: &Plan) -> io::Result<()> {
        let _writing = trace::span("report", "write groups");
        // Each group has its own range of the file.
        let write = |(group, vectors): (&usize, &Vec<Vec<u8>>)| -> io::Result<String> {
            for (at, bytes) in vectors.iter().enumerate() {
                self.file.write_all_at(bytes, binary::position(plan, &plan.groups[*group], at))?;
            }
            line(&self.name, *group, hash(vectors), &self.known[group])
        };
        let lines = self.held.par_iter().map(write).collect::<io::Result<Vec<String>>>()?.concat();
        self.file.sync_data()?;
        let end = self.journal.metadata()?.len();
        let written = self.journal.write_all(lines.as_bytes()).and_then(|()| self.journal.sync_data());
        if let Err(error) = written {
            // Remove what was written of a failed batch, which would be there twice.
            self.journal.set_len(end)?;
            self.journal.seek(SeekFrom::Start(end))?;
            return Err(error);
        }
        self.held.clear();
        if self.fault.take().is_some() {
            say!("{} can be written again: all finished groups are saved", self.path.display());
        }
        Ok(())
    }

    /// The numbers as a source; the file must be complete.
    ///
    /// # Errors
    ///
    /// The file was changed meanwhile.
    pub(crate) fn source(&self, plan: &Plan, kind: TensorKind) -> Result<BinaryFile, TableError> {
        BinaryFile::open(&self.path, plan, kind)
    }

    fn bytes(&mut self, plan: &Plan, group: usize) -> io::Result<Vec<Vec<u8>>> {
        if let Some(held) = self.held.get(&group) {
            return Ok(held.clone());
        }
        let of = &plan.groups[group];
        let mut vectors = Vec::with_capacity(self.channels.len());
        for at in 0..self.channels.len() {
            let mut bytes = vec![0; 8 * of.length];
            self.file.seek(SeekFrom::Start(binary::position(plan, of, at)))?;
            self.file.read_exact(&mut bytes)?;
            vectors.push(bytes);
        }
        Ok(vectors)
    }

    /// Turns the file, which must be complete, into the result.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub(crate) fn publish(self, output: &Path) -> Result<(), ReportError> {
        let failed = |source| ReportError::Write { file: output.to_path_buf(), source };
        self.file.sync_all().map_err(failed)?;
        match std::fs::rename(&self.path, regular_place(output)?) {
            // A checkpoint folder may be on another disk.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                publish(output, |to| {
                    let copied = File::open(&self.path).and_then(|mut from| io::copy(&mut from, to));
                    copied.map(drop).map_err(failed)
                })?;
                self.discard().map_err(failed)
            }
            renamed => renamed.and_then(|()| std::fs::remove_file(&self.journal_path)).map_err(failed),
        }
    }

    /// Removes the file once the result exists in another format.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub(crate) fn discard(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)?;
        std::fs::remove_file(&self.journal_path)
    }
}

/// Opens for reading and writing, creating it if needed. A link is refused, because it could overwrite another file.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let refused = |what| io::Error::other(format!("{} is {what}; remove it, or choose another output", path.display()));
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).custom_flags(flags).to_owned();
    let opened = options.open(path).map_err(|error| match path.is_symlink() {
        true => refused("a link, which is not followed"),
        false => error,
    })?;
    let metadata = opened.metadata()?;
    match () {
        () if !metadata.is_file() => Err(refused("not a regular file")),
        () if metadata.nlink() > 1 => Err(refused("one of several names (hard links) of a file")),
        () => Ok(opened),
    }
}

/// The journal's first line.
fn name_of(run: &Run) -> String {
    format!("{}, journal {SCHEMA}", run.name)
}

fn sibling_path(output: &Path, suffix: &str) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    output.with_file_name(name)
}

fn hash(vectors: &[Vec<u8>]) -> String {
    let mut hasher = blake3::Hasher::new();
    vectors.iter().for_each(|bytes| {
        hasher.update(bytes);
    });
    hasher.finalize().to_hex()[..16].to_string()
}

/// Between a line's entry and its seal.
const SEAL: &str = " // blake3 ";

fn line(name: &str, group: usize, blake3: String, known: &KnownGroup) -> io::Result<String> {
    let entry = ron::to_string(&Entry { group, blake3, known: known.clone() }).map_err(io::Error::other)?;
    let seal = seal(name, &entry);
    Ok(format!("{entry}{SEAL}{seal}\n"))
}

/// Seal of an entry in this run's journal.
fn seal(name: &str, entry: &str) -> String {
    hash(&[name.as_bytes().to_vec(), entry.as_bytes().to_vec()])
}

/// The entry of an unchanged line.
fn unsealed(name: &str, line: &str) -> Option<Entry> {
    let (entry, found) = line.rsplit_once(SEAL)?;
    (seal(name, entry) == found).then(|| ron::from_str(entry).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::super::ByChannel;
    use super::super::space::OscillatorSpace;
    use super::*;

    /// The numbers of a group, a vector per channel.
    fn numbers(partial: &mut Partial, plan: &Plan, group: usize) -> Vec<Vec<f64>> {
        partial.bytes(plan, group).unwrap().iter().map(|bytes| binary::numbers_of(bytes)).collect()
    }

    fn finished(plan: &Plan, group: usize, factor: f64) -> FinishedGroup {
        let of = &plan.groups[group];
        let vectors: Vec<Vec<f64>> =
            [1.0, -3.0].map(|scale| (0..of.length).map(|i| factor * scale / (i + 7) as f64).collect()).into();
        let shares = vectors.iter().map(|vector| Share::new(of, vector, vector)).collect();
        FinishedGroup { group, vectors, defect: 0.1 / (group + 1) as f64, shares }
    }

    /// Finished groups are recovered with the same bits; another run, a torn line, altered numbers and a short file are
    /// not trusted.
    #[test]
    fn only_whole_groups_of_the_same_run_are_taken_up() {
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.bin");
        let channels = [Channel::Pn, Channel::Nn];
        let run = |name: &str| Run { plan: &plan, kind: TensorKind::Strengths, channels: &channels, name: name.into() };
        let groups = |name: &str| Partial::open(&output, &run(name)).unwrap().known().clone();
        let mut partial = Partial::open(&output, &run("first")).unwrap();
        partial.put(&plan, vec![finished(&plan, 0, 1.0), finished(&plan, 2, 0.1)]).unwrap();
        partial.put(&plan, vec![finished(&plan, 3, 0.3)]).unwrap();
        let known = partial.known().clone();
        assert_eq!(numbers(&mut partial, &plan, 2), finished(&plan, 2, 0.1).vectors);
        drop(partial);
        assert_eq!(groups("first"), known);
        assert_eq!(known.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
        let (file, journal) = (sibling_path(&output, ".partial"), sibling_path(&output, ".partial.done"));
        let [good, lines] = [&file, &journal].map(|path| std::fs::read(path).unwrap());
        std::fs::write(&journal, &lines[..lines.len() - 9]).unwrap();
        assert_eq!(groups("first").len(), 2, "the last line is torn");
        let mut bad = good.clone();
        bad[binary::position(&plan, &plan.groups[2], 1) as usize + 6] ^= 1;
        std::fs::write(&file, &bad).unwrap();
        std::fs::write(&journal, &lines).unwrap();
        assert_eq!(groups("first").keys().copied().collect::<Vec<_>>(), [0, 3], "the numbers of group 2 are altered");
        std::fs::write(&file, &good[..good.len() - 8]).unwrap();
        std::fs::write(&journal, &lines).unwrap();
        assert!(groups("first").is_empty(), "the file is short");
        std::fs::write(&file, &good).unwrap();
        std::fs::write(&journal, &lines).unwrap();
        assert!(groups("second").is_empty(), "another run");
        let mut partial = Partial::open(&output, &run("second")).unwrap();
        let all = (0..plan.groups.len()).map(|group| finished(&plan, group, 2.0)).collect();
        partial.put(&plan, all).unwrap();
        partial.publish(&output).unwrap();
        let read =
            ByChannel::of_source(&plan, &BinaryFile::open(&output, &plan, TensorKind::Strengths).unwrap()).unwrap();
        assert_eq!(read.vectors[1].1[plan.groups[4].start..][..3], finished(&plan, 4, 2.0).vectors[1][..3]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    /// Whatever byte of the journal or of the numbers is changed: its group, or all of them, are computed again.
    #[test]
    fn a_change_anywhere_is_refused() {
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.bin");
        let channels = [Channel::Pn, Channel::Nn];
        let run = Run { plan: &plan, kind: TensorKind::Strengths, channels: &channels, name: "a run".into() };
        let mut partial = Partial::open(&output, &run).unwrap();
        partial.put(&plan, [1, 2].map(|group| finished(&plan, group, 1.0)).into()).unwrap();
        let known = partial.known().clone();
        drop(partial);
        let (file, journal) = (sibling_path(&output, ".partial"), sibling_path(&output, ".partial.done"));
        let [good, lines] = [&file, &journal].map(|path| std::fs::read(path).unwrap());
        let restore = || {
            std::fs::write(&file, &good).unwrap();
            std::fs::write(&journal, &lines).unwrap();
        };
        let found = || Partial::open(&output, &run).unwrap().known().clone();
        for at in 0..lines.len() {
            let mut bytes = lines.clone();
            bytes[at] ^= 1;
            restore();
            std::fs::write(&journal, bytes).unwrap();
            let found = found();
            assert!(found.len() < 2 && found.iter().all(|(group, of)| known[group] == *of), "byte {at}: {found:?}");
        }
        let numbers = |group: usize| binary::position(&plan, &plan.groups[group], 0) as usize;
        for at in (0..32).chain(numbers(1)..numbers(1) + 8).chain(numbers(2)..numbers(2) + 8) {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            restore();
            std::fs::write(&file, bytes).unwrap();
            assert!(found().len() < 2, "byte {at}");
        }
        restore();
        assert_eq!(found(), known);
    }

    /// Groups that the disk does not accept are held, retried, and saved when it does.
    #[test]
    fn a_disk_that_takes_nothing_for_a_while_loses_nothing() {
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.bin");
        let channels = [Channel::Pn, Channel::Nn];
        let run = Run { plan: &plan, kind: TensorKind::Strengths, channels: &channels, name: "a run".into() };
        let mut partial = Partial::open(&output, &run).unwrap();
        partial.put(&plan, vec![finished(&plan, 0, 1.0)]).unwrap();
        let writable = std::mem::replace(&mut partial.file, File::open(sibling_path(&output, ".partial")).unwrap());
        partial.put(&plan, vec![finished(&plan, 1, 1.0)]).unwrap();
        partial.put(&plan, vec![finished(&plan, 2, 1.0)]).unwrap();
        assert_eq!((partial.known().len(), partial.standing()), (3, 1));
        assert_eq!(numbers(&mut partial, &plan, 2), finished(&plan, 2, 1.0).vectors);
        assert!(partial.write_held(&plan).is_err());
        partial.file = writable;
        partial.put(&plan, vec![finished(&plan, 3, 1.0)]).unwrap();
        assert_eq!(partial.standing(), 4);
        let known = partial.known().clone();
        drop(partial);
        assert_eq!(Partial::open(&output, &run).unwrap().known(), &known);
    }

    /// A checkpoint folder: begun anew, resumed, and refused for another run, with `resume` or without.
    #[test]
    fn a_folder_goes_on_when_asked_and_refuses_another_run() {
        let plan = Plan::new(OscillatorSpace { n_max: 1 });
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("new/check");
        let run =
            |name: &str| Run { plan: &plan, kind: TensorKind::Strengths, channels: &[Channel::Pn], name: name.into() };
        let one = |group: usize| FinishedGroup {
            vectors: vec![vec![0.5; plan.groups[group].length]],
            shares: finished(&plan, group, 1.0).shares[..1].to_vec(),
            ..finished(&plan, group, 1.0)
        };
        let mut partial = Partial::in_folder(&place, &run("first"), false).unwrap();
        partial.put(&plan, vec![one(0), one(1)]).unwrap();
        let busy = Partial::in_folder(&place, &run("first"), true).unwrap_err().to_string();
        assert!(busy.contains("in use"), "{busy}");
        drop(partial);
        let known = |resume| Partial::in_folder(&place, &run("first"), resume).unwrap().known().len();
        assert_eq!(known(true), 2);
        for resume in [false, true] {
            let refused = Partial::in_folder(&place, &run("second"), resume).unwrap_err().to_string();
            assert!(refused.contains("another transformation"), "{refused}");
        }
        assert_eq!((known(false), known(true)), (0, 0));
        let mut partial = Partial::in_folder(&place, &run("first"), true).unwrap();
        partial.put(&plan, (0..plan.groups.len()).map(one).collect()).unwrap();
        let output = folder.path().join("out.bin");
        partial.publish(&output).unwrap();
        assert!(output.exists() && std::fs::read_dir(&place).unwrap().count() == 0);
    }

    #[test]
    fn a_link_in_its_place_is_not_written_through() {
        let plan = Plan::new(OscillatorSpace { n_max: 0 });
        let folder = tempfile::tempdir().unwrap();
        let (output, precious) = (folder.path().join("out.bin"), folder.path().join("precious"));
        std::fs::write(&precious, "data").unwrap();
        let run = Run { plan: &plan, kind: TensorKind::Strengths, channels: &[Channel::Pn], name: "a run".into() };
        for name in [".partial", ".partial.done"] {
            let place = sibling_path(&output, name);
            std::os::unix::fs::symlink(&precious, &place).unwrap();
            let said = Partial::open(&output, &run).unwrap_err().to_string();
            assert!(said.contains("is a link, which is not followed; remove it"), "{said}");
            std::fs::remove_file(&place).unwrap();
            std::fs::hard_link(&precious, &place).unwrap();
            assert!(Partial::open(&output, &run).unwrap_err().to_string().contains("several"));
            std::fs::remove_file(&place).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "data");
    }
}
