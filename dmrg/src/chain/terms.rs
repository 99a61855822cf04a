//! The operator IR along a chain: each term as a coefficient times one matrix per site.
//!
//! In: normal-ordered products and the position of every site. Out: [`Term`]s, tensor products of [`LocalOperators`]
//! other than the identity, with the parities between two fermion operators written out. The imaginary unit is the operator J of
//! the auxiliary site. Matrices are interned up to a
//! factor, so −c† and c† are one operator with two coefficients.

use super::charges::Charges;
use super::site::Matrix;
use super::site_list::SiteList;
use crate::error::DmrgError;
use eigenforge_core::operator::{Factor, Operator};

/// Number of an interned matrix; 0 is the identity.
pub(crate) type OperatorId = usize;

/// A distinct one-site operator.
#[derive(Clone, Debug)]
pub struct LocalOperator {
    /// Its printed name: the factors that first produced it.
    pub name: String,
    /// Its matrix.
    pub matrix: Matrix,
    /// The change of the charges.
    pub change: Charges,
}

/// The distinct one-site operators of a model.
#[derive(Clone, Debug)]
pub struct LocalOperators {
    list: Vec<LocalOperator>,
}

impl LocalOperators {
    /// Only the identity. It has number 0 on every site, whatever its dimension; its matrix here is one of `dimension` states.
    pub(crate) fn of_dimension(dimension: usize) -> LocalOperators {
        let identity = Matrix::identity(dimension);
        LocalOperators { list: vec![LocalOperator { name: "1".into(), matrix: identity, change: Charges::default() }] }
    }

    /// The operator with a number.
    pub fn get(&self, id: OperatorId) -> &LocalOperator {
        &self.list[id]
    }

    /// The size of a term: |coefficient| Π ‖one-site operator‖, an upper bound of its norm.
    pub fn size(&self, term: &Term) -> f64 {
        term.coefficient.abs() * term.operators.iter().map(|(_, id)| self.get(*id).matrix.norm_bound()).product::<f64>()
    }

    /// Whether a term is off-diagonal.
    pub fn moves(&self, term: &Term) -> bool {
        let moves = |id: OperatorId| self.get(id).matrix.nonzeros().iter().any(|(row, column, _)| row != column);
        term.operators.iter().any(|(_, id)| moves(*id))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Always false, because the identity is always present.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The number of a matrix, and its factor relative to the interned one.
    pub(crate) fn intern(
        &mut self,
        matrix: Matrix,
        name: impl FnOnce() -> String,
        charges: &[Charges],
    ) -> (OperatorId, f64) {
        let identity = || ratio(&matrix, &Matrix::identity(matrix.dimension));
        if let Some(factor) = ratio(&matrix, &self.list[0].matrix).or_else(identity) {
            return (0, factor);
        }
        let change = matrix.nonzeros().first().map_or(Charges::default(), |(r, c, _)| charges[*r] - charges[*c]);
        for (id, known) in self.list.iter().enumerate().skip(1).filter(|(_, known)| known.change == change) {
            if let Some(factor) = ratio(&matrix, &known.matrix) {
                return (id, factor);
            }
        }
        self.list.push(LocalOperator { name: name(), matrix, change });
        (self.list.len() - 1, 1.0)
    }

    /// For each operator, the one that is a multiple of its transpose, and the factor; `None` if it is not present.
    pub(crate) fn transposed(&self) -> Vec<Option<(OperatorId, f64)>> {
        let of = |operator: &LocalOperator| {
            let (turned, change) = (operator.matrix.transposed(), Charges::default() - operator.change);
            let mut possible = self.list.iter().enumerate().filter(|(_, known)| known.change == change);
            possible.find_map(|(id, known)| Some((id, ratio(&turned, &known.matrix)?)))
        };
        self.list.iter().map(of).collect()
    }

    /// The number of a · b on a site with these charges, and its factor; `None` if it vanishes.
    pub(crate) fn product(&mut self, a: OperatorId, b: OperatorId, charges: &[Charges]) -> Option<(OperatorId, f64)> {
        if a == 0 || b == 0 {
            return Some((a.max(b), 1.0));
        }
        let matrix = self.list[a].matrix.times(&self.list[b].matrix);
        if matrix.values.iter().all(|value| *value == 0.0) {
            return None;
        }
        let name = format!("{} {}", self.list[a].name, self.list[b].name);
        Some(self.intern(matrix, || name, charges))
    }
}

/// a / b if a is a multiple of b.
fn ratio(a: &Matrix, b: &Matrix) -> Option<f64> {
    if a.dimension != b.dimension {
        return None;
    }
    let pivot = b.values.iter().position(|value| *value != 0.0)?;
    let factor = a.values[pivot] / b.values[pivot];
    let close = |(x, y): (&f64, &f64)| (x - factor * y).abs() <= 1e-14 * x.abs();
    (factor != 0.0 && a.values.iter().zip(&b.values).all(close)).then_some(factor)
}

/// coefficient · ⊗ operators; positions ascending, identities left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Its coefficient.
    pub coefficient: f64,
    /// (position, operator).
    pub operators: Vec<(usize, OperatorId)>,
}

