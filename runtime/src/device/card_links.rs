//! Messages from card to card among ranks that have one each, by NCCL, which takes NVLink, PCIe or the network as they are.
//!
//! Without them the same numbers go by way of the host, in the messages of [`Ranks`]. Either way a step of all ranks comes first, so that a rank
//! that has failed is heard and nobody waits for it. Everything is queued on the card's own stream. Beside the messages stand what
//! they need on the card: transposes by cuBLAS, and copies of parts of columns.

use super::Vector;
use super::context::{Context, driver};
use super::cuda::Cuda;
use crate::error::{DeviceError, Result};
use crate::ranks::Ranks;
use crate::scalar::Scalar;
use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::driver::sys;
use cudarc::nccl::{result as nccl, sys as nccl_sys};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// `off`: messages go by way of the host although there is NCCL.
const SWITCH: &str = "EIGENFORGE_NCCL";

/// The links of this rank's card to those of the others.
pub struct CardLinks {
    ranks: Arc<Ranks>,
    context: Arc<Context>,
    handles: Mutex<Handles>,
}

struct Handles {
    messages: nccl_sys::ncclComm_t,
    matrices: blas_sys::cublasHandle_t,
}

// SAFETY: both may be used from any thread with the context current, by one at a time, which the lock sees to.
unsafe impl Send for Handles {}

fn refused(call: &'static str) -> impl Fn(nccl::NcclError) -> DeviceError {
    move |error| DeviceError::Library { library: "NCCL", call, message: format!("{:?}", error.0) }
}

fn refused_matrix(call: &'static str) -> impl Fn(blas::CublasError) -> DeviceError {
    move |error| DeviceError::Library { library: "cuBLAS", call, message: format!("{error:?}") }
}

/// NCCL's version as it gives it, 22,809 for 2.28.9; 0 without it, or where it is switched off.
fn version() -> i32 {
    if std::env::var(SWITCH).is_ok_and(|word| word == "off") {
        return 0;
    }
    // SAFETY: only looks for the libraries.
    let both = unsafe { nccl_sys::is_culib_present() && blas_sys::is_culib_present() };
    if both { nccl::get_nccl_version().unwrap_or(0) } else { 0 }
}

impl CardLinks {
    /// Joins the cards of all ranks, each of which has another. Every rank calls it; all have links or all have the reason for none.
    ///
    /// # Errors
    /// A rank that failed.
    pub(super) fn new(ranks: &Arc<Ranks>, cuda: &Cuda) -> Result<std::result::Result<CardLinks, String>> {
        let own = version();
        let versions = ranks.all_of("NCCL", f64::from(own))?;
        if versions.iter().any(|found| *found != f64::from(own)) || own == 0 {
            return Ok(Err(match own == 0 || versions.contains(&0.0) {
                true => "not every rank has NCCL and cuBLAS".into(),
                false => format!("the ranks have NCCL of different versions: {versions:?}"),
            }));
        }
        // An identity has bytes; none says that rank 0 could not make it.
        let id = match ranks.is_first() {
            true => nccl::get_uniqueid().map(|id| id.internal.map(|byte| byte as u8).to_vec()).unwrap_or_default(),
            false => Vec::new(),
        };
        let id = ranks.from_first("the name of the links", &id)?;
        let mut name = nccl_sys::ncclUniqueId { internal: [0; 128] };
        if id.len() != name.internal.len() {
            return Ok(Err("NCCL could not begin on rank 0".into()));
        }
        name.internal.iter_mut().zip(&id).for_each(|(to, from)| *to = *from as _);
        let context = cuda.context().clone();
        context.enter()?;
        let mut messages = std::ptr::null_mut();
        // SAFETY: the place outlives the call, the context is current, and every rank calls it with the same name.
        let joined =
            unsafe { nccl::comm_init_rank(&mut messages, ranks.count() as i32, name, ranks.rank() as i32) }.map(drop);
        let matrices = blas::create_handle();
        let ready = joined.is_ok() && matrices.is_ok();
        if ranks.any("links that could not be made", !ready)? {
            if joined.is_ok() {
                // SAFETY: made just now, and nothing was sent.
                let _ = unsafe { nccl::comm_abort(messages) };
            }
            return Ok(Err("NCCL could not join the cards (NCCL_DEBUG=WARN has it say why)".into()));
        }
        let matrices = matrices.map_err(refused_matrix("cublasCreate"))?;
        // SAFETY: the handle was made just now, and the stream lives as long as the context.
        unsafe { blas::set_stream(matrices, context.stream.cast()) }.map_err(refused_matrix("cublasSetStream"))?;
        let handles = Mutex::new(Handles { messages, matrices });
        Ok(Ok(CardLinks { ranks: ranks.clone(), context, handles }))
    }

