//! Products as strings of ladder symbols with the spin variables replaced by each of their values, so that charges can
//! be counted and conjugates compared.
//!
//! Sˣ becomes its two halves S⁺ and S⁻; where electrons occur, S⁺ becomes c†_↑ c_↓ and S⁻ becomes c†_↓ c_↑.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{BinOp, Expr, UnOp};

use super::product::{Part, Product};
use crate::parse::{Role, Scope, SpinArgument, Sum, unwrap_parens};
use crate::vocabulary::{Operator, Spin};

/// The spin of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpinValue {
    /// Known.
    Is(Spin),
    /// A captured spin, by its text; `true` when it is a parameter of the function.
    Captured(String, bool),
    /// The operator has none.
    None,
}

/// One ladder symbol: c†, c, n, S⁺, S⁻, Sᶻ or S·S.
#[derive(Clone, Debug)]
pub struct Symbol<'n> {
    /// Which; never Sˣ.
    pub operator: Operator,
    /// Where.
    pub sites: Vec<&'n Expr>,
    /// Its spin.
    pub spin: SpinValue,
}

impl<'n> Symbol<'n> {
    /// Its Hermitian conjugate.
    pub fn adjoint(&self) -> Symbol<'n> {
        Symbol { operator: self.operator.adjoint(), ..self.clone() }
    }
}

/// Values of the spin variables.
pub type Assignment = Vec<(Ident, Spin)>;

/// Every combination of values of the spin variables of a sum (one, empty, when there are none).
pub fn assignments(scope: &Scope) -> Vec<Assignment> {
    let mut all = vec![Assignment::new()];
    for (name, role) in &scope.variables {
        if let Role::Spin(values) = role {
            all = all
                .iter()
                .flat_map(|assignment| {
                    values.iter().map(|spin| [assignment.as_slice(), &[(name.clone(), *spin)]].concat())
                })
                .collect();
        }
    }
    all
}

/// The symbols of a product under an assignment: several alternatives when it holds Sˣ.
pub fn symbols<'n>(
    product: &Product<'n>,
    assignment: &Assignment,
    scope: &Scope,
    electrons: bool,
) -> Vec<Vec<Symbol<'n>>> {
    let mut alternatives = vec![Vec::new()];
    for (factor, bar) in &product.factors {
        let operator = if *bar { factor.operator.adjoint() } else { factor.operator };
        let sites: Vec<&Expr> = factor.sites.iter().collect();
        let spin = match &factor.spin {
            None => SpinValue::None,
            Some(SpinArgument::Literal(spin)) => SpinValue::Is(*spin),
            Some(SpinArgument::Variable(name)) => match assignment.iter().find(|(known, _)| known == name) {
                Some((_, spin)) => SpinValue::Is(*spin),
                None => SpinValue::Captured(name.to_string(), false),
            },
            Some(SpinArgument::Flavour(number)) => {
                SpinValue::Captured(format!("Flavour({})", number.to_token_stream()), false)
            }
            Some(SpinArgument::Captured(expr)) => {
                let text = expr.to_token_stream().to_string();
                let parameter = scope.parameters.contains_key(&text) && !scope.locals.contains_key(&text);
                SpinValue::Captured(text, parameter)
            }
        };
        let plain = |operator, spin| Symbol { operator, sites: sites.clone(), spin };
        let flip = |raise: bool| {
            let (to, from) = if raise { (Spin::Up, Spin::Down) } else { (Spin::Down, Spin::Up) };
            match electrons {
                true => {
                    vec![plain(Operator::Create, SpinValue::Is(to)), plain(Operator::Annihilate, SpinValue::Is(from))]
                }
                false => {
                    vec![plain(if raise { Operator::Raise } else { Operator::Lower }, SpinValue::None)]
                }
            }
        };
        let choices = match operator {
            Operator::Sx | Operator::Sy => vec![flip(true), flip(false)],
            Operator::Raise => vec![flip(true)],
            Operator::Lower => vec![flip(false)],
            other => vec![vec![plain(other, spin)]],
        };
        alternatives = alternatives
            .iter()
            .flat_map(|before| choices.iter().map(move |choice| [before.as_slice(), choice].concat()))
            .collect();
    }
    alternatives
}

/// Whether the filters of a sum let an assignment through; `None` when that depends on more than spins.
pub fn admitted(sum: &Sum, assignment: &Assignment) -> Option<bool> {
    let mut certain = true;
    for filter in sum.domains.iter().filter_map(|domain| domain.filter.as_ref()) {
        match holds(filter, assignment) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => certain &= !mentions_spin(filter, &sum.scope),
        }
    }
    certain.then_some(true)
}

/// The truth of a condition on spins alone.
fn holds(condition: &Expr, assignment: &Assignment) -> Option<bool> {
    let spin = |expr: &Expr| {
        let name = crate::parse::last_name(unwrap_parens(expr))?;
        let known = assignment.iter().find(|(variable, _)| variable == name).map(|(_, spin)| *spin);
        known.or_else(|| Spin::named(&name.to_string()))
    };
    match condition {
        Expr::Paren(paren) => holds(&paren.expr, assignment),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => holds(&unary.expr, assignment).map(|truth| !truth),
        Expr::Binary(binary) => match binary.op {
            BinOp::Eq(_) => Some(spin(&binary.left)? == spin(&binary.right)?),
            BinOp::Ne(_) => Some(spin(&binary.left)? != spin(&binary.right)?),
            BinOp::And(_) => match (holds(&binary.left, assignment), holds(&binary.right, assignment)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (left, right) => Some(left? && right?),
            },
            BinOp::Or(_) => match (holds(&binary.left, assignment), holds(&binary.right, assignment)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (left, right) => Some(left? || right?),
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression names a spin variable of the sum.
pub fn mentions_spin(expr: &Expr, scope: &Scope) -> bool {
    mentions(expr, &|name| matches!(scope.role(name), Some(Role::Spin(_))))
}

/// Whether a coefficient of the product names a spin variable, so that it may vanish for some of them.
pub fn coefficient_mentions_spin(product: &Product, scope: &Scope) -> bool {
    product.parts.iter().any(|part| match part {
        Part::Times(expr) | Part::Over(expr) => mentions_spin(expr, scope),
    })
}

/// Whether any name in the expression satisfies `wanted`.
pub fn mentions(expr: &impl ToTokens, wanted: &dyn Fn(&Ident) -> bool) -> bool {
    fn search(tokens: TokenStream, wanted: &dyn Fn(&Ident) -> bool) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(name) => wanted(&name),
            TokenTree::Group(group) => search(group.stream(), wanted),
            _ => false,
        })
    }
    search(expr.to_token_stream(), wanted)
}

/// The text of an expression with names replaced.
pub fn renamed(expr: &impl ToTokens, rename: &dyn Fn(&Ident) -> Option<Ident>) -> String {
    fn replace(tokens: TokenStream, rename: &dyn Fn(&Ident) -> Option<Ident>) -> TokenStream {
        let change = |token| match token {
            TokenTree::Ident(name) => TokenTree::Ident(rename(&name).unwrap_or(name)),
            TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), replace(group.stream(), rename))),
            other => other,
        };
        tokens.into_iter().map(change).collect()
    }
    replace(expr.to_token_stream(), rename).to_string()
}
