//! H of a sector of the exchange on pairs of strings: its plan for devices, with the tables.

use super::super::SymmetricSector;
use super::Pairs;
use super::host::HostPairs;
use super::tables::pair_tables;
use crate::model::Model;
use crate::norm;
use crate::structure::{ListedTerms, diagonal};
use crate::way::{Request, Way, cards_for};
use eigenforge_core::operator::{DiagonalTerm, OperatorError};
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, MultiplyPlan, NormBounds, PrepareError, Traffic,
    answers_of_plan, launches_of_plan,
};
use eigenforge_runtime::{Device, NamedTables, Scalar};
use eigenforge_templates::exact::{PairsPlan, PairsShape};
use eigenforge_templates::{ScalarType, Warp};
use std::sync::Arc;

/// The name of this way in plans and reports.
const NAME: &str = "pairs of strings";

/// The multiply of electrons in a sector of the exchange of their spins, on pairs of strings.
#[derive(Clone)]
pub struct PairRows {
    plan: Arc<PairsPlan>,
    host: HostPairs,
}

impl PairRows {
    /// H with a multiple of 1 added; `None` where the sector is not for pairs.
    pub(crate) fn new(
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

    pub(super) fn pairs(&self) -> &Pairs {
        self.host.pairs()
    }

    /// A vector in the order of the basis of [`Model::working`](crate::Model::working).
    pub fn in_basis_order<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        self.pairs().in_basis_order(vector)
    }
}

/// Electrons in a sector of the exchange of their spins.
pub(crate) struct PairsWay;

impl PairsWay {
    /// The rows of a sector on pairs; `None` where words are in another order, or a matrix is stored.
    fn rows(model: &Model, request: &Request<'_>) -> Option<PairRows> {
        let terms = model.listed_terms()?;
        let sector = terms.symmetric.as_deref().filter(|sector| sector.makes_rows())?;
        PairRows::new(model.name(), sector, terms, request.scalar, request.constant, model.sources())
    }

    /// The same for the cards of a device that share its vectors.
    fn shared_rows(model: &Model, scalar: ScalarType, device: Option<&Device>) -> Option<PairRows> {
        let mut rows = PairsWay::rows(model, &Request::counting(scalar))?;
        let cards = cards_for(device, rows.plan().dimension(), scalar);
        Arc::make_mut(&mut rows.plan).share_among(cards);
        Some(rows)
    }
}

impl Way for PairsWay {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, model: &Model) -> Fit {
        let rows = || PairsWay::rows(model, &Request::counting(ScalarType::F64));
        match model.symmetric().filter(|sector| super::is_exchange(sector.group())) {
            None => Fit::Foreign,
            Some(sector) => sector.fit_of_rows(false, || {
                Fit::takes_if(
                    rows(),
                    "a term does not act on the electrons of each spin by themselves, or tables are too large",
                )
            }),
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        Ok(Arc::new(PairsWay::rows(model, request).unwrap_or_else(|| unreachable!("it is for this model"))))
    }

    /// Each card has all tables.
    fn table_bytes(&self, model: &Model, scalar: ScalarType, device: Option<&Device>) -> u64 {
        let Some(rows) = PairsWay::shared_rows(model, scalar, device) else { return 0 };
        let cards = cards_for(device, rows.plan().dimension(), scalar);
        rows.plan().device_bytes().saturating_mul(cards.into())
    }

    fn exchanged(&self, model: &Model, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        let rows = PairsWay::shared_rows(model, scalar, Some(device)).filter(|_| device.runs_kernels())?;
        Some(("panels of rows", rows.plan().panel_bytes()))
    }

    fn words(&self, model: &Model) -> Option<String> {
        let rows = PairsWay::rows(model, &Request::counting(ScalarType::F64))?;
        let plan = rows.plan();
        let [tables, panels] = [plan.device_bytes(), plan.panel_bytes()].map(eigenforge_core::words::size);
        Some(format!("without a matrix, {}; {tables} of tables, {panels} of panels", plan.shape()))
    }
}

impl From<PairRows> for MultiplyPlan {
    fn from(way: PairRows) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl Multiply for PairRows {
    answers_of_plan!(PairsPlan);

    fn way_name(&self) -> &'static str {
        NAME
    }

    fn dimension(&self) -> usize {
        self.plan.dimension() as usize
    }

    fn shape(&self) -> String {
        self.plan.shape()
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        Ok(Box::new(self.host.clone()))
    }

    fn norm_bounds(&self) -> NormBounds {
        norm::bounds(self, &self.plan.diagonal, [u32::MAX; 2], 2.0 * self.pairs().hops.norm_bound())
    }

    fn candidates(&self) -> Vec<Arc<dyn Multiply>> {
        let shaped = |shape| Arc::new(self.with_shape(shape)) as Arc<dyn Multiply>;
        self.plan.candidates().into_iter().map(shaped).collect()
    }

    fn with_warp(&self, warp: Warp) -> Option<Arc<dyn Multiply>> {
        let mut own = self.clone();
        Arc::make_mut(&mut own.plan).set_warp(warp);
        Some(Arc::new(own))
    }

    fn shared_among(&self, cards: u32) -> Option<Arc<dyn Multiply>> {
        let mut own = self.clone();
        Arc::make_mut(&mut own.plan).share_among(cards);
        Some(Arc::new(own))
    }
}

impl GeneratedKernels for PairRows {
    launches_of_plan!();

    fn partials(&self) -> u64 {
        self.plan.partials()
    }

    fn tables(&self, _: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        Ok(NamedTables::uploaded(device, pair_tables(self))?)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Panels(self.plan.panel_memory(), self.plan.scalar, self.plan.panels() as u32)
    }
}
