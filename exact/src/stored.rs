//! H as a stored sparse matrix, for states that are listed: those of more than 64 bits, and those of symmetry sectors.
//!
//! In: listed states, and the terms as transitions of their words. Out: compressed rows, made once by all cores, which the formats
//! and generated kernels of [`eigenforge_product::sparse`] multiply; so no kernel needs words of more than 64 bits.
//!
//! An element is the sum of its contributions in ascending order, so that H_ij and H_ji have the same bits.

use super::matrix::{about, bytes, matrix, matrix_by_rows};
use super::model::Model;
use super::structure::ListedTerms;
use super::way::{Request, Way};
use eigenforge_core::basis::Basis;
use eigenforge_core::operator::OperatorError;
use eigenforge_product::sparse::{
    Csr, FormatRanking, FormatRequest, Halo, RowStatistics, SparseOperator, Stored, Target, plans_by_vectors,
};
use eigenforge_product::{
    Engine, GeneratedKernels, HostProduct, HostRows, Multiply, MultiplyPlan, NormBounds, PrepareError, Received,
    ShownText,
};
use eigenforge_runtime::{Device, Scalar};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// The multiply of a stored H: its elements, which every device stores in a format of its own.
#[derive(Clone)]
pub struct StoredHamiltonian {
    name: String,
    scalar: ScalarType,
    elements: Arc<Csr>,
    /// Found when it is first wanted: all formats are ranked, and the best is filled.
    plan: Arc<OnceLock<SparsePlan>>,
}

impl StoredHamiltonian {
    /// H with a multiple of 1 added, for vectors of `scalar`.
    ///
    /// # Errors
    /// No room for the elements.
    pub(super) fn new(
        name: &str,
        basis: &Basis,
        terms: &ListedTerms,
        scalar: ScalarType,
        shift: f64,
    ) -> Result<StoredHamiltonian, OperatorError> {
        let elements = Arc::new(matrix(basis, terms, shift)?);
        Ok(StoredHamiltonian { name: name.into(), scalar, elements, plan: Arc::default() })
    }

    /// The elements.
    pub fn elements(&self) -> &Csr {
        &self.elements
    }

    /// Values stay in double precision for vectors of either type.
    fn wish(&self) -> FormatRequest {
        FormatRequest { scalar: self.scalar, ..FormatRequest::default() }
    }

    /// The plan on an H200.
    fn plan(&self) -> &SparsePlan {
        self.plan.get_or_init(|| {
            let statistics = RowStatistics::new(&self.elements);
            let ranking = FormatRanking::new(&self.elements, &statistics, Target::H200, self.wish());
            let (layout, wish) = (&ranking.best().layout, self.wish());
            let stored = Stored::new(&self.name, &self.elements, layout, wish.scalar, wish.values);
            stored.unwrap_or_else(|error| unreachable!("a ranked layout fits its matrix: {error}")).plan
        })
    }

    /// How so many cards would get x, in the layout of an H200; `None` if there are fewer blocks than cards.
    fn halo(&self, cards: u32) -> Option<Halo> {
        let ranking =
            FormatRanking::new(&self.elements, &RowStatistics::new(&self.elements), Target::H200, self.wish());
        Halo::new(&self.elements, &ranking.best().layout.block_start(&self.elements), cards, self.scalar)
    }
}

/// The multiply by the matrix of listed states with a multiple of 1 added, for vectors of a type.
///
/// # Errors
/// No room for the elements.
pub(super) fn matrix_of_terms(
    name: &str,
    basis: &Basis,
    terms: &ListedTerms,
    (scalar, shift): (ScalarType, f64),
) -> Result<Arc<dyn Multiply>, OperatorError> {
    Ok(Arc::new(StoredHamiltonian::new(name, basis, terms, scalar, shift)?))
}

/// The multiply by a matrix of so many rows and about so many elements, whose rows are made one by one.
///
/// # Errors
/// No room for the elements.
pub(super) fn matrix_of_rows(
    name: &str,
    scalar: ScalarType,
    [rows, about]: [u64; 2],
    row_of: impl Fn(u64, &mut Vec<(u32, f64)>) + Sync,
) -> Result<Arc<dyn Multiply>, OperatorError> {
    let elements = Arc::new(matrix_by_rows(rows, about, row_of)?);
    Ok(Arc::new(StoredHamiltonian { name: name.into(), scalar, elements, plan: Arc::default() }))
}

