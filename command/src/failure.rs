//! How a failed command reports its error.
//!
//! In: an error. Out: its text on standard error and the exit code. With `--json` also one object on standard output, so that
//! a program always finds an object there: `error` (the text), `help` (what to do, where that is known), `problems` (of a file with
//! several, each with `error`, `help`, `line` and `column`), `kind` ("command line", "input", "fault" or "interrupted") and `code`
//! (the exit code). Nothing is printed after a result.

use super::error::CommandError;
use super::output::{self, print, wants_json};
use clap::error::ErrorKind;
use eigenforge_runtime::{interrupt, say};
use miette::Diagnostic;
use std::io::Write as _;
use std::process::ExitCode;

/// What stopped a run: the object on standard output.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Failure {
    /// The error's text.
    pub error: String,
    /// What to do, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Each problem of a file, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
    /// "command line", "input", "fault" or "interrupted".
    pub kind: &'static str,
    /// The exit code.
    pub code: u8,
}

/// One of several problems.
#[derive(Debug, Clone, serde::Serialize)]
pub struct FileProblem {
    /// Its text.
    pub error: String,
    /// What to do, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl Failure {
    /// What an error of the library says.
    pub fn new(error: eigenforge::Error) -> Failure {
        failure(&error.into())
    }
}

fn failure(error: &CommandError) -> Failure {
    let code = error.exit_code();
    let kind = if code == 2 { "input" } else { "fault" };
    let help = error.help().map(|help| help.to_string());
    let text = error.compile_failure().map_or_else(|| with_sources(error), |compile| compile.to_string());
    Failure { error: text, help, problems: FileProblem::list(error), kind, code }
}

impl FileProblem {
    /// The problems that an error lists, with their places in its source.
    fn list(error: &dyn Diagnostic) -> Vec<FileProblem> {
        let place = |problem: &dyn Diagnostic| {
            let label = problem.labels()?.next()?;
            let read = error.source_code()?.read_span(label.inner(), 0, 0).ok()?;
            Some((read.line() + 1, read.column() + 1))
        };
        let of = |problem: &dyn Diagnostic| {
            let (line, column) = place(problem).unzip();
            let help = problem.help().map(|help| help.to_string());
            FileProblem { error: problem.to_string(), help, line, column }
        };
        error.related().into_iter().flatten().map(of).collect()
    }
}

/// Help and version are not failures; clap prints them, and its own errors.
pub(super) fn of_the_command_line(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return printed.map_or_else(
            |source| {
                output::failed(source);
                output::fault().map_or(ExitCode::SUCCESS, of_the_run)
            },
            |()| ExitCode::SUCCESS,
        );
    }
    let text = error.to_string();
    let text = text.trim().trim_start_matches("error: ").into();
    show_json(&Failure { error: text, help: None, problems: Vec::new(), kind: "command line", code: 2 });
    ExitCode::from(2)
}

/// What stopped a verb.
pub(super) fn of_the_run(error: CommandError) -> ExitCode {
    if let Some(signal) = interrupt::obeyed() {
        return of_a_signal(signal, &error);
    }
    let failure = failure(&error);
    match error.compile_failure() {
        // As it is: a frame would break lines of code and the command to copy.
        Some(compile) => say!("error: {compile}"),
        None => {
            show_causes_once(&error);
            say!("{:?}", miette::Report::new(error));
        }
    }
    show_json(&failure);
    ExitCode::from(failure.code)
}

/// The run has saved its state; the command ends by the signal, which a shell shows as 128 + its number.
fn of_a_signal(signal: i32, error: &CommandError) -> ExitCode {
    let code = u8::try_from(128 + signal).unwrap_or(u8::MAX);
    say!("{error}");
    show_json(&Failure { error: error.to_string(), help: None, problems: Vec::new(), kind: "interrupted", code });
    interrupt::end_by_signal(signal);
    ExitCode::from(code)
}

/// The error's text and those of its causes, each once.
pub(super) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}

/// Leaves the causes of an error away if its own words hold them already, as in "FILE: line 3 …"; else they are listed.
fn show_causes_once(error: &dyn std::error::Error) {
    let said = error.to_string();
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    if causes.into_iter().all(|cause| said.contains(&cause.to_string())) {
        // It fails if a hook is there, which shows errors in its own way.
        let _ = miette::set_hook(Box::new(without_causes));
    }
}

fn without_causes(_: &(dyn miette::Diagnostic + 'static)) -> Box<dyn miette::ReportHandler> {
    Box::new(miette::MietteHandlerOpts::new().without_cause_chain().build())
}

/// Prints the object if it is wanted; that it cannot be read there is no reason for another error.
fn show_json(failure: &Failure) {
    if wants_json()
        && let Ok(text) = serde_json::to_string_pretty(failure)
    {
        print(&(text + "\n"));
    }
}
