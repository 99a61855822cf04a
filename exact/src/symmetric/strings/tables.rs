//! The tables of the multiply by strings.

use super::{StringRows, Strings};
use eigenforge_runtime::{Device, DeviceError, ElementArgument, HostTable, NamedTables, TableList};
use num_complex::Complex64;

/// What `multiply` and the diagonal read beside vectors, by name.
///
/// # Errors
/// Memory of the device.
pub(super) fn string_tables(rows: &StringRows, device: &Device) -> Result<NamedTables, DeviceError> {
    let plan = rows.plan();
    let mut tables = NamedTables::uploaded(device, host_tables(rows))?;
    tables.insert_count("states", plan.states);
    tables.insert("rows", ElementArgument::U32(plan.rows as u32));
    tables.insert("strings", ElementArgument::U32(plan.strings as u32));
    tables.insert("index_bits", ElementArgument::U32(plan.index_bits));
    Ok(tables)
}

fn host_tables(rows: &StringRows) -> TableList<'_> {
    let (plan, strings) = (rows.plan(), rows.strings());
    let Strings { rows, hops, classes, .. } = strings;
    let factors = |values: &mut dyn Iterator<Item = Complex64>| {
        let parts = |value: Complex64| if plan.complex { vec![value.re, value.im] } else { vec![value.re] };
        HostTable::F64(values.flat_map(parts).collect())
    };
    let words = |values: &mut dyn Iterator<Item = u32>| HostTable::U32(values.collect());
    let class_ends = classes.iter().scan(0, |end, class| {
        *end += class.strings.len() as u32;
        Some(*end)
    });
    let row_words: Vec<u64> = rows.iter().map(|row| row.word << plan.sites).collect();
    let (inner_start, inner_words) = strings.inner.slices(plan.warp);
    let row_of = |row: u32| &rows[row as usize];
    vec![
        ("row_word", row_words.into()),
        ("row_start", words(&mut rows.iter().map(|row| row.start))),
        ("row_class", words(&mut rows.iter().map(|row| row.class))),
        ("string_word", words(&mut strings.numbers.words.iter().map(|word| *word as u32))),
        ("class_start", words(&mut std::iter::once(0).chain(class_ends))),
        ("class_strings", words(&mut classes.iter().flat_map(|class| class.strings.iter().copied()))),
        ("hop_start", words(&mut rows.iter().map(|row| row.first_hop).chain([hops.len() as u32]))),
        ("hop_cut", words(&mut (0..rows.len()).map(|row| strings.first_cut(row)))),
        ("hop_first", words(&mut hops.iter().map(|hop| row_of(hop.row).start))),
        ("hop_class", words(&mut hops.iter().map(|hop| row_of(hop.row).class))),
        ("hop_element", words(&mut hops.iter().map(|hop| hop.element))),
        ("hop_factor", factors(&mut hops.iter().map(|hop| hop.factor))),
        ("images", (&strings.images).into()),
        ("inner_start", words(&mut inner_start.into_iter())),
        ("inner_words", words(&mut inner_words.into_iter())),
        ("inner_factor", factors(&mut strings.inner.factors.iter().copied())),
        ("class_words", words(&mut classes.iter().flat_map(|class| class.words.iter().copied()))),
        ("class_factor", factors(&mut strings.class_factors.iter().copied())),
    ]
}
