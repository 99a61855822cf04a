//! The tables of a symmetry sector on a device: the bitmap and the list of representatives, made there by the sector's own kernels.

use super::{LineTables, SectorRows};
use crate::general::{direct_tables, state_tables};
use eigenforge_runtime::{
    Arguments, Buffer, Device, DeviceError, ElementArgument, HostTable, Kernel, NamedTables, OnDevice, SharedMemory,
    trace,
};
use eigenforge_templates::exact::{FlipTables, IndexWord, SymmetryPlan};
use std::borrow::Cow;
use std::sync::Arc;

/// Words in the plan's type.
pub(super) fn words<'a>(plan: &SymmetryPlan, values: impl Into<Cow<'a, [u64]>>) -> HostTable<'a> {
    let word = if plan.is_wide() { IndexWord::U64 } else { IndexWord::U32 };
    HostTable::narrowed(word, values)
}

/// What the sector's kernels read beside vectors and the flips of an operator; makes the list with the kernels of the multiply's text.
///
/// # Errors
/// The device's; another number of representatives than the group's traces have, which is a fault of eigenforge.
pub(super) fn sector_tables(rows: &SectorRows, kernel: &Kernel, device: &Device) -> Result<NamedTables, DeviceError> {
    let (plan, tables) = (rows.plan(), rows.tables());
    let mut named = NamedTables::uploaded(device, state_tables(tables))?;
    if plan.characters || plan.fermions {
        named.upload(device, "characters", rows.characters())?;
    }
    if plan.fermions {
        named.upload(device, "later", words(plan, rows.later()))?;
    }
    if let Some(torus) = rows.torus() {
        let tables = [("row_turns", &torus.turns), ("row_least", &torus.least), ("line_images", &torus.images)];
        named.extend(NamedTables::uploaded(device, tables.map(|(name, values)| (name, values.into())))?);
    }
    let numbers = [
        ("ranks", plan.ranks),
        ("units", plan.units()),
        ("parts", plan.parts),
        ("words", plan.words),
        ("states", plan.states),
    ];
    numbers.into_iter().for_each(|(name, count)| named.insert_count(name, count));
    let (bitmap, has_stabiliser, representatives) = listed(plan, &named, kernel, device)?;
    named.insert("representatives", ElementArgument::Memory(representatives));
    number_parts(rows, &mut named, kernel, device)?;
    named.insert_buffer("has_stabiliser", has_stabiliser);
    named.insert_buffer("bitmap", bitmap);
    named.extend(NamedTables::uploaded(device, direct_tables(tables))?);
    Ok(named)
}

/// What `multiply` and the diagonal read beside vectors.
///
/// # Errors
/// As of [`sector_tables`].
pub(crate) fn symmetric_tables(
    rows: &SectorRows,
    kernel: &Kernel,
    device: &Device,
) -> Result<NamedTables, DeviceError> {
    let plan = rows.plan();
    let mut named = sector_tables(rows, kernel, device)?;
    named.extend(NamedTables::uploaded(device, flip_tables(plan, &plan.flip_tables()))?);
    Ok(named)
}

/// Flips and their terms, by the names of the kernels' parameters.
pub(super) fn flip_tables<'a>(plan: &SymmetryPlan, tables: &'a FlipTables) -> [(&'static str, HostTable<'a>); 6] {
    [
        ("flip_masks", words(plan, &tables.flip)),
        ("flip_start", (&tables.start).into()),
        ("term_care", words(plan, &tables.care)),
        ("term_pattern", words(plan, &tables.pattern)),
        ("term_sign", words(plan, &tables.sign)),
        ("term_amplitude", (&tables.amplitude).into()),
    ]
}

