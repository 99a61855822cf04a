//! EXPR → a tree of sums, products and operators, with everything free of operators kept whole as a real coefficient.
//!
//! Grammar: `+ - *`, unary `-`, `/ number`, powers `x ^ 2`, parentheses, `h.c.` as an addend, `sum(DOMAINS; EXPR)` and
//! `prod(DOMAINS; EXPR)`, `exp(I * x)`, and the operators of [`crate::vocabulary`]. [`super::marks`] and Rust's own parser give the
//! precedence, so the text means what it looks like.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Error, Expr, ExprCall, Lit, Result, UnOp, parse_quote};

use super::complex::exponential;
use super::domain::last_name;
use super::factor::factor;
use super::marks::{self, CARET, POWER, is_conjugate};
use super::number::{coefficient, number, value};
use super::scope::{Role, Scope};
use super::sum::{Sum, is_sum, parse_sum};
use crate::vocabulary::{self, Operator, Spin};

/// One node of an expression.
#[derive(Clone, Debug)]
pub enum Node {
    /// A real number: Rust arithmetic without operators.
    Coefficient(Expr),
    /// An operator.
    Factor(Box<Factor>),
    /// A sum; `conjugates` counts the `h.c.` in it, one entry each, true where it is subtracted.
    Sum {
        /// The addends without `h.c.`.
        terms: Vec<Term>,
        /// One entry for each `h.c.`: true when it is subtracted.
        conjugates: Vec<bool>,
    },
    /// A product, left to right.
    Product(Vec<Node>),
    /// An operator divided by a number.
    Quotient(Box<Node>, Expr),
    /// −operator.
    Negative(Box<Node>),
    /// A sum or a product inside the expression.
    Nested(Reduction, Box<Sum>),
}

/// What becomes of the members of a nested sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// `sum(…)`: they are added; none are 0.
    Sum,
    /// `prod(…)`: they are multiplied, the first on the left; none are 1.
    Product,
}

/// An addend with its sign.
#[derive(Clone, Debug)]
pub struct Term {
    /// True for a subtracted addend.
    pub negative: bool,
    /// The addend.
    pub node: Node,
}

/// An operator with its arguments.
#[derive(Clone, Debug)]
pub struct Factor {
    /// Which operator.
    pub operator: Operator,
    /// Its sites: one, two for S·S, three for S·(S × S).
    pub sites: Vec<Expr>,
    /// Its spin, for c†, c and n.
    pub spin: Option<SpinArgument>,
    /// The call as written, for errors.
    pub call: ExprCall,
}

/// The second argument of c†, c and n.
#[derive(Clone, Debug)]
pub enum SpinArgument {
    /// `Up` or `Down`.
    Literal(Spin),
    /// A spin variable of the sum.
    Variable(Ident),
    /// A spin that the macro cannot see: a parameter, a local, an element.
    Captured(Box<Expr>),
    /// `Flavour(f)`: a flavour of spin-F fermions by its number.
    Flavour(Box<Expr>),
}

/// Reads an expression.
pub fn parse_expression(tokens: TokenStream, scope: &Scope) -> Result<Node> {
    let expr: Expr = syn::parse2(marks::marked(tokens)?)?;
    node(&expr, scope)
}

/// Reads a condition, such as the filter behind an observable.
pub fn parse_condition(tokens: TokenStream, scope: &Scope) -> Result<Expr> {
    let expr: Expr = syn::parse2(marks::marked(tokens)?)?;
    value(&expr, scope)
}

/// An operator call, a nested sum or `h.c.`, anywhere inside.
pub(super) fn has_operator(expr: &Expr) -> bool {
    struct Finder(bool);
    impl VisitMut for Finder {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            let is_call = matches!(expr, Expr::Call(call) if operator_of(call).is_some());
            let is_nested = matches!(expr, Expr::Macro(found) if is_nested(&found.mac));
            self.0 |= is_conjugate(expr) || is_imaginary_unit(expr) || is_call || is_nested;
            visit_mut::visit_expr_mut(self, expr);
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr_mut(&mut expr.clone());
    finder.0
}

fn is_nested(mac: &syn::Macro) -> bool {
    is_sum(mac) || marks::is_product(mac)
}

/// The name called, when it is a bare name.
pub(super) fn called_name(call: &ExprCall) -> Option<&Ident> {
    match &*call.func {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        _ => None,
    }
}

fn operator_of(call: &ExprCall) -> Option<Operator> {
    called_name(call).and_then(|name| Operator::named(&name.to_string()))
}

/// Whether it is the name `I`.
pub(super) fn is_imaginary_unit(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident(Operator::ImaginaryUnit.name()))
}

