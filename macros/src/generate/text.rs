//! CUDA text with the precedence of C++ and the names that may stand in it.

use crate::parse::Kind;

/// Precedence of an expression, weakest first, as C++ has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `== !=`
    Equality,
    /// `< <= > >=`
    Relation,
    /// `<< >>`
    Shift,
    /// `+ -`
    Sum,
    /// `* / %`
    Product,
    /// unary `-`, `!`, casts
    Unary,
    /// names, numbers, calls, parentheses
    Atom,
}

/// A piece of CUDA text.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub text: String,
    /// How tightly its outermost operation binds.
    pub precedence: Precedence,
    /// Its type, as far as it is known.
    pub kind: Kind,
}

impl Text {
    /// A name, number, call or parenthesis.
    pub fn atom(text: impl Into<String>, kind: Kind) -> Text {
        Text { text: text.into(), precedence: Precedence::Atom, kind }
    }

    /// The text where something that binds as `precedence` is needed.
    pub fn parenthesised(&self, precedence: Precedence) -> String {
        if self.precedence < precedence { format!("({})", self.text) } else { self.text.clone() }
    }

    /// `left symbol right`, left-associative, so that the order of rounding is the one written.
    pub fn binary(left: &Text, symbol: &str, right: &Text, precedence: Precedence, kind: Kind) -> Text {
        let tighter = match precedence {
            Precedence::Product => Precedence::Unary,
            Precedence::Sum => Precedence::Product,
            Precedence::Shift => Precedence::Sum,
            Precedence::Relation => Precedence::Shift,
            Precedence::Equality => Precedence::Relation,
            Precedence::BitAnd => Precedence::Equality,
            Precedence::BitXor => Precedence::BitAnd,
            Precedence::BitOr => Precedence::BitXor,
            Precedence::And => Precedence::BitOr,
            _ => Precedence::And,
        };
        Text {
            text: format!("{} {symbol} {}", left.parenthesised(precedence), right.parenthesised(tighter)),
            precedence,
            kind,
        }
    }

    /// `-operand`; never `--`, which is another thing in C++.
    pub fn negative(operand: &Text) -> Text {
        let inner = operand.parenthesised(Precedence::Unary);
        let text = if inner.starts_with('-') { format!("-({inner})") } else { format!("-{inner}") };
        Text { text, precedence: Precedence::Unary, kind: operand.kind.clone() }
    }

    /// `function(arguments)`.
    pub fn call(function: &str, arguments: &[&Text], kind: Kind) -> Text {
        let arguments: Vec<&str> = arguments.iter().map(|argument| argument.text.as_str()).collect();
        Text::atom(format!("{function}({})", arguments.join(", ")), kind)
    }
}

/// Words that mean something else in CUDA text: keywords, our prelude's types, the occupation functions, the names that
/// the generated loop over summands uses itself.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "constexpr",
    "decltype",
    "default",
    "delete",
    "double",
    "explicit",
    "export",
    "extern",
    "float",
    "friend",
    "goto",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "short",
    "signed",
    "sizeof",
    "switch",
    "template",
    "this",
    "throw",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "void",
    "volatile",
    "xor",
    "i64",
    "u64",
    "u32",
    "u16",
    "T",
    "n",
    "n_up",
    "n_dn",
    "n_total",
    "sz",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "sqrt",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "hypot",
    "pow",
    "fabs",
    "abs",
    "floor",
    "ceil",
    "round",
    "rint",
    "trunc",
    "fmin",
    "fmax",
    "fma",
    "fmod",
    "copysign",
    "min",
    "max",
    "k",
    "up",
    "dn",
    "sum",
    "value",
];

const GREEK: &[(char, &str)] = &[
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('ϵ', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('µ', "mu"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('τ', "tau"),
    ('φ', "phi"),
    ('ϕ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Σ', "Sigma"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Omega"),
];

/// The name of a Rust value in CUDA text: Greek letters by their names, `r#` dropped, reserved words with `_` behind.
pub fn name(rust: &str) -> String {
    let mut name = String::new();
    for letter in rust.strip_prefix("r#").unwrap_or(rust).chars() {
        match GREEK.iter().find(|(greek, _)| *greek == letter) {
            Some((_, latin)) => name.push_str(latin),
            None if letter.is_ascii() => name.push(letter),
            None => name.push_str(&format!("u{:x}", letter as u32)),
        }
    }
    if RESERVED.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_readable_and_legal() {
        assert_eq!(name("μ"), "mu");
        assert_eq!(name("Δ_0"), "Delta_0");
        assert_eq!(name("r#double"), "double_");
        assert_eq!(name("n"), "n_");
        assert_eq!(name("k"), "k_");
        assert_eq!(name("é"), "ue9");
    }

    #[test]
    fn parentheses_keep_the_order_of_rounding() {
        let [a, b, c] = ["a", "b", "c"].map(|name| Text::atom(name, Kind::Float));
        let sum = Text::binary(&b, "+", &c, Precedence::Sum, Kind::Float);
        assert_eq!(Text::binary(&a, "+", &sum, Precedence::Sum, Kind::Float).text, "a + (b + c)");
        assert_eq!(Text::binary(&sum, "+", &a, Precedence::Sum, Kind::Float).text, "b + c + a");
        assert_eq!(Text::binary(&a, "*", &sum, Precedence::Product, Kind::Float).text, "a * (b + c)");
        assert_eq!(Text::negative(&Text::negative(&a)).text, "-(-a)");
    }
}
