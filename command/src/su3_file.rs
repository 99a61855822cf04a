//! `eigenforge solve INTERACTION.toml`, for a file with `[su3]`: the arguments of `eigenforge su3 transform` that it stands for.

use super::arguments::{SolveArguments, Su3TransformArguments};
use super::error::CommandError;
use super::refuse;
use eigenforge::input::Su3File;
use eigenforge::problem::Family;
use eigenforge::su3::work::Direction;

/// What the file asks for, on the device of the command line.
///
/// # Errors
/// Options that have no meaning for a transformation, by name.
pub(super) fn arguments(given: &SolveArguments, file: &Su3File) -> Result<Su3TransformArguments, CommandError> {
    let finite = "a transformation is a finite sum; nothing is searched for";
    let by_itself = "a transformation saves each piece beside its output, and the same command goes on from there";
    refuse::options(
        Family::Su3,
        &[
            ("--solver", given.solver.is_some(), finite),
            ("--states", given.states.is_some(), finite),
            ("--tolerance", given.tolerance.is_some(), finite),
            ("--max-iterations", given.max_iterations.is_some(), finite),
            ("--seed", given.seed.is_some(), finite),
            ("--output", given.output.is_some(), "write `output`, the path of the strengths, in [su3]"),
            ("--vectors", given.vectors, "the strengths are what it writes"),
            ("--checkpoint", given.checkpoint.is_some(), by_itself),
            ("--no-tune", given.no_tune, "`eigenforge tune` times lattice models only"),
            (
                "--override",
                given.overrides.is_some(),
                "each piece has kernels of its own; `inspect` shows those of one piece",
            ),
        ],
    )?;
    let su3 = &file.su3;
    Ok(Su3TransformArguments {
        interaction: su3.interaction.clone(),
        n_max: su3.n_max,
        output: su3.output.clone(),
        format: su3.format,
        algorithm: su3.algorithm,
        inverse: su3.direction == Direction::Inverse,
        memory: su3.memory,
        device: given.device.clone(),
        json: given.json,
    })
}
