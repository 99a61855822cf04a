//! A stage as the kernel reads it: tiles distributed over blocks of threads, records, and which records touch which tile.
//!
//! In: a stage, the number of blocks. Out: one table of 64-bit words, and the lengths that the launch checks against.
//! Tiles are distributed by predicted time, the longest first, each to the block with the least work (Graham 1969), so
//! all blocks take about equally long; the tiles of a block are contiguous.

use super::cutting::{Choice, Cost, Loads, Part, Rectangle, Uncut};
use super::streams::Streams;
use crate::error::DeviceError;
use crate::records::{Action, Operand, Record, RecordGroup, RecordStage, SPACES};
use eigenforge_templates::dmrg::{GroupedProductsPlan, Place, ProductRecord, RecordKind, StageSizes, Tile, WORDS};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Columns per block of zeros, for parts of the output that no group writes.
const ZEROS: usize = 128;

/// What is uploaded for a stage.
pub(super) struct Table {
    /// Tiles, records, lists of records, first tiles of the blocks.
    pub words: Vec<u64>,
    /// First word of the records, of the lists, and of the blocks' first tiles.
    pub firsts: [i64; 3],
    /// Lengths for the launch.
    pub sizes: StageSizes,
    /// Operands that stream.
    pub streams: Streams,
}

/// An output block as a matrix.
struct Block<'a> {
    offset: usize,
    length: usize,
    stride: u32,
    columns: u32,
    records: &'a [Record],
    /// The parts of its products.
    parts: Vec<Part>,
    /// The rectangles of its records, and the number of its first record.
    places: Vec<Rectangle>,
    first_record: u32,
}

/// A tile and where it came from.
struct Cut {
    block: usize,
    place: Rectangle,
    cycles: f64,
}

impl Table {
    /// Cuts the stage and distributes it over `blocks` blocks, for the kind of loads among `kinds` that is predicted to
    /// be faster.
    ///
    /// # Errors
    /// A record is not a part of its group's block, or a number is too large for the table.
    pub(super) fn new(stage: &RecordStage, blocks: u32, kinds: &[Loads]) -> Result<Table, DeviceError> {
        let (outputs, spaces) = outputs(stage)?;
        let (loads, cuts) = best_cut(&outputs, blocks, kinds);
        let (order, starts) = deal(&cuts, blocks);
        let mut touching = Vec::new();
        let mut words = Vec::with_capacity(WORDS * (cuts.len() + 2 * outputs.len()));
        for tile in order {
            let cut = &cuts[tile];
            words.extend(tile_of(&outputs[cut.block], &cut.place, loads, &mut touching)?.words());
        }
        let records_first = words.len();
        let (streams, versions) = versions(&outputs, loads, &mut touching);
        words.extend(versions.iter().flat_map(ProductRecord::words));
        let touching_first = words.len();
        words.extend(halves(&touching));
        let starts_first = words.len();
        words.extend(halves(&starts));
        let sizes = StageSizes { blocks, spaces, output: stage.length as u64, words: words.len() as u64 };
        let firsts = [records_first, touching_first, starts_first].map(|at| at as i64);
        Ok(Table { words, firsts, sizes, streams })
    }
}

