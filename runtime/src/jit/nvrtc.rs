//! NVRTC: found, loaded and called.
//!
//! In: CUDA text and options. Out: a cubin or PTX, and the log in either case. The library is opened by the absolute path
//! from the search, and its functions are taken from exactly that file: cudarc's own loader searches by fixed names,
//! could pick another NVRTC than the reported one, and panics when it finds none. cudarc supplies the types.
//! Reference: NVIDIA, "NVRTC" (CUDA 11.2 and newer: `nvrtcGetSupportedArchs`).

use super::arch::Arch;
use super::error::JitError;
use super::search::{Candidate, nvrtc_candidates, nvrtc_in};
use super::settings::Settings;
use cudarc::nvrtc::sys::nvrtcProgram;
use libloading::Library;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// NVRTC's error codes that are handled separately; plain integers, because a newer library may have more of them.
const SUCCESS: c_int = 0;
const ERROR_COMPILATION: c_int = 6;
/// Since CUDA 12.9 NVRTC, if it finds a driver, caches its products in the driver's cache (~/.nv/ComputeCache) and
/// returns cached ones without ptxas's lines in the log. Our own cache keeps the log too. The product is the same either
/// way, so this option is not in the key, and nvcc does not know it.
const NO_CACHE: &CStr = c"--no-cache";
const NO_CACHE_SINCE: (u32, u32) = (12, 9);

/// The functions used, from the library, which is never closed.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
    arch_count: unsafe extern "C" fn(*mut c_int) -> c_int,
    archs: unsafe extern "C" fn(*mut c_int) -> c_int,
    error_name: unsafe extern "C" fn(c_int) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut nvrtcProgram,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(nvrtcProgram, c_int, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut nvrtcProgram) -> c_int,
    log_size: Size,
    log: Fill,
    cubin_size: Size,
    cubin: Fill,
    ptx_size: Size,
    ptx: Fill,
    _library: Library,
    _builtins: Option<Library>,
}

type Size = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> c_int;
type Fill = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> c_int;

/// A loaded NVRTC.
pub struct Nvrtc {
    path: PathBuf,
    origin: &'static str,
    version: (u32, u32),
    build: String,
    archs: Vec<Arch>,
    functions: Functions,
}

/// What to make of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// The binary for one architecture.
    Cubin,
    /// NVIDIA's portable assembly, for reading.
    Ptx,
}

/// How a compilation failed.
pub(crate) enum Failure {
    /// The text is faulty; the log says where.
    Text {
        /// NVRTC's and ptxas's messages.
        log: String,
    },
    /// A call failed: an option, memory, or the library itself.
    Call {
        /// The function.
        call: &'static str,
        /// NVRTC's name of the error.
        status: String,
        /// NVRTC's messages.
        log: String,
    },
}

impl Nvrtc {
    /// Finds and loads NVRTC: from EIGENFORGE_NVRTC, else the CUDA toolkit, else a pip wheel.
    pub fn find(settings: &Settings) -> Result<Arc<Nvrtc>, JitError> {
        if let Some(named) = &settings.nvrtc {
            let unusable = |reason: String| JitError::NvrtcUnusable { path: named.clone(), reason };
            let path = match () {
                _ if named.is_dir() => {
                    nvrtc_in(named).into_iter().next().ok_or_else(|| unusable("that folder has no libnvrtc".into()))?
                }
                _ if named.is_file() => named.clone(),
                _ => return Err(unusable("there is no such file".into())),
            };
            return load(&Candidate { origin: "EIGENFORGE_NVRTC", path }).map_err(unusable);
        }
        let mut searched = Vec::new();
        for candidate in nvrtc_candidates(settings, &mut searched) {
            match load(&candidate) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(reason) => {
                    searched.push(format!("{}: {}: {reason}", candidate.origin, candidate.path.display()));
                }
            }
        }
        Err(JitError::NoNvrtc { searched })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it was found: `EIGENFORGE_NVRTC`, `CUDA toolkit`, `dynamic loader` or `pip wheel`.
    pub fn origin(&self) -> &'static str {
        self.origin
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// A fingerprint of the library's file, which differs between builds of one version: 16 hexadecimal digits.
    pub fn build(&self) -> &str {
        &self.build
    }

    /// The architectures it compiles for, ascending.
    pub fn archs(&self) -> &[Arch] {
        &self.archs
    }

