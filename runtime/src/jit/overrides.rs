//! Replaces generated texts by edited ones.
//!
//! In: a folder with `NAME.cu` and `NAME.ron`, written by `eigenforge inspect --dump` (of several texts of one name, those after the first
//! `NAME-HASH`, by [`dumped_names`]), and each generated text on its way
//! to the compiler. Out: the text to compile. The .ron is the plan, with the hash of the text generated from it in the
//! first line, so that an edit made for one problem is never run for another: plan and hash must match the text to be
//! replaced, and its kernels must take the same arguments.

use super::error::JitError;
use super::override_error::OverrideError;
use super::settings::override_folder;
use super::{Arch, Cubin, Jit};
use crate::input_file::{FileKind, read_text};
use eigenforge_templates::KernelText;
use eigenforge_templates::signature::{declared, kernels};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The folder of edited texts of a run; empty unless one was named.
#[derive(Debug, Default)]
pub struct Overrides {
    folder: PathBuf,
    /// By the names without their endings.
    files: BTreeMap<String, DumpedFile>,
    /// Names of the generated texts requested so far.
    asked: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct DumpedFile {
    text: String,
    /// The .ron file, or why it cannot be used.
    origin: Result<Origin, String>,
}

/// Contents of the .ron: which text the file was before editing.
#[derive(Debug, PartialEq)]
struct Origin {
    version: String,
    blake3: String,
    plan: String,
}

/// The text to compile.
#[derive(Debug)]
pub struct Chosen<'a> {
    /// The generated text, or the edited one under its name.
    pub text: Cow<'a, KernelText>,
    /// The edited file.
    pub edited: Option<PathBuf>,
}

impl Overrides {
    /// Reads a folder of dumped and edited texts.
    ///
    /// # Errors
    /// The folder cannot be read or contains no .cu.
    pub fn read(folder: impl Into<PathBuf>) -> Result<Overrides, OverrideError> {
        let folder = folder.into();
        let unreadable = |path: &Path| {
            let path = path.to_path_buf();
            move |source| OverrideError::Unreadable { path, source }
        };
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).map_err(unreadable(&folder))? {
            let path = entry.map_err(unreadable(&folder))?.path();
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            if path.extension().is_none_or(|extension| extension != "cu") || name.is_empty() || name.starts_with('.') {
                continue;
            }
            let text = read_text(&path, FileKind::KERNEL).map_err(unreadable(&path))?;
            files.insert(name.to_string(), DumpedFile { text, origin: Origin::read(&path.with_extension("ron")) });
        }
        if files.is_empty() {
            return Err(OverrideError::Empty { folder });
        }
        Ok(Overrides { folder, files, asked: Mutex::default() })
    }

    /// The folder that `EIGENFORGE_OVERRIDE` names; without one, no overrides.
    ///
    /// # Errors
    /// See [`Overrides::read`].
    pub fn from_env() -> Result<Overrides, OverrideError> {
        override_folder().map_or_else(|| Ok(Overrides::default()), Overrides::read)
    }

    /// Whether any text could be replaced.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether a file of a text's name differs from it.
    pub fn edits(&self, generated: &KernelText) -> bool {
        let edited = |(_, file): (&String, &DumpedFile)| file.text != generated.text && !file.is_as_dumped();
        self.file_of(generated).is_some_and(edited)
    }

    /// The file that was dumped of a text, or else that of its name.
    fn file_of(&self, generated: &KernelText) -> Option<(&String, &DumpedFile)> {
        let of_name = |(stem, _): &(&String, &DumpedFile)| generated_name(stem) == generated.name;
        let mut several = self.files.iter().filter(of_name).peekable();
        let first = several.peek().copied();
        let text = hash(&generated.text);
        several.find(|(_, file)| file.origin.as_ref().is_ok_and(|origin| origin.blake3 == text)).or(first)
    }

    /// An error if there are any, for a device that runs no generated text.
    pub fn refuse_for(&self, device: &str) -> Result<(), OverrideError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(OverrideError::NoText { folder: self.folder.clone(), device: device.into() })
    }

    /// The text to compile for a generated one: itself, unless the folder has an edited file of its name.
    ///
    /// # Errors
    /// An edited file made from another text, or whose kernels take other arguments.
    pub fn apply<'a>(&self, generated: &'a KernelText) -> Result<Chosen<'a>, OverrideError> {
        if !self.is_empty() {
            self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(generated.name.clone());
        }
        let as_generated = Chosen { text: Cow::Borrowed(generated), edited: None };
        let Some((name, file)) = self.file_of(generated).filter(|_| self.edits(generated)) else {
            return Ok(as_generated);
        };
        let path = self.folder.join(format!("{name}.cu"));
        let origin = match &file.origin {
            Ok(origin) => origin,
            Err(reason) => return Err(OverrideError::NoOrigin { file: path, reason: reason.clone() }),
        };
        if let Some(difference) = origin.difference(generated) {
            return Err(OverrideError::OtherProblem { file: path, difference });
        }
        if signatures(&file.text) != signatures(&generated.text) {
            let (expected, found) = (listed(&generated.text), listed(&file.text));
            return Err(OverrideError::Arguments { file: path, expected, found });
        }
        let text = KernelText { text: file.text.clone(), ..generated.clone() };
        Ok(Chosen { text: Cow::Owned(text), edited: Some(path) })
    }

    /// A line for each edited file that replaced nothing, with the possible names. Call it after all texts of a run are
    /// compiled.
    pub fn unused(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = if asked.is_empty() { "none".into() } else { asked.iter().cloned().collect::<Vec<_>>().join(", ") };
        let idle =
            self.files.iter().filter(|(name, file)| !asked.contains(generated_name(name)) && !file.is_as_dumped());
        let line = |(name, _): (&String, _)| {
            let path = self.folder.join(format!("{name}.cu"));
            format!(
                "the override {} had no effect: no kernel file of this run has its name (there were: {known})",
                path.display()
            )
        };
        idle.map(line).collect()
    }
}

