//! A stage of operation records through cuBLAS, product by product: the strategies of the paper (Nemes, Barcza, Nagy, Legeza
//! and Szolgay 2014, section 7 and Table 2).
//!
//! In: a [`RecordStage`], the buffers its records read, on a card. Out: what [`records::run`](crate::records::run) gives on
//! the CPU. Products are `dgemm`, copies `dgeam`; records of one output block follow each other on one stream. Where the
//! strategy keeps operators in host memory, [`LibraryProducts::prepare`] copies them there.

use super::DeviceBuffers;
use crate::device::{Device, MatrixBlock, MatrixCall, MatrixOperand, MatrixPlace, MatrixProducts, Pinned, Vector};
use crate::error::DeviceError;
use crate::records::{Action, Operand, OperandSpace, RecordStage, SPACE_LIST, SPACES, Strategy};
use crate::residency::Spare;
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of streams of the strategies with several.
const STREAMS: usize = 4;
/// The spaces of operators, which `nostreamstorage` keeps in host memory.
const OPERATORS: [OperandSpace; 4] =
    [OperandSpace::Left, OperandSpace::LeftSum, OperandSpace::Right, OperandSpace::RightSum];

/// cuBLAS on the streams of a strategy.
pub struct LibraryProducts {
    device: Device,
    products: MatrixProducts,
    stored: bool,
    /// Host memory kept for reuse: pinning its pages takes longer than the copy.
    spare: Arc<Spare<Pinned>>,
}

/// A stage as calls of cuBLAS.
pub struct LibraryStage {
    blocks: Vec<MatrixBlock>,
    /// Elements that must be zeroed first, because no call overwrites them.
    clear: usize,
    operators: Vec<(OperandSpace, Pinned)>,
    spare: Arc<Spare<Pinned>>,
}

fn place(operand: &Operand) -> MatrixPlace {
    let Operand { space, offset, stride, transposed } = *operand;
    MatrixPlace { source: space as usize, first: offset, stride, transposed }
}

/// The calls of a stage, per output block, and whether each block's first call overwrites it.
///
/// # Errors
/// A record that cuBLAS has no routine for.
pub fn calls(stage: &RecordStage) -> Result<(Vec<Vec<MatrixCall>>, bool), DeviceError> {
    let mut covered = stage.groups.iter().map(|group| group.length).sum::<usize>() == stage.length;
    let mut blocks = Vec::with_capacity(stage.groups.len());
    for group in &stage.groups {
        let mut calls: Vec<MatrixCall> = Vec::with_capacity(group.records.len());
        for record in &group.records {
            let (a, b, inner) = match &record.action {
                Action::Product { a, b, inner } => (place(a), Some(place(b)), *inner),
                Action::Copy { a } => (place(a), None, 0),
                Action::Diagonal => {
                    return Err(DeviceError::Arguments {
                        what: "records through cuBLAS".into(),
                        expected: "products and copies".into(),
                        found: "a multiple of 1, for which it has no routine".into(),
                    });
                }
            };
            let whole = record.first == 0 && record.rows * record.columns == group.length;
            let beta = if calls.is_empty() && whole { 0.0 } else { 1.0 };
            covered &= !calls.is_empty() || whole;
            let (size, first) = ([record.rows, record.columns, inner], group.offset + record.first);
            calls.push(MatrixCall { a, b, size, alpha: record.coefficient, beta, first, stride: record.stride });
        }
        covered &= !calls.is_empty();
        blocks.push(calls);
    }
    if !covered {
        blocks.iter_mut().flatten().for_each(|call| call.beta = 1.0);
    }
    Ok((blocks, covered))
}

/// The stream of each block: the most expensive first, to the stream with the least work.
fn deal(blocks: &[Vec<MatrixCall>], streams: usize) -> Vec<usize> {
    let flops = |call: &MatrixCall| call.size.iter().map(|n| (*n).max(1) as f64).product::<f64>();
    let costs: Vec<f64> = blocks.iter().map(|calls| calls.iter().map(flops).sum()).collect();
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|a, b| costs[*b].total_cmp(&costs[*a]));
    let (mut shares, mut stream_of) = (vec![0.0; streams], vec![0; order.len()]);
    for block in order {
        let least = (0..streams).min_by(|a, b| f64::total_cmp(&shares[*a], &shares[*b])).unwrap_or(0);
        shares[least] += costs[block];
        stream_of[block] = least;
    }
    stream_of
}

