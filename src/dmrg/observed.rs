//! How the averages of observables are taken along a chain.
//!
//! In: observables on the lattice, the chain. Out: for each of their operators one of two ways:
//!
//! * products on one site from the probabilities of its states, products on two sites from [pairs](super::correlations) while ψ
//!   is carried along the chain, combined with their coefficients;
//! * a contraction of the whole chain with the operator as an [`OperatorSum`], as for ⟨H²⟩: for products on more sites, and for
//!   observables with one value, whose pairs are few of all.
//!
//! A pair of products that are each other's conjugates has one value, since ψ is real. Products that change a fixed charge
//! have average zero.

use super::chain::Chain;
use super::correlations::{PairKind, PairValues};
use super::error::DmrgError;
use super::ordering;
use super::terms::{LocalOperators, OperatorId, Term, Terms};
use crate::observable::{Averages, Observable, Shape};
use crate::operator::{Factor, Operator};
use std::collections::BTreeSet;

/// Where the average of a product comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// It is 1.
    One,
    /// A diagonal operator of the site at a position.
    Site(usize, OperatorId),
    /// A kind of pair, at two positions.
    Pair(usize, [usize; 2]),
}

/// How the average of an operator is taken.
#[derive(Debug)]
enum Way {
    /// Σ coefficient · product.
    Combined(Vec<(f64, Source)>),
    /// One of the contractions.
    Contracted(usize),
}

/// What is measured of a state, and how.
pub(super) struct ObservedPlan<'o> {
    observables: &'o [Observable],
    /// One-site operators of all products.
    pub operators: LocalOperators,
    /// Kinds of pairs.
    pub kinds: Vec<PairKind>,
    /// The pairs of positions that are needed of each kind.
    pub wanted: BTreeSet<(usize, [usize; 2])>,
    /// Operators that are contracted with the whole chain.
    pub contracted: Vec<Operator>,
    ways: Vec<Vec<Way>>,
}

/// What is being planned, with what it stands on.
struct Planner<'c> {
    chain: &'c Chain,
    position: Vec<usize>,
    terms: Terms,
    kinds: Vec<PairKind>,
}

