//! One CUDA device through the driver API, loaded at run time: context, stream, memory, modules, events.
//!
//! Calls into the driver are here, in `module.rs` (functions and the launch), `mapping.rs` (memory that grows),
//! `staging.rs` (short copies) and `copies.rs` (a second stream). Kernels use one stream, so they run in the order in
//! which they were queued. Nothing panics without a driver: its presence is checked before the first call.

use super::kernel::{Engine, Kernel, LoadedKernel};
use super::library::Library;
use super::module::Module;
use super::staging::{PART, Staging};
use super::{Device, Memory};
use crate::error::{DeviceError, Result};
use crate::jit::{self, Arch, Chosen, Jit, Overrides, Settings};
use crate::scalar::Pod;
use crate::trace;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute};
use eigenforge_templates::{KernelText, Warp, WarpError};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One CUDA device: its primary context, a stream, the compiler and the kernels loaded so far.
pub struct Cuda {
    context: Arc<Context>,
    jit: Jit,
    arch: Arch,
    /// As the driver names it.
    model: String,
    ordinal: usize,
    multiprocessors: u32,
    warp: Warp,
    library: Library,
}

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
pub(super) struct Context {
    device: sys::CUdevice,
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
    fn open(ordinal: usize) -> Result<Context> {
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
        Ok(Context { device, context, stream, staging: Mutex::default() })
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
    fn staged<R>(&self, work: impl FnOnce(&mut Staging) -> Result<R>) -> Result<R> {
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

impl Cuda {
    /// Opens a device and finds NVRTC. All live handles of one card are the same, so that memory made through one may be
    /// used through another.
    pub(super) fn open(ordinal: usize) -> Result<Arc<Cuda>> {
        static OPEN: Mutex<BTreeMap<usize, Weak<Cuda>>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cuda) = open.get(&ordinal).and_then(Weak::upgrade) {
            return Ok(cuda);
        }
        let cuda = Arc::new(Cuda::open_with(ordinal, &Settings::from_env()?)?);
        open.insert(ordinal, Arc::downgrade(&cuda));
        Ok(cuda)
    }

    /// Opens a separate device with the given compiler, cache and options.
    pub(super) fn open_with(ordinal: usize, settings: &Settings) -> Result<Cuda> {
        let context = Arc::new(Context::open(ordinal)?);
        let jit = Jit::with_settings(settings)?;
        let library = Library::new(Overrides::from_env().map_err(jit::JitError::from)?);
        if let Ok(version) = jit::driver_version() {
            jit.check_driver(version)?;
        }
        let major = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let multiprocessors = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let lanes = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?;
        let warp = Warp::try_from(lanes).map_err(|WarpError { found }| DeviceError::Arguments {
            what: "the width of the device's warps".into(),
            expected: "8, 16 or 32 lanes".into(),
            found: found.to_string(),
        })?;
        let model = result::device::get_name(context.device).map_err(driver("cuDeviceGetName"))?;
        let arch = Arch::from_capability(major, minor);
        Ok(Cuda { context, jit, arch, model, ordinal, multiprocessors, warp, library })
    }

    /// The card's name and number, `NVIDIA H200 (cuda:0)`.
    pub fn name(&self) -> String {
        format!("{} (cuda:{})", self.model, self.ordinal)
    }

    /// The card's name as the driver has it, `NVIDIA H200`.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The architecture kernels are compiled for.
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Whether it has a tensor memory accelerator, which copies parts of matrices to shared memory, and useful
    /// double-precision tensor cores: compute capability 9.0.
    pub fn has_tensor_memory_accelerator(&self) -> bool {
        self.arch.0 == 90
    }

    /// The width of its warps.
    pub(super) fn warp(&self) -> Warp {
        self.warp
    }

    /// Number of multiprocessors, for grids.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Bytes of shared memory that a block may request.
    pub fn shared_bytes_per_block(&self) -> Result<u32> {
        self.context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    }

    /// Bytes of the L2 cache.
    pub fn l2_bytes(&self) -> Result<u64> {
        self.context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE).map(u64::from)
    }

    pub(super) fn memory(&self) -> Memory {
        let sizes = self.context.enter().and_then(|()| result::mem_get_info().map_err(driver("cuMemGetInfo")));
        let (free, total) = sizes.unwrap_or((0, 0));
        Memory { free: free as u64, total: total as u64 }
    }

    pub(super) fn synchronize(&self) -> Result<()> {
        self.context.synchronize()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Whether that module's kernels may use memory of this device.
    pub(super) fn owns(&self, module: &Module) -> bool {
        Arc::ptr_eq(&self.context, module.context())
    }

    /// Compiles (or takes from the cache) and loads a kernel file; the same text is loaded once.
    pub(super) fn kernel(&self, text: &KernelText) -> Result<Kernel> {
        self.library.kernel(text, |chosen| self.load(chosen))
    }

    fn load(&self, chosen: &Chosen<'_>) -> Result<(Kernel, LoadedKernel)> {
        let text = &*chosen.text;
        let start = std::time::Instant::now();
        let mut compiling = trace::span("compile", &text.name);
        let cubin = chosen.compile(&self.jit, self.arch)?;
        compiling.note("cached", cubin.cached);
        compiling.note("kernels", text.entries.join(" "));
        drop(compiling);
        let loading = trace::span("load", &text.name);
        let module = Module::load(&self.context, text, &cubin, self.arch)?;
        let shared = self.shared_bytes_per_block()?;
        let kernel = Kernel::new(text, Engine::Cuda(module), |engine, entry| match engine {
            Engine::Cuda(module) => module.limits(entry, shared),
            Engine::Sim(_) => unreachable!("a cubin was loaded"),
        })?;
        drop(loading);
        Ok((kernel, LoadedKernel::new(chosen, &cubin, start.elapsed().as_secs_f64())))
    }

    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    pub(super) fn time<R>(&self, work: impl FnOnce() -> R) -> Result<(R, f64)> {
        self.context.enter()?;
        let event = || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver("cuEventCreate"));
        let (start, end) = (event()?, event()?);
        // SAFETY: events and stream are valid until destroyed below.
        unsafe {
            result::event::record(start, self.context.stream).map_err(driver("cuEventRecord"))?;
            let result_of_work = work();
            self.context.enter()?;
            result::event::record(end, self.context.stream).map_err(driver("cuEventRecord"))?;
            result::event::synchronize(end).map_err(driver("cuEventSynchronize"))?;
            let milliseconds = result::event::elapsed(start, end).map_err(driver("cuEventElapsedTime"))?;
            let _ = result::event::destroy(start);
            let _ = result::event::destroy(end);
            Ok((result_of_work, f64::from(milliseconds)))
        }
    }
}

/// Owned device memory. Reads and writes are ordered with the kernels of the stream.
pub(super) struct DeviceMemory {
    address: u64,
    bytes: usize,
    /// Whether this value frees it.
    owned: bool,
    context: Arc<Context>,
}

impl DeviceMemory {
    /// Allocates; refused with the numbers if it does not fit. An empty request still gets an address.
    pub(super) fn allocate(cuda: &Arc<Cuda>, bytes: usize) -> Result<DeviceMemory> {
        if bytes > 1 << 20 {
            Device::Cuda(cuda.clone()).check_memory("an allocation", bytes as u64)?;
        }
        cuda.context.enter()?;
        // SAFETY: the context is current; the memory is freed in `drop`.
        let address = unsafe { result::malloc_sync(bytes.max(16)) }.map_err(driver("cuMemAlloc"))?;
        Ok(DeviceMemory { address, bytes, owned: true, context: cuda.context.clone() })
    }

