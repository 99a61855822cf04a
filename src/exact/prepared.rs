//! Everything fixed about the multiply of one model: its plan, made from the structure, with the tables that go with it.
//!
//! A pass costs what [`eigenforge_templates::exact`] says.

use super::lists::ListTables;
use super::model::Model;
use super::species::SpeciesMatrix;
use super::stored::StoredHamiltonian;
use super::structure::{ListedTerms, Moves, sizes_of};
use super::symmetric::{PairRows, SectorRows, StringRows};
use crate::basis::{LinTables, Sector};
use crate::operator::OperatorError;
use eigenforge_runtime::{Device, DeviceError, trace};
use eigenforge_templates::exact::{
    CoefficientArguments, CollectedCoefficients, DownShape, GeneralPlan, KroneckerPlan, NeighbourWords,
};
use eigenforge_templates::{Cost, ElementFunctionText, KernelText, Launch, LaunchError, ScalarType, TextError, Warp};
use std::sync::Arc;

/// Everything fixed about the multiply of one model: its plan, and the tables that go with it.
#[derive(Clone)]
pub enum Prepared {
    /// A Kronecker sum.
    Kronecker {
        /// The plan.
        plan: Box<KroneckerPlan>,
        /// Hops of the up electrons.
        up: Box<SpeciesMatrix>,
        /// Hops of the down electrons.
        down: Box<SpeciesMatrix>,
    },
    /// Any other operator.
    General {
        /// The plan.
        plan: Box<GeneralPlan>,
        /// Its ranks.
        tables: LinTables,
        /// Its elements by columns, where there are such.
        lists: Option<Arc<ListTables>>,
    },
    /// An operator on listed states, as a stored matrix.
    Stored(StoredHamiltonian),
    /// An operator in a symmetry sector, by rows that are made as they are multiplied.
    Symmetric(Box<SectorRows>),
    /// Electrons in a symmetry sector, by strings of each spin.
    Strings(Box<StringRows>),
    /// Electrons in a sector of the exchange of their spins, on pairs of strings.
    Pairs(Box<PairRows>),
}

impl Prepared {
    /// Plans the multiply of all of H, the [constant](Model::constant) of the sector included.
    pub fn whole(model: &Model, scalar: ScalarType) -> Result<Prepared, OperatorError> {
        if let Some(terms) = model.listed_terms() {
            return Prepared::of_list(model, terms, scalar, model.constant());
        }
        let mut prepared = Prepared::new(model, scalar)?;
        let diagonal = match &mut prepared {
            Prepared::Kronecker { plan, .. } => &mut plan.diagonal,
            Prepared::General { plan, .. } => &mut plan.diagonal,
            Prepared::Stored(_) | Prepared::Symmetric(_) | Prepared::Strings(_) | Prepared::Pairs(_) => {
                unreachable!("of listed states only")
            }
        };
        diagonal.constant += model.constant();
        diagonal.taken_out = 0.0;
        Ok(prepared)
    }

    /// The coefficients of its texts, to find out whether other models have the same.
    pub(super) fn coefficients(&self) -> Result<CollectedCoefficients, TextError> {
        match self {
            Prepared::Kronecker { plan, .. } => plan.collect_coefficients(),
            Prepared::General { plan, .. } => plan.collect_coefficients(),
            // All coefficients are in the elements, or in a text of a single sector.
            Prepared::Stored(_) | Prepared::Symmetric(_) | Prepared::Strings(_) | Prepared::Pairs(_) => {
                Ok(CollectedCoefficients::default())
            }
        }
    }

    /// The elements of the kernels' array `coefficients`; `None` where all are numbers in the text.
    pub(super) fn argument_values(&self) -> Result<Option<Vec<f64>>, TextError> {
        match self {
            Prepared::Kronecker { plan, .. } => plan.argument_values(),
            Prepared::General { plan, .. } => plan.argument_values(),
            Prepared::Stored(_) | Prepared::Symmetric(_) | Prepared::Strings(_) | Prepared::Pairs(_) => Ok(None),
        }
    }

