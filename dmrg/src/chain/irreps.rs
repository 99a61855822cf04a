//! Irreps of an abelian point group as one more conserved charge of a chain.
//!
//! In: an irrep of each site, a number from 0 to 7 of D2h or one of its subgroups, and that of the state. Irreps multiply by the exclusive
//! or of their numbers, so the irrep of a block is that of its singly occupied orbitals, and three charges modulo 2 are one label
//! ([`Charges`](super::charges::Charges)).

use crate::error::DmrgError;
use eigenforge_core::operator::{Factor, Operator, product_text};

/// The irreps of the sites of a chain, and that of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteIrreps {
    /// The irrep of each site, from 0, the totally symmetric one.
    pub sites: Vec<u8>,
    /// The irrep of the state.
    pub total: u8,
}

impl SiteIrreps {
    /// The irreps in the order of a chain.
    pub(crate) fn along(&self, order: &[usize]) -> Vec<u8> {
        order.iter().map(|site| self.sites.get(*site).copied().unwrap_or(0)).collect()
    }

    /// The irrep by which a product changes that of a state.
    pub(crate) fn change(&self, product: &[Factor]) -> u8 {
        let of = |factor: &Factor| self.sites.get(factor.site()).copied().unwrap_or(0);
        product.iter().filter(|factor| factor.is_fermion()).fold(0, |irrep, factor| irrep ^ of(factor))
    }

    /// Checks that there is one for each site and that the operator conserves them.
    pub(crate) fn check(&self, operator: &Operator) -> Result<(), DmrgError> {
        if self.sites.len() != operator.sites() {
            let expected = "one per site";
            return Err(DmrgError::Option { option: "irreps", expected, found: self.sites.len().to_string() });
        }
        match operator.terms().find(|(product, _)| self.change(product) != 0) {
            None => Ok(()),
            Some((product, coefficient)) => Err(DmrgError::ChangesIrrep { term: product_text(product), coefficient }),
        }
    }
}
