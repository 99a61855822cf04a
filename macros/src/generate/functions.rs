//! Functions and methods inside coefficients: Rust's name, CUDA's name, and the few that need more than a name.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, ExprCall, ExprMethodCall, Result};

use super::cuda::{Translator, refuse_single, untranslatable};
use super::text::{Precedence, Text};
use crate::parse::Kind;
use crate::vocabulary;

/// f64 methods of no further argument: (Rust, CUDA).
const UNARY: &[(&str, &str)] = &[
    ("sqrt", "sqrt"),
    ("cbrt", "cbrt"),
    ("exp", "exp"),
    ("exp2", "exp2"),
    ("exp_m1", "expm1"),
    ("ln", "log"),
    ("ln_1p", "log1p"),
    ("log2", "log2"),
    ("log10", "log10"),
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("asin", "asin"),
    ("acos", "acos"),
    ("atan", "atan"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("tanh", "tanh"),
    ("floor", "floor"),
    ("ceil", "ceil"),
    ("round", "round"),
    ("round_ties_even", "rint"),
    ("trunc", "trunc"),
];

/// f64 methods of one further argument: (Rust, CUDA).
const BINARY: &[(&str, &str)] =
    &[("powi", "pow"), ("powf", "pow"), ("atan2", "atan2"), ("hypot", "hypot"), ("copysign", "copysign")];

/// Every other method that is known.
const OTHERS: &[&str] = &[
    "abs",
    "min",
    "max",
    "clamp",
    "mul_add",
    "recip",
    "to_radians",
    "abs_diff",
    "is_multiple_of",
    "len",
    "x",
    "y",
    "distance",
    "one",
    "two",
    "at",
    "clone",
];

/// The value of a constant of `std::f64::consts`.
pub fn constant(name: &str) -> Option<f64> {
    use std::f64::consts;
    Some(match name {
        "PI" => consts::PI,
        "TAU" => consts::TAU,
        "E" => consts::E,
        "SQRT_2" => consts::SQRT_2,
        "FRAC_1_SQRT_2" => consts::FRAC_1_SQRT_2,
        "LN_2" => consts::LN_2,
        "LN_10" => consts::LN_10,
        "FRAC_PI_2" => consts::FRAC_PI_2,
        "FRAC_PI_3" => consts::FRAC_PI_3,
        "FRAC_PI_4" => consts::FRAC_PI_4,
        "FRAC_PI_6" => consts::FRAC_PI_6,
        "FRAC_PI_8" => consts::FRAC_PI_8,
        "FRAC_1_PI" => consts::FRAC_1_PI,
        "FRAC_2_PI" => consts::FRAC_2_PI,
        _ => return None,
    })
}

/// `receiver.method(arguments)`.
pub fn method(translator: &mut Translator, call: &ExprMethodCall) -> Result<Text> {
    let name = call.method.to_string();
    let arguments: Vec<&Expr> = call.args.iter().collect();
    match (name.as_str(), arguments.as_slice()) {
        ("x" | "y", [site]) => return coordinate(translator, &call.receiver, &name, site),
        ("distance", [from, to]) => return distance(translator, &call.receiver, from, to),
        ("one" | "at", [_, _]) | ("two", [_, _, _, _]) => {
            return translator.element(&call.receiver, &name, &call.args, &Expr::MethodCall(call.clone()));
        }
        ("len", []) => {
            let receiver = &call.receiver;
            return translator.property(receiver, "len", quote!(#receiver.len()), Kind::Integer);
        }
        ("clone", []) => return translator.expression(&call.receiver),
        _ => {}
    }
    let mut texts = vec![translator.expression(&call.receiver)?];
    for argument in arguments {
        texts.push(translator.expression(argument)?);
    }
    function(&name, &texts, call).unwrap_or_else(|| {
        let known = known_methods();
        let why = match name.as_str() {
            "pow" => "integer powers have no counterpart: multiply, or cast and use `powi`".to_string(),
            "rem_euclid" => "write `(i + length - 1) % length` on indices, or `x - l * (x / l).floor()` on floats".to_string(),
            "signum" => "its value at zero differs: write `if x < 0.0 { -1.0 } else { 1.0 }`".to_string(),
            "into" => "write the type, as in `i as f64`".to_string(),
            _ => {
                let meant = vocabulary::probable(&name, &known);
                let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
                format!("the method `{name}` is not among those known here{meant}; otherwise compute it before the sum, with `let` or into a slice of one value a site")
            }
        };
        Err(untranslatable(call, &why))
    })
}

fn known_methods() -> Vec<&'static str> {
    UNARY.iter().chain(BINARY).map(|(rust, _)| *rust).chain(OTHERS.iter().copied()).collect()
}

/// `cos(x)`, `f64::cos(x)` and `f64::from(x)`; any other call has no translation.
pub fn call(translator: &mut Translator, call: &ExprCall) -> Result<Text> {
    let name = call.func.to_token_stream().to_string().replace(' ', "");
    let method = ["f64::", "std::f64::", "core::f64::"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let bare = vocabulary::function(&name).map(|_| name.as_str());
    if let Some(method) = method.or(bare) {
        let mut texts = Vec::new();
        for argument in &call.args {
            texts.push(translator.expression(argument)?);
        }
        if let ("from", [operand]) = (method, texts.as_slice()) {
            let text = format!("(double){}", operand.parenthesised(Precedence::Unary));
            return Ok(Text { text, precedence: Precedence::Unary, kind: Kind::Float });
        }
        if let Some(translated) = function(method, &texts, call) {
            return translated;
        }
    }
    let why = if known_methods().contains(&name.as_str()) {
        format!("`{name}` is a method: write `x.{name}(..)`")
    } else {
        format!(
            "the function `{name}` cannot be read from here: write its formula out, or compute its values before the sum into a slice of one value a site and write `values[i]`"
        )
    };
    Err(untranslatable(call, &why))
}

/// A known function of translated arguments; `None` when there is no such function of that many arguments.
fn function(name: &str, arguments: &[Text], at: &impl ToTokens) -> Option<Result<Text>> {
    for argument in arguments {
        if let Err(error) = refuse_single(argument, at) {
            return Some(Err(error));
        }
    }
    let named = |table: &[(&str, &'static str)]| table.iter().find(|(rust, _)| *rust == name).map(|(_, cuda)| *cuda);
    let text = match arguments {
        [x] => match name {
            "abs" if x.kind == Kind::Float => Text::call("fabs", &[x], Kind::Float),
            "abs" => Text::call("abs", &[x], x.kind.clone()),
            "recip" => Text::binary(&Text::atom("1.0", Kind::Float), "/", x, Precedence::Product, Kind::Float),
            "to_radians" => {
                let factor = Text::atom(format!("{:?}", std::f64::consts::PI / 180.0), Kind::Float);
                Text::binary(x, "*", &factor, Precedence::Product, Kind::Float)
            }
            _ => Text::call(named(UNARY)?, &[x], Kind::Float),
        },
        [x, y] => match name {
            "min" | "max" => extreme(name, x, y),
            "abs_diff" => {
                let difference = Text::binary(x, "-", y, Precedence::Sum, Kind::Integer);
                Text::call("abs", &[&difference], Kind::Integer)
            }
            "is_multiple_of" => {
                let remainder = Text::binary(x, "%", y, Precedence::Product, Kind::Integer);
                let zero = Text::atom("0", Kind::Integer);
                Text::binary(&remainder, "==", &zero, Precedence::Equality, Kind::Bool)
            }
            _ => Text::call(named(BINARY)?, &[x, y], Kind::Float),
        },
        [x, y, z] => match name {
            "mul_add" => Text::call("fma", &[x, y, z], Kind::Float),
            "clamp" => extreme("min", &extreme("max", x, y), z),
            _ => return None,
        },
        _ => return None,
    };
    Some(Ok(text))
}

/// min and max: of floats CUDA's functions, of integers (and what may be one) a comparison, which no overload can miss.
fn extreme(name: &str, x: &Text, y: &Text) -> Text {
    if x.kind == Kind::Float || y.kind == Kind::Float {
        return Text::call(if name == "min" { "fmin" } else { "fmax" }, &[x, y], Kind::Float);
    }
    let kind = if x.kind == Kind::Unknown { y.kind.clone() } else { x.kind.clone() };
    let symbol = if name == "min" { "<" } else { ">" };
    let (left, right) = (x.parenthesised(Precedence::Sum), y.parenthesised(Precedence::Sum));
    Text::atom(format!("({left} {symbol} {right} ? {left} : {right})"), kind)
}

/// `lattice.x(i)` → `lattice_x[i]`.
fn coordinate(translator: &mut Translator, lattice: &Expr, axis: &str, site: &Expr) -> Result<Text> {
    let list: TokenStream = if axis == "x" { quote!(#lattice.xs()) } else { quote!(#lattice.ys()) };
    let array = translator.property(lattice, axis, list, Kind::Array(Box::new(Kind::Float)))?;
    let site = translator.expression(site)?;
    Ok(Text::atom(format!("{}[{}]", array.text, site.text), Kind::Float))
}

/// `lattice.distance(i, j)` → an element of the table of all distances: periodic directions take the shortest way
/// round, which coordinates alone cannot tell.
fn distance(translator: &mut Translator, lattice: &Expr, from: &Expr, to: &Expr) -> Result<Text> {
    // Borrowed first: the lattice may be an owned parameter.
    let table = quote!({
        let all = &#lattice;
        all.sites().flat_map(|from| all.sites().map(move |to| all.distance(from, to))).collect::<::std::vec::Vec<f64>>()
    });
    let table = translator.property(lattice, "distance", table, Kind::Array(Box::new(Kind::Float)))?;
    let count = translator.property(lattice, "sites", quote!(#lattice.sites().len()), Kind::Integer)?;
    let [from, to] = [translator.expression(from)?, translator.expression(to)?];
    let row = Text::binary(&from, "*", &count, Precedence::Product, Kind::Integer);
    let position = Text::binary(&row, "+", &to, Precedence::Sum, Kind::Integer);
    Ok(Text::atom(format!("{}[{}]", table.text, position.text), Kind::Float))
}
