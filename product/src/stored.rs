//! The way of a stored matrix, for every family: its elements, which every device stores in a format of its own.
//!
//! In: compressed rows, made by a family. Out: on cards the formats and generated kernels of [`sparse`](crate::sparse); on cores, of one
//! process and of a rank, the rows themselves.

use super::cores::CoresMultiply;
use super::engine::ProductEngine;
use super::error::PrepareError;
use super::host::{HostProduct, HostRows};
use super::multiply::{BLOCKS, GeneratedKernels, Multiply, NormBounds, ShownText, StoredFormat};
use super::plan::MultiplyPlan;
use super::received::Received;
use crate::sparse::{
    Candidate, CoreRows, Csr, Format, FormatName, FormatRanking, FormatRequest, Halo, MadeRows, RowStatistics,
    SparseError, SparseOperator, Stored, Target, memory_table, plans_by_vectors,
};
use eigenforge_core::operator::OperatorError;
use eigenforge_runtime::{Device, Scalar};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use std::any::Any;
use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The name of the way of a stored matrix in plans and reports.
pub const STORED: &str = "stored matrix";

/// The name of the way of a table of columns with codes of their values.
pub const TABLE: &str = "table of partners";

/// The multiply of a stored H.
#[derive(Clone)]
pub struct StoredHamiltonian {
    name: String,
    /// Made when they are first wanted.
    elements: OnceLock<Arc<Csr>>,
    /// What makes them; cores multiply many such rows coded where their values are few.
    rows: Option<MadeRows>,
    /// Whether each element is a column with a code of its value, on every device and whatever the size.
    is_table: bool,
    wish: FormatRequest,
    /// What formats are ranked for; without it the device where it runs, and an H200 where it is shown.
    target: Option<Target>,
    /// The name of the layout to take, if it is one of the ranking.
    layout: Option<String>,
    /// Of a matrix that ranks share, each with its rows: a bound of the norm and the elements of all.
    of_ranks: Option<(f64, u64)>,
    /// Found when they are first wanted: all formats are ranked, and the best is filled.
    ranking: Arc<OnceLock<FormatRanking>>,
    plan: OnceLock<SparsePlan>,
}

impl StoredHamiltonian {
    /// Elements for vectors of `scalar`. Values stay in double precision for vectors of either type.
    pub fn new(name: &str, elements: Csr, scalar: ScalarType) -> StoredHamiltonian {
        StoredHamiltonian {
            name: name.into(),
            elements: OnceLock::from(Arc::new(elements)),
            rows: None,
            is_table: false,
            wish: FormatRequest { scalar, ..FormatRequest::default() },
            target: None,
            layout: None,
            of_ranks: None,
            ranking: Arc::default(),
            plan: OnceLock::new(),
        }
    }

    /// The same of rows that are made where and when they are wanted.
    pub fn from_rows(name: &str, rows: MadeRows, scalar: ScalarType) -> StoredHamiltonian {
        let empty = Csr::new(vec![0], Vec::new(), Vec::new()).unwrap_or_else(|error| unreachable!("{error}"));
        StoredHamiltonian { elements: OnceLock::new(), rows: Some(rows), ..StoredHamiltonian::new(name, empty, scalar) }
    }

    /// The same as a table: every element is a column with a code of its value. A matrix with more values than codes is refused when it is
    /// placed on a device.
    #[must_use]
    pub fn as_table(self) -> StoredHamiltonian {
        StoredHamiltonian { is_table: true, ranking: Arc::default(), plan: OnceLock::new(), ..self }
    }

    /// The same in a format that is asked for, or the best one, of a target.
    #[must_use]
    pub fn for_target(self, wish: FormatRequest, target: Target) -> StoredHamiltonian {
        StoredHamiltonian { wish, target: Some(target), ranking: Arc::default(), plan: OnceLock::new(), ..self }
    }

    /// The same in the layout of a name, if it is one of [`StoredHamiltonian::layouts`].
    #[must_use]
    pub fn with_layout(self, layout: Option<String>) -> StoredHamiltonian {
        StoredHamiltonian { layout, plan: OnceLock::new(), ..self }
    }

    /// The same as the rows of one rank, with a bound of the norm and the elements of all ranks.
    #[must_use]
    pub fn for_rank(self, norm: f64, non_zeros: u64) -> StoredHamiltonian {
        StoredHamiltonian { of_ranks: Some((norm, non_zeros)), ..self }
    }

    /// The elements.
    pub fn elements(&self) -> &Arc<Csr> {
        self.elements.get_or_init(|| {
            let rows = self.rows.as_ref().unwrap_or_else(|| unreachable!("it has elements, or what makes them"));
            Arc::new(rows.compressed())
        })
    }

