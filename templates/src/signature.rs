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
    let code = without_comments(text);
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

/// The names of all `extern "C"` kernels, in the order of the text.
pub fn kernels(text: &str) -> Vec<String> {
    let code = without_comments(text);
    let mut words = code.split_whitespace().peekable();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if word != "extern" || words.next_if_eq(&"\"C\"").is_none() || words.next_if_eq(&"__global__").is_none() {
            continue;
        }
        // `void __launch_bounds__(256, 4) name(parameters)`: the name is the last word before a parenthesis of its own.
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

/// The text with blanks in place of its comments.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        code.push_str(&rest[..start]);
        code.push(' ');
        let (close, length) = if rest[start..].starts_with("//") { ("\n", 0) } else { ("*/", 2) };
        rest = rest[start + 2..].find(close).map_or("", |end| &rest[start + 2 + end + length..]);
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
