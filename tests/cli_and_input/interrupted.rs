//! Runs that are ended by a signal, meet another run in their folder, or have a disk that takes nothing.

use super::command::{command, failed, run, states, stderr, stdout};
use super::standard_error::by_shell;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A ring of 16 spins, dimension 12,870.
const RING: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 16\nboundary = \"periodic\"\n\
    [sector]\ntwo_sz = 0\n[solve]\nsolver = \"lobpcg\"\ntolerance = 1e-10\ncertify = false\n";
fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn open_chain(sites: usize, dmrg: &str) -> String {
    format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = {sites}\n[sector]\ntwo_sz = 0\n\
         [dmrg]\n{dmrg}\n"
    )
}

fn start(arguments: &[&str]) -> Child {
    command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(120), "no {what} in two minutes");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Whether the lock of a folder is this process's.
fn holds(folder: &Path, child: &Child) -> bool {
    let held = fs::read_to_string(folder.join(".eigenforge-lock")).unwrap_or_default();
    held.starts_with(&format!("process {} on ", child.id())) && held.ends_with('\n')
}

fn energy(output: &std::process::Output, field: &str) -> f64 {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let found: Value = serde_json::from_str(stdout(output)).unwrap();
    found[field].as_f64().or(found[field][0].as_f64()).unwrap()
}

/// Whether this process was started with SIGINT ignored, as a script's background jobs are; children are then, too.
fn sigint_is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim().to_string();
    u64::from_str_radix(&mask, 16).unwrap() >> 1 & 1 == 1
}

#[test]
fn a_signal_saves_the_state_and_ends_the_run_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    // Dimension 48,620: long enough to be met on its way.
    let ring = RING.replace("size = 16", "size = 18");
    let several = file(folder.path(), "several.toml", &ring.replace("certify", "states = 3\ncertify"));
    let ring = file(folder.path(), "ring.toml", &ring);
    let whole = energy(&run(&["solve", &ring, "--device", "cpu", "--json", "--solver", "lanczos"]), "energies");
    let mut cases =
        vec![("TERM", 15, &ring, "lanczos"), ("TERM", 15, &ring, "davidson"), ("TERM", 15, &several, "lanczos")];
    cases.push(if sigint_is_ignored() { ("TERM", 15, &ring, "lobpcg") } else { ("INT", 2, &ring, "lobpcg") });
    cases.push(("TERM", 15, &several, "lobpcg"));
    for (case, (signal, number, model, solver)) in cases.into_iter().enumerate() {
        let place = folder.path().join(format!("saved-{case}"));
        let place = place.to_str().unwrap();
        let solve = ["solve", model, "--device", "cpu", "--json", "--solver", solver, "--checkpoint", place];
        // Nothing but the signal saves anything.
        let child = start(&[&solve[..], &["--checkpoint-every", "1e9"]].concat());
        wait_for("lock", || holds(Path::new(place), &child));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.signal(), Some(number), "{model} {solver}: {said}");
        assert!(said.contains(&format!("SIG{signal}: the run ends as soon as its state is saved")), "{said}");
        assert!(said.contains(&format!("ended by SIG{signal}: the state is saved in {place}")), "{said}");
        assert_eq!(failed(&output), 128 + number);
        assert_eq!(states(Path::new(place)), 1, "{model} {solver}");
        let resumed = run(&[&solve[..], &["--resume"]].concat());
        let found = energy(&resumed, "energies");
        assert!((found - whole).abs() < 1e-9, "{model} {solver}: {found} is not {whole}");
        assert!(!Path::new(place).join(".eigenforge-lock").exists());
    }
}

#[test]
fn without_a_checkpoint_a_signal_ends_the_run_at_once_and_says_what_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let ring = file(folder.path(), "ring.toml", &RING.replace("size = 16", "size = 20").replace("1e-10", "1e-13"));
    let mut child = start(&["solve", &ring, "--device", "cpu", "--max-iterations", "1000000"]);
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    send("TERM", &child);
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15), "{first}{rest}");
    assert!(rest.contains("SIGTERM: ended, and nothing was saved; a run with --checkpoint DIR"), "{first}{rest}");
}

