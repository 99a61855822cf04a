//! The CPU's part of H x beside a card (Nemes, Barcza, Nagy, Legeza and Szolgay 2014, section 7, Algorithm 5).
//!
//! In: the records of y = H x, and the fraction of their operations that the CPU should do. Out: two lists of records, one
//! for each processor, what the CPU reads and where its results belong. All records of an output block stay together, so
//! that nothing must be merged. Blocks go to the card from the most expensive down, as long as that brings it closer to
//! its share; the rest go to the CPU. An intermediate goes with the blocks that read it, and would be computed twice only
//! if blocks of both read it; those of a superblock of DMRG are read by one block each. The CPU's blocks are then cut by
//! columns, so that all cores have work.

use super::{Action, Operand, OperandSpace, Record, RecordGroup, RecordStage, SPACES, TwoStages};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The fraction of the operations of H x that the CPU does while the card does the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CpuShare {
    /// A fixed fraction, from 0 to 1.
    Part(f64),
    /// Balanced from times measured during the run; 0 if the CPU does not help. The last bits of a result depend on the
    /// times.
    Auto,
}

impl Default for CpuShare {
    fn default() -> CpuShare {
        CpuShare::Part(0.0)
    }
}

impl fmt::Display for CpuShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuShare::Part(part) => write!(f, "{part}"),
            CpuShare::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for CpuShare {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuShare, String> {
        let share = if text == "auto" { Some(CpuShare::Auto) } else { text.parse().ok().map(CpuShare::Part) };
        let wrong = || format!("expected {}, found {text}", CpuShare::EXPECTED);
        share.filter(|share| share.is_possible()).ok_or_else(wrong)
    }
}

impl CpuShare {
    /// The accepted values.
    pub const EXPECTED: &str = "a part from 0 (all of H x on the card) to 1, or \"auto\"";

    /// Whether the value is valid.
    pub fn is_possible(self) -> bool {
        match self {
            CpuShare::Part(part) => (0.0..=1.0).contains(&part),
            CpuShare::Auto => true,
        }
    }
}

/// The records of y = H x, divided between card and CPU.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Split {
    /// The card's part: all of y, zero in the CPU's blocks.
    pub card: TwoStages,
    /// The CPU's part: its blocks of y, packed, computed from packed copies of what it reads of each buffer.
    pub cpu: TwoStages,
    /// Where its blocks belong: [first element in the packed y, first element in y, length].
    pub stretches: Vec<[usize; 3]>,
    /// Ranges it reads of each buffer except the intermediates, ascending.
    pub reads: [Vec<Range<usize>>; SPACES],
    /// The part of the operations that the CPU does.
    pub part: f64,
}

/// Gaps between ranges up to this many elements are copied rather than skipped: another copy takes as long.
const GAP: usize = 1 << 13;

impl Split {
    /// Gives the CPU whole blocks of y whose operations come as close as possible to `part`.
    pub(crate) fn new(whole: &TwoStages, part: f64) -> Split {
        let needed = needed(whole);
        let work: Vec<f64> = whole.second.groups.iter().zip(&needed).map(|(g, of)| work(whole, g, of)).collect();
        let total: f64 = work.iter().sum();
        let (mine, done) = smallest(&work, part);
        let take = |cpu: bool| {
            let kept: Vec<bool> = mine.iter().map(|mine| *mine == cpu).collect();
            chosen_blocks(whole, &needed, &kept)
        };
        let (card, cpu) = (take(false), take(true));
        let (second, stretches) = side_by_side(&cpu.second);
        let mut cpu = TwoStages { second, ..cpu };
        let reads = reads(&cpu).map(|ranges| joined(ranges, GAP));
        let read = |operand: Operand| {
            (operand.space != OperandSpace::Between).then(|| place(&reads[operand.space as usize], operand.offset))
        };
        for stage in [&mut cpu.first, &mut cpu.second] {
            move_operands(stage, read);
            *stage = in_tasks(std::mem::take(stage));
        }
        Split { card, cpu, stretches, reads, part: if total > 0.0 { done / total } else { 0.0 } }
    }
}

