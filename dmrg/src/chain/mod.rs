//! A model laid out along a chain: the data that every step of DMRG reads and none changes.
//!
//! In: an operator, a sector, an order of the sites. Out: the sites, the operator sum, and the charges possible at each
//! cut.

pub(crate) mod acting;
pub(crate) mod bundles;
pub(super) mod charges;
pub(crate) mod cover;
pub(crate) mod form;
pub(super) mod irreps;
pub(crate) mod merged;
pub(super) mod mobility;
pub(super) mod operator_sum;
pub(super) mod ordering;
pub(crate) mod reachable;
pub(super) mod repetition;
pub(super) mod site;
pub(crate) mod site_list;
pub(super) mod terms;
pub(crate) mod twins;
pub(super) mod units;

use crate::MOST_SITES;
use crate::error::DmrgError;
use bundles::{Bundles, BundlesOfSite, KnownBundles};
use charges::Charges;
use eigenforge_core::basis::Sector;
use eigenforge_core::operator::{Carrier, Charge, Factor, Gauge, Operator, OperatorError, SiteKind};
use form::SuperblockForm;
use irreps::SiteIrreps;
use operator_sum::OperatorSum;
use reachable::Reachable;
use site::Site;
use site_list::{SiteList, kinds_of};
use terms::{Term, Terms};
use units::Units;

/// Limit on the charges listed for all cuts together: 2 to 3 GB.
const MOST_LABELS: u128 = 1 << 24;

/// The problem along the chain.
///
/// **Complex chains.** H = A + iB with real A and B, which no gauge makes real, is solved as the real operator A ⊗ 1 + B ⊗ J on one
/// more site of two states at the left end: x + iy is the pair (x, y), and J, which stands for i, takes it to (−y, x). Each level
/// then occurs twice, for ψ and for iψ.
pub struct Chain {
    /// Number of positions: the sites of the lattice, and the auxiliary site of a complex chain.
    pub sites: usize,
    /// The local Hilbert space at each position.
    pub local: SiteList,
    /// H in its [`units`](Chain::units).
    pub sum: OperatorSum,
    /// H as an operator, in the units of the model, without the constant of the sector.
    pub(crate) operator: Operator,
    /// The terms of H.
    pub(crate) terms: Vec<Term>,
    /// The units of energies.
    pub units: Units,
    /// The charges that are fixed, each with its value for the whole chain.
    pub numbers: Vec<(Charge, i64)>,
    /// The irreps of the sites and of the state, if they are conserved.
    pub irreps: Option<SiteIrreps>,
    /// Total charges of the whole chain.
    pub(crate) total: Charges,
    /// Charges that parts of the chain can have.
    pub(crate) reachable: Reachable,
    /// The lattice sites in the order of the chain, without the auxiliary one.
    pub order: Vec<usize>,
    /// The gauge in which H is real, if the user's is complex.
    pub gauge: Option<Gauge>,
    /// How H x of a bond is written as products.
    pub(crate) superblock: SuperblockForm,
    /// Which operators stand side by side, and what they add up.
    pub(crate) known: KnownBundles,
    /// Ways in which the definition may differ from what was meant ([`Operator::warnings`]).
    pub warnings: Vec<String>,
}

impl Chain {
    /// Checks the operator against the charges of the sector and lays it out.
    ///
    /// # Errors
    /// An operator that is not Hermitian or does not conserve the charges, a sector that the sites cannot hold, an order that is not a permutation of the sites, fewer than three sites.
    pub fn new(operator: &Operator, sector: Sector, order: Option<Vec<usize>>) -> Result<Chain, DmrgError> {
        Chain::lay_out(operator, sector, order, None, false)
    }

    /// The same for orbitals of a molecule, whose irreps are conserved as well.
    ///
    /// # Errors
    /// As of [`Chain::new`]; a term that changes the irrep.
    pub fn with_irreps(
        operator: &Operator,
        sector: Sector,
        order: Option<Vec<usize>>,
        irreps: SiteIrreps,
    ) -> Result<Chain, DmrgError> {
        Chain::lay_out(operator, sector, order, Some(irreps), false)
    }

    /// A chain whose states are complex, whatever H is: the auxiliary site carries their phases, and no gauge is taken.
    ///
    /// # Errors
    /// As of [`Chain::new`].
    pub fn with_phases(operator: &Operator, sector: Sector, order: Option<Vec<usize>>) -> Result<Chain, DmrgError> {
        Chain::lay_out(operator, sector, order, None, true)
    }

