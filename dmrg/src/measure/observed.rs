//! How the averages of observables are taken along a chain.
//!
//! In: observables on the lattice, the chain. Out: for each of their operators one of two ways:
//!
//! * products on one site from the probabilities of its states, products on two sites from [pairs](super::correlations) while ψ
//!   is carried along the chain, combined with their coefficients;
//! * a contraction of the whole chain with the operator as an [`OperatorSum`], as for ⟨H²⟩: for products on more sites, and for
//!   observables with one value, whose pairs are few of all.
//!
//! ψ is real, if need be in a gauge of its own (`Chain::in_gauge`), so a pair of products that are each other's conjugates has one
//! value, and i times a product has average zero, as far as it is real. Of a complex chain the i is an operator of the auxiliary site.
//! Products that change a fixed charge have average zero.

use crate::chain::Chain;
use crate::chain::charges::Charges;
use crate::chain::site::{Matrix, Site};
use crate::chain::terms::{LocalOperators, OperatorId, Term, Terms};
use crate::error::DmrgError;
use eigenforge_core::observable::{Averages, Observable, Shape};
use eigenforge_core::operator::{Factor, Operator, Product, SiteKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The one-site operators of a pair of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PairKind {
    /// At the site that comes first in the chain.
    pub earlier: OperatorId,
    /// Whether every site between has its parity.
    pub parity_between: bool,
    /// At the site that comes last.
    pub later: OperatorId,
}

/// Averages by kind and positions.
pub(crate) type PairValues = BTreeMap<(usize, [usize; 2]), f64>;

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
pub(crate) struct ObservedPlan<'o> {
    observables: &'o [Observable],
    /// One-site operators of all products.
    pub operators: LocalOperators,
    /// The parity of the site at each position.
    pub parities: Vec<OperatorId>,
    /// Kinds of pairs.
    pub kinds: Vec<PairKind>,
    /// The pairs of positions that are needed of each kind.
    pub wanted: BTreeSet<(usize, [usize; 2])>,
    /// Operators that are contracted with the whole chain.
    pub contracted: Vec<Operator>,
    ways: Vec<Vec<Way>>,
}

/// A product on two sites, these numbered 0 and 1 along the chain, and the kinds of the sites.
type NumberedProduct = (Product, [usize; 2]);

/// What is being planned, with what it stands on.
struct Planner<'c> {
    chain: &'c Chain,
    position: Vec<usize>,
    /// What each site of the lattice carries.
    sites: Vec<SiteKind>,
    terms: Terms,
    kinds: Vec<PairKind>,
    /// The pairs of products on two sites, which do not depend on the places.
    known: HashMap<NumberedProduct, Option<(PairKind, f64)>>,
}

impl<'o> ObservedPlan<'o> {
    /// For observables on the sites of a chain's lattice.
    ///
    /// # Errors
    /// An operator that the sites do not have.
    pub(crate) fn new(chain: &Chain, observables: &'o [Observable]) -> Result<ObservedPlan<'o>, DmrgError> {
        let (mut terms, position) = (Terms::none(&chain.local), chain.positions());
        let parity = |site: &Site| terms.operators.intern(site.parity(), || "P".into(), site.charges()).0;
        let parities = chain.local.iter().map(parity).collect();
        let (sites, kinds, known) = (chain.kinds(), Vec::new(), HashMap::new());
        let mut planner = Planner { chain, position, sites, terms, kinds, known };
        let (mut wanted, mut contracted, mut ways) = (BTreeSet::new(), Vec::new(), Vec::new());
        for observable in observables {
            let mut of_this = Vec::new();
            for operator in observable.reduced(&planner.sites)? {
                let operator = chain.in_gauge(&operator);
                let stays = |product: &[Factor]| {
                    chain.numbers.iter().all(|(charge, _)| charge.change_on(product, &planner.sites) == 0)
                        && chain.irreps.as_ref().is_none_or(|irreps| irreps.change(product) == 0)
                };
                let terms: Vec<_> = operator.terms().filter(|(product, _)| stays(product)).collect();
                let sources = planner.sources(&terms)?;
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
                        contracted.push(Operator::recorded(&list, operator.two_s(), chain.order.len(), Vec::new()));
                        Way::Contracted(contracted.len() - 1)
                    }
                });
            }
            ways.push(of_this);
        }
        let Planner { terms, kinds, .. } = planner;
        Ok(ObservedPlan { observables, operators: terms.operators, parities, kinds, wanted, contracted, ways })
    }

    /// The averages from what was read off: the probabilities of the states of each position, pairs, contractions.
    pub(crate) fn averages(&self, populations: &[Vec<f64>], pairs: &PairValues, contracted: &[f64]) -> Averages {
        let site = |place: usize, operator: OperatorId| -> f64 {
            let matrix = &self.operators.get(operator).matrix;
            populations[place].iter().enumerate().map(|(state, weight)| matrix.element(state, state) * weight).sum()
        };
        let of = |source: Source| match source {
            Source::One => 1.0,
            Source::Site(place, operator) => site(place, operator),
            Source::Pair(kind, places) => pairs.get(&(kind, places)).copied().unwrap_or(f64::NAN),
        };
        let value = |way: &Way| match way {
            Way::Combined(sources) => sources.iter().fold(0.0, |sum, (factor, source)| sum + factor * of(*source)),
            Way::Contracted(number) => contracted.get(*number).copied().unwrap_or(f64::NAN),
        };
        let average = |(observable, ways): (&Observable, &Vec<Way>)| {
            (observable.name.clone(), observable.average(ways.iter().map(value).collect()))
        };
        self.observables.iter().zip(&self.ways).map(average).collect()
    }
}