    /// The library that is found, in words; `None` where messages go by way of the host.
    pub fn library() -> Option<String> {
        let version = version();
        let (major, minor) = (version / 10_000, version / 100 % 100);
        (version > 0).then(|| format!("NCCL {major}.{minor}.{}", version % 100))
    }

    /// The handles, with the context current.
    fn enter(&self) -> Result<MutexGuard<'_, Handles>> {
        self.context.enter()?;
        Ok(self.handles.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The address of a vector of this card, which has so many elements here.
    fn place<T: Scalar>(&self, vector: &Vector<T>, elements: usize) -> Result<u64> {
        let own = matches!(vector.device(), super::Device::Cuda(cuda) if Arc::ptr_eq(cuda.context(), &self.context));
        match vector.address() {
            Some(address) if own && elements <= vector.here().len() => Ok(address),
            _ => Err(DeviceError::Arguments {
                what: "a message between cards".into(),
                expected: format!("{elements} elements on {}", self.context.name()),
                found: format!("{} on {}", vector.here().len(), vector.device().name()),
            }),
        }
    }

    /// Copies the shares of all ranks into a vector that this rank has as a whole.
    ///
    /// # Errors
    /// A rank that failed; another length; NCCL's.
    pub fn gather<T: Scalar>(&self, share: &Vector<T>, whole: &mut Vector<T>) -> Result<()> {
        self.ranks.all_of("gather x from card to card", 0.0)?;
        let [from, to] = [self.place(share, share.here().len())?, self.place(whole, share.len())?];
        let shares = share.shares();
        let handles = self.enter()?;
        nccl::group_start().map_err(refused("ncclGroupStart"))?;
        for (root, places) in shares.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
            let (to, bytes) = (to + (places.start * size_of::<T>()) as u64, places.len() * size_of::<T>());
            // SAFETY: both ranges are ours and as long, as just compared; the stream orders what reads and writes them.
            unsafe {
                nccl::broadcast(
                    from as *const _,
                    to as *mut _,
                    bytes,
                    nccl_sys::ncclDataType_t::ncclUint8,
                    root as i32,
                    handles.messages,
                    self.context.stream.cast(),
                )
            }
            .map_err(refused("ncclBroadcast"))?;
        }
        nccl::group_end().map_err(refused("ncclGroupEnd"))?;
        Ok(())
    }

    /// Sends the elements between two bounds to each rank, and receives as many as the other bounds say from each.
    ///
    /// # Errors
    /// As of [`CardLinks::gather`].
    pub fn exchange<T: Scalar>(
        &self,
        (send, sent): (&Vector<T>, &[usize]),
        (receive, received): (&mut Vector<T>, &[usize]),
    ) -> Result<()> {
        self.ranks.all_of("exchange from card to card", 0.0)?;
        let end = |bounds: &[usize]| bounds.last().copied().unwrap_or(0);
        let [from, to] = [self.place(send, end(sent))?, self.place(receive, end(received))?];
        let (handles, size) = (self.enter()?, size_of::<T>());
        nccl::group_start().map_err(refused("ncclGroupStart"))?;
        let byte = nccl_sys::ncclDataType_t::ncclUint8;
        for (rank, (out, into)) in sent.windows(2).zip(received.windows(2)).enumerate() {
            let [out, into] = [out, into].map(|pair| (pair[0] * size, (pair[1] - pair[0]) * size));
            // SAFETY: both ranges are ours, and the other end has as many bytes; the stream orders what reads and writes them.
            unsafe {
                if out.1 > 0 {
                    let from = (from + out.0 as u64) as *const _;
                    nccl::send(from, out.1, byte, rank as i32, handles.messages, self.context.stream.cast())
                        .map_err(refused("ncclSend"))?;
                }
                if into.1 > 0 {
                    let to = (to + into.0 as u64) as *mut _;
                    nccl::recv(to, into.1, byte, rank as i32, handles.messages, self.context.stream.cast())
                        .map_err(refused("ncclRecv"))?;
                }
            }
        }
        nccl::group_end().map_err(refused("ncclGroupEnd"))?;
        Ok(())
    }

