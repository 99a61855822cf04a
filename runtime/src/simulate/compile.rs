//! Compiles a text into the program of a check that runs it, cached by the hash of text, engine, check and compiler.
//!
//! Cached programs are executed, so they are in a private folder of this user ([`crate::private`]), with a sealed record
//! of their hashes. Programs without a matching record are compiled again.

use super::simulated::Simulated;
use super::{Check, SimulateError};
use crate::jit::{CacheFolder, Settings};
use crate::private::{self, Trust};
use crate::sealed::{seal, unseal};
use eigenforge_templates::{KernelText, Warp};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

const HOST: &str = include_str!("host.hpp");
const ENGINE: &str = include_str!("engine.hpp");
const PARTS: [(&str, &str); 3] =
    [("block", include_str!("block.cpp")), ("watch", include_str!("watch.cpp")), ("main", include_str!("main.cpp"))];

/// No contraction, and no type-based aliasing, which nvcc does not assume either. Line tables of version 4: addr2line
/// confuses the files of version 5.
const COMMON: &[&str] =
    &["-std=c++17", "-g1", "-gdwarf-4", "-w", "-fno-pie", "-ffp-contract=off", "-fno-strict-aliasing"];
const UNDEFINED: &[&str] = &[
    "-fsanitize=alignment,bounds,shift,integer-divide-by-zero,signed-integer-overflow",
    "-fno-sanitize-recover=alignment,bounds,shift,integer-divide-by-zero,signed-integer-overflow",
];
/// The engine stands in for the libraries of both sanitizers.
const WATCHED: &[&str] = &["-fsanitize=thread", "-fstack-protector-all"];
/// Gives variables that are never set a pattern, so that results show them; compilers of before 2022 can't.
const SET: &str = "-ftrivial-auto-var-init=pattern";
const SANITIZED: &[&str] = &["-fsanitize=address", "-fno-omit-frame-pointer"];
/// Most texts run for less time than they take to compile: without optimisation the tests take a third less time than with -O1.
const QUICK_TO_COMPILE: &str = "-O0";
/// The watched programs of texts that run for minutes and take seconds to compile.
const QUICK_TO_RUN: &str = "-O1";
/// What the names of such texts begin with: those of DMRG, a handful for all chains, each of them launched thousands of times in a
/// solve. Optimised they run in less than half the time.
const LAUNCHED_OFTEN: &str = "dmrg_";
/// The hashes of the compiled files.
const RECORD: &str = "compiled.ron";
/// Size limits in bytes: of that record, and of a program.
const LIMITS: [u64; 2] = [1 << 16, 1 << 30];
/// Bytes reserved for an `extern __shared__` array; the launch says how many of them are used.
const DYNAMIC_BYTES: usize = 256 << 10;

/// A C++ compiler and a folder for its output.
#[derive(Clone, Debug)]
pub struct Simulator {
    compiler: Compiler,
    folder: PathBuf,
    seconds: u32,
    warp: Warp,
    _temporary: Option<Arc<TempDir>>,
}

/// What a compiler said of itself, asked once in a process.
#[derive(Clone, Debug)]
struct Compiler {
    path: PathBuf,
    version: String,
    has_gold: Arc<OnceLock<bool>>,
    sets_variables: Arc<OnceLock<bool>>,
}

impl Compiler {
    /// The compiler, if it works.
    fn asked(path: &Path) -> Option<Compiler> {
        static ASKED: Mutex<BTreeMap<PathBuf, Compiler>> = Mutex::new(BTreeMap::new());
        let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = asked.get(path) {
            return Some(known.clone());
        }
        let version = answer(path, &["--version"])?;
        let compiler =
            Compiler { path: path.to_path_buf(), version, has_gold: Arc::default(), sets_variables: Arc::default() };
        asked.insert(path.to_path_buf(), compiler.clone());
        Some(compiler)
    }

    /// Whether it can link with gold, which takes a third of the time of the usual linker: the C++ library has thousands of names.
    fn has_gold(&self) -> bool {
        *self.has_gold.get_or_init(|| answer(&self.path, &["-fuse-ld=gold", "-Wl,--version"]).is_some())
    }
}

impl Compiler {
    /// Whether it can give variables that are never set a pattern.
    fn sets_variables(&self) -> bool {
        let asks = || answer(&self.path, &[SET, "-fsyntax-only", "-x", "c++", "/dev/null"]).is_some();
        *self.sets_variables.get_or_init(asks)
    }
}

