//! The CPU engine with a memory limit: it counts every buffer of a run, and evicts buffers to disk when memory is short.
//!
//! Results equal those of [`HostEngine`] to the last bit, whether or not buffers were evicted. V and W of Davidson's
//! method are reserved for as many vectors as the plan allows, so that memory use does not depend on how many products a
//! bond takes.

use super::backend::{Backend, Operands};
use super::blocks::{Side, WaveLayout};
use super::bond::TwoSiteBond;
use super::cpu_share::CpuShare;
use super::davidson;
use super::engine::Engine;
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::host::{HostEngine, slices};
use super::long_vectors::dot;
use super::memory_plan::{Budget, MemoryPlan, Processor, Usage};
use super::records::{self, RecordStage};
use super::storage::{EvictionQueue, Ledger, SpillStore, SpilledBuffer};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::truncate::{self, Truncated, TruncationLimits, Wave};
use eigenforge_runtime::Device;
use std::borrow::Cow;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All cores of this machine, with a limit on memory.
pub struct BoundedHostEngine {
    host: HostEngine,
    memory: Arc<Memory>,
    /// Bytes that the solver keeps from bond to bond.
    kept: u64,
}

/// State shared by all buffers of an engine.
struct Memory {
    limit: u64,
    /// Evictable bytes above which buffers begin to be written to disk.
    evictable_limit: AtomicU64,
    ledger: Arc<Ledger>,
    evictable: EvictionQueue<Residency>,
    store: Arc<SpillStore<Vec<f64>>>,
}

/// A buffer in host memory or on disk.
pub struct HostBuffer {
    state: BufferState,
    memory: Arc<Memory>,
}

enum BufferState {
    /// In memory; it stays there.
    InUse(Vec<f64>),
    /// Evictable: in memory or on disk.
    Evictable(Arc<Mutex<Residency>>),
    Taken,
}

/// Where an evictable buffer is.
enum Residency {
    InMemory(Vec<f64>),
    OnDisk(SpilledBuffer<Vec<f64>>),
    Lost,
}

/// Default share of the free memory.
const USED: f64 = 0.8;

/// Bytes of `len` numbers.
fn bytes(len: usize) -> u64 {
    8 * len as u64
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Starts writing the oldest evictable buffer to disk; `None` if there is none.
    fn evict_first(&self) -> Option<Result<u64, DmrgError>> {
        self.evictable.first(|place| match std::mem::replace(place, Residency::Lost) {
            Residency::InMemory(values) => {
                let len = bytes(values.len());
                self.ledger.give_back(len);
                Some(self.store.put(values).map(|stored| {
                    *place = Residency::OnDisk(stored);
                    len
                }))
            }
            other => {
                *place = other;
                None
            }
        })
    }

    /// Evicts buffers until `bytes` more bytes fit, or nothing evictable is left.
    fn make_room(&self, bytes: u64) -> Result<(), DmrgError> {
        while self.ledger.held().saturating_add(bytes) > self.limit {
            match self.evict_first() {
                Some(written) => written.and_then(|_| self.store.settle())?,
                None => return self.store.settle(),
            }
        }
        Ok(())
    }

    /// Starts writing what the plan says must be evicted.
    fn start_evictions(&self) -> Result<(), DmrgError> {
        let here = |place: &Residency| if let Residency::InMemory(values) = place { bytes(values.len()) } else { 0 };
        let over = self.evictable.sum(here).saturating_sub(self.evictable_limit.load(Ordering::Relaxed));
        let mut begun = 0;
        while begun < over
            && let Some(bytes) = self.evict_first()
        {
            begun += bytes?;
        }
        Ok(())
    }
}

impl Default for BoundedHostEngine {
    /// Four fifths of the free memory, and the system's folder for temporary files.
    fn default() -> BoundedHostEngine {
        BoundedHostEngine::within(BoundedHostEngine::default_limit(), std::env::temp_dir())
    }
}

impl BoundedHostEngine {
    /// Four fifths of the memory that is free.
    pub fn default_limit() -> u64 {
        (USED * Device::cpu().memory().free as f64) as u64
    }

