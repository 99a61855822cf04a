//! `eigenforge inspect CHAIN.toml`, for a file with `[dmrg]`: the terms, the operators at each cut, the records of the middle
//! bond and their cost.

use super::arguments::StageName;
use super::dmrg::describe;
use super::error::CommandError;
use eigenforge::dmrg::inspect;
use eigenforge::input::DmrgFile;

/// A stage before the generated files.
pub(super) fn text(file: &DmrgFile, stage: StageName) -> Result<String, CommandError> {
    let (chain, options) = (file.chain()?, file.options());
    options.check()?;
    Ok(match stage {
        StageName::Ir => format!("{}\n{}", file.model.operator(), inspect::operator_sum(&chain)),
        StageName::Plan => inspect::middle_bond(&chain, &options, true)?,
        _ => describe(file, &chain, &options) + &inspect::middle_bond(&chain, &options, false)?,
    })
}