/// Calls one by one from every stream in turn, each stream's in its own order, so that no stream waits for work while another's
/// is being queued (the paper's Algorithm 6).
fn interleaved(stream_of: &[usize], blocks: Vec<Vec<MatrixCall>>) -> Vec<MatrixBlock> {
    let mut queues: Vec<VecDeque<MatrixCall>> = Vec::new();
    queues.resize_with(stream_of.iter().max().map_or(0, |last| last + 1), VecDeque::new);
    stream_of.iter().zip(blocks).for_each(|(stream, calls)| queues[*stream].extend(calls));
    let mut order = Vec::new();
    while queues.iter().any(|queue| !queue.is_empty()) {
        let next = queues.iter_mut().enumerate().filter_map(|(stream, queue)| Some((stream, vec![queue.pop_front()?])));
        order.extend(next);
    }
    order
}

impl LibraryProducts {
    /// For a strategy other than `planned`.
    ///
    /// # Errors
    /// The device is not a card; the machine has no cuBLAS.
    pub fn new(device: &Device, strategy: Strategy) -> Result<LibraryProducts, DeviceError> {
        let streams = if strategy == Strategy::NoStreams { 1 } else { STREAMS };
        let (products, stored) = (MatrixProducts::new(device, streams)?, strategy == Strategy::NoStreamStorage);
        Ok(LibraryProducts { device: device.clone(), products, stored, spare: Arc::default() })
    }

    /// Turns a stage into calls. With the strategy that stores operators, those in `buffers` are copied to host memory
    /// and read from there; they must be complete.
    ///
    /// # Errors
    /// A record that cuBLAS has no routine for; the device fails.
    pub fn prepare(&self, stage: &RecordStage, buffers: &DeviceBuffers<'_>) -> Result<LibraryStage, DeviceError> {
        let (blocks, covered) = calls(stage)?;
        let streams = deal(&blocks, self.products.streams());
        let mut operators = Vec::new();
        if self.stored {
            for space in OPERATORS {
                let read = read_of(space, &blocks);
                let (Some((vector, first)), true) = (buffers.get(space), read > 0) else { continue };
                let mut values = self.host(read)?;
                vector.read_part(first, &mut values[..read])?;
                operators.push((space, values));
            }
        }
        let clear = if covered { 0 } else { stage.length };
        let blocks = interleaved(&streams, blocks);
        Ok(LibraryStage { blocks, clear, operators, spare: self.spare.clone() })
    }

    /// Host memory for `length` numbers.
    fn host(&self, length: usize) -> Result<Pinned, DeviceError> {
        let kept = self.spare.take(length, |pinned| pinned.len());
        kept.map_or_else(|| self.device.pinned(length.next_power_of_two()), Ok)
    }

    /// Queues a stage: writes the sums of the groups to `output`, from its element `first` on.
    ///
    /// # Errors
    /// A vector is missing, too short, or on another device.
    pub fn run_into(
        &self,
        stage: &LibraryStage,
        buffers: &DeviceBuffers<'_>,
        output: &mut Vector<f64>,
        first: usize,
    ) -> Result<(), DeviceError> {
        let sources: [MatrixOperand<'_>; SPACES] = SPACE_LIST.map(|space| {
            match (stage.operators.iter().find(|(stored, _)| *stored == space), buffers.get(space)) {
                (Some((_, values)), _) => MatrixOperand::Host(values),
                (None, Some((vector, first))) => MatrixOperand::Device(vector, first),
                (None, None) => MatrixOperand::Nothing,
            }
        });
        self.products.run(&stage.blocks, &sources, output, first, stage.clear)
    }
}

impl LibraryStage {
    /// The same into an output that holds zeros where this stage writes and other blocks elsewhere.
    pub(super) fn over_zeros(mut self) -> LibraryStage {
        self.clear = 0;
        self
    }
}