pub(super) fn node(expr: &Expr, scope: &Scope) -> Result<Node> {
    if is_conjugate(expr) {
        return Err(Error::new_spanned(
            expr,
            "`h.c.` outside a sum: it stands for the Hermitian conjugate of the other terms of its sum, so write `(terms + h.c.)`",
        ));
    }
    if !has_operator(expr) {
        return coefficient(expr, scope);
    }
    match expr {
        Expr::Paren(paren) => node(&paren.expr, scope),
        Expr::Group(group) => node(&group.expr, scope),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            Ok(Node::Negative(Box::new(node(&unary.expr, scope)?)))
        }
        Expr::Binary(binary) => match binary.op {
            BinOp::Add(_) | BinOp::Sub(_) => sum(expr, scope),
            BinOp::Mul(_) => {
                let mut factors = Vec::new();
                for side in [&binary.left, &binary.right] {
                    match node(side, scope)? {
                        Node::Product(inner) => factors.extend(inner),
                        other => factors.push(other),
                    }
                }
                Ok(Node::Product(factors))
            }
            BinOp::Div(_) if !has_operator(&binary.right) => {
                Ok(Node::Quotient(Box::new(node(&binary.left, scope)?), number(&binary.right, scope)?))
            }
            BinOp::Div(_) => Err(Error::new_spanned(
                &binary.right,
                "expected a number to divide by, found an operator: only `operator / number` has a meaning here",
            )),
            _ => Err(unsupported(expr)),
        },
        Expr::Call(call) => match operator_of(call) {
            Some(operator) => factor(operator, call, scope).map(|factor| Node::Factor(Box::new(factor))),
            None => match called_name(call).map(ToString::to_string).as_deref() {
                Some(POWER | CARET) => power(&call.args[0], &call.args[1], scope),
                Some("exp") if call.args.len() == 1 => exponential(&call.args[0], scope),
                _ => Err(unknown_call(call, scope).unwrap_or_else(|| not_a_function(call))),
            },
        },
        Expr::MethodCall(call) if call.method == "exp" && call.args.is_empty() => exponential(&call.receiver, scope),
        Expr::Macro(found) if is_nested(&found.mac) => {
            let reduction = if is_sum(&found.mac) { Reduction::Sum } else { Reduction::Product };
            Ok(Node::Nested(reduction, Box::new(parse_sum(&found.mac, scope)?)))
        }
        Expr::Path(path) if is_imaginary_unit(expr) => {
            match path.path.get_ident().is_some_and(|name| scope.binds(name)) {
                true => coefficient(expr, scope),
                false => {
                    let call: ExprCall = syn::parse_quote!(#path());
                    let operator = Operator::ImaginaryUnit;
                    Ok(Node::Factor(Box::new(Factor { operator, sites: Vec::new(), spin: None, call })))
                }
            }
        }
        _ => Err(unsupported(expr)),
    }
}

/// An operator times itself.
fn power(base: &Expr, exponent: &Expr, scope: &Scope) -> Result<Node> {
    if has_operator(exponent) {
        return Err(Error::new_spanned(exponent, "expected a number as the exponent of a power, found an operator"));
    }
    let count = match unwrap_parens(exponent) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) if number.suffix().is_empty() => number.base10_parse::<usize>().ok(),
            _ => None,
        },
        _ => None,
    };
    match count.filter(|count| *count <= MOST_POWER) {
        Some(0) => coefficient(&parse_quote!(1.0), scope),
        Some(count) => {
            let base = node(base, scope)?;
            match size(&base).saturating_mul(count) <= MOST_FACTORS {
                true => Ok(Node::Product(vec![base; count])),
                false => Err(Error::new_spanned(
                    exponent,
                    format!("expected powers of at most {MOST_FACTORS} factors when they are written out, found more"),
                )),
            }
        }
        None => Err(Error::new_spanned(
            exponent,
            format!(
                "expected a whole number from 0 to {MOST_POWER}, written as a numeral, as the power of an operator, found `{}`: \
                 an operator has no other powers here",
                exponent.to_token_stream()
            ),
        )),
    }
}

/// The highest power of an operator.
const MOST_POWER: usize = 64;

/// Factors of powers inside each other.
const MOST_FACTORS: usize = 1 << 14;

/// How many nodes a tree has.
fn size(node: &Node) -> usize {
    1 + match node {
        Node::Coefficient(_) | Node::Factor(_) => 0,
        Node::Sum { terms, .. } => terms.iter().map(|term| size(&term.node)).sum(),
        Node::Product(nodes) => nodes.iter().map(size).sum(),
        Node::Quotient(node, _) | Node::Negative(node) => size(node),
        Node::Nested(_, sum) => size(&sum.expression),
    }
}

