//! H of a sector of the exchange on pairs of strings: its plan for devices, with the tables.

use super::super::SymmetricSector;
use super::{HostPairs, Pairs};
use crate::exact::structure::{ListedTerms, diagonal};
use crate::operator::DiagonalTerm;
use eigenforge_runtime::Scalar;
use eigenforge_templates::ScalarType;
use eigenforge_templates::exact::{PairsPlan, PairsShape};
use std::sync::Arc;

/// The multiply of electrons in a sector of the exchange of their spins, on pairs of strings.
#[derive(Clone)]
pub struct PairRows {
    plan: Arc<PairsPlan>,
    host: HostPairs,
}

impl PairRows {
    /// H with a multiple of 1 added; `None` where the sector is not for pairs.
    pub(in crate::exact) fn new(
        name: &str,
        sector: &SymmetricSector,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
        sources: Vec<String>,
    ) -> Option<PairRows> {
        let pairs = sector.pairs()?.clone();
        let on_diagonal: Vec<DiagonalTerm> = terms.diagonal.iter().map(|term| term.clone().narrow()).collect();
        let mut diagonal = diagonal(&on_diagonal, &sector.word);
        diagonal.constant += shift;
        let (sites, sign) = (pairs.sites, pairs.sign as i32);
        let species = pairs.hops.plan();
        let plan = PairsPlan::new(name.into(), scalar, sites, species, sign, diagonal.clone(), sources);
        let host = HostPairs::new(pairs, diagonal);
        Some(PairRows { plan: Arc::new(plan), host })
    }

    /// The plan.
    pub fn plan(&self) -> &PairsPlan {
        &self.plan
    }

    /// The same with another shape.
    #[must_use]
    pub fn with_shape(&self, shape: PairsShape) -> PairRows {
        PairRows { plan: Arc::new(PairsPlan::clone(&self.plan).with_shape(shape)), host: self.host.clone() }
    }

    /// The plan, to change it.
    pub(in crate::exact) fn plan_mut(&mut self) -> &mut PairsPlan {
        Arc::make_mut(&mut self.plan)
    }

    /// The multiply on the host.
    pub(in crate::exact) fn host(&self) -> &HostPairs {
        &self.host
    }

    pub(super) fn pairs(&self) -> &Pairs {
        self.host.pairs()
    }

    /// A vector in the order of the basis of [`Model::working`](crate::exact::Model::working).
    pub fn in_basis_order<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        self.pairs().in_basis_order(vector)
    }

    /// A bound of the norm of the moving part.
    pub(in crate::exact) fn moves_bound(&self) -> f64 {
        2.0 * self.pairs().hops.norm_bound()
    }
}
