//! What a step of a growing chain comes to: sizes, memory, and seconds by part.
//!
//! In: a [`GrowthStep`], where it ran. Out: a [`Step`]. One product with H is timed after the step's solve, by the means of the
//! solve, in time that is none of the step's.

use eigenforge::dmrg::{DmrgError, GrowthStep};
use eigenforge_runtime::backend::{Operands, slices};
use eigenforge_runtime::records::card::{DeviceBuffers, Multiplier, Products};
use eigenforge_runtime::records::{
    Action, CpuShare, Operand, OperandSpace, Record, RecordStage, SPACE_LIST, Strategy, TwoStages,
};
use eigenforge_runtime::residency::{MemoryLimits, Pool, PoolBuffer};
use eigenforge_runtime::timing::median;
use eigenforge_runtime::{Device, DeviceError};
use std::sync::Arc;
use std::time::Instant;

/// What a step came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// Most states kept of a block behind it.
    pub kept: usize,
    /// Elements of ψ.
    pub dimension: usize,
    /// Elements of ψ if no charge were fixed.
    pub unrestricted: f64,
    /// Sectors of ψ.
    pub sectors: usize,
    /// Elements of the largest.
    pub largest_sector: usize,
    /// (m n k)^⅓ of a product of matrices, on average.
    pub matrix: f64,
    /// Products with H.
    pub products: usize,
    /// Operations of one.
    pub flops: f64,
    pub memory: Memory,
    pub seconds: f64,
    /// Of the solve.
    pub solve: f64,
    /// Of one product with H.
    pub product: f64,
    /// Of both truncations.
    pub truncation: f64,
    pub energy: f64,
}

/// Bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Matrices of operators that H x reads.
    pub operators: f64,
    /// One vector.
    pub vector: f64,
    /// The largest sector of it.
    pub segment: f64,
    /// All intermediates A x together.
    pub between: f64,
    /// The largest of them.
    pub largest_between: f64,
    /// The largest that each sector of the result reads, together: one for every stream.
    pub between_of_streams: f64,
}

impl Memory {
    /// With everything resident and an intermediate for every stream (the paper's 4Streams).
    pub(super) fn four_streams(&self) -> f64 {
        self.operators + 2.0 * self.vector + self.between_of_streams
    }

    /// With operators and result resident, and one segment and intermediate at a time (the paper's NoStreams).
    pub(super) fn no_streams(&self) -> f64 {
        self.operators + self.vector + self.segment + self.largest_between
    }

    /// As ours runs it: all intermediates at once.
    pub(super) fn planned(&self) -> f64 {
        self.operators + 2.0 * self.vector + self.between
    }

    fn new(product: &TwoStages) -> Memory {
        let bytes = |elements: usize| 8.0 * elements as f64;
        let mut most = [0usize; SPACE_LIST.len()];
        let mut reads = |operand: &Operand, rows: usize, columns: usize| {
            let (rows, columns) = if operand.transposed { (columns, rows) } else { (rows, columns) };
            let end = operand.offset + columns.saturating_sub(1) * operand.stride + rows;
            let most = &mut most[operand.space as usize];
            *most = end.max(*most);
        };
        for record in [&product.first, &product.second].into_iter().flat_map(records) {
            match &record.action {
                Action::Product { a, b, inner } => {
                    reads(a, record.rows, *inner);
                    reads(b, *inner, record.columns);
                }
                Action::Copy { a } => reads(a, record.rows, record.columns),
                Action::Diagonal => {}
            }
        }
        let of = |space: OperandSpace| most[space as usize];
        let operators = [OperandSpace::Left, OperandSpace::LeftSum, OperandSpace::Right, OperandSpace::RightSum];
        let length_of_between = |offset: usize| {
            let group = product.first.groups.partition_point(|group| group.offset <= offset);
            group.checked_sub(1).map_or(0, |group| product.first.groups[group].length)
        };
        let read_by = |record: &Record| match &record.action {
            Action::Product { a, b, .. } => [Some(*a), Some(*b)],
            Action::Copy { a } => [Some(*a), None],
            Action::Diagonal => [None, None],
        };
        let largest_of = |records: &[Record]| {
            let operands = records.iter().flat_map(read_by).flatten();
            let between = operands.filter(|operand| operand.space == OperandSpace::Between);
            between.map(|operand| length_of_between(operand.offset)).max().unwrap_or(0)
        };
        Memory {
            operators: operators.into_iter().map(|space| bytes(of(space))).sum(),
            vector: bytes(product.second.length),
            segment: bytes(product.second.groups.iter().map(|group| group.length).max().unwrap_or(0)),
            between: bytes(product.first.length),
            largest_between: bytes(product.first.groups.iter().map(|group| group.length).max().unwrap_or(0)),
            between_of_streams: product.second.groups.iter().map(|group| bytes(largest_of(&group.records))).sum(),
        }
    }
}