    /// An error if it does not support the architecture.
    pub fn check_arch(&self, arch: Arch) -> Result<(), JitError> {
        if self.archs.contains(&arch) {
            return Ok(());
        }
        Err(JitError::ArchUnsupported {
            arch,
            nvrtc: self.version,
            path: self.path.clone(),
            supported: self.archs.clone(),
            remedy: arch.remedy(self.version),
        })
    }

    /// An error if the driver, with the given CUDA version from `cuDriverGetVersion` (13000 is 13.0), has an older major
    /// version and would refuse the cubins.
    pub fn check_driver(&self, driver_version: i32) -> Result<(), JitError> {
        let driver = driver_pair(driver_version);
        if self.version.0 <= driver.0 {
            return Ok(());
        }
        Err(JitError::DriverTooOld { nvrtc: self.version, path: self.path.clone(), driver })
    }

    /// Compiles a text named `file` in the messages. Returns the product and the log.
    pub(crate) fn compile(
        &self,
        text: &CStr,
        file: &CStr,
        options: &[CString],
        product: Product,
    ) -> Result<(Vec<u8>, String), Failure> {
        let f = &self.functions;
        let fail = |call, status, log| Failure::Call { call, status: self.error_name(status), log };
        let mut handle: nvrtcProgram = std::ptr::null_mut();
        // SAFETY: text and name are zero-terminated and outlive the program; no headers are given.
        let status =
            unsafe { (f.create)(&mut handle, text.as_ptr(), file.as_ptr(), 0, std::ptr::null(), std::ptr::null()) };
        if status != SUCCESS {
            return Err(fail("nvrtcCreateProgram", status, String::new()));
        }
        let program = Program { handle, functions: f };
        let no_cache = (self.version >= NO_CACHE_SINCE).then_some(NO_CACHE);
        let options = options.iter().map(CString::as_c_str).chain(no_cache);
        let pointers: Vec<*const c_char> = options.map(CStr::as_ptr).collect();
        // SAFETY: the program is alive and the pointers are to zero-terminated options that outlive the call.
        let status = unsafe { (f.compile)(program.handle, pointers.len() as c_int, pointers.as_ptr()) };
        let log = program.fetch(f.log_size, f.log).map(text_of).unwrap_or_default();
        match status {
            SUCCESS => {}
            ERROR_COMPILATION => return Err(Failure::Text { log }),
            other => return Err(fail("nvrtcCompileProgram", other, log)),
        }
        let (call, fetched) = match product {
            Product::Cubin => ("nvrtcGetCUBIN", program.fetch(f.cubin_size, f.cubin)),
            Product::Ptx => ("nvrtcGetPTX", program.fetch(f.ptx_size, f.ptx)),
        };
        match fetched {
            Ok(bytes) if !bytes.is_empty() => Ok((bytes, log)),
            Ok(_) => Err(Failure::Call { call, status: "nothing".into(), log }),
            Err(status) => Err(fail(call, status, log)),
        }
    }

    fn error_name(&self, status: c_int) -> String {
        // SAFETY: NVRTC gives a static zero-terminated string for any number.
        let name = unsafe { (self.functions.error_name)(status) };
        if name.is_null() {
            return format!("error {status}");
        }
        // SAFETY: as above, and not null.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }
}

impl std::fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Nvrtc {}.{} build {} ({})", self.version.0, self.version.1, self.build, self.path.display())
    }
}

/// An NVRTC program, destroyed when dropped.
struct Program<'a> {
    handle: nvrtcProgram,
    functions: &'a Functions,
}

impl Program<'_> {
    /// Queries a size, then that many bytes.
    fn fetch(&self, size: Size, fill: Fill) -> Result<Vec<u8>, c_int> {
        let mut bytes = 0usize;
        // SAFETY: the program is alive.
        match unsafe { size(self.handle, &mut bytes) } {
            SUCCESS => {}
            status => return Err(status),
        }
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the buffer has the size NVRTC asked for.
        match unsafe { fill(self.handle, buffer.as_mut_ptr().cast()) } {
            SUCCESS => Ok(buffer),
            status => Err(status),
        }
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: made by nvrtcCreateProgram and destroyed once. A failure leaks memory, nothing worse.
        unsafe { (self.functions.destroy)(&mut self.handle) };
    }
}

