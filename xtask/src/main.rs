//! Developer commands, with nothing but Cargo: `cargo xtask setup`, `test`, `fuzz`, `gpu-test-binaries`.
//!
//! `setup` fetches NVIDIA's run-time compiler and disassemblers from PyPI into `target/cuda-tools`, so that every kernel is
//! compiled in the tests on machines with no GPU and no CUDA toolkit. `test` is what the README and `.ci/run` run: set-up,
//! format, lints, documentation and tests, with a table of the steps at the end. All heavy steps use the release profile,
//! so that nothing is compiled in two profiles. `fuzz` feeds nearly valid files to every reader. `gpu-test-binaries` builds what
//! `gpu/test.sh` and `gpu/bench.sh` run on a machine that has a GPU and no Rust.

mod gpu;
mod setup;
mod steps;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  setup               fetch NVRTC, nvdisasm and cuobjdump from PyPI into target/cuda-tools (needs python3 and network)
  test                setup, format, lints, documentation and all tests; a table of the steps at the end
  fuzz [--minutes N]  nearly valid files for every reader, N minutes long [default: 10]
  gpu-test-binaries   build the tests and the command in release and put them into gpu/bin, for gpu/test.sh";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let project = Project::find();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["setup"] => {
            println!("{}", setup::run(&project));
            ExitCode::SUCCESS
        }
        ["test"] => steps::test(&project),
        ["fuzz"] => fuzz(&project, "10"),
        ["fuzz", "--minutes", minutes] => fuzz(&project, minutes),
        ["gpu-test-binaries"] => match gpu::test_binaries(&project) {
            Ok(()) => ExitCode::SUCCESS,
            Err(fault) => {
                eprintln!("error: {fault}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs the long fuzzing of the readers, which is a test that is passed over otherwise.
fn fuzz(project: &Project, minutes: &str) -> ExitCode {
    if !minutes.parse().is_ok_and(|minutes: f64| minutes > 0.0 && minutes.is_finite()) {
        eprintln!("error: --minutes {minutes}: expected a positive number\n{USAGE}");
        return ExitCode::from(2);
    }
    let test =
        ["test", "--release", "--test", "cli_and_input", "--", "--exact", "fuzz::long", "--ignored", "--nocapture"];
    let status = project.cargo(&test).env("EIGENFORGE_FUZZ_MINUTES", minutes).status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("error: cargo cannot be started: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// Where things are.
struct Project {
    /// The workspace.
    root: PathBuf,
    /// Cargo's target folder.
    target: PathBuf,
    /// The Cargo that runs this.
    cargo: PathBuf,
}

impl Project {
    fn find() -> Project {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().unwrap_or(manifest).to_path_buf();
        // This program is <target>/<profile>/xtask, wherever the configuration puts the target folder.
        let target = std::env::current_exe().ok().and_then(|program| Some(program.ancestors().nth(2)?.to_path_buf()));
        let target = target.unwrap_or_else(|| root.join("target"));
        let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        Project { root, target, cargo }
    }

    /// A Cargo command in the workspace, writing to the same target folder.
    fn cargo(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.cargo);
        command.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        command
    }
}
