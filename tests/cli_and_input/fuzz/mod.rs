//! Nearly valid files for every reader: none may panic, abort, hang, or take memory that the file does not account for.
//!
//! `cargo xtask fuzz --minutes N` runs the long way, the test [`a_share_of_the_fuzzing`] a fixed share of it. Cases run one
//! after the other in a child process of this test binary with a limited address space; the parent watches the clock. A
//! case is named by target, seed and number, and depends on nothing else, so `EIGENFORGE_FUZZ=TARGET;SEED;CASE;1` runs it again.

mod cuts;
mod mutate;
mod targets;

use mutate::{Random, mutate};
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What a worker is asked to do, `TARGET;SEED;FIRST CASE;CASES`.
const WORK: &str = "EIGENFORGE_FUZZ";
/// For how long `cargo xtask fuzz` wants it.
const MINUTES: &str = "EIGENFORGE_FUZZ_MINUTES";
/// Seconds that one case may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds that a worker may take to begin.
const START: Duration = Duration::from_secs(120);
/// Address space of a worker in KiB. No file here is longer than a few KiB.
const ADDRESS_SPACE: u64 = 3 << 20;
/// Resident memory in KiB that one case may add.
const MEMORY: u64 = 300 << 10;

/// What went wrong in one case.
#[derive(Debug)]
struct Failure {
    target: String,
    seed: u64,
    case: u64,
    what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{WORK}='{};{};{};1': {}", self.target, self.seed, self.case, self.what)
    }
}

/// Runs cases of one target in children until all are done or the time is over; gives the failures and the cases done.
fn run(target: &str, seed: u64, cases: u64, end: Option<Instant>) -> (Vec<Failure>, u64) {
    let (mut failures, mut case) = (Vec::new(), 0);
    while case < cases && failures.len() < 20 && end.is_none_or(|end| Instant::now() < end) {
        let (reached, what) = child(target, seed, case, cases - case, PATIENCE, end);
        failures.extend(what.map(|what| Failure { target: target.into(), seed, case: reached, what }));
        case = reached + 1;
    }
    (failures, case)
}

/// One child: the case that it reached, and what stopped it there if it was not the end.
fn child(
    target: &str,
    seed: u64,
    first: u64,
    cases: u64,
    patience: Duration,
    end: Option<Instant>,
) -> (u64, Option<String>) {
    let binary = std::env::current_exe().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"")])
        .arg(binary)
        .args(["--exact", "fuzz::worker", "--ignored", "--nocapture"])
        .env(WORK, format!("{target};{seed};{first};{cases}"))
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, receiver) = channel();
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).all(|line| sender.send(line).is_ok()));
    let (mut reached, mut what) = (first, None);
    let (mut done, mut allowed) = (false, START);
    loop {
        match receiver.recv_timeout(allowed) {
            Ok(line) => match line.split_once(' ') {
                Some(("case", number)) => (reached, allowed) = (number.parse().unwrap(), patience),
                Some(("failure", reason)) => what = Some(reason.to_string()),
                _ => done |= line == "done",
            },
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                what = Some(format!("took more than {} s", allowed.as_secs()));
                break;
            }
        }
        if end.is_some_and(|end| Instant::now() > end) {
            done = true;
            break;
        }
    }
    // It may be gone already.
    let _ = child.kill();
    let status = child.wait().unwrap();
    reader.join().unwrap();
    if !done && what.is_none() {
        what = Some(format!("the process ended: {status}"));
    }
    (reached, what)
}