/// What a program prints, if it can.
fn answer(program: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(super) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> SimulateError {
    let what = what.into();
    move |source| SimulateError::System { what, source }
}

impl Simulator {
    /// The compiler named by CXX, else c++, g++ or clang++. Programs are cached beside the kernel cache or, without one,
    /// in a temporary folder that is removed with the simulator.
    pub fn find() -> Result<Simulator, SimulateError> {
        let named = std::env::var_os("CXX").filter(|name| !name.is_empty()).map(PathBuf::from);
        let candidates = match named {
            Some(named) => vec![named],
            None => ["c++", "g++", "clang++"].map(PathBuf::from).to_vec(),
        };
        let cache = Settings::from_env().map(|settings| settings.cache).unwrap_or(CacheFolder::Off);
        let folder = match cache {
            CacheFolder::At(folder) => folder.file_name().map(|name| {
                let mut name = name.to_os_string();
                name.push("-simulate");
                folder.with_file_name(name)
            }),
            CacheFolder::Off | CacheFolder::Homeless => None,
        };
        Simulator::from_compilers(&candidates, folder.as_deref())
    }

    /// The first working compiler of `candidates`; programs are cached in `folder`, if it can be written.
    pub fn from_compilers(candidates: &[PathBuf], folder: Option<&Path>) -> Result<Simulator, SimulateError> {
        let Some(compiler) = candidates.iter().find_map(|path| Compiler::asked(path)) else {
            let names: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
            return Err(SimulateError::NoCompiler { searched: names.join(", ") });
        };
        // The compiler runs in folders of its own, so the path must be absolute.
        let folder = folder.and_then(|folder| std::path::absolute(folder).ok());
        let writable =
            |folder: &Path| private::make_folder(folder).and_then(|()| tempfile::tempfile_in(folder)).is_ok();
        let usable = |folder: &PathBuf| Trust::current_user().allows(folder) && writable(folder);
        let (folder, temporary) = match folder.filter(usable) {
            Some(folder) => (folder, None),
            None => {
                let temporary = tempfile::tempdir().map_err(system("making a temporary folder"))?;
                (temporary.path().to_path_buf(), Some(Arc::new(temporary)))
            }
        };
        Ok(Simulator { compiler, folder, seconds: 300, warp: Warp::default(), _temporary: temporary })
    }

    /// Sets the time limit of one launch in seconds; the default is 300.
    pub fn time_limit(mut self, seconds: u32) -> Simulator {
        self.seconds = seconds.max(1);
        self
    }

    /// Sets the width of a warp of the device that it simulates; the default is [`Warp::NVIDIA`].
    pub fn warps_of(mut self, warp: Warp) -> Simulator {
        self.warp = warp;
        self
    }

    pub(crate) fn warp(&self) -> Warp {
        self.warp
    }

    /// The compiler and its version, one line.
    pub fn compiler(&self) -> String {
        format!("{}: {}", self.compiler.path.display(), self.version())
    }

    /// The compiler's version line.
    pub fn version(&self) -> &str {
        self.compiler.version.lines().next().unwrap_or("")
    }

    /// Compiles the unmodified text with its accesses watched, or finds the program in the folder.
    pub fn build(&self, text: &KernelText) -> Result<Simulated, SimulateError> {
        let simulated = self.uncompiled(text);
        simulated.compile()?;
        Ok(simulated)
    }

    /// The text, compiled when it is first launched.
    pub(crate) fn uncompiled(&self, text: &KernelText) -> Simulated {
        let folder = self.folder_of(text, Check::Accesses);
        let kept = is_compiled(&folder, &[Check::Accesses.file()]);
        Simulated::new(text.clone(), folder, kept, self.clone())
    }

    /// Where the program of a check is, or will be.
    fn folder_of(&self, text: &KernelText, check: Check) -> PathBuf {
        let (driver, words) = (driver(text), self.words(&text.name, check));
        let mut hash = self.engine_hash();
        [&[text.text.as_str(), driver.as_str()], &words[..]].concat().iter().for_each(|part| field(&mut hash, part));
        self.folder.join(format!("{}-{}", file_name(&text.name), &hash.finalize().to_hex()[..24]))
    }

    /// The program of a check, compiled unless it is there.
    pub(super) fn compiled(&self, text: &KernelText, check: Check) -> Result<PathBuf, SimulateError> {
        let folder = self.folder_of(text, check);
        if !is_compiled(&folder, &[check.file()]) {
            let (driver, engine) = (driver(text), self.engine()?);
            self.publish(&folder, |folder| {
                let files = [("kernel.cu", text.text.as_str()), ("driver.cpp", driver.as_str()), ("host.hpp", HOST)];
                write_all(folder, &files)?;
                self.program(folder, &engine, check, &text.name)?;
                record(folder, &[check.file()])
            })?;
        }
        Ok(folder.join(check.file()))
    }

    /// The compiler's options for a text of this name.
    fn words(&self, name: &str, check: Check) -> Vec<&'static str> {
        let (level, own) = match check {
            Check::Accesses => {
                (if name.starts_with(LAUNCHED_OFTEN) { QUICK_TO_RUN } else { QUICK_TO_COMPILE }, WATCHED)
            }
            Check::Addresses => (QUICK_TO_COMPILE, SANITIZED),
        };
        let set: &[&str] = if self.compiler.sets_variables() { &[SET] } else { &[] };
        let set = if check == Check::Accesses { set } else { &[] };
        [COMMON, own, set, UNDEFINED, &[level]].concat()
    }

    pub(super) fn seconds(&self) -> u32 {
        self.seconds
    }

    fn engine_hash(&self) -> blake3::Hasher {
        let mut hash = blake3::Hasher::new();
        field(&mut hash, &self.compiler.path.to_string_lossy());
        [self.compiler.version.as_str(), HOST, ENGINE].iter().for_each(|part| field(&mut hash, part));
        PARTS.iter().for_each(|(_, part)| field(&mut hash, part));
        hash
    }

    /// The folder of the engine's object files, compiled once.
    fn engine(&self) -> Result<PathBuf, SimulateError> {
        let folder = self.folder.join(format!("engine-{}", &self.engine_hash().finalize().to_hex()[..24]));
        let objects = PARTS.map(|(name, _)| format!("{name}.o"));
        let objects = objects.each_ref().map(String::as_str);
        if is_compiled(&folder, &objects) {
            return Ok(folder);
        }
        self.publish(&folder, |folder| {
            write_all(folder, &[("engine.hpp", ENGINE)])?;
            for (name, source) in PARTS {
                write_all(folder, &[(&format!("{name}.cpp"), source)])?;
                let (source, object) = (format!("{name}.cpp"), format!("{name}.o"));
                let words = ["-std=c++17", "-O2", "-g1", "-fno-pie", "-c", &source, "-o", &object];
                self.compile(folder, &words, "the simulator's engine")?;
            }
            record(folder, &objects)
        })?;
        Ok(folder)
    }

    fn program(&self, folder: &Path, engine: &Path, check: Check, name: &str) -> Result<(), SimulateError> {
        let object = format!("{}.o", check.file());
        let compile = [&self.words(name, check)[..], &["-c", "driver.cpp", "-o", &object]].concat();
        self.compile(folder, &compile, name)?;
        let parts: Vec<String> =
            PARTS.iter().map(|(name, _)| engine.join(format!("{name}.o")).display().to_string()).collect();
        // The kernel's thread-local storage lies between the guards of the engine's first and last part.
        let mut link = vec!["-no-pie", "-o", check.file()];
        link.extend([parts[0].as_str(), object.as_str(), parts[1].as_str(), parts[2].as_str()]);
        if check == Check::Addresses {
            link.extend([SANITIZED, UNDEFINED].concat());
        }
        if self.compiler.has_gold() {
            link.push("-fuse-ld=gold");
        }
        self.compile(folder, &link, name)?;
        std::fs::remove_file(folder.join(&object)).map_err(system(format!("removing {object}")))
    }

    fn compile(&self, folder: &Path, words: &[&str], what: &str) -> Result<(), SimulateError> {
        let output = Command::new(&self.compiler.path)
            .args(words)
            .current_dir(folder)
            .env("LC_ALL", "C")
            .output()
            .map_err(system(format!("running {}", self.compiler.path.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let (compiler, log) = (self.compiler(), String::from_utf8_lossy(&output.stderr).into_owned());
        Err(SimulateError::Compile { what: what.into(), compiler, log, folder: folder.to_path_buf() })
    }

    /// Fills a new folder beside its final place and renames it; of two processes the first wins. The folder of a failed
    /// compilation is kept for its sources.
    fn publish(
        &self,
        target: &Path,
        fill: impl FnOnce(&Path) -> Result<(), SimulateError>,
    ) -> Result<(), SimulateError> {
        let temporary = tempfile::Builder::new()
            .prefix(".tmp-")
            .tempdir_in(&self.folder)
            .map_err(system(format!("making a folder in {}", self.folder.display())))?;
        std::fs::set_permissions(temporary.path(), std::fs::Permissions::from_mode(0o700))
            .map_err(system("making a folder private"))?;
        if let Err(mut error) = fill(temporary.path()) {
            if let SimulateError::Compile { folder, .. } = &mut error {
                *folder = self.keep_failed(target, temporary);
            }
            return Err(error);
        }
        let failed = || system(format!("renaming to {}", target.display()));
        if std::fs::rename(temporary.path(), target).is_err() {
            if recorded(target).is_some() {
                return Ok(()); // of another process
            }
            // Damaged, or from a version that kept no record.
            let aside = tempfile::Builder::new().prefix(".tmp-").tempdir_in(&self.folder).map_err(failed())?;
            let _ = std::fs::rename(target, aside.path().join("damaged"));
            std::fs::rename(temporary.path(), target).map_err(failed())?;
        }
        let _ = temporary.keep(); // it has another name now
        Ok(())
    }
}

impl Simulator {
    /// Keeps the sources of a failed compilation in a folder named after the target, replacing an earlier one.
    fn keep_failed(&self, target: &Path, temporary: TempDir) -> PathBuf {
        let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let kept = self.folder.join(format!("failed-{name}"));
        let _ = std::fs::remove_dir_all(&kept);
        let from = temporary.keep();
        if std::fs::rename(&from, &kept).is_ok() { kept } else { from }
    }
}

/// Records each compiled file with its hash, and makes the files private to this user.
fn record(folder: &Path, files: &[&str]) -> Result<(), SimulateError> {
    let hashes = files.iter().map(|name| {
        let path = folder.join(name);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700))?;
        let bytes = std::fs::read(path)?;
        Ok((name.to_string(), blake3::hash(&bytes).to_hex().to_string()))
    });
    let hashes = hashes.collect::<io::Result<Vec<(String, String)>>>();
    let written = hashes.and_then(|hashes| private::write_new(&folder.join(RECORD), seal(&hashes)?.as_bytes()));
    written.map_err(system(format!("writing {RECORD}")))
}

/// The record of a folder, if it and the files it names are unchanged and owned by this user.
fn recorded(folder: &Path) -> Option<Vec<String>> {
    let trust = Trust::current_user();
    let sealed = trust.holds_folder(folder).then(|| trust.read_text(&folder.join(RECORD), LIMITS[0]).ok())??;
    let files: Vec<(String, String)> = ron::from_str(unseal(&sealed)?).ok()?;
    let is_whole = |(name, hash): &(String, String)| {
        let bytes = trust.read(&folder.join(name), LIMITS[1]);
        bytes.is_ok_and(|bytes| blake3::hash(&bytes).to_hex().as_str() == hash)
    };
    files.iter().all(is_whole).then(|| files.into_iter().map(|(name, _)| name).collect())
}

/// Whether these files are present and unchanged.
fn is_compiled(folder: &Path, files: &[&str]) -> bool {
    recorded(folder).is_some_and(|recorded| recorded == files)
}

fn field(hash: &mut blake3::Hasher, part: &str) {
    hash.update(&(part.len() as u64).to_le_bytes());
    hash.update(part.as_bytes());
}

fn write_all(folder: &Path, files: &[(&str, &str)]) -> Result<(), SimulateError> {
    for (name, content) in files {
        std::fs::write(folder.join(name), content).map_err(system(format!("writing {name}")))?;
    }
    Ok(())
}

fn file_name(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    name.chars().take(80).map(keep).collect()
}

/// The source to compile: the header, the text, and the table of its entries. The assembler places dynamic shared arrays,
/// so that the text may declare them with any type.
fn driver(text: &KernelText) -> String {
    let warp = Warp::declared(&text.text).unwrap_or(Warp::NVIDIA.lanes());
    let mut out = format!("#define EIGENFORGE_WARP {warp}\n#include \"host.hpp\"\n#include \"kernel.cu\"\n");
    out += "namespace eigenforge {\nextern const Entry entries[];\nconst Entry entries[] = {\n";
    for entry in &text.entries {
        out += &format!("    {{\"{entry}\", Call<&::{entry}>::run, Call<&::{entry}>::kinds}},\n");
    }
    out += "    {nullptr, nullptr, nullptr}};\n}\n";
    let names = dynamic_arrays(&text.text);
    out += "extern \"C\" {\nextern const char* const eigenforge_dynamic[];\nconst char* const eigenforge_dynamic[] = {";
    names.iter().for_each(|name| out += &format!("\"{name}\", "));
    out += "nullptr};\n}\n";
    for name in &names {
        out += &format!(
            "asm(\".pushsection .tbss,\\\"awT\\\",@nobits\\n.globl {name}\\n.balign 4096\\n.type {name},@object\\n.size \
             {name},{DYNAMIC_BYTES}\\n{name}:\\n.zero {DYNAMIC_BYTES}\\n.popsection\");\n"
        );
    }
    out
}

/// Names of the `extern __shared__ TYPE NAME[]` of a text.
fn dynamic_arrays(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let mut names: Vec<String> = Vec::new();
    for declaration in code.split("extern __shared__").skip(1) {
        let before = declaration.split('[').next().unwrap_or("");
        let name = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|word| !word.is_empty());
        let Some(name) = name else { continue };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
    names
}
