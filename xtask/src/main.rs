//! Developer commands, with nothing but Cargo: `cargo xtask setup`, `test`, `network`, `wheel`, `release`, `fuzz`, `gpu-test-binaries`.
//!
//! `setup` fetches NVIDIA's run-time compiler and disassemblers, and an MPI with libclang, from PyPI into the target folder, so
//! that every kernel is compiled and every feature built on machines with no GPU, no CUDA toolkit and no MPI. `test` is what
//! the README and `.ci/run` run: set-up, format, lints, documentation and tests, with tables of the steps and of the slowest test
//! programs at the end. Its heavy steps use one profile, `suite`: the release with checks. `fuzz` feeds nearly valid files to every reader,
//! `network` joins hosts on this machine by a network and runs MPI on them.
//! `gpu-test-binaries` builds what `gpu/test.sh` and `gpu/bench.sh` run on a machine that has a GPU and no Rust.

mod gpu;
mod mpi;
mod programs;
mod quickly;
mod release;
mod setup;
mod steps;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  setup               fetch NVRTC, nvdisasm, cuobjdump, Open MPI and libclang from PyPI into target/cuda-tools and
                      target/mpi-tools (needs python3 and network)
  test [--python] [--without TOOLS]
                      setup, format, lints, documentation and all tests; tables of the steps and of the slowest test
                      programs at the end. A machine that lacks one of compiler, nvrtc, mpi, python fails, unless TOOLS
                      (a list with commas) names it. --python tests the wheel beside PySCF, QuSpin, OpenFermion, Qiskit
  network             all tests of MPI processes on hosts that only a network joins (network namespaces; Linux with ip,
                      tc, nsenter and unshare), also the one that cuts a link and the one that measures slow ones
  wheel               build the Python package into target/wheels
  release             wheel, source packages and checksums of the last commit into target/release-files
  fuzz [--minutes N]  nearly valid files for every reader, N minutes long [default: 10]
  gpu-test-binaries   build the tests and the command in release and put them into gpu/bin, for gpu/test.sh";

fn main() -> ExitCode {
    if quickly::is_asked() {
        return quickly::compile();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let project = Project::find();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["setup"] => {
            let kits = [setup::CUDA, setup::MPI].map(|kit| setup::run(&project, &kit));
            kits.iter().for_each(|outcome| println!("{outcome}"));
            if kits.iter().all(|outcome| outcome.folder().is_some()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        ["test"] => steps::test(&project, "", false),
        ["test", "--python"] => steps::test(&project, "", true),
        ["test", "--without", tools] if tools.split(',').all(|tool| steps::TOOLS.contains(&tool)) => {
            steps::test(&project, tools, false)
        }
        ["wheel"] => report("the wheel is", wheel::release(&project)),
        ["release"] => report("the files are in", release::gather(&project)),
        ["network"] => network(&project),
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

/// Says where something is, or why it is not there.
fn report(what: &str, place: Result<PathBuf, String>) -> ExitCode {
    match place {
        Ok(place) => {
            println!("{what} {}", place.display());
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all tests of processes on hosts that only a network joins, those that wait and those that measure too.
fn network(project: &Project) -> ExitCode {
    let tools = setup::run(project, &setup::MPI);
    let folder = tools.folder().map(mpi::environment);
    let Some(Ok(environment)) = folder else {
        eprintln!("error: they need an MPI: `cargo xtask setup` fetches one");
        return ExitCode::FAILURE;
    };
    let features = ["--features", "eigenforge-command/mpi"];
    let test = ["test", "--profile", "suite", "-p", "eigenforge-command", "--test", "cli_and_input"];
    let which = ["--", "network::", "--include-ignored", "--nocapture", "--test-threads", "1"];
    passed(project.cargo(&[&test[..], &features, &which].concat()).envs(environment))
}

/// Runs the long fuzzing of the readers, which is a test that is passed over otherwise.
fn fuzz(project: &Project, minutes: &str) -> ExitCode {
    if !minutes.parse().is_ok_and(|minutes: f64| minutes > 0.0 && minutes.is_finite()) {
        eprintln!("error: --minutes {minutes}: expected a positive number\n{USAGE}");
        return ExitCode::from(2);
    }
    let test = [
        "test",
        "--profile",
        "suite",
        "--test",
        "cli_and_input",
        "--",
        "--exact",
        "fuzz::long",
        "--ignored",
        "--nocapture",
    ];
    passed(project.cargo(&test).env("EIGENFORGE_FUZZ_MINUTES", minutes))
}

/// Whether a command ran to a good end.
fn passed(command: &mut std::process::Command) -> ExitCode {
    match command.status() {
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
