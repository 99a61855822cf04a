//! The level-1 routines of cuBLAS that the paper's Figure 5 names, dgmm for a diagonal, dgemv for inner products with
//! several vectors, and dgemm batched and grouped.
//!
//! In: device buffers, host scalars. Out: device results; dots and norms go to device memory
//! (pointer mode "device"), so that ten of them are queued and fetched at once.

use cudarc::cublas::{result, sys};

use super::VendorError;
use super::device::Buffer;

/// Sizes m, n, k; strides of A, B, C; what is meant transposed; C = α A B + β C.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Rows, columns, terms of the sum.
    pub size: [i32; 3],
    /// Elements from a column to the next.
    pub strides: [i32; 3],
    /// Of A and B.
    pub transposed: [bool; 2],
    /// α.
    pub alpha: f64,
    /// β.
    pub beta: f64,
}

impl Numbers {
    fn operations(&self) -> [sys::cublasOperation_t; 2] {
        use sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        self.transposed.map(|transposed| if transposed { CUBLAS_OP_T } else { CUBLAS_OP_N })
    }
}

/// A cuBLAS handle on the default stream.
pub struct Blas {
    handle: sys::cublasHandle_t,
}

/// Names the cuBLAS call that failed.
fn failed(call: &'static str) -> impl Fn(result::CublasError) -> VendorError {
    move |source| VendorError::CuBlas { call, source }
}

/// Lengths are 32-bit in the interface that every version of cuBLAS has.
fn length(x: &Buffer<f64>, y: &Buffer<f64>) -> Result<i32, VendorError> {
    assert_eq!(x.len(), y.len(), "vectors of different lengths");
    i32::try_from(x.len()).map_err(|_| VendorError::TooLong { length: x.len() })
}

impl Blas {
    /// Opens the library.
    pub fn new() -> Result<Blas, VendorError> {
        let handle = result::create_handle().map_err(failed("cublasCreate"))?;
        Ok(Blas { handle })
    }

