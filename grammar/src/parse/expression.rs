//! EXPR → a tree of sums, products and operators, with everything free of operators kept whole as a real coefficient.
//!
//! Grammar: `+ - *`, unary `-`, `/ scalar`, parentheses, `h.c.` as an addend, and the operators of
//! [`crate::vocabulary`]. Rust's own parser gives the precedence, so the text means what it looks like.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Error, Expr, ExprCall, Lit, Member, Result, UnOp};

use super::domain::{last_name, unknown_spin};
use super::scope::{Kind, Role, Scope};
use crate::vocabulary::{self, Operator, Spin};

/// The name that carries `h.c.` through Rust's parser: `h.c.` becomes the field access `h.c.__adjoint`.
const MARK: &str = "__adjoint";

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
    /// Its sites: one, or two for S·S.
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
    let expr: Expr = syn::parse2(mark_conjugates(tokens))?;
    node(&expr, scope)
}

/// Replaces `h.c.` by `h.c.__adjoint`, which Rust's grammar accepts, everywhere in `tokens`.
pub fn mark_conjugates(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let ident = |at: usize, name: &str| matches!(tokens.get(at), Some(TokenTree::Ident(found)) if found == name);
    let dot = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == '.');
    let mut marked = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => {
                let mut inner = Group::new(group.delimiter(), mark_conjugates(group.stream()));
                inner.set_span(group.span());
                marked.push(TokenTree::Group(inner));
            }
            _ => marked.push(token.clone()),
        }
        let ends_here = at >= 3 && ident(at - 3, "h") && dot(at - 2) && ident(at - 1, "c") && dot(at);
        let goes_on = matches!(tokens.get(at + 1), Some(TokenTree::Ident(_) | TokenTree::Literal(_)));
        if ends_here && !goes_on {
            // The last dot must not be glued to what follows.
            let mut point = Punct::new('.', Spacing::Alone);
            point.set_span(token.span());
            marked.pop();
            marked.push(TokenTree::Punct(point));
            marked.push(TokenTree::Ident(Ident::new(MARK, token.span())));
        }
    }
    marked.into_iter().collect()
}

/// Whether an addend is `h.c.`, as [`mark_conjugates`] leaves it.
pub fn is_conjugate(expr: &Expr) -> bool {
    matches!(expr, Expr::Field(field) if matches!(&field.member, Member::Named(name) if name == MARK))
}

/// An operator call, or `h.c.`, anywhere inside.
fn has_operator(expr: &Expr) -> bool {
    struct Finder(bool);
    impl VisitMut for Finder {
        fn visit_expr_mut(&mut self, expr: &mut Expr) {
            let is_call = matches!(expr, Expr::Call(call) if operator_of(call).is_some());
            self.0 |= is_conjugate(expr) || is_imaginary_unit(expr) || is_call;
            visit_mut::visit_expr_mut(self, expr);
        }
    }
    let mut finder = Finder(false);
    finder.visit_expr_mut(&mut expr.clone());
    finder.0
}

/// The name called, when it is a bare name.
fn called_name(call: &ExprCall) -> Option<&Ident> {
    match &*call.func {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        _ => None,
    }
}

fn operator_of(call: &ExprCall) -> Option<Operator> {
    called_name(call).and_then(|name| Operator::named(&name.to_string()))
}

/// Whether it is the name `I`.
fn is_imaginary_unit(expr: &Expr) -> bool {
    matches!(expr, Expr::Path(path) if path.path.is_ident(Operator::ImaginaryUnit.name()))
}

