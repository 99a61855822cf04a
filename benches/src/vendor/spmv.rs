//! y = A x by cuSPARSE's generic SpMV: compressed rows with both algorithms, and sliced ELLPACK of 32 rows.
//!
//! In: a matrix and x on the host. Out: each algorithm's time (the quicker of with and without
//! `cusparseSpMV_preprocess`) and its y, to hold against ours. Values and sums are f64 or complex128, indices 32 bits. An algorithm
//! that this version of the library does not support is passed over with its reason.

use std::ffi::c_void;

use cudarc::cusparse::{result, sys};

use super::VendorError;
use super::device::{Buffer, Context};
use super::sparse::Sparse;
use eigenforge::sparse::{Csr, NumberKind};
use eigenforge::spmv::PeerProduct;
use eigenforge_runtime::timing::median;

/// Rows of a slice of the vendor's sliced ELLPACK.
const SLICE: usize = 32;
/// A sample lasts at least so many milliseconds.
const SAMPLE: f64 = 2.0;

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
const INDEX: sys::cusparseIndexType_t = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
const FROM_ZERO: sys::cusparseIndexBase_t = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
/// Complex scalars, whose real parts are those of real matrices.
static ONE: [f64; 2] = [1.0, 0.0];
static ZERO: [f64; 2] = [0.0, 0.0];

/// Names the cuSPARSE call that failed.
fn failed(call: &'static str) -> impl Fn(result::CusparseError) -> VendorError {
    move |source| VendorError::CuSparse { call, status: format!("{:?}", source.0) }
}

/// The type of the numbers of a matrix; `None` of quaternions.
fn data_type(matrix: &Csr) -> Option<sys::cudaDataType> {
    match matrix.kind() {
        NumberKind::Real => Some(sys::cudaDataType::CUDA_R_64F),
        NumberKind::Complex => Some(sys::cudaDataType::CUDA_C_64F),
        NumberKind::Quaternion => None,
    }
}

/// Runs and times every algorithm on device `ordinal`; none of quaternions, which cuSPARSE does not have.
pub fn spmv(matrix: &Csr, x: &[f64], ordinal: usize, repeats: usize) -> Result<Vec<PeerProduct>, VendorError> {
    let Some(number) = data_type(matrix) else {
        let outcome = Err("it has no quaternions".into());
        return Ok(vec![PeerProduct { name: "cuSPARSE".into(), outcome, y: Vec::new() }]);
    };
    let length = matrix.columns().len();
    if i32::try_from(length).is_err() {
        return Err(VendorError::TooLong { length });
    }
    let context = Context::open(ordinal)?;
    // Both formats, one after the other; sliced ELLPACK has padding.
    context.must_hold((4 + 8 * matrix.parts()) * padded(matrix) + 32 * matrix.vector_length() + (64 << 20))?;
    let sparse = Sparse::new()?;
    let x = Buffer::upload(x)?;
    let mut found = vec![];
    {
        use sys::cusparseSpMVAlg_t as Algorithm;
        let offsets: Vec<i32> = matrix.row_start().iter().map(|start| *start as i32).collect();
        let columns: Vec<i32> = matrix.columns().iter().map(|column| *column as i32).collect();
        let arrays = Arrays::upload(&offsets, &columns, matrix.values())?;
        for (name, algorithm) in [
            ("cuSPARSE CSR, default", Algorithm::CUSPARSE_SPMV_ALG_DEFAULT),
            ("cuSPARSE CSR, ALG1", Algorithm::CUSPARSE_SPMV_CSR_ALG1),
            ("cuSPARSE CSR, ALG2", Algorithm::CUSPARSE_SPMV_CSR_ALG2),
        ] {
            let product = Product::new(&sparse, &arrays, (matrix, number), Kind::Csr, algorithm, &x);
            found.push(timed(&context, name, product, repeats)?);
        }
    }
    let (offsets, columns, values) = sliced(matrix);
    let arrays = Arrays::upload(&offsets, &columns, &values)?;
    let algorithm = sys::cusparseSpMVAlg_t::CUSPARSE_SPMV_SELL_ALG1;
    let product = Product::new(&sparse, &arrays, (matrix, number), Kind::Sliced, algorithm, &x);
    found.push(timed(&context, "cuSPARSE sliced ELL, 32", product, repeats)?);
    Ok(found)
}

/// Elements of sliced ELLPACK, padding included.
fn padded(matrix: &Csr) -> usize {
    let lengths: Vec<u64> = matrix.row_start().windows(2).map(|pair| pair[1] - pair[0]).collect();
    lengths.chunks(SLICE).map(|slice| SLICE * slice.iter().max().copied().unwrap_or(0) as usize).sum()
}

