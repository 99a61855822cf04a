//! `eigenforge bench resume`: runs are killed at random moments and resumed, for every family; their results are compared.
//!
//! In: how many kills, a seed. Out: a table of [cases]. A round solves a case with a checkpoint and ends it once to three
//! times, by SIGKILL or SIGTERM, anywhere between its start and the end that it would have had; what is resumed last must end with
//! the energies (for tensors: the bytes) of a run that nobody disturbed. The finished run is resumed once more, and must
//! stay what it is. Then it is resumed with other keys: it must end where an undisturbed run with these keys ends, or a
//! note in its report says what differs, or it is refused with both values.

pub mod cases;

use crate::dice::Dice;
use cases::Case;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Faults that are printed.
const SHOWN: usize = 20;

/// Arguments of `bench resume`.
#[derive(Clone, Debug, clap::Args)]
pub struct ResumeArguments {
    /// Kills
    #[arg(long, default_value_t = 100)]
    pub kills: u64,
    /// Seed of their moments
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only cases whose names contain this
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Runs at the same time, of one thread each [default: the cores]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum ResumeBenchError {
    /// A run that ended elsewhere, or failed.
    #[error("{0} resumed run(s) did not end as the undisturbed run")]
    Differs(u64),
    /// No case has this in its name.
    #[error("--only {0}: no case has this in its name; `bench resume --kills 1` prints all")]
    NoCase(String),
    /// A run that failed undisturbed.
    #[error("{case}: the undisturbed run failed: {said}")]
    Failed {
        /// Its name.
        case: &'static str,
        /// Standard error.
        said: String,
    },
    /// Files and processes.
    #[error("files or processes of the bench")]
    Io(#[from] std::io::Error),
}

/// What a run came to: its energies and notes, or the bytes of its tensors.
#[derive(Clone, Debug, Default)]
struct Found {
    energies: Vec<f64>,
    bytes: Vec<u8>,
    said: String,
    code: Option<i32>,
}

impl Found {
    /// The largest distance of an energy; infinite where anything else differs.
    fn distance(&self, other: &Found) -> f64 {
        if self.code != other.code || self.energies.len() != other.energies.len() || self.bytes != other.bytes {
            return f64::INFINITY;
        }
        let pairs = self.energies.iter().zip(&other.energies);
        pairs.fold(0.0, |most, (a, b)| if (a - b).abs() <= most { most } else { (a - b).abs() })
    }
}

/// All numbers under keys named `energies`, in the order of the text.
fn energies(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| match (key.as_str(), value) {
            ("energies", Value::Array(list)) => found.extend(list.iter().filter_map(Value::as_f64)),
            _ => energies(value, found),
        }),
        Value::Array(list) => list.iter().for_each(|value| energies(value, found)),
        _ => {}
    }
}

/// A case in a folder of its own.
struct Place<'a> {
    program: &'a Path,
    case: &'a Case,
    folder: PathBuf,
}

impl<'a> Place<'a> {
    fn new(program: &'a Path, case: &'a Case, folder: PathBuf) -> std::io::Result<Place<'a>> {
        std::fs::create_dir_all(&folder)?;
        let place = Place { program, case, folder };
        place.write(&case.text)?;
        std::fs::write(place.folder.join("INTEGRALS"), cases::integrals_file())?;
        std::fs::write(place.folder.join("INTERACTION"), cases::interaction(14, 3))?;
        Ok(place)
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let text = text.replace("FOLDER", &self.folder.display().to_string());
        std::fs::write(self.folder.join("model.toml"), text)
    }

    fn start(&self, more: &[&str]) -> std::io::Result<Child> {
        let mut command = Command::new(self.program);
        command.env("RAYON_NUM_THREADS", "1").env("EIGENFORGE_CACHE", "off").current_dir(&self.folder);
        command.args(["solve", "model.toml", "--device", "cpu", "--json"]).args(self.case.arguments).args(more);
        command.stdout(Stdio::from(std::fs::File::create(self.folder.join("out"))?));
        command.stderr(Stdio::from(std::fs::File::create(self.folder.join("err"))?)).spawn()
    }

    /// What a run that has ended wrote.
    fn result(&self, status: ExitStatus) -> Found {
        let read = |name: &str| std::fs::read(self.folder.join(name)).unwrap_or_default();
        let (out, said) = (read("out"), String::from_utf8_lossy(&read("err")).into_owned());
        let object: Value = serde_json::from_slice(&out).unwrap_or_default();
        let mut list = Vec::new();
        energies(&object, &mut list);
        Found { energies: list, bytes: read("tensors.bin"), said: said + &object.to_string(), code: status.code() }
    }

    fn finish(&self, more: &[&str]) -> std::io::Result<Found> {
        let status = self.start(more)?.wait()?;
        Ok(self.result(status))
    }
}