/// All terms of an operator, and its constant.
pub struct Terms {
    /// Terms other than the constant.
    pub list: Vec<Term>,
    /// The multiple of the identity.
    pub constant: f64,
    /// Their one-site operators.
    pub operators: LocalOperators,
}

impl Terms {
    /// The terms of a reduced operator; `position[site]` is the position of a site in the chain.
    ///
    /// # Errors
    /// A factor that the sites do not have, with its term and site.
    pub fn new(operator: &Operator, sites: &SiteList, position: &[usize]) -> Result<Terms, DmrgError> {
        let mut terms = Terms::none(sites);
        for (product, coefficient) in operator.terms() {
            match terms.term(product, coefficient, sites, position)? {
                Some(term) if term.operators.is_empty() => terms.constant += term.coefficient,
                Some(term) => terms.list.push(term),
                None => {}
            }
        }
        Ok(terms)
    }

    /// No terms yet.
    pub(crate) fn none(sites: &SiteList) -> Terms {
        Terms { list: Vec::new(), constant: 0.0, operators: LocalOperators::of_dimension(sites.site(0).dimension()) }
    }

    /// One product: at each site, the ordered product of its factors' matrices.
    pub(crate) fn term(
        &mut self,
        product: &[Factor],
        coefficient: f64,
        sites: &SiteList,
        position: &[usize],
    ) -> Result<Option<Term>, DmrgError> {
        // The auxiliary site of a complex chain, which has the imaginary unit, is at its left end.
        let place = |factor: &Factor| if *factor == Factor::ImaginaryUnit { 0 } else { position[factor.site()] };
        let (Some(first), Some(last)) = (product.iter().map(place).min(), product.iter().map(place).max()) else {
            return Ok(Some(Term { coefficient, operators: Vec::new() }));
        };
        let mut term = Term { coefficient, operators: Vec::new() };
        for here in first..=last {
            let site = sites.site(here);
            let is_passed = product.iter().all(|factor| place(factor) != here);
            let parities = product.iter().filter(|factor| factor.is_fermion() && place(factor) > here).count();
            // Most sites of long-range terms: an even number of parities is the identity.
            if is_passed && parities.is_multiple_of(2) {
                continue;
            }
            let mut matrix = Matrix::identity(site.dimension());
            let mut named = Vec::new();
            for factor in product {
                if place(factor) == here {
                    let own = site.matrix(*factor);
                    let own = own.ok_or_else(|| DmrgError::UnknownOperator {
                        operator: factor.to_string(),
                        site: factor.site(),
                        term: product.iter().map(Factor::to_string).collect::<Vec<_>>().join(" "),
                    })?;
                    matrix = matrix.times(&own);
                    named.push(symbol(*factor));
                } else if factor.is_fermion() && place(factor) > here {
                    matrix = matrix.times(&site.parity());
                }
            }
            if matrix.values.iter().all(|value| *value == 0.0) {
                return Ok(None);
            }
            // A parity left over beside an operator of this site is part of its matrix; alone it is P.
            let name = || if named.is_empty() { "P".into() } else { named.join(" ") };
            let (id, factor) = self.operators.intern(matrix, name, site.charges());
            term.coefficient *= factor;
            if id != 0 {
                term.operators.push((here, id));
            }
        }
        Ok(Some(term))
    }
}

/// A factor without its site: "c†↑".
fn symbol(factor: Factor) -> String {
    if factor == Factor::ImaginaryUnit {
        return "J".into();
    }
    factor.to_string().replace(&format!("_{}", factor.site()), "")
}

#[cfg(test)]
mod tests {
    use super::super::site_list::kinds_of;
    use super::*;
    use eigenforge_core::operator::{Charge, Spin};

    /// A term with operators that the sites do not have.
    #[test]
    fn operators_that_a_site_does_not_have() {
        let number = Operator::product(&[Factor::Create(Spin::Up, 1), Factor::Annihilate(Spin::Up, 1)]);
        let moment = Operator::product(&[Factor::Sz(3)]);
        let charges = [Charge::Up, Charge::Down];
        let electrons = SiteList::new(&kinds_of(&number.clone().on_sites(4), &charges), &charges);
        let error = Terms::new(&moment, &electrons, &[0, 1, 2, 3]).err().expect("accepted");
        assert!(matches!(error, DmrgError::UnknownOperator { site: 3, .. }), "{error}");
        assert!(error.to_string().contains("Sᶻ_3 at site 3, in the term Sᶻ_3"), "{error}");
        let flavour = [Factor::Create(Spin::flavour(4), 2), Factor::Annihilate(Spin::flavour(4), 2)];
        let charges = [Charge::Flavour(0), Charge::Flavour(1)];
        let two = SiteList::new(&kinds_of(&Operator::zero().on_sites(3), &charges), &charges);
        let error = Terms::new(&Operator::product(&flavour), &two, &[0, 1, 2]).err().expect("accepted").to_string();
        assert!(error.contains("c†_2[4] at site 2"), "{error}");
    }
}