/// The records in the order in which tiles refer to them. With streamed operands a product appears once for tiles that
/// begin at even rows of its part and once for those at odd rows, if there are any.
fn versions(outputs: &[Block<'_>], loads: Loads, touching: &mut [u32]) -> (Streams, Vec<ProductRecord>) {
    let records: Vec<&Record> = outputs.iter().flat_map(|block| block.records).collect();
    let (mut streams, mut list) = (Streams::new(loads), Vec::with_capacity(records.len()));
    if loads == Loads::Carried {
        list.extend(records.iter().map(|record| packed(record, stride_of(record))));
        touching.iter_mut().for_each(|entry| *entry /= 2);
        return (streams, list);
    }
    let mut numbers = vec![None; 2 * records.len()];
    for entry in touching {
        let (record, odd) = (records[*entry as usize / 2], *entry % 2 == 1);
        *entry = *numbers[*entry as usize].get_or_insert_with(|| {
            let maps = streams.take(record, odd);
            list.push(ProductRecord { maps, row_before: odd, ..packed(record, stride_of(record)) });
            list.len() as u32 - 1
        });
    }
    (streams, list)
}

/// Two numbers of 32 bits per word.
fn halves(numbers: &[u32]) -> impl Iterator<Item = u64> {
    numbers.chunks(2).map(|two| u64::from(two[0]) | two.get(1).map_or(0, |high| u64::from(*high) << 32))
}

fn refused(what: String, expected: &str, found: String) -> DeviceError {
    DeviceError::Arguments { what, expected: expected.into(), found }
}

/// A number for the table.
fn narrow(number: usize, what: &str) -> Result<u32, DeviceError> {
    let fits = u32::try_from(number).ok().filter(|number| *number < 1 << 31);
    fits.ok_or_else(|| refused(what.into(), "a number below 2^31", number.to_string()))
}

/// Elements from one column to the next of a record's output.
fn stride_of(record: &Record) -> usize {
    record.stride.max(1)
}

/// All output blocks, with gaps between them as blocks without records, and the number of elements read from each buffer.
fn outputs(stage: &RecordStage) -> Result<(Vec<Block<'_>>, [u64; SPACES]), DeviceError> {
    let (mut list, mut spaces, mut at, mut first_record) = (Vec::new(), [0; SPACES], 0, 0);
    for (number, group) in stage.groups.iter().enumerate() {
        if group.offset < at || group.offset + group.length > stage.length {
            let found = format!("elements {} to {}", group.offset, group.offset + group.length);
            return Err(refused(format!("group {number} of a stage"), "one behind the last and inside", found));
        }
        list.extend(zeros(at, group.offset)?);
        at = group.offset + group.length;
        let block = block(number, group, first_record, &mut spaces)?;
        if group.length > 0 {
            first_record += narrow(block.records.len(), "records of a group")?;
            list.push(block);
        }
    }
    list.extend(zeros(at, stage.length)?);
    Ok((list, spaces))
}

fn zeros(from: usize, to: usize) -> Result<Option<Block<'static>>, DeviceError> {
    if from >= to {
        return Ok(None);
    }
    let (length, stride) = (to - from, (to - from).min(ZEROS));
    Ok(Some(Block {
        offset: from,
        length,
        stride: narrow(stride, "a row")?,
        columns: narrow(length.div_ceil(stride), "columns of zeros")?,
        records: &[],
        parts: Vec::new(),
        places: Vec::new(),
        first_record: 0,
    }))
}

fn block<'a>(
    number: usize,
    group: &'a RecordGroup,
    first_record: u32,
    spaces: &mut [u64; SPACES],
) -> Result<Block<'a>, DeviceError> {
    let what = |k: usize| format!("record {k} of group {number}");
    let stride = group.records.first().map_or(group.length.clamp(1, ZEROS), stride_of);
    let (mut parts, mut places) = (Vec::new(), Vec::with_capacity(group.records.len()));
    for (k, record) in group.records.iter().enumerate() {
        let (row, column) = (record.first % stride, record.first / stride);
        let behind = record.first + record.columns.saturating_sub(1) * stride + record.rows;
        if stride_of(record) != stride || row + record.rows > stride || behind > group.length {
            let expected = format!("a part of a block of {} elements with {stride} rows", group.length);
            let found = format!("{} x {} from element {}", record.rows, record.columns, record.first);
            return Err(refused(what(k), &expected, format!("{found}, {} a column", record.stride)));
        }
        let number = |n: usize| narrow(n, "a row or column of a record");
        let place =
            Rectangle { first: [number(row)?, number(column)?], size: [number(record.rows)?, number(record.columns)?] };
        read_of(record, spaces)?;
        if let Action::Product { inner, .. } = record.action {
            parts.push(Part { place, inner: number(inner)? });
        }
        places.push(place);
    }
    Ok(Block {
        offset: group.offset,
        length: group.length,
        stride: narrow(stride, "rows of a block")?,
        columns: narrow(group.length.div_ceil(stride), "columns of a block")?,
        records: &group.records,
        parts,
        places,
        first_record,
    })
}

/// Extends the buffer lengths by what a record reads.
fn read_of(record: &Record, spaces: &mut [u64; SPACES]) -> Result<(), DeviceError> {
    let mut read = |operand: &Operand, rows: usize, columns: usize| {
        let (rows, columns) = if operand.transposed { (columns, rows) } else { (rows, columns) };
        if rows > 0 && columns > 0 {
            narrow(operand.stride, "a stride")?;
            let end = operand.offset + (columns - 1) * operand.stride + rows;
            let most = &mut spaces[operand.space as usize];
            *most = (*most).max(end as u64);
        }
        Ok(())
    };
    match &record.action {
        Action::Product { a, b, inner } => {
            read(a, record.rows, *inner)?;
            read(b, *inner, record.columns)
        }
        Action::Copy { a } => read(a, record.rows, record.columns),
        Action::Diagonal => Ok(()),
    }
}

