//! Fermion parity: every product holds an even number of c† and c.

use syn::Result;

use super::product::Product;
use crate::vocabulary::Operator;

/// Refuses an odd product.
pub fn check(product: &Product) -> Result<()> {
    let odd = |operator| matches!(operator, Operator::Create | Operator::Annihilate);
    let count = product.factors.iter().filter(|(factor, _)| odd(factor.operator)).count();
    if count % 2 == 0 {
        return Ok(());
    }
    Err(product.error(format!(
        "unbalanced fermion parity: expected an even number of `cdag` and `c` in every product, found {count} in `{}`; no sector holds such a term",
        product.text()
    )))
}
