//! The table of partners on a device, made there by the text's own kernels.
//!
//! In: the list of representatives, which the same text makes. Out: slots of as many rows as there is room for, whole blocks of them, from
//! the first on. What only the making needs, the bitmap above all, is freed where all rows are kept.

use super::PartnerRows;
use crate::symmetric::orbits::symmetric_tables;
use eigenforge_product::PrepareError;
use eigenforge_runtime::{Arguments, Buffer, Device, DeviceError, ElementArgument, Kernel, NamedTables, Pod, trace};
use eigenforge_templates::exact::{KeptRows, PartnersPlan, SlotCodes};
use std::collections::BTreeSet;

/// Names of the numbers of rows and of slots that are kept, and of blocks of rows on the card that has the most.
const KEPT: &str = "kept";
const SLOTS: &str = "kept_slots";
const BLOCKS: &str = "kept_blocks";

/// The rows that tables have; without tables about those of the plan.
pub(super) fn kept_rows(rows: &PartnerRows, tables: &NamedTables) -> KeptRows {
    let number = |name| match tables.get(name) {
        Some(ElementArgument::I64(number)) => Some(*number as u64),
        _ => None,
    };
    match (number(KEPT), number(SLOTS), number(BLOCKS)) {
        (Some(rows), Some(slots), Some(blocks)) => KeptRows { rows, slots, blocks },
        _ => rows.plan().predicted_rows(),
    }
}

/// What the kernels and the diagonal read beside vectors.
///
/// # Errors
/// The device's.
pub(super) fn partner_tables(
    rows: &PartnerRows,
    kernel: &Kernel,
    device: &Device,
) -> Result<NamedTables, PrepareError> {
    let (plan, codes) = (rows.plan(), &rows.codes);
    let mut named = symmetric_tables(&rows.rows, kernel, device)?;
    let roots: Vec<f64> = codes.orders.iter().map(|order| f64::from(*order).sqrt()).collect();
    named.upload(device, "orbit_orders", codes.orders.clone())?;
    named.upload(device, "orbit_roots", roots)?;
    named.upload(device, "amplitudes", &codes.amplitudes)?;
    named.upload(device, "character_class", &codes.character_class)?;
    named.upload(device, "code_of", &codes.code_of)?;
    named.upload(device, "slot_values", codes.parts(plan.rows.complex, plan.rows.lines.is_some()))?;
    named.insert("index_bits", ElementArgument::U32(plan.index_bits));
    let counts = [
        ("orders", codes.orders.len() as u64),
        ("amplitude_count", codes.amplitudes.len() as u64),
        ("character_classes", codes.character_classes as u64),
        ("values", codes.values.len() as u64),
    ];
    counts.into_iter().for_each(|(name, count)| named.insert_count(name, count));
    let kept = fill(rows, &mut named, kernel, device)?;
    named.insert_count(KEPT, kept.rows);
    named.insert_count(SLOTS, kept.slots);
    named.insert_count(BLOCKS, kept.blocks);
    named.insert_count("run", plan.run());
    named.insert_count("kept_partials", plan.multiply_blocks(kept.blocks));
    Ok(if plan.is_part() { named } else { prune(rows, kept, &named)? })
}

