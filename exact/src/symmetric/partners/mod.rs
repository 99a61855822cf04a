//! H of a symmetry sector from a table of partners, which a card makes once and keeps.
//!
//! In: the rows of a sector by orbits ([`super::orbits`]), and how many bytes the table may take. Out: a multiply that reads the places of
//! a row's elements from the table and makes the rows anew for which there is no room. Several cards share the rows, and each has a copy of
//! x. On CPU cores and on ranks the multiply is that by orbits, or where a table was asked for by name one that the cores make.

mod codes;
mod tables;
#[cfg(test)]
mod tests;

use super::orbits::{NO_WALK, SectorRows};
use crate::model::Model;
use crate::way::{Request, SPARE, Way};
use codes::Codes;
use eigenforge_core::operator::{MatrixStorage, OperatorError};
use eigenforge_core::words::{grouped, size};
use eigenforge_product::{
    CompileText, Fit, GeneratedKernels, HostProduct, Multiply, MultiplyPlan, NormBounds, PrepareError, Received, TABLE,
    Traffic,
};
use eigenforge_runtime::machine::Card;
use eigenforge_runtime::{Device, Memory, NamedTables};
use eigenforge_templates::exact::{MOST_VALUES, PartnersPlan, SlotCodes};
use eigenforge_templates::{
    Cost, ElementFunctionText, KernelText, Launch, LaunchError, ScalarType, TextError, Warp, ron,
};
use std::any::Any;
use std::sync::Arc;
use tables::{kept_rows, partner_tables};

/// Vectors that the smallest solver holds, where nobody says how many there are.
const VECTORS: u64 = 3;
/// A place has at most so many bits, since a slot has a bit beside it.
const MOST_INDEX_BITS: u32 = 31;

/// The multiply of a symmetry sector from a table of partners.
#[derive(Clone)]
pub struct PartnerRows {
    /// The rows by orbits, by whose kernels the table is made.
    rows: SectorRows,
    plan: Arc<PartnersPlan>,
    codes: Arc<Codes>,
    /// Bytes that the table may take; `None` for what the device has beside vectors.
    room: Option<u64>,
    /// Whether a table was asked for by name.
    asked: bool,
}

impl PartnerRows {
    /// A table of all rows; `None` where elements have too many values, or places too many bits.
    fn new(rows: SectorRows, room: Option<u64>) -> Option<PartnerRows> {
        let (plan, asked) = (rows.plan().clone(), rows.sector().asks_for_table());
        let codes = Codes::new(&plan, &rows.characters())?;
        // No place has all bits set but the lowest, so that no slot is that of no partner; nor all bits, as memory that nobody wrote.
        let index_bits = u64::BITS - (plan.states + 1).leading_zeros();
        let code_bits = usize::BITS - (codes.values.len() - 1).leading_zeros();
        if index_bits > MOST_INDEX_BITS {
            return None;
        }
        let kind = match codes.coded {
            false => SlotCodes::None,
            true if index_bits + code_bits <= MOST_INDEX_BITS => SlotCodes::Within,
            true => SlotCodes::Beside,
        };
        let plan = PartnersPlan {
            codes: kind,
            index_bits,
            values: codes.values.len() as u64,
            amplitudes: codes.amplitudes.len() as u64,
            character_classes: codes.character_classes as u64,
            kinds: codes.code_of.len() as u64,
            orders: codes.orders.len() as u64,
            row_slots: rows.row_slots(),
            kept: plan.states,
            cards: 1,
            rows: plan,
        };
        Some(PartnerRows { rows, plan: Arc::new(plan), codes: Arc::new(codes), room, asked })
    }

    /// The plan.
    pub fn plan(&self) -> &PartnersPlan {
        &self.plan
    }

    /// The same with a table of at most so many bytes.
    #[must_use]
    pub fn with_room(mut self, room: u64) -> PartnerRows {
        self.room = Some(room);
        let kept = self.plan.rows_within(room);
        Arc::make_mut(&mut self.plan).kept = kept;
        self
    }

    /// Whether so much is kept that a table pays, or one was asked for.
    fn pays(&self) -> bool {
        self.asked || 2 * self.plan.kept >= self.plan.rows.states
    }

    /// The same on so many cards with so much memory that is free, of so much in all, beside the vectors of a solver and copies of x.
    fn fit_to(self, Memory { free, total }: Memory, cards: u32) -> PartnerRows {
        let copies = if cards > 1 { u64::from(cards) } else { 0 };
        let vectors = (VECTORS + copies) * self.plan.rows.dimension() * self.plan.rows.scalar.bytes() as u64;
        let others = self.plan.rows.device_bytes(cards).saturating_add(vectors).saturating_add(total / SPARE);
        self.with_room(free.saturating_sub(others))
    }