/// DMRG does not wait for the end of a half sweep: nothing is lost.
#[test]
fn a_signal_saves_a_sweep_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let chain = file(folder.path(), "chain.toml", &open_chain(48, "states = 64"));
    let whole = energy(&run(&["solve", &chain, "--device", "cpu", "--json"]), "energies");
    let place = folder.path().join("saved");
    let solve = ["solve", &chain, "--device", "cpu", "--json", "--checkpoint", place.to_str().unwrap()];
    let child = start(&solve);
    wait_for("half sweep", || place.join("half-00000001").exists());
    send("TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15), "{}", stderr(&output));
    assert!(stderr(&output).contains("the state is saved in"), "{}", stderr(&output));
    let resumed = energy(&run(&[&solve[..], &["--resume"]].concat()), "energies");
    assert!((resumed - whole).abs() < 1e-10, "{resumed} is not {whole}");
}

#[test]
fn the_second_run_in_a_folder_is_told_who_the_first_is() {
    let folder = tempfile::tempdir().unwrap();
    let water = super::gallery::root().join("tests/data/ci/H2O_631g_fc_0.96.FCIDUMP");
    for (kind, options, text) in [
        ("ed", &["--checkpoint", "--output"][..], RING.to_string()),
        ("ci", &["--output"], format!("[ci]\nfcidump = {water:?}\nspace = {{ excitations = 3 }}\n")),
        ("dmrg", &["--checkpoint", "--output"], open_chain(64, "states = 96")),
    ] {
        let input = file(folder.path(), &format!("{kind}.toml"), &text);
        for option in options {
            let place = folder.path().join(format!("{kind}{option}"));
            let arguments = ["solve", &input, "--device", "cpu", "--json", option, place.to_str().unwrap()];
            let mut first = start(&arguments);
            wait_for("lock", || holds(&place, &first));
            send("STOP", &first); // it waits, with its lock
            let second = run(&arguments);
            assert_eq!(failed(&second), 1, "{kind} {option}");
            let object: Value = serde_json::from_slice(&second.stdout).unwrap();
            let said = object["error"].as_str().unwrap();
            let who = format!("{} is in use by process {} on ", place.display(), first.id());
            assert!(said.contains(&who) && said.contains(" UTC: ") && said.contains("solve"), "{said}");
            // However it ends, its lock is gone.
            first.kill().unwrap();
            first.wait().unwrap();
            assert!(place.join(".eigenforge-lock").exists());
            let mut third = start(&arguments);
            wait_for("lock", || holds(&place, &third));
            third.kill().unwrap();
            third.wait().unwrap();
        }
    }
}

/// A limit on the size of files stands for a disk that is full: states do not fit, the result is printed, and it is said once.
#[test]
fn a_disk_that_takes_no_state_ends_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let water = super::gallery::root().join("tests/data/ci/H2O_631g_fc_0.96.FCIDUMP");
    for (kind, text) in [
        ("ed", RING.replace("size = 16", "size = 14")),
        ("ci", format!("[ci]\nfcidump = {water:?}\nspace = {{ excitations = 3 }}\n[solve]\nsolver = \"davidson\"\n")),
        ("dmrg", open_chain(20, "states = 32")),
    ] {
        let model = file(folder.path(), &format!("{kind}.toml"), &text);
        let place = folder.path().join(kind);
        let solve = ["solve", &model, "--device", "cpu", "--json", "--checkpoint", place.to_str().unwrap()];
        let every = if kind == "dmrg" { &[][..] } else { &["--checkpoint-every", "0"] };
        let arguments = [&solve[..], every].concat();
        let output = by_shell("trap '' XFSZ; ulimit -f 2;", &arguments, "");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{kind}: {said}");
        assert!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["energies"].is_array() || kind == "dmrg");
        assert_eq!(said.matches("the state could not be saved").count(), 1, "{kind}: {said}");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0, "{kind}");
    }
}

/// A share of `eigenforge bench resume`: kills at random moments, resumed when finished, resumed with other keys.
#[test]
fn killed_runs_of_several_kinds_end_where_undisturbed_ones_end() {
    for (only, kills) in [("dmrg, done again", "4"), ("dmrg, lists", "3"), ("states", "8")] {
        let output = run(&["bench", "resume", "--kills", kills, "--seed", "5", "--only", only]);
        assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains("| all |"), "{}", stdout(&output));
    }
}
