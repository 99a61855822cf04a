//! Program → CUDA text. The statements are written once, in a device function of one element; the kernel around it uses
//! 16-byte loads and adds the sums in an order that depends only on the length.

use super::language::*;
use crate::files;
use crate::launch::{Access, Element, Launch, LaunchError, Number, Parameter};
use crate::prototype::{Declarations, Prototype};
use crate::sums::SUM_BLOCKS;
use crate::text::{TextError, completed, fragment};
use crate::{ElementFunctionText, KernelText, ScalarType};
use serde::Serialize;

/// Threads of a block of a vector program.
pub const THREADS: u32 = 256;

/// Bytes that a multiprocessor must have in flight to keep memory busy. Measured on one H200: 4 to 24 inner products of
/// 500,000 doubles take the least time with 512 threads of three and more loads of 16 bytes.
const IN_FLIGHT: usize = 40 << 10;

/// CUDA text of the random start: uniform in [-1, 1), splitmix64 of the index with its start moved by the seed.
pub const RANDOM_START: &str = files::RANDOM_START.source;

/// The parameter that is the index of the vectors' first element, for functions of it.
const FIRST: &str = "first_element";

/// The kernel's name for a function's parameter.
fn own_name(function: &ElementFunctionText, parameter: &Parameter) -> String {
    format!("{}_{}", function.name, parameter.name)
}

impl ElementFunctionText {
    /// The same function under another name, as a program declares it.
    pub fn named(&self, name: &str) -> ElementFunctionText {
        if self.name == name {
            return self.clone();
        }
        let passed: String = self.parameters.iter().map(|p| format!(", {}", p.name)).collect();
        let head = format!("{}\n", self.source);
        ElementFunctionText::new(&head, "value_t", name, self.parameters.clone(), &format!("{}(i{passed})", self.name))
    }
}

/// Everything the template needs; every number of the text is here.
#[derive(Serialize)]
struct Plan<'a> {
    name: &'a str,
    /// The program, line by line, for the head of the file.
    source: Vec<&'a str>,
    passes: usize,
    value_type: &'static str,
    /// Elements in 16 bytes.
    width: usize,
    /// Arguments of the launch bounds.
    bounds: String,
    threads: u32,
    vectors: Vec<VectorPlan<'a>>,
    sums: &'a [String],
    /// CUDA text of the element functions.
    functions: Vec<&'a str>,
    /// Parameters of the device function of one element, a line per group.
    element_parameters: Vec<String>,
    /// Its call, with the kernel's names.
    element_call: String,
    body: Vec<StatementPlan<'a>>,
    kernels: Declarations,
}

#[derive(Serialize)]
struct VectorPlan<'a> {
    name: &'a str,
    read: bool,
    written: bool,
}

/// A statement: its kind as in the program, the name it sets or adds to, and the expression.
#[derive(Serialize)]
struct StatementPlan<'a> {
    kind: &'static str,
    name: &'a str,
    value: String,
}

impl VectorProgram {
    /// Blocks for vectors of length `n`: depends only on the program and `n`, so that sums have the same bits on every card.
    ///
    /// Up to eight on each multiprocessor of an H200 (`SUM_BLOCKS`); with sums no more than keep memory busy, because each block's share is
    /// one more to add. On long vectors more, with 30 loads of 16 bytes per thread, up to 8,448. Measured on one H200 with
    /// the eleven-pass update of 130,873,600 doubles: 2.87 ms with 8,448 blocks, 2.91 with 1,056, 3.10 with 528 (three
    /// blocks fit on a multiprocessor, so that is a wave and a third).
    pub fn blocks(&self, n: usize, scalar: ScalarType) -> u32 {
        let elements = THREADS as usize * (16 / scalar.bytes());
        let reads = self.vectors.iter().filter(|v| v.access != Access::Out).count().max(1);
        let busy = IN_FLIGHT.div_ceil(16 * THREADS as usize * reads).clamp(2, 8);
        let most = SUM_BLOCKS as usize * if self.sums.is_empty() { 8 } else { busy };
        let short = n.div_ceil(elements).clamp(1, most);
        short.max((n / (30 * elements)).min(8448)) as u32
    }

