//! The engine of a card: operators of blocks, kept states, ψ and Davidson's vectors stay in its memory.
//!
//! ```text
//! Stage → one launch (device::Products)          H x → V, W, λ, ‖r‖ (davidson.rs, generated kernels)
//! ψ → weights of all sectors → states that stay (truncate.rs: generated Jacobi, the library's syevd)
//! ```
//!
//! What crosses to the host: of each product three numbers, of each truncation the weights, and copies of the state for
//! checkpoints and averages. It also runs on a simulated device, which is how its texts are tested without a card.

mod davidson;
mod diagonal;
mod lent;
mod pool;
mod truncate;

pub(super) use diagonal::stages as diagonal_stages;
pub use pool::{Held, Pool};

use super::blocks::{PairedSector, Sectors, Side, WaveLayout};
use super::bond::Bond;
use super::davidson::{Found, Limits as DavidsonLimits};
use super::device::{DeviceBuffers, Products};
use super::engine::{Engine, Operands};
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::memory::{Budget, MemoryPlan, Processor, Usage};
use super::records::{SPACE_LIST, Stage};
use super::superblock::Superblock;
use super::truncate::{Limits as Keep, Truncated, Wave};
use davidson::Davidson;
use eigenforge_runtime::{Device, DeviceError};
use eigenforge_templates::dmrg::GroupedProductsPlan;
use eigenforge_templates::eigen::{DavidsonPlan, DecompositionsPlan};
use eigenforge_templates::{KernelText, TextError};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use truncate::Decomposer;

/// A device that runs kernels, with everything that a run keeps there between bonds.
pub struct Resident {
    device: Device,
    products: Products,
    pool: Arc<Pool>,
    davidson: Mutex<Davidson>,
    decomposer: Decomposer,
    /// Ones, as many as the longest diagonal asked for.
    ones: Mutex<Held>,
}

/// Part of the free memory that buffers may take; the rest is for kernels, tables and the library's workspaces.
const USED: f64 = 0.9;
/// Part of the free host memory that blocks may fill which have left.
const USED_BESIDE: f64 = 0.8;

/// What a run on a device may hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of the device's memory.
    pub memory: u64,
    /// Bytes of host memory, for what has left the device.
    pub host: u64,
    /// Folder for what host memory has no room for.
    pub scratch: PathBuf,
}

impl Limits {
    /// As given, else nine tenths of the free memory of the device and four fifths of what is free beside it.
    pub fn of(device: &Device, memory: Option<u64>, host: Option<u64>, scratch: PathBuf) -> Limits {
        let free = |device: &Device, part: f64| (part * device.memory().free as f64) as u64;
        Limits {
            memory: memory.unwrap_or_else(|| free(device, USED)),
            host: host.unwrap_or_else(|| free(&Device::cpu(), USED_BESIDE)),
            scratch,
        }
    }

    /// So many bytes, and as many beside.
    #[cfg(test)]
    fn tiny(bytes: u64) -> Limits {
        Limits { memory: bytes, host: bytes, scratch: std::env::temp_dir() }
    }
}

/// The generated files that every run on a device uses.
///
/// # Errors
/// A fault of a template.
pub fn texts() -> Result<[KernelText; 3], TextError> {
    let (davidson, small) = (DavidsonPlan::new("dmrg"), DecompositionsPlan::new("dmrg"));
    Ok([GroupedProductsPlan::new("dmrg").text()?, davidson.text()?, small.text()?])
}

/// Ones to begin with; more are made as sectors grow.
pub(super) const ONES: usize = 1 << 12;

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
        let pool = Pool::new(device, limits)?;
        let ones = Mutex::new(pool.upload(&vec![1.0; ONES])?);
        Ok(Resident {
            device: device.clone(),
            products: Products::new(device)?,
            davidson: Mutex::new(Davidson::new(device, &pool)?),
            decomposer: Decomposer::new(device)?,
            pool,
            ones,
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

    /// Bytes in its memory, in use or kept for use.
    pub fn bytes(&self) -> u64 {
        self.pool.bytes()
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

impl Engine for Resident {
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
        let davidson = self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner);
        Ok(davidson.solve(&self.products, superblock, Resident::buffers(operands), diagonal, wave, limits)?)
    }

    fn leave(&self, buffer: &mut Held) -> Result<(), DmrgError> {
        let to_come = self.davidson.lock().unwrap_or_else(PoisonError::into_inner).to_come();
        if self.pool.is_busy(to_come) { buffer.leave() } else { Ok(()) }
    }

    fn settle(&self, buffer: &mut Held) -> Result<(), DmrgError> {
        buffer.settle()
    }

    fn expect(&self, buffer: &mut Held, bonds: usize) -> Result<(), DmrgError> {
        buffer.expect(bonds)
    }

    fn arrive(&self, buffer: &mut Held) -> Result<(), DmrgError> {
        buffer.arrive()
    }

    fn release(&mut self) {
        self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner).release();
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn hold_to(&mut self, plan: &MemoryPlan) {
        self.pool.hold_to(plan);
        self.davidson.get_mut().unwrap_or_else(PoisonError::into_inner).hold_to(plan.width, plan.vectors);
    }

    fn usage(&self) -> Usage {
        self.pool.usage()
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

/// Elements that a decomposition of ψ takes at most beside ψ: vectors and workspaces of sectors with a short side, density
/// matrices of the others; `own` is the sector of the block that grows.
pub(super) fn decomposing(layout: &WaveLayout, sectors: &Sectors, own: impl Fn(usize) -> usize) -> usize {
    let most = DecompositionsPlan::new("dmrg").most;
    let of = |(index, sector): (usize, &PairedSector)| {
        let (short, long) = (sector.rows.min(sector.columns), sector.rows.max(sector.columns));
        let d = sectors.dimension(own(index));
        if short <= most { d * short + (long + short) * short } else { d * d }
    };
    layout.sectors.iter().enumerate().map(of).sum()
}

/// The device that tests of this folder run on: a card if one is asked for, else the simulator.
#[cfg(test)]
fn test_device() -> Device {
    match std::env::var("EIGENFORGE_TEST_DEVICE") {
        Ok(name) => Device::parse(&name).unwrap(),
        Err(_) => Device::simulated(eigenforge_runtime::simulate::Schedule::Forward).unwrap(),
    }
}