/// The selected blocks of y, at their places, with their intermediates side by side.
pub(super) fn chosen_blocks(whole: &TwoStages, needed: &[Vec<usize>], kept: &[bool]) -> TwoStages {
    let mut wanted = vec![false; whole.first.groups.len()];
    let blocks = needed.iter().zip(kept).filter(|(_, kept)| **kept);
    blocks.flat_map(|(of, _)| of).for_each(|intermediate| wanted[*intermediate] = true);
    let (first, offsets) = packed(&whole.first, &wanted);
    let mut second = chosen(&whole.second, kept);
    let between = |operand: Operand| {
        let at = holder(&whole.first, operand.offset);
        operand.offset - whole.first.groups[at].offset + offsets[at]
    };
    move_operands(&mut second, |operand| (operand.space == OperandSpace::Between).then(|| between(operand)));
    TwoStages { first, second }
}

/// The intermediates that each block of y reads.
pub(super) fn needed(whole: &TwoStages) -> Vec<Vec<usize>> {
    let of = |group: &RecordGroup| {
        let mut list: Vec<usize> = group
            .records
            .iter()
            .flat_map(operands)
            .filter(|(operand, _)| operand.space == OperandSpace::Between)
            .map(|(operand, _)| holder(&whole.first, operand.offset))
            .collect();
        list.sort_unstable();
        list.dedup();
        list
    };
    whole.second.groups.iter().map(of).collect()
}

/// The group that contains an element of a stage's output; a record reads one group.
fn holder(stage: &RecordStage, offset: usize) -> usize {
    stage.groups.partition_point(|group| group.offset <= offset).saturating_sub(1)
}

/// Operations of a block of y and of its intermediates.
pub(super) fn work(whole: &TwoStages, group: &RecordGroup, needed: &[usize]) -> f64 {
    let of = |group: &RecordGroup| group.records.iter().map(Record::flops).sum::<f64>();
    of(group) + needed.iter().map(|intermediate| of(&whole.first.groups[*intermediate])).sum::<f64>()
}

/// The cheapest blocks that together come closest to the fraction `part` of all work, and their work.
fn smallest(work: &[f64], part: f64) -> (Vec<bool>, f64) {
    let total: f64 = work.iter().sum();
    let (mut mine, mut done) = (vec![part >= 1.0; work.len()], 0.0);
    if part >= 1.0 {
        return (mine, total);
    }
    let mut order: Vec<usize> = (0..work.len()).filter(|block| work[*block] > 0.0).collect();
    order.sort_by(|a, b| work[*a].total_cmp(&work[*b]));
    for block in order {
        if done + 0.5 * work[block] > part * total {
            break;
        }
        (mine[block], done) = (true, done + work[block]);
    }
    (mine, done)
}

/// The selected groups, at their places.
fn chosen(stage: &RecordStage, wanted: &[bool]) -> RecordStage {
    let groups = stage.groups.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(group, _)| group.clone());
    RecordStage { groups: groups.collect(), length: stage.length }
}

/// The selected groups without gaps, and the new first element of each group.
fn packed(stage: &RecordStage, wanted: &[bool]) -> (RecordStage, Vec<usize>) {
    let (mut out, mut offsets) = (chosen(stage, wanted), Vec::with_capacity(stage.groups.len()));
    let mut at = 0;
    for (group, wanted) in stage.groups.iter().zip(wanted) {
        offsets.push(at);
        at += if *wanted { group.length } else { 0 };
    }
    let kept = offsets.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(offset, _)| *offset);
    out.groups.iter_mut().zip(kept).for_each(|(group, offset)| group.offset = offset);
    out.length = at;
    (out, offsets)
}