/// What is known of a case before anyone disturbs it.
struct Undisturbed {
    found: Found,
    other: Option<Found>,
    seconds: f64,
}

/// Counts of a case.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    rounds: u64,
    kills: u64,
    /// Rounds whose last run found a state to go on from.
    states: u64,
    distance: f64,
    same: u64,
    told: u64,
    wrong: u64,
}

/// Runs it and writes the table; `program` is the command itself.
///
/// # Errors
/// A run that ended elsewhere than the undisturbed one; files and processes.
pub fn command(arguments: &ResumeArguments, program: &Path, out: &mut dyn Write) -> Result<(), ResumeBenchError> {
    let all = cases::list();
    let is_meant = |case: &&Case| arguments.only.as_ref().is_none_or(|only| case.name.contains(only.as_str()));
    let list: Vec<&Case> = all.iter().filter(is_meant).collect();
    if list.is_empty() {
        return Err(ResumeBenchError::NoCase(arguments.only.clone().unwrap_or_default()));
    }
    let folder = tempfile::tempdir()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = arguments.workers.map_or(cores, |workers| workers as usize);
    let known =
        each(workers, &list, |number, case| undisturbed(program, case, &folder.path().join(format!("{number}"))))?;
    let (kills, round) = (AtomicU64::new(0), AtomicU64::new(0));
    let tallies = Mutex::new(vec![Tally::default(); list.len()]);
    let faults = Mutex::new(Vec::new());
    let work = || -> Result<(), ResumeBenchError> {
        while kills.load(Ordering::Relaxed) < arguments.kills {
            let number = round.fetch_add(1, Ordering::Relaxed);
            let index = number as usize % list.len();
            let place = Place::new(program, list[index], folder.path().join(format!("round-{number}")))?;
            let mut dice = Dice::of_case(arguments.seed, number);
            let (tally, said) = disturb(&place, &known[index], &mut dice, &kills)?;
            std::fs::remove_dir_all(&place.folder)?;
            let mut all = tallies.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            all[index].add(&tally);
            let mut faults = faults.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            faults.extend(said.into_iter().map(|said| format!("round {number}, {}: {said}", list[index].name)));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a worker panicked").into()))
        })
    })?;
    let tallies = tallies.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let faults = faults.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    writeln!(
        out,
        "| resumed, seed {} | seconds | rounds | kills | from a state | largest difference | other keys: same | said | wrong |\n\
         |---|---|---|---|---|---|---|---|---|",
        arguments.seed
    )?;
    let mut sum = Tally::default();
    for ((case, known), tally) in list.iter().zip(&known).zip(&tallies) {
        sum.add(tally);
        writeln!(out, "| {} | {:.2} | {}", case.name, known.seconds, tally.row())?;
    }
    writeln!(out, "| all | | {}", sum.row())?;
    faults.iter().take(SHOWN).try_for_each(|fault| writeln!(out, "{fault}"))?;
    if sum.wrong > 0 { Err(ResumeBenchError::Differs(sum.wrong)) } else { Ok(()) }
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.rounds += other.rounds;
        self.kills += other.kills;
        self.states += other.states;
        self.distance = self.distance.max(other.distance);
        self.same += other.same;
        self.told += other.told;
        self.wrong += other.wrong;
    }

    fn row(&self) -> String {
        let Tally { rounds, kills, states, distance, same, told, wrong } = self;
        format!("{rounds} | {kills} | {states} | {distance:.0e} | {same} | {told} | {wrong} |")
    }
}

