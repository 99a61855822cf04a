//! `cargo xtask test`: the steps, one after the other, each also when an earlier one failed, with a table of them and one of
//! the slowest test programs at the end.

use crate::programs::{Built, build};
use crate::{Project, mpi, quickly, setup, wheel};
use std::ffi::OsString;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What `--without` may name; the tests read it as `EIGENFORGE_TEST_WITHOUT`.
pub const TOOLS: [&str; 4] = ["compiler", "nvrtc", "mpi", "python"];
/// The profile of all heavy steps.
const PROFILE: [&str; 2] = ["--profile", "suite"];
/// Test programs that run beside each other: more than cores, since many of their tests wait for compilers and other programs.
const AT_ONCE: usize = 3;
/// Test programs that take longest, which start first: no long one is left to run alone at the end.
const LONGEST: [&str; 11] = [
    "command.cli_and_input-test",
    "command.dmrg-test",
    "simulate-test",
    "reference-test",
    "ci-test",
    "command.sparse-test",
    "runtime.eigenforge_runtime-lib",
    "benches.eigenforge_benches-lib",
    "exact.eigenforge_exact-lib",
    "runtime.runtime-test",
    "command.su3-test",
];
/// Test programs that are listed.
const LISTED: usize = 10;

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// The machine lacks what it needs.
    Skipped,
}

/// A step done.
struct Step {
    name: &'static str,
    verdict: Verdict,
    seconds: f64,
    /// Seconds of processors.
    processor_seconds: f64,
}

/// All that the steps share.
struct Suite<'a> {
    project: &'a Project,
    /// For Cargo and the test programs.
    environment: Vec<(&'static str, OsString)>,
    /// `--features mpi` where there is one.
    features: Vec<&'static str>,
    steps: Vec<Step>,
    /// Test programs with the seconds of each.
    programs: Vec<(String, f64)>,
}

/// Runs all steps; `without` names the tools that the machine may lack.
///
/// With `peers` the Python package is also tested against the other packages that it works with.
pub fn test(project: &Project, without: &str, peers: bool) -> ExitCode {
    let (environment, features) = (vec![("EIGENFORGE_TEST_WITHOUT", without.into())], Vec::new());
    let mut suite = Suite { project, environment, features, steps: Vec::new(), programs: Vec::new() };
    suite.step("setup", |suite| suite.set_up(without));
    suite.cargo("format", Some("fmt"), &["fmt", "--all", "--check"], &[]);
    suite.tests();
    if without.split(',').any(|tool| tool == "python") {
        println!("\nthe tests of the Python package are left out");
    } else {
        suite.step("Python package", |suite| {
            let compiler = [&suite.environment[..], &quickly::environment()].concat();
            match wheel::test(suite.project, &compiler, peers) {
                Ok(()) => (Verdict::Passed, ()),
                Err(fault) => {
                    println!("{fault}");
                    (Verdict::Failed, ())
                }
            }
        });
    }
    suite.report()
}

impl<'a> Suite<'a> {
    /// Runs a step and notes how it ended.
    fn step<T>(&mut self, name: &'static str, run: impl FnOnce(&mut Self) -> (Verdict, T)) -> T {
        println!("\n=== {name}");
        let (started, before) = (Instant::now(), processor_seconds());
        let (verdict, result) = run(self);
        let (seconds, processor_seconds) = (started.elapsed().as_secs_f64(), processor_seconds() - before);
        self.steps.push(Step { name, verdict, seconds, processor_seconds });
        result
    }

    /// Fetches the tools.
    fn set_up(&mut self, without: &str) -> (Verdict, ()) {
        let may_lack = |tool: &str| without.split(',').any(|name| name == tool);
        let mut verdict = Verdict::Passed;
        let mut note = |tool: &str, fault: &str| {
            println!("{fault}");
            if may_lack(tool) {
                println!("tests of {tool} are left out");
            } else {
                println!("`cargo xtask test --without {tool}` goes on without");
                verdict = Verdict::Failed;
            }
        };
        // Where a CUDA toolkit is installed the tests find it, and fail by themselves where none is.
        println!("{}", setup::run(self.project, &setup::CUDA));
        let tools = (!may_lack("mpi")).then(|| setup::run(self.project, &setup::MPI));
        match tools.as_ref().map(|tools| tools.folder().map(mpi::environment).ok_or_else(|| tools.to_string())) {
            None => note("mpi", "the feature `mpi` is not built"),
            Some(Ok(Ok(environment))) => {
                self.environment.extend(environment);
                self.features.extend(["--features", "eigenforge-command/mpi"]);
                tools.iter().for_each(|tools| println!("{tools}"));
            }
            Some(Ok(Err(fault)) | Err(fault)) => note("mpi", &fault),
        }
        (verdict, ())
    }

