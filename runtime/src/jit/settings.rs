//! Every setting of the run-time compiler, read from the environment in this one place.
//!
//! | variable | meaning |
//! |---|---|
//! | `EIGENFORGE_NVRTC` | the NVRTC library, a file or its folder |
//! | `EIGENFORGE_NVDISASM`, `EIGENFORGE_CUOBJDUMP` | the disassembler and the resource reader, files or their folders |
//! | `EIGENFORGE_CACHE` | folder of the kernel cache, or `off`; default: `eigenforge/kernels` in the platform's cache folder |
//! | `EIGENFORGE_CACHE_READONLY` | further cache folders, a path list, read in this order and never written (for clusters) |
//! | `EIGENFORGE_CACHE_LIMIT` | size limit of the cache: `2GiB`, `500M`, or bytes; default 2 GiB |
//! | `EIGENFORGE_RETRY_FAILED` | `1`: recompile texts that failed before |
//! | `EIGENFORGE_FMAD` | `off`: round after every multiplication, so that a card gives the bits of the simulation; default `on` |
//! | `EIGENFORGE_OVERRIDE` | a folder of dumped and edited kernel files that replace the generated ones, as `--override` |
//!
//! An empty variable counts as unset. Tests build a [`Settings`] by hand, so that the environment stays untouched.

use super::error::JitError;
use crate::private::Trust;
use etcetera::BaseStrategy;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Default size limit of the cache: 2 GiB.
pub const DEFAULT_CACHE_LIMIT: u64 = 2 << 30;

/// Where compiled kernels are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheFolder {
    /// In this folder.
    At(PathBuf),
    /// Nowhere, because the user said `off`.
    Off,
    /// Nowhere, because the platform has no home folder.
    Homeless,
}

/// The environment's settings for compiler, tools and cache.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The NVRTC named by the user.
    pub nvrtc: Option<PathBuf>,
    /// The nvdisasm named by the user.
    pub nvdisasm: Option<PathBuf>,
    /// The cuobjdump named by the user.
    pub cuobjdump: Option<PathBuf>,
    /// Root folders of CUDA toolkits, best first.
    pub toolkits: Vec<PathBuf>,
    /// Folders that pip installs into, best first: each may contain a folder `nvidia`.
    pub sites: Vec<PathBuf>,
    /// Folders that the dynamic loader searches.
    pub library_path: Vec<PathBuf>,
    /// Whether to ask the dynamic loader for NVRTC by name.
    pub ask_loader: bool,
    /// Folders searched for programs.
    pub program_path: Vec<PathBuf>,
    /// The kernel cache.
    pub cache: CacheFolder,
    /// Further caches, read only, in the order of lookup.
    pub cache_readonly: Vec<PathBuf>,
    /// Size limit of the cache in bytes.
    pub cache_limit: u64,
    /// Whether to recompile texts that failed before.
    pub retry_failed: bool,
    /// Whether the compiler may contract a multiplication and an addition into one rounding, as by default. Part of the
    /// options, and so of the key.
    pub fmad: bool,
}

impl Settings {
    /// Reads the environment of this process.
    pub fn from_env() -> Result<Settings, JitError> {
        Settings::from_variables(&std::env::vars_os().collect(), std::env::current_exe().ok().as_deref())
    }

