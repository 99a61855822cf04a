//! A readable compile error: the generated lines around it, the line of the model it came from, the options, the folder
//! with the source, and a command that reproduces it.
//!
//! In: the text and NVRTC's log. Out: [`CompileFailure`], whose `Display` is the message. `#line N "file"` directives in
//! the text are followed: NVRTC then reports the user's file, and both places are shown, with the cause ([`Blame`]).

use super::arch::Arch;
use super::blame::Blame;
use crate::input_file::{FileKind, read_text};
use std::fmt;
use std::path::{Path, PathBuf};

/// Lines shown before and after the faulty line.
const CONTEXT: usize = 3;
/// Errors shown with their lines; the log has all of them.
const SHOWN: usize = 3;
/// Name of the text for the compiler and in its folder.
pub(crate) const SOURCE_FILE: &str = "kernel.cu";

/// One error of the compiler, located.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What the compiler says, such as `identifier "alpha" is undefined`.
    pub message: String,
    /// The file it names: `kernel.cu`, or the user's by a `#line` directive.
    pub file: String,
    /// The line in that file, from 1.
    pub line: usize,
    /// The column in the generated line, from 1, if the compiler marks one.
    pub column: Option<usize>,
    /// The line in the generated text, from 1, if known.
    pub generated: Option<usize>,
    /// Further lines of the same error, such as the template instantiation it occurred in.
    pub notes: Vec<String>,
    /// For an error in a C++ template: where that was used.
    pub used: Option<Used>,
}

/// Where a C++ template was instantiated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// `kernel.cu`, or the user's file.
    pub file: String,
    /// The line in that file, from 1.
    pub line: usize,
    /// The line in the generated text, from 1, if known.
    pub generated: Option<usize>,
}

/// A text that did not compile.
#[derive(Clone, Debug)]
pub struct CompileFailure {
    /// Name of the text.
    pub kernel: String,
    /// The architecture.
    pub arch: Arch,
    /// Version and build of the compiler.
    pub nvrtc: String,
    /// The options, sorted.
    pub options: Vec<String>,
    /// The text.
    pub text: String,
    /// The edited file that the text is of; `None`: it was generated.
    pub edited: Option<PathBuf>,
    /// NVRTC's and ptxas's messages.
    pub log: String,
    /// The errors in the log.
    pub diagnostics: Vec<Diagnostic>,
    /// The folder with the source, the options and the log, or why there is none.
    pub folder: Result<PathBuf, String>,
    /// Whether the failure comes from the cache.
    pub cached: bool,
}

impl std::error::Error for CompileFailure {}

impl CompileFailure {
    /// A command that reproduces the error, if the source was kept.
    pub fn reproducer(&self) -> Option<String> {
        let source = self.folder.as_ref().ok()?.join(SOURCE_FILE);
        let source = source.to_string_lossy();
        Some(format!("nvcc --cubin {} -o /dev/null '{}'", self.options.join(" "), source.replace('\'', r"'\''")))
    }
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = match self.diagnostics.len() {
            0 => "without a located error".to_string(),
            1 => "with 1 error".to_string(),
            n => format!("with {n} errors"),
        };
        let edited = self.edited.as_ref().map_or_else(String::new, |file| format!(" (edited: {})", file.display()));
        writeln!(
            f,
            "the CUDA text of {}{edited} did not compile for {}, {count} (NVRTC {})",
            self.kernel, self.arch, self.nvrtc
        )?;
        let blames: Vec<Option<Blame>> = self.diagnostics.iter().take(SHOWN).map(|error| self.blame(error)).collect();
        for (at, (diagnostic, blame)) in self.diagnostics.iter().zip(&blames).enumerate() {
            writeln!(f)?;
            self.show(f, diagnostic)?;
            // Said once for errors of one cause.
            if let Some(blame) = blame.as_ref().filter(|_| blames.get(at + 1) != Some(blame)) {
                write!(f, "{blame}")?;
            }
        }
        if self.diagnostics.len() > SHOWN {
            writeln!(f, "\n… and {} more in the log", self.diagnostics.len() - SHOWN)?;
        }
        if self.diagnostics.is_empty() {
            if let Some(hint) = shared_memory_hint(&self.log) {
                writeln!(f, "\n{hint}")?;
            }
            writeln!(f, "\nthe compiler's log:")?;
            let lines: Vec<&str> = self.log.trim_end().lines().collect();
            for line in &lines[lines.len().saturating_sub(20)..] {
                writeln!(f, "  {line}")?;
            }
        }
        writeln!(f, "\noptions:   {}", self.options.join(" "))?;
        match &self.folder {
            Ok(folder) => writeln!(f, "source:    {}", folder.join(SOURCE_FILE).display())?,
            Err(reason) => writeln!(f, "source:    not kept: {reason}")?,
        }
        if let Some(command) = self.reproducer() {
            writeln!(f, "reproduce: {command}")?;
        }
        if self.cached {
            write!(f, "This failure is remembered from an earlier run; EIGENFORGE_RETRY_FAILED=1 compiles again.")?;
        }
        Ok(())
    }
}