fn node(expr: &Expr, scope: &Scope) -> Result<Node> {
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
                check_calls(&binary.right, scope)?;
                Ok(Node::Quotient(Box::new(node(&binary.left, scope)?), as_float(&binary.right)))
            }
            BinOp::Div(_) => Err(Error::new_spanned(
                &binary.right,
                "expected a number to divide by, found an operator: only `operator / number` has a meaning here",
            )),
            _ => Err(unsupported(expr)),
        },
        Expr::Call(call) => match operator_of(call) {
            Some(operator) => factor(operator, call, scope).map(|factor| Node::Factor(Box::new(factor))),
            None => Err(unknown_call(call, scope).unwrap_or_else(|| unsupported(expr))),
        },
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

/// Whether an expression is `exp(…)` or `….exp()`.
fn is_exponential(expr: &Expr) -> bool {
    match expr {
        Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if path.path.is_ident("exp")),
        Expr::MethodCall(call) => call.method == "exp",
        _ => false,
    }
}

fn unsupported(expr: &Expr) -> Error {
    if is_exponential(expr) {
        let message =
            "expected a number in `exp`, found an operator or `I`: write a phase as `(phi.cos() + I * phi.sin())`";
        return Error::new_spanned(expr, message);
    }
    Error::new_spanned(
        expr,
        "expected a sum of products of operators (`+`, `-`, `*`, `/ number`, parentheses, `h.c.`), found an operator inside other Rust: put conditions into the coefficient, as in `(if i == 0 { a } else { b }) * n(i)`, or into `if` after a domain",
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
pub fn flatten<'a>(expr: &'a Expr, negative: bool, addends: &mut Vec<(bool, &'a Expr)>) {
    match expr {
        Expr::Binary(binary) if matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_)) => {
            flatten(&binary.left, negative, addends);
            addends.push((matches!(binary.op, BinOp::Sub(_)), &binary.right));
        }
        _ => addends.push((negative, expr)),
    }
}

fn coefficient(expr: &Expr, scope: &Scope) -> Result<Node> {
    check_calls(expr, scope)?;
    if let Expr::Field(field) = expr
        && let (Member::Named(member), Some(base)) = (&field.member, last_name(&field.base))
        && member == "c"
        && base == "h"
        && !scope.binds(base)
    {
        return Err(Error::new_spanned(expr, "expected `h.c.` with both dots, found `h.c`"));
    }
    if let Some((quotient, left, right)) = integer_quotient(expr) {
        return Err(Error::new_spanned(
            quotient,
            format!(
                "`{left} / {right}` divides integers, which Rust rounds towards zero: write `{left}.0 / {right}.0`"
            ),
        ));
    }
    Ok(Node::Coefficient(as_float(expr)))
}