/// A child's work: prints `case N` before each case, `failure …` when one went wrong and ends then, `done` at the end.
#[test]
#[ignore = "started by the other tests of this module, with what to do in EIGENFORGE_FUZZ"]
fn worker() {
    let Ok(work) = std::env::var(WORK) else { return };
    let words: Vec<&str> = work.split(';').collect();
    let [name, seed, first, cases] = words[..] else { panic!("{WORK}={work}") };
    let [seed, first, cases] = [seed, first, cases].map(|word| word.parse::<u64>().unwrap());
    let mut known = targets::ALL.into_iter().chain(targets::GUARDS);
    let target = known.find(|(known, _)| *known == name).expect(name).1();
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in &target.files {
        write(folder.path(), path, bytes);
    }
    let found = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let told = found.clone();
    std::panic::set_hook(Box::new(move |panic| *told.lock().unwrap() = panic.to_string().replace('\n', " ")));
    if !name.starts_with("guard") {
        (target.read)(folder.path(), &folder.path().join(&target.files[0].0));
    }
    let before = peak_memory();
    let say = |line: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
    };
    for case in first..first + cases {
        say(&format!("case {case}"));
        let (path, bytes) = changed(&target, seed, case);
        write(folder.path(), path, &bytes);
        let file = folder.path().join(path);
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.read)(folder.path(), &file)));
        let memory = peak_memory().saturating_sub(before);
        if outcome.is_err() || memory > MEMORY {
            keep(name, seed, case, &bytes);
            match outcome {
                Err(_) => say(&format!("failure {}", found.lock().unwrap())),
                Ok(()) => say(&format!("failure took {memory} KiB for a file of {} bytes", bytes.len())),
            }
            return;
        }
        let original = target.files.iter().find(|(other, _)| other == path).unwrap();
        write(folder.path(), path, &original.1);
    }
    say("done");
}

/// The file of a case.
fn changed(target: &targets::Target, seed: u64, case: u64) -> (&Path, Vec<u8>) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9) ^ case.wrapping_mul(0xD1B5_4A32_D192_ED03));
    let (path, valid) = random.choose(&target.files);
    let bytes = mutate(&mut random, valid);
    match target.seal.filter(|_| random.below(2) == 0) {
        Some(seal) => (path, seal(&bytes)),
        None => (path, bytes),
    }
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Keeps the file of a failure to be looked at.
fn keep(target: &str, seed: u64, case: u64, bytes: &[u8]) {
    let folder = std::env::temp_dir().join("eigenforge-fuzz");
    let name = format!("{}-{seed}-{case}", target.replace(' ', "-"));
    // A report that cannot be kept is still told.
    let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(name), bytes));
}

/// The most KiB that this process has held at once.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn names() -> Vec<&'static str> {
    targets::ALL.iter().map(|(name, _)| *name).collect()
}

#[track_caller]
fn none(failures: &[Failure]) {
    let told: Vec<String> = failures.iter().map(Failure::to_string).collect();
    assert!(told.is_empty(), "{} cases failed:\n{}", told.len(), told.join("\n"));
}

/// Some hundred files of every target, always the same ones.
#[cfg(target_os = "linux")]
#[test]
fn a_share_of_the_fuzzing() {
    let mut failures = Vec::new();
    for target in names() {
        let (failed, done) = run(target, 1, 300, None);
        assert!(done >= 300 || !failed.is_empty(), "{target}: {done}");
        failures.extend(failed);
    }
    none(&failures);
}

/// The guards themselves: readers that panic, abort, hang or eat memory are told, with their case.
#[cfg(target_os = "linux")]
#[test]
fn what_goes_wrong_is_told() {
    for (target, said) in [
        ("guard: panics", "on purpose"),
        ("guard: aborts", "the process ended: signal: 6"),
        ("guard: hangs", "took more than 5 s"),
        ("guard: eats memory", "KiB for a file of"),
        ("guard: asks for too much", "the process ended: signal: 6"),
    ] {
        let (reached, what) = child(target, 1, 7, 3, Duration::from_secs(5), None);
        assert_eq!(reached, 7, "{target}");
        let what = what.expect(target);
        assert!(what.contains(said), "{target}: {what}");
    }
}

/// `cargo xtask fuzz`: all targets in turn with new seeds, until the time is over.
#[test]
#[ignore = "long; cargo xtask fuzz runs it"]
fn long() {
    let minutes: f64 = std::env::var(MINUTES).map_or(1.0, |minutes| minutes.parse().expect(MINUTES));
    let end = Instant::now() + Duration::from_secs_f64(60.0 * minutes);
    let (mut failures, mut total) = (Vec::new(), 0);
    for seed in 2.. {
        for target in names() {
            let (failed, done) = run(target, seed, 2_000, Some(end));
            total += done;
            failed.iter().for_each(|failure| println!("{failure}"));
            failures.extend(failed);
        }
        println!("seed {seed}: {total} cases, {} failures", failures.len());
        if Instant::now() > end {
            break;
        }
    }
    none(&failures);
}