    /// Takes coefficients as arguments, if its text is the one that they are of.
    fn share(&mut self, arguments: &CoefficientArguments) -> Result<(), TextError> {
        match self {
            Prepared::Kronecker { plan, .. } => **plan = plan.sharing(arguments)?,
            Prepared::General { plan, .. } => **plan = plan.sharing(arguments)?,
            Prepared::Stored(_) | Prepared::Symmetric(_) | Prepared::Strings(_) | Prepared::Pairs(_) => {}
        }
        Ok(())
    }

    /// Plans the multiply of a model, without the [constant](Model::constant) of its sector, for vectors of `scalar`.
    pub fn new(model: &Model, scalar: ScalarType) -> Result<Prepared, OperatorError> {
        let mut prepared = Prepared::alone(model, scalar)?;
        if let Some(arguments) = model.shared() {
            // A text that cannot be made is refused where it is needed.
            let _ = prepared.share(arguments);
        }
        Ok(prepared)
    }

    /// The same with numbers for all coefficients.
    pub(super) fn alone(model: &Model, scalar: ScalarType) -> Result<Prepared, OperatorError> {
        let _planning = trace::span("generate", "plan");
        let structure = model.structure();
        match (&structure.moves, model.basis().species(), model.sector()) {
            (
                Moves::Kronecker { up, down },
                Some((up_states, down_states)),
                Sector::Fermions { up: n_up, down: n_down },
            ) => {
                let up = SpeciesMatrix::new(model.sites(), *n_up, up_states, up);
                let down = SpeciesMatrix::new(model.sites(), *n_down, down_states, down);
                let plan = KroneckerPlan::new(
                    model.name().to_string(),
                    scalar,
                    model.sites() as u32,
                    up.plan(),
                    down.plan(),
                    structure.diagonal.clone(),
                    model.sources(),
                );
                Ok(Prepared::Kronecker { plan: Box::new(plan), up: Box::new(up), down: Box::new(down) })
            }
            (Moves::General(groups), ..) => {
                let tables = model.basis().lin_tables()?;
                let lists = ListTables::new(groups, &tables, turn_of(model), Warp::default()).map(Arc::new);
                let cut = lists.as_ref().map_or(&tables, |lists| &lists.tables);
                let sizes = sizes_of(cut);
                let plan = GeneralPlan::new(
                    model.name().to_string(),
                    scalar,
                    sizes,
                    model.dimension(),
                    structure.diagonal.clone(),
                    groups.clone(),
                    model.sources(),
                )
                .with_lists(lists.as_ref().map(|lists| lists.sizes.clone()));
                Ok(Prepared::General { plan: Box::new(plan), tables, lists })
            }
            (Moves::Listed(terms), ..) => Prepared::of_list(model, terms, scalar, 0.0),
            (Moves::Kronecker { .. }, ..) => unreachable!("only fermions split into species"),
        }
    }

    /// Of listed states: as a stored matrix, or in a large symmetry sector by rows that are made as they are multiplied.
    fn of_list(model: &Model, terms: &ListedTerms, scalar: ScalarType, shift: f64) -> Result<Prepared, OperatorError> {
        let (name, basis) = (model.name(), model.basis());
        if let Some(sector) = terms.symmetric.as_deref().filter(|sector| sector.makes_rows()) {
            if let Some(rows) = StringRows::new(name, terms, scalar, shift, model.sources()) {
                return Ok(Prepared::Strings(Box::new(rows)));
            }
            if let Some(rows) = PairRows::new(name, sector, terms, scalar, shift, model.sources()) {
                return Ok(Prepared::Pairs(Box::new(rows)));
            }
            sector.check_numbers()?;
            let rows = SectorRows::new(name, basis, terms, scalar, shift, model.sources());
            debug_assert!(rows.is_some() || sector.may_store(), "refused where the model is made");
            if let Some(rows) = rows {
                return Ok(Prepared::Symmetric(Box::new(rows)));
            }
        }
        Ok(Prepared::Stored(StoredHamiltonian::new(name, basis, terms, scalar, shift)?))
    }

