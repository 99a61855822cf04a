//! A range of a card's addresses that is backed by memory as needed.
//!
//! Addresses for the largest possible size are reserved once; physical memory is mapped piece by piece, so the memory
//! grows in place (CUDA's virtual memory management).

use super::context::{Context, driver};
use crate::error::Result;
use cudarc::driver::sys::{self, CUdevice_attribute};
use std::sync::Arc;

/// Reserved addresses, mapped from the first on.
pub(super) struct Mapping {
    base: u64,
    room: usize,
    mapped: usize,
    granularity: usize,
    /// Physical memory in the order of addresses.
    pieces: Vec<Piece>,
    context: Arc<Context>,
}

/// Properties of the card's physical memory.
fn kind(device: sys::CUdevice) -> sys::CUmemAllocationProp {
    let location = sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device };
    sys::CUmemAllocationProp {
        type_: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location,
        win32HandleMetaData: std::ptr::null_mut(),
        allocFlags: sys::CUmemAllocationProp_st__bindgen_ty_1 {
            compressionType: 0,
            gpuDirectRDMACapable: 0,
            usage: 0,
            reserved: [0; 4],
        },
    }
}

/// Physical memory that is mapped somewhere.
pub(super) struct Piece {
    handle: sys::CUmemGenericAllocationHandle,
    bytes: usize,
}

impl Piece {
    /// Takes `bytes` bytes of a card's memory, whole pages, and maps them at free addresses of ours, for these cards to use.
    pub(super) fn map(to: u64, bytes: usize, owner: &Context, users: &[sys::CUdevice]) -> Result<Piece> {
        let (kind, mut handle) = (kind(owner.device()), 0);
        // SAFETY: a context is current; the memory is released below or by `unmap`.
        unsafe { sys::cuMemCreate(&mut handle, bytes, &kind, 0) }.result().map_err(driver("cuMemCreate"))?;
        let access: Vec<sys::CUmemAccessDesc> = users
            .iter()
            .map(|user| sys::CUmemAccessDesc {
                location: self::kind(*user).location,
                flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
            })
            .collect();
        // SAFETY: the addresses are ours and nothing is mapped there yet; the memory has as many bytes.
        let mapped = unsafe { sys::cuMemMap(to, bytes, 0, handle, 0) }.result().map_err(driver("cuMemMap"));
        let open = |()| {
            // SAFETY: as above, where that went well; the list has as many entries.
            unsafe { sys::cuMemSetAccess(to, bytes, access.as_ptr(), access.len()) }
                .result()
                .map_err(driver("cuMemSetAccess"))
        };
        let piece = Piece { handle, bytes };
        match mapped.and_then(open) {
            Ok(()) => Ok(piece),
            Err(error) => {
                // Unmapping what was never mapped is refused without harm.
                piece.unmap(to);
                Err(error)
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives it back; it is mapped at `from`, and nobody uses it any more.
    pub(super) fn unmap(&self, from: u64) {
        // SAFETY: mapped in `map`.
        unsafe {
            let _ = sys::cuMemUnmap(from, self.bytes);
            let _ = sys::cuMemRelease(self.handle);
        }
    }
}

/// Bytes of a page of a card's memory.
pub(super) fn granularity(context: &Context) -> Result<usize> {
    let mut granularity = 0;
    let least = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
    context.enter()?;
    // SAFETY: the context is current, and both places outlive the call.
    unsafe { sys::cuMemGetAllocationGranularity(&mut granularity, &kind(context.device()), least) }
        .result()
        .map_err(driver("cuMemGetAllocationGranularity"))?;
    Ok(granularity)
}

/// The first of `room` addresses with nothing behind them; a context must be current.
pub(super) fn reserve(room: usize) -> Result<u64> {
    let mut base = 0;
    // SAFETY: a context is current, and the place outlives the call; the caller frees the addresses.
    unsafe { sys::cuMemAddressReserve(&mut base, room, 0, 0, 0) }.result().map_err(driver("cuMemAddressReserve"))?;
    Ok(base)
}

impl Mapping {
    /// Reserves addresses for `room` bytes; `None` on a card without virtual memory management.
    pub(super) fn new(context: &Arc<Context>, room: u64) -> Result<Option<Mapping>> {
        let context = context.clone();
        let can = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
        if context.attribute(can)? == 0 {
            return Ok(None);
        }
        let granularity = granularity(&context)?;
        let room = (room as usize).next_multiple_of(granularity);
        Ok(Some(Mapping { base: reserve(room)?, room, mapped: 0, granularity, pieces: Vec::new(), context }))
    }

    /// The first address.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Mapped bytes.
    pub(super) fn mapped(&self) -> u64 {
        self.mapped as u64
    }

    /// Maps at least `bytes` more bytes, as far as the address range goes.
    pub(super) fn extend(&mut self, bytes: u64) -> Result<()> {
        let bytes = (bytes as usize).next_multiple_of(self.granularity).min(self.room - self.mapped);
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        let to = self.base + self.mapped as u64;
        self.pieces.push(Piece::map(to, bytes, &self.context, &self.context.users())?);
        self.mapped += bytes;
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Queued kernels may still use it.
        if self.context.enter().is_err() || self.context.synchronize().is_err() {
            return;
        }
        let mut address = self.base;
        for piece in &self.pieces {
            piece.unmap(address);
            address += piece.bytes as u64;
        }
        // SAFETY: reserved in `new`, and nothing is mapped any more.
        let _ = unsafe { sys::cuMemAddressFree(self.base, self.room) };
    }
}
