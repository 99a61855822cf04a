//! Generated files: a text, the launches of its kernels, their minimal work; and every stage of them as text, on any
//! machine.

use super::footprint::footprints;
use super::{Stage, StageError};
use eigenforge_runtime::RecordedProgram;
use eigenforge_runtime::jit::{Arch, Chosen, Disassembler, Jit, JitError, Overrides, Settings};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::{self, LaunchedProgram};
use eigenforge_templates::{Cost, KernelText, Launch, ScalarType};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::PathBuf;

/// One generated file of a problem.
#[derive(Clone, Debug)]
pub struct GeneratedFile {
    /// The text.
    pub text: KernelText,
    /// The launches of its kernels, without lengths of packed neighbours.
    pub launches: Vec<Launch>,
    /// Minimal work of one use; `None` if it depends on the data, such as the blocks of a state.
    pub cost: Option<Cost>,
    /// The edited file of the text; `None` if it was generated.
    pub edited: Option<PathBuf>,
    /// When a run launches it; empty where every run does.
    pub when: &'static str,
}

impl GeneratedFile {
    /// A text as it was generated.
    pub fn new(text: KernelText, launches: Vec<Launch>, cost: Option<Cost>) -> GeneratedFile {
        GeneratedFile { text, launches, cost, edited: None, when: "" }
    }

    /// The same, launched at some times only.
    #[must_use]
    pub fn launched(self, when: &'static str) -> GeneratedFile {
        GeneratedFile { when, ..self }
    }

    /// The file with its text replaced by the edited one, if there is one.
    ///
    /// # Errors
    /// An edited text of another problem, or with other arguments.
    pub fn overridden(self, overrides: &Overrides) -> Result<GeneratedFile, JitError> {
        let Chosen { text, edited } = overrides.apply(&self.text)?;
        let text = text.into_owned();
        Ok(GeneratedFile { text, edited, ..self })
    }

    /// The text to compile; compiler errors name the edited file.
    pub fn chosen(&self) -> Chosen<'_> {
        Chosen { text: Cow::Borrowed(&self.text), edited: self.edited.clone() }
    }

    /// The heading of one of several files.
    fn heading(&self) -> String {
        let edited = self.edited.as_ref().map(|path| format!(" (overridden by {})", path.display()));
        let when = if self.when.is_empty() { String::new() } else { format!(", {}", self.when) };
        format!("// ======== {}{when}{} ========\n", self.text.name, edited.unwrap_or_default())
    }
}

/// The texts of the vector programs that a solver launches on vectors of `n` numbers.
///
/// # Errors
/// A function whose arguments differ from what the programs pass.
pub fn solver_programs(n: u64, programs: &[LaunchedProgram]) -> Result<Vec<GeneratedFile>, StageError> {
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    let file = |LaunchedProgram { recorded, when }: &LaunchedProgram| {
        let RecordedProgram { program, scalar, functions } = recorded;
        let launches = vec![program.launch(n, 1, *scalar, functions)?];
        let cost = Some(program.cost(n, *scalar));
        Ok(GeneratedFile::new(program.text(*scalar, functions)?, launches, cost).launched(when))
    };
    programs.iter().map(file).collect()
}

/// The block operations of a solver in all sizes, of which a run launches those that the course of its search asks for.
///
/// # Errors
/// As of [`solver_programs`].
pub fn block_operations(n: u64, scalar: ScalarType) -> Result<Vec<GeneratedFile>, StageError> {
    solver_programs(n, &solvers::block_operations(scalar))
}

/// The files whose name, or a kernel in them, is `kernel`; all if it is `None`.
///
/// # Errors
/// An unknown name, with the available ones.
pub fn named(files: Vec<GeneratedFile>, kernel: Option<&str>) -> Result<Vec<GeneratedFile>, StageError> {
    let Some(name) = kernel else { return Ok(files) };
    let names = |file: &GeneratedFile| std::iter::once(file.text.name.clone()).chain(file.text.entries.clone());
    let mut known: Vec<String> = Vec::new();
    for name in files.iter().flat_map(names) {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    let known = known.join(", ");
    let found: Vec<GeneratedFile> = files.into_iter().filter(|file| names(file).any(|known| known == *name)).collect();
    if found.is_empty() { Err(StageError::UnknownKernel { name: name.into(), known }) } else { Ok(found) }
}

/// A stage from the plan on, for each file in turn; of a text with several kernels, what `kernel` uses where one of them has this
/// name and the file has not.
///
/// # Errors
/// A text that does not compile; an unknown architecture, a missing compiler or disassembler.
pub fn shown(
    files: &[GeneratedFile],
    kernel: Option<&str>,
    stage: Stage,
    arch: &str,
    machine: &Machine,
) -> Result<String, StageError> {
    let mut out = String::new();
    if stage == Stage::Cost {
        let heads = ["generated file, one use", "flop", "bytes", "flop/byte"];
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:<44} {:>14} {:>14} {:>12} {:>12} of {}",
            heads[0],
            heads[1],
            heads[2],
            heads[3],
            "ms by rates",
            machine.name()
        );
    }
    for file in files {
        if stage != Stage::Cost && files.len() > 1 {
            out += &file.heading();
        }
        match stage {
            Stage::Ir | Stage::IrRon => {}
            Stage::Plan => out = out + &file.text.plan + "\n",
            Stage::Cuda => match kernel.filter(|kernel| file.text.name != *kernel) {
                Some(kernel) => out += &file.text.text_of_kernel(kernel),
                None => out += &file.text.text,
            },
            Stage::Cost => out += &cost(file, machine),
            Stage::Ptx | Stage::Sass | Stage::Resources => out += &compiled(file, stage, arch)?,
        }
    }
    Ok(out)
}

fn cost(file: &GeneratedFile, machine: &Machine) -> String {
    match file.cost {
        Some(Cost { flops, bytes }) => {
            let (name, milliseconds) = (&file.text.name, 1e3 * machine.seconds_by_rates(flops, bytes));
            format!("{name:<44} {flops:>14.4e} {bytes:>14.4e} {:>12.3} {milliseconds:>12.3e}\n", flops / bytes)
        }
        None => format!("{:<44} {:>14}\n", file.text.name, "as its data"),
    }
}

/// PTX, machine code or resources of a file; resources only for kernels with a launch.
fn compiled(file: &GeneratedFile, stage: Stage, arch: &str) -> Result<String, StageError> {
    let arch: Arch = arch.parse()?;
    let (jit, chosen) = (Jit::new()?, file.chosen());
    if stage == Stage::Ptx {
        return Ok(chosen.ptx(&jit, arch)?);
    }
    let cubin = chosen.compile(&jit, arch)?;
    if stage == Stage::Sass {
        return Ok(Disassembler::find(&Settings::from_env()?)?.sass(&cubin.image, None)?);
    }
    // Without a disassembler most of it is still available.
    let disassembler = Disassembler::find(&Settings::from_env()?).ok();
    let kernels = footprints(&cubin, disassembler.as_ref(), &file.launches)?;
    Ok(kernels.iter().map(ToString::to_string).collect())
}
