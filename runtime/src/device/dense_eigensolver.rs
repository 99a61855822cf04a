//! All eigenvalues of one large dense symmetric matrix in device memory, and its eigenvectors: cuSOLVER's divide and conquer on a card.
//!
//! In: a column-major matrix, of which the lower triangle is read. Out: eigenvalues, ascending; eigenvectors in place of the matrix. The
//! interface of 64-bit numbers takes matrices of more than 2³¹ elements. Elsewhere faer solves it: a library's code cannot be simulated.

use super::card_memory::DeviceMemory;
use super::cuda::Cuda;
use super::eigensolver::{Worker, check_library, refused};
use super::{Device, Vector};
use crate::error::{DeviceError, Result};
use cudarc::cusolver::sys;
use faer::{MatRef, Side};
use std::ffi::c_void;
use std::sync::Arc;

/// The eigenvalues of an n × n matrix, ascending; with `vectors` its eigenvectors take its place, one column each, otherwise it is spent.
///
/// # Errors
/// No cuSOLVER; no room for its workspace; a matrix that is not finite; another number of elements than n².
pub(crate) fn dense_eigenvalues(n: usize, matrix: &mut Vector<f64>, vectors: bool) -> Result<Vec<f64>> {
    if n.checked_mul(n) != Some(matrix.len()) {
        let (expected, found) = (format!("{n} x {n} elements"), matrix.len().to_string());
        return Err(DeviceError::Arguments { what: "a symmetric matrix".into(), expected, found });
    }
    let device = matrix.device().clone();
    match (&device, matrix.address()) {
        (Device::Cuda(cuda), Some(address)) if n > 0 => {
            device.synchronize()?;
            by_cusolver(cuda, n, address, vectors)
        }
        _ => by_faer(n, matrix, vectors),
    }
}

/// Parameters of the 64-bit interface.
struct Parameters(sys::cusolverDnParams_t);

impl Parameters {
    fn new() -> Result<Parameters> {
        let mut parameters = std::ptr::null_mut();
        // SAFETY: the pointer is written before it is read.
        unsafe { sys::cusolverDnCreateParams(&mut parameters) }.result().map_err(refused("cusolverDnCreateParams"))?;
        Ok(Parameters(parameters))
    }
}

impl Drop for Parameters {
    fn drop(&mut self) {
        // SAFETY: made in `new`, and held by nobody else.
        let _ = unsafe { sys::cusolverDnDestroyParams(self.0) };
    }
}

fn by_cusolver(cuda: &Arc<Cuda>, n: usize, address: u64, vectors: bool) -> Result<Vec<f64>> {
    const REAL: sys::cudaDataType = sys::cudaDataType::CUDA_R_64F;
    check_library()?;
    let worker = Worker::new(cuda)?;
    let parameters = Parameters::new()?;
    let values = DeviceMemory::allocate(cuda.context(), 8 * n)?;
    let (rows, lower) = (n as i64, sys::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER);
    let mode = match vectors {
        true => sys::cusolverEigMode_t::CUSOLVER_EIG_MODE_VECTOR,
        false => sys::cusolverEigMode_t::CUSOLVER_EIG_MODE_NOVECTOR,
    };
    let (a, w) = (address as *mut c_void, values.address() as *mut c_void);
    let (mut on_card, mut on_host) = (0usize, 0usize);
    // SAFETY: the matrix has n² elements and the values n, both on this card; sizes are written only.
    unsafe {
        sys::cusolverDnXsyevd_bufferSize(
            worker.handle,
            parameters.0,
            mode,
            lower,
            rows,
            REAL,
            a,
            rows,
            REAL,
            w,
            REAL,
            &mut on_card,
            &mut on_host,
        )
    }
    .result()
    .map_err(refused("cusolverDnXsyevd_bufferSize"))?;
    let work = DeviceMemory::allocate(cuda.context(), on_card.max(1))?;
    let mut host_work = vec![0u8; on_host.max(1)];
    let info = worker.info.address() as *mut i32;
    // SAFETY: as above; both workspaces have the bytes asked for and outlive the wait below.
    unsafe {
        sys::cusolverDnXsyevd(
            worker.handle,
            parameters.0,
            mode,
            lower,
            rows,
            REAL,
            a,
            rows,
            REAL,
            w,
            REAL,
            work.address() as *mut c_void,
            on_card,
            host_work.as_mut_ptr().cast(),
            on_host,
            info,
        )
    }
    .result()
    .map_err(refused("cusolverDnXsyevd"))?;
    worker.wait()?;
    match worker.info.read::<i32>(1)?[0] {
        0 => values.read(n),
        info => Err(DeviceError::Library {
            library: "cuSOLVER",
            call: "cusolverDnXsyevd",
            message: format!("a matrix of {n} x {n} has no decomposition (info {info}): is it finite?"),
        }),
    }
}

fn by_faer(n: usize, matrix: &mut Vector<f64>, vectors: bool) -> Result<Vec<f64>> {
    let elements = matrix.download()?;
    let whole = MatRef::from_column_major_slice(&elements, n, n);
    let failed = |call: &'static str| DeviceError::Library {
        library: "faer",
        call,
        message: format!("a matrix of {n} x {n} has no decomposition: is it finite?"),
    };
    if !vectors {
        return whole.self_adjoint_eigenvalues(Side::Lower).map_err(|_| failed("self_adjoint_eigenvalues"));
    }
    let eigen = whole.self_adjoint_eigen(Side::Lower).map_err(|_| failed("self_adjoint_eigen"))?;
    let u = eigen.U();
    matrix.write(&(0..n).flat_map(|j| (0..n).map(move |i| u[(i, j)])).collect::<Vec<f64>>())?;
    Ok(eigen.S().column_vector().iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a random matrix, and of one whose levels are degenerate, on the card where there is one.
    #[test]
    fn all_pairs_of_one_matrix_with_and_without_vectors() {
        let device = crate::testing::card().unwrap_or(Device::cpu());
        for (n, degenerate) in [(1usize, false), (2, true), (33, false), (100, true), (130, false)] {
            let random = crate::seeded::vector(n * n, 7 + n as u64);
            let element = |i: usize, j: usize| match degenerate {
                true => f64::from(u8::from(i == j)) + 1.0,
                false => random[i.min(j) * n + i.max(j)],
            };
            let all: Vec<f64> = (0..n * n).map(|k| element(k % n, k / n)).collect();
            let mut spent = device.upload(&all).unwrap();
            let mut kept = device.upload(&all).unwrap();
            let alone = dense_eigenvalues(n, &mut spent, false).unwrap();
            let values = dense_eigenvalues(n, &mut kept, true).unwrap();
            let vectors = kept.download().unwrap();
            assert!(values.is_sorted() && alone.is_sorted());
            let close = 1e-13 * (n * n) as f64;
            for j in 0..n {
                assert!((alone[j] - values[j]).abs() < close, "{n}: {} {}", alone[j], values[j]);
                let x = &vectors[j * n..][..n];
                for i in 0..n {
                    let product: f64 = (0..n).map(|k| element(i, k) * x[k]).sum();
                    assert!((product - values[j] * x[i]).abs() < close, "{n}: pair {j}, row {i}");
                    let overlap: f64 = x.iter().zip(&vectors[i * n..]).map(|(a, b)| a * b).sum();
                    assert!((overlap - f64::from(u8::from(i == j))).abs() < close, "{n}: {i} {j}");
                }
            }
        }
        let error = dense_eigenvalues(3, &mut device.zeros(8).unwrap(), false).unwrap_err();
        assert!(error.to_string().contains("3 x 3 elements"), "{error}");
    }
}