/// Replaces the first elements of operands where a new one is given.
pub(super) fn move_operands(stage: &mut RecordStage, to: impl Fn(Operand) -> Option<usize>) {
    let follow = |operand: &mut Operand| operand.offset = to(*operand).unwrap_or(operand.offset);
    for record in stage.groups.iter_mut().flat_map(|group| &mut group.records) {
        match &mut record.action {
            Action::Product { a, b, .. } => [a, b].into_iter().for_each(follow),
            Action::Copy { a } => follow(a),
            Action::Diagonal => {}
        }
    }
}

/// Approximate number of tasks in a CPU stage: a few per core on many cores, and the same on every machine.
const TASKS: f64 = 64.0;
/// Fewer columns than this are not worth a task.
const NARROW: usize = 8;

/// The same stage, with expensive blocks split into groups of whole columns.
fn in_tasks(stage: RecordStage) -> RecordStage {
    let most = stage.flops() / TASKS;
    let cut = |group: RecordGroup| {
        let work: f64 = group.records.iter().map(Record::flops).sum();
        let stride = group.records.first().map_or(0, |record| record.stride);
        let matrix = |record: &Record| record.stride == stride && record.action != Action::Diagonal;
        if stride == 0 || !group.length.is_multiple_of(stride) || !group.records.iter().all(matrix) {
            return vec![group];
        }
        let columns = group.length / stride;
        let pieces = ((work / most).ceil() as usize).min(columns / NARROW);
        if pieces < 2 {
            return vec![group];
        }
        let piece = |k: usize| columns_of(&group, stride, columns * k / pieces..columns * (k + 1) / pieces);
        (0..pieces).map(piece).collect()
    };
    RecordStage { groups: stage.groups.into_iter().flat_map(cut).collect(), length: stage.length }
}

/// Some columns of a block of `stride` rows.
fn columns_of(group: &RecordGroup, stride: usize, columns: Range<usize>) -> RecordGroup {
    let part = |record: &Record| {
        let first = record.first / stride;
        let (from, to) = (first.max(columns.start), (first + record.columns).min(columns.end));
        if from >= to {
            return None;
        }
        let skip = from - first;
        let behind = |operand: Operand| {
            let offset = operand.offset + if operand.transposed { skip } else { skip * operand.stride };
            Operand { offset, ..operand }
        };
        let action = match record.action {
            Action::Product { a, b, inner } => Action::Product { a, b: behind(b), inner },
            Action::Copy { a } => Action::Copy { a: behind(a) },
            Action::Diagonal => Action::Diagonal,
        };
        let first = record.first % stride + (from - columns.start) * stride;
        Some(Record { action, first, columns: to - from, ..*record })
    };
    let records = group.records.iter().filter_map(part).collect();
    RecordGroup { offset: group.offset + columns.start * stride, length: columns.len() * stride, records }
}

/// Position of an element when ranges are packed; an empty matrix may be anywhere.
pub(super) fn place(ranges: &[Range<usize>], element: usize) -> usize {
    let held = ranges.partition_point(|range| range.end <= element);
    let before: usize = ranges[..held].iter().map(Range::len).sum();
    before + ranges.get(held).map_or(0, |range| element.saturating_sub(range.start))
}

/// The blocks of a stage without gaps, and where they were.
fn side_by_side(stage: &RecordStage) -> (RecordStage, Vec<[usize; 3]>) {
    let (packed, _) = packed(stage, &vec![true; stage.groups.len()]);
    let mut stretches: Vec<[usize; 3]> = Vec::new();
    for (now, before) in packed.groups.iter().zip(&stage.groups) {
        match stretches.last_mut() {
            Some([_, at, length]) if *at + *length == before.offset => *length += before.length,
            _ => stretches.push([now.offset, before.offset, before.length]),
        }
    }
    (packed, stretches)
}

/// The operands of a record, and how many elements each spans.
pub(super) fn operands(record: &Record) -> impl Iterator<Item = (Operand, usize)> {
    let extent = |operand: Operand, rows: usize, columns: usize| {
        let (rows, columns) = if operand.transposed { (columns, rows) } else { (rows, columns) };
        (operand, if rows * columns == 0 { 0 } else { (columns - 1) * operand.stride + rows })
    };
    let (rows, columns) = (record.rows, record.columns);
    let both = match record.action {
        Action::Product { a, b, inner } => [Some(extent(a, rows, inner)), Some(extent(b, inner, columns))],
        Action::Copy { a } => [Some(extent(a, rows, columns)), None],
        Action::Diagonal => [None, None],
    };
    both.into_iter().flatten()
}