    fn lay_out(
        operator: &Operator,
        sector: Sector,
        order: Option<Vec<usize>>,
        irreps: Option<SiteIrreps>,
        has_phases: bool,
    ) -> Result<Chain, DmrgError> {
        let operator = operator.reduced();
        let sector = charges::chain_sector(&sector, &operator);
        let (numbers, charges) = (sector.charge_values(), sector.charges());
        if operator.is_complex() {
            operator.check(&charges)?;
        }
        let (gauge, operator) = if has_phases { (None, operator) } else { operator.in_real_gauge() };
        if numbers.len() > charges::COUNT {
            let (option, expected) = ("charges", "at most 6");
            return Err(DmrgError::Option { option, expected, found: numbers.len().to_string() });
        }
        charges::check(&operator, &sector)?;
        let sites = operator.sites();
        if sites > MOST_SITES {
            return Err(DmrgError::TooLong { sites, most: MOST_SITES });
        }
        if sites < 3 {
            return Err(DmrgError::TooShort { sites });
        }
        let order = ordering::checked(order, sites)?;
        let kinds = kinds_of(&operator, &charges);
        let along: Vec<SiteKind> = order.iter().map(|site| kinds[*site]).collect();
        let mut total = Charges::total(&numbers);
        let local = match &irreps {
            None => SiteList::new(&along, &charges),
            Some(irreps) => {
                irreps.check(&operator)?;
                total.1 = irreps.total;
                SiteList::with_irreps(&along, &charges, &irreps.along(&order))
            }
        };
        let local = if has_phases || operator.is_complex() { local.behind_phases() } else { local };
        let positions = positions_behind(local.len() - order.len(), &order);
        let labels = Reachable::labels(&local, total);
        if labels > MOST_LABELS {
            return Err(DmrgError::TooManyLabels { sites, labels, most: MOST_LABELS });
        }
        let (rest, shared) = units::without_shared(&operator, &kinds, &charges);
        let mut terms = Terms::new(&rest, &local, &positions)?;
        let reachable = Reachable::new(&local, total);
        if reachable.cut(0).is_empty() {
            let reason = match &irreps {
                None => "no configuration of the sites has all these charges".into(),
                Some(_) => "no configuration of the orbitals has these electrons and this irrep".into(),
            };
            return Err(OperatorError::EmptySector { sector: sector.to_string(), sites, reason }.into());
        }
        acting::keep_acting(&mut terms, &local, &reachable);
        let units = units::normalise(&mut terms, shared, total);
        let list = terms.list.clone();
        let sum = OperatorSum::new(terms, local.len());
        let warnings = operator.warnings();
        let (operator, sites) = (rest, local.len());
        let superblock = SuperblockForm::planned_for(&sum);
        Ok(Chain {
            sites,
            local,
            sum,
            operator,
            terms: list,
            units,
            numbers,
            irreps,
            total,
            reachable,
            order,
            gauge,
            superblock,
            known: KnownBundles::of_sites(sites),
            warnings,
        })
    }

    /// For `eigenforge bench` and tests: the same chain with H x of its bonds in a form of the paper of 2014.
    #[doc(hidden)]
    pub fn with_superblock(self, superblock: SuperblockForm) -> Chain {
        Chain { superblock, known: KnownBundles::of_sites(self.sites), ..self }
    }

    /// The groups of operators of cut `p` that stand side by side.
    pub(crate) fn bundles(&self, p: usize) -> &Bundles {
        // The ends have no site beyond.
        let states = [p.max(1) - 1, p.min(self.sites - 1)].map(|position| self.site(position).dimension());
        self.known.cut(p).get_or_init(|| match self.superblock {
            SuperblockForm::Bundled => self.sum.bundles(p, states),
            _ => self.sum.cuts[p].one_by_one(),
        })
    }

