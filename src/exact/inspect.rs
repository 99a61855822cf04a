//! Every stage of a model's path as text, on any machine: what `eigenforge inspect` prints.

use super::averages;
use super::footprint::footprints;
use super::{Model, OperatorIr, PrepareError, Prepared};
use eigenforge_runtime::DeviceError;
use eigenforge_runtime::jit::{Arch, Chosen, Disassembler, Jit, JitError, Overrides, Settings};
use eigenforge_runtime::solvers;
use eigenforge_templates::exact::NeighbourWords;
use eigenforge_templates::{Cost, KernelText, Launch, LaunchError, ScalarType, TextError};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::PathBuf;

/// A stage between model and machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The normal-ordered operator, the sector, the structure found.
    Ir,
    /// The same as RON, which [`OperatorIr::parse`] reads back.
    IrRon,
    /// Every fixed number, as RON.
    Plan,
    /// The generated text.
    Cuda,
    /// NVRTC's PTX.
    Ptx,
    /// Machine code, disassembled.
    Sass,
    /// Registers, spills, shared memory, occupancy and instructions of each kernel.
    Resources,
    /// Flops and bytes of each kernel.
    Cost,
}

impl Stage {
    /// Whether it is made from the text, and so from an edited one where there is one.
    pub fn is_of_the_text(self) -> bool {
        matches!(self, Stage::Cuda | Stage::Ptx | Stage::Sass | Stage::Resources)
    }
}

/// Why a stage could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The plan or its text.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The text alone.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Compiler or disassembler.
    #[error(transparent)]
    Jit(#[from] JitError),
    /// A kernel name that is none of the model's.
    #[error("no generated file is named '{name}'; there are: {known}")]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
}

/// One generated file of a model with its least work a launch.
pub struct GeneratedFile {
    /// The text.
    pub text: KernelText,
    /// The launches of its kernels. Lengths of packed neighbours are left out.
    pub launches: Vec<Launch>,
    /// Least work.
    pub cost: Cost,
    /// The edited file that the text is of; `None`: it was generated.
    pub edited: Option<PathBuf>,
}

impl GeneratedFile {
    /// The file with the edited text that stands in for its own, if there is one.
    ///
    /// # Errors
    /// An edited text of another problem, or with other arguments.
    pub fn overridden(self, overrides: &Overrides) -> Result<GeneratedFile, JitError> {
        let Chosen { text, edited } = overrides.apply(&self.text)?;
        let text = text.into_owned();
        Ok(GeneratedFile { text, edited, ..self })
    }

    /// The text as it goes to the compiler, whose errors name the edited file.
    pub fn chosen(&self) -> Chosen<'_> {
        Chosen { text: Cow::Borrowed(&self.text), edited: self.edited.clone() }
    }
}

impl Model {
    /// All generated files of a solve by LOBPCG in f64: the multiply, the solver's fused vector programs, the averages.
    pub fn generated(&self) -> Result<Vec<GeneratedFile>, InspectError> {
        self.generated_for(ScalarType::F64)
    }

    /// The same for vectors of `scalar`.
    pub fn generated_for(&self, scalar: ScalarType) -> Result<Vec<GeneratedFile>, InspectError> {
        let refused = |error: LaunchError| PrepareError::from(DeviceError::from(error));
        let prepared = Prepared::new(self, scalar).map_err(PrepareError::from)?;
        // How many neighbours are packed does not matter to a block's shape.
        let launches = prepared.launches(NeighbourWords { up: 0, down: 0 }).map_err(refused)?;
        let mut files = vec![GeneratedFile { text: prepared.text()?, launches, cost: prepared.cost(), edited: None }];
        let n = usize::try_from(self.dimension()).unwrap_or(usize::MAX);
        for program in solvers::vector_programs() {
            let diagonal = prepared.diagonal_text();
            let functions = if program.functions.is_empty() { vec![] } else { vec![diagonal] };
            let text = program.text(scalar, &functions)?;
            let launches = vec![program.launch(n, scalar, &functions).map_err(refused)?];
            files.push(GeneratedFile { text, launches, cost: program.cost(n, scalar), edited: None });
        }
        files.push(averages::generated(self, scalar)?);
        Ok(files)
    }

    /// The operator IR as data.
    pub fn ir(&self) -> OperatorIr {
        OperatorIr::of(self)
    }

