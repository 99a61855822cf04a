//! A result as it grows on disk, group by group, so that a killed run goes on where it was.
//!
//! In: groups that are done. Out: `OUT.partial`, a file of [`super::binary`] whose groups are filled in, and `OUT.partial.done`,
//! one RON line a group that stands in it: its place in the plan, blake3 of its numbers, its shares of the summary. The numbers
//! are on the disk before their line is. The first line is a name of the run made of everything that determines the numbers
//! (input, N_max, direction, version); under another name, or with a line or a group torn, the work is done again.

use super::binary::{self, BinaryFile, Kind};
use super::channel::Channel;
use super::csv::TableError;
use super::plan::Plan;
use super::summary::Share;
use super::work::Finished;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A result in the making.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    file: File,
    journal: File,
    channels: Vec<Channel>,
    known: BTreeMap<usize, Known>,
}

/// What is said of a group that stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The largest deviation from orthogonality of its W⁰.
    pub defect: f64,
    /// Of each channel.
    pub shares: Vec<Share>,
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
struct Entry {
    group: usize,
    blake3: String,
    known: Known,
}

/// What determines the numbers.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The space.
    pub plan: &'a Plan,
    /// What the numbers are.
    pub kind: Kind,
    /// The channels.
    pub channels: &'a [Channel],
    /// A name of the input and of how it is transformed.
    pub name: String,
}

impl Partial {
    /// Goes on with what `output` has of this run, or begins it.
    ///
    /// # Errors
    ///
    /// Files that cannot be made, read or written.
    pub fn open(output: &Path, run: &Run) -> io::Result<Partial> {
        let path = beside(output, ".partial");
        let journal_path = beside(output, ".partial.done");
        let options = || OpenOptions::new().read(true).write(true).create(true).truncate(false).to_owned();
        let (file, mut journal) = (options().open(&path)?, options().open(&journal_path)?);
        let mut text = Vec::new();
        journal.read_to_end(&mut text)?;
        let mut partial = Partial { path, file, journal, channels: run.channels.to_vec(), known: BTreeMap::new() };
        let sound = partial.recover(run, &String::from_utf8_lossy(&text))?;
        if !sound {
            partial.begin(run)?;
        }
        Ok(partial)
    }

    /// Takes up the groups of the journal whose numbers are whole; false if it is of another run.
    fn recover(&mut self, run: &Run, text: &str) -> io::Result<bool> {
        let mut lines = text.lines();
        let mut header = [0; 32];
        let whole = self.file.metadata()?.len() == binary::size(run.plan, run.channels.len());
        if lines.next() != Some(&run.name) || !whole || self.file.read_exact(&mut header).is_err() {
            return Ok(false);
        }
        if header != binary::header(run.plan, run.kind, run.channels) {
            return Ok(false);
        }
        for entry in lines.map_while(|line| ron::from_str::<Entry>(line).ok()) {
            if entry.group >= run.plan.groups.len() || entry.known.shares.len() != self.channels.len() {
                return Ok(false);
            }
            let vectors = self.bytes(run.plan, entry.group)?;
            if hash(&vectors) == entry.blake3 {
                self.known.insert(entry.group, entry.known);
            }
        }
        // A line may end in its middle: the journal is written anew from what is known.
        self.journal.set_len(0)?;
        self.journal.rewind()?;
        let mut lines = run.name.clone() + "\n";
        for (group, known) in &self.known.clone() {
            lines += &line(*group, hash(&self.bytes(run.plan, *group)?), known)?;
        }
        self.journal.write_all(lines.as_bytes())?;
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
        self.journal.write_all((run.name.clone() + "\n").as_bytes())
    }

    /// Groups that stand in it, in their order.
    pub fn known(&self) -> &BTreeMap<usize, Known> {
        &self.known
    }

