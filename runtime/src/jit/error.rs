//! Errors between CUDA text and cubin, one variant per event, each with advice.

use super::arch::{Arch, names};
use super::diagnostics::CompileFailure;
use super::override_error::OverrideError;
use std::path::{Path, PathBuf};

/// An error between text and cubin.
#[derive(Debug, thiserror::Error)]
pub enum JitError {
    /// No NVRTC on this machine.
    #[error(
        "no NVRTC (the CUDA run-time compiler) was found. Get it with one of: `cargo xtask setup` in a checkout of \
         eigenforge; `pip install nvidia-cuda-nvrtc`; the CUDA toolkit; or name the library in EIGENFORGE_NVRTC (a file \
         or its folder).\nSearched:\n  {}", searched.join("\n  ")
    )]
    NoNvrtc {
        /// Where it was searched, and what was wrong with what was found.
        searched: Vec<String>,
    },
    /// EIGENFORGE_NVRTC names a file that is not a usable NVRTC.
    #[error("EIGENFORGE_NVRTC is {}, but {reason}. Name the file libnvrtc.so.NN or its folder, or unset it", path.display())]
    NvrtcUnusable {
        /// The value of the variable.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The NVRTC does not support the architecture.
    #[error(
        "NVRTC {}.{} ({}) does not compile for {arch}: it knows {}. {remedy}. Name another one in EIGENFORGE_NVRTC \
         (`pip install nvidia-cuda-nvrtc` has the newest, `nvidia-cuda-nvrtc-cu12` the last of CUDA 12)",
        nvrtc.0, nvrtc.1, path.display(), names(supported)
    )]
    ArchUnsupported {
        /// The requested architecture.
        arch: Arch,
        /// Version of the NVRTC found.
        nvrtc: (u32, u32),
        /// Its file.
        path: PathBuf,
        /// The architectures it compiles for.
        supported: Vec<Arch>,
        /// Whether it is too old or too new, and which version is needed.
        remedy: String,
    },
    /// The NVRTC has a later major version than the driver, which would refuse its cubins.
    #[error(
        "NVRTC {}.{} ({}) is too new for this driver, which knows CUDA {}.{}: a driver loads cubins of its own major \
         version and older. Update the driver, or name an NVRTC of CUDA {} in EIGENFORGE_NVRTC (`pip install {}`)",
        nvrtc.0, nvrtc.1, path.display(), driver.0, driver.1, driver.0, wheel(driver.0)
    )]
    DriverTooOld {
        /// Version of the NVRTC found.
        nvrtc: (u32, u32),
        /// Its file.
        path: PathBuf,
        /// The CUDA version of the driver.
        driver: (u32, u32),
    },
    /// The text did not compile.
    #[error("{0}")]
    Compile(Box<CompileFailure>),
    /// The text compiled, but lacks a promised kernel.
    #[error(
        "{kernel} compiled for {arch}, but has no kernel named {}: it has {}. {}", missing.join(", "),
        if found.is_empty() { "none".into() } else { found.join(", ") }, disagree(edited.as_deref())
    )]
    MissingKernels {
        /// Name of the text.
        kernel: String,
        /// The architecture.
        arch: Arch,
        /// Promised kernels that are missing.
        missing: Vec<String>,
        /// Kernels that are present.
        found: Vec<String>,
        /// The edited file of the text; `None` if it was generated.
        edited: Option<PathBuf>,
    },
    /// An edited text that cannot replace a generated one.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// NVRTC refused a call for a reason other than the text.
    #[error("NVRTC {}.{} ({}): {call} for {kernel} gave {status}{}", nvrtc.0, nvrtc.1, path.display(), log_tail(log))]
    Nvrtc {
        /// Name of the text.
        kernel: String,
        /// The function called.
        call: &'static str,
        /// NVRTC's name of the error.
        status: String,
        /// Version of the NVRTC found.
        nvrtc: (u32, u32),
        /// Its file.
        path: PathBuf,
        /// Its log.
        log: String,
    },
    /// The text contains a zero byte, which would end it for the compiler.
    #[error("the CUDA text of {kernel} has a zero byte at offset {offset}, where the compiler would stop reading")]
    ZeroByte {
        /// Name of the text.
        kernel: String,
        /// Position of the byte.
        offset: usize,
    },
    /// An architecture's name cannot be read.
    #[error("{found:?} is not an architecture: expected a name like sm_90 (ten times the compute capability)")]
    ArchName {
        /// The name that was given.
        found: String,
    },
    /// An environment variable with an invalid value.
    #[error("the environment variable {variable} is {value:?}: expected {expected}")]
    Setting {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// A tool of the CUDA toolkit is missing.
    #[error(
        "{tool} was not found. Get it with one of: `cargo xtask setup` in a checkout of eigenforge; \
         `pip install nvidia-cuda-{tool}`; the CUDA toolkit; or name it in {variable}.\nSearched:\n  {}", searched.join("\n  ")
    )]
    NoTool {
        /// `nvdisasm` or `cuobjdump`.
        tool: &'static str,
        /// The environment variable that can name it.
        variable: &'static str,
        /// Where it was searched.
        searched: Vec<String>,
    },
    /// A tool of the CUDA toolkit failed or could not be started.
    #[error("{} failed: {reason}", path.display())]
    Tool {
        /// Its file.
        path: PathBuf,
        /// Its message.
        reason: String,
    },
    /// The disassembly has no such kernel.
    #[error("the cubin has no kernel named {kernel:?}: it has {}", found.join(", "))]
    NoSuchKernel {
        /// The requested name.
        kernel: String,
        /// The names in it.
        found: Vec<String>,
    },
}

impl JitError {
    /// The same error, for a text edited in that file.
    pub fn in_edited(mut self, file: Option<&Path>) -> JitError {
        let file = file.map(Path::to_path_buf);
        match &mut self {
            JitError::Compile(failure) => failure.edited = file,
            JitError::MissingKernels { edited, .. } => *edited = file,
            _ => {}
        }
        self
    }
}

/// The cause of a missing kernel.
fn disagree(edited: Option<&Path>) -> String {
    match edited {
        Some(file) => format!("The edited file {} leaves it out, under an #if perhaps", file.display()),
        None => "Its plan and its text disagree, which is a fault of eigenforge".into(),
    }
}

/// The log on separate lines, or nothing.
fn log_tail(log: &str) -> String {
    if log.trim().is_empty() { String::new() } else { format!(":\n{}", log.trim_end()) }
}

/// The pip package of an NVRTC major version.
fn wheel(major: u32) -> String {
    match major {
        ..13 => format!("nvidia-cuda-nvrtc-cu{major}"),
        _ => format!("'nvidia-cuda-nvrtc=={major}.*'"),
    }
}