    /// The memory it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: Processor::Host, memory: self.memory.limit, host: 0 }
    }

    /// With a memory limit in bytes, and a scratch folder for evicted buffers.
    pub fn within(limit: u64, scratch: PathBuf) -> BoundedHostEngine {
        let ledger = Arc::<Ledger>::default();
        let store = SpillStore::new(ledger.clone(), 0, scratch, |len| Ok(vec![0.0; len]));
        let (evictable_limit, evictable) = (AtomicU64::new(limit), EvictionQueue::default());
        let memory = Memory { limit, evictable_limit, ledger, evictable, store };
        BoundedHostEngine { host: HostEngine::default(), memory: Arc::new(memory), kept: 0 }
    }

    /// Wraps numbers as a counted buffer; evicts others to make room.
    fn numbers(&self, values: Vec<f64>) -> Result<HostBuffer, DmrgError> {
        self.memory.make_room(bytes(values.len()))?;
        self.memory.ledger.take(bytes(values.len()));
        Ok(HostBuffer { state: BufferState::InUse(values), memory: self.memory.clone() })
    }

    /// Counts the workspace and the results of a truncation.
    fn worked(&self, truncated: Truncated, workspace: usize) -> Result<Truncated<HostBuffer>, DmrgError> {
        self.memory.make_room(bytes(workspace))?;
        self.memory.ledger.touch(bytes(workspace));
        truncated.carried(|data| self.numbers(data))
    }

    /// Counts the memory that the solver keeps.
    fn count_solver(&mut self) {
        let now = self.host.bytes();
        self.memory.ledger.give_back(self.kept);
        self.memory.ledger.take(now);
        self.kept = now;
    }
}

impl Deref for HostBuffer {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        match &self.state {
            BufferState::InUse(values) => values,
            _ => unreachable!("a sweep fetches what it reads"),
        }
    }
}

impl HostBuffer {
    /// The values, mutable.
    fn values_mut(&mut self) -> &mut Vec<f64> {
        match &mut self.state {
            BufferState::InUse(values) => values,
            _ => unreachable!("a sweep fetches what it writes"),
        }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        let here = match std::mem::replace(&mut self.state, BufferState::Taken) {
            BufferState::InUse(values) => values.len(),
            BufferState::Evictable(place) => match std::mem::replace(&mut *locked(&place), Residency::Lost) {
                Residency::InMemory(values) => values.len(),
                Residency::OnDisk(_) | Residency::Lost => 0,
            },
            BufferState::Taken => 0,
        };
        self.memory.ledger.give_back(bytes(here));
    }
}

/// Elements of the workspace for decomposing ψ: singular vectors of both sides, and both copies of the kept states.
pub(super) fn decomposing(layout: &WaveLayout, kept: usize, centre: usize) -> usize {
    let of = |s: &super::blocks::PairedSector| (s.rows + s.columns) * s.rows.min(s.columns);
    layout.sectors.iter().map(of).sum::<usize>() + 2 * (kept + centre)
}

/// The same with noise: the perturbation's products, and three copies of the density matrices with their eigenvectors.
pub(super) fn decomposing_with_noise(between: usize, densities: usize, kept: usize, centre: usize) -> usize {
    between + 4 * densities + 2 * (kept + centre)
}

impl Backend for BoundedHostEngine {
    type Buffer = HostBuffer;

    fn upload(&self, data: Vec<f64>) -> Result<HostBuffer, DmrgError> {
        self.numbers(data)
    }

    fn download<'b>(&self, buffer: &'b HostBuffer) -> Result<Cow<'b, [f64]>, DmrgError> {
        let BufferState::Evictable(place) = &buffer.state else { return Ok(Cow::Borrowed(buffer)) };
        match &*locked(place) {
            Residency::InMemory(values) => Ok(Cow::Owned(values.clone())),
            Residency::OnDisk(stored) => Ok(Cow::Owned(stored.copy()?)),
            Residency::Lost => unreachable!("only a disk that fails loses numbers"),
        }
    }

    fn run(&self, stage: &RecordStage, operands: Operands<'_, HostBuffer>) -> Result<HostBuffer, DmrgError> {
        self.memory.make_room(bytes(stage.length))?;
        let mut output = vec![0.0; stage.length];
        records::run(stage, slices(operands), &mut output);
        self.numbers(output)
    }

    fn dot(&self, x: &HostBuffer, y: &HostBuffer) -> Result<f64, DmrgError> {
        Ok(dot(x, y))
    }

    fn mark_evictable(&self, buffer: &mut HostBuffer) -> Result<(), DmrgError> {
        match std::mem::replace(&mut buffer.state, BufferState::Taken) {
            BufferState::InUse(values) if !values.is_empty() => {
                buffer.state = BufferState::Evictable(self.memory.evictable.push(Residency::InMemory(values)));
            }
            other => buffer.state = other,
        }
        self.memory.start_evictions()
    }

    fn prefetch(&self, buffer: &mut HostBuffer, _: usize) -> Result<(), DmrgError> {
        let BufferState::Evictable(place) = &buffer.state else { return Ok(()) };
        if let Residency::OnDisk(stored) = &*locked(place) { stored.fetch() } else { Ok(()) }
    }

    fn ensure_resident(&self, buffer: &mut HostBuffer) -> Result<(), DmrgError> {
        let BufferState::Evictable(shared) = &buffer.state else { return Ok(()) };
        let mut place = locked(shared);
        let values = match std::mem::replace(&mut *place, Residency::Lost) {
            Residency::InMemory(values) => values,
            Residency::OnDisk(stored) => {
                self.memory.make_room(bytes(stored.len()))?;
                let values = stored.take()?;
                self.memory.ledger.take(bytes(values.len()));
                values
            }
            Residency::Lost => unreachable!("only a disk that fails loses numbers"),
        };
        drop(place);
        buffer.state = BufferState::InUse(values);
        Ok(())
    }
}

