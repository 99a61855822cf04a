//! Search paths for NVRTC and the disassembly tools.
//!
//! In: [`Settings`]. Out: candidate files, best first, with a line for each place, so that an error can list them. Order:
//! the CUDA toolkit, the dynamic loader's folders, pip's wheels. Layouts of wheels: `nvidia/cu13/{lib,bin}` (CUDA 13) and
//! `nvidia/cuda_nvrtc/lib` (CUDA 11 and 12).

use super::error::JitError;
use super::settings::{Settings, version_numbers};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A library that may be NVRTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Where it was found: `CUDA toolkit`, `pip wheel`, ….
    pub origin: &'static str,
    /// The file.
    pub path: PathBuf,
}

/// Whether a file's name is NVRTC's: `libnvrtc.so`, `libnvrtc.so.13`, `nvrtc64_130_0.dll`, but not `libnvrtc-builtins.so`.
pub(crate) fn is_nvrtc(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let unix = name == "libnvrtc.so" || name.strip_prefix("libnvrtc.so.").is_some_and(numbers_and_dots);
    unix || (name.starts_with("nvrtc64_") && name.ends_with(".dll") && !name.contains("alt"))
}

fn numbers_and_dots(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// The NVRTC libraries in a folder, highest version first.
pub(crate) fn nvrtc_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_nvrtc(path)).collect();
    found.sort_by_key(|path| std::cmp::Reverse(version_numbers(path)));
    found
}

/// All places where NVRTC may be, best first; `searched` gets a line for each place without one.
pub(crate) fn nvrtc_candidates(settings: &Settings, searched: &mut Vec<String>) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut look = |origin: &'static str, folder: PathBuf| {
        let found = nvrtc_in(&folder);
        if found.is_empty() && !searched.iter().any(|line| line.contains(&*folder.to_string_lossy())) {
            searched.push(format!("{origin}: {}", folder.display()));
        }
        candidates.extend(found.into_iter().map(|path| Candidate { origin, path }));
    };
    for toolkit in settings.toolkits.iter().filter(|root| root.is_dir()) {
        for part in ["lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib", "lib", "bin/x64", "bin"] {
            if toolkit.join(part).is_dir() {
                look("CUDA toolkit", toolkit.join(part));
            }
        }
    }
    for folder in settings.library_path.iter().filter(|folder| folder.is_dir()) {
        look("dynamic loader", folder.clone());
    }
    if settings.ask_loader {
        match ask_loader() {
            Some(path) => candidates.push(Candidate { origin: "dynamic loader", path }),
            None => searched.push("dynamic loader: libnvrtc.so.13, libnvrtc.so.12, libnvrtc.so".into()),
        }
    }
    for site in &settings.sites {
        let folders = wheel_folders(site, "lib", "cuda_nvrtc");
        if folders.is_empty() {
            searched.push(format!("pip wheel: {}", site.join("nvidia").display()));
        }
        for folder in folders {
            for path in nvrtc_in(&folder) {
                candidates.push(Candidate { origin: "pip wheel", path });
            }
        }
    }
    candidates
}

/// The file that the dynamic loader finds for NVRTC's usual names. It stays loaded, like a compiler in use.
fn ask_loader() -> Option<PathBuf> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].into_iter().find_map(|name| {
        // SAFETY: the library named is NVRTC, whose initialisers have no preconditions.
        let library = unsafe { libloading::Library::new(name) }.ok()?;
        std::mem::forget(library);
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        maps.lines().filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..]))).find(|path| is_nvrtc(path))
    })
}

/// Folders `nvidia/cuNN/<part>` (newest first) and `nvidia/<old>/<part>` of a pip folder.
fn wheel_folders(site: &Path, part: &str, old: &str) -> Vec<PathBuf> {
    let nvidia = site.join("nvidia");
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&nvidia)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            name.strip_prefix("cu").is_some_and(numbers_and_dots)
        })
        .collect();
    folders.sort_by_key(|path| std::cmp::Reverse(version_numbers(path)));
    folders.push(nvidia.join(old));
    folders.into_iter().map(|folder| folder.join(part)).filter(|folder| folder.is_dir()).collect()
}

/// Finds a toolkit program: named by the user, in the toolkit, on the path, in pip's wheels.
pub(crate) fn tool(
    settings: &Settings,
    tool: &'static str,
    variable: &'static str,
    named: Option<&Path>,
) -> Result<PathBuf, JitError> {
    let program = format!("{tool}{}", std::env::consts::EXE_SUFFIX);
    if let Some(named) = named {
        let path = if named.is_dir() { named.join(&program) } else { named.to_path_buf() };
        return match path.is_file() {
            true => Ok(path),
            false => Err(JitError::NoTool {
                tool,
                variable,
                searched: vec![format!("{variable}: {} is no file", path.display())],
            }),
        };
    }
    let mut folders: Vec<PathBuf> = settings.toolkits.iter().map(|root| root.join("bin")).collect();
    folders.extend(settings.program_path.iter().cloned());
    for site in &settings.sites {
        folders.push(site.join("nvidia").join("cu13").join("bin"));
        folders.extend(wheel_folders(site, "bin", &format!("cuda_{tool}")));
    }
    match folders.iter().map(|folder| folder.join(&program)).find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => {
            let mut searched: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            searched.dedup();
            Err(JitError::NoTool { tool, variable, searched })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nvrtc() {
        for name in ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12.9.86", "nvrtc64_130_0.dll"] {
            assert!(is_nvrtc(Path::new(name)), "{name}");
        }
        for name in
            ["libnvrtc-builtins.so.13.0", "libnvrtc.alt.so.13", "libnvrtc_static.a", "nvrtc64_130_0.alt.dll", ""]
        {
            assert!(!is_nvrtc(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn wheels_are_found_newest_first() {
        let site = tempfile::tempdir().unwrap();
        for folder in ["nvidia/cu13/lib", "nvidia/cu14/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cudnn/lib"] {
            std::fs::create_dir_all(site.path().join(folder)).unwrap();
        }
        let folders = wheel_folders(site.path(), "lib", "cuda_nvrtc");
        let expected = ["nvidia/cu14/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"].map(|f| site.path().join(f));
        assert_eq!(folders, expected);
    }
}