/// Refuses calls that were meant to be operators, before anyone takes them for a coefficient.
fn check_calls(expr: &Expr, scope: &Scope) -> Result<()> {
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
    if Operator::named(&text).is_some() || scope.binds(name) {
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
            "unknown operator `{text}`: expected one of c, cdag, n, sp, sm, sz, sx, sy, sdots, b, bdag, X, Y, Z; did you mean `{meant}`?"
        ),
    ))
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
            Lit::Int(number) if number.suffix().is_empty() && number.base10_parse::<u32>().is_ok() => {
                let mut literal = literal.clone();
                let text = format!("{}.0", number.base10_digits());
                literal.lit = Lit::Float(syn::LitFloat::new(&text, number.span()));
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

fn factor(operator: Operator, call: &ExprCall, scope: &Scope) -> Result<Factor> {
    let (name, count) = (operator.name(), call.args.len());
    let fits = match operator {
        Operator::Create | Operator::Annihilate => count == 2 || (count == 1 && scope.spinless),
        Operator::Dot => count == 2,
        Operator::ImaginaryUnit => false,
        Operator::Number => count == 1 || count == 2,
        _ => count == 1,
    };
    if !fits {
        let plural = if count == 1 { "argument" } else { "arguments" };
        return Err(Error::new_spanned(
            call,
            format!("wrong number of arguments of `{name}`: expected `{}`, found {count} {plural}", operator.usage()),
        ));
    }
    let arguments: Vec<&Expr> = call.args.iter().collect();
    let sites = if operator == Operator::Dot { &arguments[..2] } else { &arguments[..1] };
    for site in sites {
        check_site(name, site, scope)?;
    }
    let spin = match (operator.is_fermion(), arguments.get(1)) {
        (true, Some(argument)) => Some(spin_argument(name, argument, scope)?),
        _ => None,
    };
    Ok(Factor { operator, sites: sites.iter().map(|site| (*site).clone()).collect(), spin, call: call.clone() })
}

fn check_site(operator: &str, site: &Expr, scope: &Scope) -> Result<()> {
    if has_operator(site) {
        return Err(Error::new_spanned(
            site,
            format!("expected a site index as the argument of `{operator}`, found an operator"),
        ));
    }
    check_calls(site, scope)?;
    let wrong = |what: String| {
        Err(Error::new_spanned(
            site,
            format!(
                "expected a site index as the argument of `{operator}`, found {what}: the site comes first, as in `cdag(i, s)`"
            ),
        ))
    };
    if let Some(name) = last_name(site) {
        match scope.role(name) {
            Some(Role::Spin(_)) => return wrong(format!("the spin `{name}`")),
            Some(Role::Weight) => return wrong(format!("the bond weight `{name}`")),
            None if Spin::named(&name.to_string()).is_some() => return wrong(format!("the spin `{name}`")),
            _ => {}
        }
    }
    match site {
        Expr::Lit(literal) if !matches!(literal.lit, Lit::Int(_)) => wrong(format!("`{}`", literal.to_token_stream())),
        _ => Ok(()),
    }
}

fn spin_argument(operator: &str, argument: &Expr, scope: &Scope) -> Result<SpinArgument> {
    let wrong = |what: String| {
        Err(Error::new_spanned(
            argument,
            format!(
                "expected a spin as the second argument of `{operator}`, found {what}: Up, Down or a spin variable bound by `s in [Up, Down]`"
            ),
        ))
    };
    if has_operator(argument) {
        return wrong("an operator".to_string());
    }
    let argument = unwrap_parens(argument);
    if let Expr::Call(call) = argument
        && called_name(call).is_some_and(|name| name == "Flavour")
    {
        return match call.args.iter().collect::<Vec<_>>()[..] {
            [number] => Ok(SpinArgument::Flavour(Box::new(number.clone()))),
            _ => wrong(format!("`Flavour` with {} numbers, where it takes one", call.args.len())),
        };
    }
    let Some(name) = last_name(argument) else {
        return match argument {
            Expr::Field(_) | Expr::Index(_) | Expr::MethodCall(_) | Expr::Call(_) | Expr::Unary(_) => {
                Ok(SpinArgument::Captured(Box::new(argument.clone())))
            }
            other => wrong(format!("`{}`", other.to_token_stream())),
        };
    };
    let text = name.to_string();
    if let Some(spin) = Spin::named(&text) {
        return Ok(SpinArgument::Literal(spin));
    }
    match scope.role(name) {
        Some(Role::Spin(_)) => return Ok(SpinArgument::Variable(name.clone())),
        Some(Role::Weight) => return wrong(format!("the bond weight `{name}`")),
        Some(_) => return wrong(format!("the index `{name}`")),
        None => {}
    }
    if scope.binds(name) {
        return match scope.kind(name) {
            Kind::Spin | Kind::Unknown => Ok(SpinArgument::Captured(Box::new(argument.clone()))),
            _ => wrong(format!("the number `{name}`")),
        };
    }
    // A constant in capitals may well be a spin declared elsewhere; anything else unbound is a slip.
    let constant = text.len() > 2 && text.chars().all(|letter| !letter.is_lowercase());
    if constant && vocabulary::meant_spin(&text).is_none() {
        Ok(SpinArgument::Captured(Box::new(argument.clone())))
    } else {
        Err(unknown_spin(name))
    }
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
    }
}
