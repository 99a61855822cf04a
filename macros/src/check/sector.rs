//! Conserved charges: with every combination of spin values put in, each product leaves each declared charge as it is.
//!
//! Not decided here, and left to run time: products whose coefficient or filter depends on a spin variable, spins that
//! the macro cannot see, and products that occur twice in a sum (they may cancel).

use syn::{Error, Result};

use super::product::Product;
use super::symbol::{self, Assignment, SpinValue, Symbol};
use crate::parse::{Charge, Promises, Sum, each_factor};
use crate::vocabulary::{Operator, Spin};

/// Refuses charges that a spin model does not have.
pub fn check_promises(promises: &Promises, sums: &[Sum], electrons: bool) -> Result<()> {
    let mut operators = 0;
    for sum in sums {
        each_factor(&sum.expression, &mut |_| operators += 1);
    }
    if electrons || operators == 0 {
        return Ok(());
    }
    match promises.conserves.iter().find(|(charge, _)| *charge != Charge::Sz) {
        Some((charge, place)) => Err(Error::new_spanned(
            place,
            format!(
                "expected a charge of a spin model, found `{}`, which counts electrons, and the definition has none: write `conserves(Sz)`",
                charge.name()
            ),
        )),
        None => Ok(()),
    }
}

/// Refuses the products of a sum that leave the declared sector.
pub fn check(sum: &Sum, products: &[Product], promises: &Promises, electrons: bool) -> Result<()> {
    let charges: Vec<Charge> = promises.conserves.iter().map(|(charge, _)| *charge).collect();
    let mut errors: Option<Error> = None;
    let mut refused: Vec<usize> = Vec::new();
    for assignment in symbol::assignments(&sum.scope) {
        if symbol::admitted(sum, &assignment) != Some(true) {
            continue;
        }
        let all: Vec<Vec<Vec<Symbol>>> =
            products.iter().map(|product| symbol::symbols(product, &assignment, &sum.scope, electrons)).collect();
        let keys: Vec<String> = all.iter().flatten().map(|symbols| key(symbols)).collect();
        for (number, (product, alternatives)) in products.iter().zip(&all).enumerate() {
            if product.is_adjoint()
                || refused.contains(&number)
                || symbol::coefficient_mentions_spin(product, &sum.scope)
            {
                continue;
            }
            for symbols in alternatives {
                let key = key(symbols);
                if keys.iter().filter(|other| **other == key).count() > 1 {
                    continue;
                }
                let broken = charges.iter().filter_map(|charge| match change(symbols, *charge) {
                    Some(change) if change != 0 => Some(format!("{} by {change:+}", quantity(*charge))),
                    _ => None,
                });
                let broken: Vec<String> = broken.collect();
                if !broken.is_empty() {
                    let error = product.error(message(product, &broken, &assignment, &charges));
                    crate::parse::combine(&mut errors, error);
                    refused.push(number);
                    break;
                }
            }
        }
    }
    errors.map_or(Ok(()), Err)
}

fn message(product: &Product, broken: &[String], assignment: &Assignment, charges: &[Charge]) -> String {
    let mentioned = product.factors.iter().filter_map(|(factor, _)| match &factor.spin {
        Some(crate::parse::SpinArgument::Variable(name)) => Some(name),
        _ => None,
    });
    let mentioned: Vec<_> = mentioned.collect();
    let values: Vec<String> = assignment
        .iter()
        .filter(|(name, _)| mentioned.contains(&name))
        .map(|(name, spin)| format!("{name} = {}", spin.name()))
        .collect();
    let at = if values.is_empty() { String::new() } else { format!(" at {}", values.join(", ")) };
    let declared: Vec<&str> = charges.iter().map(|charge| charge.name()).collect();
    format!(
        "this term leaves the declared sector: expected every product to keep what `conserves({})` declares, found `{}`, which changes {}{at}; correct the term, or declare only what the model conserves",
        declared.join(", "),
        product.text(),
        broken.join(" and ")
    )
}

fn quantity(charge: Charge) -> &'static str {
    match charge {
        Charge::Up => "the number of up electrons",
        Charge::Down => "the number of down electrons",
        Charge::N => "the number of electrons",
        Charge::Sz => "2 Sz",
    }
}

/// How much the product changes a charge (Sz in units of 1/2); `None` when a spin is not known.
fn change(symbols: &[Symbol], charge: Charge) -> Option<i64> {
    let mut total = 0;
    let mut hidden: Vec<(&str, i64)> = Vec::new();
    for symbol in symbols {
        let sign = match symbol.operator {
            Operator::Create | Operator::Raise => 1,
            Operator::Annihilate | Operator::Lower => -1,
            _ => continue,
        };
        total += match (&symbol.spin, charge) {
            (SpinValue::Is(_) | SpinValue::Captured(..), Charge::N) => sign,
            (SpinValue::Is(Spin::Up), Charge::Up | Charge::Sz) => sign,
            (SpinValue::Is(Spin::Down), Charge::Down) => sign,
            (SpinValue::Is(Spin::Down), Charge::Sz) => -sign,
            (SpinValue::None, Charge::Sz) => 2 * sign,
            (SpinValue::Captured(name, _), _) => {
                match hidden.iter_mut().find(|(known, _)| known == name) {
                    Some((_, count)) => *count += sign,
                    None => hidden.push((name, sign)),
                }
                0
            }
            _ => 0,
        };
    }
    hidden.iter().all(|(_, count)| *count == 0).then_some(total)
}

fn key(symbols: &[Symbol]) -> String {
    let nothing = |_: &proc_macro2::Ident| None;
    let mut parts: Vec<String> = symbols
        .iter()
        .map(|symbol| {
            let sites: Vec<String> = symbol.sites.iter().map(|site| symbol::renamed(site, &nothing)).collect();
            format!("{} {sites:?} {:?}", symbol.operator.name(), symbol.spin)
        })
        .collect();
    parts.sort();
    parts.join(" ")
}
