//! A compiled CUDA file, and the one place where kernels are launched.
//!
//! The parameters of each entry are read from the CUDA text itself, so a launch with too few, too many or wrong
//! arguments is an error here and not a fault on the card.

use super::cuda::{Context, driver, load_module, module_function};
use super::{Device, OnDevice};
use crate::error::{DeviceError, Result};
use crate::jit::{Arch, Chosen, Cubin, KernelResources};
use cudarc::driver::{result, sys};
use eigenforge_templates::KernelText;
use eigenforge_templates::signature::{Declared, DeclaredKind, declared};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// What the report says of a kernel file.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelRecord {
    /// The file's name.
    pub name: String,
    /// Its key in the cache.
    pub key: String,
    /// Whether the cubin came from the cache.
    pub cached: bool,
    /// The edited file that ran in place of the generated text.
    pub overridden: Option<std::path::PathBuf>,
    /// The folder that keeps text, plan, log and cubin.
    pub folder: Option<std::path::PathBuf>,
    /// Registers, spills and memory of each kernel.
    pub resources: Vec<KernelResources>,
    /// What the report should say, such as a cache that cannot be written.
    pub note: Option<String>,
    /// Seconds from text to loaded module.
    pub seconds: f64,
}

impl KernelRecord {
    pub(super) fn new(chosen: &Chosen, cubin: &Cubin, seconds: f64) -> KernelRecord {
        KernelRecord {
            seconds,
            name: chosen.text.name.clone(),
            overridden: chosen.edited.clone(),
            key: cubin.key.clone(),
            cached: cubin.cached,
            folder: cubin.folder.clone(),
            resources: cubin.resources.clone(),
            note: cubin.note.clone(),
        }
    }
}

/// One argument of a launch.
pub enum KernelArg<'a> {
    /// A vector or buffer that is read.
    Memory(&'a dyn OnDevice),
    /// A vector or buffer that is written.
    MemoryMut(&'a mut dyn OnDevice),
    /// `i64`.
    I64(i64),
    /// `u64`.
    U64(u64),
    /// `int`.
    I32(i32),
    /// `u32`.
    U32(u32),
    /// `double`.
    F64(f64),
    /// `float`.
    F32(f32),
}

impl KernelArg<'_> {
    /// The kind as the CUDA text has it, and the bytes to pass.
    fn encode(&self) -> (&'static str, [u8; 8]) {
        let four = |b: [u8; 4]| [b[0], b[1], b[2], b[3], 0, 0, 0, 0];
        match self {
            KernelArg::Memory(memory) => ("pointer", memory.address().map_or(0, |a| a.0).to_ne_bytes()),
            KernelArg::MemoryMut(memory) => ("pointer", memory.address().map_or(0, |a| a.0).to_ne_bytes()),
            KernelArg::I64(v) => ("i64", v.to_ne_bytes()),
            KernelArg::U64(v) => ("u64", v.to_ne_bytes()),
            KernelArg::I32(v) => ("int", four(v.to_ne_bytes())),
            KernelArg::U32(v) => ("u32", four(v.to_ne_bytes())),
            KernelArg::F64(v) => ("double", v.to_ne_bytes()),
            KernelArg::F32(v) => ("float", four(v.to_ne_bytes())),
        }
    }

    /// The memory's device, or nothing for a number; an error for host memory.
    fn device(&self) -> Result<Option<&Device>, ()> {
        match self {
            KernelArg::Memory(memory) => memory.address().map(|a| Some(a.1)).ok_or(()),
            KernelArg::MemoryMut(memory) => memory.address().map(|a| Some(a.1)).ok_or(()),
            _ => Ok(None),
        }
    }
}

/// A loaded module with its entries and their parameters.
pub(super) struct Module {
    name: String,
    module: sys::CUmodule,
    entries: HashMap<String, Entry>,
    context: Arc<Context>,
}

struct Entry {
    function: sys::CUfunction,
    parameters: Vec<Declared>,
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
        let mut module =
            Module { name: text.name.clone(), module: handle, entries: HashMap::new(), context: context.clone() };
        for name in &text.entries {
            let function = module_function(handle, name)?;
            module
                .entries
                .insert(name.clone(), Entry { function, parameters: declared(&text.text, name).unwrap_or_default() });
        }
        Ok(module)
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: loaded in `load`; nobody holds its functions any more.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// A CUDA file, compiled and loaded.
#[derive(Clone)]
pub struct Kernel {
    module: Arc<Module>,
}

impl Kernel {
    pub(super) fn new(module: Arc<Module>) -> Kernel {
        Kernel { module }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.module.name
    }

    /// Starts `entry` on `grid` blocks of `block` threads with `shared_bytes` of dynamic shared memory. It runs after
    /// everything launched before it; an error of the kernel itself comes out of a later call.
    pub fn launch(
        &self,
        entry: &str,
        grid: [u32; 3],
        block: u32,
        shared_bytes: u32,
        arguments: &[KernelArg<'_>],
    ) -> Result<()> {
        let module = &*self.module;
        let fault = |what: String, expected: String, found: String| {
            Err(DeviceError::Arguments { what: format!("kernel {entry} {what}"), expected, found })
        };
        let Some(Entry { function, parameters }) = module.entries.get(entry) else {
            let known = module.entries.keys().cloned().collect::<Vec<_>>().join(", ");
            return fault(format!("of {}", module.name), format!("one of {known}"), entry.into());
        };
        if parameters.len() != arguments.len() {
            return fault("arguments".into(), parameters.len().to_string(), arguments.len().to_string());
        }
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, parameter) in arguments.iter().zip(parameters) {
            let (kind, bytes) = argument.encode();
            let expected = match &parameter.kind {
                DeclaredKind::Pointer { .. } => "pointer",
                DeclaredKind::Number(number) => number,
            };
            if kind != expected {
                return fault(format!("parameter {}", parameter.name), expected.into(), kind.into());
            }
            match argument.device() {
                Ok(None) => {}
                Ok(Some(Device::Cuda(cuda))) if cuda.owns(&module.context) => {}
                Ok(Some(other)) => {
                    return fault(format!("parameter {}", parameter.name), "memory of its device".into(), other.name());
                }
                Err(()) => {
                    return fault(
                        format!("parameter {}", parameter.name),
                        "device memory".into(),
                        "host memory".into(),
                    );
                }
            }
            values.push(u64::from_ne_bytes(bytes));
        }
        if grid.contains(&0) {
            return Ok(());
        }
        module.context.enter()?;
        if shared_bytes > 48 << 10 {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function belongs to a loaded module.
            unsafe { result::function::set_function_attribute(*function, attribute, shared_bytes as i32) }
                .map_err(driver("cuFuncSetAttribute"))?;
        }
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|v| std::ptr::from_mut(v).cast()).collect();
        // SAFETY: the function is loaded, the arguments were compared with its declaration one by one, memory among
        // them belongs to this context and lives at least until the stream is done (freeing it waits for the stream).
        unsafe {
            result::launch_kernel(
                *function,
                (grid[0], grid[1], grid[2]),
                (block, 1, 1),
                shared_bytes,
                module.context.stream,
                &mut pointers,
            )
        }
        .map_err(driver("cuLaunchKernel"))
    }
}
