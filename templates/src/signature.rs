//! The parameters declared by a kernel in a CUDA text: read from the text itself, so that a launch can be checked against
//! what will run, and an edited text against the one it replaces.

use crate::launch::{Access, Element, Launch, LaunchError, ParameterKind};
use std::fmt;

/// One parameter as declared in the CUDA text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// The kind of its argument.
    pub kind: DeclaredKind,
}

/// The kind of argument for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredKind {
    /// An address.
    Pointer {
        /// Type of an element as spelled in the text: `double`, `real`, `u32`.
        element: String,
        /// Whether the kernel may only read it.
        constant: bool,
    },
    /// A number: `i64`, `u64`, `int`, `u32`, `double`, `float`.
    Number(String),
}

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            DeclaredKind::Pointer { element, constant } => {
                write!(f, "{}{element}* {}", if *constant { "const " } else { "" }, self.name)
            }
            DeclaredKind::Number(kind) => write!(f, "{kind} {}", self.name),
        }
    }
}

/// A kernel's declaration with its names resolved, such as `typedef double real` and `__launch_bounds__(THREADS)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The parameters; for each pointer its element type, if it is one of ours.
    pub parameters: Vec<(Declared, Option<Element>)>,
    /// Most threads of a block, if the text states it in a form that is understood: a product of numbers and constants.
    pub threads: Option<u32>,
}

impl Signature {
    /// The signature of the kernel `entry`; `None` if the text has no such kernel.
    pub fn read(text: &str, entry: &str) -> Option<Signature> {
        let code = without_comments(text);
        let (start, parameters) = find(&code, entry)?;
        let resolve = |declared: Declared| {
            let element = match &declared.kind {
                DeclaredKind::Pointer { element, .. } => Element::of_cuda(&plain_type(&code, element)),
                DeclaredKind::Number(_) => None,
            };
            (declared, element)
        };
        let parameters = parameters.into_iter().map(resolve).collect();
        let head = &code[code[..start].rfind(['}', ';']).map_or(0, |at| at + 1)..start];
        let bounds = head.split_once("__launch_bounds__(").map(|(_, rest)| rest.split([',', ')']).next().unwrap_or(""));
        let threads = bounds.and_then(|bounds| product(&code, bounds, 0)).and_then(|n| u32::try_from(n).ok());
        Some(Signature { parameters, threads })
    }

    /// Checks the plan's parameters against the declared ones: number, names, types, and what is `const`; and the block
    /// against the launch bounds.
    pub fn check(&self, launch: &Launch) -> Result<(), LaunchError> {
        let (planned, declared) = (launch.parameters.len(), self.parameters.len());
        if planned != declared {
            return Err(LaunchError::ParameterCount { entry: launch.entry.clone(), planned, declared });
        }
        for (k, (planned, (declared, resolved))) in launch.parameters.iter().zip(&self.parameters).enumerate() {
            let same = match (&planned.kind, &declared.kind) {
                (ParameterKind::Memory { element, access, .. }, DeclaredKind::Pointer { constant, .. }) => {
                    *resolved == Some(*element) && *constant == (*access == Access::In)
                }
                (ParameterKind::Number(number), DeclaredKind::Number(declared)) => number.cuda() == declared,
                _ => false,
            };
            if !same || planned.name != declared.name {
                return Err(LaunchError::Parameter {
                    entry: launch.entry.clone(),
                    position: k + 1,
                    planned: planned.to_string(),
                    declared: declared.to_string(),
                });
            }
        }
        self.threads.map_or(Ok(()), |limit| launch.check_threads(limit, "the text's __launch_bounds__"))
    }
}

/// The parameters of the `extern "C"` kernel `entry`; `None` if the text has no such kernel.
pub fn declared(text: &str, entry: &str) -> Option<Vec<Declared>> {
    find(&without_comments(text), entry).map(|(_, parameters)| parameters)
}

/// The type of `typedef TYPE name;`, or the name itself.
fn plain_type(code: &str, name: &str) -> String {
    let typedef = code.split("typedef ").skip(1).filter_map(|rest| rest.split(';').next()?.rsplit_once(' '));
    let found = typedef.filter(|(_, own)| *own == name).map(|(meaning, _)| meaning.trim()).next();
    match found {
        // The integer names of the prelude are typedefs too, but elements are named by them.
        Some(meaning) if Element::of_cuda(name).is_none() => meaning.into(),
        _ => name.into(),
    }
}