    /// The CUDA file of this program: one kernel, `NAME`.
    ///
    /// Its parameters: the vectors, the scalars, each function's parameters as `FUNCTION_PARAMETER` and, if there are functions,
    /// `i64 first_element`, the index of the vectors' first element (0 but where a rank has a share of them); then, if there are sums, `double* partials` for the blocks' shares, `u32* arrived`, 0 before and after, and `double* totals`; then
    /// `i64 n`. `functions` are in the program's order.
    pub fn text(&self, scalar: ScalarType, functions: &[ElementFunctionText]) -> Result<KernelText, TextError> {
        let written = |v: &VectorDeclaration| v.access != Access::In;
        // The element function: i, then the vectors (by reference if written), numbers, sums by reference.
        let group = |kind: &str, names: &[String]| names.iter().map(|n| format!("{kind} {n}")).collect::<Vec<_>>();
        let vectors = |v: &VectorDeclaration| format!("{} {}", if written(v) { "sum_t&" } else { "sum_t" }, v.name);
        let groups = [
            self.vectors.iter().map(vectors).collect(),
            group("double", &self.scalars),
            group("sum_t", &self.functions),
            group("sum_t&", &self.sums),
        ];
        let groups = groups.iter().filter(|g| !g.is_empty()).map(|g| g.join(", "));
        let calls = functions.iter().map(|f| {
            let passed: Vec<String> = f.parameters.iter().map(|p| format!(", {}", own_name(f, p))).collect();
            format!("{}({FIRST} + i{})", f.name, passed.concat())
        });
        let arguments = self.vectors.iter().map(|v| v.name.clone()).chain(self.scalars.iter().cloned());
        let arguments: Vec<String> = arguments.chain(calls).chain(self.sums.iter().cloned()).collect();
        // Lengths do not show in a text.
        let kernel = self.kernel((0, 1), scalar, functions);
        let plan = Plan {
            name: &self.name,
            source: self.source.lines().collect(),
            passes: self.passes(),
            value_type: scalar.cuda(),
            width: 16 / scalar.bytes(),
            bounds: self.bounds(),
            threads: THREADS,
            vectors: self
                .vectors
                .iter()
                .map(|v| VectorPlan { name: &v.name, read: v.access != Access::Out, written: written(v) })
                .collect(),
            sums: &self.sums,
            functions: functions.iter().map(|f| f.source.as_str()).collect(),
            element_parameters: std::iter::once("i64 i".to_owned()).chain(groups).collect(),
            element_call: format!("{}_element(i, {})", self.name, arguments.join(", ")),
            body: self.statements.iter().map(statement).collect(),
            kernels: [&kernel].into_iter().collect(),
        };
        let body = fragment(files::VECTOR_PROGRAM, &plan)?;
        let (head, kernels) = body.split_once("// prelude\n").unwrap_or(("", &body));
        // Numbered including the prelude, because a diagonal in the user's words contains `#line`s.
        let text = completed(&format!("{head}{}{kernels}", self.warp.prelude()));
        let entries = vec![self.name.clone()];
        let pretty = ron::ser::PrettyConfig::new().depth_limit(2);
        let plan = ron::ser::to_string_pretty(self, pretty).unwrap_or_else(|_| format!("{self:?}"));
        Ok(KernelText { name: self.name.clone(), text, plan, entries })
    }

    /// The launch of one run over vectors of length `n` on `cards` cards that work as one device, each with as many blocks as one
    /// card alone has; with the parameters that [`VectorProgram::text`] declares. `functions` are in the program's order.
    pub fn launch(
        &self,
        n: usize,
        cards: u32,
        scalar: ScalarType,
        functions: &[ElementFunctionText],
    ) -> Result<Launch, LaunchError> {
        let grid = u64::from(self.blocks(n, scalar)) * u64::from(cards);
        self.kernel((n, grid), scalar, functions).launch(grid, THREADS, 0)
    }

