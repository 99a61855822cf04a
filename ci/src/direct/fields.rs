//! The way of a card that holds the fields of all β strings of a class.

use super::super::estimate::{Estimate, StorageTarget};
use super::super::way::{Counted, NAME, NamedPlan, Once, Request, Source, Way};
use super::device_tables::{DeviceTables, starts_of_rows};
use super::{CiError, DirectError, Moves, THRESHOLD, cores, estimate, in_shape, shape_fit, shapes, wanted_shape};
use eigenforge_product::ranks::part_range;
use eigenforge_product::sparse::Target;
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, NormBounds, PrepareError, Traffic, answers_of_plan,
    launches_of_plan,
};
use eigenforge_runtime::{Device, NamedTables};
use eigenforge_templates::ci::{FieldShape, FullCiPlan, FullCiShape};
use eigenforge_templates::{Launch, ScalarType};
use std::ops::Range;
use std::sync::Arc;

/// The name of this way in plans and reports.
const WAY: &str = "strings, by fields";

/// Complete spaces on cards, where the model's shape or a tuned one holds whole fields.
pub(in super::super) struct FieldsWay;

impl Way for FieldsWay {
    fn name(&self) -> &'static str {
        WAY
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        shape_fit(request, |shape| matches!(shape, FullCiShape::Fields(_)))
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        estimate::by_strings(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(in_shape(request, wanted_shape(request))?)
    }

    fn shapes<'r>(&self, request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        shapes(request)
    }

    fn exchanged(&self, request: &Request<'_>, device: &Device) -> Option<(&'static str, u64)> {
        request.copies(device)
    }
}

/// The multiply by one kernel, of whose blocks each makes the row of an α string.
struct FieldsMultiply {
    plan: FullCiPlan,
    source: Source,
    shape: FieldShape,
    target: Target,
    norm: f64,
    row_start: Vec<u64>,
    tables: Once<DeviceTables>,
}

pub(super) fn plan(request: &Request<'_>, shape: FieldShape) -> Result<Arc<dyn Multiply>, DirectError> {
    let (source, target) = (Source::new(request), request.target());
    let moves = Moves::new(&source.integrals, &source.space, THRESHOLD)?;
    let sources = moves.sources();
    let (tables, norm) = (sources.tables(NAME, target, shape)?, sources.norm_bound());
    let (plan, row_start) = (tables.plan.clone(), starts_of_rows(&tables.product));
    Ok(Arc::new(FieldsMultiply { plan, source, shape, target, norm, row_start, tables: Once::new(tables) }))
}

impl Multiply for FieldsMultiply {
    answers_of_plan!(FullCiPlan);

    fn way_name(&self) -> &'static str {
        WAY
    }

    fn dimension(&self) -> usize {
        self.plan.rows as usize
    }

    fn shape(&self) -> String {
        FullCiShape::Fields(self.shape).to_string()
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        cores::host(&self.source)
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
}

impl GeneratedKernels for FieldsMultiply {
    launches_of_plan!();

    fn partials(&self) -> u64 {
        u64::from(self.plan.alpha_strings)
    }

    fn tables(&self, _: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        device.check_memory("tables of the direct product", self.plan.table_bytes())?;
        let again = || {
            let moves = Moves::new(&self.source.integrals, &self.source.space, THRESHOLD)?;
            moves.sources().tables(NAME, self.target, self.shape)
        };
        let DeviceTables { product, diagonal, .. } = self.tables.take(again)?;
        let mut tables = NamedTables::uploaded(device, product)?;
        tables.extend(NamedTables::uploaded(device, diagonal)?);
        Ok(tables)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Copies(self.plan.rows as usize, ScalarType::F64, "multiply")
    }

    fn rows_of_card(&self, _: &Launch, card: usize, cards: usize) -> Option<Vec<Range<usize>>> {
        let strings = part_range(self.row_start.len(), card, cards);
        let bound = |string: usize| self.row_start.get(string).copied().unwrap_or(self.plan.rows) as usize;
        Some(std::iter::once(bound(strings.start)..bound(strings.end)).collect())
    }
}
