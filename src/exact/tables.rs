//! The tables of a multiply in device memory, by the names that [`eigenforge_templates::exact`]'s launches give them.
//!
//! In: the plan with its hopping matrices or Lin tables. Out: [`NamedTables`] in the types that the plan chose.

use super::error::PrepareError;
use super::lists::ListTables;
use super::prepared::Prepared;
use super::species::SpeciesMatrix;
use super::symmetric::{pair_tables, string_numbers, string_tables, symmetric_tables};
use crate::basis::{HighPart, LinTables};
use eigenforge_runtime::{Device, DeviceError, HostTable, Kernel, NamedTables, TableList};
use eigenforge_templates::exact::{
    DownShape, FlipTables, GeneralPlan, GeneralStrategy, IndexWord, KroneckerPlan, NeighbourWords, RunTables,
};

/// What the kernels and the diagonal of a multiply read beside vectors, uploaded or made by kernels of the text; also the number of
/// packed neighbours, which the plan's launches need.
pub(super) fn tables(
    prepared: &Prepared,
    kernel: &Kernel,
    device: &Device,
) -> Result<(NamedTables, NeighbourWords), PrepareError> {
    let mut words = NeighbourWords { up: 0, down: 0 };
    let mut tables = match prepared {
        Prepared::Kronecker { plan, up, down } => {
            let (hops, found) = kronecker(plan, [up, down], device)?;
            words = found;
            hops
        }
        Prepared::General { plan, tables, lists } => general(plan, tables, lists.as_deref(), device)?,
        Prepared::Symmetric(rows) => symmetric_tables(rows, kernel, device)?,
        Prepared::Strings(rows) => {
            let mut tables = NamedTables::uploaded(device, string_tables(rows))?;
            string_numbers(rows, &mut tables);
            tables
        }
        Prepared::Pairs(rows) => NamedTables::uploaded(device, pair_tables(rows))?,
        Prepared::Stored(_) => unreachable!("it has tables of its own"),
    };
    if let Some(values) = prepared.argument_values()? {
        tables.upload(device, "coefficients", values)?;
    }
    Ok((tables, words))
}

/// What the diagonal of a Kronecker sum reads, without the tables of its hops; `values` are the coefficients that are arguments.
pub(super) fn kronecker_diagonal<'a>(
    plan: &KroneckerPlan,
    [up, down]: [&'a SpeciesMatrix; 2],
    values: Option<Vec<f64>>,
    device: &Device,
) -> Result<NamedTables, DeviceError> {
    let word = if plan.wide_states() { IndexWord::U64 } else { IndexWord::U32 };
    let states = |species: &'a SpeciesMatrix| HostTable::narrowed(word, &species.states);
    let mut tables = NamedTables::uploaded(device, [("up_states", states(up)), ("dn_states", states(down))])?;
    if let Some(values) = values {
        tables.upload(device, "coefficients", values)?;
    }
    Ok(tables)
}

fn kronecker(
    plan: &KroneckerPlan,
    [up, down]: [&SpeciesMatrix; 2],
    device: &Device,
) -> Result<(NamedTables, NeighbourWords), DeviceError> {
    let mut tables = kronecker_diagonal(plan, [up, down], None, device)?;
    let (start, packed) = up.packed_slices(plan.warp, plan.shape.staging);
    let mut words = NeighbourWords { up: packed.len() as u64, down: 0 };
    tables.upload(device, "slice_start", start)?;
    tables.upload(device, "neighbours", HostTable::narrowed(plan.up.word, packed))?;
    match plan.shape.down {
        DownShape::Tile { columns, .. } => {
            let (start, packed) = down.packed_rows(columns as usize);
            words.down = packed.len() as u64;
            tables.upload(device, "down_start", start)?;
            tables.upload(device, "down_neighbours", HostTable::narrowed(plan.down.word, packed))?;
        }
        DownShape::Runs { .. } => {
            tables.extend(NamedTables::uploaded(device, run_tables(plan.run_tables().unwrap_or_default()))?);
        }
    }
    Ok((tables, words))
}

/// The hops of strings by runs, by name.
pub(super) fn run_tables(runs: RunTables) -> [(&'static str, HostTable<'static>); 7] {
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

/// The words of states by columns, by name.
pub(super) fn state_tables(tables: &LinTables) -> [(&'static str, HostTable<'_>); 4] {
    let column = |of: fn(&HighPart) -> u64| HostTable::U64(tables.parts.iter().map(of).collect());
    [
        ("part_start", column(|part| part.start)),
        ("part_high", column(|part| part.high)),
        ("part_first_low", column(|part| part.first_low)),
        ("low_states", (&tables.low_states).into()),
    ]
}

/// The number of a state from its word, by two tables, where lists are not searched.
pub(super) fn direct_tables(tables: &LinTables) -> TableList<'_> {
    let Some(direct) = &tables.direct else { return Vec::new() };
    vec![("high_offset", (&direct.high_offset).into()), ("low_index", (&direct.low_index).into())]
}

fn general(
    plan: &GeneralPlan,
    tables: &LinTables,
    lists: Option<&ListTables>,
    device: &Device,
) -> Result<NamedTables, DeviceError> {
    let mut named = NamedTables::uploaded(device, state_tables(lists.map_or(tables, |lists| &lists.tables)))?;
    match (lists, plan.shape.strategy) {
        (Some(lists), GeneralStrategy::Staged { columns }) => {
            named.extend(NamedTables::uploaded(device, staged_tables(plan, lists, columns))?);
        }
        (_, strategy) => {
            named.extend(NamedTables::uploaded(device, direct_tables(tables))?);
            if strategy == GeneralStrategy::Table {
                named.extend(NamedTables::uploaded(device, term_tables(plan))?);
            }
        }
    }
    Ok(named)
}

/// The elements of H by columns of states.
fn staged_tables<'a>(plan: &GeneralPlan, lists: &'a ListTables, columns: u32) -> TableList<'a> {
    let [low, high, _] = plan.diagonal.split(plan.low_bits);
    let (tables, sizes) = (&lists.tables, &lists.sizes);
    let of_low: Vec<f64> = tables.low_states.iter().map(|word| low.of_state(*word)).collect();
    let of_high: Vec<f64> = tables.parts.iter().map(|part| high.of_state(part.high << tables.low_bits)).collect();
    vec![
        ("task_column", lists.task_columns(columns).into()),
        ("low_diagonal", of_low.into()),
        ("high_diagonal", of_high.into()),
        ("part_slice", lists.part_slice().into()),
        ("low_slice_start", (&lists.low.start).into()),
        ("low_neighbours", HostTable::narrowed(sizes.low.word, &lists.low.words)),
        ("whole_start", (&lists.whole.start).into()),
        ("whole_words", HostTable::narrowed(sizes.whole.word, &lists.whole.words)),
        ("cross_start", (&lists.cross.start).into()),
        ("cross_words", HostTable::narrowed(sizes.cross.word, &lists.cross.words)),
        ("cross_factor", (&lists.cross_factor).into()),
        ("factor_row", HostTable::narrowed(sizes.factor_word, &lists.factor_row)),
    ]
}

/// The terms of an operator that is too long to be written out.
fn term_tables(plan: &GeneralPlan) -> [(&'static str, HostTable<'static>); 6] {
    let FlipTables { flip, start, care, pattern, sign, amplitude } = FlipTables::of(&plan.groups);
    [
        ("group_flip", flip.into()),
        ("group_start", start.into()),
        ("term_care", care.into()),
        ("term_pattern", pattern.into()),
        ("term_sign", sign.into()),
        ("term_amplitude", amplitude.into()),
    ]
}
