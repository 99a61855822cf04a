//! The device engine: operators of blocks, kept states, ψ and Davidson's vectors stay in the device's memory.
//!
//! ```text
//! Stage → one launch (device::Products)          H x → V, W, λ, ‖r‖ (davidson.rs, generated kernels)
//! ψ → weights of all sectors → states that stay (truncate.rs, decompose.rs: eigenvectors of all sectors at once)
//! ```
//!
//! Only these cross to the host: three numbers per product, the weights of each truncation, copies of the state for
//! checkpoints and averages, and, where the CPU has a share of H x, what its records read (cpu_part.rs). The engine also
//! runs on a simulated device, so its kernels are tested without a card.

mod balance;
mod buffer;
mod cpu_part;
mod davidson;
mod decompose;
mod diagonal;
mod multiply;
mod pinned_pool;
mod pool;
mod texts;
mod truncate;

pub use buffer::ResidentBuffer;
pub(in crate::dmrg) use decompose::workspace as decomposing;
pub(in crate::dmrg) use diagonal::stages as diagonal_stages;
pub use multiply::{Multiplier, Multiply};
pub use pool::{MemoryLimits, Pool};
pub use texts::generated;

use super::backend::{Backend, Operands};
use super::blocks::Side;
use super::bond::TwoSiteBond;
use super::cpu_share::CpuShare;
use super::davidson::{DavidsonLimits, DavidsonResult};
use super::device::{DeviceBuffers, Products};
use super::engine::Engine;
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::memory_plan::{Budget, MemoryPlan, Processor, Usage};
use super::records::{RecordStage, SPACE_LIST};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::truncate::{Truncated, TruncationLimits, Wave};
use davidson::Davidson;
use decompose::Decomposer;
use eigenforge_runtime::{Device, DeviceError, Eigensolver, trace};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// A device that runs kernels, with everything that a run keeps there between bonds.
pub struct DeviceEngine {
    device: Device,
    products: Products,
    /// What computes H x in solves.
    multiplier: Multiplier,
    pool: Arc<Pool>,
    davidson: Mutex<Davidson>,
    decomposer: Decomposer,
    /// A vector of ones, as long as the longest diagonal needs.
    ones: Mutex<Option<ResidentBuffer>>,
}

/// The most targets that a device can find: a search stays orthogonal to all others.
pub fn most_targets() -> usize {
    davidson::most_below() + 1
}

/// Initial number of ones; more are made as sectors grow.
pub(super) const ONES: usize = 1 << 8;

impl DeviceEngine {
    /// Compiles the kernels or takes them from the cache.
    ///
    /// # Errors
    /// The device is the CPU, which runs no kernels; the compiler or cuSOLVER is missing.
    pub fn new(device: &Device) -> Result<DeviceEngine, DmrgError> {
        DeviceEngine::within(device, MemoryLimits::of(device, None, None, std::env::temp_dir()))
    }

    /// The same within limits: evictable buffers move to host memory and then to disk when memory is short.
    ///
    /// # Errors
    /// See [`DeviceEngine::new`].
    pub fn within(device: &Device, limits: MemoryLimits) -> Result<DeviceEngine, DmrgError> {
        let _setting_up = trace::span("dmrg", "set up the card");
        let pool = Pool::new(device, limits)?;
        let eigensolver = std::thread::scope(|scope| {
            // cuSOLVER is loaded while the kernels compile.
            let eigensolver = scope.spawn(|| Eigensolver::new(device));
            let compiled = texts::compile_together(device);
            let eigensolver = eigensolver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            compiled.and(eigensolver)
        })?;
        let room = pool.clone();
        let products = Products::new(device)?.with_memory(move |len| room.vector(len));
        Ok(DeviceEngine {
            device: device.clone(),
            multiplier: Multiplier::new(device, &products, Strategy::Planned, CpuShare::default())?,
            products,
            davidson: Mutex::new(Davidson::new(device, &pool)?),
            decomposer: Decomposer::new(device, eigensolver)?,
            pool,
            ones: Mutex::default(),
        })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The pool of device memory.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The memory it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: Processor::Card, memory: self.pool.limit(), host: self.pool.host_limit() }
    }

    /// The buffers of a launch.
    fn buffers<'a>(operands: Operands<'a, ResidentBuffer>) -> DeviceBuffers<'a> {
        let with = |buffers: DeviceBuffers<'a>, space| {
            operands.get(space).map_or(buffers, |held: &'a ResidentBuffer| buffers.with(space, held.vector()))
        };
        SPACE_LIST.into_iter().fold(DeviceBuffers::default(), with)
    }

    /// Runs a stage and returns its output.
    fn stage(
        &self,
        stage: &RecordStage,
        operands: Operands<'_, ResidentBuffer>,
    ) -> Result<ResidentBuffer, DeviceError> {
        let mut output = self.pool.take(stage.length)?;
        if stage.length > 0 {
            let prepared = self.products.prepare(stage)?;
            self.products.run(&prepared, &DeviceEngine::buffers(operands), output.vector_mut())?;
        }
        Ok(output)
    }
}