/// The error for `t (a + b)`, which is a call to Rust and a product to a reader.
fn not_a_function(call: &ExprCall) -> Error {
    match called_name(call) {
        Some(name) if vocabulary::function(&name.to_string()).is_some() => Error::new_spanned(
            call,
            format!(
                "expected a real number in `{name}`, found an operator or `I`: of these only `exp(I * x)` and whole powers are known"
            ),
        ),
        Some(name) => Error::new_spanned(
            call,
            format!(
                "expected an operation between `{name}` and its parenthesis, found none: write `{name} * (…)` for their product"
            ),
        ),
        None => unsupported(&Expr::Call(call.clone())),
    }
}

fn unsupported(expr: &Expr) -> Error {
    Error::new_spanned(
        expr,
        "expected a sum of products of operators (`+`, `-`, `*`, `/ number`, powers, parentheses, `h.c.`, `sum(…)`, `prod(…)`), found an operator inside other Rust: put conditions into the coefficient, as in `(if i == 0 { a } else { b }) * n(i)`, or into `if` after a domain",
    )
}

/// A whole chain of `+` and `-`, so that `h.c.` sees all its fellow addends.
fn sum(expr: &Expr, scope: &Scope) -> Result<Node> {
    let mut addends = Vec::new();
    flatten(expr, false, &mut addends);
    let (mut terms, mut conjugates, mut first_mark) = (Vec::new(), Vec::new(), None);
    for (negative, addend) in addends {
        if is_conjugate(addend) {
            conjugates.push(negative);
            first_mark.get_or_insert(addend);
        } else {
            terms.push(Term { negative, node: node(addend, scope)? });
        }
    }
    match first_mark {
        Some(mark) if terms.is_empty() => Err(Error::new_spanned(
            mark,
            "`h.c.` has nothing to conjugate: expected other terms in its sum, found none; write `(terms + h.c.)`",
        )),
        _ => Ok(Node::Sum { terms, conjugates }),
    }
}

/// The addends of a chain of `+` and `-`, in order; true for those that are subtracted.
fn flatten<'a>(expr: &'a Expr, negative: bool, addends: &mut Vec<(bool, &'a Expr)>) {
    match expr {
        Expr::Binary(binary) if matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_)) => {
            flatten(&binary.left, negative, addends);
            addends.push((matches!(binary.op, BinOp::Sub(_)), &binary.right));
        }
        _ => addends.push((negative, expr)),
    }
}

/// Refuses calls that were meant to be operators, before anyone takes them for a coefficient.
pub(super) fn check_calls(expr: &Expr, scope: &Scope) -> Result<()> {
    struct Calls<'s> {
        scope: &'s Scope,
        error: Option<Error>,
    }
    impl VisitMut for Calls<'_> {
        fn visit_expr_call_mut(&mut self, call: &mut ExprCall) {
            if self.error.is_none() {
                self.error = unknown_call(call, self.scope);
            }
            visit_mut::visit_expr_call_mut(self, call);
        }
    }
    let mut calls = Calls { scope, error: None };
    calls.visit_expr_mut(&mut expr.clone());
    calls.error.map_or(Ok(()), Err)
}

/// The error for a call that looks like an operator but is none.
fn unknown_call(call: &ExprCall, scope: &Scope) -> Option<Error> {
    let name = called_name(call)?;
    let text = name.to_string();
    let known =
        Operator::named(&text).is_some() || vocabulary::function(&text).is_some() || [POWER, CARET].contains(&&*text);
    if known || scope.binds(name) {
        return None;
    }
    let is_spin = |argument: &Expr| {
        last_name(argument).is_some_and(|name| {
            Spin::named(&name.to_string()).is_some() || matches!(scope.role(name), Some(Role::Spin(_)))
        })
    };
    let meant = vocabulary::meant_operator(&text, call.args.iter().any(is_spin))?;
    Some(Error::new_spanned(
        name,
        format!(
            "unknown operator `{text}`: expected one of c, cdag, n, sp, sm, sz, sx, sy, sdots, chirality, b, bdag, X, Y, Z; did you mean `{meant}`?"
        ),
    ))
}

/// The expression without the parentheses around it.
pub fn unwrap_parens(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => unwrap_parens(&paren.expr),
        Expr::Group(group) => unwrap_parens(&group.expr),
        _ => expr,
    }
}

/// Calls `visit` with every operator of the tree, in the order of the text.
pub fn each_factor<'n>(node: &'n Node, visit: &mut impl FnMut(&'n Factor)) {
    match node {
        Node::Coefficient(_) => {}
        Node::Factor(factor) => visit(factor),
        Node::Sum { terms, .. } => terms.iter().for_each(|term| each_factor(&term.node, visit)),
        Node::Product(nodes) => nodes.iter().for_each(|node| each_factor(node, visit)),
        Node::Quotient(node, _) | Node::Negative(node) => each_factor(node, visit),
        Node::Nested(_, sum) => each_factor(&sum.expression, visit),
    }
}
