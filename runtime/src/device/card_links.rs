//! Messages from card to card among ranks that have one each, by NCCL, which takes NVLink, PCIe or the network as they are.
//!
//! Without them the same numbers go by way of the host, in the messages of [`Ranks`]. Either way a step of all ranks comes first, so that a rank
//! that has failed is heard and nobody waits for it. Everything is queued on the card's own stream. Beside the messages stand what
//! they need on the card: transposes by cuBLAS, and copies of parts of columns. By addresses here, by vectors in `shared`.

use super::context::{Context, driver};
use crate::error::{DeviceError, Result};
use crate::jit::nccl_version;
use crate::ranks::Ranks;
use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::driver::sys;
use cudarc::nccl::{result as nccl, sys as nccl_sys};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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

impl CardLinks {
    /// Joins the cards of all ranks, each of which has another. Every rank calls it; all have links or all have the reason for none.
    ///
    /// # Errors
    /// A rank that failed.
    pub(super) fn new(ranks: &Arc<Ranks>, context: &Arc<Context>) -> Result<std::result::Result<CardLinks, String>> {
        // SAFETY: only looks for the library.
        let own = if unsafe { blas_sys::is_culib_present() } { nccl_version() } else { 0 };
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
        unsafe { blas::set_stream(matrices, context.stream().cast()) }.map_err(refused_matrix("cublasSetStream"))?;
        let handles = Mutex::new(Handles { messages, matrices });
        Ok(Ok(CardLinks { ranks: ranks.clone(), context: context.clone(), handles }))
    }

    /// The ranks whose cards are joined.
    pub(super) fn ranks(&self) -> &Arc<Ranks> {
        &self.ranks
    }

    /// This rank's card.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The handles, with the context current.
    fn enter(&self) -> Result<MutexGuard<'_, Handles>> {
        self.context.enter()?;
        Ok(self.handles.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has every rank's memory at `to` hold parts of so many bytes of all ranks, of which its own is there already.
    ///
    /// # Errors
    /// NCCL's.
    pub(super) fn all_gather(&self, to: u64, bytes: usize) -> Result<()> {
        let handles = self.enter()?;
        let own = to + (self.ranks.rank() * bytes) as u64;
        let byte = nccl_sys::ncclDataType_t::ncclUint8;
        // SAFETY: the caller's memory has a part for each rank; the stream orders what reads and writes it.
        unsafe {
            nccl::all_gather(own as *const _, to as *mut _, bytes, byte, handles.messages, self.context.stream().cast())
        }
        .map_err(refused("ncclAllGather"))?;
        Ok(())
    }

    /// Has every rank's memory at `at` hold the bytes between two bounds of each rank, of which its own are there already.
    ///
    /// # Errors
    /// NCCL's.
    pub(super) fn share_bytes(&self, at: u64, bounds: &[usize]) -> Result<()> {
        let part = |rank: usize| at + bounds[rank] as u64..at + bounds[rank + 1] as u64;
        let me = self.ranks.rank();
        let others = (0..self.ranks.count()).filter(|rank| *rank != me);
        self.pass(others.map(|rank| (rank, part(me), part(rank))))
    }

    /// Sends the bytes between two bounds to each rank, and receives as many as the other bounds say from each.
    ///
    /// # Errors
    /// NCCL's.
    pub(super) fn exchange_bytes(&self, (from, sent): (u64, &[usize]), (to, received): (u64, &[usize])) -> Result<()> {
        let part = |at: u64, pair: &[usize]| at + pair[0] as u64..at + pair[1] as u64;
        let pairs = sent.windows(2).zip(received.windows(2)).enumerate();
        self.pass(pairs.map(|(rank, (out, into))| (rank, part(from, out), part(to, into))))
    }

    /// Sends what is at the first addresses to a rank, and receives from it what belongs at the second ones; all at once. The caller's
    /// memory is there, and the other end has as many bytes.
    fn pass(&self, messages: impl Iterator<Item = (usize, Range<u64>, Range<u64>)>) -> Result<()> {
        let (handles, byte) = (self.enter()?, nccl_sys::ncclDataType_t::ncclUint8);
        let bytes = |range: &Range<u64>| (range.end - range.start) as usize;
        nccl::group_start().map_err(refused("ncclGroupStart"))?;
        for (rank, out, into) in messages {
            // SAFETY: the caller's ranges are as long, and the other end has as many bytes; the stream orders what reads and writes them.
            unsafe {
                let (peer, stream) = (rank as i32, self.context.stream().cast());
                if !out.is_empty() {
                    nccl::send(out.start as *const _, bytes(&out), byte, peer, handles.messages, stream)
                        .map_err(refused("ncclSend"))?;
                }
                if !into.is_empty() {
                    nccl::recv(into.start as *mut _, bytes(&into), byte, peer, handles.messages, stream)
                        .map_err(refused("ncclRecv"))?;
                }
            }
        }
        nccl::group_end().map_err(refused("ncclGroupEnd"))?;
        Ok(())
    }

    /// Writes the transpose of a matrix of so many rows and columns, column by column, of numbers of `size` bytes.
    ///
    /// # Errors
    /// Lines beyond cuBLAS's integers; cuBLAS's.
    pub(super) fn transpose_at(&self, from: u64, [rows, columns]: [usize; 2], to: u64, size: usize) -> Result<()> {
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
        // SAFETY: the caller's matrices are as large; the numbers outlive the calls.
        let done = unsafe {
            match size {
                8 => {
                    let (one, zero) = (1.0f64, 0.0f64);
                    let (a, c) = (from as *const f64, to as *mut f64);
                    blas_sys::cublasDgeam(handles.matrices, turned, plain, m, n, &one, a, n, &zero, c, m, c, m)
                }
                _ => {
                    let (one, zero) = (1.0f32, 0.0f32);
                    let (a, c) = (from as *const f32, to as *mut f32);
                    blas_sys::cublasSgeam(handles.matrices, turned, plain, m, n, &one, a, n, &zero, c, m, c, m)
                }
            }
        };
        done.result().map_err(refused_matrix("cublas geam"))
    }

    /// Copies so many runs of `bytes` bytes that lie one after the other to places `stride` bytes apart.
    ///
    /// # Errors
    /// The driver's.
    pub(super) fn copy_runs(&self, from: u64, [bytes, runs]: [usize; 2], (to, stride): (u64, usize)) -> Result<()> {
        let (_handles, device) = (self.enter()?, sys::CUmemorytype::CU_MEMORYTYPE_DEVICE);
        let copy = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: device,
            srcHost: std::ptr::null(),
            srcDevice: from,
            srcArray: std::ptr::null_mut(),
            srcPitch: bytes,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: device,
            dstHost: std::ptr::null_mut(),
            dstDevice: to,
            dstArray: std::ptr::null_mut(),
            dstPitch: stride,
            WidthInBytes: bytes,
            Height: runs,
        };
        // SAFETY: the caller's ranges hold them, and the stream orders what reads and writes them.
        unsafe { sys::cuMemcpy2DAsync_v2(&copy, self.context.stream()) }.result().map_err(driver("cuMemcpy2DAsync"))
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
