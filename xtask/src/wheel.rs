//! The Python package: a wheel for others, and one of the suite's build, tested in an environment of its own.
//!
//! `cargo xtask wheel` builds the release with zig as linker, so that the file runs where glibc is 2.28 or newer. The suite's wheel has
//! the code that all tests have: what is tested of it is the package and its installation.

use crate::{Project, setup};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests of the package need from PyPI.
const FOR_TESTS: [&str; 3] = ["numpy", "scipy", "pytest"];
/// Other packages that it works with: `cargo xtask test --python`.
const PEERS: [&str; 9] = ["pyscf", "pandas", "matplotlib", "tqdm", "openfermion", "qiskit", "quspin", "mypy", "ruff"];

/// Builds the wheel that is given to others, and prints where it is.
pub fn release(project: &Project) -> Result<PathBuf, String> {
    let options = ["--profile", "wheel", "--zig", "--compatibility", "manylinux_2_28"];
    build(project, "build", &options, &project.target.join("wheels"), &[])
}

/// Packs the source of the package with the crates that it is made of, for `pip install` where there is Rust.
pub fn source(project: &Project) -> Result<PathBuf, String> {
    build(project, "sdist", &[], &project.target.join("source-package"), &[])
}

/// Builds a wheel of the suite's profile, installs it into a fresh environment and runs its tests there; `peers` also against other packages.
pub fn test(project: &Project, environment: &[(&'static str, OsString)], peers: bool) -> Result<(), String> {
    let has_mpi = environment.iter().any(|(name, _)| *name == "LIBCLANG_PATH");
    let features: &[&str] = if has_mpi { &["--features", "mpi"] } else { &[] };
    let wheel = match peers {
        true => release(project)?,
        // The MPI of the other tests is linked, and is no part of the wheel.
        false => {
            let options = [&["--profile", "suite", "--auditwheel", "skip"], features].concat();
            build(project, "build", &options, &project.target.join("test-wheel"), environment)?
        }
    };
    let folder = project.target.join("python-test");
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let python = folder.join("bin/python");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    let more: &[&str] = if peers { &PEERS } else { &[] };
    run(Command::new(&python).args(quiet).arg(&wheel).args(FOR_TESTS).args(more))?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]).arg(project.root.join("python/tests"));
    tests.envs(environment.iter().map(|(name, value)| (name, value)));
    // No Rust and no MPI; the simulator of kernels needs a C++ compiler.
    tests
        .env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()))
        .env("EIGENFORGE_ROOT", &project.root)
        .current_dir(&folder);
    run(&mut tests)
}

/// Runs a verb of maturin; the folder then holds the one file that it made.
fn build(
    project: &Project,
    verb: &str,
    options: &[&str],
    folder: &Path,
    environment: &[(&str, OsString)],
) -> Result<PathBuf, String> {
    let tools = setup::run(project, &setup::PYTHON);
    let place = tools.folder().ok_or_else(|| tools.to_string())?;
    fs::remove_dir_all(folder).ok();
    let mut maturin = Command::new(place.join("bin/maturin"));
    maturin.arg(verb).args(options).arg("--manifest-path").arg(project.root.join("python/Cargo.toml"));
    maturin.arg("--out").arg(folder).env("CARGO_TARGET_DIR", &project.target);
    maturin.envs(environment.iter().map(|(name, value)| (name, value)));
    // maturin asks Python for zig.
    maturin.env("PYTHONPATH", site_packages(place)).current_dir(&project.root);
    run(&mut maturin)?;
    let is_package = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "whl" || ending == "gz");
    let entries = fs::read_dir(folder).map_err(|fault| format!("{}: {fault}", folder.display()))?;
    let mut packages = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_package);
    packages.next().ok_or_else(|| format!("maturin left no package in {}", folder.display()))
}

/// Where pip puts packages under a prefix.
fn site_packages(prefix: &Path) -> PathBuf {
    let versions = fs::read_dir(prefix.join("lib")).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let found = versions.map(|version| version.join("site-packages")).find(|path| path.is_dir());
    found.unwrap_or_else(|| prefix.to_path_buf())
}

/// Runs a program to a good end.
pub fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(fault) => Err(format!("{name} cannot be started: {fault}")),
    }
}
