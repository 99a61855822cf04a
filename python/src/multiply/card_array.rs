//! Where an array of a card is: by attributes of CuPy's and PyTorch's own arrays, which is quickest, else by DLPack (dmlc.github.io/dlpack) or the
//! CUDA array interface, version 3 (Numba's documentation).

use crate::errors::input_error;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyCapsule, PyDict, PyString};
use std::ffi::{CStr, c_void};

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
/// `kDLCUDA` and `kDLCUDAManaged`.
const ON_CARDS: [i32; 2] = [2, 13];
/// `kDLFloat` and `kDLComplex`.
const FLOAT: u8 = 2;
const COMPLEX: u8 = 5;

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    offset: u64,
}

/// The front of `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: *const c_void,
    flags: u64,
    tensor: Tensor,
}

/// Columns of numbers in the memory of a card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Columns {
    /// Address of the first number.
    pub address: u64,
    /// Bytes of a number, or of each part of a complex one.
    pub bytes: usize,
    /// 1, or 2 of complex numbers.
    pub parts: usize,
    /// Rows and columns; a vector is one column.
    pub shape: [usize; 2],
    /// Numbers from row to row and from column to column.
    pub strides: [usize; 2],
    /// The number of its card, where the array says it.
    pub card: Option<i32>,
}

impl Columns {
    /// Address of the first number of a column.
    pub(super) fn address_of(&self, column: usize) -> u64 {
        self.address + (column * self.strides[1] * self.parts * self.bytes) as u64
    }

    /// Addresses from the first to beyond the last.
    pub(super) fn range(&self) -> std::ops::Range<u64> {
        let last: usize = self.shape.iter().zip(self.strides).map(|(n, stride)| n.saturating_sub(1) * stride).sum();
        self.address..self.address + ((last + 1) * self.parts * self.bytes) as u64
    }
}

/// An array of a card, which lives as long as this.
pub(super) struct CardArray<'py> {
    pub place: Columns,
    pub is_read_only: bool,
    /// Holds its memory.
    _owner: Bound<'py, PyAny>,
}

