//! `eigenforge inspect MODEL.toml --stage …`: any stage of a model's path, as text on standard output.

use super::Outcome;
use super::arguments::{InspectArguments, StageName};
use super::error::CommandError;
use super::output::print;
use super::profile;
use crate::exact::Stage;
use crate::input::ModelFile;

/// Runs the verb.
pub(super) fn run(arguments: &InspectArguments) -> Result<Outcome, CommandError> {
    let model = ModelFile::read(&arguments.model)?.to_model()?;
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
    let text = model.inspect_kernel(stage, &arguments.arch, arguments.kernel.as_deref())?;
    print(&text)?;
    if stage == Stage::Resources {
        let command = ["eigenforge".into(), "solve".into(), arguments.model.clone().into_os_string()];
        print(&format!("\nto measure it on a GPU:\n{}", profile::lines(&model, &command)))?;
    }
    Ok(Outcome::Done)
}