    /// A part of memory that its owner keeps alive and frees.
    pub(super) fn lent(cuda: &Arc<Cuda>, address: u64, bytes: usize) -> DeviceMemory {
        DeviceMemory { address, bytes, owned: false, context: cuda.context.clone() }
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All bytes zero.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.context.enter()?;
        // SAFETY: the range is ours.
        unsafe { result::memset_d8_async(self.address, 0, self.bytes, self.context.stream) }
            .map_err(driver("cuMemsetD8Async"))
    }

    /// Copies from the host to the front of the memory; see [`write_parts`](DeviceMemory::write_parts).
    pub(super) fn write<U: Pod>(&mut self, values: &[U]) -> Result<()> {
        self.write_parts(&[(0, values)])
    }

    /// Copies the first `len` elements to the host.
    pub(super) fn read<U: Pod>(&self, len: usize) -> Result<Vec<U>> {
        assert!(len * size_of::<U>() <= self.bytes, "callers ask for what they allocated");
        let mut values = Vec::<U>::with_capacity(len);
        self.context.enter()?;
        let (to, bytes, stream) = (values.as_mut_ptr(), len * size_of::<U>(), self.context.stream);
        // SAFETY: the source range is ours; the destination has room for `len` elements of a type for which every bit
        // pattern is valid, and both ways wait for the copy before the length is set.
        unsafe {
            if bytes <= PART {
                self.context.staged(|staging| staging.fetch(self.address, to.cast(), bytes, stream))?;
            } else {
                sys::cuMemcpyDtoHAsync_v2(to.cast(), self.address, bytes, stream)
                    .result()
                    .map_err(driver("cuMemcpyDtoHAsync"))?;
                self.context.synchronize()?;
            }
            values.set_len(len);
        }
        Ok(values)
    }

    /// Copies parts from the host, each to the position of its first element. Short ones are queued, long ones waited
    /// for: later kernels see them either way.
    pub(super) fn write_parts<U: Pod>(&mut self, parts: &[(usize, &[U])]) -> Result<()> {
        self.context.enter()?;
        let mut waits = false;
        let mut queue = |first: usize, values: &[U]| {
            assert!(size_of::<U>() * (first + values.len()) <= self.bytes, "callers compare lengths first");
            let address = self.address + (first * size_of::<U>()) as u64;
            let (from, bytes, stream) = (values.as_ptr().cast(), size_of_val(values), self.context.stream);
            if bytes <= PART {
                // SAFETY: both ranges have `bytes` bytes, as just compared.
                return self.context.staged(|staging| unsafe { staging.send(from, bytes, address, stream) });
            }
            waits = true;
            // SAFETY: the range is ours, as just compared; `values` outlives the copy because we wait for all below.
            unsafe { result::memcpy_htod_async(address, values, stream) }.map_err(driver("cuMemcpyHtoDAsync"))
        };
        let kept = parts.iter().filter(|(_, values)| !values.is_empty());
        let queued = kept.into_iter().try_for_each(|(first, values)| queue(*first, values));
        let waited = if waits { self.context.synchronize() } else { Ok(()) };
        queued.and(waited)
    }

