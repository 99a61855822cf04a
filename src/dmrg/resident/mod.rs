//! The engine of a card: operators of blocks, kept states, ψ and Davidson's vectors stay in its memory.
//!
//! ```text
//! Stage → one launch (device::Products)          H x → V, W, λ, ‖r‖ (davidson.rs, generated kernels)
//! ψ → weights of all sectors → states that stay (truncate.rs, decompose.rs: eigenvectors of all sectors at once)
//! ```
//!
//! What crosses to the host: of each product three numbers, of each truncation the weights, and copies of the state for
//! checkpoints and averages; where the CPU has a share of H x, what its records read too (beside.rs). It also runs on a simulated device, which is how its texts are tested without a card.

mod balance;
mod beside;
mod davidson;
mod decompose;
mod diagonal;
mod held;
mod lent;
mod multiply;
mod pool;
mod texts;
mod truncate;

pub(in crate::dmrg) use decompose::workspace as decomposing;
pub(in crate::dmrg) use diagonal::stages as diagonal_stages;
pub use held::Held;
pub use multiply::{Multiplier, Multiply};
pub use pool::{Limits, Pool};
pub use texts::generated;

use super::backend::{Backend, Operands};
use super::blocks::Side;
use super::bond::Bond;
use super::cpu_share::CpuShare;
use super::davidson::{Found, Limits as DavidsonLimits};
use super::device::{DeviceBuffers, Products};
use super::engine::Engine;
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::memory_plan::{Budget, MemoryPlan, Processor, Usage};
use super::records::{SPACE_LIST, Stage};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::truncate::{Limits as Keep, Truncated, Wave};
use davidson::Davidson;
use decompose::Decomposer;
use eigenforge_runtime::{Device, DeviceError, Eigensolver, trace};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// A device that runs kernels, with everything that a run keeps there between bonds.
pub struct Resident {
    device: Device,
    products: Products,
    /// Who runs H x in solves.
    multiplier: Multiplier,
    pool: Arc<Pool>,
    davidson: Mutex<Davidson>,
    decomposer: Decomposer,
    /// Ones, as many as the longest diagonal asked for.
    ones: Mutex<Option<Held>>,
}

/// Targets that a device finds at most: a search stays orthogonal to all others.
pub fn most_targets() -> usize {
    davidson::most_below() + 1
}

/// Ones at least; more are made as sectors grow.
pub(super) const ONES: usize = 1 << 8;

impl Resident {
    /// Compiles the kernels, or finds them.
    ///
    /// # Errors
    /// The CPU, which runs no kernels; a compiler or cuSOLVER that is missing.
    pub fn new(device: &Device) -> Result<Resident, DmrgError> {
        Resident::within(device, Limits::of(device, None, None, std::env::temp_dir()))
    }

    /// The same within limits: what the sweep has left behind goes to host memory where it is in the way, and to the disk.
    ///
    /// # Errors
    /// Those of [`Resident::new`].
    pub fn within(device: &Device, limits: Limits) -> Result<Resident, DmrgError> {
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
        Ok(Resident {
            device: device.clone(),
            multiplier: Multiplier::new(device, &products, Strategy::Planned, CpuShare::default())?,
            products,
            davidson: Mutex::new(Davidson::new(device, &pool)?),
            decomposer: Decomposer::new(device, eigensolver)?,
            pool,
            ones: Mutex::default(),
        })
    }

    /// Where it computes.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it holds, and how much that may be.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: Processor::Card, memory: self.pool.limit(), host: self.pool.host_limit() }
    }

    /// The buffers of a launch.
    fn buffers<'a>(operands: Operands<'a, Held>) -> DeviceBuffers<'a> {
        let with = |buffers: DeviceBuffers<'a>, space| {
            operands.get(space).map_or(buffers, |held: &'a Held| buffers.with(space, held.vector()))
        };
        SPACE_LIST.into_iter().fold(DeviceBuffers::default(), with)
    }

    /// The output of a stage.
    fn stage(&self, stage: &Stage, operands: Operands<'_, Held>) -> Result<Held, DeviceError> {
        let mut output = self.pool.take(stage.length)?;
        if stage.length > 0 {
            let prepared = self.products.prepare(stage)?;
            self.products.run(&prepared, &Resident::buffers(operands), output.vector_mut())?;
        }
        Ok(output)
    }
}

