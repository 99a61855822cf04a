//! What a power binds, read off the tokens that are handed on.

use super::marked;
use proc_macro2::TokenStream;
use std::str::FromStr;

fn text(source: &str) -> String {
    let tokens = marked(TokenStream::from_str(source).unwrap()).unwrap_or_else(|error| panic!("{source}: {error}"));
    tokens.to_string().replace("__caret", "^").replace("__power", "**").split_whitespace().collect()
}

#[test]
fn a_power_binds_as_mathematics_writes_it() {
    for (source, expected) in [
        ("-2.0 * x^2", "-2.0*^(x,2)"),
        ("-x ** 2", "-**(x,2)"),
        ("a * x ** 2", "a***(x,2)"),
        ("y + sz(i)^2", "y+^(sz(i),2)"),
        ("x^2^3", "^(x,^(2,3))"),
        ("x^-1 + 1", "^(x,-1)+1"),
        ("x ** -y.abs() * z", "**(x,-y.abs())*z"),
        ("u[i]^2 / lattice.x(i)^2", "^(u[i],2)/^(lattice.x(i),2)"),
        ("f64::consts::PI^2", "^(f64::consts::PI,2)"),
        ("(a + b^c)^2", "^((a+^(b,c)),2)"),
        ("sum(i in 0..4; sz(i))^2", "^(sum!(iin0..4;sz(i)),2)"),
        ("0..n^2", "0..^(n,2)"),
        ("2^k..5", "^(2,k)..5"),
        ("v[i][j + 1^2]^(1 + 1)", "^(v[i][j+^(1,2)],(1+1))"),
        ("(-1)^i * n(i)", "^((-1),i)*n(i)"),
        // Dereferences, as Rust writes them.
        ("a * *b", "a**b"),
    ] {
        assert_eq!(text(source), expected, "{source}");
    }
}

#[test]
fn a_power_without_an_operand_is_refused() {
    for source in ["x as f64 ^ 2", "^2", "x^", "x ^ if a { 1 } else { 2 }", "2 +^ x", "{ x }^2"] {
        assert!(marked(TokenStream::from_str(source).unwrap()).is_err(), "{source}");
    }
}

#[test]
fn marking_twice_is_marking_once() {
    let source = "sum(i in a; x^2 * (n(i) + h.c.) + prod(k in 0..i; 1 - 2 ** k * n(k)))";
    let once = marked(TokenStream::from_str(source).unwrap()).unwrap();
    assert_eq!(marked(once.clone()).unwrap().to_string(), once.to_string());
}
