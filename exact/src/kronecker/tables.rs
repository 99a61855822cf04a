//! The tables of a Kronecker sum in device memory, by the names of the launches' parameters, in the types that the plan chose.

use super::{KroneckerMultiply, SpeciesMatrix};
use eigenforge_product::PrepareError;
use eigenforge_runtime::{Device, HostTable, NamedTables};
use eigenforge_templates::exact::{DownShape, IndexWord, RunTables};

/// What the diagonal reads, without the tables of the hops.
pub(super) fn diagonal_tables(multiply: &KroneckerMultiply, device: &Device) -> Result<NamedTables, PrepareError> {
    let word = if multiply.plan.wide_states() { IndexWord::U64 } else { IndexWord::U32 };
    let states = |species: &SpeciesMatrix| HostTable::narrowed(word, species.states.clone());
    let states = [("up_states", states(&multiply.up)), ("dn_states", states(&multiply.down))];
    let mut tables = NamedTables::uploaded(device, states)?;
    if let Some(values) = multiply.plan.argument_values()? {
        tables.upload(device, "coefficients", values)?;
    }
    Ok(tables)
}

/// What the kernels and the diagonal read beside vectors.
pub(super) fn tables(multiply: &KroneckerMultiply, device: &Device) -> Result<NamedTables, PrepareError> {
    let KroneckerMultiply { plan, up, down, .. } = multiply;
    let mut tables = diagonal_tables(multiply, device)?;
    let (start, packed) = up.packed_slices(plan.warp, plan.shape.staging);
    tables.upload(device, "slice_start", start)?;
    tables.upload(device, "neighbours", HostTable::narrowed(plan.up.word, packed))?;
    match plan.shape.down {
        DownShape::Tile { columns, .. } => {
            let (start, packed) = down.packed_rows(columns as usize);
            tables.upload(device, "down_start", start)?;
            tables.upload(device, "down_neighbours", HostTable::narrowed(plan.down.word, packed))?;
        }
        DownShape::Runs { .. } => {
            tables.extend(NamedTables::uploaded(device, run_tables(plan.run_tables().unwrap_or_default()))?);
        }
    }
    Ok(tables)
}

/// The hops of strings by runs, by name.
pub(crate) fn run_tables(runs: RunTables) -> [(&'static str, HostTable<'static>); 7] {
    [
        ("task_part", runs.task_part.into()),
        ("task_run", runs.task_run.into()),
        ("run_column", runs.run_column.into()),
        ("run_steps", runs.run_steps.into()),
        ("step_column", runs.step_column.into()),
        ("step_case", runs.step_case.into()),
        ("step_coefficient", runs.step_coefficient.into()),
    ]
}
