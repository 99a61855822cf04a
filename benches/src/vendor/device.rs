//! The few CUDA driver calls the baseline needs, with owners that free what they hold.
//!
//! In: a device's number, lengths, host slices. Out: device buffers, times in milliseconds by CUDA events.
//! Everything runs on the legacy default stream, where cuBLAS and cuSPARSE put their work.

use std::ffi::CString;
use std::marker::PhantomData;

use cudarc::driver::{result, sys};
use eigenforge_runtime::jit::Cubin;

use super::VendorError;

/// The stream of everything here.
const STREAM: sys::CUstream = std::ptr::null_mut();

/// The primary context of one device, current in this thread while this lives.
pub struct Context {
    device: sys::CUdevice,
    /// Compute capability as NVRTC counts it, 90 for sm_90.
    pub architecture: u32,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
}

impl Context {
    /// Opens device `ordinal`; an error where driver, cuSPARSE or cuBLAS is missing.
    pub fn open(ordinal: usize) -> Result<Context, VendorError> {
        use sys::CUdevice_attribute as Attribute;
        // SAFETY: these only try to open a shared library by name.
        let libraries = unsafe {
            [
                ("the CUDA driver (libcuda)", sys::is_culib_present()),
                ("cuBLAS (libcublas)", cudarc::cublas::sys::is_culib_present()),
                ("cuSPARSE (libcusparse)", cudarc::cusparse::sys::is_culib_present()),
            ]
        };
        if let Some((library, _)) = libraries.iter().find(|(_, present)| !present) {
            return Err(VendorError::LibraryMissing { library });
        }
        let count = result::init().and_then(|()| result::device::get_count()).map_err(driver("cuInit"))?;
        if ordinal >= count as usize {
            return Err(VendorError::NoSuchDevice { ordinal, count: count as usize });
        }
        let device = result::device::get(ordinal as i32).map_err(driver("cuDeviceGet"))?;
        // SAFETY: `device` comes from cuDeviceGet; the retained context is released in drop, and the
        // attributes asked for exist on every device.
        unsafe {
            let context = result::primary_ctx::retain(device).map_err(driver("cuDevicePrimaryCtxRetain"))?;
            let attribute =
                |which| result::device::get_attribute(device, which).map_err(driver("cuDeviceGetAttribute"));
            let opened = Context {
                device,
                architecture: 10 * attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32
                    + attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
                multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
            };
            result::ctx::set_current(context).map_err(driver("cuCtxSetCurrent"))?;
            Ok(opened)
        }
    }

    /// Refuses, with the numbers, what would not fit on the card.
    pub fn must_hold(&self, needed: usize) -> Result<(), VendorError> {
        let (free, total) = result::mem_get_info().map_err(driver("cuMemGetInfo"))?;
        if needed > free {
            return Err(VendorError::TooLarge { needed, free, total });
        }
        Ok(())
    }

    /// Waits for all work of the device.
    pub fn synchronize(&self) -> Result<(), VendorError> {
        result::ctx::synchronize().map_err(driver("cuCtxSynchronize"))
    }