    /// The same on an H200 that nothing else uses.
    fn on_h200(self) -> PartnerRows {
        let memory = Card::H200.memory_bytes;
        self.fit_to(Memory { free: memory, total: memory }, 1)
    }
}

/// Symmetry sectors whose rows stand in a table on a card.
pub(crate) struct PartnersWay;

impl PartnersWay {
    /// The table of a model; `None` where rows are not by orbits, or nobody wants a table.
    fn rows(model: &Model, request: &Request<'_>) -> Option<PartnerRows> {
        PartnerRows::new(model.orbit_rows(request)?, request.room)
    }
}

impl Way for PartnersWay {
    fn name(&self) -> &'static str {
        TABLE
    }

    /// Where an H200 keeps at least half of the rows. What no card makes is for the cores.
    fn fit(&self, model: &Model) -> Fit {
        let fit = || {
            let Some(rows) = model.made_rows(ScalarType::F64) else { return Fit::Refuses(NO_WALK.into()) };
            let Some(rows) = PartnerRows::new(rows, None).map(PartnerRows::on_h200) else {
                let what =
                    format!("elements have more than {MOST_VALUES} values, or places more than {MOST_INDEX_BITS} bits");
                return Fit::Refuses(what);
            };
            if rows.pays() {
                return Fit::Takes;
            }
            let [kept, all] = [rows.plan.kept, rows.plan.rows.states].map(|rows| grouped(rows.into()));
            Fit::Refuses(format!("an H200 has room for {kept} of its {all} rows, fewer than half"))
        };
        let Some(sector) = model.symmetric().filter(|sector| sector.has_kernel_words()) else { return Fit::Foreign };
        match sector.fit_of_rows(true, fit) {
            Fit::Refuses(_) if sector.asks_for_table() => Fit::Foreign,
            fit => fit,
        }
    }

    fn forecast(&self, model: &Model) -> (u64, Option<f64>) {
        let others = super::OrbitsWay.table_bytes(model, ScalarType::F64, None);
        let rows = PartnersWay::rows(model, &Request::counting(ScalarType::F64)).map(PartnerRows::on_h200);
        rows.map_or((others, None), |rows| {
            let milliseconds: f64 = rows.plan.predicted_milliseconds().iter().sum();
            (others.saturating_add(rows.plan.predicted_bytes(rows.plan.kept)), Some(1e-3 * milliseconds))
        })
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        if let Some(sector) = model.symmetric() {
            sector.check_numbers()?;
        }
        let rows = PartnersWay::rows(model, request).unwrap_or_else(|| unreachable!("it is for this model"));
        Ok(Arc::new(match request.room {
            Some(room) => rows.with_room(room),
            None => PartnerRows { room: None, ..rows.on_h200() },
        }))
    }

    /// Those without which there is no multiply: what is kept takes what is left.
    fn table_bytes(&self, model: &Model, scalar: ScalarType, device: Option<&Device>) -> u64 {
        super::OrbitsWay.table_bytes(model, scalar, device)
    }

    fn kept_bytes(&self, model: &Model, scalar: ScalarType, device: &Device) -> u64 {
        let rows = PartnersWay::rows(model, &Request::counting(scalar)).filter(|rows| rows.runs_on(device));
        rows.map_or(0, |rows| rows.plan().predicted_bytes(rows.plan().rows.states))
    }

    fn exchanged(&self, model: &Model, scalar: ScalarType, device: &Device) -> Option<(&'static str, u64)> {
        super::OrbitsWay.exchanged(model, scalar, device)
    }

    fn words(&self, model: &Model) -> Option<String> {
        let rows = PartnersWay::rows(model, &Request::counting(ScalarType::F64))?.on_h200();
        let plan = rows.plan();
        let [table, others] = [plan.predicted_bytes(plan.kept), plan.rows.device_bytes(1)].map(size);
        let [kept, made] = plan.predicted_milliseconds();
        let made = if plan.is_part() { format!(" and {made:.3} ms of rows made anew") } else { String::new() };
        let elsewhere = match rows.asked {
            true => "by a table that the cores make".into(),
            false => super::OrbitsWay.words(model).unwrap_or_default(),
        };
        Some(format!(
            "on one card by {}: {table} on an H200 beside {others} of tables, {kept:.3} ms{made} a multiply; elsewhere \
             {elsewhere}",
            plan.shape(),
        ))
    }
}

