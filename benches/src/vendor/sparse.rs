//! C += A B by cuSPARSE's SpMM, with the fastest of its algorithms for compressed rows.
//!
//! In: a sparse A, a dense layout of B and C (both rows × columns, by columns or by rows).
//! Out: the product with the algorithm that was fastest on the very operands, by measurement.
//! `by rows` gives V A_dnᵀ without a transpose: V, n_up × n_dn by columns, is Vᵀ, n_dn × n_up by rows,
//! in the same memory, and (V A_dnᵀ)ᵀ = A_dn Vᵀ.

use std::ffi::c_void;

use cudarc::cusparse::{result, sys};

use super::VendorError;
use super::device::{Buffer, Context};
use crate::kronecker::Csr;
use eigenforge_runtime::timing::median;

/// A cuSPARSE handle on the default stream.
pub struct Sparse {
    handle: sys::cusparseHandle_t,
}

/// Names the cuSPARSE call that failed.
fn failed(call: &'static str) -> impl Fn(result::CusparseError) -> VendorError {
    move |source| VendorError::CuSparse { call, status: format!("{:?}", source.0) }
}

impl Sparse {
    /// Opens the library.
    pub fn new() -> Result<Sparse, VendorError> {
        result::create().map(|handle| Sparse { handle }).map_err(failed("cusparseCreate"))
    }

    pub(super) fn handle(&self) -> sys::cusparseHandle_t {
        self.handle
    }

    /// The version as the library tells it, 12600 and the like.
    pub fn version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: a live handle and a place for one int.
        let _ = unsafe { sys::cusparseGetVersion(self.handle, &mut version) };
        version
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once.
        let _ = unsafe { result::destroy(self.handle) };
    }
}

/// The matrix on the device.
struct DeviceCsr {
    rows: usize,
    nonzeros: usize,
    offsets: Buffer<i32>,
    columns: Buffer<i32>,
    values: Buffer<f64>,
}

/// How the dense operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A column after the other, leading dimension = rows: for A_up V.
    ByColumns,
    /// A row after the other, leading dimension = columns: for A_dn Vᵀ.
    ByRows,
}

/// One way to do the product: descriptors, workspace and the algorithm's number.
struct Candidate {
    name: String,
    algorithm: sys::cusparseSpMMAlg_t,
    matrix: sys::cusparseSpMatDescr_t,
    b: sys::cusparseDnMatDescr_t,
    c: sys::cusparseDnMatDescr_t,
    workspace: Buffer<u8>,
}

impl Drop for Candidate {
    fn drop(&mut self) {
        // SAFETY: each descriptor was created once, is null if its creation failed, and destroyed once.
        unsafe {
            if !self.matrix.is_null() {
                let _ = sys::cusparseDestroySpMat(self.matrix.cast_const());
            }
            for dense in [self.b, self.c] {
                if !dense.is_null() {
                    let _ = sys::cusparseDestroyDnMat(dense.cast_const());
                }
            }
        }
    }
}

/// The place of the quickest of (name, milliseconds), the first of equals; none of those whose time is no number.
pub(super) fn quickest(tried: &[(String, f64)]) -> Option<usize> {
    let timed = (0..tried.len()).filter(|at| !tried[*at].1.is_nan());
    timed.min_by(|a, b| tried[*a].1.total_cmp(&tried[*b].1))
}

/// C += A B, ready to run.
pub struct SparseTimesDense<'a> {
    sparse: &'a Sparse,
    columns: usize,
    layout: Layout,
    best: Option<Candidate>,
    matrix: DeviceCsr,
    /// (algorithm, milliseconds) of every candidate that ran, in the order tried.
    pub tried: Vec<(String, f64)>,
}

const PLAIN: sys::cusparseOperation_t = sys::cusparseOperation_t::CUSPARSE_OPERATION_NON_TRANSPOSE;
const REAL: sys::cudaDataType = sys::cudaDataType::CUDA_R_64F;
static ONE: f64 = 1.0;

