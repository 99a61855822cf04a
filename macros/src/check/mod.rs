//! Checks of the physics on the products of each sum: an even number of fermion operators, the declared charges, a
//! Hermitian conjugate for everything. What cannot be decided from the text is not refused; the same checks run on the
//! numbers later.

pub mod foreign;
pub mod hermitian;
pub mod parity;
pub mod product;
pub mod sector;
pub mod symbol;

#[cfg(test)]
mod tests;

use syn::{Error, Result};

use crate::parse::{Definition, Promises, Sum, combine, each_factor};
use product::Product;

/// Which operators a definition has anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Content {
    /// c†, c or n: then spin operators mean the spin of electrons.
    pub electrons: bool,
    /// Spin operators.
    pub spins: bool,
}

/// What the sums of a definition are made of.
pub fn content(sums: &[Sum]) -> Content {
    let mut content = Content::default();
    for sum in sums {
        each_factor(&sum.expression, &mut |factor| {
            content.electrons |= factor.operator.is_fermion();
            content.spins |= factor.operator.is_spin();
        });
    }
    content
}

/// Runs every check; `products[k]` belongs to the k-th sum.
pub fn check(definition: &Definition, promises: &Promises, products: &[Vec<Product>]) -> Result<()> {
    let electrons = content(&definition.sums).electrons;
    let mut errors: Option<Error> = None;
    let mut note = |result: Result<()>| {
        if let Err(error) = result {
            combine(&mut errors, error);
        }
    };
    note(sector::check_promises(promises, &definition.sums, electrons));
    for (sum, products) in definition.sums.iter().zip(products) {
        // An adjoint is odd exactly when what it was made from is.
        for product in products.iter().filter(|product| !product.is_adjoint()) {
            note(parity::check(product));
        }
        note(sector::check(sum, products, promises, electrons));
    }
    if let Some(errors) = errors {
        // An odd or charged product has no conjugate either: one error a fault.
        return Err(errors);
    }
    if promises.non_hermitian || foreign::may_add_conjugates(&definition.function) {
        return Ok(());
    }
    hermitian::check(&definition.sums, products, electrons)
}
