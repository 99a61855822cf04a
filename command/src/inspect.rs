//! `eigenforge inspect MODEL.toml --stage …`: any stage of a problem's path, as text on standard output; with `--dump DIR`,
//! its generated files in a folder. An option that the stage does not use is refused by name.

use super::arguments::InspectArguments;
use super::error::CommandError;
use super::output::{print, print_json};
use super::{VerbEnd, dump, overrides, profile, refuse};
use eigenforge::exact::{RankPlan, Solve};
use eigenforge::input::InputFile;
use eigenforge::inspection;
use eigenforge::path::{Stage, named};
use eigenforge::problem::{
    ChainProblem, Family, Inspected, Inspection, MatrixProblem, MoleculeProblem, RunPlan, Sharing, TensorProblem,
    every_file, inspect,
};
use eigenforge_runtime::jit::{Arch, Overrides};
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::Solver;
use eigenforge_runtime::{Device, say};
use eigenforge_templates::ScalarType;

/// The architecture of ptx, sass and resources where none is given.
const ARCH: &str = "sm_90";

/// Runs the verb.
pub(super) fn run(arguments: &InspectArguments) -> Result<VerbEnd, CommandError> {
    check(arguments)?;
    // clap lets no other word pass.
    let machine = arguments.machine.as_deref().and_then(Machine::named).unwrap_or_else(Machine::h200);
    let file = InputFile::read_evolving(&arguments.model)?;
    let edits = [("--dump", arguments.dump.is_some()), ("--override", arguments.overrides.is_some())];
    refuse::edits_of_a_sweep(&file, &edits)?;
    let problem = inspection::open_for(&file, &machine)?;
    if let Some(cards) = arguments.cards {
        print(&sharing(&file, cards, &machine)?);
    }
    if let Some(ranks) = arguments.ranks {
        print(&over_ranks(&file, ranks)?);
    }
    let (stage, kernel) = (arguments.stage, arguments.kernel.as_deref());
    if let Some(folder) = &arguments.dump {
        let files = named(every_file(&*problem)?, kernel)?;
        let written = dump::write(&files, folder, arguments.force)?;
        print(&(written + &dump::next(&arguments.model, folder)));
        return Ok(VerbEnd::Done);
    }
    if arguments.json {
        let plan = RunPlan::new(&*problem, &machine)?;
        print_json(&plan)?;
        return Ok(VerbEnd::Done);
    }
    let overrides = match stage.is_of_the_text() {
        true => overrides::read(arguments.overrides.as_deref())?,
        false => Overrides::default(),
    };
    let arch = arguments.arch.as_deref().unwrap_or(ARCH);
    let Inspected { mut text, files } =
        inspect(&*problem, &Inspection { stage, arch, kernel, overrides: &overrides, machine: &machine })?;
    if stage == Stage::Resources {
        let command = ["eigenforge".into(), "solve".into(), arguments.model.clone().into_os_string()];
        let lines = profile::lines(&files, &command);
        text = format!("{text}\nto measure it on a GPU:\n{lines}");
    }
    // Edited files of other kernels are not in vain where one kernel was asked for.
    let unused = if kernel.is_none() { overrides.unused() } else { Vec::new() };
    unused.iter().for_each(|line| say!("warning: {line}"));
    print(&text);
    Ok(VerbEnd::Done)
}

