//! A real number of a sum: Rust arithmetic without operators, its functions and powers in one form.
//!
//! `cos(x)` stays a call of a bare name, `x ^ 2` becomes `powi(x, 2)` or `powf(x, y)`, and whole numbers in their arguments become
//! real ones (`sqrt(i + 1)` is `sqrt(i as f64 + 1.0)`), so that the macro's Rust and the text of a file mean the same.

use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Error, Expr, ExprCall, Lit, LitFloat, Member, Result, Type, UnOp, parse_quote};

use super::domain::last_name;
use super::expression::{Node, called_name, check_calls, unwrap_parens};
use super::marks::{CARET, POWER};
use super::scope::{Kind, Scope};
use crate::vocabulary;

/// A whole coefficient.
pub(super) fn coefficient(expr: &Expr, scope: &Scope) -> Result<Node> {
    if let Expr::Field(field) = expr
        && let (Member::Named(member), Some(base)) = (&field.member, last_name(&field.base))
        && member == "c"
        && base == "h"
        && !scope.binds(base)
    {
        return Err(Error::new_spanned(expr, "expected `h.c.` with both dots, found `h.c`"));
    }
    Ok(Node::Coefficient(number(expr, scope)?))
}

/// A real number that multiplies or divides.
pub(super) fn number(expr: &Expr, scope: &Scope) -> Result<Expr> {
    check_calls(expr, scope)?;
    if let Some((quotient, left, right)) = integer_quotient(expr) {
        return Err(Error::new_spanned(
            quotient,
            format!(
                "`{left} / {right}` divides integers, which Rust rounds towards zero: write `{left}.0 / {right}.0`"
            ),
        ));
    }
    value(&as_float(expr), scope)
}

/// Any expression without operators: a number, a site, a condition, what a sum runs over.
pub(super) fn value(expr: &Expr, scope: &Scope) -> Result<Expr> {
    let mut forms = Forms { scope, error: None };
    let mut expr = expr.clone();
    forms.visit_expr_mut(&mut expr);
    forms.error.map_or(Ok(expr), Err)
}

/// Brings functions, powers and comparisons into their form, innermost first.
struct Forms<'s> {
    scope: &'s Scope,
    error: Option<Error>,
}