/// Adds the table of as many rows as there is room for; returns which.
fn fill(
    rows: &PartnerRows,
    named: &mut NamedTables,
    kernel: &Kernel,
    device: &Device,
) -> Result<KeptRows, PrepareError> {
    let _filling = trace::span("set up", "table of partners on the device");
    let plan = rows.plan();
    let mut slice_slots = spread::<u32>(plan, device, plan.slices())?;
    let mut totals = device.empty_buffer::<u32>(plan.count_blocks() as usize)?;
    let mut classes = spread::<u8>(plan, device, plan.rows.states)?;
    let counting = plan.count_launch()?;
    let arguments = Arguments::new().write("slice_slots", &mut slice_slots).write("slot_totals", &mut totals);
    kernel.launch(&counting, arguments.write("orbit_class", &mut classes).tables(named))?;
    named.insert_buffer("orbit_class", classes.on_every_card()?);
    let (starts, mut kept) = starts(rows, &totals.download()?);
    if plan.cards > 1 {
        let shares = card_blocks(&starts, kept.slots / u64::from(plan.rows.warp.lanes()), plan.cards);
        kept.blocks = shares.windows(2).map(|share| u64::from(share[1] - share[0])).max().unwrap_or(0);
        named.upload(device, "card_blocks", shares)?;
    }
    // Memory has at least one element.
    let slots = kept.slots.max(1);
    let slices = kept.rows.div_ceil(plan.rows.warp.lanes().into());
    let mut slice_start = spread::<u32>(plan, device, slices + 1)?;
    let mut partners = spread::<u32>(plan, device, slots)?;
    let beside = plan.codes == SlotCodes::Beside;
    let mut codes: Option<Buffer<u8>> = beside.then(|| spread(plan, device, slots)).transpose()?;
    if kept.rows > 0 {
        let (filling, starts) = (plan.fill_launch(kept)?, device.buffer(&starts)?);
        let arguments = Arguments::new().read("slice_slots", &slice_slots).read("slot_starts", &starts);
        let mut arguments = arguments.write("slice_start", &mut slice_start).write("partners", &mut partners);
        if let Some(codes) = &mut codes {
            arguments = arguments.write("codes", codes);
        }
        kernel.launch(&filling, arguments.tables(named))?;
    }
    named.insert_buffer("slice_start", slice_start);
    named.insert_buffer("partners", partners);
    if let Some(codes) = codes {
        named.insert_buffer("codes", codes);
    }
    Ok(kept)
}

/// A table that kernels write, of several cards that share the rows a part on each. Where vectors are too short to be spread nothing is:
/// one card runs a launch whose memory is all its own.
fn spread<U: Pod + Default>(plan: &PartnersPlan, device: &Device, length: u64) -> Result<Buffer<U>, DeviceError> {
    match plan.cards {
        1 => device.empty_buffer(length as usize),
        _ => device.spread_buffer(length as usize),
    }
}

/// Where the slots of each block of rows begin, in slots of a slice, of the blocks that there is room for, and their rows.
fn starts(rows: &PartnerRows, totals: &[u32]) -> (Vec<u32>, KeptRows) {
    let (plan, lanes) = (rows.plan(), u64::from(rows.plan().rows.warp.lanes()));
    let room = if plan.is_part() { rows.room.unwrap_or(u64::MAX) } else { u64::MAX };
    let (mut starts, mut slots) = (Vec::with_capacity(totals.len()), 0u64);
    for total in totals {
        let with = slots + u64::from(*total);
        // A start has 32 bits.
        if plan.table_bytes(with * lanes) > room || with > u32::MAX.into() {
            break;
        }
        starts.push(slots as u32);
        slots = with;
    }
    let kept = (starts.len() as u64 * plan.block_rows()).min(plan.rows.states);
    let blocks = starts.len() as u64;
    (starts, KeptRows { rows: kept, slots: slots * lanes, blocks })
}

/// The first block of rows of each card, and the end: cards have as many slots each.
fn card_blocks(starts: &[u32], slots: u64, cards: u32) -> Vec<u32> {
    let [slots, cards] = [slots, cards.into()];
    let first = |card: u64| starts.partition_point(|start| u64::from(*start) < slots * card / cards) as u32;
    (0..cards).map(first).chain([starts.len() as u32]).collect()
}

/// Those of the tables that launches of the multiply and the diagonal read.
fn prune(rows: &PartnerRows, kept: KeptRows, named: &NamedTables) -> Result<NamedTables, DeviceError> {
    let launches = rows.plan().launches(kept).map_err(DeviceError::from)?;
    let diagonal = rows.plan().diagonal_element().parameters;
    let parameters = launches.iter().flat_map(|launch| &launch.parameters).chain(&diagonal);
    let names: BTreeSet<&str> =
        parameters.map(|parameter| parameter.name.as_str()).chain([KEPT, SLOTS, BLOCKS]).collect();
    let mut own = NamedTables::new();
    for name in names {
        if let Some(argument) = named.get(name) {
            own.insert(name, argument.clone());
        }
    }
    Ok(own)
}