/// A product of numbers and of constants (`constexpr int A = 16, B = A * 4;`).
fn product(code: &str, expression: &str, depth: u32) -> Option<u64> {
    expression.split('*').map(str::trim).try_fold(1u64, |total, factor| {
        let value = match factor.parse::<u64>() {
            Ok(number) => number,
            Err(_) if depth < 4 => product(code, constant(code, factor)?, depth + 1)?,
            Err(_) => return None,
        };
        total.checked_mul(value)
    })
}

/// The right side of `constexpr TYPE …, name = …;`.
fn constant<'a>(code: &'a str, name: &str) -> Option<&'a str> {
    let declarations = code.split("constexpr ").skip(1).filter_map(|rest| rest.split(';').next());
    declarations
        .filter_map(|declaration| declaration.split_once(char::is_whitespace))
        .flat_map(|(_, list)| list.split(','))
        .filter_map(|one| one.split_once('='))
        .find(|(own, _)| own.trim() == name)
        .map(|(_, value)| value.trim())
}

/// The body of the kernel `entry`, from behind its opening brace to its closing one; `None` if the text has no such kernel.
pub(crate) fn body_of(text: &str, entry: &str) -> Option<std::ops::Range<usize>> {
    let code = without_comments(text);
    let (start, _) = find(&code, entry)?;
    let first = start + code[start..].find('{')? + 1;
    let mut open = 1;
    let end = code[first..].bytes().position(|byte| {
        open += i32::from(byte == b'{') - i32::from(byte == b'}');
        open == 0
    })?;
    Some(first..first + end)
}

/// Position of the kernel's name in its definition, and its parameters.
fn find(code: &str, entry: &str) -> Option<(usize, Vec<Declared>)> {
    let mut from = 0;
    while let Some(found) = code[from..].find(entry) {
        let start = from + found;
        from = start + entry.len();
        let before = code[..start].chars().next_back();
        let rest = code[from..].trim_start();
        let whole = before.is_none_or(|c| c.is_whitespace() || c == ')');
        let Some(inner) = rest.strip_prefix('(').filter(|_| whole) else { continue };
        let Some(end) = inner.find(')') else { continue };
        let parameters = inner[..end].split(',').map(str::trim).filter(|p| !p.is_empty()).map(parameter).collect();
        return Some((start, parameters));
    }
    None
}

/// The names of all `extern "C"` kernels, in the order of the text.
pub fn kernels(text: &str) -> Vec<String> {
    let code = without_comments(text);
    let mut words = code.split_whitespace().peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if word != "extern" || words.next_if_eq(&"\"C\"").is_none() || words.next_if_eq(&"__global__").is_none() {
            continue;
        }
        // `void __launch_bounds__(256, 4) name(parameters)`: the name is the last word before its own parenthesis.
        let mut head = String::new();
        while !head.contains('{') && !head.contains(';') {
            let Some(word) = words.next() else { break };
            head += word;
            head.push(' ');
        }
        let head = match head
            .split_once("__launch_bounds__")
            .and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)))
        {
            Some((before, rest)) => format!("{before}{rest}"),
            None => head,
        };
        found.extend(head.split('(').next().and_then(|before| before.split_whitespace().last()).map(str::to_string));
    }
    found
}

/// The text with a blank for each byte of its comments, so that places in it are places in the text.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        code.push_str(&rest[..start]);
        let (close, length) = if rest[start..].starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        let comment = rest[start + 2..].find(close).map_or(rest.len() - start, |end| 2 + end + length);
        code.extend(std::iter::repeat_n(' ', comment));
        rest = &rest[start + comment..];
    }
    code.push_str(rest);
    code
}

