//! `eigenforge inspect MODEL.toml --stage …`: any stage of a problem's path, as text on standard output; with `--dump DIR`,
//! its generated files in a folder. An option that the stage does not use is refused by name.

use super::arguments::{InspectArguments, StageName};
use super::error::CommandError;
use super::family::Family;
use super::output::print;
use super::{Outcome, dump, generated, inspect_ci, inspect_dmrg, overrides, profile};
use eigenforge::exact::{InspectError, Model, Stage};
use eigenforge::input::InputFile;
use eigenforge_runtime::jit::{Arch, Overrides};
use eigenforge_runtime::say;

/// The architecture of ptx, sass and resources where none is given.
const ARCH: &str = "sm_90";

/// Runs the verb.
pub(super) fn run(arguments: &InspectArguments) -> Result<Outcome, CommandError> {
    let input = InputFile::read(&arguments.model)?;
    check(arguments, Family::of(&input))?;
    let kernel = arguments.kernel.as_deref();
    if let Some(folder) = &arguments.dump {
        let files = generated::of(&input, kernel)?;
        let written = dump::write(files.iter().map(|(text, _)| text), folder, arguments.force)?;
        print(&(written + &dump::next(&arguments.model, folder)))?;
        return Ok(Outcome::Done);
    }
    let stage = stage_of(arguments.stage);
    let overrides = match stage.is_of_the_text() {
        true => overrides::read(arguments.overrides.as_deref())?,
        false => Overrides::default(),
    };
    let arch = arguments.arch.as_deref().unwrap_or(ARCH);
    let text = match &input {
        InputFile::Lattice(file) => lattice(&file.to_model()?, arguments, stage, &overrides)?,
        _ if stage.is_of_the_text() => generated::shown(&generated::of(&input, kernel)?, stage, arch, &overrides)?,
        InputFile::Ci(file) => inspect_ci::text(file, arguments.stage, kernel)?,
        InputFile::Dmrg(file) => inspect_dmrg::text(file, arguments.stage)?,
    };
    // Edited files of other kernels are not in vain where one kernel was asked for.
    let unused = if kernel.is_none() { overrides.unused() } else { Vec::new() };
    unused.iter().for_each(|line| say!("warning: {line}"));
    print(&text)?;
    Ok(Outcome::Done)
}

/// A stage of a lattice model; of resources with the lines for NVIDIA's profilers.
fn lattice(
    model: &Model,
    arguments: &InspectArguments,
    stage: Stage,
    overrides: &Overrides,
) -> Result<String, CommandError> {
    let arch = arguments.arch.as_deref().unwrap_or(ARCH);
    let kernel = arguments.kernel.as_deref();
    let text = model.inspect_overridden(stage, arch, kernel, overrides).map_err(|error| match error {
        InspectError::UnknownKernel { name, known } => CommandError::NoKernel { name, family: Family::Lattice, known },
        other => other.into(),
    })?;
    if stage != Stage::Resources {
        return Ok(text);
    }
    let command = ["eigenforge".into(), "solve".into(), arguments.model.clone().into_os_string()];
    Ok(format!("{text}\nto measure it on a GPU:\n{}", profile::lines(model, &command)))
}

/// Refuses options that would do nothing.
fn check(arguments: &InspectArguments, family: Family) -> Result<(), CommandError> {
    let stage = arguments.stage;
    let dumps = arguments.dump.is_some();
    let stages = stages(family);
    if !dumps && !stages.contains(&stage) {
        let why = format!("it has --stage {}", list(stages));
        return Err(family.refusal(format!("--stage {}", stage.word()), why));
    }
    let compiled = [StageName::Ptx, StageName::Sass, StageName::Resources];
    let texts = [StageName::Cuda, StageName::Ptx, StageName::Sass, StageName::Resources];
    let by_file = match family {
        Family::Lattice => &[StageName::Plan, StageName::Cost][..],
        Family::Ci => &[StageName::Plan],
        Family::Dmrg => &[],
    };
    let by_file: Vec<StageName> = texts.iter().chain(by_file).copied().collect();
    for (option, given, of) in [
        ("--arch", arguments.arch.is_some(), &compiled[..]),
        ("--override", arguments.overrides.is_some(), &texts),
        ("--kernel", arguments.kernel.is_some() && !dumps, &by_file),
    ] {
        if given && (dumps || !of.contains(&stage)) {
            let given = if dumps { "--dump".into() } else { format!("--stage {}", stage.word()) };
            let (place, why) = (format!("beside {given}"), format!("for {family} it is for --stage {}", list(of)));
            return Err(CommandError::NoEffect { option, place, why });
        }
    }
    match &arguments.arch {
        Some(arch) => Ok(arch.parse::<Arch>().map(drop)?),
        None => Ok(()),
    }
}

/// The stages that a family has.
fn stages(family: Family) -> &'static [StageName] {
    use StageName::{Cost, Cuda, Ir, IrRon, Plan, Ptx, Resources, Sass};
    match family {
        Family::Lattice => &[Ir, IrRon, Plan, Cuda, Ptx, Sass, Resources, Cost],
        Family::Ci => &[Cost, Plan, Cuda, Ptx, Sass, Resources],
        Family::Dmrg => &[Ir, Plan, Cost, Cuda, Ptx, Sass, Resources],
    }
}

fn list(stages: &[StageName]) -> String {
    stages.iter().map(|stage| stage.word()).collect::<Vec<_>>().join(", ")
}

fn stage_of(name: StageName) -> Stage {
    match name {
        StageName::Ir => Stage::Ir,
        StageName::IrRon => Stage::IrRon,
        StageName::Plan => Stage::Plan,
        StageName::Cuda => Stage::Cuda,
        StageName::Ptx => Stage::Ptx,
        StageName::Sass => Stage::Sass,
        StageName::Resources => Stage::Resources,
        StageName::Cost => Stage::Cost,
    }
}
