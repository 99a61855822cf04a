//! Operation records of DMRG by cuBLAS, in the ways of the paper (Nemes et al. 2014, Table 2) and two later ones.
//!
//! In: stages of records and their matrices. Out: milliseconds of one pass, and what it wrote. Records of one output
//! block follow each other on one stream, so that no two write one place at once. Products are `dgemm`, copies `dgeam`.

use super::blas::{Blas, Numbers};
use super::device::{Buffer, Context, Pinned, Stream, order_streams};
use super::{VendorError, median};
use crate::dmrg::records::{Action, Operand, SPACES, Space, Stage};
use std::collections::BTreeMap;

/// How records reach cuBLAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorStrategy {
    /// One after the other (`nostreams`).
    NoStreams,
    /// Output blocks dealt out to four streams (`4streams`).
    FourStreams,
    /// Operators in host memory, copied before each product that needs them (`nostreamstorage`).
    NoStreamStorage,
    /// Products of one shape that write different blocks in one call of `dgemmBatched`.
    Batched,
    /// Products that write different blocks in one call of `dgemmGroupedBatched`.
    Grouped,
}

impl VendorStrategy {
    /// All of them.
    pub const ALL: [VendorStrategy; 5] = [
        VendorStrategy::NoStreams,
        VendorStrategy::FourStreams,
        VendorStrategy::NoStreamStorage,
        VendorStrategy::Batched,
        VendorStrategy::Grouped,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            VendorStrategy::NoStreams => "nostreams",
            VendorStrategy::FourStreams => "4streams",
            VendorStrategy::NoStreamStorage => "nostreamstorage",
            VendorStrategy::Batched => "batched",
            VendorStrategy::Grouped => "grouped",
        }
    }
}

/// What a strategy came to.
pub struct VendorProducts {
    /// Median milliseconds of one pass over all stages.
    pub milliseconds: f64,
    /// The last stage's output.
    pub output: Vec<f64>,
}

/// One call of `dgemm` or `dgeam`, ready.
#[derive(Clone, Copy, Debug)]
struct Call {
    product: bool,
    size: [i32; 3],
    operands: [Operand; 2],
    coefficient: f64,
    /// 0 for the first record of a block that it covers, else 1.
    beta: f64,
    /// First element of the output, and elements from a column to the next.
    first: usize,
    stride: i32,
}

/// What calls of one batch share: sizes, strides, transpositions, the bits of c and β.
type Shape = ([i32; 3], [i32; 3], [bool; 2], [u64; 2]);

impl Call {
    fn numbers(&self) -> Numbers {
        let [a, b] = self.operands;
        Numbers {
            size: self.size,
            strides: [a.stride as i32, b.stride as i32, self.stride],
            transposed: [a.transposed, b.transposed],
            alpha: self.coefficient,
            beta: self.beta,
        }
    }

    fn shape(&self) -> Shape {
        let Numbers { size, strides, transposed, alpha, beta } = self.numbers();
        (size, strides, transposed, [alpha.to_bits(), beta.to_bits()])
    }

    /// Elements from the first to the last of each stored operand.
    fn extents(&self) -> [usize; 2] {
        let [m, n, k] = self.size.map(|n| n as usize);
        let extent = |operand: &Operand, rows: usize, columns: usize| {
            let (rows, columns) = if operand.transposed { (columns, rows) } else { (rows, columns) };
            (columns - 1) * operand.stride + rows
        };
        if !self.product {
            return [extent(&self.operands[0], m, n); 2];
        }
        [extent(&self.operands[0], m, k), extent(&self.operands[1], k, n)]
    }

    fn flops(&self) -> f64 {
        self.size.iter().map(|n| f64::from(*n).max(1.0)).product()
    }
}

/// The calls of a stage, output block by output block.
struct Calls {
    blocks: Vec<Vec<Call>>,
    /// Whether every block's first call overwrites it.
    covered: bool,
}

impl Calls {
    fn of(stage: &Stage) -> Result<Calls, VendorError> {
        let mut covered = stage.groups.iter().map(|group| group.length).sum::<usize>() == stage.length;
        let mut blocks = Vec::new();
        for group in &stage.groups {
            let mut calls = Vec::new();
            for record in &group.records {
                let (product, operands, inner) = match record.action {
                    Action::Product { a, b, inner } => (true, [a, b], inner),
                    Action::Copy { a } => (false, [a, a], 0),
                    Action::Diagonal => return Err(VendorError::Unsupported { what: "a multiple of 1" }),
                };
                let whole = record.first == 0 && record.rows * record.columns == group.length;
                let beta = if calls.is_empty() && whole { 0.0 } else { 1.0 };
                covered &= !calls.is_empty() || whole;
                let size = [record.rows, record.columns, inner].map(|n| n as i32);
                let (first, stride) = (group.offset + record.first, record.stride as i32);
                calls.push(Call { product, size, operands, coefficient: record.coefficient, beta, first, stride });
            }
            covered &= !calls.is_empty();
            blocks.push(calls);
        }
        if !covered {
            blocks.iter_mut().flatten().for_each(|call| call.beta = 1.0);
        }
        Ok(Calls { blocks, covered })
    }
}

