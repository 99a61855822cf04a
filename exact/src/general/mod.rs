//! The multiply by any terms on states that have ranks: row by row, or by columns of states whose elements stand in lists.
//!
//! | file | question it answers |
//! |---|---|
//! | `lists` | the elements of H by columns of states |
//! | `tables` | what do the kernels read? |
//! | `several` | which multiplies of several vectors are there? |
//! | `shares` | which rows does one of several cards make, and which elements does it read of others? |

pub(super) mod lists;
mod several;
mod shares;
mod tables;

use lists::ListTables;
pub(super) use tables::{direct_tables, state_tables};

use super::cpu::{self, Blocks, ByRows};
use super::model::Model;
use super::norm;
use super::structure::{Moves, sizes_of};
use super::way::{Request, Way, fit_of_words, seconds_of_passes};
use eigenforge_core::basis::{LinTables, Sector};
use eigenforge_core::operator::OperatorError;
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, MultiplyPlan, NormBounds, PrepareError, Received,
    SeveralPlans, Traffic, answers_of_plan, launches_of_plan,
};
use eigenforge_runtime::{Device, NamedTables};
use eigenforge_templates::exact::{CollectedCoefficients, FlipGroup, GeneralPlan, GeneralShape, MOST_VECTORS};
use eigenforge_templates::{Launch, ScalarType, TextError, Warp};
use std::ops::Range;
use std::sync::Arc;

/// The name of this way in plans and reports.
const NAME: &str = "term by term";

/// The multiply of any terms on states that have ranks.
#[derive(Clone)]
pub struct GeneralMultiply {
    /// The plan.
    pub plan: GeneralPlan,
    /// The ranks of the states.
    pub tables: Arc<LinTables>,
    /// The elements by columns, where there are such.
    lists: Option<Arc<ListTables>>,
    /// The bit of a state that tells imaginary from real parts.
    turn: Option<u32>,
    /// Electrons of each spin, where the sector has their numbers.
    particles: [u32; 2],
}

/// Parts of the memory floor that a multiply takes on an H200, where it has long vectors: of a row, and of each of its elements. Within a tenth of
/// six lattices of `eigenforge bench spins` (docs/performance.md).
const PASSES_OF_ELEMENTS: [f64; 2] = [0.9, 0.09];

/// Models with terms of any kind on states that have ranks.
pub(super) struct GeneralWay;

impl Way for GeneralWay {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, model: &Model) -> Fit {
        let bits = model.basis().word().bits();
        match &model.structure().moves {
            Moves::General(_) => fit_of_words(model),
            Moves::Listed(terms) if terms.symmetric.is_none() && bits > u64::BITS => {
                Fit::Refuses(format!("states of {bits} bits, of 64 that words of kernels have"))
            }
            _ => Fit::Foreign,
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        let multiply = GeneralMultiply::new(model, request)?;
        Ok(Arc::new(multiply.unwrap_or_else(|| unreachable!("it is for this model"))))
    }

    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        let elements = model.about_elements() as f64 / model.dimension().max(1) as f64;
        let passes = PASSES_OF_ELEMENTS[0] + PASSES_OF_ELEMENTS[1] * elements;
        (self.table_bytes(model, ScalarType::F64, None), Some(seconds_of_passes(model, passes)))
    }

    /// Lin's tables and about what the lists of elements take; on the cores the tables of blocks too.
    fn table_bytes(&self, model: &Model, _: ScalarType, device: Option<&Device>) -> u64 {
        let Moves::General(groups) = &model.structure().moves else { return 0 };
        let on_cores = device.is_some_and(|device| !device.runs_kernels());
        let blocks = if on_cores { cpu::block_table_bytes(model) } else { 0 };
        model.basis().lin_table_bytes().saturating_add(list_bytes(model, groups)).saturating_add(blocks)
    }
}

/// About what the lists of elements by columns take: half of the terms act on a word.
fn list_bytes(model: &Model, groups: &[FlipGroup]) -> u64 {
    if !model.basis().has_direct_tables() {
        return 0;
    }
    let (low_bits, lows, columns) = model.basis().half_counts();
    let is_low = |bits: u64| bits.checked_shr(low_bits).unwrap_or(0) == 0;
    let terms = groups.iter().flat_map(|group| group.terms.iter().map(|term| group.flip | term.care | term.sign));
    let (low, others): (Vec<u64>, Vec<u64>) = terms.partition(|bits| is_low(*bits));
    let across = others.iter().filter(|bits| *bits & ((1 << low_bits.min(63)) - 1) != 0).count();
    let (lows, columns) = (lows as u64, columns as u64);
    lows * (2 * low.len() + 2 * across + 8) as u64 + columns * (4 * others.len() + 2 * across + 24) as u64
}

