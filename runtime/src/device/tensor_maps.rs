//! Tensor maps: how the tensor memory accelerator of a card (compute capability 9.0 and later) finds panels of a matrix.
//!
//! In: column-major matrices of doubles inside vectors. Out: a map of 16 words for each, to be put into device memory; a
//! kernel uses it to load panels of 16 elements of 32 columns into shared memory, with zeros beyond the matrix, and pair
//! p of column l at place p ^ (l & 7) of the column's 128 bytes (CUDA driver API, `cuTensorMapEncodeTiled`, swizzle
//! 128B).

use super::Vector;
use super::context::driver;
use crate::error::{DeviceError, Result};
use cudarc::driver::sys;

/// Rows and columns of a panel.
const PANEL: [u32; 2] = [16, 32];
/// Words of a map.
const WORDS: usize = 16;

/// A matrix in a vector, column-major.
#[derive(Clone, Copy)]
pub struct MappedMatrix<'v> {
    /// Where it lies.
    pub vector: &'v Vector<f64>,
    /// Its first element; must be even.
    pub first: usize,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Elements from one column to the next; must be even.
    pub stride: usize,
}

impl MappedMatrix<'_> {
    fn check(&self) -> Result<()> {
        let MappedMatrix { vector, first, rows, columns, stride } = *self;
        let end = first + columns.saturating_sub(1) * stride + rows;
        let fits = first % 2 == 0 && stride % 2 == 0 && stride >= rows && rows > 0 && columns > 0;
        if fits && end <= vector.len() {
            return Ok(());
        }
        Err(DeviceError::Arguments {
            what: "a matrix for the tensor memory accelerator".into(),
            expected: format!("an even first element and stride, inside a vector of {}", vector.len()),
            found: format!("{rows} x {columns} from element {first} on, {stride} a column"),
        })
    }

    fn encoded(&self) -> Result<[u64; WORDS]> {
        self.check()?;
        let Some(address) = self.vector.address() else {
            return Err(DeviceError::Arguments {
                what: "a matrix for the tensor memory accelerator".into(),
                expected: "a vector of a CUDA device".into(),
                found: self.vector.device().name(),
            });
        };
        let mut map = sys::CUtensorMap { opaque: [0; WORDS] };
        let sizes = [self.rows as u64, self.columns as u64];
        let (strides, steps) = ([8 * self.stride as u64], [1u32; 2]);
        // SAFETY: all arrays live through the call, which only writes `map`; the matrix was compared with its vector.
        let status = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
                2,
                (address + 8 * self.first as u64) as *mut _,
                sizes.as_ptr(),
                strides.as_ptr(),
                PANEL.as_ptr(),
                steps.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        status.result().map_err(driver("cuTensorMapEncodeTiled"))?;
        Ok(map.opaque)
    }
}

/// The map words of matrices, in their order.
///
/// # Errors
/// A matrix that the accelerator cannot read.
pub fn tensor_maps(matrices: &[MappedMatrix<'_>]) -> Result<Vec<u64>> {
    let mut words = Vec::with_capacity(WORDS * matrices.len());
    for matrix in matrices {
        words.extend(matrix.encoded()?);
    }
    Ok(words)
}
