//! Operators that vanish in a sector: its charges less their values.
//!
//! In: an operator by its terms, charges with their values. Out: the operator less the multiples of Q − q that fit it best, so that nothing is
//! left where it is a sum of them. Particle–hole symmetry takes U n↑n↓ to U n↑n↓ + U (1 − n↑ − n↓), and a field h Sᶻ goes to −h Sᶻ under
//! spin inversion: the sums of these changes over all sites are such multiples.

use super::super::{Charge, Product, SiteKind};
use std::collections::BTreeMap;

/// A charge as a sum over modes and levels, less its value; `None` of a parity and others with a modulus, which are none.
fn less_its_value(kinds: &[SiteKind], charge: Charge, value: i64) -> Option<BTreeMap<Product, f64>> {
    if charge.modulo().is_some() {
        return None;
    }
    let mut terms = BTreeMap::new();
    for (site, kind) in kinds.iter().enumerate() {
        for (product, state) in kind.charge_carriers(site) {
            terms.insert(product, (kind.charge(charge, site, state) - kind.charge(charge, site, 0)) as f64);
        }
    }
    terms.insert(Vec::new(), -value as f64);
    terms.retain(|_, coefficient| *coefficient != 0.0);
    Some(terms)
}

/// An operator less multiples of charges that vanish in the sector. These are found by the terms beside the constant.
pub(super) fn without_charges(
    operator: &BTreeMap<Product, f64>,
    kinds: &[SiteKind],
    charges: &[(Charge, i64)],
) -> BTreeMap<Product, f64> {
    let vanishing = charges.iter().filter_map(|(charge, value)| less_its_value(kinds, *charge, *value));
    let vanishing: Vec<BTreeMap<Product, f64>> = vanishing.collect();
    let mut rest = operator.clone();
    let mut orthogonal: Vec<BTreeMap<Product, f64>> = Vec::new();
    let overlap = |a: &BTreeMap<Product, f64>, b: &BTreeMap<Product, f64>| -> f64 {
        let shared = a.iter().filter(|(product, _)| !product.is_empty());
        shared.map(|(product, value)| value * b.get(product).copied().unwrap_or(0.0)).sum()
    };
    let subtract = |from: &mut BTreeMap<Product, f64>, direction: &BTreeMap<Product, f64>| {
        let share = overlap(from, direction) / overlap(direction, direction);
        if share != 0.0 {
            direction.iter().for_each(|(product, value)| *from.entry(product.clone()).or_insert(0.0) -= share * value);
        }
    };
    for mut charge in vanishing {
        let whole = overlap(&charge, &charge);
        orthogonal.iter().for_each(|before| subtract(&mut charge, before));
        // Of charges that are sums of others nothing is left.
        if overlap(&charge, &charge) > 1e-9 * whole {
            subtract(&mut rest, &charge);
            orthogonal.push(charge);
        }
    }
    rest
}
