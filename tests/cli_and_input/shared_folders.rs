//! Folders that others may write to: nothing in them is executed, loaded or waited for.

use super::command::{command, run, stderr, stdout};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn with_cache(cache: &Path, arguments: &[&str]) -> Output {
    command(arguments).env("EIGENFORGE_CACHE", cache).output().unwrap()
}

/// Folders below one, the deepest first.
fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir()).flat_map(|path| folders_below(&path)).collect();
    found.push(folder.into());
    found
}

/// A script in place of a compiled simulation must not run, whoever put it there.
#[test]
fn a_planted_program_is_not_run() {
    if eigenforge_runtime::testing::simulator().is_none() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let model = root.path().join("ring.toml");
    let ring = "[model]\nname = \"hubbard\"\nt = 1.0\nu = 4.0\n[lattice]\nkind = \"chain\"\nsize = 4\n[sector]\nup = 1\ndown = 1\n\
        [solve]\nsolver = \"dense\"\n";
    fs::write(&model, ring).unwrap();
    let cache = root.path().join("cache");
    let programs = root.path().join("cache-simulate");
    // Relative paths are those of this process, not of the compiler.
    let solve = |cache: &Path| {
        let arguments = ["solve", model.to_str().unwrap(), "--device", "sim", "--json"];
        let output = command(&arguments).current_dir(root.path()).env("EIGENFORGE_CACHE", cache).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (report["energies"][0].as_f64().unwrap(), stderr(&output))
    };
    let (energy, said) = solve(Path::new("cache"));
    assert!(!said.contains("ignored"), "{said}");
    let mine = folders_below(&programs);
    assert!(mine.len() > 2, "{mine:?}");
    for folder in &mine {
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
    }
    let marker = root.path().join("marker");
    let plant = || {
        for folder in &mine {
            for name in ["watched", "sanitized"] {
                let program = folder.join(name);
                if program.exists() {
                    fs::write(&program, format!("#!/bin/sh\nid > {}\n", marker.display())).unwrap();
                }
            }
        }
    };
    // In a folder of one's own they differ from their record, and are compiled again.
    plant();
    let (again, said) = solve(&cache);
    assert!(again == energy && !marker.exists() && !said.contains("ignored"), "{said}");
    // In one that everybody may write to nothing is looked at.
    plant();
    mode(&programs, 0o777);
    let (again, said) = solve(&cache);
    assert!(again == energy && !marker.exists(), "{said}");
    assert_eq!(said.matches(&format!("the folder {} is ignored", programs.display())).count(), 1, "{said}");
    assert!(said.contains("mode 0777") && said.contains("EIGENFORGE_CACHE"), "{said}");
}

#[test]
fn a_kernel_cache_of_others_is_left_aside() {
    let root = tempfile::tempdir().unwrap();
    let cache = root.path().join("cache");
    fs::create_dir(&cache).unwrap();
    assert_eq!(with_cache(&cache, &["cache", "verify"]).status.code(), Some(0));
    type Case<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let mut cases: Vec<Case<'_>> = vec![
        ("others may write to it (mode 0777)", Box::new(|| mode(&cache, 0o777))),
        ("others may write to it (mode 0770)", Box::new(|| mode(&cache, 0o770))),
    ];
    if chown(&cache, Some(65_534), None).is_ok() {
        chown(&cache, Some(0), None).unwrap();
        cases.push(("it belongs to user 65534", Box::new(|| chown(&cache, Some(65_534), None).unwrap())));
    }
    for (why, prepare) in &cases {
        mode(&cache, 0o700);
        prepare();
        for verb in ["list", "verify", "clear"] {
            let output = with_cache(&cache, &["cache", verb]);
            assert_eq!(output.status.code(), Some(1), "{verb}: {}", stdout(&output));
            assert_eq!(stderr(&output).matches(why).count(), 1, "{verb}: {}", stderr(&output));
        }
        let doctor = with_cache(&cache, &["doctor"]);
        assert!(stdout(&doctor).contains(why), "{}", stdout(&doctor));
    }
}

/// A record that never ends, or that nobody writes, is damage like any other, and `verify` says so twice: the list on standard
/// output, the verdict on standard error.
#[test]
fn special_files_in_a_cache_are_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let entry = |name: &str| {
        let folder = root.path().join(format!("{name}-kernel-sm_90"));
        fs::create_dir(&folder).unwrap();
        folder.join("entry.ron")
    };
    assert!(std::process::Command::new("mkfifo").arg(entry("0123456789abcdef")).status().unwrap().success());
    symlink("/dev/zero", entry("0123456789abcde0")).unwrap();
    fs::write(entry("0123456789abcde1"), vec![b' '; 2 << 20]).unwrap();
    let tables = root.path().join("su3-tables");
    fs::create_dir(&tables).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg(tables.join("w0-1-0123456789abcdef.table"))
            .status()
            .unwrap()
            .success()
    );
    let start = Instant::now();
    assert_eq!(with_cache(root.path(), &["cache", "list"]).status.code(), Some(0));
    let verified = with_cache(root.path(), &["cache", "verify"]);
    assert_eq!(verified.status.code(), Some(1));
    assert!(stdout(&verified).contains("4 entries checked, 4 faulty"), "{}", stdout(&verified));
    assert!(stderr(&verified).contains("error: 4 of 4 entries are damaged"), "{}", stderr(&verified));
    assert!(start.elapsed() < Duration::from_secs(20));
    assert!(run(&["doctor"]).status.success());
}