    /// Writes groups, and then that they stand.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn put(&mut self, plan: &Plan, finished: Vec<Finished>) -> io::Result<()> {
        let mut lines = String::new();
        for Finished { group, vectors, defect, shares } in finished {
            let bytes: Vec<Vec<u8>> = vectors.iter().map(|vector| binary::bytes_of(vector)).collect();
            for (at, bytes) in bytes.iter().enumerate() {
                self.file.seek(SeekFrom::Start(binary::position(plan, &plan.groups[group], at)))?;
                self.file.write_all(bytes)?;
            }
            let known = Known { defect, shares };
            lines += &line(group, hash(&bytes), &known)?;
            self.known.insert(group, known);
        }
        self.file.sync_data()?;
        self.journal.write_all(lines.as_bytes())?;
        self.journal.sync_data()
    }

    /// The numbers of a group, a vector a channel.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn group(&mut self, plan: &Plan, group: usize) -> io::Result<Vec<Vec<f64>>> {
        Ok(self.bytes(plan, group)?.iter().map(|bytes| binary::numbers_of(bytes)).collect())
    }

    /// The numbers as a source; the file must be complete.
    ///
    /// # Errors
    ///
    /// A file that was changed meanwhile.
    pub fn source(&self, plan: &Plan, kind: Kind) -> Result<BinaryFile, TableError> {
        BinaryFile::open(&self.path, plan, kind)
    }

    fn bytes(&mut self, plan: &Plan, group: usize) -> io::Result<Vec<Vec<u8>>> {
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

    /// Makes the file, which must be complete, the result.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn publish(self, output: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        std::fs::rename(&self.path, output)?;
        std::fs::remove_file(beside(output, ".partial.done"))
    }

    /// Removes it, once the result stands in another format.
    ///
    /// # Errors
    ///
    /// What the file system says.
    pub fn discard(self, output: &Path) -> io::Result<()> {
        std::fs::remove_file(&self.path)?;
        std::fs::remove_file(beside(output, ".partial.done"))
    }
}

fn beside(output: &Path, suffix: &str) -> PathBuf {
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

fn line(group: usize, blake3: String, known: &Known) -> io::Result<String> {
    let entry = Entry { group, blake3, known: known.clone() };
    Ok(ron::to_string(&entry).map_err(io::Error::other)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::super::space::Space;
    use super::*;

    fn finished(plan: &Plan, group: usize, factor: f64) -> Finished {
        let of = &plan.groups[group];
        let vectors: Vec<Vec<f64>> =
            [1.0, -3.0].map(|scale| (0..of.length).map(|i| factor * scale / (i + 7) as f64).collect()).into();
        let shares = vectors.iter().map(|vector| Share::new(of, vector, vector)).collect();
        Finished { group, vectors, defect: 0.1 / (group + 1) as f64, shares }
    }

    /// What stands is known again with the same bits; another run, a torn line, altered numbers and a short file are not trusted.
    #[test]
    fn only_whole_groups_of_the_same_run_are_taken_up() {
        let plan = Plan::new(Space { n_max: 1 });
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.bin");
        let channels = [Channel::Pn, Channel::Nn];
        let run = |name: &str| Run { plan: &plan, kind: Kind::Strengths, channels: &channels, name: name.into() };
        let groups = |name: &str| Partial::open(&output, &run(name)).unwrap().known().clone();
        let mut partial = Partial::open(&output, &run("first")).unwrap();
        partial.put(&plan, vec![finished(&plan, 0, 1.0), finished(&plan, 2, 0.1)]).unwrap();
        partial.put(&plan, vec![finished(&plan, 3, 0.3)]).unwrap();
        let known = partial.known().clone();
        assert_eq!(partial.group(&plan, 2).unwrap(), finished(&plan, 2, 0.1).vectors);
        drop(partial);
        assert_eq!(groups("first"), known);
        assert_eq!(known.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
        let (file, journal) = (beside(&output, ".partial"), beside(&output, ".partial.done"));
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
        let read = binary::read(&output, &plan, Kind::Strengths).unwrap();
        assert_eq!(read.vectors[1].1[plan.groups[4].start..][..3], finished(&plan, 4, 2.0).vectors[1][..3]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