impl Chosen<'_> {
    /// Compiles it; an error of an edited text names its file.
    pub fn compile(&self, jit: &Jit, arch: Arch) -> Result<Cubin, JitError> {
        jit.compile(&self.text, arch).map_err(|error| error.in_edited(self.edited.as_deref()))
    }

    /// Its PTX; an error of an edited text names its file.
    pub fn ptx(&self, jit: &Jit, arch: Arch) -> Result<String, JitError> {
        jit.ptx(&self.text, arch).map_err(|error| error.in_edited(self.edited.as_deref()))
    }
}

impl DumpedFile {
    /// Whether the text was not edited: the generated text runs.
    fn is_as_dumped(&self) -> bool {
        self.origin.as_ref().is_ok_and(|origin| origin.blake3 == hash(&self.text))
    }
}

/// Digits of a hash in the name of a file.
const SHORT_HASH: usize = 12;

/// The names under which texts are dumped, without endings: their own, and after the first of a name with a part of the text's hash.
pub fn dumped_names<'t>(texts: impl IntoIterator<Item = &'t KernelText>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let named = |text: &'t KernelText| match known.insert(text.name.as_str()) {
        true => text.name.clone(),
        false => format!("{}-{}", text.name, &hash(&text.text)[..SHORT_HASH]),
    };
    texts.into_iter().map(named).collect()
}

/// The name of the text that was dumped under this one.
fn generated_name(dumped: &str) -> &str {
    match dumped.rsplit_once('-') {
        Some((name, hash)) if hash.len() == SHORT_HASH && hash.bytes().all(|digit| digit.is_ascii_hexdigit()) => name,
        _ => dumped,
    }
}

const STAMP: [&str; 3] =
    ["// generated by eigenforge ", ", blake3 of the text ", ". Edit the .cu; this file says what it was.\n"];

/// The file written beside a dumped text: its plan, with the version and the hash of the text in the first line.
pub fn dumped_plan(generated: &KernelText) -> String {
    let [by, of, end] = STAMP;
    format!("{by}{}{of}{}{end}{}\n", env!("CARGO_PKG_VERSION"), hash(&generated.text), generated.plan)
}

impl Origin {
    fn read(file: &Path) -> Result<Origin, String> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text =
            read_text(file, FileKind::KERNEL).map_err(|error| format!("{name} beside it cannot be read ({error})"))?;
        Origin::parse(&text).ok_or_else(|| format!("the first line of {name} beside it is not as it was dumped"))
    }

    fn parse(text: &str) -> Option<Origin> {
        let [by, of, end] = STAMP;
        let text = text.replace("\r\n", "\n");
        let (version, rest) = text.strip_prefix(by)?.split_once(of)?;
        let (blake3, plan) = rest.split_once(end)?;
        Some(Origin { version: version.into(), blake3: blake3.into(), plan: plan.trim_end().into() })
    }

    /// How the generated text differs from the one that was edited.
    fn difference(&self, generated: &KernelText) -> Option<String> {
        let mut lines = self.plan.lines().zip(generated.plan.trim_end().lines()).enumerate();
        let differing = lines.find(|(_, (dumped, now))| dumped != now);
        let lengths = [self.plan.lines().count(), generated.plan.trim_end().lines().count()];
        let this = env!("CARGO_PKG_VERSION");
        match differing {
            Some((at, (dumped, now))) => Some(format!(
                "line {} of the plan is `{}` for this run, and `{}` in its .ron",
                at + 1,
                now.trim(),
                dumped.trim()
            )),
            None if lengths[0] != lengths[1] => {
                Some(format!("this run's plan has {} lines, the one in its .ron {}", lengths[1], lengths[0]))
            }
            None if self.blake3 == hash(&generated.text) => None,
            None if self.version != this => {
                Some(format!("it was dumped by eigenforge {}, and this is {this}, which generates another text", self.version))
            }
            None => Some(
                "the plan is the same, but this run's generated text is another one: it holds the diagonal of another model, \
                 or another build of eigenforge dumped it"
                    .into(),
            ),
        }
    }
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Kernels with the kinds of their parameters; parameter names may differ.
fn signatures(text: &str) -> BTreeMap<String, Vec<eigenforge_templates::signature::DeclaredKind>> {
    let kinds = |name: &str| declared(text, name).unwrap_or_default().into_iter().map(|p| p.kind).collect();
    kernels(text).into_iter().map(|name| (name.clone(), kinds(&name))).collect()
}

/// The kernels with their parameters, one per line.
fn listed(text: &str) -> String {
    let parameters = |name: &str| {
        let declared = declared(text, name).unwrap_or_default();
        declared.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    let lines: Vec<String> = kernels(text).iter().map(|name| format!("    {name}({})", parameters(name))).collect();
    if lines.is_empty() { "    no extern \"C\" kernel".into() } else { lines.join("\n") }
}
