//! The compiler and the documenter of the tests: `cargo xtask test` names itself to Cargo as both, and changes their calls.
//!
//! * Lints are found while the tests are built: clippy is the compiler with lints, and a build of its own would read all code once more.
//! * Documentation is checked where its examples are tested, with the libraries that were built for the tests.
//! * Optimisation is taken out of the calls for what is not worth it.
//!
//! Unit tests are compiled with a second copy of all code of their crate: for the library's crates a fifth of the whole suite with
//! optimisation, a sixth of that without, and they run about as long, since what they wait for is in other crates. A profile can't tell that copy from the
//! one that the other tests link.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set for this program as the wrapper: the compiler with lints, or empty where there is none.
const AS_WRAPPER: &str = "EIGENFORGE_XTASK_IS_RUSTC";
/// How clippy is told its options; warnings are errors.
const LINTS: &str = "CLIPPY_ARGS";
/// Crates whose test programs are compiled without optimisation: what they wait for is in other crates, or in other programs. Those of the core
/// read texts as deep as a stack of optimised calls takes.
const TESTS: [&str; 13] = [
    "cli_and_input",
    "dmrg",
    "eigenforge_ci",
    "eigenforge_dmrg",
    "eigenforge_exact",
    "eigenforge_product",
    "eigenforge_templates",
    "eigenforge_tensors",
    "gallery_of_errors",
    "gpu_operator",
    "simulate",
    "sparse",
    "su3",
];
/// Crates that are compiled so for all programs: files, reports and command lines.
const CRATES: [&str; 3] = ["eigenforge", "eigenforge_benches", "eigenforge_command"];

/// What has Cargo call this program for the compiler and for the documenter.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    vec![
        ("RUSTC_WORKSPACE_WRAPPER", program.clone().into()),
        ("RUSTDOC", program.into()),
        (AS_WRAPPER, clippy().unwrap_or_default().into()),
        // Cargo must see it too: it builds anew what clippy compiled with another value.
        (LINTS, "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__".into()),
    ]
}

/// Whether clippy is installed.
pub fn has_lints() -> bool {
    clippy().is_some()
}

fn clippy() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let driver = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("bin/clippy-driver");
    driver.is_file().then_some(driver)
}

/// Whether Cargo called for the compiler or the documenter.
pub fn is_asked() -> bool {
    std::env::var_os(AS_WRAPPER).is_some()
}

/// Runs the compiler, which is the first argument, or else the documenter.
pub fn compile() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let lints = std::env::var_os(AS_WRAPPER).filter(|path| !path.is_empty());
    let (mut command, arguments) = match arguments.split_first() {
        Some((compiler, arguments)) if !is_option(compiler) => {
            let mut command = Command::new(lints.as_ref().unwrap_or(compiler));
            if lints.is_some() {
                command.arg(compiler);
            }
            (command, without_optimisation(arguments.to_vec()))
        }
        _ => {
            if let Some(arguments) = of_the_pages(&arguments) {
                let checked = run(Command::new("rustdoc").args(arguments));
                if checked != ExitCode::SUCCESS {
                    return checked;
                }
            }
            (Command::new("rustdoc"), arguments)
        }
    };
    run(command.args(arguments))
}

/// The documenter's first argument is an option or a file of code.
fn is_option(argument: &OsStr) -> bool {
    argument.to_str().is_some_and(|text| text.starts_with('-') || text.ends_with(".rs"))
}

fn run(command: &mut Command) -> ExitCode {
    match command.env_remove(AS_WRAPPER).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(fault) => {
            eprintln!("error: {} cannot be started: {fault}", command.get_program().to_string_lossy());
            ExitCode::FAILURE
        }
    }
}

/// The call that makes the pages of a crate, of the one that tests their examples; a warning is an error.
fn of_the_pages(arguments: &[OsString]) -> Option<Vec<OsString>> {
    arguments.iter().any(|argument| argument == "--test").then_some(())?;
    let mut pages: Vec<OsString> = vec!["-D".into(), "warnings".into()];
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("--test" | "--nocapture") => {}
            Some("--test-run-directory" | "--test-args" | "--test-runtool" | "--test-runtool-arg") => drop(rest.next()),
            _ => pages.push(argument.clone()),
        }
    }
    let folder = std::env::current_exe().ok()?.ancestors().nth(2)?.join("doc");
    pages.extend(["--out-dir".into(), folder.into()]);
    Some(pages)
}

/// The arguments, changed where they are for one of the crates.
fn without_optimisation(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).and_then(|value| value.to_str())
    };
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let is_named = |name: &str| CRATES.contains(&name) || is_test && TESTS.contains(&name);
    if after("--crate-name").is_some_and(is_named) {
        let level = |argument: &&mut OsString| argument.to_str().is_some_and(|text| text.starts_with("opt-level="));
        arguments.iter_mut().filter(level).for_each(|argument| *argument = OsStr::new("opt-level=0").into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_tests_examples_is_also_one_for_pages() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let tested =
            words("--crate-name x src/lib.rs --test --test-run-directory /p --test-args -q --extern y=/y.rlib");
        let pages: Vec<String> =
            of_the_pages(&tested).unwrap().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(pages[..7].join(" "), "-D warnings --crate-name x src/lib.rs --extern y=/y.rlib");
        assert_eq!(pages[7], "--out-dir");
        assert!(of_the_pages(&words("-vV")).is_none());
        assert!(is_option("-vV".as_ref()) && is_option("src/lib.rs".as_ref()) && !is_option("/bin/rustc".as_ref()));
    }

    #[test]
    fn test_programs_of_some_crates_alone_are_not_optimised() {
        let of = |text: &str| {
            let words = without_optimisation(text.split(' ').map(OsString::from).collect());
            words.iter().filter_map(|word| word.to_str()).collect::<Vec<_>>().join(" ")
        };
        for text in [
            "--crate-name eigenforge_ci src/lib.rs --test -C opt-level=2 -C codegen-units=1",
            "--crate-name eigenforge src/lib.rs -C opt-level=2",
            "--crate-name eigenforge_benches -C opt-level=2",
        ] {
            assert_eq!(of(text), text.replace("opt-level=2", "opt-level=0"));
        }
        for same in [
            "--crate-name eigenforge_ci src/lib.rs -C opt-level=2",
            "--crate-name runtime --test -C opt-level=2",
            "-vV",
        ] {
            assert_eq!(of(same), same);
        }
    }
}
