//! The way of a card, for spaces of products of strings: rows by the generated kernel, which also makes the diagonal and a bound of the norm.

mod element_table;

use super::super::error::CiError;
use super::super::estimate::{Estimate, StorageTarget};
use super::super::matrix::{CiHamiltonian, THRESHOLD};
use super::super::way::{Counted, NAME, NamedPlan, Once, Request, Source, Way};
use super::device_tables::{self, DeviceTables, THREADS};
use super::{OnTheFlyError, cores, estimate};
use eigenforge_product::ranks::part_range;
use eigenforge_product::sparse::Target;
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, NormBounds, PrepareError, ShownText, Traffic,
    answers_of_plan,
};
use eigenforge_runtime::{Arguments, Device, ElementArgument, NamedTables, TableList};
use eigenforge_templates::ci::RowsPlan;
use eigenforge_templates::{KernelText, Launch, LaunchError, ScalarType, TextError};
pub(in super::super) use element_table::ElementTableWay;
use element_table::TableRoom;
pub use element_table::element_table;
use std::iter::once;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Numbers of lanes of a product row by row, those of a warp among them.
const LANES: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// The name of this way in plans and reports.
const WAY: &str = "row by row";

/// Spaces that are not complete, of products of strings, on cards.
pub(in super::super) struct ExcitationsWay;

impl Way for ExcitationsWay {
    fn name(&self) -> &'static str {
        WAY
    }

    fn fit(&self, request: &Request<'_>) -> Fit {
        kernels_fit(request)
    }

    fn estimate(&self, counted: &Counted<'_>, place: StorageTarget) -> Estimate {
        estimate(counted, place)
    }

    fn plan(&self, request: &Request<'_>) -> Result<Arc<dyn Multiply>, CiError> {
        Ok(plan(request, request.shape.as_deref().and_then(named_lanes))?)
    }

    fn shapes<'r>(&self, request: &'r Request<'r>) -> Result<Vec<NamedPlan<'r>>, CiError> {
        let rule = ExcitationsMultiply::new(request, None)?.plan;
        let fits = |lanes: &u32| *lanes != rule.lanes && *lanes <= rule.warp.lanes();
        let of =
            |lanes: u32| -> NamedPlan<'r> { (lanes_name(lanes), Box::new(move || Ok(plan(request, Some(lanes))?))) };
        Ok(once(rule.lanes).chain(LANES.into_iter().filter(fits)).map(of).collect())
    }

    fn exchanged(&self, request: &Request<'_>, device: &Device) -> Option<(&'static str, u64)> {
        request.copies(device)
    }
}

/// Whether kernels make the rows of a space there.
pub(super) fn kernels_fit(request: &Request<'_>) -> Fit {
    let refuses = |why: &str| Fit::Refuses(why.into());
    match (request.is_by_strings(), request.is_on_card()) {
        (true, _) => Fit::Foreign,
        (false, false) => refuses("for a card"),
        (false, true) if request.space.is_list() => refuses("a list of determinants, not all of a level"),
        (false, true) if !is_possible(request) => refuses("fewer blocks of rows than ranks"),
        (false, true) => Fit::Takes,
    }
}

/// The number of lanes of a name.
pub(super) fn named_lanes(name: &str) -> Option<u32> {
    LANES.into_iter().find(|lanes| lanes_name(*lanes) == name)
}

/// The name of a number of lanes.
fn lanes_name(lanes: u32) -> String {
    format!("{lanes} lanes for the moves of a string")
}

/// Whether kernels make the rows: each of several ranks takes a block at least.
pub(super) fn is_possible(request: &Request<'_>) -> bool {
    let blocks = request.place.ranks.map(|[ranks, _]| (blocks_of_ranks(request), ranks));
    let is_enough = |(blocks, ranks): (Option<u32>, u64)| blocks.is_some_and(|blocks| u64::from(blocks) >= ranks);
    request.is_on_card() && request.space.product_tables().is_some() && blocks.is_none_or(is_enough)
}

/// Blocks of whose warps each makes one row, so that the rows of a rank are a run.
fn blocks_of_ranks(request: &Request<'_>) -> Option<u32> {
    u32::try_from(request.space.len().div_ceil(u64::from(THREADS / request.place.warp.lanes()))).ok()
}

/// The multiply by one kernel.
pub(super) struct ExcitationsMultiply {
    plan: RowsPlan,
    source: Source,
    target: Target,
    tables: Once<TableList<'static>>,
    /// Once the kernel has found it.
    norm: OnceLock<f64>,
    /// What a table of elements may take; `None` without one.
    room: Option<TableRoom>,
}

pub(super) fn plan(request: &Request<'_>, lanes: Option<u32>) -> Result<Arc<dyn Multiply>, OnTheFlyError> {
    Ok(Arc::new(ExcitationsMultiply::new(request, lanes)?))
}

/// The plan and its tables.
fn tables_of(source: &Source, target: Target, lanes: Option<u32>) -> Result<DeviceTables, OnTheFlyError> {
    let Source { integrals, complex, space } = source;
    match complex {
        Some(complex) => device_tables::tables(&CiHamiltonian::new(complex, space, THRESHOLD)?, NAME, target, lanes),
        None => device_tables::tables(&CiHamiltonian::new(integrals, space, THRESHOLD)?, NAME, target, lanes),
    }
}

