//! Plan → text: the template environment and the common parts of generated files.
//!
//! Templates are minijinja with delimiters that do not clash with CUDA's braces: `<% for … %>`, `${value}`, `<# comment
//! #>`; an undefined variable is an error. The prelude (`cuda/prelude.cuh`) is prepended, so the text needs no header.

use crate::fields;
use crate::files::{self, Template};
use crate::launch::{Element, Parameter};
use crate::prototype::{declared, filled};
use crate::scalar::ScalarType;
use crate::used;
use crate::warp::Warp;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, syntax::SyntaxConfig};
use serde::{Deserialize, Serialize};

/// The minimal work of one launch: what a perfect kernel would still have to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Floating-point operations (an addition or a multiplication is one).
    pub flops: f64,
    /// Bytes moved through device memory, every input read once and every output written once.
    pub bytes: f64,
}

impl std::ops::Add for Cost {
    type Output = Cost;
    fn add(self, other: Cost) -> Cost {
        Cost { flops: self.flops + other.flops, bytes: self.bytes + other.bytes }
    }
}

/// One generated CUDA file: a pure function of its plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelText {
    /// A readable name; also the name of the cache folder.
    pub name: String,
    /// The whole CUDA text, including the prelude, without any `#include`.
    pub text: String,
    /// The plan as RON.
    pub plan: String,
    /// The names of its `extern "C"` kernels.
    pub entries: Vec<String>,
}

impl KernelText {
    /// What is compiled for one of its kernels: the text without the other kernels and what only they use, which a last line
    /// names. The whole text for any other name.
    pub fn text_of_kernel(&self, kernel: &str) -> String {
        used::text_of_kernel(&self.text, &self.entries, kernel)
    }
}

/// A function of the element index that a vector program may call, such as an operator's diagonal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementFunctionText {
    /// Its name in the program.
    pub name: String,
    /// CUDA text that defines `__device__ __forceinline__ value_t NAME(i64 i, PARAMETERS)`.
    pub source: String,
    /// Each parameter after the index.
    pub parameters: Vec<Parameter>,
}

impl ElementFunctionText {
    /// `head`, then a function that returns the expression `value`, of CUDA type `kind`.
    pub fn new(head: &str, kind: &str, name: &str, parameters: Vec<Parameter>, value: &str) -> ElementFunctionText {
        let function = element_function(kind, name, &parameters, value);
        ElementFunctionText { name: name.into(), source: format!("{head}{function}"), parameters }
    }

    /// A stored diagonal of `rows` rows: `diagonal(i, stored_diagonal)`.
    pub fn stored_diagonal(rows: u64) -> ElementFunctionText {
        let parameter = Parameter::table("stored_diagonal", Element::F64, rows);
        ElementFunctionText::new("", "double", "diagonal", vec![parameter], "stored_diagonal[i]")
    }

    /// A function that is 0 but at so many indices, which ascend: `listed(i, listed_index, listed_value)`.
    pub fn listed(count: u64) -> ElementFunctionText {
        let table = Parameter::table;
        let parameters = vec![table("listed_index", Element::U64, count), table("listed_value", Element::F64, count)];
        let head = part(files::LISTED, &());
        let value = format!("listed_element(i, listed_index, listed_value, {count})");
        ElementFunctionText::new(&head, "double", "listed", parameters, &value)
    }
}

/// A device function of the element index that returns the expression `value`.
pub(crate) fn element_function(kind: &str, name: &str, parameters: &[Parameter], value: &str) -> String {
    #[derive(Serialize)]
    struct View<'a> {
        kind: &'a str,
        name: &'a str,
        parameters: String,
        value: &'a str,
    }
    let parameters = declared(parameters, format!("__device__ __forceinline__ {kind} {name}(").len());
    part(files::ELEMENT_FUNCTION, &View { kind, name, parameters, value })
}

/// A template and its plan do not match.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The template uses a field that the plan does not have.
    #[error(
        "template {template}, line {line}: `{field}` is not in the plan; {place} has {}. The plan and the template \
         disagree, which is a fault of eigenforge: please report it",
        if known.is_empty() { "no fields".into() } else { known.join(", ") }
    )]
    MissingField {
        /// File name of the template.
        template: &'static str,
        /// Line in it, from 1.
        line: usize,
        /// The field as named in the template.
        field: String,
        /// What should have the field.
        place: String,
        /// The available fields.
        known: Vec<String>,
    },
    /// The template engine failed, with its message.
    #[error(
        "template {template}, line {line}: {source}; the template is at fault, and so eigenforge: please report it"
    )]
    Template {
        /// File name of the template.
        template: &'static str,
        /// Line in it, from 1; 0 if unknown.
        line: usize,
        /// The engine's error.
        #[source]
        source: minijinja::Error,
    },
}