/// A zero-terminated text from NVRTC.
pub(crate) fn text_of(mut bytes: Vec<u8>) -> String {
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Splits a CUDA version: 13020 is 13.2.
pub(crate) fn driver_pair(version: i32) -> (u32, u32) {
    let version = u32::try_from(version).unwrap_or(0);
    (version / 1000, version % 1000 / 10)
}

/// Loads a library once per process; the error text says what is wrong with it.
fn load(candidate: &Candidate) -> Result<Arc<Nvrtc>, String> {
    static LOADED: OnceLock<Mutex<HashMap<PathBuf, Arc<Nvrtc>>>> = OnceLock::new();
    let path = candidate.path.canonicalize().map_err(|e| e.to_string())?;
    let mut loaded = LOADED.get_or_init(Default::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(nvrtc) = loaded.get(&path) {
        return Ok(nvrtc.clone());
    }
    let nvrtc = Arc::new(open(candidate.origin, &path)?);
    loaded.insert(path, nvrtc.clone());
    Ok(nvrtc)
}

fn open(origin: &'static str, path: &Path) -> Result<Nvrtc, String> {
    // SAFETY: the file is named like NVRTC or was named by the user; NVRTC's initialisers have no preconditions.
    let library = unsafe { Library::new(path) }.map_err(|e| format!("it cannot be loaded: {e}"))?;
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the type of the field is that of nvrtc.h.
            unsafe {
                *library.get(concat!($name, "\0").as_bytes()).map_err(|_| {
                    concat!("it has no function ", $name, ", so it is no NVRTC, or older than CUDA 11.2").to_string()
                })?
            }
        };
    }
    let mut functions = Functions {
        version: function!("nvrtcVersion"),
        arch_count: function!("nvrtcGetNumSupportedArchs"),
        archs: function!("nvrtcGetSupportedArchs"),
        error_name: function!("nvrtcGetErrorString"),
        create: function!("nvrtcCreateProgram"),
        compile: function!("nvrtcCompileProgram"),
        destroy: function!("nvrtcDestroyProgram"),
        log_size: function!("nvrtcGetProgramLogSize"),
        log: function!("nvrtcGetProgramLog"),
        cubin_size: function!("nvrtcGetCUBINSize"),
        cubin: function!("nvrtcGetCUBIN"),
        ptx_size: function!("nvrtcGetPTXSize"),
        ptx: function!("nvrtcGetPTX"),
        _library: library,
        _builtins: None,
    };
    let (mut major, mut minor, mut count) = (0, 0, 0);
    // SAFETY: out parameters of the types of nvrtc.h.
    if unsafe { (functions.version)(&mut major, &mut minor) } != SUCCESS {
        return Err("nvrtcVersion failed".into());
    }
    // At its first compilation NVRTC opens its second library by bare name, and up to CUDA 13.0 does not search its own
    // folder, so a wheel's would not be found. Once loaded, it is found by name. If it is elsewhere NVRTC finds it, or
    // reports it.
    let builtins = path.with_file_name(format!("libnvrtc-builtins.so.{major}.{minor}"));
    if builtins.is_file() {
        // SAFETY: NVRTC's own part; its initialisers have no preconditions.
        functions._builtins = unsafe { Library::new(&builtins) }.ok();
    }
    // SAFETY: out parameter of the type of nvrtc.h.
    if unsafe { (functions.arch_count)(&mut count) } != SUCCESS || !(1..1000).contains(&count) {
        return Err("nvrtcGetNumSupportedArchs failed".into());
    }
    let mut numbers = vec![0; count as usize];
    // SAFETY: the array has as many elements as NVRTC asked for.
    if unsafe { (functions.archs)(numbers.as_mut_ptr()) } != SUCCESS {
        return Err("nvrtcGetSupportedArchs failed".into());
    }
    let build = fingerprint(path).map_err(|e| format!("it cannot be read: {e}"))?;
    let archs = numbers.into_iter().map(|number| Arch(number as u32)).collect();
    Ok(Nvrtc { path: path.to_path_buf(), origin, version: (major as u32, minor as u32), build, archs, functions })
}

/// Identifies a build by a hash of length, head and tail of the file, 64 KiB each (headers, and on Linux the linker's
/// build id, are in one of them). Hashing all 140 MB would cost a warm start 0.1 s.
fn fingerprint(path: &Path) -> std::io::Result<String> {
    const PART: u64 = 64 << 10;
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(2 * PART as usize);
    file.by_ref().take(PART).read_to_end(&mut bytes)?;
    file.seek(SeekFrom::Start(length.saturating_sub(PART)))?;
    file.take(PART).read_to_end(&mut bytes)?;
    bytes.extend(length.to_le_bytes());
    Ok(blake3::hash(&bytes).to_hex()[..16].to_string())
}
