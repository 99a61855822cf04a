//! CUDA texts of coefficients and diagonal expressions, and the captures they need.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ItemFn, Macro, parse_quote};

use super::sum::{Translation, translate};
use crate::check::product;
use crate::parse::{Scope, Sum, parse_sum};

fn scope() -> Scope {
    let function: ItemFn = parse_quote! {
        fn f(&self, lattice: &Lattice, t: f64, u: &[f64], v: f64, l: usize, small: f32, μ: f64, table: &[Vec<f64>],
             h: &Operator, double: f64, integrals: &Integrals) -> Operator {
            let unknown = something();
            todo!()
        }
    };
    Scope::of_function(&function)
}

fn read(domains: TokenStream, expression: TokenStream) -> Sum {
    let mac: Macro = parse_quote!(sum!(#domains; #expression));
    parse_sum(&mac, &scope()).unwrap()
}

fn translated(sum: &Sum) -> syn::Result<Translation> {
    translate(sum, &product::expand(&sum.expression).unwrap())
}

const BOND: &str = "<i, j, w, kind> in lattice.bonds(), s in [Up, Down]";

fn coefficient(expression: &str) -> syn::Result<String> {
    let expression: TokenStream = expression.parse().unwrap();
    let sum = read(BOND.parse().unwrap(), quote!((#expression) * n(i, s)));
    translated(&sum).map(|translation| translation.coefficients[0].clone())
}

#[test]
fn coefficients_have_the_same_value_in_cuda() {
    let cases = [
        ("-t", "-t"),
        ("-t * w", "-t * w"),
        ("u[i]", "u[i]"),
        ("u[i + l * j]", "u[i + l * j]"),
        ("u[(i + 1) % l]", "u[(i + 1) % l]"),
        ("2.0 * (t + v)", "2.0 * (t + v)"),
        ("t - (v - w)", "t - (v - w)"),
        ("t / (v * w)", "t / (v * w)"),
        ("t / v * w", "t / v * w"),
        ("-(-t)", "-(-t)"),
        ("-(t + v)", "-(t + v)"),
        ("1e-8", "1e-8"),
        ("0.1 + 1_000.5", "0.1 + 1000.5"),
        ("3", "3.0"),
        ("i as f64", "(double)i"),
        ("(i / 2) as f64", "(double)(i / 2)"),
        ("i as f64 / 2.0", "(double)i / 2.0"),
        ("(j as i64 - i as i64) as f64", "(double)((long long)j - (long long)i)"),
        ("-small as f64", "refused"),
        ("small as f64", "(double)small"),
        ("t.powi(2)", "pow(t, 2)"),
        ("(-1.0_f64).powi(i as i32)", "pow(-1.0, (int)i)"),
        ("(t * t + v * v).sqrt()", "sqrt(t * t + v * v)"),
        ("(-w / v).exp()", "exp(-w / v)"),
        ("w.ln().abs()", "fabs(log(w))"),
        ("t.max(v).min(1.0)", "fmin(fmax(t, v), 1.0)"),
        ("f64::max(t, 0.0)", "fmax(t, 0.0)"),
        ("w % 1.0", "fmod(w, 1.0)"),
        ("i.abs_diff(j) as f64", "(double)abs(i - j)"),
        ("i.max(j) as f64", "(double)(i > j ? i : j)"),
        ("if i % 2 == 0 { t } else { -t }", "(i % 2 == 0 ? t : -t)"),
        ("if (i + j).is_multiple_of(2) { t } else { v }", "((i + j) % 2 == 0 ? t : v)"),
        (
            "if kind == 1 && !(i < j || w > 0.5) { t } else if i == 0 { v } else { 0.0 }",
            "(kind == 1 && !(i < j || w > 0.5) ? t : (i == 0 ? v : 0.0))",
        ),
        ("if (i & 1) == 0 { t } else { v }", "((i & 1) == 0 ? t : v)"),
        ("if s == Up { t } else { -t }", "(s == 0 ? t : -t)"),
        ("lattice.x(i)", "lattice_x[i]"),
        ("lattice.y(j) - lattice.y(i)", "lattice_y[j] - lattice_y[i]"),
        ("v / lattice.distance(i, j).powi(3)", "v / pow(lattice_distance[i * lattice_sites + j], 3)"),
        ("0.5 * integrals.two(i, i, j, j)", "0.5 * integrals_two_i_i_j_j"),
        ("t * integrals.one(i + 1, l)", "t * integrals_one_i_1_l"),
        ("self.dipole.at(i, j)", "self_dipole_at_i_j"),
        ("integrals.core / integrals.orbitals as f64", "integrals_core / (double)integrals_orbitals"),
        ("std::f64::consts::PI * t", "3.141592653589793 * t"),
        ("(2.0 * f64::consts::PI * i as f64 / u.len() as f64).cos()", "cos(2.0 * 6.0 * (double)i)"),
        ("self.t", "self_t"),
        ("self.u[i]", "self_u[i]"),
        ("model.couplings.0[i]", "model_couplings_0[i]"),
        ("μ", "mu"),
        ("double", "double_"),
        ("*t", "t"),
        ("{ t }", "t"),
        ("unknown * t", "unknown * t"),
        ("sqrt(t) + cos(PI * t)", "sqrt(t) + cos(3.141592653589793 * t)"),
        ("min(t, 2)", "fmin(t, 2.0)"),
        ("t ^ 2 * v", "pow(t, 2) * v"),
        ("-t ** v", "-pow(t, v)"),
        ("sqrt(i + 1)", "sqrt((double)i + 1.0)"),
        ("t ^ i", "pow(t, (int)i)"),
        ("table[i][j + 1]", "table_i_j_1"),
        ("5_000_000_000_i64 as f64", "(double)5000000000LL"),
    ];
    for (rust, cuda) in cases {
        match cuda {
            "refused" => assert!(coefficient(rust).is_err(), "{rust}"),
            "cos(2.0 * 6.0 * (double)i)" => {
                assert_eq!(coefficient(rust).unwrap(), "cos(2.0 * 3.141592653589793 * (double)i / (double)u_len)")
            }
            _ => assert_eq!(coefficient(rust).unwrap(), cuda, "{rust}"),
        }
    }
}

#[test]
fn what_has_no_translation_says_why() {
    let cases = [
        ("coupling(i)", "the function `coupling` cannot be read from here"),
        ("t.sqr()", "did you mean `sqrt`?"),
        ("t.signum()", "its value at zero differs"),
        ("i.pow(2) as f64", "multiply, or cast"),
        ("unknown % other", "neither side's type is known"),
        ("small * t", "f32 arithmetic"),
        ("1.0f32 as f64", "f32 arithmetic"),
        ("t as u8 as f64", "found `as u8`"),
        ("t as usize as f64", "cast to i64"),
        ("table[i][j][i]", "compute it before the sum"),
        ("[1.0, 2.0][i]", "compute it before the sum"),
        ("match i { 0 => t, _ => v }", "found `match`"),
        ("if i == 0 { t }", "no `else`"),
        ("{ let a = t; a }", "move the statements"),
        ("assert!(true)", "macros are not expanded here"),
        ("i.len() as f64", "an index of the sum is a number"),
        ("h * 2.0", "an operator cannot be part"),
        ("integrals.one(i + 1, j) + integrals.one(i, 1 + j)", "would both be called `integrals_one_i_1_j`"),
        ("model.t + model_t", "would both be called `model_t`"),
        ("\"text\"", "expected a number"),
        ("!i as f64", "conditions only"),
    ];
    for (rust, expected) in cases {
        let found = coefficient(rust).unwrap_err().to_string();
        assert!(found.contains("no CUDA translation") && found.contains(expected), "{rust}: {found}");
    }
}

#[test]
fn diagonal_expressions_are_translated_whole() {
    let cases = [
        ("u[i] * n(i, Up) * n(i, Down)", Some("u[i] * n_up(i) * n_dn(i)")),
        ("v * w * n(i) * n(j)", Some("v * w * n_total(i) * n_total(j)")),
        ("t * (n(i, s) - 0.5) * (n(j, s) - 0.5)", Some("t * (n(i, s) - 0.5) * (n(j, s) - 0.5)")),
        ("-lattice.x(i) * sz(i) * sz(j) / 2", Some("-lattice_x[i] * sz(i) * sz(j) / 2.0")),
        ("t * (n(i, Up) + h.c.)", Some("t * (2.0 * n_up(i))")),
        ("1.0", Some("1.0")),
        ("n(i, Up) + cdag(i, s) * c(j, s) + h.c.", None),
        ("sdots(i, j)", None),
    ];
    for (rust, cuda) in cases {
        let sum = read(BOND.parse().unwrap(), rust.parse().unwrap());
        assert_eq!(translated(&sum).unwrap().cuda.as_deref(), cuda, "{rust}");
    }
}

#[test]
fn each_product_has_its_coefficient() {
    let cases: [(&str, &[&str]); 6] = [
        ("-t * (cdag(i, s) * c(j, s) + h.c.)", &["-t", "-t"]),
        ("(t * n(i) - v) * (n(j) + 1.0)", &["t", "t * 1.0", "-v", "-v * 1.0"]),
        ("-(sp(i) * sm(j) + h.c.) / 2.0 + w * sz(i) * sz(j)", &["-1.0 / 2.0", "-1.0 / 2.0", "w"]),
        ("sdots(i, j)", &["1.0"]),
        ("n(i) * t * n(j) * v", &["t * v"]),
        ("t * (cdag(i, s) * c(j, s) - h.c.)", &["t", "-t"]),
    ];
    for (rust, expected) in cases {
        let sum = read(BOND.parse().unwrap(), rust.parse().unwrap());
        assert_eq!(translated(&sum).unwrap().coefficients, expected, "{rust}");
    }
}

#[test]
fn an_element_of_a_table_of_integrals_is_a_value_of_each_summand() {
    let sum =
        read(BOND.parse().unwrap(), quote!(integrals.two(i, i, j, j) * n(i) * n(j) - t * integrals.two(i, i, j, j)));
    let translation = translated(&sum).unwrap();
    assert_eq!(
        translation.cuda.as_deref(),
        Some("integrals_two_i_i_j_j * n_total(i) * n_total(j) - t * integrals_two_i_i_j_j")
    );
    let [column] = translation.columns.as_slice() else { panic!("{:?}", translation.columns) };
    assert_eq!(column.name, "integrals_two_i_i_j_j");
    assert_eq!(translation.captures.len(), 1, "the table itself is not handed over");
}

#[test]
fn captures_are_listed_once_in_order_of_use() {
    let sum = read(BOND.parse().unwrap(), quote!(v * u[i] * lattice.x(i) * n(i) + v * lattice.x(j) * n(j)));
    let captures = translated(&sum).unwrap().captures;
    let names: Vec<(String, String)> = captures.into_iter().map(|c| (c.name, c.value.to_string())).collect();
    let expected = [("v", "v"), ("u", "u"), ("lattice_x", "lattice . xs ()")];
    assert_eq!(names, expected.map(|(name, value)| (name.to_string(), value.to_string())));
}
