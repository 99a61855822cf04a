//! The engine of the CPU within a limit of memory: every number that a run keeps is counted, and what the sweep has left behind
//! goes to the disk where memory is short.
//!
//! The numbers are those of [`Host`], to the last bit, wherever they have been. V and W of Davidson's method are reserved for
//! as many vectors as the plan allows, so that what is held does not depend on how many products a bond takes.

use super::backend::{Backend, Operands};
use super::blocks::{Side, WaveLayout};
use super::bond::Bond;
use super::cpu_share::CpuShare;
use super::davidson;
use super::engine::Engine;
use super::enlarged::EnlargedOperators;
use super::environment::Environment;
use super::error::DmrgError;
use super::host::{Host, slices};
use super::memory_plan::{Budget, MemoryPlan, Processor, Usage};
use super::records::{self, Stage};
use super::storage::{Ledger, Resting, Store, Stored};
use super::strategy::Strategy;
use super::superblock::Superblock;
use super::tall::dot;
use super::truncate::{self, Limits, Truncated, Wave};
use eigenforge_runtime::Device;
use std::borrow::Cow;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All cores of this machine, and so many bytes of its memory.
pub struct Bounded {
    host: Host,
    memory: Arc<Memory>,
    /// Bytes that the solver keeps from bond to bond.
    kept: u64,
}

/// What all numbers of an engine share.
struct Memory {
    limit: u64,
    /// Bytes that may have been left behind before they begin to be written.
    at_rest: AtomicU64,
    ledger: Arc<Ledger>,
    resting: Resting<Place>,
    store: Arc<Store<Vec<f64>>>,
}

/// Numbers in host memory, or away on the disk.
pub struct Numbers {
    home: Home,
    memory: Arc<Memory>,
}

enum Home {
    /// Here, and staying.
    Own(Vec<f64>),
    /// Left behind.
    Resting(Arc<Mutex<Place>>),
    Nowhere,
}

/// Where numbers are that were left behind.
enum Place {
    Here(Vec<f64>),
    Away(Stored<Vec<f64>>),
    Gone,
}

/// Part of the free memory that a run may take unless it is told.
const USED: f64 = 0.8;

/// Bytes of so many numbers.
fn bytes(len: usize) -> u64 {
    8 * len as u64
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// Lets what was left behind first be written; `None` if there is nothing.
    fn write_first(&self) -> Option<Result<u64, DmrgError>> {
        self.resting.first(|place| match std::mem::replace(place, Place::Gone) {
            Place::Here(values) => {
                let len = bytes(values.len());
                self.ledger.give_back(len);
                Some(self.store.put(values).map(|stored| {
                    *place = Place::Away(stored);
                    len
                }))
            }
            other => {
                *place = other;
                None
            }
        })
    }

    /// Room for so many bytes more, as far as there is anything that can leave.
    fn make_room(&self, bytes: u64) -> Result<(), DmrgError> {
        while self.ledger.held().saturating_add(bytes) > self.limit {
            match self.write_first() {
                Some(written) => written.and_then(|_| self.store.settle())?,
                None => return self.store.settle(),
            }
        }
        Ok(())
    }

    /// Begins to write what will have to leave by the plan.
    fn thin(&self) -> Result<(), DmrgError> {
        let here = |place: &Place| if let Place::Here(values) = place { bytes(values.len()) } else { 0 };
        let over = self.resting.sum(here).saturating_sub(self.at_rest.load(Ordering::Relaxed));
        let mut begun = 0;
        while begun < over
            && let Some(bytes) = self.write_first()
        {
            begun += bytes?;
        }
        Ok(())
    }
}

impl Default for Bounded {
    /// Within four fifths of the memory that is free, and the system's folder for temporary files.
    fn default() -> Bounded {
        Bounded::within(Bounded::default_limit(), std::env::temp_dir())
    }
}

impl Bounded {
    /// Four fifths of the memory that is free.
    pub fn default_limit() -> u64 {
        (USED * Device::cpu().memory().free as f64) as u64
    }

    /// What it may use.
    pub fn limits(&self) -> Budget {
        Budget { processor: Processor::Host, memory: self.memory.limit, host: 0 }
    }