    /// Copies a part to the host.
    pub(super) fn read_part<U: Pod>(&self, first: usize, values: &mut [U]) -> Result<()> {
        assert!(size_of::<U>() * (first + values.len()) <= self.bytes, "callers compare lengths first");
        if values.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        let address = self.address + (first * size_of::<U>()) as u64;
        // SAFETY: the range is ours, as just compared; `values` outlives the copy because we wait for it.
        unsafe { result::memcpy_dtoh_async(values, address, self.context.stream) }
            .map_err(driver("cuMemcpyDtoHAsync"))?;
        self.context.synchronize()
    }

    /// Copies from memory of the same device and size.
    pub(super) fn copy_from(&mut self, other: &DeviceMemory) -> Result<()> {
        assert_eq!(self.bytes, other.bytes, "callers compare lengths first");
        self.copy_first(other, self.bytes)
    }

    /// Copies the first bytes from memory of the same device.
    pub(super) fn copy_first(&mut self, other: &DeviceMemory, bytes: usize) -> Result<()> {
        assert!(bytes <= self.bytes && bytes <= other.bytes, "callers compare lengths first");
        self.context.enter()?;
        // SAFETY: both ranges are at least `bytes` long and distinct, since one of them is borrowed mutably.
        unsafe { result::memcpy_dtod_async(self.address, other.address, bytes, self.context.stream) }
            .map_err(driver("cuMemcpyDtoDAsync"))
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.owned && self.context.enter().is_ok() {
            // SAFETY: allocated in `allocate`; cuMemFree waits for kernels that still use it.
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}

/// Pinned host memory.
pub(super) struct PinnedMemory {
    pointer: *mut f64,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: host memory that this value alone owns; any thread may free it with the context current.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    pub(super) fn zeros(cuda: &Arc<Cuda>, len: usize) -> Result<PinnedMemory> {
        let bytes = len.max(1).saturating_mul(size_of::<f64>());
        Device::cpu().check_memory("host memory for copies", bytes as u64)?;
        cuda.context.enter()?;
        // SAFETY: the context is current; the memory is freed in `drop`.
        let pointer = unsafe { result::malloc_host(bytes, 0) }.map_err(driver("cuMemHostAlloc"))?.cast::<f64>();
        // SAFETY: `bytes` bytes were allocated just now, and zeros are numbers.
        unsafe { std::ptr::write_bytes(pointer.cast::<u8>(), 0, bytes) };
        Ok(PinnedMemory { pointer, len, context: cuda.context.clone() })
    }

    pub(super) fn values(&self) -> &[f64] {
        // SAFETY: `len` numbers were allocated and set; they live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }

    pub(super) fn values_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above; the borrow is exclusive, and every copy is waited for.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: allocated in `zeros`; no copy is under way, for each is waited for.
            let _ = unsafe { result::free_host(self.pointer.cast()) };
        }
    }
}

/// Loads a cubin with the driver's log. The caller unloads the module.
pub(super) fn load_module(context: &Context, image: &[u8]) -> Result<sys::CUmodule, (DriverError, String)> {
    const LOG_BYTES: usize = 8192;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
    let mut module = std::ptr::null_mut();
    // The driver reads up to the end that the image's own header states; a zero byte ends a PTX text.
    let mut image = image.to_vec();
    image.push(0);
    context.enter().map_err(|_| (DriverError(sys::CUresult::CUDA_ERROR_INVALID_CONTEXT), String::new()))?;
    // SAFETY: options and values have the same length and outlive the call, as do the log and the image.
    let outcome = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast::<c_void>(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let end = log.iter().position(|&b| b == 0).unwrap_or(LOG_BYTES);
    outcome.result().map_err(|error| (error, String::from_utf8_lossy(&log[..end]).into_owned()))?;
    Ok(module)
}

/// The function `entry` of a loaded module.
pub(super) fn module_function(module: sys::CUmodule, entry: &str) -> Result<sys::CUfunction> {
    let name = std::ffi::CString::new(entry).map_err(|_| DeviceError::Arguments {
        what: "a kernel name".into(),
        expected: "no zero byte".into(),
        found: entry.into(),
    })?;
    let mut function = std::ptr::null_mut();
    let pointer: *const c_char = name.as_ptr();
    // SAFETY: the module is loaded and the name ends with a zero byte.
    unsafe { sys::cuModuleGetFunction(&mut function, module, pointer) }
        .result()
        .map_err(driver("cuModuleGetFunction"))?;
    Ok(function)
}