    /// Reads the given variables; `executable` is the running program; tools may be in its folder.
    fn from_variables(
        variables: &BTreeMap<OsString, OsString>,
        executable: Option<&Path>,
    ) -> Result<Settings, JitError> {
        let value = |name: &str| variables.get(OsStr::new(name)).filter(|value| !value.is_empty());
        let path = |name: &str| value(name).map(PathBuf::from);
        let paths = |name: &str| value(name).map(|list| std::env::split_paths(list).collect()).unwrap_or_default();
        let program_path: Vec<PathBuf> = paths("PATH");

        let cache = match value("EIGENFORGE_CACHE") {
            Some(off) if off == "off" => CacheFolder::Off,
            Some(folder) => CacheFolder::At(absolute(folder.into())),
            None => match etcetera::choose_base_strategy() {
                Ok(platform) => CacheFolder::At(platform.cache_dir().join("eigenforge").join("kernels")),
                Err(_) => CacheFolder::Homeless,
            },
        };
        let cache_limit = match value("EIGENFORGE_CACHE_LIMIT") {
            None => DEFAULT_CACHE_LIMIT,
            Some(text) => text.to_str().and_then(parse_bytes).ok_or_else(|| JitError::Setting {
                variable: "EIGENFORGE_CACHE_LIMIT",
                value: text.to_string_lossy().into_owned(),
                expected: "a size such as 2GiB, 500M or a number of bytes",
            })?,
        };
        let retry_failed = match value("EIGENFORGE_RETRY_FAILED").map(|text| text.to_string_lossy().into_owned()) {
            None => false,
            Some(text) if text == "0" => false,
            Some(text) if text == "1" => true,
            Some(text) => {
                return Err(JitError::Setting { variable: "EIGENFORGE_RETRY_FAILED", value: text, expected: "0 or 1" });
            }
        };
        let fmad = match value("EIGENFORGE_FMAD").map(|text| text.to_string_lossy().into_owned()) {
            None => true,
            Some(text) if text == "on" => true,
            Some(text) if text == "off" => false,
            Some(text) => {
                return Err(JitError::Setting { variable: "EIGENFORGE_FMAD", value: text, expected: "on or off" });
            }
        };

        let mut toolkits: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"].into_iter().filter_map(path).collect();
        toolkits.push("/usr/local/cuda".into());
        toolkits.extend(numbered_folders(Path::new("/usr/local"), "cuda-"));
        toolkits.push("/opt/cuda".into());

        let mut sites = tool_folders(executable, path("CARGO_TARGET_DIR"), path("EIGENFORGE_ROOT"));
        let mut prefixes: Vec<PathBuf> = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(path).collect();
        prefixes.extend(python_prefixes(&program_path));
        prefixes.extend(path("HOME").map(|home| home.join(".local")));
        prefixes.extend(["/usr/local".into(), "/usr".into()]);
        for prefix in &prefixes {
            sites.extend(site_packages(prefix));
        }
        keep_first(&mut sites);

        let mut library_path: Vec<PathBuf> = paths("LD_LIBRARY_PATH");
        library_path.extend(path("CONDA_PREFIX").map(|prefix| prefix.join("lib")));
        library_path
            .extend(["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"].map(PathBuf::from));

        Ok(Settings {
            nvrtc: path("EIGENFORGE_NVRTC"),
            nvdisasm: path("EIGENFORGE_NVDISASM"),
            cuobjdump: path("EIGENFORGE_CUOBJDUMP"),
            toolkits,
            sites,
            library_path,
            ask_loader: true,
            program_path,
            cache,
            cache_readonly: paths("EIGENFORGE_CACHE_READONLY").into_iter().map(absolute).collect(),
            cache_limit,
            retry_failed,
            fmad,
        })
    }
}

impl Settings {
    /// The folder beside the kernel cache whose name ends in `suffix`; `None` without a cache, or if others may write to
    /// that folder, which standard error then reports.
    pub(crate) fn beside_cache(&self, suffix: &str) -> Option<PathBuf> {
        let CacheFolder::At(cache) = &self.cache else { return None };
        let mut name = cache.file_name()?.to_os_string();
        name.push(suffix);
        Some(cache.with_file_name(name)).filter(|folder| Trust::current_user().allows(folder))
    }
}

/// Makes a path absolute, because compilers run in folders of their own.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// The folder of edited kernel files that the environment names.
pub(crate) fn override_folder() -> Option<PathBuf> {
    std::env::var_os("EIGENFORGE_OVERRIDE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `cuda-tools` folders made by `cargo xtask setup`: beside the program, in the folders above it (a program in
/// `target/release/deps` finds `target/cuda-tools`), in their `target`, and where the environment says.
fn tool_folders(executable: Option<&Path>, target: Option<PathBuf>, root: Option<PathBuf>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    folders.extend(target.map(|target| target.join("cuda-tools")));
    folders.extend(root.map(|root| root.join("target").join("cuda-tools")));
    for folder in executable.into_iter().flat_map(Path::ancestors).skip(1).take(4) {
        folders.push(folder.join("cuda-tools"));
        folders.push(folder.join("target").join("cuda-tools"));
    }
    folders
}

/// The installation prefixes of the `python3` programs on the path, links followed.
fn python_prefixes(program_path: &[PathBuf]) -> Vec<PathBuf> {
    let mut prefixes = Vec::new();
    for python in program_path.iter().map(|folder| folder.join("python3")).filter(|python| python.exists()) {
        let real = python.canonicalize().ok();
        for program in [Some(python), real].into_iter().flatten() {
            prefixes.extend(program.ancestors().nth(2).map(Path::to_path_buf));
        }
    }
    prefixes
}

/// `lib/python3.N/{site,dist}-packages` under a prefix, newest first, and Debian's `lib/python3/dist-packages`.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for python in numbered_folders(&prefix.join("lib"), "python3") {
        folders.push(python.join("site-packages"));
        folders.push(python.join("dist-packages"));
    }
    folders.push(prefix.join("Lib").join("site-packages"));
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Folders in `parent` whose names start with `prefix`, the highest version number first.
fn numbered_folders(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(prefix)))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort_by_key(|path| std::cmp::Reverse(version_numbers(path)));
    folders
}

