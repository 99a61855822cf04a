//! H of a symmetry sector by strings: its plan for devices, with the tables.

use super::super::SymmetricSector;
use super::super::orbits::copies_of_x;
use super::Strings;
use super::host::HostStrings;
use super::tables::string_tables;
use crate::model::Model;
use crate::norm;
use crate::stored;
use crate::structure::{ListedTerms, diagonal};
use crate::way::{Request, Way, cards_for};
use eigenforge_core::operator::{DiagonalTerm, OperatorError, Spin};
use eigenforge_product::ranks::{joined, part_range};
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, MultiplyPlan, NormBounds, PrepareError, Traffic,
    answers_of_plan, launches_of_plan,
};
use eigenforge_runtime::{Device, NamedTables, Scalar};
use eigenforge_templates::exact::StringsPlan;
use eigenforge_templates::{Launch, ScalarType, Warp};
use std::ops::Range;
use std::sync::Arc;

/// The name of this way in plans and reports.
const NAME: &str = "strings";

/// The multiply of electrons in a symmetry sector by strings of each spin.
#[derive(Clone)]
pub struct StringRows {
    plan: Arc<StringsPlan>,
    host: HostStrings,
    sector: Arc<SymmetricSector>,
}

impl StringRows {
    /// H with a multiple of 1 added; `None` where words are not by species, or terms move both spins.
    pub(crate) fn new(
        name: &str,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
        sources: Vec<String>,
    ) -> Option<StringRows> {
        let sector = terms.symmetric.clone()?;
        let strings = sector.strings()?.clone();
        let on_diagonal: Vec<DiagonalTerm> = terms.diagonal.iter().map(|term| term.clone().narrow()).collect();
        let mut diagonal = diagonal(&on_diagonal, &sector.word);
        diagonal.constant += shift;
        let Strings { sites, states, index_bits, .. } = *strings;
        let low = sector.layout().low_species();
        let plan = StringsPlan {
            name: name.into(),
            scalar,
            warp: Warp::default(),
            sites,
            outer: if low == Some(Spin::Up) { "down" } else { "up" }.into(),
            elements: strings.actions.elements() as u64,
            rows: strings.rows.len() as u64,
            strings: strings.numbers.len() as u64,
            index_bits,
            hops: strings.hops.len() as u64,
            inner_words: strings.inner.sliced(Warp::default()),
            inner_factors: strings.inner.factors.len() as u64,
            classes: strings.classes.len() as u64,
            class_strings: strings.classes.iter().map(|class| class.strings.len() as u64).sum(),
            class_factors: strings.class_factors.len() as u64,
            states,
            words: sector.plain(),
            moves: strings.moves(),
            complex: sector.complex,
            diagonal: diagonal.clone(),
            sources,
        };
        let host = HostStrings { strings, diagonal, complex: sector.complex };
        Some(StringRows { plan: Arc::new(plan), host, sector })
    }

    /// The first place of what a block of the kernel makes; of the block behind the last the end.
    fn place_of_block(&self, block: u64, threads: u64) -> u64 {
        let (strings, pieces) = (self.strings(), self.plan.strings.div_ceil(threads).max(1));
        let start = |row: u64| strings.rows.get(row as usize).map_or(self.plan.states, |row| u64::from(row.start));
        let (row, piece) = (block / pieces, block % pieces);
        (start(row) + piece * threads).min(start(row + 1))
    }

    /// A vector in the order of the basis of [`Model::working`](crate::Model::working).
    pub fn in_basis_order<T: Scalar>(&self, vector: &[T]) -> Vec<T> {
        self.strings().in_basis_order(vector)
    }

    /// The plan.
    pub fn plan(&self) -> &StringsPlan {
        &self.plan
    }

    /// The tables.
    pub(super) fn strings(&self) -> &Strings {
        &self.host.strings
    }
}

/// Electrons in a symmetry sector whose words have the strings of one spin above those of the other.
pub(crate) struct StringsWay;