/// Sliced ELLPACK as cuSPARSE has it: in a slice element j of all rows, then j + 1; padding has column -1.
fn sliced(matrix: &Csr) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
    let stored = padded(matrix);
    let parts = matrix.parts();
    let (mut offsets, mut columns, mut values) = (vec![0i32], vec![-1i32; stored], vec![0.0; stored * parts]);
    let mut start = 0;
    for first in (0..matrix.rows()).step_by(SLICE) {
        let rows = first..(first + SLICE).min(matrix.rows());
        let width = rows.clone().map(|row| matrix.row(row).0.len()).max().unwrap_or(0);
        for row in rows {
            let (row_columns, row_values) = matrix.row(row);
            for (j, (column, value)) in row_columns.iter().zip(row_values.chunks_exact(parts)).enumerate() {
                let at = start + j * SLICE + row - first;
                columns[at] = *column as i32;
                values[at * parts..(at + 1) * parts].copy_from_slice(value);
            }
        }
        start += width * SLICE;
        offsets.push(start as i32);
    }
    (offsets, columns, values)
}

/// The three arrays of a format on the device.
struct Arrays {
    offsets: Buffer<i32>,
    columns: Buffer<i32>,
    values: Buffer<f64>,
}

impl Arrays {
    fn upload(offsets: &[i32], columns: &[i32], values: &[f64]) -> Result<Arrays, VendorError> {
        let (offsets, columns) = (Buffer::upload(offsets)?, Buffer::upload(columns)?);
        Ok(Arrays { offsets, columns, values: Buffer::upload(values)? })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Csr,
    Sliced,
}

/// y = A x with one algorithm: descriptors and workspace. It borrows what the descriptors point to.
struct Product<'a> {
    sparse: &'a Sparse,
    algorithm: sys::cusparseSpMVAlg_t,
    number: sys::cudaDataType,
    matrix: sys::cusparseSpMatDescr_t,
    x: sys::cusparseDnVecDescr_t,
    y: sys::cusparseDnVecDescr_t,
    result: Buffer<f64>,
    workspace: Buffer<u8>,
    _arrays: (&'a Arrays, &'a Buffer<f64>),
}

impl Drop for Product<'_> {
    fn drop(&mut self) {
        // SAFETY: each descriptor was created once, is null if its creation failed, and destroyed once.
        unsafe {
            if !self.matrix.is_null() {
                let _ = sys::cusparseDestroySpMat(self.matrix.cast_const());
            }
            for vector in [self.x, self.y] {
                if !vector.is_null() {
                    let _ = sys::cusparseDestroyDnVec(vector.cast_const());
                }
            }
        }
    }
}

impl<'a> Product<'a> {
    fn new(
        sparse: &'a Sparse,
        arrays: &'a Arrays,
        (matrix, number): (&Csr, sys::cudaDataType),
        kind: Kind,
        algorithm: sys::cusparseSpMVAlg_t,
        x: &'a Buffer<f64>,
    ) -> Result<Product<'a>, VendorError> {
        let none = std::ptr::null_mut();
        let mut product = Product {
            sparse,
            algorithm,
            number,
            matrix: std::ptr::null_mut(),
            x: none,
            y: none,
            // NaN: what the algorithm does not write shows.
            result: Buffer::upload(&vec![f64::NAN; matrix.vector_length()])?,
            workspace: Buffer::zeros(0)?,
            _arrays: (arrays, x),
        };
        let (rows, non_zeros) = (matrix.rows() as i64, matrix.non_zeros() as i64);
        let offsets = arrays.offsets.pointer().cast_mut().cast::<c_void>();
        let columns = arrays.columns.pointer().cast_mut().cast::<c_void>();
        let values = arrays.values.pointer().cast_mut().cast::<c_void>();
        // SAFETY: the arrays live on the device as long as the product borrows them and have the lengths named here; x
        // and the result hold `rows` numbers; scalars are on the host (the default pointer mode) and static; the
        // workspace has the size that cuSPARSE asked for.
        unsafe {
            let made = match kind {
                Kind::Csr => sys::cusparseCreateCsr(
                    &mut product.matrix,
                    rows,
                    rows,
                    non_zeros,
                    offsets,
                    columns,
                    values,
                    INDEX,
                    INDEX,
                    FROM_ZERO,
                    number,
                ),
                Kind::Sliced => sys::cusparseCreateSlicedEll(
                    &mut product.matrix,
                    rows,
                    rows,
                    non_zeros,
                    arrays.columns.len() as i64,
                    SLICE as i64,
                    offsets,
                    columns,
                    values,
                    INDEX,
                    INDEX,
                    FROM_ZERO,
                    number,
                ),
            };
            made.result().map_err(failed(if kind == Kind::Csr {
                "cusparseCreateCsr"
            } else {
                "cusparseCreateSlicedEll"
            }))?;
            sys::cusparseCreateDnVec(&mut product.x, rows, x.pointer().cast_mut().cast(), number)
                .result()
                .map_err(failed("cusparseCreateDnVec"))?;
            let result = product.result.pointer_mut().cast();
            sys::cusparseCreateDnVec(&mut product.y, rows, result, number)
                .result()
                .map_err(failed("cusparseCreateDnVec"))?;
            let mut bytes = 0usize;
            let (one, zero): (*const c_void, *const c_void) = ((&raw const ONE).cast(), (&raw const ZERO).cast());
            sys::cusparseSpMV_bufferSize(
                sparse.handle(),
                PLAIN,
                one,
                product.matrix.cast_const(),
                product.x.cast_const(),
                zero,
                product.y,
                number,
                algorithm,
                &mut bytes,
            )
            .result()
            .map_err(failed("cusparseSpMV_bufferSize"))?;
            product.workspace = Buffer::zeros(bytes)?;
        }
        Ok(product)
    }

    /// Lets the algorithm look at the matrix once; false where that is not offered.
    fn preprocess(&mut self) -> Result<bool, VendorError> {
        let (one, zero): (*const c_void, *const c_void) = ((&raw const ONE).cast(), (&raw const ZERO).cast());
        // SAFETY: descriptors and workspace are alive, as in `new`.
        let status = unsafe {
            sys::cusparseSpMV_preprocess(
                self.sparse.handle(),
                PLAIN,
                one,
                self.matrix.cast_const(),
                self.x.cast_const(),
                zero,
                self.y,
                self.number,
                self.algorithm,
                self.workspace.pointer_mut().cast(),
            )
        };
        if status == sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED {
            return Ok(false);
        }
        status.result().map_err(failed("cusparseSpMV_preprocess")).map(|()| true)
    }

    /// Queues y = A x.
    fn run(&mut self) -> Result<(), VendorError> {
        let (one, zero): (*const c_void, *const c_void) = ((&raw const ONE).cast(), (&raw const ZERO).cast());
        // SAFETY: descriptors and workspace are alive, as in `new`.
        unsafe {
            sys::cusparseSpMV(
                self.sparse.handle(),
                PLAIN,
                one,
                self.matrix.cast_const(),
                self.x.cast_const(),
                zero,
                self.y,
                self.number,
                self.algorithm,
                self.workspace.pointer_mut().cast(),
            )
        }
        .result()
        .map_err(failed("cusparseSpMV"))
    }
}

