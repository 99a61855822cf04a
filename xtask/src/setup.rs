//! `cargo xtask setup`: NVRTC, nvdisasm and cuobjdump from PyPI into `<target>/cuda-tools`.
//!
//! Idempotent and quick once done: a stamp file names what was fetched. The folder appears by renaming, so an interrupted
//! set-up leaves nothing half done. Without Python or network it says so, and everything that needs no NVRTC goes on.

use crate::Project;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// NVIDIA's wheels, of one major version of CUDA.
const PACKAGES: [&str; 3] =
    ["nvidia-cuda-nvrtc>=13,<14", "nvidia-cuda-nvdisasm>=13,<14", "nvidia-cuda-cuobjdump>=13,<14"];
/// Written last; holds the packages' names.
const STAMP: &str = "eigenforge-setup.txt";

/// How the set-up ended.
pub enum Outcome {
    /// Everything was there already.
    Ready(PathBuf),
    /// Fetched now.
    Fetched(PathBuf),
    /// Not to be had; what each way said.
    Absent(Vec<String>),
}

impl Outcome {
    /// Whether the tools are there.
    pub fn is_ready(&self) -> bool {
        !matches!(self, Outcome::Absent(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ready(folder) => write!(f, "NVRTC and the disassemblers are in {}", folder.display()),
            Outcome::Fetched(folder) => {
                write!(f, "NVRTC and the disassemblers were fetched from PyPI into {}", folder.display())
            }
            Outcome::Absent(reasons) => write!(
                f,
                "NVRTC and the disassemblers could not be fetched from PyPI (python3 with pip and a network are needed), \
                 so tests that need them are skipped unless a CUDA toolkit is there:\n  {}",
                reasons.join("\n  ")
            ),
        }
    }
}

/// Fetches what is missing.
pub fn run(project: &Project) -> Outcome {
    let folder = project.target.join("cuda-tools");
    let wanted = PACKAGES.join("\n") + "\n";
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == wanted) {
        return Outcome::Ready(folder);
    }
    let fresh = project.target.join(format!("cuda-tools.{}.tmp", std::process::id()));
    let mut reasons = Vec::new();
    for installer in [&["python3", "-m", "pip"][..], &["python", "-m", "pip"], &["uv", "pip"]] {
        fs::remove_dir_all(&fresh).ok();
        let outcome = install(installer, &fresh)
            .and_then(|()| fs::write(fresh.join(STAMP), &wanted).map_err(|e| e.to_string()))
            .and_then(|()| put(&fresh, &folder).map_err(|e| e.to_string()));
        match outcome {
            Ok(()) => return Outcome::Fetched(folder),
            Err(reason) => reasons.push(format!("{}: {reason}", installer.join(" "))),
        }
    }
    fs::remove_dir_all(&fresh).ok();
    Outcome::Absent(reasons)
}

/// Installs the packages into a folder; the text of the error is what the installer said last.
fn install(installer: &[&str], folder: &Path) -> Result<(), String> {
    let mut command = Command::new(installer[0]);
    command.args(&installer[1..]).args(["install", "--quiet", "--no-deps", "--target"]).arg(folder).args(PACKAGES);
    if installer.last() == Some(&"pip") && installer[0] != "uv" {
        command.args([
            "--disable-pip-version-check",
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