/// Adds where the imaginary parts of states stand that are their own conjugates, and the states of these parts.
fn number_parts(
    rows: &SectorRows,
    named: &mut NamedTables,
    kernel: &Kernel,
    device: &Device,
) -> Result<(), DeviceError> {
    let plan = rows.plan();
    let Some(launch) = plan.parts_launch().map_err(DeviceError::from)? else { return Ok(()) };
    let LineTables { words: line_words, directions, numbers } = rows.lines();
    let mut own = NamedTables::new();
    own.insert_count("lines", line_words.len() as u64);
    // Memory has at least one element.
    let at_least_one = |list: Vec<u64>| if list.is_empty() { vec![0] } else { list };
    own.upload(device, "line_words", words(plan, at_least_one(line_words)))?;
    own.upload(device, "line_directions", if numbers.is_empty() { vec![0] } else { numbers })?;
    own.extend(named.clone());
    let mut imaginary_place = device.spread_buffer::<u32>(plan.states as usize)?;
    let mut paired_state = device.spread_buffer::<u32>((plan.dimension() - plan.states).max(1) as usize)?;
    let count = plan.states - (plan.dimension() - plan.states);
    let mut line_state = device.buffer(&vec![0u32; count.max(1) as usize])?;
    let arguments = Arguments::new().write("imaginary_place", &mut imaginary_place);
    let arguments = arguments.write("paired_state", &mut paired_state).write("line_state", &mut line_state);
    kernel.launch(&launch, arguments.tables(&own))?;
    let mut line_states = line_state.download()?;
    line_states.truncate(count as usize);
    rows.line_states.get_or_init(|| line_states);
    named.insert_buffer("imaginary_place", imaginary_place.on_every_card()?);
    named.insert_buffer("paired_state", paired_state.on_every_card()?);
    named.upload(device, "directions", if directions.is_empty() { vec![0.0; 2] } else { directions })
}

/// The bitmap, a bit of each state that more than the identity leaves as it is, and the list.
fn listed(
    plan: &SymmetryPlan,
    tables: &NamedTables,
    kernel: &Kernel,
    device: &Device,
) -> Result<(Buffer<u32>, Buffer<u32>, SharedMemory), DeviceError> {
    let _listing = trace::span("set up", "representatives on the device");
    let [mark, give_numbers] = plan.listing().map_err(DeviceError::from)?;
    // Cards share out both kernels, each its part of all three. Then each has the whole bitmap, and its part of the list.
    let mut bitmap = device.spread_buffer::<u32>(plan.bitmap_words() as usize)?;
    let mut totals = device.empty_buffer::<u32>(plan.mark_blocks() as usize)?;
    let arguments = Arguments::new().write("bitmap", &mut bitmap).write("totals", &mut totals);
    kernel.launch(&mark, arguments.tables(tables))?;
    let mut found = 0u64;
    let starts = totals.download()?.into_iter().map(|total| {
        let start = found;
        found += u64::from(total);
        start as u32
    });
    let starts: Vec<u32> = starts.collect();
    if found != plan.states {
        return Err(DeviceError::Arguments {
            what: "representatives of a symmetry sector".into(),
            expected: format!("{} by the traces of the group", plan.states),
            found: format!("{found} on the device, which is a fault of eigenforge: please report it"),
        });
    }
    let (starts, states) = (device.buffer(&starts)?, plan.states as usize);
    let mut has_stabiliser = device.spread_buffer::<u32>(plan.stabiliser_words() as usize)?;
    let mut numbered = |list: &mut (dyn OnDevice + 'static)| {
        let arguments = Arguments::new().write("bitmap", &mut bitmap).write("representatives", list);
        let arguments = arguments.write("has_stabiliser", &mut has_stabiliser).read("starts", &starts);
        kernel.launch(&give_numbers, arguments.tables(tables))
    };
    let list: SharedMemory = match plan.is_wide() {
        true => {
            let mut list = device.spread_buffer::<u64>(states)?;
            numbered(&mut list)?;
            Arc::new(list)
        }
        false => {
            let mut list = device.spread_buffer::<u32>(states)?;
            numbered(&mut list)?;
            Arc::new(list)
        }
    };
    Ok((bitmap.on_every_card()?, has_stabiliser.on_every_card()?, list))
}