    /// A stage as text. `arch` (such as "sm_90") matters from [`Stage::Ptx`] on.
    pub fn inspect(&self, stage: Stage, arch: &str) -> Result<String, InspectError> {
        self.inspect_kernel(stage, arch, None)
    }

    /// A stage of one generated file, or of all; from [`Stage::Cuda`] on with the edited texts of `EIGENFORGE_OVERRIDE`.
    pub fn inspect_kernel(&self, stage: Stage, arch: &str, kernel: Option<&str>) -> Result<String, InspectError> {
        self.inspect_overridden(stage, arch, kernel, &Overrides::from_env().map_err(JitError::from)?)
    }

    /// [`Model::inspect_kernel`] with these edited texts in place of generated ones.
    pub fn inspect_overridden(
        &self,
        stage: Stage,
        arch: &str,
        kernel: Option<&str>,
        overrides: &Overrides,
    ) -> Result<String, InspectError> {
        match stage {
            Stage::Ir => return Ok(self.ir().to_string()),
            Stage::IrRon => return Ok(self.ir().to_ron()),
            _ => {}
        }
        let mut files = self.generated()?;
        if stage.is_of_the_text() {
            files = files.into_iter().map(|file| file.overridden(overrides)).collect::<Result<_, _>>()?;
        }
        let files = named(files, kernel)?;
        let mut out = String::new();
        if stage == Stage::Cost {
            let _ = writeln!(out, "{:<44} {:>14} {:>14} {:>12}", "generated file", "flop", "bytes", "flop/byte");
        }
        for file in &files {
            if !matches!(stage, Stage::Cost) && files.len() > 1 {
                out += &heading(&file.chosen());
            }
            out += &stage_of(file, stage, arch)?;
        }
        Ok(out)
    }
}

fn named(mut files: Vec<GeneratedFile>, kernel: Option<&str>) -> Result<Vec<GeneratedFile>, InspectError> {
    let Some(name) = kernel else { return Ok(files) };
    let matches = |file: &GeneratedFile| file.text.name == name || file.text.entries.iter().any(|entry| entry == name);
    if !files.iter().any(matches) {
        let known = files.iter().map(|file| file.text.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(InspectError::UnknownKernel { name: name.into(), known });
    }
    files.retain(matches);
    Ok(files)
}

fn stage_of(file: &GeneratedFile, stage: Stage, arch: &str) -> Result<String, InspectError> {
    match stage {
        Stage::Ir | Stage::IrRon => Ok(String::new()),
        Stage::Plan => Ok(file.text.plan.clone() + "\n"),
        Stage::Cuda => Ok(file.text.text.clone()),
        Stage::Cost => {
            let Cost { flops, bytes } = file.cost;
            Ok(format!("{:<44} {flops:>14.4e} {bytes:>14.4e} {:>12.3}\n", file.text.name, flops / bytes))
        }
        Stage::Ptx | Stage::Sass | Stage::Resources => compiled(&file.chosen(), &file.launches, stage, arch),
    }
}

/// The line above one of several files.
pub fn heading(file: &Chosen<'_>) -> String {
    let edited = file.edited.as_ref().map(|path| format!(" (overridden by {})", path.display()));
    format!("// ======== {}{} ========\n", file.text.name, edited.unwrap_or_default())
}

/// PTX, machine code or resources of a file; of resources those of the kernels that have a launch.
///
/// # Errors
/// A text that does not compile; an architecture, a compiler or a disassembler that there is not.
pub fn compiled(file: &Chosen<'_>, launches: &[Launch], stage: Stage, arch: &str) -> Result<String, InspectError> {
    let arch: Arch = arch.parse()?;
    let jit = Jit::new()?;
    if stage == Stage::Ptx {
        return Ok(file.ptx(&jit, arch)?);
    }
    let cubin = file.compile(&jit, arch)?;
    if stage == Stage::Sass {
        return Ok(Disassembler::find(&Settings::from_env()?)?.sass(&cubin.image, None)?);
    }
    // Without a disassembler there is still much to say.
    let disassembler = Disassembler::find(&Settings::from_env()?).ok();
    let kernels = footprints(&cubin, disassembler.as_ref(), launches)?;
    Ok(kernels.iter().map(ToString::to_string).collect())
}
