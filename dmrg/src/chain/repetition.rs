//! Where a chain repeats, so that it can be shortened: needed by the infinite-lattice algorithm.
//!
//! In: the operator sum of the whole chain. Out: the [`Repetition`] of its tables, and the sum of a shorter chain: the
//! left end and the right end, with whole periods removed between them. A cut has the same operators everywhere in the
//! repeated part, once every term that crosses it starts there, so the ends fit together.

use super::bundles::KnownBundles;
use super::charges::Charges;
use super::operator_sum::OperatorSum;
use super::reachable::Reachable;
use super::site_list::SiteList;
use crate::chain::Chain;
use crate::error::DmrgError;
use eigenforge_core::operator::Operator;

/// The range of sites over which tables repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Repetition {
    /// Sites of the smallest left and right block.
    pub blocks: (usize, usize),
}

/// Periods for which growth by one site at each end works.
const PERIODS: [usize; 2] = [1, 2];

impl Repetition {
    /// Finds the repetition of a sum whose longest term spans `range` sites beyond its first.
    ///
    /// # Errors
    /// The chain repeats nowhere, or has no bulk.
    pub(crate) fn find(sum: &OperatorSum, local: &SiteList, range: usize) -> Result<Repetition, DmrgError> {
        let sites = sum.sites.len();
        let found = PERIODS.into_iter().find_map(|period| repeated(sum, local, period));
        let (begins, ends) = found.ok_or(DmrgError::NotRepeated { sites })?;
        // Terms that cross the cut behind the left block and its site must start in the repeated part.
        let left = (begins + range).max(2) - 1;
        let right = (sites - ends).max(1);
        let odd = sites % 2;
        let left = left.max(right.saturating_sub(odd));
        let needed = 2 * left + odd + 2;
        if needed > sites {
            return Err(DmrgError::TooShortToGrow { sites, needed });
        }
        Ok(Repetition { blocks: (left, left + odd) })
    }
}

/// The longest run of tables around the middle that repeats with a period: its first table, and one past its last.
fn repeated(sum: &OperatorSum, local: &SiteList, period: usize) -> Option<(usize, usize)> {
    let n = sum.sites.len();
    let same = |j: usize| {
        j + period < n
            && local.kind_number(j) == local.kind_number(j + period)
            && sum.sites[j] == sum.sites[j + period]
            && sum.cuts[j + 1] == sum.cuts[j + 1 + period]
    };
    let middle = (n / 2).checked_sub(period).filter(|j| same(*j))?;
    let first = (0..middle).rev().take_while(|j| same(*j)).last().unwrap_or(middle);
    let last = (middle..n).take_while(|j| same(*j)).last().unwrap_or(middle);
    Some((first, last + period + 1))
}

impl Chain {
    /// The chain of the first `left` and the last `right` sites, in the sector closest to its share of the whole one;
    /// every charge is allowed at every cut, so that blocks fit chains of any length.
    pub(crate) fn shortened(&self, left: usize, right: usize) -> Chain {
        let from = self.sites - right;
        let ends = |list: &[usize]| [&list[..left], &list[from..]].concat();
        let sum = OperatorSum {
            sites: [&self.sum.sites[..left], &self.sum.sites[from..]].concat(),
            cuts: [&self.sum.cuts[..=left], &self.sum.cuts[from + 1..]].concat(),
            operators: self.sum.operators.clone(),
            range: self.sum.range,
        };
        let total = self.proportional_charges(left + right);
        Chain {
            sites: left + right,
            local: self.local.selected((0..left).chain(from..self.sites)),
            sum,
            operator: Operator::zero(),
            terms: Vec::new(),
            units: self.units.of_part((left + right) as f64 / self.sites as f64, total),
            numbers: self.numbers.clone(),
            // A chain with irreps does not grow.
            irreps: None,
            total,
            reachable: Reachable::everything(),
            // Complex chains do not grow: their terms reach from the auxiliary site to any other.
            order: ends(&self.order),
            gauge: self.gauge.clone(),
            superblock: self.superblock,
            known: KnownBundles::of_sites(left + right),
            warnings: self.warnings.clone(),
        }
    }

    /// The charges of `sites` sites that are closest to their share of the whole chain's.
    fn proportional_charges(&self, sites: usize) -> Charges {
        let distance = |charges: &Charges| -> i64 {
            let pairs = charges.0.iter().zip(&self.total.0);
            let off = |(own, all): (&i32, &i32)| i64::from(*own) * self.sites as i64 - i64::from(*all) * sites as i64;
            pairs.map(off).map(|d| d * d).sum()
        };
        // The map is ordered, so ties are always resolved the same way.
        self.reachable.cut(sites).keys().copied().min_by_key(distance).unwrap_or(self.total)
    }
}