/// The ranges of each buffer that records read, as they come.
pub(super) fn reads(of: &TwoStages) -> [Vec<Range<usize>>; SPACES] {
    let mut lists: [Vec<Range<usize>>; SPACES] = Default::default();
    let groups = [&of.first, &of.second].into_iter().flat_map(|stage| &stage.groups);
    for (operand, extent) in groups.flat_map(|group| &group.records).flat_map(operands) {
        if extent > 0 && operand.space != OperandSpace::Between {
            lists[operand.space as usize].push(operand.offset..operand.offset + extent);
        }
    }
    lists
}

/// The ranges in ascending order; those at most `gap` elements apart are joined.
pub(super) fn joined(mut ranges: Vec<Range<usize>>, gap: usize) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if range.start <= last.end + gap => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::sample::{buffers, difference, sample};
    use super::super::{Buffers, run};
    use super::*;
    use crate::seeded::vector;

    /// What the CPU's records read of a buffer, and nothing else.
    fn gathered(data: &[f64], ranges: &[Range<usize>]) -> Vec<f64> {
        ranges.iter().flat_map(|range| &data[range.clone()]).copied().collect()
    }

    #[test]
    fn both_parts_together_are_the_whole_and_the_share_is_kept() {
        for (sectors, seed) in [(9, 11), (24, 12)] {
            let (whole, operators) = sample(sectors, 40, seed);
            let x = vector(whole.second.length, seed + 10);
            let (mut between, mut expected) = (Vec::new(), vec![f64::NAN; whole.second.length]);
            whole.multiply(buffers(&operators), &x, &mut between, &mut expected);
            for part in [0.0, 0.05, 0.3, 0.7, 1.0] {
                let split = Split::new(&whole, part);
                let mut found = vec![f64::NAN; whole.second.length];
                split.card.multiply(buffers(&operators), &x, &mut between, &mut found);
                for [_, at, length] in &split.stretches {
                    assert!(found[*at..][..*length].iter().all(|x| *x == 0.0), "the card leaves the CPU's blocks");
                }
                let read = |space: OperandSpace| {
                    gathered(
                        operators.iter().find(|(of, _)| *of == space).map_or(&x, |(_, data)| data),
                        &split.reads[space as usize],
                    )
                };
                let gathered: Vec<(OperandSpace, Vec<f64>)> =
                    operators.iter().map(|(space, _)| (*space, read(*space))).collect();
                let mut y = vec![f64::NAN; split.cpu.second.length];
                split.cpu.multiply(buffers(&gathered), &read(OperandSpace::Input), &mut between, &mut y);
                for [first, at, length] in &split.stretches {
                    found[*at..][..*length].copy_from_slice(&y[*first..][..*length]);
                }
                assert!(difference(&found, &expected) < 1e-13, "part {part}: {}", difference(&found, &expected));
                // No intermediate is made twice, and whole blocks come as near as they can.
                let (card, cpu, all) = (split.card.flops(), split.cpu.flops(), whole.flops());
                assert!((card + cpu - all).abs() < 1e-9 * all, "{card} and {cpu} of {all}");
                assert!((cpu - split.part * all).abs() < 1e-9 * all, "{cpu} is not {} of {all}", split.part);
                let of_groups = (0..whole.second.groups.len())
                    .map(|block| work(&whole, &whole.second.groups[block], &needed(&whole)[block]));
                let largest = of_groups.fold(0.0, f64::max);
                assert!(largest < 0.5 * all, "blocks to choose from: {largest} of {all}");
                assert!((cpu - part * all).abs() <= 0.5 * largest, "{cpu} of {all} is far from {part}");
                assert_eq!(split.stretches.is_empty(), part == 0.0);
                let tasks = split.cpu.second.groups.len();
                assert!(part < 1.0 || tasks > whole.second.groups.len(), "large blocks are cut: {tasks}");
            }
        }
    }

    /// A part of a block, straight and turned operands, a copy; against the same records in one task.
    #[test]
    fn columns_of_a_block_are_tasks_of_their_own() {
        let (rows, columns, inner) = (13, 50, 9);
        let operand = |space, offset, stride, transposed| Operand { space, offset, stride, transposed };
        let (a, b) = (operand(OperandSpace::Left, 3, 17, false), operand(OperandSpace::Input, 5, 60, false));
        let record =
            |action, first, rows, columns| Record { action, coefficient: 0.7, first, stride: 13, rows, columns };
        let turned = Operand { transposed: true, ..b };
        let records = vec![
            record(Action::Product { a, b: turned, inner }, 0, rows, columns),
            record(Action::Product { a, b, inner }, 2 + 13 * 11, 5, 20),
            record(Action::Copy { a: turned }, 1 + 13 * 30, 12, 19),
            record(Action::Copy { a: b }, 13, 10, 40),
        ];
        let group = RecordGroup { offset: 4, length: rows * columns, records };
        let stage = RecordStage { groups: vec![group], length: 4 + rows * columns + 3 };
        let cut = in_tasks(stage.clone());
        assert_eq!((cut.groups.len(), cut.flops()), (6, stage.flops()));
        let (left, input) = (vector(400, 5), vector(4000, 6));
        let data = Buffers::default().set(OperandSpace::Left, &left).set(OperandSpace::Input, &input);
        let [mut expected, mut found] = [(); 2].map(|()| vec![f64::NAN; stage.length]);
        run(&stage, data, &mut expected);
        run(&cut, data, &mut found);
        assert!(difference(&found, &expected) < 1e-14);
        let whole: Vec<usize> = cut.groups.iter().map(|group| group.length % rows).collect();
        assert_eq!(whole, [0; 6]);
    }

    #[test]
    fn the_smallest_blocks_are_the_cpus() {
        let work = [5.0, 0.0, 40.0, 1.0, 30.0, 4.0, 20.0];
        assert_eq!(smallest(&work, 0.1), (vec![true, false, false, true, false, true, false], 10.0));
        assert_eq!(smallest(&work, 0.12).1, 10.0);
        assert_eq!(smallest(&work, 0.21).1, 30.0);
        assert_eq!(smallest(&work, 1e-4), (vec![false; 7], 0.0));
        assert_eq!(smallest(&work, 1.0), (vec![true; 7], 100.0));
        assert_eq!(smallest(&[0.0, 0.0], 0.5), (vec![false; 2], 0.0));
    }

    #[test]
    fn what_is_read_lies_side_by_side() {
        let ranges = joined(vec![90_000..90_010, 5..9, 7..20, 20 + GAP..30 + GAP, 90_020..90_030], GAP);
        assert_eq!(ranges, [5..30 + GAP, 90_000..90_030]);
        assert_eq!(
            [5, 29 + GAP, 90_000, 90_029].map(|element| place(&ranges, element)),
            [0, 24 + GAP, 25 + GAP, 54 + GAP]
        );
    }

    #[test]
    fn a_share_is_written_as_the_option_of_the_bench_has_it() {
        for (share, written) in [(CpuShare::Auto, "auto"), (CpuShare::Part(0.25), "0.25"), (CpuShare::Part(0.0), "0")] {
            assert_eq!((share.to_string().as_str(), written.parse()), (written, Ok(share)));
        }
        for wrong in ["1.01", "1.5", "-0.1", "half", "nan", "inf", "true"] {
            let said = wrong.parse::<CpuShare>().unwrap_err();
            let expected = "a part from 0 (all of H x on the card) to 1, or \"auto\"";
            assert!(said.contains(expected) && said.ends_with(wrong), "{said}");
        }
    }
}
