//! One operator with its sites and its spin.

use quote::ToTokens;
use syn::{Error, Expr, ExprCall, Lit, Result};

use super::domain::{last_name, unknown_spin};
use super::expression::{Factor, SpinArgument, called_name, check_calls, has_operator, unwrap_parens};
use super::number::value;
use super::scope::{Kind, Role, Scope};
use crate::vocabulary::{self, Operator, Spin};

/// Reads an operator's call.
pub(super) fn factor(operator: Operator, call: &ExprCall, scope: &Scope) -> Result<Factor> {
    let (name, count) = (operator.name(), call.args.len());
    let fits = match operator {
        Operator::Create | Operator::Annihilate => count == 2 || (count == 1 && scope.spinless),
        Operator::Dot | Operator::Chirality => count == operator.sites(),
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
    let sites =
        arguments[..operator.sites()].iter().map(|site| checked_site(name, site, scope)).collect::<Result<_>>()?;
    let spin = match (operator.is_fermion(), arguments.get(1)) {
        (true, Some(argument)) => Some(spin_argument(name, argument, scope)?),
        _ => None,
    };
    Ok(Factor { operator, sites, spin, call: call.clone() })
}

fn checked_site(operator: &str, site: &Expr, scope: &Scope) -> Result<Expr> {
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
        _ => value(site, scope),
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