    /// Milliseconds of each of `repeats` calls of `work` by CUDA events, after one call to warm up.
    pub fn time(
        &self,
        repeats: usize,
        mut work: impl FnMut() -> Result<(), VendorError>,
    ) -> Result<Vec<f64>, VendorError> {
        work()?;
        self.synchronize()?;
        let (start, end) = (Event::new()?, Event::new()?);
        let mut times = Vec::with_capacity(repeats);
        for _ in 0..repeats {
            start.record()?;
            work()?;
            end.record()?;
            times.push(end.elapsed(&start)?);
        }
        Ok(times)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once in `open`, released once here; buffers are declared after the context
        // everywhere and so are freed before it.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Names the driver call that failed.
fn driver(call: &'static str) -> impl Fn(result::DriverError) -> VendorError {
    move |source| VendorError::Driver { call, source }
}

/// A CUDA event with timing.
struct Event(sys::CUevent);

impl Event {
    fn new() -> Result<Event, VendorError> {
        result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map(Event).map_err(driver("cuEventCreate"))
    }

    fn record(&self) -> Result<(), VendorError> {
        // SAFETY: the event lives as long as self; the default stream always exists.
        unsafe { result::event::record(self.0, STREAM) }.map_err(driver("cuEventRecord"))
    }

    /// Waits for this event, then the milliseconds since the other one.
    fn elapsed(&self, start: &Event) -> Result<f64, VendorError> {
        // SAFETY: both events are alive and were recorded on the default stream.
        unsafe {
            result::event::synchronize(self.0).map_err(driver("cuEventSynchronize"))?;
            result::event::elapsed(start.0, self.0).map(f64::from).map_err(driver("cuEventElapsedTime"))
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new`, destroyed once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

/// `len` values of T in device memory.
pub struct Buffer<T> {
    address: sys::CUdeviceptr,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Copy> Buffer<T> {
    /// All bytes zero, which for the numbers used here is the value 0.
    pub fn zeros(len: usize) -> Result<Buffer<T>, VendorError> {
        let bytes = (len * size_of::<T>()).max(16);
        // SAFETY: fresh memory, set before anything reads it; owned and freed by the buffer.
        unsafe {
            let address = result::malloc_sync(bytes).map_err(driver("cuMemAlloc"))?;
            let buffer = Buffer { address, len, of: PhantomData };
            result::memset_d8_sync(address, 0, bytes).map_err(driver("cuMemsetD8"))?;
            Ok(buffer)
        }
    }

    /// A copy of `host`.
    pub fn upload(host: &[T]) -> Result<Buffer<T>, VendorError> {
        let buffer = Buffer::zeros(host.len())?;
        // SAFETY: the buffer holds host.len() values of T; the call returns when they have arrived.
        unsafe { result::memcpy_htod_sync(buffer.address, host) }.map_err(driver("cuMemcpyHtoD"))?;
        Ok(buffer)
    }

    /// The first `out.len()` values, after all work queued before.
    pub fn read(&self, out: &mut [T]) -> Result<(), VendorError> {
        assert!(out.len() <= self.len, "{} values asked of a buffer of {}", out.len(), self.len);
        // SAFETY: the length is checked; a synchronous copy on the default stream waits for what was queued.
        unsafe { result::memcpy_dtoh_sync(out, self.address) }.map_err(driver("cuMemcpyDtoH"))
    }

    /// Queues a copy of `from`, of the same length, into this.
    pub fn copy_from(&mut self, from: &Buffer<T>) -> Result<(), VendorError> {
        assert_eq!(self.len, from.len, "buffers of different lengths");
        let bytes = self.len * size_of::<T>();
        // SAFETY: two live allocations of `bytes` bytes, distinct because one is borrowed mutably.
        unsafe { result::memcpy_dtod_async(self.address, from.address, bytes, STREAM) }.map_err(driver("cuMemcpyDtoD"))
    }

    /// Queues zeros into all of it.
    pub fn clear(&mut self) -> Result<(), VendorError> {
        // SAFETY: the range is ours.
        unsafe { result::memset_d8_async(self.address, 0, self.len * size_of::<T>(), STREAM) }
            .map_err(driver("cuMemsetD8Async"))
    }

    /// Values held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where it starts, as the libraries want it.
    pub fn pointer(&self) -> *const T {
        self.address as usize as *const T
    }

    /// Where it starts, to write to.
    pub fn pointer_mut(&mut self) -> *mut T {
        self.address as usize as *mut T
    }

    /// Address of element `index`.
    pub fn element(&self, index: usize) -> *const T {
        assert!(index < self.len, "element {index} of a buffer of {}", self.len);
        (self.address as usize + index * size_of::<T>()) as *const T
    }

    /// Address of element `index`, to write to.
    pub fn element_mut(&mut self, index: usize) -> *mut T {
        assert!(index < self.len, "element {index} of a buffer of {}", self.len);
        (self.address as usize + index * size_of::<T>()) as *mut T
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeros`, freed once; cuMemFree waits for work that uses it.
        let _ = unsafe { result::free_sync(self.address) };
    }
}

/// The one kernel of the baseline, y_i = d_i x_i, compiled by our own JIT.
pub struct ElementwiseProduct {
    module: sys::CUmodule,
    function: sys::CUfunction,
    blocks: u32,
}

/// The entry point that [`ElementwiseProduct::load`] expects.
pub const PRODUCT_ENTRY: &str = "elementwise_product";

/// Threads of a block of the elementwise product.
const THREADS: u32 = 256;

impl ElementwiseProduct {
    /// Loads the compiled kernel.
    pub fn load(context: &Context, cubin: &Cubin) -> Result<ElementwiseProduct, VendorError> {
        let name = CString::new(PRODUCT_ENTRY).unwrap_or_default();
        // SAFETY: the image is a whole cubin of NVRTC, the module outlives the function and is unloaded in drop.
        unsafe {
            let module = result::module::load_data(cubin.image.as_ptr().cast()).map_err(driver("cuModuleLoadData"))?;
            let function = result::module::get_function(module, name);
            let loaded = |function| ElementwiseProduct { module, function, blocks: 16 * context.multiprocessors };
            function.map(loaded).map_err(|source| {
                let _ = result::module::unload(module);
                driver("cuModuleGetFunction")(source)
            })
        }
    }

    /// Queues y = d ∘ x.
    pub fn run(&self, d: &Buffer<f64>, x: &Buffer<f64>, y: &mut Buffer<f64>) -> Result<(), VendorError> {
        assert!(d.len == x.len && x.len == y.len, "vectors of different lengths");
        let (mut n, mut d, mut x, mut y) = (x.len as i64, d.address, x.address, y.address);
        let mut parameters = [(&raw mut n).cast(), (&raw mut d).cast(), (&raw mut x).cast(), (&raw mut y).cast()];
        // SAFETY: parameters in the order and of the types of the kernel; all three vectors hold n doubles.
        unsafe {
            result::launch_kernel(self.function, (self.blocks, 1, 1), (THREADS, 1, 1), 0, STREAM, &mut parameters)
        }
        .map_err(driver("cuLaunchKernel"))
    }
}

impl Drop for ElementwiseProduct {
    fn drop(&mut self) {
        // SAFETY: loaded once, unloaded once, in the context that is still alive.
        let _ = unsafe { result::module::unload(self.module) };
    }
}
