//! Run-time compilation: CUDA text in, cubin out, through NVRTC and an on-disk cache.
//!
//! ```text
//! KernelText + Arch  →  cache entry?  →  NVRTC  →  checks  →  cache entry  →  Cubin
//! ```
//!
//! The text is complete: no header is included, and the options are fixed here. The cubin is stored and loaded, never
//! PTX, because older drivers of the same major version refuse the PTX of a newer NVRTC.
//!
//! | file | question it answers |
//! |---|---|
//! | `settings` | what does the environment say? |
//! | `search` | where may NVRTC and the tools lie? |
//! | `nvrtc` | how is the compiler loaded and called? |
//! | `arch` | which CUDA supports which architecture? |
//! | `elf` | which kernels are in a cubin? |
//! | `resources` | which resources does a kernel use? |
//! | `diagnostics`, `blame` | how does a compile error read, and whose line is it? |
//! | `overrides`, `override_error` | does an edited text replace a generated one? |
//! | `cache`, `upkeep` | how are kernels kept, listed, verified and evicted? |
//! | `disassembly` | how is machine code shown? |
//! | `instructions` | what does machine code consist of? |
//! | `occupancy` | how many blocks run at a time? |
//! | `doctor` | what is installed on this machine? |

mod arch;
mod blame;
mod cache;
mod diagnostics;
pub mod disassembly;
mod doctor;
mod elf;
mod error;
mod instructions;
mod nvrtc;
mod occupancy;
mod override_error;
mod overrides;
mod resources;
mod search;
mod settings;
#[cfg(test)]
mod tests;
mod upkeep;

pub use arch::Arch;
pub use blame::{Blame, ModelTerm};
pub use cache::Cache;
pub use diagnostics::{CompileFailure, Diagnostic, Used};
pub use disassembly::Disassembler;
pub(crate) use doctor::nccl_version;
pub use doctor::{CacheFinding, DeviceFinding, Doctor, DriverFinding, NvrtcFinding, driver_version};
pub use error::JitError;
pub use instructions::{InstructionMix, Widths};
pub use nvrtc::Nvrtc;
pub use occupancy::{Limit, Occupancy};
pub use override_error::OverrideError;
pub use overrides::{Chosen, Overrides, dumped_names, dumped_plan};
pub use resources::KernelResources;
pub use settings::{CacheFolder, DEFAULT_CACHE_LIMIT, Settings, parse_bytes};
pub use upkeep::{CacheEntry, Verdict};

use crate::testing::tools::{self, Tool};
use cache::{Build, Ingredients};
use eigenforge_templates::KernelText;
use nvrtc::{Failure, Product};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file name given to the compiler. It is absolute, because otherwise the compiler writes the current folder into the
/// line table, and the same text would give different cubins.
const COMPILED_AS: &str = "/eigenforge/kernel.cu";

/// The compiler with its cache.
#[derive(Debug)]
pub struct Jit {
    nvrtc: Arc<Nvrtc>,
    cache: Cache,
    retry_failed: bool,
    fmad: bool,
    warned: AtomicBool,
}

/// A compiled kernel file.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// Cache key, hexadecimal.
    pub key: String,
    /// Name of the text it came from.
    pub name: String,
    /// Its target architecture.
    pub arch: Arch,
    /// The binary image to load.
    pub image: Vec<u8>,
    /// NVRTC's log with ptxas's resource lines, if any.
    pub log: String,
    /// The cache folder with source, plan, options, log and cubin; `None` when the cache is off.
    pub folder: Option<PathBuf>,
    /// Whether it came from the cache.
    pub cached: bool,
    /// Registers, spills and memory of each kernel.
    pub resources: Vec<KernelResources>,
    /// A note for the report, such as a cache that cannot be written.
    pub note: Option<String>,
}

impl Jit {
    /// Finds NVRTC and opens the cache, according to the environment.
    pub fn new() -> Result<Jit, JitError> {
        Jit::with_settings(&Settings::from_env()?)
    }

    /// Finds NVRTC and opens the cache, according to the settings.
    pub fn with_settings(settings: &Settings) -> Result<Jit, JitError> {
        let nvrtc = Nvrtc::find(settings)?;
        let cache = Cache::open(settings);
        tracing::debug!("{nvrtc:?}, cache {:?}", cache.root());
        let Settings { retry_failed, fmad, .. } = *settings;
        Ok(Jit { nvrtc, cache, retry_failed, fmad, warned: AtomicBool::new(false) })
    }

