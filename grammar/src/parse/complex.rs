//! `exp(a + I b)` = exp(a) (cos b + I sin b), with real a and b: phases as one writes them.

use quote::ToTokens;
use syn::{BinOp, Error, Expr, Result, UnOp, parse_quote};

use super::expression::{Node, has_operator, is_imaginary_unit, node};
use super::scope::Scope;

/// The node of exp(`exponent`), whose exponent holds `I`.
pub(super) fn exponential(exponent: &Expr, scope: &Scope) -> Result<Node> {
    let products = complex_products(exponent);
    if products > MOST_PRODUCTS {
        let message =
            format!("expected at most {MOST_PRODUCTS} products of complex numbers in `exp`, found {products}");
        return Err(Error::new_spanned(exponent, message));
    }
    let Some(Parts { real, imaginary }) = parts(exponent) else {
        return Err(Error::new_spanned(
            exponent,
            format!(
                "expected a number in `exp`, such as `I * phi` with `I` in sums, differences and products with real numbers, found `{}`",
                exponent.to_token_stream()
            ),
        ));
    };
    let phase = match &imaginary {
        Some(phase) => parse_quote!((cos(#phase) + I * sin(#phase))),
        None => parse_quote!(1.0),
    };
    let product: Expr = match &real {
        Some(real) => parse_quote!(exp(#real) * #phase),
        None => phase,
    };
    node(&product, scope)
}

/// Each product of two complex numbers makes their parts four times as long.
const MOST_PRODUCTS: usize = 4;

/// How many products have `I` on both sides.
fn complex_products(expr: &Expr) -> usize {
    match expr {
        Expr::Paren(paren) => complex_products(&paren.expr),
        Expr::Group(group) => complex_products(&group.expr),
        Expr::Unary(unary) => complex_products(&unary.expr),
        Expr::Binary(binary) => {
            let both = matches!(binary.op, BinOp::Mul(_)) && has_operator(&binary.left) && has_operator(&binary.right);
            usize::from(both) + complex_products(&binary.left) + complex_products(&binary.right)
        }
        _ => 0,
    }
}

/// A complex number; `None` is zero.
struct Parts {
    real: Option<Expr>,
    imaginary: Option<Expr>,
}

/// The two parts of an expression without operators; `None` where they are not seen.
fn parts(expr: &Expr) -> Option<Parts> {
    if !has_operator(expr) {
        return Some(Parts { real: Some(expr.clone()), imaginary: None });
    }
    if is_imaginary_unit(expr) {
        return Some(Parts { real: None, imaginary: Some(parse_quote!(1.0)) });
    }
    match expr {
        Expr::Paren(paren) => parts(&paren.expr),
        Expr::Group(group) => parts(&group.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            let Parts { real, imaginary } = parts(&unary.expr)?;
            let negative = |part: Option<Expr>| part.map(|part| parse_quote!((-(#part))));
            Some(Parts { real: negative(real), imaginary: negative(imaginary) })
        }
        Expr::Binary(binary) => {
            let (left, right) = (parts(&binary.left)?, parts(&binary.right)?);
            let sum = |a: Option<Expr>, b: Option<Expr>, negative: bool| match (a, b, negative) {
                (a, None, _) => a,
                (None, Some(b), false) => Some(b),
                (None, Some(b), true) => Some(parse_quote!((-(#b)))),
                (Some(a), Some(b), false) => Some(parse_quote!(((#a) + (#b)))),
                (Some(a), Some(b), true) => Some(parse_quote!(((#a) - (#b)))),
            };
            let product = |a: &Option<Expr>, b: &Option<Expr>| -> Option<Expr> {
                let (a, b) = (a.as_ref()?, b.as_ref()?);
                Some(parse_quote!(((#a) * (#b))))
            };
            match binary.op {
                BinOp::Add(_) | BinOp::Sub(_) => {
                    let negative = matches!(binary.op, BinOp::Sub(_));
                    Some(Parts {
                        real: sum(left.real, right.real, negative),
                        imaginary: sum(left.imaginary, right.imaginary, negative),
                    })
                }
                BinOp::Mul(_) => Some(Parts {
                    real: sum(product(&left.real, &right.real), product(&left.imaginary, &right.imaginary), true),
                    imaginary: sum(product(&left.real, &right.imaginary), product(&left.imaginary, &right.real), false),
                }),
                BinOp::Div(_) if right.imaginary.is_none() => {
                    let divisor = right.real?;
                    let quotient = |part: Option<Expr>| part.map(|part| parse_quote!(((#part) / (#divisor))));
                    Some(Parts { real: quotient(left.real), imaginary: quotient(left.imaginary) })
                }
                _ => None,
            }
        }
        _ => None,
    }
}
