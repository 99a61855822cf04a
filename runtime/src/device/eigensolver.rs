//! Eigenvectors of several dense symmetric matrices in device memory, by cuSOLVER's divide and conquer on a card.
//!
//! In: column-major matrices inside one vector. Out: their eigenvectors in place, their eigenvalues, ascending, in another.
//! cuSOLVER does a part of each on the host, so a few threads, each with its own stream and workspace, take matrices from
//! the largest down. Elsewhere faer solves them: a library's code cannot be simulated.

use super::card_memory::DeviceMemory;
use super::context::{Context, driver};
use super::cuda::Cuda;
use super::{Device, Vector};
use crate::error::{DeviceError, Result};
use cudarc::cusolver::{result as solver, sys};
use cudarc::driver::result;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of streams, and of host threads that feed them.
const WORKERS: usize = 12;

/// A matrix of `size` × `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymmetricMatrix {
    /// Its first element.
    pub first: usize,
    /// Rows.
    pub size: usize,
    /// Where its first eigenvalue goes.
    pub values: usize,
}

/// Solves many matrices; keeps its workspace.
pub struct Eigensolver {
    device: Device,
    workers: Vec<Mutex<Worker>>,
}

/// A handle of cuSOLVER with its stream and memory.
pub(super) struct Worker {
    pub(super) handle: sys::cusolverDnHandle_t,
    stream: cudarc::driver::sys::CUstream,
    work: Option<DeviceMemory>,
    /// What cuSOLVER says of a call, an i32.
    pub(super) info: DeviceMemory,
    cuda: Arc<Cuda>,
}

// SAFETY: handle and stream may be used from any thread with the context current, by one at a time.
unsafe impl Send for Worker {}

/// An error of the library, with the call that it refused.
pub(super) fn refused(call: &'static str) -> impl Fn(solver::CusolverError) -> DeviceError {
    move |error| DeviceError::Library { library: "cuSOLVER", call, message: format!("{error:?}") }
}

/// Refuses a machine without cuSOLVER.
pub(super) fn check_library() -> Result<()> {
    // SAFETY: only looks for the library.
    if unsafe { sys::is_culib_present() } {
        return Ok(());
    }
    let message =
        "libcusolver was not found; install the CUDA toolkit, or add the folder that holds it to LD_LIBRARY_PATH";
    Err(DeviceError::Library { library: "cuSOLVER", call: "loading it", message: message.into() })
}

impl Worker {
    pub(super) fn new(cuda: &Arc<Cuda>) -> Result<Worker> {
        cuda.context().enter()?;
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        let handle = solver::dn_create().map_err(refused("cusolverDnCreate"))?;
        // SAFETY: handle and stream were made just now.
        unsafe { solver::dn_set_stream(handle, stream.cast()) }.map_err(refused("cusolverDnSetStream"))?;
        Ok(Worker { handle, stream, work: None, info: DeviceMemory::allocate(cuda.context(), 4)?, cuda: cuda.clone() })
    }

    /// Waits for all that was started.
    pub(super) fn wait(&self) -> Result<()> {
        // SAFETY: the stream is ours, and its context is current.
        unsafe { result::stream::synchronize(self.stream) }.map_err(driver("cuStreamSynchronize"))
    }

    /// Solves one matrix and waits for it.
    fn solve(&mut self, matrices: u64, values: u64, matrix: SymmetricMatrix) -> Result<()> {
        let SymmetricMatrix { first, size, values: first_value } = matrix;
        let (a, w) = ((matrices + 8 * first as u64) as *mut f64, (values + 8 * first_value as u64) as *mut f64);
        let n = i32::try_from(size).map_err(|_| DeviceError::Arguments {
            what: "a symmetric matrix".into(),
            expected: "fewer than 2^31 rows".into(),
            found: size.to_string(),
        })?;
        let (mode, side) =
            (sys::cusolverEigMode_t::CUSOLVER_EIG_MODE_VECTOR, sys::cublasFillMode_t::CUBLAS_FILL_MODE_LOWER);
        let mut elements = 0;
        // SAFETY: the matrix and its values lie inside the vectors, as the caller has checked.
        let status = unsafe { sys::cusolverDnDsyevd_bufferSize(self.handle, mode, side, n, a, n, w, &mut elements) };
        status.result().map_err(refused("cusolverDnDsyevd_bufferSize"))?;
        let bytes = 8 * elements.max(1) as usize;
        if self.work.as_ref().is_none_or(|work| work.bytes() < bytes) {
            self.work = None;
            self.work = Some(DeviceMemory::allocate(self.cuda.context(), bytes + bytes / 4)?);
        }
        let work = self.work.as_ref().map_or(0, DeviceMemory::address) as *mut f64;
        let info = self.info.address() as *mut i32;
        // SAFETY: as above; the workspace has the elements asked for, and nothing else uses it until the stream is waited
        // for below.
        unsafe {
            sys::cusolverDnDsyevd(self.handle, mode, side, n, a, n, w, work, elements, info)
                .result()
                .map_err(refused("cusolverDnDsyevd"))?;
        }
        self.wait()?;
        match self.info.read::<i32>(1)?[0] {
            0 => Ok(()),
            info => Err(DeviceError::Library {
                library: "cuSOLVER",
                call: "cusolverDnDsyevd",
                message: format!("a matrix of {size} x {size} has no decomposition (info {info}): is it finite?"),
            }),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.cuda.context().enter().is_ok() {
            // SAFETY: nobody else holds them.
            unsafe {
                let _ = solver::dn_destroy(self.handle);
                let _ = result::stream::destroy(self.stream);
            }
        }
    }
}

impl Eigensolver {
    /// For vectors of this device.
    ///
    /// # Errors
    /// A card without cuSOLVER.
    pub fn new(device: &Device) -> Result<Eigensolver> {
        let workers = match device {
            Device::Cpu(_) | Device::Sim(_) => Vec::new(),
            Device::Cuda(cuda) => {
                check_library()?;
                (0..WORKERS).map(|_| Worker::new(cuda).map(Mutex::new)).collect::<Result<_>>()?
            }
        };
        Ok(Eigensolver { device: device.clone(), workers })
    }

