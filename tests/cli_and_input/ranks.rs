//! One lattice model or molecule by several processes: `mpirun -n N eigenforge solve`. The numbers are those of one process, rank 0 alone prints and
//! writes, what is not shared out is refused, and a rank that fails or is killed ends all. Where MPI is not built in, several processes
//! are refused.

use super::command::{command, stderr, stdout};
use eigenforge::runtime::Device;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const CHAIN: &str = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 8\n[sector]\nup = 4\ndown = 4\n";
const RING: &str = "[model]\nname = \"xxz\"\njxy = 1.0\njz = 1.0\n[lattice]\nkind = \"chain\"\nsize = 18\nboundary = \"periodic\"\n\
    [sector]\ntwo_sz = 0\n[solve]\nsolver = \"lobpcg\"\ntolerance = 1e-11\ncertify = false\n";

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn processes(count: &str, arguments: &[&str]) -> Command {
    let program = command(&[]).get_program().to_owned();
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", count]).arg(program).args(arguments);
    command.env("RAYON_NUM_THREADS", "1").stdin(Stdio::null());
    command
}

fn energy(output: &Output) -> f64 {
    let found: Value =
        serde_json::from_str(stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)));
    found["energies"][0].as_f64().unwrap_or_else(|| panic!("{found}"))
}

#[test]
fn processes_solve_one_model_together() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let chain = file(folder, "chain.toml", CHAIN);
    if !cfg!(feature = "mpi") {
        let refused = command(&["solve", &chain]).env("OMPI_COMM_WORLD_SIZE", "4").output().unwrap();
        assert!(
            refused.status.code() == Some(2) && stderr(&refused).contains("--features mpi"),
            "{}",
            stderr(&refused)
        );
        return;
    }
    let alone = energy(&command(&["solve", &chain, "--json", "--device", "cpu"]).output().unwrap());
    let found = folder.join("found");
    let output = ["--output", found.to_str().unwrap(), "--vectors", "--trace", "trace.json"];
    let arguments = [&["solve", &chain, "--json", "--device", "cpu"][..], &output].concat();
    let together = processes("3", &arguments).current_dir(folder).output().unwrap();
    assert_eq!(together.status.code(), Some(0), "{}", stderr(&together));
    assert!((energy(&together) - alone).abs() < 1e-9, "{} {alone}", energy(&together));
    let said = stderr(&together);
    assert!(said.matches("wrote ").count() >= 2 && said.matches("report.json").count() == 1, "{said}");
    assert!(found.join("report.json").is_file() && folder.join("trace.json").is_file());

    let plan = processes("3", &["solve", &chain, "--device", "cpu", "--solver", "lanczos"]).output().unwrap();
    // 70 columns of 70 rows: at most 24 of a rank.
    let line = "ranks    3, 3 on this machine: each holds up to 0.0 MiB of a vector";
    let text = format!("{}{}", stdout(&plan), stderr(&plan));
    assert!(text.contains(line) && text.contains("3 ranks, each"), "{text}");

    // Each rank on a card of its own, a simulated one where there are not two.
    let card = if Device::cards() > 1 { "cuda" } else { "sim" };
    let short = file(folder, "short.toml", &CHAIN.replace("= 8", "= 6").replace("= 4\n", "= 3\n"));
    let options = ["--solver", "lanczos", "--json"];
    let alone = energy(&command(&[&["solve", &short, "--device", "cpu"], &options[..]].concat()).output().unwrap());
    let on_cards = processes("2", &[&["solve", &short, "--device", card], &options[..]].concat()).output().unwrap();
    assert_eq!(on_cards.status.code(), Some(0), "{}", stderr(&on_cards));
    assert!((energy(&on_cards) - alone).abs() < 1e-9, "{} {alone}", energy(&on_cards));

    let dmrg = format!("{CHAIN}[dmrg]\nstates = 20\n");
    for (text, options, says) in [
        (&dmrg[..], &[][..], "a DMRG state is not cut into shares"),
        (CHAIN, &["--device", "cuda:0"], "it names 1 card"),
        (CHAIN, &["--device", "sim:2"], "each rank has one"),
        (CHAIN, &["--states", "5000"], "5000"),
    ] {
        let path = file(folder, "refused.toml", text);
        let refused = processes("2", &[&["solve", &path][..], options].concat()).output().unwrap();
        let said = stderr(&refused);
        assert!(refused.status.code() == Some(2) && said.contains(says), "{:?} {said}", refused.status);
        assert_eq!(said.matches(says).count(), 1, "rank 0 alone says it: {said}");
    }
}

