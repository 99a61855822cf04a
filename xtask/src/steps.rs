//! `cargo xtask test`: the steps, one after the other, each also when an earlier one failed, and a table of them at the end.

use crate::{Project, setup};
use std::process::{Command, ExitCode};
use std::time::Instant;

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
}

/// Runs all steps.
pub fn test(project: &Project) -> ExitCode {
    let mut steps = Vec::new();

    announce("setup");
    let started = Instant::now();
    let tools = setup::run(project);
    println!("{tools}");
    let verdict = if tools.is_ready() { Verdict::Passed } else { Verdict::Skipped };
    steps.push(Step { name: "setup", verdict, seconds: started.elapsed().as_secs_f64() });

    let component =
        |name: &str| project.cargo(&[name, "--version"]).output().is_ok_and(|output| output.status.success());
    let mut run = |name: &'static str, present: bool, command: &mut Command| {
        announce(name);
        let started = Instant::now();
        let verdict = match present.then(|| command.status()) {
            None => Verdict::Skipped,
            Some(Ok(status)) if status.success() => Verdict::Passed,
            Some(Ok(_)) => Verdict::Failed,
            Some(Err(fault)) => {
                println!("cannot be started: {fault}");
                Verdict::Failed
            }
        };
        steps.push(Step { name, verdict, seconds: started.elapsed().as_secs_f64() });
    };

    run("format", component("fmt"), &mut project.cargo(&["fmt", "--all", "--check"]));
    let clippy = ["clippy", "--workspace", "--all-targets", "--release", "--", "-D", "warnings"];
    run("lints", component("clippy"), &mut project.cargo(&clippy));
    let mut documentation = project.cargo(&["doc", "--workspace", "--no-deps", "--release"]);
    run("documentation", true, documentation.env("RUSTDOCFLAGS", "-D warnings"));
    let mut tests = project.cargo(&["test", "--workspace", "--release"]);
    if tools.is_ready() {
        tests.env("EIGENFORGE_TEST_NVRTC", "required");
    }
    // The user's own kernel cache is neither used nor filled.
    if std::env::var_os("EIGENFORGE_CACHE").is_none() {
        tests.env("EIGENFORGE_CACHE", project.target.join("test-kernels"));
    }
    tests.env("EIGENFORGE_ROOT", &project.root);
    run("tests", true, &mut tests);

    println!("\n{:<14} {:>9} {:>9}", "step", "verdict", "seconds");
    for step in &steps {
        let verdict = match step.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed => "FAILED",
            Verdict::Skipped => "skipped",
        };
        println!("{:<14} {verdict:>9} {:>9.1}", step.name, step.seconds);
    }
    let total: f64 = steps.iter().map(|step| step.seconds).sum();
    println!("{:<14} {:>9} {total:>9.1}", "all", "");
    let failed = steps.iter().any(|step| step.verdict == Verdict::Failed);
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn announce(name: &str) {
    println!("\n=== {name}");
}