impl Forms<'_> {
    fn form(&self, expr: &Expr) -> Result<Option<Expr>> {
        match expr {
            Expr::Call(call) => match called_name(call).map(ToString::to_string).as_deref() {
                Some(name @ (POWER | CARET)) => self.power(call, name == CARET).map(Some),
                Some(name) if vocabulary::function(name).is_some() && !self.scope.binds_text(name) => {
                    self.function(call, name).map(Some)
                }
                _ => Ok(None),
            },
            Expr::Binary(binary) if is_comparison(&binary.op) => {
                let mut binary = binary.clone();
                match (self.is_integer(&binary.left), self.is_integer(&binary.right)) {
                    (true, false) if self.is_real(&binary.right) => *binary.left = self.real(&binary.left)?,
                    (false, true) if self.is_real(&binary.left) => *binary.right = self.real(&binary.right)?,
                    _ => return Ok(None),
                }
                Ok(Some(Expr::Binary(binary)))
            }
            _ => Ok(None),
        }
    }

    fn function(&self, call: &ExprCall, name: &str) -> Result<Expr> {
        let (expected, found) = (vocabulary::function(name).unwrap_or(0), call.args.len());
        if expected != found {
            let plural = if expected == 1 { "number" } else { "numbers" };
            return Err(Error::new_spanned(call, format!("expected {expected} {plural} in `{name}`, found {found}")));
        }
        let whole = call.args.iter().all(|argument| self.is_integer(argument));
        // The smaller of two sites is a site.
        if whole && matches!(name, "abs" | "min" | "max") && self.scope.spinless {
            return Ok(Expr::Call(call.clone()));
        }
        let mut call = call.clone();
        for (place, argument) in call.args.iter_mut().enumerate() {
            *argument = if name == "powi" && place == 1 { self.exponent(argument) } else { self.real(argument)? };
        }
        Ok(Expr::Call(call))
    }

    fn power(&self, call: &ExprCall, caret: bool) -> Result<Expr> {
        let (base, exponent) = (&call.args[0], &call.args[1]);
        let whole = self.is_integer(exponent);
        if caret && whole && self.is_integer(base) && !self.scope.spinless {
            let (base, exponent) = (base.to_token_stream(), exponent.to_token_stream());
            let message = format!(
                "expected a real number in front of `^`, found an integer, of which Rust takes the bitwise XOR: write \
                 `({base} as f64) ^ {exponent}` or `{base} ** {exponent}` for the power, or compute the XOR before the sum"
            );
            return Err(Error::new_spanned(call, message));
        }
        // In a file 2^k may be a site.
        if whole && self.is_integer(base) && self.scope.spinless {
            return Ok(parse_quote!(powi(#base, #exponent)));
        }
        let real = self.real(base)?;
        Ok(match whole {
            true => {
                let exponent = self.exponent(exponent);
                parse_quote!(powi(#real, #exponent))
            }
            false => {
                let exponent = self.real(exponent)?;
                parse_quote!(powf(#real, #exponent))
            }
        })
    }

    /// An integer exponent as `powi` takes it.
    fn exponent(&self, expr: &Expr) -> Expr {
        let bare = unwrap_parens(expr);
        let literal = match bare {
            Expr::Unary(unary) => matches!(unwrap_parens(&unary.expr), Expr::Lit(_)),
            other => matches!(other, Expr::Lit(_)),
        };
        match self.is_integer(bare) && !literal {
            true => parse_quote!(((#bare) as i32)),
            false => bare.clone(),
        }
    }

    /// Integers as real numbers, one by one, so that a difference may be negative.
    fn real(&self, expr: &Expr) -> Result<Expr> {
        Ok(match expr {
            Expr::Lit(_) => as_float(expr),
            Expr::Paren(paren) => {
                let inner = self.real(&paren.expr)?;
                parse_quote!((#inner))
            }
            Expr::Group(group) => self.real(&group.expr)?,
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
                let inner = self.real(&unary.expr)?;
                parse_quote!(-#inner)
            }
            Expr::Binary(binary) if is_arithmetic(&binary.op) => {
                if matches!(binary.op, BinOp::Div(_)) && self.is_integer(&binary.left) && self.is_integer(&binary.right)
                {
                    let (left, right) = (binary.left.to_token_stream(), binary.right.to_token_stream());
                    let message = format!(
                        "`{left} / {right}` divides integers: write a decimal number, or `as f64` behind a name"
                    );
                    return Err(Error::new_spanned(binary, message));
                }
                let mut binary = binary.clone();
                (*binary.left, *binary.right) = (self.real(&binary.left)?, self.real(&binary.right)?);
                Expr::Binary(binary)
            }
            _ if self.is_integer(expr) => parse_quote!((#expr as f64)),
            _ => expr.clone(),
        })
    }

    /// Whether it is certainly an integer.
    fn is_integer(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Lit(literal) => matches!(&literal.lit, Lit::Int(number) if !number.suffix().starts_with('f')),
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.scope.kind(name) == Kind::Integer),
            Expr::Paren(paren) => self.is_integer(&paren.expr),
            Expr::Group(group) => self.is_integer(&group.expr),
            Expr::Unary(unary) => self.is_integer(&unary.expr),
            Expr::Binary(binary) if is_comparison(&binary.op) => false,
            Expr::Binary(binary) => self.is_integer(&binary.left) && self.is_integer(&binary.right),
            Expr::Cast(cast) => matches!(&*cast.ty, Type::Path(_)) && Kind::of_type(&cast.ty) == Kind::Integer,
            Expr::MethodCall(call) => call.method == "len" || call.method == "abs_diff",
            Expr::Index(index) => match &*index.expr {
                Expr::Path(path) => path
                    .path
                    .get_ident()
                    .is_some_and(|name| self.scope.kind(name) == Kind::Array(Box::new(Kind::Integer))),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether it is certainly a real number.
    fn is_real(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Lit(literal) => matches!(&literal.lit, Lit::Float(_)),
            Expr::Path(path) => path.path.get_ident().is_some_and(|name| self.scope.kind(name) == Kind::Float),
            Expr::Paren(paren) => self.is_real(&paren.expr),
            Expr::Unary(unary) => self.is_real(&unary.expr),
            Expr::Binary(binary) if is_comparison(&binary.op) => false,
            Expr::Binary(binary) => self.is_real(&binary.left) || self.is_real(&binary.right),
            Expr::Cast(cast) => Kind::of_type(&cast.ty) == Kind::Float,
            Expr::Call(call) => called_name(call).is_some_and(|name| vocabulary::function(&name.to_string()).is_some()),
            _ => false,
        }
    }
}

impl VisitMut for Forms<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        if self.error.is_some() {
            return;
        }
        match self.form(expr) {
            Ok(Some(form)) => *expr = form,
            Ok(None) => {}
            Err(error) => self.error = Some(error),
        }
    }
}

fn is_arithmetic(operation: &BinOp) -> bool {
    matches!(operation, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_))
}

fn is_comparison(operation: &BinOp) -> bool {
    matches!(
        operation,
        BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Gt(_)
            | BinOp::Ge(_)
            | BinOp::Eq(_)
            | BinOp::Ne(_)
            | BinOp::And(_)
            | BinOp::Or(_)
    )
}

/// A quotient of two bare integers among the factors of a real number, with both.
fn integer_quotient(expr: &Expr) -> Option<(&Expr, &str, &str)> {
    fn bare(side: &Expr) -> Option<&str> {
        match unwrap_parens(side) {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) if number.suffix().is_empty() => Some(number.base10_digits()),
                _ => None,
            },
            _ => None,
        }
    }
    match expr {
        Expr::Paren(paren) => integer_quotient(&paren.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => integer_quotient(&unary.expr),
        Expr::Binary(binary) => match (binary.op, bare(&binary.left), bare(&binary.right)) {
            (BinOp::Div(_), Some(left), Some(right)) => Some((expr, left, right)),
            (BinOp::Mul(_) | BinOp::Div(_), ..) => {
                integer_quotient(&binary.left).or_else(|| integer_quotient(&binary.right))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A bare integer literal where a real number is meant: `2 * n(i)` is `2.0 * n(i)`.
fn as_float(expr: &Expr) -> Expr {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) if number.suffix().is_empty() => {
                let mut literal = literal.clone();
                let text = format!("{}.0", number.base10_digits());
                literal.lit = Lit::Float(LitFloat::new(&text, number.span()));
                Expr::Lit(literal)
            }
            _ => expr.clone(),
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            let mut unary = unary.clone();
            *unary.expr = as_float(&unary.expr);
            Expr::Unary(unary)
        }
        Expr::Paren(paren) => as_float(&paren.expr),
        _ => expr.clone(),
    }
}
