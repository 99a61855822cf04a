//! Every stage of a model's path as text, on any machine: what `eigenforge inspect` prints.

use super::{Model, PrepareError, Prepared};
use eigenforge_runtime::jit::{self, Arch, Jit, JitError, KernelResources};
use eigenforge_runtime::solvers;
use eigenforge_templates::{Cost, KernelText, ScalarType, TextError};
use std::fmt::Write;

/// A stage between model and machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The normal-ordered operator, the sector, the structure found.
    Ir,
    /// Every fixed number, as RON.
    Plan,
    /// The generated text.
    Cuda,
    /// NVRTC's PTX.
    Ptx,
    /// Machine code, disassembled.
    Sass,
    /// Registers, spills, shared memory of each kernel.
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
    /// Least work.
    pub cost: Cost,
}

impl Model {
    /// All generated files of a solve by LOBPCG in f64: the multiply, and the solver's fused vector programs.
    pub fn generated(&self) -> Result<Vec<GeneratedFile>, InspectError> {
        let prepared = Prepared::new(self, ScalarType::F64).map_err(PrepareError::from)?;
        let mut files = vec![GeneratedFile { text: prepared.text()?, cost: prepared.cost() }];
        for program in solvers::vector_programs() {
            let diagonal = prepared.diagonal_text();
            let functions = if program.functions.is_empty() { vec![] } else { vec![diagonal] };
            let text = program.text(ScalarType::F64, &functions)?;
            files.push(GeneratedFile { text, cost: program.cost(self.dimension() as usize, ScalarType::F64) });
        }
        Ok(files)
    }

    /// A stage as text. `arch` (such as "sm_90") matters from [`Stage::Ptx`] on.
    pub fn inspect(&self, stage: Stage, arch: &str) -> Result<String, InspectError> {
        self.inspect_kernel(stage, arch, None)
    }

    /// A stage of one generated file, or of all.
    pub fn inspect_kernel(&self, stage: Stage, arch: &str, kernel: Option<&str>) -> Result<String, InspectError> {
        if stage == Stage::Ir {
            return Ok(self.ir_text());
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

    fn ir_text(&self) -> String {
        let operator = self.operator();
        let mut out =
            format!("{}: {} sites, {}, {} states\n", self.name(), self.sites(), self.sector(), self.dimension());
        for sum in operator.sums() {
            let _ = writeln!(out, "{}:{}  {}", sum.file, sum.line, sum.text);
            if !sum.coefficients.is_empty() {
                let _ = writeln!(out, "    coefficients in CUDA: {}", sum.coefficients.join("; "));
            }
            if let Some(cuda) = &sum.cuda {
                let _ = writeln!(out, "    diagonal in CUDA: {cuda}");
            }
        }
        let structure = if self.is_kronecker() {
            "Kronecker sum: H = D + 1 (x) A_up + A_dn (x) 1"
        } else {
            "general: terms by flip mask, ranks by Lin's tables"
        };
        let _ = writeln!(
            out,
            "structure: {structure}\n{} normal-ordered terms, up left of down, sites ascending:",
            operator.len()
        );
        let _ = write!(out, "{operator}");
        out
    }
}

fn stage_of(file: &GeneratedFile, stage: Stage, arch: &str) -> Result<String, InspectError> {
    match stage {
        Stage::Ir => Ok(String::new()),
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
            let cubin = jit.compile(&file.text, arch)?;
            if stage == Stage::Sass {
                let disassembler = jit::Disassembler::find(&jit::Settings::from_env()?)?;
                return Ok(disassembler.sass(&cubin.image, None)?);
            }
            let mut out = String::new();
            for kernel in &cubin.resources {
                let KernelResources { name, registers, stack, shared, .. } = kernel;
                let spilled = kernel.spilled().map_or_else(|| "unknown".into(), |bytes| bytes.to_string());
                let _ = writeln!(
                    out,
                    "{name:<28} {registers:>3} registers, {spilled} bytes spilled, {stack} bytes stack, {shared} bytes static shared"
                );
            }
            Ok(out)
        }
    }
}