    /// Arguments of Cargo with the profile and the features.
    fn heavy<'b>(&self, arguments: &[&'b str]) -> Vec<&'b str>
    where
        'a: 'b,
    {
        [arguments, &PROFILE, &self.features].concat()
    }

    /// A step that is one Cargo command, left out where Cargo lacks the component.
    fn cargo(&mut self, name: &'static str, component: Option<&str>, arguments: &[&str], more: &[(&str, OsString)]) {
        self.step(name, |suite| {
            let asked = |name| suite.project.cargo(&[name, "--version"]).output();
            if component.is_some_and(|name| !asked(name).is_ok_and(|output| output.status.success())) {
                return (Verdict::Skipped, ());
            }
            let mut command = suite.project.cargo(arguments);
            command.envs(suite.environment.iter().map(|(name, value)| (name, value)));
            command.envs(more.iter().map(|(name, value)| (name, value)));
            (verdict(&mut command), ())
        });
    }

    /// Builds the test programs with the lints, checks the documentation and runs its examples, and runs the programs.
    fn tests(&mut self) {
        let arguments = self.heavy(&["test", "--workspace", "--no-run"]);
        let compiler = [&self.environment[..], &quickly::environment()].concat();
        if !quickly::has_lints() {
            println!("\nclippy is not installed: the lints are left out");
        }
        let built = self.step("build of tests, lints", |suite| match build(suite.project, &arguments, &compiler) {
            Ok(built) => (Verdict::Passed, built),
            Err(fault) => {
                println!("{fault}");
                (Verdict::Failed, Vec::new())
            }
        });
        let arguments = self.heavy(&["test", "--workspace", "--doc"]);
        self.cargo("documentation, its examples", None, &arguments, &quickly::environment());
        self.environment.push(("EIGENFORGE_ROOT", self.project.root.clone().into()));
        // The user's own kernel cache is neither used nor filled.
        if std::env::var_os("EIGENFORGE_CACHE").is_none() {
            self.environment.push(("EIGENFORGE_CACHE", self.project.target.join("test-kernels").into()));
        }
        self.step("tests", |suite| {
            let mut programs: Vec<&Built> = built.iter().filter(|built| built.is_test).collect();
            let place = |built: &&Built| LONGEST.iter().position(|name| *name == built.name());
            programs.sort_by_key(|built| place(built).unwrap_or(LONGEST.len()));
            let failed = suite.run_all(&programs);
            failed.iter().for_each(|name| println!("FAILED: {name}"));
            (if failed.is_empty() { Verdict::Passed } else { Verdict::Failed }, ())
        });
    }

    /// Runs the test programs, [`AT_ONCE`] beside each other, since the last tests of each leave cores idle, and prints what each
    /// said when it ends. Gives the names of those that failed.
    fn run_all(&mut self, programs: &[&Built]) -> Vec<String> {
        let next = AtomicUsize::new(0);
        let ended = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    while let Some(built) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let started = Instant::now();
                        let (verdict, said) = self.run(built);
                        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                        println!("\n--- {}\n{said}", built.name());
                        ended.push((built.name(), started.elapsed().as_secs_f64(), verdict));
                    }
                });
            }
        });
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.programs.extend(ended.iter().map(|(name, seconds, _)| (name.clone(), *seconds)));
        ended.into_iter().filter(|(.., verdict)| *verdict != Verdict::Passed).map(|(name, ..)| name).collect()
    }

    /// Runs a test program in the folder of its package, as Cargo does; how it ended, and what it said.
    fn run(&self, built: &Built) -> (Verdict, String) {
        let mut command = Command::new(&built.file);
        command.current_dir(self.project.root.join(&built.package));
        command.env("CARGO", &self.project.cargo).env("CARGO_TARGET_DIR", &self.project.target);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // A test program of procedural macros is linked with the compiler's library.
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().ok();
        let list = self.environment.iter().find(|(name, _)| *name == "LD_LIBRARY_PATH").map(|(_, list)| list.clone());
        let mut list = list.or_else(|| std::env::var_os("LD_LIBRARY_PATH")).unwrap_or_default();
        if let Some(sysroot) = sysroot.filter(|output| output.status.success()) {
            let colon = if list.is_empty() { "" } else { ":" };
            list.push(format!("{colon}{}/lib", String::from_utf8_lossy(&sysroot.stdout).trim()));
        }
        match command.env("LD_LIBRARY_PATH", list).output() {
            Ok(output) => {
                let said = [&output.stdout[..], &output.stderr].concat();
                let verdict = if output.status.success() { Verdict::Passed } else { Verdict::Failed };
                // A signal leaves no line of its own in what the program said.
                let ending = if output.status.code().is_none() { output.status.to_string() } else { String::new() };
                (verdict, format!("{}{ending}", String::from_utf8_lossy(&said)))
            }
            Err(fault) => (Verdict::Failed, format!("cannot be started: {fault}")),
        }
    }

    /// Prints both tables.
    fn report(mut self) -> ExitCode {
        self.programs.sort_by(|a, b| b.1.total_cmp(&a.1));
        println!("\n{:<40} {:>9}", "slowest test programs", "seconds");
        for (name, seconds) in self.programs.iter().take(LISTED) {
            println!("{name:<40} {seconds:>9.1}");
        }
        println!("\n{:<30} {:>9} {:>9} {:>12}", "step", "verdict", "seconds", "processors");
        for step in &self.steps {
            let verdict = match step.verdict {
                Verdict::Passed => "passed",
                Verdict::Failed => "FAILED",
                Verdict::Skipped => "skipped",
            };
            println!("{:<30} {verdict:>9} {:>9.1} {:>12.1}", step.name, step.seconds, step.processor_seconds);
        }
        let total = |seconds: fn(&Step) -> f64| self.steps.iter().map(seconds).sum::<f64>();
        let (seconds, processors) = (total(|step| step.seconds), total(|step| step.processor_seconds));
        println!("{:<30} {:>9} {seconds:>9.1} {processors:>12.1}", "all", "");
        let failed = self.steps.iter().any(|step| step.verdict == Verdict::Failed);
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// Seconds of processors that ended programs of this one took, with those of theirs; 0 where the system does not say.
fn processor_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let Ok(line) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    // The name of the program, in brackets, may have spaces; the fields cutime and cstime are the 14th and 15th behind it.
    let fields = line.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ').skip(13).take(2);
    fields.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS_A_SECOND
}

/// Runs a command to its end.
fn verdict(command: &mut Command) -> Verdict {
    match command.status() {
        Ok(status) if status.success() => Verdict::Passed,
        Ok(_) => Verdict::Failed,
        Err(fault) => {
            println!("cannot be started: {fault}");
            Verdict::Failed
        }
    }
}