/// Products of one shape that write different blocks, and the addresses of their matrices on the device.
struct Batch {
    numbers: Numbers,
    count: i32,
}

/// Calls that run at once: batches, and all their addresses one after the other.
struct Round {
    batches: Vec<Batch>,
    addresses: [Buffer<u64>; 3],
}

/// Everything on the card.
struct Setup {
    blas: Blas,
    spaces: Vec<Buffer<f64>>,
    outputs: Vec<Buffer<f64>>,
    streams: Vec<Stream>,
    /// Operators that stay in host memory, and a place for two of them a stream.
    host: Vec<(Space, Pinned)>,
    staging: Vec<[Buffer<f64>; 2]>,
}

impl Setup {
    fn new(
        stages: &[&Stage],
        calls: &[Calls],
        data: &[(Space, &[f64])],
        strategy: VendorStrategy,
    ) -> Result<Setup, VendorError> {
        let storage = strategy == VendorStrategy::NoStreamStorage;
        let mut spaces = (0..SPACES).map(|_| Buffer::zeros(1)).collect::<Result<Vec<Buffer<f64>>, _>>()?;
        let mut host = Vec::new();
        for (space, data) in data {
            if storage && *space != Space::Input {
                host.push((*space, Pinned::new(data)?));
            } else {
                spaces[*space as usize] = Buffer::upload(data)?;
            }
        }
        let outputs = stages.iter().map(|stage| Buffer::zeros(stage.length)).collect::<Result<Vec<_>, _>>()?;
        let count = if storage || strategy == VendorStrategy::FourStreams { 4 } else { 1 };
        let streams = (0..count).map(|_| Stream::new()).collect::<Result<Vec<_>, _>>()?;
        let all = calls.iter().flat_map(|calls| calls.blocks.iter().flatten());
        let room = if storage { all.flat_map(Call::extents).max().unwrap_or(1) } else { 1 };
        let staging = (0..count).map(|_| Ok([Buffer::zeros(room)?, Buffer::zeros(room)?]));
        let staging = staging.collect::<Result<Vec<_>, VendorError>>()?;
        Ok(Setup { blas: Blas::new()?, spaces, outputs, streams, host, staging })
    }

    /// Address of an operand on the device.
    fn at(&self, operand: &Operand) -> *const f64 {
        match operand.space {
            Space::Between => self.outputs[0].element(operand.offset),
            space => self.spaces[space as usize].element(operand.offset),
        }
    }

    /// The same, after a copy from the host on a stream where it lives there.
    fn fetched(&self, call: &Call, which: usize, stream: usize) -> Result<*const f64, VendorError> {
        let operand = &call.operands[which];
        let Some((_, from)) = self.host.iter().find(|(space, _)| *space == operand.space) else {
            return Ok(self.at(operand));
        };
        let to = &self.staging[stream][which];
        from.queue_copy(operand.offset, call.extents()[which], to, &self.streams[stream])?;
        Ok(to.pointer())
    }

    /// Everything before is done first; blocks that no call overwrites are zero.
    fn start(&mut self, stage: usize, calls: &Calls) -> Result<(), VendorError> {
        order_streams(&mut self.staging[0][0])?;
        if calls.covered { Ok(()) } else { self.outputs[stage].clear() }
    }

    fn rounds(&mut self, stage: usize, calls: &Calls) -> Result<Vec<Round>, VendorError> {
        let most = calls.blocks.iter().map(Vec::len).max().unwrap_or(0);
        let round = |r: usize| calls.blocks.iter().filter_map(move |calls| calls.get(r).copied());
        (0..most).map(|r| self.round(stage, round(r))).collect()
    }

