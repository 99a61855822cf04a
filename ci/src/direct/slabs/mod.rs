//! The way of a card slab by slab of β strings, for spaces of long strings.
//!
//! | file | question it answers |
//! |---|---|
//! | `cores` | which strings do two electrons make of those of two fewer? |
//! | `tables` | what do the generated kernels read? |
//! | `kernels` | σ on a device, and by one of several ranks |
//! | `rank` | what does one of several ranks do besides? |

mod cores;
mod kernels;
mod rank;
mod tables;

use super::super::estimate::{Estimate, StorageTarget};
use super::super::way::{Counted, NAME, NamedPlan, Once, Request, Source, Way};
use super::cores as host;
use super::{CiError, DirectError, Moves, counts, estimate, in_shape, shape_fit, shapes, wanted_shape};
use eigenforge_product::sparse::Target;
use eigenforge_product::{
    Fit, GeneratedKernels, HostProduct, Multiply, NormBounds, PrepareError, ProductEngine, RankRows, Received,
    ShownText,
};
use eigenforge_runtime::Device;
use eigenforge_runtime::ranks::Ranks;
use eigenforge_templates::ci::{FullCiShape, SlabPlan, SlabShape};
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use kernels::SlabKernels;
use std::any::Any;
use std::sync::Arc;
use tables::SlabTables;

/// The name of this way in plans and reports.
const WAY: &str = "strings, by slabs of fields";

/// Complete spaces on cards where whole fields do not fit, or a shape without them was tuned.
pub(in super::super) struct SlabsWay;

impl Way for SlabsWay {
    fn name(&self) -> &'static str {
        WAY
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        shape_fit(request, |shape| matches!(shape, FullCiShape::Slabs(_)))
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        estimate::by_slabs(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(in_shape(request, wanted_shape(request))?)
    }

    fn shapes<'r>(&self, request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        shapes(request)
    }

    /// Beyond what one card has.
    fn exchanged(&self, request: &Request<'_>, _: &Device) -> Option<(&'static str, u64)> {
        let strings = counts(request.integrals, request.space, request.target()).ok()?;
        let shape = SlabShape::choose(&strings);
        let cards = u64::from(request.cards);
        let piece = if cards > 1 { 8 * u64::from(strings.alpha) * u64::from(shape.piece) } else { 0 };
        let bytes = (cards - 1) * shape.panel_bytes(&strings) + cards * piece;
        (bytes > 0).then_some(("a piece of x and panels of rows on each card", bytes))
    }

    fn is_by_pieces(&self) -> bool {
        true
    }
}

/// The multiply by kernels that go through x piece by piece.
struct SlabsMultiply {
    plan: SlabPlan,
    source: Source,
    shape: SlabShape,
    target: Target,
    norm: f64,
    tables: Once<SlabTables>,
}

pub(super) fn plan(request: &Request<'_>, shape: SlabShape) -> Result<Arc<dyn Multiply>, DirectError> {
    let (source, target) = (Source::new(request), request.target());
    let cards = request.ranks.map_or((request.cards, false), |ranks| (ranks.count() as u32, true));
    let tables = tables(&source, target, shape, cards)?;
    let (plan, norm) = (tables.plan.clone(), tables.norm_bound);
    Ok(Arc::new(SlabsMultiply { plan, source, shape, target, norm, tables: Once::new(tables) }))
}

/// The tables for so many cards that work as one device, or apart. No double moves are listed.
fn tables(source: &Source, target: Target, shape: SlabShape, cards: (u32, bool)) -> Result<SlabTables, DirectError> {
    Moves::new(&source.integrals, &source.space, f64::INFINITY)?.sources().slab_tables(NAME, target, shape, cards)
}

impl SlabsMultiply {
    fn on_device(&self, device: &Device) -> Result<SlabKernels, PrepareError> {
        let cards = (self.plan.cards, self.plan.apart);
        SlabKernels::new(self.tables.take(|| tables(&self.source, self.target, self.shape, cards))?, device)
    }
}

impl Multiply for SlabsMultiply {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn way_name(&self) -> &'static str {
        WAY
    }

    fn scalar(&self) -> ScalarType {
        self.plan.scalar
    }

    fn dimension(&self) -> usize {
        self.plan.rows as usize
    }

    fn shape(&self) -> String {
        FullCiShape::Slabs(self.shape).to_string()
    }

    fn plan_text(&self) -> String {
        eigenforge_templates::ron(&self.plan)
    }

    fn cost(&self) -> Cost {
        self.plan.cost()
    }

    fn kernels(&self) -> Option<&dyn GeneratedKernels> {
        None
    }

    fn diagonal_text(&self) -> ElementFunctionText {
        self.plan.diagonal_element()
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        host::host(&self.source)
    }

    fn norm_bounds(&self) -> NormBounds {
        NormBounds { whole: self.norm, moving: self.norm }
    }

    fn table_bytes(&self) -> Option<(&'static str, u64)> {
        Some(("tables of strings and integrals", self.plan.table_bytes()))
    }

    fn cost_text(&self) -> String {
        format!("tables as they are: {:.2} MB, {}\n", self.plan.table_bytes() as f64 / 1e6, self.plan)
    }

    fn received(&self, cards: u32) -> Option<Received> {
        Some(Received::copies(cards, 8 * self.plan.rows))
    }

    fn shown_texts(&self) -> Result<Vec<ShownText>, PrepareError> {
        let (text, launches, cost) = (self.plan.text()?, self.plan.launches()?.all(), Some(self.cost()));
        Ok(vec![ShownText { text, launches, cost, when: "" }])
    }

    fn own_engine(&self, device: &Device) -> Result<Option<Box<dyn ProductEngine>>, PrepareError> {
        Ok(if device.runs_kernels() { Some(Box::new(self.on_device(device)?)) } else { None })
    }

    fn own_rank(&self, _: &Arc<Ranks>, device: &Device) -> Result<Option<Box<dyn RankRows>>, PrepareError> {
        Ok(if device.runs_kernels() { Some(Box::new(self.on_device(device)?)) } else { None })
    }
}
