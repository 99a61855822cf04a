//! How a failed command reports its error.
//!
//! In: an error. Out: its text on standard error and the exit code. With `--json` also one object on standard output, so that
//! a program always finds an object there: `error` (the text), `help` (what to do, where that is known), `problems` (of a file with
//! several, each with `error`, `help`, `line` and `column`), `kind` ("command line", "input", "fault" or "interrupted") and `code`
//! (the exit code). Nothing is printed after a result.

use super::error::CommandError;
use super::output::{self, has_printed, print};
use clap::error::ErrorKind;
use eigenforge_runtime::{interrupt, say};
use miette::Diagnostic;
use std::io::Write as _;
use std::process::ExitCode;

/// The object on standard output.
#[derive(serde::Serialize)]
struct Failure {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Each problem of a file, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<Problem>,
    kind: &'static str,
    code: u8,
}

/// One of several problems.
#[derive(serde::Serialize)]
struct Problem {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Place in the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Problem {
    /// The problems that an error lists, with their places in its source.
    fn list(error: &dyn Diagnostic) -> Vec<Problem> {
        let place = |problem: &dyn Diagnostic| {
            let label = problem.labels()?.next()?;
            let read = error.source_code()?.read_span(label.inner(), 0, 0).ok()?;
            Some((read.line() + 1, read.column() + 1))
        };
        let of = |problem: &dyn Diagnostic| {
            let (line, column) = place(problem).unzip();
            let help = problem.help().map(|help| help.to_string());
            Problem { error: problem.to_string(), help, line, column }
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
    let code = error.exit_code();
    let kind = if code == 2 { "input" } else { "fault" };
    let help = error.help().map(|help| help.to_string());
    let problems = Problem::list(&error);
    let failure = match error.compile_failure() {
        // As it is: a frame would break lines of code and the command to copy.
        Some(compile) => {
            say!("error: {compile}");
            Failure { error: compile.to_string(), help, problems, kind, code }
        }
        None => {
            let text = with_sources(&error);
            show_causes_once(&error);
            say!("{:?}", miette::Report::new(error));
            Failure { error: text, help, problems, kind, code }
        }
    };
    show_json(&failure);
    ExitCode::from(code)
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

/// Prints the object if `--json` is among the arguments and standard output is still empty; that it cannot be read there is no
/// reason for another error.
fn show_json(failure: &Failure) {
    let wanted = std::env::args_os().any(|argument| argument == "--json");
    if wanted
        && !has_printed()
        && let Ok(text) = serde_json::to_string_pretty(failure)
    {
        print(&(text + "\n"));
    }
}
