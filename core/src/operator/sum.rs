//! A `sum!` as the user wrote it: where, over which indices, with which parameters, and its translation to CUDA.

use super::Operator;
use super::notes::{Place, SumNotes};
use serde::{Deserialize, Serialize};

/// Compile-time information of `#[gpu_operator]` on a `sum!`.
#[derive(Clone, Copy, Debug)]
pub struct SumSource {
    /// File of the definition.
    pub file: &'static str,
    /// Line of the `sum!`.
    pub line: u32,
    /// The sum as written.
    pub text: &'static str,
    /// Names of the loop variables, in the order in which their values are pushed.
    pub indices: &'static [&'static str],
    /// The whole expression in CUDA when it is diagonal (n, Sᶻ and scalars only).
    pub cuda: Option<&'static str>,
    /// The coefficient of each product in CUDA.
    pub coefficients: &'static [&'static str],
    /// A spin operator that appears twice in one product, such as `sz(i) * sz(i)`.
    pub square: Option<&'static str>,
}

/// A `sum!` with the values of its indices and parameters: enough to generate its CUDA text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedSum {
    /// File of the definition.
    pub file: String,
    /// Line of the `sum!`.
    pub line: u32,
    /// The sum as written.
    pub text: String,
    /// Names of the loop variables.
    pub indices: Vec<String>,
    /// Their values, one row per summand. Empty for a non-diagonal sum of more than 65,536 summands, from which no text
    /// is generated.
    pub rows: Vec<Vec<f64>>,
    /// Parameters that the CUDA text refers to: a scalar has one value.
    pub parameters: Vec<RecordedParameter>,
    /// The expression in CUDA when it is diagonal.
    pub cuda: Option<String>,
    /// The coefficient of each product in CUDA.
    pub coefficients: Vec<String>,
    /// Whether any product of the sum is diagonal.
    pub has_diagonal: bool,
}

/// A captured parameter of a model definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedParameter {
    /// Its name in the definition.
    pub name: String,
    /// Its values.
    pub values: Vec<f64>,
    /// Whether it is a slice (indexed in the text) or one number.
    pub indexed: bool,
    /// Whether it is an integer.
    pub integer: bool,
}

/// Off-diagonal sums with more summands do not store the values of their indices.
const MOST_ROWS: usize = 1 << 16;

/// Collects the summands of one `sum!`.
pub struct Sum {
    recorded: RecordedSum,
    operator: Operator,
    keeps_rows: bool,
    notes: SumNotes,
    square: Option<&'static str>,
}

impl Sum {
    /// Starts a sum.
    pub fn new(source: SumSource) -> Sum {
        let owned = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect();
        let recorded = RecordedSum {
            file: source.file.into(),
            line: source.line,
            text: source.text.into(),
            indices: owned(source.indices),
            rows: Vec::new(),
            parameters: Vec::new(),
            cuda: source.cuda.map(Into::into),
            coefficients: owned(source.coefficients),
            has_diagonal: false,
        };
        let notes = SumNotes::new(Place::new(&recorded));
        Sum { recorded, operator: Operator::zero(), keeps_rows: true, notes, square: source.square }
    }

    /// Records a parameter that the CUDA text refers to.
    pub fn parameter<P: ModelParameter + ?Sized>(&mut self, name: &str, value: &P) {
        let (values, indexed, integer) = value.record();
        self.recorded.parameters.push(RecordedParameter { name: name.into(), values, indexed, integer });
    }

    /// Notes a bond whose weight the sum does not use: an error of the model unless it is 1.
    pub fn weight_left_out(&mut self, i: usize, j: usize, weight: f64) {
        if weight != 1.0 {
            self.notes.weight.get_or_insert((i, j, weight));
        }
    }

    /// Notes a site of c†, c or n, in a definition that has spin operators as well.
    pub fn electron_at(&mut self, site: usize) {
        self.notes.electrons.insert(site);
    }

    /// Notes a site of an operator for the spin of electrons.
    pub fn electron_spin_at(&mut self, site: usize) {
        self.notes.spins.insert(site);
    }

    /// Notes the sites of an Sᵢ·Sⱼ of electrons.
    pub fn electron_sdots_at(&mut self, i: usize, j: usize) {
        self.notes.spins.extend([i, j]);
        self.notes.same_site = Some(self.notes.same_site.unwrap_or(true) && i == j);
    }

    /// Adds one summand, for these values of the loop variables.
    pub fn push(&mut self, indices: &[f64], summand: Operator) {
        if self.keeps_rows {
            self.recorded.rows.push(indices.to_vec());
            self.keeps_rows = self.recorded.cuda.is_some() || self.recorded.rows.len() <= MOST_ROWS;
            if !self.keeps_rows {
                self.recorded.rows = Vec::new();
            }
        }
        self.operator.add_terms(summand, 1.0);
    }

    /// The sum.
    pub fn finish(self) -> Operator {
        let Sum { mut recorded, mut operator, mut notes, square, .. } = self;
        operator.drop_zeros();
        notes.square = square.filter(|_| operator.has_squares()).map(Into::into);
        if !notes.is_empty() {
            operator.notes = vec![notes];
        }
        recorded.has_diagonal = operator.terms().any(|(product, _)| super::transition::is_diagonal(product));
        if !operator.is_empty() {
            operator.sums = vec![recorded];
        }
        operator.sums_current = true;
        operator
    }
}

/// Types that a model definition may take as parameters and use in CUDA text.
pub trait ModelParameter {
    /// Values, whether indexed, whether integer.
    fn record(&self) -> (Vec<f64>, bool, bool);
}

macro_rules! scalar_parameter {
    ($($kind:ty: $integer:literal),*) => {$(
        impl ModelParameter for $kind {
            fn record(&self) -> (Vec<f64>, bool, bool) {
                (vec![*self as f64], false, $integer)
            }
        }
        impl ModelParameter for [$kind] {
            fn record(&self) -> (Vec<f64>, bool, bool) {
                (self.iter().map(|value| *value as f64).collect(), true, $integer)
            }
        }
        impl ModelParameter for Vec<$kind> {
            fn record(&self) -> (Vec<f64>, bool, bool) {
                self.as_slice().record()
            }
        }
        impl<const N: usize> ModelParameter for [$kind; N] {
            fn record(&self) -> (Vec<f64>, bool, bool) {
                self.as_slice().record()
            }
        }
    )*};
}
scalar_parameter!(f64: false, f32: false, usize: true, u32: true, u64: true, i32: true, i64: true);

impl<P: ModelParameter + ?Sized> ModelParameter for &P {
    fn record(&self) -> (Vec<f64>, bool, bool) {
        (*self).record()
    }
}
