//! A diagonal `sum!` as written by the user: its CUDA translation by `#[gpu_operator]`, with the values of its indices
//! and parameters as constants.

use super::coefficients::CoefficientWriter;
use serde::{Deserialize, Serialize};

/// A constant used by the expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpressionParameter {
    /// Its name in the definition.
    pub name: String,
    /// One value, or a table.
    pub values: Vec<f64>,
    /// Whether it is a table, indexed in the expression.
    pub indexed: bool,
    /// Whether it uses integer arithmetic.
    pub integer: bool,
}

/// One diagonal `sum!`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpressionPlan {
    /// File of the definition.
    pub file: String,
    /// Line of the `sum!`.
    pub line: u32,
    /// The sum as the user wrote it.
    pub text: String,
    /// The summand in CUDA.
    pub cuda: String,
    /// Loop variables: name, whether integer, and one value per summand.
    pub indices: Vec<(String, bool, Vec<f64>)>,
    /// Parameters it uses.
    pub parameters: Vec<ExpressionParameter>,
}

/// Summands that are unrolled at once. A fully unrolled sum over fifteen bonds took every register and spilled (sm_90,
/// NVRTC 13.5); with eight it takes 46 and a fifth block fits on a multiprocessor.
const UNROLL: usize = 8;

/// What the template needs of one expression.
#[derive(Serialize)]
pub(super) struct ExpressionView {
    file: String,
    /// The file as a `#line` names it.
    path: String,
    line: u32,
    text: String,
    cuda: String,
    /// Summands.
    count: usize,
    /// Summands unrolled at once, if not all.
    unrolled: Option<usize>,
    indices: Vec<IndexView>,
    constants: Vec<ConstantView>,
}

#[derive(Serialize)]
struct IndexView {
    name: String,
    kind: &'static str,
    /// Whether its values are 0, 1, …, the number of the summand.
    counts: bool,
}

#[derive(Serialize)]
struct ConstantView {
    name: String,
    kind: &'static str,
    table: bool,
    /// The argument in its place, if it is none: a pointer of a table.
    argument: Option<String>,
    values: Vec<String>,
}

impl ExpressionPlan {
    pub(super) fn view(&self, coefficients: &CoefficientWriter<'_>) -> ExpressionView {
        let counts = |(_, integer, values): &(String, bool, Vec<f64>)| {
            *integer && values.iter().enumerate().all(|(k, value)| *value == k as f64)
        };
        let count = self.indices.first().map_or(1, |(_, _, values)| values.len());
        let index = |index: &(String, bool, Vec<f64>)| IndexView {
            name: index.0.clone(),
            kind: number_type(index.1),
            counts: counts(index),
        };
        let parameter =
            |p: &ExpressionParameter| constant(p.name.clone(), &p.values, p.indexed, p.integer, coefficients);
        let tables = self.indices.iter().filter(|index| !counts(index));
        let table = |(name, integer, values): &(String, bool, Vec<f64>)| {
            constant(format!("{name}_of"), values, true, *integer, coefficients)
        };
        ExpressionView {
            file: self.file.clone(),
            path: self.file.replace('\\', "/"),
            line: self.line,
            text: self.text.clone(),
            cuda: self.cuda.clone(),
            count,
            unrolled: (count > UNROLL).then_some(UNROLL),
            indices: self.indices.iter().map(index).collect(),
            constants: self.parameters.iter().map(parameter).chain(tables.map(table)).collect(),
        }
    }
}

fn number_type(integer: bool) -> &'static str {
    if integer { "int" } else { "double" }
}

fn constant(
    name: String,
    values: &[f64],
    table: bool,
    integer: bool,
    coefficients: &CoefficientWriter<'_>,
) -> ConstantView {
    let print = |value: &f64| if integer { format!("{}", *value as i64) } else { format!("{value:?}") };
    let argument = match values {
        _ if integer => None,
        values if table => coefficients.table(values),
        [value, ..] => coefficients.argument(*value),
        [] => None,
    };
    let mut values: Vec<String> = values.iter().map(print).collect();
    if values.is_empty() && !table {
        values.push("0".into());
    }
    ConstantView { name, kind: number_type(integer), table, argument, values }
}