/// The numbers in a file's name, for ordering by version: `libnvrtc.so.13.0.88` gives 13, 0, 88.
pub(crate) fn version_numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Drops later repetitions.
fn keep_first(paths: &mut Vec<PathBuf>) {
    let mut seen = std::collections::BTreeSet::new();
    paths.retain(|path| seen.insert(path.clone()));
}

/// Reads `2GiB`, `500M`, `1.5 GB`, `4096`: powers of 1024, with or without the `i` and the `B`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    let bytes = number * (1u64 << shift) as f64;
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, JitError> {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Settings::from_variables(&variables, Some(Path::new("/project/target/release/deps/eigenforge")))
    }

    #[test]
    fn variables_are_read() {
        let settings = read(&[
            ("EIGENFORGE_NVRTC", "/a/libnvrtc.so.13"),
            ("EIGENFORGE_CACHE", "/cache"),
            ("EIGENFORGE_CACHE_READONLY", "/group:/site"),
            ("EIGENFORGE_CACHE_LIMIT", "3 MiB"),
            ("EIGENFORGE_RETRY_FAILED", "1"),
            ("EIGENFORGE_FMAD", "off"),
            ("EIGENFORGE_NVDISASM", ""),
            ("CUDA_HOME", "/cuda"),
        ])
        .unwrap();
        assert_eq!(settings.nvrtc.as_deref(), Some(Path::new("/a/libnvrtc.so.13")));
        assert_eq!(settings.cache, CacheFolder::At("/cache".into()));
        assert_eq!(settings.cache_readonly, ["/group", "/site"].map(PathBuf::from));
        assert_eq!(settings.cache_limit, 3 << 20);
        assert!(settings.retry_failed && !settings.fmad && read(&[]).unwrap().fmad);
        assert_eq!(settings.nvdisasm, None, "an empty variable counts as unset");
        assert_eq!(settings.toolkits[0], Path::new("/cuda"));
        assert!(settings.sites.contains(&"/project/target/cuda-tools".into()), "{:?}", settings.sites);
        assert_eq!(read(&[("EIGENFORGE_CACHE", "off")]).unwrap().cache, CacheFolder::Off);
        assert_eq!(read(&[]).unwrap().cache_limit, DEFAULT_CACHE_LIMIT);
    }

    #[test]
    fn bad_values_are_named() {
        for (variable, value) in [
            ("EIGENFORGE_CACHE_LIMIT", "lots"),
            ("EIGENFORGE_CACHE_LIMIT", "-1"),
            ("EIGENFORGE_RETRY_FAILED", "yes"),
            ("EIGENFORGE_FMAD", "0"),
        ] {
            let message = read(&[(variable, value)]).expect_err(value).to_string();
            assert!(message.contains(variable) && message.contains(value), "{message}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("4096"), Some(4096));
        assert_eq!(parse_bytes("1.5G"), Some(3 << 29));
        assert_eq!(parse_bytes("2 KiB"), Some(2048));
        for text in ["", "G", "1 parsec", "nan", "1e400G", "99999999999T"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn versions_order_as_numbers() {
        let mut names = ["libnvrtc.so.9.2", "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12.9"].map(PathBuf::from);
        names.sort_by_key(|path| std::cmp::Reverse(version_numbers(path)));
        assert_eq!(names[0], Path::new("libnvrtc.so.13"));
        assert_eq!(names[3], Path::new("libnvrtc.so"));
    }
}
