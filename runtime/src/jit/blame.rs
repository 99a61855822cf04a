//! Determines whose line does not compile: the model's, eigenforge's template's, or an edited file's.
//!
//! In: the text, its edited file if it is one, and a located error. Out: the cause and advice. A line under a `#line`
//! into another file is the user's expression; the constants above it are the user's parameters; an edited text is its
//! editor's; every other line comes from a template or the prelude.

use super::diagnostics::{Diagnostic, SOURCE_FILE};
use eigenforge_templates::TemplateLine;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where to report bugs.
const ISSUES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

/// A term of a model definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelTerm {
    /// File of the definition.
    pub file: String,
    /// Line of its `sum!`.
    pub line: usize,
    /// The `sum!` as written, if the text contains it.
    pub text: Option<String>,
}

/// The origin of the line that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The user: an expression of the model.
    Expression(ModelTerm),
    /// The user: the name or the value of a parameter.
    Parameter {
        /// The parameter.
        name: String,
        /// The term that uses it.
        term: ModelTerm,
    },
    /// The editor of the file.
    Edited {
        /// The file.
        file: PathBuf,
        /// Its line.
        line: usize,
    },
    /// eigenforge.
    Template {
        /// The line of a template or of the prelude.
        at: TemplateLine,
        /// For an error in a C++ template: the line that used it, in the text and in its own template.
        used: Option<(usize, TemplateLine)>,
    },
}

impl Blame {
    /// The origin of this error's line; `None` if it is not a line of the text, or the text comes from no template.
    pub(crate) fn find(text: &str, edited: Option<&Path>, error: &Diagnostic) -> Option<Blame> {
        if let Some(file) = edited {
            return Some(Blame::Edited { file: file.to_path_buf(), line: error.generated.unwrap_or(error.line) });
        }
        let users = [(error.file.as_str(), error.line, error.generated)].into_iter();
        let users = users.chain(error.used.iter().map(|used| (used.file.as_str(), used.line, used.generated)));
        if let Some((file, line, generated)) = users.into_iter().find(|(file, ..)| *file != SOURCE_FILE) {
            return Some(Blame::Expression(term(text, generated, file, line)));
        }
        let at = error.generated?;
        if let Some((name, term)) = parameter(text, at) {
            return Some(Blame::Parameter { name, term });
        }
        let used = error.used.as_ref().and_then(|used| used.generated);
        let used = used.and_then(|line| Some((line, TemplateLine::find(text, line)?)));
        Some(Blame::Template { at: TemplateLine::find(text, at)?, used })
    }
}

impl fmt::Display for Blame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blame::Expression(term) => {
                writeln!(f, "  model term: {term}")?;
                writeln!(
                    f,
                    "  at fault:   this expression of the model. It must make sense in CUDA as it does in Rust, made of \
                     indices, parameters and numbers;"
                )?;
                writeln!(f, "              else compute its value before the sum, into a slice with one value a site")
            }
            Blame::Parameter { name, term } => {
                writeln!(f, "  model term: {term}")?;
                writeln!(
                    f,
                    "  at fault:   the parameter `{name}` of the model. It stands in CUDA under its own name and with its \
                     values, which must be finite numbers"
                )
            }
            Blame::Edited { file, line } => {
                writeln!(
                    f,
                    "  at fault:   the edited file, {}:{line}. It runs in place of the generated text;",
                    file.display()
                )?;
                writeln!(f, "              correct it, or take it out of its folder")
            }
            Blame::Template { at, used } => {
                let what = if at.is_prelude() { "prelude" } else { "template" };
                write!(f, "  at fault:   eigenforge's {what}, {at}")?;
                if let Some((line, used)) = used {
                    write!(f, ", as used by {used} ({SOURCE_FILE}:{line})")?;
                }
                writeln!(f, "; not the model.")?;
                writeln!(f, "              A report with this message is welcome: {ISSUES}")
            }
        }
    }
}

impl fmt::Display for ModelTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.as_ref().map_or_else(String::new, |text| format!("  {text}"));
        write!(f, "{}:{}{text}", self.file, self.line)
    }
}

/// The `sum!` that the generated line translates, from the lines above `namespace sum_k`; otherwise the one that the head
/// of the text lists for this place.
fn term(text: &str, generated: Option<usize>, file: &str, line: usize) -> ModelTerm {
    let above = generated.and_then(|at| term_above(text, at));
    let listed = || {
        let start = format!("// model: {file}:{line}  ");
        text.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_string)
    };
    above.unwrap_or_else(|| ModelTerm { file: file.to_string(), line, text: listed() })
}

fn term_above(text: &str, at: usize) -> Option<ModelTerm> {
    let lines: Vec<&str> = text.lines().take(at).collect();
    let opened = lines.iter().rposition(|line| line.starts_with("namespace sum_"))?;
    if lines[opened..].iter().any(|line| line.starts_with("}  // namespace sum_")) {
        return None;
    }
    let (place, text) = (lines.get(opened.checked_sub(2)?)?, lines.get(opened.checked_sub(1)?)?);
    let (file, line) = place.strip_prefix("// ")?.rsplit_once(':')?;
    Some(ModelTerm {
        file: file.into(),
        line: line.parse().ok()?,
        text: text.strip_prefix("//").map(|t| t.trim().into()),
    })
}

/// The parameter that a line of constants declares.
fn parameter(text: &str, at: usize) -> Option<(String, ModelTerm)> {
    let line = text.lines().nth(at - 1)?;
    let declaration = line.strip_prefix("constexpr ").or_else(|| line.strip_prefix("__constant__ "))?;
    let term = term_above(text, at)?;
    let name = declaration.split_whitespace().nth(1)?.split('[').next()?;
    Some((name.to_string(), term))
}