impl<'a> SparseTimesDense<'a> {
    /// Uploads A, tries the algorithms on `b` and `c` (c is overwritten with sums that mean nothing) and
    /// keeps the fastest. Algorithms that this version or shape does not support are passed over.
    pub fn fastest(
        context: &Context,
        sparse: &'a Sparse,
        a: &Csr,
        columns: usize,
        layout: Layout,
        (b, c): (&Buffer<f64>, &mut Buffer<f64>),
    ) -> Result<SparseTimesDense<'a>, VendorError> {
        use sys::cusparseSpMMAlg_t as Algorithm;
        let matrix = DeviceCsr {
            rows: a.rows(),
            nonzeros: a.nonzeros(),
            offsets: Buffer::upload(&a.offsets)?,
            columns: Buffer::upload(&a.columns)?,
            values: Buffer::upload(&a.values)?,
        };
        let mut product = SparseTimesDense { sparse, columns, layout, best: None, matrix, tried: Vec::new() };
        if a.nonzeros() == 0 {
            return Ok(product); // no hops: C += 0
        }
        let mut refusal = None;
        for (name, algorithm) in [
            ("CSR_ALG1", Algorithm::CUSPARSE_SPMM_CSR_ALG1),
            ("CSR_ALG2", Algorithm::CUSPARSE_SPMM_CSR_ALG2),
            ("CSR_ALG3", Algorithm::CUSPARSE_SPMM_CSR_ALG3),
        ] {
            for preprocess in [false, true] {
                match product.try_one(context, name, algorithm, preprocess, b, c) {
                    Ok(Some((candidate, milliseconds))) => {
                        product.tried.push((candidate.name.clone(), milliseconds));
                        // The memory of those that are slower is given back at once.
                        if quickest(&product.tried) == Some(product.tried.len() - 1) {
                            product.best = Some(candidate);
                        }
                    }
                    Ok(None) => {}
                    Err(error @ VendorError::CuSparse { .. }) => refusal = Some(error),
                    Err(error) => return Err(error),
                }
            }
        }
        match (product.best.is_some(), refusal) {
            (false, Some(error)) => Err(error),
            _ => Ok(product),
        }
    }

    /// Builds and times one candidate; nothing where preprocessing is not offered for it.
    fn try_one(
        &self,
        context: &Context,
        name: &str,
        algorithm: sys::cusparseSpMMAlg_t,
        preprocess: bool,
        b: &Buffer<f64>,
        c: &mut Buffer<f64>,
    ) -> Result<Option<(Candidate, f64)>, VendorError> {
        let name = if preprocess { format!("{name} preprocessed") } else { name.to_string() };
        let Some(candidate) = self.candidate(name, algorithm, preprocess, b, c)? else { return Ok(None) };
        let times = context.time(5, || self.run_candidate(&candidate, b, c))?;
        Ok(Some((candidate, median(&times))))
    }

    fn candidate(
        &self,
        name: String,
        algorithm: sys::cusparseSpMMAlg_t,
        preprocess: bool,
        b: &Buffer<f64>,
        c: &mut Buffer<f64>,
    ) -> Result<Option<Candidate>, VendorError> {
        let (order, leading) = match self.layout {
            Layout::ByColumns => (sys::cusparseOrder_t::CUSPARSE_ORDER_COL, self.matrix.rows),
            Layout::ByRows => (sys::cusparseOrder_t::CUSPARSE_ORDER_ROW, self.columns),
        };
        let (rows, columns, leading) = (self.matrix.rows as i64, self.columns as i64, leading as i64);
        let (matrix, none) = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut made = Candidate { name, algorithm, matrix, b: none, c: none, workspace: Buffer::zeros(0)? };
        let index = sys::cusparseIndexType_t::CUSPARSE_INDEX_32I;
        let from_zero = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
        let scalar: *const c_void = (&raw const ONE).cast();
        // SAFETY: A's three arrays, b and c live on the device with the sizes named here (checked in `run`'s
        // callers by construction of the problem); scalars are on the host (the default pointer mode) and
        // static; the workspace has the size that cuSPARSE asked for and lives in the candidate.
        unsafe {
            let (offsets, indices) = (self.matrix.offsets.pointer(), self.matrix.columns.pointer());
            sys::cusparseCreateCsr(
                &mut made.matrix,
                rows,
                rows,
                self.matrix.nonzeros as i64,
                offsets.cast_mut().cast(),
                indices.cast_mut().cast(),
                self.matrix.values.pointer().cast_mut().cast(),
                index,
                index,
                from_zero,
                REAL,
            )
            .result()
            .map_err(failed("cusparseCreateCsr"))?;
            let b_start = b.pointer().cast_mut().cast();
            sys::cusparseCreateDnMat(&mut made.b, rows, columns, leading, b_start, REAL, order)
                .result()
                .map_err(failed("cusparseCreateDnMat"))?;
            sys::cusparseCreateDnMat(&mut made.c, rows, columns, leading, c.pointer_mut().cast(), REAL, order)
                .result()
                .map_err(failed("cusparseCreateDnMat"))?;
            let (handle, matrix, dense) = (self.sparse.handle, made.matrix.cast_const(), made.b.cast_const());
            let mut bytes = 0usize;
            sys::cusparseSpMM_bufferSize(
                handle, PLAIN, PLAIN, scalar, matrix, dense, scalar, made.c, REAL, algorithm, &mut bytes,
            )
            .result()
            .map_err(failed("cusparseSpMM_bufferSize"))?;
            made.workspace = Buffer::zeros(bytes)?;
            if preprocess {
                let workspace = made.workspace.pointer_mut().cast();
                let status = sys::cusparseSpMM_preprocess(
                    handle, PLAIN, PLAIN, scalar, matrix, dense, scalar, made.c, REAL, algorithm, workspace,
                );
                if status == sys::cusparseStatus_t::CUSPARSE_STATUS_NOT_SUPPORTED {
                    return Ok(None);
                }
                status.result().map_err(failed("cusparseSpMM_preprocess"))?;
            }
        }
        Ok(Some(made))
    }

    /// Queues C += A B.
    pub fn run(&self, b: &Buffer<f64>, c: &mut Buffer<f64>) -> Result<(), VendorError> {
        match &self.best {
            Some(candidate) => self.run_candidate(candidate, b, c),
            None => Ok(()),
        }
    }

    fn run_candidate(&self, candidate: &Candidate, b: &Buffer<f64>, c: &mut Buffer<f64>) -> Result<(), VendorError> {
        let size = self.matrix.rows * self.columns;
        assert!(b.len() == size && c.len() == size, "dense operands of {} and {} for {size}", b.len(), c.len());
        let scalar: *const c_void = (&raw const ONE).cast();
        // SAFETY: descriptors are alive; b and c have the size that the descriptors say (just checked) and are
        // different buffers (c is borrowed mutably); the workspace is the one the algorithm asked for.
        unsafe {
            sys::cusparseDnMatSetValues(candidate.b, b.pointer().cast_mut().cast())
                .result()
                .map_err(failed("cusparseDnMatSetValues"))?;
            sys::cusparseDnMatSetValues(candidate.c, c.pointer_mut().cast())
                .result()
                .map_err(failed("cusparseDnMatSetValues"))?;
            sys::cusparseSpMM(
                self.sparse.handle,
                PLAIN,
                PLAIN,
                scalar,
                candidate.matrix.cast_const(),
                candidate.b.cast_const(),
                scalar,
                candidate.c,
                REAL,
                candidate.algorithm,
                candidate.workspace.pointer().cast_mut().cast(),
            )
            .result()
            .map_err(failed("cusparseSpMM"))
        }
    }

    /// Name and milliseconds of the algorithm in use.
    pub fn choice(&self) -> (String, f64) {
        let name = self.best.as_ref().map_or("none: no entries", |candidate| &candidate.name);
        let time = self.tried.iter().find(|(tried, _)| tried == name).map_or(0.0, |(_, time)| *time);
        (name.to_string(), time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_is_taken_whenever_it_is_tried() {
        let tried = |times: &[f64]| -> Vec<(String, f64)> {
            times.iter().enumerate().map(|(at, time)| (format!("CSR_ALG{at}"), *time)).collect()
        };
        let expected = [
            (&[][..], None),
            (&[2.0, 1.0, 3.0], Some(1)),
            (&[1.0, 2.0, 3.0], Some(0)),
            (&[3.0, 2.0, 1.0], Some(2)),
            (&[2.0, 1.0, 1.0], Some(1)),
            (&[f64::NAN, 7.0], Some(1)),
            (&[f64::NAN], None),
        ];
        for (times, place) in expected {
            assert_eq!(quickest(&tried(times)), place, "{times:?}");
        }
    }
}