impl Planner<'_> {
    /// Where the averages of an operator's products come from, with their coefficients; `None` for a contraction.
    fn sources(&mut self, terms: &[(&[Factor], f64)]) -> Result<Option<Vec<(f64, Source)>>, DmrgError> {
        let mut sources = Vec::new();
        // Products on two sites by these sites: n_i n_j of all modes is one pair of sums over modes.
        let mut pairs: BTreeMap<[usize; 2], Vec<(PairKind, f64)>> = BTreeMap::new();
        for (product, factor) in terms {
            let (product, is_imaginary) = match product {
                [factors @ .., Factor::ImaginaryUnit] => (factors, true),
                factors => (*factors, false),
            };
            let places: BTreeSet<usize> = product.iter().map(|factor| self.position[factor.site()]).collect();
            match places.into_iter().collect::<Vec<_>>()[..] {
                [] if is_imaginary => {}
                [place] if is_imaginary => {
                    if let Some((kind, coefficient)) = self.turned(product, place)? {
                        pairs.entry([0, place]).or_default().push((kind, factor * coefficient));
                    }
                }
                _ if is_imaginary => return Ok(None),
                [] => sources.push((*factor, Source::One)),
                [place] => match self.on_site(product, *factor, place)? {
                    Some(source) => sources.push(source),
                    None => return Ok(None),
                },
                [first, last] => {
                    if let Some((kind, coefficient)) = self.pair(product, [first, last])? {
                        pairs.entry([first, last]).or_default().push((kind, factor * coefficient));
                    }
                }
                _ => return Ok(None),
            }
        }
        for (places, list) in pairs {
            for (kind, coefficient) in self.factored(list, places) {
                let known = self.kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                    self.kinds.push(kind);
                    self.kinds.len() - 1
                });
                sources.push((coefficient, Source::Pair(known, places)));
            }
        }
        Ok(Some(sources))
    }

    /// A product on one site; `None` if it is not diagonal there.
    fn on_site(&mut self, product: &[Factor], factor: f64, place: usize) -> Result<Option<(f64, Source)>, DmrgError> {
        let term = self.terms.term(product, factor, &self.chain.local, &self.position)?;
        let Some(Term { coefficient, operators }) = term else { return Ok(Some((0.0, Source::One))) };
        let Some((_, operator)) = operators.first() else { return Ok(Some((coefficient, Source::One))) };
        let nonzeros = self.terms.operators.get(*operator).matrix.nonzeros();
        let diagonal = nonzeros.iter().all(|(row, column, _)| row == column);
        Ok(diagonal.then_some((coefficient, Source::Site(place, *operator))))
    }

    /// i times a product on one site: a pair with J of the auxiliary site of a complex chain; `None` where its average is zero.
    fn turned(&mut self, product: &[Factor], place: usize) -> Result<Option<(PairKind, f64)>, DmrgError> {
        let product: Product = product.iter().copied().chain([Factor::ImaginaryUnit]).collect();
        let term = self.terms.term(&product, 1.0, &self.chain.local, &self.position)?;
        Ok(term.and_then(|Term { coefficient, operators }| match operators[..] {
            [(0, earlier), (at, later)] if at == place => {
                Some((PairKind { earlier, parity_between: false, later }, coefficient))
            }
            _ => None,
        }))
    }

    /// A product on two sites as the pair that it or its conjugate is, and the factor over it; `None` where it vanishes.
    fn pair(&mut self, product: &[Factor], places: [usize; 2]) -> Result<Option<(PairKind, f64)>, DmrgError> {
        let numbered = |factor: &Factor| factor.moved(usize::from(self.position[factor.site()] == places[1]));
        let key: Product = product.iter().map(numbered).collect();
        let key = (key, places.map(|place| self.chain.local.kind_number(place)));
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let conjugate: Product = key.0.iter().rev().map(|factor| factor.adjoint()).collect();
        let (own, other) = (self.neighbours(&key.0, places)?, self.neighbours(&conjugate, places)?);
        let found = own.zip(other).map(|(own, other)| if own.0 <= other.0 { own } else { other });
        self.known.insert(key, found);
        Ok(found)
    }

    /// A product on sites 0 and 1, which are like those at two places.
    fn neighbours(&mut self, product: &[Factor], places: [usize; 2]) -> Result<Option<(PairKind, f64)>, DmrgError> {
        let sites = self.chain.local.selected(places);
        let Some(Term { coefficient, operators }) = self.terms.term(product, 1.0, &sites, &[0, 1])? else {
            return Ok(None);
        };
        let at =
            |place: usize| operators.iter().find(|(found, _)| *found == place).map_or(0, |(_, operator)| *operator);
        let parity_between = product.iter().filter(|f| f.is_fermion() && f.site() == 1).count() % 2 == 1;
        Ok(Some((PairKind { earlier: at(0), parity_between, later: at(1) }, coefficient)))
    }

    /// Diagonal pairs Σ c_ab A_a B_b with c_ab = u_a v_b as one pair of sums, (Σ u_a A_a) (Σ v_b B_b); others as they are.
    fn factored(&mut self, list: Vec<(PairKind, f64)>, places: [usize; 2]) -> Vec<(PairKind, f64)> {
        let still = Charges::default();
        let diagonal = |kind: &PairKind| {
            !kind.parity_between
                && [kind.earlier, kind.later].iter().all(|id| self.terms.operators.get(*id).change == still)
        };
        let (both, mut rest): (Vec<_>, Vec<_>) = list.into_iter().partition(|(kind, _)| diagonal(kind));
        let of = |side: fn(&PairKind) -> OperatorId| -> Vec<OperatorId> {
            both.iter().map(|(kind, _)| side(kind)).collect::<BTreeSet<_>>().into_iter().collect()
        };
        let (rows, columns) = (of(|kind| kind.earlier), of(|kind| kind.later));
        let element = |a: OperatorId, b: OperatorId| -> f64 {
            both.iter().filter(|(kind, _)| (kind.earlier, kind.later) == (a, b)).fold(0.0, |sum, (_, c)| sum + c)
        };
        let pivot = both.iter().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        let Some((pivot, largest)) = pivot.filter(|(_, largest)| both.len() > 1 && *largest != 0.0) else {
            return both.into_iter().chain(rest).collect();
        };
        let u: Vec<f64> = rows.iter().map(|a| element(*a, pivot.later) / largest).collect();
        let v: Vec<f64> = columns.iter().map(|b| element(pivot.earlier, *b)).collect();
        let fits = |(k, a): (usize, &OperatorId)| {
            columns.iter().zip(&v).all(|(b, v)| (element(*a, *b) - u[k] * v).abs() <= 1e-14 * largest.abs())
        };
        if !rows.iter().enumerate().all(fits) {
            return both.into_iter().chain(rest).collect();
        }
        let mut sum = |ids: &[OperatorId], factors: &[f64], place: usize| {
            let site = self.chain.site(place);
            let identity = Matrix::identity(site.dimension());
            let of = |id: &OperatorId| if *id == 0 { &identity } else { &self.terms.operators.get(*id).matrix };
            let matrix = Matrix::combination(site.dimension(), ids.iter().map(of).zip(factors.iter().copied()));
            self.terms.operators.intern(matrix, || "sum".into(), site.charges())
        };
        let ((earlier, a), (later, b)) = (sum(&rows, &u, places[0]), sum(&columns, &v, places[1]));
        rest.push((PairKind { earlier, parity_between: false, later }, a * b));
        rest
    }
}
