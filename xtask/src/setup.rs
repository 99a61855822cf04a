//! `cargo xtask setup`: tools from PyPI, in folders of Cargo's target folder.
//!
//! `cuda-tools` has NVRTC, nvdisasm and cuobjdump; `mpi-tools` has Open MPI and libclang, which the feature `mpi` is built
//! with; `python-tools` what builds the Python package. Idempotent and quick once done: a stamp file names what was fetched. A folder appears by renaming, so an
//! interrupted set-up leaves nothing half done.

use crate::Project;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Wheels that go into one folder.
pub struct Kit {
    /// For people.
    pub name: &'static str,
    /// In the target folder.
    pub folder: &'static str,
    /// Names and versions on PyPI.
    packages: &'static [&'static str],
    /// pip's option for the place: `--target` puts Python's packages there, `--prefix` also `bin`, `include` and `lib`.
    place: &'static str,
}

/// NVIDIA's wheels, of one major version of CUDA.
pub const CUDA: Kit = Kit {
    name: "NVRTC and the disassemblers",
    folder: "cuda-tools",
    packages: &["nvidia-cuda-nvrtc>=13,<14", "nvidia-cuda-nvdisasm>=13,<14", "nvidia-cuda-cuobjdump>=13,<14"],
    place: "--target",
};
/// An MPI with its compiler and launcher, and the library that reads its header.
pub const MPI: Kit = Kit {
    name: "Open MPI and libclang",
    folder: "mpi-tools",
    packages: &["openmpi>=5,<6", "libclang>=18,<19"],
    place: "--prefix",
};
/// What builds the Python package, and a linker for older systems.
pub const PYTHON: Kit = Kit {
    name: "maturin and zig",
    folder: "python-tools",
    packages: &["maturin>=1.16,<2", "ziglang>=0.13,<0.16"],
    place: "--prefix",
};
/// Written last; holds the packages' names.
const STAMP: &str = "eigenforge-setup.txt";

/// How the set-up of a kit ended.
pub enum Outcome {
    /// Everything was there already.
    Ready(&'static str, PathBuf),
    /// Fetched now.
    Fetched(&'static str, PathBuf),
    /// Not to be had; what each way said.
    Absent(&'static str, Vec<String>),
}

impl Outcome {
    /// Where the tools are.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Outcome::Ready(_, folder) | Outcome::Fetched(_, folder) => Some(folder),
            Outcome::Absent(..) => None,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ready(name, folder) => write!(f, "{name} are in {}", folder.display()),
            Outcome::Fetched(name, folder) => write!(f, "{name} were fetched from PyPI into {}", folder.display()),
            Outcome::Absent(name, reasons) => write!(
                f,
                "{name} could not be fetched from PyPI (python3 with pip and a network are needed):\n  {}",
                reasons.join("\n  ")
            ),
        }
    }
}

/// Fetches what is missing of a kit.
pub fn run(project: &Project, kit: &Kit) -> Outcome {
    let folder = project.target.join(kit.folder);
    let wanted = kit.packages.join("\n") + "\n";
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == wanted) {
        return Outcome::Ready(kit.name, folder);
    }
    let fresh = project.target.join(format!("{}.{}.tmp", kit.folder, std::process::id()));
    let mut reasons = Vec::new();
    for installer in [&["python3", "-m", "pip"][..], &["python", "-m", "pip"], &["uv", "pip"]] {
        fs::remove_dir_all(&fresh).ok();
        let outcome = install(installer, kit, &fresh)
            .and_then(|()| fs::write(fresh.join(STAMP), &wanted).map_err(|e| e.to_string()))
            .and_then(|()| put(&fresh, &folder).map_err(|e| e.to_string()));
        match outcome {
            Ok(()) => return Outcome::Fetched(kit.name, folder),
            Err(reason) => reasons.push(format!("{}: {reason}", installer.join(" "))),
        }
    }
    fs::remove_dir_all(&fresh).ok();
    Outcome::Absent(kit.name, reasons)
}

/// Installs the packages into a folder; the text of the error is what the installer said last.
fn install(installer: &[&str], kit: &Kit, folder: &Path) -> Result<(), String> {
    let mut command = Command::new(installer[0]);
    command.args(&installer[1..]).args(["install", "--quiet", "--no-deps", kit.place]).arg(folder).args(kit.packages);
    if installer.last() == Some(&"pip") && installer[0] != "uv" {
        command.args([
            "--disable-pip-version-check",
            "--ignore-installed",
            "--no-warn-script-location",
            "--no-input",
            "--only-binary=:all:",
            "--retries",
            "2",
            "--timeout",
            "20",
        ]);
    }
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rev().find(|line| line.contains("ERROR") || line.contains("error"));
    Err(line.or(said.lines().last()).unwrap_or("it failed without a word").trim().to_string())
}

/// Renames the new folder into place of the old one.
fn put(fresh: &Path, folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::rename(fresh, folder)
}