/// Elements of a space that calls read.
fn read_of(space: OperandSpace, blocks: &[Vec<MatrixCall>]) -> usize {
    let of = |call: &MatrixCall| {
        let extents = call.extents();
        let places = [Some(call.a), call.b].into_iter().zip(extents);
        let ends = places.filter_map(|(place, extent)| place.map(|place| (place, extent)));
        ends.filter(|(place, _)| place.source == space as usize).map(|(place, extent)| place.first + extent).max()
    };
    blocks.iter().flatten().filter_map(of).max().unwrap_or(0)
}

impl Drop for LibraryStage {
    fn drop(&mut self) {
        let operators = std::mem::take(&mut self.operators).into_iter().map(|(_, values)| values);
        self.spare.give_back(operators);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Buffers, Record, RecordGroup, run};
    use crate::seeded::vector;

    /// What cuBLAS does with calls.
    fn by_loops(blocks: &[Vec<MatrixCall>], data: &[Vec<f64>], output: &mut [f64]) {
        let at = |place: MatrixPlace, row: usize, column: usize| {
            let (row, column) = if place.transposed { (column, row) } else { (row, column) };
            data[place.source][place.first + row + column * place.stride]
        };
        for call in blocks.iter().flatten() {
            let [m, n, inner] = call.size;
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let value = match call.b {
                    Some(b) => (0..inner).map(|k| at(call.a, i, k) * at(b, k, j)).sum::<f64>(),
                    None => at(call.a, i, j),
                };
                let c = &mut output[call.first + i + j * call.stride];
                // As in BLAS, β = 0 reads nothing of what was there.
                *c = call.alpha * value + if call.beta == 0.0 { 0.0 } else { call.beta * *c };
            }
        }
    }

    /// Random records: blocks that a first record covers, or, with `holes`, blocks and places that none does.
    fn stage(holes: bool, seed: u64) -> RecordStage {
        let random = vector(4000, seed);
        let mut next = random.iter();
        let mut below = |most: usize| ((next.next().unwrap().abs() * most as f64) as usize).min(most - 1);
        let mut stage = RecordStage::default();
        for group in 0..7 {
            let (rows, columns) = (1 + below(9), 1 + below(9));
            let mut records = Vec::new();
            for k in 0..(1 + below(4)).min(if holes && group == 3 { 0 } else { 9 }) {
                let whole = k == 0 && !holes;
                let (m, n) = if whole { (rows, columns) } else { (1 + below(rows), 1 + below(columns)) };
                let first = if whole { 0 } else { below(rows - m + 1) + below(columns - n + 1) * rows };
                let space = |k: usize| SPACE_LIST[k];
                let (of_a, of_b) = (space(below(SPACES)), space(below(SPACES)));
                let mut operand =
                    |space| Operand { space, offset: below(40), stride: 12 + below(3), transposed: below(2) == 0 };
                let (a, b) = (operand(of_a), operand(of_b));
                let action = match below(3) {
                    0 => Action::Copy { a },
                    _ => Action::Product { a, b, inner: 1 + below(9) },
                };
                records.push(Record { action, coefficient: 0.7, first, stride: rows, rows: m, columns: n });
            }
            let length = rows * columns;
            stage.groups.push(RecordGroup { offset: stage.length, length, records });
            stage.length += length + if holes { below(3) } else { 0 };
        }
        stage
    }

    #[test]
    fn calls_give_what_the_records_give() {
        let data: Vec<Vec<f64>> = (0..SPACES).map(|space| vector(400, 50 + space as u64)).collect();
        let buffers = SPACE_LIST.iter().zip(&data).fold(Buffers::default(), |b, (space, data)| b.set(*space, data));
        for (holes, seed) in [(false, 1), (false, 2), (true, 3), (true, 4)] {
            let stage = stage(holes, seed);
            let (blocks, covered) = calls(&stage).unwrap();
            assert_eq!(covered, !holes);
            let mut expected = vec![f64::NAN; stage.length];
            run(&stage, buffers, &mut expected);
            let mut found = vec![if covered { f64::NAN } else { 0.0 }; stage.length];
            by_loops(&blocks, &data, &mut found);
            for (element, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!((found - expected).abs() < 1e-12, "{seed}, element {element}: {found} is not {expected}");
            }
        }
    }

    /// On a card, by each strategy, into the middle of a vector.
    #[test]
    fn cublas_gives_what_the_records_give() {
        let Some(device) = crate::testing::card_or_skip() else { return };
        let data: Vec<Vec<f64>> = (0..SPACES).map(|space| vector(400, 60 + space as u64)).collect();
        let host = SPACE_LIST.iter().zip(&data).fold(Buffers::default(), |b, (space, data)| b.set(*space, data));
        let uploaded = |data: &Vec<f64>| device.upload(&[&[f64::NAN; 5][..], data].concat()).unwrap();
        let vectors: Vec<Vector<f64>> = data.iter().map(uploaded).collect();
        let buffers = SPACE_LIST.iter().zip(&vectors);
        let buffers = buffers.fold(DeviceBuffers::default(), |b, (space, vector)| b.with_from(*space, vector, 5));
        for strategy in &Strategy::ALL[1..] {
            let library = LibraryProducts::new(&device, *strategy).unwrap();
            for (holes, seed) in [(false, 5), (true, 6), (false, 7)] {
                let stage = stage(holes, seed);
                let mut expected = vec![f64::NAN; stage.length];
                run(&stage, host, &mut expected);
                let mut output = device.upload(&vec![f64::NAN; stage.length + 9]).unwrap();
                let prepared = library.prepare(&stage, &buffers).unwrap();
                library.run_into(&prepared, &buffers, &mut output, 4).unwrap();
                let found = output.download().unwrap();
                assert!(found[..4].iter().chain(&found[4 + stage.length..]).all(|x| x.is_nan()), "only the output");
                for (element, (found, expected)) in found[4..].iter().zip(&expected).enumerate() {
                    let name = strategy.name();
                    assert!((found - expected).abs() < 1e-12, "{name}, {element}: {found} is not {expected}");
                }
            }
        }
    }

    #[test]
    fn a_record_without_a_routine_is_refused() {
        let record = Record { action: Action::Diagonal, coefficient: 1.0, first: 0, stride: 2, rows: 2, columns: 2 };
        let stage =
            RecordStage { groups: vec![RecordGroup { offset: 0, length: 4, records: vec![record] }], length: 4 };
        let said = calls(&stage).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("expected products and copies"), "{said}");
    }

    #[test]
    fn calls_of_the_streams_take_turns() {
        let stage = stage(false, 9);
        let (blocks, _) = calls(&stage).unwrap();
        let streams = deal(&blocks, 3);
        let order = interleaved(&streams, blocks.clone());
        assert!(order.iter().all(|(_, calls)| calls.len() == 1));
        assert_eq!(order[..3].iter().map(|(stream, _)| *stream).collect::<Vec<_>>(), [0, 1, 2]);
        // Every stream has its blocks' calls in their order.
        for stream in 0..3 {
            let of_stream = |(block, _): &(usize, &Vec<MatrixCall>)| streams[*block] == stream;
            let expected = blocks.iter().enumerate().filter(of_stream).flat_map(|(_, calls)| calls);
            let found = order.iter().filter(|(found, _)| *found == stream).flat_map(|(_, calls)| calls);
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_stream_has_much_more_to_do_than_another() {
        let stage = stage(false, 9);
        let (blocks, _) = calls(&stage).unwrap();
        let flops = |call: &MatrixCall| call.size.iter().map(|n| (*n).max(1) as f64).product::<f64>();
        let costs: Vec<f64> = blocks.iter().map(|calls| calls.iter().map(flops).sum()).collect();
        let mut shares = [0.0f64; 3];
        deal(&blocks, 3).iter().zip(&costs).for_each(|(stream, cost)| shares[*stream] += cost);
        let largest = costs.iter().fold(0.0f64, |most, cost| most.max(*cost));
        let (most, least) =
            (shares.iter().fold(0.0f64, |a, b| a.max(*b)), shares.iter().fold(f64::MAX, |a, b| a.min(*b)));
        assert!(least > 0.0 && most - least <= largest, "{shares:?}");
    }
}