/// How the points of a sweep, the groups of a transformation or a chain's products with H are shared out among cards, and what each card of a
/// multiply receives.
fn sharing(file: &InputFile, cards: usize, machine: &Machine) -> Result<String, CommandError> {
    match file {
        InputFile::Sweep(sweep) => Ok(Sharing::new(sweep, cards).describe(sweep)),
        InputFile::Su3(file) => Ok(TensorProblem::new((**file).clone()).sharing(cards)?),
        InputFile::Ci(ci) => {
            let why = "there are fewer blocks of the matrix than cards, or the machine has no card: nothing is divided";
            let text = MoleculeProblem::read((**ci).clone())?.planned_for(machine.clone()).sharing(cards)?;
            text.ok_or_else(|| refuse::refusal(Family::from_file(file), "--cards", why))
        }
        InputFile::Matrix(matrix) => {
            let why = "the matrix has fewer blocks than cards: one card has all of it";
            let text = MatrixProblem::new((**matrix).clone()).planned_for(machine.clone()).sharing(cards);
            text.ok_or_else(|| refuse::refusal(Family::from_file(file), "--cards", why))
        }
        InputFile::Lattice(lattice) => {
            let cards = u32::try_from(cards).unwrap_or(u32::MAX);
            let model = lattice.to_model()?;
            let received = model.received_with_matrix(lattice.solve.precision, cards)?;
            let why = "there are fewer blocks of the matrix than cards: one card has all of it";
            let received = received.ok_or_else(|| refuse::refusal(Family::from_file(file), "--cards", why))?;
            Ok(received.describe())
        }
        InputFile::Dmrg(file) => Ok(ChainProblem::new((**file).clone())?.sharing(cards)?),
    }
}

/// What each of several processes holds and sends of a model, or which points of a sweep they solve.
fn over_ranks(file: &InputFile, ranks: usize) -> Result<String, CommandError> {
    match file {
        InputFile::Sweep(sweep) => Ok(Sharing::new(sweep, ranks).describe_ranks(sweep)),
        InputFile::Lattice(lattice) => {
            let (model, spec) = (lattice.to_model()?, &lattice.solve);
            let solve = match spec.solver {
                Some(solver) => Solve::new(&model, solver),
                None => Solve::new(&model, Solver::Lanczos).choose(&Device::cpu()).0,
            };
            let plan = solve.over_ranks(ranks, false).map(|plan| plan.describe(spec.precision));
            Ok(format!("ranks    {ranks}: {}", plan.as_deref().unwrap_or(RankPlan::ALONE)))
        }
        InputFile::Ci(ci) => {
            let problem = MoleculeProblem::read((**ci).clone())?;
            let plan = problem.solve().over_ranks(ranks, false).map(|plan| plan.describe(ScalarType::F64));
            Ok(format!("ranks    {ranks}: {}", plan.as_deref().unwrap_or(RankPlan::ALONE)))
        }
        _ => Err(refuse::refusal(Family::from_file(file), "--ranks", super::ranks::only_one(file))),
    }
}

/// Whether a stage uses an option.
type UsedBy = fn(Stage) -> bool;

/// Refuses options that would do nothing.
fn check(arguments: &InspectArguments) -> Result<(), CommandError> {
    let stage = arguments.stage;
    let dumps = arguments.dump.is_some();
    let used = [
        ("--arch", arguments.arch.is_some(), Stage::is_compiled as UsedBy),
        ("--override", arguments.overrides.is_some(), Stage::is_of_the_text),
        ("--machine", arguments.machine.is_some(), |stage| stage == Stage::Cost),
        ("--json", arguments.json, |stage| stage == Stage::Cost),
        ("--cards", arguments.cards.is_some(), |stage| stage == Stage::Plan),
        ("--ranks", arguments.ranks.is_some(), |stage| stage == Stage::Plan),
        ("--kernel", arguments.kernel.is_some() && !dumps, Stage::is_by_file),
    ];
    for (option, given, of) in used {
        if given && (dumps || !of(stage)) {
            let given = if dumps { "--dump".into() } else { format!("--stage {stage}") };
            let (place, why) = (format!("beside {given}"), format!("it is for --stage {}", list(of)));
            return Err(CommandError::NoEffect { option, place, why });
        }
    }
    match &arguments.arch {
        Some(arch) => Ok(arch.parse::<Arch>().map(drop)?),
        None => Ok(()),
    }
}

/// "cuda, ptx, sass and resources".
fn list(of: UsedBy) -> String {
    let words: Vec<&str> = Stage::WORDS.iter().filter(|(_, stage)| of(*stage)).map(|(word, _)| *word).collect();
    match &words[..] {
        [some @ .., last] if !some.is_empty() => format!("{} and {last}", some.join(", ")),
        _ => words.concat(),
    }
}
