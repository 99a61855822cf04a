//! One model by processes on hosts that only a network joins (`tests/network/hosts.sh`): the numbers of one process, bytes that crossed the
//! links, and a link that goes down.

use super::command::{command, stderr, stdout};
use super::gallery::root;
use eigenforge::runtime::testing;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const RING: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 14\nboundary = \"periodic\"\n[sector]\ntwo_sz = 0\n";
const CHAIN: &str = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 6\n[sector]\nup = 3\ndown = 3\n";
/// What the script exits with where the machine lacks what it needs.
const NO_HOSTS: i32 = 77;

/// The command on so many hosts; `None`, said by name, where this machine has none.
fn hosts(words: &[&str], arguments: &[&str]) -> Option<(Output, u64)> {
    if !cfg!(feature = "mpi") {
        testing::skipped("no hosts: built without MPI");
        return None;
    }
    let mut script = Command::new("bash");
    script.current_dir(root()).arg("tests/network/hosts.sh").args(words).arg("--");
    script.arg(command(&[]).get_program()).args(arguments);
    let output = script.env("RAYON_NUM_THREADS", "1").stdin(Stdio::null()).output().unwrap();
    let said = stderr(&output);
    if output.status.code() == Some(NO_HOSTS) {
        testing::skipped(&format!("no hosts: {said}"));
        return None;
    }
    let received =
        said.lines().filter_map(|line| line.strip_prefix("received ")?.strip_suffix(" bytes")?.parse::<u64>().ok());
    Some((output, received.sum()))
}

fn report(output: &Output) -> Value {
    serde_json::from_str(stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    std::fs::write(folder.join(name), text).unwrap();
    folder.join(name).to_str().unwrap().into()
}

#[test]
fn hosts_have_the_numbers_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, count) in [("ring.toml", RING, "3"), ("chain.toml", CHAIN, "2")] {
        let path = file(folder.path(), name, text);
        let arguments = ["solve", &path, "--json", "--device", "cpu", "--solver", "lanczos", "--states", "2"];
        let Some((output, bytes)) = hosts(&[count], &arguments) else { return };
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let (together, alone) = (report(&output), report(&command(&arguments).output().unwrap()));
        for (a, b) in together["energies"].as_array().unwrap().iter().zip(alone["energies"].as_array().unwrap()) {
            assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-9, "{a} {b}");
        }
        assert_eq!(together["multiplicities"], alone["multiplicities"]);
        // All of x comes to each host in each multiply, but for its own share.
        let (ranks, rows) = (count.parse::<u64>().unwrap(), alone["dimension"].as_u64().unwrap());
        let least = together["multiplies"].as_u64().unwrap() * 8 * rows * (ranks - 1);
        assert!(bytes > least, "{bytes} bytes crossed the links, expected more than {least}: {}", stderr(&output));
    }
}

/// Half a minute of silence; run by `cargo xtask network`.
#[test]
#[ignore = "waits half a minute for a link that is down"]
fn a_link_that_goes_down_ends_all_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "ring.toml", &RING.replace("= 14", "= 24"));
    let (state, started) = (folder.path().join("state"), Instant::now());
    let cut = format!("cut={}/state-00000002", state.display());
    let checkpoint = ["--checkpoint", state.to_str().unwrap(), "--checkpoint-every", "1"];
    let arguments = [&["solve", &path, "--device", "cpu", "--solver", "lanczos"][..], &checkpoint].concat();
    let Some((output, _)) = hosts(&["2", &cut], &arguments) else { return };
    let said = stderr(&output);
    println!("ended {:.0} s after the start:\n{said}", started.elapsed().as_secs_f64());
    assert!(said.contains("the link of host2 is down") && !output.status.success(), "{said}");
    assert!(said.contains("host2") && said.contains("timed out") && said.contains("no rank is left"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    // Nobody is left, and what was saved goes on.
    std::thread::sleep(Duration::from_secs(2));
    let left = Command::new("pgrep").args(["-f", &path]).output();
    assert!(left.is_ok_and(|found| stdout(&found).trim().is_empty()), "a process is left");
    let resumed = command(&[&arguments[..], &["--resume", "--json"]].concat()).output().unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!((report(&resumed)["energies"][0].as_f64().unwrap() + 10.670_014_516_5).abs() < 1e-8);
}

/// Prints what a link of 1 Gbit/s, and a delay of 1 ms where the kernel has it, cost; run by `cargo xtask network`.
#[test]
#[ignore = "measures"]
fn slow_links_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "ring.toml", &RING.replace("= 14", "= 20"));
    let arguments = ["solve", &path, "--json", "--device", "cpu", "--solver", "lanczos"];
    for words in [&["2"][..], &["2", "rate=1000"], &["2", "rate=1000", "delay=1"]] {
        let Some((output, bytes)) = hosts(words, &arguments) else { continue };
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let found = report(&output);
        println!("{words:?}: solve {} s, {} multiplies, {bytes} bytes", found["seconds"]["solve"], found["multiplies"]);
    }
}