    /// Writes the transpose of a matrix of so many rows and columns, column by column.
    ///
    /// # Errors
    /// Vectors that are too short; cuBLAS's.
    pub fn transpose<T: Scalar>(
        &self,
        from: &Vector<T>,
        [rows, columns]: [usize; 2],
        to: &mut Vector<T>,
    ) -> Result<()> {
        let [a, c] = [self.place(from, rows * columns)?, self.place(to, rows * columns)?];
        if rows * columns == 0 {
            return Ok(());
        }
        let int = |count: usize| {
            let (expected, found) = ("below 2^31".into(), count.to_string());
            i32::try_from(count).map_err(|_| DeviceError::Arguments {
                what: "lines of a matrix".into(),
                expected,
                found,
            })
        };
        let (m, n, handles) = (int(columns)?, int(rows)?, self.enter()?);
        let (turned, plain) = (blas_sys::cublasOperation_t::CUBLAS_OP_T, blas_sys::cublasOperation_t::CUBLAS_OP_N);
        // SAFETY: both matrices are ours and as large, as just compared; the numbers outlive the calls.
        let done = unsafe {
            match size_of::<T>() {
                8 => {
                    let (one, zero) = (1.0f64, 0.0f64);
                    let (a, c) = (a as *const f64, c as *mut f64);
                    blas_sys::cublasDgeam(handles.matrices, turned, plain, m, n, &one, a, n, &zero, c, m, c, m)
                }
                _ => {
                    let (one, zero) = (1.0f32, 0.0f32);
                    let (a, c) = (a as *const f32, c as *mut f32);
                    blas_sys::cublasSgeam(handles.matrices, turned, plain, m, n, &one, a, n, &zero, c, m, c, m)
                }
            }
        };
        done.result().map_err(refused_matrix("cublas geam"))
    }

    /// Copies `columns` columns of `rows` elements that lie one after the other, from element `first` on, to columns of another matrix, from
    /// its element `at` on, `stride` elements apart.
    ///
    /// # Errors
    /// Vectors that are too short; the driver's.
    pub fn copy_columns<T: Scalar>(
        &self,
        (from, first): (&Vector<T>, usize),
        [rows, columns]: [usize; 2],
        (to, at, stride): (&mut Vector<T>, usize, usize),
    ) -> Result<()> {
        if rows * columns == 0 {
            return Ok(());
        }
        let source = self.place(from, first + rows * columns)? + (first * size_of::<T>()) as u64;
        let target = self.place(to, at + (columns - 1) * stride + rows)? + (at * size_of::<T>()) as u64;
        let (_handles, size) = (self.enter()?, size_of::<T>());
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: device,
            srcHost: std::ptr::null(),
            srcDevice: source,
            srcArray: std::ptr::null_mut(),
            srcPitch: rows * size,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: device,
            dstHost: std::ptr::null_mut(),
            dstDevice: target,
            dstArray: std::ptr::null_mut(),
            dstPitch: stride * size,
            WidthInBytes: rows * size,
            Height: columns,
        };
        // SAFETY: both ranges are ours, as just compared, and the stream orders what reads and writes them.
        unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.context.stream) }.result().map_err(driver("cuMemcpy2DAsync"))
    }
}

impl Drop for CardLinks {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            return;
        }
        let handles = self.handles.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: nobody else holds them. Aborting does not wait for ranks that are gone.
        unsafe {
            let _ = nccl::comm_abort(handles.messages);
            let _ = blas::destroy_handle(handles.matrices);
        }
    }
}