/// Beryllium in 6-31G: energies, spins and natural orbitals by rank 0 are those of one process; files and refusals.
#[test]
fn processes_solve_one_molecule_together() {
    if !cfg!(feature = "mpi") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fcidump = format!("{}/tests/data/ci/Be_631g.FCIDUMP", super::gallery::root().display());
    let molecule =
        |rest: &str| format!("[ci]\nfcidump = \"{fcidump}\"\n{rest}[solve]\nstates = 2\nsolver = \"davidson\"\n");
    let full = file(folder, "full.toml", &molecule(""));
    let stored = file(folder, "stored.toml", &molecule("space = { excitations = 2 }\nstorage = \"stored\"\n"));
    for (path, device, count) in [(&full, "cpu", "3"), (&stored, "cpu", "2"), (&full, "sim", "2")] {
        let report = |output: Output| -> Value {
            serde_json::from_str(stdout(&output)).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)))
        };
        let alone = report(command(&["solve", path, "--json", "--device", "cpu"]).output().unwrap());
        let found = folder.join("found");
        let arguments = ["solve", path, "--json", "--device", device, "--output", found.to_str().unwrap(), "--vectors"];
        let together = report(processes(count, &arguments).output().unwrap());
        for key in ["energies", "s_squared", "natural_occupations"] {
            let numbers = |report: &Value| -> Vec<f64> {
                report[key].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
            };
            let (one, all) = (numbers(&alone), numbers(&together));
            assert!(!one.is_empty() && one.len() == all.len(), "{key} {together}");
            assert!(one.iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-7), "{device}, {key}: {one:?} {all:?}");
        }
        let written = fs::read_dir(&found).unwrap().count();
        assert!(written >= 2 && found.join("report.json").is_file());
        fs::remove_dir_all(&found).unwrap();
    }
    let plan = processes("2", &["solve", &full, "--device", "cpu"]).output().unwrap();
    let text = format!("{}{}", stdout(&plan), stderr(&plan));
    assert!(
        text.contains("ranks    2, 2 on this machine: each holds up to") && text.contains("the whole vector"),
        "{text}"
    );
    // 13,521,038,400 determinants: two vectors of 101 GiB, which hosts with less than that have no room for.
    if Device::cpu().memory().total < 200 << 30 {
        let fcidump = super::gallery::root().join("benches/ci/peroxide_14_in_21.FCIDUMP");
        let large = file(folder, "large.toml", &format!("[ci]\nfcidump = {fcidump:?}\n"));
        let refused = processes("2", &["solve", &large, "--device", "cpu"]).output().unwrap();
        let said = format!("{}{}", stdout(&refused), stderr(&refused)).replace("\n  │ ", " ");
        assert!(!refused.status.success() && said.contains("neither fits 2 ranks"), "{said}");
        assert!(said.contains("for every rank to have the whole vector") && !said.contains("by itself"), "{said}");
    }
    let format = file(folder, "format.toml", &molecule("space = { excitations = 2 }\nformat = \"panels\"\n"));
    let refused = processes("2", &["solve", &format, "--device", "cpu"]).output().unwrap();
    assert!(
        refused.status.code() == Some(2) && stderr(&refused).contains("leave `format` out"),
        "{}",
        stderr(&refused)
    );
}

/// Energies of the points of a sweep.
fn energies(output: &Output) -> Vec<f64> {
    let found: Value =
        serde_json::from_str(stdout(output)).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)));
    let points = found["points"].as_array().unwrap_or_else(|| panic!("{found}"));
    points.iter().map(|point| point["energies"][0].as_f64().unwrap()).collect()
}