fn records(stage: &RecordStage) -> impl Iterator<Item = &Record> {
    stage.groups.iter().flat_map(|group| &group.records)
}

impl Step {
    /// A step of a sweep, whose product is not timed yet.
    fn new<B>(step: &GrowthStep<'_, B>) -> Step {
        let (record, layout) = (step.record, &step.frame.layout);
        let sizes = [&step.product.first, &step.product.second].into_iter().flat_map(records).filter_map(|record| {
            let Action::Product { inner, .. } = record.action else { return None };
            Some(((record.rows * record.columns * inner) as f64).cbrt())
        });
        let (sum, count) = sizes.fold((0.0, 0usize), |(sum, count), size| (sum + size, count + 1));
        let states = |sectors: &eigenforge::dmrg::Sectors| sectors.total() as f64;
        Step {
            kept: record.kept,
            dimension: record.dimension,
            unrestricted: states(&step.frame.left.sectors) * states(&step.frame.right.sectors),
            sectors: layout.sectors.len(),
            largest_sector: layout.sectors.iter().map(|sector| sector.rows * sector.columns).max().unwrap_or(0),
            matrix: sum / count.max(1) as f64,
            products: record.products,
            flops: record.flops / record.products.max(1) as f64,
            memory: Memory::new(step.product),
            seconds: record.seconds,
            solve: record.solve_seconds,
            product: f64::NAN,
            truncation: record.truncation_seconds,
            energy: record.energy,
        }
    }

    /// On this machine's cores.
    pub(super) fn on_host(step: &GrowthStep<'_, Vec<f64>>) -> Step {
        let (mut between, mut y) = (Vec::new(), vec![0.0; step.product.second.length]);
        let mut once = || {
            let begun = Instant::now();
            step.product.multiply(slices(step.operands), step.wave, &mut between, &mut y);
            begun.elapsed().as_secs_f64()
        };
        once();
        Step { product: once(), ..Step::new(step) }
    }
}

/// Times products on a device.
pub(super) struct DeviceProducts {
    device: Device,
    multiplier: Multiplier,
    pool: Arc<Pool>,
}

impl DeviceProducts {
    pub(super) fn new(device: &Device, strategy: Strategy) -> Result<DeviceProducts, DeviceError> {
        let multiplier = Multiplier::new(device, &Products::new(device)?, strategy, CpuShare::default())?;
        let limits = MemoryLimits::new(device, None, None, std::env::temp_dir());
        Ok(DeviceProducts { device: device.clone(), multiplier, pool: Pool::new(device, limits)? })
    }

    pub(super) fn step(&self, step: &GrowthStep<'_, PoolBuffer>) -> Result<Step, DmrgError> {
        let product = self.seconds(step.product, step.operands, step.wave).map_err(DmrgError::from)?;
        Ok(Step { product, ..Step::new(step) })
    }

    fn seconds<'a>(
        &'a self,
        product: &TwoStages,
        operands: Operands<'a, PoolBuffer>,
        x: &PoolBuffer,
    ) -> Result<f64, DeviceError> {
        let with = |buffers: DeviceBuffers<'a>, space| {
            operands.get(space).map_or(buffers, |held: &'a PoolBuffer| buffers.set(space, held.vector()))
        };
        let buffers = SPACE_LIST.into_iter().fold(DeviceBuffers::default(), with);
        let mut multiply = self.multiplier.prepare(product, buffers, &self.pool)?;
        let mut y = self.pool.take(product.second.length)?;
        multiply.run(x, 0, &mut y, 0)?;
        let mut times = [0.0; 3];
        for time in &mut times {
            let (done, milliseconds) = self.device.time(|| multiply.run(x, 0, &mut y, 0))?;
            done?;
            *time = 1e-3 * milliseconds;
        }
        Ok(median(&times))
    }
}