/// `const double* __restrict__ x` → constant pointer to double; `long long n` → i64.
fn parameter(declaration: &str) -> Declared {
    let words: Vec<&str> = declaration
        .split(|c: char| c.is_whitespace() || c == '*')
        .filter(|w| !w.is_empty() && *w != "__restrict__" && *w != "__grid_constant__")
        .collect();
    let constant = words.contains(&"const");
    let words: Vec<&str> = words.into_iter().filter(|word| *word != "const").collect();
    let (name, kind) = words.split_last().map_or(("", &[][..]), |(name, kind)| (*name, kind));
    let kind = match kind.join(" ").as_str() {
        "long long" | "i64" => "i64".to_owned(),
        "unsigned long long" | "u64" => "u64".to_owned(),
        "unsigned int" | "unsigned" | "u32" => "u32".to_owned(),
        other => other.to_owned(),
    };
    let kind = if declaration.contains('*') {
        DeclaredKind::Pointer { element: kind, constant }
    } else {
        DeclaredKind::Number(kind)
    };
    Declared { name: name.to_owned(), kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_the_text() {
        let text = "__device__ void add_one(i64 i);\n// add(x)\nextern \"C\" __global__ void __launch_bounds__(256) add(\n    double* __restrict__ x, // in\n    const u32* table, long long n,\n    double alpha, const int blocks)\n{ add_one(3); }";
        let found: Vec<String> = declared(text, "add").unwrap().iter().map(Declared::to_string).collect();
        assert_eq!(found, ["double* x", "const u32* table", "i64 n", "double alpha", "int blocks"]);
        assert_eq!(declared(text, "subtract"), None);
    }

    #[test]
    fn typedefs_and_launch_bounds_are_understood() {
        let text = "typedef float real;\nconstexpr int ROWS = 16, LANES = 4;\nconstexpr int THREADS = ROWS * LANES;\n\
            extern \"C\" __global__ void __launch_bounds__(THREADS, 2)\nscale(const real* __restrict__ x, real* y, const u32* t, int n)\n{ }\n\
            extern \"C\" __global__ void other(double* x) { }";
        let signature = Signature::read(text, "scale").unwrap();
        let elements: Vec<_> = signature.parameters.iter().map(|(_, element)| *element).collect();
        assert_eq!(elements, [Some(Element::F32), Some(Element::F32), Some(Element::U32), None]);
        assert_eq!(signature.threads, Some(64));
        assert_eq!(Signature::read(text, "other").unwrap().threads, None);
        assert_eq!(Signature::read(text, "sca"), None);
    }

    #[test]
    fn a_text_that_disagrees_with_its_plan_is_refused() {
        use crate::launch::{Number, Parameter};
        let text = "typedef double real;\nextern \"C\" __global__ void __launch_bounds__(64) scale(const real* x, real* y, i64 n) { }";
        let signature = Signature::read(text, "scale").unwrap();
        let planned = |x, y, n, block| Launch::new("scale", 1, block, 0, vec![x, y, n]).unwrap();
        let x = || Parameter::table("x", Element::F64, 9);
        let y = || Parameter::memory("y", Element::F64, Access::Out, 9);
        let n = || Parameter::number("n", Number::I64);
        assert_eq!(signature.check(&planned(x(), y(), n(), 64)), Ok(()));
        let fault = |launch: Launch| signature.check(&launch).unwrap_err().to_string();
        let wrong = |x, y, n, said: &str| {
            let error = fault(planned(x, y, n, 64));
            assert!(error.contains(said) && error.contains("kernel scale"), "{error}");
        };
        wrong(y(), y(), n(), "parameter 1: the plan passes `double* y` and the text declares `const real* x`");
        wrong(x(), Parameter::table("y", Element::F64, 9), n(), "parameter 2: the plan passes `const double* y`");
        wrong(
            x(),
            Parameter::memory("y", Element::F32, Access::Out, 9),
            n(),
            "parameter 2: the plan passes `float* y`",
        );
        wrong(x(), Parameter::memory("z", Element::F64, Access::Out, 9), n(), "`double* z`");
        wrong(x(), y(), Parameter::number("n", Number::I32), "parameter 3: the plan passes `int n`");
        wrong(x(), y(), Parameter::table("n", Element::F64, 1), "parameter 3");
        assert!(
            fault(Launch { parameters: vec![x()], ..planned(x(), y(), n(), 64) })
                .contains("passes 1 parameters and the text declares 3")
        );
        assert!(
            fault(planned(x(), y(), n(), 65))
                .contains("1 to 64 threads (the limit is of the text's __launch_bounds__), found 65")
        );
    }

    #[test]
    fn kernels_are_found_whatever_stands_around_their_names() {
        let text = "// extern \"C\" __global__ void not(int i)\n/* extern \"C\" __global__ void nor(int i) */\n\
                    extern \"C\" __global__ void __launch_bounds__(THREADS, 4)  // four blocks\nmultiply(int a) {}\n\
                    extern \"C\"\n__global__ void\nfinish (double* x)\n{ f(3); }\n__global__ void inner(int i) {}\n\
                    extern \"C\" __global__ void last() { }";
        assert_eq!(kernels(text), ["multiply", "finish", "last"]);
        assert_eq!(declared(text, "not"), None);
        assert_eq!(declared(text, "finish").unwrap()[0].to_string(), "double* x");
        assert_eq!(kernels(""), Vec::<String>::new());
    }
}
