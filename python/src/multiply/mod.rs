//! y = H x on arrays of Python's: NumPy's, or those that another library keeps on the card of H.
//!
//! In: an array (states, columns), real or complex, in any order in memory. Out: H times each column, into an array of the same shape. Vectors of the
//! device are made once and used in every call; calls from several threads take turns.
//!
//! | file | question it answers |
//! |---|---|
//! | `number` | how do numbers of an array stand in vectors of the device? |
//! | `host` | how does H multiply columns of the host's memory? |
//! | `card` | how does it multiply those of a card, where they are, on the caller's stream? |
//! | `card_array` | where is an array of a card, and what does it hold? |

mod card;
mod card_array;
mod host;
mod number;

use crate::calls::check_process;
use crate::errors::{input_error, raised};
use card_array::CardArray;
use eigenforge::Error;
use eigenforge::exact::Model;
use eigenforge::runtime::{CallerStream, ColumnCopies, Device, LinearOperator, PartOrder, Vector};
use eigenforge_product::{Hamiltonian, HermitianMatrix};
use eigenforge_templates::ScalarType;
use num_complex::Complex;
use number::{Number, Part};
use numpy::{PyArrayDescrMethods, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::prelude::*;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, OnceLock};

/// Columns that are multiplied at once.
const BLOCK: usize = 4;

/// H of a model on a device.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct Multiply {
    hamiltonian: Hamiltonian<'static>,
    scalar: ScalarType,
    layout: Layout,
    states: usize,
    double: Mutex<Vectors<f64>>,
    single: Mutex<Vectors<f32>>,
    /// Made when an array of a card first comes.
    caller: OnceLock<CallerStream>,
    /// Copies parts of numbers on a card.
    copies: OnceLock<ColumnCopies>,
    /// A bit for each number of vectors that was multiplied at once: all that it needs is on the card.
    multiplied: AtomicU32,
}

/// How vectors of the device hold the numbers that H multiplies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// H is real: a vector is a column, or one part of a complex one.
    Real,
    /// H is complex: all real parts, after them all imaginary ones.
    Halves,
    /// H is complex: number after number.
    Numbers,
}

impl Layout {
    fn is_complex(self) -> bool {
        self != Layout::Real
    }

    /// How a vector has both parts of complex numbers.
    fn together(self) -> Option<PartOrder> {
        match self {
            Layout::Real => None,
            Layout::Halves => Some(PartOrder::Halves),
            Layout::Numbers => Some(PartOrder::Numbers(2)),
        }
    }

    /// Vectors of a column whose numbers have so many parts.
    fn vectors(self, parts: usize) -> usize {
        if self.is_complex() { 1 } else { parts }
    }
}

/// Vectors on the device, and one on the host.
#[derive(Default)]
struct Vectors<P: Part> {
    x: Vec<Vector<P>>,
    y: Vec<Vector<P>>,
    host: Vec<P>,
}

impl Multiply {
    /// Puts H of a model on a device, for arrays of a precision.
    pub(crate) fn of_model(model: Model, scalar: ScalarType, device: &Device) -> Result<Multiply, Error> {
        let hamiltonian = model.whole_on_device(device, scalar, 2 * BLOCK as u64)?;
        let states = model.states() as usize;
        let layout = if model.is_complex() { Layout::Halves } else { Layout::Real };
        Ok(Multiply::new(hamiltonian, scalar, layout, states))
    }

    /// Puts a real or complex Hermitian matrix on a device.
    pub(crate) fn of_matrix(matrix: &HermitianMatrix, device: &Device) -> Result<Multiply, Error> {
        let (rows, parts) = (matrix.rows() as usize, matrix.kind().parts());
        let vectors = 2 * BLOCK as u64 * 8 * matrix.real_rows();
        let hamiltonian = Hamiltonian::new(matrix.multiply(device, vectors), "the matrix", device)?.of_numbers(parts);
        let layout = if parts == 1 { Layout::Real } else { Layout::Numbers };
        Ok(Multiply::new(hamiltonian, ScalarType::F64, layout, rows))
    }

    fn new(hamiltonian: Hamiltonian<'static>, scalar: ScalarType, layout: Layout, states: usize) -> Multiply {
        let (double, single, caller, copies, multiplied) = Default::default();
        Multiply { hamiltonian, scalar, layout, states, double, single, caller, copies, multiplied }
    }

    /// H for vectors of one type.
    fn operator<P: Part>(&self) -> &dyn LinearOperator<P> {
        &self.hamiltonian
    }

    /// Multiplies arrays of NumPy's whose numbers are of this type.
    fn columns<N: Number>(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        let (x, mut y): (PyReadonlyArray2<'_, N>, PyReadwriteArray2<'_, N>) = (x.extract()?, y.extract()?);
        let (x, y) = (x.as_array(), y.as_array_mut());
        if x.nrows() != self.states || x.dim() != y.dim() {
            let (states, found, other) = (self.states, x.dim(), y.dim());
            return Err(input_error(
                &format!("expected arrays of shape ({states}, columns), found x of {found:?} and y of {other:?}"),
                "",
            ));
        }
        py.detach(|| match self.caller.get() {
            Some(caller) => caller.device_work(|| self.multiply_host(x, y)),
            None => self.multiply_host(x, y),
        })
        .map_err(|error| raised(error.into()))
    }
}

#[pymethods]
impl Multiply {
    /// Number of states.
    #[getter]
    fn states(&self) -> usize {
        self.states
    }

    /// The numbers of its arrays, as NumPy names them.
    #[getter]
    fn dtype(&self) -> &'static str {
        match (self.scalar, self.layout.is_complex()) {
            (ScalarType::F64, false) => "float64",
            (ScalarType::F64, true) => "complex128",
            (ScalarType::F32, false) => "float32",
            (ScalarType::F32, true) => "complex64",
        }
    }

    /// y = H x of columns of NumPy's, of its numbers or the complex ones of its precision.
    fn host(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>) -> PyResult<()> {
        check_process()?;
        let found = x.cast::<PyUntypedArray>()?.dtype();
        match (self.scalar, self.layout.is_complex()) {
            (ScalarType::F64, false) if found.is_equiv_to(&dtype::<f64>(py)) => self.columns::<f64>(py, x, y),
            (ScalarType::F32, false) if found.is_equiv_to(&dtype::<f32>(py)) => self.columns::<f32>(py, x, y),
            (ScalarType::F64, _) => self.columns::<Complex<f64>>(py, x, y),
            (ScalarType::F32, _) => self.columns::<Complex<f32>>(py, x, y),
        }
    }

    /// y = H x of columns of a card, in the order of the caller's stream, of which this is the driver's handle; without one it waits until y is
    /// there.
    #[pyo3(signature = (x, y, stream=None))]
    fn card(&self, py: Python<'_>, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<()> {
        check_process()?;
        let caller = self.caller().map_err(|error| raised(error.into()))?;
        let arrays = [x, y].map(|array| CardArray::read(array, stream.map_or(caller.own_stream() as i64, |_| -1)));
        let [x, y] = arrays;
        let (x, y) = (x?, y?);
        self.check_card(&x, &y)?;
        py.detach(|| self.multiply_card(caller, &x.place, &y.place, stream)).map_err(|error| raised(error.into()))
    }
}
