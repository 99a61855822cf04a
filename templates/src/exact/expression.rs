//! A diagonal `sum!` as written by the user: its CUDA translation by `#[gpu_operator]`, with the values of its indices
//! and parameters as constants.

use super::DiagonalPlan;
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

impl ExpressionPlan {
    /// `namespace sum_k { constants; double value(words) { loop } }`, with each of the user's lines mapped to the user's
    /// file.
    pub(super) fn declaration(&self, k: usize, words: &str, diagonal: &DiagonalPlan) -> String {
        let mut text = format!("// {}:{}\n//   {}\nnamespace sum_{k} {{\n", self.file, self.line, self.text);
        for parameter in &self.parameters {
            text += &constant(&parameter.name, &parameter.values, parameter.indexed, parameter.integer);
        }
        let count = self.indices.first().map_or(1, |(_, _, values)| values.len());
        let runs = |values: &[f64]| values.iter().enumerate().all(|(k, value)| *value == k as f64);
        for (name, integer, values) in self.indices.iter().filter(|(_, integer, values)| !(*integer && runs(values))) {
            text += &constant(&format!("{name}_of"), values, true, *integer);
        }
        text += &macros(diagonal);
        text += &format!("__device__ __forceinline__ double value({words})\n{{\n    double sum = 0.0;\n");
        if count > UNROLL {
            text += &format!("#pragma unroll {UNROLL}\n");
        }
        text += &format!("    for (int k = 0; k < {count}; ++k) {{\n");
        for (name, integer, values) in &self.indices {
            let kind = if *integer { "int" } else { "double" };
            let value = if *integer && runs(values) { "k".to_string() } else { format!("{name}_of[k]") };
            text += &format!("        const {kind} {name} = {value};\n");
        }
        let file = self.file.replace('\\', "/");
        text +=
            &format!("#line {} \"{file}\"\n        sum += {};\n{}\n", self.line, self.cuda, crate::text::RESUME_LINES);
        text += "    }\n    return sum;\n}\n";
        text += &undefine(diagonal);
        text + &format!("}}  // namespace sum_{k}\n")
    }
}

fn constant(name: &str, values: &[f64], indexed: bool, integer: bool) -> String {
    let kind = if integer { "int" } else { "double" };
    let print = |value: &f64| if integer { format!("{}", *value as i64) } else { format!("{value:?}") };
    if indexed {
        let list: Vec<String> = values.iter().map(print).collect();
        format!("__constant__ {kind} {name}[{}] = {{ {} }};\n", values.len().max(1), list.join(", "))
    } else {
        format!("constexpr {kind} {name} = {};\n", values.first().map_or("0".into(), print))
    }
}

/// n and Sz of the current state, by their names in the definition.
fn macros(diagonal: &DiagonalPlan) -> String {
    if let Some(level) = diagonal.level_macro() {
        return level + "\n";
    }
    "#define n_up(i) ((double)((up >> (i)) & 1u))\n\
     #define n_dn(i) ((double)((dn >> (i)) & 1u))\n\
     #define n(i, spin) ((spin) == 0 ? n_up(i) : n_dn(i))\n\
     #define n_total(i) (n_up(i) + n_dn(i))\n\
     #define sz(i) (0.5 * (n_up(i) - n_dn(i)))\n"
        .into()
}

fn undefine(diagonal: &DiagonalPlan) -> String {
    if diagonal.level_macro().is_some() {
        return "#undef sz\n".into();
    }
    ["n_up", "n_dn", "n", "n_total", "sz"].iter().map(|name| format!("#undef {name}\n")).collect()
}