fn packed(record: &Record, stride: usize) -> ProductRecord {
    // `outputs` has checked that all of these fit.
    let place = |operand: &Operand| Place {
        space: operand.space as u32,
        offset: operand.offset as u64,
        stride: operand.stride as u32,
        transposed: operand.transposed,
    };
    let (kind, operands, inner) = match &record.action {
        Action::Product { a, b, inner } => (RecordKind::Product, [place(a), place(b)], *inner as u32),
        Action::Copy { a } => (RecordKind::Copy, [place(a), Place::default()], 0),
        Action::Diagonal => (RecordKind::Diagonal, [Place::default(); 2], 0),
    };
    ProductRecord {
        kind,
        operands,
        inner,
        first: [(record.first % stride) as u32, (record.first / stride) as u32],
        size: [record.rows as u32, record.columns as u32],
        coefficient: record.coefficient,
        maps: [0; 2],
        row_before: false,
    }
}

/// The cut with the shortest predicted longest share: large tiles need less memory traffic, small ones balance better.
fn best_cut(outputs: &[Block<'_>], blocks: u32, kinds: &[Loads]) -> (Loads, Vec<Cut>) {
    let uncut: Vec<Uncut> =
        outputs.iter().map(|block| Uncut::new([block.stride, block.columns], &block.parts)).collect();
    let mut best: Option<(f64, Loads, Vec<Choice>)> = None;
    let sides = [GroupedProductsPlan::SIDE, 64, 32];
    for (loads, most) in kinds.iter().flat_map(|loads| sides.map(|most| (*loads, most))) {
        let choices: Vec<Choice> = uncut.iter().map(|block| block.cheapest(loads, most)).collect();
        let Cost { sum, longest, tiles } =
            choices.iter().fold(Cost::default(), |cost, choice| cost.combined(choice.cost()));
        // With the longest first, the longest share exceeds the mean share by at most about half a mean tile.
        let mean = sum / f64::from(tiles.max(1));
        let share = (sum / f64::from(blocks) + 0.5 * mean).max(longest) + loads.preparation();
        if best.as_ref().is_none_or(|(least, ..)| share < *least) {
            best = Some((share, loads, choices));
        }
    }
    let Some((_, loads, choices)) = best else { return (Loads::Carried, Vec::new()) };
    let mut cuts = Vec::with_capacity(choices.iter().map(|choice| choice.cost().tiles as usize).sum());
    for (block, (uncut, choice)) in uncut.iter().zip(choices).enumerate() {
        cuts.extend(uncut.tiles(choice).into_iter().map(|(place, cycles)| Cut { block, place, cycles }));
    }
    (loads, cuts)
}

/// Order of the tiles, and the first tile of each block plus the end.
fn deal(cuts: &[Cut], blocks: u32) -> (Vec<usize>, Vec<u32>) {
    let mut longest_first: Vec<usize> = (0..cuts.len()).collect();
    longest_first.sort_by(|a, b| cuts[*b].cycles.total_cmp(&cuts[*a].cycles));
    let (mut owners, mut starts) = (Vec::with_capacity(cuts.len()), vec![0u32; blocks as usize + 1]);
    // Cycles are rounded to integers because the heap needs an order.
    let mut least: BinaryHeap<Reverse<(u64, u32)>> = (0..blocks).map(|block| Reverse((0, block))).collect();
    for tile in &longest_first {
        let Some(mut first) = least.peek_mut() else { break };
        let Reverse((cycles, block)) = *first;
        owners.push(block);
        starts[block as usize + 1] += 1;
        *first = Reverse((cycles + cuts[*tile].cycles as u64, block));
    }
    (1..starts.len()).for_each(|block| starts[block] += starts[block - 1]);
    let mut places = starts.clone();
    let mut order = vec![0; owners.len()];
    for (tile, owner) in longest_first.into_iter().zip(owners) {
        let place = &mut places[owner as usize];
        order[*place as usize] = tile;
        *place += 1;
    }
    (order, starts)
}

/// A tile, and for each record that touches it twice its number, plus one if the tile begins at an odd row of the
/// record's part.
fn tile_of(block: &Block<'_>, place: &Rectangle, loads: Loads, touching: &mut Vec<u32>) -> Result<Tile, DeviceError> {
    let products = |record: &Record| match record.action {
        Action::Product { inner, .. } => inner > 0,
        _ => false,
    };
    let others = |record: &Record| !matches!(record.action, Action::Product { .. });
    let mut bounds = [narrow(touching.len(), "records that touch tiles")?; 3];
    let mut list = |wanted: &dyn Fn(&Record) -> bool| {
        for ((k, record), part) in (block.first_record..).zip(block.records).zip(&block.places) {
            if wanted(record) && part.meets(place) {
                touching.push(2 * k + (place.first[0] + part.first[0]) % 2);
            }
        }
        narrow(touching.len(), "records that touch tiles")
    };
    bounds[1] = list(&products)?;
    bounds[2] = list(&others)?;
    Ok(Tile {
        fragments: loads.fragments(place.size),
        first: place.first,
        size: place.size,
        offset: block.offset as u64,
        length: block.length as u64,
        stride: block.stride,
        touching: bounds,
    })
}