    /// The layouts that are worth timing, the model's choice first; their names are unique.
    pub fn layouts(&self) -> Vec<Candidate> {
        let ranking = self.ranking();
        ranking.worth_timing().cloned().chain(ranking.best().variants()).collect()
    }

    fn non_zeros(&self) -> u64 {
        self.of_ranks.map_or_else(|| self.elements().non_zeros(), |(_, non_zeros)| non_zeros)
    }

    fn target(&self) -> Target {
        self.target.unwrap_or(Target::H200)
    }

    fn ranking_for(&self, target: Target) -> FormatRanking {
        let ranking = if self.is_table { FormatRanking::coded } else { FormatRanking::new };
        ranking(self.elements(), &RowStatistics::new(self.elements()), target, self.wish)
    }

    fn ranking(&self) -> &FormatRanking {
        self.ranking.get_or_init(|| self.ranking_for(self.target()))
    }

    fn candidate(&self) -> Candidate {
        let named = |layout: &String| self.layouts().into_iter().find(|other| other.name() == *layout);
        self.layout.as_ref().and_then(named).unwrap_or_else(|| self.ranking().best().clone())
    }

    /// The plan for one vector where it is shown.
    fn plan(&self) -> Result<&SparsePlan, SparseError> {
        if let Some(plan) = self.plan.get() {
            return Ok(plan);
        }
        let layout = self.candidate().layout;
        let plan = Stored::new(&self.name, self.elements(), &layout, self.wish.scalar, self.wish.values)?.plan;
        Ok(self.plan.get_or_init(|| plan))
    }

    /// Its plans there for 1, 2, … vectors at once.
    fn plans(&self) -> Result<Vec<SparsePlan>, SparseError> {
        Ok(plans_by_vectors(self.plan()?, self.target()))
    }

    /// Non-zeros, bytes of each format, and the choice.
    fn describe(&self, out: &mut String) -> std::fmt::Result {
        let (statistics, ranking) = (RowStatistics::new(self.elements()), self.ranking());
        let boundary = match ranking.best().format {
            Format::Hybrid { boundary } => boundary,
            _ => statistics.shortest,
        };
        let (shortest, longest) = (statistics.shortest, statistics.longest);
        writeln!(out, "{} non-zeros, {shortest} to {longest} a row", self.elements().non_zeros())?;
        for line in memory_table(self.elements(), &statistics, boundary) {
            writeln!(out, "  {:<28} {:>12.2} MB", line.format, line.bytes as f64 / 1e6)?;
        }
        if let Some(plan) = self.plans().ok().and_then(|plans| plans.into_iter().next()) {
            writeln!(out, "  {:<28} {:>12.2} MB: {plan}", "as stored", plan.matrix_bytes() as f64 / 1e6)?;
        }
        writeln!(out, "{}", ranking.reason)
    }
}

/// A matrix that is given whole, for any device; clones share its elements.
#[derive(Clone)]
pub(super) struct StoredMatrix(StoredHamiltonian);

impl StoredMatrix {
    pub(super) fn new(name: &str, elements: Csr) -> StoredMatrix {
        StoredMatrix(StoredHamiltonian::new(name, elements, ScalarType::F64))
    }

    pub(super) fn elements(&self) -> &Arc<Csr> {
        self.0.elements()
    }

    /// The product in the best format of a target; `None` on cores, which multiply the rows as they are.
    pub(super) fn multiply(&self, target: Option<Target>) -> MultiplyPlan {
        let way = self.0.clone();
        MultiplyPlan::from(match target {
            Some(target) => way.for_target(FormatRequest::default(), target),
            None => way,
        })
    }
}

impl From<StoredHamiltonian> for MultiplyPlan {
    fn from(way: StoredHamiltonian) -> MultiplyPlan {
        MultiplyPlan::new(way)
    }
}

