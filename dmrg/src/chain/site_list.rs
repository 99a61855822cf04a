//! The sites along a chain: each of a kind, of which there are few.
//!
//! In: an operator, the charges that a run fixes, an order. Out: the [`Site`] at every position. What a site carries is what the
//! operator declares; an operator without declared sites has one kind of site, that of its factors.

use super::site::Site;
use eigenforge_core::operator::{Charge, Content, Operator, SiteKind};
use std::collections::HashMap;

/// The local Hilbert space at each position of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteList {
    distinct: Vec<Site>,
    /// The number in `distinct` of each position.
    number: Vec<usize>,
}

impl SiteList {
    /// Sites of these kinds, by position, with these fixed charges.
    pub(crate) fn new(kinds: &[SiteKind], charges: &[Charge]) -> SiteList {
        SiteList::with_irreps(kinds, charges, &[])
    }

    /// The same with the irrep of each site; without irreps they are all 0.
    pub(crate) fn with_irreps(kinds: &[SiteKind], charges: &[Charge], irreps: &[u8]) -> SiteList {
        let mut list = SiteList { distinct: Vec::new(), number: Vec::with_capacity(kinds.len()) };
        let mut numbers = HashMap::new();
        for (position, kind) in kinds.iter().enumerate() {
            let irrep = irreps.get(position).copied().unwrap_or(0);
            let number = *numbers.entry((*kind, irrep)).or_insert_with(|| {
                list.distinct.push(Site::new(*kind, charges, irrep));
                list.distinct.len() - 1
            });
            list.number.push(number);
        }
        list
    }

    /// These sites behind the auxiliary site of a complex chain.
    pub(crate) fn behind_phases(mut self) -> SiteList {
        self.number.insert(0, self.distinct.len());
        self.distinct.push(Site::of_phases());
        self
    }

    /// The site at a position.
    pub fn site(&self, position: usize) -> &Site {
        &self.distinct[self.number[position]]
    }

    /// Number of positions.
    pub(crate) fn len(&self) -> usize {
        self.number.len()
    }

    /// The sites, by position.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Site> {
        self.number.iter().map(|number| &self.distinct[*number])
    }

    /// Each kind of site with how often it occurs.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&Site, usize)> {
        let count = |kind: usize| self.number.iter().filter(|number| **number == kind).count();
        self.distinct.iter().enumerate().map(move |(kind, site)| (site, count(kind)))
    }

    /// Number of product states, exact below 2⁵³.
    pub(crate) fn configurations(&self) -> f64 {
        self.counted().map(|(site, count)| (site.dimension() as f64).powi(count as i32)).product()
    }

    /// A number that two positions share if their sites are of one kind.
    pub(crate) fn kind_number(&self, position: usize) -> usize {
        self.number[position]
    }

    /// The sites at some of the positions.
    pub(crate) fn selected(&self, positions: impl IntoIterator<Item = usize>) -> SiteList {
        let number = positions.into_iter().map(|position| self.number[position]).collect();
        SiteList { distinct: self.distinct.clone(), number }
    }
}

/// What each lattice site of an operator carries, in a run that fixes these charges.
pub(crate) fn kinds_of(operator: &Operator, charges: &[Charge]) -> Vec<SiteKind> {
    if let Some(kinds) = operator.kinds() {
        return kinds.to_vec();
    }
    let most = |charge: &Charge| if let Charge::Flavour(number) = charge { usize::from(*number) + 1 } else { 0 };
    let flavours = charges.iter().map(most).max().unwrap_or(0).max(operator.flavours());
    let counts_electrons = charges.iter().any(|charge| *charge != Charge::TwoSz);
    let kind = match operator.content() {
        Content::Flavours => SiteKind::Flavours(flavours),
        Content::Nothing if flavours > 0 => SiteKind::Flavours(flavours),
        Content::Fermions => SiteKind::Electrons,
        // An operator without factors has the sites that its charges speak of.
        Content::Nothing if counts_electrons => SiteKind::Electrons,
        _ => SiteKind::Moments { two_s: operator.two_s() },
    };
    vec![kind; operator.sites()]
}