    /// The same for a device with warps of this width.
    #[must_use]
    pub fn for_warp(mut self, model: &Model, warp: Warp) -> Prepared {
        match &mut self {
            Prepared::Kronecker { plan, .. } => plan.warp = warp,
            Prepared::General { plan, tables, lists } if plan.warp != warp => {
                plan.warp = warp;
                *lists = ListTables::new(&plan.groups, tables, turn_of(model), warp).map(Arc::new);
                plan.lists = lists.as_ref().map(|lists| lists.sizes.clone());
            }
            Prepared::Symmetric(rows) => rows.set_warp(warp),
            Prepared::Strings(rows) => rows.set_warp(warp),
            Prepared::Pairs(rows) => rows.plan_mut().set_warp(warp),
            Prepared::General { .. } | Prepared::Stored(_) => {}
        }
        self
    }

    /// The same for the cards of a device that share its vectors.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn for_cards(mut self, device: &Device) -> Result<Prepared, DeviceError> {
        let cards = |dimension: u64, scalar: ScalarType| device.cards_for(dimension * scalar.bytes() as u64);
        match &mut self {
            Prepared::Kronecker { plan, .. } => plan.share_among(cards(plan.dimension(), plan.scalar)?),
            Prepared::Pairs(rows) => {
                let cards = cards(rows.plan().dimension(), rows.plan().scalar)?;
                rows.plan_mut().share_among(cards);
            }
            _ => {}
        }
        Ok(self)
    }

    /// The generated CUDA.
    pub fn text(&self) -> Result<KernelText, TextError> {
        let _writing = trace::span("generate", "kernel text");
        match self {
            Prepared::Kronecker { plan, .. } => plan.text(),
            Prepared::General { plan, .. } => plan.text(),
            Prepared::Stored(matrix) => matrix.plan().text(),
            Prepared::Symmetric(rows) => rows.plan().text(),
            Prepared::Strings(rows) => rows.plan().text(),
            Prepared::Pairs(rows) => rows.plan().text(),
        }
    }

    /// The launches of one multiply, in order. `words` are those of the packed neighbours, which [`Prepared::neighbours`]
    /// counts; a general multiply has none.
    pub fn launches(&self, words: NeighbourWords) -> Result<Vec<Launch>, LaunchError> {
        match self {
            Prepared::Kronecker { plan, .. } => plan.launches(words),
            Prepared::General { plan, .. } => plan.launches(),
            Prepared::Stored(matrix) => matrix.plan().launches(),
            Prepared::Symmetric(rows) => rows.plan().launches(),
            Prepared::Strings(rows) => rows.plan().launches(),
            Prepared::Pairs(rows) => rows.plan().launches(),
        }
    }

    /// Words of the packed neighbours, by packing them.
    pub fn neighbours(&self) -> NeighbourWords {
        match self {
            Prepared::Kronecker { plan, up, down } => NeighbourWords {
                up: up.packed_slices(plan.warp, plan.shape.staging).1.len() as u64,
                down: match plan.shape.down {
                    DownShape::Tile { columns, .. } => down.packed_rows(columns as usize).1.len() as u64,
                    DownShape::Runs { .. } => 0,
                },
            },
            Prepared::General { .. }
            | Prepared::Stored(_)
            | Prepared::Symmetric(_)
            | Prepared::Strings(_)
            | Prepared::Pairs(_) => NeighbourWords { up: 0, down: 0 },
        }
    }

    /// The diagonal as an element function of vector programs: its CUDA text and parameters.
    pub fn diagonal_text(&self) -> ElementFunctionText {
        match self {
            Prepared::Kronecker { plan, .. } => plan.diagonal_element(),
            Prepared::General { plan, .. } => plan.diagonal_element(),
            Prepared::Stored(matrix) => matrix.diagonal_text(),
            Prepared::Symmetric(rows) => rows.plan().diagonal_element(),
            Prepared::Strings(rows) => rows.plan().diagonal_element(),
            Prepared::Pairs(rows) => rows.plan().diagonal_element(),
        }
    }

    /// Shapes of this multiply that are worth timing, its own first.
    pub fn candidates(&self) -> Vec<Prepared> {
        match self {
            Prepared::Kronecker { plan, up, down } => {
                let shaped = |shape| {
                    let plan = Box::new(plan.with_shape(shape));
                    Prepared::Kronecker { plan, up: up.clone(), down: down.clone() }
                };
                plan.candidates().into_iter().map(shaped).collect()
            }
            Prepared::General { plan, tables, lists } => {
                let shaped = |shape| {
                    let plan = Box::new(plan.with_shape(shape));
                    Prepared::General { plan, tables: tables.clone(), lists: lists.clone() }
                };
                plan.candidates().into_iter().map(shaped).collect()
            }
            Prepared::Pairs(rows) => {
                let shapes = rows.plan().candidates().into_iter();
                shapes.map(|shape| Prepared::Pairs(Box::new(rows.with_shape(shape)))).collect()
            }
            Prepared::Stored(_) | Prepared::Symmetric(_) | Prepared::Strings(_) => vec![self.clone()],
        }
    }

    /// The shape in words.
    pub fn shape(&self) -> String {
        match self {
            Prepared::Kronecker { plan, .. } => plan.shape.to_string(),
            Prepared::General { plan, .. } => plan.shape.to_string(),
            Prepared::Stored(matrix) => matrix.shape(),
            Prepared::Symmetric(rows) => rows.plan().shape(),
            Prepared::Strings(rows) => rows.plan().shape(),
            Prepared::Pairs(rows) => rows.plan().shape(),
        }
    }

    /// The plan as RON.
    pub fn plan_text(&self) -> String {
        match self {
            Prepared::Kronecker { plan, .. } => eigenforge_templates::ron(&**plan),
            Prepared::General { plan, .. } => eigenforge_templates::ron(&**plan),
            Prepared::Stored(matrix) => eigenforge_templates::ron(matrix.plan()),
            Prepared::Symmetric(rows) => eigenforge_templates::ron(rows.plan()),
            Prepared::Strings(rows) => eigenforge_templates::ron(rows.plan()),
            Prepared::Pairs(rows) => eigenforge_templates::ron(rows.plan()),
        }
    }

    /// The least work of one multiply.
    pub fn cost(&self) -> Cost {
        match self {
            Prepared::Kronecker { plan, .. } => plan.cost(),
            Prepared::General { plan, .. } => plan.cost(),
            Prepared::Stored(matrix) => matrix.cost(),
            Prepared::Symmetric(rows) => rows.plan().cost(),
            Prepared::Strings(rows) => rows.plan().cost(),
            Prepared::Pairs(rows) => rows.plan().cost(),
        }
    }

    /// Operations of one multiply, those on words included.
    pub(super) fn work(&self) -> f64 {
        match self {
            Prepared::Symmetric(rows) => rows.plan().cost().flops * rows.plan().elements() as f64,
            _ => self.cost().flops,
        }
    }

    /// Rows of the matrix.
    pub(super) fn dimension(&self) -> usize {
        match self {
            Prepared::Kronecker { plan, .. } => plan.dimension() as usize,
            Prepared::General { plan, .. } => plan.dimension as usize,
            Prepared::Stored(matrix) => matrix.elements().rows(),
            Prepared::Symmetric(rows) => rows.plan().dimension() as usize,
            Prepared::Strings(rows) => rows.plan().dimension() as usize,
            Prepared::Pairs(rows) => rows.plan().dimension() as usize,
        }
    }
}

/// The highest bit of a state, which tells imaginary from real parts of complex vectors; `None` for real ones.
fn turn_of(model: &Model) -> Option<u32> {
    model.is_complex().then(|| model.basis().word().bits() - 1)
}
