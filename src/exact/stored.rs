//! H as a stored sparse matrix, for states that are listed: those of more than 64 bits, and those of symmetry sectors.
//!
//! In: listed states, and the terms as transitions of their words. Out: compressed rows, made once by all cores, which the formats
//! and generated kernels of [`crate::sparse`] multiply; so no kernel needs words of more than 64 bits.
//!
//! An element is the sum of its contributions in ascending order, so that H_ij and H_ji have the same bits.

use super::model::Model;
use super::structure::ListedTerms;
use super::way::{Request, Way};
use crate::basis::Basis;
use crate::operator::{OperatorError, Word};
use crate::product::{
    Engine, GeneratedKernels, HostProduct, HostRows, Multiply, MultiplyPlan, NormBounds, PrepareError, Received,
    ShownText,
};
use crate::sparse::{
    Csr, FormatRanking, FormatRequest, Halo, RowStatistics, SparseOperator, Stored, Target, plans_by_vectors,
};
use eigenforge_runtime::{Device, Scalar, trace};
use eigenforge_templates::sparse::SparsePlan;
use eigenforge_templates::{Cost, ElementFunctionText, ScalarType};
use rayon::prelude::*;
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Rows that one core makes at a time, and how many of such pieces wait to be joined, for each core.
const PIECE: usize = 2048;
const WAITING: usize = 16;
/// Rows whose elements are counted to know about how many there are.
const SAMPLE: u64 = 2048;

/// What makes the rows of a matrix.
struct Rows<'a> {
    basis: &'a Basis,
    terms: &'a ListedTerms,
    /// Added to the diagonal.
    shift: f64,
}

impl Rows<'_> {
    /// The elements of a row, columns ascending, in place of what is in the list.
    fn row(&self, row: u64, elements: &mut Vec<(u32, f64)>) {
        if let Some(sector) = &self.terms.symmetric {
            return sector.row(self.basis, &self.terms.diagonal, self.shift, row, elements);
        }
        elements.clear();
        let (state, word): (u128, &Word) = (self.basis.state(row), self.basis.word());
        let on_diagonal = self.terms.diagonal.iter().map(|term| (row as u32, term.value(state, word)));
        elements.extend(on_diagonal.chain([(row as u32, self.shift)]));
        for term in &self.terms.moves {
            let Some(amplitude) = term.amplitude_in(state) else { continue };
            if let Some(reached) = self.basis.index(state ^ term.flip) {
                elements.push((reached as u32, amplitude));
            }
        }
        elements.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        elements.dedup_by(|next, sum| {
            let same = next.0 == sum.0;
            if same {
                sum.1 += next.1;
            }
            same
        });
        // The diagonal stays, because formats and preconditioners look for it.
        elements.retain(|(column, value)| *value != 0.0 || u64::from(*column) == row);
    }
}

/// The number of elements of each of some rows, and the elements.
type Piece = (Vec<usize>, Vec<(u32, f64)>);

/// Makes some rows.
fn piece(row_of: impl Fn(u64, &mut Vec<(u32, f64)>), rows: Range<usize>) -> Piece {
    let (mut lengths, mut all, mut elements) = (Vec::with_capacity(rows.len()), Vec::new(), Vec::new());
    for row in rows {
        row_of(row as u64, &mut elements);
        lengths.push(elements.len());
        all.extend_from_slice(&elements);
    }
    (lengths, all)
}

/// One row of the matrix of H with a multiple of 1 added, columns ascending.
pub(super) fn row(basis: &Basis, terms: &ListedTerms, shift: f64, row: u64) -> Vec<(u32, f64)> {
    let mut elements = Vec::new();
    Rows { basis, terms, shift }.row(row, &mut elements);
    elements
}