impl Backend for DeviceEngine {
    type Buffer = ResidentBuffer;

    fn upload(&self, data: Vec<f64>) -> Result<ResidentBuffer, DmrgError> {
        Ok(self.pool.upload(&data)?)
    }

    fn download<'b>(&self, buffer: &'b ResidentBuffer) -> Result<Cow<'b, [f64]>, DmrgError> {
        Ok(Cow::Owned(buffer.copy()?))
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, ResidentBuffer>) -> Result<ResidentBuffer, DmrgError> {
        Ok(self.stage(stage, operands)?)
    }

    fn dot(&self, x: &ResidentBuffer, y: &ResidentBuffer) -> Result<f64, DmrgError> {
        Ok(self.davidson.lock().unwrap_or_else(PoisonError::into_inner).inner(x, y)?)
    }

    fn mark_evictable(&self, buffer: &mut ResidentBuffer) -> Result<(), DmrgError> {
        buffer.mark_evictable()
    }

    fn prefetch(&self, buffer: &mut ResidentBuffer, bonds: usize) -> Result<(), DmrgError> {
        buffer.prefetch(bonds)
    }

    fn ensure_resident(&self, buffer: &mut ResidentBuffer) -> Result<(), DmrgError> {
        buffer.ensure_resident()
    }

    fn eigenvalues(&self, mut matrices: ResidentBuffer, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, DmrgError> {
        Ok(self.decompose(&mut matrices, list)?.into_iter().map(|spectrum| spectrum.values).collect())
    }
}

impl Engine for DeviceEngine {
    fn configure(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
        strategy.check(&self.device)?;
        self.multiplier = Multiplier::new(&self.device, &self.products, strategy, share)?;
        Ok(())
    }

    fn diagonal(
        &self,
        bond: &TwoSiteBond<ResidentBuffer>,
        left: &Environment<ResidentBuffer>,
        right: &Environment<ResidentBuffer>,
    ) -> Result<ResidentBuffer, DmrgError> {
        Ok(self.diagonal_of(bond, left, right)?)
    }

    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, ResidentBuffer>,
        diagonal: &ResidentBuffer,
        wave: &mut ResidentBuffer,
        limits: DavidsonLimits,
    ) -> Result<DavidsonResult, DmrgError> {
        self.solve_against(superblock, operands, diagonal, wave, limits, &[])
    }

    fn max_projected(&self) -> usize {
        davidson::most_below()
    }

    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, ResidentBuffer>,
        diagonal: &ResidentBuffer,
        wave: &mut ResidentBuffer,
        limits: DavidsonLimits,
        against: &[&ResidentBuffer],
    ) -> Result<DavidsonResult, DmrgError> {
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut multiply = self.multiplier.prepare(superblock, DeviceEngine::buffers(operands), &self.pool)?;
        Ok(davidson.solve(&mut multiply, diagonal, wave, limits, against)?)
    }

    fn release(&mut self) {
        drop(self.pool.unpark());
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn apply_plan(&mut self, plan: &MemoryPlan) -> Result<(), DmrgError> {
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(self.pool.unpark());
        self.pool.apply_plan(plan)?;
        Ok(davidson.apply_plan(plan.width, plan.vectors)?)
    }

    fn reserved(&self) -> u64 {
        self.pool.reserved()
    }

    fn usage(&self) -> Usage {
        self.pool.usage()
    }

    fn weighs_by_density(&self) -> bool {
        true
    }

    fn truncate(
        &self,
        wave: Wave<'_, ResidentBuffer>,
        side: Side,
        limits: TruncationLimits,
    ) -> Result<Truncated<ResidentBuffer>, DmrgError> {
        Ok(self.keep_best(wave, side, limits)?)
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, ResidentBuffer>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators<ResidentBuffer>,
        operands: Operands<'_, ResidentBuffer>,
        noise: f64,
    ) -> Result<Truncated<ResidentBuffer>, DmrgError> {
        Ok(self.keep_best_with_noise(wave, side, limits, operators, operands, noise)?)
    }
}

/// The device for this folder's tests: a card if one is requested, else the simulator.
#[cfg(test)]
fn test_device() -> Option<Device> {
    eigenforge_runtime::testing::card_or_simulated(eigenforge_runtime::simulate::Schedule::Forward)
}