impl Multiply for StoredHamiltonian {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn way_name(&self) -> &'static str {
        if self.is_table { TABLE } else { STORED }
    }

    fn scalar(&self) -> ScalarType {
        self.wish.scalar
    }

    fn dimension(&self) -> usize {
        self.rows.as_ref().map_or_else(|| self.elements().vector_length(), MadeRows::dimension)
    }

    fn shape(&self) -> String {
        match self.target {
            Some(_) => self.candidate().name(),
            None => format!("a stored matrix of {} elements", self.elements().non_zeros()),
        }
    }

    fn plan_text(&self) -> String {
        self.plan().map_or_else(|error| error.to_string(), eigenforge_templates::ron)
    }

    /// The least work of one multiply of compressed rows.
    fn cost(&self) -> Cost {
        let (matrix, elements) = (self.elements(), self.non_zeros() as f64);
        let vectors = 2.0 * (self.wish.scalar.bytes() * matrix.vector_length()) as f64;
        let element = (4 + 8 * matrix.parts()) as f64;
        Cost {
            flops: matrix.kind().product_flops() as f64 * elements,
            bytes: element * elements + 8.0 * (matrix.rows() as f64 + 1.0) + vectors,
        }
    }

    fn kernels(&self) -> Option<&dyn GeneratedKernels> {
        None
    }

    /// A table.
    fn diagonal_text(&self) -> ElementFunctionText {
        ElementFunctionText::stored_diagonal(self.dimension() as u64)
    }

    fn host(&self) -> Result<Box<dyn HostProduct>, PrepareError> {
        let (rows, coded) = (0..self.elements().rows(), self.rows.is_some());
        Ok(Box::new(CoreRows::new(self.elements().clone(), rows, coded)))
    }

    /// On cores rows that are coded as they are made.
    fn replacement(&self, device: &Device) -> Result<Option<Arc<dyn Multiply>>, OperatorError> {
        let Some(rows) = self.rows.as_ref().filter(|_| !device.runs_kernels()) else { return Ok(None) };
        let coded = match self.is_table {
            true => Some(rows.coded_always()?),
            false if self.elements.get().is_some() => None,
            false => rows.coded_where_it_pays(),
        };
        let Some(coded) = coded else { return Ok(None) };
        let norm = coded.largest_row_sum();
        let rows = CoreRows::Coded(Arc::new(coded));
        Ok(Some(Arc::new(CoresMultiply { norm, cost: rows.cost(), rows, shape: self.way_name() })))
    }

    fn norm_bounds(&self) -> NormBounds {
        let own = || self.elements().largest_row_sum(0..self.elements().rows());
        let whole = self.of_ranks.map_or_else(own, |(norm, _)| norm);
        NormBounds { whole, moving: whole }
    }

    fn table_bytes(&self) -> Option<(&'static str, u64)> {
        Some(("the stored matrix", self.plans().ok()?.first()?.matrix_bytes()))
    }

    fn cost_text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.describe(&mut out);
        out
    }

    fn format(&self) -> Option<StoredFormat<'_>> {
        let ranking = self.target.map(|_| self.ranking());
        let format = ranking.map_or(Format::Csr, |_| self.candidate().format);
        Some(StoredFormat { non_zeros: self.non_zeros(), format, ranking })
    }

    /// Those of the format for 1, 2, … vectors at once.
    fn shown_texts(&self) -> Result<Vec<ShownText>, PrepareError> {
        let shown = |(number, plan): (usize, SparsePlan)| {
            let when = if number == 0 { "" } else { BLOCKS };
            Ok(ShownText { text: plan.text()?, launches: plan.launches()?, cost: Some(plan.cost()), when })
        };
        self.plans()?.into_iter().enumerate().map(shown).collect()
    }

    /// `None` if there are fewer blocks than cards.
    fn received(&self, cards: u32) -> Option<Received> {
        let blocks = self.candidate().layout.block_start(self.elements());
        let halo = Halo::new(self.elements(), &blocks, cards, self.wish.scalar)?;
        Some(Received::halo(&halo, (self.elements().parts() * self.wish.scalar.bytes()) as u64))
    }

    /// In the format that suits the device; compressed rows on cores are multiplied by [`Multiply::host`].
    fn own_engine(&self, device: &Device) -> Result<Option<Box<dyn ProductEngine>>, PrepareError> {
        if !device.runs_kernels() && self.wish.format != Some(FormatName::Symmetric) {
            return Ok(None);
        }
        let layout = match self.target {
            Some(_) => self.candidate().layout,
            None => self.ranking_for(Target::new(device)).best().layout.clone(),
        };
        let matrix = SparseOperator::with_layout(&self.name, self.elements().clone(), &layout, self.wish, device)?;
        Ok(Some(Box::new(matrix)))
    }
}

impl HostRows for CoreRows {
    fn dimension(&self) -> usize {
        self.dimension()
    }

    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        self.multiply(&[x], first, &mut [y]).iter().sum()
    }

    fn block<T: Scalar>(&self, x: &[&[T]], y: &mut [&mut [T]]) -> Vec<f64> {
        self.multiply(x, self.elements().start, y)
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.diagonal(index)
    }

    fn cut(&self, shares: usize) -> Vec<usize> {
        self.cut(shares)
    }

    fn only(self, share: Range<usize>) -> CoreRows {
        self.only(share)
    }
}
