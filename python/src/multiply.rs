//! y = H x on arrays of Python's.
//!
//! In: an array (states, columns), real or complex, in any order in memory. Out: H times each column, into an array of the same shape. Vectors of the
//! device are made once and used in every call; calls from several threads take turns.

use crate::calls::check_process;
use crate::errors::{input_error, raised};
use eigenforge::Error;
use eigenforge::exact::Model;
use eigenforge::runtime::{Device, DeviceError, LinearOperator, Vector};
use eigenforge_product::Hamiltonian;
use num_complex::Complex64;
use numpy::ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};
use numpy::{PyReadonlyArray2, PyReadwriteArray2};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Columns that are multiplied at once.
const BLOCK: usize = 4;

/// H of a model on a device.
#[pyclass(frozen, module = "eigenforge")]
pub(crate) struct Multiply {
    hamiltonian: Hamiltonian<'static>,
    /// What the multiply leaves out of the diagonal.
    constant: f64,
    complex: bool,
    states: usize,
    vectors: Mutex<Vectors>,
}

/// Vectors on the device, and one on the host.
#[derive(Default)]
struct Vectors {
    x: Vec<Vector<f64>>,
    y: Vec<Vector<f64>>,
    host: Vec<f64>,
}

/// Numbers of an array, and how a column of them stands in vectors of the device.
trait Column: Copy + Send + Sync {
    /// Vectors of the device for a column, if H is complex or real.
    fn vectors(complex: bool) -> usize;
    /// Fills the place of one of them.
    fn split(column: ArrayView1<'_, Self>, part: usize, complex: bool, place: &mut Vec<f64>);
    /// The contiguous numbers of a column that are such a vector already.
    fn contiguous<'a>(column: &'a ArrayView1<'_, Self>) -> Option<&'a [f64]>;
    /// Takes y from them, and adds the constant times x.
    fn join(y: &[Vec<f64>], x: ArrayView1<'_, Self>, constant: f64, out: ArrayViewMut1<'_, Self>);
}

impl Column for f64 {
    fn vectors(_complex: bool) -> usize {
        1
    }

    fn split(column: ArrayView1<'_, f64>, _part: usize, _complex: bool, place: &mut Vec<f64>) {
        place.extend(column);
    }

    fn contiguous<'a>(column: &'a ArrayView1<'_, f64>) -> Option<&'a [f64]> {
        column.as_slice()
    }

    fn join(y: &[Vec<f64>], x: ArrayView1<'_, f64>, constant: f64, mut out: ArrayViewMut1<'_, f64>) {
        out.iter_mut().zip(&y[0]).zip(x).for_each(|((out, y), x)| *out = y + constant * x);
    }
}

impl Column for Complex64 {
    fn vectors(complex: bool) -> usize {
        if complex { 1 } else { 2 }
    }

    fn split(column: ArrayView1<'_, Complex64>, part: usize, complex: bool, place: &mut Vec<f64>) {
        if complex || part == 0 {
            place.extend(column.iter().map(|number| number.re));
        }
        if complex || part == 1 {
            place.extend(column.iter().map(|number| number.im));
        }
    }

    fn contiguous<'a>(_column: &'a ArrayView1<'_, Complex64>) -> Option<&'a [f64]> {
        None
    }

    fn join(y: &[Vec<f64>], x: ArrayView1<'_, Complex64>, constant: f64, mut out: ArrayViewMut1<'_, Complex64>) {
        let (re, im) = match y {
            [re, im] => (&re[..], &im[..]),
            _ => y[0].split_at(y[0].len() / 2),
        };
        let parts = re.iter().zip(im);
        out.iter_mut()
            .zip(parts)
            .zip(x)
            .for_each(|((out, (re, im)), x)| *out = Complex64::new(*re, *im) + constant * x);
    }
}

impl Multiply {
    /// Puts H of a model on a device.
    pub(crate) fn new(model: Model, device: &Device) -> Result<Multiply, Error> {
        if device.runs_kernels() && model.symmetry_group().is_some() {
            let why = "a card has an order of its own for the states of a symmetry sector: take device=\"cpu\", or leave [symmetry] out";
            let family = eigenforge::input::Family::Lattice;
            return Err(Error::not_of_family(family, "a linear operator in a symmetry sector on a card", why));
        }
        let hamiltonian = model.on_device(device, 2 * BLOCK as u64)?;
        let (constant, complex, states) = (model.constant(), model.is_complex(), model.states() as usize);
        Ok(Multiply { hamiltonian, constant, complex, states, vectors: Mutex::default() })
    }

    fn apply<C: Column>(&self, x: ArrayView2<'_, C>, mut y: ArrayViewMut2<'_, C>) -> Result<(), DeviceError> {
        let operator: &dyn LinearOperator<f64> = &self.hamiltonian;
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let Vectors { x: inputs, y: outputs, host } = &mut *vectors;
        let each = C::vectors(self.complex);
        let columns: Vec<usize> = (0..x.ncols()).collect();
        for block in columns.chunks((BLOCK / each).max(1)) {
            let count = block.len() * each;
            while inputs.len() < count {
                inputs.push(operator.device().zeros(operator.dimension())?);
                outputs.push(operator.device().zeros(operator.dimension())?);
            }
            for (place, input) in inputs[..count].iter_mut().enumerate() {
                let column = x.column(block[place / each]);
                match C::contiguous(&column) {
                    Some(values) => input.write(values)?,
                    None => {
                        host.clear();
                        C::split(column, place % each, self.complex, host);
                        input.write(host)?;
                    }
                }
            }
            match count {
                1 => operator.multiply(&inputs[0], &mut outputs[0])?,
                _ => {
                    let inputs: Vec<&Vector<f64>> = inputs[..count].iter().collect();
                    operator.apply_block(&inputs, &mut outputs[..count])?;
                }
            }
            for (column, outputs) in block.iter().zip(outputs.chunks(each)) {
                let found = outputs.iter().map(Vector::download).collect::<Result<Vec<_>, _>>()?;
                C::join(&found, x.column(*column), self.constant, y.column_mut(*column));
            }
        }
        Ok(())
    }

    fn called<C: Column>(&self, py: Python<'_>, x: ArrayView2<'_, C>, y: ArrayViewMut2<'_, C>) -> PyResult<()> {
        check_process()?;
        if x.nrows() != self.states || x.dim() != y.dim() {
            let (states, found, other) = (self.states, x.dim(), y.dim());
            return Err(input_error(
                &format!("expected arrays of shape ({states}, columns), found x of {found:?} and y of {other:?}"),
                "",
            ));
        }
        py.detach(|| self.apply(x, y)).map_err(|error| raised(error.into()))
    }
}

#[pymethods]
impl Multiply {
    /// Number of states.
    #[getter]
    fn states(&self) -> usize {
        self.states
    }

    /// Whether H is complex.
    #[getter]
    fn is_complex(&self) -> bool {
        self.complex
    }

    /// y = H x of real columns; H must be real.
    fn real(&self, py: Python<'_>, x: PyReadonlyArray2<'_, f64>, mut y: PyReadwriteArray2<'_, f64>) -> PyResult<()> {
        if self.complex {
            return Err(input_error("H is complex: expected arrays of complex128, found float64", ""));
        }
        self.called(py, x.as_array(), y.as_array_mut())
    }

    /// y = H x of complex columns.
    fn complex(
        &self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, Complex64>,
        mut y: PyReadwriteArray2<'_, Complex64>,
    ) -> PyResult<()> {
        self.called(py, x.as_array(), y.as_array_mut())
    }
}