/// Runs a product and times it; what cuSPARSE refuses is an outcome too.
fn timed(
    context: &Context,
    name: &str,
    product: Result<Product<'_>, VendorError>,
    repeats: usize,
) -> Result<PeerProduct, VendorError> {
    let outcome = |outcome, y| Ok(PeerProduct { name: name.into(), outcome, y });
    let mut product = match product {
        Ok(product) => product,
        Err(refused @ VendorError::CuSparse { .. }) => return outcome(Err(chain(&refused)), vec![]),
        Err(other) => return Err(other),
    };
    let mut series = || -> Result<f64, VendorError> {
        let once = median(&context.time(3, || product.run())?);
        let runs = (SAMPLE / once.max(1e-3)).ceil().clamp(1.0, 256.0) as usize;
        let times = context.time(repeats, || (0..runs).try_for_each(|_| product.run()))?;
        let plain = median(&times) / runs as f64;
        if !product.preprocess()? {
            return Ok(plain);
        }
        let times = context.time(repeats, || (0..runs).try_for_each(|_| product.run()))?;
        Ok(plain.min(median(&times) / runs as f64))
    };
    match series() {
        Ok(milliseconds) => {
            let mut y = vec![f64::NAN; product.result.len()];
            product.result.read(&mut y)?;
            outcome(Ok(milliseconds), y)
        }
        Err(refused @ VendorError::CuSparse { .. }) => outcome(Err(chain(&refused)), vec![]),
        Err(other) => Err(other),
    }
}

fn chain(error: &VendorError) -> String {
    crate::hubbard::chain(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_stand_as_the_vendor_wants_them() {
        // 33 rows: row 0 has two non-zeros, row 32 one.
        let mut row_start = vec![2u64; 34];
        (row_start[0], row_start[33]) = (0, 3);
        let matrix = Csr::new(row_start, vec![4, 9, 7], vec![1.0, 2.0, 3.0]).unwrap();
        let (offsets, columns, values) = sliced(&matrix);
        assert_eq!(offsets, [0, 64, 96]);
        assert_eq!((columns[0], columns[32], columns[64], columns[1]), (4, 9, 7, -1));
        assert_eq!((values[0], values[32], values[64], values[1]), (1.0, 2.0, 3.0, 0.0));
    }

    /// Without the libraries or a card it is an error that says what is missing; with them, the product.
    #[test]
    fn a_machine_without_cuda_gets_an_error() {
        let matrix = Csr::new(vec![0, 1, 2], vec![1, 0], vec![2.0, 3.0]).unwrap();
        match spmv(&matrix, &[5.0, 7.0], 0, 3) {
            Ok(all) => all.iter().filter(|one| one.outcome.is_ok()).for_each(|one| assert_eq!(one.y, [14.0, 15.0])),
            Err(error) => assert!(error.to_string().contains("CUDA") || error.to_string().contains("libcu"), "{error}"),
        }
    }
}