/// Points in rounds: rows, files and bits are those of one process, whatever the number of ranks; sectors are points too. A point that
/// fails is named once, and what was found before is kept.
#[test]
fn points_of_a_sweep_are_dealt_out_to_processes() {
    if !cfg!(feature = "mpi") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sweep = CHAIN.replace("u = 4.0", "u = { sweep = [4.0, 8.0, 1.0, 2.0, 3.0] }");
    let (sweep, saved) = (file(folder, "sweep.toml", &sweep), folder.join("saved"));
    let arguments = ["solve", &sweep, "--json", "--device", "cpu"];
    let alone = energies(&command(&arguments).env("RAYON_NUM_THREADS", "1").output().unwrap());
    assert_eq!(alone.len(), 5);
    let found = folder.join("found");
    let files = ["--output", found.to_str().unwrap(), "--checkpoint", saved.to_str().unwrap()];
    let together = processes("3", &[&arguments[..], &files].concat()).output().unwrap();
    assert_eq!(together.status.code(), Some(0), "{}", stderr(&together));
    assert_eq!(energies(&together), alone);
    let reports = |folder: &Path| {
        let points = fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.path().is_dir());
        points.filter(|point| point.path().join("report.json").is_file()).count()
    };
    assert_eq!(reports(&found), 5);
    // One process goes on from what three ranks have kept: nothing is left to solve.
    let resumed = command(&[&arguments[..], &files[2..], &["--resume"]].concat()).output().unwrap();
    assert_eq!(energies(&resumed), alone, "{}", stderr(&resumed));

    let ring = RING.replace("size = 18", "size = 8");
    let sectors = file(folder, "ring.toml", &ring);
    let arguments = ["solve", &sectors, "--json", "--device", "cpu", "--sectors", "all"];
    let alone = energies(&command(&arguments).env("RAYON_NUM_THREADS", "1").output().unwrap());
    let together = processes("2", &arguments).output().unwrap();
    assert_eq!(energies(&together), alone, "{}", stderr(&together));

    // A chain whose memory the second of four points limits too much: that is rank 1's.
    let failing =
        format!("{CHAIN}[dmrg]\nstates = 20\nmemory = {{ sweep = [\"1GiB\", \"1KiB\", \"2GiB\", \"3GiB\"] }}\n");
    let failing = file(folder, "failing.toml", &failing);
    let failed = processes("2", &["solve", &failing, "--device", "cpu"]).output().unwrap();
    let said = stderr(&failed);
    assert!(failed.status.code() == Some(2) && said.contains("1 of 4  memory = \"1GiB\""), "{said}");
    assert_eq!(said.matches("on rank 1: one bond needs about").count(), 1, "{said}");
    assert!(!said.contains("3GiB") && stdout(&failed).contains("1 point in"), "{said}");

    let plan = processes("3", &["solve", &sweep, "--device", "cpu"]).output().unwrap();
    let text = format!("{}{}", stdout(&plan), stderr(&plan));
    assert!(text.contains("ranks    3: each takes a point of every round, largest first"), "{text}");

    let cards = processes("2", &["solve", &sweep, "--device", "cuda:0"]).output().unwrap();
    assert!(cards.status.code() == Some(2) && stderr(&cards).contains("it names 1 card"), "{}", stderr(&cards));
}

/// The ranks of a run in a folder, by number.
fn process_of(rank: &str, folder: &Path) -> Option<String> {
    let holds = |path: &Path, text: &str| {
        fs::read(path)
            .is_ok_and(|bytes| bytes.split(|byte| *byte == 0).any(|part| String::from_utf8_lossy(part) == text))
    };
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    let folder = folder.to_str()?;
    let found = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .find(|entry| holds(&entry.path().join("environ"), &wanted) && holds(&entry.path().join("cmdline"), folder));
    Some(found?.file_name().to_string_lossy().into_owned())
}

/// Killed without a word: the launcher ends the others, and one process goes on from what was saved.
#[test]
fn a_killed_rank_ends_all_and_its_checkpoint_is_good() {
    if !cfg!(feature = "mpi") || !Path::new("/proc/self/environ").exists() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let (ring, saved) = (file(root.path(), "ring.toml", RING), root.path().join("saved"));
    let folder = saved.to_str().unwrap();
    let arguments = ["solve", &ring, "--json", "--device", "cpu", "--checkpoint", folder];
    let often = [&arguments[..], &["--checkpoint-every", "0"]].concat();
    let mut run = processes("3", &often).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let state = || {
        fs::read_dir(&saved).is_ok_and(|entries| {
            let written = |name: &str| name.starts_with("state-") && name > "state-00000002";
            entries.flatten().any(|entry| written(&entry.file_name().to_string_lossy()))
        })
    };
    while !state() {
        assert!(start.elapsed() < Duration::from_secs(60) && run.try_wait().unwrap().is_none(), "no state");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = process_of("1", &saved).expect("rank 1 is there");
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    let killed = Instant::now();
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success() && killed.elapsed() < Duration::from_secs(30), "{:?}", output.status);
    assert!(stderr(&output).contains("rank 1"), "{}", stderr(&output));
    assert!((0..3).all(|rank| process_of(&rank.to_string(), &saved).is_none()), "all have ended");

    let resumed = command(&[&arguments[..], &["--resume"]].concat()).output().unwrap();
    let whole = command(&["solve", &ring, "--json", "--device", "cpu"]).output().unwrap();
    assert!((energy(&resumed) - energy(&whole)).abs() < 1e-8, "{}", stderr(&resumed));
}
