//! The generated files of a model file's problem, whatever its family: what `inspect`, `inspect --dump` and `build` work on.
//!
//! | family | generated files |
//! |---|---|
//! | lattice model | the multiply; the solvers' vector programs |
//! | molecule | the product; the same vector programs with a stored diagonal |
//! | chain for DMRG | five texts, the same for every chain |

use super::error::CommandError;
use super::family::Family;
use super::inspect_ci;
use eigenforge::dmrg::resident;
use eigenforge::exact::{Stage, compiled, heading};
use eigenforge::input::InputFile;
use eigenforge_runtime::jit::{JitError, Overrides};
use eigenforge_templates::{KernelText, Launch};

/// A generated text with the launches of its kernels.
pub(super) type Generated = (KernelText, Vec<Launch>);

/// The generated files of the problem: all, or those whose name, or a kernel in them, is `kernel`.
pub(super) fn of(input: &InputFile, kernel: Option<&str>) -> Result<Vec<Generated>, CommandError> {
    let files: Vec<Generated> = match input {
        InputFile::Lattice(file) => {
            file.to_model()?.generated()?.into_iter().map(|file| (file.text, file.launches)).collect()
        }
        InputFile::Ci(file) => inspect_ci::generated(file)?,
        InputFile::Dmrg(_) => resident::generated()?.into(),
    };
    let Some(name) = kernel else { return Ok(files) };
    let family = Family::of(input);
    let known = files.iter().flat_map(|(text, _)| std::iter::once(&text.name).chain(&text.entries));
    let known = known.cloned().collect::<Vec<_>>().join(", ");
    let wanted = |text: &KernelText| text.name == name || text.entries.iter().any(|entry| entry == name);
    let found: Vec<_> = files.into_iter().filter(|(text, _)| wanted(text)).collect();
    if found.is_empty() {
        return Err(CommandError::NoKernel { name: name.into(), family, known });
    }
    Ok(found)
}

/// A stage of each file from the text on, edited files in place of generated ones.
pub(super) fn shown(
    files: &[Generated],
    stage: Stage,
    arch: &str,
    overrides: &Overrides,
) -> Result<String, CommandError> {
    let mut out = String::new();
    for (text, launches) in files {
        let chosen = overrides.apply(text).map_err(JitError::from)?;
        out += &heading(&chosen);
        match stage {
            Stage::Cuda => out = out + &chosen.text.text + "\n",
            _ => out += &compiled(&chosen, launches, stage, arch)?,
        }
    }
    Ok(out)
}
