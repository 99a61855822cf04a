//! The compiler of what is not worth optimising for tests: `cargo xtask test` names itself as Cargo's wrapper of the compiler, and takes
//! the optimisation out of the calls for these.
//!
//! Unit tests are compiled with a second copy of all code of their crate: for the library's crates a fifth of the whole suite with
//! optimisation, a sixth of that without, and they run about as long, since what they wait for is in other crates. A profile can't tell that copy from the
//! one that the other tests link.

use std::ffi::{OsStr, OsString};
use std::process::{Command, ExitCode};

/// Set for this program as the wrapper.
const AS_WRAPPER: &str = "EIGENFORGE_XTASK_IS_RUSTC";
/// Crates whose test programs are compiled without optimisation: what they wait for is in other crates, or in other programs.
const TESTS: [&str; 14] = [
    "cli_and_input",
    "dmrg",
    "eigenforge_ci",
    "eigenforge_core",
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

/// What has Cargo call this program for the compiler.
pub fn environment() -> Vec<(&'static str, OsString)> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    vec![("RUSTC_WORKSPACE_WRAPPER", program.into()), (AS_WRAPPER, "1".into())]
}

/// Whether Cargo called for the compiler.
pub fn is_asked() -> bool {
    std::env::var_os(AS_WRAPPER).is_some()
}

/// Runs the compiler, the first argument, with the others.
pub fn compile() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let compiler = if arguments.is_empty() { "rustc".into() } else { arguments.remove(0) };
    match Command::new(&compiler).args(without_optimisation(arguments)).env_remove(AS_WRAPPER).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(fault) => {
            eprintln!("error: {} cannot be started: {fault}", compiler.to_string_lossy());
            ExitCode::FAILURE
        }
    }
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
