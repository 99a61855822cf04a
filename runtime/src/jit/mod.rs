//! Run-time compilation: CUDA text in, cubin out, through NVRTC and a cache on disk.
use eigenforge_templates::KernelText;
use std::path::PathBuf;

/// A target architecture, `sm_90` and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arch(pub u32);

/// What went wrong between text and cubin.
#[derive(Debug, thiserror::Error)]
pub enum JitError {
    /// No NVRTC on this machine.
    #[error("no NVRTC")]
    NoNvrtc,
}

/// The compiler with its cache.
pub struct Jit;

/// A compiled kernel file.
#[derive(Clone, Debug)]
pub struct Cubin {
    /// Cache key, hexadecimal.
    pub key: String,
    /// The binary image to load.
    pub image: Vec<u8>,
    /// NVRTC's log with ptxas's resource lines.
    pub log: String,
    /// The cache folder that keeps source, plan, options, log and cubin; `None` when the cache is off.
    pub folder: Option<PathBuf>,
    /// Whether it came from the cache.
    pub cached: bool,
}

impl Jit {
    /// Finds NVRTC and opens the cache.
    pub fn new() -> Result<Jit, JitError> {
        todo!()
    }
    /// Compiles, or takes from the cache.
    pub fn compile(&self, _kernel: &KernelText, _arch: Arch) -> Result<Cubin, JitError> {
        todo!()
    }
}
