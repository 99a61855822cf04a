//! `eigenforge inspect MODEL.toml --stage …`: any stage of a model's path, as text on standard output; with `--dump DIR`,
//! its generated files in a folder.

use super::arguments::{InspectArguments, StageName};
use super::error::CommandError;
use super::output::print;
use super::{Outcome, dump, inspect_ci, inspect_dmrg, overrides, profile};
use crate::exact::Stage;
use crate::input::InputFile;
use eigenforge_runtime::jit::Overrides;
use eigenforge_runtime::say;

/// Runs the verb.
pub(super) fn run(arguments: &InspectArguments) -> Result<Outcome, CommandError> {
    let model = match InputFile::read(&arguments.model)? {
        InputFile::Lattice(file) => file.to_model()?,
        InputFile::Ci(file) => {
            inspect_ci::run(&file, arguments.stage)?;
            return Ok(Outcome::Done);
        }
        InputFile::Dmrg(file) => {
            inspect_dmrg::run(&file, arguments)?;
            return Ok(Outcome::Done);
        }
    };
    let kernel = arguments.kernel.as_deref();
    if let Some(folder) = &arguments.dump {
        let files = model.generated_named(kernel)?;
        let texts = files.iter().map(|file| &file.text);
        let written = dump::write(texts, folder, arguments.force)?;
        print(&(written + &dump::next(&arguments.model, folder)))?;
        return Ok(Outcome::Done);
    }
    let stage = match arguments.stage {
        StageName::Ir => Stage::Ir,
        StageName::IrRon => Stage::IrRon,
        StageName::Plan => Stage::Plan,
        StageName::Cuda => Stage::Cuda,
        StageName::Ptx => Stage::Ptx,
        StageName::Sass => Stage::Sass,
        StageName::Resources => Stage::Resources,
        StageName::Cost => Stage::Cost,
    };
    let overrides = match (&arguments.overrides, stage.is_of_the_text()) {
        (Some(_), false) => return Err(CommandError::StageBeforeTheText { stage: arguments.stage }),
        (None, false) => Overrides::default(),
        (folder, true) => overrides::read(folder.as_deref())?,
    };
    let text = model.inspect_overridden(stage, &arguments.arch, kernel, &overrides)?;
    overrides.unused().iter().for_each(|line| say!("warning: {line}"));
    print(&text)?;
    if stage == Stage::Resources {
        let command = ["eigenforge".into(), "solve".into(), arguments.model.clone().into_os_string()];
        print(&format!("\nto measure it on a GPU:\n{}", profile::lines(&model, &command)))?;
    }
    Ok(Outcome::Done)
}
