//! Every stage of a model's path as text, on any machine: what `eigenforge inspect` prints.

use super::footprint::{BlockShape, footprints, program_shapes};
use super::{Model, OperatorIr, PrepareError, Prepared};
use eigenforge_runtime::jit::{Arch, Disassembler, Jit, JitError, Settings};
use eigenforge_runtime::solvers;
use eigenforge_templates::{Cost, KernelText, ScalarType, TextError};
use std::fmt::Write;

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
    /// The blocks of its kernels.
    pub shapes: Vec<BlockShape>,
    /// Least work.
    pub cost: Cost,
}

impl Model {
    /// All generated files of a solve by LOBPCG in f64: the multiply, and the solver's fused vector programs.
    pub fn generated(&self) -> Result<Vec<GeneratedFile>, InspectError> {
        self.generated_for(ScalarType::F64)
    }

    /// The same for vectors of `scalar`.
    pub fn generated_for(&self, scalar: ScalarType) -> Result<Vec<GeneratedFile>, InspectError> {
        let prepared = Prepared::new(self, scalar).map_err(PrepareError::from)?;
        let (text, shapes, cost) = (prepared.text()?, prepared.block_shapes(), prepared.cost());
        let mut files = vec![GeneratedFile { text, shapes, cost }];
        for program in solvers::vector_programs() {
            let diagonal = prepared.diagonal_text();
            let functions = if program.functions.is_empty() { vec![] } else { vec![diagonal] };
            let text = program.text(scalar, &functions)?;
            let (shapes, cost) = (program_shapes(&text), program.cost(self.dimension() as usize, scalar));
            files.push(GeneratedFile { text, shapes, cost });
        }
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

    /// A stage of one generated file, or of all.
    pub fn inspect_kernel(&self, stage: Stage, arch: &str, kernel: Option<&str>) -> Result<String, InspectError> {
        match stage {
            Stage::Ir => return Ok(self.ir().to_string()),
            Stage::IrRon => return Ok(self.ir().to_ron()),
            _ => {}
        }
        let mut files = self.generated()?;
        if let Some(name) = kernel {
            let matches =
                |file: &GeneratedFile| file.text.name == name || file.text.entries.iter().any(|entry| entry == name);
            if !files.iter().any(matches) {
                let known = files.iter().map(|file| file.text.name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(InspectError::UnknownKernel { name: name.into(), known });
            }
            files.retain(matches);
        }
        let mut out = String::new();
        if stage == Stage::Cost {
            let _ = writeln!(out, "{:<44} {:>14} {:>14} {:>12}", "generated file", "flop", "bytes", "flop/byte");
        }
        for file in &files {
            if !matches!(stage, Stage::Cost) && files.len() > 1 {
                let _ = writeln!(out, "// ======== {} ========", file.text.name);
            }
            out += &stage_of(file, stage, arch)?;
        }
        Ok(out)
    }
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
        Stage::Ptx | Stage::Sass | Stage::Resources => {
            let arch: Arch = arch.parse()?;
            let jit = Jit::new()?;
            if stage == Stage::Ptx {
                return Ok(jit.ptx(&file.text, arch)?);
            }
            if stage == Stage::Sass {
                let cubin = jit.compile(&file.text, arch)?;
                return Ok(Disassembler::find(&Settings::from_env()?)?.sass(&cubin.image, None)?);
            }
            // Without a disassembler there is still much to say.
            let disassembler = Disassembler::find(&Settings::from_env()?).ok();
            let kernels = footprints(&jit, disassembler.as_ref(), &file.text, &file.shapes, arch)?;
            Ok(kernels.iter().map(ToString::to_string).collect())
        }
    }
}