impl Backend for Resident {
    type Buffer = Held;

    fn upload(&self, data: Vec<f64>) -> Result<Held, DmrgError> {
        Ok(self.pool.upload(&data)?)
    }

    fn download<'b>(&self, buffer: &'b Held) -> Result<Cow<'b, [f64]>, DmrgError> {
        Ok(Cow::Owned(buffer.copy()?))
    }

    fn run(&self, stage: &Stage, operands: Operands<'_, Held>) -> Result<Held, DmrgError> {
        Ok(self.stage(stage, operands)?)
    }

    fn dot(&self, x: &Held, y: &Held) -> Result<f64, DmrgError> {
        Ok(self.davidson.lock().unwrap_or_else(PoisonError::into_inner).inner(x, y)?)
    }

    fn leave(&self, buffer: &mut Held) -> Result<(), DmrgError> {
        buffer.leave()
    }

    fn expect(&self, buffer: &mut Held, bonds: usize) -> Result<(), DmrgError> {
        buffer.expect(bonds)
    }

    fn arrive(&self, buffer: &mut Held) -> Result<(), DmrgError> {
        buffer.arrive()
    }

    fn eigenvalues(&self, mut matrices: Held, list: &[(usize, usize)]) -> Result<Vec<Vec<f64>>, DmrgError> {
        Ok(self.decompose(&mut matrices, list)?.into_iter().map(|spectrum| spectrum.values).collect())
    }
}

impl Engine for Resident {
    fn take_up(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
        strategy.check(&self.device)?;
        self.multiplier = Multiplier::new(&self.device, &self.products, strategy, share)?;
        Ok(())
    }

    fn diagonal(
        &self,
        bond: &Bond<Held>,
        left: &Environment<Held>,
        right: &Environment<Held>,
    ) -> Result<Held, DmrgError> {
        Ok(self.diagonal_of(bond, left, right)?)
    }

    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Held>,
        diagonal: &Held,
        wave: &mut Held,
        limits: DavidsonLimits,
    ) -> Result<Found, DmrgError> {
        self.solve_against(superblock, operands, diagonal, wave, limits, &[])
    }

    fn most_against(&self) -> usize {
        davidson::most_below()
    }

    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Held>,
        diagonal: &Held,
        wave: &mut Held,
        limits: DavidsonLimits,
        against: &[&Held],
    ) -> Result<Found, DmrgError> {
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut multiply = self.multiplier.prepare(superblock, Resident::buffers(operands), &self.pool)?;
        Ok(davidson.solve(&mut multiply, diagonal, wave, limits, against)?)
    }

    fn release(&mut self) {
        drop(self.pool.unpark());
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn hold_to(&mut self, plan: &MemoryPlan) -> Result<(), DmrgError> {
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(self.pool.unpark());
        self.pool.hold_to(plan)?;
        Ok(davidson.hold_to(plan.width, plan.vectors)?)
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

    fn truncate(&self, wave: Wave<'_, Held>, side: Side, limits: Keep) -> Result<Truncated<Held>, DmrgError> {
        Ok(self.keep_best(wave, side, limits)?)
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, Held>,
        side: Side,
        limits: Keep,
        operators: &EnlargedOperators<Held>,
        operands: Operands<'_, Held>,
        noise: f64,
    ) -> Result<Truncated<Held>, DmrgError> {
        Ok(self.keep_best_with_noise(wave, side, limits, operators, operands, noise)?)
    }
}

/// The device that tests of this folder run on: a card if one is asked for, else the simulator.
#[cfg(test)]
fn test_device() -> Option<Device> {
    eigenforge_runtime::testing::card_or_simulated(eigenforge_runtime::simulate::Schedule::Forward)
}