    /// Replaces each matrix by its eigenvectors, in the order of the eigenvalues in `values`, ascending. Waits for them.
    ///
    /// # Errors
    /// A matrix or its values outside the vectors; vectors of another device; a matrix with a value that is not finite.
    pub fn solve(&self, list: &[SymmetricMatrix], matrices: &mut Vector<f64>, values: &mut Vector<f64>) -> Result<()> {
        let outside =
            list.iter().find(|m| m.first + m.size * m.size > matrices.len() || m.values + m.size > values.len());
        if let Some(matrix) = outside {
            let (expected, found) =
                (format!("inside {} and {} elements", matrices.len(), values.len()), format!("{matrix:?}"));
            return Err(DeviceError::Arguments { what: "a symmetric matrix".into(), expected, found });
        }
        if !matrices.device().is_same(&self.device) || !values.device().is_same(&self.device) {
            let (expected, found) = (self.device.name(), matrices.device().name());
            return Err(DeviceError::WrongDevice { what: "symmetric matrices".into(), expected, found });
        }
        let (Device::Cuda(cuda), Some(from), Some(to)) = (&self.device, matrices.address(), values.address()) else {
            return on_the_host(list, matrices, values);
        };
        self.device.synchronize()?;
        let mut sorted = list.to_vec();
        sorted.sort_by_key(|matrix| std::cmp::Reverse(matrix.size));
        let (next, context): (AtomicUsize, &Arc<Context>) = (AtomicUsize::new(0), cuda.context());
        let work = |worker: &Mutex<Worker>| -> Result<()> {
            context.enter()?;
            let mut worker = worker.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some(matrix) = sorted.get(next.fetch_add(1, Ordering::Relaxed)) {
                worker.solve(from, to, *matrix)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let (first, others) = self.workers.split_at(1);
            let others = others.iter().take(sorted.len().saturating_sub(1));
            let threads: Vec<_> = others.map(|worker| scope.spawn(move || work(worker))).collect();
            let mut outcome = first.iter().try_for_each(work);
            for thread in threads {
                let done = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(done);
            }
            outcome
        })
    }
}

fn on_the_host(list: &[SymmetricMatrix], matrices: &mut Vector<f64>, values: &mut Vector<f64>) -> Result<()> {
    let (mut all, mut found) = (matrices.download()?, values.download()?);
    for SymmetricMatrix { first, size, values } in list.iter().copied().filter(|matrix| matrix.size > 0) {
        let part = &mut all[first..][..size * size];
        let matrix = faer::MatRef::from_column_major_slice(part, size, size);
        let eigen = matrix.self_adjoint_eigen(faer::Side::Lower).map_err(|_| DeviceError::Library {
            library: "faer",
            call: "self_adjoint_eigen",
            message: format!("a matrix of {size} x {size} has no decomposition: is it finite?"),
        })?;
        found[values..][..size].iter_mut().zip(eigen.S().column_vector().iter()).for_each(|(to, from)| *to = *from);
        let vectors = eigen.U();
        let columns: Vec<f64> = (0..size).flat_map(|j| (0..size).map(move |i| vectors[(i, j)])).collect();
        part.copy_from_slice(&columns);
    }
    matrices.write(&all)?;
    values.write(&found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_of_several_matrices_in_place() {
        let device = crate::testing::card().unwrap_or(Device::cpu());
        let sizes = [1usize, 7, 40, 130];
        let (mut list, mut all, mut at, mut next) = (Vec::new(), vec![f64::NAN; 3], 5, 1u64);
        for size in sizes {
            list.push(SymmetricMatrix { first: all.len(), size, values: at });
            at += size;
            let mut random = || {
                next = next.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (next >> 11) as f64 / (1u64 << 53) as f64 - 0.5
            };
            let mut matrix = vec![0.0; size * size];
            for i in 0..size {
                for j in 0..=i {
                    let x = random();
                    (matrix[i + j * size], matrix[j + i * size]) = (x, x);
                }
            }
            all.extend(matrix);
        }
        let (mut matrices, mut values) = (device.upload(&all).unwrap(), device.upload(&vec![f64::NAN; at]).unwrap());
        Eigensolver::new(&device).unwrap().solve(&list, &mut matrices, &mut values).unwrap();
        let (vectors, values) = (matrices.download().unwrap(), values.download().unwrap());
        assert!(values[..5].iter().all(|x| x.is_nan()) && vectors[..3].iter().all(|x| x.is_nan()));
        for SymmetricMatrix { first, size: n, values: v } in list {
            for j in 0..n {
                let x = &vectors[first + j * n..][..n];
                for i in 0..n {
                    let product: f64 = (0..n).map(|k| all[first + i + k * n] * x[k]).sum();
                    assert!((product - values[v + j] * x[i]).abs() < 1e-12 * n as f64, "{n}: pair {j}, row {i}");
                }
                let other = &vectors[first + (n - 1 - j) * n..][..n];
                let overlap: f64 = x.iter().zip(other).map(|(a, b)| a * b).sum();
                let expected = if n - 1 - j == j { 1.0 } else { 0.0 };
                assert!((overlap - expected).abs() < 1e-13 * n as f64, "{n}: {j}");
                assert!(j == 0 || values[v + j] >= values[v + j - 1]);
            }
        }
    }
}
