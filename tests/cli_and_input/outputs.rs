//! Results are never lost: files come before words, a standard output that takes nothing costs none of them, and what cannot be
//! written is refused before the work.

use super::command::{command, run, stderr};
use super::standard_error::by_shell;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn chain(size: usize, jz: &str, more: &str) -> String {
    format!(
        "[model]\nname = \"xxz\"\njxy = 1.0\njz = {jz}\n[lattice]\nkind = \"chain\"\nsize = {size}\n[sector]\ntwo_sz = 0\n{more}"
    )
}

/// The text of standard error in one line, without the frame.
fn message(output: &Output) -> String {
    stderr(output).split_whitespace().filter(|word| *word != "│" && *word != "×").collect::<Vec<_>>().join(" ")
}

/// The command with a standard output whose reader has gone before anything is written.
fn to_a_closed_pipe(arguments: &[&str]) -> Output {
    let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap()
}

#[test]
fn a_closed_or_full_standard_output_costs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let model = file(folder.path(), "model.toml", &chain(8, "1.0", ""));
    let sweep = file(folder.path(), "sweep.toml", &chain(6, "{ sweep = [0.5, 1.0, 1.5] }", ""));
    let dmrg = file(folder.path(), "dmrg.toml", &chain(8, "1.0", "[dmrg]\nstates = 16\n"));
    let jisp16 = "tests/data/su3/jisp16_Nmax20_hw20.0_rel.dat";
    for (name, words, files) in [
        (
            "solve",
            vec!["solve", &model, "--device", "cpu", "--vectors", "--output"],
            vec!["report.json", "vectors.npz"],
        ),
        ("json", vec!["solve", &model, "--device", "cpu", "--json", "--output"], vec!["report.json"]),
        ("dmrg", vec!["solve", &dmrg, "--device", "cpu", "--output"], vec!["report.json"]),
        (
            "sweep",
            vec!["solve", &sweep, "--device", "cpu", "--output"],
            vec!["sweep.json", "sweep.csv", "jz=0.5/report.json", "jz=1.5/report.json"],
        ),
        ("export", vec!["export", &model, "--format", "npz", "--output"], vec![""]),
        (
            "su3",
            vec!["su3", "transform", "--interaction", jisp16, "--n-max", "1", "--device", "cpu", "--output"],
            vec![""],
        ),
        ("elements", vec!["su3", "elements", "--interaction", jisp16, "--n-max", "1", "--output"], vec![""]),
    ] {
        for (how, full) in [("closed", false), ("full", true)] {
            let place = at(&format!("{name}-{how}"));
            let words = [&words[..], &[&place]].concat();
            let output = if full { by_shell("", &words, ">/dev/full") } else { to_a_closed_pipe(&words) };
            let said = message(&output);
            assert_eq!(output.status.code(), Some(1), "{name} {how}: {said}");
            assert!(
                said.contains("standard output") && said.contains(&format!("{name}-{how}")),
                "{name} {how}: {said}"
            );
            for file in &files {
                let written = Path::new(&place).join(file);
                let written = if file.is_empty() { Path::new(&place) } else { &written };
                assert!(written.metadata().is_ok_and(|data| data.len() > 0), "{}", written.display());
            }
        }
    }
    for words in [&["inspect", &model][..], &["--help"], &["solve", "--help"], &["su3", "count", "--n-max", "2"]] {
        let output = by_shell("", words, ">/dev/full");
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(message(&output).contains("standard output"), "{words:?}: {}", message(&output));
    }
}

/// A run that would take minutes is refused at once.
#[test]
fn outputs_are_checked_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let long = file(
        folder.path(),
        "long.toml",
        &chain(22, "1.0", "[solve]\nsolver = \"lanczos\"\ntolerance = 1e-13\nstates = 6\n"),
    );
    let (plain, locked, taken) = (at("plain"), at("locked"), at("taken"));
    fs::write(&plain, "").unwrap();
    fs::write(&locked, "keep").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o444)).unwrap();
    fs::create_dir_all(format!("{taken}/report.json")).unwrap();
    symlink("nowhere", at("link")).unwrap();
    let inside = format!("{plain}/x");
    let solve = |option, place| ["solve", long.as_str(), "--device", "cpu", option, place];
    for (words, found) in [
        (&solve("--output", &plain)[..], "found a file"),
        (&solve("--output", &inside), "which is a file"),
        (&solve("--output", &at("link")), "a link to nothing"),
        (&solve("--output", &taken), "report.json"),
        (&solve("--trace", &taken), "found a folder"),
        (&solve("--trace", &locked), "a read-only file"),
        (&solve("--trace", &inside), "which is a file"),
        (&["export", &long, "--format", "npz", "--output", &taken], "found a folder"),
        (&["export", &long, "--format", "npz", "--output", &inside], "which is a file"),
        (&["export", &long, "--format", "npz", "--output", &plain], "--force"),
    ] {
        let start = Instant::now();
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", message(&output));
        assert!(message(&output).contains(found), "{words:?}: {}", message(&output));
        assert!(start.elapsed() < Duration::from_secs(20), "{words:?}");
    }
    assert_eq!(fs::read_to_string(&locked).unwrap(), "keep");
}

#[test]
fn what_is_no_regular_file_is_written_to_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let model = file(folder.path(), "model.toml", &chain(4, "1.0", ""));
    let (pipe, link, target) = (at("pipe"), at("link"), at("target"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(&target, "old").unwrap();
    symlink("target", &link).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    let export = |place: &str, format: &str| {
        let output = run(&["export", &model, "--format", format, "--force", "--output", place]);
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        let sized = place == link;
        assert_eq!(String::from_utf8_lossy(&output.stdout).contains("KiB"), sized, "{place}: a stream keeps no bytes");
    };
    export(&pipe, "npz");
    assert!(reader.join().unwrap().starts_with(b"PK"));
    export(&link, "matrix-market");
    export("/dev/null", "npz");
    let traced = run(&["solve", &model, "--device", "cpu", "--trace", "/dev/null"]);
    assert_eq!(traced.status.code(), Some(0), "{}", message(&traced));
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().starts_with("%%MatrixMarket"));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

/// A folder that was made for a run that a signal ended is not left with a lock in it.
#[test]
fn a_signal_leaves_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let model =
        file(folder.path(), "long.toml", &chain(20, "1.0", "[solve]\nsolver = \"lobpcg\"\ntolerance = 1e-13\n"));
    let place = folder.path().join("results");
    let words = ["solve", &model, "--device", "cpu", "--output", place.to_str().unwrap()];
    for signal in ["TERM", "HUP"] {
        let mut child = command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let start = Instant::now();
        // The lock is written before signals are watched: progress comes after both.
        let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("iteration") && start.elapsed() < Duration::from_secs(60) {
            line.clear();
            std::io::BufRead::read_line(&mut err, &mut line).unwrap();
        }
        assert!(place.join(".eigenforge-lock").exists(), "the run should hold its folder");
        let sent = std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        assert!(!place.exists(), "{signal}");
    }
}