impl<'o> ObservedPlan<'o> {
    /// For observables on the sites of a chain's lattice.
    ///
    /// # Errors
    /// An operator that the sites do not have.
    pub fn new(chain: &Chain, observables: &'o [Observable]) -> Result<ObservedPlan<'o>, DmrgError> {
        let (terms, position) = (Terms::none(&chain.site), ordering::positions(&chain.order));
        let mut planner = Planner { chain, position, terms, kinds: Vec::new() };
        let (mut wanted, mut contracted, mut ways) = (BTreeSet::new(), Vec::new(), Vec::new());
        let charges = chain.numbers.charges();
        for observable in observables {
            let mut of_this = Vec::new();
            for operator in observable.reduced(chain.site.kind, chain.sites)? {
                let stays = |product: &[Factor]| charges.iter().all(|charge| charge.change(product) == 0);
                let terms: Vec<_> = operator.terms().filter(|(product, _)| stays(product)).collect();
                let sources = terms.iter().map(|(product, factor)| planner.source(product, *factor));
                let sources: Option<Vec<(f64, Source)>> = sources.collect::<Result<Option<_>, _>>()?;
                let few = |sources: &Vec<(f64, Source)>| {
                    observable.shape != Shape::Whole || !sources.iter().any(|(_, s)| matches!(s, Source::Pair(..)))
                };
                of_this.push(match sources.filter(few) {
                    Some(sources) => {
                        let pairs = sources.iter().filter_map(|(_, source)| match source {
                            Source::Pair(kind, places) => Some((*kind, *places)),
                            _ => None,
                        });
                        wanted.extend(pairs);
                        Way::Combined(sources)
                    }
                    None => {
                        let list: Vec<_> = terms.iter().map(|(product, factor)| (*factor, product.to_vec())).collect();
                        contracted.push(Operator::recorded(&list, operator.two_s(), chain.sites, Vec::new()));
                        Way::Contracted(contracted.len() - 1)
                    }
                });
            }
            ways.push(of_this);
        }
        let Planner { terms, kinds, .. } = planner;
        Ok(ObservedPlan { observables, operators: terms.operators, kinds, wanted, contracted, ways })
    }

    /// The averages from what was read off: the probabilities of the states of each position, pairs, contractions.
    pub fn averages(&self, populations: &[Vec<f64>], pairs: &PairValues, contracted: &[f64]) -> Averages {
        let site = |place: usize, operator: OperatorId| -> f64 {
            let matrix = &self.operators.get(operator).matrix;
            populations[place].iter().enumerate().map(|(state, weight)| matrix.at(state, state) * weight).sum()
        };
        let of = |source: Source| match source {
            Source::One => 1.0,
            Source::Site(place, operator) => site(place, operator),
            Source::Pair(kind, places) => pairs.get(&(kind, places)).copied().unwrap_or(f64::NAN),
        };
        let value = |way: &Way| match way {
            Way::Combined(sources) => sources.iter().map(|(factor, source)| factor * of(*source)).sum(),
            Way::Contracted(number) => contracted.get(*number).copied().unwrap_or(f64::NAN),
        };
        let average = |(observable, ways): (&Observable, &Vec<Way>)| {
            (observable.name.clone(), observable.average(ways.iter().map(value).collect()))
        };
        self.observables.iter().zip(&self.ways).map(average).collect()
    }
}

impl Planner<'_> {
    /// Where a product's average comes from, with its coefficient; `None` for a contraction.
    fn source(&mut self, product: &[Factor], factor: f64) -> Result<Option<(f64, Source)>, DmrgError> {
        let places: BTreeSet<usize> = product.iter().map(|factor| self.position[factor.site()]).collect();
        let places: Vec<usize> = places.into_iter().collect();
        match places[..] {
            [] => Ok(Some((factor, Source::One))),
            [place] => {
                let Some(Term { coefficient, operators }) = self.term(product, factor)? else {
                    return Ok(Some((0.0, Source::One)));
                };
                let Some((_, operator)) = operators.first() else { return Ok(Some((coefficient, Source::One))) };
                let nonzeros = self.terms.operators.get(*operator).matrix.nonzeros();
                let diagonal = nonzeros.iter().all(|(row, column, _)| row == column);
                Ok(diagonal.then_some((coefficient, Source::Site(place, *operator))))
            }
            [first, last] => {
                let conjugate: Vec<Factor> = product.iter().rev().map(|factor| factor.adjoint()).collect();
                let (own, other) = (self.pair(product, first, last)?, self.pair(&conjugate, first, last)?);
                let (Some((own, factor_of_own)), Some((other, factor_of_other))) = (own, other) else {
                    return Ok(Some((0.0, Source::One)));
                };
                let (kind, coefficient) = if own <= other { (own, factor_of_own) } else { (other, factor_of_other) };
                let known = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                    self.kinds.push(kind);
                    self.kinds.len() - 1
                });
                Ok(Some((factor * coefficient, Source::Pair(known, [first, last]))))
            }
            _ => Ok(None),
        }
    }

    fn term(&mut self, product: &[Factor], factor: f64) -> Result<Option<Term>, DmrgError> {
        self.terms.term(product, factor, &self.chain.site, &self.position)
    }

    /// A product on two sites: its kind and the factor over it; `None` where it vanishes.
    fn pair(&mut self, product: &[Factor], first: usize, last: usize) -> Result<Option<(PairKind, f64)>, DmrgError> {
        let Some(Term { coefficient, operators }) = self.term(product, 1.0)? else { return Ok(None) };
        let at =
            |place: usize| operators.iter().find(|(found, _)| *found == place).map_or(0, |(_, operator)| *operator);
        let odd = product.iter().filter(|f| f.is_fermion() && self.position[f.site()] == last).count() % 2 == 1;
        let between = if odd {
            let site = &self.chain.site;
            let (parity, _) = self.terms.operators.intern(site.parity(), || "P".into(), site.charges());
            parity
        } else {
            0
        };
        Ok(Some((PairKind { earlier: at(first), between, later: at(last) }, coefficient)))
    }
}
