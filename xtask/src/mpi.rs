//! What Cargo and the test programs must know of an MPI that lies in a folder of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Variables of the environment with which `--features mpi` is built and its programs run.
///
/// # Errors
/// The folder lacks `mpicc` or libclang.
pub fn environment(folder: &Path) -> Result<Vec<(&'static str, OsString)>, String> {
    let mpicc = find(folder, "mpicc").ok_or_else(|| format!("{} has no mpicc", folder.display()))?;
    let libclang = find(folder, "libclang.so").or_else(|| find(folder, "libclang.dylib"));
    let libclang = libclang.ok_or_else(|| format!("{} has no libclang", folder.display()))?;
    let programs = mpicc.parent().unwrap_or(folder);
    let libraries = programs.with_file_name("lib");
    let mut environment = vec![
        ("PATH", before("PATH", programs)),
        ("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", &libraries)),
        ("LIBCLANG_PATH", libclang.parent().unwrap_or(folder).into()),
    ];
    // The wheel of libclang is without the compiler's own headers (stddef.h).
    let headers = Command::new("cc").arg("-print-file-name=include").output().ok();
    if let Some(headers) = headers.filter(|output| output.status.success()) {
        let folder = String::from_utf8_lossy(&headers.stdout).trim().to_string();
        environment.push(("BINDGEN_EXTRA_CLANG_ARGS", format!("-isystem {folder}").into()));
    }
    Ok(environment)
}

/// A list of folders with one more at its head.
fn before(name: &str, folder: &Path) -> OsString {
    let mut list = folder.as_os_str().to_os_string();
    if let Some(rest) = std::env::var_os(name).filter(|rest| !rest.is_empty()) {
        list.push(":");
        list.push(rest);
    }
    list
}

/// A file of this name in the folder or below.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|found| found == name) && path.is_file());
    here.cloned().or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, name)))
}
