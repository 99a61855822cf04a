//! Plan → text: the template environment and what every generated file carries.
//!
//! Templates are minijinja with delimiters that leave CUDA's braces alone: `<% for … %>`, `${value}`, `<# comment #>`;
//! an undefined variable is an error. The prelude (`cuda/prelude.cuh`) is put in front, so the text needs no header.

use crate::fields;
use crate::files::Template;
use crate::launch::{Element, Parameter};
use minijinja::{Environment, UndefinedBehavior, Value, syntax::SyntaxConfig};
use serde::{Deserialize, Serialize};

/// The least work of one launch: what a perfect kernel would still have to do.
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
    /// A name a person can read; also the name of the cache folder.
    pub name: String,
    /// The whole CUDA text, prelude included, without any `#include`.
    pub text: String,
    /// The plan it came from, as RON.
    pub plan: String,
    /// The names of its `extern "C"` kernels.
    pub entries: Vec<String>,
}

/// A function of the element index that a vector program may call, such as an operator's diagonal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementFunctionText {
    /// Its name in the program.
    pub name: String,
    /// CUDA text that defines `__device__ __forceinline__ T NAME(i64 i, PARAMETERS)`.
    pub source: String,
    /// Each parameter after the index.
    pub parameters: Vec<Parameter>,
}

impl ElementFunctionText {
    /// A diagonal of so many rows that is stored: `diagonal(i, stored_diagonal)`.
    pub fn stored_diagonal(rows: u64) -> ElementFunctionText {
        let parameter = Parameter::table("stored_diagonal", Element::F64, rows);
        let source = format!(
            "__device__ __forceinline__ double diagonal(i64 i, {} stored_diagonal)\n{{\n    return \
             stored_diagonal[i];\n}}\n",
            parameter.cuda()
        );
        ElementFunctionText { name: "diagonal".into(), source, parameters: vec![parameter] }
    }
}

/// A template and its plan do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The template names a field that the plan does not have.
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
        /// The field as the template names it.
        field: String,
        /// What should have it.
        place: String,
        /// The fields that this has.
        known: Vec<String>,
    },
    /// The template engine refused, with its own account.
    #[error(
        "template {template}, line {line}: {source}; the template is at fault, and so eigenforge: please report it"
    )]
    Template {
        /// File name of the template.
        template: &'static str,
        /// Line in it, from 1; 0 where the engine names none.
        line: usize,
        /// What the engine said.
        #[source]
        source: minijinja::Error,
    },
}

/// The prelude that starts every generated file: integer names, warp and block sums, bit tricks.
pub const PRELUDE: &str = crate::files::PRELUDE.source;

/// Stands where generated lines go on after a `#line` that pointed into the user's file; [`render`] puts the number in.
pub(crate) const RESUME_LINES: &str = "#line RESUME";

/// A plan as RON, the form that is kept beside its text: a line a field, a line a flip mask or statement.
pub fn ron<P: Serialize>(plan: &P) -> String {
    ron_of_depth(plan, 2)
}

/// The same with other levels, all that is deeper on one line: for plans with long lists of small records.
pub fn ron_of_depth<P: Serialize>(plan: &P, depth: usize) -> String {
    let pretty = ron::ser::PrettyConfig::default().depth_limit(depth);
    ron::ser::to_string_pretty(plan, pretty).expect("plans are plain data")
}

/// Renders a whole file from a template and its plan.
pub fn render<P: Serialize>(template: Template, plan: &P) -> Result<String, TextError> {
    Ok(number_resumed_lines(&fragment(template, plan)?))
}

/// Renders a part of a file, to be put into another template.
pub fn fragment<P: Serialize>(template: Template, plan: &P) -> Result<String, TextError> {
    let Template { name: template, source } = template;
    let fail = |source: minijinja::Error| TextError::Template { template, line: source.line().unwrap_or(0), source };
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
    environment.add_template(template, source).map_err(fail)?;
    let compiled = environment.get_template(template).map_err(fail)?;
    let plan = Value::from_serialize(plan);
    fields::check(template, &compiled, &plan)?;
    compiled.render(&plan).map_err(|refused| fields::explain(template, source, &plan, refused))
}

/// Puts line numbers to the places where generated lines go on after a user's.
pub(crate) fn number_resumed_lines(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len());
    for (k, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == RESUME_LINES {
            // The directive names the line after itself, counted from 1.
            numbered.push_str(&format!("#line {} \"kernel.cu\"\n", k + 2));
        } else {
            numbered.push_str(line);
        }
    }
    numbered
}