impl CompileFailure {
    /// The cause of one of the errors; `None` if unknown.
    pub fn blame(&self, diagnostic: &Diagnostic) -> Option<Blame> {
        Blame::find(&self.text, self.edited.as_deref(), diagnostic)
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, diagnostic: &Diagnostic) -> fmt::Result {
        writeln!(f, "error: {}", diagnostic.message)?;
        // The lines of an edited text are its own, whatever file they once came from.
        let mapped = diagnostic.file != SOURCE_FILE && (self.edited.is_none() || diagnostic.generated.is_none());
        if mapped {
            writeln!(f, "  in the model: {}:{}", diagnostic.file, diagnostic.line)?;
            if let Ok(model) = read_text(Path::new(&diagnostic.file), FileKind::KERNEL) {
                excerpt(f, &model, diagnostic.line, None)?;
            }
        }
        match diagnostic.generated {
            Some(line) => {
                self.place(f, "in", line)?;
                excerpt(f, &self.text, line, diagnostic.column)?;
            }
            None if !mapped => self.place(f, "in", diagnostic.line)?,
            None => {}
        }
        for note in &diagnostic.notes {
            writeln!(f, "  {note}")?;
        }
        if let Some(line) = diagnostic.used.as_ref().and_then(|used| used.generated) {
            self.place(f, "used in", line)?;
            excerpt(f, &self.text, line, None)?;
        }
        Ok(())
    }

    fn place(&self, f: &mut fmt::Formatter<'_>, how: &str, line: usize) -> fmt::Result {
        match &self.edited {
            Some(file) => writeln!(f, "  {how} the edited text: {}:{line}", file.display()),
            None => writeln!(f, "  {how} the generated text: {SOURCE_FILE}:{line}"),
        }
    }
}

/// Prints the lines around `line`, marked, with a caret under the column.
fn excerpt(f: &mut fmt::Formatter<'_>, text: &str, line: usize, column: Option<usize>) -> fmt::Result {
    let first = line.saturating_sub(CONTEXT).max(1);
    for (number, content) in
        text.lines().enumerate().map(|(i, l)| (i + 1, l)).skip(first - 1).take(line + CONTEXT + 1 - first)
    {
        let mark = if number == line { '>' } else { ' ' };
        writeln!(f, "  {mark} {number:5} | {content}")?;
        if let (true, Some(column)) = (number == line, column) {
            writeln!(f, "          | {}^", " ".repeat(column.saturating_sub(1)))?;
        }
    }
    Ok(())
}

/// Reads the located errors of a log. `text` is what was compiled.
pub(crate) fn parse(log: &str, text: &str) -> Vec<Diagnostic> {
    let places = line_directives(text);
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut open = false;
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((file, number, severity, message)) = header(line) {
            open = severity.contains("error");
            let echo = lines.next_if(|next| next.starts_with("  ")).and_then(|l| l.get(2..)).unwrap_or_default();
            let caret = lines.next_if(|next| next.trim() == "^").and_then(|l| l.find('^'));
            if open {
                found.push(Diagnostic {
                    message: message.to_string(),
                    file: file.to_string(),
                    line: number,
                    column: caret.and_then(|at| at.checked_sub(1)),
                    generated: generated_line(&places, text, file, number, echo),
                    notes: Vec::new(),
                    used: None,
                });
            } else if severity == "note" {
                open = !found.is_empty();
                if let (true, Some(last)) = (open, found.last_mut()) {
                    last.notes.push(format!("note: {message}"));
                }
            }
        } else if line.trim().is_empty() {
            open = false;
        } else if let (true, Some(last)) = (open, found.last_mut()) {
            last.notes.push(line.trim().to_string());
            if let Some((file, number)) = instantiation(line) {
                let generated = generated_line(&places, text, file, number, "");
                last.used = Some(Used { file: file.to_string(), line: number, generated });
            }
        }
    }
    found
}

