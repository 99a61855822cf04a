//! A card's primary context and its stream, through the driver API, which is loaded at run time.
//!
//! Kernels use one stream, so they run in the order in which they were queued. Nothing panics without a driver: its presence is
//! checked before the first call.

use super::capacity::Memory;
use super::staging::Staging;
use crate::error::{DeviceError, Result};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute};
use std::sync::{Mutex, PoisonError};

/// The driver's error with the call that returned it.
pub(super) fn driver(call: impl Into<String>) -> impl FnOnce(DriverError) -> DeviceError {
    |error| {
        let text = |s: Result<&std::ffi::CStr, DriverError>| match s {
            Ok(s) => s.to_string_lossy().into_owned(),
            Err(_) => format!("error {}", error.0 as u32),
        };
        DeviceError::Driver { call: call.into(), name: text(error.error_name()), message: text(error.error_string()) }
    }
}

/// The primary context and the stream; closed when the last user drops it.
pub struct Context {
    device: sys::CUdevice,
    /// The card's name and number, `NVIDIA H200 (cuda:0)`.
    name: String,
    context: sys::CUcontext,
    pub(super) stream: sys::CUstream,
    /// Pinned memory for short copies; allocated on first use.
    staging: Mutex<Option<Staging>>,
}

// SAFETY: driver handles may be used from any thread once the context is made current there, which `enter` does.
unsafe impl Send for Context {}
// SAFETY: as above; the driver locks internally.
unsafe impl Sync for Context {}

/// Number of cards visible to the driver; 0 without a driver.
pub(super) fn cards() -> usize {
    // SAFETY: only looks for the library.
    if !unsafe { sys::is_culib_present() } || result::init().is_err() {
        return 0;
    }
    result::device::get_count().map_or(0, |count| count as usize)
}

impl Context {
    pub(super) fn open(ordinal: usize) -> Result<Context> {
        // SAFETY: only looks for the library.
        if !unsafe { sys::is_culib_present() } {
            return Err(DeviceError::NoDriver);
        }
        result::init().map_err(|error| match error.0 {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => DeviceError::NoDevice { ordinal, count: 0 },
            _ => driver("cuInit")(error),
        })?;
        let count = result::device::get_count().map_err(driver("cuDeviceGetCount"))? as usize;
        if ordinal >= count {
            return Err(DeviceError::NoDevice { ordinal, count });
        }
        let device = result::device::get(ordinal as i32).map_err(driver("cuDeviceGet"))?;
        // SAFETY: `device` came from the driver just now; the context is released in `drop`.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(driver("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: the context was retained above and is current on this thread from here on.
        unsafe { result::ctx::set_current(context) }.map_err(driver("cuCtxSetCurrent"))?;
        let stream =
            result::stream::create(result::stream::StreamKind::NonBlocking).map_err(driver("cuStreamCreate"))?;
        let model = result::device::get_name(device).map_err(driver("cuDeviceGetName"))?;
        let name = format!("{model} (cuda:{ordinal})");
        Ok(Context { device, name, context, stream, staging: Mutex::default() })
    }

    /// The card's name and number.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The card's name as the driver has it, `NVIDIA H200`.
    pub(super) fn model(&self) -> &str {
        self.name.rsplit_once(" (").map_or(&self.name, |(model, _)| model)
    }

    /// Free and total memory now.
    pub(super) fn memory(&self) -> Memory {
        let sizes = self.enter().and_then(|()| result::mem_get_info().map_err(driver("cuMemGetInfo")));
        let (free, total) = sizes.unwrap_or((0, 0));
        Memory { free: free as u64, total: total as u64 }
    }

    /// The card of this context.
    pub(super) fn device(&self) -> sys::CUdevice {
        self.device
    }

    /// Makes the context current on this thread; every use of the driver starts here.
    pub(super) fn enter(&self) -> Result<()> {
        // SAFETY: the context lives as long as `self`.
        unsafe { result::ctx::set_current(self.context) }.map_err(driver("cuCtxSetCurrent"))
    }

    pub(super) fn attribute(&self, attribute: CUdevice_attribute) -> Result<u32> {
        // SAFETY: `device` is valid.
        let value = unsafe { result::device::get_attribute(self.device, attribute) };
        value.map(|v| v as u32).map_err(driver("cuDeviceGetAttribute"))
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: the stream lives as long as `self`.
        unsafe { result::stream::synchronize(self.stream) }.map_err(driver("cuStreamSynchronize"))
    }

    /// Runs `work` with the pinned memory, allocating it first if needed. The context must be current.
    pub(super) fn staged<R>(&self, work: impl FnOnce(&mut Staging) -> Result<R>) -> Result<R> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *staging {
            Some(staging) => work(staging),
            none => work(none.insert(Staging::new()?)),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.enter().is_ok() {
            // SAFETY: nobody else holds the stream or this reference to the primary context any more.
            unsafe {
                let _ = result::stream::synchronize(self.stream);
                if let Some(staging) = self.staging.get_mut().unwrap_or_else(PoisonError::into_inner) {
                    staging.release();
                }
                let _ = result::stream::destroy(self.stream);
                let _ = result::primary_ctx::release(self.device);
            }
        }
    }
}
