//! `eigenforge su3 solve`: levels of two nucleons from the tensors of their Hamiltonian.

use super::VerbEnd;
use super::arguments::Su3SolveArguments;
use super::error::CommandError;
use super::output::{print, print_json};
use super::su3::model_file;
use eigenforge::su3::{Direction, InteractionInput, LevelRequest, NuclearTerms};

/// Runs the verb.
pub(super) fn run(arguments: &Su3SolveArguments) -> Result<VerbEnd, CommandError> {
    let mut spec = model_file(arguments.model.as_deref(), "su3 solve")?.su3;
    if let Some(path) = &arguments.interaction {
        (spec.interaction, spec.direction) = (InteractionInput::File(path.clone()), Direction::Forward);
    }
    if let Some(path) = &arguments.strengths {
        // They are of the whole Hamiltonian: the terms of the model file are in them.
        (spec.interaction, spec.direction, spec.hamiltonian) =
            (InteractionInput::File(path.clone()), Direction::Inverse, None);
    }
    if let Some(hw) = arguments.hw {
        spec.hamiltonian = Some(NuclearTerms { hw, ..spec.hamiltonian.unwrap_or(NuclearTerms::new(hw)) });
    }
    spec.n_max = arguments.n_max.unwrap_or(spec.n_max);
    spec.memory = arguments.memory.or(spec.memory);
    let Su3SolveArguments { channel, levels, centre, .. } = *arguments;
    let found = spec.levels(&LevelRequest { channel, count: levels, centre_quanta: centre })?;
    match arguments.json {
        true => print_json(&found)?,
        false => print(&found.to_string()),
    }
    Ok(VerbEnd::Done)
}
