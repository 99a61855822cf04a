//! A cubin loaded into a CUDA context: its functions, their limits, and the only place where kernels are launched.

use super::context::{Context, driver};
use super::kernel::Limits;
use crate::error::{DeviceError, Result};
use crate::jit::{Arch, Cubin};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use cudarc::driver::sys::CUfunction_attribute as Attribute;
use eigenforge_templates::{KernelText, Launch};
use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared memory that a kernel may use without opting in, including what its text declares, in bytes (CUDA C++
/// Programming Guide, compute capability 7.x and later).
const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

/// A loaded module with its functions.
pub(super) struct Module {
    handle: sys::CUmodule,
    functions: HashMap<String, sys::CUfunction>,
    /// Bytes of shared memory declared by each function's text.
    declared: HashMap<String, u32>,
    /// The largest dynamic shared memory set for each function so far, in bytes. Otherwise threads that launch one
    /// function with different shapes could reduce each other's setting before the launch.
    allowed: Mutex<HashMap<String, u32>>,
    context: Arc<Context>,
}

// SAFETY: module and function handles may be used from any thread with the context current.
unsafe impl Send for Module {}
// SAFETY: as above; launches only read the handles.
unsafe impl Sync for Module {}

impl Module {
    pub(super) fn load(context: &Arc<Context>, text: &KernelText, cubin: &Cubin, arch: Arch) -> Result<Module> {
        let handle = load_module(context, &cubin.image).map_err(|(error, log)| DeviceError::Load {
            kernel: text.name.clone(),
            arch: arch.to_string(),
            message: driver("cuModuleLoadDataEx")(error).to_string(),
            log,
        })?;
        let (functions, declared, allowed) = (HashMap::new(), HashMap::new(), Mutex::default());
        let mut module = Module { handle, functions, declared, allowed, context: context.clone() };
        for name in &text.entries {
            let function = module_function(handle, name)?;
            module.functions.insert(name.clone(), function);
            // SAFETY: the function belongs to the module loaded above.
            let declared = unsafe {
                result::function::get_function_attribute(function, Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
            };
            module.declared.insert(name.clone(), declared.map_err(driver("cuFuncGetAttribute"))? as u32);
        }
        Ok(module)
    }

    /// The context it is loaded into.
    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The card's limits for the kernel `entry`; `shared` is the card's limit for any block, in bytes.
    pub(super) fn limits(&self, entry: &str, shared: u32) -> Result<Limits> {
        let function = self.function(entry)?;
        self.context.enter()?;
        let attribute = |attribute| {
            // SAFETY: the function belongs to this loaded module.
            unsafe { result::function::get_function_attribute(function, attribute) }
                .map_err(driver("cuFuncGetAttribute"))
        };
        Ok(Limits {
            threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)? as u32,
            fixed_shared: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)? as u64,
            shared: u64::from(shared),
        })
    }

    fn function(&self, entry: &str) -> Result<sys::CUfunction> {
        self.functions.get(entry).copied().ok_or_else(|| DeviceError::Arguments {
            what: "a kernel of this module".into(),
            expected: "one of its entries".into(),
            found: entry.into(),
        })
    }

    /// Puts a launch into the stream, with each argument's eight bytes: an address or a number. The caller
    /// ([`super::Kernel::launch`]) has checked it, and its arguments, against the text's declaration, and made the context current.
    pub(super) fn start(&self, launch: &Launch, mut values: Vec<u64>) -> Result<()> {
        let function = self.function(&launch.entry)?;
        let declared = self.declared.get(&launch.entry).copied().unwrap_or(0);
        if launch.shared_bytes + declared > SHARED_WITHOUT_ASKING {
            self.allow(function, launch)?;
        }
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
        let [x, y, z] = launch.grid;
        let (grid, block, stream) = ((x, y, z), (launch.block, 1, 1), self.context.stream());
        // SAFETY: the function is loaded; the launch was compared with its declaration parameter by parameter, and each
        // argument with the launch: name, type, access, length, and that its memory belongs to this context, where it
        // lives at least until the stream is done (freeing it waits for the stream).
        let started = unsafe {
            if launch.together {
                result::launch_cooperative_kernel(function, grid, block, launch.shared_bytes, stream, &mut pointers)
            } else {
                result::launch_kernel(function, grid, block, launch.shared_bytes, stream, &mut pointers)
            }
        };
        started.map_err(|error| {
            let Launch { entry, block, shared_bytes, .. } = launch;
            let shape = format!("{x} x {y} x {z} blocks of {block} threads with {shared_bytes} bytes of shared memory");
            driver(format!("the launch of {entry} on {shape}"))(error)
        })
    }

    /// Raises a function's dynamic shared memory to what a launch needs; never lowers it.
    fn allow(&self, function: sys::CUfunction, launch: &Launch) -> Result<()> {
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        let most = allowed.entry(launch.entry.clone()).or_insert(0);
        if launch.shared_bytes > *most {
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function belongs to this loaded module.
            unsafe { result::function::set_function_attribute(function, attribute, launch.shared_bytes as i32) }
                .map_err(driver("cuFuncSetAttribute"))?;
            *most = launch.shared_bytes;
        }
        Ok(())
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: loaded in `load`; nobody holds its functions any more.
            let _ = unsafe { result::module::unload(self.handle) };
        }
    }
}

/// Loads a cubin with the driver's log. The caller unloads the module.
fn load_module(context: &Context, image: &[u8]) -> Result<sys::CUmodule, (DriverError, String)> {
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
fn module_function(module: sys::CUmodule, entry: &str) -> Result<sys::CUfunction> {
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