impl Model {
    /// Whether the table of partners is one that cards make, whatever is chosen.
    pub(crate) fn has_table_of_cards(&self) -> bool {
        !matches!(PartnersWay.fit(self), Fit::Foreign)
    }
}

impl From<PartnerRows> for MultiplyPlan {
    fn from(way: PartnerRows) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl PartnerRows {
    /// The cards that share the launches: those over which the longest memory that is not the table's is spread.
    fn cards(&self, device: &Device) -> u32 {
        let plan = &self.plan.rows;
        let numbers = plan.dimension().max(self.plan.paired()).saturating_mul(plan.scalar.bytes() as u64);
        let list = plan.states * if plan.is_wide() { 8 } else { 4 };
        device.cards_for(numbers.max(list)).unwrap_or(device.cards_at_work())
    }

    /// Whether a device keeps the table.
    fn runs_on(&self, device: &Device) -> bool {
        device.runs_kernels() && device.ranks().is_none()
    }

    /// The multiply by orbits, as it runs on a device.
    fn orbit_multiply(&self, device: &Device) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        Ok(Some(self.rows.replacement(device)?.unwrap_or_else(|| Arc::new(self.rows.clone()))))
    }
}

impl Multiply for PartnerRows {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn way_name(&self) -> &'static str {
        TABLE
    }

    fn scalar(&self) -> ScalarType {
        self.plan.rows.scalar
    }

    fn dimension(&self) -> usize {
        self.plan.rows.dimension() as usize
    }

    fn shape(&self) -> String {
        self.plan.shape()
    }

    fn plan_text(&self) -> String {
        ron(&*self.plan)
    }

    fn cost(&self) -> Cost {
        self.plan.cost()
    }

    fn kernels(&self) -> Option<&dyn GeneratedKernels> {
        Some(self)
    }

    fn diagonal_text(&self) -> ElementFunctionText {
        self.plan.diagonal_element()
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        self.rows.host()
    }

    fn norm_bounds(&self) -> NormBounds {
        self.rows.norm_bounds()
    }

    fn with_warp(&self, warp: Warp) -> Option<Arc<dyn Multiply>> {
        (self.plan.rows.warp != warp).then(|| {
            let mut own = self.clone();
            own.rows.set_warp(warp);
            Arc::make_mut(&mut own.plan).rows.warp = warp;
            Arc::new(own) as Arc<dyn Multiply>
        })
    }

    fn received(&self, cards: u32) -> Option<Received> {
        self.rows.received(cards)
    }

    /// On cards as many rows as they have room for; elsewhere the table of the cores if one was asked for. Else, and where fewer than half of
    /// the rows would be kept, the multiply by orbits.
    fn replacement(&self, device: &Device) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        if !self.runs_on(device) && self.asked {
            let table = self.rows.matrix(MatrixStorage::Table)?;
            return Ok(Some(table.replacement(device)?.unwrap_or(table)));
        }
        if !self.runs_on(device) {
            return self.orbit_multiply(device);
        }
        let cards = self.cards(device);
        let mut fitted = self.clone();
        Arc::make_mut(&mut fitted.plan).cards = cards;
        let fitted = match self.room {
            Some(room) => fitted.with_room(room),
            None => fitted.fit_to(device.memory(), cards),
        };
        if fitted.pays() { Ok(Some(Arc::new(fitted))) } else { self.orbit_multiply(device) }
    }

    fn stored(&self) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        self.rows.stored()
    }
}

impl GeneratedKernels for PartnerRows {
    fn text(&self) -> Result<KernelText, TextError> {
        self.plan.text()
    }

    fn launches(&self, tables: &NamedTables) -> Result<Vec<Launch>, LaunchError> {
        self.plan.launches(kept_rows(self, tables))
    }

    /// Those that make the list of states and the table.
    fn set_up_launches(&self) -> Result<Vec<Launch>, LaunchError> {
        let own = [self.plan.count_launch()?, self.plan.fill_launch(self.plan.predicted_rows())?];
        Ok(self.plan.rows.set_up()?.into_iter().chain(own).collect())
    }

    fn partials(&self) -> u64 {
        self.plan.partials()
    }

    fn tables(&self, compile: CompileText<'_>, device: &Device) -> Result<NamedTables, PrepareError> {
        partner_tables(self, &compile()?, device)
    }

    fn traffic(&self) -> Traffic {
        match self.plan.paired() {
            0 => Traffic::Copies(self.plan.rows.dimension() as usize, self.plan.rows.scalar, "multiply"),
            numbers => Traffic::Staged(numbers, self.plan.rows.scalar),
        }
    }
}