    /// What stands side by side on a block and `site`, to which it comes from the left or from the right.
    pub(crate) fn bundles_of_site(&self, from_left: bool, site: usize) -> BundlesOfSite<'_> {
        let [before, behind] = [site, site + 1].map(|p| self.bundles(p));
        let (cut, behind) = if from_left { (behind, before) } else { (before, behind) };
        BundlesOfSite { cut, behind, lists: Some(self.known.site(from_left, site)) }
    }

    /// The local Hilbert space at a position.
    pub fn site(&self, position: usize) -> &Site {
        self.local.site(position)
    }

    /// Whether the states are complex, with an auxiliary site at the left end that carries their phases.
    pub fn is_complex(&self) -> bool {
        self.sites > self.order.len()
    }

    /// How often each level of H occurs in the problem that is solved.
    pub fn copies(&self) -> usize {
        if self.is_complex() { 2 } else { 1 }
    }

    /// Number of states of the sector; approximate beyond 2⁵³.
    pub(crate) fn dimension(&self) -> f64 {
        self.reachable.dimension(&self.local) / self.copies() as f64
    }

    /// The position of each site of the lattice.
    pub(crate) fn positions(&self) -> Vec<usize> {
        positions_behind(self.sites - self.order.len(), &self.order)
    }

    /// The lattice site at a position; `None` for the auxiliary one.
    pub(crate) fn lattice_site(&self, position: usize) -> Option<usize> {
        Some(self.order[position.checked_sub(self.sites - self.order.len())?])
    }

    /// Numbers that are not finite at two neighbouring positions, or at one.
    pub(crate) fn not_finite(&self, positions: [usize; 2]) -> DmrgError {
        // The auxiliary site has no number of its own.
        let [first, second] = positions.map(|position| self.lattice_site(position).unwrap_or(self.order[0]));
        DmrgError::NotFinite { first, second }
    }

    /// What each site of the lattice carries.
    pub(crate) fn kinds(&self) -> Vec<SiteKind> {
        self.positions().into_iter().filter_map(|position| self.site(position).kind).collect()
    }

    /// An operator in the gauge of the chain, without what has average zero in states that are real there.
    pub(crate) fn in_gauge(&self, operator: &Operator) -> Operator {
        if self.is_complex() {
            return operator.clone();
        }
        self.gauge.as_ref().map_or_else(|| operator.real_part(), |gauge| gauge.real_part(operator))
    }

    /// The same chain with hops between neighbours added to H; `size` is in units of the largest term.
    ///
    /// # Errors
    /// See [`Chain::new`].
    pub(crate) fn joined(&self, size: f64) -> Result<Chain, DmrgError> {
        // H may have a hundred thousand terms, and the hops are few: they are added to it once.
        let mut hops = Operator::zero();
        for position in 1..self.sites {
            // The nearest site before it that carries the same.
            let alike = |before: &usize| self.local.kind_number(*before) == self.local.kind_number(position);
            if let Some(before) = (0..position).rev().find(alike) {
                hops = hops + self.hop(before, position) * (-size * self.units.largest * self.units.scale);
            }
        }
        let operator = self.operator.clone() + hops;
        let mut terms = Terms::new(&operator, &self.local, &self.positions())?;
        acting::keep_acting(&mut terms, &self.local, &self.reachable);
        terms.list.iter_mut().for_each(|term| term.coefficient /= self.units.scale);
        let list = terms.list.clone();
        Ok(Chain {
            sites: self.sites,
            local: self.local.clone(),
            sum: OperatorSum::new(terms, self.sites),
            operator,
            terms: list,
            units: self.units.clone(),
            numbers: self.numbers.clone(),
            irreps: self.irreps.clone(),
            total: self.total,
            reachable: self.reachable.clone(),
            order: self.order.clone(),
            gauge: self.gauge.clone(),
            superblock: self.superblock,
            known: KnownBundles::of_sites(self.sites),
            warnings: Vec::new(),
        })
    }

    /// Σ c†_i c_j + h.c. of every mode, S⁺_i S⁻_j + h.c. or b†_i b_j + h.c. of two positions with sites of one kind.
    fn hop(&self, first: usize, second: usize) -> Operator {
        let places = self.lattice_site(first).zip(self.lattice_site(second));
        let Some((kind, (i, j))) = self.site(first).kind.zip(places) else { return Operator::zero() };
        let there: Vec<Operator> = match kind.carrier() {
            Carrier::Bosons => vec![Operator::product(&[Factor::CreateBoson(i), Factor::AnnihilateBoson(j)])],
            Carrier::Spin => vec![Operator::product(&[Factor::Raise(i), Factor::Lower(j)])],
            Carrier::Electrons | Carrier::Flavours => kind
                .modes()
                .iter()
                .map(|mode| Operator::product(&[Factor::Create(*mode, i), Factor::Annihilate(*mode, j)]))
                .collect(),
        };
        there.into_iter().map(|hop| hop.adjoint() + hop).sum()
    }
}

/// The position of each lattice site behind so many auxiliary ones.
fn positions_behind(auxiliary: usize, order: &[usize]) -> Vec<usize> {
    ordering::positions(order).into_iter().map(|position| position + auxiliary).collect()
}
