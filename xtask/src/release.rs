//! `cargo xtask release`: what is given to others, in `target/release-files`.
//!
//! | file | what it is |
//! |---|---|
//! | eigenforge-VERSION-cp310-abi3-….whl | the wheel: package and command, without Rust |
//! | eigenforge-VERSION.tar.gz | the same from source, for `pip install` with Rust (other machines) |
//! | eigenforge-VERSION-repository.tar.gz | the committed files: the Rust crates, tests, documentation |
//! | SHA256SUMS | checksums, for `sha256sum --check` |
//!
//! The three are of one commit, so a working tree with changes is refused.

use crate::{Project, wheel};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes the checksums of a folder's files, as `sha256sum` does; Python is there, since maturin needs it.
const CHECKSUMS: &str = "\
import hashlib, pathlib, sys
folder = pathlib.Path(sys.argv[1])
files = sorted(path for path in folder.iterdir() if path.name != 'SHA256SUMS')
lines = [f'{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\\n' for path in files]
(folder / 'SHA256SUMS').write_text(''.join(lines))
";

/// Gathers the files, and returns their folder.
pub fn gather(project: &Project) -> Result<PathBuf, String> {
    let changes = printed_text(Command::new("git").args(["status", "--porcelain"]).current_dir(&project.root))?;
    if !changes.is_empty() {
        return Err(format!("the files of a release are those of a commit, and these have changes:\n{changes}"));
    }
    let folder = project.target.join("release-files");
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder).map_err(|fault| format!("{}: {fault}", folder.display()))?;
    for file in [wheel::release(project)?, wheel::source(project)?] {
        let name = file.file_name().ok_or_else(|| format!("{} has no name", file.display()))?;
        fs::copy(&file, folder.join(name)).map_err(|fault| format!("{}: {fault}", file.display()))?;
    }
    let stem = format!("eigenforge-{}", env!("CARGO_PKG_VERSION"));
    let archive = folder.join(format!("{stem}-repository.tar.gz"));
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar.gz"]).arg(format!("--prefix={stem}/")).arg("--output").arg(&archive).arg("HEAD");
    wheel::run(git.current_dir(&project.root))?;
    checksums(&folder)?;
    Ok(folder)
}

/// Writes SHA256SUMS.
fn checksums(folder: &Path) -> Result<(), String> {
    wheel::run(Command::new("python3").args(["-c", CHECKSUMS]).arg(folder))
}

/// What a program prints.
fn printed_text(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|fault| format!("{name} cannot be started: {fault}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_string()),
        false => Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim_end())),
    }
}