    fn round(&mut self, stage: usize, calls: impl Iterator<Item = Call>) -> Result<Round, VendorError> {
        let mut by_shape: BTreeMap<Shape, Vec<Call>> = BTreeMap::new();
        for call in calls {
            if !call.product {
                return Err(VendorError::Unsupported { what: "a copy in a batch" });
            }
            by_shape.entry(call.shape()).or_default().push(call);
        }
        let mut addresses = [const { Vec::new() }; 3];
        let mut batches = Vec::new();
        for calls in by_shape.values() {
            for call in calls {
                addresses[0].push(self.at(&call.operands[0]) as u64);
                addresses[1].push(self.at(&call.operands[1]) as u64);
                addresses[2].push(self.outputs[stage].element_mut(call.first) as u64);
            }
            batches.push(Batch { numbers: calls[0].numbers(), count: calls.len() as i32 });
        }
        let [a, b, c] = addresses;
        Ok(Round { batches, addresses: [Buffer::upload(&a)?, Buffer::upload(&b)?, Buffer::upload(&c)?] })
    }

    fn run_rounds(&mut self, calls: &[Calls], rounds: &[Vec<Round>], grouped: bool) -> Result<(), VendorError> {
        for (stage, (calls, rounds)) in calls.iter().zip(rounds).enumerate() {
            self.start(stage, calls)?;
            for Round { batches, addresses } in rounds {
                if grouped {
                    let numbers: Vec<Numbers> = batches.iter().map(|batch| batch.numbers).collect();
                    let counts: Vec<i32> = batches.iter().map(|batch| batch.count).collect();
                    self.blas.grouped(&numbers, &counts, addresses)?;
                    continue;
                }
                let mut first = 0;
                for batch in batches {
                    self.blas.batched(&batch.numbers, addresses, first, batch.count)?;
                    first += batch.count as usize;
                }
            }
        }
        Ok(())
    }

    fn run_streams(&mut self, calls: &[Calls], shares: &[Vec<usize>]) -> Result<(), VendorError> {
        for (stage, (calls, shares)) in calls.iter().zip(shares).enumerate() {
            self.start(stage, calls)?;
            for (block, &stream) in calls.blocks.iter().zip(shares) {
                self.blas.on_stream(Some(&self.streams[stream]))?;
                for call in block {
                    let addresses = [self.fetched(call, 0, stream)?, self.fetched(call, 1, stream)?];
                    let out = self.outputs[stage].element_mut(call.first);
                    if call.product {
                        self.blas.multiply(&call.numbers(), addresses, out)?;
                    } else {
                        self.blas.add_matrix(&call.numbers(), addresses[0], out)?;
                    }
                }
            }
        }
        self.blas.on_stream(None)?;
        order_streams(&mut self.staging[0][0])
    }
}

/// The stream of each block: the costliest first, to the stream with the least to do.
fn deal(calls: &Calls, streams: usize) -> Vec<usize> {
    let costs: Vec<f64> = calls.blocks.iter().map(|block| block.iter().map(Call::flops).sum()).collect();
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

/// Runs the stages in turn; where there are two, the second reads what the first writes as `Between`.
///
/// # Errors
/// A library that is missing, a card that is too small, a record that cuBLAS has no routine for.
pub fn products(
    stages: &[&Stage],
    data: &[(Space, &[f64])],
    strategy: VendorStrategy,
    ordinal: usize,
    repeats: usize,
) -> Result<VendorProducts, VendorError> {
    let context = Context::open(ordinal)?;
    let read: usize = data.iter().map(|(_, data)| data.len()).sum();
    let written: usize = stages.iter().map(|stage| stage.length).sum();
    context.must_hold(8 * (read + written) + (256 << 20))?;
    let calls = stages.iter().map(|stage| Calls::of(stage)).collect::<Result<Vec<_>, _>>()?;
    let mut setup = Setup::new(stages, &calls, data, strategy)?;
    let times = match strategy {
        VendorStrategy::Batched | VendorStrategy::Grouped => {
            let rounds = calls.iter().enumerate().map(|(stage, calls)| setup.rounds(stage, calls));
            let rounds = rounds.collect::<Result<Vec<_>, _>>()?;
            context.time(repeats, || setup.run_rounds(&calls, &rounds, strategy == VendorStrategy::Grouped))?
        }
        _ => {
            let shares: Vec<Vec<usize>> = calls.iter().map(|calls| deal(calls, setup.streams.len())).collect();
            context.time(repeats, || setup.run_streams(&calls, &shares))?
        }
    };
    context.synchronize()?;
    let mut output = vec![f64::NAN; stages.last().map_or(0, |stage| stage.length)];
    if let Some(buffer) = setup.outputs.last() {
        buffer.read(&mut output)?;
    }
    Ok(VendorProducts { milliseconds: median(&times), output })
}