/// Models whose states are listed.
pub(super) struct StoredWay;

impl Way for StoredWay {
    fn is_for(&self, model: &Model) -> bool {
        model.listed_terms().is_some()
    }

    fn plan(&self, model: &Model, request: &Request<'_>) -> Result<Arc<dyn Multiply>, OperatorError> {
        let terms = model.listed_terms().unwrap_or_else(|| unreachable!("it is for this model"));
        matrix_of_terms(model.name(), model.basis(), terms, (request.scalar, request.constant))
    }

    /// The list of states with the matrix.
    fn table_bytes(&self, model: &Model, _: ScalarType, device: Option<&Device>) -> u64 {
        let Some(terms) = model.listed_terms() else { return 0 };
        if let (Some(sector), Some(_)) = (&terms.symmetric, device) {
            return sector.matrix_bytes();
        }
        let matrix = bytes(model.dimension(), about(model.basis(), terms));
        let list = terms.symmetric.as_ref().map_or(model.basis().lin_table_bytes(), |sector| sector.list_bytes());
        list.saturating_add(matrix)
    }

    fn stores_matrix(&self) -> bool {
        true
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

    fn scalar(&self) -> ScalarType {
        self.scalar
    }

    fn dimension(&self) -> usize {
        self.elements.rows()
    }

    fn shape(&self) -> String {
        format!("a stored matrix of {} elements", self.elements.non_zeros())
    }

    fn plan_text(&self) -> String {
        eigenforge_templates::ron(self.plan())
    }

    /// The least work of one multiply of compressed rows.
    fn cost(&self) -> Cost {
        let (rows, elements) = (self.elements.rows() as u64, self.elements.non_zeros());
        let vectors = 2 * self.scalar.bytes() as u64 * rows;
        Cost { flops: 2.0 * elements as f64, bytes: (bytes(rows, elements) + vectors) as f64 }
    }

    fn kernels(&self) -> Option<&dyn GeneratedKernels> {
        None
    }

    /// A table.
    fn diagonal_text(&self) -> ElementFunctionText {
        ElementFunctionText::stored_diagonal(self.elements.rows() as u64)
    }

    fn host(&self) -> Box<dyn HostProduct> {
        Box::new(HostMatrix(self.elements.clone()))
    }

    fn norm_bounds(&self) -> NormBounds {
        let whole = self.elements.largest_row_sum(0..self.elements.rows());
        NormBounds { whole, moving: whole }
    }

    /// Those of the format on an H200 for 1, 2, … vectors at once.
    fn shown_texts(&self) -> Result<Vec<ShownText>, PrepareError> {
        let shown =
            |plan: SparsePlan| Ok(ShownText { text: plan.text()?, launches: plan.launches()?, cost: plan.cost() });
        plans_by_vectors(self.plan(), Target::H200).into_iter().map(shown).collect()
    }

    fn received(&self, cards: u32) -> Option<Received> {
        self.halo(cards).map(|halo| Received::halo(&halo, self.scalar.bytes() as u64))
    }

    /// In the format that suits the device.
    fn own_engine(&self, device: &Device) -> Result<Option<Box<dyn Engine>>, PrepareError> {
        let matrix = SparseOperator::new(&self.name, self.elements.clone(), self.wish(), device)?;
        Ok(Some(Box::new(matrix)))
    }
}

/// The elements, for ranks that multiply their rows.
struct HostMatrix(Arc<Csr>);

impl HostRows for HostMatrix {
    fn dimension(&self) -> usize {
        self.0.rows()
    }

    fn rows<T: Scalar>(&self, x: &[T], first: usize, y: &mut [T]) -> f64 {
        self.0.multiply_rows(x, first, y)
    }

    fn diagonal(&self, index: usize) -> f64 {
        self.0.element(index, index as u32)
    }
}