    /// Within so many bytes, with a folder for what they have no room for.
    pub fn within(limit: u64, scratch: PathBuf) -> Bounded {
        let ledger = Arc::<Ledger>::default();
        let store = Store::new(ledger.clone(), 0, scratch, |len| Ok(vec![0.0; len]));
        let (at_rest, resting) = (AtomicU64::new(limit), Resting::default());
        let memory = Memory { limit, at_rest, ledger, resting, store };
        Bounded { host: Host::default(), memory: Arc::new(memory), kept: 0 }
    }

    /// Counts numbers; what was left behind makes room for them.
    fn numbers(&self, values: Vec<f64>) -> Result<Numbers, DmrgError> {
        self.memory.make_room(bytes(values.len()))?;
        self.memory.ledger.take(bytes(values.len()));
        Ok(Numbers { home: Home::Own(values), memory: self.memory.clone() })
    }

    /// Counts what a truncation worked with, and what it gave.
    fn worked(&self, truncated: Truncated, workspace: usize) -> Result<Truncated<Numbers>, DmrgError> {
        self.memory.make_room(bytes(workspace))?;
        self.memory.ledger.touch(bytes(workspace));
        truncated.carried(|data| self.numbers(data))
    }

    /// Counts what the solver keeps.
    fn count_solver(&mut self) {
        let now = self.host.bytes();
        self.memory.ledger.give_back(self.kept);
        self.memory.ledger.take(now);
        self.kept = now;
    }
}

impl Deref for Numbers {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        match &self.home {
            Home::Own(values) => values,
            _ => unreachable!("a sweep fetches what it reads"),
        }
    }
}

impl Numbers {
    /// Its values, to be written.
    fn values_mut(&mut self) -> &mut Vec<f64> {
        match &mut self.home {
            Home::Own(values) => values,
            _ => unreachable!("a sweep fetches what it writes"),
        }
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        let here = match std::mem::replace(&mut self.home, Home::Nowhere) {
            Home::Own(values) => values.len(),
            Home::Resting(place) => match std::mem::replace(&mut *locked(&place), Place::Gone) {
                Place::Here(values) => values.len(),
                Place::Away(_) | Place::Gone => 0,
            },
            Home::Nowhere => 0,
        };
        self.memory.ledger.give_back(bytes(here));
    }
}

/// Elements of the workspace of a decomposition of ψ: singular vectors of both sides, and both copies of what is kept.
pub(super) fn decomposing(layout: &WaveLayout, kept: usize, centre: usize) -> usize {
    let of = |s: &super::blocks::PairedSector| (s.rows + s.columns) * s.rows.min(s.columns);
    layout.sectors.iter().map(of).sum::<usize>() + 2 * (kept + centre)
}

/// The same with noise: the perturbation's products, density matrices three times over with their eigenvectors.
pub(super) fn decomposing_with_noise(between: usize, densities: usize, kept: usize, centre: usize) -> usize {
    between + 4 * densities + 2 * (kept + centre)
}

impl Backend for Bounded {
    type Buffer = Numbers;

    fn upload(&self, data: Vec<f64>) -> Result<Numbers, DmrgError> {
        self.numbers(data)
    }

