//! What a kernel's declaration in a CUDA text says of its parameters: read from the text itself, so that a launch can be
//! compared with what will really run, and an edited text with the one it takes the place of.

use std::fmt;

/// One parameter as the CUDA text declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// What may be passed for it.
    pub kind: DeclaredKind,
}

/// What may be passed for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeclaredKind {
    /// An address.
    Pointer {
        /// Type of an element as the text spells it: `double`, `real`, `u32`.
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

/// The parameters of the `extern "C"` kernel `entry`; `None` where the text has no such kernel.
pub fn declared(text: &str, entry: &str) -> Option<Vec<Declared>> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let mut from = 0;
    while let Some(found) = code[from..].find(entry) {
        let start = from + found;
        from = start + entry.len();
        let before = code[..start].chars().next_back();
        let rest = code[from..].trim_start();
        let whole = before.is_none_or(|c| c.is_whitespace() || c == ')');
        let Some(inner) = rest.strip_prefix('(').filter(|_| whole) else { continue };
        let Some(end) = inner.find(')') else { continue };
        return Some(inner[..end].split(',').map(str::trim).filter(|p| !p.is_empty()).map(parameter).collect());
    }
    None
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
}