/// The prelude of a text whose template serves real and complex vectors: [`Warp::prelude`], the functions of numbers that such a template
/// calls (`conj_of`, `real_of`, `square_of`, `conj_product`, `add_product`, …), and, where `complex`, the types `c64` and `c32`
/// with the same functions and sums over warps and blocks. Texts of real vectors have nothing of the latter, and no text has
/// functions that it does not call.
pub fn prelude_of_numbers(warp: Warp, complex: bool) -> String {
    let of_complex = if complex { files::COMPLEX_NUMBERS.source } else { "" };
    warp.prelude() + files::REAL_NUMBERS.source + of_complex
}

/// Marks where generated lines continue after a `#line` into the user's file; [`render`] inserts the number.
pub(crate) const RESUME_LINES: &str = "#line RESUME";

/// Most characters of a line of statements or numbers.
const LINE: usize = 112;

/// A plan as RON, as stored beside its text: one line per field, flip mask or statement.
pub fn ron<P: Serialize>(plan: &P) -> String {
    ron_of_depth(plan, 2)
}

/// The same with the given depth, everything deeper on one line: for plans with long lists of small records.
pub fn ron_of_depth<P: Serialize>(plan: &P, depth: usize) -> String {
    let pretty = ron::ser::PrettyConfig::default().depth_limit(depth);
    ron::ser::to_string_pretty(plan, pretty).expect("plans are plain data")
}

/// An initialiser: numbers with commas.
pub(crate) fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// Renders a whole file from a template and its plan.
pub fn render<P: Serialize>(template: Template, plan: &P) -> Result<String, TextError> {
    Ok(completed(&fragment(template, plan)?))
}

/// A whole file: without what it does not use of the prelude, and with the numbers of the lines after a user's.
pub(crate) fn completed(text: &str) -> String {
    number_resumed_lines(&used::without_unused_prelude(text))
}

/// Renders a part of a file, for inclusion in another template.
pub fn fragment<P: Serialize>(template: Template, plan: &P) -> Result<String, TextError> {
    let fail = |source: minijinja::Error| TextError::Template {
        template: template.name,
        line: source.line().unwrap_or(0),
        source,
    };
    let syntax = SyntaxConfig::builder()
        .block_delimiters("<%", "%>")
        .variable_delimiters("${", "}")
        .comment_delimiters("<#", "#>")
        .build()
        .map_err(fail)?;
    let mut environment = Environment::new();
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.add_filter("filled", fill);
    environment.add_filter("cuda", cuda_type);
    for Template { name, source } in files::INCLUDED.iter().chain([&template]) {
        environment.add_template(name, source).map_err(fail)?;
    }
    let plan = Value::from_serialize(plan);
    let is_included = |part: &&Template| template.source.contains(&format!("include \"{}\"", part.name));
    for Template { name, .. } in [&template].into_iter().chain(files::INCLUDED.iter().filter(is_included)) {
        fields::check(name, &environment.get_template(name).map_err(fail)?, &plan)?;
    }
    let compiled = environment.get_template(template.name).map_err(fail)?;
    compiled.render(&plan).map_err(|refused| {
        let at = files::INCLUDED.iter().find(|part| refused.name() == Some(part.name)).unwrap_or(&template);
        fields::explain(at.name, at.source, &plan, refused)
    })
}

/// Renders a part of a file. An error of the template becomes an `#error` in the text, which stops NVRTC.
pub(crate) fn part<P: Serialize>(template: Template, plan: &P) -> String {
    fragment(template, plan).unwrap_or_else(|error| format!("#error \"{error}\"\n"))
}

/// The filter `cuda`: the CUDA type of a plan's number type.
fn cuda_type(scalar: &str) -> Result<&'static str, minijinja::Error> {
    let known = [ScalarType::F64, ScalarType::F32].into_iter().find(|known| format!("{known:?}") == scalar);
    let wrong = || minijinja::Error::new(ErrorKind::InvalidOperation, format!("{scalar} is no number type"));
    known.map(ScalarType::cuda).ok_or_else(wrong)
}

/// The filter `filled(indent)`: lines of a text put side by side, as many as fit.
fn fill(lines: &str, indent: usize) -> String {
    filled(lines.lines().map(str::trim).filter(|line| !line.is_empty()), indent, LINE - indent)
}

/// Inserts line numbers where generated lines continue after a user's.
pub(crate) fn number_resumed_lines(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len());
    for (k, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == RESUME_LINES {
            // The directive numbers the line after itself, from 1.
            numbered.push_str(&format!("#line {} \"kernel.cu\"\n", k + 2));
        } else {
            numbered.push_str(line);
        }
    }
    numbered
}