    fn download<'b>(&self, buffer: &'b Numbers) -> Result<Cow<'b, [f64]>, DmrgError> {
        let Home::Resting(place) = &buffer.home else { return Ok(Cow::Borrowed(buffer)) };
        match &*locked(place) {
            Place::Here(values) => Ok(Cow::Owned(values.clone())),
            Place::Away(stored) => Ok(Cow::Owned(stored.copy()?)),
            Place::Gone => unreachable!("only a disk that fails loses numbers"),
        }
    }

    fn run(&self, stage: &Stage, operands: Operands<'_, Numbers>) -> Result<Numbers, DmrgError> {
        self.memory.make_room(bytes(stage.length))?;
        let mut output = vec![0.0; stage.length];
        records::run(stage, slices(operands), &mut output);
        self.numbers(output)
    }

    fn dot(&self, x: &Numbers, y: &Numbers) -> Result<f64, DmrgError> {
        Ok(dot(x, y))
    }

    fn leave(&self, buffer: &mut Numbers) -> Result<(), DmrgError> {
        match std::mem::replace(&mut buffer.home, Home::Nowhere) {
            Home::Own(values) if !values.is_empty() => {
                buffer.home = Home::Resting(self.memory.resting.push(Place::Here(values)));
            }
            other => buffer.home = other,
        }
        self.memory.thin()
    }

    fn expect(&self, buffer: &mut Numbers, _: usize) -> Result<(), DmrgError> {
        let Home::Resting(place) = &buffer.home else { return Ok(()) };
        if let Place::Away(stored) = &*locked(place) { stored.fetch() } else { Ok(()) }
    }

    fn arrive(&self, buffer: &mut Numbers) -> Result<(), DmrgError> {
        let Home::Resting(shared) = &buffer.home else { return Ok(()) };
        let mut place = locked(shared);
        let values = match std::mem::replace(&mut *place, Place::Gone) {
            Place::Here(values) => values,
            Place::Away(stored) => {
                self.memory.make_room(bytes(stored.len()))?;
                let values = stored.take()?;
                self.memory.ledger.take(bytes(values.len()));
                values
            }
            Place::Gone => unreachable!("only a disk that fails loses numbers"),
        };
        drop(place);
        buffer.home = Home::Own(values);
        Ok(())
    }
}

impl Engine for Bounded {
    fn take_up(&mut self, strategy: Strategy, share: CpuShare) -> Result<(), DmrgError> {
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

    fn hold_to(&mut self, plan: &MemoryPlan) -> Result<(), DmrgError> {
        let at_rest = self.memory.limit.saturating_sub(plan.bond);
        self.memory.at_rest.store(at_rest, Ordering::Relaxed);
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
        bond: &Bond<Numbers>,
        left: &Environment<Numbers>,
        right: &Environment<Numbers>,
    ) -> Result<Numbers, DmrgError> {
        self.numbers(bond.diagonal(left, right))
    }

    fn solve(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Numbers>,
        diagonal: &Numbers,
        wave: &mut Numbers,
        limits: davidson::Limits,
    ) -> Result<davidson::Found, DmrgError> {
        self.solve_against(superblock, operands, diagonal, wave, limits, &[])
    }

    fn solve_against(
        &mut self,
        superblock: &Superblock,
        operands: Operands<'_, Numbers>,
        diagonal: &Numbers,
        wave: &mut Numbers,
        limits: davidson::Limits,
        against: &[&Numbers],
    ) -> Result<davidson::Found, DmrgError> {
        self.memory.make_room(self.host.missing(wave.len(), superblock.first.length))?;
        self.host.reserve(wave.len(), superblock.first.length);
        self.count_solver();
        let against: Vec<&[f64]> = against.iter().map(|phi| &***phi).collect();
        self.host.solve_slices(superblock, slices(operands), diagonal, wave.values_mut(), limits, &against)
    }

    fn truncate(&self, wave: Wave<'_, Numbers>, side: Side, limits: Limits) -> Result<Truncated<Numbers>, DmrgError> {
        self.memory.make_room(bytes(decomposing(wave.layout, 0, 0)))?;
        let truncated = truncate::truncate(wave, side, limits)?;
        let (kept, centre) = (truncated.kept.data.len(), truncated.centre.data.len());
        self.worked(truncated, decomposing(wave.layout, kept, centre))
    }

    fn truncate_with_noise(
        &self,
        wave: Wave<'_, Numbers>,
        side: Side,
        limits: Limits,
        operators: &EnlargedOperators<Numbers>,
        operands: Operands<'_, Numbers>,
        noise: f64,
    ) -> Result<Truncated<Numbers>, DmrgError> {
        let (first, second) = truncate::perturbation_stages(wave, side, operators);
        self.memory.make_room(bytes(decomposing_with_noise(first.length, second.length, 0, 0)))?;
        let truncated = truncate::truncate_with_noise(wave, side, limits, operators, slices(operands), noise)?;
        let (kept, centre) = (truncated.kept.data.len(), truncated.centre.data.len());
        self.worked(truncated, decomposing_with_noise(first.length, second.length, kept, centre))
    }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        self.memory.ledger.give_back(std::mem::take(&mut self.kept));
    }
}