impl<'py> CardArray<'py> {
    /// Reads where an array is. `stream` is what DLPack has its maker order the array for: -1 for nothing.
    pub(super) fn read(array: &Bound<'py, PyAny>, stream: i64) -> PyResult<CardArray<'py>> {
        let py = array.py();
        let kind = array.get_type();
        let module = kind.getattr(pyo3::intern!(py, "__module__"))?.extract::<PyBackedStr>()?;
        match (module.split('.').next(), &*kind.name()?.extract::<PyBackedStr>()?) {
            (Some("cupy"), "ndarray") => return CardArray::of_cupy(array),
            (Some("torch"), "Tensor") => return CardArray::of_torch(array),
            _ => {}
        }
        match array.getattr(pyo3::intern!(py, "__dlpack__")) {
            Ok(method) => {
                let keys = PyDict::new(py);
                keys.set_item(pyo3::intern!(py, "stream"), stream)?;
                let capsule = method.call((), Some(&keys))?;
                CardArray::of_capsule(capsule.cast_into::<PyCapsule>()?)
            }
            Err(error) if error.is_instance_of::<PyAttributeError>(py) => {
                let interface = array.getattr(pyo3::intern!(py, "__cuda_array_interface__"))?;
                CardArray::of_interface(array, interface.cast::<PyDict>()?)
            }
            Err(error) => Err(error),
        }
    }

    fn of_cupy(array: &Bound<'py, PyAny>) -> PyResult<CardArray<'py>> {
        let py = array.py();
        let memory = array.getattr(pyo3::intern!(py, "data"))?;
        let address: u64 = memory.getattr(pyo3::intern!(py, "ptr"))?.extract()?;
        let card: i32 = memory.getattr(pyo3::intern!(py, "device_id"))?.extract()?;
        let dtype = array.getattr(pyo3::intern!(py, "dtype"))?;
        let (parts, bytes) = number_kind(&dtype.getattr(pyo3::intern!(py, "str"))?.extract::<PyBackedStr>()?)?;
        let shape: Vec<i64> = array.getattr(pyo3::intern!(py, "shape"))?.extract()?;
        let strides: Vec<i64> = array.getattr(pyo3::intern!(py, "strides"))?.extract()?;
        let strides = in_numbers(&strides, parts * bytes)?;
        let place = Columns { card: Some(card), ..columns(address, bytes, parts, &shape, Some(strides))? };
        Ok(CardArray { place, is_read_only: false, _owner: array.clone() })
    }

    fn of_torch(array: &Bound<'py, PyAny>) -> PyResult<CardArray<'py>> {
        let py = array.py();
        let call = |name: &Bound<'py, PyString>| array.call_method0(name);
        if array.getattr(pyo3::intern!(py, "requires_grad"))?.is_truthy()? {
            return Err(input_error(
                "expected a tensor without a gradient, found one that requires_grad",
                "detach() it",
            ));
        }
        if call(pyo3::intern!(py, "is_conj"))?.is_truthy()? || call(pyo3::intern!(py, "is_neg"))?.is_truthy()? {
            let help = "resolve_conj() or resolve_neg() gives the numbers themselves";
            return Err(input_error(
                "expected a tensor that holds its numbers, found a view of their conjugates",
                help,
            ));
        }
        let card: i32 = call(pyo3::intern!(py, "get_device"))?.extract()?;
        if card < 0 {
            return Err(input_error("expected memory of a card, found a tensor of the host", ""));
        }
        let address: u64 = call(pyo3::intern!(py, "data_ptr"))?.extract()?;
        let size: usize = call(pyo3::intern!(py, "element_size"))?.extract()?;
        let is_complex = call(pyo3::intern!(py, "is_complex"))?.is_truthy()?;
        if !is_complex && !call(pyo3::intern!(py, "is_floating_point"))?.is_truthy()? {
            return Err(wrong_numbers(&array.getattr(pyo3::intern!(py, "dtype"))?.to_string()));
        }
        let parts = 1 + usize::from(is_complex);
        let shape: Vec<i64> = array.getattr(pyo3::intern!(py, "shape"))?.extract()?;
        let strides: Vec<i64> = call(pyo3::intern!(py, "stride"))?.extract()?;
        let place = Columns { card: Some(card), ..columns(address, size / parts, parts, &shape, Some(strides))? };
        Ok(CardArray { place, is_read_only: false, _owner: array.clone() })
    }

    fn of_capsule(capsule: Bound<'py, PyCapsule>) -> PyResult<CardArray<'py>> {
        let is_versioned = capsule.name()?.is_some_and(|name| {
            // SAFETY: the name is compared before the capsule can go away.
            unsafe { name.as_cstr() == VERSIONED }
        });
        let pointer = capsule.pointer_checked(Some(if is_versioned { VERSIONED } else { PLAIN }))?;
        // SAFETY: by its name the capsule has such a structure, which lives until the capsule, kept below, goes away.
        let (tensor, flags) = unsafe {
            match is_versioned {
                true => {
                    let versioned = pointer.cast::<Versioned>().as_ref();
                    (&versioned.tensor, versioned.flags)
                }
                false => (pointer.cast::<Tensor>().as_ref(), 0),
            }
        };
        if !ON_CARDS.contains(&tensor.device[0]) {
            return Err(input_error(
                &format!("expected memory of a card, found DLPack's device type {}", tensor.device[0]),
                "",
            ));
        }
        let parts = match (tensor.code, tensor.lanes) {
            (FLOAT, 1) => 1,
            (COMPLEX, 1) => 2,
            (code, lanes) => {
                return Err(wrong_numbers(&format!("DLPack's type {code} of {} bits, {lanes} lanes", tensor.bits)));
            }
        };
        let dimensions = tensor.dimensions.max(0) as usize;
        // SAFETY: shape, and strides where there are any, have as many numbers as the tensor has dimensions.
        let (shape, strides) = unsafe {
            let list = |numbers: *const i64| match dimensions {
                0 => Vec::new(),
                _ => std::slice::from_raw_parts(numbers, dimensions).to_vec(),
            };
            (list(tensor.shape), (!tensor.strides.is_null()).then(|| list(tensor.strides)))
        };
        let address = tensor.data as u64 + tensor.offset;
        let place = columns(address, usize::from(tensor.bits) / 8 / parts, parts, &shape, strides)?;
        // The device of managed memory is where it was made, not where it is.
        let card = (tensor.device[0] == ON_CARDS[0]).then_some(tensor.device[1]);
        let place = Columns { card, ..place };
        Ok(CardArray { place, is_read_only: flags & 1 != 0, _owner: capsule.into_any() })
    }

    fn of_interface(array: &Bound<'py, PyAny>, interface: &Bound<'py, PyDict>) -> PyResult<CardArray<'py>> {
        let item = |key: &str| {
            let missing = || input_error(&format!("expected \"{key}\" in __cuda_array_interface__"), "");
            interface.get_item(key)?.ok_or_else(missing)
        };
        let (parts, bytes) = number_kind(&item("typestr")?.extract::<String>()?)?;
        let shape: Vec<i64> = item("shape")?.extract()?;
        let (address, is_read_only): (u64, bool) = item("data")?.extract()?;
        let strides: Option<Vec<i64>> = interface.get_item("strides")?.map_or(Ok(None), |strides| strides.extract())?;
        let strides = strides.map(|strides| in_numbers(&strides, parts * bytes)).transpose()?;
        let place = columns(address, bytes, parts, &shape, strides)?;
        Ok(CardArray { place, is_read_only, _owner: array.clone() })
    }
}

/// Parts of a number, and bytes of each, of a type as NumPy writes it.
fn number_kind(typestr: &str) -> PyResult<(usize, usize)> {
    match typestr {
        "<f4" => Ok((1, 4)),
        "<f8" => Ok((1, 8)),
        "<c8" => Ok((2, 4)),
        "<c16" => Ok((2, 8)),
        other => Err(wrong_numbers(other)),
    }
}

/// Strides of bytes as those of numbers of so many.
fn in_numbers(strides: &[i64], size: usize) -> PyResult<Vec<i64>> {
    let size = size as i64;
    match strides.iter().find(|stride| *stride % size != 0) {
        None => Ok(strides.iter().map(|stride| stride / size).collect()),
        Some(stride) => {
            Err(input_error(&format!("expected strides of whole numbers of {size} bytes, found {stride}"), ""))
        }
    }
}

fn wrong_numbers(found: &str) -> PyErr {
    input_error(&format!("expected numbers of float64, complex128, float32 or complex64, found {found}"), "")
}

/// The columns of an array of one or two dimensions; without strides the last index runs fastest.
fn columns(address: u64, bytes: usize, parts: usize, shape: &[i64], strides: Option<Vec<i64>>) -> PyResult<Columns> {
    if ![4, 8].contains(&bytes) {
        return Err(wrong_numbers(&format!("numbers of {bytes} bytes")));
    }
    let strides = strides.unwrap_or_else(|| (0..shape.len()).map(|i| shape[i + 1..].iter().product()).collect());
    let (rows, columns) = match shape {
        [rows] => ((*rows, strides[0]), (1, 1)),
        [rows, columns] => ((*rows, strides[0]), (*columns, strides[1])),
        _ => {
            return Err(input_error(&format!("expected an array of one or two dimensions, found {}", shape.len()), ""));
        }
    };
    // Of a dimension of one the stride says nothing.
    let place = |(count, stride): (i64, i64)| (count as usize, if count > 1 { stride } else { 1 });
    let ((rows, row), (columns, column)) = (place(rows), place(columns));
    // Some libraries write a stride below 0 as one without a sign.
    if ![row, column].iter().all(|stride| (1..1 << 40).contains(stride)) {
        let advice = "make it contiguous first";
        return Err(input_error(&format!("expected strides above 0, found {row} and {column} elements"), advice));
    }
    Ok(Columns { address, bytes, parts, shape: [rows, columns], strides: [row as usize, column as usize], card: None })
}