/// Applies a function to all cases, some at a time.
fn each<T: Send>(
    workers: usize,
    list: &[&Case],
    of: impl Fn(usize, &Case) -> Result<T, ResumeBenchError> + Sync,
) -> Result<Vec<T>, ResumeBenchError> {
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                    let Some(case) = list.get(number) else { return };
                    let one = of(number, case);
                    found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, one));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, one)| one).collect()
}

fn undisturbed(program: &Path, case: &Case, folder: &Path) -> Result<Undisturbed, ResumeBenchError> {
    let place = Place::new(program, case, folder.to_path_buf())?;
    let begun = Instant::now();
    let found = place.finish(&[])?;
    let seconds = begun.elapsed().as_secs_f64();
    // 3: not converged, as some cases are meant to be.
    if !matches!(found.code, Some(0 | 3)) || found.energies.is_empty() && found.bytes.is_empty() {
        return Err(ResumeBenchError::Failed { case: case.name, said: found.said });
    }
    let other = match case.other {
        None => None,
        Some((from, to)) => {
            place.write(&case.text.replace(from, to))?;
            Some(place.finish(&[])?)
        }
    };
    Ok(Undisturbed { found, other, seconds })
}

/// Whether a checkpoint folder, or one of a point or state in it, holds a state, a finished point or groups of tensors.
fn has_state(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_state = path.join("header.ron").is_file() || name == "point.json" || name.ends_with(".partial.done");
        is_state || path.is_dir() && has_state(&path)
    })
}

/// One round: what came of it, and what went wrong.
fn disturb(
    place: &Place<'_>,
    known: &Undisturbed,
    dice: &mut Dice,
    kills: &AtomicU64,
) -> Result<(Tally, Vec<String>), ResumeBenchError> {
    let mut tally = Tally { rounds: 1, ..Tally::default() };
    let mut faults = Vec::new();
    let every = ["0", "0.05", "1e9"][(3.0 * dice.unit()) as usize % 3];
    let timed = if place.case.is_timed { &["--checkpoint-every", every][..] } else { &[] };
    let first = [&["--checkpoint", "saved"], timed].concat();
    let again = [&first[..], &["--resume"]].concat();
    let times = 1 + (3.0 * dice.unit()) as usize;
    for time in 0..times {
        let mut child = place.start(if time == 0 { &first } else { &again })?;
        std::thread::sleep(Duration::from_secs_f64(1.05 * known.seconds * dice.unit()));
        let is_hard = dice.unit() < 0.5;
        if child.try_wait()?.is_none() {
            kills.fetch_add(1, Ordering::Relaxed);
            tally.kills += 1;
            let signal = if is_hard { "-KILL" } else { "-TERM" };
            Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status()?;
        }
        child.wait()?;
    }
    tally.states = u64::from(has_state(&place.folder.join("saved")));
    for what in ["resumed", "resumed when finished"] {
        let found = place.finish(&again)?;
        let distance = found.distance(&known.found);
        tally.distance = tally.distance.max(distance);
        if distance.is_nan() || distance > place.case.close {
            tally.wrong += 1;
            faults.push(format!("{what}: {:?} is not {:?}; {}", found.energies, known.found.energies, found.said));
        }
    }
    if let (Some((from, to)), Some(other)) = (place.case.other, &known.other) {
        place.write(&place.case.text.replace(from, to))?;
        let found = place.finish(&again)?;
        let refusals = ["belongs to another", "of another transformation"];
        let is_refused = found.code == Some(2) && refusals.iter().any(|said| found.said.contains(said));
        let is_told = found.said.contains("resumed from a state") || is_refused;
        if found.distance(other) <= place.case.close {
            tally.same += 1;
        } else if is_told {
            tally.told += 1;
        } else {
            tally.wrong += 1;
            faults.push(format!(
                "with {to} for {from}: {:?} is not {:?}; {}",
                found.energies, other.energies, found.said
            ));
        }
    }
    Ok((tally, faults))
}