impl GeneralMultiply {
    pub(super) fn new(model: &Model, request: &Request<'_>) -> Result<Option<GeneralMultiply>, OperatorError> {
        let structure = model.structure();
        let Moves::General(groups) = &structure.moves else { return Ok(None) };
        let tables = Arc::new(model.basis().lin_tables()?);
        let turn = model.is_complex().then(|| model.basis().word().bits() - 1);
        let lists = ListTables::new(groups, &tables, turn, Warp::default()).map(Arc::new);
        let mut plan = GeneralPlan::new(
            model.name().to_string(),
            request.scalar,
            sizes_of(lists.as_ref().map_or(&tables, |lists| &lists.tables)),
            model.dimension(),
            structure.diagonal.clone(),
            groups.clone(),
            model.sources(),
        )
        .with_lists(lists.as_ref().map(|lists| lists.sizes.clone()));
        // A text that cannot be made is refused where it is needed.
        if let Some(shared) = request.arguments.and_then(|arguments| plan.sharing(arguments).ok()) {
            plan = shared;
        }
        request.complete(&mut plan.diagonal);
        let particles = match model.sector() {
            Sector::Fermions { up, down } => [*up as u32, *down as u32],
            Sector::Spins { .. } | Sector::Charges(_) | Sector::Flavours(_) => [u32::MAX; 2],
        };
        Ok(Some(GeneralMultiply { plan, tables, lists, turn, particles }))
    }

    /// The same in another shape.
    pub fn with_shape(&self, shape: GeneralShape) -> GeneralMultiply {
        GeneralMultiply { plan: self.plan.with_shape(shape), ..self.clone() }
    }
}

impl From<GeneralMultiply> for MultiplyPlan {
    fn from(way: GeneralMultiply) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl Multiply for GeneralMultiply {
    answers_of_plan!(GeneralPlan);

    fn way_name(&self) -> &'static str {
        NAME
    }

    fn dimension(&self) -> usize {
        self.plan.dimension as usize
    }

    fn shape(&self) -> String {
        self.plan.shape.to_string()
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        Ok(match Blocks::of_tables(&self.tables, &self.plan.diagonal, &self.plan.groups) {
            Some(blocks) => Box::new(blocks),
            None => Box::new(ByRows::new(self.tables.clone(), self.plan.diagonal.clone(), self.plan.groups.clone())),
        })
    }

    fn norm_bounds(&self) -> NormBounds {
        let moving = norm::largest_row_sum(&self.plan.groups, &self.tables);
        norm::bounds(self, &self.plan.diagonal, self.particles, moving)
    }

    fn candidates(&self) -> Vec<Arc<dyn Multiply>> {
        let shaped = |shape| Arc::new(self.with_shape(shape)) as Arc<dyn Multiply>;
        self.plan.candidates().into_iter().map(shaped).collect()
    }

    fn with_warp(&self, warp: Warp) -> Option<Arc<dyn Multiply>> {
        (self.plan.warp != warp).then(|| {
            let mut own = self.clone();
            own.plan.warp = warp;
            own.lists = ListTables::new(&own.plan.groups, &own.tables, own.turn, warp).map(Arc::new);
            own.plan.lists = own.lists.as_ref().map(|lists| lists.sizes.clone());
            Arc::new(own) as Arc<dyn Multiply>
        })
    }

    fn received(&self, cards: u32) -> Option<Received> {
        Some(self.elements_received(cards))
    }

    fn coefficients(&self) -> Result<CollectedCoefficients, TextError> {
        self.plan.collect_coefficients()
    }

    fn several(&self) -> SeveralPlans {
        if self.plan.vectors > 1 {
            return SeveralPlans::default();
        }
        several::plans(self, MOST_VECTORS).quicker(self.dimension())
    }

    fn forced_several(&self, most: u32) -> SeveralPlans {
        several::plans(self, most).forced()
    }
}

impl GeneratedKernels for GeneralMultiply {
    launches_of_plan!();

    fn partials(&self) -> u64 {
        self.plan.partials() / u64::from(self.plan.vectors)
    }

    fn vectors(&self) -> u32 {
        self.plan.vectors
    }

    fn tables(&self, _: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        tables::tables(self, device)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Elements
    }

    fn rows_of_card(&self, _: &Launch, card: usize, cards: usize) -> Option<Vec<Range<usize>>> {
        Some(self.rows_made(card, cards))
    }
}
