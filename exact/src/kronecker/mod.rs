//! The multiply by a Kronecker sum, H = D + I ⊗ A↑ + A↓ ⊗ I (Yamada et al. 2020, eq. 2–3): a matrix for each spin species.
//!
//! A pass costs what [`eigenforge_templates::exact`] says.
//!
//! | file | question it answers |
//! |---|---|
//! | `species`, `slices` | one species' matrix, in rows and as kernels read it |
//! | `tables` | what do the kernels read? |
//! | `mean_field` | where does a search start? |
//! | `transposed`, `columns`, `turns` | what does one of several ranks make? |

mod columns;
mod mean_field;
mod slices;
mod species;
mod tables;
mod transposed;
mod turns;

pub(super) use slices::packed_slice;
pub use species::SpeciesMatrix;
pub(super) use tables::run_tables;

use super::cpu::Blocks;
use super::model::Model;
use super::norm;
use super::structure::Moves;
use super::way::{Request, Way, fit_of_words, seconds_of_passes};
use eigenforge_core::basis::{Sector, count};
use eigenforge_core::operator::{OperatorError, Transition, product_text, species_moves};
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, MultiplyPlan, NormBounds, PrepareError, RankRows,
    Traffic, answers_of_plan,
};
use eigenforge_runtime::ranks::Ranks;
use eigenforge_runtime::{Device, DeviceError, ElementArgument, ElementFunction, NamedTables};
use eigenforge_templates::exact::{CollectedCoefficients, Exchange, KroneckerPlan, KroneckerShape, NeighbourWords};
use eigenforge_templates::{ElementFunctionText, KernelText, Launch, LaunchError, ScalarType, TextError, Warp};
use mean_field::MeanField;
use std::sync::Arc;
use transposed::Transposed;

/// The name of this way in plans and reports.
const NAME: &str = "Kronecker sum";

/// Times its memory floor that a multiply takes on an H200: 4 × 4 sites with 7 and 7 electrons (`eigenforge bench hubbard`).
const OF_FLOOR: f64 = 1.87;

/// The multiply of a Kronecker sum.
#[derive(Clone)]
pub struct KroneckerMultiply {
    /// The plan.
    pub plan: KroneckerPlan,
    /// Hops of the up electrons.
    pub up: Arc<SpeciesMatrix>,
    /// Hops of the down electrons.
    pub down: Arc<SpeciesMatrix>,
    mean_field: Option<Arc<MeanField>>,
}

/// Models that are Kronecker sums.
pub(super) struct KroneckerWay;

impl Way for KroneckerWay {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, model: &Model) -> Fit {
        match model.sector() {
            Sector::Fermions { .. } => species_moves(model.operator()).map_or_else(
                |product| Fit::Refuses(format!("{} acts on electrons of both spins", product_text(product))),
                |_| fit_of_words(model),
            ),
            Sector::Spins { .. } | Sector::Charges(_) | Sector::Flavours(_) => Fit::Foreign,
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        let multiply = KroneckerMultiply::new(model, request);
        Ok(Arc::new(multiply.unwrap_or_else(|| unreachable!("only fermions split into species"))))
    }

    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        (self.table_bytes(model, ScalarType::F64, None), Some(seconds_of_passes(model, OF_FLOOR)))
    }

    /// Packed neighbours.
    fn table_bytes(&self, model: &Model, _: ScalarType, _: Option<&Device>) -> u64 {
        const BYTES_AN_ELEMENT: u64 = 32;
        let (Moves::Kronecker { up, down }, Sector::Fermions { up: n_up, down: n_down }) =
            (&model.structure().moves, model.sector())
        else {
            return model.basis().lin_table_bytes();
        };
        let elements = |moves: &[Transition], particles: usize| -> u64 {
            let matching = |t: &Transition| {
                let (fixed, set) = (t.care.count_ones() as usize, t.pattern.count_ones() as usize);
                count(model.sites() - fixed, particles.wrapping_sub(set))
            };
            moves.iter().map(matching).fold(0, u64::saturating_add)
        };
        BYTES_AN_ELEMENT.saturating_mul(elements(up, *n_up).saturating_add(elements(down, *n_down)))
    }

    /// Down hops by tiles take copies, of about as much on two cards.
    fn exchanged(&self, model: &Model, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        let has_down = matches!(&model.structure().moves, Moves::Kronecker { down, .. } if !down.is_empty());
        let vector = model.dimension().saturating_mul(scalar.bytes() as u64);
        let is_shared = device.cards_for(vector).is_ok_and(|cards| cards > 1);
        (has_down && is_shared).then(|| ("rows that cards exchange", Exchange::bytes_about(vector)))
    }
}

