//! Operation records of DMRG by cuBLAS's batched products, which came after the paper (Nemes et al. 2014).
//!
//! In: stages of records and their matrices. Out: milliseconds of one pass, and what it wrote. Records of one output
//! block go into rounds that follow each other, so that no two write one place at once. The paper's own ways, product by
//! product on streams, are those of a [solve](eigenforge_runtime::records::card::LibraryProducts).

use super::blas::{Blas, Numbers};
use super::device::{Buffer, Context};
use super::{VendorError, median};
use eigenforge_runtime::records::card;
use eigenforge_runtime::records::{OperandSpace, RecordStage, SPACES};
use eigenforge_runtime::{MatrixCall, MatrixPlace};
use std::collections::BTreeMap;

/// How records reach cuBLAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorStrategy {
    /// Products of one shape that write different blocks in one call of `dgemmBatched`.
    Batched,
    /// Products that write different blocks in one call of `dgemmGroupedBatched`.
    Grouped,
}

impl VendorStrategy {
    /// All of them.
    pub const ALL: [VendorStrategy; 2] = [VendorStrategy::Batched, VendorStrategy::Grouped];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
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

/// What calls of one batch share: sizes, strides, transpositions, the bits of c and β.
type Shape = ([i32; 3], [i32; 3], [bool; 2], [u64; 2]);

/// A product as cuBLAS takes it.
fn numbers(call: &MatrixCall, b: &MatrixPlace) -> Numbers {
    Numbers {
        size: call.size.map(|n| n as i32),
        strides: [call.a.stride, b.stride, call.stride].map(|n| n as i32),
        transposed: [call.a.transposed, b.transposed],
        alpha: call.alpha,
        beta: call.beta,
    }
}

fn shape(of: &Numbers) -> Shape {
    (of.size, of.strides, of.transposed, [of.alpha.to_bits(), of.beta.to_bits()])
}

/// The calls of a stage, output block by output block.
struct Calls {
    blocks: Vec<Vec<MatrixCall>>,
    /// Whether every block's first call overwrites it.
    covered: bool,
}

impl Calls {
    fn new(stage: &RecordStage) -> Result<Calls, VendorError> {
        let unsupported = |_| VendorError::Unsupported { what: "a multiple of 1" };
        let (blocks, covered) = card::calls(stage).map_err(unsupported)?;
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
}

impl Setup {
    fn new(stages: &[&RecordStage], data: &[(OperandSpace, &[f64])]) -> Result<Setup, VendorError> {
        let mut spaces = (0..SPACES).map(|_| Buffer::zeros(1)).collect::<Result<Vec<Buffer<f64>>, _>>()?;
        for (space, data) in data {
            spaces[*space as usize] = Buffer::upload(data)?;
        }
        let outputs = stages.iter().map(|stage| Buffer::zeros(stage.length)).collect::<Result<Vec<_>, _>>()?;
        Ok(Setup { blas: Blas::new()?, spaces, outputs })
    }

    /// Address of a matrix on the device.
    fn address(&self, place: &MatrixPlace) -> *const f64 {
        match place.source == OperandSpace::Between as usize {
            true => self.outputs[0].element(place.first),
            false => self.spaces[place.source].element(place.first),
        }
    }

    fn rounds(&mut self, stage: usize, calls: &Calls) -> Result<Vec<Round>, VendorError> {
        let most = calls.blocks.iter().map(Vec::len).max().unwrap_or(0);
        let round = |r: usize| calls.blocks.iter().filter_map(move |calls| calls.get(r).copied());
        (0..most).map(|r| self.round(stage, round(r))).collect()
    }

    fn round(&mut self, stage: usize, calls: impl Iterator<Item = MatrixCall>) -> Result<Round, VendorError> {
        let mut by_shape: BTreeMap<Shape, (Numbers, Vec<[u64; 3]>)> = BTreeMap::new();
        for call in calls {
            let Some(b) = &call.b else { return Err(VendorError::Unsupported { what: "a copy in a batch" }) };
            let of = numbers(&call, b);
            let c = self.outputs[stage].element_mut(call.first) as u64;
            let addresses = [self.address(&call.a) as u64, self.address(b) as u64, c];
            by_shape.entry(shape(&of)).or_insert_with(|| (of, Vec::new())).1.push(addresses);
        }
        let mut addresses = [const { Vec::new() }; 3];
        let mut batches = Vec::new();
        for (numbers, of) in by_shape.into_values() {
            batches.push(Batch { numbers, count: of.len() as i32 });
            for call in of {
                addresses.iter_mut().zip(call).for_each(|(list, address)| list.push(address));
            }
        }
        let [a, b, c] = addresses;
        Ok(Round { batches, addresses: [Buffer::upload(&a)?, Buffer::upload(&b)?, Buffer::upload(&c)?] })
    }

    fn run_rounds(&mut self, calls: &[Calls], rounds: &[Vec<Round>], grouped: bool) -> Result<(), VendorError> {
        for (stage, (calls, rounds)) in calls.iter().zip(rounds).enumerate() {
            // Blocks that no call overwrites are zero.
            if !calls.covered {
                self.outputs[stage].clear()?;
            }
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
}

/// Runs the stages in turn; where there are two, the second reads what the first writes as `Between`.
///
/// # Errors
/// A library that is missing, a card that is too small, a record that cuBLAS has no routine for.
pub fn products(
    stages: &[&RecordStage],
    data: &[(OperandSpace, &[f64])],
    strategy: VendorStrategy,
    ordinal: usize,
    repeats: usize,
) -> Result<VendorProducts, VendorError> {
    let context = Context::open(ordinal)?;
    let read: usize = data.iter().map(|(_, data)| data.len()).sum();
    let written: usize = stages.iter().map(|stage| stage.length).sum();
    context.must_hold(8 * (read + written) + (256 << 20))?;
    let calls = stages.iter().map(|stage| Calls::new(stage)).collect::<Result<Vec<_>, _>>()?;
    let mut setup = Setup::new(stages, data)?;
    let rounds = calls.iter().enumerate().map(|(stage, calls)| setup.rounds(stage, calls));
    let rounds = rounds.collect::<Result<Vec<_>, _>>()?;
    let times = context.time(repeats, || setup.run_rounds(&calls, &rounds, strategy == VendorStrategy::Grouped))?;
    context.synchronize()?;
    let mut output = vec![f64::NAN; stages.last().map_or(0, |stage| stage.length)];
    if let Some(buffer) = setup.outputs.last() {
        buffer.read(&mut output)?;
    }
    Ok(VendorProducts { milliseconds: median(&times), output })
}
