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
    /// Physical memory with its bytes, in the order of addresses.
    pieces: Vec<(sys::CUmemGenericAllocationHandle, usize)>,
    context: Arc<Context>,
}

/// Properties of the card's physical memory.
fn kind(context: &Context) -> sys::CUmemAllocationProp {
    let location =
        sys::CUmemLocation { type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: context.device() };
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

impl Mapping {
    /// Reserves addresses for `room` bytes; `None` on a card without virtual memory management.
    pub(super) fn new(context: &Arc<Context>, room: u64) -> Result<Option<Mapping>> {
        let context = context.clone();
        let can = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED;
        if context.attribute(can)? == 0 {
            return Ok(None);
        }
        context.enter()?;
        let (mut granularity, mut base) = (0, 0);
        let least = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        // SAFETY: the context is current, and both places outlive the call.
        unsafe { sys::cuMemGetAllocationGranularity(&mut granularity, &kind(&context), least) }
            .result()
            .map_err(driver("cuMemGetAllocationGranularity"))?;
        let room = (room as usize).next_multiple_of(granularity);
        // SAFETY: as above; the addresses are freed in `drop`.
        unsafe { sys::cuMemAddressReserve(&mut base, room, 0, 0, 0) }
            .result()
            .map_err(driver("cuMemAddressReserve"))?;
        Ok(Some(Mapping { base, room, mapped: 0, granularity, pieces: Vec::new(), context }))
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
        let (kind, mut handle) = (kind(&self.context), 0);
        // SAFETY: the context is current; the memory is released below or in `drop`.
        unsafe { sys::cuMemCreate(&mut handle, bytes, &kind, 0) }.result().map_err(driver("cuMemCreate"))?;
        let to = self.base + self.mapped as u64;
        let access = sys::CUmemAccessDesc {
            location: kind.location,
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: the addresses are ours and nothing is mapped there yet; the memory has as many bytes.
        let mapped = unsafe { sys::cuMemMap(to, bytes, 0, handle, 0) }.result().map_err(driver("cuMemMap"));
        // SAFETY: as above, where that went well.
        let open =
            |()| unsafe { sys::cuMemSetAccess(to, bytes, &access, 1) }.result().map_err(driver("cuMemSetAccess"));
        match mapped.and_then(open) {
            Ok(()) => {
                self.pieces.push((handle, bytes));
                self.mapped += bytes;
                Ok(())
            }
            Err(error) => {
                // SAFETY: the range is ours; unmapping what was never mapped is refused without harm.
                unsafe {
                    let _ = sys::cuMemUnmap(to, bytes);
                    let _ = sys::cuMemRelease(handle);
                }
                Err(error)
            }
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Queued kernels may still use it.
        if self.context.enter().is_err() || self.context.synchronize().is_err() {
            return;
        }
        let mut address = self.base;
        for (handle, bytes) in &self.pieces {
            // SAFETY: mapped in `extend`, and nobody holds a part of it any more.
            unsafe {
                let _ = sys::cuMemUnmap(address, *bytes);
                let _ = sys::cuMemRelease(*handle);
            }
            address += *bytes as u64;
        }
        // SAFETY: reserved in `new`, and nothing is mapped any more.
        let _ = unsafe { sys::cuMemAddressFree(self.base, self.room) };
    }
}
