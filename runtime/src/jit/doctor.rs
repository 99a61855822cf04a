//! The state of the run-time compiler on this machine, as data for `eigenforge doctor`.
//!
//! In: [`Settings`]. Out: [`Doctor`], each part either what was found or a sentence on what is missing and what to do.
//! Nothing here fails; a machine without a driver is a normal case.

use super::arch::Arch;
use super::cache::Cache;
use super::disassembly::{Disassembler, find_cuobjdump};
use super::error::JitError;
use super::nvrtc::{Nvrtc, driver_pair};
use super::settings::Settings;
use cudarc::driver::{result, sys};
use serde::Serialize;
use std::path::PathBuf;

/// The findings on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Doctor {
    /// The compiler.
    pub nvrtc: Result<NvrtcFinding, String>,
    /// The disassembler.
    pub nvdisasm: Result<PathBuf, String>,
    /// The resource reader.
    pub cuobjdump: Result<PathBuf, String>,
    /// The kernel cache.
    pub cache: CacheFinding,
    /// The NVIDIA driver and its cards.
    pub driver: Result<DriverFinding, String>,
    /// Incompatibilities: a compiler too new for the driver, or too old for a card. Empty if there are none.
    pub conflicts: Vec<String>,
}

/// A compiler found.
#[derive(Clone, Debug, Serialize)]
pub struct NvrtcFinding {
    /// Its file.
    pub path: PathBuf,
    /// How it was found.
    pub origin: &'static str,
    /// Major and minor version.
    pub version: (u32, u32),
    /// Fingerprint of its build.
    pub build: String,
    /// The architectures it compiles for.
    pub archs: Vec<Arch>,
}

/// The state of the cache.
#[derive(Clone, Debug, Serialize)]
pub struct CacheFinding {
    /// Its folder; `None`: the cache is off.
    pub folder: Option<PathBuf>,
    /// The read-only folders behind it.
    pub readonly: Vec<PathBuf>,
    /// What prevents writing; `None` if nothing does.
    pub fault: Option<String>,
    /// Bytes on disk.
    pub bytes: u64,
    /// Number of entries.
    pub entries: usize,
    /// Bytes it may reach.
    pub limit: u64,
}

/// A driver found.
#[derive(Clone, Debug, Serialize)]
pub struct DriverFinding {
    /// The CUDA version it supports.
    pub cuda: (u32, u32),
    /// Its cards, in CUDA's order.
    pub devices: Vec<DeviceFinding>,
    /// NCCL's version in words, for messages between the cards of several processes; `None` without it.
    pub nccl: Option<String>,
    /// Why there is no list of cards, if it could not be obtained.
    pub fault: Option<String>,
}

/// A card found.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceFinding {
    /// Its name, `NVIDIA H200`.
    pub name: String,
    /// Its architecture.
    pub arch: Arch,
    /// Its memory in bytes.
    pub memory: u64,
}

impl Doctor {
    /// Examines this machine.
    pub fn examine(settings: &Settings) -> Doctor {
        let compiler = Nvrtc::find(settings);
        let driver = driver();
        let mut conflicts = Vec::new();
        if let (Ok(compiler), Ok(driver)) = (&compiler, &driver) {
            let version = (1000 * driver.cuda.0 + 10 * driver.cuda.1) as i32;
            let too_new = compiler.check_driver(version).err();
            let unknown = driver.devices.iter().filter_map(|device| compiler.check_arch(device.arch).err());
            conflicts.extend(too_new.into_iter().chain(unknown).map(|fault: JitError| fault.to_string()));
        }
        let nvrtc = compiler.map_err(|fault| fault.to_string()).map(|nvrtc| NvrtcFinding {
            path: nvrtc.path().to_path_buf(),
            origin: nvrtc.origin(),
            version: nvrtc.version(),
            build: nvrtc.build().to_string(),
            archs: nvrtc.archs().to_vec(),
        });
        let disassembler = Disassembler::find(settings);
        Doctor {
            nvrtc,
            nvdisasm: disassembler.map(|found| found.path().to_path_buf()).map_err(|fault| fault.to_string()),
            cuobjdump: find_cuobjdump(settings).map_err(|fault| fault.to_string()),
            cache: cache(&Cache::open(settings)),
            driver,
            conflicts,
        }
    }
}

fn cache(cache: &Cache) -> CacheFinding {
    let fault = cache.fault().map(String::from).or_else(|| cache.check_writable().err().map(|e| e.to_string()));
    let (bytes, entries) = cache.size().unwrap_or_default();
    let folder = cache.root().map(|root| root.to_path_buf());
    CacheFinding { folder, readonly: cache.readonly.clone(), fault, bytes, entries, limit: cache.limit() }
}

/// The CUDA version of the driver from `cuDriverGetVersion` (13000 is 13.0), or why there is none. cudarc panics when it
/// loads a missing driver, so its presence is checked first.
pub fn driver_version() -> Result<i32, String> {
    // SAFETY: opens libcuda, if there is one, and closes it again.
    if !unsafe { sys::is_culib_present() } {
        return Err("no NVIDIA driver: libcuda is not on this machine".into());
    }
    let mut version = 0;
    // SAFETY: the driver is present, and this function needs no initialisation.
    match unsafe { sys::cuDriverGetVersion(&mut version) }.result() {
        Ok(()) => Ok(version),
        Err(e) => Err(format!("the NVIDIA driver does not tell its version: {e}")),
    }
}

/// `off`: messages between cards go by way of the host although there is NCCL.
const NCCL_SWITCH: &str = "EIGENFORGE_NCCL";

/// NCCL's version as it gives it, 22,809 for 2.28.9; 0 without it, or where `EIGENFORGE_NCCL` is `off`.
pub(crate) fn nccl_version() -> i32 {
    if std::env::var(NCCL_SWITCH).is_ok_and(|word| word == "off") {
        return 0;
    }
    // SAFETY: opens libnccl, if there is one, and closes it again.
    if unsafe { cudarc::nccl::sys::is_culib_present() } {
        cudarc::nccl::result::get_nccl_version().unwrap_or(0)
    } else {
        0
    }
}

fn nccl() -> Option<String> {
    let version = nccl_version();
    let (major, minor) = (version / 10_000, version / 100 % 100);
    (version > 0).then(|| format!("NCCL {major}.{minor}.{}", version % 100))
}

fn driver() -> Result<DriverFinding, String> {
    let cuda = driver_pair(driver_version()?);
    let devices = devices();
    Ok(DriverFinding {
        cuda,
        nccl: nccl(),
        fault: devices.as_ref().err().map(|e| e.to_string()),
        devices: devices.unwrap_or_default(),
    })
}

fn devices() -> Result<Vec<DeviceFinding>, result::DriverError> {
    use sys::CUdevice_attribute_enum as Attribute;
    result::init()?;
    let mut devices = Vec::new();
    for ordinal in 0..result::device::get_count()? {
        let device = result::device::get(ordinal)?;
        // SAFETY: the handle is of `cuDeviceGet`.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        devices.push(DeviceFinding {
            name: result::device::get_name(device)?,
            arch: Arch::from_capability(major as u32, minor as u32),
            // SAFETY: as above.
            memory: unsafe { result::device::total_mem(device) }? as u64,
        });
    }
    Ok(devices)
}
