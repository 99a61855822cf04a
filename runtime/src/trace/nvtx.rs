//! NVTX ranges without NVTX's headers or library: does what a program compiled with them does at its first range.
//!
//! A profiler that runs the program (Nsight Systems, Nsight Compute) names a library in `NVTX_INJECTION64_PATH`. It is
//! loaded, and its `InitializeInjectionNvtx2` writes its functions into the tables offered here; two of them are called
//! afterwards, `nvtxRangePushA` and `nvtxRangePop`. If the variable is not set, nothing happens.
//!
//! Reference: NVTX 3, `nvtxDetail/nvtxTypes.h` (modules, callback numbers, export tables) and `nvtxInit.h` (the search).

use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Slot for a profiler's function.
type Slot = AtomicPtr<c_void>;
type ExportTable = unsafe extern "C" fn(u32) -> *const c_void;
type Initialise = unsafe extern "C" fn(ExportTable) -> c_int;
type PushA = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// Functions of each module, the invalid one of number 0 included, by module number: 1 core, 2 CUDA driver, 3 OpenCL,
/// 4 CUDA runtime, 5 core with domains, 6 synchronisation. A profiler may insist on all of them.
const SIZES: [usize; 7] = [0, 16, 9, 15, 7, 16, 7];
const MOST: usize = 16;
const CORE: usize = 1;
const RANGE_PUSH_A: usize = 9;
const RANGE_POP: usize = 11;

static SLOTS: [[Slot; MOST]; SIZES.len()] = [const { [const { Slot::new(std::ptr::null_mut()) }; MOST] }; SIZES.len()];

/// Pointers to the slots of a module; number 0 is null, as is the entry after the last.
struct Tables([[*mut *mut c_void; MOST + 1]; SIZES.len()]);

// SAFETY: the pointers are to statics, which are only written as atomics or by the profiler before `attach` returns.
unsafe impl Send for Tables {}
// SAFETY: as above; the tables themselves are never written after they are made.
unsafe impl Sync for Tables {}

static TABLES: std::sync::LazyLock<Tables> = std::sync::LazyLock::new(|| {
    let slot = |module: usize, k: usize| match k {
        k if k > 0 && k < SIZES[module] => SLOTS[module][k].as_ptr(),
        _ => std::ptr::null_mut(),
    };
    Tables(std::array::from_fn(|module| std::array::from_fn(|k| slot(module, k))))
});

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    struct_size: usize,
    module_table: unsafe extern "C" fn(c_int, *mut *const *mut *mut c_void, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct VersionInfo {
    struct_size: usize,
    version: u32,
    reserved: u32,
    set_version: unsafe extern "C" fn(u32),
}

static CALLBACKS: Callbacks = Callbacks { struct_size: size_of::<Callbacks>(), module_table };
static VERSION: VersionInfo =
    VersionInfo { struct_size: size_of::<VersionInfo>(), version: 3, reserved: 0, set_version };

/// Gives a profiler the table of a module; 0 for a module that is not known.
unsafe extern "C" fn module_table(module: c_int, table: *mut *const *mut *mut c_void, size: *mut c_uint) -> c_int {
    let known = usize::try_from(module).ok().filter(|module| (1..SIZES.len()).contains(module));
    let Some(module) = known else { return 0 };
    // SAFETY: each pointer is null or, by NVTX's contract, good for one write.
    unsafe {
        if let Some(size) = size.as_mut() {
            *size = SIZES[module] as c_uint;
        }
        if let Some(table) = table.as_mut() {
            *table = TABLES.0[module].as_ptr();
        }
    }
    1
}

unsafe extern "C" fn set_version(_: u32) {}

unsafe extern "C" fn export_table(id: u32) -> *const c_void {
    match id {
        1 => std::ptr::from_ref(&CALLBACKS).cast(),
        3 => std::ptr::from_ref(&VERSION).cast(),
        _ => std::ptr::null(),
    }
}

/// Attaches the profiler that runs this program, if there is one and it takes part. Called once.
pub(super) fn attach() -> bool {
    let Some(path) = std::env::var_os("NVTX_INJECTION64_PATH").filter(|path| !path.is_empty()) else { return false };
    match initialise(&path) {
        Ok(true) => !SLOTS[CORE][RANGE_PUSH_A].load(Ordering::Acquire).is_null(),
        Ok(false) => false,
        Err(fault) => {
            tracing::warn!("NVTX_INJECTION64_PATH: {}: {fault}; no ranges are sent", path.to_string_lossy());
            false
        }
    }
}

fn initialise(path: &std::ffi::OsStr) -> Result<bool, libloading::Error> {
    // SAFETY: whoever set the variable wants this library in the process; that is what the variable is for.
    let library = unsafe { Library::new(path) }?;
    // SAFETY: the symbol has this type by NVTX's contract.
    let initialise = *unsafe { library.get::<Initialise>(b"InitializeInjectionNvtx2\0") }?;
    // SAFETY: the export table lives as long as the process.
    let took_part = unsafe { initialise(export_table) } != 0;
    // Its functions are called until the process ends, so it stays.
    std::mem::forget(library);
    Ok(took_part)
}

/// Begins a range on this thread.
pub(super) fn push(name: &str) {
    let function = SLOTS[CORE][RANGE_PUSH_A].load(Ordering::Relaxed);
    let Ok(name) = CString::new(name) else { return };
    if !function.is_null() {
        // SAFETY: the profiler put a function of this type here; the name ends with a zero byte and is copied by it.
        unsafe { std::mem::transmute::<*mut c_void, PushA>(function)(name.as_ptr()) };
    }
}

/// Ends the range begun last on this thread.
pub(super) fn pop() {
    let function = SLOTS[CORE][RANGE_POP].load(Ordering::Relaxed);
    if !function.is_null() {
        // SAFETY: the profiler put a function of this type here.
        unsafe { std::mem::transmute::<*mut c_void, Pop>(function)() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profiler_finds_the_tables_that_nvtx_promises() {
        let mut table = std::ptr::null();
        let mut size = 0;
        // SAFETY: both pointers are to locals; the tables are statics.
        unsafe {
            let callbacks = &*export_table(1).cast::<Callbacks>();
            assert_eq!(callbacks.struct_size, 2 * size_of::<usize>());
            for (module, entries) in [(1, 16), (2, 9), (3, 15), (4, 7), (5, 16), (6, 7)] {
                assert_eq!((callbacks.module_table)(module, &mut table, &mut size), 1);
                assert_eq!(size, entries);
                let slots = std::slice::from_raw_parts(table, entries as usize + 1);
                assert!(slots[0].is_null() && slots[entries as usize].is_null());
                assert!(slots[1..entries as usize].iter().all(|slot| !slot.is_null() && (**slot).is_null()));
            }
            assert_eq!((callbacks.module_table)(7, &mut table, &mut size), 0);
            assert_eq!((callbacks.module_table)(0, std::ptr::null_mut(), std::ptr::null_mut()), 0);
            assert_eq!((*export_table(3).cast::<VersionInfo>()).version, 3);
            assert!(export_table(2).is_null());
        }
    }

    #[test]
    fn without_a_profiler_a_range_is_nothing() {
        push("a range");
        push("a zero byte \0 inside");
        pop();
    }
}