impl KroneckerMultiply {
    pub(super) fn new(model: &Model, request: &Request<'_>) -> Option<KroneckerMultiply> {
        let structure = model.structure();
        let Moves::Kronecker { up, down } = &structure.moves else { return None };
        let (up_states, down_states) = model.basis().species()?;
        let Sector::Fermions { up: n_up, down: n_down } = *model.sector() else { return None };
        let up = SpeciesMatrix::new(model.sites(), n_up, up_states, up);
        let down = SpeciesMatrix::new(model.sites(), n_down, down_states, down);
        let mut plan = KroneckerPlan::new(
            model.name().to_string(),
            request.scalar,
            model.sites() as u32,
            up.plan(),
            down.plan(),
            structure.diagonal.clone(),
            model.sources(),
        );
        // A text that cannot be made is refused where it is needed.
        if let Some(shared) = request.arguments.and_then(|arguments| plan.sharing(arguments).ok()) {
            plan = shared;
        }
        request.complete(&mut plan.diagonal);
        let mean_field = MeanField::new(model.operator(), model.sites(), [n_up, n_down]).map(Arc::new);
        Some(KroneckerMultiply { plan, up: Arc::new(up), down: Arc::new(down), mean_field })
    }

    /// Hops within columns of these high words alone, with a diagonal.
    fn within_columns(&self, low: &Arc<SpeciesMatrix>, high: SpeciesMatrix, plan: KroneckerPlan) -> KroneckerMultiply {
        KroneckerMultiply { plan, up: low.clone(), down: Arc::new(high), mean_field: None }
    }

    /// The same in another shape.
    pub fn with_shape(&self, shape: KroneckerShape) -> KroneckerMultiply {
        KroneckerMultiply { plan: self.plan.with_shape(shape), ..self.clone() }
    }

    /// Electrons of each spin.
    fn particles(&self) -> [u32; 2] {
        [self.up.particles as u32, self.down.particles as u32]
    }
}

impl From<KroneckerMultiply> for MultiplyPlan {
    fn from(way: KroneckerMultiply) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl Multiply for KroneckerMultiply {
    answers_of_plan!(KroneckerPlan);

    fn way_name(&self) -> &'static str {
        NAME
    }

    fn dimension(&self) -> usize {
        self.plan.dimension() as usize
    }

    fn shape(&self) -> String {
        self.plan.shape.to_string()
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        Ok(Box::new(Blocks::of_species(&self.up, &self.down, &self.plan.diagonal)))
    }

    fn norm_bounds(&self) -> NormBounds {
        norm::bounds(self, &self.plan.diagonal, self.particles(), self.up.norm_bound() + self.down.norm_bound())
    }

    fn candidates(&self) -> Vec<Arc<dyn Multiply>> {
        let shaped = |shape| Arc::new(self.with_shape(shape)) as Arc<dyn Multiply>;
        self.plan.candidates().into_iter().map(shaped).collect()
    }

    fn with_warp(&self, warp: Warp) -> Option<Arc<dyn Multiply>> {
        (self.plan.warp != warp).then(|| {
            let mut own = self.clone();
            own.plan.warp = warp;
            Arc::new(own) as Arc<dyn Multiply>
        })
    }

    fn shared_among(&self, cards: u32) -> Option<Arc<dyn Multiply>> {
        let mut own = self.clone();
        own.plan.share_among(cards);
        Some(Arc::new(own))
    }

    fn coefficients(&self) -> Result<CollectedCoefficients, TextError> {
        self.plan.collect_coefficients()
    }

    fn own_rank(&self, ranks: &Arc<Ranks>, device: &Device) -> Result<Option<Box<dyn RankRows>>, PrepareError> {
        Ok(Some(Box::new(Transposed::new(self, ranks, device)?)))
    }

    fn guess_text(&self) -> Option<ElementFunctionText> {
        self.mean_field.as_ref().and_then(|_| mean_field::text(&self.up, &self.down))
    }

    fn guess(&self, device: &Device) -> Result<Option<ElementFunction>, DeviceError> {
        match &self.mean_field {
            Some(mean_field) => mean_field.guess(&self.up, &self.down, device),
            None => Ok(None),
        }
    }
}

impl GeneratedKernels for KroneckerMultiply {
    fn text(&self) -> Result<KernelText, TextError> {
        self.plan.text()
    }

    /// The packed neighbours are as long as their tables; without tables their lengths are left open.
    fn launches(&self, tables: &NamedTables) -> Result<Vec<Launch>, LaunchError> {
        let length = |name: &str| match tables.get(name) {
            Some(ElementArgument::Memory(memory)) => memory.elements() as u64,
            _ => 0,
        };
        self.plan.launches(NeighbourWords { up: length("neighbours"), down: length("down_neighbours") })
    }

    fn partials(&self) -> u64 {
        self.plan.partials()
    }

    fn tables(&self, _: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        tables::tables(self, device)
    }

    fn traffic(&self) -> Traffic {
        let (plan, reader) = (&self.plan, "multiply_down");
        match plan.exchange() {
            Some(exchange) => Traffic::Exchanged(exchange, plan.scalar, reader),
            None if !plan.has_down() => Traffic::Nothing,
            None => Traffic::Copies(self.dimension(), plan.scalar, reader),
        }
    }
}
