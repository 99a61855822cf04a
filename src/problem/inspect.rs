//! Any stage of any problem as text.

use super::Problem;
use crate::path::{GeneratedFile, Stage, StageError, named, shown};
use eigenforge_runtime::jit::Overrides;
use eigenforge_runtime::machine::Machine;
use eigenforge_runtime::solvers::EVERY_SIZE;

/// What to show of a problem.
pub struct Inspection<'a> {
    /// The stage.
    pub stage: Stage,
    /// The card's architecture, such as "sm_90", for the compiled stages.
    pub arch: &'a str,
    /// One generated file, by its name or that of a kernel in it; `None` for all.
    pub kernel: Option<&'a str>,
    /// Edited texts that replace generated ones, from the text on.
    pub overrides: &'a Overrides,
    /// The machine that the problem is planned for: times are by its rates.
    pub machine: &'a Machine,
}

/// A stage of a problem.
pub struct Inspected {
    /// The stage as text.
    pub text: String,
    /// The generated files of the text; empty for the operator.
    pub files: Vec<GeneratedFile>,
}

/// The generated files of a run and the solver's block operations in all sizes, each once.
///
/// # Errors
/// As of [`Problem::generated`].
pub fn every_file(problem: &dyn Problem) -> Result<Vec<GeneratedFile>, StageError> {
    let mut files = problem.generated()?;
    let mut others = problem.block_operations()?;
    others.retain(|other| files.iter().all(|file| file.text.name != other.text.name));
    files.append(&mut others);
    Ok(files)
}

/// The generated files of a run, and of the block operations in other sizes those that were edited.
///
/// # Errors
/// As of [`Problem::generated`].
pub fn files_of_run(problem: &dyn Problem, overrides: &Overrides) -> Result<Vec<GeneratedFile>, StageError> {
    if overrides.is_empty() {
        return problem.generated();
    }
    let mut files = every_file(problem)?;
    files.retain(|file| file.when != EVERY_SIZE || overrides.edits(&file.text));
    Ok(files)
}

/// Shows a stage as text.
///
/// # Errors
/// A stage that the problem does not have, an unknown kernel name, a text that does not compile.
pub fn inspect(problem: &dyn Problem, inspection: &Inspection<'_>) -> Result<Inspected, StageError> {
    let Inspection { stage, arch, kernel, overrides, machine } = *inspection;
    let operator = |text| Ok(Inspected { text, files: Vec::new() });
    let notes = match stage {
        Stage::Ir => return operator(problem.operator_text()?),
        Stage::IrRon => return operator(problem.operator()?.to_ron()),
        // If one file is requested, general notes are left out.
        _ if kernel.is_some() => String::new(),
        Stage::Plan => {
            let details = problem.details()?;
            details.plan_text() + &details.choices().iter().map(ToString::to_string).collect::<String>()
        }
        Stage::Cost => problem.details()?.cost_text(),
        _ => String::new(),
    };
    let mut files = files_of_run(problem, overrides)?;
    if let Some(name) = kernel.filter(|name| files.iter().all(|file| file.text.name != *name)) {
        files.extend(problem.block_operations()?.into_iter().filter(|other| other.text.name == name));
    }
    let mut files = named(files, kernel)?;
    if stage.is_of_the_text() {
        files = files.into_iter().map(|file| file.overridden(overrides)).collect::<Result<_, _>>()?;
    }
    let between = if notes.is_empty() { "" } else { "\n" };
    let text = notes + between + &shown(&files, kernel, stage, arch, machine)?;
    Ok(Inspected { text, files })
}