impl StringsWay {
    /// The rows of a sector by strings; `None` where words are in another order, or a matrix is stored.
    fn rows(model: &Model, request: &Request<'_>) -> Option<StringRows> {
        let terms = model.listed_terms()?;
        terms.symmetric.as_deref().filter(|sector| sector.makes_rows())?;
        StringRows::new(model.name(), terms, request.scalar, request.constant, model.sources())
    }
}

impl Way for StringsWay {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fit(&self, model: &Model) -> Fit {
        let rows = || StringsWay::rows(model, &Request::counting(ScalarType::F64));
        let why = "a term, or an element of the group, does not act on the electrons of each spin by themselves, or tables are too large";
        match model
            .symmetric()
            .filter(|sector| sector.is_of_electrons() && !crate::symmetric::pairs::is_exchange(sector.group()))
        {
            None => Fit::Foreign,
            Some(sector) => sector.fit_of_rows(false, || Fit::takes_if(rows(), why)),
        }
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        Ok(Arc::new(StringsWay::rows(model, request).unwrap_or_else(|| unreachable!("it is for this model"))))
    }

    /// Each card has all tables.
    fn table_bytes(&self, model: &Model, scalar: ScalarType, device: Option<&Device>) -> u64 {
        let Some(rows) = StringsWay::rows(model, &Request::counting(scalar)) else { return 0 };
        let cards = cards_for(device, rows.plan().dimension(), scalar);
        rows.plan().device_bytes().saturating_mul(cards.into())
    }

    fn exchanged(&self, model: &Model, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        copies_of_x(model, scalar, device)
    }

    fn words(&self, model: &Model) -> Option<String> {
        let rows = StringsWay::rows(model, &Request::counting(ScalarType::F64))?;
        let (shape, tables) = (rows.plan().shape(), eigenforge_core::words::size(rows.plan().device_bytes()));
        Some(format!("without a matrix, {shape}; {tables} of tables"))
    }
}

impl From<StringRows> for MultiplyPlan {
    fn from(way: StringRows) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl Multiply for StringRows {
    answers_of_plan!(StringsPlan);

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
        norm::bounds(self, &self.plan.diagonal, [u32::MAX; 2], self.strings().norm_bound())
    }

    fn with_warp(&self, warp: Warp) -> Option<Arc<dyn Multiply>> {
        (self.plan.warp != warp).then(|| {
            let mut own = self.clone();
            let inner_words = self.strings().inner.sliced(warp);
            let plan = Arc::make_mut(&mut own.plan);
            (plan.warp, plan.inner_words) = (warp, inner_words);
            Arc::new(own) as Arc<dyn Multiply>
        })
    }

    fn stored(&self) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        self.sector.check_matrix()?;
        let (plan, complex) = (&self.plan, self.plan.complex);
        let elements = (plan.moves + plan.states) * if complex { 4 } else { 1 };
        let host = self.host.clone();
        let row = move |row: usize, elements: &mut Vec<(u32, f64)>| host.row(row as u64, complex, elements);
        stored::matrix_of_rows(&plan.name, plan.scalar, [plan.dimension(), elements], row).map(Some)
    }
}

impl GeneratedKernels for StringRows {
    launches_of_plan!();

    fn partials(&self) -> u64 {
        self.plan.partials()
    }

    fn tables(&self, _: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        Ok(string_tables(self, device)?)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Copies(self.plan.dimension() as usize, self.plan.scalar, "multiply")
    }

    /// Blocks of strings of a row; of complex vectors the same states of both parts.
    fn rows_of_card(&self, multiply: &Launch, card: usize, cards: usize) -> Option<Vec<Range<usize>>> {
        let blocks = part_range(multiply.grid[0] as usize, card, cards);
        let place = |block: usize| self.place_of_block(block as u64, multiply.block.into()) as usize;
        let (own, states) = (place(blocks.start)..place(blocks.end), self.plan.states as usize);
        let imaginary = self.plan.complex.then(|| own.start + states..own.end + states);
        Some(joined([own].into_iter().chain(imaginary).collect()))
    }
}