/// Splits `file(12): error: message`, `file(12): catastrophic error: …`, `file(12): warning #177-D: …`.
fn header(line: &str) -> Option<(&str, usize, &str, &str)> {
    if line.starts_with(' ') {
        return None;
    }
    let (place, rest) = line.split_once("): ")?;
    let (file, number) = place.rsplit_once('(')?;
    let (severity, message) = rest.split_once(": ")?;
    let severity = severity.split(" #").next().unwrap_or(severity);
    let known = ["error", "catastrophic error", "internal error", "warning", "remark", "note"].contains(&severity);
    known.then_some(())?;
    Some((file, number.parse().ok()?, severity, message))
}

/// Reads `detected during instantiation of "…" at line 12 of model.rs`; of several the last is kept, the outermost.
fn instantiation(line: &str) -> Option<(&str, usize)> {
    let (_, place) = line.rsplit_once(" at line ").or_else(|| line.trim().strip_prefix("at line ").map(|p| ("", p)))?;
    let (number, file) = place.split_once(" of ").unwrap_or((place, SOURCE_FILE));
    Some((file.trim().trim_matches('"'), number.trim().parse().ok()?))
}

/// For every line of the text, the file and line by which the compiler names it.
fn line_directives(text: &str) -> Vec<(String, usize)> {
    let (mut file, mut number) = (SOURCE_FILE.to_string(), 1);
    let mut places = Vec::new();
    for line in text.lines() {
        places.push((file.clone(), number));
        number += 1;
        let Some(directive) = line.trim_start().strip_prefix('#') else { continue };
        let directive = directive.trim_start();
        let directive = directive.strip_prefix("line").unwrap_or(directive).trim_start();
        let (digits, name) = directive.split_once(char::is_whitespace).unwrap_or((directive, ""));
        let Ok(next) = digits.parse::<usize>() else { continue };
        number = next;
        if let Some(name) = name.trim().strip_prefix('"').and_then(|name| name.split('"').next()) {
            file = name.replace("\\\\", "\\");
        }
    }
    places
}

/// The line of the text that the compiler calls `file(number)`; if there are several, the one it echoes.
fn generated_line(places: &[(String, usize)], text: &str, file: &str, number: usize, echo: &str) -> Option<usize> {
    let matching =
        || places.iter().enumerate().filter(|(_, place)| place.0 == file && place.1 == number).map(|(i, _)| i);
    let lines: Vec<&str> = text.lines().collect();
    let echoed = matching().find(|&i| lines.get(i).is_some_and(|line| line.trim() == echo.trim()));
    echoed.or_else(|| matching().next()).map(|i| i + 1)
}

/// ptxas refuses too much static shared memory without a word in NVRTC's log.
fn shared_memory_hint(log: &str) -> Option<String> {
    const LIMIT: u32 = 48 << 10;
    let kernels = super::resources::parse(log);
    let kernel = kernels.iter().find(|kernel| kernel.shared > LIMIT)?;
    Some(format!(
        "ptxas gave no reason, but {} declares {} bytes of shared memory, and a block may declare at most {LIMIT}: \
         a smaller tile, or dynamic shared memory, would do",
        kernel.name, kernel.shared
    ))
}

/// Whether the compiler ran out of memory; such a failure must not be cached.
pub(crate) fn out_of_memory(log: &str) -> bool {
    let log = log.to_ascii_lowercase();
    ["memory allocation", "out of memory", "out-of-memory"].iter().any(|words| log.contains(words))
}