impl Engine for BoundedHostEngine {
    fn configure(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
        strategy.check(&Device::cpu())?;
        share.check(&Device::cpu())
    }

    fn release(&mut self) {
        self.host.release();
        self.count_solver();
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.limits())
    }

    fn apply_plan(&mut self, plan: &MemoryPlan) -> Result<(), DmrgError> {
        let evictable_limit = self.memory.limit.saturating_sub(plan.bond);
        self.memory.evictable_limit.store(evictable_limit, Ordering::Relaxed);
        self.host.set_width(plan.width);
        Ok(())
    }

    fn reserved(&self) -> u64 {
        self.memory.ledger.peak()
    }

    fn usage(&self) -> Usage {
        Usage { memory: self.memory.ledger.peak(), host: 0, disk: self.memory.store.ledgers().1.peak() }
    }

    fn diagonal(
        &self,
        bond: &TwoSiteBond<HostBuffer>,
        left: &Environment<HostBuffer>,
        right: &Environment<HostBuffer>,
    ) -> Result<HostBuffer, DmrgError> {
        self.numbers(bond.diagonal(left, right))
    }

    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, HostBuffer>,
        diagonal: &HostBuffer,
        wave: &mut HostBuffer,
        limits: davidson::DavidsonLimits,
    ) -> Result<davidson::DavidsonResult, DmrgError> {
        self.solve_against(superblock, operands, diagonal, wave, limits, &[])
    }

    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, HostBuffer>,
        diagonal: &HostBuffer,
        wave: &mut HostBuffer,
        limits: davidson::DavidsonLimits,
        against: &[&HostBuffer],
    ) -> Result<davidson::DavidsonResult, DmrgError> {
        self.memory.make_room(self.host.missing(wave.len(), superblock.first.length))?;
        self.host.reserve(wave.len(), superblock.first.length);
        self.count_solver();
        let against: Vec<&[f64]> = against.iter().map(|phi| &***phi).collect();
        self.host.solve_slices(superblock, slices(operands), diagonal, wave.values_mut(), limits, &against)
    }

    fn truncate(
        &self,
        wave: Wave<'_, HostBuffer>,
        side: Side,
        limits: TruncationLimits,
    ) -> Result<Truncated<HostBuffer>, DmrgError> {
        self.memory.make_room(bytes(decomposing(wave.layout, 0, 0)))?;
        let truncated = truncate::truncate(wave, side, limits)?;
        let (kept, centre) = (truncated.kept.data.len(), truncated.centre.data.len());
        self.worked(truncated, decomposing(wave.layout, kept, centre))
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, HostBuffer>,
        side: Side,
        limits: TruncationLimits,
        operators: &EnlargedOperators<HostBuffer>,
        operands: Operands<'_, HostBuffer>,
        noise: f64,
    ) -> Result<Truncated<HostBuffer>, DmrgError> {
        let (first, second) = truncate::perturbation_stages(wave, side, operators);
        self.memory.make_room(bytes(decomposing_with_noise(first.length, second.length, 0, 0)))?;
        let truncated = truncate::truncate_with_noise(wave, side, limits, operators, slices(operands), noise)?;
        let (kept, centre) = (truncated.kept.data.len(), truncated.centre.data.len());
        self.worked(truncated, decomposing_with_noise(first.length, second.length, kept, centre))
    }
}

impl Drop for BoundedHostEngine {
    fn drop(&mut self) {
        self.memory.ledger.give_back(std::mem::take(&mut self.kept));
    }
}