    /// For tests: the compiler, or `None` after a printed line if this machine has none, so that the test is skipped.
    /// Unless `EIGENFORGE_TEST_WITHOUT=nvrtc` is set, this panics instead.
    #[doc(hidden)]
    pub fn for_tests(settings: &Settings) -> Option<Jit> {
        match Jit::with_settings(settings) {
            Ok(jit) => Some(jit),
            Err(fault) => {
                tools::missing(Tool::Nvrtc, &fault);
                None
            }
        }
    }

    /// The compiler.
    pub fn nvrtc(&self) -> &Nvrtc {
        &self.nvrtc
    }

    /// The cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// An error if the driver, with the given version from `cuDriverGetVersion`, would refuse the output of this
    /// compiler. See [`Nvrtc::check_driver`].
    pub fn check_driver(&self, driver_version: i32) -> Result<(), JitError> {
        self.nvrtc.check_driver(driver_version)
    }

    /// Compiles, or takes from the cache. A text that failed before fails again at once, unless it is set to retry.
    pub fn compile(&self, kernel: &KernelText, arch: Arch) -> Result<Cubin, JitError> {
        self.nvrtc.check_arch(arch)?;
        let options = options(arch, self.nvrtc.version(), self.fmad);
        let ingredients = Ingredients {
            text: &kernel.text,
            options: &options,
            arch,
            nvrtc: self.nvrtc.version(),
            build: self.nvrtc.build(),
        };
        let cubin = |image: Vec<u8>, log: String, folder, cached, note| {
            let (key, name, resources) =
                (ingredients.key(), kernel.name.clone(), resources::kernel_resources(&image, &log));
            promised(kernel, Cubin { key, name, arch, image, log, folder, cached, resources, note })
        };
        match self.cache.find(&kernel.name, &ingredients) {
            Some(cache::Stored { folder, log, cubin: Some(image) }) => {
                return cubin(image, log, Some(folder), true, self.cache.absent.clone());
            }
            Some(cache::Stored { folder, log, cubin: None }) if !self.retry_failed => {
                return Err(self.failure(kernel, &ingredients, log, Ok(folder), true));
            }
            _ => {}
        }
        let (image, log) = match self.call(kernel, &options, Product::Cubin)? {
            Outcome::Made(image, log) => (Some(image), log),
            Outcome::Refused(log) => (None, log),
        };
        let resources = resources::kernel_resources(image.as_deref().unwrap_or_default(), &log);
        let resources = ron::ser::to_string_pretty(&resources, Default::default()).unwrap_or_default();
        let build = Build {
            name: &kernel.name,
            ingredients,
            plan: &kernel.plan,
            log: &log,
            resources: &resources,
            cubin: image.as_deref(),
        };
        let lasting = image.is_some() || !diagnostics::out_of_memory(&log);
        let (folder, note) = match lasting.then(|| self.cache.publish(&build)) {
            Some(Ok(folder)) => (folder, self.cache.absent.clone()),
            Some(Err(fault)) => (None, Some(self.unwritable(&fault))),
            None => (None, None),
        };
        match image {
            Some(image) => cubin(image, log, folder, false, note),
            None => {
                let kept = folder.map_or_else(|| cache::keep_failed(&build).map_err(|e| e.to_string()), Ok);
                Err(self.failure(kernel, &ingredients, log, kept, false))
            }
        }
    }

    /// Whether the cache has the binary of a text, so that [`Jit::compile`] would not call the compiler.
    pub(crate) fn has_cached(&self, kernel: &KernelText, arch: Arch) -> bool {
        let options = options(arch, self.nvrtc.version(), self.fmad);
        let (nvrtc, build) = (self.nvrtc.version(), self.nvrtc.build());
        let ingredients = Ingredients { text: &kernel.text, options: &options, arch, nvrtc, build };
        self.cache.find(&kernel.name, &ingredients).is_some_and(|stored| stored.cubin.is_some())
    }