/// About how many elements the matrix has, by some of its rows; of a small sector at most so many. In a symmetry sector by some of the
/// states without symmetry.
pub(super) fn about(basis: &Basis, terms: &ListedTerms) -> u64 {
    if let Some(sector) = &terms.symmetric {
        return sector.about_elements();
    }
    let (rows, sample) = (basis.dimension(), basis.dimension().min(SAMPLE));
    let of_row = |number: u64| {
        let row = (u128::from(number) * u128::from(rows) / u128::from(sample)) as u64;
        let state = basis.state(row);
        let reaches = |term: &&crate::operator::Transition<u128>| {
            term.amplitude_in(state).is_some() && basis.index(state ^ term.flip).is_some()
        };
        1 + terms.moves.iter().filter(reaches).count() as u64
    };
    let counted: u64 = (0..sample).into_par_iter().map(of_row).sum();
    (u128::from(counted) * u128::from(rows) / u128::from(sample.max(1))) as u64
}

/// Bytes of compressed rows.
pub(super) fn bytes(rows: u64, elements: u64) -> u64 {
    elements.saturating_mul((size_of::<u32>() + size_of::<f64>()) as u64).saturating_add(8 * (rows + 1))
}

/// The matrix of H with a multiple of 1 added.
fn matrix(basis: &Basis, terms: &ListedTerms, shift: f64) -> Result<Csr, OperatorError> {
    if let Some(sector) = &terms.symmetric {
        sector.check_matrix()?;
        sector.orbits().prepare();
    }
    let makes = Rows { basis, terms, shift };
    of_rows(basis.dimension(), about(basis, terms), |row, elements| makes.row(row, elements))
}

/// The matrix of rows that are made one by one, with about so many elements.
fn of_rows(rows: u64, elements: u64, row_of: impl Fn(u64, &mut Vec<(u32, f64)>) + Sync) -> Result<Csr, OperatorError> {
    let _making = trace::span("set up", "matrix elements");
    let (needed, free) = (bytes(rows, elements), Device::cpu().memory().free);
    if needed > free {
        return Err(OperatorError::NoRoomForMatrix { states: rows, elements, needed, free });
    }
    // A part more than there are about: to move them all would need room for both.
    let room = (elements + elements / 32) as usize;
    let (mut columns, mut values) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let (mut row_start, mut end) = (Vec::with_capacity(rows as usize + 1), 0);
    row_start.push(0);
    let starts: Vec<usize> = (0..rows as usize).step_by(PIECE).collect();
    for waiting in starts.chunks(WAITING * rayon::current_num_threads()) {
        let piece = |start: &usize| piece(&row_of, *start..(start + PIECE).min(rows as usize));
        let made: Vec<Piece> = waiting.par_iter().map(piece).collect();
        row_start.extend(made.iter().flat_map(|(lengths, _)| lengths).map(|length| {
            end += *length as u64;
            end
        }));
        append(&made, &mut columns, &mut values);
    }
    Ok(Csr::new(row_start, columns, values).unwrap_or_else(|error| unreachable!("rows are made in order: {error}")))
}

/// Appends the elements of pieces, all cores at once: most of the time goes into memory that is touched for the first time.
fn append(made: &[Piece], columns: &mut Vec<u32>, values: &mut Vec<f64>) {
    let added: usize = made.iter().map(|(_, elements)| elements.len()).sum();
    columns.reserve(added);
    values.reserve(added);
    let mut to_columns = &mut columns.spare_capacity_mut()[..added];
    let mut to_values = &mut values.spare_capacity_mut()[..added];
    let mut parts = Vec::with_capacity(made.len());
    for (_, elements) in made {
        let (of_columns, later_columns) = std::mem::take(&mut to_columns).split_at_mut(elements.len());
        let (of_values, later_values) = std::mem::take(&mut to_values).split_at_mut(elements.len());
        (to_columns, to_values) = (later_columns, later_values);
        parts.push((elements, of_columns, of_values));
    }
    parts.into_par_iter().for_each(|(elements, columns, values)| {
        for (((column, value), to_column), to_value) in elements.iter().zip(columns).zip(values) {
            to_column.write(*column);
            to_value.write(*value);
        }
    });
    // SAFETY: there is room for as many more, and each was written just now.
    unsafe {
        columns.set_len(columns.len() + added);
        values.set_len(values.len() + added);
    }
}

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
    let elements = Arc::new(of_rows(rows, about, row_of)?);
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
