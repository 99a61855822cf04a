//! From observables to the distinct products that they need, and back to their values.

use super::{Averages, Observable};
use crate::operator::{Charge, Content, Factor, Operator, OperatorError, Product, SiteKind};
use rayon::prelude::*;
use std::collections::HashMap;

/// Distinct products in order of appearance.
#[derive(Default)]
struct Products {
    list: Vec<Product>,
    known: HashMap<Product, usize>,
}

impl Products {
    /// The number of a product or of its conjugate, which has the same average in a real state.
    fn number(&mut self, product: &[Factor]) -> usize {
        // The transpose of i is −i: such a product stands for itself.
        if product.last() == Some(&Factor::ImaginaryUnit) {
            return self.number_of(product.to_vec());
        }
        // Reversed, creators ascend and annihilators descend again; others follow them in the order of their sites.
        let mut adjoint: Product = product.iter().rev().map(|factor| factor.adjoint()).collect();
        adjoint.sort_by_key(|factor| (!factor.is_fermion()).then(|| factor.site()));
        let wanted = if adjoint.as_slice() < product { adjoint } else { product.to_vec() };
        self.number_of(wanted)
    }

    fn number_of(&mut self, product: Product) -> usize {
        *self.known.entry(product).or_insert_with_key(|product| {
            self.list.push(product.clone());
            self.list.len() - 1
        })
    }
}

impl Observable {
    /// Its operators, reduced for what the sites carry.
    ///
    /// # Errors
    /// An operator on a site that is not there, of another kind than the sites, or with a coefficient that is not finite.
    pub fn reduced(&self, kinds: &[SiteKind]) -> Result<Vec<Operator>, OperatorError> {
        let sites = kinds.len();
        let kind = kinds.first().copied().unwrap_or(SiteKind::Electrons);
        let is_one = matches!(kind, SiteKind::Electrons | SiteKind::Flavours(_) | SiteKind::Moments { .. })
            && kinds.iter().all(|other| *other == kind);
        let of = |operator: &Operator| {
            if !is_one || operator.is_complex() || operator.kinds().is_some() {
                let operator = operator.clone().on_kinds(kinds).reduced();
                operator.check_terms(&[])?;
                return Ok(operator);
            }
            let operator = operator.clone().spin(kind.two_s()).on_sites(sites).reduced();
            operator.check_terms(&[])?;
            let wrong =
                |expected, advice| Err(OperatorError::WrongSector { found: operator.content_name(), expected, advice });
            match (kind, operator.content()) {
                (_, Content::Nothing)
                | (SiteKind::Electrons, Content::Fermions)
                | (SiteKind::Flavours(_), Content::Flavours)
                | (SiteKind::Moments { .. }, Content::Spins) => Ok(operator),
                (SiteKind::Electrons, _) => {
                    wrong("electrons", "build the observable from cdag, c, n with Up and Down, or electron_sz, …")
                }
                (SiteKind::Flavours(_), _) => {
                    wrong("fermions of flavours", "build the observable from cdag, c, n with Flavour(f)")
                }
                _ => wrong("local moments", "build the observable from sp, sm, sz, sdots"),
            }
        };
        self.operators.par_iter().map(of).collect()
    }
}

/// The most electrons that a term of an observable takes out.
pub fn most_electrons(observable: &Observable) -> usize {
    let electrons = |product: &[Factor]| product.iter().filter(|f| matches!(f, Factor::Annihilate(..))).count();
    let terms = observable.operators.iter().flat_map(Operator::terms);
    terms.map(|(product, _)| electrons(product)).max().unwrap_or(0)
}

/// What averages of observables need: distinct products, and each value as a combination of their averages.
#[derive(Debug)]
pub struct Evaluation {
    products: Vec<Product>,
    /// Of each operator of each observable, the numbers of its products and their coefficients.
    combinations: Vec<Vec<Vec<(usize, f64)>>>,
}

impl Evaluation {
    /// Of observables in a state in which `fixed` have definite values, or in a mixture of such states.
    ///
    /// `complex` says whether the states are: in real ones i P has the average 0, as far as it is real, and is not asked for.
    ///
    /// # Errors
    /// An operator that the sites do not have.
    pub fn new(
        observables: &[Observable],
        kinds: &[SiteKind],
        fixed: &[Charge],
        complex: bool,
    ) -> Result<Evaluation, OperatorError> {
        let mut products = Products::default();
        let mut combination = |operator: &Operator| -> Vec<(usize, f64)> {
            let stays = |product: &[Factor]| {
                (complex || product.last() != Some(&Factor::ImaginaryUnit))
                    && fixed.iter().all(|charge| charge.change_on(product, kinds) == 0)
            };
            let terms = operator.terms().filter(|(product, _)| stays(product));
            terms.map(|(product, coefficient)| (products.number(product), coefficient)).collect()
        };
        let mut combinations = Vec::with_capacity(observables.len());
        for observable in observables {
            combinations.push(observable.reduced(kinds)?.iter().map(&mut combination).collect());
        }
        Ok(Evaluation { products: products.list, combinations })
    }

    /// The normal-ordered products whose averages are wanted; all leave the fixed charges as they are.
    pub fn products(&self) -> &[Product] {
        &self.products
    }

    /// The averages of the same observables from those of the products.
    pub fn averages(&self, observables: &[Observable], values: &[f64]) -> Averages {
        let value =
            |terms: &Vec<(usize, f64)>| terms.iter().fold(0.0, |sum, (number, factor)| sum + factor * values[*number]);
        let averages = observables.iter().zip(&self.combinations).map(|(observable, operators)| {
            (observable.name.clone(), observable.average(operators.iter().map(value).collect()))
        });
        averages.collect()
    }
}

/// The averages of observables; `average` gives ⟨P⟩ of each of a list of normal-ordered products.
///
/// # Errors
/// An operator that the sites do not have; those of `average`.
pub fn evaluate<E: From<OperatorError>>(
    observables: &[Observable],
    kinds: &[SiteKind],
    fixed: &[Charge],
    complex: bool,
    average: impl FnOnce(&[Product]) -> Result<Vec<f64>, E>,
) -> Result<Averages, E> {
    let evaluation = Evaluation::new(observables, kinds, fixed, complex)?;
    let values = average(evaluation.products())?;
    Ok(evaluation.averages(observables, &values))
}