    fn kernel(&self, (n, grid): (usize, u64), scalar: ScalarType, functions: &[ElementFunctionText]) -> Prototype {
        let sums = self.sums.len() as u64;
        let vector =
            |v: &VectorDeclaration| Parameter::values(format!("{}_vector", v.name), scalar, v.access, n as u64);
        let own = |f: &ElementFunctionText| -> Vec<Parameter> {
            f.parameters.iter().map(|p| Parameter { name: own_name(f, p), ..p.clone() }).collect()
        };
        let mut parameters: Vec<Parameter> = self.vectors.iter().map(vector).collect();
        parameters.extend(self.scalars.iter().map(|name| Parameter::number(name, Number::F64)));
        parameters.extend(functions.iter().flat_map(own));
        if !functions.is_empty() {
            parameters.push(Parameter::number(FIRST, Number::I64));
        }
        if sums > 0 {
            parameters.push(Parameter::memory("partials", Element::F64, Access::Out, sums * grid));
            parameters.push(Parameter::memory("arrived", Element::U32, Access::InOut, 1));
            parameters.push(Parameter::memory("totals", Element::F64, Access::Out, sums));
        }
        parameters.push(Parameter::number("n", Number::I64));
        Prototype::new(&self.name, parameters)
    }

    /// With sums: two blocks per multiprocessor keep memory busy, and 128 registers hold up to 17 vectors that are only
    /// read; more may use all registers. Otherwise ptxas aims for more blocks, and spills. Several vectors that are also
    /// written are left to it: the eleven-pass update gets 76 registers and three blocks.
    fn bounds(&self) -> String {
        let writes = self.vectors.iter().any(|v| v.access != Access::In);
        match self.vectors.len() {
            _ if self.sums.is_empty() => THREADS.to_string(),
            6.. if writes => THREADS.to_string(),
            ..=17 => format!("{THREADS}, 2"),
            _ => format!("{THREADS}, 1"),
        }
    }
}

fn statement(statement: &Statement) -> StatementPlan<'_> {
    let (kind, name) = match statement {
        Statement::Assign { vector, .. } => ("assign", vector),
        Statement::Let { name, .. } => ("let", name),
        Statement::Sum { name, .. } => ("sum", name),
    };
    StatementPlan { kind, name, value: print(statement.value(), 0) }
}

/// CUDA text of an expression, with parentheses only where they are needed.
/// `outer` is the strength of what stands around: 0 nothing, 1 a sum, 2 a product, 3 a unary minus or right factor.
fn print(expression: &Expression, outer: u8) -> String {
    let (text, strength) = match expression {
        Expression::Number(value) => (format!("{value:?}"), 4),
        Expression::Name(name) => (name.clone(), 4),
        Expression::Negate(a) => (format!("-{}", print(a, 3)), if outer == 0 { 4 } else { 0 }),
        Expression::Binary(operation, a, b) => match operation {
            Binary::Add => (format!("{} + {}", print(a, 1), print(b, 2)), 1),
            Binary::Subtract => (format!("{} - {}", print(a, 1), print(b, 2)), 1),
            Binary::Multiply => (format!("{} * {}", print(a, 2), print(b, 3)), 2),
            Binary::Divide => (format!("{} / {}", print(a, 2), print(b, 3)), 2),
        },
        Expression::Call(function, arguments) => {
            let name = match function {
                Function::Sqrt => "sqrt",
                Function::Abs => "fabs",
                Function::Min => "fmin",
                Function::Max => "fmax",
                Function::Fma => "fma",
            };
            let arguments: Vec<String> = arguments.iter().map(|a| print(a, 0)).collect();
            (format!("{name}({})", arguments.join(", ")), 4)
        }
        Expression::Select { comparison, left, right, then, otherwise } => {
            let sign = if *comparison == Comparison::Less { "<" } else { "<=" };
            let (left, right) = (print(left, 1), print(right, 1));
            (format!("({left} {sign} {right} ? {} : {})", print(then, 1), print(otherwise, 1)), 4)
        }
    };
    if strength < outer { format!("({text})") } else { text }
}
