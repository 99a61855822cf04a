//! `eigenforge inspect CHAIN.toml`, for a file with `[dmrg]`: the terms, the operators at each cut, the records of the middle
//! bond and their cost; the generated files, as text and as compiled, or written to be edited.

use super::arguments::{InspectArguments, StageName};
use super::dmrg::{chain, describe, options};
use super::error::CommandError;
use super::output::print;
use super::{dump, overrides};
use crate::dmrg::{inspect, resident};
use crate::exact::{Stage, compiled, heading};
use crate::input::DmrgFile;
use eigenforge_runtime::jit::Overrides;
use eigenforge_runtime::say;
use eigenforge_templates::{KernelText, Launch};

/// Prints a stage, or writes the generated files.
pub(super) fn run(file: &DmrgFile, arguments: &InspectArguments) -> Result<(), CommandError> {
    let (chain, options) = (chain(file)?, options(file));
    options.check()?;
    let (stage, kernel) = (arguments.stage, arguments.kernel.as_deref());
    if let Some(folder) = &arguments.dump {
        let files = generated(kernel)?;
        let written = dump::write(files.iter().map(|(text, _)| text), folder, arguments.force)?;
        return Ok(print(&(written + &dump::next(&arguments.model, folder)))?);
    }
    let of_the_text = match stage {
        StageName::Cuda => Some(Stage::Cuda),
        StageName::Ptx => Some(Stage::Ptx),
        StageName::Sass => Some(Stage::Sass),
        StageName::Resources => Some(Stage::Resources),
        _ => None,
    };
    let text = match (stage, of_the_text) {
        (_, Some(stage)) => {
            let overrides = overrides::read(arguments.overrides.as_deref())?;
            let text = shown(&generated(kernel)?, stage, &arguments.arch, &overrides)?;
            // Files of other kernels are not in vain.
            let unused = if kernel.is_none() { overrides.unused() } else { Vec::new() };
            unused.iter().for_each(|line| say!("warning: {line}"));
            text
        }
        _ if arguments.overrides.is_some() => return Err(CommandError::StageBeforeTheText { stage }),
        (StageName::Ir, _) => format!("{}\n{}", file.model.operator(), inspect::operator_sum(&chain)),
        (StageName::Plan, _) => inspect::middle_bond(&chain, &options, true)?,
        (StageName::Cost, _) => describe(file, &chain, &options) + &inspect::middle_bond(&chain, &options, false)?,
        _ => return Err(CommandError::StageOfDmrg { stage }),
    };
    Ok(print(&text)?)
}

/// The generated files with their launches, of a kernel's name or all.
fn generated(kernel: Option<&str>) -> Result<Vec<(KernelText, Vec<Launch>)>, CommandError> {
    let files = resident::generated()?;
    let Some(name) = kernel else { return Ok(files.into()) };
    let known: Vec<String> = files.iter().flat_map(|(text, _)| text.entries.iter().cloned()).collect();
    let wanted = |text: &KernelText| text.name == name || text.entries.iter().any(|entry| entry == name);
    let found: Vec<_> = files.into_iter().filter(|(text, _)| wanted(text)).collect();
    match found.is_empty() {
        true => Err(CommandError::NoKernelOfDmrg { name: name.into(), known: known.join(", ") }),
        false => Ok(found),
    }
}

/// A stage of each file, edited ones in place of generated ones.
fn shown(
    files: &[(KernelText, Vec<Launch>)],
    stage: Stage,
    arch: &str,
    overrides: &Overrides,
) -> Result<String, CommandError> {
    let mut out = String::new();
    for (text, launches) in files {
        let chosen = overrides.apply(text).map_err(eigenforge_runtime::jit::JitError::from)?;
        out += &heading(&chosen);
        match stage {
            Stage::Cuda => out = out + &chosen.text.text + "\n",
            _ => out += &compiled(&chosen, launches, stage, arch)?,
        }
    }
    Ok(out)
}