impl ExcitationsMultiply {
    pub(super) fn new(request: &Request<'_>, lanes: Option<u32>) -> Result<ExcitationsMultiply, OnTheFlyError> {
        let (source, target) = (Source::new(request), request.target());
        let DeviceTables { mut plan, tables } = tables_of(&source, target, lanes)?;
        if let Some(blocks) = request.ranks.and_then(|_| blocks_of_ranks(request)) {
            plan.blocks = blocks;
        }
        Ok(ExcitationsMultiply { plan, source, target, tables: Once::new(tables), norm: OnceLock::new(), room: None })
    }

    /// The same with a table of elements of at most `most` bytes beside the solver's vectors.
    pub(super) fn in_table(mut self, reserved: u64, most: Option<u64>) -> ExcitationsMultiply {
        self.plan.table = true;
        self.room = Some(TableRoom { reserved, most });
        self
    }

    fn again(&self) -> Result<TableList<'static>, OnTheFlyError> {
        Ok(tables_of(&self.source, self.target, Some(self.plan.lanes))?.tables)
    }

    /// Rows that a block makes at once.
    fn of_block(&self) -> usize {
        (self.plan.threads / self.plan.warp.lanes()) as usize
    }
}

impl Multiply for ExcitationsMultiply {
    answers_of_plan!(RowsPlan);

    fn way_name(&self) -> &'static str {
        if self.room.is_some() { element_table::NAME } else { WAY }
    }

    fn dimension(&self) -> usize {
        self.plan.vector() as usize
    }

    fn shape(&self) -> String {
        lanes_name(self.plan.lanes)
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        cores::host(&self.source)
    }

    /// By the kernel; before it ran by the host, which takes as long as a product there.
    fn norm_bounds(&self) -> NormBounds {
        let by_host = || cores::norm(&self.source).unwrap_or(f64::NAN);
        let whole = self.norm.get().copied().unwrap_or_else(by_host);
        NormBounds { whole, moving: whole }
    }

    fn table_bytes(&self) -> Option<(&'static str, u64)> {
        Some(("tables of strings and integrals", self.plan.table_bytes()))
    }

    fn cost_text(&self) -> String {
        let (plan, bytes) = (&self.plan, self.plan.table_bytes() as f64 / 1e6);
        let elements = plan.elements as f64;
        format!(
            "tables as they are: {bytes:.2} MB, {plan}\none product: at most {elements:.3e} elements, {}\n",
            if plan.table { "made once as far as memory goes" } else { "computed in each product" }
        )
    }

    /// Without a cost: how many elements there are is only bounded.
    fn shown_texts(&self) -> Result<Vec<ShownText>, PrepareError> {
        let launches = [self.plan.launches(self.plan.predicted_kept())?, self.set_up_launches()?].concat();
        Ok(vec![ShownText { text: self.plan.text()?, launches, cost: None, when: "" }])
    }
}

impl GeneratedKernels for ExcitationsMultiply {
    fn text(&self) -> Result<KernelText, TextError> {
        self.plan.text()
    }

    fn launches(&self, tables: &NamedTables) -> Result<Vec<Launch>, LaunchError> {
        self.plan.launches(element_table::kept_elements(&self.plan, tables))
    }

    /// Those of the diagonal, of the largest row sums, and of the table.
    fn set_up_launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let table = self.room.map(|_| self.plan.table_launches(self.plan.predicted_kept())).transpose()?;
        Ok(self.plan.set_up_launches()?.into_iter().chain(table.into_iter().flatten()).collect())
    }

    fn partials(&self) -> u64 {
        u64::from(self.plan.blocks)
    }

    fn tables(&self, compile: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        device.check_memory("tables of the product row by row and its diagonal", self.plan.table_bytes())?;
        let (kernel, set_up) = (compile()?, self.plan.set_up_launches()?);
        set_up.iter().try_for_each(|launch| kernel.check(launch))?;
        let mut tables = NamedTables::uploaded(device, self.tables.take(|| self.again())?)?;
        let mut diagonal = device.spread_buffer::<f64>(self.plan.vector() as usize)?;
        kernel.launch(&set_up[0], Arguments::new().write("diagonal_out", &mut diagonal).tables(&tables))?;
        let diagonal = ElementArgument::Memory(Arc::new(diagonal));
        tables.insert("diagonal", diagonal.clone());
        tables.insert("stored_diagonal", diagonal);
        let mut largest = device.buffer(&vec![f64::NAN; self.plan.blocks as usize])?;
        kernel.launch(&set_up[1], Arguments::new().write("largest", &mut largest).tables(&tables))?;
        let found = largest.download()?.into_iter().fold(0.0, f64::max);
        self.norm.get_or_init(|| found);
        if let Some(room) = self.room {
            element_table::fill(&self.plan, room, &mut tables, &kernel, device)?;
        }
        Ok(tables)
    }

    fn traffic(&self) -> Traffic {
        Traffic::Copies(self.plan.vector() as usize, ScalarType::F64, "multiply")
    }

    fn rows_of_card(&self, _: &Launch, card: usize, cards: usize) -> Option<Vec<Range<usize>>> {
        let (rows, blocks) = (self.plan.rows as usize, self.plan.blocks as usize);
        if blocks * self.of_block() < rows {
            return None;
        }
        let share = part_range(blocks, card, cards);
        let parts = self.plan.parts() as usize;
        let bound = |block: usize| parts * (block * self.of_block()).min(rows);
        Some(once(bound(share.start)..bound(share.end)).collect())
    }
}
