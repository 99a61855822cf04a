//! What `#[gpu_operator]` says about wrong definitions: each file of `tests/ui/refused` is one mistake, its name the mistake,
//! the `.stderr` beside it the message with its place.
//!
//! rustc checks each file against the library that this program was linked with, so nothing is compiled for it.
//! UPDATE_EXPECT=1 writes the messages anew. `tests/ui/accepted.rs` holds definitions that look like mistakes and are none; it
//! is compiled and run here.

#[path = "ui/accepted.rs"]
mod accepted;

use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines of rustc that count errors or point to its manual.
const LEFT_OUT: [&str; 3] = ["error: aborting due to", "For more information about", "Some errors have detailed"];

/// Files of a folder with an ending, sorted.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.to_str().is_some_and(|p| p.ends_with(ending))).collect();
    files.sort();
    files
}

/// rustc's name for a library in the folder of this program; the newest where several builds left theirs.
fn library(folder: &Path, name: &str, ending: &str) -> String {
    let start = format!("{}{name}-", std::env::consts::DLL_PREFIX);
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&start);
    let libraries = files(folder, ending).into_iter().filter(named);
    let newest = libraries.max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    let newest = newest.unwrap_or_else(|| panic!("{} has no {start}*{ending}", folder.display()));
    format!("{name}={}", newest.display())
}

/// What rustc says of a file, less the lines that count.
fn diagnostics(case: &Path, root: &Path, folder: &Path, libraries: &[String; 2], output: &Path) -> String {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(root).args(["--edition=2024", "--crate-type=bin", "--emit=metadata", "--crate-name=refused"]);
    rustc.args(["-A", "dead_code", "--diagnostic-width=140", "--color=never", "-o"]);
    rustc.arg(output.join(case.file_stem().unwrap())).arg("-L").arg(format!("dependency={}", folder.display()));
    libraries.iter().for_each(|library| _ = rustc.arg("--extern").arg(library));
    rustc.arg(case.strip_prefix(root).unwrap());
    let output = rustc.output().unwrap();
    assert!(!output.status.success(), "{} was accepted", case.display());
    let text = String::from_utf8(output.stderr).unwrap();
    let kept: Vec<&str> = text.lines().filter(|line| !LEFT_OUT.iter().any(|start| line.starts_with(start))).collect();
    kept.join("\n").trim_end().to_string() + "\n"
}

#[test]
fn each_mistake_is_reported_at_the_term() {
    let root = std::env::var("EIGENFORGE_ROOT").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    let (root, program) = (PathBuf::from(root), std::env::current_exe().unwrap());
    let (folder, output) = (program.parent().unwrap(), tempfile::tempdir().unwrap());
    let macros = library(folder, "eigenforge_macros", std::env::consts::DLL_SUFFIX);
    let libraries = [library(folder, "eigenforge", ".rlib"), macros];
    let cases = files(&root.join("tests/ui/refused"), ".rs");
    assert!(cases.len() >= 34, "only {} cases in tests/ui/refused", cases.len());
    let found: Vec<String> =
        cases.par_iter().map(|case| diagnostics(case, &root, folder, &libraries, output.path())).collect();
    let mut wrong = 0;
    for (case, found) in cases.iter().zip(found) {
        let file = case.with_extension("stderr");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, &found).unwrap();
        } else if std::fs::read_to_string(&file).unwrap() != found {
            println!("{} is not what rustc says (UPDATE_EXPECT=1 writes it anew):\n{found}", file.display());
            wrong += 1;
        }
    }
    assert_eq!(wrong, 0, "messages that differ are above");
}
