//! The tables of a general multiply in device memory, by the names of the launches' parameters, in the types that the plan chose.

use super::GeneralMultiply;
use super::lists::ListTables;
use eigenforge_core::basis::{HighPart, LinTables};
use eigenforge_product::PrepareError;
use eigenforge_runtime::{Device, HostTable, NamedTables, TableList};
use eigenforge_templates::exact::{FlipTables, GeneralPlan, GeneralStrategy};

/// What the kernels and the diagonal read beside vectors.
pub(super) fn tables(multiply: &GeneralMultiply, device: &Device) -> Result<NamedTables, PrepareError> {
    let GeneralMultiply { plan, tables, lists, .. } = multiply;
    let lists = lists.as_deref();
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
    if let Some(values) = plan.argument_values()? {
        named.upload(device, "coefficients", values)?;
    }
    Ok(named)
}

/// The words of states by columns, by name.
pub(crate) fn state_tables(tables: &LinTables) -> [(&'static str, HostTable<'_>); 4] {
    let column = |of: fn(&HighPart) -> u64| HostTable::U64(tables.parts.iter().map(of).collect());
    [
        ("part_start", column(|part| part.start)),
        ("part_high", column(|part| part.high)),
        ("part_first_low", column(|part| part.first_low)),
        ("low_states", (&tables.low_states).into()),
    ]
}

/// The number of a state from its word, by two tables, where lists are not searched.
pub(crate) fn direct_tables(tables: &LinTables) -> TableList<'_> {
    let Some(direct) = &tables.direct else { return Vec::new() };
    vec![("high_offset", (&direct.high_offset).into()), ("low_index", (&direct.low_index).into())]
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
    let FlipTables { flip, start, care, pattern, sign, amplitude } = FlipTables::new(&plan.groups);
    [
        ("group_flip", flip.into()),
        ("group_start", start.into()),
        ("term_care", care.into()),
        ("term_pattern", pattern.into()),
        ("term_sign", sign.into()),
        ("term_amplitude", amplitude.into()),
    ]
}