    /// NVIDIA's portable assembly of the text, for reading; never stored, never loaded.
    pub fn ptx(&self, kernel: &KernelText, arch: Arch) -> Result<String, JitError> {
        self.nvrtc.check_arch(arch)?;
        let mut options = options(arch, self.nvrtc.version(), self.fmad);
        options.retain(|option| !option.starts_with("--ptxas") && !option.starts_with("--gpu"));
        options.push(format!("--gpu-architecture=compute_{}", arch.target(self.nvrtc.version())));
        options.sort();
        let log = match self.call(kernel, &options, Product::Ptx)? {
            Outcome::Made(ptx, _) => return Ok(nvrtc::text_of(ptx).replace(COMPILED_AS, diagnostics::SOURCE_FILE)),
            Outcome::Refused(log) => log,
        };
        let (nvrtc, build) = (self.nvrtc.version(), self.nvrtc.build());
        let ingredients = Ingredients { text: &kernel.text, options: &options, arch, nvrtc, build };
        let (name, plan) = (&kernel.name, &kernel.plan);
        let build = Build { name, ingredients, plan, log: &log, resources: "", cubin: None };
        let kept = cache::keep_failed(&build).map_err(|e| e.to_string());
        Err(self.failure(kernel, &ingredients, log.clone(), kept, false))
    }

    /// Calls NVRTC.
    fn call(&self, kernel: &KernelText, options: &[String], product: Product) -> Result<Outcome, JitError> {
        let text = CString::new(kernel.text.as_str())
            .map_err(|e| JitError::ZeroByte { kernel: kernel.name.clone(), offset: e.nul_position() })?;
        let file = CString::new(COMPILED_AS).expect("no zero byte in a constant");
        let options: Vec<CString> =
            options.iter().map(|option| CString::new(option.as_str()).expect("no zero byte in our options")).collect();
        let started = std::time::Instant::now();
        let result = self.nvrtc.compile(&text, &file, &options, product);
        tracing::debug!("{} compiled in {:.3} s", kernel.name, started.elapsed().as_secs_f64());
        let plain = |log: String| log.replace(COMPILED_AS, diagnostics::SOURCE_FILE);
        match result {
            Ok((product, log)) => Ok(Outcome::Made(product, plain(log))),
            Err(Failure::Text { log }) => Ok(Outcome::Refused(plain(log))),
            Err(Failure::Call { call, status, log }) => Err(JitError::Nvrtc {
                kernel: kernel.name.clone(),
                call,
                status,
                nvrtc: self.nvrtc.version(),
                path: self.nvrtc.path().to_path_buf(),
                log: plain(log),
            }),
        }
    }

    fn failure(
        &self,
        kernel: &KernelText,
        ingredients: &Ingredients,
        log: String,
        folder: Result<PathBuf, String>,
        cached: bool,
    ) -> JitError {
        let (major, minor) = self.nvrtc.version();
        JitError::Compile(Box::new(CompileFailure {
            kernel: kernel.name.clone(),
            arch: ingredients.arch,
            nvrtc: format!("{major}.{minor}"),
            options: ingredients.options.to_vec(),
            text: kernel.text.clone(),
            edited: None,
            diagnostics: diagnostics::parse(&log, &kernel.text),
            log,
            folder,
            cached,
        }))
    }

    /// The note on a cache that cannot be written; logged once.
    fn unwritable(&self, fault: &std::io::Error) -> String {
        let folder = self.cache.root().map(|root| root.display().to_string()).unwrap_or_default();
        let note = format!(
            "the kernel cache {folder} cannot be written ({fault}), so kernels are compiled again in each run: \
             name a writable folder in EIGENFORGE_CACHE, or set it to off"
        );
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("{note}");
        }
        note
    }
}

/// NVRTC's result for a text, with its log.
enum Outcome {
    /// The product.
    Made(Vec<u8>, String),
    /// Nothing: the text is at fault.
    Refused(String),
}

/// Returns the cubin after checking that it contains every promised kernel.
fn promised(kernel: &KernelText, cubin: Cubin) -> Result<Cubin, JitError> {
    let found: Vec<String> = cubin.resources.iter().filter(|r| r.entry).map(|r| r.name.clone()).collect();
    let missing: Vec<String> = kernel.entries.iter().filter(|entry| !found.contains(entry)).cloned().collect();
    if missing.is_empty() {
        return Ok(cubin);
    }
    Err(JitError::MissingKernels { kernel: kernel.name.clone(), arch: cubin.arch, missing, found, edited: None })
}

/// The compiler's options, sorted. All have the same meaning for nvcc.
fn options(arch: Arch, nvrtc: (u32, u32), fmad: bool) -> Vec<String> {
    let mut options = vec![
        format!("--gpu-architecture=sm_{}", arch.target(nvrtc)),
        "--std=c++17".to_string(),
        format!("--fmad={fmad}"),
        "--generate-line-info".to_string(),
        "--ptxas-options=-v".to_string(),
    ];
    options.sort();
    options
}
