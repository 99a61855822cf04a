//! A model laid out along a chain: what every step of DMRG needs to know and none changes.
//!
//! In: an operator, a sector, an order of the sites. Out: the site, the operator sum, the charges each cut can have.

use super::MOST_SITES;
use super::blocks::{Enlarged, Sectors, Side};
use super::charges::{self, Charges, QuantumNumbers, Reachable};
use super::engine::Engine;
use super::enlarged::{EnlargedOperators, Enlarging};
use super::environment::Environment;
use super::error::DmrgError;
use super::operator_sum::OperatorSum;
use super::ordering;
use super::site::Site;
use super::terms::Terms;
use crate::operator::{Operator, OperatorError};

/// Charges of all cuts together that are listed at most: 2 to 3 GB.
const MOST_LABELS: u128 = 1 << 24;

/// The problem along the chain.
pub struct Chain {
    /// Number of sites.
    pub sites: usize,
    /// What each of them is.
    pub site: Site,
    /// H.
    pub sum: OperatorSum,
    /// The charges that are fixed.
    pub numbers: QuantumNumbers,
    /// Their values for the whole chain.
    pub total: Charges,
    /// Charges of its parts.
    pub reachable: Reachable,
    /// `order[p]` is the lattice site at position p.
    pub order: Vec<usize>,
    /// What the definition may mean otherwise than it was written ([`Operator::warnings`]).
    pub warnings: Vec<String>,
}

impl Chain {
    /// Checks the operator with the charges that are fixed (a [`Sector`](crate::basis::Sector) or any
    /// [`QuantumNumbers`]) and lays it out.
    ///
    /// # Errors
    /// An operator that is not Hermitian or does not conserve the charges, a sector that the sites cannot hold, an order
    /// that is not one, fewer than three sites.
    pub fn new(
        operator: &Operator,
        numbers: impl Into<QuantumNumbers>,
        order: Option<Vec<usize>>,
    ) -> Result<Chain, DmrgError> {
        let (operator, numbers) = (operator.reduced(), numbers.into());
        if numbers.0.len() > charges::COUNT {
            let (option, expected) = ("charges", "at most as many as there are flavours at most, 6");
            return Err(DmrgError::Option { option, expected, found: numbers.0.len().to_string() });
        }
        charges::check(&operator, &numbers)?;
        let sites = operator.sites();
        if sites > MOST_SITES {
            return Err(DmrgError::TooLong { sites, most: MOST_SITES });
        }
        if sites < 3 {
            return Err(DmrgError::TooShort { sites });
        }
        let site = Site::of(&operator, &numbers.charges());
        let total = numbers.total();
        let labels = Reachable::labels(&site, sites, total);
        if labels > MOST_LABELS {
            return Err(DmrgError::TooManyLabels { sites, labels, most: MOST_LABELS });
        }
        let order = ordering::checked(order, sites)?;
        let terms = Terms::of(&operator, &site, &ordering::positions(&order))?;
        let sum = OperatorSum::new(terms, sites);
        let reachable = Reachable::new(&site, sites, total);
        if reachable.at(0).is_empty() {
            let reason = "no configuration of the sites has these charges together".into();
            return Err(OperatorError::EmptySector { sector: numbers.to_string(), sites, reason }.into());
        }
        Ok(Chain { sites, site, sum, numbers, total, reachable, order, warnings: operator.warnings() })
    }

    /// The block that ends at cut `p` and the site next to it.
    pub fn enlarge(&self, side: Side, block: &Sectors, p: usize) -> Enlarged {
        Enlarged::at_cut(block, self.site.charges(), side, p, self.total, &self.reachable)
    }

    /// The operators of `sum` (this chain's, or its square) on an enlarged block.
    ///
    /// # Errors
    /// Those of the engine.
    #[expect(clippy::too_many_arguments, reason = "a sum, a place and what stands there")]
    pub fn operators<E: Engine>(
        &self,
        engine: &E,
        sum: &OperatorSum,
        side: Side,
        p: usize,
        block: &Environment<E::Buffer>,
        enlarged: &Enlarged,
        widths: &[usize],
    ) -> Result<EnlargedOperators<E::Buffer>, DmrgError> {
        let (site, cut) = match side {
            Side::Left => (p, p + 1),
            Side::Right => (p - 1, p - 1),
        };
        let enlarging = Enlarging {
            side,
            block,
            table: &sum.sites[site],
            operators: &sum.operators,
            enlarged,
            cut: &sum.cuts[cut],
        };
        enlarging.operators(engine, widths)
    }

    /// The operator of `sum` behind the site next to cut `p` that is the identity of the enlarged block.
    pub fn identity(sum: &OperatorSum, side: Side, p: usize) -> Option<usize> {
        match side {
            Side::Left => sum.cuts[p + 1].left_identity,
            Side::Right => sum.cuts[p - 1].right_identity,
        }
    }
}