    /// The version as the library tells it, 130000 and the like.
    pub fn version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: a live handle and a place for one int.
        let _ = unsafe { sys::cublasGetVersion_v2(self.handle, &mut version) };
        version
    }

    fn results_on(&self, mode: sys::cublasPointerMode_t) -> Result<(), VendorError> {
        // SAFETY: a live handle.
        unsafe { sys::cublasSetPointerMode_v2(self.handle, mode) }.result().map_err(failed("cublasSetPointerMode"))
    }

    /// Queues the inner products of the pairs into `out[0..]`, one `cublasDdot` each.
    pub fn dots(&self, pairs: &[(&Buffer<f64>, &Buffer<f64>)], out: &mut Buffer<f64>) -> Result<(), VendorError> {
        self.results_on(sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE)?;
        for (k, (x, y)) in pairs.iter().enumerate() {
            let n = length(x, y)?;
            // SAFETY: x and y hold n doubles, the result is a double in device memory, as the mode says.
            unsafe { sys::cublasDdot_v2(self.handle, n, x.pointer(), 1, y.pointer(), 1, out.element_mut(k)) }
                .result()
                .map_err(failed("cublasDdot"))?;
        }
        self.results_on(sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST)
    }

    /// Queues the norms of the vectors into `out[0..]`, one `cublasDnrm2` each.
    pub fn norms(&self, vectors: &[&Buffer<f64>], out: &mut Buffer<f64>) -> Result<(), VendorError> {
        self.results_on(sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_DEVICE)?;
        for (k, x) in vectors.iter().enumerate() {
            let n = length(x, x)?;
            // SAFETY: x holds n doubles, the result is a double in device memory, as the mode says.
            unsafe { sys::cublasDnrm2_v2(self.handle, n, x.pointer(), 1, out.element_mut(k)) }
                .result()
                .map_err(failed("cublasDnrm2"))?;
        }
        self.results_on(sys::cublasPointerMode_t::CUBLAS_POINTER_MODE_HOST)
    }

    /// Queues x = a x.
    pub fn scale(&self, a: f64, x: &mut Buffer<f64>) -> Result<(), VendorError> {
        let n = length(x, x)?;
        // SAFETY: x holds n doubles; a is read before the call returns (pointer mode host).
        unsafe { sys::cublasDscal_v2(self.handle, n, &a, x.pointer_mut(), 1) }.result().map_err(failed("cublasDscal"))
    }

    /// Queues y = y + a x.
    pub fn add(&self, a: f64, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), VendorError> {
        let n = length(x, y)?;
        // SAFETY: x and y hold n doubles; a is read before the call returns (pointer mode host).
        unsafe { sys::cublasDaxpy_v2(self.handle, n, &a, x.pointer(), 1, y.pointer_mut(), 1) }
            .result()
            .map_err(failed("cublasDaxpy"))
    }

    /// Queues y = x.
    pub fn copy(&self, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), VendorError> {
        let n = length(x, y)?;
        // SAFETY: x and y hold n doubles.
        unsafe { sys::cublasDcopy_v2(self.handle, n, x.pointer(), 1, y.pointer_mut(), 1) }
            .result()
            .map_err(failed("cublasDcopy"))
    }

    /// Queues sums = Vᵀw with V the `width` vectors of `length` elements at element `first` of `pool`, one after the other,
    /// and w the vector after them.
    pub fn products(
        &self,
        pool: &Buffer<f64>,
        first: usize,
        length: usize,
        width: usize,
        sums: &mut Buffer<f64>,
    ) -> Result<(), VendorError> {
        assert!(first + (width + 1) * length <= pool.len() && width <= sums.len(), "vectors beyond their buffers");
        let size = |n: usize| i32::try_from(n).map_err(|_| VendorError::TooLong { length: n });
        let (n, k, transposed) = (size(length)?, size(width)?, sys::cublasOperation_t::CUBLAS_OP_T);
        let (v, w) = (pool.element(first), pool.element(first + width * length));
        // SAFETY: V holds n k doubles and w n doubles from these elements on, the sums k; pointer mode host.
        unsafe { sys::cublasDgemv_v2(self.handle, transposed, n, k, &1.0, v, n, w, 1, &0.0, sums.pointer_mut(), 1) }
            .result()
            .map_err(failed("cublasDgemv"))
    }

    /// Queues x = V y with V the `width` vectors of `length` elements at element `first` of `pool`, one after the other, and x
    /// the vector after them.
    pub fn combination(
        &self,
        pool: &mut Buffer<f64>,
        first: usize,
        length: usize,
        width: usize,
        y: &Buffer<f64>,
    ) -> Result<(), VendorError> {
        assert!(first + (width + 1) * length <= pool.len() && width <= y.len(), "vectors beyond their buffers");
        let size = |n: usize| i32::try_from(n).map_err(|_| VendorError::TooLong { length: n });
        let (n, k, plain) = (size(length)?, size(width)?, sys::cublasOperation_t::CUBLAS_OP_N);
        let (v, x) = (pool.element(first), pool.element_mut(first + width * length));
        // SAFETY: V holds n k doubles and x n doubles from these elements on, y k; they do not overlap; pointer mode host.
        unsafe { sys::cublasDgemv_v2(self.handle, plain, n, k, &1.0, v, n, y.pointer(), 1, &0.0, x, 1) }
            .result()
            .map_err(failed("cublasDgemv"))
    }

    /// Queues `count` products of one shape; `addresses` has those of A, B and C from the `first` on.
    pub fn batched(
        &self,
        of: &Numbers,
        addresses: &[Buffer<u64>; 3],
        first: usize,
        count: i32,
    ) -> Result<(), VendorError> {
        let ([m, n, k], [lda, ldb, ldc], [ta, tb]) = (of.size, of.strides, of.operations());
        let [a, b, c] = [0, 1, 2].map(|matrix| addresses[matrix].element(first));
        let (alpha, beta) = (&of.alpha, &of.beta);
        // SAFETY: lists of `count` addresses on the device, of elements of live buffers; pointer mode host.
        unsafe {
            let (a, b, c) = (a.cast(), b.cast(), c.cast());
            sys::cublasDgemmBatched(self.handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count)
        }
        .result()
        .map_err(failed("cublasDgemmBatched"))
    }

    /// Queues groups of products, group g of `counts[g]` products of the shape `of[g]`.
    pub fn grouped(&self, of: &[Numbers], counts: &[i32], addresses: &[Buffer<u64>; 3]) -> Result<(), VendorError> {
        let operations = [0, 1].map(|k| of.iter().map(|one| one.operations()[k]).collect::<Vec<_>>());
        let sizes = [0, 1, 2].map(|k| of.iter().map(|one| one.size[k]).collect::<Vec<i32>>());
        let strides = [0, 1, 2].map(|k| of.iter().map(|one| one.strides[k]).collect::<Vec<i32>>());
        let (alpha, beta): (Vec<f64>, Vec<f64>) = of.iter().map(|one| (one.alpha, one.beta)).unzip();
        let [a, b, c] = [0, 1, 2].map(|matrix| addresses[matrix].element(0));
        // SAFETY: host lists of one entry a group, device lists of one address a product of live buffers.
        unsafe {
            sys::cublasDgemmGroupedBatched(
                self.handle,
                operations[0].as_ptr(),
                operations[1].as_ptr(),
                sizes[0].as_ptr(),
                sizes[1].as_ptr(),
                sizes[2].as_ptr(),
                alpha.as_ptr(),
                a.cast(),
                strides[0].as_ptr(),
                b.cast(),
                strides[1].as_ptr(),
                beta.as_ptr(),
                c.cast(),
                strides[2].as_ptr(),
                of.len() as i32,
                counts.as_ptr(),
            )
        }
        .result()
        .map_err(failed("cublasDgemmGroupedBatched"))
    }

    /// Queues y = diag(d) x with x as a matrix of one column.
    pub fn diagonal(&self, d: &Buffer<f64>, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), VendorError> {
        let n = length(d, x)?;
        length(x, y)?;
        let side = sys::cublasSideMode_t::CUBLAS_SIDE_LEFT;
        // SAFETY: d, x and y hold n doubles; x and y are n × 1 with leading dimension n.
        unsafe { sys::cublasDdgmm(self.handle, side, n, 1, x.pointer(), n, d.pointer(), 1, y.pointer_mut(), n) }
            .result()
            .map_err(failed("cublasDdgmm"))
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}
